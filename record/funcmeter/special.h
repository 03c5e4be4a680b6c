/* Functions that hooks have to recognise or leave alone, by their names.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_SPECIAL_H
#define RECORD_FUNCMETER_SPECIAL_H

#include <stdbool.h>
#include <stdint.h>

/* A function that hooks have to recognise, or whose return address has a meaning and must not be
 * changed. */
struct special_function {
    const char *name; /* without leading underscores */
    uint32_t kind;    /* METER_UNWIND and so on; 0: its calls may only be counted */
    bool always;      /* also if calls are only counted */
};

/* Returns the special function called NAME, perhaps with underscores before it and a version after
 * it; NULL: none. */
const struct special_function *special_find(const char *name);

/* Returns whether NAME is a fragment. Compilers move code that is rarely executed out of a
 * function, into a separate symbol: "work.cold". It is entered by a branch, with the frame of that
 * function. */
bool special_is_fragment(const char *name);

/* Returns whether the function NAME is called by the code of V8, which looks for return addresses
 * on the stack to find its own frames. */
bool special_has_v8_frame(const char *name);

/* Returns whether V8 copies the function NAME to the place where its compiler writes code. */
bool special_is_copied(const char *name);

#endif
