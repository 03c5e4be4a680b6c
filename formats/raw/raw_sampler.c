/* The `sampler` dialects: a value, and per thread tid, program counter and CPU time.
 * SPDX-License-Identifier: MIT */
#include "formats/raw/raw_dialect.h"

const struct raw_dialect raw_sampler = {
    .name = "sampler",
    .help = "value, threads with CPU time",
    .header_size = 32,
    .magic_most = 3,
    .record = {.time_size = 0, .value_size = 8, .thread_size = 20},
    .probe = raw_records_probe,
    .next = raw_records_next,
    .close = raw_records_close,
};

const struct raw_dialect raw_sampler_walltime = {
    .name = "sampler-walltime",
    .help = "wall time [us], value, threads with CPU time",
    .header_size = 32,
    .magic_most = 3,
    .record = {.time_size = 8, .value_size = 8, .thread_size = 20},
    .probe = raw_records_probe,
    .next = raw_records_next,
    .close = raw_records_close,
};
