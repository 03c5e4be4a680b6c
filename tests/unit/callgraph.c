/* Call graphs: time and energy are propagated to callers.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include <math.h>

#include "analyze/callgraph/callgraph.h"
#include "base/memory.h"
#include "tests/unit/scratch.h"

#define NEAR(got, want) CHECK(fabs((got) - (want)) < 1e-12)

/* A profile that is being written: 10 ms and 20 mJ a tick. */
struct fixture {
    struct output *out;
    struct pbin_writer *writer;
    exact energy; /* of all rows */
    struct error err;
};

static void begin(struct fixture *f)
{
    struct pbin_meta meta = {
        .name = "test", .keys = "binary,function", .pmu = PMU_POWER, .unit = "W"};
    *f = (struct fixture){0};
    f->out = output_open("graph.pbin", OUTPUT_BINARY, &f->err);
    f->writer = pbin_writer_open(f->out, &meta);
}

static void put(struct fixture *f, const char *function, int ticks)
{
    struct pbin_row row = {
        .key = {pbin_define_string(f->writer, "program"), pbin_define_string(f->writer, function)}};
    row.sums = pbin_sums_of_run((exact)ticks << SAMPLES_SHIFT, UINT64_MAX,
                                (exact)ticks * 10000000 << TIME_SHIFT,
                                exact_of_double(ticks * 0.02, ENERGY_SHIFT));
    pbin_put_row(f->writer, &row, 2);
    f->energy += row.sums.energy;
}

static void call(struct fixture *f, const char *caller, const char *callee, uint64_t count)
{
    uint32_t binary = pbin_define_string(f->writer, "program");
    struct pbin_arc arc = {binary, pbin_define_string(f->writer, caller), binary,
                           pbin_define_string(f->writer, callee), count};
    pbin_put_arc(f->writer, &arc);
}

static struct aggregate *finish(struct fixture *f)
{
    struct aggregate_options options = {.rows.keys = pbin_keys_of("binary,function")};
    struct reporter reporter = {.tool = "test"};
    struct aggregate *aggregate = aggregate_new(&options);
    struct pbin_run run = {.name = pbin_define_string(f->writer, "test"), .energy = f->energy};
    pbin_put_run(f->writer, &run);
    if (pbin_writer_close(f->writer, 0) != 0 || output_commit(f->out) != 0)
        abort();
    struct stream *in = stream_open("graph.pbin", &f->err);
    struct pbin_reader *reader = pbin_reader_open(in, (struct pbin_choice){0}, &f->err);
    if (reader == NULL ||
        aggregate_read(aggregate, reader, "graph.pbin", 1, &reporter, &f->err) != 0 ||
        aggregate_finish(aggregate, &f->err) != 0)
        abort();
    pbin_reader_close(reader);
    stream_close(in);
    return aggregate;
}

static const struct call_node *node_of(const struct callgraph *g, const char *function)
{
    for (uint32_t i = 0; i < g->function_count; i++)
        if (strcmp(g->nodes[i].function, function) == 0)
            return &g->nodes[i];
    abort();
}

static const struct call_arc *arc_of(const struct callgraph *g, const char *caller,
                                     const char *callee)
{
    for (size_t i = 0; i < g->arc_count; i++)
        if (strcmp(g->nodes[g->arcs[i].caller].function, caller) == 0 &&
            strcmp(g->nodes[g->arcs[i].callee].function, callee) == 0)
            return &g->arcs[i];
    abort();
}

