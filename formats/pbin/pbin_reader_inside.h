/* Inside of formats/pbin_reader*: what a reader remembers, and its kinds of blocks.
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_PBIN_PBIN_READER_INSIDE_H
#define FORMATS_PBIN_PBIN_READER_INSIDE_H

#include "formats/pbin/block.h"
#include "formats/pbin/pbin.h"
#include "formats/pbin/pbin_samples.h"

struct pbin_reader {
    struct stream *stream;
    bool salvage, cut, ended;
    struct pbin_meta meta;
    size_t key_count;
    struct strings *strings;
    struct pbin_definitions all;
    struct pbin_map *maps;
    struct pbin_thread *threads;
    struct pbin_location *locations;
    struct pbin_frame *frames;
    size_t map_capacity, thread_capacity, location_capacity, frame_capacity;
    uint64_t samples, entries;
    uint32_t runs, rows, arcs;
    enum pbin_item item; /* what the open member block holds; PBIN_END: no block is open */
    uint32_t left;       /* members that it still has */
    struct block block;
    uint64_t begin, end; /* offsets of the sample blocks that are wanted */
    struct sample_columns columns;
};

/* WHAT is wrong with the open block. Returns -1. */
int pbin_reader_fail(struct pbin_reader *reader, struct error *err, const char *what);

/* A string number from the file: must be defined. Marks the cursor bad otherwise. */
uint32_t pbin_string_number(struct pbin_reader *reader, struct cursor *in);

/* Does the open block hold definitions? Returns 1 when they have been taken, 0 for another type of block, or -1. */
int pbin_read_definitions(struct pbin_reader *reader, struct error *err);

/* Does the open block hold rows, runs or arcs? Returns 1 when it is open for pbin_next_member, 0 for another type of
 * block, or -1. */
int pbin_open_members(struct pbin_reader *reader, struct error *err);

/* The next member of a block of rows, runs or arcs. Returns 1, or -1. */
int pbin_next_member(struct pbin_reader *reader, struct pbin_batch *batch, struct error *err);

#endif
