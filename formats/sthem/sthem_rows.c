/* The rows of a sthem or Lynsyn export.
 * SPDX-License-Identifier: MIT */
#include "formats/sthem/sthem_internal.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "formats/sthem/sthem_decimal.h"

enum { FEMTO = 15 };
#define FEMTO_PER_SECOND ((femto)1000000000000000)

static const char *const meanings[COLUMN_KINDS] = {
    [COLUMN_TIME] = "time [s]",       [COLUMN_POWER] = "power [W]",
    [COLUMN_CURRENT] = "current [A]", [COLUMN_VOLTAGE] = "voltage [V]",
    [COLUMN_PC] = "program counter",
};

static int not_a_number(const struct sthem_reader *r, size_t column, const char *text,
                        size_t length, struct error *err)
{
    const char *meaning = meanings[r->columns[column].kind];
    if (length == 0)
        return csv_error(&r->csv, column + 1, err, "empty field, expected a %s", meaning);
    return csv_error(&r->csv, column + 1, err, "expected a %s, found '%.*s'%s", meaning,
                     (int)(length < 40 ? length : 40), text, length > 40 ? "..." : "");
}

/* A number in a column, and the characters from which it was scanned. */
struct cell {
    struct decimal number;
    const char *begin, *end;
};

/* Reads a cell that is quoted, padded with blanks, or empty. Returns the end of the field, or NULL
 * on an error; an empty field has BEGIN == END. */
static const char *read_odd_cell(struct sthem_reader *r, size_t column, const char *at,
                                 struct cell *cell, struct error *err)
{
    struct csv_text field;
    const char *end = csv_field(&r->csv, at, &field);
    if (end == NULL) {
        csv_error(&r->csv, column + 1, err, "quoted field has no end");
        return NULL;
    }
    while (field.length > 0 && (*field.at == ' ' || *field.at == '\t')) {
        field.at++;
        field.length--;
    }
    while (field.length > 0 &&
           (field.at[field.length - 1] == ' ' || field.at[field.length - 1] == '\t'))
        field.length--;
    cell->begin = cell->end = r->odd;
    if (field.length == 0)
        return end;
    if (field.length < sizeof r->odd) {
        memcpy(r->odd, field.at, field.length);
        r->odd[field.length] = '\0';
        cell->end = decimal_scan(r->odd, &cell->number);
    }
    if (field.length >= sizeof r->odd || cell->end != r->odd + field.length) {
        not_a_number(r, column, field.at, field.length, err);
        return NULL;
    }
    return end;
}

static inline const char *read_cell(struct sthem_reader *r, size_t column, const char *at,
                                    struct cell *cell, struct error *err)
{
    cell->begin = at;
    if (decimal_digit(at[0]) && at[1] == r->csv.separator) { /* fast path: absent sensors are "0" */
        cell->number = (struct decimal){.digits = (uint64_t)(at[0] - '0'), .plain = true};
        cell->end = at + 1;
        return at + 1;
    }
    const char *end = decimal_scan(at, &cell->number);
    if (end == NULL || (*end != r->csv.separator && end != r->csv.text + r->csv.length))
        return read_odd_cell(r, column, at, cell, err);
    cell->end = end;
    return end;
}

/* TIME * FACTOR, accurate to less than a picosecond. TIME must be below 2^122. */
static femto scale(femto time, double factor)
{
    enum { LOW = 48 };
    int exponent;
    int64_t digits = (int64_t)ldexp(frexp(factor, &exponent), 53); /* FACTOR = digits * 2^-shift */
    int shift = 53 - exponent;
    femto size = time < 0 ? -time : time;
    femto high = size >> LOW, low = size & (((femto)1 << LOW) - 1);
    femto scaled = high * digits + (low * digits >> LOW); /* 2^(shift - LOW) times the result */
    size = shift >= LOW ? scaled >> (shift - LOW) : scaled << (LOW - shift);
    return time < 0 ? -size : size;
}

