/* Copies the descriptions of generated code, which programs write, into the profile.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_JIT_H
#define RECORD_JIT_H

#include "record/images.h"
#include "record/spool.h"

/* Copies /tmp/perf-PID.map and the dump file of IMAGE, if they exist and are not older than IMAGE.
 * STARTED: CLOCK_REALTIME of time 0 [ns]. Returns 0, or -1 if the spool has failed. */
int jit_copy(struct spool *spool, const struct images *images, uint32_t image, int64_t started);

#endif
