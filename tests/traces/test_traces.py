"""tracerv2pbin and memtrace2pbin: traces made here are compared with a second implementation; and
damaged ones.

SPDX-License-Identifier: MIT
"""
import bz2
import collections
import fractions
import os
import random
import unittest

import pbin
import tool
import traces

MAPS = "10000 1000 one\n20000 1000 two\n"
KERNEL = 0xff80001000


class TraceCase(tool.Case):
    def setUp(self):
        super().setUp()
        self.maps = self.file("run.vmmap", MAPS.encode())

    def table(self, data, keys="binary", *argv):
        """{keys: {column without its unit: value}}"""
        text = self.succeeds(["pbin-aggregate", "-q", "--format=csv", "-k", keys, *argv], stdin=data).out.decode()
        rows = [line.split(",") for line in text.splitlines()]
        first = rows[0].index(keys.split(",")[0])
        return {tuple(row[first:first + len(keys.split(","))]): dict(zip((c.split(" [")[0] for c in rows[0]), row)) for row in rows[1:]}


class Tracerv(TraceCase):
    def convert(self, data, *argv):
        return self.succeeds(["tracerv2pbin", "-q", "-m", self.maps, *argv], stdin=data).out

    def some(self, rng, count):
        cycle, cycles = rng.randrange(1 << 40), []
        for _ in range(count):
            cycle += rng.choice((1, 1, 2, 3, 40))
            lanes = rng.sample(range(7), rng.choice((0, 1, 1, 2, 3, 7)))
            cycles.append((cycle, {lane: rng.choice((0x10000, 0x20000)) + rng.randrange(0x1000) for lane in lanes}))
        return cycles

    def shares(self, cycles, mhz):
        """{binary: time [ns]}: the cycles since the last instruction, divided equally among the
        instructions committed together."""
        names, out, before = {1: "one", 2: "two"}, collections.Counter(), None
        for cycle, lanes in cycles:
            if not lanes:
                continue
            before = cycle - 1 if before is None else before
            for pc in lanes.values():
                out[names[pc >> 16],] += fractions.Fraction(cycle - before, len(lanes)) * 1000 / mhz
            before = cycle
        return out

    def test_time(self):
        rng = random.Random(5)
        for mhz in (1000, 500, 250):
            cycles = self.some(rng, 3000)
            want = self.shares(cycles, mhz)
            made = self.convert(traces.tracerv(cycles), "--clock", str(mhz))
            got = self.table(made)
            for name, time in want.items():
                self.assertAlmostEqual(float(got[name]["time"]) * 1e9, float(time), delta=0.01)
                self.assertEqual(int(got[name]["samples"]),
                                 sum(("", "one", "two")[pc >> 16] == name[0] for _, lanes in cycles for pc in lanes.values()))
            self.assertEqual(pbin.read(made).meta["wall_ns"], sum(want.values()))

    def test_odd_clock(self):
        """Whole nanoseconds are not whole cycles; nothing is lost or added over the whole trace."""
        cycles = [(i, {0: 0x10000 if i % 2 else 0x20000}) for i in range(1, 32001)]
        got = self.table(self.convert(traces.tracerv(cycles), "--clock", "3200"))
        times = [float(row["time"]) * 1e9 for row in got.values()]
        self.assertAlmostEqual(sum(times), 10000, delta=0.01)

    def test_loops_on_fast_clocks(self):
        """At 4 GHz, one cycle in four gets the nanosecond: in a loop of four cycles, this must not
        always be the same cycle."""
        for mhz, length in ((4000, 4), (3200, 16), (2000, 2), (33.3, 3)):
            cycles = [(i, {0: 0x20000 if i % length else 0x10000}) for i in range(1001, 1001 + 20000 // length * length)]
            made = self.convert(traces.tracerv(cycles), "--clock", str(mhz))
            got = self.table(made)
            for name, part in (("one", 1 / length), ("two", 1 - 1 / length)):
                self.assertAlmostEqual(float(got[name,]["time"]) * 1e9, part * len(cycles) * 1000 / mhz, delta=1.5)
            rows = [float(row["time"]) for row in got.values()]
            self.assertAlmostEqual(sum(rows) * 1e9, pbin.read(made).meta["wall_ns"], delta=0.01)

    def test_kernel(self):
        data = traces.tracerv([(1, {3: KERNEL}), (2, {0: 0x10000})])
        self.assertEqual(set(self.table(self.convert(data))), {("_kernel",), ("one",)})
        self.assertEqual(set(self.table(self.convert(data, "--keep-addresses"))), {("_foreign",), ("one",)})
        names = self.file("kallsyms", b"ffffffff80000000 T _start\nffffffff80001000 T trap\nffffffff80002000 T end\n")
        got = self.table(self.convert(data, "--kallsyms", names), "function")
        self.assertIn(("trap",), got)

    def test_disorder_and_gaps(self):
        cycles = [(10, {0: 0x10000}), (11, {}), (9, {0: 0x20000}), (10, {0: 0x20000}), (5012, {1: 0x10000}), (5013, {1: 0x10000})]
        ended = self.succeeds(["tracerv2pbin", "-m", self.maps, "--list-gaps", "5000", "--verbose"], stdin=traces.tracerv(cycles))
        self.assertIn("2 records are not later than the one before", ended.err)
        self.assertIn("<stdin>: 5002 cycles without an instruction after cycle 10, 1e-08 s", ended.err)
        self.assertIn("6 records, 3 cycles with instructions, from 10 to 5013, at most 1 in a cycle", ended.err)
        ended = self.succeeds(["tracerv2pbin", "-m", self.maps, "--list-gaps", "5002"], stdin=traces.tracerv(cycles))
        self.assertNotIn("without an instruction", ended.err)
        self.assertEqual(set(self.table(ended.out)), {("one",)})

    def test_compressed(self):
        data = traces.tracerv(self.some(random.Random(1), 100))
        path = self.file("trace.bz2", bz2.compress(data))
        self.assertEqual(self.convert(data, "-n", "x"), self.succeeds(["tracerv2pbin", "-q", "-n", "x", "-m", self.maps, path]).out)

    def test_bad(self):
        good = traces.tracerv([(1, {0: 0x10000}), (2, {0: 0x10000})])
        for data, text in ((good[len(traces.LINE):], "begins with a line of text"), (bytes(100), "0x0: expected a trace of TracerV"),
                           (b"x" * 5000, "at most 4096 bytes"), (b"Cycle: 0001 I0: 0002\n", "found a text trace"),
                           (good[:-1], "0x80: expected a record of 64 bytes, found 63"), (traces.LINE, "has no instructions"),
                           (traces.tracerv([(1, {0: 1}), (1 << 55, {0: 1})]), "less than 2^53 cycles"),
                           (traces.tracerv([(1 << 56, {0: 1})]), "0x40: expected a cycle below 2^56"),
                           (traces.tracerv([(1, {0: 1}), (1 << 63, {0: 1})]), "0x80: expected a cycle below 2^56")):
            with self.subTest(text):
                self.assertIn(text, self.fails(["tracerv2pbin"], "<stdin>", stdin=data).err)
        self.assertIn("empty", self.fails(["tracerv2pbin"], stdin=b"").err)
        kept = self.succeeds(["tracerv2pbin", "--salvage", "-m", self.maps], stdin=good[:-1])
        self.assertIn("truncated: kept 1 cycles", kept.err)

    def test_every_byte(self):
        data = traces.tracerv([(1, {0: 0x10000}), (2, {5: KERNEL}), (3, {})])
        for at in tool.places(0, len(data), data):
            for bad in (data[:at], data[:at] + bytes((data[at] ^ (255, 1, 128)[at % 3],)) + data[at + 1:]):
                ended = tool.run(["tracerv2pbin", "-q", "-m", self.maps], stdin=bad)
                self.assertIn(ended.status, (0, 1), at)
                self.assertEqual(ended.err.count("\n"), ended.status, (at, ended.err))


class Memtrace(TraceCase):
    def test_sums(self):
        rng = random.Random(8)
        accesses = [(rng.randrange(2), rng.randrange(1 << 47), rng.choice((1, 2, 4, 8, 16, 64)),
                     rng.choice((0x10000, 0x20000, 0x30000)) + rng.randrange(0x100)) for _ in range(5000)]
        want = collections.defaultdict(collections.Counter)
        for write, _, size, pc in accesses:
            row = want[{1: "one", 2: "two", 3: "_foreign"}[pc >> 16],]
            row["samples"] += 1
            row["writes" if write else "reads"] += 1
            row["written_bytes" if write else "read_bytes"] += size
        made = self.succeeds(["memtrace2pbin", "-q", "-m", self.maps], stdin=traces.memtrace(accesses)).out
        got = self.table(made)
        self.assertEqual({key: {name: int(row[name]) for name in want[key]} for key, row in got.items()}, dict(want))

    def test_bad(self):
        good = traces.memtrace([(0, 1, 8, 0x10000), (1, 1, 8, 0x10000)])
        for data, text in ((good[:-1], "0x20: expected an access of 32 bytes, found 31"), (b"\2" + good[1:], "found 2 and 8"),
                           (traces.memtrace([(1, 1, 1 << 21, 1)]), "found 1 and 2097152"), (b"hello", "found 5 at the end")):
            with self.subTest(text):
                self.assertIn(text, self.fails(["memtrace2pbin"], "<stdin>", stdin=data).err)
        self.assertIn("empty", self.fails(["memtrace2pbin"], stdin=b"").err)
        kept = self.succeeds(["memtrace2pbin", "--salvage", "-m", self.maps], stdin=good[:-1])
        self.assertIn("truncated: kept 1 accesses", kept.err)
        self.assertIn("has no complete access", self.fails(["memtrace2pbin", "--salvage"], "<stdin>", stdin=good[:5]).err)

    def test_memory_does_not_grow(self):
        path = os.path.join(self.folder, "long")
        with open(path, "wb") as f:
            for _ in range(64):
                f.write(traces.memtrace([(0, 1, 8, 0x10000 + i % 100) for i in range(10000)]))
        small = self.file("short", traces.memtrace([(0, 1, 8, 0x10000 + i % 100) for i in range(10000)]))
        peaks = [tool.run(["memtrace2pbin", "-q", "-m", self.maps, p], peak=True).peak for p in (small, path)]
        self.assertLess(peaks[1], peaks[0] + 4 * tool.MB)


if __name__ == "__main__":
    unittest.main()
