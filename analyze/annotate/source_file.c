/* Source files: finds those that were built elsewhere, and reads lines.
 * SPDX-License-Identifier: MIT */
#include "analyze/annotate/source_file.h"

#include <fcntl.h>
#include <limits.h>
#include <md5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

enum { MAX_LINE = 64 * 1024, MAX_SIZE = SOURCE_MAX_MB << 20 /* [bytes] */ };

struct source_file {
    FILE *file;
    char *path;
    time_t changed;
    uint64_t line; /* number of the line in TEXT; 0 if there is none yet */
    char text[MAX_LINE + 8];
};

/* ---- which files may be shown ---- */

/* The rest of PATH below FOLDER, without the slash; NULL if it is not below FOLDER. Both are
 * absolute and contain no links. */
static const char *below(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    if (length > 0 && folder[length - 1] == '/')
        length--;
    return strncmp(path, folder, length) == 0 && path[length] == '/' ? path + length + 1 : NULL;
}

static bool has_hidden_part(const char *rest)
{
    return rest[0] == '.' || strstr(rest, "/.") != NULL;
}

static bool is_in_system(const char *path)
{
    static const char *const folders[] = {"/dev", "/etc", "/proc", "/run", "/sys"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if (strcmp(path, folders[i]) == 0 || below(path, folders[i]) != NULL)
            return true;
    return false;
}

/* Returns whether PATH may be shown because it is below FOLDER, however these are spelled. */
static bool is_open(const char *path, const char *folder)
{
    char *real = realpath(folder, NULL);
    const char *rest = real != NULL ? below(path, real) : NULL;
    bool open =
        rest != NULL && !has_hidden_part(rest) && (!is_in_system(path) || is_in_system(real));
    free(real);
    return open;
}

static bool has_source_suffix(const char *path)
{
    static const char suffixes[] =
        " ada adb ads asm c c++ cc cl cp cpp cr cs cu cuh cxx d def di erl f f03 f08 f77 f90 f95 "
        "for go h h++ hh hip hpp hs hxx i icc ii inc inl ipp java jl js kt l ll lua m ml mli mm "
        "nim pas php pl pp pxd py pyx rb re rs s scala swift tcc tpp ts v vala vapi y yy zig ";
    const char *dot = strrchr(path, '.');
    char word[16];
    if (dot == NULL || strlen(dot) > 10)
        return false;
    size_t length = (size_t)snprintf(word, sizeof word, " %s ", dot + 1);
    for (size_t i = 0; i < length; i++)
        if (word[i] >= 'A' && word[i] <= 'Z')
            word[i] = (char)(word[i] - 'A' + 'a');
    return strchr(dot, '/') == NULL && strstr(suffixes, word) != NULL;
}

/* NEW in OLD=NEW may end within a name. */
static bool is_open_by_map(const char *path, const char *map)
{
    const char *equals = strchr(map, '='), *new = equals != NULL ? equals + 1 : "";
    const char *slash = strrchr(new, '/');
    if (new[0] == '\0')
        return false;
    if (is_open(path, new))
        return true;
    char *folder = slash == NULL ? mem_strdup(".") : mem_printf("%.*s/", (int)(slash - new), new);
    bool open = is_open(path, folder);
    free(folder);
    return open;
}

static bool may_be_shown(const char *path, const struct source_search *search)
{
    static const char *const public[] = {"/usr/include", "/usr/local/include", "/usr/lib",
                                         "/usr/src"};
    char here[PATH_MAX];
    for (size_t i = 0; i < search->folder_count; i++)
        if (is_open(path, search->folders[i]))
            return true;
    for (size_t i = 0; i < search->prefix_map_count; i++)
        if (is_open_by_map(path, search->prefix_maps[i]))
            return true;
    for (size_t i = 0; i < sizeof public / sizeof public[0]; i++)
        if (is_open(path, public[i]))
            return true;
    return getcwd(here, sizeof here) != NULL && strcmp(here, "/") != 0 && has_source_suffix(path) &&
           is_open(path, here);
}

/* ---- opening ---- */

/* Checks the file at PATH before opening it, because opening a device or a FIFO may have effects.
 * Then opens exactly the file that was checked. */
static FILE *open_checked(const char *path, const struct source_search *search, time_t *changed,
                          struct source_refusal *refusal)
{
    char link[64], real[PATH_MAX];
    struct stat info;
    FILE *file = NULL;
    int place = open(path, O_PATH | O_CLOEXEC), fd = -1;
    if (place < 0)
        return NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", place);
    ssize_t length = readlink(link, real, sizeof real - 1);
    if (fstat(place, &info) == 0 && S_ISREG(info.st_mode) && length > 0) {
        real[length] = '\0';
        if (!may_be_shown(real, search))
            refusal->forbidden = true;
        else if (info.st_size > MAX_SIZE) /* reading a hole could take forever */
            refusal->large = true;
        else
            fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    }
    close(place);
    if (fd >= 0 && (file = fdopen(fd, "r")) == NULL)
        close(fd);
    *changed = info.st_mtime;
    return file;
}

/* Computes the MD5 of FILE, and rewinds it. Returns false if it cannot be read, or if its size is
 * not plausible for a source file. */
static bool sum_file(FILE *file, char text[MD5_DIGEST_STRING_LENGTH])
{
    uint8_t part[16 * 1024];
    uint64_t size = 0;
    size_t got;
    MD5_CTX sum;
    MD5Init(&sum);
    while (size <= MAX_SIZE && (got = fread(part, 1, sizeof part, file)) > 0) {
        MD5Update(&sum, part, got);
        size += got;
    }
    MD5End(&sum, text);
    return size <= MAX_SIZE && ferror(file) == 0 && fseek(file, 0, SEEK_SET) == 0;
}

static bool has_md5(FILE *file, const struct source_search *search)
{
    char text[MD5_DIGEST_STRING_LENGTH];
    if (search->md5_count == 0)
        return true;
    if (!sum_file(file, text))
        return false;
    for (size_t i = 0; i < search->md5_count; i++)
        if (strcmp(text, search->md5s[i]) == 0)
            return true;
    return false;
}

static struct source_file *try_open(const char *path, const struct source_search *search,
                                    struct source_refusal *refusal)
{
    time_t changed = 0;
    FILE *file = open_checked(path, search, &changed, refusal);
    if (file == NULL)
        return NULL;
    if (!has_md5(file, search)) {
        fclose(file);
        if (refusal->other == NULL)
            refusal->other = mem_strdup(path);
        return NULL;
    }
    struct source_file *source = mem_zalloc(1, sizeof *source);
    source->file = file;
    source->path = mem_strdup(path);
    source->changed = changed;
    return source;
}

/* PATH with its prefix replaced. The caller frees it. */
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

/* Tries REST in each folder. */
static struct source_file *try_folders(const char *rest, const struct source_search *search,
                                       struct source_refusal *refusal)
{
    struct source_file *source = NULL;
    char path[PATH_MAX];
    for (size_t i = 0; i < search->folder_count && source == NULL; i++) {
        int length = snprintf(path, sizeof path, "%s/%s", search->folders[i], rest);
        if (length > 0 && (size_t)length < sizeof path)
            source = try_open(path, search, refusal);
    }
    return source;
}

struct source_file *source_file_open(const char *path, const struct source_search *search,
                                     struct source_refusal *refusal)
{
    *refusal = (struct source_refusal){0};
    if (path[0] == '\0')
        return NULL;
    char *here = map_prefix(path, search);
    struct source_file *source = try_open(here, search, refusal);
    /* longer paths cannot be opened, and hostile ones contain a million slashes: try only the base
     * name */
    const char *rest = strlen(here) < PATH_MAX ? here : strrchr(here, '/');
    for (; rest != NULL && source == NULL; rest = strchr(rest, '/')) {
        rest += strspn(rest, "/");
        while (strncmp(rest, "./", 2) == 0)
            rest += 2;
        if (rest[0] != '\0')
            source = try_folders(rest, search, refusal);
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

/* Reads the next line into TEXT. NUL bytes become visible, and the ends of long lines are
 * dropped. */
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
