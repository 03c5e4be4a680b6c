/* Functions that the compiler has inlined at all of their calls.
 * SPDX-License-Identifier: MIT */
#include "record/funcmeter/inlined.h"

#include <fcntl.h>
#include <inttypes.h>
#include <libdwarf/dwarf.h>
#include <libdwarf/libdwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/intern.h"
#include "base/memory.h"
#include "formats/elf/elf_search.h"
#include "record/funcmeter/dwarf_sections.h"

enum { MAX_DEPTH = 256, MAX_SECONDS = 30 };

/* The functions with the same name. */
struct known {
    uint64_t places; /* number of places at which they are inlined */
    bool has_code;
};

struct reader {
    Dwarf_Debug debug;
    struct strings *names;
    struct known *known; /* by the number of the name */
    size_t count, capacity;
};

/* ---- in the process that reads ---- */

/* Finds the target of attribute NUMBER of DIE. Returns whether DIE has the attribute and the target is in this file. */
static bool refers(Dwarf_Die die, Dwarf_Half number, Dwarf_Off *to)
{
    Dwarf_Attribute attribute;
    Dwarf_Half form = 0;
    if (dwarf_attr(die, number, &attribute, NULL) != DW_DLV_OK)
        return false;
    dwarf_whatform(attribute, &form, NULL);
    bool found = form != DW_FORM_GNU_ref_alt && form != DW_FORM_ref_sup4 &&
                 form != DW_FORM_ref_sup8 && form != DW_FORM_ref_sig8 &&
                 dwarf_global_formref(attribute, to, NULL) == DW_DLV_OK;
    dwarf_dealloc_attribute(attribute);
    return found;
}

/* Returns the name of the function that DIE describes, the one for the linker if there is one; ""
 * if there is none. Caller frees. */
static char *name_of(const struct reader *r, Dwarf_Die die)
{
    enum { REFERENCES = 4 };
    char *text = NULL, *name = NULL;
    Dwarf_Die at = die, next;
    for (int i = 0; i < REFERENCES && at != NULL; i++) {
        bool linked = dwarf_die_text(at, DW_AT_linkage_name, &text, NULL) == DW_DLV_OK ||
                      dwarf_die_text(at, DW_AT_MIPS_linkage_name, &text, NULL) == DW_DLV_OK;
        if (linked || (name == NULL && dwarf_diename(at, &text, NULL) == DW_DLV_OK)) {
            free(name);
            name = mem_strdup(text);
        }
        Dwarf_Off to = 0;
        bool more = !linked && (refers(at, DW_AT_abstract_origin, &to) ||
                                refers(at, DW_AT_specification, &to));
        if (!more || dwarf_offdie_b(r->debug, to, true, &next, NULL) != DW_DLV_OK)
            next = NULL;
        if (at != die)
            dwarf_dealloc_die(at);
        at = next;
    }
    if (at != NULL && at != die)
        dwarf_dealloc_die(at);
    return name != NULL ? name : mem_strdup("");
}

static bool has(Dwarf_Die die, Dwarf_Half number)
{
    Dwarf_Bool found = 0;
    return dwarf_hasattr(die, number, &found, NULL) == DW_DLV_OK && found;
}

/* Returns whether DIE has separate code. The abstract description of an inlined function has
 * none. */
static bool has_code(Dwarf_Die die)
{
    return has(die, DW_AT_low_pc) || has(die, DW_AT_ranges) || has(die, DW_AT_entry_pc);
}

static void note(struct reader *r, Dwarf_Die die, bool inlined)
{
    char *name = name_of(r, die);
    if (name[0] != '\0') {
        uint32_t number = strings_intern(r->names, name);
        mem_reserve(&r->known, &r->capacity, number + (size_t)1, sizeof *r->known);
        while (r->count <= number)
            r->known[r->count++] = (struct known){0};
        r->known[number].places += inlined;
        r->known[number].has_code |= !inlined;
    }
    free(name);
}

static void visit(struct reader *r, Dwarf_Die die)
{
    Dwarf_Half tag = 0;
    dwarf_tag(die, &tag, NULL);
    if ((tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) && has_code(die))
        note(r, die, tag == DW_TAG_inlined_subroutine);
}

