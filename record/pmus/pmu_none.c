/* No PMU: every value is 0.
 * SPDX-License-Identifier: MIT */
#include "record/pmu.h"

static int open_none(const char *argument, void **state, struct error *err)
{
    (void)argument;
    (void)err;
    *state = NULL;
    return 0;
}

static int read_none(void *state, double *value, struct error *err)
{
    (void)state;
    (void)err;
    *value = 0;
    return 0;
}

static void close_none(void *state)
{
    (void)state;
}

const struct pmu_source pmu_none = {
    .name = "none",
    .help = "no PMU, every value is 0",
    .open = open_none,
    .read = read_none,
    .close = close_none,
};
