/* Finds the addresses of instructions of a file that were not seen, with a bit for each byte of its
 * sections with code.
 * SPDX-License-Identifier: MIT */
#include "convert/addr2line/code_fill.h"

#include <elf.h>
#include <stdlib.h>

#include "analyze/code/disassembler.h"
#include "base/memory.h"
#include "formats/elf/elf_sections.h"

struct span {
    uint64_t address, size; /* [bytes] */
    uint8_t *bytes;
    uint8_t *seen; /* a bit per byte */
};

struct code_fill {
    struct machine_code *code;
    struct disassembler *disassembler;
    struct span *spans;
    size_t count, capacity;
    uint64_t total; /* size of all spans [bytes] */
    size_t next;    /* span */
    uint64_t at;    /* offset in it */
};

/* Adds a section. Code is not compressed, and sections do not share it: together, they are not
 * larger than the file. */
static void add_span(struct code_fill *f, const struct elf_file *file, const struct elf_section *s)
{
    uint64_t size = elf_section_size(file, s);
    if (s->type != SHT_PROGBITS || (s->flags & SHF_EXECINSTR) == 0 || size == 0 ||
        (s->flags & SHF_COMPRESSED) != 0 || size > file->size - f->total)
        return;
    f->total += size;
    struct span span = {s->address, size, mem_alloc(size), mem_zalloc(size / 8 + 1, 1)};
    if (!elf_section_read(file, s, span.bytes)) {
        free(span.bytes);
        free(span.seen);
        return;
    }
    *MEM_APPEND(f->spans, f->count, f->capacity) = span;
}

struct code_fill *code_fill_new(const char *program, const struct elf_search *search,
                                struct reporter *reporter, struct error *err)
{
    struct code_fill *f = mem_zalloc(1, sizeof *f);
    f->code = machine_code_open_file(program, search, reporter, err);
    if (f->code != NULL) {
        const struct elf_file *file = machine_code_file(f->code);
        f->disassembler = disassembler_new(f->code, false, reporter);
        for (size_t i = 0; i < file->section_count; i++)
            add_span(f, file, &file->sections[i]);
        if (f->disassembler != NULL && f->count > 0)
            return f;
        error_set(err, program, NO_OFFSET, "no sections with code that can be disassembled");
    }
    code_fill_delete(f);
    return NULL;
}

void code_fill_delete(struct code_fill *f)
{
    if (f == NULL)
        return;
    for (size_t i = 0; i < f->count; i++) {
        free(f->spans[i].bytes);
        free(f->spans[i].seen);
    }
    free(f->spans);
    disassembler_delete(f->disassembler);
    machine_code_close(f->code);
    free(f);
}

void code_fill_see(struct code_fill *f, uint64_t address)
{
    for (size_t i = 0; i < f->count; i++) {
        uint64_t at = address - f->spans[i].address;
        if (at < f->spans[i].size)
            f->spans[i].seen[at / 8] |= (uint8_t)(1U << at % 8);
    }
}

/* Returns the size of the instruction or data at the current place; sets *IS_CODE. */
static uint64_t step(const struct code_fill *f, const struct span *s, bool *is_code)
{
    uint64_t until, left = s->size - f->at, address = s->address + f->at;
    *is_code = machine_code_kind(f->code, address, &until) != ELF_CODE_DATA;
    if (!*is_code)
        return until - address < left ? until - address : left;
    return disassembler_decode(f->disassembler, address, s->bytes + f->at, left);
}

size_t code_fill_next(struct code_fill *f, uint64_t *addresses, size_t room)
{
    size_t count = 0;
    while (count < room && f->next < f->count) {
        const struct span *s = &f->spans[f->next];
        bool is_code;
        uint64_t size = step(f, s, &is_code);
        if (is_code && (s->seen[f->at / 8] >> f->at % 8 & 1) == 0)
            addresses[count++] = s->address + f->at;
        f->at += size;
        if (f->at >= s->size) {
            f->next++;
            f->at = 0;
        }
    }
    return count;
}
