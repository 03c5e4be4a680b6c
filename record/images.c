/* The address spaces of a run and the executable mappings in them.
 * SPDX-License-Identifier: MIT */
#include "record/images.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/intern.h"
#include "base/memory.h"
#include "base/own_vdso.h"
#include "formats/elf/elf_content.h"
#include "formats/elf/elf_file.h"
#include "record/clock.h"
#include "record/process.h"

enum { MAX_PATH = 4096, PUT_AT_ONCE = 1024, MAX_NAMELESS = 64, OPEN_MAPS = 16 };
static const char deleted[] = " (deleted)";

/* An executable mapping that an image has now. */
struct area {
    uint64_t address, size, offset, inode;
    uint64_t from;           /* when it appeared [ns of the run] */
    uint64_t changed;        /* when its file had last been changed at that time [ns]; 0: unknown */
    uint32_t path, build_id; /* numbers of texts */
};

struct image {
    uint32_t pid, ppid, parent, path, comm; /* path and comm: numbers of texts */
    uint32_t before;                        /* previous image of the process; RAW_NO_IMAGE: none */
    uint32_t dump;                          /* path of the dump of a JIT; 0: none */
    uint8_t how;
    bool named;          /* its path is final */
    uint64_t start, end; /* END is UINT64_MAX while it lives */
    uint64_t ran;
    uint64_t looked;    /* when its mappings were last read */
    struct area *areas; /* in order of appearance; none covers another completely */
    size_t area_count, area_capacity;
};

/* A mapping that others replaced at TIME [ns of the run]. */
struct replaced {
    struct area area;
    uint32_t image;
    uint64_t time;
};

/* A mapping of a file that some image had. */
struct placed {
    struct area area;
    uint32_t image;
    size_t number; /* order of appearance */
};

/* A file without build-id. Its contents are read only at the end, so that nothing waits for that.
 * The file is kept open until then, because it may be deleted or replaced. */
struct nameless {
    struct elf_file *file;
    uint64_t inode;
    uint32_t path;
    struct timespec written;
};

/* An open file /proc/PID/maps. IMAGE: the number of its image, plus 1; 0: none is open. */
struct open_maps {
    uint32_t image;
    int fd;
};

struct images {
    struct strings *texts;
    struct image *list;
    size_t count, capacity, put; /* PUT: number of those in the spool */
    struct numbers pids;         /* process -> index in NEWEST */
    uint32_t *newest;            /* number of the process's newest image */
    size_t newest_capacity;
    uint32_t *ended; /* images whose areas may still be needed */
    size_t ended_count, ended_capacity;
    struct replaced *replaced; /* those that may still be needed, in order of time */
    size_t replaced_count, replaced_capacity;
    struct raw_mapx
        *news; /* mappings that are not in the spool yet; build_id and path: numbers of texts */
    size_t news_count, news_capacity;
    struct placed *placed;
    size_t placed_count, placed_capacity, placed_ever,
        placed_unique;    /* UNIQUE: number after the last clean-up */
    struct numbers files; /* path, inode and last change -> index in BUILD_IDS */
    uint32_t *build_ids;  /* numbers of texts */
    size_t build_id_capacity;
    struct nameless *nameless; /* files without build-id that are still to be read */
    size_t nameless_count, nameless_capacity;
    struct raw_code *codes; /* contents that were read; path and content: numbers of texts */
    size_t code_count, code_capacity;
    struct open_maps maps[OPEN_MAPS];
    const uint8_t *vdso; /* of this process: it is the same for all processes */
    size_t vdso_size;
    bool vdso_put;
};

/* ---- a line of /proc/PID/maps ------------------------------------------------------------------- */

struct line {
    uint64_t start, end, offset, inode;
    const char *path; /* in the line, without line end; "" if anonymous */
};

/* The kernel writes a line end in a path as \012, and a backslash unchanged. Therefore, \012 in a
 * path is literal if this path is the file with the inode of the line; otherwise, it is a line
 * end. */
static void restore_line_ends(char *path, uint64_t inode)
{
    struct stat info;
    const char *from = strstr(path, "\\012");
    if (from == NULL || (stat(path, &info) == 0 && info.st_ino == inode))
        return;
    for (char *to = path + (from - path); (*to = *from) != '\0'; to++) {
        bool escaped = strncmp(from, "\\012", 4) == 0;
        if (escaped)
            *to = '\n';
        from += escaped ? 4 : 1;
    }
}

