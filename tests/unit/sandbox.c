/* Checks what the confined worker cannot do: every system call except the few that it needs, on
 * kernels with Landlock and without (a filter of the test hides it), and calls of mmap and mprotect
 * that create code, write to files or share memory.
 * SPDX-License-Identifier: MIT */
#include "convert/dwarf/dwarf_sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/sanitizers.h"
#include "tests/unit/check.h"

enum { LAST_NUMBER = 600, SECRET = 77, LANDLOCK_CALLS = 3 };
/* The exit status of a child that is not killed. */
enum { DONE = 10, REFUSED, NO_SANDBOX, NO_FILTER };

/* The system calls by which uprobes return on x86-64: the kernel handles them before any filter,
 * and rejects other callers. */
enum { URETPROBE = 335, UPROBE = 336 };

/* The calls that dwarf_sandbox.h allows, and no others: an independent list. Those with rules of
 * their own are below. */
static const long allowed[] = {SYS_read,       SYS_write,   SYS_munmap,    SYS_mremap,
                               SYS_brk,        SYS_madvise, SYS_futex,     SYS_sysinfo,
                               SYS_exit_group, SYS_recvmsg, SYS_getrandom, SYS_clock_gettime,
                               SYS_close,      SYS_mmap,    SYS_mprotect};

struct attempt {
    long number, argument[6];
    bool without_landlock;
    bool in_thread;    /* a thread that existed before */
    bool by_interrupt; /* the system call instruction of 32-bit programs */
};

/* Makes Landlock, which was added in Linux 5.13, answer as on older kernels. */
static bool hide_landlock(void)
{
    bool good = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    for (long i = 0; i < LANDLOCK_CALLS && filter != NULL && good; i++)
        good = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS),
                                (int)SYS_landlock_create_ruleset + (int)i, 0) == 0;
    good = good && filter != NULL && seccomp_load(filter) == 0;
    seccomp_release(filter);
    return good && syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 0 && errno == ENOSYS;
}

static long call(const struct attempt *a)
{
    const long *v = a->argument;
    if (!a->by_interrupt)
        return syscall(a->number, v[0], v[1], v[2], v[3], v[4], v[5]);
    long result = -1;
#ifdef __x86_64__
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(a->number), "b"(v[0]), "c"(v[1]), "d"(v[2])
                     : "memory");
#endif
    return result;
}

/* Ends with STATUS, by a direct system call: before _exit, AddressSanitizer would determine the
 * bounds of the stack, for which it needs files. */
static void end(int status)
{
    syscall(SYS_exit_group, status);
}

static void call_and_end(const struct attempt *a)
{
    long result = call(a);
    end(result == -1 && errno == EPERM ? REFUSED : DONE);
}

/* A thread that makes the call after the process is confined. */
struct other {
    const struct attempt *attempt;
    atomic_bool runs, go;
};

static void *call_later(void *context)
{
    struct other *other = context;
    atomic_store(&other->runs, true);
    while (!atomic_load(&other->go))
        ;
    call_and_end(other->attempt);
    return NULL;
}

static void work(const struct attempt *a, int socket, pid_t parent)
{
    if (a->without_landlock && !hide_landlock())
        end(NO_FILTER);
    if (!dwarf_sandbox_limit(&socket, 1, parent, 64 << 20, 5))
        end(NO_SANDBOX);
    struct other other = {.attempt = a};
    pthread_t thread;
    if (a->in_thread && pthread_create(&thread, NULL, call_later, &other) != 0)
        end(NO_SANDBOX);
    while (a->in_thread && !atomic_load(&other.runs))
        ;
    if (!dwarf_sandbox_enter())
        end(NO_SANDBOX);
    atomic_store(&other.go, true);
    while (a->in_thread) /* until the other thread ends the process */
        ;
    call_and_end(a);
}

/* The status, as from waitpid, of a worker that makes the call. */
static int end_of(const struct attempt *a)
{
    int pair[2], status = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return -1;
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        work(a, pair[1], parent);
    waitpid(pid, &status, 0);
    close(pair[0]);
    close(pair[1]);
    return status;
}

static bool is_refused(int status)
{
    return WIFEXITED(status) && WEXITSTATUS(status) == REFUSED;
}

/* Whether the call ends the process. With a sanitizer, whose own calls must not end it, the call
 * fails instead. */
static bool is_denied(int status)
{
    if (ADDRESS_SANITIZER)
        return is_refused(status);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

/* The worker survives when glibc opens a file, but gets none. */
static bool is_denied_call(long number, int status)
{
    return number == SYS_openat ? is_refused(status) : is_denied(status);
}

static bool is_allowed(long number)
{
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++)
        if (allowed[i] == number)
            return true;
    return number == URETPROBE || number == UPROBE;
}

static void all_calls(struct check *check, bool without_landlock)
{
    for (long number = 0; number < LAST_NUMBER; number++) {
        const struct attempt a = {.number = number, .without_landlock = without_landlock};
        int status = is_allowed(number) ? 0 : end_of(&a);
        if (!is_allowed(number) && !is_denied_call(number, status))
            CHECK_FAIL("system call %ld: status 0x%x", number, (unsigned)status);
    }
}

static void every_call(struct check *check)
{
    all_calls(check, false);
}

static void every_call_without_landlock(struct check *check)
{
    all_calls(check, true);
}

/* A thread that unpacks sections is confined too. */
static void other_threads(struct check *check)
{
    static const char path[] = "/dev/null";
    const struct attempt a = {.number = SYS_openat,
                              .argument = {AT_FDCWD, (long)path, O_RDONLY},
                              .without_landlock = true,
                              .in_thread = true};
    int status = end_of(&a);
    if (!is_refused(status))
        CHECK_FAIL("a file can be opened in another thread: status 0x%x", (unsigned)status);
}

