/* The header of a sthem or Lynsyn export: the meaning of each column.
 * SPDX-License-Identifier: MIT */
#include "formats/sthem/sthem_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"

static const struct {
    const char *name;
    bool numbered;
} kinds[COLUMN_KINDS] = {
    [COLUMN_TIME] = {"time", false},
    [COLUMN_POWER] = {"power", true},
    [COLUMN_CURRENT] = {"current", true},
    [COLUMN_VOLTAGE] = {"voltage", true},
    [COLUMN_PC] = {"pc", true},
    [COLUMN_MODULE] = {"module", true},
    [COLUMN_FUNCTION] = {"function", true},
};

static struct csv_text trim(struct csv_text t)
{
    while (t.length > 0 && (*t.at == ' ' || *t.at == '\t')) {
        t.at++;
        t.length--;
    }
    while (t.length > 0 && (t.at[t.length - 1] == ' ' || t.at[t.length - 1] == '\t'))
        t.length--;
    return t;
}

static bool is_name(struct csv_text t, const char *name)
{
    return t.length == strlen(name) && strncasecmp(t.at, name, t.length) == 0;
}

/* "Power 3" -> COLUMN_POWER, 3. */
static enum column_kind parse_name(struct csv_text t, uint64_t *number)
{
    for (int k = COLUMN_TIME; k < COLUMN_KINDS; k++) {
        size_t length = strlen(kinds[k].name);
        if (!kinds[k].numbered && is_name(t, kinds[k].name))
            return (enum column_kind)k;
        if (!kinds[k].numbered || t.length <= length || t.length > length + 10 ||
            strncasecmp(t.at, kinds[k].name, length) != 0)
            continue;
        size_t i = length;
        while (i < t.length && t.at[i] == ' ')
            i++;
        if (i == t.length)
            continue;
        for (*number = 0; i < t.length && t.at[i] >= '0' && t.at[i] <= '9'; i++)
            *number = *number * 10 + (uint64_t)(t.at[i] - '0');
        if (i == t.length && *number <= UINT32_MAX)
            return (enum column_kind)k;
    }
    return COLUMN_IGNORED;
}

/* Finds the separator in the header. Column names contain none of the three. */
static char find_separator(const struct csv *csv)
{
    static const char all[] = {';', '\t', ','};
    for (size_t i = 0; i < sizeof all; i++)
        if (memchr(csv->text, all[i], csv->length) != NULL)
            return all[i];
    return ';';
}

static int header_line(struct csv *csv, const char *expected, struct error *err)
{
    int got = csv_next(csv, err);
    if (got == 0)
        return error_set(err, stream_name(csv->stream), NO_OFFSET,
                         "line %" PRIu64 ", column 1: the file ends, expected %s", csv->line,
                         expected);
    return got > 0 ? 0 : -1;
}

/* Splits the current line into FIELDS, of which it keeps at most MOST. Returns the number of
 * fields, or -1 on an error. */
static int64_t split(struct csv *csv, struct csv_text *fields, size_t most, struct error *err)
{
    const char *at = csv->text, *end = csv->text + csv->length;
    for (size_t count = 0;; at++) {
        struct csv_text field;
        at = csv_field(csv, at, &field);
        if (at == NULL)
            return csv_error(csv, count + 1, err, "quoted field has no end");
        if (count < most)
            fields[count] = trim(field);
        count++;
        if (at == end)
            return (int64_t)count;
    }
}

static bool is_number(struct csv_text t)
{
    for (size_t i = 0; i < t.length; i++)
        if (t.at[i] < '0' || t.at[i] > '9')
            return false;
    return t.length > 0;
}

/* Skips "Sensors;Cores" and the line with both numbers, which the column names also give. */
static int skip_preamble(struct sthem_reader *r, struct error *err)
{
    struct csv_text f[2] = {{"", 0}, {"", 0}};
    struct csv *csv = &r->csv;
    int64_t count = split(csv, f, 2, err);
    bool sensors_first = is_name(f[0], "sensors") && is_name(f[1], "cores");
    if (!sensors_first && !(is_name(f[0], "cores") && is_name(f[1], "sensors")))
        return count < 0 ? -1 : 0;
    f[1] = (struct csv_text){"", 0};
    if (header_line(csv, "the numbers of sensors and cores", err) != 0 || split(csv, f, 2, err) < 0)
        return -1;
    for (size_t i = 0; i < 2; i++)
        if (!is_number(f[i]))
            return csv_error(csv, i + 1, err, "expected the number of %s",
                             sensors_first == (i == 0) ? "Sensors" : "Cores");
    r->variant = STHEM_LYNSYN;
    return header_line(csv, "the names of the columns", err);
}