/* Visits DIE, which it frees, and everything below it. */
static void walk(struct reader *r, Dwarf_Die die)
{
    Dwarf_Die above[MAX_DEPTH] = {die};
    for (int depth = 0; depth >= 0;) {
        Dwarf_Die next = NULL;
        visit(r, above[depth]);
        if (depth + 1 < MAX_DEPTH && dwarf_child(above[depth], &next, NULL) == DW_DLV_OK) {
            above[++depth] = next;
            continue;
        }
        for (next = NULL; depth >= 0 && next == NULL; depth--) {
            if (depth > 0 &&
                dwarf_siblingof_b(r->debug, above[depth], true, &next, NULL) != DW_DLV_OK)
                next = NULL;
            dwarf_dealloc_die(above[depth]);
        }
        if (next != NULL)
            above[++depth] = next;
    }
}

static void walk_units(struct reader *r)
{
    Dwarf_Unsigned length, type_offset, next;
    Dwarf_Half version, address_size, offset_size, extension, type;
    Dwarf_Off abbrevs;
    Dwarf_Sig8 signature;
    while (dwarf_next_cu_header_d(r->debug, true, &length, &version, &abbrevs, &address_size,
                                  &offset_size, &extension, &signature, &type_offset, &next, &type,
                                  NULL) == DW_DLV_OK) {
        Dwarf_Die die;
        if (dwarf_siblingof_b(r->debug, NULL, true, &die, NULL) != DW_DLV_OK)
            continue;
        walk(r, die);
    }
}

/* Error handler: without one, libdwarf aborts if its caller does not request an error. Damaged
 * parts are left out. */
static void ignore_error(Dwarf_Error error, Dwarf_Ptr unused)
{
    (void)error;
    (void)unused;
}

/* Writes a line "PLACES NAME" for each function to OUT. */
static void write_all(const char *path, FILE *out)
{
    struct reader r = {.names = strings_new()};
    struct error unused = {0};
    int errnum;
    struct elf_file *file = elf_file_open(path, &errnum, &unused);
    if (file == NULL)
        return;
    Dwarf_Obj_Access_Interface sections = dwarf_sections_of(file);
    if (dwarf_object_init_b(&sections, ignore_error, NULL, DW_GROUPNUMBER_ANY, &r.debug, NULL) !=
        DW_DLV_OK)
        return;
    walk_units(&r);
    for (uint32_t i = 0; i < r.count; i++)
        if (r.known[i].places > 0 && !r.known[i].has_code)
            fprintf(out, "%" PRIu64 " %s\n", r.known[i].places, strings_get(r.names, i));
}

static _Noreturn void read_and_exit(const char *path, int fd)
{
    const struct rlimit seconds = {MAX_SECONDS, MAX_SECONDS}, none = {0, 0};
    setrlimit(RLIMIT_CPU, &seconds);
    setrlimit(RLIMIT_CORE, &none);
    FILE *out = fdopen(fd, "w");
    if (out != NULL) {
        write_all(path, out);
        fflush(out);
    }
    _exit(0);
}

/* ---- in funcmeter ---- */

/* Returns the path of the debug information of the file at PATH; NULL: it is not an ELF file.
 * Caller frees. */
static char *debug_path(const char *path)
{
    const struct elf_search search = {0};
    struct error unused = {0};
    int errnum;
    struct elf_file *file = elf_file_open(path, &errnum, &unused);
    struct elf_file *debug = file != NULL ? elf_search_debug(&search, file, &unused) : NULL;
    char *found = file == NULL ? NULL : mem_strdup(debug != NULL ? debug->path : path);
    elf_file_close(debug);
    elf_file_close(file);
    return found;
}

void inlined_read(const char *path, inlined_found *found, void *opaque)
{
    int ends[2];
    char *debug = debug_path(path), *line = NULL, *name;
    size_t size = 0;
    if (debug == NULL || pipe2(ends, O_CLOEXEC) != 0) {
        free(debug);
        return;
    }
    pid_t pid = fork();
    if (pid == 0)
        read_and_exit(debug, ends[1]);
    close(ends[1]);
    FILE *in = fdopen(ends[0], "r");
    while (in != NULL && pid > 0 && getline(&line, &size, in) > 0) {
        uint64_t places = strtoull(line, &name, 10);
        name[strcspn(name, "\n")] = '\0';
        if (name[0] == ' ')
            found(opaque, name + 1, places);
    }
    if (in != NULL)
        fclose(in);
    else
        close(ends[0]);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    free(line);
    free(debug);
}
