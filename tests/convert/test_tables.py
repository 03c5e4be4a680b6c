"""Processes, programs and the kernel in tables; the output of pbin-dump for them; excess warnings.

SPDX-License-Identifier: MIT
"""
import csv
import io
import json
import os
import struct
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import pbin  # noqa: E402
import rawprofile as raw  # noqa: E402
import tool  # noqa: E402
from rawprofile import CALLER, RAN, Extended, Image, Mapping, Sample, Task, Thread  # noqa: E402

KERNEL = 0xffffffff81000000


def two_processes():
    """f of one process and g of two run for 1 ms each at a time; both also call the kernel."""
    ext = Extended({"engine": "ptrace"}, [Image(7, "/opt/bin/one"), Image(8, "/bin/two")],
                   [Mapping(0, 0x1000, 0x1000, "", 0, 0, 0, raw.JIT), Mapping(1, 0x1000, 0x1000, "", 0, 0, 0, raw.JIT)],
                   [Task(7, 7, 0, "one"), Task(70, 7, 0, "worker"), Task(8, 8, 0, "two")],
                   [(0, raw.JIT_TEXT, b"1000 100 f\n1100 100 h\n"), (1, raw.JIT_TEXT, b"1000 100 g\n")],
                   [raw.Source("meter", "energy", "J", "board", 0.25)],
                   [raw.Reading(0, 0, 0, 5), raw.Reading(0, 3_000_000, 8, 0)])
    samples, cpu = [], 0
    for i in range(64):
        cpu += 1_000_000
        user = i % 4 < 2
        samples.append(Sample(2.0, [Thread(7, 0x1000, cpu, RAN) if user else Thread(7, KERNEL, cpu, RAN | CALLER, 0x1004),
                                    Thread(70, 0x1100, cpu, RAN),
                                    Thread(8, 0x1000 if i % 2 else KERNEL, cpu, RAN | (0 if i % 2 else CALLER), 0x1008)]))
    run = raw.Run(samples, [raw.Map(0x1000, 0x1000, "gone")], 64_000, 0, raw.POWER)
    return raw.extended(run, [1_000_000 * (i + 1) for i in range(64)], ext)


class Tables(tool.Case):
    @classmethod
    def setUpClass(cls):
        ended = tool.run(["prof2pbin", "-q"], stdin=two_processes())
        assert ended.status == 0, ended.err
        cls.profile = ended.out

    def rows(self, *argv):
        out = json.loads(self.succeeds(["pbin-aggregate", "-q", "--format=json", *argv], stdin=self.profile).out)
        keys = argv[argv.index("-k") + 1].split(",") if "-k" in argv else ["binary", "function"]
        return {tuple(r[k] for k in keys): round(r["time"] * 1000) for r in out["rows"]}, out

    def test_process_and_program(self):
        self.assertEqual(self.rows("-k", "process")[0], {(7,): 128, (8,): 64})
        self.assertEqual(self.rows("-k", "process,program")[0], {(7, "one"): 128, (8, "two"): 64})
        self.assertEqual(self.rows("-k", "program,comm")[0],
                         {("one", "one"): 64, ("one", "worker"): 64, ("two", "two"): 64})
        self.assertEqual(self.rows("-k", "function", "--filter", "program=tw*")[0], {("g",): 32, ("_kernel",): 32})

    def test_program_survives_aggregation(self):
        aggregated = self.succeeds(["pbin-aggregate", "-q", "-k", "program,function", "--format=pbin"],
                                   stdin=self.profile).out
        out = self.succeeds(["pbin-aggregate", "-q", "-k", "program", "--format=csv"], stdin=aggregated).out.decode()
        self.assertEqual({r["program"]: float(r["time [s]"]) for r in csv.DictReader(io.StringIO(out))
                          if r["program"] != "_total"}, {"one": 0.128, "two": 0.064})

    def test_kernel(self):
        own = {("f",): 32, ("h",): 64, ("g",): 32, ("_kernel",): 64}
        self.assertEqual(self.rows("-k", "function")[0], own)
        self.assertEqual(self.rows("-k", "function", "--kernel", "own")[0], own)
        caller = {("f",): 64, ("h",): 64, ("g",): 64}
        rows, table = self.rows("-k", "function", "--kernel", "caller")
        self.assertEqual(rows, caller)
        self.assertEqual(table["total"]["time"], self.rows("-k", "function")[1]["total"]["time"])
        ended = tool.run(["pbin-aggregate", "--kernel", "mine"], stdin=self.profile)
        self.assertEqual((ended.status, ended.err.splitlines()[0]),
                         (2, "pbin-aggregate: --kernel must be own or caller, not 'mine'"))

    def test_kernel_of_the_other_tools(self):
        path = self.file("a.pbin", self.profile)
        for argv in (["pbin-compare", "-q", path, path, "--format=csv"], ["pbin-plot", "bars", path, "-o", "-"],
                     ["pbin-plot", "timeline", path, "--metric", "time", "-o", "-"]):
            texts = [self.succeeds(argv + ["--kernel", who]).out.decode(errors="replace") for who in ("own", "caller")]
            self.assertEqual([("_kernel" in t) for t in texts], [True, False], argv)
        listing = [self.succeeds(["pbin-annotate", "-q", "-f", "f", "--format=csv", "--kernel", who, path]).out
                   for who in ("own", "caller")]
        self.assertNotEqual(*listing)

    def test_facts_for_people(self):
        text = self.succeeds(["pbin-dump"], stdin=self.profile).out.decode()
        for pattern in (r"(?m)^wall time +[\d.]+ s$", r"(?m)^has CPU times +yes$", r"(?m)^has times of samples +yes$"):
            self.assertRegex(text, pattern)
        self.assertNotIn("_ns", text)
        self.assertNotIn("mHz", text)
        raw = self.succeeds(["pbin-dump", "--raw"], stdin=self.profile).out.decode()
        for pattern in (r"(?m)^wall_ns +\d+ ns$", r"(?m)^cpu_time +1$", r"(?m)^frequency +\d+ mHz$"):
            self.assertRegex(raw, pattern)
        facts = json.loads(self.succeeds(["pbin-dump", "--format=json"], stdin=self.profile).out)["profile"]
        self.assertEqual(facts["cpu_time"], 1)

    def test_dump(self):
        def table(*argv):
            out = self.succeeds(["pbin-dump", "--format=csv", *argv], stdin=self.profile).out.decode()
            return list(csv.DictReader(io.StringIO("\n".join(l for l in out.splitlines() if not l.startswith("#")))))
        self.assertEqual([(r["thread"], r["process"], r["thread_name"], r["program"]) for r in table("--threads")],
                         [("7", "7", "one", "/opt/bin/one"), ("70", "7", "worker", "/opt/bin/one"),
                          ("8", "8", "two", "/bin/two")])
        readings = table("--readings")
        self.assertEqual([(r["time [s]"], r["name"], r["value"], r["unit"]) for r in readings],
                         [("0", "meter", "0", "J"), ("0.003", "meter", "2", "J")])
        callers = {r["function"]: r["caller_pc"] for r in table("--locations")}
        self.assertEqual(callers["f"], "")
        self.assertIn(callers["_kernel"], ("0x1004", "0x1008"))


