/* The ELF file of one binary of a pbin.
 * SPDX-License-Identifier: MIT */
#include "convert/symbolize/profiled_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/attribute/labels.h"
#include "base/memory.h"

static const char *text_of(const struct pbin_definitions *all, uint32_t number)
{
    return strings_get(all->strings, number);
}

struct matching {
    struct profiled_file *file;
    const struct pbin_definitions *all;
};

/* Returns whether FILE fits its mappings: at least one must fit, and none may be of another
 * build. */
static int fits(void *context, const struct elf_file *file, struct error *err)
{
    const struct matching *matching = context;
    const struct pbin_definitions *all = matching->all;
    struct profiled_file *f = matching->file;
    struct error refused = {0};
    bool any = f->map_count == 0;
    for (size_t i = 0; i < f->map_count; i++) {
        const struct pbin_map *map = &all->maps[i];
        struct error why = {0};
        if (strcmp(elf_base_name(text_of(all, map->label)), f->name) != 0)
            continue;
        f->mappings[i] = (struct elf_mapping){.address = map->address,
                                              .size = map->size,
                                              .has_offset = map->offset != UINT64_MAX,
                                              .offset = map->offset,
                                              .build_id = text_of(all, map->build_id)};
        f->is_mine[i] = elf_match(file, &f->mappings[i], &why) == 0;
        any |= f->is_mine[i];
        if (!f->is_mine[i])
            error_pass(&refused, &why);
    }
    if (any)
        return 0;
    error_set(&refused, file->path, NO_OFFSET, "the profile has no mapping of this file");
    return error_pass(err, &refused);
}

/* Returns the first mapping called NAME, or NULL. */
static const struct pbin_map *map_called(const struct pbin_definitions *all, const char *name)
{
    for (size_t i = 0; i < all->map_count; i++)
        if (strcmp(elf_base_name(text_of(all, all->maps[i].label)), name) == 0)
            return &all->maps[i];
    return NULL;
}

static struct elf_file *open_chosen(const char *path, struct matching *matching, struct error *err)
{
    int errnum;
    struct elf_file *image = elf_file_open(path, &errnum, err);
    if (image == NULL || fits(matching, image, err) == 0)
        return image;
    elf_file_close(image);
    return NULL;
}

int profiled_file_find(struct profiled_file *f, const char *choice,
                       const struct pbin_definitions *all, const struct pbin_meta *meta,
                       const struct elf_search *search, struct error *err)
{
    struct matching matching = {f, all};
    const char *name = choice;
    *f = (struct profiled_file){.map_count = all->map_count};
    f->is_mine = mem_zalloc(all->map_count, sizeof *f->is_mine);
    f->mappings = mem_zalloc(all->map_count, sizeof *f->mappings);
    if (name == NULL) /* maps are in the order of their first samples */
        name = meta->target != NULL ? meta->target
               : all->map_count > 0 ? text_of(all, all->maps[0].label)
                                    : NULL;
    if (name == NULL)
        return error_set(err, NULL, NO_OFFSET,
                         "the profile does not name its program: name it with -e FILE");
    f->name = mem_strdup(elf_base_name(name));
    if (choice != NULL && access(choice, F_OK) == 0) {
        f->image = open_chosen(choice, &matching, err);
    } else {
        const struct pbin_map *map = map_called(all, f->name);
        const struct elf_sought sought = {.label = map != NULL ? text_of(all, map->label) : f->name,
                                          .path = map != NULL ? text_of(all, map->path) : NULL};
        f->image = elf_search_file(search, &sought, fits, &matching, err);
    }
    return f->image != NULL
               ? 0
               : error_set(err, f->name, NO_OFFSET,
                           "not found: name it with -e FILE, or add a search path with -s DIR");
}

void profiled_file_free(struct profiled_file *f)
{
    elf_file_close(f->image);
    free(f->name);
    free(f->is_mine);
    free(f->mappings);
}

bool profiled_file_address(const struct profiled_file *f, const struct pbin_definitions *all,
                           const char *binary, uint32_t map, uint64_t pc, uint64_t *address)
{
    if (strcmp(binary, f->name) != 0 && strcmp(binary, label_unlike(f->name)) != 0)
        return false;
    *address = pc;
    if (f->map_count == 0)
        return true;
    for (size_t i = map != PBIN_NO_MAP ? map : 0; i < f->map_count; i++) {
        const struct pbin_map *m = &all->maps[i];
        if (f->is_mine[i] && pc >= m->address && pc - m->address < m->size) {
            *address = elf_mapping_address(f->image, &f->mappings[i], pc);
            return true;
        }
        if (map != PBIN_NO_MAP)
            return false;
    }
    return false;
}
