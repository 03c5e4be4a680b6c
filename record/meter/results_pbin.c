/* What the calls of a metered program add up to, as an aggregated pbin.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/pbin/pbin.h"
#include "record/meter/results.h"

/* A row: in the order of its keys, which are process, program, thread, comm, binary and function, or the last two. */
struct line {
    const char *program, *comm, *binary, *function;
    uint64_t process, thread;
    uint64_t calls;
    exact time; /* [2^-32 ns] */
};

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_lines(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    int order = compare_numbers(a->process, b->process);
    if (order == 0)
        order = strcmp(a->program, b->program);
    if (order == 0)
        order = compare_numbers(a->thread, b->thread);
    if (order == 0)
        order = strcmp(a->comm, b->comm);
    if (order == 0)
        order = strcmp(a->binary, b->binary);
    return order != 0 ? order : strcmp(a->function, b->function);
}

/* Sorted, and lines with the same keys joined: functions can have the same name. Returns their number; caller frees. */
static size_t make_lines(const struct meter_results *results, const struct planner *planner,
                         struct line **lines)
{
    uint32_t functions;
    const struct meter_function *all = planner_functions(planner, &functions);
    struct line *list = mem_zalloc(results->count + 1, sizeof *list);
    for (size_t i = 0; i < results->count; i++) {
        const struct meter_sums *sums = &results->items[i];
        const struct meter_function *function = &all[sums->function];
        double ns = (double)sums->record.self * results->tick;
        list[i] = (struct line){.program = sums->program != NULL ? sums->program : "",
                                .comm = sums->thread_name != NULL ? sums->thread_name : "",
                                .binary = function->library,
                                .function = function->readable,
                                .process = sums->process,
                                .thread = sums->thread,
                                .calls = sums->record.calls,
                                .time = (exact)(ns * (double)((uint64_t)1 << TIME_SHIFT))};
    }
    qsort(list, results->count, sizeof *list, compare_lines);
    size_t count = 0;
    for (size_t i = 0; i < results->count; i++)
        if (count > 0 && compare_lines(&list[count - 1], &list[i]) == 0) {
            list[count - 1].calls += list[i].calls;
            list[count - 1].time += list[i].time;
        } else {
            list[count++] = list[i];
        }
    *lines = list;
    return count;
}

static void put_line(const struct line *line, bool per_thread, struct pbin_writer *writer)
{
    struct pbin_row row = {.sums = pbin_sums_of_run(0, line->calls, line->time, 0)};
    size_t count = 0;
    if (per_thread) {
        row.key[count++] = line->process;
        row.key[count++] = pbin_define_string(writer, line->program);
        row.key[count++] = line->thread;
        row.key[count++] = pbin_define_string(writer, line->comm);
    }
    row.key[count++] = pbin_define_string(writer, line->binary);
    row.key[count++] = pbin_define_string(writer, line->function);
    pbin_put_row(writer, &row, count);
}

int meter_results_write_pbin(const struct meter_results *results, const struct planner *planner,
                             const struct meter_run *run, struct output *out)
{
    struct line *lines;
    size_t count = make_lines(results, planner, &lines);
    const struct pbin_meta meta = {
        .name = (char *)run->name,
        .target = (char *)run->target,
        .command = (char *)run->command,
        .dialect = (char *)"funcmeter",
        .tool = (char *)"funcmeter " PBIN_TOOLS_VERSION,
        .keys = (char *)(results->per_thread ? "process,program,thread,comm,binary,function"
                                             : "binary,function"),
        .wall_ns = run->wall_ns,
    };
    struct pbin_writer *writer = pbin_writer_open(out, &meta);
    struct pbin_run sums = {.name = pbin_define_string(writer, run->name), .wall_ns = run->wall_ns};
    for (size_t i = 0; i < count; i++)
        sums.time += lines[i].time;
    pbin_put_run(writer, &sums);
    for (size_t i = 0; i < count; i++)
        put_line(&lines[i], results->per_thread, writer);
    free(lines);
    return pbin_writer_close(writer);
}
