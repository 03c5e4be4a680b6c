/* The buckets of log-linear histograms, as pbin.5 specifies them. A value is a number of units of
 * 1/16 (for times, 1/16 ns). Values below 64 units have one bucket each. Above, each power of two
 * has 32 buckets, so that the error of the middle of a bucket is less than 1.6 %.
 * SPDX-License-Identifier: MIT */
#ifndef BASE_LOG_BUCKETS_H
#define BASE_LOG_BUCKETS_H

#include <stdint.h>

enum {
    LOG_UNIT_SHIFT = 4,
    LOG_OCTAVE_SHIFT = 5,
    LOG_OCTAVES = 40,
    LOG_BUCKETS = (LOG_OCTAVES + 1) << LOG_OCTAVE_SHIFT
};

/* The bucket of UNITS; the last bucket also includes all larger values. */
static inline uint32_t log_bucket(uint64_t units)
{
    if (units < (2U << LOG_OCTAVE_SHIFT))
        return (uint32_t)units;
    uint32_t octave = 63U - (uint32_t)__builtin_clzll(units) - LOG_OCTAVE_SHIFT;
    uint64_t bucket = ((uint64_t)octave << LOG_OCTAVE_SHIFT) + (units >> octave);
    return bucket < LOG_BUCKETS ? (uint32_t)bucket : LOG_BUCKETS - 1;
}

/* The smallest value of BUCKET, in units; for LOG_BUCKETS, the end of the last bucket. */
static inline uint64_t log_bucket_least(uint32_t bucket)
{
    if (bucket < (2U << LOG_OCTAVE_SHIFT))
        return bucket;
    uint32_t octave = (bucket >> LOG_OCTAVE_SHIFT) - 1;
    return (uint64_t)(bucket - (octave << LOG_OCTAVE_SHIFT)) << octave;
}

/* The smallest value of BUCKET in ns. */
static inline double log_bucket_begin(uint32_t bucket)
{
    return (double)log_bucket_least(bucket) / (1 << LOG_UNIT_SHIFT);
}

/* The value [ns] below which the fraction SHARE of the values in COUNTS [LOG_BUCKETS] is, as the
 * middle of a bucket. */
double log_quantile(const uint64_t *counts, double share);

#endif
