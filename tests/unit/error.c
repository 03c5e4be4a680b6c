/* Errors: the first cause is kept, and no file can send escape sequences to the terminal.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include <errno.h>

#include "base/error.h"
#include "base/memory.h"

static void first_cause_stays(struct check *check)
{
    struct error err = {0};
    CHECK_EQ(error_set(&err, "a.bin", 0x20, "found %d of %d", 1, 2), -1);
    CHECK_EQ(error_set(&err, "b.bin", 7, "later"), -1);
    CHECK_EQ(error_set_errno(&err, "c.bin", ENOENT, "latest"), -1);
    CHECK_STR(err.file, "a.bin");
    CHECK_STR(err.text, "found 1 of 2");
    CHECK_EQ(err.offset, 0x20);
}

static void errno_text(struct check *check)
{
    struct error err = {0};
    error_set_errno(&err, NULL, ENOENT, "cannot open");
    CHECK_STR(err.file, "");
    CHECK_STR(err.text, "cannot open: No such file or directory");
    CHECK_EQ(err.offset, NO_OFFSET);
}

static void control_characters(struct check *check)
{
    struct error err = {0};
    error_set(&err, "a\033[2Jb\n", 0, "label '%s'", "x\033]0;y\007\x7f\r\n\tz");
    for (const char *c = err.text; *c != '\0'; c++)
        CHECK((unsigned char)*c >= 0x20 && *c != 0x7f);
    for (const char *c = err.file; *c != '\0'; c++)
        CHECK((unsigned char)*c >= 0x20 && *c != 0x7f);
    CHECK_HAS(err.text, "]0;y");
}

static void long_text_is_cut(struct check *check)
{
    char *text = mem_alloc(5001);
    memset(text, 'x', 5000);
    text[5000] = '\0';
    struct error err = {0};
    error_set(&err, text, 0, "%s", text);
    CHECK_EQ(strlen(err.text), sizeof err.text - 1);
    CHECK_EQ(strlen(err.file), sizeof err.file - 1);
    struct error other = {0};
    error_set_errno(&other, text, ENOENT, "%s", text);
    CHECK_EQ(strlen(other.text), sizeof other.text - 1);
    free(text);
}

CHECK_MAIN({"first_cause_stays", first_cause_stays}, {"errno_text", errno_text},
           {"control_characters", control_characters}, {"long_text_is_cut", long_text_is_cut})
