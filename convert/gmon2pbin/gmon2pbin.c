/* gmon2pbin: profiles of programs built with -pg in, pbin out.
 *
 *   gmon2pbin -e program gmon.out > run.pbin     bin of 0x1139..0x113d: 3 -> program, work, 3 samples, 0.03 s
 *                                                arc 0x1170 > 0x1139: 7  -> main calls work 7 times
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/tool.h"
#include "convert/converter.h"
#include "convert/gmon2pbin/gmon_sums.h"
#include "convert/symbolize/symbol_options.h"

struct options {
    struct tool_common common;
    struct gmon_options gmon;
    struct gmon_program_options program;
    const char *name;
    const char **inputs;
    size_t input_count, input_capacity;
    uint64_t rate;  /* [Hz], 0: as recorded */
    double seconds; /* of all samples, 0: not given */
};

enum { KEY_BITS = KEY_TOOL_FIRST, KEY_BIAS, KEY_DIALECT, KEY_TOTAL_TIME };

static const struct argp_option arguments[] = {
    {0, 0, NULL, 0, "Input:", 1},
    {"elf", 'e', "FILE", EVERYDAY,
     "The program that wrote it (default: from the name gmon.PROGRAM.PID.out or gmon-UUID.out)", 1},
    {"rate", 'r', "HZ", EVERYDAY, "Samples per second (default: as recorded)", 1},
    {"total-time", KEY_TOTAL_TIME, "S", 0, "CPU time of all samples, instead of a rate", 1},
    {"name", 'n', "NAME", EVERYDAY, "Name of the profile (default: that of the file)", 1},
    {0, 0, NULL, 0, "Reading:", 2},
    {"dialect", KEY_DIALECT, "DIALECT", 0, "gnu, bsd or bsd-old (default: detected)", 2},
    {"bits", KEY_BITS, "BITS", EVERYDAY, "Size of a pointer, 32 or 64 (default: detected)", 2},
    {"little-endian", 'l', NULL, 0, "The profile is little endian (default: detected)", 2},
    {"big-endian", 'b', NULL, 0, "The profile is big endian", 2},
    {0, 0, NULL, 0, "Symbols:", ELF_GROUP},
    {"bias", KEY_BIAS, "ADDRESS", 0,
     "Subtract ADDRESS (hexadecimal) from the profile's addresses (default: 0; OP-TEE: by "
     "__text_start)",
     ELF_GROUP},
    {0}};

static const char *dialect_name(size_t number)
{
    number += GMON_GNU; /* the first real dialect */
    return number < GMON_DIALECTS ? gmon_dialect_name((enum gmon_dialect)number) : NULL;
}

static void parse_bias(struct options *o, const char *text, struct argp_state *state)
{
    const char *digits = text[0] == '0' && (text[1] | 32) == 'x' ? text + 2 : text;
    size_t length = strspn(digits, "0123456789abcdefABCDEF");
    if (length == 0 || length > 16 || digits[length] != '\0')
        argp_error(state, "--bias must be a hexadecimal address, not '%s'", text);
    o->program.bias = strtoull(digits, NULL, 16);
    o->program.has_bias = true;
}

static const struct tool_setting settings[] = {SET_TEXT('e', struct options, program.elf),
                                               SET_TEXT('n', struct options, name),
                                               SET_LETTER('l', struct options, gmon.order),
                                               SET_LETTER('b', struct options, gmon.order),
                                               {0}};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->program.symbols.search;
        state->child_inputs[1] = &o->program.symbols;
        return 0;
    case 'r':
        o->rate = tool_whole(state, "-r", argument, 1, INT32_MAX);
        return 0;
    case KEY_DIALECT:
        o->gmon.dialect =
            (enum gmon_dialect)(GMON_GNU + tool_choose(state, "--dialect", dialect_name, argument));
        return 0;
    case KEY_BITS:
        o->gmon.bits = tool_either(state, "--bits", argument, "32", "64") ? 64 : 32;
        return 0;
    case KEY_TOTAL_TIME:
        o->seconds = tool_number(state, "--total-time", argument, 1e-6, 1e9);
        return 0;
    case KEY_BIAS:
        parse_bias(o, argument, state);
        return 0;
    case ARGP_KEY_ARG:
        *MEM_APPEND(o->inputs, o->input_count, o->input_capacity) = argument;
        return 0;
    case ARGP_KEY_END:
        converter_check_time(state, o->rate, o->seconds);
        return 0;
    default:
        return tool_set(settings, o, key, argument, state);
    }
}

static const struct argp_child children[] = {{.argp = &elf_argp}, {.argp = &debug_argp}, {0}};
static const struct argp parser = {
    .options = arguments,
    .parser = parse,
    .args_doc = "[GMON...]",
    .doc = "Turn the gmon.out of a program built with -pg (glibc, OpenBSD, OP-TEE) into pbin; "
           "several files are added up.\v"
           "Examples:\n"
           "  gmon2pbin -e ./program gmon.out | pbin-aggregate\n"
           "  gmon2pbin -e ./program gmon.out | pbin-callgraph --focus main\n"
           "  gmon2pbin -s ta/ gmon-8aaaf200-2450-11e4-abe2-0002a5d5c51b*.out -o ta.pbin\n",
    .children = children,
};

