/* The program that wrote a gmon.out.
 * SPDX-License-Identifier: MIT */
#include "convert/gmon/gmon_program.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "convert/symbolize/debug_file.h"
#include "convert/symbolize/elf_image.h"
#include "convert/symbolize/find_binary.h"
#include "convert/symbolize/symbol_table.h"

enum {
    OPTEE_BASE = 32,  /* OP-TEE counts from __text_start at 32 */
    PADDING_MOST = 63 /* bytes between functions that only align the next one */
};

struct gmon_program {
    char *name;
    struct elf_image *image; /* NULL: not found */
    struct elf_image *debug; /* separate symbols, or NULL */
    struct symbol_table *symbols;
    struct symbol_range *pieces; /* all of its code that has names, ascending, with padding */
    size_t piece_count, piece_capacity;
    bool is_optee;
    uint64_t bias;
};

static size_t digits(const char *text, size_t length)
{
    size_t count = 0;
    while (count < length && isdigit((unsigned char)text[length - 1 - count]))
        count++;
    return count;
}

/* 8-4-4-4-12 hexadecimal digits. */
static bool is_uuid(const char *text)
{
    for (int i = 0; i < 36; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
            return false;
    }
    return true;
}

/* What NAME says about the program: the file's name, caller frees; NULL: nothing. */
static char *program_of(const char *name, bool *is_optee)
{
    size_t length = strlen(name);
    *is_optee = false;
    if (length < 10 || strcmp(name + length - 4, ".out") != 0)
        return NULL;
    length -= 4;
    size_t number = digits(name, length);
    bool numbered = number > 0 && name[length - number - 1] == '.';
    size_t stem = numbered ? length - number - 1 : length;
    if (strncmp(name, "gmon-", 5) == 0 && stem == 5 + 36 && is_uuid(name + 5)) {
        *is_optee = true;
        return mem_printf("%.36s.elf", name + 5);
    }
    if (strncmp(name, "gmon.", 5) == 0 && numbered && stem > 5)
        return mem_strndup(name + 5, stem - 5);
    return NULL;
}

/* Candidates for the program, in order. */
struct search {
    struct elf_image *found;
    char *refused; /* why the first one that is there is no good */
};

static bool take_candidate(void *context, const char *path)
{
    struct search *search = context;
    struct error err = {0};
    int errnum;
    search->found = elf_image_open(path, &errnum, &err);
    if (search->found == NULL && errnum != ENOENT && errnum != ENOTDIR && search->refused == NULL)
        search->refused = mem_printf("%s: %s", path, err.text);
    return search->found != NULL;
}

static bool take_beside(struct search *search, const char *gmon, const char *name)
{
    const char *slash = strrchr(gmon, '/');
    if (slash == NULL)
        return false;
    char *path = mem_printf("%.*s/%s", (int)(slash - gmon), gmon, name);
    bool taken = take_candidate(search, path);
    free(path);
    return taken;
}

static void find_program(struct gmon_program *p, const char *gmon,
                         const struct gmon_program_options *options, struct reporter *reporter)
{
    struct search search = {0};
    struct symbolizer_options beside = options->symbols;
    beside.search_path_count = 0;
    bool found = false;
    for (size_t i = 0; i < options->symbols.search_path_count && !found; i++) {
        char *path = mem_printf("%s/%s", options->symbols.search_paths[i], p->name);
        found = take_candidate(&search, path);
        free(path);
    }
    if (!found && !take_beside(&search, gmon, p->name))
        find_binary(&beside, p->name, take_candidate, &search);
    p->image = search.found;
    if (p->image == NULL)
        report_warning(reporter, "%s: %s: its samples stay without function names", p->name,
                       search.refused != NULL ? search.refused
                                              : "not found (-e ELF or a search path may help)");
    free(search.refused);
}

/* OP-TEE's addresses are pc - __text_start + 32; where __text_start is at 32 itself, they are the
 * file's. */
static uint64_t optee_bias(const struct gmon_program *p, const struct gmon *gmon,
                           struct reporter *reporter)
{
    uint64_t low = OPTEE_BASE, start = 0;
    if (gmon->histogram_count > 0)
        low = gmon->histograms[0].low;
    if (p->image == NULL)
        return 0;
    if (!symbol_value(p->image, p->debug, "__text_start", &start)) {
        const struct elf_section *text = elf_image_section(p->image, ".text");
        start = text != NULL ? text->address : 0;
        report_warning(reporter,
                       "%s: no symbol __text_start: its code is taken to begin at 0x%" PRIx64,
                       p->name, start);
    }
    return low - (start & ~UINT64_C(3));
}

