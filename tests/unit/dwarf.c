/* Functions, ranges and lines as convert/dwarf reads them by hand, against libdwarf: every DIE and
 * every row of this program, and of the C library where its debug information is installed.
 * SPDX-License-Identifier: MIT */
#include "tests/unit/check.h"

#include <elf.h>
#include <libdwarf/libdwarf.h>

#include "base/memory.h"
#include "convert/dwarf/dwarf_units.h"
#include "formats/elf/elf_search.h"

enum { MAX_DEPTH = 256 };

/* The worker never frees what it decodes: it just exits. */
/* NOLINTBEGIN(clang-diagnostic-reserved-*): the name that the sanitizer looks for */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
/* NOLINTEND(clang-diagnostic-reserved-*) */

/* ---- libdwarf, with the sections that we read ---- */

struct object {
    struct dwarf_sections *sections;
    const struct elf_file *file;
};

/* Section 0 is the empty section of ELF; section N is N - 1 of enum dwarf_section. */
static const char *const names[DEBUG_SECTIONS + 1] = {"",
                                                      ".debug_aranges",
                                                      ".debug_info",
                                                      ".debug_abbrev",
                                                      ".debug_line",
                                                      ".debug_str",
                                                      ".debug_line_str",
                                                      ".debug_ranges",
                                                      ".debug_rnglists",
                                                      ".debug_addr",
                                                      ".debug_str_offsets",
                                                      ".debug_cu_index"};

static int section_info(void *object, Dwarf_Half index, Dwarf_Obj_Access_Section *to, int *error)
{
    const struct object *o = object;
    *error = 0;
    if (index > DEBUG_SECTIONS)
        return DW_DLV_NO_ENTRY;
    *to = (Dwarf_Obj_Access_Section){.name = names[index]};
    if (index > 0) {
        to->size = dwarf_sections_get(o->sections, (enum dwarf_section)(index - 1)).size;
        to->type = SHT_PROGBITS;
    }
    return DW_DLV_OK;
}

static int load_section(void *object, Dwarf_Half index, Dwarf_Small **data, int *error)
{
    const struct object *o = object;
    *error = 0;
    if (index == 0 || index > DEBUG_SECTIONS)
        return DW_DLV_NO_ENTRY;
    *data = (Dwarf_Small *)dwarf_sections_get(o->sections, (enum dwarf_section)(index - 1)).data;
    return DW_DLV_OK;
}

static Dwarf_Endianness byte_order(void *object)
{
    return ((struct object *)object)->file->big_endian ? DW_OBJECT_MSB : DW_OBJECT_LSB;
}

static Dwarf_Small pointer_size(void *object)
{
    return ((struct object *)object)->file->is_64 ? 8 : 4;
}

static Dwarf_Unsigned section_count(void *object)
{
    (void)object;
    return DEBUG_SECTIONS + 1;
}

static const Dwarf_Obj_Access_Methods methods = {
    section_info, byte_order, pointer_size, pointer_size, section_count, load_section, NULL};

/* ---- units ---- */

/* A unit according to libdwarf. */
struct oracle {
    Dwarf_Debug debug;
    const struct elf_file *image;
    const struct unit *unit;
    struct interval_list ranges;
    struct unit_function *functions;
    size_t count, capacity;
};

static void add_range(struct oracle *o, uint64_t begin, uint64_t end, uint32_t value)
{
    if (begin >= end || !elf_file_is_code(o->image, begin))
        return;
    mem_reserve(&o->ranges.items, &o->ranges.capacity, o->ranges.count + 1,
                sizeof *o->ranges.items);
    o->ranges.items[o->ranges.count++] = (struct interval){begin, end - 1, value};
}

static void add_old_ranges(struct oracle *o, Dwarf_Die die, uint64_t offset, uint32_t value)
{
    Dwarf_Ranges *ranges;
    Dwarf_Signed count = 0;
    Dwarf_Off real;
    Dwarf_Unsigned bytes;
    uint64_t base = o->unit->low;
    if (dwarf_get_ranges_b(o->debug, offset, die, &real, &ranges, &count, &bytes, NULL) !=
        DW_DLV_OK)
        return;
    for (Dwarf_Signed i = 0; i < count; i++)
        if (ranges[i].dwr_type == DW_RANGES_ADDRESS_SELECTION)
            base = ranges[i].dwr_addr2;
        else if (ranges[i].dwr_type == DW_RANGES_ENTRY)
            add_range(o, base + ranges[i].dwr_addr1, base + ranges[i].dwr_addr2, value);
    dwarf_ranges_dealloc(o->debug, ranges, count);
}

