/* Mappings of the profiled program, each with its file.
 * SPDX-License-Identifier: MIT */
#include "convert/symbolize/code_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/interval_map.h"
#include "base/memory.h"
#include "convert/symbolize/absent_files.h"
#include "formats/elf/elf_content.h"
#include "formats/elf/elf_search.h"

struct map {
    struct code_map map; /* we own label and build-id */
    const char *name;    /* borrowed from map.label, or a constant */
    bool searched;
    bool is_cold;               /* its file has too few samples to be worth a download */
    struct code_file *file;     /* borrowed from the files; NULL: not found */
    struct elf_mapping mapping; /* in the file */
};

/* Files whose workers may run at the same time: each is a process and a descriptor. */
enum { AWAKE = 32 };

/* Debug files are downloaded for files with at least one in this many samples. */
enum { WORTH = 100 };

struct code_maps {
    struct map *maps;
    size_t count;
    struct interval_map by_address; /* value: MAX_MAPS - index, the first one wins */
    struct absent_files *absent;
    struct strings *paths;    /* of existing files; their numbers are indices of FILES */
    struct code_file **files; /* NULL: no ELF file */
    size_t file_capacity;
    struct code_file **images; /* of mappings whose bytes were recorded */
    const uint8_t *image;      /* the bytes of the last one: processes share their vdso */
    size_t image_count, image_capacity;
    struct code_file *awake[AWAKE]; /* the last ones used, the latest first; borrowed */
    struct code_file **opened;      /* in the order of opening; borrowed */
    size_t opened_count, opened_capacity, closed_count, most_open;
    struct strings *missing; /* labels for which a warning was given */
    const struct symbolizer_options *options;
    struct debuginfod *servers; /* NULL: none */
    struct reporter *reporter;
};

enum { MAX_MAPS = 0x7fffffff };
static const char deleted[] = " (deleted)"; /* added in /proc/PID/maps when a file was replaced */

static struct map copy_map(const struct code_map *from)
{
    struct map m = {.map = *from};
    const char *label = from->label != NULL ? from->label : "";
    size_t length = strlen(label), tail = sizeof deleted - 1;
    if (length > tail && strcmp(label + length - tail, deleted) == 0)
        length -= tail;
    m.map.label = mem_strndup(label, length);
    m.map.build_id = mem_strdup(from->build_id != NULL ? from->build_id : "");
    m.mapping = (struct elf_mapping){.address = from->address,
                                     .size = from->size,
                                     .has_offset = from->has_offset,
                                     .offset = from->offset,
                                     .build_id = m.map.build_id,
                                     .is_image = from->image != NULL};
    m.name = length > 0 ? elf_base_name(m.map.label) : LABEL_UNKNOWN;
    return m;
}

/* Returns how many files may be open at the same time, given the number of descriptors that each
 * needs. */
static size_t most_open(void)
{
    enum { EACH = 5, OTHERS = 16 }; /* descriptors */
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return SIZE_MAX;
    return limit.rlim_cur >= OTHERS + EACH ? (size_t)(limit.rlim_cur - OTHERS) / EACH : 1;
}

struct code_maps *code_maps_new(const struct code_map *maps, size_t count,
                                const struct symbolizer_options *options, struct reporter *reporter)
{
    struct code_maps *s = mem_zalloc(1, sizeof *s);
    s->count = count < MAX_MAPS ? count : MAX_MAPS;
    s->maps = mem_zalloc(s->count, sizeof *s->maps);
    s->absent = absent_files_new();
    s->paths = strings_new();
    s->missing = strings_new();
    s->options = options;
    s->reporter = reporter;
    s->most_open = most_open();
    s->servers = options->no_debuginfod ? NULL : debuginfod_new(reporter);
    struct interval *intervals = mem_alloc(s->count * sizeof *intervals);
    size_t used = 0;
    for (size_t i = 0; i < s->count; i++) {
        uint64_t last;
        s->maps[i] = copy_map(&maps[i]);
        if (maps[i].size == 0)
            continue;
        if (__builtin_add_overflow(maps[i].address, maps[i].size - 1, &last))
            last = UINT64_MAX;
        intervals[used++] = (struct interval){maps[i].address, last, (uint32_t)(MAX_MAPS - i)};
    }
    interval_map_build(&s->by_address, intervals, used);
    free(intervals);
    return s;
}

struct code_maps *code_maps_new_file(struct elf_file *image,
                                     const struct symbolizer_options *options,
                                     struct reporter *reporter)
{
    const struct code_map all = {.size = UINT64_MAX, .label = image->path};
    struct code_maps *s = code_maps_new(&all, 1, options, reporter);
    s->by_address.pieces[0].last = UINT64_MAX; /* no size can express this */
    mem_reserve(&s->images, &s->image_capacity, 1, sizeof *s->images);
    s->images[s->image_count++] = code_file_new(image, options, reporter);
    s->maps[0].file = s->images[0];
    code_file_ask(s->images[0], s->servers);
    s->maps[0].searched = true;
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
        code_file_end(s->files[i]);
    for (uint32_t i = 1; i < strings_count(s->paths); i++)
        code_file_delete(s->files[i]);
    for (size_t i = 0; i < s->image_count; i++)
        code_file_delete(s->images[i]);
    interval_map_free(&s->by_address);
    absent_files_delete(s->absent);
    debuginfod_delete(s->servers);
    strings_delete(s->paths);
    strings_delete(s->missing);
    free(s->opened);
    free(s->files);
    free(s->images);
    free(s->maps);
    free(s);
}

