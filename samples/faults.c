/* Alternately touches new memory and computes: faults COUNT PAGES ROUNDS. COUNT times, touching()
 * writes to PAGES new pages, and computing() computes ROUNDS rounds. Prints the CPU time of
 * touching the pages and releasing them, the same without the page faults, the CPU time of
 * computing, and the time in the kernel by its own account [ns].
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

enum { PAGE = 4096 };

static volatile uint64_t sink;

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t in_kernel(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (uint64_t)used.ru_stime.tv_sec * 1000000000 + (uint64_t)used.ru_stime.tv_usec * 1000;
}

__attribute__((noinline)) static void touching(volatile char *memory, size_t pages)
{
    for (size_t i = 0; i < pages; i++)
        memory[i * PAGE] = 1;
}

__attribute__((noinline)) static void computing(uint64_t rounds)
{
    uint64_t value = rounds | 1;
    while (rounds-- > 0)
        value = value * UINT64_C(6364136223846793005) + 1442695040888963407;
    sink = value;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: faults COUNT PAGES ROUNDS\n");
        return 2;
    }
    long count = strtol(argv[1], NULL, 10);
    size_t pages = strtoul(argv[2], NULL, 10);
    uint64_t rounds = strtoull(argv[3], NULL, 10), new = 0, old = 0, computed = 0;
    for (long i = 0; i < count; i++) {
        uint64_t begin = now();
        char *memory =
            mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return 1;
        touching(memory, pages);
        uint64_t again = now();
        touching(memory, pages);
        uint64_t touched = now();
        munmap(memory, pages * PAGE);
        uint64_t unmapped = now();
        computing(rounds);
        computed += now() - unmapped;
        new += again - begin + unmapped - touched;
        old += touched - again;
    }
    printf("new %" PRIu64 " old %" PRIu64 " computing %" PRIu64 " system %" PRIu64 "\n", new, old,
           computed, in_kernel());
    return 0;
}