class Implausible(tool.Case):
    def write(self, change):
        w = pbin.Writer({"name": "x", "cpu_time": 1, "times": 1, "pmu": pbin.POWER})
        w.put_threads([pbin.Thread(1, 1, "t")])
        w.put_locations([pbin.Location(i, "b", [pbin.Frame("f", "f")]) for i in range(2)])
        change(w)
        w.put_samples([pbin.Sample(1, 1.0, [(0, 0, 5)])])
        return w.finish()

    def test_references_to_nothing(self):
        u32 = lambda *n: struct.pack(f"<{len(n)}I", *n)  # noqa: E731
        for kind, payload in (("prog", u32(1, 1, 0)), ("prog", u32(1, 0, 99)), ("prog", u32(2**32 - 1, 0, 0)),
                              ("call", u32(1, 2, 0)), ("call", u32(1, 0, 2)), ("call", u32(1, 0, 0)),
                              ("call", u32(2, 0, 1)), ("srcs", u32(1, 99)), ("srcs", u32(2**31))):
            data = self.write(lambda w, k=kind, p=payload: w.block(k, p))
            self.fails(["pbin-aggregate"], "<stdin>", stdin=data)
        data = self.write(lambda w: w.block("read", struct.pack("<IIQQQ", 1, 0, 0, 0, 0)))
        self.fails(["pbin-dump", "--readings"], "<stdin>", stdin=data)
        self.succeeds(["pbin-aggregate"], stdin=data)  # these callers are not needed

    def test_a_ring_of_callers(self):
        data = self.write(lambda w: w.put_callers({0: 1, 1: 0}))
        self.succeeds(["pbin-aggregate", "--kernel", "caller"], stdin=data)

    def test_callers_of_some_locations(self):
        """Callers are defined before further locations."""
        def change(w):
            w.put_callers({0: 1})
            w.put_locations([pbin.Location(9, "b", [pbin.Frame("late", "late")])])
            w.put_samples([pbin.Sample(1, 1.0, [(0, 2, 7)])])
        out = self.succeeds(["pbin-aggregate", "-q", "--kernel", "caller", "-k", "pc", "--format=csv"],
                            stdin=self.write(change)).out.decode()
        rows = {r["pc"]: float(r["time [s]"]) for r in csv.DictReader(io.StringIO(out)) if r["pc"].startswith("0x")}
        self.assertEqual(rows, {"0x1": 5e-9, "0x9": 7e-9})


class Warnings(tool.Case):
    def convert(self, libraries):
        ext = Extended({}, [Image(1, "/bin/a")], [Mapping(0, 0x1000 * (i + 1), 0x1000, f"/gone/lib{i}.so")
                                                 for i in range(libraries)], [Task(1, 1)])
        samples = [Sample(1, [Thread(1, 0x1000 * (i + 1), i + 1, RAN)]) for i in range(libraries)]
        run = raw.Run(samples, [raw.Map(0x1000, 0x1000, "gone")], 1000, 0, raw.POWER)
        return self.succeeds(["prof2pbin"], stdin=raw.extended(run, range(libraries), ext)).err.splitlines()

    def test_ten_and_a_count(self):
        self.assertEqual(len(self.convert(10)), 10)
        lines = self.convert(1000)
        self.assertEqual(len(lines), 11)
        self.assertEqual(lines[-1], "prof2pbin: 990 more warnings not shown")
        self.assertEqual(len(set(lines)), 11)


if __name__ == "__main__":
    unittest.main()
