/* The callers of the functions of a metered program.
 * SPDX-License-Identifier: MIT */
#include "record/funcmeter/arcs.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/elf/elf_search.h"
#include "formats/elf/elf_symbols.h"

static const char unknown[] = "_unknown"; /* the label of aggregated profiles */

static int compare_places(const void *left, const void *right)
{
    const struct meter_call *a = left, *b = right;
    if (a->module != b->module)
        return a->module < b->module ? -1 : 1;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return (a->function > b->function) - (a->function < b->function);
}

static void read_table(struct meter_arcs *arcs, const struct meter_arc *table, uint32_t functions)
{
    for (uint32_t i = 0; i < METER_MAX_ARCS; i++) {
        const struct meter_arc *arc = &table[i];
        if (arc->calls == 0 || arc->function == 0 || arc->function >= functions)
            continue;
        mem_reserve(&arcs->items, &arcs->capacity, arcs->count + 1, sizeof *arcs->items);
        arcs->items[arcs->count++] = (struct meter_call){.module = arc->module,
                                                         .address = arc->address,
                                                         .function = arc->function,
                                                         .calls = arc->calls};
    }
}

/* Adds up calls of a function from the same place in several threads or processes. */
static void join_places(struct meter_arcs *arcs)
{
    size_t count = 0;
    if (arcs->count > 0)
        qsort(arcs->items, arcs->count, sizeof *arcs->items, compare_places);
    for (size_t i = 0; i < arcs->count; i++)
        if (count > 0 && compare_places(&arcs->items[count - 1], &arcs->items[i]) == 0)
            arcs->items[count - 1].calls += arcs->items[i].calls;
        else
            arcs->items[count++] = arcs->items[i];
    arcs->count = count;
}

/* Returns the name that tables show for the function to which SYMBOL, of the file at PATH, belongs.
 * Caller frees. */
static char *name_of(const struct planner *planner, const char *path,
                     const struct elf_symbol *symbol)
{
    uint32_t count;
    const struct meter_function *functions = planner_functions(planner, &count);
    if (symbol == NULL)
        return mem_strdup(unknown);
    for (uint32_t i = 1; i < count; i++)
        if (functions[i].address == symbol->address && strcmp(functions[i].path, path) == 0)
            return mem_strdup(functions[i].readable);
    const char *cold = strstr(symbol->name, ".cold"); /* a part of a function, without its name */
    char *plain = mem_strndup(symbol->name,
                              cold != NULL ? (size_t)(cold - symbol->name) : strlen(symbol->name));
    char *text = meter_readable_name(plain);
    free(plain);
    return text;
}

/* Names the callers of COUNT calls from one file. */
static void name_callers(struct meter_call *calls, size_t count, const struct planner *planner)
{
    int errnum;
    struct error unused = {0};
    const struct elf_search search = {0};
    const char *path = planner_module(planner, calls[0].module);
    struct elf_file *file = path != NULL ? elf_file_open(path, &errnum, &unused) : NULL;
    struct elf_file *debug = file != NULL ? elf_search_debug(&search, file, &unused) : NULL;
    struct elf_symbols *symbols = file != NULL ? elf_symbols_new(file, debug) : NULL;
    const struct elf_symbol *last = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct elf_symbol *symbol =
            symbols != NULL ? elf_symbols_find(symbols, calls[i].address - 1) : NULL;
        if (i > 0 && symbol != NULL && symbol == last)
            calls[i].caller = mem_strdup(calls[i - 1].caller);
        else
            calls[i].caller = name_of(planner, path, symbol);
        last = symbol;
    }
    elf_symbols_delete(symbols);
    elf_file_close(debug);
    elf_file_close(file);
}

static int compare_calls(const void *left, const void *right)
{
    const struct meter_call *a = left, *b = right;
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    if (a->calls != b->calls)
        return a->calls > b->calls ? -1 : 1;
    return compare_places(a, b);
}