static struct sensor *find_sensor(struct sthem_reader *r, uint64_t number)
{
    for (size_t i = 0; i < r->sensor_count; i++)
        if (r->sensors[i].number == number)
            return &r->sensors[i];
    struct sensor *sensor = MEM_APPEND(r->sensors, r->sensor_count, r->sensor_capacity);
    *sensor = (struct sensor){.number = number};
    return sensor;
}

static struct core *find_core(struct sthem_reader *r, uint64_t number)
{
    for (size_t i = 0; i < r->core_count; i++)
        if (r->cores[i].number == number)
            return &r->cores[i];
    struct core *core = MEM_APPEND(r->cores, r->core_count, r->core_capacity);
    *core = (struct core){
        .number = number, .module = {"", 0}, .function = {"", 0}, .last_place = STHEM_IDLE};
    return core;
}

static void ignore(struct sthem_reader *r, size_t column, struct csv_text name)
{
    r->columns[column].kind = COLUMN_IGNORED;
    if (name.length == 0)
        return;
    if (r->ignored.size > 0)
        buffer_bytes(&r->ignored, ", ", 2);
    buffer_bytes(&r->ignored, name.at, name.length);
}

/* Whether NUMBER is in the list WANTED, or there is no list. */
static bool is_wanted(const uint64_t *wanted, size_t count, uint64_t number)
{
    for (size_t i = 0; i < count; i++)
        if (wanted[i] == number)
            return true;
    return count == 0;
}

/* Ignores currents if there are powers, and PCs if there are functions, which were derived from the
 * PCs. */
static void drop_inferior(struct sthem_reader *r, const struct csv_text *names)
{
    bool has[COLUMN_KINDS] = {false};
    for (size_t i = 0; i < r->column_count; i++)
        has[r->columns[i].kind] = true;
    for (size_t i = 0; i < r->column_count; i++) {
        enum column_kind k = r->columns[i].kind;
        if (k == COLUMN_IGNORED ||
            (has[COLUMN_POWER] && (k == COLUMN_CURRENT || k == COLUMN_VOLTAGE)) ||
            (has[COLUMN_FUNCTION] && k == COLUMN_PC))
            ignore(r, i, names[i]);
    }
    if (r->variant != STHEM_LYNSYN)
        r->variant = has[COLUMN_CURRENT] && !has[COLUMN_POWER] ? STHEM_LYNSYN : STHEM_PCS;
    if (has[COLUMN_FUNCTION] || has[COLUMN_MODULE])
        r->variant = STHEM_SYMBOLS;
    buffer_u8(&r->ignored, '\0');
}

static void add_sensor(struct sthem_reader *r, size_t column)
{
    struct column *c = &r->columns[column];
    if (!is_wanted(r->options.sensors, r->options.sensor_count, c->number) ||
        (c->kind == COLUMN_VOLTAGE && r->options.volts != 0)) {
        c->kind = COLUMN_IGNORED;
        return;
    }
    struct sensor *s = find_sensor(r, c->number);
    c->index = (uint32_t)(s - r->sensors);
    if (c->kind == COLUMN_VOLTAGE)
        s->has_voltage = true;
    else
        s->column = column + 1;
}

static void add_core(struct sthem_reader *r, struct column *c)
{
    if (is_wanted(r->options.cores, r->options.core_count, c->number))
        c->index = (uint32_t)(find_core(r, c->number) - r->cores);
    else
        c->kind = COLUMN_IGNORED;
}

static int add_columns(struct sthem_reader *r, const struct csv_text *names, struct error *err)
{
    size_t times = 0;
    for (size_t i = 0; i < r->column_count; i++) {
        struct column *c = &r->columns[i];
        for (size_t j = 0; j < i && c->kind != COLUMN_IGNORED; j++)
            if (r->columns[j].kind == c->kind && r->columns[j].number == c->number)
                return csv_error(&r->csv, i + 1, err,
                                 "column '%.*s' occurs twice, first as column %zu",
                                 (int)names[i].length, names[i].at, j + 1);
        times += c->kind == COLUMN_TIME;
        if (c->kind == COLUMN_POWER || c->kind == COLUMN_CURRENT || c->kind == COLUMN_VOLTAGE)
            add_sensor(r, i);
        else if (c->kind >= COLUMN_PC)
            add_core(r, c);
    }
    if (times == 0)
        return csv_error(&r->csv, 1, err,
                         "not an export of sthem or Lynsyn: expected a header with a column "
                         "'Time', found '%.*s'",
                         (int)(r->csv.length < 60 ? r->csv.length : 60), r->csv.text);
    if (r->core_count == 0 && r->options.core_count == 0)
        return csv_error(&r->csv, 1, err, "expected a column 'Function 0' or 'PC 0'");
    return 0;
}

