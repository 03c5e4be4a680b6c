/* Finds the units that addresses need, and all ranges of units, from .debug_aranges, which consists
 * of sets:
 *
 *   length, version 2, offset of a unit, size of addresses, size of segments,
 *   pairs of address and length, (0, 0)
 *
 * Compilers may omit the section, or some units in it, and it may be wrong: it only determines
 * which units to leave out, and where units that cannot list all of their code may have more code.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/memory.h"
#include "base/search.h"
#include "convert/dwarf/dwarf_units.h"
#include "formats/elf/elf_plt.h"

struct wanted {
    uint64_t address;
    uint64_t unit; /* offset of the first unit that has it, UINT64_MAX: none */
};

struct aranges {
    struct dwarf_bytes data;
    struct wanted *wanted; /* ascending by address */
    size_t count;
    uint64_t *units; /* of all sets */
    size_t unit_count, unit_capacity;
    const struct dwarf_units *of; /* the units ... */
    struct interval_list *list;   /* ... whose ranges go here; NULL: only those of WANTED count */
};

static void take_range(struct aranges *a, uint64_t begin, uint64_t length, uint64_t unit)
{
    if (a->list != NULL) {
        const size_t index = SEARCH_FROM(a->of->units, a->of->count, header, unit);
        if (index < a->of->count && a->of->units[index].header == unit &&
            a->of->units[index].has_more)
            dwarf_range_add(a->of, begin, begin + length, (uint32_t)index, a->list);
        return;
    }
    size_t i = SEARCH_FROM(a->wanted, a->count, address, begin);
    for (; i < a->count && a->wanted[i].address - begin < length; i++)
        if (unit < a->wanted[i].unit)
            a->wanted[i].unit = unit;
}

/* Reads the next set. Returns false at the end, or where the section is damaged. */
static bool take_set(struct aranges *a)
{
    struct dwarf_bytes *all = &a->data;
    const uint8_t *begin = all->at;
    uint8_t word;
    uint64_t length = dwarf_length(all, &word);
    struct dwarf_bytes b = *all;
    dwarf_skip(all, length);
    if (all->bad)
        return false;
    b.end = all->at;
    uint64_t version = dwarf_uint(&b, 2), unit = dwarf_uint(&b, word);
    unsigned size = (unsigned)dwarf_uint(&b, 1), segment = (unsigned)dwarf_uint(&b, 1);
    if (version != 2 || segment != 0 || (size != 8 && size != 4))
        return false;
    const size_t pair = 2 * (size_t)size, head = (size_t)(b.at - begin);
    dwarf_skip(&b, (pair - head % pair) % pair);
    *MEM_APPEND(a->units, a->unit_count, a->unit_capacity) = unit;
    for (;;) {
        uint64_t address = dwarf_uint(&b, size), extent = dwarf_uint(&b, size);
        if (b.bad || (address == 0 && extent == 0))
            return !b.bad;
        take_range(a, address, extent, unit);
    }
}

static int compare(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* Lists the wanted units in TO, ascending, and returns their number. *COMPLETE: each address
 * outside the PLT is in a unit. */
static size_t list_wanted(const struct dwarf_units *units, const struct aranges *a, uint64_t *to,
                          bool *complete)
{
    size_t count = 0;
    *complete = true;
    for (size_t i = 0; i < a->count; i++)
        if (a->wanted[i].unit != UINT64_MAX)
            to[count++] = a->wanted[i].unit;
        else if (!elf_plt_has(units->image, a->wanted[i].address)) /* PLT code has no unit */
            *complete = false;
    qsort(to, count, sizeof *to, compare);
    return count;
}

/* Determines the extent: it ends at the first unit after the last wanted one, and includes at least
 * one unit. Units that are listed, but not wanted, are passed. */
static struct dwarf_extent find_extent(const struct dwarf_units *units, struct aranges *a)
{
    struct dwarf_extent extent = {.end = UINT64_MAX};
    bool complete;
    uint64_t *wanted = mem_alloc(a->count * sizeof *wanted);
    const size_t count = list_wanted(units, a, wanted, &complete);
    for (size_t i = 0, k = 0; i < a->unit_count && complete; i++) {
        while (k < count && wanted[k] < a->units[i])
            k++;
        if (k < count && wanted[k] == a->units[i])
            continue;
        if (k == count && a->units[i] > 0 && extent.end == UINT64_MAX)
            extent.end = a->units[i];
        a->units[extent.passed_count++] = a->units[i];
    }
    free(wanted);
    extent.passed = a->units;
    return extent;
}

struct dwarf_extent dwarf_aranges_extent(const struct dwarf_units *units, const uint64_t *addresses,
                                         size_t count)
{
    struct dwarf_span section = dwarf_sections_get(units->sections, DEBUG_ARANGES);
    struct aranges a = {.data = dwarf_bytes_at(section, 0, units->big_endian), .count = count};
    a.wanted = mem_alloc(count * sizeof *a.wanted);
    for (size_t i = 0; i < count; i++)
        a.wanted[i] = (struct wanted){addresses[i], UINT64_MAX};
    while (dwarf_bytes_left(&a.data) > 0 && take_set(&a))
        ;
    if (dwarf_bytes_left(&a.data) > 0)
        a.unit_count = 0;
    for (size_t i = 1; i < a.unit_count; i++)
        if (a.units[i - 1] > a.units[i]) {
            qsort(a.units, a.unit_count, sizeof *a.units, compare);
            break;
        }
    const struct dwarf_extent extent = find_extent(units, &a);
    free(a.wanted);
    return extent;
}

void dwarf_aranges_add(struct dwarf_units *units, struct interval_list *list)
{
    struct dwarf_span section = dwarf_sections_get(units->sections, DEBUG_ARANGES);
    struct aranges a = {
        .data = dwarf_bytes_at(section, 0, units->big_endian), .of = units, .list = list};
    while (dwarf_bytes_left(&a.data) > 0 && take_set(&a))
        ;
    for (size_t i = 0; i < a.unit_count; i++) {
        const size_t index = SEARCH_FROM(units->units, units->count, header, a.units[i]);
        if (index < units->count && units->units[index].header == a.units[i])
            units->units[index].has_more = false;
    }
    free(a.units);
}
