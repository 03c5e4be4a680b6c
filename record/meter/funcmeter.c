/* funcmeter: runs a command, counts the calls of chosen functions and measures how long they take.
 *
 *   funcmeter 'libc.so.6:fsync|pwrite' 'program:parse_.*' -- ./program
 *
 * SPDX-License-Identifier: MIT */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/tool.h"
#include "formats/elf/elf_file.h"
#include "formats/elf/elf_search.h"
#include "formats/table/table.h"
#include "record/clock.h"
#include "record/engines/signals.h"
#include "record/engines/spawn.h"
#include "record/meter/command.h"
#include "record/meter/results.h"
#include "record/power_options.h"

enum {
    KEY_COUNT = KEY_TOOL_FIRST,
    KEY_CALLERS,
    KEY_CPU_TIME,
    KEY_LIST,
    KEY_THREADS,
    KEY_CLOCK,
    KEY_METHOD
};

struct options {
    struct reporter reporter;
    struct meter_patterns patterns;
    struct session_options session;
    struct power_options power;
    struct power_parsing power_parsing;
    bool per_thread;
    enum method { PATCH, UPROBE, AUTO } method;
    struct probes *probes; /* NULL: code is changed */
    const char *output, *format;
    struct output *out; /* open before the command runs; NULL: stdout, or none */
    char **command;
};

static const struct argp_option option_table[] = {
    {NULL, 0, NULL, 0, "What is measured", 1},
    {"count", KEY_COUNT, NULL, EVERYDAY, "only count calls: costs least, and disturbs nothing", 1},
    {"callers", KEY_CALLERS, NULL, EVERYDAY,
     "also count calls per caller: a table of callers, or arcs in a pbin", 1},
    {"cpu-time", KEY_CPU_TIME, NULL, EVERYDAY,
     "measure CPU time of the thread, without waiting; costs 25 times as much", 1},
    {"clock", KEY_CLOCK, "CLOCK", 0,
     "tsc, the time-stamp counter (default, where its rate is constant), or monotonic", 1},
    {"method", KEY_METHOD, "METHOD", 0,
     "patch, change code in memory (default); uprobe, breakpoints of the kernel, which only count; "
     "or auto: uprobe where the program takes no library",
     1},
    {"list", KEY_LIST, NULL, EVERYDAY,
     "print the functions that would be measured, and why others are not, without running COMMAND",
     1},
    {NULL, 0, NULL, 0, "Power: an option about a source follows its -p", 2},
    {"pmu-arg", 'p', "SOURCE", EVERYDAY,
     "measure the energy of long calls with SOURCE[:ARGUMENT], repeatable; see sampler --list-pmus",
     2},
    {"sensor", 's', "N", 0, "the value is number N of the source", 2},
    {"unit", KEY_POWER_UNIT, "U", 0, "unit of a file, counter, command or log", 2},
    {"pmu-kind", KEY_POWER_KIND, "KIND", 0, "kind of the value: power or custom", 2},
    {"range", KEY_POWER_RANGE, "COUNTS", 0, "a counter starts again from 0 after COUNTS", 2},
    {"clock-offset", KEY_POWER_CLOCK_OFFSET, "SECONDS", 0, "the clock of a log is ahead by SECONDS",
     2},
    {NULL, 0, NULL, 0, "What is written", 3},
    {"output", 'o', "FILE", EVERYDAY,
     "write the results to FILE (.pbin, .csv, .json, .jsonl, .md, .txt), not to stderr", 3},
    {"format", KEY_FORMAT, "FORMAT", 0,
     "pbin, igprof, text, csv, json, jsonl, markdown or spreadsheet", 3},
    {"threads", KEY_THREADS, NULL, EVERYDAY, "a row for each function in each thread", 3},
    {NULL, 0, NULL, 0, "General", 4},
    {"quiet", 'q', NULL, EVERYDAY, "no summary, no warnings", 4},
    {"verbose", KEY_VERBOSE, NULL, EVERYDAY, "name the functions that cannot be measured, and why",
     4},
    {NULL, 'h', NULL, EVERYDAY, "print the everyday options and exit", 4},
    {"help", KEY_HELP, NULL, 0, "print all options and exit", 4},
    {"usage", KEY_USAGE, NULL, 0, "print the options in short and exit", 4},
    {"version", 'V', NULL, 0, "print the version and exit", 4},
    {0},
};

