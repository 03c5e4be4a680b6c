/* The processes that --attach names.
 * SPDX-License-Identifier: MIT */
#include "record/targets.h"

#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "record/process.h"

enum { MAX_TARGETS = 4096 };

void targets_free(struct targets *targets)
{
    free(targets->list);
    *targets = (struct targets){0};
}

static int add(struct targets *targets, pid_t id, struct error *err)
{
    if (targets->count == MAX_TARGETS)
        return error_set_usage(err, NULL, "--attach can be given at most %d processes",
                               MAX_TARGETS);
    mem_reserve(&targets->list, &targets->capacity, targets->count + 1, sizeof *targets->list);
    targets->list[targets->count++] = id;
    return 0;
}

static bool parse_id(const char *text, pid_t *id)
{
    uint64_t number;
    if (!parse_unsigned(text, 1, INT32_MAX, &number))
        return false;
    *id = (pid_t)number;
    return true;
}

static int malformed(const char *text, struct error *err)
{
    return error_set_usage(
        err, NULL, "--attach must be PID[,TID...], session:SID or cgroup:PATH, not '%s'", text);
}

static int add_list(struct targets *targets, const char *text, struct error *err)
{
    char *copy = mem_strdup(text), *rest = NULL;
    int result = 0;
    for (char *word = strtok_r(copy, ",", &rest); word != NULL && result == 0;
         word = strtok_r(NULL, ",", &rest)) {
        pid_t id;
        result = parse_id(word, &id) ? add(targets, id, err) : malformed(text, err);
    }
    free(copy);
    return result;
}

static int add_session(struct targets *targets, const char *text, struct error *err)
{
    pid_t wanted, pid;
    if (!parse_id(text, &wanted))
        return malformed(text, err);
    DIR *proc = opendir("/proc");
    if (proc == NULL)
        return error_set_errno(err, "/proc", errno, "cannot read");
    int result = 0;
    for (struct dirent *entry; result == 0 && (entry = readdir(proc)) != NULL;)
        if (parse_id(entry->d_name, &pid) && pid != getpid() && process_session(pid) == wanted)
            result = add(targets, pid, err);
    closedir(proc);
    return result;
}

static int add_group(struct targets *targets, const char *folder, struct error *err)
{
    char *path = mem_printf("%s/cgroup.procs", folder);
    FILE *file = fopen(path, "re");
    int result = 0, pid;
    if (file == NULL)
        error_set_errno(err, path, errno, "cannot read the processes of the control group");
    free(path);
    if (file == NULL)
        return -1;
    while (result == 0 && fscanf(file, "%d", &pid) == 1)
        if (pid > 0 && pid != getpid())
            result = add(targets, pid, err);
    fclose(file);
    return result;
}

static int add_groups_of(struct targets *targets, const char *text, struct error *err)
{
    char *folder = mem_strdup(text), *roots[] = {folder, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    int result = walk != NULL ? 0 : error_set_errno(err, text, errno, "cannot read");
    for (const FTSENT *entry; result == 0 && (entry = fts_read(walk)) != NULL;)
        if (entry->fts_info == FTS_D || entry->fts_info == FTS_NS || entry->fts_info == FTS_DNR)
            result = add_group(targets, entry->fts_path, err);
    if (walk != NULL)
        fts_close(walk);
    free(folder);
    return result;
}

int targets_add(struct targets *targets, const char *text, struct error *err)
{
    static const char session[] = "session:", group[] = "cgroup:";
    size_t before = targets->count;
    int result;
    if (strncmp(text, session, strlen(session)) == 0)
        result = add_session(targets, text + strlen(session), err);
    else if (strncmp(text, group, strlen(group)) == 0)
        result = add_groups_of(targets, text + strlen(group), err);
    else
        result = add_list(targets, text, err);
    if (result == 0 && text[0] == '\0')
        return malformed(text, err);
    if (result == 0 && targets->count == before)
        return error_set(err, NULL, NO_OFFSET, "--attach: no process in '%s'", text);
    return result;
}
