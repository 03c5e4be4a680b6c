/* funcmeter: runs a command, counts the calls of chosen functions and measures how long they take.
 *
 *   funcmeter 'libc.so.6:fsync|pwrite' 'program:parse_.*' -- ./program
 *
 * SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/tool.h"
#include "formats/elf/elf_file.h"
#include "record/funcmeter/command.h"
#include "record/funcmeter/command_run.h"
#include "record/funcmeter/funcmeter_options.h"
#include "record/funcmeter/messages.h"
#include "record/funcmeter/results_file.h"

/* One run of the command. */
struct metering {
    struct funcmeter_options *options;
    enum meter_method method; /* after it was chosen, not METHOD_AUTO */
    bool rest;                /* functions whose code cannot be changed get breakpoints */
    struct signals signals;
    char *library; /* path of the preload library */
    struct planner *planner;
    struct session *session;
    struct energy *energy; /* NULL: not measured */
    struct probes *probes; /* NULL: code is changed, for all functions */
    struct output *out;    /* open before the command runs; NULL: stdout, or none */
    int status;            /* of the command, as from waitpid */
    int end;               /* exit status in case of an error */
};

/* Chooses breakpoints, which are the requested method, or the only one that is possible. Returns 0,
 * or -1 with ERR filled. */
static int choose_probes(struct metering *m, struct error *err)
{
    struct error refused = {0};
    struct funcmeter_options *o = m->options;
    const bool asked = o->method == METHOD_UPROBE;
    m->method = METHOD_UPROBE;
    if (command_check_for_probes(o->command[0], asked ? err : &refused) != 0)
        return -1;
    const char *beyond = funcmeter_beyond_probes(o);
    if (beyond != NULL)
        return error_set(err, NULL, NO_OFFSET,
                         "%s cannot be combined with uprobes, which only count", beyond);
    if (!asked)
        report_warning(&o->reporter, "%s: its calls are counted by breakpoints of the kernel",
                       err->text);
    *err = (struct error){0};
    if (o->session.timing && !o->session.listing)
        report_warning(&o->reporter,
                       "returns are watched by breakpoints: a C++ exception that passes one aborts "
                       "the program, and returns of calls nested deeper than 64 are missing "
                       "(--count: calls only)");
    return 0;
}

/* Chooses between patches and uprobes. Returns 0, or -1 with ERR filled. */
static int choose_method(struct metering *m, struct error *err)
{
    const struct funcmeter_options *o = m->options;
    m->method = METHOD_PATCH;
    if (o->method == METHOD_UPROBE)
        return choose_probes(m, err);
    if (command_check(o->command[0], err) != 0)
        return o->method == METHOD_AUTO ? choose_probes(m, err) : -1;
    m->rest = o->method == METHOD_AUTO && funcmeter_beyond_probes(o) == NULL && probes_permitted();
    return 0;
}

/* Chooses functions of files that patterns name by path and that the command does not load at its
 * start. */
static void add_named_files(struct metering *m)
{
    const struct meter_patterns *patterns = &m->options->patterns;
    for (size_t i = 0; i < patterns->count; i++) {
        const struct meter_pattern *p = &patterns->items[i];
        bool is_path = m->options->alone ? strchr(p->library, '/') != NULL : p->library[0] == '/';
        if (p->files == 0 && is_path && access(p->library, R_OK) == 0)
            planner_add_file(m->planner, p->library, false);
    }
}

static int run(struct metering *m, struct error *err)
{
    return command_run(m->options->command, &m->signals, m->probes, &m->status, &m->end, err);
}

/* Lets the loader find the libraries that patterns name. If it does not find one, funcmeter reports
 * this, because the loader has no standard error. Returns 0, or -1 with ERR filled. */
static int load_libraries(struct metering *m, struct error *err)
{
    const struct meter_patterns *patterns = &m->options->patterns;
    char *libraries = mem_strdup(m->library);
    for (size_t i = 0; i < patterns->count; i++)
        if (strchr(patterns->items[i].library, '/') == NULL)
            mem_append(&libraries, ":%s", patterns->items[i].library);
    int result = session_export(m->session, libraries, err);
    free(libraries);
    if (result != 0)
        return -1;
    int flags = fcntl(STDERR_FILENO, F_GETFD);
    if (flags >= 0)
        fcntl(STDERR_FILENO, F_SETFD, flags | FD_CLOEXEC);
    result = run(m, err);
    if (flags >= 0)
        fcntl(STDERR_FILENO, F_SETFD, flags);
    session_unexport(m->session);
    if (result == 0)
        add_named_files(m); /* no process remains that could request a plan */
    return result;
}

