/* Finding the file that was profiled, and the one with its symbols.
 * SPDX-License-Identifier: MIT */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/annotate/machine_code.h"
#include "base/memory.h"

/* The debug file of a stripped one: FOLDER/.build-id/ab/cdef.debug. */
static struct machine_code *try_debug(const struct machine_code *code, const char *folder)
{
    char path[PATH_MAX];
    const char *id = machine_code_build_id(code);
    int length = snprintf(path, sizeof path, "%s/.build-id/%.2s/%s.debug", folder, id, id + 2);
    struct machine_code *debug =
        length > 0 && (size_t)length < sizeof path ? machine_code_try(path) : NULL;
    if (debug == NULL || strcmp(machine_code_build_id(debug), id) == 0)
        return debug;
    machine_code_close(debug);
    return NULL;
}

static void read_symbols(struct machine_code *code, const struct code_wanted *wanted)
{
    struct machine_code *debug = NULL;
    if (machine_code_read_symbols(code) || machine_code_build_id(code)[0] == '\0')
        return;
    for (size_t i = 0; i < wanted->folder_count && debug == NULL; i++)
        debug = try_debug(code, wanted->folders[i]);
    if (debug == NULL)
        debug = try_debug(code, "/usr/lib/debug");
    if (debug != NULL)
        machine_code_take_debug(code, debug);
}

struct search {
    const struct code_wanted *wanted;
    struct machine_code *found;
    char *other; /* a file of that name, but not the one that ran: its path and build-id */
};

/* Is PATH the file? One with another build-id is remembered for the message. */
static bool try_path(struct search *s, const char *folder, const char *between, const char *name)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s%s%s", folder, between, name);
    if (length <= 0 || (size_t)length >= sizeof path)
        return false;
    struct machine_code *code = machine_code_try(path);
    if (code == NULL)
        return false;
    const char *id = machine_code_build_id(code);
    if (s->wanted->build_id[0] == '\0' || strcmp(id, s->wanted->build_id) == 0) {
        s->found = code;
        return true;
    }
    if (s->other == NULL)
        s->other = mem_printf("%s has build-id %s", path, id[0] != '\0' ? id : "none");
    machine_code_close(code);
    return false;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

static bool search_all(struct search *s)
{
    const struct code_wanted *w = s->wanted;
    const char *full = w->path[0] != '\0' ? w->path : w->label;
    for (size_t i = 0; i < w->folder_count; i++)
        if (try_path(s, w->folders[i], "/", full) ||
            try_path(s, w->folders[i], "/", base_name(full)))
            return true;
    return (w->path[0] != '\0' && try_path(s, "", "", w->path)) || try_path(s, "", "", w->label);
}

struct machine_code *machine_code_open(const struct code_wanted *wanted, struct reporter *reporter)
{
    struct search s = {.wanted = wanted};
    if (wanted->label[0] == '[') /* [vdso] and the like have no file */
        report_warning(reporter, "%s: is no file, its instructions are not known", wanted->label);
    else if (!search_all(&s) && s.other != NULL)
        report_warning(reporter,
                       "%s, but %s ran: not disassembled (-s FOLDER says where that file is)",
                       s.other, wanted->build_id);
    else if (s.found == NULL)
        report_warning(reporter,
                       "%s: binary not found, not disassembled (-s FOLDER says where it is)",
                       wanted->path[0] != '\0' ? wanted->path : wanted->label);
    else if (wanted->build_id[0] == '\0')
        report_warning(reporter,
                       "%s: the profile knows no build-id: this need not be the file that ran",
                       machine_code_path(s.found));
    if (s.found != NULL)
        read_symbols(s.found, wanted);
    free(s.other);
    return s.found;
}