void meter_arcs_read(struct meter_arcs *arcs, const struct session *session,
                     const struct planner *planner)
{
    uint32_t functions;
    planner_functions(planner, &functions);
    for (uint32_t b = 0; b < session_block_count(session); b++) {
        const struct meter_arc *table = session_arcs(session, b);
        if (table != NULL)
            read_table(arcs, table, functions);
    }
    join_places(arcs);
    for (size_t i = 0, end; i < arcs->count; i = end) {
        end = i + 1;
        while (end < arcs->count && arcs->items[end].module == arcs->items[i].module)
            end++;
        name_callers(arcs->items + i, end - i, planner);
    }
    if (arcs->count > 0)
        qsort(arcs->items, arcs->count, sizeof *arcs->items, compare_calls);
}

void meter_arcs_free(struct meter_arcs *arcs)
{
    for (size_t i = 0; i < arcs->count; i++)
        free(arcs->items[i].caller);
    free(arcs->items);
}

static const char *library_of(const struct meter_call *call, const struct planner *planner)
{
    const char *path = planner_module(planner, call->module);
    return path != NULL ? elf_base_name(path) : unknown;
}

void meter_arcs_write(const struct meter_arcs *arcs, const struct planner *planner,
                      const struct table_format *format, struct output *out)
{
    enum { CALLS, CALLER_LIBRARY, CALLER, RETURN, LIBRARY, FUNCTION, COLUMNS };
    static const struct table_column columns[COLUMNS] = {
        [CALLS] = TABLE_COLUMN("calls", "", false),
        [CALLER_LIBRARY] = TABLE_COLUMN("caller_library", "", true),
        [CALLER] = TABLE_COLUMN("caller", "", true),
        [RETURN] = TABLE_COLUMN("return_address", "", false),
        [LIBRARY] = TABLE_COLUMN("library", "", true),
        [FUNCTION] = TABLE_COLUMN("function", "", true),
    };
    uint32_t count;
    const struct meter_function *functions = planner_functions(planner, &count);
    const struct table_head head = {.columns = columns, .column_count = COLUMNS};
    struct table *table = table_open(format, out, &head);
    for (size_t i = 0; i < arcs->count; i++) {
        const struct meter_call *call = &arcs->items[i];
        const struct table_cell row[COLUMNS] = {
            [CALLS] = cell_count(call->calls),
            [CALLER_LIBRARY] = cell_text(library_of(call, planner)),
            [CALLER] = cell_text(call->caller),
            [RETURN] = cell_hex(call->address),
            [LIBRARY] = cell_text(functions[call->function].library),
            [FUNCTION] = cell_text(functions[call->function].readable),
        };
        table_row(table, row);
    }
    table_close(table);
}

/* An arc from function to function. */
struct arc {
    const char *text[4]; /* file and function of the caller, then of the called function */
    uint64_t calls;
};

static int compare_arcs(const void *left, const void *right)
{
    const struct arc *a = left, *b = right;
    int order = 0;
    for (int i = 0; i < 4 && order == 0; i++)
        order = strcmp(a->text[i], b->text[i]);
    return order;
}

void meter_arcs_put(const struct meter_arcs *arcs, const struct planner *planner,
                    struct pbin_writer *writer)
{
    uint32_t count;
    const struct meter_function *functions = planner_functions(planner, &count);
    struct arc *list = mem_zalloc(arcs->count + 1, sizeof *list);
    for (size_t i = 0; i < arcs->count; i++) {
        const struct meter_call *call = &arcs->items[i];
        const struct meter_function *function = &functions[call->function];
        list[i] = (struct arc){
            {library_of(call, planner), call->caller, function->library, function->readable},
            call->calls};
    }
    qsort(list, arcs->count, sizeof *list, compare_arcs);
    for (size_t i = 0, end; i < arcs->count; i = end) {
        uint64_t calls = 0;
        for (end = i; end < arcs->count && compare_arcs(&list[i], &list[end]) == 0; end++)
            calls += list[end].calls;
        uint32_t text[4];
        for (int k = 0; k < 4; k++)
            text[k] = pbin_define_string(writer, list[i].text[k]);
        pbin_put_arc(writer, &(struct pbin_arc){text[0], text[1], text[2], text[3], calls});
    }
    free(list);
}
