/* The executable mappings that a program has had.
 * SPDX-License-Identifier: MIT */
#include "record/mappings.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "record/build_id.h"

enum { VDSO_LARGEST = 1024 * 1024, PATH_LARGEST = 4096 };
static const char deleted[] = " (deleted)";

static void free_map(struct raw_map *map)
{
    free(map->build_id);
    free(map->path);
}

void mappings_free(struct mappings *mappings)
{
    for (size_t i = 0; i < mappings->count; i++)
        free_map(&mappings->maps[i]);
    free(mappings->maps);
    free(mappings->known);
    free(mappings->vdso);
    *mappings = (struct mappings){0};
}

/* A line of /proc/PID/maps. */
struct line {
    uint64_t start, end, offset;
    const char *path; /* in the line, without line end; "" when anonymous */
};

/* Returns whether the line is one and tells of an executable mapping. */
static bool parse_line(char *text, struct line *line)
{
    char rights[5];
    int at = 0;
    text[strcspn(text, "\n")] = '\0';
    /* NOLINTNEXTLINE(cert-err34-c): the kernel's own text */
    if (sscanf(text, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*u %n", &line->start, &line->end,
               rights, &line->offset, &at) != 4 ||
        at == 0 || rights[2] != 'x')
        return false;
    line->path = text + at;
    return true;
}

/* Shared memory without a file shows a path as well. */
static bool is_file(const char *path)
{
    return path[0] == '/' && strncmp(path, "/memfd:", 7) != 0 && strncmp(path, "/SYSV", 5) != 0 &&
           strncmp(path, "/dev/zero", 9) != 0;
}

static char *without_deleted(const char *path)
{
    size_t length = strlen(path), tail = sizeof deleted - 1;
    if (length > tail && strcmp(path + length - tail, deleted) == 0 && access(path, F_OK) != 0)
        length -= tail;
    return mem_strndup(path, length);
}

/* The file that is mapped, not one that has come to its name since; without the right to see that,
 * its name. */
static char *mapped_build_id(pid_t pid, const struct line *line, const char *path)
{
    char link[96];
    snprintf(link, sizeof link, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, line->start,
             line->end);
    return build_id_of(access(link, R_OK) == 0 ? link : path);
}

static bool is_listed(const struct mappings *mappings, const struct line *line, const char *path)
{
    for (size_t i = 0; i < mappings->count; i++) {
        const struct raw_map *map = &mappings->maps[i];
        if (map->address == line->start && map->offset == line->offset &&
            map->size == line->end - line->start && strcmp(map->path, path) == 0)
            return true;
    }
    return false;
}

static void list_file(struct mappings *mappings, pid_t pid, const struct line *line)
{
    char *path = without_deleted(line->path);
    if (is_listed(mappings, line, path)) {
        free(path);
        return;
    }
    mem_reserve(&mappings->maps, &mappings->capacity, mappings->count + 1, sizeof *mappings->maps);
    mappings->maps[mappings->count++] =
        (struct raw_map){.address = line->start,
                         .size = line->end - line->start,
                         .offset = line->offset,
                         .pid = (uint32_t)pid,
                         .build_id = mapped_build_id(pid, line, path),
                         .path = path};
}

static void note_known(struct mappings *mappings, const struct line *line)
{
    mem_reserve(&mappings->known, &mappings->known_capacity, mappings->known_count + 1,
                sizeof *mappings->known);
    mappings->known[mappings->known_count++] = (struct address_range){line->start, line->end};
}

static void read_vdso(struct mappings *mappings, pid_t pid, const struct line *line)
{
    char path[64];
    size_t size = line->end - line->start;
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint8_t *image = size <= VDSO_LARGEST ? mem_alloc(size) : NULL;
    if (fd >= 0 && image != NULL && pread(fd, image, size, (off_t)line->start) == (ssize_t)size) {
        free(mappings->vdso);
        mappings->vdso = image;
        mappings->vdso_address = line->start;
        mappings->vdso_size = size;
        image = NULL;
    }
    free(image);
    if (fd >= 0)
        close(fd);
}

/* The program itself goes to the front of its maps. */
static void program_first(struct mappings *mappings, pid_t pid)
{
    char link[64], program[PATH_LARGEST];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    ssize_t length = readlink(link, program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    char *path = without_deleted(program);
    for (size_t i = 1; i < mappings->count; i++) {
        if (strcmp(mappings->maps[i].path, path) != 0 || strcmp(mappings->maps[0].path, path) == 0)
            continue;
        struct raw_map map = mappings->maps[i];
        memmove(mappings->maps + 1, mappings->maps, i * sizeof map);
        mappings->maps[0] = map;
        break;
    }
    free(path);
}

/* Neighbours of one file that follow each other in it are one segment whose rights were changed in
 * parts: *LINE grows by NEXT. */
static bool joins(struct line *line, const struct line *next, const char *path)
{
    if (line->end != next->start || !is_file(path) || strcmp(path, next->path) != 0 ||
        line->offset + (line->end - line->start) != next->offset)
        return false;
    line->end = next->end;
    return true;
}

static void take_line(struct mappings *mappings, pid_t pid, const struct line *line, bool fresh)
{
    if (line->start == line->end)
        return;
    note_known(mappings, line);
    if (is_file(line->path))
        list_file(mappings, pid, line);
    else if (fresh && strcmp(line->path, "[vdso]") == 0)
        read_vdso(mappings, pid, line);
}

size_t mappings_read(struct mappings *mappings, pid_t pid, bool fresh)
{
    char name[64], *text = NULL, *path = mem_strdup("");
    size_t room = 0, before = mappings->count;
    struct line last = {.path = path}, line;
    snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(name, "re");
    if (file != NULL)
        mappings->known_count = 0;
    while (file != NULL && getline(&text, &room, file) > 0) {
        if (!parse_line(text, &line) || joins(&last, &line, path))
            continue;
        take_line(mappings, pid, &last, fresh);
        free(path);
        path = mem_strdup(line.path);
        last = line;
        last.path = path;
    }
    take_line(mappings, pid, &last, fresh);
    if (before == 0)
        program_first(mappings, pid);
    if (file != NULL)
        fclose(file);
    free(text);
    free(path);
    return mappings->count - before;
}

bool mappings_know(const struct mappings *mappings, uint64_t pc)
{
    size_t low = 0, high = mappings->known_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pc >= mappings->known[middle].end)
            low = middle + 1;
        else
            high = middle;
    }
    return low < mappings->known_count && pc >= mappings->known[low].start;
}
