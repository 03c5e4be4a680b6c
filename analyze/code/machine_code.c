/* The machine code of a profiled file: bytes and symbols by address.
 * SPDX-License-Identifier: MIT */
#include "analyze/code/machine_code.h"

#include <stdlib.h>

#include "base/memory.h"
#include "formats/elf/elf_match.h"
#include "formats/elf/elf_sections.h"

struct machine_code {
    struct elf_file *file, *debug; /* debug: contains the symbols of a stripped file, or NULL */
    struct elf_symbols *symbols;
    struct elf_code_kinds *kinds;
    struct elf_mapping mapping;
    struct jump_targets jump_targets;
};

static int fits(void *context, const struct elf_file *file, struct error *err)
{
    return elf_match(file, context, err);
}

/* Reads the symbols of the file of CODE. */
static struct machine_code *read_symbols(struct machine_code *code, const struct elf_search *search,
                                         struct reporter *reporter)
{
    code->debug = elf_search_debug_warn(search, code->file, reporter);
    code->symbols = elf_symbols_new(code->file, code->debug);
    code->kinds = elf_code_kinds_new(code->file, code->debug);
    elf_warn_failed(reporter, code->file, "names are lost");
    elf_warn_failed(reporter, code->debug, "names are lost");
    jump_targets_read(&code->jump_targets, code->file->path, reporter);
    return code;
}

struct machine_code *machine_code_open_file(const char *path, const struct elf_search *search,
                                            struct reporter *reporter, struct error *err)
{
    int errnum;
    struct elf_file *file = elf_file_open(path, &errnum, err);
    if (file == NULL)
        return NULL;
    struct machine_code *code = mem_zalloc(1, sizeof *code);
    code->file = file;
    return read_symbols(code, search, reporter);
}

struct machine_code *machine_code_open(const struct code_wanted *wanted,
                                       const struct elf_search *search, struct reporter *reporter)
{
    struct machine_code *code = mem_zalloc(1, sizeof *code);
    struct error refused = {0};
    code->mapping = (struct elf_mapping){.address = wanted->has_offset ? wanted->place : 0,
                                         .size = wanted->map_size,
                                         .has_offset = wanted->has_offset,
                                         .offset = wanted->place,
                                         .build_id = wanted->build_id};
    if (wanted->sought.label[0] == '[')
        error_set(&refused, wanted->sought.label, NO_OFFSET, "not a file"); /* [vdso] */
    code->file = elf_search_file(search, &wanted->sought, fits, &code->mapping, &refused);
    if (code->file == NULL) {
        elf_search_warn(reporter, wanted->sought.label, &refused, "not disassembled");
        free(code);
        return NULL;
    }
    if (wanted->build_id[0] == '\0')
        report_warning(reporter, "%s: no build-id in the profile: it may not be the file that ran",
                       code->file->path);
    return read_symbols(code, search, reporter);
}

void machine_code_close(struct machine_code *code)
{
    if (code == NULL)
        return;
    jump_targets_free(&code->jump_targets);
    elf_symbols_delete(code->symbols);
    elf_code_kinds_delete(code->kinds);
    elf_file_close(code->debug);
    elf_file_close(code->file);
    free(code);
}

const struct elf_file *machine_code_file(const struct machine_code *code)
{
    return code->file;
}

const struct jump_targets *machine_code_jump_targets(const struct machine_code *code)
{
    return &code->jump_targets;
}

uint64_t machine_code_address(const struct machine_code *code, uint64_t place)
{
    return elf_mapping_address(code->file, &code->mapping, place);
}

const struct elf_symbol *machine_code_symbol(const struct machine_code *code, uint64_t address)
{
    return elf_symbols_find(code->symbols, address);
}

enum elf_code_kind machine_code_kind(const struct machine_code *code, uint64_t address,
                                     uint64_t *until)
{
    return elf_code_kind_at(code->kinds, address, until);
}

uint64_t machine_code_size(const struct machine_code *code, const struct elf_symbol *symbol)
{
    struct elf_symbol_range range;
    if (symbol->size > 0)
        return symbol->size;
    bool found =
        elf_symbols_next(code->symbols, symbol->address, &range) && range.begin <= symbol->address;
    return found ? range.last - symbol->address + 1 : 0;
}
