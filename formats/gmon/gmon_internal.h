/* Internals of formats/gmon: the layout, shared by reader and writer.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_GMON_GMON_INTERNAL_H
#define FORMATS_GMON_GMON_INTERNAL_H

#include "formats/gmon/gmon.h"

enum {
    GMON_GNU_HEADER = 20,
    GMON_BSD_VERSION = 0x51879,
    GMON_TAG_HISTOGRAM = 0,
    GMON_TAG_ARC = 1,
    GMON_TAG_BLOCKS = 2
};

/* Size of an address [bytes]. */
static inline size_t gmon_word(const struct gmon *gmon)
{
    return gmon->is_64 ? 8 : 4;
}

/* Size of a BSD header [bytes]. */
static inline size_t gmon_bsd_header(const struct gmon *gmon)
{
    return gmon->dialect == GMON_BSD_OLD ? 2 * gmon_word(gmon) + 4 : gmon->is_64 ? 40 : 32;
}

#endif
