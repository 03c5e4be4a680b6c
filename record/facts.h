/* The facts about a run for the raw extension.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FACTS_H
#define RECORD_FACTS_H

#include "formats/raw/raw_extension.h"
#include "record/options.h"
#include "record/power.h"

enum { MAX_FACTS = 32 };

/* All zero: empty. */
struct facts {
    struct raw_fact list[MAX_FACTS];
    size_t count;
};

/* Adds all facts that are known at the start of the command, with the current time as its start. */
void facts_begin(struct facts *facts, const struct options *options, const char *engine,
                 const struct power *power);
/* Adds a fact; takes ownership of VALUE. */
void facts_add(struct facts *facts, const char *name, char *value);
void facts_free(struct facts *facts);

#endif
