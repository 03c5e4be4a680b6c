/* Rows found by their key: a tuple of texts and numbers.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_ROWSET_H
#define ANALYZE_ATTRIBUTE_ROWSET_H

#include "analyze/attribute/packed_sums.h"
#include "base/intern.h"
#include "formats/pbin/pbin.h"

/* The sums of a row in the current run. */
struct row_sums {
    uint64_t entries;
    uint64_t input; /* number of the last aggregated profile with this row, to find duplicates */
    exact energy, samples, time;
    bool entries_unknown;
    bool touched;
};

struct rowset {
    struct strings *texts;  /* of keys that are texts */
    struct strings *tuples; /* tuples of keys as bytes; tuple N belongs to row N - 1 */
    struct pbin_row *rows;
    struct row_sums *sums; /* [rows] */
    packed_sums *packed;   /* further sums: LANES per row, used alternately */
    size_t lanes, packed_rows;
    size_t packed_added; /* thread samples in PACKED */
    size_t count, row_capacity, sums_capacity;
    size_t key_count;
    bool is_text[PBIN_MAX_KEYS];
    size_t binary_key, file_key; /* indexes among the keys; KEY_COUNT if it is not a key */
    struct strings *checksums;   /* each a struct pbin_checksum, with numbers of TEXTS */
    bool overflow;               /* a sum was too large: the contents are invalid */
};

/* Makes SET an empty set of rows with KEYS, which are only used during the call. rowset_free
 * releases the memory of SET. */
void rowset_init(struct rowset *set, const struct pbin_keys *keys);
void rowset_free(struct rowset *set);

/* The index of the row with KEY (text numbers of SET); adds the row if it is new. */
uint32_t rowset_find(struct rowset *set, const uint64_t *key);

/* The index in SET of the row with the key of row NUMBER of FROM; adds the row if it is new. */
uint32_t rowset_adopt(struct rowset *set, const struct rowset *from, size_t number);

/* The index of the row of LABEL, which has no code; adds the row if it is new. */
uint32_t rowset_find_label(struct rowset *set, const char *label);

/* Adds FROM to TO. Returns false if a sum is too large. */
bool row_sums_merge(struct row_sums *to, const struct row_sums *from);

/* Makes room for COUNT more thread samples in the packed sums. */
void rowset_packed_room(struct rowset *set, size_t count);

/* Moves the packed sums into the exact ones. */
void rowset_fold(struct rowset *set);

/* Adds the sums of the current run to the rows, and resets them. */
void rowset_end_run(struct rowset *set);

/* Keeps those of COUNT CHECKSUMS (with numbers of TEXTS) whose files are among the texts of SET, if
 * file is one of its keys. */
void rowset_add_checksums(struct rowset *set, const struct strings *texts,
                          const struct pbin_checksum *checksums, size_t count);

/* Does the same with the checksums of FROM, whose rows SET has adopted. */
void rowset_adopt_checksums(struct rowset *set, const struct rowset *from);

/* The checksums of the files of rows with runs, in order of their texts. The caller frees them.
 * They have no binary if binary is not a key. */
struct pbin_checksum *rowset_checksums(const struct rowset *set, size_t *count);

/* Sorts rows by key; their indexes change. */
void rowset_sort(struct rowset *set);

#endif
