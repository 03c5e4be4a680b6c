/* The distribution of the errors of all rows (functions) between a base and other sides: a spread
 * for each side, with the errors and weights of pbin-compare.
 * SPDX-License-Identifier: MIT */
#ifndef PLOT_ERRORS_H
#define PLOT_ERRORS_H

#include "plot/run_sets.h"
#include "plot/spread.h"

struct errors {
    struct run_sets sets;
    struct spread *rows; /* one for each side but the base, sorted; owned */
    size_t count;
    size_t left_out;  /* rows that lack an error or a weight on some side, such as new functions */
    char *name;       /* "relative error of time"; owned */
    const char *unit; /* "%" or the unit of the metric */
};

/* Reads the sides of PLOT, for its --error. Returns 0, or -1 with ERR filled. Call errors_free in
 * any case. */
int errors_read(struct errors *errors, const struct plot *plot, struct error *err);
void errors_free(struct errors *errors);

/* Describes the drawn rows and the others: "10 of 12 rows by share of the base · effectively 4.2
 * rows · ". Caller frees. */
char *errors_legend(const struct errors *errors);

#endif
