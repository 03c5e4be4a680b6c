/* Names of threads: looked up now and then and at their end, told once.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_NAMES_H
#define RECORD_NAMES_H

#include <stddef.h>
#include <sys/types.h>

#include "formats/raw/raw_extension.h"
#include "record/engine.h"

enum { NAMES_MANY = 1024 }; /* news that should be told soon */

/* Zeroed it is empty. Memory is that of the threads alive, and of the news. */
struct names {
    struct raw_thread *known; /* of the threads alive when last looked, sorted by tid */
    size_t known_count, known_capacity;
    struct raw_thread *news; /* names that are new or changed, for the spool */
    size_t news_count, news_capacity;
};

void names_free(struct names *names);

/* Looks up the names of all threads of SAMPLE that still live; those not known are news. */
void names_look(struct names *names, pid_t pid, const struct engine_sample *sample);
/* Looks up the name of a thread that is about to end; news when it was not known. */
void names_end(struct names *names, pid_t pid, pid_t tid);
/* The news have been told. */
void names_told(struct names *names);

#endif
