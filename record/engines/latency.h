/* Statistics of the time that each sample took.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_LATENCY_H
#define RECORD_ENGINES_LATENCY_H

#include <stdint.h>

#include "record/engine.h"

enum { LATENCY_STEPS = 8, LATENCY_SLOTS = 64 * LATENCY_STEPS }; /* eight per power of two */

/* All zero: empty. */
struct latency {
    uint64_t sum, count, least;
    uint64_t slots[LATENCY_SLOTS];
};

/* Adds COUNT samples that took NS in total. */
void latency_add(struct latency *latency, uint64_t ns, uint64_t count);
/* Sets latency, latency_min and latency_p99 of RESULT. */
void latency_result(const struct latency *latency, struct engine_result *result);

#endif
