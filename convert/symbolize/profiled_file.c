/* The ELF file of one binary of a pbin.
 * SPDX-License-Identifier: MIT */
#include "convert/symbolize/profiled_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "convert/symbolize/find_binary.h"

static const char *text_of(const struct pbin_definitions *all, uint32_t number)
{
    return strings_get(all->strings, number);
}

/* A search, and why the first file that is there was refused. */
struct search {
    struct profiled_file *file;
    const struct pbin_definitions *all;
    struct error refused;
};

static bool bias_of(const struct profiled_file *f, const struct pbin_map *map,
                    const struct pbin_definitions *all, uint64_t *bias)
{
    const struct elf_mapping mapping = {.address = map->address,
                                        .size = map->size,
                                        .has_offset = map->offset != UINT64_MAX,
                                        .offset = map->offset,
                                        .trusted = text_of(all, map->build_id)[0] != '\0'};
    return elf_image_bias(f->image, &mapping, bias);
}

/* Does the open file fit its mappings? At least one must, none may be of another build. */
static bool fits(struct search *s)
{
    struct profiled_file *f = s->file;
    bool any = f->map_count == 0, has_map = false;
    for (size_t i = 0; i < f->map_count; i++) {
        const struct pbin_map *map = &s->all->maps[i];
        const char *build_id = text_of(s->all, map->build_id);
        if (strcmp(label_base_name(text_of(s->all, map->label)), f->name) != 0)
            continue;
        has_map = true;
        if (build_id[0] != '\0' && strcmp(build_id, f->image->build_id) != 0) {
            error_set(&s->refused, f->image->path, NO_OFFSET,
                      "is not the file that ran: its build-id is %s, expected %s",
                      f->image->build_id[0] != '\0' ? f->image->build_id : "missing", build_id);
            return false;
        }
        f->is_mine[i] = bias_of(f, map, s->all, &f->bias[i]);
        any |= f->is_mine[i];
    }
    if (!any && has_map)
        error_set(&s->refused, f->image->path, NO_OFFSET,
                  "is not the file that ran: its code does not fit the mapping");
    else if (!any)
        error_set(&s->refused, f->image->path, NO_OFFSET, "is no mapping of this profile");
    return any;
}

static bool take_candidate(void *context, const char *path)
{
    struct search *s = context;
    struct error err = {0};
    int errnum;
    s->file->image = elf_image_open(path, &errnum, &err);
    if (s->file->image == NULL) {
        if (errnum != ENOENT && errnum != ENOTDIR)
            error_set(&s->refused, err.file, err.offset, "%s", err.text);
        return false;
    }
    if (fits(s))
        return true;
    elf_image_delete(s->file->image);
    s->file->image = NULL;
    return false;
}

/* The label or recorded path of the first mapping called NAME; NULL: there is none. */
static const char *recorded(const struct pbin_definitions *all, const char *name, bool path)
{
    for (size_t i = 0; i < all->map_count; i++) {
        const char *label = text_of(all, all->maps[i].label);
        if (strcmp(label_base_name(label), name) == 0)
            return path ? text_of(all, all->maps[i].path) : label;
    }
    return NULL;
}

static bool search_file(struct search *s, const char *choice,
                        const struct symbolizer_options *options)
{
    if (choice != NULL && access(choice, F_OK) == 0)
        return take_candidate(s, choice);
    const char *label = recorded(s->all, s->file->name, false);
    const char *path = recorded(s->all, s->file->name, true);
    if (find_binary(options, label != NULL ? label : s->file->name, take_candidate, s))
        return true;
    return path != NULL && path[0] != '\0' && take_candidate(s, path);
}

int profiled_file_find(struct profiled_file *f, const char *choice,
                       const struct pbin_definitions *all, const struct pbin_meta *meta,
                       const struct symbolizer_options *options, struct error *err)
{
    struct search s = {.file = f, .all = all};
    const char *name = choice;
    *f = (struct profiled_file){.map_count = all->map_count};
    f->is_mine = mem_zalloc(all->map_count, sizeof *f->is_mine);
    f->bias = mem_zalloc(all->map_count, sizeof *f->bias);
    if (name == NULL) /* maps stand in the order in which samples met them */
        name = meta->target != NULL ? meta->target
               : all->map_count > 0 ? text_of(all, all->maps[0].label)
                                    : NULL;
    if (name == NULL)
        return error_set(err, NULL, NO_OFFSET,
                         "the profile does not tell its program: say so with -e FILE");
    f->name = mem_strdup(label_base_name(name));
    if (search_file(&s, choice, options))
        return 0;
    if (s.refused.text[0] != '\0')
        return error_set(err, s.refused.file, s.refused.offset, "%s", s.refused.text);
    return error_set(err, f->name, NO_OFFSET,
                     "not found: -e FILE or a search path (-s DIR) may help");
}

void profiled_file_free(struct profiled_file *f)
{
    elf_image_delete(f->image);
    free(f->name);
    free(f->is_mine);
    free(f->bias);
}

bool profiled_file_address(const struct profiled_file *f, const struct pbin_definitions *all,
                           const char *binary, uint32_t map, uint64_t pc, uint64_t *address)
{
    if (strcmp(binary, f->name) != 0)
        return false;
    *address = pc;
    if (f->map_count == 0)
        return true;
    for (size_t i = map != PBIN_NO_MAP ? map : 0; i < f->map_count; i++) {
        const struct pbin_map *m = &all->maps[i];
        if (f->is_mine[i] && pc >= m->address && pc - m->address < m->size) {
            *address = pc - f->bias[i];
            return true;
        }
        if (map != PBIN_NO_MAP)
            return false;
    }
    return false;
}