/* Calls that an attacker would make, with arguments that work outside. */
static void attacks(struct check *check)
{
    static const char path[] = "/dev/null", *const argv[] = {"/bin/true", NULL};
    const long name = (long)path, here = AT_FDCWD, pid = getpid();
    const struct attempt calls[] = {
        {.number = SYS_openat, .argument = {here, name, O_RDONLY}},
        {.number = SYS_openat, .argument = {here, name, O_WRONLY | O_CREAT, 0600}},
        {.number = SYS_socket, .argument = {AF_INET, SOCK_STREAM, 0}},
        {.number = SYS_connect, .argument = {0, name, 16}},
        {.number = SYS_sendmsg, .argument = {0, name, 0}},
        {.number = SYS_execve, .argument = {(long)argv[0], (long)argv, 0}},
        {.number = SYS_kill, .argument = {pid, 0}},
        {.number = SYS_tgkill, .argument = {pid, pid, 0}},
        {.number = SYS_clone, .argument = {SIGCHLD}},
        {.number = SYS_ptrace, .argument = {16, pid}},
        {.number = SYS_process_vm_writev, .argument = {pid, 0, 0, 0, 0, 0}},
        {.number = SYS_unlinkat, .argument = {here, (long)"/nonexistent", 0}},
        {.number = SYS_prctl, .argument = {PR_SET_DUMPABLE, 1}},
        {.number = SYS_prlimit64, .argument = {0, RLIMIT_AS, 0, 0}},
        {.number = SYS_ioctl, .argument = {0, 0x5401, 0}},
        {.number = SYS_seccomp, .argument = {0, 0, 0}},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        for (int hidden = 0; hidden < 2; hidden++) {
            struct attempt a = calls[i];
            a.without_landlock = hidden != 0;
            int status = end_of(&a);
            if (!is_denied_call(a.number, status))
                CHECK_FAIL("attack %zu: status 0x%x", i, (unsigned)status);
        }
}

/* New memory may not contain code, and may not be a writable or shared file. */
static void memory(struct check *check)
{
    const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
    const struct {
        struct attempt attempt;
        bool good;
    } calls[] = {
        {{.number = SYS_mmap, .argument = {0, 4096, PROT_READ | PROT_WRITE, anonymous, -1, 0}},
         true},
        {{.number = SYS_mmap, .argument = {0, 4096, PROT_READ, MAP_PRIVATE, 0, 0}}, true},
        {{.number = SYS_mmap, .argument = {0, 4096, PROT_READ | PROT_EXEC, anonymous, -1, 0}},
         false},
        {{.number = SYS_mmap, .argument = {0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, 0, 0}},
         false},
        {{.number = SYS_mmap, .argument = {0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, 0, 0}},
         false},
        {{.number = SYS_mmap, .argument = {0, 4096, PROT_READ, MAP_SHARED, 0, 0}}, false},
        {{.number = SYS_mmap, .argument = {0, 4096, PROT_WRITE, MAP_SHARED, 0, 0}}, false},
        {{.number = SYS_mprotect, .argument = {(long)allowed & -4096, 4096, PROT_READ}}, true},
        {{.number = SYS_mprotect, .argument = {(long)allowed & -4096, 4096, PROT_READ | PROT_EXEC}},
         false},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        int status = end_of(&calls[i].attempt);
        bool done = WIFEXITED(status) && WEXITSTATUS(status) == DONE;
        if (calls[i].good ? !done : !is_denied(status))
            CHECK_FAIL("call %zu: status 0x%x", i, (unsigned)status);
    }
}

/* Descriptors that the parent had open, including those of secret files, are closed. */
static void files(struct check *check)
{
    CHECK(dup2(STDOUT_FILENO, SECRET) == SECRET);
    for (int fd = 0; fd <= SECRET; fd += SECRET) {
        const struct attempt a = {.number = SYS_close, .argument = {fd}};
        int status = end_of(&a);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == DONE);
    }
    for (int shared = 0; shared < 2; shared++) { /* seen from the other end of the pipe */
        int pipes[2];
        char byte = 0;
        CHECK(pipe(pipes) == 0 && dup2(pipes[1], SECRET) == SECRET);
        close(pipes[1]);
        const struct attempt a = {.number = SYS_write,
                                  .argument = {shared != 0 ? 1 : SECRET, (long)"x", 1}};
        int status = end_of(&a);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == DONE);
        close(SECRET);
        CHECK_EQ(read(pipes[0], &byte, 1), 0);
        close(pipes[0]);
    }
}

/* Other entries into the kernel: the interrupt of 32-bit programs, and the numbers of x32. */
static void old_calls(struct check *check)
{
#ifdef __x86_64__
    static const long numbers[] = {
        1, 2, 3, 4, 5, 11, 37, 102}; /* exit, fork, read, write, open, execve, kill, socketcall */
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const struct attempt old = {.number = numbers[i], .by_interrupt = true},
                             x32 = {.number = numbers[i] | 0x40000000};
        int status = end_of(&old);
        CHECK(WIFSIGNALED(status) && (WTERMSIG(status) == SIGSYS || WTERMSIG(status) == SIGSEGV));
        status = end_of(&x32);
        CHECK(is_denied(status) || (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS));
    }
#else
    (void)check;
#endif
}

CHECK_MAIN({"every_call", every_call}, {"every_call_without_landlock", every_call_without_landlock},
           {"attacks", attacks}, {"other_threads", other_threads}, {"memory", memory},
           {"files", files}, {"old_calls", old_calls})
