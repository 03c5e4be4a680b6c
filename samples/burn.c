/* Uses CPU time in three functions, 50, 30 and 20 % of it, by the clock of the thread.
 *
 * Recipe: sampler -o burn.bin -- burn 2      prof2pbin burn.bin | pbin-aggregate
 *
 * shows burn_50, burn_30, burn_20 with those shares; `burn 2 3` does the same in three threads, and
 * `burn -v` prints the CPU time that each function actually used.
 *
 * With `burn -s`, burn_30 takes 1.5 times as long, so the same work takes 1.15 times as long.
 *
 * usage: burn [-v] [-s] SECONDS [THREADS]         SECONDS of CPU time in each thread
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FUNCTIONS = 3, DECK = 10, MAX_THREADS = 64, TABLE = 1024 };

struct burner {
    uint64_t budget; /* CPU time to use [ns] */
    uint64_t calls[FUNCTIONS], timed_calls[FUNCTIONS], timed_ns[FUNCTIONS];
    uint64_t state; /* of the functions */
    uint64_t random;
    bool slow; /* burn_30 */
    double number;
    uint32_t table[TABLE];
    int tid;
};

static uint64_t cpu_now(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* Each call works for about a tenth of a millisecond. */
__attribute__((noinline)) void burn_50(struct burner *b);
__attribute__((noinline)) void burn_30(struct burner *b);
__attribute__((noinline)) void burn_20(struct burner *b);

void burn_50(struct burner *b)
{
    uint64_t state = b->state;
    for (int i = 0; i < 100000; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    b->state = state;
}

void burn_30(struct burner *b)
{
    double number = b->number;
    for (int i = 0; i < 50000; i++)
        number = number * 0.75 + 1.0 / (number + 1.0);
    b->number = number;
}

void burn_20(struct burner *b)
{
    uint32_t at = (uint32_t)b->state;
    for (int i = 0; i < 100000; i++) {
        at = at * 1664525U + 1013904223U;
        b->table[at % TABLE] += b->table[(at >> 10) % TABLE] + 1;
    }
    b->state += at;
}

static uint64_t next_random(struct burner *b)
{
    b->random = b->random * 6364136223846793005U + 1442695040888963407U;
    return b->random >> 33;
}

static void call(struct burner *b, int function, uint64_t times)
{
    static void (*const functions[FUNCTIONS])(struct burner *) = {burn_50, burn_30, burn_20};
    for (uint64_t i = 0; i < times; i++)
        functions[function](b);
    b->calls[function] += times;
}

static void timed_call(struct burner *b, int function, uint64_t times)
{
    uint64_t begin = cpu_now(CLOCK_THREAD_CPUTIME_ID);
    call(b, function, times);
    b->timed_ns[function] += cpu_now(CLOCK_THREAD_CPUTIME_ID) - begin;
    b->timed_calls[function] += times;
}

/* CPU time of one call [ns]. */
static double cost(const struct burner *b, int function)
{
    return (double)b->timed_ns[function] / (double)b->timed_calls[function];
}

/* Ten slices of 5 to 20 ms, 5 + 3 + 2, in an order that no sampling period can follow. Only the
 * first slice is timed: reading the CPU time makes the scheduler check whether the time slice is
 * over, so that a thread that does this often would often be sampled there, waiting to continue. */
static void deck(struct burner *b)
{
    int cards[DECK] = {0, 0, 0, 0, 0, 1, 1, 1, 2, 2};
    double length = 5e6 + (double)(next_random(b) % 15000000U);
    for (int i = DECK - 1; i > 0; i--) {
        int j = (int)(next_random(b) % (uint64_t)(i + 1)), card = cards[i];
        cards[i] = cards[j];
        cards[j] = card;
    }
    for (int i = 0; i < DECK; i++) {
        double share = b->slow && cards[i] == 1 ? 1.5 : 1;
        uint64_t times = (uint64_t)(share * length / cost(b, cards[i])) + 1;
        if (i == 0)
            timed_call(b, cards[i], times);
        else
            call(b, cards[i], times);
    }
}

static void *burn(void *argument)
{
    struct burner *b = argument;
    b->tid = (int)gettid();
    for (int i = 0; i < FUNCTIONS; i++)
        timed_call(b, i, 20);
    while (cpu_now(CLOCK_THREAD_CPUTIME_ID) < b->budget)
        deck(b);
    return NULL;
}

static void burn_all(struct burner *burners, int threads)
{
    pthread_t handles[MAX_THREADS];
    for (int i = 1; i < threads; i++)
        pthread_create(&handles[i], NULL, burn, &burners[i]);
    burn(&burners[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(handles[i], NULL);
}

/* The CPU time that FUNCTION actually used [ns]. */
static uint64_t used(const struct burner *b, int function)
{
    return (uint64_t)((double)b->calls[function] * cost(b, function));
}

int main(int argc, char **argv)
{
    bool verbose = false, slow = false;
    for (; argc > 1 && argv[1][0] == '-'; argc--, argv++) {
        verbose |= strcmp(argv[1], "-v") == 0;
        slow |= strcmp(argv[1], "-s") == 0;
    }
    double seconds = argc > 1 ? atof(argv[1]) : 0;
    int threads = argc > 2 ? atoi(argv[2]) : 1;
    if (seconds <= 0 || threads < 1 || threads > MAX_THREADS) {
        fputs("usage: burn [-v] [-s] SECONDS [THREADS]\n", stderr);
        return 2;
    }
    struct burner *burners = calloc((size_t)threads, sizeof *burners);
    if (burners == NULL)
        return 1;
    for (int i = 0; i < threads; i++) {
        burners[i].budget = (uint64_t)(seconds * 1e9);
        burners[i].slow = slow;
        burners[i].state = burners[i].random = 88172645463325252U + (uint64_t)i;
    }
    burn_all(burners, threads);
    for (int i = 0; i < threads && verbose; i++)
        printf("thread %d burn_50 %" PRIu64 " burn_30 %" PRIu64 " burn_20 %" PRIu64 "\n",
               burners[i].tid, used(&burners[i], 0), used(&burners[i], 1), used(&burners[i], 2));
    if (verbose)
        printf("process %" PRIu64 "\n", cpu_now(CLOCK_PROCESS_CPUTIME_ID));
    free(burners);
    return 0;
}
