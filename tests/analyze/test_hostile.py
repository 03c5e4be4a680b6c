"""Files with correct checksums and wrong contents: one line, exit status 1, no crash, bounded work.

SPDX-License-Identifier: MIT
"""
import random
import struct
import unittest
from fractions import Fraction as F

import pbin
import profiles
import test_aggregate
import tool

MOST32, MOST64 = 2**32 - 1, 2**64 - 1
BIG = 2**126  # two of these are too large for a sum
META = {"name": "n", "pmu": pbin.POWER, "cpu_time": 1, "times": 1, "samples": 2, "wall_ns": 10**9}


def u32(*values):
    return struct.pack(f"<{len(values)}I", *values)


def u64(*values):
    return struct.pack(f"<{len(values)}Q", *values)


def writer(**meta):
    return pbin.Writer({**META, **meta})


def full(**meta):
    """A writer of a good profile up to its samples: 2 threads, 2 locations."""
    w = writer(**meta)
    w.put_maps([pbin.Map(0x1000, 0x1000, 0, "app", "/app", "00")])
    w.put_threads([pbin.Thread(1, 1, "a"), pbin.Thread(2, 1, "b")])
    w.put_locations([pbin.Location(0x1000 + i, "app", [pbin.Frame("f", "f", "f.c", i)], 0) for i in range(2)])
    return w


def row_bytes(key=(1, 1), samples=2**64, entries=1, runs=1, time=1, energy=1, time_sq=1, energy_sq=1,
              extremes=(1, 1, 1, 1)):
    return (u64(*key) + pbin.i128(samples) + u64(entries, runs) + pbin.i128(time) + pbin.i128(energy) +
            pbin.u256(time_sq) + pbin.u256(energy_sq) + b"".join(pbin.i128(e) for e in extremes))


def run_bytes(name=0, wall=10**9, latency=0, samples=1, time=1, energy=1):
    return u32(name) + u64(wall, latency, samples) + pbin.i128(time) + pbin.i128(energy)


def energy_of(rows):
    """The energy that a run with ROWS (of two keys) must have to be accepted; 1 if it does not fit."""
    energy = sum(int.from_bytes(row[64:80], "little", signed=True) for row in rows)
    return energy if -2**127 <= energy < 2**127 else 1


def sums(rows, runs=None, keys="binary,function", arcs=()):
    runs = [run_bytes(energy=energy_of(rows))] if runs is None else runs
    w = writer(keys=keys)
    w.string("app", "f", "g")
    w.members("RUNS", "runs", runs)
    w.members("ROWS", "rows", rows)
    if arcs:
        w.members("ARCS", "arcs", arcs)
    return w.finish()


class HostileCase(test_aggregate.TableCase):
    def refused(self, data, *argv, name="bad.pbin"):
        file = self.file(name, data)
        return self.fails(["pbin-aggregate", "-q", *argv, file])

    def ends(self, data, *argv):
        """The file is accepted, or refused with one line, within limits."""
        ended = tool.run(["pbin-aggregate", "-q", "--format", "json", *argv, self.file("odd.pbin", data)],
                         memory=None if tool.is_asan() else 512 * tool.MB, timeout=60)
        self.assertIn(ended.status, (0, 1), ended.err)
        self.assertLessEqual(ended.err.count("\n"), 1)
        return ended

    def both_refuse(self, data):
        self.refused(data)
        self.fails(["pbin-dump", "--samples", self.file("bad.pbin", data)])


