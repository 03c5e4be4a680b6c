/* Signals of the sampler's process: blocks them, accepts them one by one, and passes them on to the program.
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_ENGINES_SIGNALS_H
#define RECORD_ENGINES_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* The previous state, restored for the program. */
struct signals {
    sigset_t before;              /* mask */
    struct sigaction child, pipe; /* dispositions of SIGCHLD and SIGPIPE */
    sigset_t taken;               /* blocked here and accepted by signals_wait */
};

/* Blocks the signals that signals_wait accepts; ignored signals remain ignored. HELD is the mask before engine_hold,
 * or NULL if that was not called. */
void signals_take(struct signals *signals, const sigset_t *held);
/* Restores mask and dispositions: in the child before exec, and at the end. */
void signals_restore(const struct signals *signals);

/* Waits at most NS [ns] for a signal. Returns its number with *INFO filled, or 0. */
int signals_wait(const struct signals *signals, uint64_t ns, siginfo_t *info);
/* Waits at most NS [ns] for SIGCHLD only, and leaves all others pending. */
void signals_wait_child(uint64_t ns);

/* Returns whether a signal must be passed on to the program (SIGINT, SIGTERM, ... sent to this
 * process only). A signal from the terminal goes to the whole foreground group: the program has
 * already received it. */
bool signals_passed_on(const siginfo_t *info);
/* Returns whether signal NUMBER is a request to end (SIGINT, SIGTERM, SIGHUP, SIGQUIT). */
bool signals_ends(int number);
/* Returns whether signal NUMBER is one with which a terminal stops jobs. */
bool signals_stop(int number);
/* Asks process PID to end, or if it was ASKED before, kills it. Returns how long it may take [ns]. */
uint64_t signals_end(pid_t pid, bool asked);
/* Stops this process with signal NUMBER, as a shell with job control expects; returns when it is continued. */
void signals_stop_self(int number);

#endif
