/* An ELF file that metered programs load, and its hooks.
 * SPDX-License-Identifier: MIT */
#include "record/funcmeter/module.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/search.h"
#include "record/funcmeter/shared.h"

enum { MAX_BRANCH = 6 }; /* [bytes] */

void module_free(struct module *module)
{
    free(module->path);
    code_delete(module->code);
    free(module->hooks);
    free(module->gaps);
    free(module->turns);
    free(module->probed);
    resolvers_free(&module->resolvers);
}

bool module_is_used(const struct module *m, uint64_t address, size_t size)
{
    for (size_t i = 0; i < m->turn_count; i++)
        if (m->turns[i].at < address + size && address < m->turns[i].at + MAX_BRANCH)
            return true;
    for (size_t i = 0; i < m->gap_count; i++)
        if (m->gaps[i] < address + size && address < m->gaps[i] + code_machine(m->code)->jump)
            return true;
    for (size_t i = 0; i < m->probed_count; i++)
        if (m->probed[i].address < address + size &&
            address < m->probed[i].address + m->probed[i].size)
            return true;
    return false;
}

size_t module_hooks_below(const struct module *m, uint64_t address)
{
    return SEARCH_FROM(m->hooks, m->count, address, address);
}

/* Returns whether a hook changes any of SIZE bytes at ADDRESS. */
static bool is_changed(const struct module *m, uint64_t address, size_t size)
{
    const size_t jump = code_machine(m->code)->jump;
    for (size_t i = module_hooks_below(m, address + size);
         i > 0 && m->hooks[i - 1].address + METER_MAX_CODE > address; i--) {
        const struct hook *h = &m->hooks[i - 1];
        if (address < h->address + (h->moved > jump ? h->moved : jump))
            return true;
    }
    return module_is_used(m, address, size);
}

bool module_probe(struct module *m, uint64_t address)
{
    const size_t size = code_length(m->code, address);
    if (size == 0 || code_why_no_probe(m->code, address) != NULL || is_changed(m, address, size))
        return false;
    mem_reserve(&m->probed, &m->probed_capacity, m->probed_count + 1, sizeof *m->probed);
    m->probed[m->probed_count++] = (struct probed){address, size};
    return true;
}

/* Returns whether the bytes of the function of hook H after the jump to its thunk have room for
 * another jump, once they are moved as well. */
static bool can_lend(const struct module *m, struct hook *h)
{
    const char *unused;
    const size_t jump = code_machine(m->code)->jump;
    if (h->gap != 0 || h->turns > 0 || h->kept != 0)
        return false;
    size_t moved = h->moved;
    if (moved < 2 * jump)
        moved = code_movable(m->code, h->address, 0, code_next(m->code, h->address), 2 * jump,
                             false, &unused);
    if (moved < 2 * jump || moved > METER_MAX_CODE ||
        module_is_used(m, h->address + jump, moved - jump))
        return false;
    h->moved = moved;
    return true;
}

/* Returns a place for a jump in a function that is hooked, within the reach of a short jump at
 * ADDRESS; 0: there is none. */
static uint64_t borrow(const struct module *m, uint64_t address)
{
    enum { BACK = 128, FORTH = 127 };
    const size_t jump = code_machine(m->code)->jump;
    const uint64_t from = address + code_machine(m->code)->short_jump;
    for (size_t i = module_hooks_below(m, from < BACK + jump ? 0 : from - BACK - jump);
         i < m->count && m->hooks[i].address + jump <= from + FORTH; i++)
        if (can_lend(m, &m->hooks[i]))
            return m->hooks[i].address + jump;
    return 0;
}

/* Takes a place for a jump that HOOK does not change, within the reach of a short jump at ADDRESS.
 * Returns 0 if there is none. */
static uint64_t take_gap(struct module *m, const struct hook *hook, uint64_t address)
{
    uint64_t gaps[CODE_GAPS], gap = 0;
    const size_t jump = code_machine(m->code)->jump;
    size_t count = code_gaps(m->code, address, jump, gaps);
    for (size_t i = 0; i < count && gap == 0; i++)
        if (!is_changed(m, gaps[i], jump) && gaps[i] - hook->address >= hook->moved + jump)
            gap = gaps[i];
    if (gap == 0 && (gap = borrow(m, address)) == 0)
        return 0;
    mem_reserve(&m->gaps, &m->gap_capacity, m->gap_count + 1, sizeof *m->gaps);
    m->gaps[m->gap_count++] = gap;
    return gap;
}

bool module_use_gap(struct module *m, struct hook *hook, uint64_t size, uint64_t next)
{
    const char *unused;
    const size_t brief = code_machine(m->code)->short_jump;
    hook->moved = code_movable(m->code, hook->address, size, next, brief, false, &unused);
    if (hook->moved != 0)
        hook->gap = take_gap(m, hook, hook->address);
    return hook->gap != 0;
}

/* Changes a BRANCH to the first instructions of a function. Returns false if that is not
 * possible. */
static bool add_turn(struct module *m, struct hook *hook, const struct code_branch *branch)
{
    uint8_t code[MAX_BRANCH], unused[MAX_BRANCH];
    const struct machine *machine = code_machine(m->code);
    const uint64_t far = machine->reach / 2;
    if (branch->at - hook->address < hook->moved) /* it is also moved */
        return branch->target <= branch->at;
    size_t size = code_peek(m->code, branch->at, code, sizeof code);
    if (is_changed(m, branch->at, MAX_BRANCH))
        return false;
    struct turn turn = {.at = branch->at, .target = (size_t)(branch->target - hook->address)};
    if (machine->write_branch(code, size, branch->at, branch->at + far, unused) == 0) {
        turn.gap = take_gap(m, hook, branch->at);
        if (turn.gap == 0 || machine->write_branch(code, size, branch->at, turn.gap, unused) == 0)
            return false;
    }
    mem_reserve(&m->turns, &m->turn_capacity, m->turn_count + 1, sizeof *m->turns);
    m->turns[m->turn_count++] = turn;
    hook->turns++;
    return true;
}

bool module_turn_branches(struct module *m, struct hook *hook, uint64_t size, uint64_t next)
{
    const char *unused;
    const struct machine *machine = code_machine(m->code);
    const size_t gaps = m->gap_count;
    size_t count;
    if (machine->write_branch == NULL)
        return false;
    hook->moved = code_movable(m->code, hook->address, size, next, machine->jump, true, &unused);
    if (hook->moved == 0 || hook->moved > METER_MAX_CODE ||
        is_changed(m, hook->address, hook->moved > machine->jump ? hook->moved : machine->jump))
        return false;
    const struct code_branch *branches = code_branches(m->code, hook->address, hook->moved, &count);
    hook->first_turn = m->turn_count;
    for (size_t i = 0; i < count; i++)
        if (!add_turn(m, hook, &branches[i])) {
            m->turn_count = hook->first_turn;
            m->gap_count = gaps;
            hook->turns = 0;
            return false;
        }
    return true;
}
