"""Calls that fail, one after the other: no tool succeeds silently with a different result.

After each: the old output or the complete new one, the exit status and a message, no temporary file, no child.
A fault that only loses names may cause a warning.
SPDX-License-Identifier: MIT
"""
import bz2
import errno
import gzip
import json
import os
import random
import re
import subprocess
import time
import unittest

import pbin
import rawprofile
import tool
import traces
from fast_xxh3 import xxh3

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "inject", "fail.c")
SAMPLES = os.path.join(os.path.dirname(SOURCE), "..", "..", "samples")
BURN = os.path.join(tool.BUILD, "samples", "burn")
FAULTS = {"alloc": (errno.ENOMEM,), "open": (errno.EMFILE, errno.EACCES, errno.EIO), "read": (errno.EIO, errno.EINTR, 0),
          "pread": (errno.EIO, errno.EINTR, 0), "write": (errno.ENOSPC, errno.EINTR, 0), "fsync": (errno.EIO,),
          "rename": (errno.EIO,), "linkat": (errno.EIO,), "mmap": (errno.ENOMEM,), "fork": (errno.EAGAIN,),
          "socketpair": (errno.EMFILE,), "ftruncate": (errno.ENOSPC,)}
HARMLESS = (errno.EINTR, 0)


@unittest.skipIf(tool.is_asan(), "a sanitizer has its own allocator")
class Case(tool.Case):
    @classmethod
    def setUpClass(cls):
        cls.shared = tool.shared_folder(cls)
        cls.library = os.path.join(cls.shared, "fail.so")
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", cls.library, SOURCE], check=True)
        cls.raw = os.path.join(cls.shared, "b.bin")
        subprocess.run([tool.path("sampler"), "-q", "-o", cls.raw, "--", BURN, "0.2"], check=True, capture_output=True)
        cls.pbin = os.path.join(cls.shared, "b.pbin")
        subprocess.run([tool.path("prof2pbin"), "-q", "-o", cls.pbin, cls.raw], check=True)

    def run_with(self, fault, argv, path="", log=None, **more):
        env = dict(tool.environment(), FAULT=fault, FAULT_PROGRAM=argv[0], LD_PRELOAD=self.library)
        if path:
            env["FAULT_PATH"] = path
        if log:
            env["FAULT_LOG"] = log
        return subprocess.run([tool.path(argv[0]), *map(str, argv[1:])], env=env, capture_output=True, timeout=20,
                              cwd=self.folder, check=False, **more)

    def counts(self, argv, path=""):
        log = os.path.join(self.shared, "log")
        ended = self.run_with("none:0:0", argv, path, log)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        with open(log, encoding="ascii") as f:
            counts = {name: int(count) for name, count in (line.split() for line in f)}
        return ended.stderr, {name: count for name, count in counts.items() if name in FAULTS}

    def chosen(self, count):
        """All numbers up to COUNT, or the first, the last, and some of the others."""
        return range(1, count + 1) if count <= 12 else [*range(1, 7), *range(7, count - 2, max(1, count // 10)), *range(count - 2, count + 1)]

    def content(self, out):
        with open(out, "rb") as f:
            return f.read()

    def names(self, data, tool_name):
        """The contents of a result. If the recorded path cannot be read, a profile may have the
        same names from the same file under another path, such as /lib for /usr/lib."""
        if tool_name != "prof2pbin":
            return data
        profile = os.path.join(self.shared, "names.pbin" + (".bz2" if data.startswith(b"BZ") else ""))
        with open(profile, "wb") as f:
            f.write(data)
        return [self.succeeds(["pbin-dump", option, "--format=csv", profile]).out
                for option in ("--locations", "--samples", "--threads")]

    def check(self, ended, where, code, out, old, good, tool_name):
        text = ended.stderr.decode("utf-8", "replace")
        where = f"{where}: status {ended.returncode}, {text[:300]!r}"
        self.assertIn(ended.returncode, (0, 1), where)
        self.assertTrue(text == "" or text.endswith("\n"), where)
        now = self.content(out)
        if code in HARMLESS:
            self.assertEqual((ended.returncode, now), (0, good), where)
        elif ended.returncode == 1:
            self.assertEqual(now, old, where)
            self.assertTrue(text.startswith(tool_name + ": "), where)
        elif now != good and self.names(now, tool_name) != self.names(good, tool_name):
            self.assertNotEqual(text, self.usual, "silent: " + where)
        self.assertEqual(sorted(os.listdir(self.folder)), [os.path.basename(out)], where)

    def each(self, argv, suffix, path="", only=None, **more):
        """Runs ARGV, which gets -o FILE, and makes each call fail in turn."""
        out, old = os.path.join(self.folder, "out" + suffix), b"old"
        argv = [*argv, "-o", out]
        with open(out, "wb") as f:  # an existing file needs more calls
            f.write(old)
        self.usual, counts = self.counts(argv, path)
        self.usual = self.usual.decode()
        good = self.content(out)
        faults = [(name, number, code) for name, count in sorted(counts.items()) for number in self.chosen(count)
                  for code in FAULTS[name] if only is None or name in only]
        for name, number, code in faults:
            with open(out, "wb") as f:
                f.write(old)
            ended = self.run_with(f"{name}:{number}:{code}", argv, path, **more)
            with self.subTest(name=name, number=number, code=errno.errorcode.get(code, "short")):
                self.check(ended, f"{argv[0]} {name} {number}", code, out, old, good, argv[0])
        os.unlink(out)
        return counts


class EachTool(Case):
    def test_prof2pbin(self):
        self.assertGreater(self.each(["prof2pbin", self.raw], ".pbin")["pread"], 5)

    def test_prof2pbin_binary(self):
        """Every read of the file that contains the names."""
        self.each(["prof2pbin", self.raw], ".pbin", path="samples/burn", only=("pread", "open"))

    def test_prof2pbin_debug_file(self):
        """A stripped program with its debug information in another file."""
        program, debug = (os.path.join(self.shared, name) for name in ("stripped", "stripped.debug"))
        subprocess.run(["objcopy", "--only-keep-debug", BURN, debug], check=True)
        subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", BURN, program], check=True)
        raw = os.path.join(self.shared, "s.bin")
        subprocess.run([tool.path("sampler"), "-q", "-o", raw, "--", program, "0.2"], check=True, capture_output=True)
        self.each(["prof2pbin", raw], ".pbin", path="stripped", only=("pread", "open"))

    def test_prof2pbin_stubs(self):
        """Stubs of procedure linkage tables are named after relocations and symbols."""
        program, raw = os.path.join(self.shared, "stubs"), os.path.join(self.shared, "stubs.bin")
        subprocess.run(["cc", "-no-pie", "-x", "c", "-o", program, "-"], input=b"int puts(const char *); int main(void) { return puts(\"x\"); }",
                       check=True)
        code = subprocess.run(["objdump", "-d", program], capture_output=True, text=True, check=True).stdout
        stub = int(re.search(r"^([0-9a-f]+) <puts@plt>:", code, re.M).group(1), 16)
        run = rawprofile.Run([rawprofile.Sample(1.0, [rawprofile.Thread(7, stub, 1000 * (i + 1))], i) for i in range(20)],
                             [rawprofile.Map(0x401000, 0x1000, program)], 20, kind=rawprofile.POWER)
        with open(raw, "wb") as f:
            f.write(rawprofile.write(run, "sampler"))
        names = self.succeeds(["pbin-dump", "--locations", "--format=csv"], stdin=self.succeeds(["prof2pbin", "-q", raw]).out).out
        self.assertIn(b"puts@plt", names)
        self.each(["prof2pbin", raw], ".pbin", path=program, only=("pread",))

    def test_prof2pbin_bzip2(self):
        packed = self.raw + ".bz2"
        subprocess.run(["bzip2", "-kf", self.raw], check=True)
        self.each(["prof2pbin", packed], ".pbin.bz2", only=("read", "write", "open", "mmap", "fsync"))

    def test_salvage(self):
        """A failed read does not count as the end of the profile: the file of a killed sampler, and
        a truncated profile."""
        samples = [rawprofile.Sample(1.0, [rawprofile.Thread(7, 0x401000 + i % 64, 1000 * i)], i) for i in range(8000)]
        run = rawprofile.Run(samples, [rawprofile.Map(0x401000, 64, "none")], 8000, kind=rawprofile.POWER)
        times = [1000 * i for i in range(8000)]
        whole = rawprofile.write(run, "sampler") + rawprofile.extension(run, times)
        for name, data in (("part", rawprofile.spool(run, times, per_block=2000)), ("cut", whole[:-30_000]),
                           ("packed", bz2.compress(whole[:-30_000]))):
            path = os.path.join(self.shared, name)
            with open(path, "wb") as f:
                f.write(data)
            with self.subTest(name):
                counts = self.each(["prof2pbin", "--salvage", "--no-dwarf", path], ".pbin", path=name, only=("read",))
                self.assertGreater(counts["read"], 1)

    def test_pbin_aggregate(self):
        for options, suffix in ((["-k", "function"], ".txt"), (["-k", "thread,line"], ".json"), ([], ".csv"),
                                (["-k", "function", "--filter", "function~^burn_[0-9]+$"], ".pbin")):
            with self.subTest(suffix):
                self.each(["pbin-aggregate", *options, self.pbin, self.pbin], suffix)

    def test_pbin_dump(self):
        self.each(["pbin-dump", "--samples", self.pbin], ".jsonl", only=("read", "write", "open", "alloc"))
        self.each(["pbin-dump", self.pbin], ".txt", only=("alloc", "linkat", "rename"))

    def test_pbin_compare(self):
        self.each(["pbin-compare", self.pbin, self.pbin], ".md")

    def test_pbin_annotate(self):
        self.each(["pbin-annotate", "--source-path", os.path.dirname(SOURCE) + "/../..", self.pbin], ".txt")
        self.each(["pbin-annotate", "--asm", self.pbin], ".csv", only=("pread", "open", "alloc", "read"))

    def test_pbin_callgraph(self):
        w = pbin.Writer({"name": "x", "keys": "binary,function"}, xxh3)
        w.put_runs([pbin.Run("x", 10**9, 0, 1, 10**6, 0)])
        w.put_rows([pbin.Row((n, n), 1, 1, 1, 1000, 0, 1, 0, (1, 1, 0, 0)) for n in "abc"])
        w.put_arcs([("a", "a", "b", "b", 1), ("b", "b", "c", "c", 2)])
        path = os.path.join(self.shared, "arcs.pbin")
        with open(path, "wb") as f:
            f.write(w.finish())
        for suffix in (".txt", ".json", ".dot"):
            self.each(["pbin-callgraph", path], suffix, only=("alloc", "read", "open", "write", "fsync"))

    def test_pbin2gmon(self):
        self.each(["pbin2gmon", "-e", BURN, self.pbin], ".out")

    def test_gmon2pbin(self):
        gmon = os.path.join(self.shared, "g.out")
        subprocess.run([tool.path("pbin2gmon"), "-q", "-e", BURN, "-o", gmon, self.pbin], check=True)
        argv = ["gmon2pbin", "-n", "x", "-e", BURN, gmon]
        self.each(argv, ".pbin")
        self.each(argv, ".pbin", path="samples/burn", only=("pread", "open"))

    def test_igprof2pbin(self):
        dump = os.path.join(self.shared, "igprof.gz")
        lines = [f"C2 FN{i}=(F0+{i} N=(_ZN{len(str(i)) + 1}f{i}1gEv))+0 V0:({i},{i},1)\n" for i in range(1, 60)]
        with gzip.open(dump, "wt") as f:
            f.writelines(["P=(ID=7 N=(app) T=0.01)\nC1 FN0=(F0=(/bin/app)+0 N=(main))+0 V0=(PERF_TICKS):(1,1,1)\n", *lines])
        self.each(["igprof2pbin", "-n", "x", dump], ".pbin")

    def test_perf2pbin(self):
        self.each(["perf2pbin", "-n", "x", os.path.join(SAMPLES, "perf.data.xz")], ".pbin")

    def test_gperf2pbin(self):
        self.each(["gperf2pbin", "-n", "x", os.path.join(SAMPLES, "cpu.prof.xz")], ".pbin")

    def test_traces(self):
        trace, accesses = os.path.join(self.shared, "trace"), os.path.join(self.shared, "accesses")
        with open(trace, "wb") as f:
            f.write(traces.tracerv([(i, {i % 7: 0x401000 + i % 999}) for i in range(1, 5000)]))
        with open(accesses, "wb") as f:
            f.write(traces.memtrace([(i % 2, i, 8, 0x401000 + i % 999) for i in range(5000)]))
        self.each(["tracerv2pbin", "-n", "x", trace], ".pbin")
        self.each(["memtrace2pbin", "-n", "x", accesses], ".pbin")

    def test_sthem2pbin(self):
        for name, options in (("export.csv", []), ("lynsyn.csv", ["-e", BURN])):
            short = os.path.join(self.shared, name)
            with open(os.path.join(SAMPLES, name), "rb") as f, open(short, "wb") as to:
                to.writelines(f.readlines()[:60])
            self.each(["sthem2pbin", "-n", "x", *options, short], ".pbin")

    def test_addr2line(self):
        symbols = subprocess.run(["nm", "--defined-only", BURN], capture_output=True, text=True, check=True).stdout
        addresses = [line.split()[0] for line in symbols.splitlines() if " T " in line or " t " in line][:20]
        argv = ["pbin-addr2line", "-f", "-i", "-e", BURN, *addresses]
        self.each(argv, ".txt")
        self.each(argv, ".txt", path="samples/burn", only=("pread", "open"))

    def test_pbin_plot(self):
        self.each(["pbin-plot", "bars", self.pbin], ".txt", only=("open", "read", "write", "fork", "fsync", "linkat"))


class Sampler(Case):
    """The output of the sampler differs from run to run, so that facts are compared: programs,
    threads, most of the CPU time. The command, in which no calls fail, always runs to its end if it
    began."""

    SECONDS = 0.1
    FEW = int(os.environ.get("PBIN_FAULTS", "1"))  # of each kind of call; make torture tries more

    def command(self):
        begun, ended = (os.path.join(self.shared, name) for name in ("begun", "ended"))
        for path in (begun, ended):
            if os.path.exists(path):
                os.unlink(path)
        return ["/bin/sh", "-c", f"echo > {begun}; {BURN} {self.SECONDS}; echo $? > {ended}"], begun, ended

    def facts(self, out):
        """The facts that every recording of the command has."""
        profile = os.path.join(self.shared, "facts.pbin")
        self.succeeds(["prof2pbin", "-q", "--no-dwarf", "-o", profile, out])
        dumped = json.loads(self.succeeds(["pbin-dump", "--format=json", profile]).out)
        locations = self.succeeds(["pbin-aggregate", "-q", "-k", "binary", "--format=csv", profile]).out.decode()
        times = {line.split(",")[0]: float(line.split(",")[1]) for line in locations.splitlines()[1:]}
        self.assertGreater(times.get("burn", 0), 0.6 * self.SECONDS, "most of the time is missing")
        self.assertEqual([n for n in times if n.startswith("_unknown")], [])
        return sorted(dumped if isinstance(dumped, dict) else dumped[0])

    def await_end(self, begun, ended, where):
        """If the sampler died, its command may still be running."""
        end = time.monotonic() + 20
        while os.path.exists(begun) and not (os.path.exists(ended) and self.content(ended)) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(os.path.exists(begun), os.path.exists(ended), where + ": the command was cut short")
        if os.path.exists(ended):
            self.assertEqual(self.content(ended), b"0\n", where)

    def assert_has_samples(self, arguments, where):
        profile = os.path.join(self.shared, "left.pbin")
        self.assertEqual(self.succeeds(["prof2pbin", "-q", "--no-dwarf", "-o", profile, *arguments]).err, "", where)
        dumped = json.loads(self.succeeds(["pbin-dump", "--format=json", profile]).out)
        self.assertGreater(dumped["profile"]["samples"], 0, where)
        self.assertEqual(dumped["profile"]["dialect"][:7], "sampler", where)

    def check_one(self, engine, fault, good):
        """Returns the result of a failure: "nothing", the "profile" or its "part"."""
        out = os.path.join(self.folder, "out.bin")
        with open(out, "wb") as f:
            f.write(b"old")
        command, begun, ended = self.command()
        done = self.run_with(fault, ["sampler", "-q", f"--engine={engine}", "-o", out, "--", *command])
        text, part = done.stderr.decode("utf-8", "replace"), out + ".part"
        where = f"{engine}, {fault}: status {done.returncode}, {text[:300]!r}"
        self.assertIn(done.returncode, (0, 1), where)
        self.await_end(begun, ended, where)
        left = "nothing"
        if done.returncode == 1:
            self.assertTrue(text.startswith("sampler: "), where)
            if self.content(out) != b"old":  # documented: a part of the profile is missing
                self.assertIn(f"{out} contains what was recorded until then", text, where)
                self.assertFalse(os.path.exists(part), where)
                self.assert_has_samples([out], where)
                left = "profile"
            elif os.path.exists(part):
                self.assertIn(f"the samples are in {part}: prof2pbin --salvage {part}\n", text, where)
                self.assert_has_samples(["--salvage", part], where)
                os.unlink(part)
                left = "part"
        elif text == "":
            self.assertTrue(os.path.exists(ended), where)
            self.assertEqual(self.facts(out), good, "silent: " + where)
        self.assertEqual(os.listdir(self.folder), ["out.bin"], where)
        return left

    def calls(self, engine):
        """The number of calls of each function in a run without faults, which writes out.bin."""
        return self.counts(["sampler", "-q", f"--engine={engine}", "-o", os.path.join(self.folder, "out.bin"), "--",
                            *self.command()[0]])[1]

    def each_call(self, engine):
        counts = self.calls(engine)
        good = self.facts(os.path.join(self.folder, "out.bin"))
        rng = random.Random(engine)
        self.assertGreater(len(counts), 4)
        for name, count in sorted(counts.items()):
            few = range(1, count + 1)
            few = few if count <= self.FEW else sorted(rng.sample(few, self.FEW))
            for fault in [f"{name}:{number}:{code}" for number in few for code in FAULTS[name]]:
                with self.subTest(fault):
                    self.check_one(engine, fault, good)

    def test_no_room_from_the_start(self):
        """Before the first sample, nothing remains; after it, a profile of the samples so far. The
        number of writes before it differs from run to run."""
        left = []
        while "profile" not in left and len(left) < 20:
            left.append(self.check_one("perf", f"write:{3 + len(left)}:{errno.ENOSPC}", None))
        self.assertEqual(left[0], "nothing")
        self.assertEqual({*left}, {"nothing", "profile"})

    def test_out_of_memory(self):
        """The unfinished file is named if it contains a sample."""
        count = self.calls("perf")["alloc"]  # after nine tenths of them the command has ended
        left = [self.check_one("perf", f"alloc:{count * tenths // 10}:{errno.ENOMEM}+", None) for tenths in (1, 9)]
        self.assertEqual(left, ["nothing", "part"])

    def test_part_that_remains(self):
        """An unfinished file would block the next recording: with a profile, and without a command
        to sample."""
        out = os.path.join(self.folder, "out.bin")
        for command, status in ((self.command()[0], 0), (["./none"], 127)):
            done = self.run_with(f"unlink:1:{errno.EIO}+", ["sampler", "-q", "-o", out, "--", *command])
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn(f"sampler: {out}.part: cannot remove: Input/output error\n", done.stderr.decode())
            os.unlink(out + ".part")
        self.assertEqual(os.listdir(self.folder), ["out.bin"])

    def test_perf(self):
        self.each_call("perf")

    def test_ptrace(self):
        self.each_call("ptrace")


EVENTS = "/sys/kernel/tracing/uprobe_events"


@unittest.skipUnless(os.path.exists(EVENTS) and os.access(EVENTS, os.W_OK), "needs root and uprobes")
class Breakpoints(Case):
    def events(self):
        with open(EVENTS, encoding="utf-8", errors="replace") as f:
            return f.read().count(BURN + ":")

    def test_removal(self):
        """An event is busy while the kernel closes its counters; an event that cannot be removed is
        removed by the next run."""
        argv = ["funcmeter", "--count", "--method=uprobe", "-o", os.path.join(self.folder, "out.csv"), "burn:burn_50", "--", BURN, "0.01"]
        last = self.counts(argv)[1]["write"]
        for fault, warns in ((f"write:{last}:{errno.EBUSY}", False), (f"write:{last}:{errno.EIO}", True), ("none:0:0", False)):
            done = self.run_with(fault, argv)
            self.assertEqual((done.returncode, b"could not be removed" in done.stderr, self.events()), (0, warns, warns), done.stderr)


if __name__ == "__main__":
    unittest.main()
