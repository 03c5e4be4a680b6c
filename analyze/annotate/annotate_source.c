/* Annotated source: the lines of a function, file by file, including those of inlined functions.
 * SPDX-License-Identifier: MIT */
#include "analyze/annotate/annotate_source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/annotate/annotate_select.h"
#include "analyze/annotate/annotate_text.h"
#include "analyze/annotate/annotate_values.h"
#include "analyze/annotate/source_file.h"
#include "analyze/attribute/labels.h"
#include "base/memory.h"

enum {
    MARGIN = 3,   /* lines shown around those with samples, such as heads of functions */
    MAX_NAMES = 4 /* inlined functions named in one line */
};

/* A line with samples: the sum of its rows, one for each inlined function. */
struct line {
    uint64_t number;
    struct annotate_sums sums;
    char *inner; /* names, owned; NULL if there are none */
    size_t inner_count;
};

/* The lines of one source file. */
struct section {
    struct listing *listing;
    const struct annotate_function *function;
    const struct annotate_row *row; /* any row of the file */
    const char *file;
    struct line *lines;
    size_t line_count;
    struct line_range *ranges;
    size_t range_count;
};

static uint64_t less(uint64_t value, uint64_t by)
{
    return value > by ? value - by : 1;
}

static uint64_t more(uint64_t value, uint64_t by)
{
    return value + by < value ? UINT64_MAX : value + by;
}

static void name_inner(struct line *line, const char *name)
{
    if (line->inner_count++ >= MAX_NAMES)
        return;
    if (line->inner_count == MAX_NAMES)
        name = "...";
    char *names = line->inner == NULL ? mem_strdup(name) : mem_printf("%s, %s", line->inner, name);
    free(line->inner);
    line->inner = names;
}

/* ROWS belong to one file, and are sorted by line. */
static void make_lines(struct section *s, const struct annotate_row *rows, size_t count)
{
    const struct annotation *a = listing_annotation(s->listing);
    s->lines = mem_zalloc(count, sizeof *s->lines);
    for (size_t i = 0; i < count; i++) {
        if (s->line_count == 0 || s->lines[s->line_count - 1].number != rows[i].line)
            s->lines[s->line_count++].number = rows[i].line;
        struct line *line = &s->lines[s->line_count - 1];
        annotate_sums_add(&line->sums, &rows[i].sums);
        if (rows[i].inner != rows[i].function && rows[i].inner != 0)
            name_inner(line, annotation_text(a, rows[i].inner));
    }
}

/* For --context or a minimum of lines: ranges around the lines that reach it (the hot ones, if
 * there is a context). */
static void range_around_lines(struct section *s)
{
    const struct annotation *a = listing_annotation(s->listing);
    uint64_t context = a->options->context;
    for (size_t i = 0; i < s->line_count; i++) {
        const struct line *line = &s->lines[i];
        if (line->number > 0 && annotation_is_shown(a, &line->sums, s->function))
            s->ranges[s->range_count++] =
                (struct line_range){less(line->number, context), more(line->number, context)};
    }
}

static int by_inner(const void *left, const void *right)
{
    const struct annotate_row *a = left, *b = right;
    if (a->inner != b->inner)
        return a->inner < b->inner ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

/* For whole functions: ranges from the first to the last line of the function, and of each inlined
 * function. */
static void range_functions(struct section *s, struct annotate_row *rows, size_t count)
{
    uint32_t inner = 0;
    qsort(rows, count, sizeof *rows, by_inner);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].line == 0)
            continue;
        if (s->range_count == 0 || rows[i].inner != inner)
            s->ranges[s->range_count++].first = less(rows[i].line, MARGIN);
        s->ranges[s->range_count - 1].last = more(rows[i].line, MARGIN);
        inner = rows[i].inner;
    }
}

