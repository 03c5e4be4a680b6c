/* The log of a meter: lines of time and watts, read after the run and aligned by the clock.
 *
 *   time;power                               a heading or a comment is skipped
 *   1700000000.250;41.5                      seconds since 1970 (ms, us, ns: by their size)
 *   2023-11-14T22:13:20.500Z,41.7            or RFC 3339; without a zone it is local time
 *   1700000000,250;41,5                      decimal commas, if something else separates the columns
 *   2023-11-14 22:13:20,500 41.7
 *
 * SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "record/pmus/pmu.h"

enum { WAIT_MS = 3000, STEP_MS = 50 };

struct row {
    double time, value; /* [s] since 1970; in the given unit */
};

struct log {
    const char *path;
    double scale, offset;
    size_t column; /* column of the value, >= 1 */
    FILE *file;    /* open while values are delivered */
    char *line;
    size_t room;
    uint64_t number;  /* of the line */
    double until;     /* end of the run by the clock of the meter [s] */
    struct row row;   /* the last row, with the mean of all lines that have its time ... */
    uint64_t alike;   /* ... and the number of these lines, minus one */
    bool held, ended; /* the row has not been delivered yet; it was the last one */
    struct row ahead; /* the line after the row */
    bool has_ahead;
};

static void close_log(void *state)
{
    struct log *l = state;
    if (l->file != NULL)
        fclose(l->file);
    free(l->line);
    free(l);
}

static bool is_separator(char c)
{
    return c == ',' || c == ';' || c == '\t' || c == ' ';
}

/* Converts a number in seconds, ms, us or ns since 1970 to seconds. Its size shows the unit: the
 * present is 1.8e9 s. */
static double by_size(double number)
{
    return number > 1e17   ? number * 1e-9
           : number > 1e14 ? number * 1e-6
           : number > 1e11 ? number * 1e-3
                           : number;
}

/* Converts "+01:30" or "-0800" to seconds. *END is after the zone, or AT if the zone is invalid. */
static long zone_of(const char *at, const char **end)
{
    char *after;
    long hours = strtol(at + 1, &after, 10), minutes = 0;
    *end = at;
    if (after == at + 5) { /* without a colon */
        minutes = hours % 100;
        hours /= 100;
    } else if (after == at + 3 && *after == ':') {
        minutes = strtol(after + 1, &after, 10);
    }
    if (after == at + 3 || hours > 23 || minutes > 59)
        return 0;
    *end = after;
    return (*at == '-' ? -1 : 1) * (hours * 60 + minutes) * 60;
}

/* Parses the text after the seconds: a fraction, and Z or a zone. */
static void end_of_time(const char *at, struct tm *tm, double *time, const char **end)
{
    char *after = (char *)(uintptr_t)at;
    double fraction = *at == '.' ? strtod(at, &after) : 0;
    const char *zone_end;
    at = after;
    if (*at == 'Z' || *at == 'z') {
        *time = (double)timegm(tm) + fraction;
        at++;
    } else if (*at == '+' || *at == '-') {
        long zone = zone_of(at, &zone_end);
        *time = (double)(timegm(tm) - zone) + fraction;
        at = zone_end;
    } else {
        tm->tm_isdst = -1;
        *time = (double)mktime(tm) + fraction;
    }
    *end = at;
}

/* Parses the time at the start of a line; *END is after it. */
static bool parse_time(const char *text, double *time, const char **end)
{
    struct tm tm = {0};
    char *after;
    const char *at = strptime(text, "%Y-%m-%d", &tm);
    if (at != NULL && (*at == 'T' || *at == ' '))
        at = strptime(at + 1, "%H:%M:%S", &tm);
    else
        at = NULL;
    if (at != NULL) {
        end_of_time(at, &tm, time, end);
        return isfinite(*time);
    }
    *time = by_size(strtod(text, &after));
    *end = after;
    return after != text && isfinite(*time);
}

/* Returns whether the comma at AT ends a number and the space after its digits separates columns:
 * "20,500 41.7". */
