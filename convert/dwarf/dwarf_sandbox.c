/* Confines a process to memory and its sockets.
 * SPDX-License-Identifier: MIT */
#include "convert/dwarf/dwarf_sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/sanitizers.h"

/* The address sanitizer needs terabytes of address space, and /proc: with it, neither may be
 * fatal. */

static void limit(__rlimit_resource_t what, rlim_t value)
{
    struct rlimit now;
    if (getrlimit(what, &now) == 0 && (now.rlim_max == RLIM_INFINITY || now.rlim_max > value))
        setrlimit(what, &(struct rlimit){value, value});
}

/* Returns the address space in use, which a child inherits [bytes]. */
static uint64_t memory_in_use(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    /* NOLINTNEXTLINE(cert-err34-c): the kernel's own text */
    if (file == NULL || fscanf(file, "%llu", &pages) != 1)
        pages = 1 << 18;
    if (file != NULL)
        fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The limits are one second apart: SIGXCPU comes first, then SIGKILL. */
static void limit_cpu_time(uint64_t seconds)
{
    const struct rlimit wanted = {seconds, seconds + 1};
    struct rlimit now;
    if (getrlimit(RLIMIT_CPU, &now) == 0 && now.rlim_max > wanted.rlim_max)
        setrlimit(RLIMIT_CPU, &wanted);
}

static void limit_resources(uint64_t memory, uint64_t seconds)
{
    limit_cpu_time(ADDRESS_SANITIZER ? 10 * seconds : seconds);
    if (!ADDRESS_SANITIZER)
        limit(RLIMIT_AS, memory_in_use() + memory);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
}

/* Resets signals: handlers and the terminal belong to the parent, and only the parent acts on ^C
 * and ^Z. */
static void leave_parents_signals(void)
{
    sigset_t none;
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
}

/* Closes all files of the parent, including sockets of other workers: if one stayed open here, its
 * worker would stay alive. */
static bool leave_parents_files(const int *sockets, unsigned count)
{
    const int after = FIRST_OTHER_SOCKET + (int)count - 1;
    int null = open("/dev/null", O_RDWR);
    int own[] = {fcntl(sockets[0], F_DUPFD, after),
                 count > 1 ? fcntl(sockets[1], F_DUPFD, after) : 0};
    return null >= 0 && own[0] >= 0 && own[1] >= 0 && dup2(null, 1) == 1 && dup2(null, 2) == 2 &&
           dup2(own[0], 0) == 0 &&
           (count == 1 || dup2(own[1], FIRST_OTHER_SOCKET) == FIRST_OTHER_SOCKET) &&
           syscall(SYS_close_range, (unsigned)after, ~0u, 0u) == 0;
}

/* Sets up Landlock, a second barrier besides seccomp, if the kernel has it. */
static void forbid_files(void)
{
    struct landlock_ruleset_attr rules = {.handled_access_fs =
                                              (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1};
    int fd = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0u);
    if (fd < 0)
        return;
    syscall(SYS_landlock_restrict_self, fd, 0u);
    close(fd);
}

/* Allows system calls for memory, the sockets and exit; qsort calls sysinfo to find how much memory
 * it may use. Files come through the socket, opened read-only by the parent. mprotect is not
 * allowed with PROT_EXEC. Before the heap of a second thread shrinks, glibc opens
 * /proc/sys/vm/overcommit_memory, but does not need it: this call only fails, while others end the
 * process. */
static bool forbid_system_calls(void)
{
    static const int allowed[] = {
        SCMP_SYS(read),      SCMP_SYS(write),         SCMP_SYS(munmap),  SCMP_SYS(mremap),
        SCMP_SYS(brk),       SCMP_SYS(madvise),       SCMP_SYS(futex),   SCMP_SYS(exit_group),
        SCMP_SYS(getrandom), SCMP_SYS(clock_gettime), SCMP_SYS(sysinfo), SCMP_SYS(recvmsg),
        SCMP_SYS(close)};
    scmp_filter_ctx filter =
        seccomp_init(ADDRESS_SANITIZER ? SCMP_ACT_ERRNO(1) : SCMP_ACT_KILL_PROCESS);
    if (filter == NULL)
        return false;
    int result = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0] && result == 0; i++)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
    if (result == 0)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
                                  SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
                                  SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS));
    if (result == 0)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
                                  SCMP_A2(SCMP_CMP_MASKED_EQ, UINT32_MAX, PROT_READ),
                                  SCMP_A3(SCMP_CMP_MASKED_EQ, UINT32_MAX, MAP_PRIVATE));
    if (result == 0)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
                                  SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    if (result == 0 && !ADDRESS_SANITIZER) /* with the address sanitizer, all calls would fail */
        result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(openat), 0);
    if (result == 0)
        result = seccomp_load(filter);
    seccomp_release(filter);
    return result == 0;
}

bool dwarf_sandbox_limit(const int *sockets, unsigned count, int parent, uint64_t memory,
                         uint64_t seconds)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        return false;
    leave_parents_signals();
    limit_resources(memory, seconds);
    if (!leave_parents_files(sockets, count))
        return false;
    prctl(PR_SET_DUMPABLE, 0);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return false;
    forbid_files();
    return true;
}

bool dwarf_sandbox_enter(void)
{
    limit(RLIMIT_NPROC, 0);
    return forbid_system_calls();
}