void code_maps_count(struct code_maps *s, const uint64_t *samples)
{
    struct strings *labels = strings_new();
    uint64_t *sums = mem_zalloc(s->count + 1, sizeof *sums), all = 0;
    for (size_t i = 0; i < s->count; i++) {
        sums[strings_intern(labels, s->maps[i].map.label)] += samples[i];
        all += samples[i];
    }
    for (size_t i = 0; i < s->count; i++) {
        uint64_t sum = sums[strings_intern(labels, s->maps[i].map.label)];
        s->maps[i].is_cold = sum == 0 || sum < all / WORTH + (all % WORTH != 0);
    }
    strings_delete(labels);
    free(sums);
}

uint32_t code_maps_find(const struct code_maps *s, uint64_t pc)
{
    uint32_t value = interval_map_find(&s->by_address, pc);
    return value == INTERVAL_NONE ? UINT32_MAX : MAX_MAPS - value;
}

size_t code_maps_number(const struct code_maps *s)
{
    return s->count;
}

size_t code_maps_held(const struct code_maps *s)
{
    if (s->most_open > MAX_HELD)
        return MAX_HELD;
    return s->most_open > 1 ? 2 : 1;
}

const char *code_maps_name(const struct code_maps *s, size_t index)
{
    return s->maps[index].name;
}

/* A search in progress. */
struct search {
    struct code_maps *maps;
    struct map *map;
    struct error refused;    /* why the first existing file was not used */
    struct error unreadable; /* which file could not be read, and why: it may be the right one */
};

/* Returns whether FILE must stay open when another one is opened. */
static bool is_held(const struct code_maps *s, const struct code_file *file)
{
    bool held = false;
    for (size_t i = 0; i + 1 < code_maps_held(s); i++)
        held |= s->awake[i] == file;
    return held;
}

/* Called before a file is opened: if too many are open, closes the one of the closable files that
 * was opened first. */
static void make_room(struct code_maps *s)
{
    if (s->opened_count - s->closed_count < s->most_open)
        return;
    struct code_file **oldest = &s->opened[s->closed_count++];
    size_t at = 0;
    while (is_held(s, oldest[at]))
        at++;
    struct code_file *file = oldest[at];
    memmove(oldest + 1, oldest, at * sizeof *oldest);
    code_file_close(file);
}

static void add_open(struct code_maps *s, struct code_file *file)
{
    *MEM_APPEND(s->opened, s->opened_count, s->opened_capacity) = file;
}

/* Returns the ELF file of FILE, opened again if necessary; NULL with ERR filled if this fails. */
static const struct elf_file *open_again(struct code_maps *s, struct code_file *file,
                                         struct error *err)
{
    bool was_open = code_file_is_open(file);
    if (!was_open)
        make_room(s);
    const struct elf_file *image = code_file_image(file, err);
    if (!was_open && image != NULL)
        add_open(s, file);
    return image;
}

/* Returns the file at PATH, which is opened only once for all its mappings. */
static struct code_file *open_path(struct search *search, const char *path)
{
    struct code_maps *s = search->maps;
    uint32_t number = strings_find(s->paths, path);
    struct error err = {0};
    int errnum;
    if (number != INTERN_NONE)
        return s->files[number];
    if (absent_files_know(s->absent, path))
        return NULL;
    make_room(s);
    struct elf_file *image = elf_file_open(path, &errnum, &err);
    if (image == NULL && (errnum == ENOENT || errnum == ENOTDIR)) {
        absent_files_add(s->absent, path);
        return NULL;
    }
    number = strings_intern(s->paths, path);
    *MEM_AT(s->files, number, s->file_capacity) =
        image != NULL ? code_file_new(image, s->options, s->reporter) : NULL;
    if (image != NULL)
        add_open(s, s->files[number]);
    if (image == NULL)
        error_set(&search->refused, path, NO_OFFSET, "%s", err.text);
    if (image == NULL && strncmp(err.text, "cannot ", strlen("cannot ")) == 0)
        error_set(&search->unreadable, path, NO_OFFSET, "%s", err.text);
    return s->files[number];
}

/* Warns about a file without a recorded build-id that was modified after the recording: any build
 * of the mapped size matches. */
