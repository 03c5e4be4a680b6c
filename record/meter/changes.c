/* How the code of an ELF file is changed in memory.
 * SPDX-License-Identifier: MIT */
#include "record/meter/changes.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { THUNK_SIZE = 64, POOL_START = 16, ENTRY_JUMP = 10 };

/* Fills in the thunk of HOOK, at the address PLACE: number, jump to the entry, moved code. Returns false where it cannot. */
static bool make_thunk(const struct module *module, const struct hook *hook,
                       const struct meter_request *request, uint64_t place, uint32_t number,
                       uint8_t thunk[THUNK_SIZE])
{
    uint32_t back = (uint32_t)(request->pool - (place + ENTRY_JUMP));
    const uint8_t code[ENTRY_JUMP] = {0x68,
                                      (uint8_t)number,
                                      (uint8_t)(number >> 8),
                                      (uint8_t)(number >> 16),
                                      (uint8_t)(number >> 24),
                                      0xe9,
                                      (uint8_t)back,
                                      (uint8_t)(back >> 8),
                                      (uint8_t)(back >> 16),
                                      (uint8_t)(back >> 24)};
    memcpy(thunk, code, sizeof code);
    return code_move(module->code, hook->address, hook->moved, request->bias, place + ENTRY_JUMP,
                     thunk + ENTRY_JUMP) != 0;
}

/* Replaces LENGTH bytes at ADDRESS of the file by a jump to PLACE; none if there is no PLACE, or it is too far. */
static struct meter_patch make_patch(const struct module *module, uint64_t address, size_t length,
                                     const struct meter_request *request, uint64_t place)
{
    struct meter_patch patch = {.address = address + request->bias, .length = (uint8_t)length};
    bool is_short = length < METER_PATCH;
    size_t size = is_short ? CODE_SHORT_JUMP : METER_PATCH;
    code_read(module->code, address, patch.old, length);
    memcpy(patch.new, patch.old, length);
    uint64_t distance = place - (patch.address + size);
    if (place == 0 || (int64_t)distance != (int32_t)distance)
        return patch;
    patch.new[0] = is_short ? 0xeb : 0xe9;
    for (size_t i = 1; i < size; i++)
        patch.new[i] = (uint8_t)(distance >> (8 * (i - 1)));
    return patch;
}

/* Writes to PATCHES what leads from the function to its thunk at PLACE (0: has none). Returns their number. */
static size_t make_patches(const struct module *module, const struct hook *hook,
                           const struct meter_request *request, uint64_t place,
                           struct meter_patch patches[2])
{
    if (hook->gap == 0) {
        size_t length = hook->moved < METER_PATCH ? METER_PATCH : hook->moved;
        patches[0] = make_patch(module, hook->address, length, request, place);
        return 1;
    }
    patches[0] = make_patch(module, hook->address, CODE_SHORT_JUMP, request,
                            place != 0 ? hook->gap + request->bias : 0);
    patches[1] = make_patch(module, hook->gap, METER_PATCH, request, place);
    return 2;
}

static int compare_patches(const void *left, const void *right)
{
    const struct meter_patch *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

uint64_t changes_pool_size(const struct module *module)
{
    return POOL_START + module->count * THUNK_SIZE;
}

void changes_add(const struct module *module, const struct meter_request *request,
                 struct buffer *reply)
{
    size_t size = changes_pool_size(module);
    uint8_t *pool = mem_alloc(size);
    struct meter_thunk *thunks = mem_zalloc(module->count, sizeof *thunks);
    struct meter_patch *patches = mem_zalloc(module->count + module->gap_count, sizeof *patches);
    size_t patch_count = 0;
    memset(pool, 0xcc, size);
    const uint8_t jump[6] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *0(%rip) */
    memcpy(pool, jump, sizeof jump);
    memcpy(pool + sizeof jump, &request->enter, sizeof request->enter);
    for (size_t i = 0; i < module->count; i++) {
        const struct hook *hook = &module->hooks[i];
        uint64_t at = POOL_START + i * THUNK_SIZE;
        bool made = make_thunk(module, hook, request, request->pool + at,
                               request->first_thunk + (uint32_t)i, pool + at);
        patch_count += make_patches(module, hook, request, made ? request->pool + at : 0,
                                    patches + patch_count);
        thunks[i] =
            (struct meter_thunk){request->pool + at + ENTRY_JUMP, hook->function, hook->kind};
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
