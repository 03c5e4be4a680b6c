/* The summary that sampler prints after a run.
 * SPDX-License-Identifier: MIT */
#include "record/summary.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>

#include "record/clock.h"

/* if the run is not short: a larger fraction than 1 / this is reported */
static const uint64_t worth = 100;
static const uint64_t min_switching = SECOND / 1000;
static const double much_kernel = 0.05; /* fraction of the CPU time */
/* fraction of the requested rate: less is reported if it is not chance, by so many deviations */
static const double much_less = 0.95, chance = 3;
/* fraction of the requested rate: below it, the sampler rarely gets a CPU */
static const double starving = 0.5;
static const uint64_t many_late = 20; /* more than one in this many samples: reported */
static const double countable = 20;   /* samples: fewer are not enough for a rate */

static double seconds_of(uint64_t ns)
{
    return (double)ns / (double)SECOND;
}

static bool is_reduced(const struct options *o, const struct engine_result *r)
{
    uint64_t used = o->engine.attach_count > 0 ? r->attached : r->user + r->system;
    double part = r->reached / o->engine.frequency,
           expected = seconds_of(used) * o->engine.frequency;
    return expected >= countable && part < much_less && (1 - part) * sqrt(expected) > chance;
}

/* Prints the rate that can be compared with the requested frequency: with perf, samples without
 * threads do not count. */
static void print_samples(const struct options *o, const struct engine_result *r)
{
    double seconds = seconds_of(r->wall), samples = (double)r->samples;
    fputs("sampler: ", stderr);
    if (o->out != NULL)
        fprintf(stderr, "%s: ", o->out);
    fprintf(stderr, "%" PRIu64 " samples in %.3f s, %.1f of %g Hz, %.1f us a sample, pmu %s\n",
            r->samples, seconds, r->reached, o->engine.frequency,
            samples > 0 ? (double)(r->latency + r->interrupting) / 1000 / samples : 0,
            o->pmu_specs);
    if (r->gave_way && is_reduced(o, r))
        fprintf(stderr,
                "sampler: the rate was reduced: sampling may cost at most %g %% (--max-overhead)\n",
                o->engine.max_overhead * 100);
    double cpu = seconds_of(r->user + r->system), kernel = seconds_of(r->system);
    if (r->user_only && kernel > much_kernel * cpu && kernel >= seconds_of(min_switching))
        fprintf(stderr,
                "sampler: %.3g s of the CPU time were in the kernel, which may not be sampled "
                "here: it is not known which code called it\n",
                kernel);
    if ((double)r->samples >= countable && r->late > r->samples / many_late)
        fprintf(stderr,
                "sampler: %" PRIu64
                " of the samples were late, because the sampler has no real-time priority and the "
                "CPUs are busy: shares of time may be wrong by %s\n",
                r->late,
                r->reached < starving * o->engine.frequency ? "half or more" : "a few percent");
    if (r->switching > r->wall / worth && r->switching >= min_switching)
        fprintf(
            stderr,
            "sampler: counting at its context switches cost the command about %.3g s of CPU time\n",
            seconds_of(r->switching));
    if (r->creation > r->wall / worth && r->creation >= min_switching)
        fprintf(stderr,
                "sampler: counting %" PRIu64
                " new threads cost the command about %.3g s of CPU time\n",
                r->creations, seconds_of(r->creation));
    if (r->left > 0)
        fprintf(stderr,
                "sampler: %zu process%s of the command %s still running, and no longer sampled\n",
                r->left, r->left > 1 ? "es" : "", r->left > 1 ? "are" : "is");
}

/* Returns the energy of the run beyond the energy PART [J]; 0 if the difference is only
 * rounding. */
static double energy_beyond(const struct power_summary *p, double part)
{
    double rest = p->energy - part;
    return fabs(rest) < 1e-9 * fabs(p->energy) ? 0 : rest;
}

/* The energy of the counter is that of the samples plus the rest; some of it would be used even
 * without the command. */
