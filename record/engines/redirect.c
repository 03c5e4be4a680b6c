/* Gives signals of a process to its main thread, as the kernel does if the program is not traced.
 *
 * The kernel prefers the main thread, except while a tracer has it stopped: then another thread gets the signal. The
 * system calls of the main thread do not end with EINTR in that case. A Python program that sleeps would not notice
 * Ctrl-C, because only its main thread handles signals.
 * SPDX-License-Identifier: MIT */
#include "record/engines/redirect.h"

#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/memory.h"
#include "record/process.h"

/* Of these, a thread has at most one of each number pending. */
enum { STANDARD_SIGNALS = 32 };

/* Returns whether a signal was certainly sent to a process, and not to one of its threads. The kernel itself sends the
 * signals of kill(2), terminals and setitimer(2) to processes; those of sigqueue(3) may be for a thread. Those of
 * timer_create(2) go to any thread that runs (since Linux 6.4). */
static bool is_for_process(const siginfo_t *info)
{
    switch (info->si_signo) {
    case SIGALRM:
    case SIGINT:
    case SIGQUIT:
    case SIGHUP:
    case SIGWINCH:
        return info->si_code == SI_KERNEL || info->si_code == SI_USER;
    case SIGPIPE:
    case SIGXFSZ:
        return false; /* the kernel sends them to the thread that writes, as if they came from kill(2) */
    default:
        return info->si_code == SI_USER && info->si_signo < STANDARD_SIGNALS;
    }
}

void redirect_to_leader(struct tracee *thread, struct tracee *leader)
{
    siginfo_t info;
    if (leader == NULL || leader == thread || leader->state == TRACEE_DYING ||
        ptrace(PTRACE_GETSIGINFO, thread->tid, 0, &info) != 0 || !is_for_process(&info) ||
        process_blocks(leader->process->pid, leader->tid, info.si_signo) ||
        syscall(SYS_tgkill, leader->process->pid, leader->tid, info.si_signo) != 0)
        return;
    if (leader->redirected == NULL)
        leader->redirected = mem_zalloc(STANDARD_SIGNALS, sizeof *leader->redirected);
    leader->redirected[info.si_signo] = info;
    thread->signal = 0;
}

void redirect_arrived(struct tracee *leader)
{
    siginfo_t info, *original;
    if (leader->redirected == NULL || leader->signal >= STANDARD_SIGNALS)
        return;
    original = leader->redirected + leader->signal;
    if (original->si_signo != leader->signal ||
        ptrace(PTRACE_GETSIGINFO, leader->tid, 0, &info) != 0 || info.si_code != SI_TKILL ||
        (info.si_pid != getpid() &&
         info.si_pid != 0)) /* 0: the program is in another PID namespace */
        return;
    /* not cleared: if it had already stopped at one signal, another of this number may follow */
    ptrace(PTRACE_SETSIGINFO, leader->tid, 0, original);
}
