/* An ELF file that metered programs load, and its hooks.
 * SPDX-License-Identifier: MIT */
#include "record/meter/module.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/search.h"
#include "record/meter/shared.h"

void module_free(struct module *module)
{
    free(module->path);
    code_delete(module->code);
    free(module->hooks);
    free(module->gaps);
    resolvers_free(&module->resolvers);
}

bool module_in_gap(const struct module *m, uint64_t address, size_t size)
{
    for (size_t i = 0; i < m->gap_count; i++)
        if (m->gaps[i] < address + size && address < m->gaps[i] + code_machine(m->code)->jump)
            return true;
    return false;
}

size_t module_hooks_below(const struct module *m, uint64_t address)
{
    return SEARCH_FROM(m->hooks, m->count, address, address);
}

/* Does a hook change any of SIZE bytes at ADDRESS? */
static bool is_changed(const struct module *m, uint64_t address, size_t size)
{
    const size_t jump = code_machine(m->code)->jump;
    for (size_t i = module_hooks_below(m, address + size);
         i > 0 && m->hooks[i - 1].address + METER_MAX_CODE > address; i--) {
        const struct hook *h = &m->hooks[i - 1];
        if (address < h->address + (h->moved > jump ? h->moved : jump))
            return true;
    }
    return module_in_gap(m, address, size);
}

bool module_use_gap(struct module *m, struct hook *hook, uint64_t size, uint64_t next)
{
    uint64_t gaps[CODE_GAPS];
    const char *unused;
    const struct machine *machine = code_machine(m->code);
    hook->moved = code_movable(m->code, hook->address, size, next, machine->short_jump, &unused);
    size_t count = hook->moved != 0 ? code_gaps(m->code, hook->address, machine->jump, gaps) : 0;
    for (size_t i = 0; i < count && hook->gap == 0; i++)
        if (!is_changed(m, gaps[i], machine->jump))
            hook->gap = gaps[i];
    if (hook->gap == 0)
        return false;
    mem_reserve(&m->gaps, &m->gap_capacity, m->gap_count + 1, sizeof *m->gaps);
    m->gaps[m->gap_count++] = hook->gap;
    return true;
}