class Definitions(HostileCase):
    def test_the_base_is_good(self):
        w = full()
        w.put_samples([pbin.Sample(0, 1.0, [(0, 0, 5), (1, 1, 5)]), pbin.Sample(10**9, 2.0, [])])
        self.succeeds(["pbin-aggregate", "-q", self.file("p.pbin", w.finish())])
        self.succeeds(["pbin-aggregate", "-q", self.file("p.pbin", sums([row_bytes(), row_bytes((1, 2))]))])

    def test_wrong_numbers(self):
        text = pbin.text("x")
        cases = {"STRS": [u32(MOST32), u32(2) + text, u32(1) + u32(MOST32) + b"x", u32(1) + pbin.text("a\0b"),
                          u32(2) + text + text, u32(1) + pbin.text(""), u32(1), b"", b"\1"],
                 "MAPS": [u32(MOST32), u32(1) + u64(1, 1, 1) + u32(99, 0, 0), u32(1) + u64(1, 1, 1) + u32(0, 0, MOST32)],
                 "THRD": [u32(MOST32), u32(1, 1, 1, 99), u32(1, 1, 1), u32(2, 1, 1, 0)],
                 "LOCS": [u32(MOST32), u32(1) + u64(1) + u32(0, pbin.NO_MAP, 0),
                          u32(1) + u64(1) + u32(0, pbin.NO_MAP, 4097) + bytes(16 * 4097),
                          u32(1) + u64(1) + u32(0, pbin.NO_MAP, MOST32), u32(1) + u64(1) + u32(99, pbin.NO_MAP, 1, 0, 0, 0, 0),
                          u32(1) + u64(1) + u32(0, 1, 1, 0, 0, 0, 0), u32(1) + u64(1) + u32(0, 0, 2, 0, 0, 0, 0),
                          *[u32(1) + u64(1) + u32(0, pbin.NO_MAP, 1, *[99 if i == k else 0 for i in range(4)])
                            for k in range(3)]]}
        for kind, payloads in cases.items():
            for number, payload in enumerate(payloads):
                with self.subTest(kind=kind, number=number):
                    w = full()
                    w.block(kind, payload)
                    self.both_refuse(w.finish())

    def test_blocks(self):
        w = full()
        w.block("XTRA", b"")
        self.both_refuse(w.finish())
        w = full()
        w.block("META", u32(0))
        self.both_refuse(w.finish())
        w = full()
        w.block("xtra", b"optional")
        self.succeeds(["pbin-aggregate", "-q", self.file("p.pbin", w.finish())])
        w = full()
        w.finish()
        w.block("TAIL", w.parts[-1][8:-8])
        self.both_refuse(b"".join(w.parts))

    def test_trailer(self):
        w = full()
        good = w.finish()
        tail = w.parts[-1][8:-8]
        for at in (0, 8, 16, 20, 24, 28, 32, 36, 40):
            with self.subTest(at=at):
                changed = tail[:at] + bytes([tail[at] ^ 1]) + tail[at + 1:]
                self.both_refuse(b"".join(w.parts[:-1]) + pbin.block("TAIL", changed))
        self.both_refuse(b"".join(w.parts[:-1]) + pbin.block("TAIL", tail[:-1]))
        self.both_refuse(b"".join(w.parts[:-1]))
        self.both_refuse(good + b"\0")

    def test_meta(self):
        for payload in (b"", u32(MOST32), u32(1), u32(1) + pbin.text("wall_ns") + b"u" + bytes(7),
                        u32(1) + pbin.text("name") + b"s" + u32(MOST32), u32(1) + u32(MOST32) + b"name"):
            with self.subTest(payload):
                self.both_refuse(pbin.SIGNATURE + u32(1, 0) + pbin.block("META", payload))

    def test_meta_of_all_sizes(self):
        """Facts may have any value; arithmetic on them must not trap."""
        for name in ("cpus", "wall_ns", "latency_ns", "samples", "frequency", "pmu", "cpu_time", "times"):
            for value in (0, 1, 2**63 - 1, 2**63, MOST64):
                for cpu_time, times in ((1, 1), (0, 0)):
                    w = full(**{"cpu_time": cpu_time, "times": times, "latency_ns": 77, name: value})
                    w.put_samples([pbin.Sample(0, 1.0, [(0, 0, 5), (1, 1, 5)]),
                                   pbin.Sample(10**9, 2.0, [(0, 1, 3)])])
                    with self.subTest(name=name, value=value, cpu_time=cpu_time):
                        self.ends(w.finish(), "--subtract-latency", "--end", "1e12")
                        self.ends(w.finish())

    def test_long_texts(self):
        w = writer(unit="€" * 1000, pmu=pbin.CUSTOM, target="x" * 10**6, name="\x1b[2J\n")
        w.put_threads([pbin.Thread(1)])
        w.put_locations([pbin.Location(1, "b" * 10**6, [pbin.Frame(b"\xff\xfe", b"\xff\n\x1b", "f", 1)])])
        w.put_samples([pbin.Sample(1, 1.0, [(0, 0, 1)])])
        for fmt in ("json", "text", "csv"):
            ended = self.ends(w.finish(), "--format", fmt)
            self.assertEqual(ended.status, 0, ended.err)
            if fmt != "csv":
                self.assertNotIn(b"\x1b", ended.out)


