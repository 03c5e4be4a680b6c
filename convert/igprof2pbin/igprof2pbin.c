/* igprof2pbin: dump of IgProf in, pbin out.
 *
 *   C2 FN1=(F0=(app)+1200 N=(work))+4 V0=(PERF_TICKS):(3,3,3)    ->    app, work: 3 samples, 0.03 s
 * SPDX-License-Identifier: MIT */
#include "convert/converter.h"
#include "convert/igprof2pbin/igprof_rows.h"

static const struct argp_option arguments[] = {
    {0, 0, NULL, 0, "Input:", 1},
    {"name", 'n', "NAME", EVERYDAY, "Name of the profile (default: that of the file)", 1},
    {0}};

static const struct argp parser = {
    .options = arguments,
    .parser = converter_parse,
    .args_doc = "[DUMP]",
    .doc = "Turn a dump of IgProf (performance, memory or function profile) into pbin."
           "\vExamples:\n"
           "  igprof2pbin igprof.app.123.gz | pbin-aggregate\n"
           "  igprof2pbin memory.gz | pbin-aggregate --columns function,mem_live\n"
           "  igprof2pbin -o run.pbin run.gz\n",
};

static int write_pbin(struct converter *o, const struct igprof *igprof,
                      const struct call_tree *tree, const char *name, struct error *err)
{
    struct output *out = tool_output(&o->common, OUTPUT_BINARY, err);
    int result = out == NULL ? -1
                             : igprof_rows_write(igprof, tree, name,
                                                 o->name != NULL ? o->name : name, out, err);
    return tool_commit(&o->common, out, result);
}

static int convert(void *options, struct stream *in, struct error *err)
{
    struct converter *o = options;
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
    struct converter o = {.what = "dump", .awaited = "a dump of IgProf", .convert = convert};
    return converter_main(&o, "igprof2pbin", &parser, TOOL_OUTPUT, argc, argv);
}
