/* The beginning and the end of every tool.
 * SPDX-License-Identifier: MIT */
#include "base/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/number.h"

/* A newly opened file must never get the descriptor of a standard stream that the caller closed. Commands
 * that the tool runs find those streams closed, as before. */
static void occupy_standard_streams(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

/* Checks that the help was written, because argp exits by itself, without reporting errors. */
static void check_stdout(void)
{
    struct error err = {0};
    errno = 0;
    if (fflush(stdout) != 0 && errno == EPIPE)
        return; /* the reader of the pipe has closed it */
    if (ferror(stdout)) {
        error_set_errno(&err, "<stdout>", errno != 0 ? errno : EIO, "cannot write");
        const struct reporter reporter = {.tool = program_invocation_short_name};
        _exit(report_error(&reporter, &err));
    }
}

void tool_guard_streams(void)
{
    occupy_standard_streams();
    atexit(check_stdout);
}

void tool_start(struct tool_common *common, const char *name)
{
    *common = (struct tool_common){.reporter = {.tool = name}, .color = -1};
    tool_guard_streams();
    signal(SIGPIPE, SIG_IGN);
    argp_err_exit_status = EXIT_USAGE;
}

struct output *tool_output(const struct tool_common *common, unsigned flags, struct error *err)
{
    return output_open(common->output, flags | (common->bzip2 ? OUTPUT_BZIP2 : 0), err);
}

int tool_commit(const struct tool_common *common, struct output *out, int result)
{
    if (out == NULL)
        return -1;
    if (result == 0 && (!common->reporter.strict || common->reporter.warnings == 0))
        return output_commit(out);
    output_discard(out);
    return result;
}

/* The number of characters in a line of standard output; 0: no limit. */
static size_t line_width(void)
{
    enum { DEFAULT_WIDTH = 80 };
    struct winsize window;
    const char *columns = getenv("COLUMNS");
    uint64_t width = 0;
    if (columns != NULL && parse_unsigned(columns, 1, INT_MAX, &width))
        return (size_t)width;
    if (!isatty(STDOUT_FILENO))
        return 0;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
    return known ? window.ws_col : DEFAULT_WIDTH;
}

const struct table_style *tool_style(struct tool_common *common)
{
    bool to_file = common->output != NULL && strcmp(common->output, "-") != 0;
    bool limited = !to_file && !common->bzip2 && !common->table.wide;
    common->table.width = limited ? line_width() : 0;
    return &common->table;
}

bool tool_color(const struct tool_common *common)
{
    const char *none = getenv("NO_COLOR");
    bool to_file = common->output != NULL && strcmp(common->output, "-") != 0;
    if (to_file || common->bzip2)
        return false;
    if (common->color >= 0)
        return common->color == 1;
    return (none == NULL || none[0] == '\0') && report_may_escape(STDOUT_FILENO);
}

int tool_end(const struct tool_common *common, int result, const struct error *err)
{
    report_unprinted(&common->reporter);
    if (result != 0 && err->closed_pipe)
        result = 0; /* the reader of the pipe has closed it, as head does */
    if (result != 0)
        return report_error(&common->reporter, err);
    if (common->reporter.strict && common->reporter.warnings > 0) {
        fprintf(stderr, "%s: %zu warning%s treated as errors (--strict)\n", common->reporter.tool,
                common->reporter.warnings, common->reporter.warnings == 1 ? "" : "s");
        return EXIT_DATA;
    }
    return EXIT_OK;
}