static const char documentation[] =
    "Runs COMMAND, counts the calls of chosen functions and measures how long they take. PATTERN "
    "is "
    "LIBRARY:REGEX, or @FILE with one per line.\v"
    "Examples:\n"
    "  funcmeter 'program:work|burn_.*' -- ./program\n"
    "  funcmeter -o calls.csv 'libfoo.so.1:.*' -- ./program\n"
    "  funcmeter --count 'libc.so.6:.*' -- ./program\n"
    "\nThe exit status is that of COMMAND. See funcmeter(1).\n";

/* ---- command line ---- */

static void take_argument(struct argp_state *state, struct options *o, const char *text)
{
    struct error err = {0};
    if (state->quoted != 0 && state->next > state->quoted) {
        o->command = state->argv + state->next - 1;
        state->next = state->argc;
    } else if (meter_patterns_add(&o->patterns, text, &err) != 0) {
        report_error(&o->reporter, &err);
        exit(EXIT_USAGE);
    }
}

static bool is_pbin(const char *format)
{
    return format != NULL && strcmp(format, "pbin") == 0;
}

static bool is_igprof(const char *format)
{
    return format != NULL && strcmp(format, "igprof") == 0;
}

/* An option that breakpoints cannot serve, or NULL. */
static const char *beyond_probes(const struct options *o)
{
    return o->session.callers    ? "--callers"
           : o->session.cpu_time ? "--cpu-time"
           : o->per_thread       ? "--threads"
           : o->power.count > 0  ? "-p"
                                 : NULL;
}

static void finish(struct argp_state *state, const struct options *o)
{
    struct error err = {0};
    if (o->command == NULL)
        argp_error(state, "no command given: funcmeter PATTERN... -- COMMAND [ARGUMENT...]");
    if (o->patterns.count == 0)
        argp_error(state, "no pattern given: funcmeter PATTERN... -- COMMAND [ARGUMENT...]");
    const char *table = is_pbin(o->format) || is_igprof(o->format) ? NULL : o->format;
    const char *path = is_igprof(o->format) ? NULL : o->output; /* it has no suffix of its own */
    power_options_check(&o->power_parsing, state);
    if (o->power.count > 0 && (!o->session.timing || o->session.cpu_time))
        argp_error(state, "-p: not with %s: energy is that of wall time",
                   o->session.timing ? "--cpu-time" : "--count");
    if (o->method == UPROBE && beyond_probes(o) != NULL)
        argp_error(state, "%s: not with --method uprobe, which only counts", beyond_probes(o));
    if (table_format_check(table, path, ".pbin", &err) != 0)
        argp_error(state, "%s", err.text);
}

static enum method method_of(struct argp_state *state, const char *name)
{
    static const char *const names[] = {"patch", "uprobe", "auto"};
    for (int i = PATCH; i <= AUTO; i++)
        if (strcmp(names[i], name) == 0)
            return (enum method)i;
    argp_error(state, "--method: expected auto, patch or uprobe, found '%s'", name);
    return PATCH;
}

static error_t take_option(int key, char *argument, struct argp_state *state)
{
    struct options *o = state->input;
    if (power_option_take(&o->power_parsing, key, argument, state))
        return 0;
    switch (key) {
    case KEY_COUNT:
        o->session.timing = false;
        return 0;
    case KEY_CALLERS:
        o->session.callers = true;
        return 0;
    case KEY_CPU_TIME:
        o->session.cpu_time = true;
        return 0;
    case KEY_CLOCK:
        if (strcmp(argument, "tsc") != 0 && strcmp(argument, "monotonic") != 0)
            argp_error(state, "--clock: expected tsc or monotonic, found '%s'", argument);
        o->session.monotonic = strcmp(argument, "monotonic") == 0;
        return 0;
    case KEY_METHOD:
        o->method = method_of(state, argument);
        return 0;
    case KEY_LIST:
        o->session.listing = true;
        return 0;
    case KEY_THREADS:
        o->per_thread = true;
        return 0;
    case 'o':
        o->output = argument;
        return 0;
    case KEY_FORMAT:
        o->format = argument;
        return 0;
    case 'q':
        o->reporter.quiet = true;
        return 0;
    case KEY_VERBOSE:
        o->reporter.verbose = true;
        return 0;
    case ARGP_KEY_ARG:
        take_argument(state, o, argument);
        return 0;
    case ARGP_KEY_END:
        finish(state, o);
        return 0;
    default:
        return tool_take_help(key, state);
    }
}

