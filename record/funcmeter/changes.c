/* Computes how the code of an ELF file is changed in memory.
 * SPDX-License-Identifier: MIT */
#include "record/funcmeter/changes.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Writes the thunk of HOOK with NUMBER, which will be at PLACE, to TO, and the offsets of moved
 * instructions in it to WHERE. Returns the offset of the moved code in the thunk; 0: impossible. */
static size_t make_thunk(const struct module *module, const struct hook *hook,
                         const struct meter_request *request, uint64_t place, uint32_t number,
                         uint8_t *to, uint8_t where[METER_MAX_CODE])
{
    uint8_t code[METER_MAX_CODE];
    const struct machine_hook made = {.code = code,
                                      .kept = hook->kept,
                                      .moved = hook->moved,
                                      .address = hook->address + request->bias,
                                      .place = place,
                                      .pool = request->pool,
                                      .number = number,
                                      .where = where};
    return code_read(module->code, hook->address, code, hook->kept + hook->moved)
               ? code_machine(module->code)->thunk(&made, to)
               : 0;
}

/* Replaces LENGTH bytes at ADDRESS of the file by a jump of SIZE bytes to PLACE. Without a PLACE,
 * or if it is too far away, the bytes stay the same. */
static struct meter_patch make_patch(const struct module *module, uint64_t address, size_t length,
                                     size_t size, const struct meter_request *request,
                                     uint64_t place)
{
    struct meter_patch patch = {.address = address + request->bias, .length = (uint8_t)length};
    code_read(module->code, address, patch.old, length);
    memcpy(patch.new, patch.old, length);
    if (place != 0)
        code_machine(module->code)->write_jump(patch.address, place, patch.new, size);
    return patch;
}

/* Writes the jumps from the function to its thunk at PLACE (0: there is none) to PATCHES. Returns
 * the number of patches. */
static size_t make_patches(const struct module *module, const struct hook *hook,
                           const struct meter_request *request, uint64_t place,
                           struct meter_patch patches[2])
{
    const struct machine *machine = code_machine(module->code);
    const size_t jump = machine->jump, brief = machine->short_jump;
    if (hook->gap == 0) {
        size_t length = hook->moved < jump ? jump : hook->moved;
        patches[0] = make_patch(module, hook->address + hook->kept, length, jump, request, place);
        return 1;
    }
    patches[0] = make_patch(module, hook->address, brief, brief, request,
                            place != 0 ? hook->gap + request->bias : 0);
    patches[1] = make_patch(module, hook->gap, jump, jump, request, place);
    return 2;
}

/* Writes the branches to instructions that are moved to the thunk at PLACE (0: there is none), at
 * the offsets in WHERE, to PATCHES. Returns the number of patches. */
static size_t make_turns(const struct module *module, const struct hook *hook,
                         const struct meter_request *request, uint64_t place,
                         const uint8_t where[METER_MAX_CODE], struct meter_patch *patches)
{
    const struct machine *machine = code_machine(module->code);
    size_t count = 0;
    for (size_t i = 0; i < hook->turns; i++) {
        const struct turn *turn = &module->turns[hook->first_turn + i];
        uint64_t target = place != 0 ? place + where[turn->target] : 0;
        if (turn->gap != 0)
            patches[count++] =
                make_patch(module, turn->gap, machine->jump, machine->jump, request, target);
        struct meter_patch patch = {.address = turn->at + request->bias};
        size_t size = code_peek(module->code, turn->at, patch.old, METER_MAX_CODE);
        memcpy(patch.new, patch.old, size);
        if (place != 0)
            patch.length = (uint8_t)machine->write_branch(
                patch.old, size, patch.address, turn->gap != 0 ? turn->gap + request->bias : target,
                patch.new);
        patches[count++] = patch;
    }
    return count;
}

static int compare_patches(const void *left, const void *right)
{
    const struct meter_patch *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

uint64_t changes_pool_size(const struct module *module)
{
    return MACHINE_START + module->count * code_machine(module->code)->thunk_size;
}

size_t changes_count(const struct module *module)
{
    return module->count + module->gap_count + module->turn_count;
}

void changes_add(const struct module *module, const struct meter_request *request,
                 struct buffer *reply)
{
    const struct machine *machine = code_machine(module->code);
    size_t size = changes_pool_size(module);
    uint8_t *pool = mem_alloc(size);
    struct meter_thunk *thunks = mem_zalloc(module->count, sizeof *thunks);
    struct meter_patch *patches = mem_zalloc(changes_count(module), sizeof *patches);
    uint8_t where[METER_MAX_CODE];
    size_t patch_count = 0;
    memset(pool, machine->filler, size);
    machine->start(request->enter, pool);
    for (size_t i = 0; i < module->count; i++) {
        const struct hook *hook = &module->hooks[i];
        uint64_t at = MACHINE_START + i * machine->thunk_size, place = request->pool + at;
        size_t moved = make_thunk(module, hook, request, place, request->first_thunk + (uint32_t)i,
                                  pool + at, where);
        const uint64_t made = moved != 0 ? place : 0;
        patch_count += make_patches(module, hook, request, made, patches + patch_count);
        patch_count += make_turns(module, hook, request, made, where, patches + patch_count);
        thunks[i] = (struct meter_thunk){place + moved, hook->function, hook->kind};
    }
    if (patch_count > 0)
        qsort(patches, patch_count, sizeof *patches, compare_patches);
    buffer_bytes(reply, patches, patch_count * sizeof *patches);
    buffer_bytes(reply, thunks, module->count * sizeof *thunks);
    buffer_bytes(reply, pool, size);
    free(pool);
    free(patches);
    free(thunks);
}
