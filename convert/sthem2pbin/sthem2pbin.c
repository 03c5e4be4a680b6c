/* sthem2pbin: CSV export of the sthem tool or of a Lynsyn board in, pbin out.
 *
 *   Time;Power 1;Module 0;Function 0        a sample at 0.001 s, 1.25 W,
 *   0.001;1.25;main.elf;decode         ->   "core 0" in main.elf, decode
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/number.h"
#include "convert/sthem2pbin/sthem_convert.h"

struct options {
    struct sthem_convert_options convert; /* first: a struct converter */
    struct sthem_options reading;
    uint64_t *sensors;
    size_t sensor_count, sensor_capacity;
    uint64_t *cores;
    size_t core_count, core_capacity;
};

enum { KEY_CPUS = KEY_TOOL_FIRST, KEY_FACTOR, KEY_OFFSET, KEY_NORMALIZED };

static const struct argp_option arguments[] = {
    {0, 0, NULL, 0, "Input:", 1},
    {"power-sensor", 'p', "N[,N...]", EVERYDAY,
     "Power sensor, as numbered in the header; several are added up (default: the only one that is "
     "not always 0)",
     1},
    {"volts", 'v', "V", EVERYDAY, "Supply voltage [V] for currents, instead of measured voltages",
     1},
    {"cores", 'c', "LIST", EVERYDAY,
     "Use only these cores, as numbered in the header: N, N-M, lists of these; they get all of the "
     "energy",
     1},
    {"cpus", KEY_CPUS, "N", 0, "Cores that the program could use (default: those that show a PC)",
     1},
    {"type", 't', "TYPE", 0,
     "timeline (default): each row has its time; flat: each row has its duration", 1},
    {"time-factor", KEY_FACTOR, "S", 0, "Times are in units of S seconds: 1e-6 for us (default: 1)",
     1},
    {"normalized", KEY_NORMALIZED, NULL, 0,
     "Times begin at 0: the first row lasts from there to its time", 1},
    {"name", 'n', "NAME", EVERYDAY, "Name of the profile (default: that of the file)", 1},
    {0, 0, NULL, 0, "Symbols, for exports of program counters:", ELF_GROUP},
    {"address-offset", KEY_OFFSET, "N", 0,
     "Add N to all program counters, such as 4096, 0x1000 or -0x1000", ELF_GROUP},
    {0}};

static void add_sensors(struct options *o, const char *list, struct argp_state *state)
{
    for (;;) {
        char text[24];
        size_t length = strcspn(list, ",");
        uint64_t number = 0;
        snprintf(text, sizeof text, "%.*s", (int)(length < 23 ? length : 23), list);
        if (!parse_unsigned(text, 0, UINT32_MAX, &number))
            argp_error(state, "-p must be a list of power sensors, N[,N...], not '%s'", text);
        *MEM_APPEND(o->sensors, o->sensor_count, o->sensor_capacity) = number;
        if (list[length] == '\0')
            return;
        list += length + 1;
    }
}

/* Adds the cores of LIST: N, N-M, or several of these separated by commas. */
static void add_cores(struct options *o, const char *list, struct argp_state *state)
{
    for (;;) {
        char text[24], *dash;
        size_t length = strcspn(list, ",");
        uint64_t from = 0, to = 0;
        snprintf(text, sizeof text, "%.*s", (int)(length < 23 ? length : 23), list);
        if ((dash = strchr(text, '-')) != NULL)
            *dash++ = '\0';
        if (!parse_unsigned(text, 0, UINT32_MAX, &from) ||
            !parse_unsigned(dash != NULL ? dash : text, from, UINT32_MAX, &to) ||
            to - from >= STHEM_MAX_COLUMNS)
            argp_error(state, "-c must be a list of cores, N or N-M[,...], not '%.40s'", list);
        for (; from <= to; from++)
            *MEM_APPEND(o->cores, o->core_count, o->core_capacity) = from;
        if (list[length] == '\0')
            return;
        list += length + 1;
    }
}

static uint64_t parse_offset(const char *text, struct argp_state *state)
{
    const char *digits = text + (text[0] == '-');
    char *end;
    errno = 0;
    uint64_t value = strtoull(digits, &end, strncasecmp(digits, "0x", 2) == 0 ? 16 : 10);
    if (digits[0] < '0' || digits[0] > '9' || *end != '\0' || errno != 0)
        argp_error(state, "--address-offset must be a number, such as 4096 or 0x1000, not '%s'",
                   text);
    return digits > text ? -value : value;
}

/* Parses options about times and addresses. */
static error_t parse_units(struct options *o, int key, char *argument, struct argp_state *state)
{
    switch (key) {
    case 't':
        o->reading.flat = tool_either(state, "-t", argument, "timeline", "flat");
        return 0;
    case KEY_FACTOR:
        o->reading.time_factor = tool_number(state, "--time-factor", argument, 1e-12, 3600);
        return 0;
    case KEY_NORMALIZED:
        o->reading.from_zero = true;
        return 0;
    case KEY_OFFSET:
        o->reading.address_offset = parse_offset(argument, state);
        return 0;
    default:
        return converter_parse(key, argument, state);
    }
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case 'p':
        add_sensors(o, argument, state);
        return 0;
    case 'v':
        o->reading.volts = tool_number(state, "-v", argument, 1e-6, 1e6);
        return 0;
    case 'c':
        add_cores(o, argument, state);
        return 0;
    case KEY_CPUS:
        o->convert.cpus = tool_whole(state, "--cpus", argument, 1, 1 << 20);
        return 0;
    default:
        return parse_units(o, key, argument, state);
    }
}