const char *argp_program_version = "funcmeter (pbin-tools) " PBIN_TOOLS_VERSION;

static void parse(struct options *o, int argc, char **argv)
{
    static char name[] = "funcmeter";
    const struct argp argp = {.options = option_table,
                              .parser = take_option,
                              .args_doc = "PATTERN... -- COMMAND [ARGUMENT...]",
                              .doc = documentation};
    *o = (struct options){.reporter = {.tool = name}, .session = {.timing = true}};
    o->power_parsing = (struct power_parsing){.power = &o->power, .early = {.kind = -1}};
    tool_guard_streams();
    argp_err_exit_status = EXIT_USAGE;
    argv[0] = name;
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_NO_HELP, NULL, o) != 0)
        exit(EXIT_USAGE);
}

/* ---- the command ---- */

/* Decides between PATCH and UPROBE. Returns 0, or -1 with ERR filled. */
static int choose_method(struct options *o, struct error *err)
{
    if (o->method == PATCH)
        return command_check(o->command[0], err);
    if (o->method == AUTO) {
        o->method = command_check(o->command[0], err) == 0 ? PATCH : UPROBE;
        if (o->method == PATCH)
            return 0;
        if (beyond_probes(o) != NULL)
            return error_set(err, NULL, NO_OFFSET, "%s: not with uprobes, which only count",
                             beyond_probes(o));
        report_warning(&o->reporter, "%s: its calls are counted by breakpoints of the kernel",
                       err->text);
        *err = (struct error){0};
    }
    if (o->session.timing && !o->session.listing)
        report_warning(&o->reporter,
                       "returns are watched by breakpoints: a C++ exception that passes one aborts "
                       "the program, and of calls nested deeper than 64 returns are missing "
                       "(--count: calls only)");
    return command_check_for_probes(o->command[0], err);
}

/* The preload library: beside this program, or where it is installed. Caller frees; NULL with ERR filled. */
static char *find_library(struct error *err)
{
    static const char *const places[] = {"funcmeter-preload.so",
                                         "../lib/pbin-tools/funcmeter-preload.so"};
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash != NULL)
        *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char *path = mem_printf("%s/%s", self, places[i]);
        bool found = access(path, R_OK) == 0;
        if (found && strpbrk(path, " :") == NULL)
            return path;
        if (found)
            error_set(err, path, NO_OFFSET, "the loader takes no path with a space or colon");
        free(path);
    }
    error_set(err, NULL, NO_OFFSET,
              "cannot find funcmeter-preload.so in %s or %s/../lib/pbin-tools", self, self);
    return NULL;
}

/* Waits until the process ends, and passes signals on to it. Returns its status. */
static int await(pid_t pid, const struct signals *signals)
{
    int status = 0;
    for (;;) {
        siginfo_t info;
        pid_t done = waitpid(pid, &status, WNOHANG);
        if (done == pid || (done < 0 && errno != EINTR))
            return status;
        int number = signals_wait(signals, SECOND, &info);
        if (number != 0 && signals_passed_on(&info))
            kill(pid, number);
        else if (number != 0 && signals_stop(number))
            signals_stop_self(number);
    }
}

/* Runs the command. Returns 0 with *STATUS as from waitpid, or -1 with ERR and *EXIT filled. */
static int run(struct options *o, const struct signals *signals, int *status, int *end,
               struct error *err)
{
    struct spawn child;
    if (spawn(&child, o->command, signals, err) != 0)
        return -1;
    if ((o->probes != NULL && probes_watch(o->probes, child.pid, err) != 0) ||
        spawn_go(&child, o->command[0], err) != 0) {
        spawn_cancel(&child);
        return -1;
    }
    int errnum = spawn_failure(&child);
    *status = await(child.pid, signals);
    return errnum == 0 ? 0 : spawn_explain(o->command[0], errnum, end, err);
}

/* ---- breakpoints ---- */

