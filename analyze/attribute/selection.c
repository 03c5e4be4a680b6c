/* Selects samples.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/selection.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/elide.h"
#include "base/memory.h"
#include "formats/pbin/pbin.h"

const char *selection_add(struct selection *s, const char *text, bool exclude)
{
    size_t length = strcspn(text, "=~");
    struct filter filter = {.key = pbin_key_find(text, length), .exclude = exclude};
    if (text[length] == '\0')
        return "is neither KEY=GLOB nor KEY~REGEX";
    if (filter.key < 0)
        return "begins with an unknown key (--help lists the keys under -k)";
    const char *key = pbin_key_get((size_t)filter.key)->name;
    filter.is_function = strcmp(key, "function") == 0 || strcmp(key, "inline") == 0;
    int wrong = 0;
    if (text[length] == '=')
        filter.glob = text + length + 1;
    else
        wrong = regcomp(&filter.regex, text + length + 1, REG_EXTENDED | REG_NOSUB);
    if (wrong == REG_ESPACE)
        mem_run_out();
    if (wrong != 0)
        return "contains an invalid regular expression";
    mem_reserve(&s->filters, &s->filter_capacity, s->filter_count + 1, sizeof *s->filters);
    s->filters[s->filter_count++] = filter;
    return NULL;
}

void selection_free(struct selection *s)
{
    for (size_t i = 0; i < s->filter_count; i++)
        if (s->filters[i].glob == NULL)
            regfree(&s->filters[i].regex);
    free(s->filters);
    *s = (struct selection){0};
}

static bool is_match(const char *glob, const char *text)
{
    return strcmp(glob, text) == 0 || fnmatch(glob, text, 0) == 0;
}

bool function_matches(const char *glob, const char *name)
{
    if (is_match(glob, name))
        return true;
    char *plain = elide_parameters(name), *shortest = elide_arguments(name, ELIDE_SIGNATURE);
    bool match = is_match(glob, plain) || is_match(glob, shortest);
    free(plain);
    free(shortest);
    return match;
}

static bool matches_text(const struct filter *filter, const char *text)
{
    if (filter->glob != NULL)
        return is_match(filter->glob, text);
    return regexec(&filter->regex, text, 0, NULL, 0) == 0;
}

/* The same as function_matches, but also for regular expressions. */
static bool matches(const struct filter *filter, const char *text)
{
    if (filter->is_function && filter->glob != NULL)
        return function_matches(filter->glob, text);
    bool match = matches_text(filter, text);
    if (match || !filter->is_function)
        return match;
    char *plain = elide_parameters(text), *shortest = elide_arguments(text, ELIDE_SIGNATURE);
    match = matches_text(filter, plain) || matches_text(filter, shortest);
    free(plain);
    free(shortest);
    return match;
}

bool selection_passes(const struct selection *s, key_text *text_of, void *context)
{
    uint64_t wanted = 0, found = 0; /* a bit for each key */
    for (size_t i = 0; i < s->filter_count; i++) {
        const struct filter *filter = &s->filters[i];
        bool match = matches(filter, text_of(context, filter->key));
        if (match && filter->exclude)
            return false;
        if (!filter->exclude) {
            wanted |= UINT64_C(1) << filter->key;
            found |= match ? UINT64_C(1) << filter->key : 0;
        }
    }
    return wanted == found;
}