static void add_new_ranges(struct oracle *o, Dwarf_Attribute attribute, Dwarf_Half form,
                           uint64_t where, uint32_t value)
{
    Dwarf_Rnglists_Head head;
    Dwarf_Unsigned count = 0, offset, raw1, raw2, begin, end;
    if (dwarf_rnglists_get_rle_head(attribute, form, where, &head, &count, &offset, NULL) !=
        DW_DLV_OK)
        return;
    for (Dwarf_Unsigned i = 0; i < count; i++) {
        unsigned length, kind;
        Dwarf_Bool missing = false;
        if (dwarf_get_rnglists_entry_fields_a(head, i, &length, &kind, &raw1, &raw2, &missing,
                                              &begin, &end, NULL) != DW_DLV_OK)
            break;
        if (kind != DW_RLE_end_of_list && kind != DW_RLE_base_address &&
            kind != DW_RLE_base_addressx)
            add_range(o, begin, end, value);
    }
    dwarf_dealloc_rnglists_head(head);
}

static void add_ranges(struct oracle *o, Dwarf_Die die, uint32_t value)
{
    Dwarf_Addr low, high;
    Dwarf_Half form;
    enum Dwarf_Form_Class class;
    Dwarf_Attribute attribute;
    Dwarf_Unsigned where = 0;
    if (dwarf_lowpc(die, &low, NULL) == DW_DLV_OK &&
        dwarf_highpc_b(die, &high, &form, &class, NULL) == DW_DLV_OK) {
        add_range(o, low, class == DW_FORM_CLASS_CONSTANT ? low + high : high, value);
        return;
    }
    if (dwarf_attr(die, DW_AT_ranges, &attribute, NULL) != DW_DLV_OK)
        return;
    dwarf_whatform(attribute, &form, NULL);
    if (form == DW_FORM_rnglistx || form == DW_FORM_data4)
        dwarf_formudata(attribute, &where, NULL);
    else
        dwarf_global_formref(attribute, &where, NULL);
    if (o->unit->encoding.version >= 5)
        add_new_ranges(o, attribute, form, where, value);
    else
        add_old_ranges(o, die, where, value);
    dwarf_dealloc_attribute(attribute);
}

/* Visits DIE and everything below it. */
static void walk(struct oracle *o, Dwarf_Die die, uint32_t around, int depth)
{
    Dwarf_Half tag = 0;
    Dwarf_Die child = NULL;
    uint32_t function = around;
    dwarf_tag(die, &tag, NULL);
    if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
        size_t before = o->ranges.count;
        add_ranges(o, die, (uint32_t)o->count);
        if (o->ranges.count == before && tag == DW_TAG_subprogram)
            function = INTERVAL_NONE;
        else {
            Dwarf_Off offset = 0;
            dwarf_dieoffset(die, &offset, NULL);
            function = (uint32_t)o->count;
            mem_reserve(&o->functions, &o->capacity, o->count + 1, sizeof *o->functions);
            o->functions[o->count++] = (struct unit_function){
                .die = offset, .parent = around, .inlined = tag == DW_TAG_inlined_subroutine};
        }
    }
    int result = depth < MAX_DEPTH ? dwarf_child(die, &child, NULL) : DW_DLV_NO_ENTRY;
    while (result == DW_DLV_OK) {
        Dwarf_Die next = NULL;
        walk(o, child, function, depth + 1);
        result = dwarf_siblingof_b(o->debug, child, true, &next, NULL);
        dwarf_dealloc_die(child);
        child = next;
    }
}

static void check_all_functions(struct check *check, const struct oracle *o,
                                const struct unit_functions *ours)
{
    CHECK_EQ(ours->count, o->count);
    for (size_t i = 0; i < o->count; i++) {
        CHECK_EQ(ours->items[i].die, o->functions[i].die);
        CHECK_EQ(ours->items[i].parent, o->functions[i].parent);
        CHECK_EQ(ours->items[i].inlined, o->functions[i].inlined);
    }
}

