/* pbin-compare: shows what changed between profiles, and whether it is significant.
 *
 *   pbin-compare a.pbin b.pbin
 *
 *     base [s]  other [s]  difference [s]  ratio [%]  p  verdict  binary  function
 * SPDX-License-Identifier: MIT */
#include "analyze/compare/compare_options.h"

#include <stdlib.h>

enum { EXIT_CONDITION_MET = 3 };

static bool needs_quantity(enum compare_metric metric)
{
    return metric == COMPARE_ENERGY || metric == COMPARE_POWER;
}

#define NO_QUANTITY "no PMU values, or values of different kinds"

static int check_quantity(const struct compare_command *o, const struct compare *compare,
                          struct error *err)
{
    if (!needs_quantity(o->report.metric) || compare->quantity.name != NULL)
        return 0;
    return error_set(err, NULL, NO_OFFSET,
                     "energy and power cannot be compared: the profiles contain " NO_QUANTITY);
}

static int read_all(struct compare *compare, struct compare_command *o, struct error *err)
{
    struct run_set *set = NULL;
    for (size_t i = 0; i < o->input_count; i++) {
        if (i == 0 || o->inputs[i].set != o->inputs[i - 1].set)
            set = compare_add_set(compare);
        if (set == NULL || run_set_read(set, o->inputs[i].path, &o->common.reporter, err) != 0)
            return -1;
    }
    compare_finish(compare);
    if (compare_check_attribution(compare, &o->common.reporter, err) != 0)
        return -1;
    return check_quantity(o, compare, err);
}

/* Explains a table without rows or values. */
static void note_empty(const struct compare *compare, struct compare_command *o)
{
    struct error none = {0};
    if (compare_check_calls(compare, o->report.metric, &none) != 0)
        report_warning(&o->common.reporter, "%s", none.text);
    if (compare->count == 0)
        report_warning(&o->common.reporter,
                       "nothing is selected: no row is compared with these options");
}

/* Rejects conditions that can never fail, which would always pass, and those in another unit, which
 * are meaningless. */
static void refuse_senseless_conditions(const struct compare *compare,
                                        const struct compare_command *o)
{
    for (size_t i = 0; i < o->condition_count; i++) {
        if (needs_quantity(o->conditions[i].metric) && compare->quantity.name == NULL) {
            fprintf(
                stderr,
                "pbin-compare: --fail-if '%s' cannot be tested: the profiles contain " NO_QUANTITY
                "\n",
                o->conditions[i].text);
            exit(EXIT_USAGE);
        }
        if (!fail_if_fits(&o->conditions[i], compare)) {
            fprintf(stderr,
                    "pbin-compare: --fail-if '%s': the profiles contain %s [%s]: give the limit in "
                    "%%\n",
                    o->conditions[i].text, compare->quantity.name, compare->quantity.unit);
            exit(EXIT_USAGE);
        }
        if (!fail_if_can_fail(&o->conditions[i], compare)) {
            fprintf(stderr,
                    "pbin-compare: --fail-if '%s' can never fail: single runs do not show how "
                    "totals and powers vary; record several runs of each side: --base A1 A2 A3 "
                    "--with B1 B2 B3\n",
                    o->conditions[i].text);
            exit(EXIT_USAGE);
        }
    }
}

static int write_result(const struct compare *compare, struct compare_command *o, struct error *err)
{
    struct output *out = tool_output(&o->common, 0, err);
    if (out == NULL)
        return -1;
    o->report.color = tool_color(&o->common);
    o->report.style = tool_style(&o->common);
    report_compare(compare, &o->report,
                   table_format_choose(o->common.format, o->common.output, &table_text), out);
    return output_commit(out);
}

/* Checks all conditions. Returns the exit status. */
static int check_conditions(const struct compare *compare, const struct compare_command *o)
{
    size_t found = 0;
    bool untested = false;
    for (size_t i = 0; i < o->condition_count; i++)
        found += fail_if_check(&o->conditions[i], compare, o->names, &untested);
    return found > 0 ? EXIT_CONDITION_MET : untested ? EXIT_USAGE : EXIT_OK;
}

const char *argp_program_version = "pbin-compare (pbin-tools) " PBIN_TOOLS_VERSION;

int main(int argc, char **argv)
{
    struct compare_command o;
    struct error err = {0};
    compare_options_parse(&o, argc, argv);
    const struct elf_search search = {0};
    struct code_names *code = code_names_new(&search, &o.common.reporter);
    o.compare.rules.aggregate.rows.code = code;
    struct compare *compare = compare_new(&o.compare);
    int result = table_format_check(o.common.format, o.common.output, NULL, &err);
    if (result == 0)
        result = read_all(compare, &o, &err);
    if (result == 0) {
        note_empty(compare, &o);
        refuse_senseless_conditions(compare, &o);
    }
    if (result == 0)
        result = write_result(compare, &o, &err);
    bool compared =
        result == 0 || err.closed_pipe; /* conditions count even if the table is not read */
    int met = compared ? check_conditions(compare, &o) : EXIT_OK;
    compare_delete(compare);
    code_names_delete(code);
    compare_options_free(&o);
    int status = tool_end(&o.common, result, &err);
    return status == EXIT_OK ? met : status;
}
