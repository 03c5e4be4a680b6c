/* Finds the split debug information that compilers write to files beside the program.
 * SPDX-License-Identifier: MIT */
#include "formats/elf/elf_split.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/elf/elf_sections.h"

struct split_search {
    const struct elf_search *search;
    const struct elf_file *program;
    struct error why; /* why the first existing file could not be used */
};

/* Opens a path if it is a file for the same machine with split debug information. */
static struct elf_file *open_split(struct split_search *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static struct elf_file *open_split(struct split_search *s, const char *format, ...)
{
    struct error why = {0};
    int errnum = 0;
    va_list args;
    va_start(args, format);
    struct elf_file *file = elf_file_open_as(format, args, &errnum, &why);
    va_end(args);
    if (file != NULL && file->machine == s->program->machine && file->is_64 == s->program->is_64 &&
        file->big_endian == s->program->big_endian && elf_section_debug(file, "info.dwo") != NULL)
        return file;
    if (file != NULL)
        error_set(&why, file->path, NO_OFFSET, "no split debug information of this machine");
    elf_file_close(file);
    if (errnum != ENOENT && errnum != ENOTDIR)
        error_pass(&s->why, &why);
    return NULL;
}

/* The folder of FILE, as the arguments of "%.*s". */
static int folder_length(const struct elf_file *file)
{
    const char *slash = strrchr(file->path, '/');
    return slash == NULL ? 0 : slash - file->path < PATH_MAX ? (int)(slash - file->path) : PATH_MAX;
}

static const char *folder_of(const struct elf_file *file)
{
    return strrchr(file->path, '/') != NULL ? file->path : ".";
}

static struct elf_file *beside(struct split_search *s, const struct elf_file *file,
                               const char *name)
{
    int length = folder_length(file);
    return open_split(s, "%.*s/%s", length > 0 ? length : 1, folder_of(file), name);
}

/* Opens PATH, absolute or not, or its base name, below FOLDER, which the user specified. */
static struct elf_file *below(struct split_search *s, const char *folder, const char *path)
{
    const char *base = elf_base_name(path);
    struct elf_file *file = NULL;
    if (base != path)
        file = open_split(s, "%s%s%s", folder, path[0] == '/' ? "" : "/", path);
    return file != NULL ? file : open_split(s, "%s/%s", folder, base);
}

static struct elf_file *in_folders(struct split_search *s, const char *path)
{
    const struct elf_search *search = s->search;
    struct elf_file *file = NULL;
    for (size_t i = 0; i < search->folder_count && file == NULL; i++)
        file = below(s, search->folders[i], path);
    for (size_t i = 0; i < search->debug_folder_count && file == NULL; i++)
        file = below(s, search->debug_folders[i], path);
    return file;
}

struct elf_file *elf_search_split(const struct elf_search *search, const struct elf_file *program,
                                  const char *folder, const char *name, struct error *err)
{
    struct split_search s = {.search = search, .program = program};
    const bool absolute = name[0] == '/' || folder[0] == '\0';
    char *path = mem_printf("%s%s%s", absolute ? "" : folder, absolute ? "" : "/", name);
    const char *root = search->sysroot != NULL && path[0] == '/' ? search->sysroot : "";
    struct elf_file *file = NULL;
    if (name[0] != '\0') {
        file = in_folders(&s, path);
        if (file == NULL)
            file = open_split(&s, "%s%s", root, path);
        if (file == NULL && name[0] != '/')
            file = beside(&s, program, name);
        if (file == NULL)
            file = beside(&s, program, elf_base_name(name));
    }
    if (file == NULL && s.why.text[0] != '\0')
        error_set(err, s.why.file, s.why.offset, "%s", s.why.text);
    else if (file == NULL)
        error_set(err, path, NO_OFFSET, "not found (--debug-dir DIR adds a folder)");
    free(path);
    return file;
}

/* Opens the package that belongs to FILE according to its name. */
static struct elf_file *package_of(struct split_search *s, const struct elf_file *file)
{
    static const char ending[] = ".debug";
    size_t length = strlen(file->path), cut = sizeof ending - 1;
    struct elf_file *package = open_split(s, "%s.dwp", file->path);
    if (package == NULL && length > cut && length < PATH_MAX &&
        strcmp(file->path + length - cut, ending) == 0)
        package = open_split(s, "%.*s.dwp", (int)(length - cut), file->path);
    return package;
}

struct elf_file *elf_search_package(const struct elf_search *search, const struct elf_file *program,
                                    const struct elf_file *debug, struct error *err)
{
    struct split_search s = {.search = search, .program = program};
    struct elf_file *package = NULL;
    if (elf_section_debug(debug, "addr") == NULL) /* all split units need this section */
        return NULL;
    char *name = mem_printf("%s.dwp", elf_base_name(program->path));
    package = in_folders(&s, name);
    if (package == NULL)
        package = package_of(&s, program);
    if (package == NULL && debug != program)
        package = package_of(&s, debug);
    if (package == NULL && s.why.text[0] != '\0')
        error_set(err, s.why.file, s.why.offset, "%s", s.why.text);
    free(name);
    return package;
}