/* ---- breakpoints ---- */

/* Chooses functions of a statically linked program. Returns whether it is one. */
static bool add_static(struct metering *m)
{
    struct error unused = {0};
    int errnum;
    char *path = command_find(m->options->command[0]);
    char *real = path != NULL ? realpath(path, NULL) : NULL;
    struct elf_file *file = real != NULL ? elf_file_open(real, &errnum, &unused) : NULL;
    bool found = file != NULL && command_is_static(file);
    elf_file_close(file);
    if (found)
        planner_add_file(m->planner, real, true);
    free(real);
    free(path);
    return found;
}

/* Determines which files the command loads, and makes breakpoints. Returns 0, or -1 with ERR
 * filled. */
static int prepare_probes(struct metering *m, struct error *err)
{
    uint32_t functions;
    const struct session_options *options = &m->options->session;
    if (!add_static(m)) {
        if (session_export(m->session, m->library, err) != 0 || run(m, err) != 0)
            return -1;
        session_unexport(m->session);
    }
    add_named_files(m); /* no process remains that could request a plan */
    planner_functions(m->planner, &functions);
    if (functions > 1 && !options->listing)
        m->probes = probes_new(m->planner, options->timing, err);
    return functions <= 1 || options->listing || m->probes != NULL ? 0 : -1;
}

/* Determines which functions of the program and of the libraries that it loads cannot be hooked,
 * and makes breakpoints for them. Returns 0, or -1 with ERR filled. */
static int prepare_rest(struct metering *m, struct error *err)
{
    const struct session_options options = {.listing = true};
    if (!m->rest)
        return 0;
    planner_probe_rest(m->planner, true);
    if (m->options->session.listing)
        return 0; /* listing is all that was requested */
    struct session *session = session_new(m->planner, &options, err);
    if (session == NULL)
        return -1;
    int result = session_export(session, m->library, err);
    if (result == 0)
        result = run(m, err);
    session_unexport(session);
    session_delete(session);
    planner_probe_rest(m->planner, false);
    if (result != 0 || planner_probed(m->planner) == 0)
        return result;
    m->probes = probes_new(m->planner, false, err);
    return m->probes != NULL ? 0 : -1;
}

/* ---- before the run ---- */

/* Opens the power sources, if any. Returns 0, or -1 with ERR filled. */
static int start_energy(struct metering *m, struct error *err)
{
    struct funcmeter_options *o = m->options;
    if (o->power.count == 0 || o->session.listing)
        return 0;
    m->energy = energy_new(&o->power, &o->reporter, err);
    if (m->energy == NULL)
        return -1;
    o->session.shortest = energy_shortest(m->energy);
    return 0;
}

/* With breakpoints, the preload library only reports which files are loaded. */
static int start_session(struct metering *m, struct error *err)
{
    struct session_options options = m->options->session;
    if (m->method == METHOD_UPROBE) {
        options.listing = true;
        options.timing = false;
        planner_leave_code(m->planner);
    }
    m->session = session_new(m->planner, &options, err);
    return m->session != NULL ? 0 : -1;
}

static int prepare_and_run(struct metering *m, struct error *err)
{
    const bool uprobe = m->method == METHOD_UPROBE;
    if (m->options->alone)
        return load_libraries(m, err);
    if ((uprobe ? prepare_probes(m, err) : session_export(m->session, m->library, err)) != 0)
        return -1;
    return uprobe && m->options->session.listing ? 0 : run(m, err);
}

/* Makes all checks before anything is started. Returns 0, or -1 with ERR filled. */
static int check(struct metering *m, struct error *err)
{
    const struct funcmeter_options *o = m->options;
    m->library = command_find_library(err);
    if (m->library == NULL || choose_method(m, err) != 0)
        return -1;
    if (o->output == NULL || o->session.listing)
        return 0;
    m->out = results_file_open(o, err);
    return m->out != NULL ? 0 : -1;
}