static void print_energy(const struct engine_result *r, const struct power_summary *p,
                         double sampled, bool aggregated)
{
    double used = seconds_of(r->user + r->system);
    fprintf(stderr, "sampler: energy %.6g J, %.6g W, from %s (scope: %s)\n", p->energy,
            p->seconds > 0 ? p->energy / p->seconds : 0, p->value, p->scope);
    double base = p->baseline_w * p->seconds;
    if (sampled >= 0)
        fprintf(stderr, "sampler: %.6g J in the samples, %.3g J outside them\n", sampled,
                energy_beyond(p, sampled));
    if (p->baseline_w >= 0)
        fprintf(stderr, "sampler: baseline %.6g W: %.6g J, and %.6g J above it\n", p->baseline_w,
                base, energy_beyond(p, base));
    if (p->busy >= 0 && used > 0) /* in steps of 10 ms */
        fprintf(stderr, "sampler: CPU time of the machine %.2f s, of the command %.2f s%s\n",
                p->busy > used ? p->busy : used, used,
                aggregated ? "; -a does not separate the energy of other programs" : "");
}

static double own_cpu(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static void print_details(const struct options *o, const struct engine *engine,
                          const struct engine_result *r, const struct power_summary *p)
{
    double mean = r->samples > 0 ? (double)r->latency / (double)r->samples : 0, own = own_cpu();
    fprintf(stderr, "  engine          %s, %s intervals%s%s%s%s\n", engine->name,
            o->engine.random ? "random" : "fixed",
            r->gave_way ? ", the rate was reduced by --max-overhead" : "",
            r->wide ? ", whole CPUs were sampled while threads were created fast" : "",
            r->sparse ? ", threads were sampled for part of the time while many were created" : "",
            r->throttled ? ", the kernel limited the rate (kernel.perf_event_max_sample_rate)"
                         : "");
    fprintf(stderr, "  frequency       %g Hz requested, %.6g Hz reached, per second%s\n",
            o->engine.frequency, r->reached, engine->nominal ? " of CPU time" : "");
    fprintf(stderr,
            "  samples         %" PRIu64 " taken, %" PRIu64 " skipped, %" PRIu64 " lost, %" PRIu64
            " threads not readable\n",
            r->samples, r->missed, r->lost, r->blind);
    fprintf(stderr, "  latency         min %.3g us, mean %.3g us, p99 %.3g us a sample\n",
            (double)r->latency_min / 1000, mean / 1000, (double)r->latency_p99 / 1000);
    if (r->interrupting > 0)
        fprintf(stderr, "  interrupts      %.3g s of the command's CPU time\n",
                seconds_of(r->interrupting));
    if (r->switches > 0)
        fprintf(stderr, "  switches        about %.3g us each, %" PRIu64 " of them\n",
                (double)r->switching / 1000 / (double)r->switches, r->switches);
    if (r->creations > 0)
        fprintf(stderr, "  new threads     about %.3g us each, %" PRIu64 " of them\n",
                (double)r->creation / 1000 / (double)r->creations, r->creations);
    fprintf(stderr, "  own CPU time    %.3f s", own);
    if (p->has_energy && p->busy > 0)
        fprintf(stderr, ", %.3g J by its share of the CPU time of the machine",
                p->energy * own / p->busy);
    fputc('\n', stderr);
    if (p->readings > 0)
        fprintf(stderr, "  power readings  %" PRIu64 ", %.3g us each\n", p->readings,
                p->reading * 1e6 / (double)p->readings);
}

void summary_print(const struct options *options, const struct engine *engine,
                   const struct engine_result *result, const struct power_summary *power,
                   double sampled)
{
    if (options->reporter.quiet)
        return;
    print_samples(options, result);
    if (power->has_energy)
        print_energy(result, power, sampled, options->aggregate);
    if (power->apart != NULL)
        fprintf(stderr,
                "sampler: not included in the value, because it may measure the same part of the "
                "machine: %s (--value NAME selects it)\n",
                power->apart);
    if (options->debug)
        print_details(options, engine, result, power);
}
