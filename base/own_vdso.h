/* The vdso of the running kernel: the same in all processes of the machine, except those with 32 bits.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_OWN_VDSO_H
#define BASE_OWN_VDSO_H

#include <stddef.h>
#include <stdint.h>

/* The image that is mapped into this process for as long as it runs, and its *SIZE [bytes]; NULL, 0: unknown. */
const uint8_t *own_vdso(size_t *size);

#endif
