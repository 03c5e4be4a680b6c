/* The `pperf` dialect: like sampler-walltime, with a PMU value of the size in the header.
 * SPDX-License-Identifier: MIT */
#include "formats/raw/raw_dialect.h"

const struct raw_dialect raw_pperf = {
    .name = "pperf",
    .help = "wall time [us], value of any size, threads, CPU time",
    .header_size = 36,
    .magic_most = 3,
    .record = {.time_size = 8, .value_size = 0, .thread_size = 20},
    .probe = raw_records_probe,
    .next = raw_records_next,
    .close = raw_records_close,
};
