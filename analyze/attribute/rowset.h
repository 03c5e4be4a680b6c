/* Rows found by their key: a tuple of texts and numbers.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_ROWSET_H
#define ANALYZE_ATTRIBUTE_ROWSET_H

#include "base/intern.h"
#include "formats/pbin/pbin.h"

/* What a row has collected in the run that is being read. */
struct current {
    uint64_t entries;
    uint64_t input; /* number of the last aggregated profile that had the row: once is enough */
    exact energy, samples, time;
    bool entries_unknown;
    bool touched;
};

/* The same on the fast path: four words that are added each for itself, in one vector. */
enum {
    SUM_SEEN, /* thread samples, and entries above its low 32 bits */
    SUM_CPU,  /* CPU time [ns] */
    SUM_HIGH, /* energy: signed, [2^-36 J] */
    SUM_LOW,  /* and signed, [2^-80 J] */
    SUM_WORDS,
    SUMS_MOST = 1 << 18, /* entries that the words have room for, as attribute_quick.c fills them */
};
#define SUM_HIGH_SHIFT 36
typedef uint64_t quick_sums __attribute__((vector_size(SUM_WORDS * 8)));

/* Energy [2^-80 J] in the words of quick sums. */
static inline exact quick_energy(uint64_t high, uint64_t low)
{
    return (int64_t)high * ((exact)1 << (ENERGY_SHIFT - SUM_HIGH_SHIFT)) + (int64_t)low;
}

struct rowset {
    struct strings *texts;  /* of text keys */
    struct strings *tuples; /* key tuples as bytes; number of a tuple - 1 = index of its row */
    struct pbin_row *rows;
    struct current *current; /* same index */
    quick_sums *quick;       /* LANES a row, used turn by turn */
    size_t lanes, quick_rows;
    size_t quick_entries; /* that QUICK has summed up */
    size_t count, row_capacity, current_capacity;
    size_t key_count;
    bool is_text[PBIN_MAX_KEYS];
    bool overflow; /* some sum was too large: what is here is wrong */
};

void rowset_init(struct rowset *set, const struct pbin_keys *keys);
void rowset_free(struct rowset *set);

/* Index of the row with KEY (text numbers of SET), made when it is new. */
uint32_t rowset_find(struct rowset *set, const uint64_t *key);

/* Index in SET of the row that has the key of row NUMBER of FROM. */
uint32_t rowset_adopt(struct rowset *set, const struct rowset *from, size_t number);

/* Index of the row whose text keys are all LABEL and whose numbers are 0. */
uint32_t rowset_find_label(struct rowset *set, const char *label);

/* TO += FROM. Returns false when a sum was too large. */
bool current_merge(struct current *to, const struct current *from);

/* Makes room for COUNT more entries in the quick sums. */
void rowset_quick_room(struct rowset *set, size_t count);

/* Moves the quick sums into the exact ones. */
void rowset_fold(struct rowset *set);

/* Adds what the current run has collected to the rows, and forgets it. */
void rowset_end_run(struct rowset *set);

/* Sorts rows by key; indices change. */
void rowset_sort(struct rowset *set);

#endif
