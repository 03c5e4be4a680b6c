/* Namespaces, classes and functions around a function: its name is qualified with them where compilers give no linkage name,
 * as gcc does for functions that other files cannot see.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "convert/dwarf/dwarf_units.h"

enum { MAX_DEPTH = 512, MAX_SCOPES = 16, MAX_NAME = 1024 };

struct pass {
    struct unit_scopes *scopes;
    struct dwarf_bytes data;
    uint32_t around[MAX_DEPTH]; /* by depth: the scope around the DIEs there */
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

/* The children of the DIE at OFFSET follow. */
static bool enter(struct pass *p, uint64_t offset, uint64_t tag)
{
    struct unit_scopes *s = p->scopes;
    uint32_t scope = p->around[p->depth];
    if (p->depth + 1 == MAX_DEPTH || s->count >= INTERVAL_NONE)
        return false;
    if (is_scope(tag)) {
        mem_reserve(&s->items, &s->capacity, s->count + 1, sizeof *s->items);
        s->items[s->count] = (struct unit_scope){offset, UINT64_MAX, scope};
        scope = (uint32_t)s->count++;
    }
    p->around[++p->depth] = scope;
    return true;
}

/* The list of children ends at OFFSET. */
static bool leave(struct pass *p, uint64_t offset)
{
    uint32_t scope = p->around[p->depth--];
    if (scope != p->around[p->depth])
        p->scopes->items[scope].end = offset;
    return p->depth > 0;
}

static void decode(struct dwarf_units *units, struct unit *unit)
{
    struct dwarf_span info = dwarf_sections_get(units->sections, DEBUG_INFO);
    const struct abbrevs *abbrevs = dwarf_unit_abbrevs(units, unit);
    struct pass *p = mem_zalloc(1, sizeof *p);
    bool more = true;
    unit->scopes.decoded = true;
    info.size = info.size < unit->end ? info.size : unit->end;
    p->scopes = &unit->scopes;
    p->data = dwarf_bytes_at(info, unit->die, units->big_endian);
    p->around[0] = INTERVAL_NONE;
    while (more && dwarf_bytes_left(&p->data) > 0) {
        uint64_t offset = (uint64_t)(p->data.at - info.data), code = dwarf_uleb(&p->data), sibling;
        struct dwarf_place place;
        if (code == 0) {
            more = p->depth > 0 && leave(p, offset);
            continue;
        }
        const struct abbrev *abbrev = abbrevs_find(abbrevs, code);
        if (abbrev != NULL)
            dwarf_steps_read(&p->data, abbrevs, abbrev, &unit->encoding, &place, &sibling);
        more = abbrev != NULL && !p->data.bad &&
               (abbrev->has_children ? enter(p, offset, abbrev->tag) : p->depth > 0);
    }
    free(p);
}

/* The scope around the DIE at OFFSET; NULL: none. */
static const struct unit_scope *scope_around(const struct unit_scopes *s, uint64_t offset)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->items[middle].begin < offset)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t at = low > 0 ? (uint32_t)low - 1 : INTERVAL_NONE;
    while (at != INTERVAL_NONE && s->items[at].end <= offset)
        at = s->items[at].parent;
    return at != INTERVAL_NONE ? &s->items[at] : NULL;
}

/* The name of the DIE at AT, or of the one it is a part or a copy of, which AT is then; NULL: none. */
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

/* The scope around the DIE at AT, in AT. */
static bool climb(struct die_address *at)
{
    struct unit *unit = dwarf_units_of_die(at->units, at->offset);
    if (unit == NULL || !has_scopes(unit->language))
        return false;
    if (!unit->scopes.decoded)
        decode(at->units, unit);
    const struct unit_scope *scope = scope_around(&unit->scopes, at->offset);
    if (scope != NULL)
        at->offset = scope->begin;
    return scope != NULL;
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
