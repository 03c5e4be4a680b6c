/* No power source: no channels, and every value is 0.
 * SPDX-License-Identifier: MIT */
#include "record/pmus/pmu.h"

static int open_none(const struct pmu_request *request, struct pmu_channels *channels, void **state,
                     struct error *err)
{
    (void)request;
    (void)channels;
    (void)err;
    *state = NULL;
    return 0;
}

static int read_none(void *state, size_t channel, struct pmu_value *value, struct error *err)
{
    (void)state;
    (void)channel;
    (void)value;
    (void)err;
    return 0;
}

static void close_none(void *state)
{
    (void)state;
}

extern const struct pmu_source pmu_none;
const struct pmu_source pmu_none = {
    .name = "none",
    .help = "nothing is measured; the default",
    .open = open_none,
    .read = read_none,
    .close = close_none,
};
