/* What the ticks of the kernel reveal about sightings in the kernel.
 *
 * If a program often calls the kernel, the ptrace engine sees the program in the kernel too often. The engine also misses page
 * faults. Ticks are unbiased, but rare.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_RAW_RAW_TICKS_H
#define FORMATS_RAW_RAW_TICKS_H

#include "formats/raw/raw_extension.h"

/* Sightings of running threads, or ticks. */
struct raw_share {
    double all, kernel; /* KERNEL is a part of ALL */
};

/* The time in the kernel, without the cost of being stopped [ns]. */
double raw_ticks_system(const struct raw_ticks *ticks);
/* The share of the kernel, with one more sighting of unknown place: 0.5 if there are none. */
double raw_share_kernel(struct raw_share share);
/* How many sightings of SEEN are in the kernel beyond its share of TICKS (negative: too few); 0 if that may be chance,
 * that is, up to twice the standard error of the difference. */
double raw_ticks_surplus(struct raw_share seen, struct raw_share ticks);

#endif
