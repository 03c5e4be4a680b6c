/* Converts the samples of a raw profile with processes or with flags of thread samples.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PROF2PBIN_CONVERT_SEEN_H
#define CONVERT_PROF2PBIN_CONVERT_SEEN_H

#include "convert/prof2pbin/cpu_weights.h"
#include "convert/prof2pbin/jit_names.h"
#include "convert/symbolize/address_spaces.h"
#include "convert/symbolize/locations.h"

struct seen_conversion;

/* All arguments are borrowed until seen_conversion_delete. SPACES is NULL if there are no images. */
struct seen_conversion *seen_conversion_new(const struct raw_profile *raw,
                                            struct cpu_weights *weights,
                                            struct address_spaces *spaces,
                                            struct pbin_writer *writer,
                                            struct locations *locations);
void seen_conversion_delete(struct seen_conversion *conversion);

/* Fills ROOM, which must be large enough, with the thread samples of COUNT samples of SAMPLES,
 * starting at sample FIRST and thread sample THREAD_SAMPLE. TIME_NS[COUNT] are their times, in
 * ascending order. Leaves out records that are not sightings. Returns the number of thread samples
 * in the room. */
size_t seen_conversion_put(struct seen_conversion *conversion, const struct raw_samples *samples,
                           size_t first, size_t count, size_t thread_sample,
                           const uint64_t *time_ns, const struct pbin_room *room);

#endif
