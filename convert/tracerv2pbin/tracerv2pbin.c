/* tracerv2pbin: instruction trace of FireSim in, pbin out.
 *
 *   cycle 17: instructions at 0x80000010, 0x80000014    ->    a sample of 1 ns, two threads (lanes)
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/tool.h"
#include "convert/symbolize/symbol_options.h"
#include "convert/tracerv2pbin/tracerv_convert.h"

struct options {
    struct tool_common common;
    struct tracerv_convert_options convert;
    const char *input;
};

enum { KEY_CLOCK = KEY_TOOL_FIRST, KEY_GAP, KEY_KEEP };

static const struct argp_option arguments[] = {
    {0, 0, NULL, 0, "What the trace is:", 1},
    {"clock", KEY_CLOCK, "MHZ", EVERYDAY, "Clock of the core (default: 1000)", 1},
    {"name", 'n', "NAME", EVERYDAY, "Name of the profile (default: that of the file)", 1},
    {"list-gaps", KEY_GAP, "N", EVERYDAY,
     "Report each time that more than N cycles have no instruction", 1},
    {0, 0, NULL, 0, "Symbols:", ELF_GROUP},
    {"keep-addresses", KEY_KEEP, NULL, 0,
     "Do not extend addresses of the kernel from 40 to 64 bits", ELF_GROUP},
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->convert.code;
        state->child_inputs[1] = &o->convert.symbols;
        return 0;
    case KEY_CLOCK:
        o->convert.mhz = tool_number(state, "--clock", argument, 1e-3, 1e6);
        return 0;
    case KEY_GAP:
        o->convert.gap = tool_whole(state, "--list-gaps", argument, 1, UINT64_MAX);
        return 0;
    case KEY_KEEP:
        o->convert.reading.keep_addresses = true;
        return 0;
    case 'n':
        o->convert.name = argument;
        return 0;
    case ARGP_KEY_ARG:
        tool_only_input(state, "trace", &o->input, argument);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {
    {.argp = &given_code_argp}, {.argp = &symbol_argp}, {0}};
static const struct argp parser = {
    .options = arguments,
    .parser = parse,
    .args_doc = "[TRACE]",
    .doc = "Turn a binary instruction trace of FireSim's TracerV into pbin: each cycle in which "
           "instructions were committed is a sample."
           "\vExamples:\n"
           "  tracerv2pbin -e firmware.elf TRACEFILE0-C0 | pbin-aggregate\n"
           "  tracerv2pbin --clock 3200 -m run.vmmap TRACEFILE0-C0.xz -o run.pbin\n"
           "  tracerv2pbin -e firmware.elf --list-gaps 5000 TRACEFILE0-C0 -o run.pbin\n",
    .children = children,
};

static void explain(struct options *o, const char *file, const struct tracerv_summary *s)
{
    struct reporter *reporter = &o->common.reporter;
    if (s->cut)
        report_warning(reporter, "%s: truncated: kept %" PRIu64 " cycles", file, s->cycles);
    if (s->disordered > 0)
        report_warning(reporter,
                       "%s: %" PRIu64 " records are not later than the one before: left out", file,
                       s->disordered);
    given_code_warn(&o->convert.code, file, reporter);
    report_verbose(reporter,
                   "%s: %" PRIu64 " records, %" PRIu64 " cycles with instructions, from %" PRIu64
                   " to %" PRIu64 ", at most %zu in a cycle",
                   file, s->records, s->cycles, s->first, s->last, s->lanes);
}

static int write_pbin(struct options *o, struct stream *in, const struct tracerv_summary *s,
                      struct error *err)
{
    struct output *out = tool_output(&o->common, OUTPUT_BINARY, err);
    if (out == NULL)
        return -1;
    int result = stream_seek(in, 0, err);
    if (result == 0)
        result = tracerv_convert(in, &o->convert, s, out, &o->common.reporter, err);
    return tool_commit(&o->common, out, result);
}

static int convert(struct options *o, struct stream *in, struct error *err)
{
    struct tracerv_summary summary = {0};
    /* before a pipe is copied to a file */
    int result = tracerv_check(in, err) < 0 ? -1 : stream_make_seekable(in, err);
    if (result == 0)
        result = tracerv_look(in, &o->convert, &summary, err);
    if (result == 0) {
        explain(o, stream_name(in), &summary);
        result = write_pbin(o, in, &summary, err);
    }
    pc_sums_free(&summary.sums);
    return result;
}

const char *argp_program_version = "tracerv2pbin (pbin-tools) " PBIN_TOOLS_VERSION;

int main(int argc, char **argv)
{
    struct options o = {.convert.mhz = 1000};
    struct error err = {0};
    tool_start(&o.common, "tracerv2pbin");
    tool_parse(&parser, TOOL_OUTPUT | TOOL_SALVAGE | TOOL_STRICT, argc, argv, &o);
    o.convert.reading.salvage = o.common.salvage;
    report_awaited(&o.common.reporter, o.input, "a trace of TracerV");
    struct stream *in = stream_open(o.input, &err);
    int result = in == NULL ? -1 : convert(&o, in, &err);
    stream_close(in);
    elf_search_free(&o.convert.symbols.search);
    return tool_end(&o.common, result, &err);
}
