/* The locations of a profile that is being written: program counters get numbers immediately, and are resolved and
 * defined in batches.
 * SPDX-License-Identifier: MIT */
#ifndef CONVERT_SYMBOLIZE_LOCATIONS_H
#define CONVERT_SYMBOLIZE_LOCATIONS_H

#include "convert/symbolize/symbolizer.h"
#include "formats/pbin/pbin.h"
#include "formats/raw/raw_extension.h"

/* The keys of rows for one program counter. */
#define LOCATION_KEYS "binary,file,function,inline,line,pc"
enum { LOCATION_KEY_COUNT = 6 };

struct locations;

/* Facts in a profile about its code. */
struct location_facts {
    const struct code_map *maps; /* all mappings, copied; their texts and images are borrowed */
    size_t map_count;
    const struct raw_thread *threads; /* borrowed: processes and names of threads, if known */
    size_t thread_count;
    bool keys; /* locations_key will be called */
};

/* WRITER, OPTIONS, REPORTER and the data that FACTS points to must stay valid until locations_delete. Returns NULL
 * with ERR filled if kallsyms cannot be read. */
struct locations *locations_new(const struct location_facts *facts, struct pbin_writer *writer,
                                const struct symbolizer_options *options, struct reporter *reporter,
                                struct error *err);
void locations_delete(struct locations *locations);

/* Returns the symbolizer, for symbolizer_find_map and symbolizer_count; borrowed until
 * locations_delete. */
struct symbolizer *locations_symbolizer(struct locations *locations);

/* Returns the number of PC in the pbin. The next locations_resolve defines it. */
uint32_t locations_number(struct locations *locations, uint64_t pc);

/* The numbers assigned so far, to look up a PC before calling locations_number; borrowed until locations_delete. */
const struct numbers *locations_numbers(const struct locations *locations);

/* A location that its program counter alone does not identify. */
struct location_place {
    uint64_t pc;
    uint32_t
        map; /* index of the mapping, UINT32_MAX: none, LOCATION_FIND: the first that contains PC */
    uint32_t caller; /* number of the location that called the kernel, PBIN_NO_CALLER */
    const char *binary,
        *name; /* of code that is not to be resolved, else NULL; borrowed until locations_delete,
                * compared as pointers */
};
#define LOCATION_FIND (UINT32_MAX - 1)

/* Returns the number of PLACE, as locations_number does for a PC; a profile uses only one of these
 * two functions. */
uint32_t locations_place(struct locations *locations, const struct location_place *place);

/* Resolves and defines all locations that are not defined yet. */
void locations_resolve(struct locations *locations);

/* Fills the key of ROW from location NUMBER. */
void locations_key(const struct locations *locations, uint32_t number, struct pbin_row *row);
/* The same for a row without location: the key is LABEL. */
void locations_label(const struct locations *locations, const char *label, struct pbin_row *row);

/* Defines the thread TID and returns its number. */
uint32_t locations_define_thread(struct locations *locations, uint32_t tid);

/* The same for a thread whose process, name and program are known. */
uint32_t locations_define_task(struct locations *locations, uint32_t tid, uint32_t pid,
                               const char *name, const char *program);

/* Defines the mappings to which no location refers. */
void locations_define_maps(struct locations *locations);

#endif