/* Returns whether the line is valid and describes an executable mapping. */
static bool parse_line(char *text, struct line *line)
{
    int at = 0;
    const char *rights = strchr(text, ' '); /* reading most lines ends here */
    if (rights == NULL || strlen(rights) < 5 || rights[3] != 'x')
        return false;
    text[strcspn(text, "\n")] = '\0';
    if (sscanf(text, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %" SCNu64 " %n", &line->start,
               &line->end, &line->offset, &line->inode, &at) != 4 ||
        at == 0)
        return false;
    restore_line_ends(text + at, line->inode);
    line->path = text + at;
    return true;
}

static FILE *open_maps(const char *who)
{
    char name[64];
    snprintf(name, sizeof name, "/proc/%s/maps", who);
    return fopen(name, "re");
}

struct images *images_new(void)
{
    struct images *images = mem_zalloc(1, sizeof *images);
    images->texts = strings_new();
    size_t size;
    const uint8_t *vdso = own_vdso(&size);
    if (size <= MAX_RAW_VDSO) {
        images->vdso = vdso;
        images->vdso_size = size;
    }
    return images;
}

static void close_maps(struct open_maps *maps)
{
    if (maps->image != 0)
        close(maps->fd);
    maps->image = 0;
}

void images_delete(struct images *images)
{
    if (images == NULL)
        return;
    for (size_t i = 0; i < images->count; i++)
        free(images->list[i].areas);
    for (size_t i = 0; i < OPEN_MAPS; i++)
        close_maps(&images->maps[i]);
    free(images->list);
    free(images->newest);
    free(images->ended);
    free(images->replaced);
    free(images->news);
    free(images->placed);
    free(images->build_ids);
    for (size_t i = 0; i < images->nameless_count; i++)
        elf_file_close(images->nameless[i].file);
    free(images->nameless);
    free(images->codes);
    numbers_free(&images->pids);
    numbers_free(&images->files);
    strings_delete(images->texts);
    free(images);
}

static const char *text(const struct images *images, uint32_t number)
{
    return strings_get(images->texts, number);
}

/* ---- images ------------------------------------------------------------------------------------- */

/* Returns the path of the executable of PID; "" if the process has ended. Caller frees. */
static char *look_up_path(uint32_t pid)
{
    char link[64], path[MAX_PATH];
    pid_t who = (pid_t)pid;
    ssize_t length = -1;
    for (int attempt = 0; attempt < 2 && length < 0; attempt++) {
        snprintf(link, sizeof link, "/proc/%d/exe", (int)who);
        /* NOLINTNEXTLINE(readability-suspicious-call-argument): link is the path of readlink */
        length = readlink(link, path, sizeof path - 1);
        who = length < 0 ? process_living_thread(who) : who;
    }
    return mem_strndup(path, length > 0 ? (size_t)length : 0);
}

static char *look_up_comm(uint32_t pid)
{
    char comm[64];
    process_name((pid_t)pid, comm, sizeof comm);
    return mem_strdup(comm);
}

/* Interns PATH without the suffix that the kernel appends if a file was deleted or replaced while
 * in use. */
static uint32_t intern_path(struct images *images, const char *path)
{
    size_t length = strlen(path), tail = sizeof deleted - 1;
    if (length > tail && strcmp(path + length - tail, deleted) == 0 && access(path, F_OK) != 0)
        length -= tail;
    return strings_intern_bytes(images->texts, path, length);
}

static void forget_areas(struct image *image)
{
    free(image->areas);
    image->areas = NULL;
    image->area_count = image->area_capacity = 0;
}

/* A forked image begins with the mappings of its parent. */
static void copy_areas(struct image *to, const struct image *from)
{
    mem_reserve(&to->areas, &to->area_capacity, from->area_count, sizeof *to->areas);
    memcpy(to->areas, from->areas, from->area_count * sizeof *to->areas);
    to->area_count = from->area_count;
}

static void set_newest(struct images *images, uint32_t pid, uint32_t number)
{
    uint32_t index = numbers_intern(&images->pids, pid);
    size_t before = images->newest_capacity;
    mem_reserve(&images->newest, &images->newest_capacity, index + 1u, sizeof *images->newest);
    for (size_t i = before; i < images->newest_capacity; i++)
        images->newest[i] = RAW_NO_IMAGE;
    images->list[number].before = images->newest[index];
    images->newest[index] = number;
}

