/* Options of the tools that read symbols.
 * SPDX-License-Identifier: MIT */
#include "convert/symbolize/symbol_options.h"

#include "base/tool.h"

enum { KEY_KALLSYMS = KEY_TOOL_FIRST, KEY_NO_DWARF, KEY_NO_CACHE, KEY_NO_DEBUGINFOD };

static const struct argp_option debug_options[] = {
    {"no-dwarf", KEY_NO_DWARF, NULL, 0, "Read symbol tables only: no source files or lines",
     ELF_GROUP},
    {"no-cache", KEY_NO_CACHE, NULL, 0, "Neither use nor write the cache of debug information",
     ELF_GROUP},
    {"no-debuginfod", KEY_NO_DEBUGINFOD, NULL, 0,
     "Do not ask the servers in DEBUGINFOD_URLS for debug files", ELF_GROUP},
    {0}};

static const struct tool_setting settings[] = {
    SET_FLAG(KEY_NO_DWARF, struct symbolizer_options, no_dwarf),
    SET_FLAG(KEY_NO_CACHE, struct symbolizer_options, no_cache),
    SET_FLAG(KEY_NO_DEBUGINFOD, struct symbolizer_options, no_debuginfod),
    SET_TEXT(KEY_KALLSYMS, struct symbolizer_options, kallsyms),
    {0}};

static error_t parse_debug(int key, char *argument, struct argp_state *state)
{
    return tool_set(settings, state->input, key, argument, state);
}

const struct argp debug_argp = {.options = debug_options, .parser = parse_debug};

static const struct argp_option options[] = {{"kallsyms", KEY_KALLSYMS, "FILE", 0,
                                              "Names of kernel functions: a copy of /proc/kallsyms",
                                              ELF_GROUP},
                                             {0}};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct symbolizer_options *o = state->input;
    if (key != ARGP_KEY_INIT)
        return tool_set(settings, o, key, argument, state);
    state->child_inputs[0] = &o->search;
    state->child_inputs[1] = o;
    return 0;
}

static const struct argp_child children[] = {{.argp = &elf_argp}, {.argp = &debug_argp}, {0}};
const struct argp symbol_argp = {.options = options, .parser = parse, .children = children};
