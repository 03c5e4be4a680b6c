/* Rows found by their key: a tuple of texts and numbers.
 * SPDX-License-Identifier: MIT */
#ifndef ANALYZE_ATTRIBUTE_ROWSET_H
#define ANALYZE_ATTRIBUTE_ROWSET_H

#include "analyze/attribute/packed_sums.h"
#include "base/intern.h"
#include "formats/pbin/pbin.h"

/* The sums of a row in the run being read. */
struct row_sums {
    uint64_t entries;
    uint64_t input; /* number of the last aggregated profile that had the row, to find duplicates */
    exact energy, samples, time;
    bool entries_unknown;
    bool touched;
};

struct rowset {
    struct strings *texts;  /* of text keys */
    struct strings *tuples; /* key tuples as bytes; the row of tuple N has index N - 1 */
    struct pbin_row *rows;
    struct row_sums *sums; /* same index */
    packed_sums *packed;   /* further sums of the rows: LANES per row, used in turn */
    size_t lanes, packed_rows;
    size_t packed_added; /* thread samples in PACKED */
    size_t count, row_capacity, sums_capacity;
    size_t key_count;
    bool is_text[PBIN_MAX_KEYS];
    size_t binary_key, file_key; /* indexes among the keys; KEY_COUNT: none */
    struct strings *checksums;   /* struct pbin_checksum as bytes, with numbers of TEXTS */
    bool overflow;               /* a sum was too large: the contents are invalid */
};

/* Makes SET empty, for rows with KEYS, which are not borrowed; rowset_free releases it. */
void rowset_init(struct rowset *set, const struct pbin_keys *keys);
void rowset_free(struct rowset *set);

/* Index of the row with KEY (text numbers of SET); adds the row if it is new. */
uint32_t rowset_find(struct rowset *set, const uint64_t *key);

/* Index in SET of the row with the key of row NUMBER of FROM; adds the row if it is new. */
uint32_t rowset_adopt(struct rowset *set, const struct rowset *from, size_t number);

/* Index of the row of LABEL, which has no code; adds the row if it is new. */
uint32_t rowset_find_label(struct rowset *set, const char *label);

/* TO += FROM. Returns false if a sum was too large. */
bool row_sums_merge(struct row_sums *to, const struct row_sums *from);

/* Makes room for COUNT more thread samples in the packed sums. */
void rowset_packed_room(struct rowset *set, size_t count);

/* Moves the packed sums into the exact ones. */
void rowset_fold(struct rowset *set);

/* Adds the sums of the current run to the rows, and resets them. */
void rowset_end_run(struct rowset *set);

/* Keeps those of COUNT CHECKSUMS (with numbers of TEXTS) whose files are among the texts of SET, if file is one of its
 * keys. */
void rowset_add_checksums(struct rowset *set, const struct strings *texts,
                          const struct pbin_checksum *checksums, size_t count);

/* Does the same with the checksums of FROM, whose rows SET has adopted. */
void rowset_adopt_checksums(struct rowset *set, const struct rowset *from);

/* The checksums of files of rows with runs, in order of their texts; caller frees. They have no binary if binary is
 * not a key. */
struct pbin_checksum *rowset_checksums(const struct rowset *set, size_t *count);

/* Sorts rows by key; indices change. */
void rowset_sort(struct rowset *set);

#endif