uint32_t images_add(struct images *images, const struct raw_image *raw)
{
    char *path = raw->path != NULL ? mem_strdup(raw->path) : look_up_path(raw->pid);
    char *comm = raw->comm != NULL ? mem_strdup(raw->comm) : look_up_comm(raw->pid);
    mem_reserve(&images->list, &images->capacity, images->count + 1, sizeof *images->list);
    uint32_t number = (uint32_t)images->count++;
    struct image *image = &images->list[number];
    *image = (struct image){
        .pid = raw->pid,
        .ppid = raw->ppid,
        .parent = raw->parent < number ? raw->parent : RAW_NO_IMAGE,
        .path = intern_path(images, path),
        .comm = strings_intern(images->texts, comm),
        .how = raw->how,
        .start = raw->start,
        .end = UINT64_MAX,
        .looked = raw->start,
    };
    image->named = image->path != 0;
    if (image->how == RAW_FORK && image->parent != RAW_NO_IMAGE) {
        const struct image *parent = &images->list[image->parent];
        copy_areas(image, parent);
        image->dump = parent->dump;
        if (!image->named) {
            image->path = parent->path;
            image->named = parent->named;
        }
    }
    set_newest(images, raw->pid, number);
    if (image->before != RAW_NO_IMAGE) {
        if (image->ppid == 0)
            image->ppid = images->list[image->before].ppid;
        images_end(images, image->before, raw->start);
    }
    free(path);
    free(comm);
    return number;
}

uint32_t images_find(const struct images *images, uint32_t pid)
{
    uint32_t index = numbers_find(&images->pids, pid);
    return index != INTERN_NONE ? images->newest[index] : RAW_NO_IMAGE;
}

uint32_t images_at(const struct images *images, uint32_t pid, uint64_t time)
{
    uint32_t image = images_find(images, pid);
    while (image != RAW_NO_IMAGE && images->list[image].start > time &&
           images->list[image].before != RAW_NO_IMAGE)
        image = images->list[image].before;
    return image;
}

void images_ran(struct images *images, uint32_t image)
{
    if (image < images->count)
        images->list[image].ran++;
}

void images_end(struct images *images, uint32_t image, uint64_t time)
{
    if (image >= images->count || images->list[image].end != UINT64_MAX)
        return;
    images->list[image].end = time;
    images->list[image].named = true;
    mem_reserve(&images->ended, &images->ended_capacity, images->ended_count + 1,
                sizeof *images->ended);
    images->ended[images->ended_count++] = image;
}

static void forget_replaced(struct images *images, uint64_t time)
{
    size_t done = 0;
    while (done < images->replaced_count && images->replaced[done].time < time)
        done++;
    if (done == 0 || done < images->replaced_count / 2)
        return;
    images->replaced_count -= done;
    memmove(images->replaced, images->replaced + done,
            images->replaced_count * sizeof *images->replaced);
}

void images_forget(struct images *images, uint64_t time)
{
    size_t done = 0;
    forget_replaced(images, time);
    while (done < images->ended_count && images->list[images->ended[done]].end < time)
        forget_areas(&images->list[images->ended[done++]]);
    if (done == 0)
        return;
    images->ended_count -= done;
    memmove(images->ended, images->ended + done, images->ended_count * sizeof *images->ended);
}

const char *images_dump(const struct images *images, uint32_t image)
{
    uint32_t dump = image < images->count ? images->list[image].dump : 0;
    return dump != 0 ? text(images, dump) : NULL;
}

uint64_t images_start(const struct images *images, uint32_t image)
{
    return images->list[image].start;
}

uint32_t images_count(const struct images *images)
{
    return (uint32_t)images->count;
}

uint32_t images_pid(const struct images *images, uint32_t image)
{
    return images->list[image].pid;
}

uint32_t images_program(const struct images *images, uint32_t image)
{
    return image < images->count ? images->list[image].path : 0;
}

bool images_alive(const struct images *images, uint32_t image)
{
    return images->list[image].end == UINT64_MAX &&
           images_find(images, images->list[image].pid) == image;
}

/* ---- mappings ----------------------------------------------------------------------------------- */

/* Returns the mapped file, not a file that has replaced it since; NULL if it is not an ELF file or
 * cannot be read. */
