/* An error and its position.
 * SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Replaces control characters: labels and paths may come from hostile files, whose escape sequences
 * must not reach a terminal. */
static void make_printable(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

/* Returns false if an error has been recorded before. */
__attribute__((format(printf, 4, 0))) static bool
fill(struct error *err, const char *file, uint64_t offset, const char *format, va_list args)
{
    if (err->text[0] != '\0')
        return false;
    snprintf(err->file, sizeof err->file, "%s", file == NULL ? "" : file);
    err->offset = offset;
    vsnprintf(err->text, sizeof err->text, format, args);
    make_printable(err->file);
    make_printable(err->text);
    return true;
}

int error_set(struct error *err, const char *file, uint64_t offset, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(err, file, offset, format, args);
    va_end(args);
    return -1;
}

int error_set_usage(struct error *err, const char *file, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    err->of_usage |= fill(err, file, NO_OFFSET, format, args);
    va_end(args);
    return -1;
}

int error_pass(struct error *err, const struct error *from)
{
    if (err->text[0] == '\0')
        *err = *from;
    return -1;
}

int error_set_errno(struct error *err, const char *file, int errnum, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bool is_new = fill(err, file, NO_OFFSET, format, args);
    va_end(args);
    if (!is_new)
        return -1;
    err->of_system = true;
    size_t used = strlen(err->text);
    snprintf(err->text + used, sizeof err->text - used, "%s%s", used > 0 ? ": " : "",
             strerror(errnum));
    return -1;
}
