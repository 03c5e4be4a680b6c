/* perf2pbin: recording of perf in, pbin out.
 *
 *   perf record -o perf.data ./program; perf2pbin perf.data      sample of thread 7 at 0x5581: 1 ms    ->    program, work
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/memory.h"
#include "base/tool.h"
#include "convert/perf2pbin/perf_convert.h"
#include "convert/symbolize/symbol_options.h"

struct options {
    struct tool_common common;
    struct perf_convert_options convert;
    const char *input;
    size_t event_capacity;
};

static const struct argp_option arguments[] = {
    {0, 0, NULL, 0, "What the recording is:", 1},
    {"event", 'e', "EVENT", EVERYDAY,
     "Use the samples of this event; may be repeated (default: the first that counts time or "
     "cycles, else the first)",
     1},
    {"rate", 'r', "HZ", EVERYDAY,
     "Samples per second of CPU time (default: periods of cpu-clock and task-clock, for other "
     "events the requested frequency)",
     1},
    {"name", 'n', "NAME", EVERYDAY, "Name of the profile (default: that of the file)", 1},
    {0, 0, NULL, 0, "Symbols:", ELF_GROUP},
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->convert.symbols;
        return 0;
    case 'e':
        *MEM_APPEND(o->convert.events, o->convert.event_count, o->event_capacity) = argument;
        return 0;
    case 'r':
        o->convert.rate = tool_whole(state, "-r", argument, 1, 1000000000);
        return 0;
    case 'n':
        o->convert.name = argument;
        return 0;
    case ARGP_KEY_ARG:
        tool_only_input(state, "recording", &o->input, argument);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{.argp = &symbol_argp}, {0}};
static const struct argp parser = {
    .options = arguments,
    .parser = parse,
    .args_doc = "[PERF.DATA]",
    .doc = "Turn a recording of perf record (perf.data) into pbin."
           "\vExamples:\n"
           "  perf record -o perf.data ./program; perf2pbin perf.data | pbin-aggregate\n"
           "  perf record -o- ./program | perf2pbin -o run.pbin\n"
           "  perf2pbin -s bin/ perf.data.xz | pbin-aggregate -k thread,function\n",
    .children = children,
};

static int convert(struct options *o, struct perf *perf, const char *file, struct error *err)
{
    struct output *out = tool_output(&o->common, OUTPUT_BINARY, err);
    if (out == NULL)
        return -1;
    int result = perf_convert(perf, file, &o->convert, out, &o->common.reporter, err);
    return tool_commit(&o->common, out, result);
}

const char *argp_program_version = "perf2pbin (pbin-tools) " PBIN_TOOLS_VERSION;

int main(int argc, char **argv)
{
    struct options o = {0};
    struct error err = {0};
    tool_start(&o.common, "perf2pbin");
    tool_parse(&parser, TOOL_OUTPUT | TOOL_SALVAGE | TOOL_STRICT, argc, argv, &o);
    report_awaited(&o.common.reporter, o.input, "a recording of perf");
    o.convert.symbols.search.beside = o.input;
    struct stream *in = stream_open(o.input, &err);
    struct perf *perf = in == NULL ? NULL : perf_open(in, o.common.salvage, &err);
    int result = perf == NULL ? -1 : convert(&o, perf, stream_name(in), &err);
    perf_close(perf);
    stream_close(in);
    free(o.convert.events);
    elf_search_free(&o.convert.symbols.search);
    return tool_end(&o.common, result, &err);
}