static struct elf_file *open_mapped(uint32_t pid, const struct raw_mapx *map, const char *path)
{
    struct stat st;
    struct error ignored = {0};
    int errnum;
    char link[96];
    if (stat(path, &st) == 0 && (map->inode == 0 || st.st_ino == map->inode))
        return elf_file_open(path, &errnum, &ignored);
    snprintf(link, sizeof link, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
             (int)process_living_thread((pid_t)pid), map->address, map->address + map->size);
    return elf_file_open(link, &errnum, &ignored);
}

/* Reads the contents of the files without build-id that are open. */
static void read_nameless(struct images *images)
{
    for (size_t i = 0; i < images->nameless_count; i++) {
        const struct nameless *n = &images->nameless[i];
        char content[ELF_CONTENT_ID];
        struct stat now;
        elf_content_id(n->file, content);
        bool same = fstat(n->file->fd, &now) == 0 && now.st_mtim.tv_sec == n->written.tv_sec &&
                    now.st_mtim.tv_nsec == n->written.tv_nsec;
        if (content[0] != '\0') {
            mem_reserve(&images->codes, &images->code_capacity, images->code_count + 1,
                        sizeof *images->codes);
            /* numbers of texts until they are put */
            const char *what = same ? content : elf_content_lost;
            images->codes[images->code_count++] =
                (struct raw_code){n->inode, (char *)(uintptr_t)n->path,
                                  (char *)(uintptr_t)strings_intern(images->texts, what)};
        }
        elf_file_close(n->file);
    }
    images->nameless_count = 0;
}

/* Takes ownership of FILE. */
static void keep_nameless(struct images *images, struct elf_file *file, uint64_t inode,
                          uint32_t path)
{
    struct stat st;
    if (fstat(file->fd, &st) != 0) {
        elf_file_close(file);
        return;
    }
    if (images->nameless_count == MAX_NAMELESS)
        read_nameless(images);
    mem_reserve(&images->nameless, &images->nameless_capacity, images->nameless_count + 1,
                sizeof *images->nameless);
    images->nameless[images->nameless_count++] = (struct nameless){file, inode, path, st.st_mtim};
}

/* Returns when the mapped file was last changed [ns]; 0: unknown, or another file has replaced it
 * since. Without this time, a file could be confused with one that it has replaced, because file
 * systems reuse the inodes of deleted files. */
static uint64_t last_change(const struct raw_mapx *map, const char *path)
{
    struct stat st;
    if (map->kind != RAW_MAP_FILE || stat(path, &st) != 0 ||
        (map->inode != 0 && st.st_ino != map->inode))
        return 0;
    return (uint64_t)st.st_ctim.tv_sec * SECOND + (uint64_t)st.st_ctim.tv_nsec;
}

/* Returns the build-id of a mapping. Each file is read only once. */
static uint32_t build_id_for(struct images *images, uint32_t pid, const struct raw_mapx *map,
                             uint32_t path, uint64_t changed)
{
    uint64_t key =
        (uint64_t)path << 32 ^ numbers_mix(map->inode) ^ changed * UINT64_C(0xD1B54A32D192ED03);
    uint32_t before = images->files.count, index = numbers_intern(&images->files, key);
    mem_reserve(&images->build_ids, &images->build_id_capacity, index + 1u,
                sizeof *images->build_ids);
    if (images->files.count > before) {
        struct elf_file *file = open_mapped(pid, map, text(images, path));
        images->build_ids[index] = file != NULL ? strings_intern(images->texts, file->build_id) : 0;
        if (file != NULL && file->build_id[0] == '\0')
            keep_nameless(images, file, map->inode, path);
        else
            elf_file_close(file);
    }
    return images->build_ids[index];
}

/* Recognizes files that a JIT maps only as a marker for profilers. */
static bool is_dump(const char *path)
{
    const char *name = strrchr(path, '/');
    size_t length = name != NULL ? strlen(name) : 0;
    return length > 10 && strncmp(name, "/jit-", 5) == 0 && strcmp(name + length - 5, ".dump") == 0;
}

static bool overlap(const struct area *area, const struct raw_mapx *map)
{
    return area->address < map->address + map->size && map->address < area->address + area->size;
}

