/* The facts about a run that the raw extension tells.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_FACTS_H
#define RECORD_FACTS_H

#include "formats/raw/raw_extension.h"
#include "record/options.h"
#include "record/power.h"

enum { MAX_FACTS = 32 };

/* Zeroed it is empty. */
struct facts {
    struct raw_fact list[MAX_FACTS];
    size_t count;
};

/* All that is known when the command starts: now is its time. */
void facts_begin(struct facts *facts, const struct options *options, const char *engine,
                 const struct power *power);
/* Adds one; takes VALUE. */
void facts_add(struct facts *facts, const char *name, char *value);
void facts_free(struct facts *facts);

/* COMMAND as a shell would take it. Caller frees. */
char *facts_command(char *const *command);

#endif
