/* Facts about processes and threads.
 * SPDX-License-Identifier: MIT */
#include "record/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "record/clock.h"

/* Reads the start of the file at PATH as a text. Returns whether it contains any. */
static bool read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

static bool read_file(pid_t id, const char *name, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)id, name);
    return read_text(path, text, size);
}

static bool read_task(pid_t pid, pid_t tid, const char *name, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
    return read_text(path, text, size);
}

bool process_proc_is_own(void)
{
    char self[32];
    ssize_t got = readlink("/proc/self", self, sizeof self - 1);
    if (got < 0)
        /* /proc does not show the PID namespace of this process */
        return access("/proc/version", F_OK) != 0;
    self[got] = '\0';
    return strtol(self, NULL, 10) == getpid();
}

/* The file is the namespace of future children. On kernels on which an exec does not enter it
 * (before Linux 6.3), this process is in the namespace from which it was created, whose offset is
 * rarely different. */
int64_t process_clock_offset(void)
{
    char text[256], own[64] = "", next[64] = "";
    long long seconds, ns;
    if (!read_text("/proc/self/timens_offsets", text, sizeof text) ||
        readlink("/proc/self/ns/time", own, sizeof own - 1) < 0 ||
        readlink("/proc/self/ns/time_for_children", next, sizeof next - 1) < 0 ||
        strcmp(own, next) != 0)
        return 0;
    const char *line = strstr(text, "monotonic");
    if (line == NULL || sscanf(line, "monotonic %lld %lld", &seconds, &ns) != 2)
        return 0;
    return seconds * (int64_t)SECOND + ns;
}

/* Finds field FIELD, at least 3, as numbered in proc_pid_stat(5), in TEXT, the file `stat` of a
 * process or thread. Returns the space before the field; NULL: it is missing. The second field, a
 * name in parentheses, may contain anything. */
static const char *stat_field(const char *text, int field)
{
    const char *at = strrchr(text, ')');
    for (int i = 2; at != NULL && i < field; i++)
        at = strchr(at + 1, ' ');
    return at;
}

pid_t process_of(pid_t tid, pid_t *parent)
{
    char text[1024];
    int pid = -1, maker = -1;
    read_file(tid, "status", text, sizeof text);
    const char *line = strstr(text, "\nTgid:");
    if (line == NULL || sscanf(line, " Tgid: %d", &pid) != 1)
        return -1;
    line = strstr(line, "\nPPid:");
    if (parent != NULL && line != NULL && sscanf(line, " PPid: %d", &maker) == 1)
        *parent = maker;
    return pid;
}

bool process_has(pid_t pid, pid_t tid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d", (int)pid, (int)tid);
    return access(path, F_OK) == 0;
}

pid_t process_session(pid_t pid)
{
    char text[512];
    read_file(pid, "stat", text, sizeof text);
    const char *session = stat_field(text, 6);
    return session != NULL ? (pid_t)strtol(session, NULL, 10) : -1;
}

bool process_name(pid_t id, char *name, size_t size)
{
    bool got = read_file(id, "comm", name, size);
    name[strcspn(name, "\n")] = '\0';
    return got;
}

/* CPU clocks of a process: its ticks, those in user code, and its exact time. */
enum { TICKS_CLOCK, USER_CLOCK, CPU_CLOCK };