class Samples(HostileCase):
    def smpl(self, samples, entries, *columns):
        w = full()
        w.block("SMPL", u32(samples, entries) + b"".join(columns))
        w.counts.update(samples=samples, entries=entries)
        return w.finish()

    def col(self, *values):
        return pbin.column(values)

    def test_wrong_columns(self):
        c = self.col
        good = [c(1), c(1), c(1), c(0), c(0), c(5)]
        self.succeeds(["pbin-aggregate", "-q", self.file("p.pbin", self.smpl(1, 1, *good))])
        for name, at, column in (("too few threads", 2, c(0)), ("too many threads", 2, c(2)), ("2^32 - 1", 2, c(MOST32)),
                                 ("2^64 - 1", 2, c(MOST64)), ("thread", 3, c(2)), ("thread 2^32", 3, c(2**32)),
                                 ("thread 2^64 - 1", 3, c(MOST64)), ("location", 4, c(2)), ("location 2^32", 4, c(2**32)),
                                 ("location 2^64 - 1", 4, c(MOST64)),
                                 ("width 65", 5, struct.pack("<BQ", 65, 0) + bytes(9)),
                                 ("width 255", 0, struct.pack("<BQ", 255, 0) + bytes(32)), ("cut", 5, b"\x40" + bytes(9)),
                                 ("missing", 5, b"")):
            with self.subTest(name):
                self.both_refuse(self.smpl(1, 1, *good[:at], column, *good[at + 1:]))

    def test_threads_that_add_up_modulo_2_to_64(self):
        c = self.col
        self.both_refuse(self.smpl(3, 1, c(1, 1, 1), c(1, 1, 1), c(MOST64, 1, 1), c(0), c(0), c(5)))
        self.both_refuse(self.smpl(2, 0, c(1, 1), c(1, 1), c(2**63, 2**63), c(), c(), c()))

    def test_counts(self):
        zero = struct.pack("<BQ", 0, 0)
        for samples, entries in ((MOST32, MOST32), (65537, 0), (1, 1048577), (MOST32, 0), (0, MOST32), (0, 1), (1, 0)):
            data = self.smpl(samples, entries, *[zero] * 6)
            with self.subTest(samples=samples, entries=entries):
                if (samples, entries) == (1, 0):
                    self.ends(data)
                else:
                    self.both_refuse(data)
        self.both_refuse(self.smpl(0, 0))

    def test_a_few_bytes_that_mean_a_million_threads(self):
        zero = struct.pack("<BQ", 0, 0)
        threads = struct.pack("<BQ", 0, 1048576)
        self.ends(self.smpl(1, 1048576, zero, zero, threads, zero, zero, zero))

    def profile_of(self, samples, **meta):
        w = full(**meta)
        w.put_samples(samples)
        return w.finish()

    def test_cpu_times_that_wrap(self):
        """2^63 + 2^63 ns is not 0."""
        data = self.profile_of([pbin.Sample(10**9, 4.0, [(0, 0, 2**63), (1, 1, 2**63)])])
        for model in ("share", "thread"):
            ended = self.ends(data, "--energy-model", model, "-k", "line")
        table = self.table("-k", "line", self.file("p.pbin", data))
        self.assertEqual([(r["time"], r["energy"]) for r in table["rows"]], [(2.0**63 / 1e9, 2.0)] * 2)

    def test_large_times(self):
        samples = [pbin.Sample(MOST64, 1e300, [(0, 0, MOST64), (1, 1, MOST64)]),
                   pbin.Sample(MOST64, 2.0**29, [(0, 0, MOST64), (1, 1, 0)])]
        for argv in ([], ["--wall-time"], ["--energy-model", "thread"], ["--subtract-latency"], ["--max-gap", "1"],
                     ["--start", "1"], ["--mode", "add"]):
            for meta in ({}, {"cpu_time": 0}, {"wall_ns": 0}, {"latency_ns": MOST64}):
                with self.subTest(argv=argv, meta=meta):
                    self.ends(self.profile_of(samples, **meta), *argv)

    def test_energy_that_no_sum_holds(self):
        """The highest power that a sample may have, 2^18 times."""
        value = struct.unpack("<Q", struct.pack("<d", 2.0**30 - 1))[0]
        for sign, status in ((0, 1), (2**63, 1)):
            w = full(cpu_time=0)
            for _ in range(4):
                w.block("SMPL", u32(65536, 65536) + b"".join(
                    struct.pack("<BQ", 0, v) for v in (10**9, value | sign, 1, 0, 0, 0)))
                w.counts["samples"] += 65536
                w.counts["entries"] += 65536
            with self.subTest(sign=sign):
                ended = self.refused(w.finish())
                self.assertIn("too large", ended.err)


