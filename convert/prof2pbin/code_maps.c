/* Mappings of the profiled program, each with the file behind it.
 * SPDX-License-Identifier: MIT */
#include "convert/prof2pbin/code_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "convert/symbolize/find_binary.h"
#include "convert/symbolize/interval_map.h"

struct map {
    struct code_map map; /* label and build-id are ours */
    const char *name;    /* borrowed from map.label, or a constant */
    bool searched;
    struct code_file *file; /* borrowed from the files */
    uint64_t bias;
};

struct code_maps {
    struct map *maps;
    size_t count;
    struct interval_map by_address; /* value: MOST_MAPS - index, the first one wins */
    struct strings *paths;          /* tried so far; their numbers count FILES */
    struct code_file **files;       /* NULL: no ELF file */
    size_t file_capacity;
    struct code_file **images; /* of mappings that bring theirs */
    size_t image_count, image_capacity;
    struct strings *missing; /* labels warned of */
    const struct symbolizer_options *options;
    struct reporter *reporter;
};

enum { MOST_MAPS = 0x7fffffff };
static const char deleted[] = " (deleted)"; /* as /proc/PID/maps says when a file was replaced */

static struct map copy_map(const struct code_map *from)
{
    struct map m = {.map = *from};
    const char *label = from->label != NULL ? from->label : "";
    size_t length = strlen(label), tail = sizeof deleted - 1;
    if (length > tail && strcmp(label + length - tail, deleted) == 0)
        length -= tail;
    m.map.label = mem_strndup(label, length);
    m.map.build_id = mem_strdup(from->build_id != NULL ? from->build_id : "");
    m.name = length > 0 ? label_base_name(m.map.label) : LABEL_UNKNOWN;
    return m;
}

struct code_maps *code_maps_new(const struct code_map *maps, size_t count,
                                const struct symbolizer_options *options, struct reporter *reporter)
{
    struct code_maps *s = mem_zalloc(1, sizeof *s);
    s->count = count < MOST_MAPS ? count : MOST_MAPS;
    s->maps = mem_zalloc(s->count, sizeof *s->maps);
    s->paths = strings_new();
    s->missing = strings_new();
    s->options = options;
    s->reporter = reporter;
    struct interval *intervals = mem_alloc(s->count * sizeof *intervals);
    size_t used = 0;
    for (size_t i = 0; i < s->count; i++) {
        uint64_t last;
        s->maps[i] = copy_map(&maps[i]);
        if (maps[i].size == 0)
            continue;
        if (__builtin_add_overflow(maps[i].address, maps[i].size - 1, &last))
            last = UINT64_MAX;
        intervals[used++] = (struct interval){maps[i].address, last, (uint32_t)(MOST_MAPS - i)};
    }
    interval_map_build(&s->by_address, intervals, used);
    free(intervals);
    return s;
}

void code_maps_delete(struct code_maps *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->count; i++) {
        free((char *)s->maps[i].map.label);
        free((char *)s->maps[i].map.build_id);
    }
    for (uint32_t i = 1; i < strings_count(s->paths); i++)
        code_file_delete(s->files[i]);
    for (size_t i = 0; i < s->image_count; i++)
        code_file_delete(s->images[i]);
    interval_map_free(&s->by_address);
    strings_delete(s->paths);
    strings_delete(s->missing);
    free(s->files);
    free(s->images);
    free(s->maps);
    free(s);
}

uint32_t code_maps_find(const struct code_maps *s, uint64_t pc)
{
    uint32_t value = interval_map_find(&s->by_address, pc);
    return value == INTERVAL_NONE ? UINT32_MAX : MOST_MAPS - value;
}

const char *code_maps_name(const struct code_maps *s, size_t index)
{
    return s->maps[index].name;
}

/* A search under way, and why the best of the refused candidates was refused. */
struct search {
    struct code_maps *maps;
    struct map *map;
    char *refused; /* NULL: none was there */
};