/* Returns whether AREA shows the same contents as NEW, of KIND, at all addresses of NEW. */
static bool includes(const struct area *area, const struct area *new, uint8_t kind)
{
    uint64_t at = new->address - area->address;
    bool same = area->path == new->path && area->inode == new->inode &&
                (new->changed == 0 || area->changed == new->changed);
    return at < area->size && new->size <= area->size - at &&same &&
           (kind != RAW_MAP_FILE || area->offset + at == new->offset);
}

/* Adds MAP to the areas; false: it was already known. */
static bool place(struct images *images, const struct raw_mapx *map, uint32_t path,
                  uint64_t changed)
{
    struct image *image = &images->list[map->image];
    struct area new = {.address = map->address,
                       .size = map->size,
                       .offset = map->offset,
                       .inode = map->inode,
                       .from = map->from,
                       .changed = changed,
                       .path = path};
    for (size_t i = image->area_count; i-- > 0;) {
        struct area *area = &image->areas[i];
        if (!overlap(area, map))
            continue;
        if (includes(area, &new, map->kind))
            return false;
        break;
    }
    size_t kept = 0;
    for (size_t i = 0; i < image->area_count; i++) {
        const struct area *area = &image->areas[i];
        if (area->address < map->address || area->address + area->size > map->address + map->size)
            image->areas[kept++] = *area;
        else
            *MEM_APPEND(images->replaced, images->replaced_count, images->replaced_capacity) =
                (struct replaced){*area, map->image, map->from};
    }
    image->area_count = kept;
    mem_reserve(&image->areas, &image->area_capacity, kept + 1, sizeof new);
    image->areas[image->area_count++] = new;
    return true;
}

static int compare(uint64_t left, uint64_t right)
{
    return (left > right) - (left < right);
}

static int by_place(const struct area *a, const struct area *b)
{
    int order = compare(a->address, b->address);
    order = order != 0 ? order : compare(a->size, b->size);
    return order != 0 ? order : compare(a->path, b->path);
}

static int by_file(const struct area *a, const struct area *b)
{
    int order = compare(a->offset, b->offset);
    order = order != 0 ? order : compare(a->inode, b->inode);
    return order != 0 ? order : compare(a->build_id, b->build_id);
}

static int compare_placed(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    int order = by_place(&a->area, &b->area);
    order = order != 0 ? order : by_file(&a->area, &b->area);
    return order != 0 ? order : compare(a->number, b->number);
}

static int in_order(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    int order = by_place(&a->area, &b->area);
    return order != 0 ? order : compare(a->number, b->number);
}

/* Keeps only the first image with each combination of place and file. */
static size_t unique(struct placed *placed, size_t count)
{
    size_t kept = 0;
    if (count > 0)
        qsort(placed, count, sizeof *placed, compare_placed);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || by_place(&placed[kept - 1].area, &placed[i].area) != 0 ||
            by_file(&placed[kept - 1].area, &placed[i].area) != 0)
            placed[kept++] = placed[i];
    return kept;
}

static void note_file(struct images *images, const struct area *area, uint32_t image)
{
    if (images->placed_count >= 2 * images->placed_unique + PUT_AT_ONCE)
        images->placed_count = images->placed_unique = unique(images->placed, images->placed_count);
    mem_reserve(&images->placed, &images->placed_capacity, images->placed_count + 1,
                sizeof *images->placed);
    images->placed[images->placed_count++] = (struct placed){*area, image, images->placed_ever++};
}

/* Adds the mapping RAW. Returns whether it is new. */
static bool take_mapping(struct images *images, const struct raw_mapx *raw)
{
    struct image *image = &images->list[raw->image];
    struct raw_mapx map = *raw;
    map.kind = (uint8_t)raw_mapping_of_path(raw->path);
    uint32_t path =
        map.kind == RAW_MAP_FILE
            ? intern_path(images, raw->path)
            : strings_intern(images->texts, raw->path[0] != '\0' ? raw->path : "//anon");
    uint32_t id = 0;
    uint64_t changed = last_change(&map, raw->path);
    if (map.size == 0 || !place(images, &map, path, changed))
        return false;
    if (map.kind == RAW_MAP_FILE) {
        struct area *area = &image->areas[image->area_count - 1];
        id = raw->build_id != NULL ? strings_intern(images->texts, raw->build_id)
                                   : build_id_for(images, image->pid, &map, path, changed);
        area->build_id = id;
        note_file(images, area, map.image);
        image->path = image->named ? image->path : path;
        image->named = true;
        image->dump = is_dump(text(images, path)) ? path : image->dump;
    }
    mem_reserve(&images->news, &images->news_capacity, images->news_count + 1, sizeof map);
    /* numbers of texts until they are put, because texts may move */
    map.build_id = (char *)(uintptr_t)id;
    map.path = (char *)(uintptr_t)path;
    images->news[images->news_count++] = map;
    return true;
}

