/* Lets system calls that a stop has cut short go on.
 *
 * The kernel itself repeats most system calls. If a thread is stopped just as it begins to wait,
 * the kernel ends some of them with EINTR, as after any stop and continuation of a job (signal(7)).
 * These are repeated: the thread has waited for so short a time that its timeout may start again.
 *
 * If a thread that writes to a full pipe is stopped, the kernel returns the number of bytes written
 * so far. Many programs expect this only if they handle signals. The thread therefore calls the
 * kernel again for the rest, and stops at the end of that call, where it gets the sum as its result:
 *
 *   write(1, b, 100) = 60       stopped; becomes write(1, b + 60, 40)
 *   write(1, b + 60, 40) = 40   stops at its end; becomes write(1, b, 100) = 100
 *
 * If a signal arrives meanwhile, or an error occurs, the result is what has been written, as without
 * the sampler.
 * SPDX-License-Identifier: MIT */
#include "record/engines/restart.h"

#if defined __x86_64__
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "record/process.h"

/* The instruction syscall, not the gate of 32-bit programs. */
enum { CALL_SIZE = 2, CALL_INSTRUCTION = 0x050f };
#define MOST_BYTES  UINT64_C(0x7ffff000) /* that one call transfers */
#define NOT_IN_CALL ((unsigned long long)-1)
enum { FIRST_INTERNAL_ERROR = 512 }; /* of the kernel */

/* Repeating these calls has the same effect as the first call would have had: a call that returns
 * EINTR has not begun anything. */
static bool is_repeatable(unsigned long long call)
{
    static const unsigned calls[] = {
        SYS_read,         SYS_readv,      SYS_recvfrom,        SYS_recvmsg,    SYS_recvmmsg,
        SYS_accept,       SYS_accept4,    SYS_write,           SYS_writev,     SYS_sendto,
        SYS_semop,        SYS_semtimedop, SYS_rt_sigtimedwait, SYS_epoll_wait, SYS_epoll_pwait,
#ifdef SYS_epoll_pwait2
        SYS_epoll_pwait2,
#endif
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i] == call)
            return true;
    return false;
}

static bool read_registers(pid_t tid, struct user_regs_struct *regs)
{
    struct iovec io = {.iov_base = regs, .iov_len = sizeof *regs};
    return ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &io) == 0 &&
           io.iov_len == sizeof *regs;
}

static void write_registers(pid_t tid, struct user_regs_struct *regs)
{
    struct iovec io = {.iov_base = regs, .iov_len = sizeof *regs};
    ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &io);
}

static uint64_t most_of(uint64_t size)
{
    return size < MOST_BYTES ? size : MOST_BYTES;
}

/* Returns whether the call would not have returned yet without the stop. Writes to sockets are left
 * alone: if the other side closes, a call for the rest would raise SIGPIPE, or take the error that
 * the next call should get. */
static bool is_partial(pid_t tid, const struct user_regs_struct *regs)
{
    unsigned long long flags = regs->r10 & (MSG_DONTWAIT | MSG_PEEK | MSG_WAITALL);
    if ((long long)regs->rax <= 0 || regs->rax >= most_of(regs->rdx))
        return false;
    bool write = regs->orig_rax == SYS_write;
    return (write || (regs->orig_rax == SYS_recvfrom && flags == MSG_WAITALL)) &&
           process_file_blocks(tid, (int)regs->rdi, !write);
}

static void call_again(const struct tracee *tracee, struct user_regs_struct *regs)
{
    const struct rest *rest = &tracee->rest;
    if (rest->active) {
        regs->rsi = rest->buffer + rest->done;
        regs->rdx = rest->size - rest->done;
    }
    regs->rip -= CALL_SIZE;
    regs->rax = regs->orig_rax;
    regs->orig_rax = NOT_IN_CALL;
    write_registers(tracee->tid, regs);
}

/* The program gets the result of the whole call. */
static void end_call(struct tracee *tracee, struct user_regs_struct *regs)
{
    struct rest *rest = &tracee->rest;
    if (regs->orig_rax == NOT_IN_CALL) /* it is about to call the kernel again */
        regs->rip += CALL_SIZE;
    regs->rax = rest->done;
    regs->rsi = rest->buffer;
    regs->rdx = rest->size;
    regs->orig_rax = NOT_IN_CALL; /* it has ended: do not begin again */
    rest->active = false;
    write_registers(tracee->tid, regs);
}

/* Returns whether the thread will handle a signal, or stop or end because of it. */
static bool handles_signal(const struct tracee *tracee)
{
    return process_has_signal(tracee->process->pid, tracee->tid, tracee->signal);
}

void restart_call(struct tracee *tracee)
{
    pid_t tid = tracee->tid;
    struct user_regs_struct regs;
    if (tracee->rest.active || !read_registers(tid, &regs))
        return;
    bool partial = is_partial(tid, &regs);
    bool nothing = (long long)regs.rax == -EINTR && is_repeatable(regs.orig_rax);
    if ((!partial && !nothing) ||
        (ptrace(PTRACE_PEEKTEXT, tid, (void *)(regs.rip - CALL_SIZE), 0) & 0xffff) !=
            CALL_INSTRUCTION ||
        handles_signal(tracee))
        return;
    if (partial)
        tracee->rest =
            (struct rest){.active = true, .done = regs.rax, .buffer = regs.rsi, .size = regs.rdx};
    call_again(tracee, &regs);
}

void restart_follow(struct tracee *tracee, bool at_call, bool more)
{
    struct rest *rest = &tracee->rest;
    struct user_regs_struct regs;
    if (!rest->active)
        return;
    rest->active = read_registers(tracee->tid, &regs);
    long long result = (long long)regs.rax;
    if (!rest->active || (at_call && result == -ENOSYS)) /* the beginning of the call */
        return;
    if (!at_call) {
        if (!more || tracee->group_stop || handles_signal(tracee))
            end_call(tracee, &regs);
        return;
    }
    rest->done += result > 0 ? regs.rax : 0;
    bool failed = result <= 0 && result > -FIRST_INTERNAL_ERROR; /* others: to be restarted */
    if (!more || failed || rest->done >= most_of(rest->size) || handles_signal(tracee))
        end_call(tracee, &regs);
    else
        call_again(tracee, &regs);
}
#else
void restart_call(struct tracee *tracee)
{
    (void)tracee;
}

void restart_follow(struct tracee *tracee, bool at_call, bool more)
{
    (void)tracee;
    (void)at_call;
    (void)more;
}
#endif
