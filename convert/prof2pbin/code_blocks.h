/* Blocks of code, which are the same in all processes that map the same file.
 *
 * A program that is executed many times has its code at other addresses each time. What its
 * processes have in common shows only if their sightings are counted together.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_CODE_BLOCKS_H
#define CONVERT_PROF2PBIN_CODE_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "formats/raw/raw_extension.h"

enum { CODE_BLOCK = 64 }; /* [bytes] */

struct code_blocks;

/* EXT is borrowed until code_blocks_delete. */
struct code_blocks *code_blocks_new(const struct raw_extension *ext);
void code_blocks_delete(struct code_blocks *blocks); /* NULL is allowed */

/* Returns a number for the block that contains PC in process IMAGE. If several files are mapped there in turn, it may
 * be in any of them; outside of files, each process has blocks of its own. */
uint64_t code_blocks_at(const struct code_blocks *blocks, uint32_t image, uint64_t pc);

#endif