static int check_layout(const struct gmon_program *p, const struct gmon *gmon, struct error *err)
{
    if (p->image->is_64 == gmon->is_64 && p->image->big_endian == gmon->big_endian)
        return 0;
    return error_set(err, gmon->name, NO_OFFSET,
                     "is of a %d-bit %s-endian program, %s is %d-bit %s-endian",
                     gmon->is_64 ? 64 : 32, gmon->big_endian ? "big" : "little", p->image->path,
                     p->image->is_64 ? 64 : 32, p->image->big_endian ? "big" : "little");
}

static int open_program(struct gmon_program *p, const struct gmon *gmon,
                        const struct gmon_program_options *options, struct reporter *reporter,
                        struct error *err)
{
    int errnum;
    p->name = program_of(label_base_name(gmon->name), &p->is_optee);
    if (options->elf != NULL) {
        free(p->name);
        p->name = mem_strdup(label_base_name(options->elf));
        p->image = elf_image_open(options->elf, &errnum, err);
        return p->image == NULL ? -1 : 0;
    }
    if (p->name == NULL)
        return error_set(err, gmon->name, NO_OFFSET,
                         "its name does not tell which program wrote it: say so with -e ELF");
    find_program(p, gmon->name, options, reporter);
    return 0;
}

static void list_pieces(struct gmon_program *p)
{
    struct symbol_range range;
    uint64_t at = 0;
    while (symbol_table_next(p->symbols, at, &range)) {
        mem_reserve(&p->pieces, &p->piece_capacity, p->piece_count + 1, sizeof *p->pieces);
        p->pieces[p->piece_count++] = range;
        if (range.last == UINT64_MAX)
            break;
        at = range.last + 1;
    }
    for (size_t i = 0; i < p->piece_count; i++) {
        struct symbol_range *piece = &p->pieces[i];
        uint64_t room = UINT64_MAX - piece->last;
        uint64_t gap = i + 1 < p->piece_count ? piece[1].begin - 1 - piece->last
                       : room < PADDING_MOST  ? room
                                              : PADDING_MOST;
        piece->last += gap <= PADDING_MOST ? gap : 0;
    }
}

struct gmon_program *gmon_program_open(const struct gmon *gmon,
                                       const struct gmon_program_options *options,
                                       struct reporter *reporter, struct error *err)
{
    struct gmon_program *p = mem_zalloc(1, sizeof *p);
    if (open_program(p, gmon, options, reporter, err) != 0 ||
        (p->image != NULL && check_layout(p, gmon, err) != 0)) {
        gmon_program_delete(p);
        return NULL;
    }
    if (p->image != NULL) {
        p->debug = debug_file_open(p->image, options->symbols.sysroot);
        p->symbols = symbol_table_new(p->image, p->debug);
        list_pieces(p);
    }
    p->bias = options->has_bias ? options->bias : p->is_optee ? optee_bias(p, gmon, reporter) : 0;
    return p;
}

void gmon_program_delete(struct gmon_program *p)
{
    if (p == NULL)
        return;
    free(p->pieces);
    symbol_table_delete(p->symbols);
    elf_image_delete(p->debug);
    elf_image_delete(p->image);
    free(p->name);
    free(p);
}

const char *gmon_program_name(const struct gmon_program *p)
{
    return p->name;
}

uint64_t gmon_program_address(const struct gmon_program *p, uint64_t recorded)
{
    return recorded - p->bias;
}

bool gmon_program_is_code(const struct gmon_program *p, uint64_t address)
{
    return p->image == NULL || elf_image_is_code(p->image, address);
}

void gmon_program_piece(const struct gmon_program *p, uint64_t address, uint64_t *last,
                        const char **name)
{
    size_t low = 0, high = p->piece_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->pieces[middle].last < address)
            low = middle + 1;
        else
            high = middle;
    }
    const struct symbol_range *piece = low < p->piece_count ? &p->pieces[low] : NULL;
    bool inside = piece != NULL && piece->begin <= address;
    *name = inside ? piece->name : LABEL_UNKNOWN;
    *last = inside ? piece->last : piece != NULL ? piece->begin - 1 : UINT64_MAX;
}
