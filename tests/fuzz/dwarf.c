/* Debug information as the confined worker reads it, in this process. The worker never frees what
 * it decodes. Here, all memory that an input allocated is freed after it, so that the memory shows
 * what a single file costs.
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "convert/dwarf/dwarf_units.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);

/* From <sanitizer/allocator_interface.h>, which only clang has. */
/* NOLINTBEGIN(clang-diagnostic-reserved-*): the name is given */
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                              void (*on_free)(const volatile void *));
/* NOLINTEND(clang-diagnostic-reserved-*) */

/* ---- allocations of the current input ---- */

enum { SLOTS = 1 << 17 };
static struct {
    const void **slots; /* a hash table with open addressing; DELETED for one that was freed */
    size_t count;       /* slots in use */
    const void **used;  /* addresses in the order of allocation */
} memory;
/* Only the thread that handles the input is tracked; libFuzzer starts another one with the first
 * input. */
static _Thread_local bool watching;
static const char deleted;
#define DELETED ((const void *)&deleted)

static size_t slot_of(const void *address)
{
    return (size_t)(((uintptr_t)address >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 40) % SLOTS;
}

static void note_malloc(const volatile void *address, size_t size)
{
    (void)size;
    if (!watching || address == NULL || memory.count >= SLOTS / 2)
        return;
    size_t slot = slot_of((const void *)address);
    while (memory.slots[slot] != NULL)
        slot = (slot + 1) % SLOTS;
    memory.slots[slot] = (const void *)address;
    memory.used[memory.count++] = (const void *)address;
}

static size_t slot_with(const void *address)
{
    size_t slot = slot_of(address);
    while (memory.slots[slot] != NULL && memory.slots[slot] != address)
        slot = (slot + 1) % SLOTS;
    return slot;
}

static void note_free(const volatile void *address)
{
    if (!watching || address == NULL)
        return;
    size_t slot = slot_with((const void *)address);
    if (memory.slots[slot] != NULL)
        memory.slots[slot] = DELETED;
}

static void free_all(void)
{
    watching = false;
    for (size_t i = 0; i < memory.count; i++) {
        size_t slot = slot_with(memory.used[i]);
        if (memory.slots[slot] == NULL)
            continue;
        memory.slots[slot] = DELETED;
        free((void *)memory.used[i]);
    }
    if (memory.count > 0)
        memset(memory.slots, 0, SLOTS * sizeof *memory.slots);
    memory.count = 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    memory.slots = calloc(SLOTS, sizeof *memory.slots);
    memory.used = calloc(SLOTS / 2, sizeof *memory.used);
    if (memory.slots == NULL || memory.used == NULL)
        abort();
    return __sanitizer_install_malloc_and_free_hooks(note_malloc, note_free) > 0 ? 0 : 1;
}

/* ---- the worker ---- */

enum { MAX_ADDRESSES = 200, MAX_DECODED = 64 };

static void prepare(struct dwarf_units *units, struct elf_file *file, struct strings *strings)
{
    units->image = file;
    units->big_endian = file->big_endian;
    units->strings = strings;
    units->sections = dwarf_sections_new(file, false);
}

/* Looks up the beginning and end of each piece of MAP, of at most COUNT pieces. */
static void ask(struct dwarf_units *units, const struct interval_map *map, size_t count)
{
    struct dwarf_frame frames[MAX_FRAMES];
    for (size_t i = 0; i < map->count && i < count; i++) {
        const uint64_t addresses[] = {map->pieces[i].begin, map->pieces[i].last};
        for (size_t end = 0; end < 2; end++) {
            uint32_t unit = dwarf_units_index(units, addresses[end]);
            size_t found = unit == INTERVAL_NONE
                               ? 0
                               : dwarf_unit_frames(units, unit, addresses[end], false, frames);
            for (size_t f = 0; f < found; f++) {
                const char *name = strings_get(units->strings, frames[f].function);
                input_touch(name, strlen(name));
                strings_get(units->strings, frames[f].file);
                name = strings_get(units->strings, frames[f].checksum);
                input_touch(name, strlen(name));
            }
        }
    }
}

/* The file also contains the split units of its skeletons. */
static struct dwarf_sections *open_split(void *context, const char *folder, const char *name)
{
    input_touch(folder, strlen(folder));
    input_touch(name, strlen(name));
    return dwarf_sections_new(context, true);
}

static void refuse_split(void *context)
{
    (void)context;
}

/* Determines which units to read for the first code, and for all kinds of addresses. */
static void ask_ranges(const struct dwarf_units *units)
{
    uint64_t addresses[] = {0, 0x1000, 0x401000, INT64_MAX, UINT64_MAX};
    free(dwarf_aranges_extent(units, addresses, sizeof addresses / sizeof addresses[0]).passed);
    for (size_t i = 0; i < units->image->section_count && i < MAX_DECODED; i++)
        free(dwarf_aranges_extent(units, &units->image->sections[i].address, 1).passed);
}

/* Reads the units that .debug_aranges lists for the first code, or without that section, half of
 * the units, with the last one cut. */
static void read_part(struct elf_file *file, struct strings *strings)
{
    struct dwarf_units units = {0};
    struct dwarf_extent extent = {0};
    prepare(&units, file, strings);
    if (file->section_count > 1 && dwarf_sections_size(units.sections, DEBUG_ARANGES) > 0)
        extent = dwarf_aranges_extent(&units, &file->sections[1].address, 1);
    else
        extent.end = dwarf_sections_size(units.sections, DEBUG_INFO) / 2;
    dwarf_sections_limit(units.sections, DEBUG_INFO, extent.end);
    dwarf_units_load(&units, &extent);
    free(extent.passed);
    ask(&units, &units.by_address, MAX_ADDRESSES);
}

static void work(struct elf_file *file)
{
    struct dwarf_units units = {0}, alternate = {0};
    struct strings *strings = strings_new();
    read_part(file, strings);
    prepare(&units, file, strings);
    prepare(&alternate, file, strings);
    units.alternate = &alternate;
    units.split =
        (struct split_files){dwarf_sections_new(file, true), open_split, refuse_split, file};
    ask_ranges(&units);
    dwarf_units_load(&units, NULL);
    ask(&units, &units.by_address, MAX_ADDRESSES);
    for (size_t i = 0; i < units.count && i < MAX_DECODED; i++) {
        dwarf_units_decode(&units, &units.units[i]);
        ask(&units, &units.units[i].functions.by_address, MAX_ADDRESSES);
        ask(&units, &units.units[i].lines.by_address, MAX_ADDRESSES);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {0};
    watching = true;
    struct elf_file *file = elf_file_from_memory(data, size, "input", &err);
    if (file != NULL)
        work(file);
    elf_file_close(file);
    free_all();
    return 0;
}
