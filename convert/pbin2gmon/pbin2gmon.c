/* pbin2gmon: any pbin with program counters in, gmon.out out: gprof and similar tools show a
 * program that was never built with -pg.
 *
 *   pbin2gmon run.pbin -o gmon.out && gprof ./program gmon.out
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/tool.h"
#include "convert/pbin2gmon/gmon_calls.h"
#include "convert/pbin2gmon/gmon_render.h"
#include "convert/pbin2gmon/gprof_names.h"
#include "formats/elf/elf_options.h"

struct options {
    struct tool_common common;
    struct gmon_render_options render;
    struct elf_search search;
    const char *input, *binary;
    const char *symbols; /* file for gprof --external-symbol-table; NULL: none */
    bool profil;
};

enum { KEY_SCALE = KEY_TOOL_FIRST, KEY_PROFIL, KEY_SYMBOLS };

static const struct argp_option arguments[] = {
    {0, 0, NULL, 0, "Output:", 1},
    {"format", KEY_FORMAT, "FORMAT", EVERYDAY, "gnu (default) or bsd", 1},
    {"binary", 'e', "FILE", EVERYDAY,
     "The program or library to write, as a path or by its name in the profile (default: the "
     "program)",
     1},
    {"rate", 'r', "HZ", EVERYDAY, "Ticks per second of time (default: the sampling frequency)", 1},
    {"scale", KEY_SCALE, "SCALE", 0,
     "As profil(2): 65536 (default) makes a bin of every 2 bytes of text, 32768 of 4, ...", 1},
    {"symbols", KEY_SYMBOLS, "FILE", EVERYDAY,
     "Write all functions to FILE, for gprof --external-symbol-table=FILE: also those with $ or . "
     "in their names, which gprof hides",
     1},
    {0, 0, NULL, 0, "Finding the file:", ELF_GROUP},
    {"profil", KEY_PROFIL, NULL, EVERYDAY, "Write to gmon.PROGRAM.PID.out in $PROFDIR or here",
     TOOL_FILES},
    {0}};

static const struct tool_setting settings[] = {SET_TEXT('e', struct options, binary),
                                               SET_TEXT(KEY_SYMBOLS, struct options, symbols),
                                               SET_FLAG(KEY_PROFIL, struct options, profil),
                                               {0}};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->search;
        return 0;
    case KEY_FORMAT:
        o->render.dialect =
            tool_either(state, "--format", argument, "gnu", "bsd") ? GMON_BSD : GMON_GNU;
        return 0;
    case 'r':
        o->render.rate = (uint32_t)tool_whole(state, "-r", argument, 1, 1000000);
        return 0;
    case KEY_SCALE:
        o->render.scale = (uint32_t)tool_whole(state, "--scale", argument, 2, 65536);
        return 0;
    case ARGP_KEY_ARG:
        tool_only_input(state, "profile", &o->input, argument);
        return 0;
    case ARGP_KEY_SUCCESS:
        if (o->profil && o->common.output != NULL)
            argp_error(state, "--profil names the output file: it cannot be combined with -o");
        return 0;
    default:
        return tool_set(settings, o, key, argument, state);
    }
}

static const struct argp_child children[] = {{.argp = &elf_argp}, {0}};
static const struct argp parser = {
    .options = arguments,
    .parser = parse,
    .args_doc = "[PBIN]",
    .doc = "Write a pbin as gmon.out, so that gprof shows a profile of a program that was not "
           "built with -pg.\v"
           "Examples:\n"
           "  sampler -o run.bin -- ./program && prof2pbin run.bin | pbin2gmon -o gmon.out\n"
           "  pbin2gmon -e libfoo.so.1 -o foo.gmon run.pbin && gprof libfoo.so.1 foo.gmon\n"
           "  PROFDIR=/var/prof pbin2gmon --format bsd --profil run.pbin\n",
    .children = children,
};

