/* Names of the parts and copies that compilers make of functions.
 * SPDX-License-Identifier: MIT */
#include "analyze/attribute/clones.h"

#include <ctype.h>
#include <string.h>

static const char *const suffixes[] = {"constprop", "part", "isra", "cold", "llvm", "lto_priv"};

static size_t digits_at_end(const char *name, size_t length)
{
    size_t count = 0;
    while (count < length && isdigit((unsigned char)name[length - 1 - count]))
        count++;
    return count;
}

/* Length without one ".word" or ".word.N" at the end. */
static size_t without_suffix(const char *name, size_t length)
{
    size_t end = length, digits = digits_at_end(name, length);
    if (digits > 0 && digits < length && name[length - digits - 1] == '.')
        end = length - digits - 1;
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        size_t size = strlen(suffixes[i]);
        if (end > size + 1 && name[end - size - 1] == '.' &&
            memcmp(name + end - size, suffixes[i], size) == 0)
            return end - size - 1;
    }
    return length;
}

/* Length without one " [clone .word.N]". */
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

/* Length without "::h" and 16 hexadecimal digits. */
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