/* Chooses functions of a statically linked program. Returns whether it is one. */
static bool add_static(const struct options *o, struct planner *planner)
{
    struct error unused = {0};
    int errnum;
    char *path = command_find(o->command[0]);
    char *real = path != NULL ? realpath(path, NULL) : NULL;
    struct elf_file *file = real != NULL ? elf_file_open(real, &errnum, &unused) : NULL;
    bool found = file != NULL && command_is_static(file);
    elf_file_close(file);
    if (found)
        planner_add_file(planner, real, true);
    free(real);
    free(path);
    return found;
}

/* Chooses functions of files that patterns name by their path and that the command does not load at its start. */
static void add_named_files(const struct options *o, struct planner *planner)
{
    for (size_t i = 0; i < o->patterns.count; i++) {
        const struct meter_pattern *p = &o->patterns.items[i];
        if (p->files == 0 && p->library[0] == '/' && access(p->library, R_OK) == 0)
            planner_add_file(planner, p->library, false);
    }
}

/* Finds out which files the command loads, and makes breakpoints. Returns 0, or -1 with ERR and perhaps *END filled. */
static int prepare_probes(struct options *o, const struct signals *signals, struct planner *planner,
                          struct session *session, const char *library, int *end, struct error *err)
{
    int status = 0;
    uint32_t functions;
    if (!add_static(o, planner)) {
        if (session_export(session, library, err) != 0 || run(o, signals, &status, end, err) != 0)
            return -1;
        session_unexport(session);
    }
    add_named_files(o, planner); /* no process is left that asks for a plan */
    planner_functions(planner, &functions);
    if (functions > 1 && !o->session.listing)
        o->probes = probes_new(planner, o->session.timing, err);
    return functions <= 1 || o->session.listing || o->probes != NULL ? 0 : -1;
}

/* ---- results ---- */

static int compare_functions(const void *a, const void *b)
{
    const struct meter_function *const *x = a, *const *y = b;
    int order = strcmp((*x)->library, (*y)->library);
    return order != 0 ? order : strcmp((*x)->name, (*y)->name);
}

/* Prints what would be measured. */
static void list(const struct planner *planner)
{
    uint32_t count;
    size_t refused;
    const struct meter_function *functions = planner_functions(planner, &count);
    const struct meter_refusal *refusals = planner_refusals(planner, &refused);
    const struct meter_function **sorted = mem_zalloc(count, sizeof *sorted);
    for (uint32_t i = 1; i < count; i++)
        sorted[i - 1] = &functions[i];
    qsort(sorted, count - 1, sizeof *sorted, compare_functions);
    for (uint32_t i = 0; i + 1 < count; i++)
        printf("0x%08" PRIx64 " %6" PRIu64 "  %s:%s%s\n", sorted[i]->address, sorted[i]->size,
               sorted[i]->library, sorted[i]->readable,
               sorted[i]->entries_only ? "  (calls only)" : "");
    for (size_t i = 0; i < refused; i++)
        printf("-               -  %s:%s  (%s)\n", refusals[i].library, refusals[i].name,
               refusals[i].why);
    free(sorted);
}

static void warn(struct options *o, const struct session *session, struct planner *planner)
{
    const struct meter_header *h = session_header(session);
    size_t refused;
    planner_find_inlined(planner, o->session.listing || o->reporter.verbose);
    planner_refusals(planner, &refused);
    for (size_t i = 0; i < o->patterns.count; i++) {
        const struct meter_pattern *p = &o->patterns.items[i];
        if (p->files == 0)
            report_warning(&o->reporter, "pattern '%s': the command loaded no such file", p->text);
        else if (p->functions == 0)
            report_warning(&o->reporter, "pattern '%s': no function matches", p->text);
    }
    if (refused > 0 && !o->reporter.verbose && !o->session.listing)
        report_warning(&o->reporter, "%zu function%s cannot be hooked (--verbose: which, and why)",
                       refused, refused == 1 ? "" : "s");
    if (h->lost > 0)
        report_warning(&o->reporter, "%" PRIu64 " threads were not measured: more than %d at once",
                       h->lost, METER_THREADS);
    if (h->lost_arcs > 0)
        report_warning(&o->reporter, "%" PRIu64 " calls have no caller: a thread has more than %d",
                       h->lost_arcs, METER_ARCS);
    if (h->too_deep > 0)
        report_warning(&o->reporter, "%" PRIu64 " calls were nested too deeply to be timed",
                       h->too_deep);
    if (h->failed > 0)
        report_warning(&o->reporter,
                       "the code of %" PRIu64
                       " files could not be changed: their calls are missing",
                       h->failed);
    if (h->changed > 0)
        report_warning(&o->reporter,
                       "%" PRIu64 " functions differ from their files: their calls are missing",
                       h->changed);
}

