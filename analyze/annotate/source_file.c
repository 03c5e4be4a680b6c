/* Source files: searches those built elsewhere, and reads lines.
 * SPDX-License-Identifier: MIT */
#include "analyze/annotate/source_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

enum { MAX_LINE = 64 * 1024 };

struct source_file {
    FILE *file;
    char *path;
    time_t changed;
    uint64_t line; /* number of the line in TEXT; 0: none yet */
    char text[MAX_LINE + 8];
};

/* A name from a profile may be a device or a FIFO: never wait for one. */
static struct source_file *try_open(const char *path)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    FILE *file = NULL;
    if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
        file = fdopen(fd, "r");
    if (file == NULL) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    struct source_file *source = mem_zalloc(1, sizeof *source);
    source->file = file;
    source->path = mem_strdup(path);
    source->changed = info.st_mtime;
    return source;
}

/* PATH with its prefix replaced; caller frees. */
static char *map_prefix(const char *path, const struct source_search *search)
{
    for (size_t i = 0; i < search->prefix_map_count; i++) {
        const char *old = search->prefix_maps[i], *equal = strchr(old, '=');
        size_t length = equal != NULL ? (size_t)(equal - old) : 0;
        if (length > 0 && strncmp(path, old, length) == 0)
            return mem_printf("%s%s", equal + 1, path + length);
    }
    return mem_strdup(path);
}

/* Tries REST in every folder. */
static struct source_file *try_folders(const char *rest, const struct source_search *search)
{
    struct source_file *source = NULL;
    char path[PATH_MAX];
    for (size_t i = 0; i < search->folder_count && source == NULL; i++) {
        int length = snprintf(path, sizeof path, "%s/%s", search->folders[i], rest);
        if (length > 0 && (size_t)length < sizeof path)
            source = try_open(path);
    }
    return source;
}

struct source_file *source_file_open(const char *path, const struct source_search *search)
{
    if (path[0] == '\0')
        return NULL;
    char *here = map_prefix(path, search);
    struct source_file *source = try_open(here);
    /* longer paths cannot be opened, and hostile ones have a million slashes: try only the base name */
    const char *rest = strlen(here) < PATH_MAX ? here : strrchr(here, '/');
    for (; rest != NULL && source == NULL; rest = strchr(rest, '/')) {
        rest += strspn(rest, "/");
        while (strncmp(rest, "./", 2) == 0)
            rest += 2;
        if (rest[0] != '\0')
            source = try_folders(rest, search);
    }
    free(here);
    return source;
}

void source_file_close(struct source_file *source)
{
    if (source == NULL)
        return;
    fclose(source->file);
    free(source->path);
    free(source);
}

const char *source_file_path(const struct source_file *source)
{
    return source->path;
}

time_t source_file_changed(const struct source_file *source)
{
    return source->changed;
}

/* Reads the next line into TEXT; NUL bytes become visible, the excess of long lines is dropped. */
static int read_line(struct source_file *source)
{
    size_t length = 0;
    int c = getc_unlocked(source->file);
    if (c == EOF)
        return -1;
    for (; c != EOF && c != '\n'; c = getc_unlocked(source->file))
        if (length < MAX_LINE) {
            if (c == '\0') {
                memcpy(source->text + length, "\\x00", 4);
                length += 4;
            } else {
                source->text[length++] = (char)c;
            }
        }
    if (length > 0 && source->text[length - 1] == '\r')
        length--;
    source->text[length] = '\0';
    source->line++;
    return 0;
}

const char *source_file_line(struct source_file *source, uint64_t number)
{
    while (source->line < number)
        if (read_line(source) != 0)
            return NULL;
    return source->text;
}