class Sums(HostileCase):
    def test_keys(self):
        for keys in ("frob", "binary,frob", "binary,,function", ",", "binary,", "binary,binary", "function,line,function",
                     ",".join(f"k{i}" for i in range(17)), "Binary", " binary", "binary," * 100_000, "é", "\x1b[2J"):
            w = writer(keys=keys)
            w.members("RUNS", "runs", [run_bytes()])
            with self.subTest(keys=keys[:40]):
                self.refused(w.finish())

    def test_keys_that_hold_nothing(self):
        w = writer(keys="binary,function")
        self.ends(w.finish())

    def test_wrong_rows(self):
        one = run_bytes()
        for name, bad in (("text", row_bytes((4, 1))), ("text 2^32", row_bytes((2**32 + 1, 1))), ("text 2^64 - 1",
                          row_bytes((1, MOST64))), ("no run", row_bytes(runs=0)), ("two runs", row_bytes(runs=2)),
                          ("2^64 - 1 runs", row_bytes(runs=MOST64)), ("negative time", row_bytes(time=-1)),
                          ("negative samples", row_bytes(samples=-1)), ("least time", row_bytes(extremes=(2, 1, 1, 1))),
                          ("least energy", row_bytes(extremes=(1, 1, 2, 1))), ("negative least",
                          row_bytes(extremes=(-1, 1, 1, 1))), ("cut", row_bytes()[:-1])):
            for argv in ([], ["--mode", "add"], ["-k", "function"]):
                with self.subTest(name, argv=argv):
                    if name.startswith("text") and argv == ["-k", "function"]:
                        continue  # the key is not read
                    self.refused(sums([bad], [one]), *argv)

    def test_sums_near_overflow(self):
        for field in ("samples", "time", "energy"):
            for value in (BIG, -BIG) if field == "energy" else (BIG,):
                rows = [row_bytes((1, i), **{field: value}) for i in (1, 2)]
                with self.subTest(field=field, value=value):
                    for argv in ([], ["--mode", "add"], ["-k", "binary"], ["--filter", "function=none"]):
                        self.refused(sums(rows), *argv)
                    one = self.file("one.pbin", sums(rows[:1]))
                    for argv in (["-j", "1"], ["-j", "2"], ["--mode", "add"]):
                        self.fails(["pbin-aggregate", "-q", *argv, one, one])
                        self.succeeds(["pbin-aggregate", "-q", *argv, one])
        lowest = sums([row_bytes(energy=-2**127, extremes=(0, 0, -2**127, 2**127 - 1))])
        self.ends(lowest)
        self.ends(sums([row_bytes()], [run_bytes(energy=-2**127)]))

    def test_entries_that_wrap(self):
        rows = [row_bytes((1, i), entries=2**63) for i in (1, 2)]
        self.refused(sums(rows))
        one = self.file("one.pbin", sums(rows[:1]))
        self.fails(["pbin-aggregate", "-q", one, one])
        almost = self.file("almost.pbin", sums([row_bytes(entries=MOST64 - 1)]))
        single = self.file("single.pbin", sums([row_bytes()]))
        self.fails(["pbin-aggregate", "-q", almost, single])  # would be read as "not known"
        unknown = self.file("unknown.pbin", sums([row_bytes(entries=MOST64)]))
        table = self.table(unknown, single)
        self.assertIsNone(table["rows"][0]["entries"])

    def test_rows_twice(self):
        """The same key in two rows."""
        self.ends(sums([row_bytes(), row_bytes()]))

    def test_runs(self):
        for name, run in (("name", run_bytes(name=99)), ("negative time", run_bytes(time=-1)), ("cut", run_bytes()[:-1])):
            with self.subTest(name):
                self.refused(sums([row_bytes()], [run]))
        for field in ("wall", "latency", "samples"):
            with self.subTest(field):
                self.refused(sums([row_bytes(runs=1)], [run_bytes(**{field: 2**63})] * 2))
        for field in ("time", "energy"):
            with self.subTest(field):
                self.refused(sums([row_bytes(runs=1)], [run_bytes(**{field: BIG})] * 2))

    def test_squares_may_lie(self):
        """All these sums of squares are wrong. The standard deviation is then wrong as well, but it
        is a number or null."""
        for square in (0, 1, 2**256 - 1):
            data = sums([row_bytes(runs=2, time=2**100, energy=2**90, time_sq=square, energy_sq=square)],
                        [run_bytes(energy=2**89)] * 2)
            ended = self.ends(data)
            self.assertEqual(ended.status, 0, ended.err)

    def test_squares_overflow(self):
        file = self.file("p.pbin", sums([row_bytes(time_sq=2**256 - 1, energy_sq=2**256 - 1)]))
        self.ends(sums([row_bytes()]))
        self.succeeds(["pbin-aggregate", "-q", file, file, file])

    def test_arcs(self):
        for arc in (u32(0, 0, 0, 99) + u64(1), u32(99, 0, 0, 0) + u64(1), u32(0, 0, 0, 0)):
            self.refused(sums([row_bytes()], arcs=[arc]))
        arc = u32(1, 2, 1, 2) + u64(MOST64)
        self.refused(sums([row_bytes()], arcs=[arc, arc]))

    def test_counts(self):
        for kind in ("RUNS", "ROWS", "ARCS"):
            for count, payload in ((MOST32, b""), (MOST32, row_bytes() * 3), (2, row_bytes()[:50]), (1, b"")):
                w = writer(keys="binary,function")
                w.string("app", "f")
                w.block(kind, u32(count) + payload)
                with self.subTest(kind=kind, count=count, size=len(payload)):
                    self.refused(w.finish())
        for kind in ("RUNS", "ROWS", "ARCS"):
            w = writer(keys="binary,function")
            w.block(kind, b"\1\0")
            self.refused(w.finish())

    def test_kinds_that_do_not_belong(self):
        w = full()
        w.members("ROWS", "rows", [row_bytes(())])
        self.both_refuse(w.finish())
        w = full()
        w.members("RUNS", "runs", [run_bytes()])
        self.both_refuse(w.finish())
        w = full(keys="binary,function")
        w.members("RUNS", "runs", [run_bytes()])
        w.put_samples([pbin.Sample(0, 1.0, [(0, 0, 5)])])
        self.both_refuse(w.finish())


