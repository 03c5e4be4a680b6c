/* Functions that are selected from several variants when the program is linked.
 * SPDX-License-Identifier: MIT */
#include "record/funcmeter/resolvers.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void resolvers_add(struct resolvers *resolvers, uint64_t address, const char *name, bool chosen)
{
    mem_reserve(&resolvers->items, &resolvers->capacity, resolvers->count + 1,
                sizeof *resolvers->items);
    resolvers->items[resolvers->count++] = (struct resolver){address, mem_strdup(name), chosen, 0};
    resolvers->chosen += chosen;
}

void resolvers_free(struct resolvers *resolvers)
{
    for (size_t i = 0; i < resolvers->count; i++)
        free(resolvers->items[i].name);
    free(resolvers->items);
}

/* Short names without leading underscores, which people use, come first. */
static int compare_names(const void *left, const void *right)
{
    const char *a = *(char *const *)left, *b = *(char *const *)right;
    size_t x = strspn(a, "_"), y = strspn(b, "_");
    if (x != y)
        return x < y ? -1 : 1;
    x = strlen(a);
    y = strlen(b);
    return x != y ? (x < y ? -1 : 1) : strcmp(a, b);
}

char *resolvers_name(const struct resolvers *resolvers, const uint64_t *returned, uint64_t address)
{
    char **names = mem_zalloc(resolvers->count + 1, sizeof *names);
    char *text = mem_strdup("");
    size_t count = 0;
    for (size_t i = 0; i < resolvers->count; i++)
        if (returned[i] == address)
            names[count++] = resolvers->items[i].name;
    qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && strcmp(names[i], names[i - 1]) == 0)
            continue;
        mem_append(&text, "%s%s", i > 0 ? "|" : "", names[i]);
    }
    free(names);
    return text;
}