/* The modification time of the binary of FUNCTION; 0 if its file is missing. */
static time_t binary_made(const struct annotation *a, const struct annotate_function *f)
{
    struct stat info;
    for (size_t i = 0; i < a->module_count; i++) {
        const char *path = annotation_text(a, a->modules[i].path);
        const char *slash = strrchr(annotation_text(a, a->modules[i].label), '/');
        const char *base = slash != NULL ? slash + 1 : annotation_text(a, a->modules[i].label);
        if (strcmp(label_unlike(base), annotation_text(a, f->rows->binary)) == 0 &&
            path[0] != '\0' && stat(path, &info) == 0)
            return info.st_mtime;
    }
    return 0;
}

/* Warns that the file of S is not shown, and why. */
static void warn_of_refusal(const struct section *s, const struct source_refusal *refusal)
{
    const struct annotation *a = listing_annotation(s->listing);
    if (s->file[0] == '\0' || !annotation_may_warn(a, s->file))
        return;
    if (refusal->other != NULL)
        report_warning(a->reporter,
                       "%s: not shown: not the file that %s was built from: its MD5 differs",
                       refusal->other, annotation_text(a, s->function->rows->binary));
    else if (refusal->large)
        report_warning(a->reporter, "%s: not shown: larger than %d MB", s->file, SOURCE_MAX_MB);
    else if (refusal->forbidden)
        report_warning(a->reporter,
                       "%s: not shown: a profile may name any file, and this one is neither a "
                       "source below the current directory nor below a folder of "
                       "--source-path or --prefix-map",
                       s->file);
    else
        report_warning(
            a->reporter,
            "%s: source not found: name its folder with --source-path DIR, or replace the "
            "beginning of its path with --prefix-map OLD=NEW",
            s->file);
}

/* Warns if samples may belong to lines that differ from the text of SOURCE. COUNT is the number of
 * its MD5s in the profile. */
static void warn_of_change(const struct section *s, const struct source_file *source, size_t count)
{
    const struct annotation *a = listing_annotation(s->listing);
    time_t made = count == 0 ? binary_made(a, s->function) : 0;
    if (count > 1 && annotation_may_warn(a, s->file))
        report_warning(
            a->reporter,
            "%s: %s was built from %zu versions of it: lines may be those of another version",
            source_file_path(source), annotation_text(a, s->function->rows->binary), count);
    else if (made != 0 && source_file_changed(source) > made && annotation_may_warn(a, s->file))
        report_warning(a->reporter, "%s: changed since %s was built: lines may have moved",
                       source_file_path(source), annotation_text(a, s->function->rows->binary));
}

static struct source_file *open_source(struct section *s)
{
    const struct annotation *a = listing_annotation(s->listing);
    const struct annotate_options *o = a->options;
    struct source_refusal refusal;
    size_t count;
    const char **md5s = annotation_md5s(a, s->row, &count);
    const struct source_search search = {
        o->prefix_maps, o->prefix_map_count, o->source_paths, o->source_path_count, md5s, count};
    struct source_file *source = source_file_open(s->file, &search, &refusal);
    if (source == NULL)
        warn_of_refusal(s, &refusal);
    else
        warn_of_change(s, source, count);
    free(refusal.other);
    free(md5s);
    return source;
}

static void put_line(struct section *s, uint64_t number, const char *text, const struct line *line)
{
    struct listed listed = {.file = s->file, .line = number, .text = text};
    if (line != NULL) {
        listed.sums = &line->sums;
        listed.inner = line->inner;
    }
    listing_line(s->listing, s->function, &listed);
}

/* Returns whether line NUMBER is in a range. The ranges are sorted, and NUMBER increases from call
 * to call; *AT is the current range. */
static bool in_ranges(const struct section *s, uint64_t number, size_t *at)
{
    while (*at < s->range_count && s->ranges[*at].last < number)
        ++*at;
    return *at < s->range_count && s->ranges[*at].first <= number;
}

