/* What the ticks of the kernel reveal about sightings in the kernel.
 * SPDX-License-Identifier: MIT */
#include "formats/raw/raw_ticks.h"

static const double certain = 2; /* standard errors */

double raw_ticks_system(const struct raw_ticks *ticks)
{
    return ticks->system > ticks->stops ? (double)(ticks->system - ticks->stops) : 0;
}

double raw_share_kernel(struct raw_share share)
{
    return (share.kernel + 0.5) / (share.all + 1);
}

double raw_ticks_surplus(struct raw_share seen, struct raw_share ticks)
{
    double found = raw_share_kernel(seen), expected = raw_share_kernel(ticks);
    double more = found - expected, larger = more > 0 ? found : expected;
    if (ticks.all < 1 || seen.all < 1 ||
        more * more <= certain * certain * larger * (1 - larger) * (1 / seen.all + 1 / ticks.all))
        return 0;
    return seen.kernel - expected * seen.all;
}
