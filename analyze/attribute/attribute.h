/* Attribution: charges the time and energy of samples to the rows of their threads.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_ATTRIBUTE_H
#define ANALYZE_ATTRIBUTE_ATTRIBUTE_H

#include "analyze/attribute/fit.h"
#include "analyze/attribute/gaps.h"
#include "analyze/attribute/keys.h"
#include "analyze/attribute/os_threads.h"
#include "analyze/attribute/weigh.h"

/* Options that determine the meaning of the numbers in rows. */
enum attribution_option {
    OPTION_TIME,
    OPTION_MODEL,
    OPTION_OTHERS,
    OPTION_LAG,
    OPTION_KERNEL,
    OPTION_GAP,
    OPTION_LATENCY
};
enum { ATTRIBUTION_OPTIONS = OPTION_LATENCY + 1 };

struct attribution_options {
    struct pbin_keys keys;             /* at least one */
    const struct selection *selection; /* borrowed; NULL: select everything */
    struct code_names *code;           /* borrowed; NULL if no key or filter needs it */
    const struct name_rules *names;    /* borrowed; NULL: names are unchanged */
    struct weigh_options weigh;
    bool fit; /* also compute the sums for least squares; only with energy_by_share */
    /* a bit for each enum attribution_option that the user gave, even if it is the default */
    unsigned given;
};

/* The state while a full profile is read. */
struct attribution {
    const struct pbin_meta *meta;
    const struct selection *selection;
    struct weigher weigher;
    struct weigher head; /* of a part of a profile: samples before the first step of the model */
    bool is_part;
    struct rowset *rows;
    struct key_map keys;
    struct os_threads os;           /* the following arrays use first definitions of threads */
    uint32_t *first_row, *last_row; /* [threads]: row in which it was first and last seen */
    size_t thread_count, first_row_capacity, last_row_capacity;
    uint8_t *marker;    /* [locations]: 1 in the marker function, 2 not in it, 0 unknown */
    uint8_t *in_marker; /* [threads]: it was in the marker function when last seen */
    size_t marker_count, marker_capacity, in_marker_capacity;
    uint64_t phase;      /* entries into the marker function so far */
    exact start, end;    /* of the selected window [2^-32 ns] */
    exact time, energy;  /* sums over all rows */
    exact measured;      /* energy of all selected intervals, including unattributed energy */
    exact wall;          /* sum of the selected intervals [2^-32 ns] */
    uint64_t samples;    /* selected samples */
    uint64_t bad_values; /* energies that are not finite or too large to sum */
    uint64_t crowded;    /* samples with several threads but without CPU time */
    uint64_t waiting;    /* thread samples that show nothing about CPU time, see attribution_look */
    uint64_t looked, unsampled; /* locations looked at; 1 + location of LABEL_UNSAMPLED, 0: none */
    struct gaps gaps;
    struct fit *fit;    /* NULL: not requested */
    uint32_t *fit_rows; /* [thread samples of a stretch] */
    double *fit_equal;  /* the same: equal CPU times, then the differences from them [ns] */
    size_t fit_capacity, fit_equal_capacity;
};

/* Starts an attribution. All arguments are borrowed until attribution_free. */
void attribution_start(struct attribution *attribution, const struct pbin_meta *meta,
                       const struct quantity *quantity, const struct attribution_options *options,
                       struct rowset *rows);
void attribution_add(struct attribution *attribution, const struct pbin_samples *samples,
                     const struct pbin_definitions *all);

/* Counts the thread samples in SAMPLES, a batch as it was read, that show nothing about the use of
 * CPU time: those without CPU time, and records of CPU time without a sample. */
void attribution_look(struct attribution *attribution, const struct pbin_samples *samples,
                      const struct pbin_definitions *all);

/* Returns whether parts of a profile can be attributed separately and then joined. They cannot if
 * results depend on earlier samples. */
bool attribution_divides(const struct attribution *attribution);

/* Makes ATTRIBUTION a part of a profile: the samples to be added start with number NUMBER, and
 * attribution_join will add the part to the attribution of the samples before. Requires
 * attribution_divides; call it before any sample is added. */
void attribution_begin_part(struct attribution *attribution, uint64_t number);

/* Ends a part after its last samples have been added. It can then be joined; its contents remain
 * valid until attribution_free. */
void attribution_end_part(struct attribution *attribution);

/* Adds the part LATER, whose samples follow those of ATTRIBUTION and which has its own rows. The
 * samples of LATER refer to the definitions ALL. */
void attribution_join(struct attribution *attribution, struct attribution *later,
                      const struct pbin_definitions *all);

/* Completes the sums after the last sample. The samples refer to the definitions ALL. */
void attribution_end(struct attribution *attribution, const struct pbin_definitions *all);
void attribution_free(struct attribution *attribution);

#endif
