/* Checksums of source files, as text.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "formats/pbin/pbin.h"

bool pbin_is_md5(const char *text)
{
    enum { DIGITS = 32 };
    return strspn(text, "0123456789abcdef") == DIGITS && text[DIGITS] == '\0';
}