static void refuse(struct search *search, char *why)
{
    if (search->refused == NULL)
        search->refused = why;
    else
        free(why);
}

/* The file at PATH, opened once however many mappings it has. */
static struct code_file *open_path(struct search *search, const char *path)
{
    struct code_maps *s = search->maps;
    uint32_t known = strings_count(s->paths), number = strings_intern(s->paths, path);
    if (number < known)
        return s->files[number];
    struct error err = {0};
    int errnum;
    struct elf_image *image = elf_image_open(path, &errnum, &err);
    mem_reserve(&s->files, &s->file_capacity, (size_t)number + 1, sizeof *s->files);
    s->files[number] = image != NULL ? code_file_new(image, s->options, s->reporter) : NULL;
    if (image == NULL && errnum != ENOENT && errnum != ENOTDIR)
        refuse(search, mem_printf("%s: %s", path, err.text));
    return s->files[number];
}

static struct elf_mapping mapping_of(const struct map *m)
{
    return (struct elf_mapping){.address = m->map.address,
                                .size = m->map.size,
                                .has_offset = m->map.has_offset,
                                .offset = m->map.offset,
                                .trusted = m->map.build_id[0] != '\0'};
}

static bool take_candidate(void *context, const char *path)
{
    struct search *search = context;
    struct map *m = search->map;
    struct code_file *file = path[0] != '\0' ? open_path(search, path) : NULL;
    if (file == NULL)
        return false;
    const struct elf_image *image = code_file_image(file);
    struct elf_mapping mapping = mapping_of(m);
    if (m->map.build_id[0] != '\0' && strcmp(m->map.build_id, image->build_id) != 0) {
        refuse(search, mem_printf("%s is not the file that ran: its build-id is %s, expected %s",
                                  path, image->build_id[0] != '\0' ? image->build_id : "missing",
                                  m->map.build_id));
        return false;
    }
    if (!elf_image_bias(image, &mapping, &m->bias)) {
        refuse(search,
               mem_printf("%s is not the file that ran: its code has %llu bytes, the mapping %llu",
                          path, (unsigned long long)elf_image_code_size(image),
                          (unsigned long long)m->map.size));
        return false;
    }
    m->file = file;
    return true;
}

static void search_file(struct code_maps *s, struct map *m)
{
    struct search search = {s, m, NULL};
    bool is_file = m->map.label[0] != '\0' && m->name[0] != '[';
    if (!find_binary(s->options, m->map.label, take_candidate, &search) && is_file) {
        uint32_t known = strings_count(s->missing);
        if (strings_intern(s->missing, m->map.label) == known)
            report_warning(
                s->reporter, "%s: %s: its samples stay without function names", m->map.label,
                search.refused != NULL ? search.refused : "not found (a search path may help)");
    }
    free(search.refused);
}

static void use_image(struct code_maps *s, struct map *m)
{
    struct error err = {0};
    struct elf_mapping mapping = mapping_of(m);
    mapping.trusted = true;
    struct elf_image *image =
        elf_image_from_memory(m->map.image, m->map.image_size, m->map.label, &err);
    if (image == NULL || !elf_image_bias(image, &mapping, &m->bias)) {
        report_warning(s->reporter, "%s: %s: its samples stay without function names", m->map.label,
                       image == NULL ? err.text : "recorded image has no code");
        elf_image_delete(image);
        return;
    }
    mem_reserve(&s->images, &s->image_capacity, s->image_count + 1, sizeof *s->images);
    m->file = s->images[s->image_count++] = code_file_new(image, s->options, s->reporter);
}

struct code_file *code_maps_file(struct code_maps *s, size_t index, uint64_t *bias)
{
    struct map *m = &s->maps[index];
    if (!m->searched) {
        m->searched = true;
        if (m->map.image != NULL)
            use_image(s, m);
        else
            search_file(s, m);
    }
    *bias = m->bias;
    return m->file;
}
