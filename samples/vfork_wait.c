/* One thread waits in vfork for a slow child, while another works.
 *
 * Recipe: sampler -o vfork.bin -- vfork_wait 1
 * The wait in vfork cannot be interrupted: a sampler that insists on stopping all threads delays
 * the other one. Prints the CPU time of the other thread, and the duration of the wait [ms].
 *
 * usage: vfork_wait SECONDS
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_bool over;

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void *work(void *result)
{
    while (!over)
        ;
    *(double *)result = now(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 1, used = 0;
    pthread_t worker;
    if (pthread_create(&worker, NULL, work, &used) != 0)
        return 1;
    double begin = now(CLOCK_MONOTONIC);
    pid_t child = vfork();
    if (child == 0) {
        usleep((
            useconds_t)(seconds *
                        1e6)); /* not strictly allowed after vfork, but has no effect on the parent */
        _exit(0);
    }
    double waited = now(CLOCK_MONOTONIC) - begin;
    over = 1;
    pthread_join(worker, NULL);
    waitpid(child, NULL, 0);
    printf("worked %.0f waited %.0f\n", used, waited);
    return 0;
}
