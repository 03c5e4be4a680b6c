/* Counts calls with breakpoints of the kernel.
 * SPDX-License-Identifier: MIT */
#include "record/funcmeter/probes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/memory.h"
#include "formats/elf/elf_file.h"
#include "record/clock.h"

enum { ENTRY, RETURN, KINDS };
static const char prefix[] = "funcmeter_"; /* of groups of events; followed by our process ID */

struct probe {
    bool made[KINDS];
    uint64_t id[KINDS];
    int fd[KINDS], all[KINDS]; /* -1: not open; ALL: for all processes */
};

struct probes {
    int tracefs;
    bool returns;
    struct probe *items; /* by number of the function */
    uint32_t count;
};

/* ---- tracefs ---- */

/* Opens the root of tracefs: where it is mounted, or after mounting it for this process alone.
 * Returns a descriptor, or -1 with errno set. */
static int open_tracefs(void)
{
    int fd = open("/sys/kernel/tracing", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && faccessat(fd, "uprobe_events", W_OK, 0) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    int context = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
    if (context < 0)
        return -1;
    fd = syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0
             ? (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0)
             : -1;
    int errnum = errno;
    close(context);
    errno = errnum;
    return fd;
}

/* Adds or removes an event. Returns 0, or -1 with errno set. */
static int write_event(const struct probes *p, const char *line)
{
    int fd = openat(p->tracefs, "uprobe_events", O_WRONLY | O_APPEND | O_CLOEXEC);
    ssize_t done = fd >= 0 ? write(fd, line, strlen(line)) : -1;
    int errnum = errno;
    if (fd >= 0)
        close(fd);
    errno = errnum;
    return done > 0 ? 0 : -1;
}

/* Removes events of runs that were killed. */
static void remove_old(const struct probes *p)
{
    char line[4608];
    int fd = openat(p->tracefs, "uprobe_events", O_RDONLY | O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *group = strchr(line, ':');
        if (group == NULL || strncmp(group + 1, prefix, sizeof prefix - 1) != 0)
            continue;
        long pid = strtol(group + sizeof prefix, NULL, 10);
        if (pid <= 0 || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
            continue;
        char *removal = mem_printf("-%.*s\n", (int)strcspn(group, " \n"), group);
        write_event(p, removal);
        free(removal);
    }
    if (file != NULL)
        fclose(file);
    else if (fd >= 0)
        close(fd);
}

static char *event_name(uint32_t function, int kind)
{
    return mem_printf("%s%d/%s%" PRIu32, prefix, (int)getpid(), kind == ENTRY ? "enter" : "return",
                      function);
}

static uint64_t event_id(const struct probes *p, uint32_t function, int kind)
{
    char text[32] = "", *name = event_name(function, kind);
    char *path = mem_printf("events/%s/id", name);
    int fd = openat(p->tracefs, path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    free(path);
    free(name);
    return got > 0 ? strtoull(text, NULL, 10) : 0;
}

/* ---- events ---- */

/* Returns the offset of the code at ADDRESS in FILE; 0: it is not in the file. */
static uint64_t offset_of(const struct elf_file *file, uint64_t address)
{
    for (size_t i = 0; i < file->segment_count; i++) {
        const struct elf_segment *s = &file->segments[i];
        if (s->executable && address >= s->address && address - s->address < s->file_size)
            return address - s->address + s->offset;
    }
    return 0;
}

static int make_event(struct probes *p, const struct meter_function *f, uint32_t number, int kind,
                      uint64_t offset, struct error *err)
{
    struct probe *probe = &p->items[number];
    char *name = event_name(number, kind);
    char *line =
        mem_printf("%c:%s %s:0x%" PRIx64 "\n", kind == ENTRY ? 'p' : 'r', name, f->path, offset);
    probe->made[kind] = write_event(p, line) == 0;
    int errnum = errno;
    free(line);
    free(name);
    if (!probe->made[kind])
        return error_set_errno(err, f->path, errnum, "cannot make a uprobe of '%s'", f->readable);
    probe->id[kind] = event_id(p, number, kind);
    if (probe->id[kind] == 0)
        return error_set(err, f->path, NO_OFFSET, "the uprobe of '%s' has no number", f->readable);
    return 0;
}

static int make_events(struct probes *p, const struct planner *planner, struct error *err)
{
    const struct meter_function *all = planner_functions(planner, &p->count);
    struct elf_file *file = NULL;
    const char *path = NULL;
    int result = 0, errnum;
    p->items = mem_zalloc(p->count, sizeof *p->items);
    for (uint32_t i = 0; i < p->count; i++)
        p->items[i] = (struct probe){.fd = {-1, -1}, .all = {-1, -1}};
    for (uint32_t i = 1; i < p->count && result == 0; i++) {
        const struct meter_function *f = &all[i];
        if (!f->probed)
            continue;
        if (path == NULL || strcmp(path, f->path) != 0) {
            elf_file_close(file);
            path = f->path;
            file = elf_file_open(path, &errnum, err);
            if (file == NULL)
                return -1;
        }
        uint64_t offset = offset_of(file, f->address);
        if (strpbrk(path, " \t\n") != NULL)
            result = error_set(err, path, NO_OFFSET, "uprobes do not support paths with spaces");
        else
            result = make_event(p, f, i, ENTRY, offset, err);
        if (result == 0 && p->returns && !f->entries_only)
            result = make_event(p, f, i, RETURN, offset, err);
    }
    elf_file_close(file);
    return result;
}

bool probes_permitted(void)
{
    int tracefs = open_tracefs();
    if (tracefs >= 0)
        close(tracefs);
    return tracefs >= 0;
}

struct probes *probes_new(const struct planner *planner, bool returns, struct error *err)
{
    struct probes *p = mem_zalloc(1, sizeof *p);
    p->returns = returns;
    p->tracefs = open_tracefs();
    if (p->tracefs < 0)
        error_set_errno(err, NULL, errno, "cannot use uprobes, which needs root: tracefs");
    else {
        remove_old(p);
        if (make_events(p, planner, err) == 0)
            return p;
    }
    probes_delete(p);
    return NULL;
}

/* Removes an event whose counters were closed. Processes of the command that still run lose theirs
 * a moment later; until then, the event is busy. PATIENCE: how long to wait for that, for all
 * events together [ms]. Returns false if the event remains. */
static bool remove_event(const struct probes *p, const char *name, unsigned *patience)
{
    const struct timespec millisecond = clock_timespec(SECOND / 1000);
    char *line = mem_printf("-:%s\n", name);
    int result = write_event(p, line);
    for (; result != 0 && errno == EBUSY && *patience > 0; --*patience) {
        nanosleep(&millisecond, NULL);
        result = write_event(p, line);
    }
    free(line);
    return result == 0;
}

/* Returns false if the event remains. */
static bool forget(const struct probes *p, uint32_t function, int kind, unsigned *patience)
{
    const struct probe *probe = &p->items[function];
    if (probe->fd[kind] >= 0)
        close(probe->fd[kind]);
    if (probe->all[kind] >= 0)
        close(probe->all[kind]);
    if (!probe->made[kind])
        return true;
    char *name = event_name(function, kind);
    bool gone = remove_event(p, name, patience);
    free(name);
    return gone;
}

unsigned probes_delete(struct probes *p)
{
    unsigned remaining = 0, patience = 5000; /* [ms] */
    if (p == NULL)
        return 0;
    for (uint32_t i = 1; i < p->count && p->items != NULL; i++)
        for (int kind = 0; kind < KINDS; kind++)
            remaining += !forget(p, i, kind, &patience);
    if (p->tracefs >= 0)
        close(p->tracefs);
    free(p->items);
    free(p);
    return remaining;
}

/* ---- counters ---- */

static int open_event(struct perf_event_attr *attr, pid_t pid, int cpu)
{
    return (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Opens one counter. Returns 0, or -1 with errno set. */
static int watch(struct probe *probe, int kind, pid_t pid)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT,
                                   .size = sizeof attr,
                                   .config = probe->id[kind],
                                   .sample_type = PERF_SAMPLE_READ | PERF_SAMPLE_TID,
                                   .inherit = 1,
                                   .disabled = 1,
                                   .enable_on_exec = 1};
    probe->fd[kind] = open_event(&attr, pid, -1);
    if (probe->fd[kind] >= 0 || errno != EINVAL)
        return probe->fd[kind] >= 0 ? 0 : -1;
    struct perf_event_attr all = {
        .type = PERF_TYPE_TRACEPOINT, .size = sizeof all, .config = probe->id[kind]};
    attr.sample_type = 0;
    probe->all[kind] = open_event(&all, -1, 0);
    probe->fd[kind] = probe->all[kind] >= 0 ? open_event(&attr, pid, -1) : -1;
    return probe->fd[kind] >= 0 ? 0 : -1;
}

/* Raises the limit of descriptors if there are many functions. */
static void raise_limit(uint32_t functions)
{
    const rlim_t spare = 100, needed = (rlim_t)functions * KINDS * 2 + spare;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed)
        return;
    limit.rlim_cur = needed;
    if (limit.rlim_max < needed)
        limit.rlim_max = needed;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int probes_watch(struct probes *p, pid_t pid, struct error *err)
{
    raise_limit(p->count);
    for (uint32_t i = 1; i < p->count; i++)
        for (int kind = 0; kind < KINDS; kind++)
            if (p->items[i].made[kind] && watch(&p->items[i], kind, pid) != 0)
                return error_set_errno(err, NULL, errno,
                                       "cannot use uprobes: perf_event_open (function %" PRIu32
                                       " of %" PRIu32 ")",
                                       i, p->count - 1);
    return 0;
}

bool probes_returns(const struct probes *p)
{
    return p->returns;
}

static uint64_t count_of(int fd)
{
    uint64_t count = 0;
    return fd >= 0 && read(fd, &count, sizeof count) == sizeof count ? count : 0;
}

void probes_read(const struct probes *p, uint32_t function, uint64_t *calls, uint64_t *returned)
{
    *calls = count_of(p->items[function].fd[ENTRY]);
    *returned = count_of(p->items[function].fd[RETURN]);
}
