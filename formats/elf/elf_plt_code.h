/* Recognises, for each machine, the code of stubs that jump to the address in a slot.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ELF_ELF_PLT_CODE_H
#define FORMATS_ELF_ELF_PLT_CODE_H

#include <stdbool.h>
#include <stdint.h>

/* Part of a program, and the table to which its stubs refer. */
struct plt_code {
    const uint8_t *bytes;
    uint64_t size, address; /* of BYTES */
    uint64_t got; /* address of the table that a register points to, where stubs need one */
    bool big_endian;
};

/* A stub, and the SLOT that contains the address to which it jumps. */
struct plt_stub {
    uint64_t address, size, slot;
};

/* How a machine calls functions of libraries. */
struct plt_machine {
    uint16_t machine;              /* EM_... */
    uint32_t jump, data, indirect; /* types of relocations of slots; data: shared with other uses */
    unsigned step;                 /* stubs begin at multiples of it [bytes] */
    bool in_text;                  /* stubs are among functions */
    bool only_little;              /* the code of the other byte order differs */
    bool (*find)(const struct plt_code *code, uint64_t at,
                 struct plt_stub *stub); /* whether there is a stub at offset AT */
};

/* Returns NULL if the machine is not supported. */
const struct plt_machine *plt_machine_find(uint16_t machine, bool big_endian);

#endif
