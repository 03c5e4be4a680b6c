/* The processes and threads that the ptrace engine traces.
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
#include "record/process.h"

void tracees_free(struct tracees *tracees)
{
    while (tracees->count > 0)
        tracees_remove(tracees, tracees->list[0]);
    tracees_sweep(tracees);
    while (tracees->process_count > 0)
        tracees_remove_process(tracees, tracees->processes[0]);
    id_map_free(&tracees->by_tid);
    free(tracees->list);
    free(tracees->processes);
    *tracees = (struct tracees){0};
}

struct tracee *tracees_find(const struct tracees *tracees, pid_t tid)
{
    return id_map_find(&tracees->by_tid, (uint32_t)tid);
}

struct tracee *tracees_add(struct tracees *tracees, struct process *process, pid_t tid)
{
    struct tracee *tracee = mem_zalloc(1, sizeof *tracee);
    mem_reserve(&tracees->list, &tracees->capacity, tracees->count + 1, sizeof(struct tracee *));
    *tracee = (struct tracee){.index = tracees->count,
                              .tid = tid,
                              .process = process,
                              .state = TRACEE_BORN,
                              .home = -1,
                              .schedstat = -1,
                              .syscall = -1,
                              .stat = -1};
    id_map_set(&tracees->by_tid, (uint32_t)tid, tracee);
    tracees->list[tracees->count++] = tracee;
    tracees->added++;
    process->threads++;
    return tracee;
}

void tracees_remove(struct tracees *tracees, struct tracee *tracee)
{
    if (tracees_find(tracees, tracee->tid) == tracee)
        id_map_set(&tracees->by_tid, (uint32_t)tracee->tid, NULL);
    tracees->list[tracee->index] = tracees->list[--tracees->count];
    tracees->list[tracee->index]->index = tracee->index;
    tracee->process->threads--;
    tracee->process = NULL;
    tracee->state = TRACEE_DYING;
    tracee_close(tracee);
    tracee->next = tracees->removed;
    tracees->removed = tracee;
}

void tracees_sweep(struct tracees *tracees)
{
    while (tracees->removed != NULL) {
        struct tracee *tracee = tracees->removed;
        tracees->removed = tracee->next;
        free(tracee->redirected);
        free(tracee);
    }
}

struct process *tracees_process(const struct tracees *tracees, pid_t pid)
{
    const struct tracee *leader = tracees_find(tracees, pid);
    if (leader != NULL && leader->process->pid == pid)
        return leader->process;
    for (size_t i = 0; i < tracees->process_count; i++)
        if (tracees->processes[i]->pid == pid)
            return tracees->processes[i];
    return NULL;
}

struct process *tracees_add_process(struct tracees *tracees, pid_t pid)
{
    struct process *process = mem_zalloc(1, sizeof *process);
    mem_reserve(&tracees->processes, &tracees->process_capacity, tracees->process_count + 1,
                sizeof(struct process *));
    *process = (struct process){
        .pid = pid, .index = tracees->process_count, .folder = -1, .faulting = true};
    tracees->processes[tracees->process_count++] = process;
    return process;
}

void tracees_remove_process(struct tracees *tracees, struct process *process)
{
    tracees->processes[process->index] = tracees->processes[--tracees->process_count];
    tracees->processes[process->index]->index = process->index;
    if (process->folder >= 0)
        close(process->folder);
    free(process);
}

void tracee_interrupt(struct tracee *tracee)
{
    tracee->stuck = false;
    tracee->state =
        ptrace(PTRACE_INTERRUPT, tracee->tid, 0, 0) == 0 ? TRACEE_AWAITED : TRACEE_DYING;
}

void tracee_resume(struct tracee *tracee)
{
    /* ESRCH: the thread was killed while it was held; the kernel reports its end later. */
    if (tracee->group_stop)
        ptrace(PTRACE_LISTEN, tracee->tid, 0, 0);
    else
        ptrace(tracee->rest.active ? PTRACE_SYSCALL : PTRACE_CONT, tracee->tid, 0,
               (unsigned long)tracee->signal);
    if (tracee->state != TRACEE_DYING)
        tracee->state = tracee->group_stop ? TRACEE_LISTENING : TRACEE_RUNNING;
    tracee->signal = 0;
}

/* The results of read_registers: the PC, the number of the system call (-1: none) and its return
 * value. */
struct registers {
    uint64_t pc;
    int64_t call, result;
};

