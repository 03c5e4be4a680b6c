/* The cache folder of the user.
 * SPDX-License-Identifier: MIT */
#include "convert/symbolize/cache_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/transfer.h"

#define MAX_BYTES (UINT64_C(256) << 20) /* of all files */
#define OLD       INT64_C(86400) /* [s] age of an unfinished file that is no longer being written */

static const char unfinished[] = ".tmp-";

struct cache_folder {
    int fd;
};

struct cached {
    char *name;
    uint64_t size;
    struct timespec used;
};

/* Returns whether only this user may write the file. */
static bool is_own(const struct stat *st)
{
    return st->st_uid == geteuid() && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static char *folder_path(void)
{
    const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
    if (cache != NULL && cache[0] == '/')
        return mem_strdup(cache);
    return home != NULL && home[0] == '/' ? mem_printf("%s/.cache", home) : NULL;
}

struct cache_folder *cache_folder_open(void)
{
    struct stat st;
    char *above = folder_path();
    if (above == NULL)
        return NULL;
    char *path = mem_printf("%s/pbin-tools", above);
    mkdir(above, 0700); /* they may exist */
    mkdir(path, 0700);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    free(above);
    free(path);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) != 0 || !is_own(&st)) {
        close(fd);
        return NULL;
    }
    struct cache_folder *folder = mem_zalloc(1, sizeof *folder);
    folder->fd = fd;
    return folder;
}

void cache_folder_close(struct cache_folder *folder)
{
    if (folder == NULL)
        return;
    close(folder->fd);
    free(folder);
}

uint8_t *cache_folder_read(struct cache_folder *folder, const char *name, size_t most, size_t *size)
{
    struct stat st;
    uint8_t *data = NULL;
    int fd = openat(folder->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && is_own(&st) && st.st_size > 0 &&
        (uint64_t)st.st_size <= most) {
        *size = (size_t)st.st_size;
        data = mem_alloc(*size);
        if (!read_all(fd, data, *size)) {
            free(data);
            data = NULL;
        }
        futimens(fd, NULL);
    }
    close(fd);
    return data;
}

static int by_use(const void *left, const void *right)
{
    const struct timespec *a = &((const struct cached *)left)->used;
    const struct timespec *b = &((const struct cached *)right)->used;
    if (a->tv_sec != b->tv_sec)
        return a->tv_sec < b->tv_sec ? -1 : 1;
    return a->tv_nsec < b->tv_nsec ? -1 : a->tv_nsec > b->tv_nsec;
}

/* Lists the files in the folder; returns their number. Deletes unfinished files that were left
 * behind. */
static size_t list(const struct cache_folder *folder, struct cached **files)
{
    size_t count = 0, capacity = 0;
    int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct stat st;
    *files = NULL;
    if (dir == NULL && fd >= 0)
        close(fd);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        if (fstatat(folder->fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(st.st_mode))
            continue;
        if (strncmp(entry->d_name, unfinished, sizeof unfinished - 1) == 0) {
            if (st.st_mtim.tv_sec < time(NULL) - OLD)
                unlinkat(folder->fd, entry->d_name, 0);
            continue;
        }
        mem_reserve(files, &capacity, count + 1, sizeof **files);
        (*files)[count++] =
            (struct cached){mem_strdup(entry->d_name), (uint64_t)st.st_size, st.st_mtim};
    }
    if (dir != NULL)
        closedir(dir);
    return count;
}

static void prune(const struct cache_folder *folder)
{
    struct cached *files;
    size_t count = list(folder, &files);
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += files[i].size;
    if (count > 0)
        qsort(files, count, sizeof *files, by_use);
    for (size_t i = 0; i < count; i++) {
        if (sum > MAX_BYTES && unlinkat(folder->fd, files[i].name, 0) == 0)
            sum -= files[i].size;
        free(files[i].name);
    }
    free(files);
}

void cache_folder_write(struct cache_folder *folder, const char *name, const uint8_t *data,
                        size_t size)
{
    char *draft = mem_printf("%s%ld-%s", unfinished, (long)getpid(), name);
    int fd = openat(folder->fd, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool whole = fd >= 0 && write_all(fd, data, size);
    whole = fd >= 0 && close(fd) == 0 && whole;
    if (whole && renameat(folder->fd, draft, folder->fd, name) == 0)
        prune(folder);
    else if (fd >= 0)
        unlinkat(folder->fd, draft, 0);
    free(draft);
}
