/* "did you mean ...?"
 * SPDX-License-Identifier: MIT */
#include "base/similar.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/elide.h"
#include "base/memory.h"
#include "base/utf8.h"

/* Longer names are not compared letter by letter. */
enum { MAX_LENGTH = 64 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t cost(const char *a, const char *b, size_t i, size_t j)
{
    return tolower((unsigned char)a[i]) != tolower((unsigned char)b[j]);
}

/* The number of letters to insert, remove, change or swap to turn A into B, ignoring case. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t rows[3][MAX_LENGTH + 1], m = strlen(a), n = strlen(b);
    if (m > MAX_LENGTH || n > MAX_LENGTH)
        return SIZE_MAX;
    for (size_t j = 0; j <= n; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t *now = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= n; j++) {
            now[j] =
                least(least(before[j], now[j - 1]) + 1, before[j - 1] + cost(a, b, i - 1, j - 1));
            if (i > 1 && j > 1 && cost(a, b, i - 1, j - 2) == 0 && cost(a, b, i - 2, j - 1) == 0)
                now[j] = least(now[j], earlier[j - 2] + 1);
        }
    }
    return rows[m % 3][n];
}

/* The last word of NAME, after its namespace and folder. */
static const char *last_word(const char *name)
{
    const char *word = name;
    size_t depth = 0;
    for (const char *at = name; *at != '\0'; at++) {
        depth += *at == '<' || *at == '(';
        depth -= depth > 0 && (*at == '>' || *at == ')');
        if (depth == 0 && ((at[0] == ':' && at[1] == ':') || *at == '/'))
            word = at + (*at == ':' ? 2 : 1);
    }
    return word;
}

/* Cuts off the template arguments at the end of NAME. */
static void cut_arguments(char *name)
{
    size_t at = strcspn(name + 1, "<(") + 1;
    if (name[0] != '\0' && strncmp(last_word(name), "operator", 8) != 0)
        name[least(at, strlen(name))] = '\0';
}

/* The distance of NAME from WANTED. */
static size_t distance(const char *wanted, const char *name)
{
    char *plain = elide_arguments(name, ELIDE_SIGNATURE), *word = mem_strdup(last_word(plain));
    cut_arguments(word);
    size_t least_of_all = least(edit_distance(wanted, name), edit_distance(wanted, plain));
    least_of_all = least(least_of_all, edit_distance(wanted, word));
    if (strlen(wanted) >= 3 && strcasestr(plain, wanted) != NULL)
        least_of_all = least(least_of_all, 1); /* part of a name */
    free(word);
    free(plain);
    return least_of_all;
}

/* WANTED without the characters of globs. */
static char *without_glob(const char *wanted)
{
    char *plain = mem_strdup(wanted), *to = plain;
    for (const char *at = wanted; *at != '\0'; at++)
        if (strchr("*?[]\\", *at) == NULL)
            *to++ = *at;
    *to = '\0';
    return plain;
}

void similar_try(struct similar *s, const char *name)
{
    char *wanted = without_glob(s->wanted);
    size_t length = strlen(wanted), most = length / 3 > 0 ? length / 3 : 1;
    size_t far = length > 0 && name[0] != '\0' ? distance(wanted, name) : SIZE_MAX;
    if (far <= most && (s->best == NULL || far < s->distance)) {
        s->best = name;
        s->distance = far;
    }
    free(wanted);
}

/* A glob for NAME of about WIDTH characters: without arguments and, as needed, without outer
 * scopes. */
static char *shorter(const char *name, size_t width)
{
    char *plain = elide_arguments(name, ELIDE_SIGNATURE), *best = NULL;
    if (elide_width(plain) <= width)
        return plain;
    for (size_t count = 1; count <= ELIDE_MAX_SCOPES; count++) {
        char *inner = elide_scopes(plain, count);
        if (inner == NULL)
            break;
        free(best);
        best = mem_printf("*::%s", inner + strlen("..."));
        free(inner);
        if (elide_width(best) <= width)
            break;
    }
    char *end = elide_middle(best != NULL ? best : plain, 3 * width);
    free(best);
    free(plain);
    return end;
}

char *similar_text(const struct similar *s)
{
    enum { SHOWN = 60 };
    if (s->best == NULL)
        return mem_strdup("");
    char *visible = utf8_visible(s->best, NULL);
    char *shown = elide_width(visible) <= SHOWN ? mem_strdup(visible) : shorter(visible, SHOWN);
    char *text = mem_printf(", did you mean '%s'?", shown);
    free(visible);
    free(shown);
    return text;
}
