/* A pbin, full or aggregated, as time per program counter.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PBIN2GMON_PC_TIMES_H
#define CONVERT_PBIN2GMON_PC_TIMES_H

#include "formats/pbin/pbin.h"

struct pc_time {
    /* as recorded: an address in the running program, or in the file if there are no mappings */
    uint64_t pc;
    uint32_t binary; /* base name, as a string of the pbin */
    uint32_t map;    /* PBIN_NO_MAP: unknown (aggregated), or none */
    exact time;      /* CPU time [2^-32 ns], not negative */
    exact samples;   /* [2^-64] */
};

struct pc_times {
    struct pc_time *items; /* unordered */
    size_t count, capacity;
    struct pbin_arc *arcs; /* texts are strings of the pbin */
    size_t arc_count, arc_capacity;
    exact time, samples; /* of all items */
    bool is_full;        /* the items have mappings */
};

/* Reads the whole profile of READER; NAME is the name of the file. The time of a sample is the CPU
 * time of its threads or, if this was not recorded, its interval for each thread, reduced if there
 * are more threads than CPUs. Returns 0, or -1 with ERR filled if the profile is damaged, or has no
 * program counters or impossible times. Call pc_times_free in any case. */
int pc_times_read(struct pc_times *times, struct pbin_reader *reader, const char *name,
                  struct error *err);
void pc_times_free(struct pc_times *times);

#endif
