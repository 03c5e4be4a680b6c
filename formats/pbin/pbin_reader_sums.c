/* Reads what an aggregated pbin holds: rows, runs, arcs.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "formats/pbin/pbin_reader_inside.h"

static exact read_exact(struct cursor *in)
{
    uint64_t low = cursor_u64(in);
    return (exact)((unsigned __int128)cursor_u64(in) << 64 | low);
}

static void read_wide(struct cursor *in, struct wide *value)
{
    for (int i = 0; i < 4; i++)
        value->word[i] = cursor_u64(in);
}

static void read_row(struct pbin_reader *r, struct cursor *in, struct pbin_row *row)
{
    struct pbin_sums *s = &row->sums;
    for (size_t i = 0; i < r->key_count; i++)
        row->key[i] = cursor_u64(in);
    s->samples = read_exact(in);
    s->entries = cursor_u64(in);
    s->runs = cursor_u64(in);
    s->time = read_exact(in);
    s->energy = read_exact(in);
    read_wide(in, &s->time_sq);
    read_wide(in, &s->energy_sq);
    s->time_min = read_exact(in);
    s->time_max = read_exact(in);
    s->energy_min = read_exact(in);
    s->energy_max = read_exact(in);
    r->rows++;
}

static void read_run(struct pbin_reader *r, struct cursor *in, struct pbin_run *run)
{
    run->name = pbin_string_number(r, in);
    run->wall_ns = cursor_u64(in);
    run->latency_ns = cursor_u64(in);
    run->samples = cursor_u64(in);
    run->time = read_exact(in);
    run->energy = read_exact(in);
    r->runs++;
}

static void read_arc(struct pbin_reader *r, struct cursor *in, struct pbin_arc *arc)
{
    arc->caller_binary = pbin_string_number(r, in);
    arc->caller = pbin_string_number(r, in);
    arc->callee_binary = pbin_string_number(r, in);
    arc->callee = pbin_string_number(r, in);
    arc->count = cursor_u64(in);
    r->arcs++;
}

int pbin_next_member(struct pbin_reader *r, struct pbin_batch *batch, struct error *err)
{
    struct cursor *in = &r->block.in;
    batch->item = r->item;
    if (r->item == PBIN_ROW)
        read_row(r, in, &batch->row);
    else if (r->item == PBIN_RUN)
        read_run(r, in, &batch->run);
    else
        read_arc(r, in, &batch->arc);
    if (in->bad)
        return pbin_reader_fail(r, err,
                                "shorter than what it counts, or refers to what is not defined");
    if (--r->left == 0)
        r->item = PBIN_END;
    return 1;
}

int pbin_open_members(struct pbin_reader *r, struct error *err)
{
    static const struct {
        const char *type;
        enum pbin_item item;
    } kinds[] = {{"ROWS", PBIN_ROW}, {"RUNS", PBIN_RUN}, {"ARCS", PBIN_ARC}};
    size_t i = 0;
    while (i < 3 && strcmp(r->block.type, kinds[i].type) != 0)
        i++;
    if (i == 3)
        return 0;
    if (r->key_count == 0 && kinds[i].item != PBIN_ARC)
        return pbin_reader_fail(r, err, "sums in a profile without keys");
    r->left = cursor_u32(&r->block.in);
    r->item = r->left > 0 ? kinds[i].item : PBIN_END;
    return r->block.in.bad ? pbin_reader_fail(r, err, "shorter than its count") : 1;
}
