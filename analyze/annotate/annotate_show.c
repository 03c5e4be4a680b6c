/* Annotation: chooses functions, and shows them.
 * SPDX-License-Identifier: MIT */
#include "analyze/annotate/annotate_show.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/annotate/annotate_asm.h"
#include "analyze/annotate/annotate_select.h"
#include "analyze/annotate/annotate_source.h"
#include "analyze/annotate/annotate_values.h"
#include "analyze/attribute/selection.h"
#include "base/memory.h"
#include "base/similar.h"

static int compare_rows(const void *left, const void *right)
{
    const struct annotate_row *a = left, *b = right;
    const uint64_t mine[] = {a->binary, a->function, a->module, a->address,
                             a->file,   a->line,     a->inner};
    const uint64_t theirs[] = {b->binary, b->function, b->module, b->address,
                               b->file,   b->line,     b->inner};
    for (size_t i = 0; i < sizeof mine / sizeof mine[0]; i++)
        if (mine[i] != theirs[i])
            return mine[i] < theirs[i] ? -1 : 1;
    return 0;
}

/* Groups rows into functions, by binary and name. The caller frees them. */
static struct annotate_function *group(struct annotation *a, size_t *count)
{
    struct annotate_function *functions = NULL;
    size_t capacity = 0;
    *count = 0;
    if (a->row_count > 0)
        qsort(a->rows, a->row_count, sizeof *a->rows, compare_rows);
    for (size_t i = 0; i < a->row_count; i++) {
        struct annotate_row *row = &a->rows[i];
        if (i == 0 || row->binary != row[-1].binary || row->function != row[-1].function) {
            mem_reserve(&functions, &capacity, *count + 1, sizeof *functions);
            functions[(*count)++] = (struct annotate_function){.rows = row};
        }
        functions[*count - 1].count++;
        annotate_sums_add(&functions[*count - 1].sums, &row->sums);
    }
    return functions;
}

/* Sets the sums of the binary in each of the functions, which are sorted by binary. */
static void add_binaries(struct annotate_function *functions, size_t count)
{
    for (size_t i = 0, n; i < count; i += n) {
        struct annotate_sums all = {0};
        for (n = 0; i + n < count && functions[i + n].rows->binary == functions[i].rows->binary;
             n++)
            annotate_sums_add(&all, &functions[i + n].sums);
        for (size_t k = i; k < i + n; k++)
            functions[k].binary_sums = all;
    }
}

static int compare_functions(const void *left, const void *right, void *opaque)
{
    const struct annotate_function *f = left, *g = right;
    const struct annotation *a = opaque;
    double mine = annotation_metric(a, &f->sums), theirs = annotation_metric(a, &g->sums);
    if (mine != theirs)
        return mine > theirs ? -1 : 1;
    int order =
        strcmp(annotation_text(a, f->rows->function), annotation_text(a, g->rows->function));
    return order != 0
               ? order
               : strcmp(annotation_text(a, f->rows->binary), annotation_text(a, g->rows->binary));
}

/* MATCHED[i] counts the matches of glob i. */
static bool is_wanted(const struct annotation *a, const struct annotate_function *f,
                      size_t *matched)
{
    const char *name = annotation_text(a, f->rows->function);
    bool wanted = false;
    for (size_t i = 0; i < a->options->function_count; i++)
        if (function_matches(a->options->functions[i], name)) {
            matched[i]++;
            wanted = true;
        }
    return wanted;
}

/* Returns whether the function has anything to show: a line, or an address in a file. */
static bool has_code(const struct annotation *a, const struct annotate_function *f)
{
    for (size_t i = 0; i < f->count; i++)
        if (a->options->assembly ? f->rows[i].module != NO_MODULE : f->rows[i].line != 0)
            return true;
    return false;
}

/* Without -f, chooses the first function that has code to show, or else the first one. */
static size_t choose_first(const struct annotation *a, struct annotate_function *functions,
                           size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (has_code(a, &functions[i])) {
            functions[0] = functions[i];
            break;
        }
    return count > 0;
}

