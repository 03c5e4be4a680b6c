/* The threads that ptrace holds on to.
 * SPDX-License-Identifier: MIT */
#include "record/engines/tracee.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include "base/memory.h"

void tracees_free(struct tracees *tracees)
{
    while (tracees->count > 0)
        tracees_remove(tracees, tracees->list[0]);
    free(tracees->list);
    tracees->list = NULL;
    tracees->capacity = 0;
}

static struct tracee **bucket(const struct tracees *tracees, pid_t tid)
{
    return (struct tracee **)&tracees->buckets[(unsigned)tid % TRACEE_BUCKETS];
}

struct tracee *tracees_find(const struct tracees *tracees, pid_t tid)
{
    struct tracee *tracee = *bucket(tracees, tid);
    while (tracee != NULL && tracee->tid != tid)
        tracee = tracee->chain;
    return tracee;
}

struct tracee *tracees_add(struct tracees *tracees, pid_t tid)
{
    struct tracee *tracee = mem_zalloc(1, sizeof *tracee);
    mem_reserve(&tracees->list, &tracees->capacity, tracees->count + 1, sizeof(struct tracee *));
    *tracee = (struct tracee){.chain = *bucket(tracees, tid),
                              .index = tracees->count,
                              .tid = tid,
                              .state = TRACEE_AWAITED,
                              .schedstat = -1,
                              .syscall = -1};
    *bucket(tracees, tid) = tracee;
    tracees->list[tracees->count++] = tracee;
    tracees->awaited++;
    tracees->alive++;
    return tracee;
}

void tracees_remove(struct tracees *tracees, struct tracee *tracee)
{
    struct tracee **link = bucket(tracees, tracee->tid);
    while (*link != tracee)
        link = &(*link)->chain;
    *link = tracee->chain;
    tracee_set_state(tracees, tracee, TRACEE_DYING);
    tracees->list[tracee->index] = tracees->list[--tracees->count];
    tracees->list[tracee->index]->index = tracee->index;
    tracee_close(tracee);
    free(tracee);
}

bool tracees_own(const struct tracees *tracees, pid_t tid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d", (int)tracees->pid, (int)tid);
    return access(path, F_OK) == 0;
}

void tracee_set_state(struct tracees *tracees, struct tracee *tracee, enum tracee_state state)
{
    tracee_give_up(tracees, tracee); /* counts it out */
    tracee->stuck = false;
    tracees->alive -= tracee->state != TRACEE_DYING;
    tracee->state = state;
    tracees->alive += state != TRACEE_DYING;
    tracees->awaited += state == TRACEE_AWAITED;
}

void tracee_give_up(struct tracees *tracees, struct tracee *tracee)
{
    if (tracee->state == TRACEE_AWAITED && !tracee->stuck) {
        tracee->stuck = true;
        tracees->awaited--;
    }
}

void tracee_interrupt(struct tracees *tracees, struct tracee *tracee)
{
    if (ptrace(PTRACE_INTERRUPT, tracee->tid, 0, 0) == 0)
        tracee_set_state(tracees, tracee, TRACEE_AWAITED);
    else
        tracee_set_state(tracees, tracee, TRACEE_DYING);
}

void tracee_resume(struct tracees *tracees, struct tracee *tracee)
{
    /* ESRCH: it was killed while it stood still; its end is reported in time. */
    if (tracee->group_stop)
        ptrace(PTRACE_LISTEN, tracee->tid, 0, 0);
    else
        ptrace(PTRACE_CONT, tracee->tid, 0, (unsigned long)tracee->signal);
    if (tracee->state != TRACEE_DYING)
        tracee_set_state(tracees, tracee, tracee->group_stop ? TRACEE_LISTENING : TRACEE_RUNNING);
    tracee->signal = 0;
}

#if defined __x86_64__
/* A 32-bit program has registers of its own: 17 of 4 bytes, the 13th is eip. */
struct registers {
    union {
        struct user_regs_struct wide;
        uint32_t narrow[17];
    };
};
static uint64_t registers_pc(const struct registers *regs, size_t size)
{
    return size == sizeof regs->narrow ? regs->narrow[12] : regs->wide.rip;
}
#elif defined __aarch64__
/* A 32-bit program has 18 registers of 4 bytes, the 16th is pc. */
struct registers {
    union {
        struct user_regs_struct wide;
        uint32_t narrow[18];
    };
};
static uint64_t registers_pc(const struct registers *regs, size_t size)
{
    return size == sizeof regs->narrow ? regs->narrow[15] : regs->wide.pc;
}
#else
#error "no PC is known on this processor: add its registers here"
#endif

bool tracee_read_pc(struct tracee *tracee)
{
    struct registers regs;
    struct iovec io = {.iov_base = &regs, .iov_len = sizeof regs};
    if (ptrace(PTRACE_GETREGSET, tracee->tid, (void *)NT_PRSTATUS, &io) != 0)
        return false;
    tracee->pc = registers_pc(&regs, io.iov_len);
    return true;
}

/* Reads the file NAME of the thread, which stays open as *FD, as a text. Returns its length, 0 for none. */
static size_t read_file(const struct tracees *tracees, const struct tracee *tracee,
                        const char *name, int *fd, char *text, size_t size)
{
    if (*fd == -1) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)tracees->pid, (int)tracee->tid,
                 name);
        *fd = open(path, O_RDONLY | O_CLOEXEC);
        if (*fd < 0)
            *fd = -2;
    }
    ssize_t got = *fd < 0 ? 0 : pread(*fd, text, size - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    return got > 0 ? (size_t)got : 0;
}

/* "running", or the number of a system call, its arguments, the stack pointer and the PC. */
bool tracee_sleeps(const struct tracees *tracees, struct tracee *tracee)
{
    char text[256], *pc;
    if (read_file(tracees, tracee, "syscall", &tracee->syscall, text, sizeof text) == 0 ||
        (pc = strrchr(text, ' ')) == NULL)
        return false;
    uint64_t value = strtoull(pc, NULL, 16);
    tracee->pc = value != 0 ? value : tracee->pc;
    return value != 0;
}

bool tracee_read_cpu(const struct tracees *tracees, struct tracee *tracee)
{
    char text[96];
    if (read_file(tracees, tracee, "schedstat", &tracee->schedstat, text, sizeof text) == 0)
        return false;
    tracee->cpu = strtoull(text, NULL, 10);
    return true;
}

void tracee_close(struct tracee *tracee)
{
    if (tracee->schedstat >= 0)
        close(tracee->schedstat);
    if (tracee->syscall >= 0)
        close(tracee->syscall);
    tracee->schedstat = tracee->syscall = -1;
}
