/* pbin-addr2line: addresses of a program in, functions, files and lines out.
 *
 *   pbin-addr2line -fpe program 0x1139      main at /src/program.c:12
 * SPDX-License-Identifier: MIT */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/tool.h"
#include "base/tool_help.h"
#include "convert/addr2line/addr2line.h"
#include "formats/elf/elf_options.h"
#include "formats/elf/elf_sections.h"
#include "formats/raw/raw.h"

enum {
    KEY_CSV = KEY_TOOL_FIRST,
    KEY_NO_CACHE,
    KEY_NO_DEBUGINFOD,
    KEY_KALLSYMS,
    KEY_FILL,
    KEY_FILL_COLUMNS
};

struct addr2line_options {
    struct tool_common common;
    struct addr2line_format format;
    struct symbolizer_options symbols;
    const char *program, *section, *column;
    const char *vmmap; /* NULL: addresses of PROGRAM */
    const char *fill_text;
    bool fill;
    const char **arguments;
    size_t count;
};

static const struct argp_option arguments[] = {
    {0, 0, NULL, 0, "Input:", 1},
    {"exe", 'e', "FILE", EVERYDAY, "The program, library or debug file (default: a.out)", 1},
    {"vmmap", 'm', "FILE", 0,
     "Addresses are those of a process with these mappings, lines of HEXADDRESS HEXSIZE LABEL", 1},
    {"search-path", ELF_KEY_SEARCH_PATH, "DIR", 0,
     "With -m, look for binaries in DIR first (repeatable)", 1},
    {"kallsyms", KEY_KALLSYMS, "FILE", 0,
     "With -m, names of kernel functions: a copy of /proc/kallsyms", 1},
    {"section", 'j', "NAME", 0, "Addresses are offsets in this section", 1},
    {"debug-dir", ELF_KEY_DEBUG_DIR, "DIR", 0,
     "Look for debug files in DIR before /usr/lib/debug (repeatable)", 1},
    {"no-cache", KEY_NO_CACHE, NULL, 0, "Neither use nor write the cache of debug information", 1},
    {"no-debuginfod", KEY_NO_DEBUGINFOD, NULL, 0,
     "Do not ask the servers in DEBUGINFOD_URLS for debug files", 1},
    {"csv", KEY_CSV, "COLUMN", EVERYDAY,
     "Copy a CSV file, and add function, file and line of the address in COLUMN", 1},
    {"fill-addresses", KEY_FILL, NULL, 0,
     "Add a row to the CSV file for each instruction whose address it does not have", 1},
    {"fill-columns", KEY_FILL_COLUMNS, "VALUE", 0,
     "Put VALUE into the other columns of these rows (default: leave them empty)", 1},
    {0, 0, NULL, 0, "Output:", 2},
    {"addresses", 'a', NULL, 0, "Each address before its function and line", 2},
    {"functions", 'f', NULL, EVERYDAY, "The function", 2},
    {"inlines", 'i', NULL, EVERYDAY, "Also the functions into which this one is inlined", 2},
    {"demangle", 'C', NULL, EVERYDAY, "Demangled names", 2},
    {"pretty-print", 'p', NULL, EVERYDAY, "One line for each function", 2},
    {"basenames", 's', NULL, 0, "Files without their folders", 2},
    {0}};

static const struct tool_setting settings[] = {
    SET_TEXT('e', struct addr2line_options, program),
    SET_TEXT('m', struct addr2line_options, vmmap),
    SET_TEXT('j', struct addr2line_options, section),
    SET_TEXT(KEY_KALLSYMS, struct addr2line_options, symbols.kallsyms),
    SET_FLAG(KEY_NO_CACHE, struct addr2line_options, symbols.no_cache),
    SET_FLAG(KEY_NO_DEBUGINFOD, struct addr2line_options, symbols.no_debuginfod),
    SET_TEXT(KEY_CSV, struct addr2line_options, column),
    SET_FLAG(KEY_FILL, struct addr2line_options, fill),
    SET_TEXT(KEY_FILL_COLUMNS, struct addr2line_options, fill_text),
    SET_FLAG('a', struct addr2line_options, format.addresses),
    SET_FLAG('f', struct addr2line_options, format.functions),
    SET_FLAG('i', struct addr2line_options, format.inlines),
    SET_FLAG('C', struct addr2line_options, format.demangle),
    SET_FLAG('p', struct addr2line_options, format.pretty),
    SET_FLAG('s', struct addr2line_options, format.base_names),
    {0}};

static void check(const struct addr2line_options *o, struct argp_state *state)
{
    if (o->column != NULL && o->count > 1)
        argp_error(state, "more than one CSV file: '%s'", o->arguments[1]);
    if (o->column != NULL && (o->format.inlines || o->format.addresses || o->format.pretty))
        argp_error(state, "--csv cannot be combined with -a, -i or -p");
    if (o->vmmap != NULL && (o->program != NULL || o->section != NULL || o->fill))
        argp_error(state, "-m cannot be combined with -e, -j or --fill-addresses");
    if (o->vmmap == NULL && (o->symbols.kallsyms != NULL || o->symbols.search.folder_count > 0))
        argp_error(state, "--search-path and --kallsyms need -m");
    if (o->fill && (o->column == NULL || o->section != NULL))
        argp_error(state, "--fill-addresses needs --csv, and cannot be combined with -j");
    if (o->fill_text != NULL && !o->fill)
        argp_error(state, "--fill-columns needs --fill-addresses");
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct addr2line_options *o = state->input;
    if (elf_take_option(&o->symbols.search, key, argument) == 0)
        return 0;
    switch (key) {
    case ARGP_KEY_ARG:
        o->arguments = mem_resize(o->arguments, o->count + 1, sizeof *o->arguments);
        o->arguments[o->count++] = argument;
        return 0;
    case ARGP_KEY_END:
        check(o, state);
        return 0;
    default:
        return tool_set(settings, o, key, argument, state);
    }
}

