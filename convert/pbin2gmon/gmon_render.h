/* Converts time per address to the histograms of a gmon.out.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_PBIN2GMON_GMON_RENDER_H
#define CONVERT_PBIN2GMON_GMON_RENDER_H

#include "base/exact.h"
#include "base/report.h"
#include "formats/elf/elf_file.h"
#include "formats/gmon/gmon.h"

struct address_time {
    uint64_t address; /* of the file */
    exact time;       /* [2^-32 ns]; at most 2^90 in total */
};

struct gmon_render_options {
    enum gmon_dialect dialect; /* GMON_GNU or GMON_BSD */
    uint32_t scale;            /* profil(2): a bin is 2 * 65536 / SCALE bytes of text; 2 to 65536 */
    uint32_t rate;             /* [Hz] */
};

/* Fills GMON (zeroed except for its name) with histograms of the code of IMAGE, in its pointer size
 * and byte order. Sorts ITEMS by address, in place. Ticks are rounded so that the error of every
 * range of text, and of the sum, is less than one tick. A bin holds at most 65535 ticks: the excess
 * goes to further histograms (GNU, at most 16), otherwise the rate is lowered, with a warning. Sets
 * *OUTSIDE to the time at addresses that are not code. Returns 0, or -1 with ERR filled if there
 * are too many bins or there is no code. gmon_render_free frees the data of GMON. */
int gmon_render(struct gmon *gmon, const struct elf_file *image, struct address_time *items,
                size_t count, const struct gmon_render_options *options, exact *outside,
                struct reporter *reporter, struct error *err);
void gmon_render_free(struct gmon *gmon);

#endif
