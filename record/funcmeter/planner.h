/* Decides which functions are hooked in each ELF file that the program loads, and how its code is
 * changed.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_PLANNER_H
#define RECORD_FUNCMETER_PLANNER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/report.h"
#include "record/funcmeter/patterns.h"
#include "record/funcmeter/shared.h"

/* A function that is hooked; its number is its index. */
struct meter_function {
    char *library; /* base name of its file */
    char *path;
    char *name;             /* for the linker */
    char *readable;         /* for readers */
    uint64_t address, size; /* in the file [bytes] */
    bool entries_only;      /* its exits cannot be watched */
    bool probed;            /* its code is not changed: it gets a breakpoint */
};

/* A function that matches, but is not hooked. */
struct meter_refusal {
    char *library, *name, *why;
};

/* Returns NAME, demangled if it is mangled. Caller frees. */
char *meter_readable_name(const char *name);

struct planner;

/* PATTERNS, the name of the command and REPORTER (for steps, and for files that cannot be read) are
 * borrowed. TIMING: exits are also watched. Caller deletes. */
struct planner *planner_new(struct meter_patterns *patterns, const char *command, bool timing,
                            struct reporter *reporter);
void planner_delete(struct planner *planner);

/* Code will not be changed: functions whose code cannot be changed are also chosen. */
void planner_leave_code(struct planner *planner);
/* Sets whether functions whose code cannot be changed are chosen from now on, to get breakpoints. */
void planner_probe_rest(struct planner *planner, bool wanted);
/* Returns how many functions will get breakpoints. */
uint32_t planner_probed(const struct planner *planner);
/* Chooses functions of the file at PATH, which no program has loaded so far. */
void planner_add_file(struct planner *planner, const char *path, bool is_program);

/* Appends to the empty REPLY the meter_plan for REQUEST, including what resolvers have RETURNED,
 * and the data that follows the plan. */
void planner_answer(struct planner *planner, const struct meter_request *request,
                    const uint64_t *returned, struct buffer *reply);

/* Refuses functions that are only inlined: ALL, or those of patterns without other functions.
 * Reports them as steps, and the first few of the latter as warnings. Reads debug information; this
 * process must have only one thread. */
void planner_find_inlined(struct planner *planner, bool all);

/* Returns the functions so far; number 0 is not a function of the program. Borrowed, as are the
 * refusals. */
const struct meter_function *planner_functions(const struct planner *planner, uint32_t *count);
/* Returns the path of the file with NUMBER in a meter_plan; NULL if there is none. */
const char *planner_module(const struct planner *planner, uint32_t number);
const struct meter_refusal *planner_refusals(const struct planner *planner, size_t *count);

#endif
