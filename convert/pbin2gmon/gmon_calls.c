/* Converts call arcs of a pbin to those of a gmon.out.
 * SPDX-License-Identifier: MIT */
#include "convert/pbin2gmon/gmon_calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "convert/symbolize/demangle.h"

/* The functions of a file by name. */
struct addresses {
    struct strings *names; /* displayed names; number 0 is "" */
    uint64_t *address;     /* by number */
    size_t capacity;
    struct demangle_costs costs;
};

static void add_name(struct addresses *a, const char *linkage, uint64_t address)
{
    char *text = demangle(linkage, &a->costs);
    uint32_t known = strings_count(a->names);
    uint32_t number = strings_intern(a->names, text != NULL ? text : linkage);
    free(text);
    if (number < known)
        return; /* of several functions with the same name, the first one is used */
    *MEM_AT(a->address, number, a->capacity) = address;
}

static void list_addresses(struct addresses *a, const struct elf_symbols *symbols)
{
    struct elf_symbol_range range;
    uint64_t at = 0;
    a->names = strings_new();
    while (elf_symbols_next(symbols, at, &range)) {
        add_name(a, range.name, range.begin);
        if (range.last == UINT64_MAX)
            break;
        at = range.last + 1;
    }
}

/* Sets *ADDRESS to that of FUNCTION in BINARY, texts of the pbin. Returns false if it is not a
 * function of FILE. */
static bool find_address(const struct addresses *a, const struct profiled_file *file,
                         const char *binary, const char *function, uint64_t *address)
{
    uint32_t number = strings_find(a->names, function);
    if (strcmp(binary, file->name) != 0 || number == INTERN_NONE || number == 0)
        return false;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): names above 0 have an address */
    *address = a->address[number];
    return true;
}

static bool add_call(struct gmon *g, const struct addresses *a, const struct profiled_file *file,
                     const struct pbin_arc *arc, const struct strings *texts)
{
    struct gmon_call call = {.count = arc->count};
    if (!find_address(a, file, strings_get(texts, arc->caller_binary),
                      strings_get(texts, arc->caller), &call.from) ||
        !find_address(a, file, strings_get(texts, arc->callee_binary),
                      strings_get(texts, arc->callee), &call.self))
        return false;
    *MEM_APPEND(g->calls, g->call_count, g->call_capacity) = call;
    return true;
}

size_t gmon_calls_add(struct gmon *gmon, const struct pc_times *times,
                      const struct profiled_file *file, const struct pbin_definitions *all,
                      const struct elf_symbols *symbols)
{
    struct addresses a = {0};
    size_t lost = 0;
    if (times->arc_count == 0)
        return 0;
    list_addresses(&a, symbols);
    for (size_t i = 0; i < times->arc_count; i++)
        lost += !add_call(gmon, &a, file, &times->arcs[i], all->strings);
    strings_delete(a.names);
    free(a.address);
    return lost;
}
