/* Checks the answers of a worker, and joins them to one. dwarf_worker.h describes their layout.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_DWARF_DWARF_ANSWER_H
#define CONVERT_DWARF_DWARF_ANSWER_H

#include "base/intern.h"

enum {
    MAX_FRAMES = 64,   /* inlined into each other */
    SAME_FRAMES = 255, /* the same frames as the previous address */
    NOT_MINE = 254     /* the other part answers */
};

/* Function, file and checksum are string numbers: as sent by a worker, its own; in struct
 * dwarf_answer, those in STRINGS. The checksum is the MD5 of the file in lower-case hexadecimal, 0:
 * unknown. The discriminator distinguishes the parts of the line, only in the innermost frame; 0:
 * none. */
struct dwarf_frame {
    uint32_t function, file, line, checksum, discriminator;
};

/* All zero: empty. dwarf_answer_free frees it. */
struct dwarf_answer {
    struct dwarf_frame *frames;
    /* frames of address i: FIRST[i] and COUNT[i] of them; addresses may share them */
    uint32_t *first;
    uint8_t *count;
    size_t frame_count, frame_capacity, capacity;
    uint32_t damaged; /* if not 0, parts of the debug information are unreadable */
};

void dwarf_answer_free(struct dwarf_answer *answer);

/* Empties ANSWER, and makes room for COUNT addresses in FIRST and COUNT. */
void dwarf_answer_reserve(struct dwarf_answer *answer, size_t count);

/* The strings that one part of a worker has sent: their numbers in our strings, INTERN_NONE if no
 * frame has referred to them yet. All zero: none. The owner frees NUMBERS. */
struct dwarf_texts {
    uint32_t *numbers;
    size_t count, capacity;
};

/* How much of its limits a worker has used. */
struct dwarf_limits {
    uint64_t string_bytes, frames;
};

/* The answer of one part, without its size. */
struct dwarf_reply {
    const uint8_t *data;
    size_t size;
    struct dwarf_texts *texts;
};

/* Joins the REPLIES to a question about COUNT addresses. Strings are numbered in the order of
 * addresses and frames, whichever part sent them. Returns false if the replies are malformed. */
bool dwarf_answer_join(const struct dwarf_reply *replies, size_t reply_count, size_t count,
                       struct dwarf_limits *limits, struct strings *strings,
                       struct dwarf_answer *answer);

#endif
