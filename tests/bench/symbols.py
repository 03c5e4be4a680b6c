"""The speed of pbin-addr2line, eu-addr2line (which only gives lines) and llvm-symbolizer: time and CPU time of
interleaved runs with the files in the page cache, and peak memory of all processes together, on programs that
tests/symbols/large has fetched into $LARGE. Time needs two idle CPUs.

SPDX-License-Identifier: MIT
"""
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "symbols"))
from oracle import Elf  # noqa: E402

PROGRAMS = {"wb_command": "usr/bin/wb_command", "ceph-osd": "usr/bin/ceph-osd"}


def used(argv, text, environment):
    """Wall and CPU seconds of ARGV and its children."""
    with open(text, "rb") as addresses:
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        subprocess.run(argv, stdin=addresses, stdout=subprocess.DEVNULL, check=True, env=environment)
        wall, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def family(pid):
    """PID and its descendants."""
    found = [pid]
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children") as file:
            found += [p for child in file.read().split() for p in family(int(child))]
    return found


def memory_now(pid):
    """Memory of PID and its descendants [bytes]; shared pages count once."""
    total = 0
    try:
        for process in family(pid):
            with open(f"/proc/{process}/smaps_rollup") as file:
                total += sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
    except OSError:
        return 0  # a process has just ended
    return total * 1024


def peak_memory(argv, text, environment):
    """The peak of the memory of ARGV and its children together [bytes]."""
    with open(text, "rb") as addresses:
        process, most = subprocess.Popen(argv, stdin=addresses, stdout=subprocess.DEVNULL, env=environment), 0
        while process.poll() is None:
            most = max(most, memory_now(process.pid))
            time.sleep(0.005)
        return most


def compare(report, actions, text, runs, environment):
    """{name: (median wall and CPU seconds, peak memory)}, printed."""
    taken = {name: [] for name in actions}
    for _ in range(runs + 1):
        for name, argv in actions.items():
            taken[name].append(used(argv, text, environment))
    found = {}
    for name, argv in actions.items():
        wall, cpu = (statistics.median(t[i] for t in taken[name][1:]) for i in (0, 1))
        found[name] = wall, cpu, peak_memory(argv, text, environment)
        report.line(f"  {name}", f"{wall:.2f} s, CPU {cpu:.2f} s", f"{found[name][2] / 2**20:.0f} MiB")
    return found


def bench(report, build, large, runs, small):
    if large is None:
        print("symbols: skipped: $LARGE does not name a folder of make check-large")
        return
    for name, path in PROGRAMS.items():
        program = os.path.join(large, name, path)
        whole = os.path.realpath(program) + ".whole"
        if not os.path.exists(whole):
            print(f"symbols: {name}: skipped: no {whole} (make check-large)")
            continue
        one(report, build, name, whole, runs, small)


def one(report, build, name, whole, runs, small):
    section = [s for s in Elf(whole).sections if s["name"] == ".text"][0]
    rng = random.Random(1)
    ours = [os.path.join(build, "pbin-addr2line"), "-q", "-afi", "-e", whole]
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, XDG_CACHE_HOME=folder)
        for count in (10_000 if small else 100_000, 500):
            text = os.path.join(folder, "addresses")
            with open(text, "w") as file:
                file.writelines("0x%x\n" % (section["addr"] + rng.randrange(section["size"])) for _ in range(count))
            print(f"{name}: {count} addresses")
            actions = {"pbin-addr2line -fi": ours + ["--no-cache"], "eu-addr2line": ["eu-addr2line", "-e", whole]}
            if count > 500:
                actions["llvm-symbolizer-14"] = ["llvm-symbolizer-14", "--inlines", "--obj=" + whole]
            found = compare(report, actions, text, runs, environment)
            mine, eu = found["pbin-addr2line -fi"], found["eu-addr2line"]
            limit = 1 if count > 500 else 0.5
            for i, what in enumerate(("time", "CPU time")):
                report.line(f"  {what}, times eu-addr2line", f"{mine[i] / eu[i]:.2f}", f"<= {limit}", mine[i] <= limit * eu[i])
            report.line("  memory, times eu-addr2line", f"{mine[2] / eu[2]:.2f}", "<= 1", mine[2] <= eu[2])
            if count > 500:
                llvm = found["llvm-symbolizer-14"]
                report.line("  time, times llvm-symbolizer", f"{mine[0] / llvm[0]:.2f}", "<= 0.25", mine[0] <= 0.25 * llvm[0])
                report.line("  CPU time, times llvm-symbolizer", f"{mine[1] / llvm[1]:.2f}")
                continue
            _, cpu, _ = compare(report, {"from the cache": ours}, text, runs, environment)["from the cache"]
            report.line("  from the cache", f"{cpu * 1000:.0f} ms", "<= 30 ms", cpu <= 0.03)
