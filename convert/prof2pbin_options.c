/* What prof2pbin is told.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"

enum {
    KEY_SYSROOT = KEY_TOOL_FIRST,
    KEY_FORMAT,
    KEY_KALLSYMS,
    KEY_DUMP_VMMAP,
    KEY_SALVAGE,
    KEY_STRICT,
    KEY_BZIP2,
    KEY_PMU_TYPE,
    KEY_NO_DWARF,
};

static const struct argp_option arguments[] = {
    {0, 0, NULL, 0, "What the profile is:", 1},
    {"volts", 'v', "V", 0, "Supply voltage [V]: required for profiles of a current, refused for others", 1},
    {"name", 'n', "NAME", 0, "Name of the profile (default: of the file)", 1},
    {"cpus", 'c', "N", 0, "CPUs that the program could use", 1},
    {0, 0, NULL, 0, "Reading:", 2},
    {"format", KEY_FORMAT, "DIALECT", 0, "Dialect of the raw profile (default: detected)", 2},
    {"little-endian", 'l', NULL, 0, "The profile is little endian (default: detected)", 2},
    {"big-endian", 'b', NULL, 0, "The profile is big endian", 2},
    {"pmu-type", KEY_PMU_TYPE, "TYPE", 0,
     "Type of pperf's PMU values: f64, f32, i8..i64, u8..u64, opaque (default for 8 bytes: f64)", 2},
    {"salvage", KEY_SALVAGE, NULL, 0, "Keep every whole sample of a cut or unfinished profile", 2},
    {"vmmap", 'm', "FILE", 0, "Take the mappings from FILE, lines of HEXADDRESS HEXSIZE LABEL", 2},
    {0, 0, NULL, 0, "Symbols:", 3},
    {"search-path", 's', "DIR", 0, "Look for binaries in DIR first (repeatable)", 3},
    {"sysroot", KEY_SYSROOT, "DIR", 0, "Look for absolute paths and system libraries below DIR", 3},
    {"kallsyms", KEY_KALLSYMS, "FILE", 0, "Names of the kernel, a copy of /proc/kallsyms", 3},
    {"no-dwarf", KEY_NO_DWARF, NULL, 0, "Symbol tables only: no source files and lines", 3},
    {"strict", KEY_STRICT, NULL, 0, "Fail where a binary is missing or does not fit", 3},
    {0, 0, NULL, 0, "Output:", 4},
    {"output", 'o', "FILE", 0, "Write to FILE, complete or not at all (default: stdout)", 4},
    {"bzip2", KEY_BZIP2, NULL, 0, "Compress (a FILE that ends in .bz2 always is)", 4},
    {"dump-vmmap", KEY_DUMP_VMMAP, "FILE", 0, "Write the mappings to FILE as well ('-': only them, to stdout)", 4},
    {0}};

static void add_search_path(struct prof_options *o, const char *path)
{
    mem_reserve(&o->search_paths, &o->search_path_capacity, o->search_path_count + 1,
                sizeof *o->search_paths);
    o->search_paths[o->search_path_count++] = path;
}

static void check_dialect(struct argp_state *state, const char *name)
{
    char names[256] = "";
    for (size_t i = 0; raw_dialect_name(i) != NULL; i++) {
        if (strcmp(raw_dialect_name(i), name) == 0)
            return;
        strncat(names, i > 0 ? ", " : "", sizeof names - strlen(names) - 1);
        strncat(names, raw_dialect_name(i), sizeof names - strlen(names) - 1);
    }
    argp_error(state, "unknown dialect '%s'; there are %s", name, names);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct prof_options *o = state->input;
    int type;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->common;
        return 0;
    case 'v':
        if (!parse_double(argument, 1e-6, 1e6, &o->convert.volts))
            argp_error(state, "-v takes volts above 0, not '%s'", argument);
        return 0;
    case 'c':
        if (!parse_unsigned(argument, 1, 1 << 20, &o->convert.cpus))
            argp_error(state, "-c takes a number of CPUs, not '%s'", argument);
        return 0;
    case KEY_FORMAT:
        check_dialect(state, argument);
        o->raw.dialect = argument;
        return 0;
    case KEY_PMU_TYPE:
        if ((type = raw_value_parse(argument)) < 0)
            argp_error(state, "--pmu-type takes f64, f32, i8..i64, u8..u64 or opaque, not '%s'",
                       argument);
        o->raw.value = (enum raw_value)type;
        return 0;
    case 'l':
    case 'b':
        o->raw.order = (char)key;
        return 0;
    case 's':
        add_search_path(o, argument);
        return 0;
    case 'n':
        o->convert.name = argument;
        return 0;
    case 'm':
        o->maps = argument;
        return 0;
    case 'o':
        o->output = argument;
        return 0;
    case KEY_SYSROOT:
        o->convert.symbols.sysroot = argument;
        return 0;
    case KEY_KALLSYMS:
        o->convert.symbols.kallsyms = argument;
        return 0;
    case KEY_DUMP_VMMAP:
        o->dump_maps = argument;
        return 0;
    case KEY_SALVAGE:
        o->raw.salvage = true;
        return 0;
    case KEY_STRICT:
        o->common.reporter.strict = true;
        return 0;
    case KEY_NO_DWARF:
        o->convert.symbols.no_dwarf = true;
        return 0;
    case KEY_BZIP2:
        o->bzip2 = true;
        return 0;
    case ARGP_KEY_ARG:
        if (o->input != NULL)
            argp_error(state, "one raw profile at a time, '%s' is too many", argument);
        o->input = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The dialects in the help come from their table. */
static char *help_filter(int key, const char *text, void *input)
{
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC)
        return (char *)text;
    char *all = mem_strdup("Dialects:\n");
    for (size_t i = 0; raw_dialect_name(i) != NULL; i++) {
        char *longer = mem_printf("%s  %-19s %s\n", all, raw_dialect_name(i), raw_dialect_help(i));
        free(all);
        all = longer;
    }
    char *whole = mem_printf("%s\n%s", all, text);
    free(all);
    return whole;
}

static const struct argp_child children[] = {{&tool_common_argp, 0, NULL, 0}, {0}};
const struct argp prof_argp = {
    .options = arguments,
    .parser = parse,
    .args_doc = "[RAW]",
    .doc = "Turn a raw profile into pbin: program counters become binary, function, file and line.\v"
           "Examples:\n"
           "  prof2pbin run.bin | pbin-aggregate\n"
           "  prof2pbin -v 5.0 -s board/bin -o run.pbin.bz2 run.bin.bz2\n"
           "  prof2pbin --salvage out.bin.part > out.pbin\n",
    .children = children,
    .help_filter = help_filter,
};