/* Converts one pbin to one gmon.out. */
struct conversion {
    struct options *options;
    struct pbin_reader *reader;
    const char *name; /* of the pbin */
    struct pc_times times;
    struct profiled_file file;
    struct elf_file *debug; /* its separate symbols, or NULL */
    struct elf_symbols *symbols;
    struct gmon gmon;
    const struct pbin_definitions *all;
};

/* ---- times ---- */

/* Returns the frequency of the profile, else its mean frequency, else the usual one of profil. */
static uint32_t default_rate(const struct pbin_meta *meta)
{
    double rate = 100;
    if (meta->frequency >= 1000)
        rate = (double)meta->frequency / 1000;
    else if (meta->wall_ns > 0 && meta->samples > 0)
        rate = (double)meta->samples / ((double)meta->wall_ns / 1e9);
    return (uint32_t)fmin(fmax(round(rate), 1), 1000000);
}

/* Makes times for samples without a rate, which have no time: each becomes one tick. */
static void make_time_of_samples(struct conversion *c)
{
    uint32_t rate = c->options->render.rate;
    report_warning(&c->options->common.reporter,
                   "%s: its samples have no time: each counts as a tick of %" PRIu32 " Hz", c->name,
                   rate);
    c->times.time = 0;
    for (size_t i = 0; i < c->times.count; i++) {
        struct pc_time *item = &c->times.items[i];
        /* 2^-64 samples to 2^-32 ns, in an order that cannot overflow */
        item->time = (item->samples >> (SAMPLES_SHIFT - TIME_SHIFT)) / rate * 1000000000 +
                     (item->samples >> (SAMPLES_SHIFT - TIME_SHIFT)) % rate * 1000000000 / rate;
        c->times.time += item->time;
    }
}

static void report_outside(const struct conversion *c, exact outside)
{
    if (outside == 0)
        return;
    report_warning(&c->options->common.reporter,
                   "%s: %.2f %% of the time was spent outside %s: a gmon.out covers one file only "
                   "(-e chooses it)",
                   c->name, 100 * (double)outside / (double)c->times.time, c->file.name);
}

/* Reports functions that gprof does not show. */
static void report_hidden(const struct conversion *c, const struct address_time *items,
                          size_t count)
{
    if (c->options->symbols != NULL || c->times.time <= 0)
        return;
    struct gprof_hidden hidden = gprof_hidden_find(c->symbols, items, count);
    if (hidden.functions > 0)
        report_warning(&c->options->common.reporter,
                       "%s: gprof hides %zu function%s with $ or . in the name, such as %.80s, and "
                       "adds the time in %s, %.2f %%, to others (--symbols FILE, then gprof "
                       "--external-symbol-table=FILE)",
                       c->name, hidden.functions, hidden.functions == 1 ? "" : "s", hidden.name,
                       hidden.functions == 1 ? "it" : "them",
                       100 * (double)hidden.time / (double)c->times.time);
}

static int put_times(struct conversion *c, struct error *err)
{
    struct address_time *items = mem_zalloc(c->times.count, sizeof *items);
    exact outside = 0, no_code = 0;
    size_t count = 0;
    for (size_t i = 0; i < c->times.count; i++) {
        const struct pc_time *item = &c->times.items[i];
        items[count].time = item->time;
        if (profiled_file_address(&c->file, c->all, strings_get(c->all->strings, item->binary),
                                  item->map, item->pc, &items[count].address))
            count++;
        else
            outside += item->time;
    }
    int result = gmon_render(&c->gmon, c->file.image, items, count, &c->options->render, &no_code,
                             &c->options->common.reporter, err);
    if (result == 0)
        report_outside(c, outside + no_code);
    if (result == 0)
        report_hidden(c, items, count);
    free(items);
    return result;
}

/* ---- conversion ---- */

