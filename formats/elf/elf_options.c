/* Command-line options of the tools that look for binaries.
 * SPDX-License-Identifier: MIT */
#include "formats/elf/elf_options.h"

#include "base/memory.h"
#include "base/tool.h"

enum { KEY_SYSROOT = KEY_TOOL_FIRST };

static const struct argp_option options[] = {
    {"search-path", 's', "DIR", 0, "Look for binaries in DIR first (repeatable)", ELF_GROUP},
    {"sysroot", KEY_SYSROOT, "DIR", 0, "Look for absolute paths and system libraries below DIR",
     ELF_GROUP},
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct elf_search *search = state->input;
    switch (key) {
    case 's':
        search->folders =
            mem_resize(search->folders, search->folder_count + 1, sizeof *search->folders);
        search->folders[search->folder_count++] = argument;
        return 0;
    case KEY_SYSROOT:
        search->sysroot = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp elf_argp = {.options = options, .parser = parse};
