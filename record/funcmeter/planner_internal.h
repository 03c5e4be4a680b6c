/* The parts of the planner. Not for other modules.
 *
 *   planner.c         answers requests, with the plan for a file
 *   plan_functions.c  chooses the functions of a file that are hooked
 *   plan_resolved.c   chooses the functions that resolvers return (ifunc)
 *   plan_inlined.c    refuses functions without separate code
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_PLANNER_INTERNAL_H
#define RECORD_FUNCMETER_PLANNER_INTERNAL_H

#include "formats/elf/elf_functions.h"
#include "record/funcmeter/module.h"
#include "record/funcmeter/planner.h"
#include "record/funcmeter/special.h"

struct planner {
    struct meter_patterns *patterns;
    const char *command;
    bool timing;
    bool leave_code; /* code is not changed */
    bool probe_rest; /* functions whose code cannot be changed get breakpoints */
    struct reporter *reporter;
    struct module *modules;
    size_t module_count, module_capacity;
    struct meter_function *functions;
    size_t function_count, function_capacity;
    struct meter_refusal *refusals;
    size_t refusal_count, refusal_capacity;
};

/* A function that may be hooked, with all its names. */
struct candidate {
    /* the best of the names that a pattern chooses; if there is none, the best of all */
    const char *name;
    bool chosen;                            /* by a pattern */
    const struct special_function *special; /* or NULL */
    bool resolver;
    bool entries_only; /* its return address must not be changed */
    uint64_t size;
};

/* A hook that needs padding, of a function that is followed by another one at NEXT. */
struct deferred {
    struct hook hook;
    struct candidate candidate;
    uint64_t next;
};

/* The ELF file whose functions are chosen. */
struct choice {
    struct planner *planner;
    struct module *module;
    const char *path;
    const char *alias; /* the name in the command line, if this is the file of the command */
    struct elf_file *file, *debug;
    struct elf_function *functions;
    size_t count;
    struct deferred *deferred; /* added after all other hooks */
    size_t deferred_count, deferred_capacity;
    bool last;                 /* hooks are no longer deferred */
    uint64_t go_start, go_end; /* of the code of Go in the file */
};

/* Counts FUNCTION among the functions that match and are not hooked, because of WHY. */
void plan_refuse(const struct choice *choice, const char *function, const char *why);

/* Adds HOOK, of a function that is followed by another one at NEXT, or refuses it, because of WHY
 * if this is not NULL. Hooks that need padding are deferred until all others are added, which may
 * also use it. */
void plan_add_hook(struct choice *choice, struct hook hook, const struct candidate *candidate,
                   uint64_t next, const char *why);

/* Chooses all functions of CHOICE->file that are to be hooked. */
void plan_functions(struct choice *choice);

/* Hooks the functions that the resolvers of MODULE RETURNED in the process of REQUEST. */
void plan_resolved(struct planner *planner, struct module *module,
                   const struct meter_request *request, const uint64_t *returned);

/* Appends to REPLY the resolvers that the program has to call, together with PLAN. Returns false if
 * there are none. */
bool plan_resolvers(struct planner *planner, struct module *module,
                    const struct meter_request *request, struct meter_plan *plan,
                    struct buffer *reply);

/* Refuses the functions of resolvers in a library that a running program loads, which is not ready
 * when its functions are hooked. */
void plan_refuse_resolvers(struct planner *planner, struct module *module);

#endif
