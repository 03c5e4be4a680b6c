/* Creates threads, one after the other, that run two functions, each of which is much shorter than
 * a sampling interval.
 *
 * Recipe: sampler -o short.bin -- short_threads 300 3000
 * Each thread computes for about MICROSECONDS, 30 % of the time in short_30 and the rest in
 * short_70. Prints the CPU time that the threads spent there together [ns]. Before it creates a
 * thread, the program itself computes for BEFORE microseconds.
 *
 * usage: short_threads MICROSECONDS THREADS [BEFORE]
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile uint64_t sink;
static unsigned long rounds; /* of each thread */

/* Both take the same time for the same number of rounds. */
__attribute__((noinline)) static void short_30(unsigned long n)
{
    uint64_t x = n;
    for (; n > 0; n--)
        x = x * 6364136223846793005U + 1442695040888963407U;
    sink = x;
}

__attribute__((noinline)) static void short_70(unsigned long n)
{
    uint64_t x = n;
    for (; n > 0; n--)
        x = x * 2862933555777941757U + 3037000493U;
    sink = x;
}

/* A round takes as long as one of the other functions. */
__attribute__((noinline)) static void creating(unsigned long n)
{
    uint64_t x = n;
    for (; n > 0; n--)
        x = x * 3202034522624059733U + 1U;
    sink = x;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *work(void *total)
{
    double begin = now();
    short_30(rounds * 3 / 10);
    short_70(rounds - rounds * 3 / 10);
    *(double *)total += now() - begin;
    return NULL;
}

int main(int count, char **arguments)
{
    enum { TRIAL = 2000000 };
    if (count < 3 || count > 4) {
        fprintf(stderr, "usage: short_threads MICROSECONDS THREADS [BEFORE]\n");
        return 2;
    }
    double begin = now(), total = 0;
    short_70(TRIAL);
    double each = 1e3 * TRIAL / (now() - begin);
    rounds = (unsigned long)(strtod(arguments[1], NULL) * each);
    unsigned long before = count > 3 ? (unsigned long)(strtod(arguments[3], NULL) * each) : 0;
    for (long left = strtol(arguments[2], NULL, 10); left > 0; left--) {
        pthread_t thread;
        creating(before);
        if (pthread_create(&thread, NULL, work, &total) != 0)
            return 1;
        pthread_join(thread, NULL);
    }
    printf("short %.0f\n", total);
    return 0;
}
