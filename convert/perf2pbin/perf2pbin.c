/* perf2pbin: recording of perf in, pbin out.
 *
 *   perf record -o perf.data ./program; perf2pbin perf.data
 *   sample of thread 7 at 0x5581: 1 ms    ->    program, work
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/memory.h"
#include "convert/perf2pbin/perf_convert.h"

static const struct argp_option arguments[] = {
    {0, 0, NULL, 0, "Input:", 1},
    {"event", 'e', "EVENT", EVERYDAY,
     "Use the samples of this event, repeatable (default: the first event that counts time or "
     "cycles, else the first event)",
     1},
    {"rate", 'r', "HZ", EVERYDAY,
     "Samples per second of CPU time (default: the period of cpu-clock and task-clock, the "
     "requested frequency of other events)",
     1},
    {"name", 'n', "NAME", EVERYDAY, "Name of the profile (default: that of the file)", 1},
    {0, 0, NULL, 0, "Symbols:", ELF_GROUP},
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct perf_convert_options *o = state->input;
    switch (key) {
    case 'e':
        *MEM_APPEND(o->events, o->event_count, o->event_capacity) = argument;
        return 0;
    case 'r':
        o->rate = tool_whole(state, "-r", argument, 1, 1000000000);
        return 0;
    default:
        return converter_parse(key, argument, state);
    }
}

static const struct argp parser = {
    .options = arguments,
    .parser = parse,
    .args_doc = "[PERF.DATA]",
    .doc = "Turn a recording of perf record (perf.data) into pbin."
           "\vExamples:\n"
           "  perf record -o perf.data ./program; perf2pbin perf.data | pbin-aggregate\n"
           "  perf record -o- ./program | perf2pbin -o run.pbin\n"
           "  perf2pbin -s bin/ perf.data.xz | pbin-aggregate -k thread,function\n",
    .children = converter_symbols,
};

static int convert(void *options, struct stream *in, struct error *err)
{
    struct perf_convert_options *o = options;
    struct tool_common *common = &o->base.common;
    o->base.symbols.search.beside = o->base.input;
    struct perf *perf = perf_open(in, common->salvage, err);
    struct output *out = perf == NULL ? NULL : tool_output(common, OUTPUT_BINARY, err);
    int result =
        out == NULL ? -1 : perf_convert(perf, stream_name(in), o, out, &common->reporter, err);
    result = tool_commit(common, out, result);
    perf_close(perf);
    return result;
}

const char *argp_program_version = "perf2pbin (pbin-tools) " PBIN_TOOLS_VERSION;

int main(int argc, char **argv)
{
    struct perf_convert_options o = {
        .base = {.what = "recording", .awaited = "a recording of perf", .convert = convert}};
    int status = converter_main(&o.base, "perf2pbin", &parser,
                                TOOL_OUTPUT | TOOL_SALVAGE | TOOL_STRICT, argc, argv);
    free(o.events);
    return status;
}