/* ---- after the run ---- */

/* Adds up the calls, with their energy. Returns 0, or -1 with ERR filled. */
static int read_results(struct metering *m, struct meter_results *results, struct error *err)
{
    struct funcmeter_options *o = m->options;
    if (m->method == METHOD_UPROBE)
        meter_results_read_probes(results, m->probes, m->planner);
    else
        meter_results_read(results, m->session, m->planner, m->energy, m->probes, o->per_thread);
    if (m->energy == NULL)
        return 0;
    int without = meter_results_check_energy(results, m->planner, m->energy, err);
    if (without > 0)
        report_warning(
            &o->reporter,
            "%d function%s no energy: less than 95 %% of their time is in calls of at least "
            "%.3g ms, %d periods of the source",
            without, without == 1 ? " has" : "s have",
            (double)energy_period(m->energy) * ENERGY_PERIODS * 1e-6, ENERGY_PERIODS);
    if (session_header(m->session)->next_interval > METER_MAX_INTERVALS)
        report_warning(&o->reporter, "the energy of calls after the first %d is missing",
                       METER_MAX_INTERVALS);
    return without < 0 ? -1 : 0;
}

/* Returns 0, or -1 with ERR filled. */
static int report(struct metering *m, struct error *err)
{
    uint32_t functions;
    struct meter_results results;
    struct meter_arcs arcs = {0};
    struct funcmeter_options *o = m->options;
    session_stop(m->session);
    if (m->energy != NULL && energy_stop(m->energy, err) != 0)
        return -1;
    messages_warn(o, m->session, m->planner);
    planner_functions(m->planner, &functions);
    if (m->method == METHOD_PATCH && session_header(m->session)->processes == 0)
        return error_set(err, NULL, NO_OFFSET,
                         "'%s' did not load the preload library: nothing was measured",
                         o->command[0]);
    if (o->session.listing)
        messages_list(m->planner);
    if (functions <= 1)
        return error_set(err, NULL, NO_OFFSET, "no function was hooked");
    if (o->session.listing)
        return 0;
    int result = read_results(m, &results, err);
    if (result == 0) {
        meter_arcs_read(&arcs, m->session, m->planner);
        messages_summarize(o, m->session, m->planner, &results);
        result = results_file_write(o, &results, &arcs, m->session, m->planner, &m->out, err);
    }
    meter_results_free(&results);
    meter_arcs_free(&arcs);
    return result;
}

/* Deleting breakpoints closes their counters, but their definitions may remain. */
static void delete_probes(struct metering *m)
{
    unsigned remaining = probes_delete(m->probes);
    if (remaining > 0)
        report_warning(
            &m->options->reporter,
            "%u event%s of breakpoints could not be removed from "
            "/sys/kernel/tracing/uprobe_events; the next run with breakpoints removes them",
            remaining, remaining == 1 ? "" : "s");
}

/* Returns the exit status. */
static int meter(struct funcmeter_options *o, struct error *err)
{
    struct metering m = {.options = o, .end = EXIT_DATA};
    if (check(&m, err) != 0) {
        free(m.library);
        return report_error(&o->reporter, err);
    }
    signals_take(&m.signals, NULL);
    m.planner = planner_new(&o->patterns, o->command[0], o->session.timing, &o->reporter);
    if (start_energy(&m, err) != 0 || prepare_rest(&m, err) != 0 || start_session(&m, err) != 0 ||
        prepare_and_run(&m, err) != 0 || report(&m, err) != 0)
        report_error(&o->reporter, err);
    else
        m.end = WIFSIGNALED(m.status) ? 128 + WTERMSIG(m.status) : WEXITSTATUS(m.status);
    output_discard(m.out);
    delete_probes(&m);
    session_delete(m.session);
    energy_delete(m.energy);
    planner_delete(m.planner);
    free(m.library);
    return m.end;
}

int main(int argc, char **argv)
{
    struct funcmeter_options options;
    struct error err = {0};
    funcmeter_options_parse(&options, argc, argv);
    int status = meter(&options, &err);
    report_unprinted(&options.reporter);
    meter_patterns_free(&options.patterns);
    return status;
}
