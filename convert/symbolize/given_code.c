/* Mappings for the program counters of a board or a trace, from a list or from a bare-metal
 * program.
 * SPDX-License-Identifier: MIT */
#include "convert/symbolize/given_code.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/tool.h"
#include "convert/symbolize/symbol_options.h"
#include "formats/elf/elf_file.h"
#include "formats/elf/elf_search.h"

static const struct argp_option arguments[] = {
    {"vmmap", 'm', "FILE", EVERYDAY, "Mappings, lines of HEXADDRESS HEXSIZE LABEL", ELF_GROUP},
    {"elf", 'e', "FILE", EVERYDAY, "Bare-metal program that ran at the addresses it was linked for",
     ELF_GROUP},
    {0}};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    static const struct tool_setting settings[] = {SET_TEXT('m', struct given_code_options, vmmap),
                                                   SET_TEXT('e', struct given_code_options, elf),
                                                   {0}};
    return tool_set(settings, state->input, key, argument, state);
}

const struct argp given_code_argp = {.options = arguments, .parser = parse};

void given_code_warn(const struct given_code_options *options, const char *file,
                     struct reporter *reporter)
{
    if (options->elf == NULL && options->vmmap == NULL)
        report_warning(
            reporter,
            "%s: program counters have no function names (-m VMMAP or -e ELF supplies them)", file);
}

static struct code_map *add_map(struct given_code *code, size_t *capacity)
{
    struct code_map *map = MEM_APPEND(code->maps, code->count, *capacity);
    *map = (struct code_map){0};
    return map;
}

/* Adds the executable segments of a program that runs at its link address. The image is kept in
 * memory, so that no search path can lead to another file of the same name. */
static int add_segments(struct given_code *code, size_t *capacity, const struct elf_file *elf,
                        const char *path, struct error *err)
{
    code->image = mem_alloc(elf->size);
    code->label = mem_strdup(elf_base_name(path));
    if (!elf_file_read(elf, 0, code->image, elf->size))
        return error_set(err, path, NO_OFFSET, "cannot read the whole file");
    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct elf_segment *s = &elf->segments[i];
        if (!s->executable || s->memory_size == 0)
            continue;
        struct code_map *map = add_map(code, capacity);
        *map = (struct code_map){.address = s->address,
                                 .size = s->memory_size,
                                 .label = code->label,
                                 .has_offset = true,
                                 .offset = s->offset,
                                 .image = code->image,
                                 .image_size = elf->size};
    }
    if (code->count == 0)
        return error_set(err, path, NO_OFFSET, "no executable segment: not a linked program");
    return 0;
}

static int add_elf(struct given_code *code, size_t *capacity, const char *path, struct error *err)
{
    int errnum;
    struct elf_file *elf = elf_file_open(path, &errnum, err);
    if (elf == NULL)
        return -1;
    int result = add_segments(code, capacity, elf, path, err);
    elf_file_close(elf);
    return result;
}

int given_code_read(const struct given_code_options *options, struct given_code *code,
                    struct error *err)
{
    size_t capacity = 0, vmmaps = 0;
    if (options->elf != NULL && add_elf(code, &capacity, options->elf, err) != 0)
        return -1;
    if (options->vmmap != NULL &&
        raw_vmmap_text_read(options->vmmap, &code->vmmaps, &vmmaps, err) != 0) {
        code->vmmaps = NULL; /* already freed */
        return -1;
    }
    for (size_t i = 0; i < vmmaps; i++) {
        struct code_map *map = add_map(code, &capacity);
        map->address = code->vmmaps[i].address;
        map->size = code->vmmaps[i].size;
        map->label = code->vmmaps[i].label;
    }
    return 0;
}

void given_code_free(struct given_code *code)
{
    free(code->vmmaps);
    free(code->image);
    free(code->label);
    free(code->maps);
}