/* The functions at ADDRESS, from the innermost to the first that is not inlined, are function INDEX
 * and those around it. */
static void check_chain(struct check *check, const struct oracle *o, struct dwarf_units *units,
                        struct unit *unit, uint64_t address, uint32_t index)
{
    struct function_chain chain = dwarf_functions_find(units, unit, address, false);
    for (; index != INTERVAL_NONE; index = o->functions[index].parent) {
        const struct unit_function *function = dwarf_functions_next(&chain);
        CHECK(function != NULL);
        CHECK_EQ(function->die, o->functions[index].die);
        CHECK_EQ(function->inlined, o->functions[index].inlined);
        if (!function->inlined)
            return;
    }
    CHECK(dwarf_functions_next(&chain) == NULL);
}

/* All functions as a list, and the functions found by each address. */
static void check_functions(struct check *check, struct oracle *o, struct dwarf_units *units,
                            struct unit *unit)
{
    struct unit_functions all = {0};
    struct interval_map map;
    dwarf_functions_decode_all(units, unit, &all);
    interval_map_build(&map, o->ranges.items, o->ranges.count);
    check_all_functions(check, o, &all);
    if (check->why[0] == '\0')
        CHECK_EQ(all.by_address.count, map.count);
    for (size_t i = 0; i < map.count && check->why[0] == '\0'; i++) {
        const struct interval *piece = &map.pieces[i];
        CHECK_EQ(all.by_address.pieces[i].begin, piece->begin);
        CHECK_EQ(all.by_address.pieces[i].last, piece->last);
        CHECK_EQ(all.by_address.pieces[i].value, piece->value);
        check_chain(check, o, units, unit, piece->begin, piece->value);
        check_chain(check, o, units, unit, piece->last, piece->value);
    }
    interval_map_free(&map);
    interval_map_free(&all.by_address);
    free(all.items);
}

/* Compares a row with that of libdwarf, and the file's name up to the part that its header
 * contains. Files are compared only where libdwarf knows one: it begins version 5 tables with file
 * 0. */
static void check_row(struct check *check, const struct unit *unit, Dwarf_Line line,
                      const struct line_row *row)
{
    Dwarf_Addr address = 0;
    Dwarf_Unsigned number = 0, file = 0;
    CHECK_EQ(dwarf_lineaddr(line, &address, NULL), DW_DLV_OK);
    CHECK_EQ(dwarf_lineno(line, &number, NULL), DW_DLV_OK);
    CHECK_EQ(dwarf_line_srcfileno(line, &file, NULL), DW_DLV_OK);
    CHECK_EQ(row->address, address);
    CHECK_EQ(row->line, number);
    if (file != 0 || unit->encoding.version < 5)
        CHECK_EQ(row->file, file);
}

/* Every sequence of code that libdwarf finds must be ours, in this order. */
static void check_lines(struct check *check, const struct oracle *o, Dwarf_Die die, size_t *rows)
{
    Dwarf_Unsigned version;
    Dwarf_Small tables = 0;
    Dwarf_Line_Context context;
    Dwarf_Line *lines = NULL;
    Dwarf_Signed count = 0;
    size_t sequence = 0, first = 0;
    if (dwarf_srclines_b(die, &version, &tables, &context, NULL) != DW_DLV_OK)
        return;
    dwarf_srclines_from_linecontext(context, &lines, &count, NULL);
    for (size_t i = 0; i < (size_t)count && check->why[0] == '\0'; i++) {
        Dwarf_Bool ends = false;
        Dwarf_Addr begin = 0, end = 0;
        dwarf_lineendsequence(lines[i], &ends, NULL);
        if (!ends)
            continue;
        dwarf_lineaddr(lines[first], &begin, NULL);
        dwarf_lineaddr(lines[i], &end, NULL);
        if (begin < end && elf_file_is_code(o->image, begin)) {
            const struct line_sequence *s = &o->unit->lines.sequences[sequence++];
            CHECK_EQ(s->end - s->first, i - first);
            for (size_t r = first; r <= i && check->why[0] == '\0'; r++)
                check_row(check, o->unit, lines[r], &o->unit->lines.rows[s->first + r - first]);
            *rows += i - first + 1;
        }
        first = i + 1;
    }
    dwarf_srclines_dealloc_b(context);
}

