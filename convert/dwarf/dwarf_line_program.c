/* What libdwarf 20210528 gets wrong about the rows of a line table, read from the line program
 * itself:
 *
 * - a sequence begins with file 1 (DWARF 5, 6.2.2), but libdwarf begins version 5 tables with 0.
 *   A table without DW_LNS_set_file before its first row (glibc's strfromf.c) would get another
 *   file's name;
 * - after DW_LNS_set_epilogue_begin (rustc writes it) dwarf_lineendsequence takes the next row for
 *   the end of its sequence, and the lines after it are lost.
 *
 *   unit_length version [since 5: address_size selector] header_length
 *   min_instruction [since 4: max_operations] default_is_stmt line_base line_range
 *   opcode_base standard_opcode_lengths[opcode_base - 1] tables ... program
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "convert/dwarf/dwarf_units.h"

/* The program of one table, and where in it we are. */
struct program {
    const uint8_t *at, *end;
    const uint8_t *lengths; /* of standard opcodes: operands of opcode N at [N - 1] */
    uint8_t opcode_base;
};

static uint64_t uleb(struct program *p)
{
    uint64_t value = 0;
    for (unsigned shift = 0; p->at < p->end; shift += 7) {
        uint8_t byte = *p->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            break;
    }
    return value;
}

static void skip(struct program *p, uint64_t bytes)
{
    p->at += bytes < (uint64_t)(p->end - p->at) ? bytes : (uint64_t)(p->end - p->at);
}

/* Numbers as wide as the format of the table. */
static bool find_program(const struct dwarf_units *units, uint64_t offset, struct program *p)
{
    const uint8_t *table = units->line_table + offset;
    bool big = units->image->big_endian;
    uint64_t left = offset < units->line_table_size ? units->line_table_size - offset : 0;
    if (left < 64)
        return false;
    bool wide = get_u32(table, big) == 0xffffffff;
    size_t word = wide ? 8 : 4, fixed = wide ? 12 : 4;
    uint16_t version = get_u16(table + fixed, big);
    size_t before = fixed + (version >= 5 ? 4 : 2);
    uint64_t length = wide ? get_u64(table + 4, big) : get_u32(table, big);
    uint64_t header = wide ? get_u64(table + before, big) : get_u32(table + before, big);
    size_t begin = before + word, base = version >= 4 ? 5 : 4;
    if (length > left - fixed || header > length || begin + header > fixed + length)
        return false;
    p->opcode_base = table[begin + base];
    p->lengths = table + begin + base + 1;
    p->at = table + begin + header;
    p->end = table + fixed + length;
    return p->opcode_base > DW_LNS_set_file && header >= base + p->opcode_base;
}

/* Runs one opcode; returns whether it makes a row. *FILE is the register; *ENDS: the row ends its
 * sequence. */
static bool run_opcode(struct program *p, uint64_t *file, bool *ends)
{
    uint8_t opcode = *p->at++;
    if (opcode >= p->opcode_base || opcode == DW_LNS_copy)
        return true;
    if (opcode == 0) {
        uint64_t length = uleb(p);
        *ends = length > 0 && p->at < p->end && *p->at == DW_LNE_end_sequence;
        skip(p, length);
        return *ends;
    }
    if (opcode == DW_LNS_set_file)
        *file = uleb(p);
    else if (opcode == DW_LNS_fixed_advance_pc)
        skip(p, 2);
    else
        for (uint8_t i = 0; i < p->lengths[opcode - 1]; i++)
            uleb(p);
    return false;
}

struct program_row *dwarf_line_program(const struct dwarf_units *units, uint64_t offset,
                                       size_t count)
{
    struct program p;
    uint64_t file = 1;
    size_t row = 0;
    if (!find_program(units, offset, &p))
        return NULL;
    struct program_row *rows = mem_alloc(count * sizeof *rows);
    while (p.at < p.end) {
        bool ends = false;
        if (!run_opcode(&p, &file, &ends))
            continue;
        if (row == count)
            break;
        rows[row++] = (struct program_row){file <= UINT32_MAX ? (uint32_t)file : UINT32_MAX, ends};
        if (ends)
            file = 1;
    }
    if (row == count && p.at == p.end)
        return rows;
    free(rows);
    return NULL;
}