/* Properties common to all files. */
struct conversion {
    struct options *options;
    struct gmon_sums *sums;
    char *target;  /* NULL: none yet, "": several */
    char *dialect; /* the same */
    uint64_t rate; /* the same [Hz], 0: different or unknown */
    bool any;
};

static void keep_common(char **common, const char *text)
{
    if (*common == NULL)
        *common = mem_strdup(text);
    else if (strcmp(*common, text) != 0)
        **common = '\0';
}

static void describe(struct conversion *c, const struct gmon *gmon, const char *program)
{
    char *dialect = mem_printf("gmon %s, %d bits, %s endian", gmon_dialect_name(gmon->dialect),
                               gmon->is_64 ? 64 : 32, gmon->big_endian ? "big" : "little");
    keep_common(&c->dialect, dialect);
    keep_common(&c->target, program);
    for (size_t i = 0; i < gmon->histogram_count; i++) {
        uint64_t rate = c->options->rate != 0 ? c->options->rate : gmon->histograms[i].rate;
        c->rate = !c->any || c->rate == rate ? rate : 0;
        c->any = true;
    }
    free(dialect);
}

static int add_gmon(struct conversion *c, const struct gmon *gmon, struct error *err)
{
    struct reporter *reporter = &c->options->common.reporter;
    if (gmon->cut)
        report_warning(reporter, "%s: truncated: kept %zu histograms and %zu call arcs", gmon->name,
                       gmon->histogram_count, gmon->call_count);
    struct gmon_program *program = gmon_program_open(gmon, &c->options->program, reporter, err);
    if (program == NULL)
        return -1;
    describe(c, gmon, gmon_program_name(program));
    /* with a total time, the rate does not matter */
    uint32_t rate = c->options->seconds != 0 ? 1 : (uint32_t)c->options->rate;
    int result = gmon_sums_add(c->sums, gmon, program, rate, reporter, err);
    gmon_program_delete(program);
    return result;
}

static int read_one(struct conversion *c, const char *path, struct error *err)
{
    report_awaited(&c->options->common.reporter, path, "a gmon.out");
    struct stream *in = stream_open(path, err);
    struct gmon *gmon = in == NULL ? NULL : gmon_read(in, &c->options->gmon, err);
    int result = gmon == NULL ? -1 : add_gmon(c, gmon, err);
    gmon_delete(gmon);
    stream_close(in);
    return result;
}

static int read_all(struct conversion *c, struct error *err)
{
    const struct options *o = c->options;
    if (o->input_count == 0)
        return read_one(c, NULL, err);
    for (size_t i = 0; i < o->input_count; i++)
        if (read_one(c, o->inputs[i], err) != 0)
            return -1;
    return 0;
}

static const char *name_of(const struct options *o)
{
    if (o->name != NULL)
        return o->name;
    if (o->input_count == 0 || strcmp(o->inputs[0], "-") == 0)
        return "<stdin>";
    return elf_base_name(o->inputs[0]);
}

static int write_sums(struct conversion *c, struct error *err)
{
    const struct options *o = c->options;
    const uint64_t samples = gmon_sums_samples(c->sums);
    if (o->seconds != 0) {
        gmon_sums_set_time(c->sums, exact_of_double(o->seconds * 1e9, TIME_SHIFT));
        c->rate = (uint64_t)((double)samples / o->seconds);
    }
    const struct pbin_meta meta = {
        .name = (char *)name_of(o),
        .target = c->target[0] != '\0' ? c->target : NULL,
        .dialect = c->dialect[0] != '\0' ? c->dialect : (char *)"gmon",
        .tool = (char *)"gmon2pbin " PBIN_TOOLS_VERSION,
        .keys = (char *)GMON_KEYS,
        .samples = samples,
        .wall_ns = gmon_sums_time(c->sums), /* the covered time: profil(2) counts CPU time */
        .frequency = c->rate * 1000,
    };
    struct output *out = tool_output(&o->common, OUTPUT_BINARY, err);
    if (out == NULL)
        return -1;
    struct pbin_writer *writer = pbin_writer_open(out, &meta);
    gmon_sums_write(c->sums, &meta, writer);
    return tool_commit(&o->common, out, pbin_writer_close(writer, 0));
}

const char *argp_program_version = "gmon2pbin (pbin-tools) " PBIN_TOOLS_VERSION;

int main(int argc, char **argv)
{
    struct options o = {0};
    struct error err = {0};
    tool_start(&o.common, "gmon2pbin");
    tool_parse(&parser, TOOL_OUTPUT | TOOL_SALVAGE | TOOL_STRICT, argc, argv, &o);
    o.gmon.salvage = o.common.salvage;
    struct conversion c = {.options = &o, .sums = gmon_sums_new()};
    int result = read_all(&c, &err);
    if (result == 0 && (!o.common.reporter.strict || o.common.reporter.warnings == 0))
        result = write_sums(&c, &err);
    gmon_sums_delete(c.sums);
    free(c.target);
    free(c.dialect);
    free(o.inputs);
    elf_search_free(&o.program.symbols.search);
    return tool_end(&o.common, result, &err);
}
