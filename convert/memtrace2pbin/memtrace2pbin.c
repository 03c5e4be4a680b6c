/* memtrace2pbin: memory accesses traced by DynamoRIO in, pbin out.
 *
 *   read of 8 bytes by 0x401136, write of 4 bytes by 0x40113a    ->    program, work: 1 read, 8 B; 1 write, 4 B
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "convert/converter.h"
#include "convert/symbolize/pc_sums.h"
#include "formats/trace/memtrace.h"

static const struct argp_option arguments[] = {
    {0, 0, NULL, 0, "Input:", 1},
    {"name", 'n', "NAME", EVERYDAY, "Name of the profile (default: that of the file)", 1},
    {0, 0, NULL, 0, "Symbols:", ELF_GROUP},
    {0}};

static const struct argp parser = {
    .options = arguments,
    .parser = converter_parse,
    .args_doc = "[TRACE]",
    .doc = "Turn a binary trace of memory accesses (memtrace of DynamoRIO, 64 bits) into pbin: "
           "accesses and bytes per line of code."
           "\vExamples:\n"
           "  memtrace2pbin -m run.vmmap memtrace.log | pbin-aggregate\n"
           "  memtrace2pbin -e firmware.elf memtrace.log | pbin-aggregate -k line\n"
           "  memtrace2pbin -m run.vmmap memtrace.log.xz -o run.pbin\n",
    .children = converter_code,
};

enum { READS, WRITES, READ_BYTES, WRITTEN_BYTES };

static int read_all(struct memtrace *trace, struct stream *in, struct pc_sums *sums,
                    uint64_t *accesses, struct error *err)
{
    struct memtrace_access access;
    int got;
    while ((got = memtrace_next(trace, &access, err)) > 0) {
        struct pc_sum *sum = pc_sums_at(sums, access.pc);
        sum->samples++;
        sum->values[access.is_write ? WRITES : READS]++;
        sum->values[access.is_write ? WRITTEN_BYTES : READ_BYTES] += access.size;
        if (++*accesses > UINT64_C(1) << 40)
            return error_set(err, stream_name(in), stream_offset(in),
                             "expected at most 2^40 accesses, found more");
    }
    return got;
}

static int write_pbin(struct converter *o, const char *file, const struct pc_sums *sums,
                      uint64_t accesses, struct error *err)
{
    struct given_code code = {0};
    struct output *out = NULL;
    int result = given_code_read(&o->code, &code, err);
    if (result == 0) {
        const struct pc_profile profile = {
            .file = file,
            .meta = {.name = (char *)(o->name != NULL ? o->name : elf_base_name(file)),
                     .target = (char *)(code.count > 0 ? elf_base_name(code.maps[0].label) : NULL),
                     .dialect = (char *)"memtrace",
                     .tool = (char *)"memtrace2pbin " PBIN_TOOLS_VERSION,
                     .samples = accesses},
            .maps = code.maps,
            .map_count = code.count,
            .measures = {[READS] = {"reads", ""},
                         [WRITES] = {"writes", ""},
                         [READ_BYTES] = {"read_bytes", "B"},
                         [WRITTEN_BYTES] = {"written_bytes", "B"}}};
        out = tool_output(&o->common, OUTPUT_BINARY, err);
        result = out == NULL
                     ? -1
                     : pc_sums_write(sums, &profile, &o->symbols, out, &o->common.reporter, err);
    }
    given_code_free(&code);
    return tool_commit(&o->common, out, result);
}

static int convert(void *options, struct stream *in, struct error *err)
{
    struct converter *o = options;
    struct pc_sums sums = {0};
    uint64_t accesses = 0;
    struct reporter *reporter = &o->common.reporter;
    struct memtrace *trace = memtrace_open(in, o->common.salvage, err);
    int result = trace == NULL ? -1 : read_all(trace, in, &sums, &accesses, err);
    if (result == 0 && accesses == 0)
        result = error_set(err, stream_name(in), NO_OFFSET, "has no complete access");
    if (result == 0) {
        if (memtrace_is_cut(trace))
            report_warning(reporter, "%s: truncated: kept %" PRIu64 " accesses", stream_name(in),
                           accesses);
        given_code_warn(&o->code, stream_name(in), reporter);
        result = write_pbin(o, stream_name(in), &sums, accesses, err);
    }
    memtrace_close(trace);
    pc_sums_free(&sums);
    return result;
}

const char *argp_program_version = "memtrace2pbin (pbin-tools) " PBIN_TOOLS_VERSION;

int main(int argc, char **argv)
{
    struct converter o = {
        .what = "trace", .awaited = "a trace of memory accesses", .convert = convert};
    return converter_main(&o, "memtrace2pbin", &parser, TOOL_OUTPUT | TOOL_SALVAGE | TOOL_STRICT,
                          argc, argv);
}