/* The clock of another process; clock_getcpuclockid computes the same number with one more system call. */
static bool read_clock(pid_t pid, unsigned clock, uint64_t *ns)
{
    struct timespec time;
    if (clock_gettime((clockid_t)(~(unsigned)pid << 3 | clock), &time) != 0)
        return false;
    *ns = (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
    return true;
}

uint64_t process_cpu(pid_t pid)
{
    uint64_t ns;
    return read_clock(pid, CPU_CLOCK, &ns) ? ns : 0;
}

bool process_ticks(pid_t pid, uint64_t *user, uint64_t *system)
{
    uint64_t all, in_user;
    if (!read_clock(pid, USER_CLOCK, &in_user) || !read_clock(pid, TICKS_CLOCK, &all))
        return false;
    *user = in_user;
    *system = all > in_user ? all - in_user : 0;
    return true;
}

bool process_new_ticks(pid_t pid, uint64_t known_user, uint64_t known_system, uint64_t *user,
                       uint64_t *system)
{
    return process_ticks(pid, user, system) && *user >= known_user && *system >= known_system &&
           (*user > known_user || *system > known_system);
}

uint64_t process_stat_faults(const char *text)
{
    const char *minor = stat_field(text, 10), *major = stat_field(text, 12);
    return minor != NULL && major != NULL ? strtoull(minor, NULL, 10) + strtoull(major, NULL, 10)
                                          : 0;
}

int process_stat_cpu(const char *text)
{
    const char *cpu = stat_field(text, 39);
    return cpu != NULL ? (int)strtol(cpu, NULL, 10) : -1;
}

uint64_t process_faults(pid_t pid)
{
    char text[1024];
    return read_file(pid, "stat", text, sizeof text) ? process_stat_faults(text) : 0;
}

bool process_thread_run(pid_t pid, pid_t tid, struct process_run *run)
{
    char text[128], *rest;
    if (!read_task(pid, tid, "schedstat", text, sizeof text))
        return false;
    run->cpu = strtoull(text, &rest, 10);
    strtoull(rest, &rest, 10); /* time for which it waited for a CPU */
    run->turns = strtoull(rest, NULL, 10);
    return true;
}

uint64_t process_thread_cpu(pid_t pid, pid_t tid)
{
    struct process_run run;
    return process_thread_run(pid, tid, &run) ? run.cpu : 0;
}

/* Returns one of the letters in proc_pid_stat(5); 0: unknown. */
static char thread_state(pid_t pid, pid_t tid)
{
    char text[512];
    const char *state = read_task(pid, tid, "stat", text, sizeof text) ? stat_field(text, 3) : NULL;
    return state != NULL ? state[1] : '\0';
}

bool process_thread_runs(pid_t pid, pid_t tid)
{
    return thread_state(pid, tid) == 'R';
}

/* Reads a set of signals in the file `status`. */
static uint64_t signal_set(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at != NULL ? strtoull(at + strlen(name), NULL, 16) : 0;
}

static bool is_in_set(const char *text, const char *name, int signal)
{
    return (signal_set(text, name) >> (signal - 1) & 1) != 0;
}

/* The signals that a process ignores, either by its own choice or by default. Not SIGPIPE: a write that
 * causes it has ended. */
static uint64_t ignored_signals(const char *text)
{
    static const int numbers[] = {SIGCHLD, SIGCONT, SIGURG, SIGWINCH};
    uint64_t by_default = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        by_default |= UINT64_C(1) << (numbers[i] - 1);
    uint64_t chosen = signal_set(text, "\nSigIgn:") & ~(UINT64_C(1) << (SIGPIPE - 1));
    return chosen | (by_default & ~signal_set(text, "\nSigCgt:"));
}

bool process_has_signal(pid_t pid, pid_t tid, int signal)
{
    char text[4096];
    if (!read_task(pid, tid, "status", text, sizeof text))
        return signal != 0;
    uint64_t pending = signal_set(text, "\nSigPnd:") | signal_set(text, "\nShdPnd:");
    pending |= signal != 0 ? UINT64_C(1) << (signal - 1) : 0;
    return (pending & ~signal_set(text, "\nSigBlk:") & ~ignored_signals(text)) != 0;
}

bool process_blocks(pid_t pid, pid_t tid, int signal)
{
    char text[4096];
    return !read_task(pid, tid, "status", text, sizeof text) ||
           is_in_set(text, "\nSigBlk:", signal);
}

/* Other devices may transfer a part of the bytes for reasons of their own. */
static bool is_terminal(const struct stat *st)
{
    enum { CONSOLE = 4, TTY = 5, PTY = 136, LAST_PTY = 143 }; /* Linux, devices.txt */
    unsigned number = major(st->st_rdev);
    return S_ISCHR(st->st_mode) &&
           (number == CONSOLE || number == TTY || (number >= PTY && number <= LAST_PTY));
}

bool process_file_blocks(pid_t tid, int fd, bool is_socket)
{
    char name[32], path[64], text[256];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)tid, fd);
    if (stat(path, &st) != 0 ||
        !(is_socket ? S_ISSOCK(st.st_mode) : S_ISFIFO(st.st_mode) || is_terminal(&st)))
        return false;
    snprintf(name, sizeof name, "fdinfo/%d", fd);
    read_file(tid, name, text, sizeof text);
    const char *flags = strstr(text, "flags:");
    return flags != NULL && (strtoul(flags + strlen("flags:"), NULL, 8) & O_NONBLOCK) == 0;
}

bool process_is_init(pid_t pid, int signal)
{
    char text[4096];
    read_file(pid, "status", text, sizeof text);
    const char *ids = strstr(text, "\nNSpid:");
    if (ids == NULL)
        return false;
    ids += strlen("\nNSpid:");
    size_t length = strcspn(ids, "\n"),
           inner = length; /* the last number is the one in its own namespace */
    while (inner > 0 && ids[inner - 1] != '\t')
        inner--;
    return length - inner == 1 && ids[inner] == '1' && !is_in_set(text, "\nSigCgt:", signal);
}

bool process_thread_ended(pid_t pid, pid_t tid)
{
    char state = thread_state(pid, tid);
    return state == '\0' || state == 'Z' || state == 'X';
}

ssize_t process_threads(pid_t pid, pid_t **tids)
{
    char path[64];
    *tids = NULL;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ssize_t count = folder >= 0 ? process_threads_in(folder, tids) : -1;
    if (folder >= 0)
        close(folder);
    return count;
}

ssize_t process_threads_in(int folder, pid_t **tids)
{
    _Alignas(struct dirent64) char entries[8192];
    size_t count = 0, capacity = 0;
    ssize_t got;
    *tids = NULL;
    if (lseek(folder, 0, SEEK_SET) != 0)
        return -1;
    while ((got = getdents64(folder, entries, sizeof entries)) > 0)
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *entry = (const void *)&entries[at];
            pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
            if (tid > 0)
                *MEM_APPEND(*tids, count, capacity) = tid;
            at += entry->d_reclen;
        }
    return (ssize_t)count;
}

pid_t process_living_thread(pid_t pid)
{
    pid_t *tids, living = -1;
    if (!process_thread_ended(pid, pid))
        return pid;
    ssize_t count = process_threads(pid, &tids);
    for (ssize_t i = 0; i < count && living < 0; i++)
        living = process_thread_ended(pid, tids[i]) ? -1 : tids[i];
    free(tids);
    return living;
}
