/* Shorter forms of names for narrow tables and pictures.
 * SPDX-License-Identifier: MIT */
#include "base/elide.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"

/* A pair of brackets in a name. */
struct bracket {
    size_t begin, end; /* of the opening one, and of the closing one */
    unsigned depth;    /* of "<": how many pairs of them it is in, itself included */
    char kind;         /* the opening character */
};

struct brackets {
    struct bracket *list; /* in order of BEGIN */
    size_t count, capacity;
    size_t name_end;    /* where the parameters of the function begin, or the end of the name */
    size_t operator_at; /* the last word "operator" outside of brackets, or SIZE_MAX */
};

static bool is_word(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The length of "operator" and its sign at AT, 0 if there is none. */
static size_t operator_length(const char *name, size_t at)
{
    static const char *const signs[] = {"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->",
                                        "()",  "[]",  "<",   ">",   "&",  "|",  "^",  "!",  "="};
    enum { WORD = 8 };
    if (strncmp(name + at, "operator", WORD) != 0 || (at > 0 && is_word(name[at - 1])) ||
        is_word(name[at + WORD]))
        return 0;
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (strncmp(name + at + WORD, signs[i], strlen(signs[i])) == 0)
            return WORD + strlen(signs[i]);
    return WORD;
}

static char closing(char open)
{
    return open == '<' ? '>' : open == '(' ? ')' : open == '{' ? '}' : ']';
}

/* Notes the bracket at AT. OPEN: the numbers of the open pairs, DEPTH of them. Returns false if it does not match. */
static bool note(struct brackets *b, const char *name, size_t at, size_t *open, size_t *depth)
{
    char c = name[at];
    if (strchr("<({[", c) != NULL) {
        unsigned angles = 0;
        for (size_t i = 0; i < *depth; i++)
            angles += b->list[open[i]].kind == '<' && b->list[open[i]].begin > 0;
        mem_reserve(&b->list, &b->capacity, b->count + 1, sizeof *b->list);
        b->list[b->count] = (struct bracket){at, 0, angles + (at > 0), c};
        open[(*depth)++] = b->count++;
        return true;
    }
    if (*depth == 0 || closing(b->list[open[*depth - 1]].kind) != c)
        return false;
    b->list[open[--*depth]].end = at;
    return true;
}

/* Enough for any function; deeper nesting is left as it is. */
enum { DEEPEST = 64 };

/* Finds the pairs of brackets of NAME. Returns false if they do not match. */
static bool find_brackets(struct brackets *b, const char *name)
{
    size_t open[DEEPEST], depth = 0;
    for (size_t at = 0; name[at] != '\0'; at++) {
        size_t skip = operator_length(name, at);
        if (skip > 0) {
            b->operator_at = depth == 0 ? at : b->operator_at;
            at += skip - 1;
            continue;
        }
        bool arrow = name[at] == '>' && at > 0 && name[at - 1] == '-';
        if (arrow || strchr("<({[>)}]", name[at]) == NULL)
            continue;
        if (depth == DEEPEST || !note(b, name, at, open, &depth))
            return false;
    }
    return depth == 0;
}

/* The parameters are the last outer parentheses, with nothing after them but qualifiers: f(int) const, f(int) [clone .x].
 * In main.(*T).f and (anonymous namespace)::f there are none. */
static size_t find_name_end(const struct brackets *b, const char *name)
{
    size_t end = strlen(name), after = 0;
    for (size_t i = 0; i < b->count; i++) {
        const struct bracket *pair = &b->list[i];
        if (pair->begin < after)
            continue; /* inside of another pair */
        after = pair->end + 1;
        bool last = name[after] == '\0' || name[after] == ' ';
        if (pair->kind == '(' && pair->begin > 0 && name[pair->begin - 1] != ' ' && last)
            end = pair->begin;
    }
    return end;
}

/* Where the name begins: after the type of the result, if there are parameters. */
static size_t find_name_begin(const struct brackets *b, const char *name)
{
    size_t begin = 0, next = 0, limit = b->name_end < b->operator_at ? b->name_end : b->operator_at;
    if (name[b->name_end] == '\0')
        return 0;
    for (size_t at = 0; at < limit; at++) {
        while (next < b->count && b->list[next].begin < at)
            next++;
        if (next < b->count && b->list[next].begin == at)
            at = b->list[next].end;
        else if (name[at] == ' ')
            begin = at + 1;
    }
    return begin;
}

static bool is_left_out(const struct brackets *b, const struct bracket *pair, const char *name,
                        enum elide_step step)
{
    size_t length = pair->end - pair->begin - 1;
    bool shorter = length > 3 || (length > 0 && step == ELIDE_SIGNATURE); /* names become equal */
    if (!shorter || pair->begin == 0)
        return false;
    if (pair->kind == '<')
        return step >= (pair->depth > 1 ? ELIDE_NESTED : ELIDE_TEMPLATES);
    if (pair->kind != '(' || name[pair->begin - 1] == '.' ||
        strncmp(name + pair->begin, "(anonymous namespace)", 21) == 0)
        return false;
    return step >= (pair->begin == b->name_end ? ELIDE_PARAMETERS : ELIDE_NESTED);
}

static char *leave_out(const struct brackets *b, const char *name, enum elide_step step)
{
    size_t end = step >= ELIDE_SIGNATURE ? b->name_end : strlen(name), next = 0;
    /* "..." is longer than a content of one character by two. */
    char *copy = mem_alloc(strlen(name) + 2 * b->count + 1), *to = copy;
    for (size_t at = step >= ELIDE_SIGNATURE ? find_name_begin(b, name) : 0; at < end; at++) {
        *to++ = name[at];
        while (next < b->count && b->list[next].begin < at)
            next++;
        if (next < b->count && b->list[next].begin == at &&
            is_left_out(b, &b->list[next], name, step)) {
            memcpy(to, "...", 3);
            to += 3;
            at = b->list[next].end - 1;
        }
    }
    *to = '\0';
    return copy;
}

char *elide_arguments(const char *name, enum elide_step step)
{
    struct brackets b = {.operator_at = SIZE_MAX};
    char *result;
    if (step > ELIDE_NOTHING && find_brackets(&b, name)) {
        b.name_end = find_name_end(&b, name);
        result = leave_out(&b, name, step);
    } else {
        result = mem_strdup(name);
    }
    free(b.list);
    return result;
}

char *elide_parameters(const char *name)
{
    struct brackets b = {.operator_at = SIZE_MAX};
    size_t begin = 0, end = strlen(name);
    if (find_brackets(&b, name)) {
        b.name_end = end = find_name_end(&b, name);
        begin = find_name_begin(&b, name);
    }
    free(b.list);
    return mem_strndup(name + begin, end - begin);
}

char *elide_scopes(const char *name, size_t count)
{
    struct brackets b = {.operator_at = SIZE_MAX};
    size_t next = 0, found = 0, begin = SIZE_MAX;
    const bool known = find_brackets(&b, name);
    for (size_t at = 0; known && begin == SIZE_MAX && name[at] != '\0'; at++) {
        while (next < b.count && b.list[next].begin < at)
            next++;
        if (next < b.count && b.list[next].begin == at)
            at = b.list[next].end;
        else if (strncmp(name + at, "::", 2) == 0 && ++found == count)
            begin = at + 2;
        else if (name[at] == ' ' || at >= b.operator_at)
            break;
    }
    free(b.list);
    return begin != SIZE_MAX ? mem_printf("...%s", name + begin) : NULL;
}

/* INNER, a result of elide_scopes, without the "..." before it and the "<...>" after it. */
static char *without_dots(const char *inner)
{
    enum { DOTS = 3, ARGUMENTS = 5 };
    size_t length = strlen(inner + DOTS);
    bool has_arguments =
        length > ARGUMENTS && strcmp(inner + DOTS + length - ARGUMENTS, "<...>") == 0;
    return mem_strndup(inner + DOTS, has_arguments ? length - ARGUMENTS : length);
}

char *elide_function(const char *name)
{
    char *shorter = elide_arguments(name, ELIDE_SIGNATURE), *inner = NULL, *next;
    for (size_t count = 1; count <= ELIDE_SCOPES && (next = elide_scopes(shorter, count)) != NULL;
         count++) {
        free(inner);
        inner = next;
    }
    char *function = inner != NULL ? without_dots(inner) : mem_strdup(shorter);
    free(inner);
    free(shorter);
    return function;
}

/* The bytes of the character at TEXT; adds its columns to WIDTH. */
static size_t step_over(const char *text, size_t *width)
{
    size_t length = utf8_length(text);
    *width += utf8_columns(text, length);
    return length > 0 ? length : 1;
}

size_t elide_width(const char *text)
{
    size_t width = 0;
    while (*text != '\0')
        text += step_over(text, &width);
    return width;
}

size_t elide_end(const char *text, size_t width)
{
    size_t at = 0, used = 0;
    while (text[at] != '\0') {
        size_t next = at + step_over(text + at, &used);
        if (used > width)
            break;
        at = next;
    }
    return at;
}

/* The bytes of the shortest beginning of TEXT that takes at least WIDTH columns. */
static size_t bytes_of(const char *text, size_t width)
{
    size_t at = 0, used = 0;
    while (used < width && text[at] != '\0')
        at += step_over(text + at, &used);
    return at;
}

char *elide_middle(const char *text, size_t width)
{
    enum { DOTS = 3 };
    size_t all = elide_width(text), room = width > DOTS ? width - DOTS : 0, head = room / 2;
    if (all <= width)
        return mem_strdup(text);
    size_t tail = bytes_of(text, all - (room - head)), before = elide_end(text, head);
    tail += strspn(text + tail, "."); /* of "<...>" */
    while (before > 0 && text[before - 1] == '.')
        before--;
    return mem_printf("%.*s%.*s%s", (int)before, text, (int)(width < DOTS ? width : DOTS), "...",
                      text + tail);
}

/* Shortens SHORTER, which has no arguments but is too long: without outer scopes if this still uses most of WIDTH, else
 * cut. */
static char *drop_scopes(const char *shorter, size_t width)
{
    char *inner = elide_scopes(shorter, 1);
    for (size_t count = 2; inner != NULL && elide_width(inner) > width && count <= ELIDE_SCOPES;
         count++) {
        char *next = elide_scopes(shorter, count);
        if (next == NULL)
            break;
        free(inner);
        inner = next;
    }
    size_t used = inner != NULL ? elide_width(inner) : 0;
    char *cut;
    if (used > width) { /* the name of the function alone is too long */
        char *function = elide_function(shorter);
        cut = elide_middle(function, width);
        free(function);
    } else if (inner != NULL && 3 * used >= 2 * width) {
        cut = mem_strdup(inner);
    } else {
        cut = elide_middle(shorter, width);
    }
    free(inner);
    return cut;
}

char *elide(const char *name, size_t width)
{
    char *shorter = NULL;
    for (int step = ELIDE_NOTHING; step < ELIDE_STEPS; step++) {
        free(shorter);
        shorter = elide_arguments(name, (enum elide_step)step);
        if (elide_width(shorter) <= width)
            return shorter;
    }
    char *cut = drop_scopes(shorter, width);
    free(shorter);
    return cut;
}