static void check_age(struct code_maps *s, const struct map *m, const struct elf_file *image)
{
    struct stat info;
    const char *id = m->mapping.build_id;
    bool has_id =
        elf_is_content_id(id) || (image->build_id[0] != '\0' && id != NULL && id[0] != '\0');
    if (has_id || s->options->recorded == 0 || image->fd < 0 || fstat(image->fd, &info) != 0 ||
        info.st_mtim.tv_sec <= s->options->recorded)
        return;
    char *what = mem_printf("newer: %s", image->path);
    uint32_t known = strings_count(s->missing);
    if (strings_intern(s->missing, what) == known)
        report_warning(
            s->reporter,
            "%s: modified after the recording, and there is no build-id to confirm that it "
            "is the file that ran: names and lines may be from another build",
            image->path);
    free(what);
}

static bool take_candidate(void *context, const char *path)
{
    struct search *search = context;
    struct map *m = search->map;
    struct code_file *file = path[0] != '\0' ? open_path(search, path) : NULL;
    const struct elf_file *image =
        file != NULL ? open_again(search->maps, file, &search->unreadable) : NULL;
    if (image == NULL || elf_match(image, &m->mapping, &search->refused) != 0)
        return false;
    m->file = file;
    if (!m->is_cold)
        code_file_ask(file, search->maps->servers);
    check_age(search->maps, m, image);
    if (search->unreadable.text[0] != '\0')
        report_warning(search->maps->reporter, "%s: %s: using %s instead", search->unreadable.file,
                       search->unreadable.text, path);
    return true;
}

static const char nameless[] = "its samples have no function names";

static void search_file(struct code_maps *s, struct map *m)
{
    struct search search = {.maps = s, .map = m};
    const struct elf_sought sought = {.label = m->map.label};
    bool is_file = m->map.label[0] != '\0' && m->name[0] != '[';
    if (elf_search_paths(&s->options->search, &sought, take_candidate, &search) || !is_file)
        return;
    uint32_t known = strings_count(s->missing);
    if (strings_intern(s->missing, m->map.label) == known)
        elf_search_warn(s->reporter, m->map.label, &search.refused, nameless);
}

static void use_image(struct code_maps *s, struct map *m)
{
    struct error err = {0};
    struct code_file *last = s->image_count > 0 ? s->images[s->image_count - 1] : NULL;
    if (last != NULL && s->image == m->map.image) {
        if (elf_match(code_file_image(last, &err), &m->mapping, &err) == 0)
            m->file = last;
        return;
    }
    struct elf_file *image =
        elf_file_from_memory(m->map.image, m->map.image_size, m->map.label, &err);
    if (image == NULL || elf_match(image, &m->mapping, &err) != 0) {
        elf_search_warn(s->reporter, m->map.label, &err, nameless);
        elf_file_close(image);
        return;
    }
    mem_reserve(&s->images, &s->image_capacity, s->image_count + 1, sizeof *s->images);
    m->file = s->images[s->image_count++] = code_file_new(image, s->options, s->reporter);
    s->image = m->map.image;
}

/* Moves FILE, which is about to be used, to the front of AWAKE, and ends the worker of the least
 * recently used file. */
static void wake(struct code_maps *s, struct code_file *file)
{
    size_t at = 0;
    while (at < AWAKE - 1 && s->awake[at] != file && s->awake[at] != NULL)
        at++;
    if (s->awake[at] != file)
        code_file_rest(s->awake[at]);
    memmove(&s->awake[1], &s->awake[0], at * sizeof *s->awake);
    s->awake[0] = file;
}

/* Returns mapping INDEX, after searching for its file. */
static struct map *searched(struct code_maps *s, size_t index)
{
    struct map *m = &s->maps[index];
    if (!m->searched) {
        m->searched = true;
        if (m->map.image != NULL)
            use_image(s, m);
        else if (!m->map.no_file)
            search_file(s, m);
    }
    return m;
}

struct code_file *code_maps_file(struct code_maps *s, size_t index,
                                 const struct elf_mapping **mapping)
{
    struct map *m = searched(s, index);
    struct error err = {0};
    if (m->file != NULL && open_again(s, m->file, &err) == NULL) {
        elf_search_warn(s->reporter, m->map.label, &err, nameless);
        m->file = NULL;
    }
    *mapping = &m->mapping;
    if (m->file != NULL && s->awake[0] != m->file)
        wake(s, m->file);
    return m->file;
}

const char *code_maps_path(struct code_maps *s, size_t index)
{
    const struct map *m = searched(s, index);
    return m->file != NULL ? code_file_path(m->file) : NULL;
}

uint64_t code_maps_offset(struct code_maps *s, size_t index)
{
    const struct map *m = searched(s, index);
    if (m->mapping.has_offset)
        return m->mapping.offset;
    return m->file != NULL ? m->mapping.start : UINT64_MAX;
}

const char *code_maps_build_id(struct code_maps *s, size_t index)
{
    const struct map *m = searched(s, index);
    bool is_known = m->file == NULL || elf_is_content_id(m->mapping.build_id);
    return is_known ? m->mapping.build_id : code_file_build_id(m->file);
}
