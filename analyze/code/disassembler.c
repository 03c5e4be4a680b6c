/* The instructions of a binary as text.
 * SPDX-License-Identifier: MIT */
#include "analyze/code/disassembler.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/code/decoder.h"
#include "base/memory.h"

struct disassembler {
    const struct machine_code *code;
    struct decoder *decoder;
    struct decoded last;
    uint8_t data[MAX_INSTRUCTION]; /* if the last was not an instruction */
    bool is_data;
};

struct disassembler *disassembler_new(const struct machine_code *code, bool intel,
                                      struct reporter *reporter)
{
    const struct elf_file *file = machine_code_file(code);
    struct decoder *decoder = decoder_x86_new(file, intel);
    if (decoder == NULL)
        decoder = decoder_capstone_new(file, reporter);
    if (decoder == NULL)
        return NULL;
    struct disassembler *d = mem_zalloc(1, sizeof *d);
    d->code = code;
    d->decoder = decoder;
    return d;
}

void disassembler_delete(struct disassembler *d)
{
    if (d == NULL)
        return;
    d->decoder->delete (d->decoder);
    free(d);
}

size_t disassembler_decode(struct disassembler *d, uint64_t address, const uint8_t *bytes,
                           size_t size)
{
    uint64_t until;
    const enum elf_code_kind kind = machine_code_kind(d->code, address, &until);
    const bool thumb = kind == ELF_CODE_THUMB;
    size = until - address < size ? until - address : size;
    size_t unit = d->decoder->unit;
    d->is_data = kind == ELF_CODE_DATA;
    if (!d->is_data) {
        d->is_data = !d->decoder->decode(d->decoder, thumb, address, bytes, size, &d->last);
        unit = d->last.size;
    }
    if (!d->is_data)
        return unit;
    unit = unit < size ? unit : size;
    unit = unit < MAX_INSTRUCTION ? unit : MAX_INSTRUCTION;
    memcpy(d->data, bytes, unit);
    d->last = (struct decoded){unit, ".byte", BRANCH_OTHER, UINT64_MAX};
    return unit;
}

const char *disassembler_mnemonic(const struct disassembler *d)
{
    return d->last.mnemonic;
}

bool disassembler_branches(const struct disassembler *d, uint64_t *target)
{
    *target = d->last.branch == BRANCH_JUMP ? d->last.target : UINT64_MAX;
    return d->last.branch != BRANCH_NONE;
}

static void write_data(const struct disassembler *d, char text[MAX_OPERANDS])
{
    for (size_t i = 0, at = 0; i < d->last.size; i++)
        at += (size_t)snprintf(text + at, MAX_OPERANDS - at, "%s0x%02x", i > 0 ? ", " : "",
                               d->data[i]);
}

char *disassembler_text(const struct disassembler *d, uint64_t begin)
{
    const struct decoded *i = &d->last;
    const struct elf_symbol *symbol =
        i->target != UINT64_MAX ? machine_code_symbol(d->code, i->target) : NULL;
    char operands[MAX_OPERANDS] = "";
    if (d->is_data)
        write_data(d, operands);
    else
        d->decoder->operands(d->decoder, operands);
    if (operands[0] == '\0')
        return mem_strdup(i->mnemonic);
    if (symbol == NULL)
        return mem_printf("%-7s %s", i->mnemonic, operands);
    if (symbol->address == i->target)
        return mem_printf("%-7s %s <%s>", i->mnemonic, operands, symbol->name);
    return mem_printf("%-7s %s <%s+0x%" PRIx64 ">", i->mnemonic, operands,
                      symbol->address == begin ? "" : symbol->name, i->target - symbol->address);
}
