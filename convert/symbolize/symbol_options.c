/* Options of the tools that look for binaries and their symbols.
 * SPDX-License-Identifier: MIT */
#include "convert/symbolize/symbol_options.h"

#include "base/memory.h"
#include "base/tool.h"

enum { KEY_SYSROOT = KEY_TOOL_FIRST, KEY_KALLSYMS, KEY_NO_DWARF };

static const struct argp_option search_options[] =
    {{"search-path", 's', "DIR", 0, "Look for binaries in DIR first (repeatable)", SYMBOL_GROUP},
     {"sysroot", KEY_SYSROOT, "DIR", 0, "Look for absolute paths and system libraries below DIR",
      SYMBOL_GROUP},
     {0}},
                                symbol_options[] = {
                                    {"kallsyms", KEY_KALLSYMS, "FILE", 0,
                                     "Names of the kernel, a copy of /proc/kallsyms", SYMBOL_GROUP},
                                    {"no-dwarf", KEY_NO_DWARF, NULL, 0,
                                     "Symbol tables only: no source files and lines", SYMBOL_GROUP},
                                    {0}};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct symbolizer_options *o = state->input;
    switch (key) {
    case 's':
        o->search_paths =
            mem_resize(o->search_paths, o->search_path_count + 1, sizeof *o->search_paths);
        o->search_paths[o->search_path_count++] = argument;
        return 0;
    case KEY_SYSROOT:
        o->sysroot = argument;
        return 0;
    case KEY_KALLSYMS:
        o->kallsyms = argument;
        return 0;
    case KEY_NO_DWARF:
        o->no_dwarf = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp search_argp = {.options = search_options, .parser = parse};
const struct argp symbol_argp = {.options = symbol_options, .parser = parse};
