/* sampler: runs a command and records where its threads spend their time.
 *
 *   sampler -o out.bin -- ./program
 *
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/report.h"
#include "record/clock.h"
#include "record/engine.h"
#include "record/options.h"
#include "record/recorder.h"
#include "record/spool.h"
#include "record/summary.h"

static void summarize(const struct options *options, const struct engine *engine,
                      const struct engine_result *result, const struct recorder *recorder)
{
    struct power_summary power;
    power_summarize(recorder_power(recorder), &power);
    summary_print(options, engine, result, &power, recorder_energy(recorder));
    power_summary_free(&power);
}

/* Ends like the command, so that the caller sees its status: if a signal killed the command, with
 * the same signal, but without a second core dump. */
static int pass_on(const struct engine_result *result)
{
    int number = WIFSIGNALED(result->status) ? WTERMSIG(result->status) : 0;
    if (number == 0)
        return WEXITSTATUS(result->status);
    if (result->expired && (number == SIGTERM || number == SIGKILL))
        return EXIT_OK; /* ended because the duration was over */
    struct rlimit none = {0, 0};
    sigset_t set;
    setrlimit(RLIMIT_CORE, &none);
    signal(number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    return 128 + number;
}

/* Reports why the profile is missing or incomplete, and where the samples are. */
static int fail(const struct options *options, const struct error *err,
                const struct recorder_left *left)
{
    report_error(&options->reporter, err);
    if (left->part != NULL)
        spool_report(left->part);
    else if (left->profile != NULL)
        fprintf(stderr, "sampler: %s contains what was recorded until then\n", left->profile);
    else if (left->empty)
        fprintf(stderr, "sampler: %s was not written: no samples\n", options->out);
    return EXIT_DATA;
}

static int sample(struct options *options, const struct engine *engine, struct error *err)
{
    struct engine_result result;
    struct recorder_left left;
    int status = EXIT_DATA;
    struct recorder *recorder = recorder_new(options, engine, err);
    if (recorder == NULL)
        return report_error(&options->reporter, err);
    struct engine_run *run = engine->start(options->command, &options->engine, &status, err);
    if (run == NULL) {
        report_error(&options->reporter, err);
        recorder_delete(recorder);
        return status;
    }
    report_verbose(&options->reporter, "process %d", (int)engine->pid(run));
    engine->run(run, recorder_hooks(recorder), &result);
    report_verbose(&options->reporter, "engine %s: %s", engine->name, engine->help);
    bool failed = recorder_finish(recorder, &result, &left) != 0;
    status = failed ? fail(options, err, &left) : EXIT_OK;
    if (!failed)
        summarize(options, engine, &result, recorder);
    recorder_delete(recorder);
    if (!failed)
        status = pass_on(&result);
    engine->delete (run);
    return status;
}

int main(int argc, char **argv)
{
    struct options options;
    struct error err = {0};
    options_parse(&options, argc, argv);
    const struct engine *engine = engine_choose(options.engine_name, &err);
    int status =
        engine != NULL ? sample(&options, engine, &err) : report_error(&options.reporter, &err);
    options_free(&options);
    return status;
}
