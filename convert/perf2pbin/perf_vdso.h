/* The vdso of the running kernel, for recordings that were made on it: perf does not save the code.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PERF2PBIN_PERF_VDSO_H
#define CONVERT_PERF2PBIN_PERF_VDSO_H

#include "formats/raw/raw_extension.h"

/* Sets the vdso of EXT to that of this process, if all mappings of a vdso have its build-id. It is borrowed for ever. */
void perf_vdso_find(struct raw_extension *ext);

#endif
