/* Names of the parts and copies that compilers make of functions.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/clones.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static const char *const suffixes[] = {"constprop", "part",   "isra",    "cold",   "llvm",
                                       "lto_priv",  "__uniq", "_omp_fn", "default"};

/* The beginnings of the suffixes of target_clones: ".arch_x86_64_v3", ".avx2", ".sse4_2". */
static const char *const targets[] = {"arch_", "avx", "sse"};

static size_t digits_at_end(const char *name, size_t length)
{
    size_t count = 0;
    while (count < length && isdigit((unsigned char)name[length - 1 - count]))
        count++;
    return count;
}

/* Returns whether WORD, which has LENGTH, is one that compilers append. */
static bool is_suffix(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (length == strlen(suffixes[i]) && memcmp(word, suffixes[i], length) == 0)
            return true;
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        if (length >= strlen(targets[i]) && memcmp(word, targets[i], strlen(targets[i])) == 0)
            return true;
    return false;
}

/* The length without a ".word" or ".word.N" at the end. */
static size_t without_suffix(const char *name, size_t length)
{
    size_t end = length, digits = digits_at_end(name, length);
    if (digits > 0 && digits < length && name[length - digits - 1] == '.')
        end = length - digits - 1;
    size_t begin = end;
    while (begin > 0 && (isalnum((unsigned char)name[begin - 1]) || name[begin - 1] == '_'))
        begin--;
    bool found = begin > 1 && name[begin - 1] == '.' && is_suffix(name + begin, end - begin);
    return found ? begin - 1 : length;
}

/* The length without a " [clone .word.N]" at the end. */
static size_t without_clone(const char *name, size_t length)
{
    static const char begin[] = " [clone ";
    if (length == 0 || name[length - 1] != ']')
        return length;
    for (size_t at = length - 1; at > 1; at--)
        if (name[at - 1] == '[')
            return at > 2 && strncmp(name + at - 2, begin, sizeof begin - 1) == 0 ? at - 2 : length;
    return length;
}

/* The length without "::h" and 16 hexadecimal digits at the end. */
static size_t without_hash(const char *name, size_t length)
{
    enum { HASH = 16 };
    if (length <= HASH + 3 || memcmp(name + length - HASH - 3, "::h", 3) != 0)
        return length;
    for (size_t i = length - HASH; i < length; i++)
        if (!isxdigit((unsigned char)name[i]) || isupper((unsigned char)name[i]))
            return length;
    return length - HASH - 3;
}

size_t clone_stem_length(const char *name)
{
    size_t length = strlen(name), before;
    do {
        before = length;
        length = without_suffix(name, length);
        length = without_clone(name, length);
        length = without_hash(name, length);
    } while (length != before);
    return length;
}
