/* Preloaded into a tool: makes its N-th call of a function fail, or counts the calls.
 *
 *   FAULT=NAME:N:ERRNO[+]   the N-th call (+: and all later ones) of NAME fails with ERRNO, a number, or moves a single
 *                           byte if ERRNO is 0
 *   FAULT_PATH=TEXT         open, read and pread: counts only those of files whose path contains TEXT
 *   FAULT_LOG=FILE          at the end, writes "NAME COUNT" for each function called
 *
 * Counts only in the process that the loader starts, and only if that is the program FAULT_PROGRAM.
 * SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum call {
    ALLOC,
    OPEN,
    READ,
    PREAD,
    WRITE,
    FSYNC,
    RENAME,
    LINKAT,
    UNLINK,
    MMAP,
    FORK,
    SOCKETPAIR,
    FTRUNCATE,
    CALLS
};
static const char *const names[CALLS] = {"alloc", "open",       "read",     "pread",  "write",
                                         "fsync", "rename",     "linkat",   "unlink", "mmap",
                                         "fork",  "socketpair", "ftruncate"};

static struct {
    bool counts;
    int call, error;
    bool onward;
    unsigned long number, count[CALLS];
    const char *path;
} fault = {.call = -1};

/* NOLINTBEGIN(clang-diagnostic-reserved-*): glibc's names of functions replaced here */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
/* NOLINTEND(clang-diagnostic-reserved-*) */

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("FAULT"), *program = getenv("FAULT_PROGRAM");
    if (text == NULL || program == NULL || strcmp(program, program_invocation_short_name) != 0)
        return;
    const char *colon = strchr(text, ':');
    for (int i = 0; i < CALLS && colon != NULL; i++)
        if (strlen(names[i]) == (size_t)(colon - text) &&
            strncmp(names[i], text, (size_t)(colon - text)) == 0)
            fault.call = i;
    if (colon != NULL) {
        char *end;
        fault.number = strtoul(colon + 1, &end, 10);
        fault.error = (int)strtol(end + 1, &end, 10);
        fault.onward = *end == '+';
    }
    fault.path = getenv("FAULT_PATH");
    fault.counts = true;
}

__attribute__((destructor)) static void end(void)
{
    const char *log = getenv("FAULT_LOG");
    char text[1024];
    int length = 0;
    if (!fault.counts || log == NULL)
        return;
    for (int i = 0; i < CALLS; i++)
        if (fault.count[i] > 0)
            length += snprintf(text + length, sizeof text - (size_t)length, "%s %lu\n", names[i],
                               fault.count[i]);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    syscall(SYS_write, fd, text, (size_t)length);
}

/* Returns whether this call fails, and sets errno if it does. */
static bool fails(enum call call)
{
    if (!fault.counts)
        return false;
    unsigned long number = __atomic_add_fetch(&fault.count[call], 1, __ATOMIC_RELAXED);
    if ((int)call != fault.call || (fault.onward ? number < fault.number : number != fault.number))
        return false;
    errno = fault.error;
    return true;
}

static bool is_meant(const char *path)
{
    return fault.path == NULL || strstr(path, fault.path) != NULL;
}

static bool descriptor_is_meant(int fd)
{
    char link[64], path[4096];
    if (fault.path == NULL)
        return true;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    return is_meant(path);
}

void *malloc(size_t size)
{
    return fails(ALLOC) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(ALLOC) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails(ALLOC) ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails(ALLOC) ? NULL : __libc_memalign(alignment, size);
}

static int do_open(int folder, const char *path, int flags, va_list args)
{
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, mode_t) : 0;
    if (is_meant(path) && fails(OPEN))
        return -1;
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int fd = do_open(AT_FDCWD, path, flags, args);
    va_end(args);
    return fd;
}
int open64(const char *path, int flags, ...) __attribute__((alias("open")));

int openat(int folder, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int fd = do_open(folder, path, flags, args);
    va_end(args);
    return fd;
}

/* Returns how many of COUNT bytes a call may move: 1 if the call must be short; -1 if it must
 * fail. */
static ssize_t allowed(enum call call, int fd, size_t count)
{
    if (!descriptor_is_meant(fd) || !fails(call))
        return (ssize_t)count;
    return fault.error == 0 && count > 0 ? 1 : -1;
}

ssize_t read(int fd, void *to, size_t count)
{
    ssize_t most = allowed(READ, fd, count);
    return most < 0 ? -1 : syscall(SYS_read, fd, to, most);
}

ssize_t pread(int fd, void *to, size_t count, off_t offset)
{
    ssize_t most = allowed(PREAD, fd, count);
    return most < 0 ? -1 : syscall(SYS_pread64, fd, to, most, offset);
}
ssize_t pread64(int fd, void *to, size_t count, off64_t offset) __attribute__((alias("pread")));

ssize_t write(int fd, const void *from, size_t count)
{
    ssize_t most = fd == STDERR_FILENO ? (ssize_t)count : allowed(WRITE, fd, count);
    return most < 0 ? -1 : syscall(SYS_write, fd, from, most);
}

int fsync(int fd)
{
    return fails(FSYNC) ? -1 : (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to)
{
    return fails(RENAME) ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int linkat(int from, const char *path, int to, const char *target, int flags)
{
    return fails(LINKAT) ? -1 : (int)syscall(SYS_linkat, from, path, to, target, flags);
}

int unlink(const char *path)
{
    return fails(UNLINK) ? -1 : (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    return fails(MMAP) ? MAP_FAILED
                       : (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}
void *mmap64(void *address, size_t size, int protection, int flags, int fd, off64_t offset)
    __attribute__((alias("mmap")));

pid_t fork(void)
{
    pid_t (*next)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");
    if (fails(FORK))
        return -1;
    pid_t pid = next();
    fault.counts &= pid != 0; /* the DWARF worker may not even get its process ID */
    return pid;
}

int socketpair(int domain, int type, int protocol, int pair[2])
{
    return fails(SOCKETPAIR) ? -1 : (int)syscall(SYS_socketpair, domain, type, protocol, pair);
}

int ftruncate(int fd, off_t size)
{
    return fails(FTRUNCATE) ? -1 : (int)syscall(SYS_ftruncate, fd, size);
}
