/* Files for unit tests: all files are created in the current folder, which the runner removes.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_SCRATCH_H
#define TESTS_UNIT_SCRATCH_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"

static inline void scratch_write(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(data, 1, size, f) != size || fclose(f) != 0)
        abort();
}

/* The whole file; caller frees with buffer_free. */
static inline struct buffer scratch_read(const char *path)
{
    struct buffer b = {0};
    uint8_t part[4096];
    size_t got;
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return b;
    while ((got = fread(part, 1, sizeof part, f)) > 0)
        buffer_bytes(&b, part, got);
    fclose(f);
    return b;
}

/* Number of files in FOLDER. */
static inline int scratch_count(const char *folder)
{
    int count = 0;
    DIR *dir = opendir(folder);
    if (dir == NULL)
        abort();
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

/* SIZE bytes without a pattern, which could mask errors of a window. */
static inline struct buffer scratch_noise(size_t size)
{
    struct buffer b = {0};
    uint8_t *p = buffer_extend(&b, size);
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < size; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        p[i] = (uint8_t)(x >> 32);
    }
    return b;
}

/* Runs a shell command. Returns whether it ended with status 0. */
static inline bool scratch_shell(const char *command)
{
    int status = system(command);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

#endif