static void summarize(const struct options *o, const struct session *session,
                      const struct planner *planner, const struct meter_results *results)
{
    uint32_t functions;
    const struct meter_header *h = session_header(session);
    planner_functions(planner, &functions);
    uint64_t calls = 0;
    for (size_t i = 0; i < results->count; i++)
        calls += results->items[i].record.calls;
    if (o->reporter.quiet)
        return;
    fprintf(stderr, "funcmeter: %" PRIu64 " calls, %" PRIu32 " functions hooked", calls,
            functions - 1);
    if (h->timing)
        fprintf(stderr, ", a hook costs %.1f ns, which is subtracted (clock: %s)",
                (double)h->cost_total * results->tick,
                h->tsc                ? "tsc"
                : o->session.cpu_time ? "CPU time"
                                      : "monotonic");
    fputs("\n", stderr);
}

static char *command_line(char *const *command)
{
    char *line = mem_strdup(command[0]);
    for (size_t i = 1; command[i] != NULL; i++) {
        char *longer = mem_printf("%s %s", line, command[i]);
        free(line);
        line = longer;
    }
    return line;
}

static void write_pbin(const struct options *o, const struct meter_results *results,
                       const struct meter_arcs *arcs, const struct session *session,
                       const struct planner *planner)
{
    char *line = command_line(o->command);
    const struct meter_run run = {.name = o->output != NULL ? elf_base_name(o->output) : "<stdout>",
                                  .target = o->command[0],
                                  .command = line,
                                  .wall_ns = session_wall(session)};
    meter_results_write_pbin(results, arcs, planner, &run, o->out);
    free(line);
}

static bool wants_pbin(const struct options *o)
{
    return is_pbin(o->format) || (o->format == NULL && path_has_suffix(o->output, ".pbin"));
}

/* Where the results are written. Returns 0, or -1 with ERR filled. */
static int open_output(struct options *o, struct error *err)
{
    o->out = output_open(o->output, wants_pbin(o) ? OUTPUT_BINARY : 0, err);
    return o->out != NULL ? 0 : -1;
}

static int write_results(struct options *o, const struct meter_results *results,
                         const struct meter_arcs *arcs, const struct session *session,
                         const struct planner *planner, struct error *err)
{
    if (o->output == NULL && o->format == NULL && o->reporter.quiet)
        return 0;
    if (o->output == NULL && dup2(STDERR_FILENO, STDOUT_FILENO) < 0) /* stdout is the command's */
        return error_set_errno(err, NULL, errno, "cannot write to stderr");
    if (o->out == NULL && open_output(o, err) != 0)
        return -1;
    const struct table_format *format = table_format_choose(o->format, o->output, &table_text);
    if (wants_pbin(o))
        write_pbin(o, results, arcs, session, planner);
    else if (is_igprof(o->format))
        meter_results_write_igprof(results, planner, o->command[0],
                                   session_block(session, 0)->thread.pid, o->out);
    else if (o->session.callers)
        meter_arcs_write(arcs, planner, format, o->out, false);
    else
        meter_results_write(results, planner, format, o->out, false);
    struct output *out = o->out;
    o->out = NULL;
    return output_commit(out);
}

/* What calls add up to, with their energy. Returns 0, or -1 with ERR filled. */
static int read_results(struct options *o, struct meter_results *results,
                        const struct session *session, const struct planner *planner,
                        const struct energy *energy, struct error *err)
{
    if (o->probes != NULL)
        meter_results_read_probes(results, o->probes, planner);
    else
        meter_results_read(results, session, planner, energy, o->per_thread);
    if (energy == NULL)
        return 0;
    int without = meter_results_check_energy(results, planner, energy, err);
    if (without > 0)
        report_warning(
            &o->reporter,
            "%d function%s no energy: less than 95 %% of their time is in calls of at least "
            "%.3g ms, %d periods of the source",
            without, without == 1 ? " has" : "s have",
            (double)energy_period(energy) * ENERGY_PERIODS * 1e-6, ENERGY_PERIODS);
    if (session_header(session)->next_interval > METER_INTERVALS)
        report_warning(&o->reporter, "the energy of calls after the first %d is missing",
                       METER_INTERVALS);
    return without < 0 ? -1 : 0;
}

