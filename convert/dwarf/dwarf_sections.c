/* Debug sections of an ELF file, unpacked.
 * SPDX-License-Identifier: MIT */
#include "convert/dwarf/dwarf_sections.h"

#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "base/memory.h"
#include "formats/elf/elf_sections.h"

/* .debug_aranges is omitted: the ranges in the units are equivalent; .debug_frame, _loc, _loclists, _macro, _types and
 * the indexes are not needed for lines and functions. */
static const char *const wanted[DEBUG_SECTIONS] = {
    [DEBUG_INFO] = "info",
    [DEBUG_ABBREV] = "abbrev",
    [DEBUG_LINE] = "line",
    [DEBUG_STR] = "str",
    [DEBUG_LINE_STR] = "line_str",
    [DEBUG_RANGES] = "ranges",
    [DEBUG_RNGLISTS] = "rnglists",
    [DEBUG_ADDR] = "addr",
    [DEBUG_STR_OFFSETS] = "str_offsets",
};

/* The same of split debug information. Lines and addresses are those of the program. */
static const char *const wanted_split[DEBUG_SECTIONS] = {
    [DEBUG_INFO] = "info.dwo",
    [DEBUG_ABBREV] = "abbrev.dwo",
    [DEBUG_STR] = "str.dwo",
    [DEBUG_RNGLISTS] = "rnglists.dwo",
    [DEBUG_STR_OFFSETS] = "str_offsets.dwo",
    [DEBUG_CU_INDEX] = "cu_index",
};

struct debug_section {
    const struct elf_section *section;
    const uint8_t *bytes; /* NULL: not loaded yet */
    uint64_t size;
    bool damaged; /* or missing */
};

struct dwarf_sections {
    const struct elf_file *file;
    struct debug_section sections[DEBUG_SECTIONS];
};

static const uint8_t *load(const struct dwarf_sections *d, struct debug_section *s)
{
    if (s->bytes != NULL || s->damaged)
        return s->bytes;
    s->bytes = elf_section_in_place(d->file, s->section);
    uint8_t *unpacked = s->bytes == NULL ? malloc(s->size) : NULL;
    if (unpacked != NULL && elf_section_read(d->file, s->section, unpacked))
        s->bytes = unpacked;
    else
        free(unpacked);
    s->damaged = s->bytes == NULL;
    return s->bytes;
}

struct dwarf_span dwarf_sections_get(struct dwarf_sections *d, enum dwarf_section kind)
{
    struct debug_section *s = &d->sections[kind];
    if (load(d, s) == NULL)
        return (struct dwarf_span){NULL, 0};
    return (struct dwarf_span){s->bytes, s->size};
}

struct dwarf_sections *dwarf_sections_new(const struct elf_file *file, bool split)
{
    const char *const *names = split ? wanted_split : wanted;
    struct dwarf_sections *d = mem_zalloc(1, sizeof *d);
    d->file = file;
    for (size_t i = 0; i < DEBUG_SECTIONS; i++) {
        struct debug_section *s = &d->sections[i];
        s->section = names[i] != NULL ? elf_section_debug(file, names[i]) : NULL;
        s->size = s->section != NULL ? elf_section_size(file, s->section) : 0;
        s->damaged = s->size == 0;
    }
    return d;
}

/* ---- two at a time ---- */

struct dwarf_unpacker {
    struct dwarf_sections *sections;
    sem_t ready, begin, done;
};

/* Unpacks all but the largest section, which the other thread unpacks. Never returns: to end a thread takes more system
 * calls than the sandbox permits. */
static void *unpack_rest(void *context)
{
    struct dwarf_unpacker *u = context;
    sem_post(&u->ready);
    for (;;) {
        while (sem_wait(&u->begin) != 0)
            ;
        for (size_t i = DEBUG_INFO + 1; i < DEBUG_SECTIONS; i++)
            load(u->sections, &u->sections->sections[i]);
        sem_post(&u->done);
    }
    return NULL;
}

/* Bytes that must be unpacked of the sections from FIRST to LAST. */
static uint64_t packed_bytes(const struct dwarf_sections *d, size_t first, size_t last)
{
    uint64_t sum = 0;
    for (size_t i = first; i <= last; i++) {
        const struct debug_section *s = &d->sections[i];
        if (!s->damaged && elf_section_in_place(d->file, s->section) == NULL)
            sum += s->size;
    }
    return sum;
}

struct dwarf_unpacker *dwarf_unpacker_start(struct dwarf_sections *d)
{
    enum {
        STACK = 256 << 10,
        WORTH = 1 << 20
    }; /* [bytes]; a thread costs as much as to unpack a tenth of that */
    if (packed_bytes(d, DEBUG_INFO, DEBUG_INFO) < WORTH ||
        packed_bytes(d, DEBUG_INFO + 1, DEBUG_SECTIONS - 1) < WORTH)
        return NULL;
    struct dwarf_unpacker *u = mem_zalloc(1, sizeof *u);
    pthread_attr_t attributes;
    pthread_t thread;
    u->sections = d;
    sem_init(&u->ready, 0, 0);
    sem_init(&u->begin, 0, 0);
    sem_init(&u->done, 0, 0);
    mallopt(M_ARENA_MAX, 1); /* another one would use address space, which is limited */
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    bool started = pthread_create(&thread, &attributes, unpack_rest, u) == 0;
    pthread_attr_destroy(&attributes);
    if (!started) {
        free(u);
        return NULL;
    }
    while (sem_wait(&u->ready) != 0)
        ;
    return u;
}

void dwarf_unpacker_run(struct dwarf_unpacker *u)
{
    if (u == NULL)
        return;
    sem_post(&u->begin);
    load(u->sections, &u->sections->sections[DEBUG_INFO]);
    while (sem_wait(&u->done) != 0)
        ;
}
