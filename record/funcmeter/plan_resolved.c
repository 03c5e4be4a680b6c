/* Functions that resolvers return when the program starts (ifunc).
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/memory.h"
#include "record/funcmeter/planner_internal.h"

/* Hooks the function at ADDRESS of the file, which is chosen under the name of its resolvers. */
static void add_resolved(struct choice *c, uint64_t address, const char *name)
{
    struct module *m = c->module;
    size_t i = module_hooks_below(m, address);
    if (i < m->count && m->hooks[i].address == address) {
        struct meter_function *function = &c->planner->functions[m->hooks[i].function];
        free(function->readable);
        function->readable = mem_strdup(name);
        return;
    }
    uint8_t byte;
    const struct candidate candidate = {.name = name, .chosen = true};
    const struct hook hook = {.address = address, .kind = c->planner->timing ? METER_TIMED : 0};
    plan_add_hook(c, hook, &candidate, code_next(m->code, address),
                  code_read(m->code, address, &byte, 1) ? NULL : "is not in its file (ifunc)");
}

void plan_resolved(struct planner *planner, struct module *module,
                   const struct meter_request *request, const uint64_t *returned)
{
    struct choice c = {.planner = planner, .module = module, .path = module->path, .last = true};
    const struct resolvers *r = &module->resolvers;
    for (size_t i = 0; i < r->count; i++) {
        struct resolver *resolver = &r->items[i];
        uint64_t address = returned[i] - request->bias;
        if (!resolver->chosen || resolver->last == address || returned[i] == 0)
            continue;
        resolver->last = address;
        char *name = resolvers_name(r, returned, returned[i]);
        add_resolved(&c, address, name);
        free(name);
    }
}

void plan_refuse_resolvers(struct planner *planner, struct module *module)
{
    const struct choice c = {.planner = planner, .module = module, .path = module->path};
    for (size_t i = 0; i < module->resolvers.count; i++) {
        struct resolver *resolver = &module->resolvers.items[i];
        if (resolver->chosen && resolver->last == 0)
            plan_refuse(&c, resolver->name,
                        planner->leave_code
                            ? "chosen among several (ifunc) when the program starts"
                            : "chosen among several (ifunc) after the program has started");
        resolver->last = UINT64_MAX;
    }
}

bool plan_resolvers(struct planner *planner, struct module *module,
                    const struct meter_request *request, struct meter_plan *plan,
                    struct buffer *reply)
{
    const struct resolvers *r = &module->resolvers;
    if (r->chosen == 0 || request->pool != 0 || request->resolved != 0)
        return false;
    if (!request->linked || r->count > METER_MAX_RESOLVERS) {
        plan_refuse_resolvers(planner, module);
        return false;
    }
    plan->resolvers = (uint32_t)r->count;
    buffer_bytes(reply, plan, sizeof *plan);
    for (size_t i = 0; i < r->count; i++) {
        uint64_t address = r->items[i].address + request->bias;
        buffer_bytes(reply, &address, sizeof address);
    }
    return true;
}
