/* Warns about conditions that match no name in a profile.
 * SPDX-License-Identifier: MIT */
#include "analyze/aggregate/suggest.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/attribute/labels.h"
#include "base/similar.h"

/* The kinds of names to which a condition can apply. */
enum names { FUNCTIONS, INLINED, BINARIES, FILES, OTHERS };

static enum names names_of_key(int key)
{
    static const char *const keys[] = {"function", "inline", "binary", "file"};
    for (int i = FUNCTIONS; i < OTHERS; i++)
        if (strcmp(pbin_key_get((size_t)key)->name, keys[i]) == 0)
            return (enum names)i;
    return OTHERS;
}

static const char *name_at(const struct pbin_definitions *all, const struct pbin_location *at,
                           enum names names)
{
    const struct pbin_frame *inner = &all->frames[at->first_frame];
    const struct pbin_frame *outer = inner + at->frame_count - 1;
    const uint32_t number = names == FUNCTIONS  ? outer->demangled
                            : names == INLINED  ? inner->demangled
                            : names == BINARIES ? at->binary
                                                : inner->file;
    const char *name = strings_get(all->strings, number);
    return label_is_nameless(name, at->map != PBIN_NO_MAP) ? name : label_unlike(name);
}

static bool matches_label(const char *glob)
{
    for (size_t i = 0; energy_label(i) != NULL; i++)
        if (fnmatch(glob, energy_label(i), 0) == 0)
            return true;
    return fnmatch(glob, LABEL_OTHER, 0) == 0;
}

/* The number of names that a profile may have: those of its locations; in an aggregated profile,
 * which has none, all its texts. */
static size_t name_count(const struct pbin_definitions *all)
{
    return all->location_count > 0 ? all->location_count : strings_count(all->strings);
}

static const char *name_number(const struct pbin_definitions *all, size_t i, enum names names)
{
    if (all->location_count == 0)
        return strings_get(all->strings, (uint32_t)i);
    return name_at(all, &all->locations[i], names);
}

static bool is_meant(const char *glob, const char *name, enum names names)
{
    if (names == FUNCTIONS || names == INLINED)
        return function_matches(glob, name);
    return strcmp(glob, name) == 0 || fnmatch(glob, name, 0) == 0;
}

/* Returns whether FILTER matches any name. If not, sets SIMILAR to the most similar one. */
static bool matches_any(const struct filter *filter, enum names names,
                        const struct pbin_definitions *all, struct similar *similar)
{
    for (size_t i = 0; i < name_count(all); i++)
        if (is_meant(filter->glob, name_number(all, i, names), names))
            return true;
    for (size_t i = 0; i < name_count(all); i++)
        similar_try(similar, name_number(all, i, names));
    return false;
}

void suggest_names(const struct selection *s, const struct pbin_definitions *all, const char *file,
                   struct reporter *reporter)
{
    for (size_t i = 0; i < s->filter_count; i++) {
        const struct filter *filter = &s->filters[i];
        enum names names = names_of_key(filter->key);
        struct similar similar = {.wanted = filter->glob};
        if (filter->exclude || filter->glob == NULL || names == OTHERS ||
            matches_label(filter->glob) || matches_any(filter, names, all, &similar))
            continue;
        char *hint = similar_text(&similar);
        report_warning(reporter, "%s: no %s matches '%s'%s", file,
                       names == BINARIES ? "binary"
                       : names == FILES  ? "file"
                                         : "function",
                       filter->glob, hint);
        free(hint);
    }
}

bool suggest_phase(const char *phase, const struct pbin_definitions *all, const char *file,
                   struct reporter *reporter)
{
    struct similar similar = {.wanted = phase};
    for (size_t i = 0; i < all->frame_count; i++)
        if (strcmp(strings_get(all->strings, all->frames[i].function), phase) == 0 ||
            function_matches(phase, strings_get(all->strings, all->frames[i].demangled)))
            return false;
    for (size_t i = 0; i < all->frame_count; i++)
        similar_try(&similar, strings_get(all->strings, all->frames[i].demangled));
    char *hint = similar_text(&similar);
    report_warning(reporter, "%s: no function is called '%s'%s", file, phase, hint);
    free(hint);
    return true;
}
