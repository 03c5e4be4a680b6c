/* Annotated machine code: the instructions of a function with their time and energy.
 * SPDX-License-Identifier: MIT */
#include "analyze/annotate/annotate_asm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/annotate/annotate_select.h"
#include "analyze/annotate/annotate_text.h"
#include "analyze/annotate/annotate_values.h"
#include "base/memory.h"
#include "formats/elf/elf_search.h"

enum {
    MAX_CODE = 1 << 24, /* bytes in a piece of code */
    NEAR = 256,         /* without symbols: addresses closer than this are in one piece */
    TAIL = 16           /* bytes to show after the last address of a piece without symbols */
};

/* The file of MODULE. PLACE is an address in it. */
static const struct code_file *open_file(struct code_files *files, const struct annotation *a,
                                         uint32_t module, uint64_t place)
{
    const struct annotate_module *m = &a->modules[module];
    const struct code_wanted wanted = {
        .sought = {annotation_text(a, m->label), annotation_text(a, m->path)},
        .build_id = annotation_text(a, m->build_id),
        .has_offset = m->has_offset,
        .place = place,
        .map_size = m->size,
    };
    return code_files_get(files, &wanted);
}

/* ---- pieces of code ---- */

/* A row, and its address in the file. */
struct spot {
    uint64_t address;
    const struct annotate_row *row;
};

/* An instruction of a piece. */
struct instruction {
    uint32_t at, size; /* from the start of the piece [bytes] */
    uint32_t block;    /* start of its basic block, from the start of the piece [bytes] */
    struct annotate_sums sums;
    const struct annotate_row *row; /* NULL if it has no samples */
    bool hidden;                    /* its basic block is below a minimum */
};

/* The code of a symbol, or the code around addresses without a symbol. */
struct piece {
    struct listing *listing;
    const struct annotate_function *function;
    const struct code_file *file;
    uint64_t address;
    uint8_t *bytes;
    size_t size;
    struct instruction *instructions;
    size_t count, capacity;
};

