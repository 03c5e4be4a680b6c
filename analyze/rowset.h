/* Rows found by their key: a tuple of texts and numbers.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ROWSET_H
#define ANALYZE_ROWSET_H

#include "base/intern.h"
#include "formats/pbin.h"

/* What a row has collected in the run that is being read. */
struct current {
    uint64_t entries;
    uint64_t hits, cpu_ns; /* on the fast path: thread samples and CPU time [ns] not yet in the sums below */
    uint64_t input;        /* number of the last aggregated profile that had the row: once is enough */
    exact energy, samples, time;
    bool entries_unknown;
    bool touched; /* or will be when hits are folded */
};

struct rowset {
    struct strings *texts;  /* of text keys */
    struct strings *tuples; /* key tuples as bytes; number of a tuple - 1 = index of its row */
    struct pbin_row *rows;
    struct current *current; /* same index */
    size_t count, row_capacity, current_capacity;
    size_t key_count;
    bool is_text[PBIN_KEYS_MOST];
    bool overflow; /* some sum was too large: what is here is wrong */
};

void rowset_init(struct rowset *set, const int *keys, size_t key_count);
void rowset_free(struct rowset *set);

/* Index of the row with KEY (text numbers of SET), made when it is new. */
uint32_t rowset_find(struct rowset *set, const uint64_t *key);

/* Index of the row whose text keys are all LABEL and whose numbers are 0. */
uint32_t rowset_find_label(struct rowset *set, const char *label);

/* TO += FROM. Returns false when a sum was too large. */
bool current_merge(struct current *to, const struct current *from);

/* Moves what the fast path has counted into the exact sums. */
void rowset_fold(struct rowset *set);

/* Adds what the current run has collected to the rows, and forgets it. */
void rowset_end_run(struct rowset *set);

/* Sorts rows by key; indices change. */
void rowset_sort(struct rowset *set);

#endif
