/* The data of a stretch that the fit uses.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_FIT_VIEW_H
#define ANALYZE_ATTRIBUTE_FIT_VIEW_H

#include "analyze/attribute/stretch.h"
#include "formats/pbin/pbin.h"

/* A settled stretch. Everything is borrowed. */
struct fit_view {
    const struct stretch *stretch;
    const uint64_t *threads;        /* [samples], as for stretch_divide */
    const struct stretch_use *uses; /* as for stretch_divide */
    const double *cpu_ns;           /* [thread samples] */
    const double *more_ns;          /* [thread samples]: rows get so much more; NULL: 0 */
    const uint32_t *row;            /* [thread samples] in the rowset */
    const bool *counts;             /* [samples]: selected (NULL: all) */
    const bool *waits; /* [thread samples]: CPU_NS is time that it waited (NULL: none) */
    enum pbin_own own; /* of the recording */
    bool powers;       /* all sensors show powers, which are interpolated between two readings */
    bool cpu_known;    /* the recording has CPU times; otherwise, CPU_NS is the interval */
    size_t thread_samples;
    uint64_t number; /* of the first sample */
};

#endif