/* The name of a function that is most similar to glob number I. */
static struct similar find_similar(const struct annotation *a,
                                   const struct annotate_function *functions, size_t count,
                                   size_t i)
{
    struct similar similar = {.wanted = a->options->functions[i]};
    for (size_t f = 0; f < count; f++)
        similar_try(&similar, annotation_text(a, functions[f].rows->function));
    return similar;
}

static void warn_of_unmatched(const struct annotation *a, const struct annotate_function *functions,
                              size_t count, size_t i)
{
    const struct similar similar = find_similar(a, functions, count, i);
    char *hint = similar_text(&similar);
    report_warning(a->reporter, "no function matches '%s'%s", similar.wanted, hint);
    free(hint);
}

static void note_empty(const struct annotation *a, const struct annotate_function *functions,
                       size_t count)
{
    const struct similar similar = find_similar(a, functions, count, 0);
    char *hint = similar_text(&similar);
    if (similar.best != NULL)
        report_warning(a->reporter, "nothing is selected: no function matches '%.100s'%s",
                       similar.wanted, hint);
    else
        report_warning(
            a->reporter,
            "nothing is selected: no function matches '%.100s' (the largest is '%.100s'; "
            "pbin-aggregate lists all)",
            similar.wanted, annotation_text(a, functions->rows->function));
    free(hint);
}

static size_t choose(const struct annotation *a, struct annotate_function *functions, size_t count)
{
    size_t kept = 0, wanted = 0;
    if (a->options->all)
        return count;
    if (a->options->function_count == 0)
        return choose_first(a, functions, count);
    size_t *matched = mem_zalloc(a->options->function_count, sizeof *matched);
    for (size_t i = 0; i < count; i++)
        wanted += is_wanted(a, &functions[i], matched);
    for (size_t i = 0; i < a->options->function_count && wanted > 0; i++)
        if (matched[i] == 0)
            warn_of_unmatched(a, functions, count, i);
    for (size_t i = 0; i < count && wanted > 0; i++)
        if (is_wanted(a, &functions[i], matched))
            functions[kept++] = functions[i];
    free(matched);
    return kept;
}

/* Selects what is shown. The COUNT functions are sorted, largest first. Returns the number of
 * remaining functions. */
static size_t narrow(struct annotation *a, struct annotate_function *functions, size_t count)
{
    size_t chosen = choose(a, functions, count);
    if (chosen == 0)
        note_empty(a, functions, count);
    size_t kept = annotate_select(a, functions, chosen);
    if (chosen > 0 && kept == 0)
        report_warning(a->reporter, "nothing is selected: no %s reaches --min",
                       annotate_has_minimum(a, LEVEL_FUNCTION) ? "function" : "binary");
    if (kept > 0)
        qsort_r(functions, kept, sizeof *functions, compare_functions, a);
    return kept;
}

static void show(struct annotation *a, struct annotate_function *functions, size_t count,
                 const struct table_format *format, struct output *out)
{
    struct code_files *files = NULL;
    if (a->options->assembly)
        files = code_files_new(&a->options->search, a->options->intel, a->reporter);
    struct listing *listing = listing_open(a, format, out);
    for (size_t i = 0; i < count; i++) {
        listing_begin(listing, &functions[i]);
        if (functions[i].level <= LEVEL_FUNCTION)
            listing_total(listing, &functions[i]);
        else if (files != NULL)
            show_assembly(listing, &functions[i], files);
        else
            show_source(listing, &functions[i]);
        listing_end(listing);
    }
    listing_close(listing);
    code_files_delete(files);
}

int annotation_show(struct annotation *a, const struct table_format *format, struct output *out,
                    struct error *err)
{
    size_t count;
    if (!a->any)
        return error_set(err, NULL, NO_OFFSET, "no profile was read");
    struct annotate_function *functions = group(a, &count);
    if (count == 0)
        return error_set(err, NULL, NO_OFFSET, "profile without samples: nothing to annotate");
    add_binaries(functions, count);
    qsort_r(functions, count, sizeof *functions, compare_functions, a);
    show(a, functions, narrow(a, functions, count), format, out);
    free(functions);
    return 0;
}
