"""What a call costs under funcmeter: part of bench.

An empty function is called in a loop, beside one that is not hooked; CPU time, the least of some rounds.
SPDX-License-Identifier: MIT
"""
import os
import subprocess

SOURCE = r"""
#include <stdio.h>
#include <time.h>
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
int main(void)
{
    double alone = time_of(bare);
    printf("%.3f\n", time_of(hooked) - alone);
}
"""
LIMITS = {"counting": 8, "timing": 50, "timing, clock monotonic": None}
OPTIONS = {"counting": ["--count"], "timing": [], "timing, clock monotonic": ["--clock", "monotonic"]}


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
