/* Decoders of instructions, one for each library. disassembler.c chooses one according to the
 * machine of a file.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_CODE_DECODER_H
#define ANALYZE_CODE_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/report.h"
#include "formats/elf/elf_file.h"

enum { MAX_MNEMONIC = 48, MAX_OPERANDS = 208, MAX_INSTRUCTION = 16 };

enum branch { BRANCH_NONE, BRANCH_JUMP, BRANCH_CALL, BRANCH_OTHER };

/* The result of decode. */
struct decoded {
    size_t size; /* [bytes]; also set for data */
    char mnemonic[MAX_MNEMONIC];
    enum branch branch; /* OTHER: a return, or a call of the kernel */
    uint64_t target;    /* of a jump or call; UINT64_MAX if the instruction does not contain it */
};

struct decoder {
    size_t unit; /* size of data between instructions that is shown as one [bytes] */
    /* Decodes the first instruction of SIZE BYTES at ADDRESS. THUMB: it is in ARM's other
     * instruction set. Returns false, and sets only the size, if it is not an instruction. */
    bool (*decode)(struct decoder *decoder, bool thumb, uint64_t address, const uint8_t *bytes,
                   size_t size, struct decoded *found);
    /* Writes the operands of the instruction decoded last. */
    void (*operands)(const struct decoder *decoder, char text[MAX_OPERANDS]);
    void (*delete)(struct decoder *decoder);
};

/* Decoders for the machine of FILE. INTEL: use Intel syntax. Each returns NULL if it does not
 * support the machine, or after a warning through REPORTER. */
struct decoder *decoder_x86_new(const struct elf_file *file, bool intel);
struct decoder *decoder_capstone_new(const struct elf_file *file, struct reporter *reporter);

#endif