bool images_map(struct images *images, const struct raw_mapx *map)
{
    return map->image < images->count && take_mapping(images, map);
}

/* Adjacent mappings of adjacent parts of a file are one segment whose permissions were changed in parts: extends *LINE
 * by NEXT. */
static bool joins(struct line *line, const struct line *next)
{
    if (line->end != next->start || raw_mapping_of_path(line->path) != RAW_MAP_FILE ||
        strcmp(line->path, next->path) != 0 ||
        line->offset + (line->end - line->start) != next->offset)
        return false;
    line->end = next->end;
    return true;
}

static size_t take_line(struct images *images, uint32_t image, const struct line *line,
                        uint64_t time)
{
    struct raw_mapx map = {.image = image,
                           .from = time,
                           .address = line->start,
                           .size = line->end - line->start,
                           .offset = line->offset,
                           .inode = line->inode,
                           .path = (char *)(uintptr_t)line->path};
    return take_mapping(images, &map);
}

/* Reads the mappings of IMAGE from /proc/WHO/maps. Returns whether there are any, and sets *FOUND
 * to the number of new ones. */
static bool read_maps(struct images *images, uint32_t image, const char *who, uint64_t time,
                      size_t *found)
{
    char *row = NULL, *path = mem_strdup("");
    size_t room = 0;
    struct line last = {.path = path}, line;
    FILE *file = open_maps(who);
    *found = 0;
    while (file != NULL && getline(&row, &room, file) > 0) {
        if (!parse_line(row, &line) || joins(&last, &line))
            continue;
        *found += take_line(images, image, &last, time);
        free(path);
        path = mem_strdup(line.path);
        last = line;
        last.path = path;
    }
    if (file != NULL) {
        *found += take_line(images, image, &last, time);
        fclose(file);
    }
    free(row);
    free(path);
    return last.end > 0;
}

size_t images_read(struct images *images, uint32_t pid, uint64_t time)
{
    char who[16];
    size_t found;
    uint32_t image = images_find(images, pid);
    if (image == RAW_NO_IMAGE)
        return 0;
    images->list[image].looked = time;
    snprintf(who, sizeof who, "%" PRIu32, pid);
    if (!read_maps(images, image, who, time, &found)) {
        snprintf(who, sizeof who, "%d", (int)process_living_thread((pid_t)pid));
        read_maps(images, image, who, time, &found);
    }
    return found;
}

uint64_t images_looked(const struct images *images, uint32_t image)
{
    return images->list[image].looked;
}

/* Returns the newest mapping of image NUMBER that contains PC; NULL: none does. */
static const struct area *newest_at(const struct images *images, uint32_t number, uint64_t pc)
{
    if (number >= images->count)
        return NULL;
    const struct image *image = &images->list[number];
    for (size_t i = image->area_count; i-- > 0;)
        if (pc - image->areas[i].address < image->areas[i].size)
            return &image->areas[i];
    return NULL;
}

bool images_know(const struct images *images, uint32_t number, uint64_t pc)
{
    return newest_at(images, number, pc) != NULL;
}

/* ---- questions to the kernel -------------------------------------------------------------------- */

/* PROCMAP_QUERY, see the kernel's Documentation/filesystems/proc.rst. */
struct map_query {
    uint64_t size, flags, address;                    /* in */
    uint64_t start, end, rights, page, offset, inode; /* out */
    uint32_t major, minor, name_size, build_id_size;
    uint64_t name, build_id;
};
#define QUERY_MAP _IOWR('f', 17, struct map_query)

/* Returns the open maps of IMAGE, which is alive; -1: they cannot be opened. */
static int maps_of(struct images *images, uint32_t image)
{
    struct open_maps *maps = &images->maps[image % OPEN_MAPS];
    char name[64];
    if (maps->image == image + 1)
        return maps->fd;
    close_maps(maps);
    snprintf(name, sizeof name, "/proc/%" PRIu32 "/maps", images->list[image].pid);
    maps->fd = open(name, O_RDONLY | O_CLOEXEC);
    maps->image = maps->fd >= 0 ? image + 1 : 0;
    return maps->fd;
}