/* Adds the duration in a row of a flat export, whose rows follow each other without gaps. */
static int add_duration(struct sthem_reader *r, size_t column, const struct cell *c, femto *time,
                        struct error *err)
{
    if (*time < 0)
        return csv_error(&r->csv, column + 1, err, "duration of %.*s, expected 0 or more",
                         (int)(c->end - c->begin), c->begin);
    if (*time > (femto)STHEM_MAX_TIME * FEMTO_PER_SECOND - r->flat)
        return csv_error(&r->csv, column + 1, err, "durations of more than %g s", STHEM_MAX_TIME);
    *time = r->flat += *time;
    return 0;
}

static int take_time(struct sthem_reader *r, size_t column, const struct cell *c, femto *time,
                     struct error *err)
{
    if (c->begin == c->end)
        return not_a_number(r, column, "", 0, err);
    double seconds = decimal_double(&c->number, c->begin, c->end) * r->options.time_factor;
    if (!(fabs(seconds) <= STHEM_MAX_TIME))
        return csv_error(&r->csv, column + 1, err, "time of %.*s%s, expected at most %g s",
                         (int)(c->end - c->begin), c->begin,
                         r->options.time_factor == 1 ? " s" : "", STHEM_MAX_TIME);
    *time = decimal_integer(&c->number, FEMTO);
    if (r->options.time_factor != 1)
        *time = scale(*time, r->options.time_factor);
    if (r->options.from_zero && *time < 0)
        return csv_error(&r->csv, column + 1, err, "time of %.*s, expected 0 or more",
                         (int)(c->end - c->begin), c->begin);
    return r->options.flat ? add_duration(r, column, c, time, err) : 0;
}

static inline int take_value(struct sthem_reader *r, size_t column, const struct cell *c,
                             double *value, struct error *err)
{
    if (c->begin == c->end)
        return not_a_number(r, column, "", 0, err);
    *value = decimal_double(&c->number, c->begin, c->end);
    if (!(fabs(*value) <= STHEM_MAX_POWER))
        return csv_error(&r->csv, column + 1, err, "%s of %.*s, expected at most %g",
                         meanings[r->columns[column].kind], (int)(c->end - c->begin), c->begin,
                         STHEM_MAX_POWER);
    return 0;
}

static inline uint32_t new_place(struct sthem_reader *r, uint64_t key, struct sthem_place place)
{
    uint32_t known = r->numbers.count, number = numbers_intern(&r->numbers, key);
    if (number == known)
        *MEM_AT(r->places, known, r->place_capacity) = place;
    return number;
}

/* The place of the program counter PC, given as printed. */
static inline uint32_t pc_place(struct sthem_reader *r, uint64_t pc)
{
    if (pc == 0)
        return STHEM_IDLE;
    pc += r->options.address_offset;
    return new_place(r, pc, (struct sthem_place){.pc = pc});
}

/* Scans a number such as "0x1f40" at AT, up to the end of the field. Returns the end of the field,
 * or NULL if there is another text. */
static const char *scan_hexadecimal(const struct sthem_reader *r, const char *at, uint64_t *pc)
{
    const char *end = r->csv.text + r->csv.length, *digit = at + 2;
    if (end - at < 3 || at[0] != '0' || (at[1] | 0x20) != 'x')
        return NULL;
    for (*pc = 0; digit < end && *digit != r->csv.separator; digit++) {
        bool letter = (*digit | 0x20) >= 'a' && (*digit | 0x20) <= 'f';
        if ((!letter && !decimal_digit(*digit)) || *pc >> 60 != 0)
            return NULL;
        *pc = *pc << 4 | (uint64_t)(letter ? (*digit | 0x20) - 'a' + 10 : *digit - '0');
    }
    return digit > at + 2 ? digit : NULL;
}