class Damage(HostileCase):
    """Any field is changed to any value, with the checksum corrected: no crash, at most one
    line."""

    def blocks(self, data):
        at = 16
        while at < len(data):
            size = struct.unpack_from("<I", data, at)[0]
            yield at, data[at + 4:at + 8].decode(), data[at + 8:at + 8 + size]
            at += size + 16

    def damaged(self, data, rng):
        out = data[:16]
        parts = list(self.blocks(data))
        victim = rng.randrange(len(parts))
        for number, (_, kind, payload) in enumerate(parts):
            if number == victim and payload:
                at, size = rng.randrange(len(payload)), rng.choice((1, 2, 4, 8))
                new = rng.choice((bytes(size), b"\xff" * size, rng.randbytes(size), u64(2**63)[-size:]))
                payload = payload[:at] + new[:len(payload) - at] + payload[at + size:]
                if rng.random() < 0.1:
                    payload = payload[:rng.randrange(len(payload))]
            out += pbin.block(kind, payload)
        return out

    def test_random_damage(self):
        rng = random.Random(400)
        one = self.file("p.pbin", pbin.write(profiles.make(401, samples=30, locations=8), batch=10))
        runs = []
        for i in range(3):
            p = profiles.make(402 + i, samples=20, locations=8)
            p.arcs.append(("app", "f", "app", "g", 7))
            runs.append(self.profile(f"{i}.pbin", p))
        bases = [open(one, "rb").read()]
        for argv in (["-k", "binary,function"], ["-k", "thread,line,comm"], ["-k", "binary,function", "--exclude", "line=1"]):
            out = self.folder + "/sum.pbin"
            self.succeeds(["pbin-aggregate", "-q", *argv, "-o", out, *runs])
            bases.append(open(out, "rb").read())
        for number in range(150 if tool.is_asan() else 400):
            data = self.damaged(rng.choice(bases), rng)
            argv = rng.choice(([], ["-k", "thread,line,comm"], ["--mode", "add"], ["--tree"], ["--format", "pbin"],
                               ["--filter", "function=main"], ["--subtract-latency", "--max-gap", "0.001"], ["--salvage"],
                               ["--energy-model", "thread", "--wall-time"], ["--phase", "main:2"]))
            with self.subTest(number=number, argv=argv):
                self.ends(data, *argv)


if __name__ == "__main__":
    unittest.main()
