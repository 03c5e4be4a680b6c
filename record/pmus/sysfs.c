/* Files that contain a number.
 * SPDX-License-Identifier: MIT */
#include "record/pmus/sysfs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"

char *sysfs_path(const char *format, ...)
{
    const char *root = secure_getenv("PBIN_SYSROOT");
    va_list args;
    va_start(args, format);
    char *path = mem_vprintf(format, args);
    va_end(args);
    char *full = mem_printf("%s%s", root != NULL ? root : "", path);
    free(path);
    return full;
}

static int by_number(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

void sysfs_list(struct sysfs_list *list, const char *folder, const char *prefix)
{
    *list = (struct sysfs_list){0};
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.' || strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        mem_reserve(&list->names, &list->capacity, list->count + 1, sizeof *list->names);
        list->names[list->count++] = mem_strdup(entry->d_name);
    }
    closedir(dir);
    if (list->count > 1)
        qsort(list->names, list->count, sizeof *list->names, by_number);
}

void sysfs_list_free(struct sysfs_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->names[i]);
    free(list->names);
}

/* Does not block, even if the file is a FIFO. Returns the number of bytes read, or -1 with errno
 * set. */
static ssize_t read_path(const char *path, char *text, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -1;
    ssize_t got = read(fd, text, room);
    int errnum = errno;
    close(fd);
    errno = errnum;
    return got;
}

char *sysfs_line(const char *folder, const char *name)
{
    char text[512];
    char *path = mem_printf("%s/%s", folder, name);
    ssize_t got = read_path(path, text, sizeof text - 1);
    free(path);
    if (got < 0)
        return NULL;
    text[got] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return mem_strdup(text);
}

bool sysfs_number(const char *folder, const char *name, double *number)
{
    char *line = sysfs_line(folder, name), *end = line;
    if (line != NULL)
        *number = strtod(line, &end);
    bool good = end != line && isfinite(*number) && *number >= 0;
    free(line);
    return good;
}

static bool on_sysfs(int fd)
{
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && fs.f_type == SYSFS_MAGIC;
}

int sysfs_open(struct sysfs_file *file, const char *folder, const char *name, struct error *err)
{
    char text[SYSFS_TEXT];
    *file = (struct sysfs_file){
        .path = folder != NULL ? mem_printf("%s/%s", folder, name) : mem_strdup(name), .fd = -1};
    int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        error_set_errno(err, file->path, errno, "cannot open");
        sysfs_close(file);
        return -1;
    }
    if (on_sysfs(fd))
        file->fd = fd;
    else
        close(fd);
    if (sysfs_read(file, text, err) >= 0)
        return 0;
    sysfs_close(file);
    return -1;
}

void sysfs_close(struct sysfs_file *file)
{
    if (file->path != NULL && file->fd >= 0)
        close(file->fd);
    free(file->path);
    *file = (struct sysfs_file){.fd = -1};
}

int sysfs_read(const struct sysfs_file *file, char text[SYSFS_TEXT], struct error *err)
{
    ssize_t got;
    do {
        got = file->fd >= 0 ? pread(file->fd, text, SYSFS_TEXT - 1, 0)
                            : read_path(file->path, text, SYSFS_TEXT - 1);
    } while (got < 0 && errno == EINTR);
    if (got < 0 && (errno == EAGAIN || errno == ENODATA))
        return 0;
    if (got < 0)
        return error_set_errno(err, file->path, errno, "cannot read");
    text[got] = '\0';
    return text[strspn(text, " \t\n")] != '\0';
}

int sysfs_open_filled(struct sysfs_file *file, const char *path, char text[SYSFS_TEXT],
                      struct error *err)
{
    enum { TRIES = 100, TRY_NS = 2000000 };
    if (sysfs_open(file, NULL, path, err) != 0)
        return -1;
    int got = sysfs_read(file, text, err);
    for (int i = 0; i < TRIES && got == 0; i++) {
        nanosleep(&(struct timespec){.tv_nsec = TRY_NS}, NULL);
        got = sysfs_read(file, text, err);
    }
    if (got > 0)
        return 0;
    if (got == 0)
        error_set(err, path, NO_OFFSET, "expected a number, found nothing");
    sysfs_close(file);
    return -1;
}

static bool ends(const char *end, const char *text)
{
    return end != text && (*end == '\0' || isspace((unsigned char)*end));
}

static int not_a_number(const struct sysfs_file *file, const char *text, struct error *err)
{
    return error_set(err, file->path, NO_OFFSET, "expected a number, found '%.*s'",
                     (int)strcspn(text, "\n"), text);
}

int sysfs_count(const struct sysfs_file *file, uint64_t *count, struct error *err)
{
    char text[SYSFS_TEXT], *end;
    int got = sysfs_read(file, text, err);
    if (got <= 0)
        return got;
    const char *digits = text + strspn(text, " \t");
    errno = 0;
    unsigned long long value = strtoull(digits, &end, 10);
    if (!isdigit((unsigned char)*digits) || errno != 0 || !ends(end, digits))
        return not_a_number(file, text, err);
    *count = value;
    return 1;
}

int sysfs_gauge(const struct sysfs_file *file, double *value, struct error *err)
{
    char text[SYSFS_TEXT], *end;
    int got = sysfs_read(file, text, err);
    if (got <= 0)
        return got;
    *value = strtod(text, &end);
    return isfinite(*value) && ends(end, text) ? 1 : not_a_number(file, text, err);
}