static inline int take_pc(struct sthem_reader *r, size_t column, const struct cell *c,
                          uint32_t *spot, struct error *err)
{
    const struct decimal *n = &c->number;
    if (c->begin == c->end) {
        *spot = STHEM_IDLE;
        return 0;
    }
    size_t length = (size_t)(c->end - c->begin);
    if (!n->plain)
        return not_a_number(r, column, c->begin, length, err);
    uint64_t pc = n->digits;
    if (n->cut && (n->exponent != 1 || __builtin_mul_overflow(pc, 10, &pc) ||
                   __builtin_add_overflow(pc, (uint64_t)(c->end[-1] - '0'), &pc)))
        return not_a_number(r, column, c->begin, length, err);
    *spot = pc_place(r, pc);
    return 0;
}

static bool same(struct csv_text a, const char *b)
{
    return strncmp(b, a.at, a.length) == 0 && b[a.length] == '\0';
}

static bool begins(struct csv_text t, const char *with)
{
    return t.length >= strlen(with) && strncmp(t.at, with, strlen(with)) == 0;
}

/* Outside the program, the sthem tool writes the module __External__ and a function with the number
 * of the core:
 *
 *   CPU1:Unknown           no program counter: returns false
 *   CPU1:app.elf:memcpy    becomes app.elf, memcpy
 *   CPU1:memcpy            becomes __External__, memcpy
 *
 * so that a function has the same name on every core. */
static bool is_somewhere(struct csv_text *module, struct csv_text *function)
{
    struct csv_text rest = *function;
    if (!begins(*module, "__External__") || module->length != strlen("__External__"))
        return module->length > 0 || function->length > 0;
    if (!begins(rest, "CPU"))
        return true;
    const char *end = rest.at + rest.length;
    rest.at += strlen("CPU");
    while (rest.at < end && decimal_digit(*rest.at))
        rest.at++;
    if (rest.at == end || *rest.at != ':')
        return true;
    rest.length = (size_t)(end - ++rest.at);
    if (rest.length == strlen("Unknown") && begins(rest, "Unknown"))
        return false;
    const char *colon = memchr(rest.at, ':', rest.length);
    if (colon != NULL && colon > rest.at && colon + 1 < end && colon[1] != ':') {
        *module = (struct csv_text){rest.at, (size_t)(colon - rest.at)};
        rest = (struct csv_text){colon + 1, (size_t)(end - colon - 1)};
    }
    *function = rest;
    return true;
}

/* The place named by the texts of CORE, which is usually that of the previous row. */
static uint32_t place_of(struct sthem_reader *r, struct core *core)
{
    if (!is_somewhere(&core->module, &core->function))
        return STHEM_IDLE;
    if (core->last_place != STHEM_IDLE) {
        const struct sthem_place *last = &r->places[core->last_place];
        if (same(core->function, last->function) && same(core->module, last->module))
            return core->last_place;
    }
    uint32_t m = strings_intern_bytes(r->texts, core->module.at, core->module.length);
    uint32_t f = strings_intern_bytes(r->texts, core->function.at, core->function.length);
    struct sthem_place place = {.module = strings_get(r->texts, m),
                                .function = strings_get(r->texts, f)};
    core->last_place = new_place(r, (uint64_t)m << 32 | f, place);
    return core->last_place;
}

static const char *read_text(struct sthem_reader *r, size_t column, const char *at,
                             struct csv_text *text, struct error *err)
{
    const char *end = csv_field(&r->csv, at, text);
    if (end == NULL)
        csv_error(&r->csv, column + 1, err, "quoted field has no end");
    return end;
}

