/* Writes dumps of IgProf.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "formats/igprof/igprof.h"

/* TEXT without the bytes that would end it in a dump. Caller frees. */
static char *plain(const char *text)
{
    char *copy = mem_strdup(text);
    for (char *c = copy; *c != '\0'; c++)
        if (*c == ')' || (unsigned char)*c < ' ')
            *c = '_';
    return copy;
}

void igprof_put_head(struct igprof_writer *w, const char *program, uint64_t pid, double tick)
{
    char *name = plain(program);
    output_printf(w->out, "P=(HEX ID=%" PRIx64 " N=(%s) T=%f)\n", pid, name, tick);
    free(name);
}

void igprof_put_function(struct igprof_writer *w, const char *path, uint64_t offset,
                         const char *symbol)
{
    if (w->files == NULL)
        w->files = strings_new();
    uint32_t before = strings_count(w->files), file = strings_intern(w->files, path);
    output_printf(w->out, "C1 FN%" PRIx32 "=(F%" PRIx32, w->functions++, file);
    if (file == before) {
        char *name = plain(path);
        output_printf(w->out, "=(%s)", name);
        free(name);
    }
    char *name = plain(symbol);
    output_printf(w->out, "+%" PRIx64 " N=(%s))+0", offset, name);
    free(name);
}

void igprof_put_value(struct igprof_writer *w, const char *counter, uint64_t ticks, uint64_t value,
                      uint64_t peak)
{
    if (w->counters == NULL)
        w->counters = strings_new();
    uint32_t before = strings_count(w->counters), number = strings_intern(w->counters, counter);
    output_printf(w->out, " V%" PRIx32, number - 1);
    if (number == before)
        output_printf(w->out, "=(%s)", counter);
    output_printf(w->out, ":(%" PRIx64 ",%" PRIx64 ",%" PRIx64 ")", ticks, value, peak);
}

void igprof_end_function(struct igprof_writer *w)
{
    output_printf(w->out, "\n");
}

void igprof_writer_free(struct igprof_writer *w)
{
    strings_delete(w->files);
    strings_delete(w->counters);
}
