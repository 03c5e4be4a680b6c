/* Continually creates and joins threads, four at a time, each of which does a little work.
 *
 * Recipe: sampler -o churn.bin -- threads_churn 1
 * Prints the number of threads and the CPU time of the process [ns], to which the last CPU times of
 * all threads in the profile add up.
 *
 * usage: threads_churn SECONDS
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { AT_ONCE = 4 };

static uint64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

static void *work(void *argument)
{
    uint64_t *state = argument;
    for (int i = 0; i < 300000; i++)
        *state = *state * 6364136223846793005U + 1;
    return NULL;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    uint64_t end = now(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9), threads = 0;
    while (now(CLOCK_MONOTONIC) < end) {
        pthread_t handles[AT_ONCE];
        uint64_t states[AT_ONCE] = {1, 2, 3, 4};
        for (int i = 0; i < AT_ONCE; i++)
            if (pthread_create(&handles[i], NULL, work, &states[i]) != 0)
                return 1;
        for (int i = 0; i < AT_ONCE; i++)
            pthread_join(handles[i], NULL);
        threads += AT_ONCE;
    }
    printf("threads %" PRIu64 " process %" PRIu64 "\n", threads, now(CLOCK_PROCESS_CPUTIME_ID));
    return 0;
}
