/* The table of engines.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "record/engine.h"
#include "record/process.h"

const struct engine *const engines[] = {&engine_perf, &engine_ptrace, NULL};

static const struct engine *find_available(struct error *err)
{
    for (const struct engine *const *engine = engines; *engine != NULL; engine++) {
        struct error why = {0};
        if ((*engine)->available(&why) == 0)
            return *engine;
        if (engine[1] == NULL)
            error_pass(err, &why);
    }
    return NULL;
}

const char *engine_name(size_t number)
{
    if (number == 0)
        return "auto";
    return number <= sizeof engines / sizeof engines[0] && engines[number - 1] != NULL
               ? engines[number - 1]->name
               : NULL;
}

const struct engine *engine_choose(const char *name, struct error *err)
{
    if (!process_proc_is_own()) {
        error_set(err, "/proc", NO_OFFSET,
                  "belongs to another PID namespace, in which the same IDs denote other processes: "
                  "mount the /proc of this namespace (unshare --mount-proc)");
        return NULL;
    }
    if (strcmp(name, "auto") == 0)
        return find_available(err);
    for (const struct engine *const *engine = engines; *engine != NULL; engine++)
        if (strcmp((*engine)->name, name) == 0)
            return (*engine)->available(err) == 0 ? *engine : NULL;
    error_set_usage(err, NULL, "--engine must be auto, perf or ptrace, not '%s'", name);
    return NULL;
}
