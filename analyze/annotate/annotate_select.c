/* Annotation: minima and levels of detail.
 * SPDX-License-Identifier: MIT */
#include "analyze/annotate/annotate_select.h"

#include <float.h>
#include <string.h>

#include "analyze/annotate/annotate_values.h"
#include "analyze/attribute/labels.h"
#include "base/name_list.h"
#include "base/number.h"

const char *const annotate_metric_names[HEATS] = {"time", "energy", "samples"};
static const enum annotate_value values[] = {ANNOTATE_TIME, ANNOTATE_ENERGY, ANNOTATE_SAMPLES};

bool annotate_level_parse(const char *text, size_t length, enum annotate_level *level)
{
    static const char *const names[] = {"binary", "function", "block", "instruction", "line"};
    int number = name_find_part(names, 5, text, length);
    *level =
        number >= 0 && number < LEVEL_INSTRUCTION ? (enum annotate_level)number : LEVEL_INSTRUCTION;
    return number >= 0;
}

const char *annotate_minimum_parse(const char *text, struct annotate_minimum *minimum)
{
    size_t level_length = strcspn(text, ":");
    if (!annotate_level_parse(text, level_length, &minimum->level) || text[level_length] != ':')
        return "binary:, function:, block:, line: or instruction: and METRIC=N";
    const char *name = text + level_length + 1;
    size_t name_length = strcspn(name, "=");
    int metric = name_find_part(annotate_metric_names, HEATS, name, name_length);
    if (name[name_length] != '=' || metric < 0)
        return "time=, energy= or samples= after the colon";
    if (!parse_double(name + name_length + 1, 0, DBL_MAX, &minimum->least))
        return "a number of at least 0 after '='";
    minimum->metric = (enum annotate_metric)metric;
    return NULL;
}

bool annotate_has_minimum(const struct annotation *a, enum annotate_level level)
{
    for (size_t i = 0; i < a->options->minimum_count; i++)
        if (a->options->minima[i].level == level)
            return true;
    return false;
}

bool annotate_reaches(const struct annotation *a, enum annotate_level level,
                      const struct annotate_sums *sums)
{
    for (size_t i = 0; i < a->options->minimum_count; i++) {
        const struct annotate_minimum *m = &a->options->minima[i];
        if (m->level == level && annotation_value(a, sums, values[m->metric]) < m->least)
            return false;
    }
    return true;
}

bool annotation_folds(const struct annotation *a)
{
    return a->options->has_context || annotate_has_minimum(a, LEVEL_INSTRUCTION) ||
           annotate_has_minimum(a, LEVEL_BLOCK);
}

bool annotation_is_shown(const struct annotation *a, const struct annotate_sums *sums,
                         const struct annotate_function *function)
{
    return (!a->options->has_context || annotation_is_hot(a, sums, function)) &&
           annotate_reaches(a, LEVEL_INSTRUCTION, sums);
}

static enum annotate_level level_of(const struct annotation *a, const struct annotate_function *f)
{
    const char *target = a->meta.target, *binary = annotation_text(a, f->rows->binary);
    bool external =
        target != NULL && f->rows->binary != 0 && strcmp(label_unlike(target), binary) != 0;
    return external ? a->options->external_level : a->options->level;
}

size_t annotate_select(const struct annotation *a, struct annotate_function *functions,
                       size_t count)
{
    struct numbers binaries = {0}; /* shown as a whole */
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct annotate_function f = functions[i];
        if (!annotate_reaches(a, LEVEL_BINARY, &f.binary_sums) ||
            !annotate_reaches(a, LEVEL_FUNCTION, &f.sums))
            continue;
        f.level = level_of(a, &f);
        if (f.level == LEVEL_BINARY) {
            uint32_t known = binaries.count;
            if (numbers_intern(&binaries, f.rows->binary) < known)
                continue;
            f.sums = f.binary_sums;
        }
        functions[kept++] = f;
    }
    numbers_free(&binaries);
    return kept;
}
