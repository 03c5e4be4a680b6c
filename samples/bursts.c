/* Works in bursts, and sleeps after each: bursts COUNT WORK SLEEP_US [BYTES]. A burst calls
 * opening() and then closing(), with WORK rounds each, so that both use the same CPU time. Between
 * them, it reads BYTES bytes from /dev/zero, in the kernel. Prints the CPU time of all three and
 * the wall time asleep [ns].
 * SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink;
static char bytes[1 << 23];

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
    sink += 1; /* so that the code differs from opening */
}

int main(int argc, char **argv)
{
    if (argc != 4 && argc != 5) {
        fprintf(stderr, "usage: bursts COUNT WORK SLEEP_US [BYTES]\n");
        return 2;
    }
    long count = strtol(argv[1], NULL, 10);
    uint64_t rounds = strtoull(argv[2], NULL, 10), first = 0, called = 0, second = 0, asleep = 0;
    unsigned sleep_us = (unsigned)strtoul(argv[3], NULL, 10);
    size_t size = argc == 5 ? (size_t)strtoull(argv[4], NULL, 10) : 0;
    int zeros = open("/dev/zero", O_RDONLY);
    if (zeros < 0 || size > sizeof bytes)
        return 1;
    for (long i = 0; i < count; i++) {
        uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        opening(rounds);
        uint64_t call = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        if (size > 0 && read(zeros, bytes, size) < 0)
            return 1;
        uint64_t middle = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        closing(rounds);
        first += call - begin;
        called += middle - call;
        second += clock_ns(CLOCK_THREAD_CPUTIME_ID) - middle;
        uint64_t night = clock_ns(CLOCK_MONOTONIC);
        usleep(sleep_us);
        asleep += clock_ns(CLOCK_MONOTONIC) - night;
    }
    printf("opening %" PRIu64 " reading %" PRIu64 " closing %" PRIu64 " asleep %" PRIu64 "\n",
           first, called, second, asleep);
    return 0;
}