static const struct argp program_argp = {
    .options = arguments,
    .parser = parse,
    .args_doc = "[ADDRESS...]\n--csv=COLUMN [CSV]",
    .doc = "Print source file and line of addresses in a program, as addr2line of binutils does.\v"
           "Examples:\n"
           "  pbin-addr2line -fipe program 0x1139 0x1150\n"
           "  pbin-addr2line -Cfe libfoo.so.1 < addresses\n"
           "  pbin-addr2line -Ce program --csv=pc trace.csv > named.csv\n\n"
           "Without arguments, addresses are read from standard input, one per line.",
};

static int put_arguments(struct addr2line *a, const struct addr2line_options *o)
{
    uint64_t *addresses = mem_zalloc(o->count, sizeof *addresses);
    for (size_t i = 0; i < o->count; i++)
        a->strange += !addr2line_parse(o->arguments[i], strlen(o->arguments[i]), &addresses[i]);
    int result = addr2line_put(a, addresses, o->count);
    free(addresses);
    return result;
}

static int look_up(struct addr2line *a, struct addr2line_options *o, struct error *err)
{
    int result;
    if (o->column != NULL) {
        const char *path = o->count > 0 ? o->arguments[0] : NULL;
        report_awaited(&o->common.reporter, path, "a CSV file");
        result = addr2line_csv(a, path, o->column, err);
    } else if (o->count > 0)
        result = put_arguments(a, o);
    else {
        report_awaited(&o->common.reporter, NULL, "addresses");
        result = addr2line_lines(a, STDIN_FILENO, err);
    }
    if (a->strange > 0)
        report_warning(&o->common.reporter,
                       "texts that are not hexadecimal addresses, treated as 0: %llu",
                       (unsigned long long)a->strange);
    return result;
}

/* Writes all answers. Standard output is written after each batch, unless it is compressed. */
static int write_all(struct addr2line *a, struct addr2line_options *o, struct error *err)
{
    bool to_file = o->common.output != NULL && strcmp(o->common.output, "-") != 0;
    if (!to_file && !o->common.bzip2)
        return look_up(a, o, err);
    a->out = tool_output(&o->common, 0, err);
    return tool_commit(&o->common, a->out, a->out == NULL ? -1 : look_up(a, o, err));
}

/* Opens the symbolizer of the mappings in the file O->vmmap. Returns NULL with ERR filled on an
 * error. */
static struct symbolizer *open_maps(struct addr2line *a, struct addr2line_options *o,
                                    struct error *err)
{
    struct raw_vmmap *vmmaps;
    size_t count;
    if (raw_vmmap_text_read(o->vmmap, &vmmaps, &count, err) != 0)
        return NULL;
    struct code_map *maps = mem_zalloc(count, sizeof *maps);
    for (size_t i = 0; i < count; i++) {
        maps[i].address = vmmaps[i].address;
        maps[i].size = vmmaps[i].size;
        maps[i].label = vmmaps[i].label;
        a->is_64 = a->is_64 || maps[i].address > UINT32_MAX;
    }
    a->has_maps = true;
    struct symbolizer *symbolizer =
        symbolizer_new(maps, count, &o->symbols, &o->common.reporter, err);
    free(maps);
    free(vmmaps);
    return symbolizer;
}

/* Opens the symbolizer of O->program. Returns NULL with ERR filled on an error. */
static struct symbolizer *open_program(struct addr2line *a, struct addr2line_options *o,
                                       struct error *err)
{
    int errnum;
    const char *program = o->program != NULL ? o->program : "a.out";
    struct elf_file *image = elf_file_open(program, &errnum, err);
    if (image == NULL)
        return NULL;
    const struct elf_section *section =
        o->section != NULL ? elf_section_find(image, o->section) : NULL;
    if (image->type == ET_REL)
        error_set(err, program, NO_OFFSET,
                  "a relocatable file, whose code has no addresses yet: expected a linked one");
    else if (o->section != NULL && section == NULL)
        error_set(err, program, NO_OFFSET, "no section '%s'", o->section);
    else if (o->fill)
        a->fill = code_fill_new(program, &o->symbols.search, &o->common.reporter, err);
    if (err->text[0] != '\0') {
        elf_file_close(image);
        return NULL;
    }
    a->base = section != NULL ? section->address : 0;
    a->is_64 = image->is_64;
    return symbolizer_new_file(image, &o->symbols, &o->common.reporter);
}

static int run(struct addr2line_options *o, struct error *err)
{
    struct addr2line a = {.format = o->format,
                          .err = err,
                          .reporter = &o->common.reporter,
                          .fill_text = o->fill_text != NULL ? o->fill_text : ""};
    o->symbols.no_demangle = !o->format.demangle;
    a.symbolizer = o->vmmap != NULL ? open_maps(&a, o, err) : open_program(&a, o, err);
    if (a.symbolizer == NULL)
        return -1;
    int result = write_all(&a, o, err);
    symbolizer_delete(a.symbolizer);
    code_fill_delete(a.fill);
    return result;
}

const char *argp_program_version = "pbin-addr2line (pbin-tools) " PBIN_TOOLS_VERSION;

int main(int argc, char **argv)
{
    struct addr2line_options o = {.symbols.object_files = true};
    struct error err = {0};
    tool_start(&o.common, "pbin-addr2line");
    tool_parse(&program_argp, TOOL_OUTPUT, argc, argv, &o);
    int result = run(&o, &err);
    elf_search_free(&o.symbols.search);
    free(o.arguments);
    return tool_end(&o.common, result, &err);
}