/* Asks for the mapping at ADDRESS; PATH [MAX_PATH], unless NULL, gets its path. False: unknown. */
static bool query_map(int fd, uint64_t address, char *path, struct map_query *query)
{
    *query = (struct map_query){.size = sizeof *query, .address = address};
    if (path != NULL) {
        path[0] = '\0'; /* anonymous */
        query->name = (uintptr_t)path;
        query->name_size = MAX_PATH;
    }
    return ioctl(fd, QUERY_MAP, query) == 0;
}

static bool shows(const struct area *area, const struct map_query *query)
{
    return query->inode == area->inode &&
           (area->inode == 0 || query->offset - query->start == area->offset - area->address);
}

/* Adds the mapping that IMAGE now has at PC. */
static void take_current(struct images *images, uint32_t image, int fd, uint64_t pc, uint64_t time)
{
    char path[MAX_PATH];
    struct map_query query;
    if (!query_map(fd, pc, path, &query))
        return;
    const struct line line = {query.start, query.end, query.offset, query.inode, path};
    take_line(images, image, &line, time);
}

void images_check(struct images *images, uint32_t number, uint64_t pc, uint64_t time)
{
    struct map_query query;
    const struct area *area = newest_at(images, number, pc);
    int fd = area != NULL && images_alive(images, number) ? maps_of(images, number) : -1;
    if (fd >= 0 && query_map(fd, pc, NULL, &query) && !shows(area, &query))
        take_current(images, number, fd, pc, time);
}

static struct vmmap vmmap_of(const struct images *images, const struct area *area)
{
    return (struct vmmap){area->address, area->size,  text(images, area->path),
                          area->offset,  area->inode, area->build_id};
}

/* Returns whether AREA, rather than BEST, shows what was at an address at TIME: the newest mapping up
 * to then, or if there was none, the first one after it. */
static bool is_better(const struct area *area, const struct area *best, uint64_t time)
{
    if (best == NULL)
        return true;
    if (best->from > time)
        return area->from < best->from;
    return area->from <= time && area->from > best->from;
}

/* Returns the mapping that contained PC at TIME; NULL: unknown. */
static const struct area *area_at(const struct images *images, uint32_t number, uint64_t pc,
                                  uint64_t time)
{
    const struct area *best = newest_at(images, number, pc); /* it covers older ones */
    if (number >= images->count || (best != NULL && best->from <= time))
        return best;
    const struct image *image = &images->list[number];
    for (size_t i = image->area_count; i-- > 0;) {
        const struct area *area = &image->areas[i];
        if (pc - area->address < area->size)
            best = is_better(area, best, time) ? area : best;
    }
    for (size_t i = images->replaced_count; i-- > 0;) {
        const struct replaced *old = &images->replaced[i];
        if (old->image == number && pc - old->area.address < old->area.size)
            best = is_better(&old->area, best, time) ? &old->area : best;
    }
    return best;
}

bool images_place(const struct images *images, uint32_t number, uint64_t pc, uint64_t time,
                  struct vmmap *place)
{
    const struct area *area = area_at(images, number, pc, time);
    if (area == NULL)
        return false;
    *place = vmmap_of(images, area);
    return place->path[0] == '/';
}

/* ---- additions to the spool --------------------------------------------------------------------- */

/* Returns how many images can be put: only those before the first one without a path, or all. */
static size_t images_ready(const struct images *images, bool all)
{
    size_t ready = images->put;
    while (ready < images->count && (all || images->list[ready].named))
        ready++;
    return ready;
}

static void put_images(struct images *images, struct buffer *buffer, size_t ready)
{
    struct raw_image list[PUT_AT_ONCE / 16];
    while (images->put < ready) {
        size_t count = 0;
        for (; count < PUT_AT_ONCE / 16 && images->put < ready; images->put++) {
            const struct image *image = &images->list[images->put];
            list[count++] =
                (struct raw_image){.pid = image->pid,
                                   .ppid = image->ppid,
                                   .start = image->start,
                                   .parent = image->parent,
                                   .how = image->how,
                                   .path = (char *)(uintptr_t)text(images, image->path),
                                   .comm = (char *)(uintptr_t)text(images, image->comm)};
        }
        raw_put_images(buffer, list, count);
    }
}

