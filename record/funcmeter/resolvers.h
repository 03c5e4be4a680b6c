/* Functions with several variants (ifunc): when the program starts, a resolver returns the address
 * of the variant for this processor.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FUNCMETER_RESOLVERS_H
#define RECORD_FUNCMETER_RESOLVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct resolver {
    uint64_t address; /* in the file */
    char *name;       /* of the function that is resolved */
    bool chosen;      /* by a pattern */
    uint64_t last;    /* the address in the file that it last returned; 0: none yet */
};

/* All zero: none. */
struct resolvers {
    struct resolver *items;
    size_t count, capacity;
    size_t chosen;
};

/* Adds a resolver; NAME is copied. */
void resolvers_add(struct resolvers *resolvers, uint64_t address, const char *name, bool chosen);
void resolvers_free(struct resolvers *resolvers);

/* Returns the names of all functions for which ADDRESS was RETURNED: "memcpy|memmove". Caller
 * frees. */
char *resolvers_name(const struct resolvers *resolvers, const uint64_t *returned, uint64_t address);

#endif
