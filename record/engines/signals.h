/* Signals of the sampler's own process: blocked, taken one by one, passed on to the program.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_SIGNALS_H
#define RECORD_ENGINES_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* What was before, for the program that is started. */
struct signals {
    sigset_t before;              /* mask */
    struct sigaction child, pipe; /* dispositions of SIGCHLD, SIGPIPE */
    sigset_t taken;               /* blocked here and answered by signals_wait */
};

/* Blocks what signals_wait answers; a signal that was ignored stays so. */
void signals_take(struct signals *signals);
/* Mask and dispositions as before: for the child before exec, and at the end. */
void signals_restore(const struct signals *signals);

/* Waits at most NS for a signal. Returns its number with *INFO filled, or 0. */
int signals_wait(const struct signals *signals, uint64_t ns, siginfo_t *info);
/* Waits at most NS for SIGCHLD alone, and leaves all others pending. */
void signals_wait_child(uint64_t ns);

/* Is it one that ends or concerns the program (SIGINT, SIGTERM, ...) and came to this process
 * alone? What a terminal sends goes to its whole foreground group: the program has it already. */
bool signals_passed_on(const siginfo_t *info);
/* Is it one that asks a process to end (SIGINT, SIGTERM, SIGHUP, SIGQUIT)? */
bool signals_ends(int number);
/* Is it one by which a terminal stops a job? */
bool signals_stop(int number);
/* Stops this process by NUMBER, as a shell with job control expects; returns when it is continued.
 */
void signals_stop_self(int number);

#endif
