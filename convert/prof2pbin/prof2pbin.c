/* prof2pbin: raw profile in, pbin out.
 *
 *   prof2pbin run.bin > run.pbin            0x5581e0 ... -> burn, burn_50, burn.c:31
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "convert/prof2pbin/prof2pbin_options.h"

/* Returns a text about the data missing from the samples that --salvage kept. Caller frees. */
static char *losses(const struct raw_profile *raw)
{
    enum pmu_kind kind = raw_pmu_kind(raw);
    char *times = mem_strdup(""), *energy = mem_strdup(""), *flags = mem_strdup("");
    if (raw->lost_times) {
        free(times);
        times = mem_printf("; %llu of them have lost their times",
                           (unsigned long long)(raw->samples - raw->timed));
    }
    if (raw->energy_ns != UINT64_MAX && (kind == PMU_POWER || kind == PMU_CURRENT)) {
        free(energy);
        energy = raw->energy_ns == 0
                     ? mem_strdup("; all energy is lost")
                     : mem_printf("; energy after %.3f s is lost", (double)raw->energy_ns * 1e-9);
    }
    if (raw->lost_flags > 0) {
        free(flags);
        flags = mem_printf("; %llu thread samples count as running, as it is not known whether "
                           "they waited",
                           (unsigned long long)raw->lost_flags);
    }
    char *all = mem_printf(
        "%s%s%s%s%s",
        raw->map_count == 0 ? "; its mappings are missing (-m FILE supplies them)" : "", times,
        energy, raw->lost_maps ? "; processes and names of threads are lost" : "", flags);
    free(times);
    free(energy);
    free(flags);
    return all;
}

/* Warns about missing data, and reports how much --salvage kept. */
static void report_salvage(struct prof_options *o, const struct raw_profile *raw)
{
    char *lost = losses(raw);
    if (raw->cut)
        report_warning(&o->convert.base.common.reporter,
                       "%s: kept %llu whole samples of an incomplete profile%s",
                       stream_name(raw->stream), (unsigned long long)raw->samples, lost);
    free(lost);
    const struct error *damage = stream_damage(raw->stream);
    if (damage != NULL && !raw->cut)
        report_warning(&o->convert.base.common.reporter, "%s: 0x%llx: %s: kept all samples",
                       damage->file, (unsigned long long)damage->offset, damage->text);
    if (raw->headless && !raw->has_times)
        report_warning(
            &o->convert.base.common.reporter,
            "%s: its header is lost: the time of the run is unknown, so energies cannot be "
            "computed",
            stream_name(raw->stream));
    if (raw->headless && raw_pmu_kind(raw) == PMU_CUSTOM)
        report_warning(
            &o->convert.base.common.reporter,
            "%s: its header is lost: the kind of its PMU values is unknown, so they count as "
            "custom (--pmu-kind=power, or current with -v VOLTS)",
            stream_name(raw->stream));
}

/* Returns whether VALUE has the bits of a small integer: as a double, this is less than the
 * smallest normal one, or not a number if it is negative. */
static bool is_integer(double value)
{
    uint64_t bits = bits_of_double(value);
    return bits < UINT64_C(1) << 48 || bits > UINT64_C(0xffff) << 48;
}

/* pperf does not record whether 8 bytes are a double or an integer: warns if the first values other
 * than 0 are certainly integers. Returns 0, or -1 with ERR filled. */
static int warn_of_integers(struct prof_options *o, struct raw_profile *raw, struct error *err)
{
    struct raw_samples samples;
    int64_t least = INT64_MAX, most = INT64_MIN;
    bool open = o->raw.value == RAW_VALUE_AUTO && !raw->aggregated && raw->value == RAW_F64;
    int got = 0;
    if (!open || raw->header.value_size != 8)
        return 0;
    while (least > most && (got = raw_next(raw, &samples, err)) > 0)
        for (size_t i = 0; i < samples.count; i++) {
            int64_t value = (int64_t)bits_of_double(samples.value[i]);
            if (value == 0)
                continue;
            if (!is_integer(samples.value[i])) {
                raw_rewind(raw);
                return 0;
            }
            least = value < least ? value : least;
            most = value > most ? value : most;
        }
    raw_rewind(raw);
    if (least <= most)
        report_warning(&o->convert.base.common.reporter,
                       "%s: PMU values read as doubles are all close to 0; as integers they are "
                       "%lld to %lld: --pmu-type=i64 or u64?",
                       stream_name(raw->stream), (long long)least, (long long)most);
    return got < 0 ? -1 : 0;
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

static int convert_profile(struct prof_options *o, struct raw_profile *raw, struct error *err)
{
    if (use_maps(raw, o->maps, err) != 0 || dump_maps(raw, o->dump_maps, err) != 0)
        return -1;
    if (o->dump_maps != NULL && strcmp(o->dump_maps, "-") == 0)
        return 0;
    if (convert_check(raw, &o->convert, err) != 0)
        return -1;
    report_salvage(o, raw);
    if (warn_of_integers(o, raw, err) != 0)
        return -1;
    struct output *out = tool_output(&o->convert.base.common, OUTPUT_BINARY, err);
    if (out == NULL)
        return -1;
    int result = convert_raw(raw, &o->convert, out, &o->convert.base.common.reporter, err);
    return tool_commit(&o->convert.base.common, out, result);
}

static int convert(void *options, struct stream *in, struct error *err)
{
    struct prof_options *o = options;
    o->raw.salvage = o->convert.base.common.salvage;
    o->convert.base.symbols.search.beside = o->convert.base.input;
    struct raw_profile *raw = raw_open(in, &o->raw, err);
    int result = raw == NULL ? -1 : convert_profile(o, raw, err);
    raw_close(raw);
    return result;
}

const char *argp_program_version = "prof2pbin (pbin-tools) " PBIN_TOOLS_VERSION;

int main(int argc, char **argv)
{
    struct prof_options o = {
        .convert.base = {.what = "raw profile", .awaited = "a raw profile", .convert = convert}};
    return converter_main(&o.convert.base, "prof2pbin", &prof_argp,
                          TOOL_OUTPUT | TOOL_SALVAGE | TOOL_STRICT, argc, argv);
}