#if defined __x86_64__
/* A 32-bit program has 17 registers of 4 bytes: the 7th is eax, the 12th orig_eax, the 13th eip. */
static bool read_registers(pid_t tid, struct registers *registers)
{
    union {
        struct user_regs_struct wide;
        int32_t narrow[17];
    } regs;
    struct iovec io = {.iov_base = &regs, .iov_len = sizeof regs};
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &io) != 0)
        return false;
    if (io.iov_len == sizeof regs.narrow)
        *registers = (struct registers){(uint32_t)regs.narrow[12], regs.narrow[11], regs.narrow[6]};
    else
        *registers =
            (struct registers){regs.wide.rip, (int64_t)regs.wide.orig_rax, (int64_t)regs.wide.rax};
    return true;
}
#elif defined __aarch64__
/* A 32-bit program has 18 registers of 4 bytes: the first is r0, the 16th pc. */
static bool read_registers(pid_t tid, struct registers *registers)
{
    union {
        struct user_regs_struct wide;
        int32_t narrow[18];
    } regs;
    int number = -1;
    struct iovec io = {.iov_base = &regs, .iov_len = sizeof regs};
    struct iovec call = {.iov_base = &number, .iov_len = sizeof number};
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &io) != 0)
        return false;
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_ARM_SYSTEM_CALL, &call) != 0)
        number = -1;
    if (io.iov_len == sizeof regs.narrow)
        *registers = (struct registers){(uint32_t)regs.narrow[15], number, regs.narrow[0]};
    else
        *registers = (struct registers){regs.wide.pc, number, (int64_t)regs.wide.regs[0]};
    return true;
}
#elif defined __arm__
/* The kernel sets the 18th register, orig_r0, to -1 unless the thread made a system call, whose number is in r7. */
static bool read_registers(pid_t tid, struct registers *registers)
{
    int32_t regs[18];
    struct iovec io = {.iov_base = regs, .iov_len = sizeof regs};
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &io) != 0)
        return false;
    *registers = (struct registers){(uint32_t)regs[15], regs[17] == -1 ? -1 : regs[7], regs[0]};
    return true;
}
#elif defined __riscv
/* The registers do not show whether a thread made a system call: the time in calls is attributed to
 * the caller. */
static bool read_registers(pid_t tid, struct registers *registers)
{
    uint64_t regs[32]; /* the first is pc */
    struct iovec io = {.iov_base = regs, .iov_len = sizeof regs};
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &io) != 0)
        return false;
    *registers = (struct registers){regs[0], -1, 0};
    return true;
}
#else
#error "the PC of this processor is unknown: add its registers here"
#endif

/* Recognizes EINTR and the kernel's internal codes for a call to be restarted (ERESTARTSYS and
 * others). */
static bool is_cut_short(int64_t result)
{
    return result == -EINTR || (result <= -512 && result >= -516);
}

bool tracee_read_pc(struct tracee *tracee)
{
    struct registers registers;
    if (!read_registers(tracee->tid, &registers))
        return false;
    tracee->pc = registers.pc;
    tracee->preempted = false;
    tracee->in_kernel = registers.call != -1;
    tracee->completed = tracee->in_kernel && !is_cut_short(registers.result);
    return true;
}

enum { STAT_SIZE = 512 };

/* Reads the file NAME of the thread as text, and keeps it open as *FD if enough descriptors are
 * available. Returns its length; 0 if it cannot be read. */
static size_t read_file(const struct tracee *tracee, const char *name, int *fd, char *text,
                        size_t size)
{
    if (*fd < 0) {
        char path[64];
        int folder = tracee->process->folder, at = 0;
        if (folder < 0)
            at = snprintf(path, sizeof path, "/proc/%d/task/", (int)tracee->process->pid);
        snprintf(path + at, sizeof path - (size_t)at, "%d/%s", (int)tracee->tid, name);
        *fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    }
    ssize_t got = *fd < 0 ? 0 : pread(*fd, text, size - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    return got > 0 ? (size_t)got : 0;
}

/* The file contains "running", or the number of a system call, its arguments, the stack pointer and
 * the PC. */
bool tracee_waits(struct tracee *tracee)
{
    char text[256], *pc;
    if (read_file(tracee, "syscall", &tracee->syscall, text, sizeof text) == 0 ||
        (pc = strrchr(text, ' ')) == NULL)
        return false;
    uint64_t value = strtoull(pc, NULL, 16);
    if (value == 0)
        return false;
    tracee->pc = value;
    tracee->preempted = false;
    return true;
}

bool tracee_read_time(struct tracee *tracee, struct run_time *time)
{
    char text[96], *end = text;
    if (read_file(tracee, "schedstat", &tracee->schedstat, text, sizeof text) == 0)
        return false;
    time->cpu = strtoull(end, &end, 10);
    time->delay = strtoull(end, &end, 10);
    time->slices = strtoull(end, &end, 10);
    return true;
}

uint64_t tracee_cpu(const struct tracee *tracee)
{
    return tracee->run.cpu - tracee->uncounted;
}

void tracee_close(struct tracee *tracee)
{
    if (tracee->schedstat >= 0)
        close(tracee->schedstat);
    if (tracee->syscall >= 0)
        close(tracee->syscall);
    if (tracee->stat >= 0)
        close(tracee->stat);
    tracee->schedstat = tracee->syscall = tracee->stat = -1;
}

bool tracee_read_faults(struct tracee *tracee, uint64_t *faults, int *cpu)
{
    char text[STAT_SIZE];
    if (read_file(tracee, "stat", &tracee->stat, text, sizeof text) == 0)
        return false;
    *faults = process_stat_faults(text);
    *cpu = process_stat_cpu(text);
    return true;
}

int tracee_cpu_number(const struct tracee *tracee)
{
    char text[STAT_SIZE];
    int fd = -1;
    size_t size = read_file(tracee, "stat", &fd, text, sizeof text);
    if (fd >= 0)
        close(fd);
    return size > 0 ? process_stat_cpu(text) : -1;
}
