/* The vdso of the running kernel: the same in all processes of the machine, except those with 32 bits.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_OWN_VDSO_H
#define BASE_OWN_VDSO_H

#include <stddef.h>
#include <stdint.h>

/* Returns the image, which is mapped as long as this process runs, and sets *SIZE [bytes]. NULL and
 * 0 if it is unknown. */
const uint8_t *own_vdso(size_t *size);

#endif
