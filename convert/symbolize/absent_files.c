/* Files that are known to be absent.
 * SPDX-License-Identifier: MIT */
#include "convert/symbolize/absent_files.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/memory.h"

/* Listing a folder takes as long as a few hundred attempts to open a file in it. */
enum { LIST_AFTER = 200, MAX_NAMES = 1 << 18 };

struct folder {
    unsigned missed;
    struct strings *names; /* of all files in the folder; NULL: unknown */
};

struct absent_files {
    struct strings *paths; /* of folders; their numbers count FOLDERS */
    struct folder *folders;
    size_t count, capacity;
};

struct absent_files *absent_files_new(void)
{
    struct absent_files *a = mem_zalloc(1, sizeof *a);
    a->paths = strings_new();
    return a;
}

void absent_files_delete(struct absent_files *a)
{
    for (uint32_t i = 1; i < strings_count(a->paths); i++)
        strings_delete(a->folders[i].names);
    strings_delete(a->paths);
    free(a->folders);
    free(a);
}

/* Divides PATH into FOLDER and a name, which it returns. Returns NULL if PATH has no folder that
 * can be listed. */
static const char *divide(const char *path, char folder[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    size_t length = slash != NULL ? (size_t)(slash - path) : 0;
    if (length == 0 || length >= PATH_MAX)
        return NULL;
    memcpy(folder, path, length);
    folder[length] = '\0';
    return slash + 1;
}

bool absent_files_know(const struct absent_files *a, const char *path)
{
    char folder[PATH_MAX];
    const char *name = divide(path, folder);
    uint32_t number = name != NULL ? strings_find(a->paths, folder) : INTERN_NONE;
    if (number == INTERN_NONE || a->folders[number].names == NULL)
        return false;
    return strings_find(a->folders[number].names, name) == INTERN_NONE;
}

/* Returns the names in a folder, none if it does not exist; NULL if it cannot be listed. */
static struct strings *list(const char *folder)
{
    const struct dirent *entry = NULL;
    DIR *dir = opendir(folder);
    if (dir == NULL && errno != ENOENT && errno != ENOTDIR)
        return NULL;
    struct strings *names = strings_new();
    if (dir == NULL)
        return names;
    errno = 0;
    while (strings_count(names) < MAX_NAMES && (entry = readdir(dir)) != NULL)
        strings_intern(names, entry->d_name);
    if (entry != NULL || errno != 0) {
        strings_delete(names);
        names = NULL;
    }
    closedir(dir);
    return names;
}

void absent_files_add(struct absent_files *a, const char *path)
{
    char folder[PATH_MAX];
    if (divide(path, folder) == NULL)
        return;
    uint32_t number = strings_intern(a->paths, folder);
    mem_extend(&a->folders, &a->count, &a->capacity, (size_t)number + 1, sizeof *a->folders);
    if (++a->folders[number].missed == LIST_AFTER)
        a->folders[number].names = list(folder);
}
