/* Worker threads.
 * SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/memory.h"

struct start {
    void *(*work)(void *);
    void *opaque;
    int cpu; /* CPU of the thread that started it */
};

size_t thread_cpus(void)
{
    cpu_set_t all;
    return sched_getaffinity(0, sizeof all, &all) == 0 ? (size_t)CPU_COUNT(&all) : 1;
}

/* The scheduler often starts a thread on the CPU of its creator although another CPU is idle, and moving it can take
 * as long as reading a profile. */
static void leave_cpu(int cpu)
{
    cpu_set_t all, others;
    if (cpu < 0 || sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    others = all;
    CPU_CLR((size_t)cpu, &others);
    if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0)
        sched_setaffinity(0, sizeof all, &all);
}

static void *begin(void *opaque)
{
    struct start start = *(struct start *)opaque;
    free(opaque);
    leave_cpu(start.cpu);
    return start.work(start.opaque);
}

/* Whether address space is limited. Stacks and the allocator reserve a hundred times the address
 * space that they use, so that too little could be left. */
static bool addresses_are_limited(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

bool thread_start(pthread_t *thread, void *(*work)(void *), void *opaque)
{
    if (addresses_are_limited())
        return false;
    struct start *start = mem_alloc(sizeof *start);
    *start = (struct start){work, opaque, sched_getcpu()};
    if (pthread_create(thread, NULL, begin, start) == 0)
        return true;
    free(start);
    return false;
}
