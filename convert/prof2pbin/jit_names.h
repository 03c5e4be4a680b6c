/* Names of code that a process generated at run time, from the copy of /tmp/perf-PID.map or of a
 * jitdump file in the profile.
 *
 *   text:    lines "HEXADDRESS HEXSIZE NAME"
 *   jitdump: records of code that was loaded or moved, as specified in
 *            tools/perf/Documentation/jitdump-specification.txt of Linux, in either byte order
 *
 * Where code overlaps, the later line or record counts, because the time of a name is unknown.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_JIT_NAMES_H
#define CONVERT_PROF2PBIN_JIT_NAMES_H

#include "formats/raw/raw_extension.h"

#define NO_JIT UINT32_MAX

struct jit_names;

/* EXT is borrowed until jit_names_delete; its JIT maps are parsed when they are first needed. */
struct jit_names *jit_names_new(const struct raw_extension *ext);
void jit_names_delete(struct jit_names *names);

/* Returns the number of the name of the code at PC in IMAGE; NO_JIT for none. A forked image
 * without a JIT map uses that of its parent. */
uint32_t jit_names_find(struct jit_names *names, uint32_t image, uint64_t pc);

/* Name NUMBER, borrowed until jit_names_delete. */
const char *jit_names_get(const struct jit_names *names, uint32_t number);

#endif
