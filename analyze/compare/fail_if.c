/* The option --fail-if.
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
    {"s", COMPARE_TIME, 1},          {"ms", COMPARE_TIME, 1e-3},   {"us", COMPARE_TIME, 1e-6},
    {"J", COMPARE_ENERGY, 1},        {"mJ", COMPARE_ENERGY, 1e-3}, {"uJ", COMPARE_ENERGY, 1e-6},
    {"W", COMPARE_POWER, 1},         {"mW", COMPARE_POWER, 1e-3},  {"", COMPARE_SAMPLES, 1},
    {"", COMPARE_CALLS, 1},          {"s", COMPARE_INCLUSIVE, 1},  {"ms", COMPARE_INCLUSIVE, 1e-3},
    {"us", COMPARE_INCLUSIVE, 1e-6}, {"s", COMPARE_CALL_TIME, 1},  {"ms", COMPARE_CALL_TIME, 1e-3},
    {"us", COMPARE_CALL_TIME, 1e-6},
};

static const char *parse_limit(const char *text, struct fail_if *condition)
{
    size_t digits = strspn(text, "0123456789.eE+-");
    if (digits > 1 && (text[digits - 1] == 'e' || text[digits - 1] == 'E'))
        digits--;
    char *number = mem_strndup(text, digits);
    bool ok = parse_double(number, 0, 1e300, &condition->limit);
    free(number);
    if (!ok)
        return "the limit must be a number >= 0";
    condition->percent = strcmp(text + digits, "%") == 0;
    if (condition->percent)
        return NULL;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (units[i].metric == condition->metric && strcmp(units[i].name, text + digits) == 0) {
            condition->limit *= units[i].factor;
            return NULL;
        }
    return "the limit must end in % or a unit of its metric: s, ms, us; J, mJ, uJ; W, mW; none for "
           "samples and calls";
}

const char *fail_if_parse(const char *text, struct fail_if *condition)
{
    *condition = (struct fail_if){.text = text};
    if (strncmp(text, "total:", 6) == 0) {
        condition->total = true;
        text += 6;
    }
    size_t length = strcspn(text, ">");
    int metric = compare_metric_parse(text, length);
    if (metric < 0 || (metric > COMPARE_SAMPLES && metric < COMPARE_CALLS))
        return "the metric must be time, energy, power, samples, calls, inclusive or call-time";
    if (text[length] != '>')
        return "missing '>' and a limit";
    condition->metric = (enum compare_metric)metric;
    return parse_limit(text + length + 1, condition);
}

static const struct run_set_row *pick(const struct compare *c, size_t row, size_t set)
{
    return row < c->count ? c->rows[row].set[set] : &c->sets[set].total;
}

/* A row that is not in the base increases by infinitely many percent. */
static bool exceeds(const struct fail_if *condition, double base, double value)
{
    double increase = value - base;
    return condition->percent ? increase > condition->limit / 100 * fabs(base)
                              : increase > condition->limit;
}

static char *describe(const struct compare *c, const struct run_set_row *row)
{
    char *text = mem_strdup("");
    for (size_t i = 0; i < compare_keys(c)->count; i++) {
        const char *key = compare_text(c, row, i);
        char *number = mem_printf("%llu", (unsigned long long)row->key[i]);
        mem_append(&text, "%s%s", i > 0 ? " " : "", key != NULL ? key : number);
        free(number);
    }
    char *visible = utf8_visible(text, NULL);
    free(text);
    return visible;
}

static bool is_energy(const struct quantity *q)
{
    return q->name == NULL || strcmp(q->name, "energy") == 0;
}

static const char *unit_of(enum compare_metric metric, const struct quantity *q)
{
    bool joules = is_energy(q);
    bool time =
        metric == COMPARE_TIME || metric == COMPARE_INCLUSIVE || metric == COMPARE_CALL_TIME;
    return time                                 ? " s"
           : metric == COMPARE_ENERGY && joules ? " J"
           : metric == COMPARE_POWER && joules  ? " W"
                                                : "";
}