static bool is_before_space(const char *at)
{
    size_t digits = strspn(at + 1, "0123456789");
    return digits > 0 && at[1 + digits] == ' ' && strpbrk(at + 1 + digits, "0123456789") != NULL;
}

/* Returns whether the comma at AT, in a line that begins at LINE, is between digits, and not after
 * a number with a point. */
static bool is_in_number(const char *line, const char *at)
{
    const char *before = at;
    while (before > line && isdigit((unsigned char)before[-1]))
        before--;
    bool point = before > line && before[-1] == '.';
    return before < at && !point && isdigit((unsigned char)at[1]);
}

/* Replaces the decimal commas of a line by points. A comma in a number is a decimal comma if it is
 * in quotes, or if the columns are separated by semicolons, tabs, or spaces. */
static void replace_decimal_commas(char *line)
{
    const char *first = strchr(line, ',');
    bool all = strpbrk(line, ";\t") != NULL || (first != NULL && is_before_space(first));
    bool quoted = false;
    for (char *at = line; *at != '\0'; at++) {
        quoted ^= *at == '"';
        if (*at == ',' && (all || quoted) && is_in_number(line, at))
            *at = '.';
    }
}

/* Parses a line of the log, and replaces its decimal commas. Returns false for a heading, a comment
 * or an empty line. */
static bool parse_line(const struct log *l, char *text, struct row *row)
{
    replace_decimal_commas(text);
    const char *at = text + strspn(text, " \t\""), *end;
    char *after;
    if (!parse_time(at, &row->time, &end))
        return false;
    for (size_t column = 1;; column++) {
        end += *end == '"';
        if (!is_separator(*end))
            return false;
        end += strspn(end, " ");
        end += *end == ',' || *end == ';' || *end == '\t';
        end += strspn(end, " \"");
        row->value = strtod(end, &after) * l->scale;
        if (column == l->column)
            return after != end && isfinite(row->value);
        end += strcspn(end, ",;\t \"\n");
    }
}

static int check(const char *path, struct error *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return error_set_errno(err, path, errno, "cannot open the meter's log");
    bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    close(fd);
    return regular ? 0 : error_set(err, path, NO_OFFSET, "not a regular file");
}

static int open_log(const struct pmu_request *request, struct pmu_channels *channels, void **state,
                    struct error *err)
{
    struct pmu_unit unit;
    if (pmu_unit_settle(request->unit != NULL ? request->unit : "W", request->kind, &unit, err) !=
            0 ||
        check(request->argument, err) != 0)
        return -1;
    if (unit.energy)
        return error_set(err, NULL, NO_OFFSET, "--unit must be a unit of power for log, not '%s'",
                         request->unit);
    struct log *l = mem_zalloc(1, sizeof *l);
    *l = (struct log){.path = request->argument,
                      .scale = unit.scale,
                      .offset = request->clock_offset,
                      .column = request->sensor > 0 ? request->sensor : 1};
    struct pmu_channel *channel = pmu_channel_add(channels, "value", request->argument);
    pmu_channel_quantity(channel, unit.kind, unit.name);
    channels->chosen = 1; /* for this source, --sensor selects the column */
    *state = l;
    return 0;
}

static int read_log(void *state, size_t channel, struct pmu_value *value, struct error *err)
{
    (void)state;
    (void)channel;
    (void)value;
    (void)err;
    return 0; /* all values are delivered after the run */
}

/* Returns whether a row is at or after UNTIL. Reads from the beginning of the file, because the
 * meter may have written more, and rewinds it again. */
static bool covers(struct log *l, double until)
{
    struct row row;
    bool found = false;
    rewind(l->file);
    while (!found && getline(&l->line, &l->room, l->file) > 0)
        found = parse_line(l, l->line, &row) && row.time >= until;
    rewind(l->file);
    return found;
}

