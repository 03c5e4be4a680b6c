/* --fail-if.
 * SPDX-License-Identifier: MIT */
#include "analyze/compare/fail_if.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/utf8.h"

static const struct unit {
    const char *name;
    enum compare_metric metric;
    double factor;
} units[] = {
    {"s", COMPARE_TIME, 1},   {"ms", COMPARE_TIME, 1e-3},   {"us", COMPARE_TIME, 1e-6},
    {"J", COMPARE_ENERGY, 1}, {"mJ", COMPARE_ENERGY, 1e-3}, {"uJ", COMPARE_ENERGY, 1e-6},
    {"W", COMPARE_POWER, 1},  {"mW", COMPARE_POWER, 1e-3},  {"", COMPARE_SAMPLES, 1},
};

static const char *parse_limit(const char *text, struct gate *gate)
{
    size_t digits = strspn(text, "0123456789.eE+-");
    if (digits > 1 && (text[digits - 1] == 'e' || text[digits - 1] == 'E'))
        digits--;
    char *number = mem_strndup(text, digits);
    bool ok = parse_double(number, 0, 1e300, &gate->limit);
    free(number);
    if (!ok)
        return "the limit is no number of at least 0";
    gate->percent = strcmp(text + digits, "%") == 0;
    if (gate->percent)
        return NULL;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (units[i].metric == gate->metric && strcmp(units[i].name, text + digits) == 0) {
            gate->limit *= units[i].factor;
            return NULL;
        }
    return "the limit ends in % or the unit of its metric: s, ms, us; J, mJ, uJ; W, mW; none for "
           "samples";
}

const char *gate_parse(const char *text, struct gate *gate)
{
    *gate = (struct gate){.text = text};
    if (strncmp(text, "total:", 6) == 0) {
        gate->total = true;
        text += 6;
    }
    size_t length = strcspn(text, ">");
    int metric = compare_metric_parse(text, length);
    if (metric < 0 || metric > COMPARE_SAMPLES)
        return "the metric is one of time, energy, power and samples";
    if (text[length] != '>')
        return "'>' and a limit are missing";
    gate->metric = (enum compare_metric)metric;
    return parse_limit(text + length + 1, gate);
}

static const struct side_row *pick(const struct compare *c, size_t row, size_t side)
{
    return row < c->count ? c->rows[row].side[side] : &c->sides[side].total;
}

/* A row that is not in the base grows by infinitely many percent. */
static bool exceeds(const struct gate *gate, double base, double value)
{
    double increase = value - base;
    return gate->percent ? increase > gate->limit / 100 * fabs(base) : increase > gate->limit;
}

static char *describe(const struct compare *c, const struct side_row *row)
{
    char *text = mem_strdup("");
    for (size_t i = 0; i < compare_keys(c)->count; i++) {
        const char *key = compare_text(c, row, i);
        char *number = mem_printf("%llu", (unsigned long long)row->key[i]);
        char *longer = mem_printf("%s%s%s", text, i > 0 ? " " : "", key != NULL ? key : number);
        free(number);
        free(text);
        text = longer;
    }
    char *visible = utf8_visible(text, NULL);
    free(text);
    return visible;
}

static void print(const struct gate *gate, const struct compare *c, size_t row, size_t side,
                  const char *name, double p, const struct reporter *reporter)
{
    const struct side_row *a = pick(c, row, 0), *b = pick(c, row, side);
    double base = side_value(&c->sides[0], a, gate->metric);
    double value = side_value(&c->sides[side], b, gate->metric);
    char *what = row < c->count ? describe(c, b != NULL ? b : a) : mem_strdup(LABEL_TOTAL);
    fprintf(stderr, "%s: %s: %s: %s: %.6g, base %.6g, p %.3g\n", reporter->tool, gate->text, name,
            what, value, base, p);
    free(what);
}

size_t gate_check(const struct gate *gate, const struct compare *c, const char *const *names,
                  struct reporter *reporter)
{
    struct judgement *judgements = mem_zalloc(c->count + 1, sizeof *judgements);
    size_t found = 0, first = gate->total ? c->count : 0,
           end = gate->total ? c->count + 1 : c->count;
    for (size_t side = 1; side < c->side_count; side++) {
        compare_judge(c, side, gate->metric, judgements);
        if (gate->total && isnan(judgements[c->count].p))
            report_warning(reporter, "%s: %s: totals can be judged only with several runs a side",
                           gate->text, names[side]);
        for (size_t i = first; i < end; i++) {
            double base = side_value(&c->sides[0], pick(c, i, 0), gate->metric);
            double value = side_value(&c->sides[side], pick(c, i, side), gate->metric);
            if (!judgements[i].significant || !exceeds(gate, base, value))
                continue;
            print(gate, c, i, side, names[side], judgements[i].p, reporter);
            found++;
        }
    }
    free(judgements);
    return found;
}
