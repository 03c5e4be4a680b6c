/* Answers of a worker: checked, and joined to one. dwarf_worker.h has their layout.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_DWARF_DWARF_ANSWER_H
#define CONVERT_DWARF_DWARF_ANSWER_H

#include "convert/dwarf/dwarf_worker.h"

/* The strings that one part of a worker has sent: their numbers in ours, INTERN_NONE if no frame has referred to them. All
 * zero: none; the owner frees NUMBERS. */
struct dwarf_texts {
    uint32_t *numbers;
    size_t count, capacity;
};

/* What a worker has used of its limits. */
struct dwarf_limits {
    uint64_t string_bytes, frames;
};

/* The answer of one part, without its size. */
struct dwarf_reply {
    const uint8_t *data;
    size_t size;
    struct dwarf_texts *texts;
};

/* Joins the REPLIES to a question about COUNT addresses. Strings are numbered in the order of addresses and frames, whoever sent
 * them. Returns false if they are malformed. */
bool dwarf_answer_join(const struct dwarf_reply *replies, size_t reply_count, size_t count,
                       struct dwarf_limits *limits, struct strings *strings,
                       struct dwarf_answer *answer);

#endif