/* A case for which the output of gprof is known. */
static void checked_case(struct check *check)
{
    struct fixture f;
    begin(&f);
    put(&f, "aa", 10);
    put(&f, "bb", 20);
    put(&f, "cc", 30);
    put(&f, "dd", 40);
    call(&f, "main", "aa", 1);
    call(&f, "aa", "bb", 3);
    call(&f, "aa", "cc", 1);
    call(&f, "bb", "cc", 5);
    call(&f, "cc", "bb", 5);
    call(&f, "bb", "bb", 7);
    call(&f, "cc", "dd", 4);
    call(&f, "aa", "dd", 4);
    struct aggregate *aggregate = finish(&f);
    struct callgraph *g = callgraph_new(aggregate, &f.err);
    CHECK_EQ(g->function_count, 5);
    CHECK_EQ(g->cycle_count, 1);
    const struct call_node *cycle = &g->nodes[5], *aa = node_of(g, "aa"), *bb = node_of(g, "bb");
    NEAR(cycle->self.time, 0.5);
    NEAR(cycle->children.time, 0.2);
    CHECK_EQ(cycle->calls, 4);
    CHECK_EQ(cycle->recursive, 10);
    CHECK_EQ(cycle->member_count, 2);
    CHECK(callgraph_whole(g, bb) == cycle);
    NEAR(aa->self.time, 0.1);
    NEAR(aa->children.time, 0.9);
    NEAR(aa->children.energy, 1.8);
    CHECK_EQ(bb->calls, 8);
    CHECK_EQ(bb->recursive, 7);
    NEAR(arc_of(g, "aa", "bb")->self.time, 0.375);
    NEAR(arc_of(g, "aa", "bb")->children.time, 0.15);
    NEAR(arc_of(g, "aa", "bb")->self.energy, 0.75);
    NEAR(arc_of(g, "aa", "cc")->self.time, 0.125);
    NEAR(arc_of(g, "aa", "cc")->children.time, 0.05);
    NEAR(arc_of(g, "aa", "dd")->self.time, 0.2);
    NEAR(arc_of(g, "bb", "cc")->self.time, 0);
    CHECK(arc_of(g, "bb", "cc")->inside);
    NEAR(node_of(g, "main")->children.time, 1);
    NEAR(node_of(g, "main")->children.energy, 2);
    NEAR(g->total.time, 1);
    NEAR(g->total.energy, 2);
    callgraph_delete(g);
    aggregate_delete(aggregate);
}

/* The code is not recursive: a chain of calls that would overflow the stack. */
static void long_chain(struct check *check)
{
    enum { LENGTH = 300000 };
    struct fixture f;
    char caller[16], callee[16];
    begin(&f);
    for (int i = 0; i < LENGTH; i++) {
        snprintf(caller, sizeof caller, "f%06d", i);
        snprintf(callee, sizeof callee, "f%06d", i + 1);
        call(&f, caller, callee, 1);
    }
    put(&f, callee, 100);
    struct aggregate *aggregate = finish(&f);
    struct callgraph *g = callgraph_new(aggregate, &f.err);
    NEAR(node_of(g, "f000000")->children.time, 1);
    CHECK_EQ(g->cycle_count, 0);
    callgraph_delete(g);
    aggregate_delete(aggregate);
}

static void one_long_cycle(struct check *check)
{
    enum { LENGTH = 100000 };
    struct fixture f;
    char caller[16], callee[16];
    begin(&f);
    for (int i = 0; i < LENGTH; i++) {
        snprintf(caller, sizeof caller, "f%06d", i);
        snprintf(callee, sizeof callee, "f%06d", (i + 1) % LENGTH);
        call(&f, caller, callee, 2);
    }
    put(&f, "f000007", 100);
    call(&f, "main", "f000003", 1);
    struct aggregate *aggregate = finish(&f);
    struct callgraph *g = callgraph_new(aggregate, &f.err);
    CHECK_EQ(g->cycle_count, 1);
    CHECK_EQ(g->nodes[g->function_count].member_count, LENGTH);
    CHECK_EQ(g->nodes[g->function_count].calls, 1);
    NEAR(node_of(g, "main")->children.time, 1);
    callgraph_delete(g);
    aggregate_delete(aggregate);
}

static void counts_stop_at_the_largest(struct check *check)
{
    struct fixture f;
    begin(&f);
    put(&f, "b", 1);
    call(&f, "a", "b", UINT64_MAX);
    call(&f, "c", "b", UINT64_MAX);
    struct aggregate *aggregate = finish(&f);
    struct callgraph *g = callgraph_new(aggregate, &f.err);
    CHECK(node_of(g, "b")->calls == UINT64_MAX);
    callgraph_delete(g);
    aggregate_delete(aggregate);
}

CHECK_MAIN({"checked_case", checked_case}, {"long_chain", long_chain},
           {"one_long_cycle", one_long_cycle},
           {"counts_stop_at_the_largest", counts_stop_at_the_largest})
