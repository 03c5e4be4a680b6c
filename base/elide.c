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
    size_t begin, end; /* positions of the opening and the closing one */
    unsigned depth;    /* of "<": the number of pairs of "<>" around it, including its own */
    /* the opening character; NO_BRACKET: a "<" that is an operator and has no partner */
    char kind;
};
enum { NO_BRACKET = ' ' };

struct brackets {
    struct bracket *list; /* in order of BEGIN */
    size_t count, capacity;
    size_t name_begin;  /* after the type of the result */
    size_t name_end;    /* position of the parameters of the function, or the end of the name */
    size_t operator_at; /* the last word "operator" outside of brackets, or SIZE_MAX */
};

static bool is_word(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The length of "operator" and its sign at AT; 0 if there is none. */
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

/* Records the bracket at AT. OPEN contains the numbers of the DEPTH open pairs. Returns false if it
 * does not match. */
static bool note(struct brackets *b, const char *name, size_t at, size_t *open, size_t *depth)
{
    char c = name[at];
    if (strchr("<({[", c) != NULL) {
        unsigned angles = 0;
        for (size_t i = 0; i < *depth; i++)
            angles += b->list[open[i]].kind == '<' && b->list[open[i]].begin > 0;
        *MEM_AT(b->list, b->count, b->capacity) = (struct bracket){at, 0, angles + (at > 0), c};
        open[(*depth)++] = b->count++;
        return true;
    }
    size_t around = *depth;
    while (c != '>' && around > 0 && b->list[open[around - 1]].kind == '<')
        around--;
    if (around == 0 || closing(b->list[open[around - 1]].kind) != c)
        return false;
    while (*depth > around) { /* (a<b) */
        struct bracket *sign = &b->list[open[--*depth]];
        sign->kind = NO_BRACKET;
        sign->end = sign->begin;
    }
    b->list[open[--*depth]].end = at;
    return true;
}

/* The length of the operator at AT in an expression in a type, as in C<((sizeof (long))>(4))>; 0 if
 * there is none. AROUND is the bracket around it. Operands are in parentheses, or {parm#1}. If
 * SHIFTS is set, )>>( is an operator, not two closing brackets. */
static size_t sign_length(const char *name, size_t at, char around, bool shifts)
{
    const char c = name[at], next = name[at + 1], before = at > 0 ? name[at - 1] : ' ';
    if (c != '<' && c != '>')
        return 0;
    if (next == '=' || (c == '>' && (before == '-' || (around != '<' && around != '\0'))))
        return 1;
    if (before != ')' && before != '}')
        return 0;
    if (c == '<')
        return next == '(' || next == '{' ? 1 : next == '<' ? 2 : 0;
    return shifts && next == '>' && (name[at + 2] == '(' || name[at + 2] == '{') ? 2 : 0;
}

/* Enough for any function; names with deeper nesting are left unchanged. */
enum { DEEPEST = 64 };

static bool read_brackets(struct brackets *b, const char *name, bool shifts)
{
    /* PAST: the end of the last word "operator" and its sign */
    size_t open[DEEPEST], depth = 0, past = 0;
    b->count = 0;
    b->operator_at = SIZE_MAX;
    for (size_t at = 0; name[at] != '\0'; at++) {
        size_t skip = operator_length(name, at);
        if (skip > 0) {
            b->operator_at = depth == 0 ? at : b->operator_at;
            past = at + skip;
        } else if (at != past || name[at] != '<') /* template arguments may follow operator() */
            skip = sign_length(name, at, depth > 0 ? b->list[open[depth - 1]].kind : '\0', shifts);
        if (skip > 0) {
            at += skip - 1;
            continue;
        }
        if (strchr("<({[>)}]", name[at]) == NULL)
            continue;
        if (depth == DEEPEST || !note(b, name, at, open, &depth))
            return false;
    }
    return depth == 0;
}

/* Finds the pairs of brackets of NAME. Returns false if they do not match. */
static bool find_brackets(struct brackets *b, const char *name)
{
    return read_brackets(b, name, false) ||
           (strstr(name, ">>") != NULL && read_brackets(b, name, true));
}

/* Finds the parameters: the last outer parentheses that are followed by nothing but qualifiers, as
 * in f(int) const and f(int) [clone .x]. main.(*T).f and (anonymous namespace)::f have none. */
static size_t find_name_end(const struct brackets *b, const char *name, size_t begin, size_t limit)
{
    size_t end = limit, after = begin;
    for (size_t i = 0; i < b->count; i++) {
        const struct bracket *pair = &b->list[i];
        if (pair->begin < after || pair->end >= limit)
            continue; /* inside another pair, or out of range */
        after = pair->end + 1;
        bool last = after == limit || name[after] == ' ';
        if (pair->kind == '(' && pair->begin > 0 && name[pair->begin - 1] != ' ' && last)
            end = pair->begin;
    }
    return end;
}

/* The beginning of the name that ends at NAME_END: after the type of the result, if there are
 * parameters. */
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

/* The beginning of the declarator in the pair of brackets B->list[I]: after "*", "&", or
 * "Class::*". Returns 0 if there is none. */
static size_t skip_pointer(const struct brackets *b, const char *name, size_t i)
{
    const size_t begin = b->list[i].begin + 1, end = b->list[i].end;
    size_t at = begin;
    for (; at < end && strchr("*&", name[at]) == NULL; at++) {
        while (i < b->count && b->list[i].begin < at)
            i++;
        if (i < b->count && b->list[i].begin == at && at > begin)
            at = b->list[i].end;
        else if (!is_word(name[at]) && name[at] != ':')
            return 0;
    }
    if (at == end || (at > begin && (name[at] != '*' || name[at - 1] != ':')))
        return 0;
    while (at < end && strchr("*& ", name[at]) != NULL)
        at++;
    return at < end ? at : 0;
}

/* Narrows the range *BEGIN to *END to name and parameters if the result is a pointer or reference
 * to a function or an array: int (*f(long))(char), int (&f(long)) [3]. Returns false otherwise. */
static bool enter_declarator(const struct brackets *b, const char *name, size_t *begin, size_t *end)
{
    size_t after = *begin, inner;
    for (size_t i = 0; i < b->count; i++) {
        const struct bracket *pair = &b->list[i];
        if (pair->begin < after || pair->end >= *end)
            continue;
        after = pair->end + 1;
        if (pair->kind != '(' || pair->begin == 0 ||
            (pair->begin > *begin && name[pair->begin - 1] != ' ') ||
            (name[after] != '(' && strncmp(name + after, " [", 2) != 0) ||
            (inner = skip_pointer(b, name, i)) == 0)
            continue;
        *begin = inner;
        *end = pair->end;
        return true;
    }
    return false;
}

static void find_name(struct brackets *b, const char *name)
{
    size_t begin = 0, end = strlen(name), name_end;
    while (enter_declarator(b, name, &begin, &end))
        ;
    if (begin > 0 && (name_end = find_name_end(b, name, begin, end)) < end) {
        b->name_begin = begin;
        b->name_end = name_end;
        return;
    }
    b->name_end = find_name_end(b, name, 0, strlen(name));
    b->name_begin = find_name_begin(b, name);
}

static bool is_left_out(const struct brackets *b, const struct bracket *pair, const char *name,
                        enum elide_step step)
{
    size_t length = pair->end - pair->begin - 1;
    bool shorter = length > 3 || (length > 0 && step == ELIDE_SIGNATURE);  /* makes names equal */
    bool around = pair->begin < b->name_begin && pair->end >= b->name_end; /* of a declarator */
    if (!shorter || pair->begin == 0 || pair->kind == NO_BRACKET || around)
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
    /* "..." is up to two characters longer than the contents that it replaces. */
    char *copy = mem_alloc(strlen(name) + 2 * b->count + 1), *to = copy;
    for (size_t at = step >= ELIDE_SIGNATURE ? b->name_begin : 0; at < end; at++) {
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
        find_name(&b, name);
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
        find_name(&b, name);
        begin = b.name_begin;
        end = b.name_end;
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
    for (size_t count = 1;
         count <= ELIDE_MAX_SCOPES && (next = elide_scopes(shorter, count)) != NULL; count++) {
        free(inner);
        inner = next;
    }
    char *function = inner != NULL ? without_dots(inner) : mem_strdup(shorter);
    free(inner);
    free(shorter);
    return function;
}

/* Returns the number of bytes of the character at TEXT; adds its columns to *WIDTH. */
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

/* The number of bytes of the shortest beginning of TEXT that takes at least WIDTH columns. */
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

/* Shortens SHORTER, which has no arguments but is too long: removes outer scopes if the rest still
 * fills most of WIDTH, or else the middle. */
static char *drop_scopes(const char *shorter, size_t width)
{
    char *inner = elide_scopes(shorter, 1);
    for (size_t count = 2; inner != NULL && elide_width(inner) > width && count <= ELIDE_MAX_SCOPES;
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
