"""The part of the bench that concerns the sampler; `bench` runs it.

A program does a fixed amount of work: alone, under sampler with either engine, and under perf record, in turn. Costs are
CPU times (user and system) of program and observer together. Each way is also timed with a program that does nothing. The
difference is the cost of sampling itself. Ratios are medians of ratios to the run alone in the same
round. Rates are means. Wall times are printed where they mean something: perf record takes 1.1 s for a program that does nothing.
SPDX-License-Identifier: MIT
"""
import os
import re
import shutil
import statistics
import subprocess
import time

RATES = (100, 1000, 10000)
WORK, THREADS = 500_000_000, 12_000  # four times the work at low rates, for several hundred samples per run
USER = "perf of an ordinary user"
CAPPED = "perf with the default --max-overhead"
LIMIT_PERF, LIMIT_RATE, LIMIT_PTRACE, LIMIT_THREADS = 1.1, 0.99, 1.08, 1.4
# work ROUNDS THREADS: this number of rounds in each of 1 or 2 threads; work born THREADS: creates
# this number of threads, four at a time
SOURCE = """
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static volatile unsigned long sink;
static void *work(void *rounds) {
    unsigned long x = 1;
    for (unsigned long n = (unsigned long)rounds; n > 0; n--) x = x * 6364136223846793005UL + n;
    sink = x;
    return 0;
}
int main(int argc, char **argv) {
    pthread_t thread[4];
    long number = argc > 2 ? atol(argv[2]) : 1, born = strcmp(argv[1], "born") == 0;
    void *rounds = (void *)(born ? 10000 : atol(argv[1]));
    for (long step = born ? 4 : number; number > 0; number -= step) {
        for (long i = 0; i < step; i++) pthread_create(&thread[i], 0, work, rounds);
        for (long i = 0; i < step; i++) pthread_join(thread[i], 0);
    }
    return 0;
}
"""
# inherit ARGV: runs ARGV with one counter and one sampling event per CPU, which its threads inherit; nothing is recorded
INHERIT = """
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int gate[2], status = 1;
    if (argc < 2 || pipe(gate) != 0) return 1;
    pid_t child = fork();
    if (child == 0) {
        if (read(gate[0], &status, 1) == 1) execvp(argv[1], argv + 1);
        _exit(127);
    }
    for (int event = 0; event < 2; event++)
        for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++) {
            struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .size = sizeof attr,
                .config = PERF_COUNT_SW_CPU_CLOCK, .sample_period = event == 0 ? 0 : 1000000, .inherit = 1,
                .exclude_kernel = geteuid() != 0, .disabled = 1, .enable_on_exec = 1};
            if (syscall(SYS_perf_event_open, &attr, child, cpu, -1, PERF_FLAG_FD_CLOEXEC) < 0) {
                perror("perf_event_open");
                return 1;
            }
        }
    return write(gate[1], "x", 1) == 1 && waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
"""


def timed(argv):
    """(CPU, wall) time [s]; the CPU time includes that of children."""
    null = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in (1, 2)]
    begin = time.monotonic()
    _, status, used = os.wait4(os.posix_spawn(argv[0], argv, os.environ, file_actions=null), 0)
    if status:
        raise SystemExit(f"bench: {' '.join(argv)}: status {status}")
    return used.ru_utime + used.ru_stime, time.monotonic() - begin


def why_not(argv):
    """Why a way of sampling does not work here; None if it works."""
    run = subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    lines = run.stderr.strip().splitlines() or [f"exit status {run.returncode}"]
    return lines[0] if run.returncode != 0 else None


class Ways:
    """Ways to run a program: {name: function of its argv that returns the argv to run}, without the
    names LEFT_OUT."""

    def __init__(self, bench, hertz, left_out=()):
        self.raw, data = (os.path.join(bench.CACHE, name) for name in ("sampling.bin", "sampling.data"))
        self.make = {"alone": lambda argv: argv}
        # perf record does not limit its cost, so the two are compared without a limit, and thus at the same rate
        for name, options in (("perf", ["perf", "--max-overhead=0"]), (CAPPED, ["perf"]), ("ptrace", ["ptrace"])):
            self.make[name] = lambda argv, options=options: [
                bench.tool("sampler"), "-q", "-f", str(hertz), "-o", self.raw, "--engine", *options, "--", *argv]
        perf = shutil.which("perf")
        if perf:
            self.make["perf record"] = lambda argv: [perf, "record", "-q", "-e", "cpu-clock", "-F", str(hertz), "-o",
                                                     data, "--", *argv]

        for name in left_out:
            self.make.pop(name, None)

    def broken(self, nothing):
        """{name: why} of the ways that do not work here."""
        reasons = {name: why_not(way(nothing)) for name, way in self.make.items()}
        if "perf record" not in self.make:
            reasons["perf record"] = "perf is not installed"
        return {n: why for n, why in reasons.items() if why}

    def reached(self):
        """The rate [Hz] reached in the last profile."""
        with open(self.raw, "rb") as file:
            found = re.search(rb"reached....([0-9.e+]+)", file.read(), re.S)
        return float(found.group(1)) if found else 0.0


