/* Demangles C++, Rust and D names with libiberty.
 *
 * A short name can expand to gigabytes of text (substitutions double), so the text is received in
 * pieces, and longjmp leaves the library when it becomes too long. Nothing leaks: in this mode, the
 * library keeps everything on the stack.
 * SPDX-License-Identifier: MIT */
#include "convert/symbolize/demangle.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "base/buffer.h"
#include "base/memory.h"

static const char base_62[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
enum { MAX_NAME = 1 << 15, MAX_TEXT = 1 << 16, MAX_PIECES = 1 << 20 };

/* Real names grow to 3 times their size, with one piece for every few bytes. */
enum { FREE_COSTS = 16 << 20, COSTS_PER_BYTE = 32 };

struct sink {
    struct buffer text;
    size_t pieces; /* including empty ones, which can be endless */
    jmp_buf too_long;
};

typedef int demangler(const char *, int, demangle_callbackref, void *);

static void take(const char *piece, size_t length, void *context)
{
    struct sink *sink = context;
    if (length > MAX_TEXT - sink->text.size || ++sink->pieces > MAX_PIECES)
        longjmp(sink->too_long, 1);
    buffer_bytes(&sink->text, piece, length);
}

/* Returns the text with SUFFIX, caller frees; NULL if it is empty or contains a NUL, which cannot
 * be part of a name. */
static char *finish(const struct sink *sink, const char *suffix)
{
    if (sink->text.size == 0 || memchr(sink->text.data, '\0', sink->text.size) != NULL)
        return NULL;
    return mem_printf("%.*s%s", (int)sink->text.size, (const char *)sink->text.data, suffix);
}

/* Returns whether the budget of all names is not exhausted. */
static bool has_budget(struct demangle_costs *costs)
{
    uint64_t most = FREE_COSTS + COSTS_PER_BYTE * costs->mangled;
    costs->exceeded |= costs->spent >= most;
    return costs->spent < most;
}

static char *run(demangler *call, const char *name, const char *suffix,
                 struct demangle_costs *costs)
{
    struct sink sink;
    memset(&sink, 0, sizeof sink);
    if (!has_budget(costs))
        return NULL;
    char *volatile text = NULL; /* volatile: must survive longjmp */
    if (setjmp(sink.too_long) == 0)
        text = call(name, DMGL_PARAMS | DMGL_ANSI, take, &sink) ? finish(&sink, suffix) : NULL;
    costs->spent += sink.text.size + sink.pieces;
    buffer_free(&sink.text);
    return text;
}

/* Returns whether NAME would take too long. A Rust name can declare any number of lifetimes ("DG"
 * or "FG", digits, "_"), and libiberty counts through them, for years, even if it prints nothing.
 * Real names have one or two. */
static bool is_endless(const char *name)
{
    for (const char *at = name; name[1] == 'R' && *at != '\0'; at++)
        if ((at[0] == 'D' || at[0] == 'F') && at[1] == 'G') {
            size_t digits = strspn(at + 2, base_62);
            if (digits > 2 && at[2 + digits] == '_')
                return true;
        }
    return false;
}

/* Rust first: its older names are C++ names with a hash at the end. LLVM appends ".llvm.123" to
 * both kinds of names, which no demangler supports. */
static char *undo(const char *name, const char *suffix, struct demangle_costs *costs)
{
    char *text = run(rust_demangle_callback, name, suffix, costs);
    return text != NULL ? text : run(cplus_demangle_v3_callback, name, suffix, costs);
}

/* Returns how far back the reference at AT in a D name points, 0 for no reference. It is a number
 * in base 26: capital letters, with a small letter at the end. */
static size_t reference_of(const char *at)
{
    enum { BASE = 26, MAX_BACK = 1 << 16 };
    size_t back = 0;
    for (at++; *at >= 'A' && *at <= 'Z' && back < MAX_BACK; at++)
        back = back * BASE + (size_t)(*at - 'A');
    return *at >= 'a' && *at <= 'z' ? back * BASE + (size_t)(*at - 'a') : 0;
}

/* Returns the number at AT, at most MOST. */
static size_t identifier_length(const char *at, size_t most)
{
    unsigned long length = strtoul(at, NULL, 10);
    return length < most ? length : most;
}

/* Limits references and letters in D names: the library allocates memory without limit for a name
 * whose text can double with every second reference ("Q") to a previous type, and it recurses for
 * each letter of some types. References to identifiers, which begin with their lengths, only repeat
 * these. Names of the standard library have up to 22 references to types, and repeat 220
 * letters. */
static char *undo_d(const char *name, struct demangle_costs *costs)
{
    enum { MAX_LETTERS = 4096, MAX_TYPES = 32 };
    const size_t length = strnlen(name, MAX_LETTERS);
    size_t types = 0, repeated = 0;
    for (size_t i = 0; i < length && repeated <= MAX_LETTERS; i++) {
        const size_t back = name[i] == 'Q' ? reference_of(name + i) : 0;
        if (back > 0 && back <= i && name[i - back] >= '0' && name[i - back] <= '9')
            repeated += identifier_length(name + i - back, MAX_LETTERS);
        else
            types += name[i] == 'Q';
    }
    if (length == MAX_LETTERS || types > MAX_TYPES || repeated > MAX_LETTERS || !has_budget(costs))
        return NULL;
    char *text = dlang_demangle(name, 0);
    costs->spent += text != NULL ? strlen(text) : 0;
    if (text != NULL && strlen(text) <= MAX_TEXT)
        return text;
    free(text);
    return NULL;
}

char *demangle(const char *name, struct demangle_costs *costs)
{
    const bool is_d = name[0] == '_' && name[1] == 'D';
    if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R' && !is_d) ||
        strnlen(name, MAX_NAME) == MAX_NAME || is_endless(name))
        return NULL;
    costs->mangled += strlen(name);
    char *text = is_d ? undo_d(name, costs) : undo(name, "", costs);
    const char *mark = strpbrk(name, ".@");
    if (text != NULL || mark == NULL)
        return text;
    char *stem = mem_strndup(name, (size_t)(mark - name));
    if (is_d) {
        char *whole = undo_d(stem, costs);
        text = whole != NULL ? mem_printf("%s%s", whole, mark) : NULL;
        free(whole);
    } else
        text = undo(stem, mark, costs);
    free(stem);
    return text;
}