static int compare_spots(const void *left, const void *right)
{
    const struct spot *a = left, *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

static size_t decode(const struct piece *p, size_t at)
{
    return disassembler_decode(p->file->disassembler, p->address + at, p->bytes + at, p->size - at);
}

/* Marks the basic blocks that begin because of the instruction decoded last: one at AFTER, the next
 * instruction, and one at the target if it is in the piece. */
static void mark_branch(const struct piece *p, size_t after, uint8_t *begins)
{
    uint64_t target;
    if (!disassembler_branches(p->file->disassembler, &target))
        return;
    begins[after] = 1;
    if (target - p->address < p->size)
        begins[target - p->address] = 1;
}

/* Finds the block of each instruction, and hides blocks below a minimum. */
static void set_blocks(struct piece *p, const uint8_t *begins)
{
    const struct annotation *a = listing_annotation(p->listing);
    for (size_t i = 0, n; i < p->count; i += n) {
        struct annotate_sums sums = {0};
        for (n = 0; i + n < p->count && (n == 0 || !begins[p->instructions[i + n].at]); n++)
            annotate_sums_add(&sums, &p->instructions[i + n].sums);
        for (size_t k = i; k < i + n; k++) {
            p->instructions[k].block = p->instructions[i].at;
            p->instructions[k].hidden = !annotate_reaches(a, LEVEL_BLOCK, &sums);
        }
    }
}

/* Decodes all instructions, and adds the sums of the COUNT spots to them. Returns the number of
 * spots used; the others are beyond the end of the code in the file. */
static size_t split(struct piece *p, const struct spot *spots, size_t count)
{
    size_t used = 0;
    uint8_t *begins = mem_zalloc(p->size + 1, 1);
    for (size_t at = 0; at < p->size;) {
        size_t size = decode(p, at);
        mark_branch(p, at + size, begins);
        mem_reserve(&p->instructions, &p->capacity, p->count + 1, sizeof *p->instructions);
        struct instruction *i = &p->instructions[p->count++];
        *i = (struct instruction){.at = (uint32_t)at, .size = (uint32_t)size};
        for (; used < count && spots[used].address - p->address < at + size; used++) {
            annotate_sums_add(&i->sums, &spots[used].row->sums);
            i->row = spots[used].row;
        }
        at += size;
    }
    jump_targets_mark(machine_code_jump_targets(p->file->code), p->address, p->size, begins);
    set_blocks(p, begins);
    free(begins);
    return used;
}

static struct line_range *choose_ranges(const struct piece *p, size_t *count)
{
    const struct annotation *a = listing_annotation(p->listing);
    struct line_range *ranges = mem_zalloc(p->count, sizeof *ranges);
    uint64_t context = a->options->context;
    *count = 0;
    if (!annotation_folds(a))
        ranges[(*count)++] = (struct line_range){0, p->count - 1};
    for (size_t i = 0; i < p->count && annotation_folds(a); i++)
        if (!p->instructions[i].hidden &&
            annotation_is_shown(a, &p->instructions[i].sums, p->function))
            ranges[(*count)++] = (struct line_range){
                i > context ? i - context : 0, context < p->count - i ? i + context : p->count - 1};
    *count = line_ranges_join(ranges, *count);
    return ranges;
}

/* Shows LISTED at the place of ROW (NULL: unknown). */
static void put_spot(struct listing *listing, const struct annotate_function *f,
                     const struct annotate_row *row, struct listed listed)
{
    if (row != NULL) {
        const struct annotation *a = listing_annotation(listing);
        listed.file = annotation_text(a, row->file);
        listed.line = row->line;
        listed.inner = row->inner != row->function ? annotation_text(a, row->inner) : NULL;
    }
    listing_line(listing, f, &listed);
}

static void put_instruction(struct piece *p, const struct instruction *i)
{
    decode(p, i->at);
    char *text = disassembler_text(p->file->disassembler, p->address);
    const uint64_t block = p->address + i->block;
    put_spot(p->listing, p->function, i->row,
             (struct listed){.address = p->address + i->at,
                             .block = &block,
                             .text = text,
                             .sums = i->row != NULL ? &i->sums : NULL});
    free(text);
}

static void put_piece(struct piece *p, const char *name)
{
    size_t count;
    struct line_range *ranges = choose_ranges(p, &count);
    char *title = mem_printf("%s%s%s at 0x%" PRIx64, machine_code_file(p->file->code)->path,
                             name[0] != '\0' ? ": " : "", name, p->address);
    if (count > 0)
        listing_section(p->listing, title);
    for (size_t r = 0; r < count; r++) {
        if (r > 0 || ranges[r].first > 0)
            listing_gap(p->listing);
        for (uint64_t i = ranges[r].first; i <= ranges[r].last && i < p->count; i++)
            put_instruction(p, &p->instructions[i]);
    }
    if (count > 0 && ranges[count - 1].last + 1 < p->count)
        listing_gap(p->listing);
    free(title);
    free(ranges);
}

/* Shows addresses whose instructions are unknown. */
static void put_bare(struct listing *listing, const struct annotate_function *f,
                     const struct spot *spots, size_t count)
{
    const struct annotation *a = listing_annotation(listing);
    for (size_t i = 0; i < count; i++)
        if (annotation_is_shown(a, &spots[i].row->sums, f) &&
            annotate_reaches(a, LEVEL_BLOCK, &spots[i].row->sums))
            put_spot(listing, f, spots[i].row,
                     (struct listed){.address = spots[i].address, .sums = &spots[i].row->sums});
}

/* Sets address and size of the piece that contains the first spot. Returns the number of spots in
 * it: those in the same symbol or, without symbols, those close together. */
static size_t piece_of(struct piece *p, const struct elf_symbol *symbol, const struct spot *spots,
                       size_t count)
{
    size_t n = 1;
    p->address = symbol != NULL ? symbol->address : spots[0].address;
    if (symbol != NULL) {
        while (n < count && machine_code_symbol(p->file->code, spots[n].address) == symbol)
            n++;
        p->size = symbol->size > 0 ? symbol->size : spots[n - 1].address - symbol->address + TAIL;
    } else {
        while (n < count && spots[n].address - spots[n - 1].address < NEAR &&
               machine_code_symbol(p->file->code, spots[n].address) == NULL)
            n++;
        p->size = spots[n - 1].address - p->address + TAIL;
    }
    p->size = p->size < MAX_CODE ? p->size : MAX_CODE;
    return n;
}

/* Shows the piece that contains the first spot. Returns the number of spots in it. */
static size_t show_piece(struct listing *listing, const struct annotate_function *f,
                         const struct code_file *file, const struct spot *spots, size_t count)
{
    struct piece p = {.listing = listing, .function = f, .file = file};
    const struct elf_symbol *symbol = machine_code_symbol(file->code, spots[0].address);
    count = piece_of(&p, symbol, spots, count);
    p.bytes = mem_alloc(p.size);
    size_t wanted = p.size;
    p.size = elf_file_read_code(machine_code_file(file->code), p.address, p.bytes, p.size);
    if (p.size < wanted)
        elf_warn_failed(listing_annotation(listing)->reporter, machine_code_file(file->code),
                        "instructions are not shown");
    size_t used = split(&p, spots, count);
    if (p.count > 0)
        put_piece(&p, symbol != NULL ? symbol->name : "");
    put_bare(listing, f, spots + used, count - used);
    free(p.bytes);
    free(p.instructions);
    return count;
}

/* Sets SPOTS to the rows of one module, with addresses of its file, in ascending order. */
static void find_spots(const struct code_file *file, const struct annotate_row *rows, size_t count,
                       struct spot *spots)
{
    for (size_t i = 0; i < count; i++)
        spots[i] = (struct spot){machine_code_address(file->code, rows[i].address), &rows[i]};
    qsort(spots, count, sizeof *spots, compare_spots);
}

static void show_bare(struct listing *listing, const struct annotate_function *f,
                      const struct annotate_row *rows, size_t count)
{
    listing_section(
        listing, rows->module == NO_MODULE
                     ? "unknown mapping"
                     : annotation_text(listing_annotation(listing),
                                       listing_annotation(listing)->modules[rows->module].label));
    for (size_t i = 0; i < count; i++)
        put_bare(listing, f, &(struct spot){rows[i].address, &rows[i]}, 1);
}

static void show_module(struct listing *listing, const struct annotate_function *f,
                        const struct annotate_row *rows, size_t count, struct code_files *files)
{
    const struct annotation *a = listing_annotation(listing);
    const struct code_file *file =
        rows->module != NO_MODULE ? open_file(files, a, rows->module, rows->address) : NULL;
    struct spot *spots = mem_zalloc(count, sizeof *spots);
    if (file == NULL || file->disassembler == NULL) {
        show_bare(listing, f, rows, count);
    } else {
        find_spots(file, rows, count, spots);
        for (size_t i = 0; i < count;)
            i += show_piece(listing, f, file, spots + i, count - i);
    }
    free(spots);
}

/* The rows of a function are sorted by module and address. */
void show_assembly(struct listing *listing, struct annotate_function *f, struct code_files *files)
{
    for (size_t i = 0, n; i < f->count; i += n) {
        for (n = 1; i + n < f->count && f->rows[i + n].module == f->rows[i].module; n++)
            continue;
        show_module(listing, f, f->rows + i, n, files);
    }
}
