/* prof2pbin: raw profile in, pbin out.
 *
 *   prof2pbin run.bin > run.pbin            0x5581e0 ... -> burn, burn_50, burn.c:31
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "convert/prof2pbin/prof2pbin_options.h"

/* Warns how much --salvage kept. */
static void report_salvage(struct prof_options *o, const struct raw_profile *raw)
{
    if (raw->cut)
        report_warning(
            &o->common.reporter, "%s: kept %llu whole samples of an incomplete profile%s",
            stream_name(raw->stream), (unsigned long long)raw->samples,
            raw->map_count == 0 ? "; its mappings are missing (-m FILE supplies them)" : "");
    if (raw->headless && !raw->has_times)
        report_warning(&o->common.reporter,
                       "%s: its header is lost, and with it the time of the run: no energy",
                       stream_name(raw->stream));
    if (raw->headless && raw_pmu_kind(raw) == PMU_CUSTOM)
        report_warning(&o->common.reporter,
                       "%s: its header is lost, and with it what its PMU values are: they count as "
                       "custom (--pmu-kind=power, or current with -v VOLTS)",
                       stream_name(raw->stream));
}

static int use_maps(struct raw_profile *raw, const char *path, struct error *err)
{
    if (path == NULL)
        return 0;
    free(raw->maps);
    raw_extension_forget_maps(&raw->ext);
    return raw_vmmap_text_read(path, &raw->maps, &raw->map_count, err);
}

static int dump_maps(const struct raw_profile *raw, const char *path, struct error *err)
{
    struct output *out = path == NULL ? NULL : output_open(path, 0, err);
    if (path == NULL)
        return 0;
    if (out == NULL)
        return -1;
    raw_vmmap_text_write(out, raw->maps, raw->map_count);
    return output_commit(out);
}

static int convert(struct prof_options *o, struct raw_profile *raw, struct error *err)
{
    if (use_maps(raw, o->maps, err) != 0 || dump_maps(raw, o->dump_maps, err) != 0)
        return -1;
    if (o->dump_maps != NULL && strcmp(o->dump_maps, "-") == 0)
        return 0;
    if (convert_check(raw, &o->convert, err) != 0)
        return -1;
    report_salvage(o, raw);
    struct output *out = tool_output(&o->common, OUTPUT_BINARY, err);
    if (out == NULL)
        return -1;
    if (convert_raw(raw, &o->convert, out, &o->common.reporter, err) == 0 &&
        (!o->common.reporter.strict || o->common.reporter.warnings == 0))
        return output_commit(out);
    output_discard(out);
    return err->text[0] != '\0' ? -1 : 0;
}

const char *argp_program_version = "prof2pbin (pbin-tools) " PBIN_TOOLS_VERSION;

int main(int argc, char **argv)
{
    struct prof_options o = {0};
    struct error err = {0};
    int result = -1;
    tool_start(&o.common, "prof2pbin");
    tool_parse(&prof_argp, TOOL_OUTPUT | TOOL_SALVAGE | TOOL_STRICT, argc, argv, &o);
    o.raw.salvage = o.common.salvage;
    struct stream *in = stream_open(o.input, &err);
    struct raw_profile *raw = in == NULL ? NULL : raw_open(in, &o.raw, &err);
    if (raw != NULL)
        result = convert(&o, raw, &err);
    raw_close(raw);
    stream_close(in);
    free(o.convert.symbols.search.folders);
    return tool_end(&o.common, result, &err);
}