/* Opens the log at the end of the run. The meter may not have written all of it yet. */
static int begin(struct log *l, double until, struct error *err)
{
    l->file = fopen(l->path, "re");
    if (l->file == NULL)
        return error_set_errno(err, l->path, errno, "cannot open the meter's log");
    for (int waited = 0; !covers(l, until) && waited < WAIT_MS; waited += STEP_MS)
        nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000L}, NULL);
    return 0;
}

/* Reads the next line with a value, in order of time up to the end of the run. Returns 1, 0 at the
 * end, -1 with ERR filled. */
static int next_line(struct log *l, struct row *row, struct error *err)
{
    double before = row->time;
    while (getline(&l->line, &l->room, l->file) > 0) {
        l->number++;
        if (!parse_line(l, l->line, row))
            continue;
        if (row->time < before && before >= l->until)
            return 0;
        if (row->time < before)
            return error_set(err, l->path, NO_OFFSET,
                             "line %" PRIu64 ": its time is earlier than that of the previous line",
                             l->number);
        return 1;
    }
    return 0;
}

/* Reads the next row. Lines with the same time, for example from a clock of 1 s, become one row
 * with the mean of their values, because their order in time is unknown. Returns 1, 0 at the end,
 * -1 with ERR filled. */
static int next_row(struct log *l, struct error *err)
{
    if (!l->has_ahead) {
        int got = next_line(l, &l->ahead, err);
        l->ended = got == 0;
        if (got <= 0)
            return got;
    }
    l->row = l->ahead;
    double sum = l->row.value;
    int got;
    for (l->alike = 0; (got = next_line(l, &l->ahead, err)) > 0 && l->ahead.time == l->row.time;
         l->alike++)
        sum += l->ahead.value;
    l->has_ahead = got > 0;
    l->row.value = sum / (double)(1 + l->alike);
    return got < 0 ? -1 : 1;
}

/* Skips rows before the run: L->row becomes the first row of the run, and the value at its start
 * FROM is interpolated between that row and the previous one. Returns 1 with *VALUE set, -1 with
 * ERR filled if the log does not cover the run. */
static int first_value(struct log *l, double from, double to, double *value, struct error *err)
{
    struct row before = {.time = -HUGE_VAL};
    int got;
    l->ahead = before;
    while ((got = next_row(l, err)) > 0 && l->row.time <= from)
        before = l->row;
    if (got < 0)
        return -1;
    bool any = isfinite(before.time);
    if (got == 0 || (!any && l->row.time > to))
        return error_set(
            err, l->path, NO_OFFSET,
            "has no value from the time of the run (--clock-offset, if the meter's clock "
            "is wrong)");
    double part = any ? (from - before.time) / (l->row.time - before.time) : 1;
    *value = any ? before.value + part * (l->row.value - before.value) : l->row.value;
    l->held = true;
    return 1;
}

/* Delivers a value at the start of the run, then the rows up to the first one at or after its
 * end. */
static int late_log(void *state, const struct pmu_window *window, size_t *channel,
                    struct pmu_value *value, struct error *err)
{
    struct log *l = state;
    /* the time of the run by the clock of the meter */
    double from = (double)((int64_t)window->from + window->real) * 1e-9 + l->offset;
    double to = (double)((int64_t)window->to + window->real) * 1e-9 + l->offset;
    *channel = 0;
    if (l->file == NULL) {
        value->time = window->from;
        l->until = to;
        return begin(l, to, err) == 0 ? first_value(l, from, to, &value->gauge, err) : -1;
    }
    int got = l->ended ? 0 : l->held ? 1 : next_row(l, err);
    if (got <= 0)
        return got;
    l->held = false;
    l->ended = l->row.time >= to;
    value->gauge = l->row.value;
    value->alike = l->alike;
    value->time = window->from + (uint64_t)((l->row.time - from) * 1e9);
    return 1;
}

extern const struct pmu_source pmu_log;
const struct pmu_source pmu_log = {
    .name = "log",
    .argument = "FILE",
    .help = "a meter's log of time and power, read after the run",
    .takes_unit = true,
    .open = open_log,
    .read = read_log,
    .late = late_log,
    .close = close_log,
};