/* Returns the name gmon.PROGRAM.PID.out in $PROFDIR; caller frees. */
static char *profil_name(const struct conversion *c)
{
    const char *folder = getenv("PROFDIR");
    uint32_t pid = 0;
    if (c->all->thread_count > 0)
        pid = c->all->threads[0].pid != 0 ? c->all->threads[0].pid : c->all->threads[0].tid;
    bool here = folder == NULL || folder[0] == '\0';
    return mem_printf("%s%sgmon.%s.%" PRIu32 ".out", here ? "" : folder, here ? "" : "/",
                      c->file.name, pid);
}

static int write_gmon(struct conversion *c, struct error *err)
{
    const struct options *o = c->options;
    char *name = o->profil ? profil_name(c) : NULL;
    if (o->profil)
        umask(077); /* as the C libraries do: profiles are private to the user */
    struct output *out = output_open(name != NULL ? name : o->common.output,
                                     OUTPUT_BINARY | (o->common.bzip2 ? OUTPUT_BZIP2 : 0), err);
    free(name);
    return tool_commit(&o->common, out, out == NULL ? -1 : gmon_write(&c->gmon, out));
}

static int write_symbols(const struct conversion *c, struct error *err)
{
    struct output *out = output_open(c->options->symbols, 0, err);
    return tool_commit(&c->options->common, out,
                       out == NULL ? -1 : gprof_names_write(c->symbols, out));
}

static void read_symbols(struct conversion *c)
{
    struct reporter *reporter = &c->options->common.reporter;
    c->debug = elf_search_debug_warn(&c->options->search, c->file.image, reporter);
    c->symbols = elf_symbols_new(c->file.image, c->debug);
    elf_warn_failed(reporter, c->file.image, "functions are lost");
    elf_warn_failed(reporter, c->debug, "functions are lost");
}

static int convert(struct conversion *c, struct error *err)
{
    struct options *o = c->options;
    const struct pbin_meta *meta = pbin_reader_meta(c->reader);
    if (pc_times_read(&c->times, c->reader, c->name, err) != 0)
        return -1;
    pbin_reader_warn_cut(c->reader, c->name, &o->common.reporter);
    c->all = pbin_reader_definitions(c->reader);
    if (profiled_file_find(&c->file, o->binary, c->all, meta, &o->search, err) != 0)
        return -1;
    if (o->render.rate == 0)
        o->render.rate = default_rate(meta);
    if (c->times.time == 0 && c->times.samples > 0)
        make_time_of_samples(c);
    read_symbols(c);
    if (put_times(c, err) != 0)
        return -1;
    size_t lost = gmon_calls_add(&c->gmon, &c->times, &c->file, c->all, c->symbols);
    if (lost > 0)
        report_warning(
            &o->common.reporter,
            "%s: left out %zu of %zu call arcs: the caller or callee is not a function of %s",
            c->name, lost, c->times.arc_count, c->file.name);
    if (o->symbols != NULL && write_symbols(c, err) != 0)
        return -1;
    return write_gmon(c, err);
}

const char *argp_program_version = "pbin2gmon (pbin-tools) " PBIN_TOOLS_VERSION;

int main(int argc, char **argv)
{
    struct options o = {.render = {.dialect = GMON_GNU, .scale = 65536}};
    struct error err = {0};
    int result = -1;
    tool_start(&o.common, "pbin2gmon");
    tool_parse(&parser, TOOL_OUTPUT | TOOL_SALVAGE, argc, argv, &o);
    struct conversion c = {.options = &o};
    const struct pbin_choice choice = {.salvage = o.common.salvage};
    report_awaited(&o.common.reporter, o.input, "a pbin profile");
    struct stream *in = stream_open(o.input, &err);
    if (in != NULL)
        c.reader = pbin_reader_open(in, choice, &err);
    if (c.reader != NULL) {
        c.name = stream_name(in);
        result = convert(&c, &err);
    }
    gmon_render_free(&c.gmon);
    elf_symbols_delete(c.symbols);
    elf_file_close(c.debug);
    profiled_file_free(&c.file);
    pc_times_free(&c.times);
    pbin_reader_close(c.reader);
    stream_close(in);
    elf_search_free(&o.search);
    return tool_end(&o.common, result, &err);
}
