/* The messages of funcmeter, which are separate from its results.
 * SPDX-License-Identifier: MIT */
#include "record/funcmeter/messages.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"

static int compare_functions(const void *a, const void *b)
{
    const struct meter_function *const *x = a, *const *y = b;
    int order = strcmp((*x)->library, (*y)->library);
    return order != 0 ? order : strcmp((*x)->name, (*y)->name);
}

/* Prints the rest of a line of --list; names may contain anything. */
static void list_name(const char *library, const char *name, const char *comment)
{
    char *text = mem_printf("%s:%s", library, name), *visible = utf8_visible(text, NULL);
    printf("%s%s\n", visible, comment);
    free(text);
    free(visible);
}

void messages_list(const struct planner *planner)
{
    uint32_t count;
    size_t refused;
    const struct meter_function *functions = planner_functions(planner, &count);
    const struct meter_refusal *refusals = planner_refusals(planner, &refused);
    const struct meter_function **sorted = mem_zalloc(count, sizeof *sorted);
    for (uint32_t i = 1; i < count; i++)
        sorted[i - 1] = &functions[i];
    qsort(sorted, count - 1, sizeof *sorted, compare_functions);
    for (uint32_t i = 0; i + 1 < count; i++) {
        printf("0x%08" PRIx64 " %6" PRIu64 "  ", sorted[i]->address, sorted[i]->size);
        list_name(sorted[i]->library, sorted[i]->readable,
                  !sorted[i]->entries_only ? ""
                  : sorted[i]->probed      ? "  (calls only, by a breakpoint)"
                                           : "  (calls only)");
    }
    for (size_t i = 0; i < refused; i++) {
        char *why = mem_printf("  (%s)", refusals[i].why);
        printf("-               -  ");
        list_name(refusals[i].library, refusals[i].name, why);
        free(why);
    }
    free(sorted);
}

void messages_warn(struct funcmeter_options *o, const struct session *session,
                   struct planner *planner)
{
    const struct meter_header *h = session_header(session);
    size_t refused;
    planner_find_inlined(planner, o->session.listing || o->reporter.verbose);
    planner_refusals(planner, &refused);
    for (size_t i = 0; i < o->patterns.count; i++) {
        const struct meter_pattern *p = &o->patterns.items[i];
        if (p->files == 0)
            report_warning(&o->reporter, "pattern '%s': %s", p->text,
                           o->alone ? "no such library (name a program by its path)"
                                    : "the command loaded no such file");
        else if (p->functions == 0)
            report_warning(&o->reporter, "pattern '%s': no function matches", p->text);
    }
    if (refused > 0 && !o->reporter.verbose && !o->session.listing)
        report_warning(&o->reporter,
                       "%zu function%s cannot be hooked (--verbose lists them, with the reasons)",
                       refused, refused == 1 ? "" : "s");
    if (planner_probed(planner) > 0 && h->timing)
        report_warning(&o->reporter,
                       "a breakpoint takes 0.3 to 10 us per call, which counts as time of the "
                       "caller (--verbose lists the functions that have one)");
    if (h->lost > 0)
        report_warning(&o->reporter, "%" PRIu64 " threads were not measured: more than %d at once",
                       h->lost, METER_MAX_THREADS);
    if (h->lost_arcs > 0)
        report_warning(&o->reporter,
                       "%" PRIu64 " calls have no caller: a thread has more than %d arcs",
                       h->lost_arcs, METER_MAX_ARCS);
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

void messages_summarize(const struct funcmeter_options *o, const struct session *session,
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
    const uint32_t probed = planner_probed(planner), hooked = functions - 1 - probed;
    fprintf(stderr, "funcmeter: %" PRIu64 " calls", calls);
    if (hooked > 0)
        fprintf(stderr, ", %" PRIu32 " functions hooked", hooked);
    if (probed > 0)
        fprintf(stderr, ", %" PRIu32 " functions with a breakpoint", probed);
    if (h->timing)
        fprintf(stderr, ", a hook costs %.1f ns, which is subtracted (clock: %s)",
                (double)h->cost_total * results->tick,
                h->tsc                ? "tsc"
                : o->session.cpu_time ? "CPU time"
                                      : "monotonic");
    fputs("\n", stderr);
}
