/* igprof2pbin: dump of IgProf in, pbin out.
 *
 *   C2 FN1=(F0=(app)+1200 N=(work))+4 V0=(PERF_TICKS):(3,3,3)    ->    app, work: 3 samples, 0.03 s
 * SPDX-License-Identifier: MIT */
#include "base/tool.h"
#include "convert/igprof/igprof_rows.h"

struct options {
    struct tool_common common;
    const char *input, *name;
};

static const struct argp_option arguments[] = {
    {"name", 'n', "NAME", EVERYDAY, "Name of the profile (default: that of the file)", 1}, {0}};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case 'n':
        o->name = argument;
        return 0;
    case ARGP_KEY_ARG:
        tool_only_input(state, "dump", &o->input, argument);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp parser = {
    .options = arguments,
    .parser = parse,
    .args_doc = "[DUMP]",
    .doc = "Turn a dump of IgProf (performance, memory or function profile) into pbin."
           "\vExamples:\n"
           "  igprof2pbin igprof.app.123.gz | pbin-aggregate\n"
           "  igprof2pbin memory.gz | pbin-aggregate --columns function,mem_live\n"
           "  igprof2pbin -o run.pbin run.gz\n",
};

static int write_pbin(struct options *o, const struct igprof *igprof, const struct call_tree *tree,
                      const char *name, struct error *err)
{
    struct output *out = tool_output(&o->common, OUTPUT_BINARY, err);
    if (out == NULL)
        return -1;
    if (igprof_rows_write(igprof, tree, name, o->name != NULL ? o->name : name, out, err) == 0)
        return output_commit(out);
    output_discard(out);
    return -1;
}

static int convert(struct options *o, struct stream *in, struct error *err)
{
    struct igprof_node node;
    struct call_tree tree = {0};
    struct igprof *igprof = igprof_open(in, err);
    int got = igprof == NULL ? -1 : 1;
    while (got > 0)
        if ((got = igprof_next(igprof, &node, err)) > 0)
            call_tree_add(&tree, igprof, &node);
    call_tree_end(&tree);
    if (got == 0 && igprof_counter_count(igprof) == 0)
        got = error_set(err, stream_name(in), NO_OFFSET, "has no counters: nothing was profiled");
    if (got == 0)
        got = write_pbin(o, igprof, &tree, stream_name(in), err);
    call_tree_free(&tree);
    igprof_close(igprof);
    return got;
}

const char *argp_program_version = "igprof2pbin (pbin-tools) " PBIN_TOOLS_VERSION;

int main(int argc, char **argv)
{
    struct options o = {0};
    struct error err = {0};
    tool_start(&o.common, "igprof2pbin");
    tool_parse(&parser, TOOL_OUTPUT, argc, argv, &o);
    report_awaited(&o.common.reporter, o.input, "a dump of IgProf");
    struct stream *in = stream_open(o.input, &err);
    int result = in == NULL ? -1 : convert(&o, in, &err);
    stream_close(in);
    return tool_end(&o.common, result, &err);
}
