/* Works in bursts, and sleeps after each: bursts COUNT WORK SLEEP_US. A burst calls opening() and then closing(), with WORK
 * rounds each, so that both use the same CPU time. Prints the CPU time of both and the wall time asleep [ns].
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink;

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static inline __attribute__((always_inline)) void work(uint64_t rounds)
{
    uint64_t value = rounds | 1;
    while (rounds-- > 0)
        value = value * UINT64_C(6364136223846793005) + 1442695040888963407;
    sink = value;
}

__attribute__((noinline)) static void opening(uint64_t rounds)
{
    work(rounds);
}

__attribute__((noinline)) static void closing(uint64_t rounds)
{
    work(rounds);
    sink += 1; /* not the same code as opening */
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: bursts COUNT WORK SLEEP_US\n");
        return 2;
    }
    long count = strtol(argv[1], NULL, 10);
    uint64_t rounds = strtoull(argv[2], NULL, 10), first = 0, second = 0, asleep = 0;
    unsigned sleep_us = (unsigned)strtoul(argv[3], NULL, 10);
    for (long i = 0; i < count; i++) {
        uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        opening(rounds);
        uint64_t middle = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        closing(rounds);
        first += middle - begin;
        second += clock_ns(CLOCK_THREAD_CPUTIME_ID) - middle;
        uint64_t night = clock_ns(CLOCK_MONOTONIC);
        usleep(sleep_us);
        asleep += clock_ns(CLOCK_MONOTONIC) - night;
    }
    printf("opening %" PRIu64 " closing %" PRIu64 " asleep %" PRIu64 "\n", first, second, asleep);
    return 0;
}