def measure(ways, argv, nothing, rounds):
    """({way: (CPU, wall)}, {way: rate [Hz]}). Times are ratios to the run alone, after subtracting those of the argv NOTHING."""
    ratios, rates = {n: [] for n in ways.make}, {n: [] for n in ("perf", CAPPED, "ptrace") if n in ways.make}
    base = {n: [min(t) for t in zip(*(timed(way(nothing)) for _ in range(2)))] for n, way in ways.make.items()}
    for _ in range(rounds):
        for name, way in ways.make.items():
            more = [w - b for w, b in zip(timed(way(argv)), base[name])]
            if name == "alone":
                alone = more
            if name in rates:
                rates[name].append(ways.reached())
            ratios[name].append([m / a for m, a in zip(more, alone)])
    median = {n: [statistics.median(r[i] for r in all_) for i in (0, 1)] for n, all_ in ratios.items()}
    return median, {n: statistics.mean(r) for n, r in rates.items()}


def report_rate(report, ways, hertz, threads, work, rounds):
    amount = WORK if hertz > 250 else 4 * WORK
    ratios, rates = measure(ways, [work, str(amount), str(threads)], [work, "0", "1"], rounds)
    print(f"sampler at {hertz} Hz on {threads} busy thread{'s' if threads > 1 else ''}, times alone")
    for name, (cpu, _) in ratios.items():
        if name == "alone":
            continue
        limit = LIMIT_PTRACE if name == "ptrace" and hertz == 1000 else None
        report.line(f"{name}: CPU time", f"{cpu:.3f}", f"<= {limit}" if limit else "", not limit or cpu <= limit)
        if name in rates:
            share, is_limited = rates[name] / hertz, name == "perf"
            report.line("  rate reached / asked for", f"{share:.3f}", f">= {LIMIT_RATE}" if is_limited else "",
                        not is_limited or share >= LIMIT_RATE)
    if "perf" in ratios and "perf record" in ratios:
        ratio = ratios["perf"][0] / ratios["perf record"][0]
        report.line("perf: CPU time, times perf record", f"{ratio:.3f}", f"<= {LIMIT_PERF}", ratio <= LIMIT_PERF)


def add_ordinary_user(ways, bench, nothing):
    """A user who may not sample whole CPUs, provided that other users can read the files of this
    folder."""
    setpriv = shutil.which("setpriv")
    if os.getuid() != 0 or setpriv is None:
        return

    def way(argv):
        return [setpriv, "--reuid", "65534", "--regid", "65534", "--clear-groups", bench.tool("sampler"), "-q", "--engine", "perf",
                "--", *argv]

    why = why_not(way(nothing))
    if why is None:
        ways.make[USER] = way
    else:
        print(f"{USER} is left out: {why}")


def report_threads(report, bench, ways, work, inherit, rounds):
    """Events that a thread inherits cost more than such a short thread itself: the limit of the
    perf engine is therefore a multiple of their cost in the kernel."""
    if "perf" in ways.make:
        ways.make["kernel"] = lambda argv: [inherit, *argv]
        add_ordinary_user(ways, bench, [work, "0", "1"])
    ratios, _ = measure(ways, [work, "born", str(THREADS)], [work, "0", "1"], rounds)
    print(f"sampler at 1000 Hz on {THREADS} threads that are born and end after 0.01 ms, times alone")
    names = {"kernel": "the kernel, for events without a reader"}
    limits = {"ptrace": LIMIT_THREADS, **dict.fromkeys(("perf", USER), LIMIT_THREADS * ratios.get("kernel", [0])[0])}
    for name, (cpu, wall) in ratios.items():
        if name == "alone":
            continue
        limit = limits.get(name)
        report.line(f"{names.get(name, name)}: CPU time", f"{cpu:.3f}", f"<= {limit:.3f}" if limit else "",
                    not limit or cpu <= limit)
        if limit:
            report.line("  wall time", f"{wall:.3f}")


def compiled(bench, name, source):
    path = os.path.join(bench.CACHE, name)
    with open(path + ".c", "w") as file:
        file.write(source)
    subprocess.run(["gcc", "-O1", "-pthread", "-o", path, path + ".c"], check=True)
    return path


def report_sampling(report, bench, rounds, rates=RATES):
    work, inherit = compiled(bench, "work", SOURCE), compiled(bench, "inherit", INHERIT)
    broken = Ways(bench, 1000).broken([work, "0", "1"])
    for name, why in broken.items():
        print(f"sampling with {name} is left out: {why}")
    capped = [] if "perf" in broken else [CAPPED]
    for hertz in rates:
        left_out = [*broken, *(capped if hertz < 10000 else [])]  # low rates are far from the limit
        for threads in (1, 2):
            report_rate(report, Ways(bench, hertz, left_out), hertz, threads, work, rounds)
    report_threads(report, bench, Ways(bench, 1000, [*broken, *capped]), work, inherit, rounds)
