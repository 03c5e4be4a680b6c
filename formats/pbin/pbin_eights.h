/* Columns eight values at a time, where there are vectors of 512 bits that shuffle bytes.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_PBIN_PBIN_EIGHTS_H
#define FORMATS_PBIN_PBIN_EIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EIGHTS_WIDEST = 57 }; /* bits that 8 bytes hold whatever bit they start at */

/* Can this machine do it? */
bool eights_possible(void);

/* EIGHTS times eight values of 1 to EIGHTS_WIDEST bits above BASE, WIDTH bytes each; at least 8 bytes must be writable
 * behind the last. */
void eights_pack(uint8_t *packed, unsigned width, uint64_t base, const uint64_t *values,
                 size_t eights);

/* And back; at least 8 bytes must be readable behind the last. */
void eights_unpack(const uint8_t *packed, unsigned width, uint64_t base, uint64_t *values,
                   size_t eights);

#endif
