/* A thread that wakes and does nothing.
 * SPDX-License-Identifier: MIT */
#include "record/engines/nudge.h"

#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/thread.h"
#include "record/clock.h"

enum { EVERY = SECOND / 10000, SLICE = SECOND / 10000 }; /* [ns] */

void nudge_short_slice(void)
{
    const struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t slice, deadline, period; /* [ns] */
    } attributes = {.size = sizeof attributes,
                    .policy = SCHED_OTHER,
                    .flags = 1, /* SCHED_FLAG_RESET_ON_FORK */
                    .nice = getpriority(PRIO_PROCESS, 0),
                    .slice = SLICE};
    syscall(SYS_sched_setattr, 0, &attributes, 0);
}

static void *wake_up(void *opaque)
{
    struct nudge *nudge = opaque;
    uint64_t count;
    nudge_short_slice();
    nudge->tid = (pid_t)syscall(SYS_gettid);
    while (!nudge->ended && read(nudge->timer, &count, sizeof count) == sizeof count)
        ;
    return NULL;
}

void nudge_start(struct nudge *nudge)
{
    sigset_t all, before;
    sigfillset(&all);
    *nudge = (struct nudge){.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), .cpu = -1};
    if (nudge->timer < 0)
        return;
    pthread_sigmask(SIG_SETMASK, &all, &before);
    nudge->started = thread_start(&nudge->thread, wake_up, nudge);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!nudge->started)
        close(nudge->timer);
}

static void set_timer(const struct nudge *nudge, long ns)
{
    const struct itimerspec every = {{0, ns}, {0, ns}};
    timerfd_settime(nudge->timer, 0, &every, NULL);
}

void nudge_resume(struct nudge *nudge)
{
    if (!nudge->started)
        return;
    int cpu = sched_getcpu();
    if (cpu >= 0 && cpu < CPU_SETSIZE && cpu != nudge->cpu && nudge->tid != 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET((size_t)cpu, &set);
        nudge->cpu = sched_setaffinity(nudge->tid, sizeof set, &set) == 0 ? cpu : -1;
    }
    set_timer(nudge, EVERY);
}

void nudge_pause(struct nudge *nudge)
{
    if (nudge->started)
        set_timer(nudge, 0);
}

void nudge_end(struct nudge *nudge)
{
    if (!nudge->started)
        return;
    nudge->ended = true;
    set_timer(nudge, 1);
    pthread_join(nudge->thread, NULL);
    close(nudge->timer);
    nudge->started = false;
}
