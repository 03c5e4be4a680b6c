/* Makes text from files valid for JSON and safe for terminals.
 * SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#include <stdbool.h>
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

/* Characters that are invisible or affect how others are shown: ranges in ascending order. */
static bool is_deceptive(uint32_t code)
{
    static const uint32_t ranges[][2] = {
        {0x00, 0x1f},       {0x7f, 0x9f},       {0xad, 0xad}, /* control characters, soft hyphen */
        {0x34f, 0x34f},     {0x61c, 0x61c},     {0x115f, 0x1160}, /* joiner, Arabic mark, fillers */
        {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f}, /* invisible; zero width, marks */
        {0x2028, 0x202e},   {0x2060, 0x206f},   {0x3164, 0x3164}, /* line ends, overrides */
        {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0}, /* variations, byte order mark */
        {0xfff0, 0xfffb},   {0xfffe, 0xffff},   {0x1bca0, 0x1bca3}, /* annotations, formats */
        {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},                     /* formats of music, tags */
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (code <= ranges[i][1])
            return code >= ranges[i][0];
    return (code & 0xfffe) == 0xfffe; /* not characters */
}

uint32_t utf8_code(const char *text, size_t length)
{
    static const unsigned char bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    const unsigned char *bytes = (const unsigned char *)text;
    uint32_t code = bytes[0] & bits[length];
    for (size_t i = 1; i < length; i++)
        code = code << 6 | (bytes[i] & 0x3f);
    return code;
}

char *utf8_visible(const char *text, size_t *width)
{
    char *copy = mem_alloc(strlen(text) * 4 + 1), *to = copy;
    size_t shown = 0;
    while (*text != '\0') {
        size_t length = utf8_length(text);
        const unsigned char *bytes = (const unsigned char *)text;
        if (length == 0 || is_deceptive(utf8_code(text, length))) {
            for (size_t i = 0; i < (length > 0 ? length : 1); i++, text++, shown += 4)
                to += sprintf(to, "\\x%02x", bytes[i]);
            continue;
        }
        memcpy(to, text, length);
        shown += utf8_columns(text, length);
        to += length;
        text += length;
    }
    *to = '\0';
    if (width != NULL)
        *width = shown;
    return copy;
}
