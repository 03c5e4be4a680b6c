/* Repeats system calls that a stop has cut short.
 *
 * The kernel itself repeats most system calls. If a thread is stopped just as it begins to wait,
 * the kernel ends some of them with EINTR, as after any stop and continuation of a job (signal(7)).
 * The thread has waited for so short a time that its timeout may start again.
 * SPDX-License-Identifier: MIT */
#include "record/engines/restart.h"

#if defined __x86_64__
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "record/process.h"

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

void restart_call(pid_t pid, pid_t tid)
{
    /* the instruction syscall, not the gate of 32-bit programs */
    enum { SIZE = 2, INSTRUCTION = 0x050f };
    struct user_regs_struct regs;
    struct iovec io = {.iov_base = &regs, .iov_len = sizeof regs};
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &io) != 0 || io.iov_len != sizeof regs ||
        (long long)regs.rax != -EINTR || !is_repeatable(regs.orig_rax) ||
        (ptrace(PTRACE_PEEKTEXT, tid, (void *)(regs.rip - SIZE), 0) & 0xffff) != INSTRUCTION ||
        process_has_signal(pid, tid))
        return;
    regs.rip -= SIZE;
    regs.rax = regs.orig_rax;
    regs.orig_rax = (unsigned long long)-1; /* it is no longer in a call */
    ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &io);
}
#else
void restart_call(pid_t pid, pid_t tid)
{
    (void)pid;
    (void)tid;
}
#endif
