/* The sums over the calls of a metered program, as a dump of IgProf.
 * SPDX-License-Identifier: MIT */
#include "formats/igprof/igprof.h"
#include "record/funcmeter/results.h"

/* Counts like IgProf's own module: time in ticks of the clock, over calls whose exit was seen. */
static void put_values(struct igprof_writer *writer, const struct meter_results *results,
                       const struct meter_record *r)
{
    uint64_t ends = r->returned + r->unwound;
    if (results->timing && r->returned > 0)
        igprof_put_value(writer, "CALLS_TOTAL", r->returned, r->total, r->total);
    igprof_put_value(writer, "ENTER_COUNT", r->calls, r->calls, r->calls);
    if ((results->timing || results->returns) && ends > 0)
        igprof_put_value(writer, "EXIT_COUNT", ends, ends, ends);
}

void meter_results_write_igprof(const struct meter_results *results, const struct planner *planner,
                                const char *program, uint64_t pid, struct output *out)
{
    uint32_t functions;
    const struct meter_function *all = planner_functions(planner, &functions);
    struct igprof_writer writer = {.out = out};
    igprof_put_head(&writer, program, pid, 0);
    for (size_t i = 0; i < results->count; i++) {
        const struct meter_sums *sums = &results->items[i];
        const struct meter_function *f = &all[sums->function];
        igprof_put_function(&writer, f->path, f->address, f->name);
        put_values(&writer, results, &sums->record);
        igprof_end_function(&writer);
    }
    igprof_writer_free(&writer);
}