static void check_unit(struct check *check, Dwarf_Debug debug, struct dwarf_units *units,
                       struct unit *unit, size_t *rows, size_t *functions)
{
    struct oracle o = {.debug = debug, .image = units->image, .unit = unit};
    Dwarf_Die die;
    dwarf_units_decode(units, unit);
    CHECK_EQ(dwarf_offdie_b(debug, unit->die, true, &die, NULL), DW_DLV_OK);
    walk(&o, die, INTERVAL_NONE, 0);
    check_functions(check, &o, units, unit);
    if (check->why[0] == '\0')
        check_lines(check, &o, die, rows);
    *functions += o.count;
    dwarf_dealloc_die(die);
    free(o.ranges.items);
    free(o.functions);
}

static size_t count_units(Dwarf_Debug debug)
{
    Dwarf_Unsigned length, type_offset, next;
    Dwarf_Half version, address_size, offset_size, extension, type;
    Dwarf_Off abbrevs;
    Dwarf_Sig8 signature;
    size_t count = 0;
    while (dwarf_next_cu_header_d(debug, true, &length, &version, &abbrevs, &address_size,
                                  &offset_size, &extension, &signature, &type_offset, &next, &type,
                                  NULL) == DW_DLV_OK)
        count++;
    return count;
}

/* The units of DEBUG, which was split off IMAGE or is the same file. There must be at least one
 * unit, function and row. */
static void check_file(struct check *check, struct elf_file *debug, const struct elf_file *image)
{
    size_t rows = 0, functions = 0;
    struct dwarf_units units = {
        .image = image, .strings = strings_new(), .big_endian = debug->big_endian};
    CHECK(elf_file_map(debug));
    units.sections = dwarf_sections_new(debug, false);
    struct object object = {units.sections, debug};
    Dwarf_Obj_Access_Interface interface = {&object, &methods};
    Dwarf_Debug libdwarf;
    CHECK_EQ(dwarf_object_init_b(&interface, NULL, NULL, DW_GROUPNUMBER_ANY, &libdwarf, NULL),
             DW_DLV_OK);
    dwarf_units_load(&units, NULL);
    for (size_t i = 0; i < units.count && check->why[0] == '\0'; i++)
        check_unit(check, libdwarf, &units, &units.units[i], &rows, &functions);
    if (check->why[0] != '\0')
        return;
    CHECK_EQ(units.damaged, 0);
    CHECK_EQ(count_units(libdwarf), units.count);
    CHECK(units.count > 10 && functions > 100 && rows > 1000);
    strings_delete(units.strings);
}

static void agrees_on_this_program(struct check *check)
{
    struct error err = {0};
    int errnum;
    struct elf_file *file = elf_file_open("/proc/self/exe", &errnum, &err);
    CHECK_STR(err.text, "");
    check_file(check, file, file);
    elf_file_close(file);
}

/* The path of the C library of this process. */
static char *find_libc(void)
{
    char line[4096], *path = NULL;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && path == NULL && fgets(line, sizeof line, maps) != NULL)
        if (strstr(line, "/libc.so") != NULL) {
            line[strcspn(line, "\n")] = '\0';
            path = mem_strdup(strchr(line, '/'));
        }
    if (maps != NULL)
        fclose(maps);
    return path;
}

static void agrees_on_the_c_library(struct check *check)
{
    struct error err = {0}, unreadable = {0};
    const struct elf_search search = {0};
    int errnum;
    char *path = find_libc();
    if (path == NULL)
        return; /* linked statically */
    struct elf_file *image = elf_file_open(path, &errnum, &err);
    CHECK_STR(err.text, "");
    struct elf_file *debug = elf_search_debug(&search, image, &unreadable);
    if (debug != NULL)
        check_file(check, debug, image);
    elf_file_close(debug);
    elf_file_close(image);
    free(path);
}

CHECK_MAIN({"agrees_on_this_program", agrees_on_this_program},
           {"agrees_on_the_c_library", agrees_on_the_c_library})
