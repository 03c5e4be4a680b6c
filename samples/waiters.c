/* One thread works while others wait: for a condition, for events, and in sleep.
 *
 * Recipe: sampler -o waiters.bin -- waiters 1
 * Waiting threads use no CPU time, and nothing must end their wait early. Prints the number of
 * waits that ended with EINTR.
 *
 * usage: waiters SECONDS
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static atomic_int interrupted;

static void *wait_for_condition(void *unused)
{
    pthread_mutex_lock(&lock);
    for (;;)
        pthread_cond_wait(&never, &lock);
    return unused;
}

static void *wait_for_events(void *unused)
{
    struct epoll_event event;
    int fd = epoll_create1(0);
    for (;;)
        if (epoll_wait(fd, &event, 1, -1) < 0 && errno == EINTR)
            interrupted++;
    return unused;
}

static void *wait_for_time(void *unused)
{
    const struct timespec long_time = {1000000, 0};
    for (;;)
        if (clock_nanosleep(CLOCK_MONOTONIC, 0, &long_time, NULL) == EINTR)
            interrupted++;
    return unused;
}

static double used(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    void *(*const waits[])(void *) = {wait_for_condition, wait_for_events, wait_for_time};
    double seconds = argc == 2 ? strtod(argv[1], NULL) : 0;
    pthread_t thread;
    if (!(seconds > 0)) {
        fprintf(stderr, "usage: waiters SECONDS\n");
        return 2;
    }
    for (int i = 0; i < 9; i++)
        if (pthread_create(&thread, NULL, waits[i % 3], NULL) != 0)
            return 1;
    while (used() < seconds)
        ;
    printf("%d\n", interrupted);
    return 0;
}