static const struct argp parser = {
    .options = arguments,
    .parser = parse,
    .args_doc = "[CSV]",
    .doc = "Turn a CSV export of the sthem tool or of a Lynsyn board into pbin: each core becomes "
           "a thread."
           "\vExamples:\n"
           "  sthem2pbin export.csv | pbin-aggregate\n"
           "  sthem2pbin -e firmware.elf -p 2 export.csv -o run.pbin\n"
           "  sthem2pbin -m run.vmmap -s bin export.csv.bz2 | pbin-aggregate\n",
    .children = converter_code,
};

/* Notes data that an export lacks. */
static void explain(struct options *o, const struct stream *in, const struct sthem_summary *summary)
{
    if (o->convert.base.common.reporter.quiet)
        return;
    fprintf(stderr, "sthem2pbin: %s: one PC per core, no threads and no CPU time: %s\n",
            stream_name(in),
            summary->several
                ? "each busy core gets the same share, so shares of parallel programs are skewed"
                : "shares of parallel programs would be skewed");
    if (summary->negative > 0)
        fprintf(stderr,
                "sthem2pbin: %s: %llu powers are negative, the smallest %.4g W: counted as "
                "measured\n",
                stream_name(in), (unsigned long long)summary->negative, summary->least);
    if (summary->joules < 0)
        report_warning(&o->convert.base.common.reporter,
                       "%s: the energy is negative, %.4g J: another sensor (-p)?", stream_name(in),
                       summary->joules);
    for (size_t i = 0; i < summary->sensor_count; i++)
        report_verbose(&o->convert.base.common.reporter, "uses power sensor %llu",
                       (unsigned long long)summary->sensors[i]);
    report_verbose(&o->convert.base.common.reporter, "%llu samples, %g s, %g J, %zu cores",
                   (unsigned long long)summary->rows, (double)summary->wall_ns / 1e9,
                   summary->joules, summary->cores);
}

static int write_pbin(struct options *o, struct stream *in, const struct sthem_summary *summary,
                      const struct given_code *code, struct error *err)
{
    struct output *out = tool_output(&o->convert.base.common, OUTPUT_BINARY, err);
    o->reading.sensors = summary->sensors;
    o->reading.sensor_count = summary->sensor_count;
    int result = out == NULL ? -1 : stream_seek(in, 0, err);
    if (result == 0)
        result = sthem_convert(in, &o->reading, summary, code, &o->convert, out,
                               &o->convert.base.common.reporter, err);
    return tool_commit(&o->convert.base.common, out, result);
}

/* Refuses data without a line end or a separator in its first megabyte, before a pipe is copied to a file. */
static int check_beginning(struct stream *in, struct error *err)
{
    const uint8_t *data;
    int64_t have = stream_peek(in, STHEM_MAX_LINE + 1, &data, err);
    if (have <= STHEM_MAX_LINE)
        return have < 0 ? -1 : 0;
    if (memchr(data, '\n', STHEM_MAX_LINE) == NULL && memchr(data, '\r', STHEM_MAX_LINE) == NULL)
        return error_set(err, stream_name(in), NO_OFFSET,
                         "line 1, column 1: line of more than %d bytes: not a CSV export",
                         STHEM_MAX_LINE);
    if (memchr(data, ';', STHEM_MAX_LINE) == NULL && memchr(data, ',', STHEM_MAX_LINE) == NULL &&
        memchr(data, '\t', STHEM_MAX_LINE) == NULL)
        return error_set(err, stream_name(in), NO_OFFSET,
                         "line 1, column 1: not an export of sthem or Lynsyn: no columns in its "
                         "first %d bytes",
                         STHEM_MAX_LINE);
    return 0;
}

static int convert(void *options, struct stream *in, struct error *err)
{
    struct options *o = options;
    struct sthem_summary summary = {0};
    struct given_code code = {0};
    o->reading.sensors = o->sensors;
    o->reading.sensor_count = o->sensor_count;
    o->reading.cores = o->cores;
    o->reading.core_count = o->core_count;
    int result = check_beginning(in, err);
    if (result == 0)
        result = stream_make_seekable(in, err);
    if (result == 0)
        result = given_code_read(&o->convert.base.code, &code, err);
    if (result == 0)
        result = sthem_scan(in, &o->reading, &summary, &o->convert.base.common.reporter, err);
    if (result == 0) {
        explain(o, in, &summary);
        result = write_pbin(o, in, &summary, &code, err);
    }
    sthem_summary_free(&summary);
    given_code_free(&code);
    return result;
}

const char *argp_program_version = "sthem2pbin (pbin-tools) " PBIN_TOOLS_VERSION;

int main(int argc, char **argv)
{
    struct options o = {
        .convert.base = {.what = "export", .awaited = "a CSV export", .convert = convert}};
    int status = converter_main(&o.convert.base, "sthem2pbin", &parser, TOOL_OUTPUT, argc, argv);
    free(o.sensors);
    free(o.cores);
    return status;
}
