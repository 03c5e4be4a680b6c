/* Names of rows: their keys joined, without keys that do not distinguish any rows.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/attribute/labels.h"
#include "base/intern.h"
#include "base/memory.h"
#include "plot/names.h"

char *names_key(const struct name_source *from, const struct pbin_row *row, size_t k)
{
    const struct pbin_key *key = pbin_key_get((size_t)from->keys->key[k]);
    if (key->is_text)
        return mem_strdup(from->text(from->texts, row->key[k]));
    if (label_of_number(row->key[k]) != NULL)
        return mem_strdup(label_of_number(row->key[k]));
    if (row->key[k] == 0 && !key->has_zero)
        return mem_strdup("");
    if (strcmp(key->name, "pc") == 0)
        return mem_printf("0x%" PRIx64, row->key[k]);
    return mem_printf("%s %" PRIu64, key->name, row->key[k]);
}

/* Joins the keys of ROW whose bits are set in USE; _idle is "_idle" for any number of keys. */
static char *join(const struct name_source *from, const struct pbin_row *row, unsigned use)
{
    char *name = mem_strdup("");
    const char *separator = "";
    for (size_t k = 0; k < from->keys->count; k++) {
        char *part = names_key(from, row, k);
        bool label = part[0] == '_' && strcmp(part, name) == 0;
        if ((use >> k & 1) != 0 && part[0] != '\0' && !label) {
            mem_append(&name, "%s%s", separator, part);
            separator = " / ";
        }
        free(part);
    }
    return name;
}

/* The same, but with the binary for _unknown. */
static char *name_of(const struct name_source *from, const struct pbin_row *row, unsigned use)
{
    char *name = join(from, row, use);
    if (strcmp(name, LABEL_UNKNOWN) != 0)
        return name;
    free(name);
    return join(from, row, (1U << from->keys->count) - 1);
}

static bool all_differ(const struct name_source *from, const struct pbin_row *const *rows,
                       size_t count, unsigned use)
{
    struct strings *seen = strings_new();
    bool differ = true;
    for (size_t i = 0; i < count && differ; i++) {
        char *name = name_of(from, rows[i], use);
        differ = name[0] != '\0' && strings_find(seen, name) == INTERN_NONE;
        strings_intern(seen, name);
        free(name);
    }
    strings_delete(seen);
    return differ;
}

char **names_make(const struct name_source *from, const struct pbin_row *const *rows, size_t count)
{
    size_t keys = from->keys->count;
    unsigned use = (1U << keys) - 1;
    for (size_t k = 0; k + 1 < keys; k++) /* coarse to fine; the last one is the most specific */
        if (all_differ(from, rows, count, use & ~(1U << k)))
            use &= ~(1U << k);
    char **names = mem_zalloc(count + 1, sizeof *names);
    for (size_t i = 0; i < count; i++) {
        names[i] = name_of(from, rows[i], use);
        if (names[i][0] == '\0') {
            free(names[i]);
            names[i] = mem_strdup(LABEL_UNKNOWN);
        }
    }
    return names;
}
