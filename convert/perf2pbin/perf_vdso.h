/* The vdso of the running kernel, for recordings made with this kernel: perf does not save its
 * code.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PERF2PBIN_PERF_VDSO_H
#define CONVERT_PERF2PBIN_PERF_VDSO_H

#include "formats/raw/raw_extension.h"

/* Sets the vdso of EXT to that of this process, if all mappings of a vdso have its build-id. It
 * stays valid until the process ends. */
void perf_vdso_find(struct raw_extension *ext);

#endif
