/* Annotation: texts and ranges of lines in a listing.
 * SPDX-License-Identifier: MIT */
#include "analyze/annotate/annotate_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"

enum { TAB = 8 };

char *text_expand_tabs(const char *text)
{
    char *wide = mem_alloc(strlen(text) * TAB + 1), *to = wide;
    for (size_t column = 0; *text != '\0';) {
        size_t length = utf8_length(text), count = TAB - column % TAB;
        if (*text == '\t') {
            memset(to, ' ', count);
            to += count;
            column += count;
            text++;
            continue;
        }
        column += utf8_columns(text, length);
        length = length > 0 ? length : 1;
        memcpy(to, text, length);
        to += length;
        text += length;
    }
    *to = '\0';
    return wide;
}

/* The length of the name of an operator at TEXT, which may contain brackets; 0 if there is none. */
static size_t operator_length(const char *text)
{
    if (strncmp(text, "operator", 8) != 0)
        return 0;
    size_t length = 8 + strspn(text + 8, "<>=-!");
    return length + (strncmp(text + length, "()", 2) == 0 ? 2 : 0);
}

char *text_short_name(const char *name)
{
    char *brief = mem_alloc(strlen(name) + 1), *to = brief;
    size_t depth = 0, paths = 0;
    for (const char *at = name; *at != '\0'; at++) {
        size_t length = depth == 0 ? operator_length(at) : 0;
        if (length > 0) {
            memcpy(to, at, length);
            to += length;
            at += length - 1;
            continue;
        }
        if (depth == 0 && *at == '<' &&
            (size_t)(at - name) == paths) { /* "<Type as Trait>::function" of Rust */
            *to++ = *at;
            paths++;
            continue;
        }
        bool closes = depth == 0 && *at == '>' && paths > 0 && at[-1] != '-';
        paths -= closes;
        depth -= depth > 0 && (*at == '>' || *at == ')');
        if (depth == 0)
            *to++ = *at;
        depth += *at == '<' || *at == '(';
    }
    *to = '\0';
    if (depth == 0)
        return brief;
    free(brief); /* unbalanced brackets: not a C++ name */
    return mem_strdup(name);
}

static int compare_ranges(const void *left, const void *right)
{
    const struct line_range *a = left, *b = right;
    return a->first != b->first ? (a->first < b->first ? -1 : 1)
                                : (a->last > b->last) - (a->last < b->last);
}

size_t line_ranges_join(struct line_range *ranges, size_t count)
{
    size_t kept = 0;
    if (count == 0)
        return 0;
    qsort(ranges, count, sizeof *ranges, compare_ranges);
    for (size_t i = 1; i < count; i++) {
        struct line_range *before = &ranges[kept];
        /* replacing a single line by "..." would save nothing */
        if (ranges[i].first <= before->last || ranges[i].first - before->last <= 2)
            before->last = ranges[i].last > before->last ? ranges[i].last : before->last;
        else
            ranges[++kept] = ranges[i];
    }
    return kept + 1;
}