/* Reports an unknown sensor or, with CORE, an unknown core, and lists those in the header. */
static int no_such(const struct sthem_reader *r, bool core, uint64_t number,
                   const struct csv_text *names, struct error *err)
{
    enum column_kind first = core ? COLUMN_PC : COLUMN_POWER;
    enum column_kind second = core ? COLUMN_FUNCTION : COLUMN_CURRENT;
    char there[200] = "";
    size_t used = 0;
    for (size_t i = 0; i < r->column_count && used < sizeof there - 20; i++) {
        uint64_t n;
        enum column_kind k = parse_name(names[i], &n);
        if (k == first || k == second)
            used += (size_t)snprintf(there + used, sizeof there - used, "%s%" PRIu64,
                                     used > 0 ? ", " : "", n);
    }
    const char *none =
        core ? "a column 'Function N' or 'PC N'" : "a column 'Power N' or 'Current N'";
    return csv_error(&r->csv, 1, err, "no %s %" PRIu64 ", expected %s%s",
                     core ? "core" : "power sensor", number, used > 0 ? "one of " : none, there);
}

/* Checks that a voltage has its current, and a current its voltage. */
static int check_column(const struct sthem_reader *r, size_t column, struct error *err)
{
    const struct column *c = &r->columns[column];
    if (c->kind == COLUMN_VOLTAGE && r->sensors[c->index].column == 0)
        return csv_error(&r->csv, column + 1, err, "voltage %" PRIu64 " has no current %" PRIu64,
                         c->number, c->number);
    if (c->kind == COLUMN_CURRENT && !r->sensors[c->index].has_voltage && r->options.volts == 0)
        return csv_error(&r->csv, column + 1, err,
                         "current %" PRIu64 " has no voltage column: give the supply voltage with "
                         "-v VOLTS",
                         c->number);
    if (c->kind == COLUMN_POWER && r->options.volts != 0)
        return csv_error(&r->csv, column + 1, err,
                         "-v applies to currents only; this export has power [W], which already "
                         "includes the voltage");
    return 0;
}

static int check_sensors(const struct sthem_reader *r, const struct csv_text *names,
                         struct error *err)
{
    for (size_t w = 0; w < r->options.sensor_count; w++) {
        size_t i = 0;
        while (i < r->sensor_count && r->sensors[i].number != r->options.sensors[w])
            i++;
        if (i == r->sensor_count || r->sensors[i].column == 0)
            return no_such(r, false, r->options.sensors[w], names, err);
    }
    for (size_t w = 0; w < r->options.core_count; w++) {
        size_t i = 0;
        while (i < r->core_count && r->cores[i].number != r->options.cores[w])
            i++;
        if (i == r->core_count)
            return no_such(r, true, r->options.cores[w], names, err);
    }
    for (size_t i = 0; i < r->column_count; i++)
        if (check_column(r, i, err) != 0)
            return -1;
    if (r->options.address_offset != 0 && r->variant == STHEM_SYMBOLS)
        return csv_error(
            &r->csv, 1, err,
            "--address-offset applies to program counters only; this export has names");
    return 0;
}

static int use_names(struct sthem_reader *r, struct csv_text *names, struct error *err)
{
    for (size_t i = 0; i < r->column_count; i++)
        r->columns[i].kind = parse_name(names[i], &r->columns[i].number);
    drop_inferior(r, names);
    if (add_columns(r, names, err) != 0)
        return -1;
    return check_sensors(r, names, err);
}

int sthem_read_header(struct sthem_reader *r, struct error *err)
{
    const uint8_t *data;
    int64_t got = stream_peek(r->csv.stream, 1, &data, err);
    if (got <= 0)
        return got < 0 ? -1
                       : stream_fail_empty(r->csv.stream, "a CSV export with a column 'Time'", err);
    r->csv.comments = true;
    if (header_line(&r->csv, "a header with a column 'Time'", err) != 0)
        return -1;
    r->csv.separator = find_separator(&r->csv);
    if (skip_preamble(r, err) != 0)
        return -1;
    r->csv.separator = find_separator(&r->csv);
    struct csv_text *names = mem_zalloc(STHEM_MAX_COLUMNS, sizeof *names);
    int64_t count = split(&r->csv, names, STHEM_MAX_COLUMNS, err);
    int result = -1;
    if (count > STHEM_MAX_COLUMNS) {
        csv_error(&r->csv, STHEM_MAX_COLUMNS + 1, err, "%lld columns, expected at most %d",
                  (long long)count, STHEM_MAX_COLUMNS);
    } else if (count > 0) {
        r->column_count = (size_t)count;
        r->columns = mem_zalloc(r->column_count, sizeof *r->columns);
        result = use_names(r, names, err);
    }
    free(names);
    return result;
}
