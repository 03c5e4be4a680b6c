/* What the ticks of the kernel say about sightings in the kernel.
 *
 * The ptrace engine sees programs that often call the kernel there too often, and does not see all page faults. Ticks
 * are unbiased, but rare.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_RAW_TICKS_H
#define FORMATS_RAW_TICKS_H

#include "formats/raw/raw_extension.h"

/* Sightings of running threads, or ticks. */
struct raw_share {
    double all, kernel; /* KERNEL is a part of ALL */
};

/* The time in the kernel without what being stopped cost [ns]. */
double raw_ticks_system(const struct raw_ticks *ticks);
/* The part of the kernel, with one more of unknown place: 0.5 if there are none. */
double raw_share_kernel(struct raw_share share);
/* How many SEEN are in the kernel beyond its share of TICKS (negative: too few); 0 if that may be chance, which is up to
 * twice the standard error of the difference. */
double raw_ticks_surplus(struct raw_share seen, struct raw_share ticks);

#endif
