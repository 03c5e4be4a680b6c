/* The program that wrote a gmon.out.
 * SPDX-License-Identifier: MIT */
#include "convert/gmon2pbin/gmon_program.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/search.h"
#include "convert/symbolize/symbolizer.h"
#include "formats/elf/elf_match.h"
#include "formats/elf/elf_sections.h"
#include "formats/elf/elf_symbols.h"

enum {
    OPTEE_BASE = 32, /* OP-TEE records the address of __text_start as 32 */
    MAX_PADDING = 63 /* bytes between functions that only align the next one */
};

struct gmon_program {
    char *name;
    struct elf_file *image; /* NULL: not found */
    struct elf_file *debug; /* separate symbols, or NULL */
    struct elf_symbols *symbols;
    struct elf_symbol_range *pieces; /* all named code, ascending, with padding */
    size_t piece_count, piece_capacity;
    struct symbolizer *lines; /* NULL: not needed yet, or no file */
    const struct symbolizer_options *options;
    struct reporter *reporter;
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

/* Returns whether TEXT begins with 8-4-4-4-12 hexadecimal digits. */
static bool is_uuid(const char *text)
{
    for (int i = 0; i < 36; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
            return false;
    }
    return true;
}

/* Returns the name of the program's file, derived from NAME; NULL if this is impossible. Caller
 * frees. */
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

static int fits(void *context, const struct elf_file *file, struct error *err)
{
    const struct gmon *gmon = context;
    return elf_match_layout(file, gmon->is_64, gmon->big_endian, err);
}

/* Searches in the search paths, beside GMON, then in all other usual places. */
static void find_program(struct gmon_program *p, const struct gmon *gmon,
                         const struct elf_search *search, struct reporter *reporter)
{
    struct error refused = {0};
    const char *slash = strrchr(gmon->name, '/');
    char *beside = slash != NULL
                       ? mem_printf("%.*s/%s", (int)(slash - gmon->name), gmon->name, p->name)
                       : NULL;
    const struct elf_sought sought = {.label = p->name, .path = beside};
    p->image = elf_search_file(search, &sought, fits, (void *)gmon, &refused);
    if (p->image == NULL)
        elf_search_warn(reporter, p->name, &refused,
                        "its samples have no function names (-e FILE names the program)");
    free(beside);
}

/* Returns where the code of a stripped file begins: at .text or, without section headers, in the
 * first segment with code. */
static uint64_t code_begin(const struct elf_file *image)
{
    const struct elf_section *text = elf_section_find(image, ".text");
    if (text != NULL)
        return text->address;
    for (size_t i = 0; i < image->segment_count; i++)
        if (image->segments[i].executable)
            return image->segments[i].address;
    return 0;
}

/* Returns the bias of OP-TEE's addresses, which are pc - __text_start + 32; if __text_start is 32,
 * they are those of the file. */
static uint64_t optee_bias(const struct gmon_program *p, const struct gmon *gmon,
                           struct reporter *reporter)
{
    uint64_t low = OPTEE_BASE, start = 0;
    if (gmon->histogram_count > 0)
        low = gmon->histograms[0].low;
    if (p->image == NULL)
        return 0;
    if (!elf_symbol_value(p->image, p->debug, "__text_start", &start)) {
        start = code_begin(p->image);
        report_warning(reporter,
                       "%s: no symbol __text_start: assuming that its code begins at 0x%" PRIx64,
                       p->name, start);
    }
    return low - (start & ~UINT64_C(3));
}

static int open_program(struct gmon_program *p, const struct gmon *gmon,
                        const struct gmon_program_options *options, struct reporter *reporter,
                        struct error *err)
{
    int errnum;
    p->name = program_of(elf_base_name(gmon->name), &p->is_optee);
    if (options->elf != NULL) {
        free(p->name);
        p->name = mem_strdup(elf_base_name(options->elf));
        p->image = elf_file_open(options->elf, &errnum, err);
        return p->image == NULL ? -1 : fits((void *)gmon, p->image, err);
    }
    if (p->name == NULL)
        return error_set(
            err, gmon->name, NO_OFFSET,
            "its name does not show which program wrote it: name the program with -e FILE");
    find_program(p, gmon, &options->symbols.search, reporter);
    return 0;
}

static void list_pieces(struct gmon_program *p)
{
    struct elf_symbol_range range;
    uint64_t at = 0;
    while (elf_symbols_next(p->symbols, at, &range)) {
        *MEM_APPEND(p->pieces, p->piece_count, p->piece_capacity) = range;
        if (range.last == UINT64_MAX)
            break;
        at = range.last + 1;
    }
    for (size_t i = 0; i < p->piece_count; i++) {
        struct elf_symbol_range *piece = &p->pieces[i];
        uint64_t room = UINT64_MAX - piece->last;
        uint64_t gap = i + 1 < p->piece_count ? piece[1].begin - 1 - piece->last
                       : room < MAX_PADDING   ? room
                                              : MAX_PADDING;
        piece->last += gap <= MAX_PADDING ? gap : 0;
    }
}

struct gmon_program *gmon_program_open(const struct gmon *gmon,
                                       const struct gmon_program_options *options,
                                       struct reporter *reporter, struct error *err)
{
    struct gmon_program *p = mem_zalloc(1, sizeof *p);
    p->options = &options->symbols;
    p->reporter = reporter;
    if (open_program(p, gmon, options, reporter, err) != 0) {
        gmon_program_delete(p);
        return NULL;
    }
    if (p->image != NULL) {
        struct error unread = {0};
        p->debug = elf_search_debug(&options->symbols.search, p->image, &unread);
        if (unread.text[0] != '\0')
            report_warning(reporter, "%s: %s", unread.file, unread.text);
        p->symbols = elf_symbols_new(p->image, p->debug);
        elf_warn_failed(reporter, p->image, "names are lost");
        elf_warn_failed(reporter, p->debug, "names are lost");
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
    symbolizer_delete(p->lines);
    elf_symbols_delete(p->symbols);
    elf_file_close(p->debug);
    elf_file_close(p->image);
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
    return p->image == NULL || elf_file_is_code(p->image, address);
}

void gmon_program_piece(const struct gmon_program *p, uint64_t address, uint64_t *last,
                        const char **name)
{
    size_t at = SEARCH_FROM(p->pieces, p->piece_count, last, address);
    const struct elf_symbol_range *piece = at < p->piece_count ? &p->pieces[at] : NULL;
    bool inside = piece != NULL && piece->begin <= address;
    *name = inside ? piece->name : LABEL_UNKNOWN;
    *last = inside ? piece->last : piece != NULL ? piece->begin - 1 : UINT64_MAX;
}

/* Opens a symbolizer, which opens the file again. */
static struct symbolizer *open_lines(const struct gmon_program *p)
{
    int errnum;
    struct error err = {0};
    struct elf_file *again = elf_file_open(p->image->path, &errnum, &err);
    if (again != NULL)
        return symbolizer_new_file(again, p->options, p->reporter);
    report_warning(p->reporter, "%s: %s: no source files and lines", p->image->path, err.text);
    return NULL;
}

void gmon_program_lines(struct gmon_program *p, const uint64_t *addresses, size_t count,
                        struct gmon_line *lines)
{
    struct code_location *found = mem_zalloc(count, sizeof *found);
    if (p->lines == NULL && p->image != NULL)
        p->lines = open_lines(p);
    if (p->lines != NULL)
        symbolizer_resolve(p->lines, addresses, count, found);
    for (size_t i = 0; i < count; i++) {
        const struct code_frame *inner = found[i].frame_count > 0 ? found[i].frames : NULL;
        lines[i] = (struct gmon_line){
            .inner = found[i].frame_count > 1 ? inner->demangled : NULL,
            .file = inner != NULL ? inner->file : "",
            .line = inner != NULL ? inner->line : 0,
        };
    }
    free(found);
}
