/* The width of characters, compared with libc.
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "tests/unit/check.h"

#include <locale.h>
#include <string.h>
#include <wchar.h>

#include "base/utf8.h"

/* libc counts no column for combining characters. It may know a newer Unicode, with wide characters
 * that our table does not have, but a character that is narrow there must not be wide here. */
static void as_libc(struct check *check)
{
    unsigned wide = 0, missed = 0;
    char text[16];
    CHECK(setlocale(LC_CTYPE, "C.UTF-8") != NULL);
    for (wchar_t code = 0x20; code <= 0x10ffff; code++) {
        mbstate_t state = {0};
        size_t length = wcrtomb(text, code, &state);
        int columns = wcwidth(code);
        if (length == (size_t)-1 || columns <= 0)
            continue;
        text[length] = '\0';
        size_t ours = utf8_columns(text, length);
        wide += columns == 2;
        missed += columns == 2 && ours == 1;
        CHECK(columns == 2 || ours == 1);
    }
    CHECK(wide > 100000);
    CHECK(missed < 300);
}

static void stray_bytes(struct check *check)
{
    CHECK_EQ(utf8_columns("\xff", 0), 1);
    CHECK_EQ(utf8_columns("\xe6\x97\xa5", 3), 2);
    CHECK_EQ(utf8_columns("\xc3\xa4", 2), 1);
    CHECK_EQ(utf8_columns("\xf0\x9f\x98\x80", 4), 2);
    size_t width = 0;
    free(utf8_visible("a\xe6\x97\xa5\xff", &width));
    CHECK_EQ(width, 1 + 2 + strlen("\\xff"));
}

CHECK_MAIN({"as_libc", as_libc}, {"stray_bytes", stray_bytes})
