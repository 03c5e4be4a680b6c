"""What sampling costs: CPU and wall time of a program under sampler, under perf record, and alone, in turn.

The programs do a fixed amount of work. Times are CPU times of the program and its observer together (user and system,
by wait4) and wall times; medians of the ratios to the runs alone, round by round.
Environment: BUILD. Arguments: rounds (default 7).
SPDX-License-Identifier: MIT"""
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
SAMPLER = os.path.join(BUILD, "sampler")
WORK = """
#define _GNU_SOURCE
#include <pthread.h>
static volatile unsigned long sink;
static void *work(void *nothing) {
    unsigned long x = 1;
    for (unsigned long n = 0; n < 500000000; n++) x = x * 6364136223846793005UL + n;
    sink = x; return nothing;
}
int main(int argc, char **argv) {
    pthread_t other; (void)argv;
    if (argc > 1) pthread_create(&other, 0, work, 0);
    work(0);
    if (argc > 1) pthread_join(other, 0);
    return 0;
}
"""


def timed(argv):
    """(wall, CPU) [s]"""
    begin = time.monotonic()
    pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0), (os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0)])
    _, status, used = os.wait4(pid, 0)
    if status:
        raise SystemExit(f"{argv}: status {status}")
    return time.monotonic() - begin, used.ru_utime + used.ru_stime


def rate(raw):
    with open(raw, "rb") as file:
        found = re.search(rb"reached....([0-9.e+]+)", file.read(), re.S)
    return float(found.group(1)) if found else 0


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    perf = shutil.which("perf")
    with tempfile.TemporaryDirectory() as folder:
        source, work = os.path.join(folder, "work.c"), os.path.join(folder, "work")
        with open(source, "w") as file:
            file.write(WORK)
        subprocess.run(["gcc", "-O1", "-pthread", "-o", work, source], check=True)
        raw, data = os.path.join(folder, "out.bin"), os.path.join(folder, "perf.data")
        for more in ([], ["2"]):
            for hertz in (100, 1000, 10000):
                ways = {"alone": [work, *more]}
                for engine in ("perf", "ptrace"):
                    ways[engine] = [SAMPLER, "-q", "--engine", engine, "-f", str(hertz), "-o", raw, "--", work, *more]
                ways["fixed"] = [SAMPLER, "-q", "--engine", "perf", "--interval", "fixed", "-f", str(hertz),
                                 "-o", raw, "--", work, *more]
                if perf:
                    ways["perf record"] = [perf, "record", "-q", "-e", "cpu-clock", "-F", str(hertz), "-o", data,
                                           work, *more]
                ratios, rates = {}, {}
                for _ in range(rounds):
                    times = {}
                    for name, argv in ways.items():
                        if os.path.exists(raw):
                            os.unlink(raw)
                        times[name] = timed(argv)
                        if os.path.exists(raw):
                            rates.setdefault(name, []).append(rate(raw))
                    for name, both in times.items():
                        ratios.setdefault(name, []).append([t / a for t, a in zip(both, times["alone"])])
                for name in ways:
                    if name == "alone":
                        continue
                    wall, cpu = (statistics.median(r[i] for r in ratios[name]) for i in (0, 1))
                    reached = f", {statistics.median(rates[name]):8.1f} Hz reached" if name in rates else ""
                    print(f"{1 + len(more)} threads, {hertz:5} Hz, {name:12} {wall:.3f} wall, {cpu:.3f} CPU{reached}",
                          flush=True)


if __name__ == "__main__":
    main()
