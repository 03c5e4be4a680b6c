/* The interface to a processor architecture: decodes code, moves it, and writes jumps.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_MACHINE_H
#define RECORD_FUNCMETER_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct machine_instruction {
    size_t length;     /* [bytes]; 0: cannot be decoded */
    const char *fixed; /* the reason why it cannot be moved; NULL: it can be moved */
    bool is_call;
    bool is_end; /* execution does not continue with the next instruction */
    bool is_padding;
};

/* A function and its thunk. */
struct machine_hook {
    const uint8_t *code; /* its first bytes */
    size_t kept;         /* number of these that stay where they are: a landing pad */
    size_t moved;        /* number of bytes after them that do not stay */
    uint64_t address;    /* in memory */
    uint64_t place;      /* of the thunk */
    uint64_t pool;       /* beginning of the pool */
    uint32_t number;     /* of the thunk */
    /* receives the place of each moved instruction in the thunk, indexed by its old place; branches
     * back to the instruction lead there. NULL: there are none */
    uint8_t *where;
};

/* A direct branch at AT to TARGET. */
typedef void machine_branch(void *opaque, uint64_t at, uint64_t target, bool is_call);

enum { MACHINE_START = 16, MACHINE_MAX_THUNK = 128 };

struct machine {
    uint16_t elf;      /* e_machine of ELF files */
    const char *name;  /* for readers */
    size_t jump;       /* size of a jump to a thunk [bytes] */
    size_t short_jump; /* size of a jump to padding beside a function; 0: there is none */
    size_t thunk_size; /* space for a thunk in the pool */
    uint64_t reach;    /* the greatest distance between a function and a thunk [bytes] */
    /* the largest code of a file; a larger one needs another machine [bytes]; 0: no limit */
    uint64_t most_code;
    uint8_t filler; /* of the pool: is not executed */
    /* Functions whose names, without leading underscores, begin with one of these must not be hooked; ends with NULL.
     * NULL: none. */
    const char *const *own_calls;

    /* Decodes code from ADDRESS to ADDRESS + SIZE and passes direct branches to FOUND; the code in memory may
     * continue to END. */
    void (*sweep)(const uint8_t *code, size_t size, size_t end, uint64_t address,
                  machine_branch *found, void *opaque);
    /* Decodes the instruction in the first of SIZE bytes of CODE. */
    struct machine_instruction (*decode)(const uint8_t *code, size_t size);
    /* Returns why the first SIZE bytes of CODE cannot be moved together, although they could be
     * moved one by one; NULL: they can. May be NULL. */
    const char *(*why_together)(const uint8_t *code, size_t size);
    /* Returns whether the kernel refuses to set a breakpoint at the instruction in the first of
     * SIZE bytes of CODE. NULL: it never does. */
    bool (*refuses_probe)(const uint8_t *code, size_t size);
    /* Returns how many of the first bytes of a function have to stay where they are, because
     * branches land there. May be NULL. */
    size_t (*landing)(const uint8_t *code, size_t size);
    /* Writes the beginning of the pool: a jump to ENTER. */
    void (*start)(uint64_t enter, uint8_t to[MACHINE_START]);
    /* Writes a thunk, which notes its number and jumps to the beginning of the pool; then the moved
     * code, and a jump to the code after it in the function. Returns the offset of the moved code
     * in the thunk, or 0 if something is too far away. */
    size_t (*thunk)(const struct machine_hook *hook, uint8_t to[MACHINE_MAX_THUNK]);
    /* Writes a jump of SIZE bytes from the address FROM to TARGET. Returns false, with nothing
     * written, if that is too far. */
    bool (*write_jump)(uint64_t from, uint64_t target, uint8_t *to, size_t size);
    /* Writes the branch in the first of SIZE bytes of CODE, at the address FROM, so that it leads
     * to TARGET. Returns its length; 0: it is too short for that distance, or a call. NULL:
     * branches are never changed. */
    size_t (*write_branch)(const uint8_t *code, size_t size, uint64_t from, uint64_t target,
                           uint8_t *to);
};

extern const struct machine machine_x86_64;
extern const struct machine machine_aarch64, machine_aarch64_far;

/* Returns the machine of an ELF file whose e_machine is ELF and whose code has SIZE bytes, or
 * NULL. */
const struct machine *machine_find(uint16_t elf, uint64_t size);

#endif