/* Reads column COLUMN at AT into slot SLOT. Returns the end of its field, or NULL on an error. */
static const char *read_column(struct sthem_reader *r, size_t column, const char *at, size_t slot,
                               struct error *err)
{
    const struct column *c = &r->columns[column];
    struct cell cell;
    struct csv_text text;
    int result = 0;
    if (c->kind == COLUMN_IGNORED)
        return read_text(r, column, at, &text, err);
    if (c->kind == COLUMN_MODULE)
        return read_text(r, column, at, &r->cores[c->index].module, err);
    if (c->kind == COLUMN_FUNCTION)
        return read_text(r, column, at, &r->cores[c->index].function, err);
    uint64_t pc;
    const char *after = c->kind == COLUMN_PC ? scan_hexadecimal(r, at, &pc) : NULL;
    if (after != NULL) {
        r->spots[slot * r->core_count + c->index] = pc_place(r, pc);
        return after;
    }
    at = read_cell(r, column, at, &cell, err);
    if (at == NULL)
        return NULL;
    switch (c->kind) {
    case COLUMN_TIME:
        result = take_time(r, column, &cell, &r->held[slot].time, err);
        break;
    case COLUMN_PC:
        result = take_pc(r, column, &cell, &r->spots[slot * r->core_count + c->index], err);
        break;
    case COLUMN_VOLTAGE:
        result = take_value(r, column, &cell, &r->sensors[c->index].voltage, err);
        break;
    default:
        result = take_value(r, column, &cell, &r->sensors[c->index].current, err);
    }
    return result == 0 ? at : NULL;
}

uint64_t sthem_negative(const struct sthem_reader *r, size_t sensor, double *least)
{
    *least = r->sensors[sensor].least;
    return r->sensors[sensor].negative;
}

/* Computes the values of a row that depend on several columns. */
static int finish_row(struct sthem_reader *r, size_t slot, struct error *err)
{
    double *watts = r->watts + slot * r->sensor_count;
    for (size_t i = 0; i < r->sensor_count; i++) {
        struct sensor *s = &r->sensors[i];
        if (r->options.volts != 0)
            watts[i] = s->current * r->options.volts;
        else
            watts[i] = s->has_voltage ? s->current * s->voltage : s->current;
        if (watts[i] < 0) {
            s->negative++;
            s->least = watts[i] < s->least ? watts[i] : s->least;
        }
        if (!(fabs(watts[i]) <= STHEM_MAX_POWER))
            return csv_error(&r->csv, s->column, err, "power of %g W, expected at most %g W",
                             watts[i], STHEM_MAX_POWER);
    }
    uint32_t *spots = r->spots + slot * r->core_count;
    for (size_t i = 0; r->variant == STHEM_SYMBOLS && i < r->core_count; i++)
        spots[i] = place_of(r, &r->cores[i]);
    r->held[slot].line = r->csv.line;
    return 1;
}

/* Rejects fields after the last column, except for one empty field. */
static int check_rest(struct sthem_reader *r, const char *at, struct error *err)
{
    const char *end = r->csv.text + r->csv.length;
    if (at == end || at + 1 == end)
        return 0;
    return csv_error(&r->csv, r->column_count + 1, err, "more fields than columns (%zu)",
                     r->column_count);
}

static int refuse_nul(const struct sthem_reader *r, struct error *err)
{
    size_t column = 1;
    for (const char *at = r->csv.text; *at != '\0'; at++)
        column += *at == r->csv.separator;
    return csv_error(&r->csv, column, err, "NUL byte");
}

int sthem_read_row(struct sthem_reader *r, size_t slot, struct error *err)
{
    int got = csv_next(&r->csv, err);
    if (got <= 0)
        return got;
    const char *at = r->csv.text, *end = r->csv.text + r->csv.length;
    if (memchr(at, '\0', r->csv.length) != NULL)
        return refuse_nul(r, err);
    for (size_t i = 0; i < r->column_count; i++) {
        at = read_column(r, i, at, slot, err);
        if (at == NULL)
            return -1;
        bool last = i + 1 == r->column_count;
        if (at == end && !last &&
            !(i + 2 == r->column_count && r->columns[i + 1].kind == COLUMN_IGNORED))
            return csv_error(&r->csv, i + 1, err, "line has %zu fields, expected %zu", i + 1,
                             r->column_count);
        if (at == end)
            break;
        at += !last;
    }
    if (check_rest(r, at, err) != 0)
        return -1;
    return finish_row(r, slot, err);
}
