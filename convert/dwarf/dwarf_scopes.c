/* Namespaces, classes and functions around a function. They qualify its name if there is no linkage
 * name: gcc writes none for functions that other files cannot see.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/search.h"
#include "convert/dwarf/dwarf_units.h"

enum { MAX_DEPTH = 512, MAX_SCOPES = 16, MAX_NAME = 1024 };

struct pass {
    struct unit_scopes *scopes;
    const struct unit *unit;
    struct dwarf_bytes data;
    const uint8_t *info;        /* offset 0 of .debug_info */
    uint32_t around[MAX_DEPTH]; /* by depth: the scope around the DIEs at this depth */
    size_t depth;
};

static bool is_scope(uint64_t tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
           tag == DW_TAG_union_type || tag == DW_TAG_interface_type || tag == DW_TAG_module ||
           tag == DW_TAG_subprogram;
}

static bool has_scopes(uint64_t language)
{
    return language != DW_LANG_C && language != DW_LANG_C89 && language != DW_LANG_C99 &&
           language != DW_LANG_C11 && language != DW_LANG_Mips_Assembler;
}

/* Enters the contents of the DIE at OFFSET, which extend to SIBLING or, without one, to the end of
 * their list. FIRST: they are the requested contents. Returns false if DIEs are nested too
 * deeply. */
static bool enter(struct pass *p, uint64_t offset, uint64_t tag, uint64_t sibling, bool first)
{
    struct unit_scopes *s = p->scopes;
    const uint64_t here = (uint64_t)(p->data.at - p->info), next = p->unit->header + sibling;
    bool passed = !first && sibling <= p->unit->end - p->unit->header && next >= here &&
                  next - here <= dwarf_bytes_left(&p->data);
    if (p->depth + 1 == MAX_DEPTH || s->count >= INTERVAL_NONE)
        return false;
    if (first) {
        p->around[++p->depth] = INTERVAL_NONE;
        return true;
    }
    *MEM_AT(s->items, s->count, s->capacity) =
        (struct unit_scope){.begin = offset,
                            .end = passed ? next : UINT64_MAX,
                            .parent = p->around[p->depth],
                            .is_named = is_scope(tag),
                            .passed = passed};
    if (passed)
        p->data.at = p->info + next;
    else
        p->around[++p->depth] = (uint32_t)s->count;
    s->count++;
    return true;
}

/* Leaves a list of DIEs, which ends at OFFSET. */
static bool leave(struct pass *p, uint64_t offset)
{
    uint32_t scope = p->around[p->depth--];
    if (scope != INTERVAL_NONE)
        p->scopes->items[scope].end = offset;
    return p->depth > 0;
}

/* Lists the scopes in the DIE at FIRST. */
static void decode(struct dwarf_units *units, struct unit *unit, struct unit_scopes *to,
                   uint64_t first)
{
    struct dwarf_span info = dwarf_sections_get(units->sections, DEBUG_INFO);
    const struct abbrevs *abbrevs = dwarf_unit_abbrevs(units, unit);
    struct pass *p = mem_alloc(sizeof *p);
    bool more = true;
    to->decoded = true;
    info.size = info.size < unit->end ? info.size : unit->end;
    p->scopes = to;
    p->unit = unit;
    p->depth = 0;
    p->info = info.data;
    p->data = dwarf_bytes_at(info, first, units->big_endian);
    while (more && dwarf_bytes_left(&p->data) > 0) {
        uint64_t offset = (uint64_t)(p->data.at - info.data), code = dwarf_uleb(&p->data);
        uint64_t sibling = UINT64_MAX;
        struct dwarf_place place;
        if (code == 0) {
            more = p->depth > 0 && leave(p, offset);
            continue;
        }
        const struct abbrev *abbrev = abbrevs_find(abbrevs, code);
        if (abbrev != NULL)
            dwarf_steps_read(&p->data, abbrevs, abbrev, &unit->encoding, &place, &sibling);
        more = abbrev != NULL && !p->data.bad &&
               (abbrev->has_children ? enter(p, offset, abbrev->tag, sibling, offset == first)
                                     : p->depth > 0);
    }
    free(p);
}

/* Returns the innermost scope of the list that contains the DIE at OFFSET; NULL for none. */
static struct unit_scope *scope_around(const struct unit_scopes *s, uint64_t offset)
{
    size_t after = SEARCH_FROM(s->items, s->count, begin, offset);
    uint32_t at = after > 0 ? (uint32_t)after - 1 : INTERVAL_NONE;
    while (at != INTERVAL_NONE && s->items[at].end <= offset)
        at = s->items[at].parent;
    return at != INTERVAL_NONE ? &s->items[at] : NULL;
}

/* Returns the name of the DIE at AT; if it has none, sets AT to the DIE of which it is a part or a
 * copy, and returns that name; NULL for none. */
static const char *name_of_scope(struct die_address *at, uint64_t *tag)
{
    *tag = 0;
    for (int i = 0; at->units != NULL && i < MAX_CHAIN; i++) {
        struct unit *unit = dwarf_units_of_die(at->units, at->offset);
        struct die_reader die;
        if (unit == NULL)
            return NULL;
        dwarf_unit_abbrevs(at->units, unit);
        if (!die_open(at->units, unit, at->offset, &die))
            return NULL;
        *tag = die.tag;
        struct die_naming naming = dwarf_naming_read(&die);
        if (naming.plain != NULL || naming.origin.units == NULL)
            return naming.plain;
        *at = naming.origin;
    }
    return NULL;
}

/* Sets AT to the named scope around the DIE at AT. Returns false if there is none. */
static bool climb(struct die_address *at)
{
    struct unit *unit = dwarf_units_of_die(at->units, at->offset);
    if (unit == NULL || !has_scopes(unit->language))
        return false;
    struct unit_scopes *list = &unit->scopes;
    uint64_t begin = unit->die, found = 0;
    while (list != NULL) {
        if (!list->decoded)
            decode(at->units, unit, list, begin);
        struct unit_scope *inner = scope_around(list, at->offset), *named = inner;
        while (named != NULL && !named->is_named)
            named = named->parent != INTERVAL_NONE ? &list->items[named->parent] : NULL;
        found = named != NULL ? named->begin : found;
        list = NULL;
        if (inner != NULL && inner->passed) {
            if (inner->inner == NULL)
                inner->inner = mem_zalloc(1, sizeof *inner->inner);
            list = inner->inner;
            begin = inner->begin;
        }
    }
    at->offset = found != 0 ? found : at->offset;
    return found != 0;
}

char *dwarf_qualified_name(struct die_address at, const char *plain)
{
    char *name = mem_strdup(plain);
    for (int i = 0; i < MAX_SCOPES && climb(&at); i++) {
        uint64_t tag;
        const char *scope = name_of_scope(&at, &tag);
        if (scope == NULL || scope[0] == '\0')
            scope = tag == DW_TAG_namespace                      ? "(anonymous namespace)"
                    : i == 0 && strcmp(plain, "operator()") == 0 ? "{lambda}"
                                                                 : "(anonymous class)";
        if (at.units == NULL || strnlen(scope, MAX_NAME) == MAX_NAME)
            break;
        char *longer = mem_printf("%s::%s", scope, name);
        free(name);
        name = longer;
    }
    return name;
}
