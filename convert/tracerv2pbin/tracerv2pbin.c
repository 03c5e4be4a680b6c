/* tracerv2pbin: instruction trace of FireSim in, pbin out.
 *
 *   cycle 17: instructions at 0x80000010, 0x80000014    ->    a sample of 1 ns, two threads (lanes)
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "convert/tracerv2pbin/tracerv_convert.h"

enum { KEY_CLOCK = KEY_TOOL_FIRST, KEY_GAP, KEY_KEEP };

static const struct argp_option arguments[] = {
    {0, 0, NULL, 0, "Input:", 1},
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
    struct tracerv_convert_options *o = state->input;
    switch (key) {
    case KEY_CLOCK:
        o->mhz = tool_number(state, "--clock", argument, 1e-3, 1e6);
        return 0;
    case KEY_GAP:
        o->gap = tool_whole(state, "--list-gaps", argument, 1, UINT64_MAX);
        return 0;
    case KEY_KEEP:
        o->reading.keep_addresses = true;
        return 0;
    default:
        return converter_parse(key, argument, state);
    }
}

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
    .children = converter_code,
};

static void explain(struct tracerv_convert_options *o, const char *file,
                    const struct tracerv_summary *s)
{
    struct reporter *reporter = &o->base.common.reporter;
    if (s->cut)
        report_warning(reporter, "%s: truncated: kept %" PRIu64 " cycles", file, s->cycles);
    if (s->disordered > 0)
        report_warning(reporter,
                       "%s: %" PRIu64 " records are not later than the one before: left out", file,
                       s->disordered);
    given_code_warn(&o->base.code, file, reporter);
    report_verbose(reporter,
                   "%s: %" PRIu64 " records, %" PRIu64 " cycles with instructions, from %" PRIu64
                   " to %" PRIu64 ", at most %zu in a cycle",
                   file, s->records, s->cycles, s->first, s->last, s->lanes);
}

static int write_pbin(struct tracerv_convert_options *o, struct stream *in,
                      const struct tracerv_summary *s, struct error *err)
{
    struct output *out = tool_output(&o->base.common, OUTPUT_BINARY, err);
    if (out == NULL)
        return -1;
    int result = stream_seek(in, 0, err);
    if (result == 0)
        result = tracerv_convert(in, o, s, out, &o->base.common.reporter, err);
    return tool_commit(&o->base.common, out, result);
}

static int convert(void *options, struct stream *in, struct error *err)
{
    struct tracerv_convert_options *o = options;
    struct tracerv_summary summary = {0};
    o->reading.salvage = o->base.common.salvage;
    /* check before a pipe is copied to a file */
    int result = tracerv_check(in, err) < 0 ? -1 : stream_make_seekable(in, err);
    if (result == 0)
        result = tracerv_look(in, o, &summary, err);
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
    struct tracerv_convert_options o = {
        .base = {.what = "trace", .awaited = "a trace of TracerV", .convert = convert},
        .mhz = 1000};
    return converter_main(&o.base, "tracerv2pbin", &parser,
                          TOOL_OUTPUT | TOOL_SALVAGE | TOOL_STRICT, argc, argv);
}
