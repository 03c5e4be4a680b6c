/* The command-line options of prof2pbin.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/prof2pbin_options.h"

#include <stdlib.h>

#include "base/memory.h"

enum { KEY_DUMP_VMMAP = KEY_TOOL_FIRST, KEY_PMU_TYPE, KEY_PMU_KIND, KEY_DIALECT };

static const struct argp_option arguments[] = {
    {0, 0, NULL, 0, "Input:", 1},
    {"volts", 'v', "V", EVERYDAY,
     "Supply voltage [V]: required for profiles of a current, refused for others", 1},
    {"name", 'n', "NAME", EVERYDAY, "Name of the profile (default: that of the file)", 1},
    {"cpus", 'c', "N", EVERYDAY, "CPUs that the program could use", 1},
    {0, 0, NULL, 0, "Reading:", 2},
    {"dialect", KEY_DIALECT, "DIALECT", 0, "Dialect of the raw profile (default: detected)", 2},
    {"little-endian", 'l', NULL, 0, "The profile is little endian (default: detected)", 2},
    {"big-endian", 'b', NULL, 0, "The profile is big endian", 2},
    {"pmu-type", KEY_PMU_TYPE, "TYPE", EVERYDAY,
     "Type of pperf's PMU values: f64, f32, i8..i64, u8..u64, opaque (default for 8 bytes: f64)",
     2},
    {"pmu-kind", KEY_PMU_KIND, "KIND", 0,
     "Kind of the PMU values if the profile does not contain it: power, current, voltage", 2},
    {"vmmap", 'm', "FILE", EVERYDAY,
     "Read the mappings from FILE, lines of HEXADDRESS HEXSIZE LABEL", 2},
    {0, 0, NULL, 0, "Symbols:", ELF_GROUP},
    {"dump-vmmap", KEY_DUMP_VMMAP, "FILE", 0,
     "Also write the mappings to FILE ('-': only them, to stdout)", TOOL_FILES},
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct prof_options *o = state->input;
    int type, kind;
    switch (key) {
    case 'v':
        o->convert.volts = tool_number(state, "-v", argument, 1e-6, 1e6);
        return 0;
    case 'c':
        o->convert.cpus = tool_whole(state, "-c", argument, 1, 1 << 20);
        return 0;
    case KEY_DIALECT:
        tool_choose(state, "--dialect", raw_dialect_name, argument);
        o->raw.dialect = argument;
        return 0;
    case KEY_PMU_TYPE:
        if ((type = raw_value_parse(argument)) < 0)
            argp_error(state, "--pmu-type must be f64, f32, i8..i64, u8..u64 or opaque, not '%s'",
                       argument);
        o->raw.value = (enum raw_value)type;
        return 0;
    case KEY_PMU_KIND:
        if ((kind = pmu_kind_parse(argument)) < 0 || kind == PMU_NONE || kind == PMU_CUSTOM)
            argp_error(state, "--pmu-kind must be power, current or voltage, not '%s'", argument);
        o->raw.kind = (enum pmu_kind)kind;
        return 0;
    case 'l':
    case 'b':
        o->raw.order = (char)key;
        return 0;
    case 'm':
        o->maps = argument;
        return 0;
    case KEY_DUMP_VMMAP:
        o->dump_maps = argument;
        return 0;
    default:
        return converter_parse(key, argument, state);
    }
}

/* Lists the dialects of the table in the help. */
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

const struct argp prof_argp = {
    .options = arguments,
    .parser = parse,
    .args_doc = "[RAW]",
    .doc =
        "Turn a raw profile into pbin: program counters become binary, function, file and line.\v"
        "Examples:\n"
        "  prof2pbin run.bin | pbin-aggregate\n"
        "  prof2pbin -v 5.0 -s board/bin -o run.pbin.bz2 run.bin.bz2\n"
        "  prof2pbin --salvage out.bin.part > out.pbin\n",
    .children = converter_symbols,
    .help_filter = help_filter,
};