bool fail_if_fits(const struct fail_if *condition, const struct compare *c)
{
    bool energy = condition->metric == COMPARE_ENERGY || condition->metric == COMPARE_POWER;
    return condition->percent || !energy || is_energy(&c->quantity);
}

bool fail_if_can_fail(const struct fail_if *condition, const struct compare *c)
{
    for (size_t set = 1; set < c->set_count; set++) {
        enum compare_test test = compare_test_of(c, set, condition->metric);
        if (test == TEST_NONE || (condition->total && test == TEST_SAMPLING))
            return false;
    }
    return true;
}

static void print(const struct fail_if *condition, const struct compare *c, size_t row, size_t set,
                  const char *name, double p)
{
    const struct run_set_row *a = pick(c, row, 0), *b = pick(c, row, set);
    double base = run_set_value(&c->sets[0], a, condition->metric);
    double value = run_set_value(&c->sets[set], b, condition->metric);
    char *what = row < c->count ? describe(c, b != NULL ? b : a) : mem_strdup(LABEL_TOTAL);
    const char *unit = unit_of(condition->metric, &c->quantity);
    fprintf(stderr, "pbin-compare: %s: %s: %s: %.6g%s, base %.6g%s, p %.3g\n", condition->text,
            name, what, value, unit, base, unit, p);
    free(what);
}

/* Rows that change like the total are not significant, however large the change is. */
static bool total_hides_rows(const struct fail_if *condition, const struct compare *c, size_t set)
{
    double base = run_set_value(&c->sets[0], &c->sets[0].total, condition->metric);
    double value = run_set_value(&c->sets[set], &c->sets[set].total, condition->metric);
    return !condition->total && compare_unexplained(c, set, condition->metric) > 1 &&
           exceeds(condition, base, value);
}

/* Checks run set number SET, whose results are RESULTS. Returns the number of rows that meet the
 * condition. Sets *TESTED to whether any row could be tested, or there are no rows. */
static size_t check_set(const struct fail_if *condition, const struct compare *c, size_t set,
                        const struct significance *results, const char *name, bool *tested)
{
    size_t found = 0, first = condition->total ? c->count : 0,
           end = condition->total ? c->count + 1 : c->count;
    *tested = first == end;
    for (size_t i = first; i < end; i++) {
        double base = run_set_value(&c->sets[0], pick(c, i, 0), condition->metric);
        double value = run_set_value(&c->sets[set], pick(c, i, set), condition->metric);
        *tested |= !isnan(results[i].p) && (fabs(base) > 0 || fabs(value) > 0);
        if (!results[i].significant || !exceeds(condition, base, value))
            continue;
        print(condition, c, i, set, name, results[i].p);
        found++;
    }
    return found;
}

size_t fail_if_check(const struct fail_if *condition, const struct compare *c,
                     const char *const *names, bool *untested)
{
    size_t found = 0;
    struct significance *results = compare_significance(c, condition->metric);
    for (size_t set = 1; set < c->set_count; set++) {
        bool tested;
        size_t rows =
            check_set(condition, c, set, results + set * (c->count + 1), names[set], &tested);
        found += rows;
        if (!tested) {
            fprintf(stderr,
                    "pbin-compare: --fail-if '%s' cannot be tested: nothing in %s has enough "
                    "values of this metric to be compared with the base\n",
                    condition->text, names[set]);
            *untested = true;
            continue;
        }
        if (rows > 0 || !total_hides_rows(condition, c, set))
            continue;
        fprintf(stderr,
                "pbin-compare: --fail-if '%s' cannot be tested: everything in %s takes about %.3g "
                "times as much as in the base, and single runs do not show whether the machine "
                "changed; record several runs of each side: --base A1 A2 A3 --with B1 B2 B3\n",
                condition->text, names[set], compare_unexplained(c, set, condition->metric));
        *untested = true;
    }
    free(results);
    return found;
}
