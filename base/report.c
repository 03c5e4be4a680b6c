/* Errors and warnings on stderr.
 * SPDX-License-Identifier: MIT */
#include "base/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/utf8.h"

int report_error(const struct reporter *reporter, const struct error *err)
{
    char *file = utf8_visible(err->file, NULL), *text = utf8_visible(err->text, NULL);
    fflush(stdout);
    fprintf(stderr, "%s: ", reporter->tool);
    if (file[0] != '\0')
        fprintf(stderr, "%s: ", file);
    if (err->offset != NO_OFFSET)
        fprintf(stderr, "0x%" PRIx64 ": ", err->offset);
    fprintf(stderr, "%s\n", text);
    free(file);
    free(text);
    return err->of_usage ? EXIT_USAGE : EXIT_DATA;
}

enum { MAX_LINE = 2048 };

struct held_warning {
    const char *format;
    char *line;
    size_t turn;
};

/* Prints a line in a single write, with control characters escaped, because the text may contain
 * names from files. */
static void print_line(const char *tool, const char *line)
{
    char *shown = utf8_visible(line, NULL);
    fprintf(stderr, "%s: %s\n", tool, shown);
    free(shown);
}

/* Counts and prints LINE, a warning of the kind FORMAT. */
static void warn_line(struct reporter *reporter, const char *format, const char *line)
{
    reporter->warnings++;
    if (reporter->quiet)
        return;
    size_t kind = 0;
    while (kind < WARNING_KINDS - 1 && reporter->kinds[kind].format != NULL &&
           reporter->kinds[kind].format != format)
        kind++;
    reporter->kinds[kind].format = format;
    if (reporter->kinds[kind].count++ >= MAX_PRINTED_WARNINGS)
        reporter->unprinted++;
    else
        print_line(reporter->tool, line);
}

__attribute__((format(printf, 2, 0))) static void warn(struct reporter *reporter,
                                                       const char *format, va_list args)
{
    char line[MAX_LINE];
    vsnprintf(line, sizeof line, format, args);
    if (!reporter->holds) {
        warn_line(reporter, format, line);
        return;
    }
    *MEM_APPEND(reporter->held, reporter->held_count, reporter->held_capacity) =
        (struct held_warning){format, mem_strdup(line), reporter->turn};
}

void report_hold(struct reporter *reporter, size_t turn)
{
    reporter->holds = true;
    reporter->turn = turn;
}

void report_held(struct reporter *reporter)
{
    reporter->holds = false;
}

void report_release(struct reporter *reporter, size_t turn)
{
    struct held_warning *held = reporter->held;
    size_t count = 0;
    for (; count < reporter->held_count && held[count].turn <= turn; count++) {
        warn_line(reporter, held[count].format, held[count].line);
        free(held[count].line);
    }
    reporter->held_count -= count;
    if (reporter->held_count > 0) {
        memmove(held, held + count, reporter->held_count * sizeof *held);
        return;
    }
    free(held);
    reporter->held = NULL;
    reporter->held_capacity = 0;
}

void report_warning(struct reporter *reporter, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    warn(reporter, format, args);
    va_end(args);
}

void report_first(struct reporter *reporter, const char *format, ...)
{
    size_t *printed = reporter->all_firsts != NULL ? reporter->all_firsts : &reporter->firsts;
    if (!reporter->quiet && __atomic_fetch_add(printed, 1, __ATOMIC_RELAXED) > 0) {
        reporter->warnings++;
        reporter->unprinted++;
        return;
    }
    va_list args;
    va_start(args, format);
    warn(reporter, format, args);
    va_end(args);
}

void report_awaited(const struct reporter *reporter, const char *path, const char *what)
{
    bool standard = path == NULL || strcmp(path, "-") == 0;
    if (standard && !reporter->quiet && isatty(STDIN_FILENO))
        fprintf(stderr, "%s: waiting for %s from the terminal: give a file, or use a pipe\n",
                reporter->tool, what);
}

bool report_may_escape(int fd)
{
    const char *term = getenv("TERM");
    return isatty(fd) && term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0;
}

void report_unprinted(const struct reporter *reporter)
{
    if (reporter->unprinted > 0)
        fprintf(stderr, "%s: %zu more warning%s not shown\n", reporter->tool, reporter->unprinted,
                reporter->unprinted == 1 ? "" : "s");
}

void report_verbose(const struct reporter *reporter, const char *format, ...)
{
    if (!reporter->verbose || reporter->quiet)
        return;
    char line[MAX_LINE];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    print_line(reporter->tool, line);
}
