/* Command-line options of the tools that look for binaries.
 * SPDX-License-Identifier: MIT */
#include "formats/elf/elf_options.h"

#include "base/memory.h"
#include "base/tool.h"

enum { KEY_SYSROOT = KEY_TOOL_FIRST, KEY_DEBUG_DIR };

#define OPTIONS(flags)                                                                             \
    {"search-path", 's', "DIR", flags, "Look for binaries in DIR first (repeatable)", ELF_GROUP},  \
        {"sysroot",                                                                                \
         KEY_SYSROOT,                                                                              \
         "DIR",                                                                                    \
         flags,                                                                                    \
         "Look for absolute paths and system libraries below DIR",                                 \
         ELF_GROUP},                                                                               \
        {"debug-dir",                                                                              \
         KEY_DEBUG_DIR,                                                                            \
         "DIR",                                                                                    \
         0,                                                                                        \
         "Look for debug files in DIR before /usr/lib/debug (repeatable)",                         \
         ELF_GROUP},                                                                               \
    {                                                                                              \
        0                                                                                          \
    }

static const struct argp_option options[] = {OPTIONS(EVERYDAY)};
static const struct argp_option rare_options[] = {OPTIONS(0)};

void elf_add_folder(const char ***folders, size_t *count, const char *folder)
{
    *folders = mem_resize(*folders, *count + 1, sizeof **folders);
    (*folders)[(*count)++] = folder;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct elf_search *search = state->input;
    switch (key) {
    case 's':
        elf_add_folder(&search->folders, &search->folder_count, argument);
        return 0;
    case KEY_DEBUG_DIR:
        elf_add_folder(&search->debug_folders, &search->debug_folder_count, argument);
        return 0;
    case KEY_SYSROOT:
        search->sysroot = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp elf_argp = {.options = options, .parser = parse};
const struct argp elf_rare_argp = {.options = rare_options, .parser = parse};