static void put_vdso(struct images *images, struct buffer *buffer, const struct raw_mapx *map)
{
    if (images->vdso_put || map->kind != RAW_MAP_VDSO || map->size != images->vdso_size)
        return;
    raw_put_vdso(buffer, map->address, images->vdso, images->vdso_size);
    images->vdso_put = true;
}

static void put_mappings(struct images *images, struct buffer *buffer)
{
    struct raw_mapx *list = mem_alloc(PUT_AT_ONCE * sizeof *list);
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < images->news_count; i++) {
        struct raw_mapx map = images->news[i];
        if (map.image >= images->put) { /* it waits together with its image */
            images->news[kept++] = map;
            continue;
        }
        map.build_id = (char *)(uintptr_t)text(images, (uint32_t)(uintptr_t)map.build_id);
        map.path = (char *)(uintptr_t)text(images, (uint32_t)(uintptr_t)map.path);
        put_vdso(images, buffer, &map);
        list[count++] = map;
        if (count == PUT_AT_ONCE) {
            raw_put_mapx(buffer, list, count);
            count = 0;
        }
    }
    if (count > 0)
        raw_put_mapx(buffer, list, count);
    images->news_count = kept;
    free(list);
}

static void put_codes(struct images *images, struct buffer *buffer)
{
    for (size_t i = 0; i < images->code_count; i++) {
        struct raw_code *code = &images->codes[i];
        code->path = (char *)(uintptr_t)text(images, (uint32_t)(uintptr_t)code->path);
        code->content = (char *)(uintptr_t)text(images, (uint32_t)(uintptr_t)code->content);
    }
    for (size_t i = 0; i < images->code_count; i += PUT_AT_ONCE) {
        size_t left = images->code_count - i;
        raw_put_codes(buffer, images->codes + i, left < PUT_AT_ONCE ? left : PUT_AT_ONCE);
    }
    images->code_count = 0;
}

void images_put(struct images *images, struct buffer *buffer, bool all)
{
    if (all)
        read_nameless(images);
    put_codes(images, buffer);
    put_images(images, buffer, images_ready(images, all));
    if (images->news_count > 0)
        put_mappings(images, buffer);
}

/* ---- the end ------------------------------------------------------------------------------------ */

/* Returns the number of the target's path. */
static uint32_t find_target(const struct images *images)
{
    uint32_t texts = strings_count(images->texts), best = 0;
    uint64_t *ran = mem_zalloc(texts + 1u, sizeof *ran);
    for (size_t i = 0; i < images->count; i++)
        ran[images->list[i].path] += images->list[i].ran;
    for (size_t i = 0; i < images->count; i++) {
        uint32_t path = images->list[i].path;
        if (path != 0 && (best == 0 || ran[path] > ran[best]))
            best = path;
    }
    free(ran);
    return best;
}

const char *images_target(const struct images *images)
{
    return text(images, find_target(images));
}

size_t images_vmmap_count(const struct images *images)
{
    return images->placed_count < MAX_VMMAPS ? images->placed_count : MAX_VMMAPS;
}

/* Appends to LIST the places of RANK. For several files at the same place, the rank of the first
 * file counts. */
static size_t append(const struct images *images, uint32_t target, int rank, struct vmmap *list,
                     size_t count)
{
    int its = 0;
    for (size_t i = 0; i < images->placed_count && count < MAX_VMMAPS; i++) {
        const struct placed *place = &images->placed[i];
        if (i == 0 || by_place(&place[-1].area, &place->area) != 0)
            its = place->area.path == target                  ? 0
                  : images->list[place->image].path == target ? 1
                                                              : 2;
        if (its == rank)
            list[count++] = vmmap_of(images, &place->area);
    }
    return count;
}

struct vmmap *images_vmmaps(struct images *images, size_t *count)
{
    uint32_t target = find_target(images);
    images->placed_count = unique(images->placed, images->placed_count);
    if (images->placed_count > 0)
        qsort(images->placed, images->placed_count, sizeof *images->placed, in_order);
    struct vmmap *list = mem_zalloc(images_vmmap_count(images) + 1, sizeof *list);
    *count = 0;
    for (int rank = 0; rank < 3; rank++)
        *count = append(images, target, rank, list, *count);
    return list;
}
