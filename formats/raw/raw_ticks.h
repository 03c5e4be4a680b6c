/* What the ticks of the kernel reveal about sightings in the kernel.
 *
 * If a program often calls the kernel, the ptrace engine finds it there too often. It also misses
 * page faults. Ticks are unbiased, but rare.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_RAW_RAW_TICKS_H
#define FORMATS_RAW_RAW_TICKS_H

#include "formats/raw/raw_extension.h"

/* A number of sightings of running threads, or of ticks. */
struct raw_share {
    double all, kernel; /* KERNEL is a part of ALL */
};

/* The time between two ticks [ns]: 4 ms if the recording does not say, or says nonsense. */
double raw_ticks_length(const struct raw_facts *facts);
/* Returns all records of EXT by process and time; those of equal time in the order of the file.
 * Caller frees the array. */
const struct raw_ticks **raw_ticks_in_order(const struct raw_extension *ext);
/* The time in the kernel without the cost of being stopped [ns]. */
double raw_ticks_system(const struct raw_ticks *ticks);
/* The share of the kernel if one sighting, half of it in the kernel, is added: 0.5 if there are
 * none. */
double raw_share_kernel(struct raw_share share);
/* The number by which the sightings SEEN in the kernel exceed the share of the kernel in TICKS
 * (negative: too few); 0 if that may be chance, that is, up to twice the standard error of the
 * difference. */
double raw_ticks_surplus(struct raw_share seen, struct raw_share ticks);

#endif
