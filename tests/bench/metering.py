"""The cost of a call under funcmeter: part of bench.

Calls an empty function in a loop, and one that is not hooked, and compares their CPU times (the least of several rounds).
Also measures how accurate the times of functions are: each function is a chain of multiplications, and is compared with
the same chain without a call around it.
SPDX-License-Identifier: MIT
"""
import csv
import os
import shutil
import statistics
import subprocess

SOURCE = r"""
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
__attribute__((noipa, aligned(64))) void hooked(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
__attribute__((noipa, aligned(64))) void bare(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
static double time_of(void (*call)(void))
{
    struct timespec a, b;
    double least = 1e9;
    for (int k = 0; k < 200; k++) {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
        for (int i = 0; i < 20000; i++)
            call();
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
        double ns = ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / 20000;
        least = ns < least ? ns : least;
    }
    return least;
}
static int probe(unsigned type, unsigned long offset)
{
    struct perf_event_attr attr = {.type = type, .size = sizeof attr, .probe_offset = offset,
                                   .uprobe_path = (uint64_t)(uintptr_t)"/proc/self/exe"};
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}
int main(int argc, char **argv)
{
    if (argc == 3 && probe((unsigned)atoi(argv[1]), strtoul(argv[2], NULL, 16)) < 0)
        return 1;
    double alone = time_of(bare);
    printf("%.3f\n", time_of(hooked) - alone);
}
"""
KNOWN = r"""
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>
#define CHAIN(n) __asm__ volatile(".rept " #n "\n imul $3, %0, %0\n .endr" : "+r"(x))
#define HOOKED(name, n) __attribute__((noipa, aligned(64))) long name(long x) { CHAIN(n); return x; }
HOOKED(short_one, 70)
HOOKED(long_one, 1400)
static unsigned long x, sum[2];
int main(void)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    unsigned long first = __rdtsc();
    for (int k = 0; k < 60; k++) {
        for (int i = 0; i < 50; i++)
            x = short_one(x);
        for (int i = 0; i < 10; i++)
            x = long_one(x);
        unsigned long start = __rdtsc();
        for (int i = 0; i < 50; i++)
            CHAIN(70);
        unsigned long middle = __rdtsc();
        for (int i = 0; i < 10; i++)
            CHAIN(1400);
        sum[0] += middle - start;
        sum[1] += __rdtsc() - middle;
    }
    clock_gettime(CLOCK_MONOTONIC, &b);
    double ns = ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / (double)(__rdtsc() - first);
    printf("%f %f\n", (double)sum[0] / 3000 * ns, (double)sum[1] / 600 * ns);
}
"""
ERRORS = {"short_one": 10, "long_one": 2}  # [%]
LIMITS = {"counting": 8, "timing": 50, "timing, clock monotonic": None}
OPTIONS = {"counting": ["--count"], "timing": [], "timing, clock monotonic": ["--clock", "monotonic"]}


def report_times(report, bench, rounds):
    path = os.path.join(bench.CACHE, "known")
    with open(path + ".c", "w") as file:
        file.write(KNOWN)
    subprocess.run(["gcc", "-O1", "-o", path, path + ".c"], check=True)
    times = {name: ([], []) for name in ERRORS}
    for _ in range(20 * rounds):
        printed = subprocess.run([bench.tool("funcmeter"), "-q", "-o", path + ".csv", "known:.*_one", "--", path],
                                 check=True, stdout=subprocess.PIPE, text=True).stdout
        with open(path + ".csv", newline="") as file:
            found = {r["function"]: float(r["mean [ns]"]) for r in csv.DictReader(file)}
        for name, true in zip(ERRORS, printed.split()):
            times[name][0].append(found[name])
            times[name][1].append(float(true))
    for name, limit in ERRORS.items():  # interference only makes a run longer
        found, true = (statistics.quantiles(t, n=10)[0] for t in times[name])
        error = 100 * (found / true - 1)
        report.line(f"time of {true:.0f} ns", f"{error:+.1f} %", f"<= {limit} %", abs(error) <= limit)


def least(rounds, *command):
    """The least time that the command prints [ns]; None if it cannot run here."""
    runs = [subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            for _ in range(rounds)]
    return min((float(r.stdout.split()[-1]) for r in runs if r.returncode == 0 and r.stdout), default=None)


def report_others(report, bench, path):
    """The cost of a call under uftrace, and with a uprobe of the kernel."""
    folder = os.path.join(bench.CACHE, "uftrace.data")
    nm = subprocess.run(["nm", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    address = next(line.split()[0] for line in nm.splitlines() if line.endswith(" T hooked"))
    try:
        with open("/sys/bus/event_source/devices/uprobe/type") as file:
            kind = file.read().strip()
    except OSError:
        kind = "0"
    for name, command in (("uftrace -P", ("uftrace", "record", "-P", "hooked", "--no-libcall", "-d", folder, path)),
                          ("a uprobe", (path, kind, address))):
        ns = least(1, *command) if shutil.which(command[0]) else None
        report.line(name, f"{ns:.1f} ns" if ns is not None else "not here", "", True)
    shutil.rmtree(folder, ignore_errors=True)


def report_metering(report, bench, rounds):
    path = os.path.join(bench.CACHE, "metering")
    with open(path + ".c", "w") as file:
        file.write(SOURCE)
    subprocess.run(["gcc", "-O1", "-o", path, path + ".c"], check=True)
    print("a call of an empty function under funcmeter, over the bare call")
    for name, options in OPTIONS.items():
        runs = [subprocess.run([bench.tool("funcmeter"), "-q", *options, "metering:hooked", "--", path], check=True,
                               stdout=subprocess.PIPE, text=True).stdout for _ in range(rounds)]
        ns, limit = min(float(r) for r in runs), LIMITS[name]
        report.line(name, f"{ns:.1f} ns", f"<= {limit} ns" if limit else "", limit is None or ns <= limit)
    report_others(report, bench, path)
    report_times(report, bench, rounds)
