/* Signals of the sampler's own process.
 * SPDX-License-Identifier: MIT */
#include "record/engines/signals.h"

#include <errno.h>
#include <stddef.h>

#include "record/clock.h"
#include "record/engine.h"

static const int passed_on[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
static const int job_control[] = {SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT};
enum {
    PASSED_ON = sizeof passed_on / sizeof passed_on[0],
    JOB_CONTROL = sizeof job_control / sizeof job_control[0]
};

static void take(sigset_t *set, int number)
{
    struct sigaction now;
    sigaction(number, NULL, &now);
    if (now.sa_handler != SIG_IGN)
        sigaddset(set, number);
}

void engine_hold(struct engine_options *options)
{
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < PASSED_ON; i++)
        take(&set, passed_on[i]);
    sigprocmask(SIG_BLOCK, &set, &options->mask);
    options->held = true;
}

void signals_take(struct signals *signals, const sigset_t *held)
{
    struct sigaction fallback = {.sa_handler = SIG_DFL}, ignore = {.sa_handler = SIG_IGN};
    /* if SIGCHLD was ignored, children would disappear unnoticed */
    sigaction(SIGCHLD, &fallback, &signals->child);
    /* writing to a closed pipe becomes an error message */
    sigaction(SIGPIPE, &ignore, &signals->pipe);
    sigemptyset(&signals->taken);
    sigaddset(&signals->taken, SIGCHLD);
    for (int i = 0; i < PASSED_ON; i++)
        take(&signals->taken, passed_on[i]);
    for (int i = 0; i < JOB_CONTROL; i++)
        take(&signals->taken, job_control[i]);
    sigprocmask(SIG_BLOCK, &signals->taken, &signals->before);
    if (held != NULL)
        signals->before = *held;
}

void signals_restore(const struct signals *signals)
{
    sigaction(SIGCHLD, &signals->child, NULL);
    sigaction(SIGPIPE, &signals->pipe, NULL);
    sigprocmask(SIG_SETMASK, &signals->before, NULL);
}

int signals_wait(const struct signals *signals, uint64_t ns, siginfo_t *info)
{
    struct timespec timeout = clock_timespec(ns);
    int number = sigtimedwait(&signals->taken, info, &timeout);
    return number > 0 ? number : 0;
}

void signals_wait_child(uint64_t ns)
{
    struct timespec timeout = clock_timespec(ns);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigtimedwait(&child, NULL, &timeout);
}

bool signals_passed_on(const siginfo_t *info)
{
    for (int i = 0; i < PASSED_ON; i++)
        if (info->si_signo == passed_on[i])
            return info->si_code != SI_KERNEL;
    return false;
}

bool signals_ends(int number)
{
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

bool signals_stop(int number)
{
    return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

uint64_t signals_end(pid_t pid, bool asked)
{
    static const uint64_t grace = 5 * SECOND;
    kill(pid, asked ? SIGKILL : SIGTERM);
    kill(pid, SIGCONT); /* a stopped process would not see the signal */
    return grace;
}

void signals_stop_self(int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &set, NULL); /* the process stops here */
    sigprocmask(SIG_BLOCK, &set, NULL);
}
