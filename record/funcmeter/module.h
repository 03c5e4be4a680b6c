/* An ELF file that metered programs load, and its hooks.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_MODULE_H
#define RECORD_FUNCMETER_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "record/funcmeter/code.h"
#include "record/funcmeter/resolvers.h"

/* A hook of an ELF file. */
struct hook {
    uint64_t address; /* in the file */
    size_t kept;      /* number of bytes that stay there */
    size_t moved;     /* number of bytes after them that are moved */
    /* the jump to the thunk, to which a short jump leads; 0: the jump to the thunk is at ADDRESS */
    uint64_t gap;
    size_t first_turn, turns; /* branches that are changed for this hook */
    uint32_t function, kind;
};

/* A branch to the first instructions of a hooked function, changed to lead to their new place. */
struct turn {
    uint64_t at;
    size_t target; /* distance from the beginning of the function [bytes] */
    /* the jump to the target, to which the branch leads; 0: the branch itself reaches the target */
    uint64_t gap;
};

/* The first instruction of a function that gets a breakpoint. */
struct probed {
    uint64_t address;
    size_t size;
};

/* All zero except path, device and inode: nothing is hooked. The hooks are the same for all
 * processes. */
struct module {
    char *path;
    dev_t device;
    ino_t inode;
    uint64_t low, high; /* addresses of its code in the file; 0: the file cannot be read */
    struct code *code;  /* NULL: nothing is hooked */
    struct hook *hooks; /* by address */
    size_t count, capacity;
    uint64_t *gaps; /* of hooks */
    size_t gap_count, gap_capacity;
    struct turn *turns; /* of hooks */
    size_t turn_count, turn_capacity;
    struct probed *probed;
    size_t probed_count, probed_capacity;
    struct resolvers resolvers;
};

void module_free(struct module *module);

/* Returns how many hooks are at addresses below ADDRESS. */
size_t module_hooks_below(const struct module *module, uint64_t address);

/* Returns whether any of SIZE bytes at ADDRESS are padding that is used for a jump, a branch that
 * is changed, or an instruction that gets a breakpoint and must not be changed. */
bool module_is_used(const struct module *module, uint64_t address, size_t size);

/* Notes that the instruction at ADDRESS gets a breakpoint. Returns false if hooks change it, or if
 * the breakpoint would not count calls. */
bool module_probe(struct module *module, uint64_t address);

/* For a function of SIZE bytes, followed by another at NEXT, that begins with too few bytes for a
 * jump or with the target of a branch: moves only as many bytes as a short jump needs, which leads
 * to nearby padding with room for the long jump. Returns false if that is not possible either. */
bool module_use_gap(struct module *module, struct hook *hook, uint64_t size, uint64_t next);

/* The same if branches, for example of loops, lead to the first instructions: all of these branches
 * are changed. */
bool module_turn_branches(struct module *module, struct hook *hook, uint64_t size, uint64_t next);

#endif
