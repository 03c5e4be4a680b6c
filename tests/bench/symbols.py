"""The speed of pbin-addr2line, eu-addr2line (which only gives lines) and llvm-symbolizer: CPU time of interleaved
runs with the files in the page cache, and peak memory, on programs that tests/symbols/large has fetched into $LARGE.

SPDX-License-Identifier: MIT
"""
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "symbols"))
from oracle import Elf  # noqa: E402

PROGRAMS = {"wb_command": "usr/bin/wb_command", "ceph-osd": "usr/bin/ceph-osd"}


def used(argv, text, peak, environment):
    """CPU seconds of ARGV and its children, and the peak memory of the largest of them [bytes]."""
    with tempfile.NamedTemporaryFile() as note, open(text, "rb") as addresses:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([peak, note.name, *argv], stdin=addresses, stdout=subprocess.DEVNULL, check=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, int(note.read()) * 1024)


def compare(report, actions, text, peak, runs, environment):
    """{name: median CPU seconds}, printed with memory."""
    taken = {name: [] for name in actions}
    for _ in range(runs + 1):
        for name, argv in actions.items():
            taken[name].append(used(argv, text, peak, environment))
    medians = {name: statistics.median(t[0] for t in all[1:]) for name, all in taken.items()}
    memory = {name: statistics.median(t[1] for t in all[1:]) for name, all in taken.items()}
    for name in actions:
        report.line(f"  {name}", f"{medians[name]:.2f} s", f"{memory[name] / 2**20:.0f} MiB")
    return medians, memory


def bench(report, build, cache, large, runs, small):
    if large is None:
        print("symbols: skipped: $LARGE does not name a folder of make check-large")
        return
    for name, path in PROGRAMS.items():
        program = os.path.join(large, name, path)
        whole = os.path.realpath(program) + ".whole"
        if not os.path.exists(whole):
            print(f"symbols: {name}: skipped: no {whole} (make check-large)")
            continue
        one(report, build, cache, name, whole, runs, small)


def one(report, build, cache, name, whole, runs, small):
    section = [s for s in Elf(whole).sections if s["name"] == ".text"][0]
    rng, peak = random.Random(1), os.path.join(cache, "peak")
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
            m, memory = compare(report, actions, text, peak, runs, environment)
            mine, eu = "pbin-addr2line -fi", "eu-addr2line"
            limit = 1 if count > 500 else 0.5
            report.line("  CPU time, times eu-addr2line", f"{m[mine] / m[eu]:.2f}", f"<= {limit}", m[mine] <= limit * m[eu])
            report.line("  memory, times eu-addr2line", f"{memory[mine] / memory[eu]:.2f}", "<= 1", memory[mine] <= memory[eu])
            if count > 500:
                llvm = m[mine] / m["llvm-symbolizer-14"]
                report.line("  CPU time, times llvm-symbolizer", f"{llvm:.2f}", "<= 0.25", llvm <= 0.25)
                continue
            m, _ = compare(report, {"from the cache": ours}, text, peak, runs, environment)
            report.line("  from the cache", f"{m['from the cache'] * 1000:.0f} ms", "<= 30 ms", m["from the cache"] <= 0.03)