/* Shows the lines with samples that are in a range, from *NEXT up to LAST, without text. */
static void put_bare(struct section *s, size_t *next, uint64_t last)
{
    size_t at = 0;
    for (; *next < s->line_count && s->lines[*next].number <= last; ++*next) {
        const struct line *line = &s->lines[*next];
        if (line->number == 0 || in_ranges(s, line->number, &at))
            put_line(s, line->number, NULL, line);
    }
}

/* Shows range R with its text. Returns false if the file ends in it. */
static bool put_range(struct section *s, const struct line_range *r, struct source_file *source,
                      size_t *next)
{
    for (uint64_t number = r->first; number <= r->last; number++) {
        const char *text = source_file_line(source, number);
        if (text == NULL)
            return false;
        while (*next < s->line_count && s->lines[*next].number < number)
            ++*next; /* folded */
        bool here = *next < s->line_count && s->lines[*next].number == number;
        put_line(s, number, text, here ? &s->lines[*next] : NULL);
        *next += here;
        if (number == UINT64_MAX)
            break;
    }
    return true;
}

static void put_section(struct section *s)
{
    struct source_file *source = open_source(s);
    char *title = NULL;
    if (source != NULL && strcmp(source_file_path(source), s->file) != 0)
        title = mem_printf("%s (found as %s)", s->file, source_file_path(source));
    listing_section(s->listing, title != NULL        ? title
                                : s->file[0] != '\0' ? s->file
                                                     : "unknown source");
    size_t next = 0;
    put_bare(s, &next, 0);
    for (size_t r = 0; source != NULL && r < s->range_count; r++) {
        if (r > 0)
            listing_gap(s->listing);
        if (!put_range(s, &s->ranges[r], source, &next))
            break;
    }
    put_bare(s, &next, UINT64_MAX);
    source_file_close(source);
    free(title);
}

static void show_file(struct listing *listing, const struct annotate_function *f,
                      struct annotate_row *rows, size_t count)
{
    const struct annotation *a = listing_annotation(listing);
    struct section s = {
        .listing = listing, .function = f, .row = rows, .file = annotation_text(a, rows->file)};
    make_lines(&s, rows, count);
    s.ranges = mem_zalloc(count, sizeof *s.ranges);
    if (annotation_folds(a))
        range_around_lines(&s);
    else
        range_functions(&s, rows, count);
    s.range_count = line_ranges_join(s.ranges, s.range_count);
    if (s.range_count > 0 ||
        (s.lines[0].number == 0 && annotate_reaches(a, LEVEL_INSTRUCTION, &s.lines[0].sums)))
        put_section(&s);
    for (size_t i = 0; i < s.line_count; i++)
        free(s.lines[i].inner);
    free(s.lines);
    free(s.ranges);
}

/* The rows of one file. */
struct part {
    size_t first, count;
    bool own, known; /* it contains the function itself; it has a name */
    struct annotate_sums sums;
};

static int compare_parts(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    if (a->own != b->own)
        return a->own ? -1 : 1;
    if (a->known != b->known)
        return a->known ? -1 : 1;
    if (a->sums.time != b->sums.time)
        return a->sums.time > b->sums.time ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

/* The rows of a function are sorted by file and line, because module and address are 0 in all of
 * them. The file of the function comes first, then the others by time. */
void show_source(struct listing *listing, struct annotate_function *f)
{
    struct part *parts = NULL;
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < f->count; i++) {
        const struct annotate_row *row = &f->rows[i];
        if (i == 0 || row->file != row[-1].file) {
            mem_reserve(&parts, &capacity, count + 1, sizeof *parts);
            parts[count++] = (struct part){.first = i, .known = row->file != 0};
        }
        parts[count - 1].count++;
        parts[count - 1].own |= row->inner == row->function && row->file != 0;
        annotate_sums_add(&parts[count - 1].sums, &row->sums);
    }
    if (count > 1)
        qsort(parts, count, sizeof *parts, compare_parts);
    for (size_t i = 0; i < count; i++)
        show_file(listing, f, f->rows + parts[i].first, parts[i].count);
    free(parts);
}
