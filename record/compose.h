/* The finished profile, composed from the spool: documented `sampler` dialect, then the raw
 * extension. SPDX-License-Identifier: MIT */
#ifndef RECORD_COMPOSE_H
#define RECORD_COMPOSE_H

#include "base/error.h"
#include "base/output.h"
#include "formats/raw/raw_extension.h"
#include "record/mappings.h"
#include "formats/pbin/pbin.h"

/* What stands in the header and in the extension; all borrowed. */
struct profile {
    enum pmu_kind kind;
    uint64_t wall, latency; /* [ns] */
    uint64_t samples;       /* in the spool */
    const struct raw_fact *facts;
    size_t fact_count;
    const struct mappings *mappings;
};

/* Writes PROFILE with the samples and threads of the spool at SPOOL_PATH to OUT, in bounded memory.
 * Returns 0, or -1 with ERR or the error of output_open filled. */
int compose(struct output *out, const char *spool_path, const struct profile *profile,
            struct error *err);

/* The label of a VMMap of PATH, NUL-padded: PATH if it fits, else its last component, else the tail
 * of that. */
enum { LABEL_SIZE = 256 };
void compose_label(char label[LABEL_SIZE], const char *path);

#endif
