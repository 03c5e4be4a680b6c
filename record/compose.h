/* Composes the finished profile from the spool: the documented `sampler` dialect, then the raw
 * extension.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_COMPOSE_H
#define RECORD_COMPOSE_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/output.h"
#include "formats/pbin/pmu_kind.h"
#include "formats/raw/raw_extension.h"
#include "record/images.h"

/* The contents of the header and the extension; all borrowed. */
struct profile {
    enum pmu_kind kind;
    uint64_t wall, latency; /* [ns] */
    uint64_t samples;       /* number of samples in the spool */
    /* CPU times of sightings are sums of intervals, which are scaled, thread by thread, to the
     * exact total with RAW_TOTAL. */
    bool nominal;
    const struct raw_fact *facts;
    size_t fact_count;
    const struct raw_source *sources; /* of the readings in the spool */
    size_t source_count;
    const struct vmmap *vmmaps;
    size_t vmmap_count;
};

/* Writes PROFILE with all contents of the spool at SPOOL_PATH to OUT; memory use does not grow with
 * the number of samples. Returns 0 with *ENERGY set to the sum of values times intervals [J for a
 * power]; or -1 with ERR or the error of output_open filled. */
int compose(struct output *out, const char *spool_path, const struct profile *profile,
            double *energy, struct error *err);

/* Appends the header of a raw profile with MAGIC: WALL and LATENCY [ns], the number of SAMPLES, and
 * its COUNT mappings. The label of a mapping is its path if it fits in 255 bytes, otherwise the
 * last component of the path, or if that does not fit, its tail. */
void compose_header(struct buffer *buffer, uint32_t magic, uint64_t wall, uint64_t latency,
                    uint64_t samples, const struct vmmap *maps, size_t count);

#endif