/* After the run. Returns 0, or -1 with ERR filled. */
static int report(struct options *o, struct session *session, struct planner *planner,
                  struct energy *energy, struct error *err)
{
    uint32_t functions;
    struct meter_results results;
    struct meter_arcs arcs = {0};
    session_stop(session);
    if (energy != NULL && energy_stop(energy, err) != 0)
        return -1;
    warn(o, session, planner);
    planner_functions(planner, &functions);
    if (o->method == PATCH && session_header(session)->processes == 0)
        return error_set(err, NULL, NO_OFFSET,
                         "'%s' did not load the preload library: nothing was measured",
                         o->command[0]);
    if (o->session.listing)
        list(planner);
    if (functions <= 1)
        return error_set(err, NULL, NO_OFFSET, "no function was hooked");
    if (o->session.listing)
        return 0;
    int result = read_results(o, &results, session, planner, energy, err);
    if (result == 0) {
        meter_arcs_read(&arcs, session, planner);
        summarize(o, session, planner, &results);
        result = write_results(o, &results, &arcs, session, planner, err);
    }
    meter_results_free(&results);
    meter_arcs_free(&arcs);
    return result;
}

/* Opens the power sources, if any. Returns 0, or -1 with ERR filled. */
static int start_energy(struct options *o, struct energy **energy, struct error *err)
{
    if (o->power.count == 0 || o->session.listing)
        return 0;
    *energy = energy_new(&o->power, &o->reporter, err);
    if (*energy == NULL)
        return -1;
    o->session.shortest = energy_shortest(*energy);
    return 0;
}

/* For breakpoints, the preload library only says what is loaded. */
static struct session *start_session(const struct options *o, struct planner *planner,
                                     struct error *err)
{
    struct session_options options = o->session;
    if (o->method == UPROBE) {
        options.listing = true;
        options.timing = false;
        planner_leave_code(planner);
    }
    return session_new(planner, &options, err);
}

/* Before the command runs. Returns 0, or -1 with ERR and perhaps *END filled. */
static int prepare(struct options *o, const struct signals *signals, struct planner *planner,
                   struct session *session, const char *library, int *end, struct error *err)
{
    return o->method == UPROBE ? prepare_probes(o, signals, planner, session, library, end, err)
                               : session_export(session, library, err);
}

/* Returns the exit status. */
static int meter(struct options *o, struct error *err)
{
    struct signals signals;
    int status = 0, end = EXIT_DATA;
    char *library = find_library(err);
    bool early = o->output != NULL && !o->session.listing;
    if (library == NULL || choose_method(o, err) != 0 || (early && open_output(o, err) != 0)) {
        free(library);
        return report_error(&o->reporter, err);
    }
    signals_take(&signals, NULL);
    struct planner *planner =
        planner_new(&o->patterns, o->command[0], o->session.timing, &o->reporter);
    struct energy *energy = NULL;
    struct session *session = NULL;
    bool only_list = o->method == UPROBE && o->session.listing;
    if (start_energy(o, &energy, err) != 0 || (session = start_session(o, planner, err)) == NULL ||
        prepare(o, &signals, planner, session, library, &end, err) != 0 ||
        (!only_list && run(o, &signals, &status, &end, err) != 0) ||
        report(o, session, planner, energy, err) != 0)
        report_error(&o->reporter, err);
    else
        end = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    output_discard(o->out);
    probes_delete(o->probes);
    session_delete(session);
    energy_delete(energy);
    planner_delete(planner);
    free(library);
    return end;
}

int main(int argc, char **argv)
{
    struct options options;
    struct error err = {0};
    parse(&options, argc, argv);
    int status = meter(&options, &err);
    report_unprinted(&options.reporter);
    meter_patterns_free(&options.patterns);
    return status;
}
