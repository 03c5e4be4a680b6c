/* Command-line options of the tools that look for binaries.
 * SPDX-License-Identifier: MIT */
#include "formats/elf/elf_options.h"

#include "base/memory.h"

#define OPTIONS(flags)                                                                             \
    {"search-path", 's', "DIR", flags, "Look for binaries in DIR first (repeatable)", ELF_GROUP},  \
        {"sysroot",                                                                                \
         ELF_KEY_SYSROOT,                                                                          \
         "DIR",                                                                                    \
         flags,                                                                                    \
         "Look for absolute paths and system libraries below DIR",                                 \
         ELF_GROUP},                                                                               \
        {"debug-dir",                                                                              \
         ELF_KEY_DEBUG_DIR,                                                                        \
         "DIR",                                                                                    \
         0,                                                                                        \
         "Look for debug files in DIR before /usr/lib/debug (repeatable)",                         \
         ELF_GROUP},                                                                               \
    {                                                                                              \
        0                                                                                          \
    }

static const struct argp_option options[] = {OPTIONS(EVERYDAY)};
static const struct argp_option rare_options[] = {OPTIONS(0)};

static void add_folder(const char ***folders, size_t *count, const char *folder)
{
    *folders = mem_resize(*folders, *count + 1, sizeof **folders);
    (*folders)[(*count)++] = folder;
}

error_t elf_take_option(struct elf_search *search, int key, const char *argument)
{
    switch (key) {
    case ELF_KEY_SEARCH_PATH:
        add_folder(&search->folders, &search->folder_count, argument);
        return 0;
    case ELF_KEY_DEBUG_DIR:
        add_folder(&search->debug_folders, &search->debug_folder_count, argument);
        return 0;
    case ELF_KEY_SYSROOT:
        search->sysroot = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    return elf_take_option(state->input, key == 's' ? ELF_KEY_SEARCH_PATH : key, argument);
}

const struct argp elf_argp = {.options = options, .parser = parse};
const struct argp elf_rare_argp = {.options = rare_options, .parser = parse};
