/* What every tool's command line has in common.
 * SPDX-License-Identifier: MIT */
#include "base/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct argp_option options[] = {
    {"quiet", 'q', NULL, 0, "No warnings, no progress bar", TOOL_GROUP},
    {"verbose", KEY_VERBOSE, NULL, 0, "Tell on stderr what is being done", TOOL_GROUP},
    {"color", KEY_COLOR, "WHEN", 0, "always, never or auto (default; NO_COLOR is honoured)",
     TOOL_GROUP},
    {"help", 'h', NULL, 0, "Print this help and exit", -1},
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct tool_common *common = state->input;
    switch (key) {
    case 'q':
        common->reporter.quiet = true;
        return 0;
    case KEY_VERBOSE:
        common->reporter.verbose = true;
        return 0;
    case KEY_COLOR:
        if (strcmp(argument, "always") != 0 && strcmp(argument, "never") != 0 &&
            strcmp(argument, "auto") != 0)
            argp_error(state, "--color takes always, never or auto, not '%s'", argument);
        common->color = argument[1] == 'l' ? 1 : argument[0] == 'n' ? 0 : -1;
        return 0;
    case 'h':
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp tool_common_argp = {.options = options, .parser = parse};

/* A file that is opened must never get the number of a standard stream that the caller closed. A command
 * that we run finds them closed as they were. */
static void occupy_standard_streams(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

/* Help that could not be written is an error like any other; argp exits by itself. */
static void check_stdout(void)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "%s: <stdout>: cannot write\n", program_invocation_short_name);
        _exit(EXIT_DATA);
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

static void parse_all(const struct argp *argp, int argc, char **argv, unsigned flags, void *input)
{
    argv[0] = program_invocation_short_name; /* how messages begin, whatever the tool was called by */
    argp_parse(argp, argc, argv, flags, NULL, input);
}

void tool_parse(const struct argp *argp, int argc, char **argv, void *input)
{
    parse_all(argp, argc, argv, 0, input);
}

void tool_parse_in_order(const struct argp *argp, int argc, char **argv, void *input)
{
    parse_all(argp, argc, argv, ARGP_IN_ORDER, input);
}

bool tool_color(const struct tool_common *common)
{
    const char *none = getenv("NO_COLOR");
    if (common->color >= 0)
        return common->color == 1;
    return (none == NULL || none[0] == '\0') && isatty(STDOUT_FILENO);
}

int tool_end(const struct tool_common *common, int result, const struct error *err)
{
    if (result != 0)
        return report_error(&common->reporter, err);
    if (common->reporter.strict && common->reporter.warnings > 0) {
        fprintf(stderr, "%s: %zu warning%s count as errors under --strict\n",
                common->reporter.tool, common->reporter.warnings,
                common->reporter.warnings == 1 ? "" : "s");
        return EXIT_DATA;
    }
    return EXIT_OK;
}
