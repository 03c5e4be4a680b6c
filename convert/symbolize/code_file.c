/* A binary of the profiled program: its file, symbols and debug information.
 * SPDX-License-Identifier: MIT */
#include "convert/symbolize/code_file.h"

#include <stdlib.h>

#include "base/memory.h"
#include "formats/elf/elf_search.h"
#include "formats/elf/elf_sections.h"
#include "formats/elf/elf_symbols.h"

struct code_file {
    struct elf_file *image;
    struct elf_file *debug; /* separate file, or NULL */
    struct elf_symbols *symbols;
    struct dwarf_worker *worker;
    const struct symbolizer_options *options;
    struct reporter *reporter;
    bool debug_searched, no_dwarf, damage_reported;
};

struct code_file *code_file_new(struct elf_file *image, const struct symbolizer_options *options,
                                struct reporter *reporter)
{
    struct code_file *file = mem_zalloc(1, sizeof *file);
    file->image = image;
    file->options = options;
    file->reporter = reporter;
    file->no_dwarf = options->no_dwarf;
    return file;
}

void code_file_delete(struct code_file *file)
{
    if (file == NULL)
        return;
    dwarf_worker_delete(file->worker);
    elf_symbols_delete(file->symbols);
    elf_file_close(file->debug);
    elf_file_close(file->image);
    free(file);
}

const struct elf_file *code_file_image(const struct code_file *file)
{
    return file->image;
}

static void search_debug(struct code_file *file)
{
    if (file->debug_searched)
        return;
    file->debug_searched = true;
    file->debug = elf_search_debug_warn(&file->options->search, file->image, file->reporter);
    if (file->debug == NULL && !elf_has_debug(file->image))
        file->no_dwarf = true;
}

const char *code_file_symbol(struct code_file *file, uint64_t address)
{
    search_debug(file);
    if (file->symbols == NULL) {
        file->symbols = elf_symbols_new(file->image, file->debug);
        elf_warn_failed(file->reporter, file->image, "names are lost");
        elf_warn_failed(file->reporter, file->debug, "names are lost");
        if (elf_symbols_overlap(file->symbols))
            report_warning(file->reporter, "%s: names of symbols overlap: some functions have none",
                           file->image->path);
    }
    const struct elf_symbol *symbol = elf_symbols_find(file->symbols, address);
    return symbol != NULL ? symbol->name : NULL;
}

void code_file_rest(struct code_file *file)
{
    if (file == NULL)
        return;
    dwarf_worker_delete(file->worker);
    file->worker = NULL;
}

/* The one warning that a lost worker costs; symbols stay. */
static void give_up_dwarf(struct code_file *file, const struct error *err)
{
    report_warning(file->reporter,
                   "%s: %s: lines and inlined functions are lost, function names are not",
                   err->file, err->text);
    dwarf_worker_delete(file->worker);
    file->worker = NULL;
    file->no_dwarf = true;
}

static void report_damage(struct code_file *file, const struct dwarf_answer *answer)
{
    if (answer->damaged == 0 || file->damage_reported)
        return;
    file->damage_reported = true;
    report_warning(file->reporter,
                   "%s: damaged debug information: some lines and inlined functions are lost",
                   file->debug != NULL ? file->debug->path : file->image->path);
}

bool code_file_frames(struct code_file *file, const uint64_t *addresses, size_t count,
                      struct strings *strings, struct dwarf_answer *answer)
{
    struct error err = {0};
    search_debug(file);
    if (file->no_dwarf)
        return false;
    if (file->worker == NULL)
        file->worker = dwarf_worker_start(file->debug != NULL ? file->debug : file->image,
                                          file->image, file->options->dwarf_timeout, &err);
    if (file->worker == NULL ||
        dwarf_worker_ask(file->worker, addresses, count, strings, answer, &err) != 0) {
        give_up_dwarf(file, &err);
        return false;
    }
    report_damage(file, answer);
    return true;
}
