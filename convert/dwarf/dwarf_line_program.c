/* Runs the program of a line table, which produces rows:
 *
 *   unit_length version [since 5: address_size selector] header_length
 *   min_instruction [since 4: max_operations] default_is_stmt line_base line_range
 *   opcode_base standard_opcode_lengths[opcode_base - 1] tables ... program
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "convert/dwarf/dwarf_units.h"

/* The registers of the state machine, and the rows that it has produced. */
struct machine {
    struct dwarf_units *units;
    struct unit_lines *lines;
    struct line_row *rows; /* memory of UNITS, used by one table after the other */
    uint64_t address, operation, file, line, discriminator;
    size_t row_count, row_capacity, sequence_count, sequence_capacity, first;
    struct interval_list ranges;
    bool wrapped; /* a sequence of existing code ends before it begins */
};

static void reset(struct machine *m)
{
    m->address = m->operation = 0;
    m->file = m->line = 1;
    m->discriminator = 0;
}

static void add_row(struct machine *m)
{
    if (m->row_count == m->row_capacity) {
        mem_reserve(&m->rows, &m->row_capacity, m->row_count + 1, sizeof *m->rows);
        m->units->rows = m->rows;
        m->units->row_capacity = m->row_capacity;
    }
    const uint32_t no_file = (1u << FILE_BITS) - 1, most = (1u << DISCRIMINATOR_BITS) - 1;
    m->rows[m->row_count++] = (struct line_row){
        m->address, (uint32_t)m->line, (m->file < no_file ? (uint32_t)m->file : no_file) & no_file,
        (m->discriminator <= most ? (uint32_t)m->discriminator : 0) & most};
    m->discriminator = 0;
}

/* Keeps the sequence if its code exists in the file. */
static void end_sequence(struct machine *m)
{
    struct unit_lines *lines = m->lines;
    add_row(m);
    uint64_t begin = m->rows[m->first].address, end = m->address;
    size_t last = m->row_count - 1;
    reset(m);
    const bool is_code = elf_file_is_code(m->units->image, begin);
    m->wrapped |= begin > end && is_code;
    if (begin >= end || !is_code) {
        m->row_count = m->first;
        return;
    }
    *MEM_AT(lines->sequences, m->sequence_count, m->sequence_capacity) =
        (struct line_sequence){m->first, last};
    *MEM_APPEND(m->ranges.items, m->ranges.count, m->ranges.capacity) =
        (struct interval){begin, end - 1, (uint32_t)m->sequence_count++};
    m->first = m->row_count;
}

/* Advances the address. Only machines with very long instruction words have several operations in
 * an instruction. */
static void advance(struct machine *m, const struct line_program *p, uint64_t operations)
{
    if (p->max_operations <= 1) {
        m->address += p->min_instruction * operations;
        return;
    }
    m->operation += operations;
    m->address += p->min_instruction * (m->operation / p->max_operations);
    m->operation %= p->max_operations;
}

static void run_extended(struct machine *m, struct line_program *p)
{
    uint64_t length = dwarf_uleb(&p->code);
    if (length == 0)
        return;
    struct dwarf_bytes operand = p->code;
    dwarf_skip(&p->code, length);
    uint64_t opcode = dwarf_uint(&operand, 1);
    if (p->code.bad)
        return;
    if (opcode == DW_LNE_end_sequence)
        end_sequence(m);
    else if (opcode == DW_LNE_set_address) {
        if (length > 9)
            p->code.bad = true;
        else
            m->address = dwarf_uint(&operand, (unsigned)length - 1);
        m->operation = 0;
        p->code.bad |= operand.bad;
    } else if (opcode == DW_LNE_set_discriminator) {
        m->discriminator = dwarf_uleb(&operand);
        p->code.bad |= operand.bad;
    }
}

static void run_standard(struct machine *m, struct line_program *p, uint8_t opcode)
{
    switch (opcode) {
    case DW_LNS_copy:
        add_row(m);
        break;
    case DW_LNS_advance_pc:
        advance(m, p, dwarf_uleb(&p->code));
        break;
    case DW_LNS_advance_line:
        m->line += (uint64_t)dwarf_sleb(&p->code);
        break;
    case DW_LNS_set_file:
        m->file = dwarf_uleb(&p->code);
        break;
    case DW_LNS_const_add_pc:
        advance(m, p, (uint8_t)(255 - p->opcode_base) / p->line_range);
        break;
    case DW_LNS_fixed_advance_pc:
        m->address += dwarf_uint(&p->code, 2);
        m->operation = 0;
        break;
    default:
        for (uint8_t i = 0; i < p->lengths[opcode - 1]; i++)
            dwarf_uleb(&p->code);
    }
}

bool dwarf_line_run(struct dwarf_units *units, struct unit *unit, struct line_program *p)
{
    struct machine m = {.units = units,
                        .lines = &unit->lines,
                        .rows = units->rows,
                        .row_capacity = units->row_capacity};
    reset(&m);
    while (dwarf_bytes_left(&p->code) > 0 && !p->code.bad) {
        uint8_t opcode = *p->code.at++;
        if (opcode >= p->opcode_base) {
            uint8_t adjusted = (uint8_t)(opcode - p->opcode_base);
            advance(&m, p, adjusted / p->line_range);
            m.line += (uint64_t)(p->line_base + adjusted % p->line_range);
            add_row(&m);
        } else if (opcode == 0)
            run_extended(&m, p);
        else
            run_standard(&m, p, opcode);
    }
    unit->lines.rows = mem_alloc(m.first * sizeof *m.rows);
    if (m.first > 0)
        memcpy(unit->lines.rows, m.rows, m.first * sizeof *m.rows);
    interval_map_build(&unit->lines.by_address, m.ranges.items, m.ranges.count);
    free(m.ranges.items);
    return !p->code.bad && !m.wrapped;
}
