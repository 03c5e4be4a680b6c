/* Makes text from files valid for JSON and safe for terminals.
 * SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

size_t utf8_length(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    size_t length = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    if (c[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    /* the second byte reveals overlong forms, surrogates, and values beyond U+10FFFF */
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
        (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f))
        return 0;
    return length;
}

size_t utf8_limit(const char *text, size_t most)
{
    size_t length = strnlen(text, most);
    if (text[length] == '\0')
        return length;
    for (size_t back = 1; back <= 3 && back <= length; back++)
        if (utf8_length(text + length - back) > back)
            return length - back;
    return length;
}

char *utf8_repair(const char *text)
{
    static const char replacement[] = "\xef\xbf\xbd";
    char *copy = mem_alloc(strlen(text) * 3 + 1), *to = copy;
    while (*text != '\0') {
        size_t length = utf8_length(text);
        memcpy(to, length > 0 ? text : replacement, length > 0 ? length : 3);
        to += length > 0 ? length : 3;
        text += length > 0 ? length : 1;
    }
    *to = '\0';
    return copy;
}

char *utf8_visible(const char *text, size_t *width)
{
    char *copy = mem_alloc(strlen(text) * 4 + 1), *to = copy;
    size_t shown = 0;
    while (*text != '\0') {
        size_t length = utf8_length(text);
        unsigned char c = (unsigned char)*text;
        /* U+0080..U+009F are control characters too */
        if (length == 0 || c < 0x20 || c == 0x7f || (c == 0xc2 && (unsigned char)text[1] < 0xa0)) {
            to += sprintf(to, "\\x%02x", c);
            text++;
            shown += 4;
            if (c == 0xc2 && length == 2) {
                to += sprintf(to, "\\x%02x", (unsigned char)*text++);
                shown += 4;
            }
            continue;
        }
        memcpy(to, text, length);
        to += length;
        text += length;
        shown++;
    }
    *to = '\0';
    if (width != NULL)
        *width = shown;
    return copy;
}
