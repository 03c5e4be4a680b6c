/* A program whose power is known, and the energy counter that follows it.
 *
 *   phases FILE counter MS &                 keeps FILE.uj, updated every MS ms, until the program below ends
 *   phases FILE run SECONDS MS10 MS20 IDLE   again and again: phase_10 for MS10 ms, phase_20 for MS20, sleep for IDLE
 *
 * The machine draws 4 W, phase_10 10 W more and phase_20 20 W more while they have a CPU. Prints
 * the energy of each [J].
 * SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define IDLE_WATTS 4.

/* The data that the program shares with the counter. */
struct power {
    _Atomic uint64_t version; /* odd: the data is being changed */
    int pid;
    uint64_t start, stop; /* CLOCK_MONOTONIC [ns]; 0: not yet */
    double joules;        /* energy of phases up to the CPU time SINCE [ns] */
    double watts;         /* power since then */
    uint64_t since;
};

static volatile uint64_t sink;

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec time;
    if (clock_gettime(clock, &time) != 0)
        return 0;
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
    struct timespec time = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

/* ---- the counter ---- */

/* The energy that the program has used so far [J]. Sets *ENDED to whether the program has ended. */
static double joules_of(struct power *p, bool *ended)
{
    double joules;
    uint64_t version;
    clockid_t clock;
    do {
        version = p->version;
        bool alive = clock_getcpuclockid(p->pid, &clock) == 0;
        uint64_t cpu = alive ? clock_ns(clock) : 0, now = clock_ns(CLOCK_MONOTONIC);
        *ended = p->stop != 0 || !alive;
        joules = p->joules + (cpu > p->since ? p->watts * (double)(cpu - p->since) * 1e-9 : 0) +
                 IDLE_WATTS * (double)((p->stop != 0 ? p->stop : now) - p->start) * 1e-9;
    } while (version % 2 == 1 || version != p->version);
    return joules;
}

static int count(const char *path, struct power *p, uint64_t period)
{
    struct sched_param soon = {.sched_priority = 2};
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    double before = 0; /* the start */
    sched_setscheduler(0, SCHED_FIFO, &soon);
    for (bool ended = false; !ended;) {
        char text[32];
        double joules = p->start != 0 ? before + joules_of(p, &ended) : (before += 1e-6);
        snprintf(text, sizeof text, "%-20.0f\n", joules * 1e6);
        if (fd < 0 || pwrite(fd, text, 21, 0) != 21)
            return 1;
        sleep_until((clock_ns(CLOCK_MONOTONIC) / period + 1) * period);
    }
    return 0;
}

/* ---- the program ---- */

__attribute__((noinline)) static void phase_10(uint64_t rounds)
{
    while (rounds-- > 0)
        sink = sink * 3 + 1;
}

__attribute__((noinline)) static void phase_20(uint64_t rounds)
{
    while (rounds-- > 0)
        sink = sink * 5 + 1;
}

/* Sets the power of the CPU time of this process to WATTS. Returns the energy since the previous
 * change. */
static double change(struct power *p, double watts)
{
    uint64_t cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    double joules = p->watts * (double)(cpu - p->since) * 1e-9;
    p->version++;
    p->joules += joules;
    p->watts = watts;
    p->since = cpu;
    p->version++;
    return joules;
}

static int run(struct power *p, char **argument)
{
    double length[4], used[3] = {0};
    for (int i = 0; i < 4; i++)
        length[i] = strtod(argument[i], NULL) * (i == 0 ? 1e9 : 1e6);
    p->pid = getpid();
    p->since = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    p->start = clock_ns(CLOCK_MONOTONIC);
    for (uint64_t now = p->start; (double)(now - p->start) < length[0];)
        for (int phase = 0; phase < 3; phase++) {
            uint64_t until = now + (uint64_t)length[1 + phase];
            change(p, phase < 2 ? 10 * (phase + 1) : 0);
            if (phase == 2)
                sleep_until(until);
            while ((now = clock_ns(CLOCK_MONOTONIC)) < until)
                (phase == 0 ? phase_10 : phase_20)(10000);
            used[phase] += change(p, 0);
        }
    p->stop = clock_ns(CLOCK_MONOTONIC);
    printf("{\"phase_10\": %.6f, \"phase_20\": %.6f, \"_idle\": %.6f}\n", used[0], used[1],
           IDLE_WATTS * (double)(p->stop - p->start) * 1e-9);
    return 0;
}

int main(int argc, char **argv)
{
    bool counts = argc == 4 && strcmp(argv[2], "counter") == 0;
    if (!counts && (argc != 7 || strcmp(argv[2], "run") != 0)) {
        fprintf(stderr, "usage: phases FILE counter MS | phases FILE run SECONDS MS10 MS20 IDLE\n");
        return 2;
    }
    int fd = open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct power *p = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, sizeof *p) == 0)
        p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) {
        perror(argv[1]);
        return 1;
    }
    if (!counts)
        return run(p, argv + 3);
    char path[4096];
    snprintf(path, sizeof path, "%s.uj", argv[1]);
    return count(path, p, (uint64_t)(strtod(argv[3], NULL) * 1e6));
}
