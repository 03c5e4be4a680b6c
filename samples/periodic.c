/* A periodic program: two functions alternate; the CPU time used so far determines which of them runs.
 *
 *   periodic PERIOD SHARE SECONDS       period in us of CPU time; part of it in periodic_a; length in s of CPU time
 *
 * Prints the actual period [ns] and the number of periods. Both functions take the same time for
 * the same number of loops, so that the share is exact on every machine.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sink;

/* Each round depends on the previous one, so that the processor cannot overlap their
 * multiplications and additions. */
__attribute__((noinline)) static void periodic_a(unsigned long n)
{
    unsigned long x = n;
    for (; n > 0; n--)
        x = x * 6364136223846793005UL + 1442695040888963407UL;
    sink = x;
}

__attribute__((noinline)) static void periodic_b(unsigned long n)
{
    unsigned long x = n;
    for (; n > 0; n--)
        x = x * 2862933555777941757UL + 3037000493UL;
    sink = x;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Loops per ns: the best of several tries. */
static double speed(void)
{
    double best = 0;
    for (int i = 0; i < 20; i++) {
        double begin = now();
        periodic_b(50000);
        double rate = 50000 / (now() - begin);
        best = rate > best ? rate : best;
    }
    return best;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: periodic PERIOD SHARE SECONDS\n");
        return 2;
    }
    double period = atof(argv[1]) * 1000, share = atof(argv[2]), length = atof(argv[3]) * 1e9;
    unsigned long loops = (unsigned long)(period * speed()), cycles = 0;
    unsigned long first = (unsigned long)((double)loops * share);
    double begin = now(), used;
    do {
        for (int i = 0; i < 100; i++, cycles++) {
            periodic_a(first);
            periodic_b(loops - first);
        }
        used = now() - begin;
    } while (used < length);
    printf("period %.0f cycles %lu share %.6f\n", used / (double)cycles, cycles,
           (double)first / (double)loops);
    return 0;
}
