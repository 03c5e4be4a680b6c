/* The command that is to be metered.
 * SPDX-License-Identifier: MIT */
#include "record/funcmeter/command.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "formats/elf/elf_sections.h"
#include "record/funcmeter/shared.h"

char *command_find(const char *command)
{
    const char *path = getenv("PATH");
    if (strchr(command, '/') != NULL)
        return mem_strdup(command);
    for (const char *at = path != NULL ? path : "/bin:/usr/bin"; at != NULL;) {
        size_t length = strcspn(at, ":");
        char *candidate =
            length > 0 ? mem_printf("%.*s/%s", (int)length, at, command) : mem_strdup(command);
        if (access(candidate, X_OK) == 0)
            return candidate;
        free(candidate);
        at = at[length] == ':' ? at + length + 1 : NULL;
    }
    return NULL;
}

/* Returns whether the system gives the program at PATH the privileges of its owner. */
static bool is_raised(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 &&
           (((status.st_mode & S_ISUID) != 0 && status.st_uid != getuid()) ||
            ((status.st_mode & S_ISGID) != 0 && status.st_gid != getgid()));
}

bool command_is_static(const struct elf_file *file)
{
    return file->section_count > 0 && elf_section_find(file, ".interp") == NULL;
}

static const char *why_not_file(const char *path)
{
    struct error unused = {0};
    int errnum;
    if (is_raised(path))
        return "runs with the privileges of its owner (set-user-ID), so the system preloads no "
               "library into it";
    struct elf_file *file = elf_file_open(path, &errnum, &unused);
    if (file == NULL)
        /* a script, whose interpreter is metered; or an error, which is reported at the start */
        return NULL;
    const char *why = NULL;
    if (!file->is_64 || file->machine != METER_MACHINE)
        why = "is not a program for " METER_MACHINE_NAME;
    else if (command_is_static(file))
        why = "is statically linked, so no library can be loaded into it";
    elf_file_close(file);
    return why;
}

int command_check(const char *command, struct error *err)
{
    char *path = command_find(command);
    const char *why = path != NULL ? why_not_file(path) : NULL;
    if (why != NULL)
        error_set(err, NULL, NO_OFFSET, "cannot measure '%s': it %s", path, why);
    free(path);
    return why != NULL ? -1 : 0;
}

int command_check_for_probes(const char *command, struct error *err)
{
    char *path = command_find(command);
    bool raised = path != NULL && is_raised(path);
    if (raised)
        error_set(err, NULL, NO_OFFSET,
                  "cannot measure '%s': it runs with the privileges of its owner (set-user-ID), so "
                  "that the kernel stops counting for others",
                  path);
    free(path);
    return raised ? -1 : 0;
}
