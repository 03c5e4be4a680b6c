"""The part of the bench that only concerns pbin-aggregate; `bench` runs it.

SPDX-License-Identifier: MIT
"""
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT_WC, LIMIT_PCS, LIMIT_PEAK = 3, 1.5, 64 * 2**20
PROFILES = 1000
PERF = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "20000", "-o"]
BUSY = ["timeout", "8", "sh", "-c", "sha1sum /dev/zero & sha1sum /dev/zero"]


def report_wc(report, bench, pbin, samples, runs):
    """Compares a pbin of many samples with counting its lines."""
    tool = [bench.tool("pbin-aggregate"), "-q", pbin]
    m = bench.measure({"wc": [["wc", "-l", pbin]], "ours": [tool]}, runs)
    ratio = m["ours"] / m["wc"]
    print(f"pbin-aggregate on {samples} samples of two threads, {os.path.getsize(pbin) / bench.MB:.1f} MB pbin")
    report.line("wc -l", f"{m['wc'] * 1e3:.1f} ms")
    report.line("pbin-aggregate", f"{m['ours'] * 1e3:.1f} ms")
    report.line("  per sample", f"{m['ours'] / samples * 1e9:.1f} ns")
    report.line("  times wc -l", f"{ratio:.2f}", f"<= {LIMIT_WC}", ratio <= LIMIT_WC)


def many_pcs(bench, pcs):
    path = os.path.join(bench.CACHE, f"{pcs}-pcs.pbin")
    if not os.path.exists(path):
        print(f"making {os.path.basename(path)} ...", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, os.path.join(HERE, "make_pbin.py"), path, str(2 * pcs), str(pcs)], check=True)
    return path


def report_pcs(report, bench, counts, runs):
    """-k pc: linear in the number of distinct program counters."""
    commands = {n: [[bench.tool("pbin-aggregate"), "-q", "-k", "pc", "--format", "csv", many_pcs(bench, n)]]
                for n in counts}
    m = bench.measure(commands, runs)
    print("pbin-aggregate -k pc, each PC sampled twice")
    per = [m[n] / n * 1e9 for n in counts]
    for n, ns in zip(counts, per):
        report.line(f"{n} distinct PCs", f"{m[n] * 1e3:.1f} ms")
        report.line("  per PC", f"{ns:.0f} ns")
        report.line("  peak memory", f"{bench.peaks(*commands[n])[0] / 2**20:.1f} MiB")
    report.line("ten times the PCs: time per PC", f"{per[1] / per[0]:.2f} x", f"<= {LIMIT_PCS}",
                per[1] / per[0] <= LIMIT_PCS)


def report_merge(report, bench, pbin, samples):
    """PROFILES names of one file: its content does not affect the memory."""
    folder = os.path.join(bench.CACHE, "many")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    names = [os.path.join(folder, f"{i:04}.pbin") for i in range(PROFILES)]
    for name in names:
        os.link(pbin, name)
    listed = os.path.join(folder, "list")
    with open(listed, "w") as out:
        out.write("\n".join(names) + "\n")
    command = [bench.tool("pbin-aggregate"), "-q", "--files-from", listed]
    seconds = bench.pipeline(command)
    peak = bench.peaks(command)[0]
    print(f"pbin-aggregate on {PROFILES} profiles of {samples} samples")
    report.line("time", f"{seconds:.2f} s")
    report.line("  per sample", f"{seconds / PROFILES / samples * 1e9:.1f} ns")
    report.line("peak memory", f"{peak / 2**20:.1f} MiB", f"<= {LIMIT_PEAK >> 20} MiB", peak <= LIMIT_PEAK)
    shutil.rmtree(folder)


def perf_samples(data):
    """The number of samples that perf recorded."""
    out = subprocess.run(["perf", "report", "--stdio", "-i", data, "--stats"], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True, check=False).stdout
    found = re.search(r"SAMPLE events:\s+(\d+)", out)
    return int(found.group(1)) if found else 0


def report_perf(report, bench, make_pbin, runs):
    """perf report and pbin-aggregate for the same number of thread samples; MAKE_PBIN(samples of
    two threads) returns a pbin."""
    data = os.path.join(bench.CACHE, "perf.data")
    if not os.path.exists(data):
        print("recording with perf for 8 s ...", file=sys.stderr, flush=True)
        subprocess.run(PERF + [data, "--", *BUSY], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    samples = perf_samples(data) if os.path.exists(data) else 0
    if samples == 0:
        print("perf does not work here")
        return
    m = bench.measure({"perf": [["perf", "report", "--stdio", "-i", data]],
                       "ours": [[bench.tool("pbin-aggregate"), "-q", make_pbin(samples // 2)]]}, runs)
    print(f"{samples} samples of a thread")
    report.line("perf report --stdio", f"{m['perf'] * 1e3:.1f} ms")
    report.line("pbin-aggregate", f"{m['ours'] * 1e3:.1f} ms")
    report.line("perf report, times pbin-aggregate", f"{m['perf'] / m['ours']:.1f}", ">= 1", m["perf"] >= m["ours"])
