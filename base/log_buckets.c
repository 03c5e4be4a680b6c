/* Quantiles of log-linear histograms.
 * SPDX-License-Identifier: MIT */
#include "base/log_buckets.h"

double log_quantile(const uint64_t *counts, double share)
{
    double all = 0, below = 0;
    uint32_t bucket = 0;
    for (uint32_t i = 0; i < LOG_BUCKETS; i++)
        all += (double)counts[i];
    while (bucket + 1 < LOG_BUCKETS && below + (double)counts[bucket] < share * all)
        below += (double)counts[bucket++];
    return (log_bucket_begin(bucket) + log_bucket_begin(bucket + 1)) / 2;
}
