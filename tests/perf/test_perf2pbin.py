"""perf2pbin: recordings made here are compared with arithmetic, recorded ones with the counts of
perf itself; and damaged ones.

recorded/job.data.xz is `perf record -F 500 -g sh job.sh` (a shell, two pipelines, Python with three threads), and job.txt what
`perf script -F pid,tid,dso,ip -G` counted in it: process, thread, file, samples.

SPDX-License-Identifier: MIT
"""
import collections
import lzma
import os
import random
import shutil
import struct
import subprocess
import unittest

import pbin
import tool

HERE = os.path.dirname(os.path.abspath(__file__))
IP, TID, TIME, ADDR, READ, CHAIN, ID, CPU, PERIOD, STREAM, IDENTIFIER = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1 << 16)
CPU_CLOCK, TASK_CLOCK, PAGE_FAULTS, DUMMY = 0, 1, 2, 9
PLAIN = IP | TID | TIME | PERIOD
USER, KERNEL = 2, 1
MS = 1000000


class Recording:
    """Writes perf.data, with records as described by perf-data-file-format.txt and perf_event.h of
    Linux."""

    def __init__(self, order="<", pipe=False, events=((1, CPU_CLOCK, 1000, True),), kind=PLAIN, read_format=0, names=()):
        self.names = names
        self.order, self.pipe, self.events, self.kind, self.read_format = order, pipe, events, kind, read_format
        self.records = []

    def pack(self, form, *values):
        return struct.pack(self.order + form, *values)

    def text(self, text):
        data = text.encode() + b"\0"
        return data + bytes(-len(data) % 8)

    def record(self, kind, body, misc=0):
        self.records.append(self.pack("IHH", kind, misc, 8 + len(body)) + body)

    def ids(self, event):
        return [100 + 10 * event, 101 + 10 * event]

    def tail(self, pid, tid, time, event=0):
        """The end of all records except samples."""
        parts = [(TID, self.pack("II", pid, tid)), (TIME, self.pack("Q", time)), (ID, self.pack("Q", self.ids(event)[1])),
                 (STREAM, self.pack("Q", 7)), (CPU, self.pack("II", 1, 0)), (IDENTIFIER, self.pack("Q", self.ids(event)[1]))]
        return b"".join(data for bit, data in parts if self.kind & bit)

    def sample(self, pid, tid, time, pc, period=MS, event=0, mode=USER, chain=()):
        values = self.pack("4Q", 5, 6, 7, 8) if self.read_format == 7 else self.pack("7Q", 2, 5, 6, 7, 8, 9, 10)
        parts = [(IDENTIFIER, self.pack("Q", self.ids(event)[0])), (IP, self.pack("Q", pc)), (TID, self.pack("II", pid, tid)),
                 (TIME, self.pack("Q", time)), (ADDR, self.pack("Q", 3)), (ID, self.pack("Q", self.ids(event)[0])),
                 (STREAM, self.pack("Q", 7)), (CPU, self.pack("II", 1, 0)), (PERIOD, self.pack("Q", period)), (READ, values),
                 (CHAIN, self.pack(f"Q{len(chain)}Q", len(chain), *chain))]
        self.record(9, b"".join(data for bit, data in parts if self.kind & bit), mode)

    def mapping(self, pid, time, address, size, path, offset=0, build_id=b"", old=False):
        body = self.pack("IIQQQ", pid, pid, address, size, offset)
        if not old:
            body += self.pack("B3x", len(build_id)) + build_id.ljust(20, b"\0") if build_id else self.pack("IIQQ", 8, 1, 77, 0)
            body += self.pack("II", 5, 2)
        self.record(1 if old else 10, body + self.text(path) + self.tail(pid, pid, time), 2 | (1 << 14 if build_id else 0))

    def name(self, pid, tid, time, text, began=False):
        self.record(3, self.pack("II", pid, tid) + self.text(text) + self.tail(pid, tid, time), 1 << 13 if began else 0)

    def fork(self, pid, parent, tid, creator, time):
        self.record(7, self.pack("IIIIQ", pid, parent, tid, creator, time) + self.tail(parent, creator, time))

    def round(self):
        self.record(68, b"")

    def attributes(self, number):
        kind, config, period, by_frequency = self.events[number]
        flags = (1 << 10 if by_frequency else 0) | 1 << 18
        if self.order == ">":
            flags = int(f"{flags:064b}"[::-1], 2)
        return self.pack("IIQQQQQ", kind, 64, config, period, self.kind, self.read_format, flags) + bytes(16)

    def finish(self):
        magic = b"PERFILE2" if self.order == "<" else b"2ELIFREP"
        if self.pipe:
            body, self.records = self.records, []
            for i in range(len(self.events)):
                self.record(64, self.attributes(i) + self.pack("2Q", *self.ids(i)))
            return magic + self.pack("Q", 16) + b"".join(self.records + body)
        ids_at, events_at = 104, 104 + 16 * len(self.events)
        at = events_at + (64 + 16) * len(self.events)
        data = b"".join(self.records)
        command = b"".join(self.pack("I", 8) + text for text in (b"perf\0\0\0\0", b"record\0\0"))
        features = [(7, self.pack("II", 4, 3)), (11, self.pack("I", 2) + command)]
        if self.names:
            known = [(self.text(name), self.ids(i)) for i, name in enumerate(self.names)]
            features.append((12, self.pack("II", len(known), 64) + b"".join(
                self.attributes(i) + self.pack("II", 2, len(name)) + name + self.pack("2Q", *ids) for i, (name, ids) in enumerate(known))))
        out = magic + self.pack("QQQQQQQQ", 104, 80, events_at, 80 * len(self.events), at, len(data), 0, 0)
        out += self.pack("4Q", sum(1 << number for number, _ in features), 0, 0, 0)[:32]
        out = out[:104].ljust(104, b"\0")
        out += b"".join(self.pack("2Q", *self.ids(i)) for i in range(len(self.events)))
        out += b"".join(self.attributes(i) + self.pack("QQ", ids_at + 16 * i, 16) for i in range(len(self.events))) + data
        place = len(out) + 16 * len(features)
        for _, content in features:
            out += self.pack("QQ", place, len(content))
            place += len(content)
        return out + b"".join(content for _, content in features)


def simple(**options):
    """Two processes: 10 in /bin/a, whose child 20 runs /bin/b."""
    r = Recording(**options)
    r.name(10, 10, 0, "a", True)
    r.mapping(10, 0, 0x400000, 0x1000, "/nowhere/bin/a")
    r.name(10, 10, 100 * MS, "main")
    r.sample(10, 10, 101 * MS, 0x400010)
    r.fork(10, 10, 11, 10, 102 * MS)
    r.sample(10, 11, 103 * MS, 0x400020)
    r.round()
    r.fork(20, 10, 20, 10, 104 * MS)
    r.sample(20, 20, 105 * MS, 0x400030, 2 * MS)
    r.name(20, 20, 106 * MS, "b", True)
    r.mapping(20, 106 * MS, 0x400000, 0x2000, "/nowhere/bin/b", 0x1000)
    r.sample(20, 20, 107 * MS, 0x400030, 3 * MS)
    r.round()
    r.sample(20, 20, 108 * MS, 0xffffffff81000000, mode=KERNEL)
    r.record(2, r.pack("QQ", 1, 0) + r.tail(10, 10, 108 * MS))
    return r


class PerfCase(tool.Case):
    def convert(self, data, *argv):
        return self.succeeds(["perf2pbin", "-q", *argv], stdin=data).out

    def table(self, data, keys, *argv):
        """{keys: (samples, nanoseconds)}"""
        text = self.succeeds(["pbin-aggregate", "-q", "--format=csv", "-k", keys, *argv], stdin=data).out.decode()
        rows = [line.split(",") for line in text.splitlines()]
        samples, time = (next(i for i, c in enumerate(rows[0]) if c.startswith(name)) for name in ("samples", "time"))
        count = len(keys.split(","))
        first = rows[0].index(keys.split(",")[0])
        return {tuple(row[first:first + count]): (int(row[samples]), round(float(row[time]) * 1e9)) for row in rows[1:]}


class Made(PerfCase):
    WANT = {("10", "10", "a"): (1, MS), ("10", "11", "a"): (1, MS), ("20", "20", "a"): (1, 2 * MS),
            ("20", "20", "b"): (1, 3 * MS), ("20", "20", "_kernel"): (1, MS)}

    def test_layouts(self):
        """Both byte orders, from a file and a pipe, with all fields that samples can have before
        the known ones."""
        kinds = (PLAIN, PLAIN | ADDR | ID | CPU, PLAIN | IDENTIFIER | STREAM | READ, PLAIN | CHAIN | READ | ID | IDENTIFIER)
        for order in "<>":
            for pipe in (False, True):
                for kind in kinds:
                    for read_format in (7, 15):
                        with self.subTest(order=order, pipe=pipe, kind=kind, read_format=read_format):
                            data = simple(order=order, pipe=pipe, kind=kind, read_format=read_format).finish()
                            self.assertEqual(self.table(self.convert(data), "process,thread,binary"), self.WANT)

    def test_facts(self):
        profile = pbin.read(self.convert(simple().finish(), "-n", "x"))
        self.assertEqual((profile.meta["name"], profile.meta["dialect"], profile.meta["command"], profile.meta["cpus"]),
                         ("x", "perf", "perf record", 3))
        self.assertEqual((profile.meta["wall_ns"], profile.meta["samples"], profile.meta["frequency"]), (8 * MS, 5, 1000000))

    def test_unknown_facts(self):
        """perf does not record its own cost."""
        table = self.succeeds(["pbin-aggregate"], stdin=self.convert(simple().finish())).out
        self.assertIn(b"recorded as", table)
        self.assertNotIn(b"time in the sampler", table)

    def test_order(self):
        """Records of two CPUs, one CPU after the other, are sorted within their rounds."""
        rng = random.Random(7)
        r = Recording()
        r.mapping(1, 0, 0x1000, 0x100000, "/nowhere/one")
        want, time = [], MS
        for _ in range(40):
            times = [time + i * MS for i in range(20)]
            time = times[-1] + MS
            rng.shuffle(times)
            for at in times:
                r.sample(1, 1, at, 0x1000 + at // MS)
                want.append(at)
            r.round()
        data = self.convert(r.finish())
        dump = self.succeeds(["pbin-dump", "--samples", "--format=csv"], stdin=data).out.decode().splitlines()
        self.assertEqual(len(dump) - 1, len(want))
        column = dump[0].split(",").index("pc")
        pcs = [int(line.split(",")[column], 0) for line in dump[1:]]
        self.assertEqual(pcs, [0x1000 + at // MS for at in sorted(want)])

    def test_mapping_replaces_another(self):
        r = Recording()
        r.mapping(1, 0, 0x10000, 0x10000, "/nowhere/one")
        r.sample(1, 1, 1 * MS, 0x18000)
        r.mapping(1, 2 * MS, 0x18000, 0x1000, "/nowhere/two", old=True)
        r.sample(1, 1, 3 * MS, 0x18000)
        r.sample(1, 1, 4 * MS, 0x19000)
        r.sample(1, 1, 5 * MS, 0x90000)
        self.assertEqual(self.table(self.convert(r.finish()), "binary"),
                         {("one",): (2, 2 * MS), ("two",): (1, MS), ("_foreign",): (1, MS)})

    def test_files_in_memory(self):
        """Memory that the kernel shows as a file is not a file, as in recordings of the sampler: a program may move its own code
        there. A program that is one keeps its name."""
        for path in ("/memfd:pages (deleted)", "/SYSV00000000 (deleted)", "/dev/zero (deleted)", "//anon"):
            with self.subTest(path):
                r = Recording()
                r.name(1, 1, 0, "one", True)
                r.mapping(1, 0, 0x10000, 0x10000, "/nowhere/one")
                r.mapping(1, MS, 0x14000, 0x2000, path)
                r.sample(1, 1, 2 * MS, 0x14010)
                r.mapping(1, 3 * MS, 0x90000, 0x1000, path)
                r.sample(1, 1, 4 * MS, 0x90010)
                name = "[memfd:pages]" if "memfd" in path else "[anon]"
                self.assertEqual(self.table(self.convert(r.finish()), "binary"), {("one",): (1, MS), (name,): (1, MS)})
        r = Recording()
        r.name(1, 1, 0, "tool", True)
        r.mapping(1, 0, 0x10000, 0x1000, "/memfd:tool (deleted)")
        r.mapping(1, 0, 0x40000, 0x1000, "/nowhere/ld.so")
        r.sample(1, 1, MS, 0x10010)
        data = self.convert(r.finish())
        self.assertEqual(self.table(data, "binary"), {("[memfd:tool]",): (1, MS)})
        self.assertIn("/memfd:tool", self.succeeds(["pbin-dump", "--threads", "--format=csv"], stdin=data).out.decode())

    def test_names(self):
        """A sample has the name that its thread had at that time: its own, that of its creator, or
        its number."""
        r = Recording(events=((0, 0, 1000, True),))
        r.mapping(10, 0, 0x400000, 0x1000, "/nowhere/bin/a")
        want = collections.Counter()

        def sample(pid, tid, time, name):
            r.sample(pid, tid, time * MS, 0x400010)
            want[str(pid or ""), str(tid), name] += 1

        sample(10, 10, 1, ":10")
        r.name(10, 10, 2 * MS, "one", True)
        sample(10, 10, 3, "one")
        for i in range(3):
            r.name(10, 10, (10 + 10 * i) * MS, "two")
            sample(10, 10, 11 + 10 * i, "two")
            r.fork(10, 10, 11, 10, (12 + 10 * i) * MS)
            sample(10, 11, 13 + 10 * i, "two")
            r.name(10, 10, (14 + 10 * i) * MS, "one")
            sample(10, 11, 15 + 10 * i, "two")
            sample(10, 10, 16 + 10 * i, "one")
        r.name(10, 11, 50 * MS, "three")
        r.fork(20, 10, 20, 11, 51 * MS)
        sample(20, 20, 52, "three")
        r.name(20, 20, 53 * MS, "child")
        sample(20, 20, 54, "child")
        sample(10, 11, 55, "three")
        sample(10, 12, 56, ":12")
        r.name(10, 10, 57 * MS, "last")
        sample(0, 0, 58, "swapper")
        data = self.convert(r.finish())
        self.assertEqual({key: n for key, (n, _) in self.table(data, "process,thread,comm").items()}, dict(want))
        threads = [(t.pid, t.tid, t.name) for t in pbin.read(data).threads]
        self.assertEqual(len(threads), len(set(threads)), threads)

    def test_caller(self):
        """With call chains, time in the kernel can be charged to the code that called it."""
        r = Recording(kind=PLAIN | CHAIN)
        r.mapping(1, 0, 0x10000, 0x10000, "/nowhere/one")
        kernel, user = (1 << 64) - 128, (1 << 64) - 512
        r.sample(1, 1, MS, 0xffffffff81000010, mode=KERNEL, chain=(kernel, 0xffffffff81000010, 0xffffffff81000020, user, 0x10020, 0x10030))
        r.sample(1, 1, 2 * MS, 0x10040, chain=(user, 0x10040, 0x10050))
        data = self.convert(r.finish())
        self.assertEqual(self.table(data, "binary"), {("one",): (1, MS), ("_kernel",): (1, MS)})
        self.assertEqual(self.table(data, "binary", "--kernel=caller"), {("one",): (2, 2 * MS)})

    def test_events(self):
        events = ((1, DUMMY, 1, False), (0, 0, 4000, True), (1, PAGE_FAULTS, 1, False))
        r = Recording(events=events, kind=PLAIN | IDENTIFIER)
        r.mapping(1, 0, 0x10000, 0x10000, "/nowhere/one")
        for i in range(8):
            r.sample(1, 1, (i + 1) * MS, 0x10000, period=123456, event=1)
            r.sample(1, 1, (i + 1) * MS + 10, 0x10000, period=1, event=2)
        data = r.finish()
        self.assertEqual(self.table(self.convert(data), "binary"), {("one",): (8, 8 * MS // 4)})
        self.assertEqual(self.table(self.convert(data, "-e", "cycles"), "binary"), {("one",): (8, 8 * MS // 4)})
        self.assertEqual(self.table(self.convert(data, "-e", "page-faults", "-r", "100"), "binary"), {("one",): (8, 80 * MS)})
        self.assertEqual(self.table(self.convert(data, "-e", "cycles", "-e", "page-faults", "-r", "1000"), "binary"),
                         {("one",): (16, 16 * MS)})
        ended = self.succeeds(["perf2pbin"], stdin=data)
        self.assertIn("uses event cycles; 8 samples of other events are left out (-e EVENT selects one): page-faults\n", ended.err)
        self.assertIn("has no event x (-e), only dummy, cycles", self.fails(["perf2pbin", "-e", "x"], "<stdin>", stdin=data).err)

    def test_clock_before_counts(self):
        """A profile of time needs a clock event, at any place in the recording; an event that is
        sampled only with its group is not one."""
        faults, clock, cycles = (1, PAGE_FAULTS, 1, False), (1, CPU_CLOCK, 1000, True), (0, 0, 4000, True)
        for events, used in (((faults, clock), 1), ((faults, cycles, clock), 1), ((clock, cycles), 0), ((faults, (0, 1, 1, False)), 0),
                             ((faults, (1, CPU_CLOCK, 0, False)), 0), (((1, DUMMY, 1, False), faults, clock), 2)):
            for pipe in (False, True):
                r = Recording(events=events, kind=PLAIN | IDENTIFIER, pipe=pipe)
                for i in range(len(events)):
                    r.mapping(1, 0, 0x10000 * (i + 1), 0x10000, f"/nowhere/{i}")
                for i, event in enumerate(events):
                    if event[2] and event != (1, DUMMY, 1, False):
                        r.sample(1, 1, (i + 1) * MS, 0x10000 * (i + 1), event=i)
                with self.subTest(events=events, pipe=pipe):
                    self.assertEqual({row[0] for row in self.table(self.convert(r.finish()), "binary")}, {str(used)})

    def test_event_without_time(self):
        """The time of a sample is then that since the previous sample."""
        r = Recording(events=((1, PAGE_FAULTS, 1, False),))
        r.mapping(1, 0, 0x10000, 0x10000, "/nowhere/one")
        for at in (1, 2, 5):
            r.sample(1, 1, at * MS, 0x10000, period=1)
        ended = self.succeeds(["perf2pbin"], stdin=r.finish())
        self.assertIn("-r HZ", ended.err)
        self.assertIn("event page-faults does not define the CPU time", ended.err)
        self.assertEqual(self.table(ended.out, "binary"), {("one",): (3, 4 * MS)})

    def test_event_that_is_no_clock(self):
        """Samples represent time only for events of time and of cycles; many events are known by
        their names alone."""
        for kind, config, name, is_clock in (
                (1, CPU_CLOCK, "", True), (1, PAGE_FAULTS, "", False), (0, 0, "", True), (0, 1, "", False), (0, 9, "", True),
                (0, 0, "cpu_core/cycles/", True), (0, 10 << 32, "", True), (0, 10 << 32 | 1, "instructions:u", False),
                (4, 60, "", False), (4, 60, "cpu/cpu-cycles/u", True), (9, 17, "armv8_pmuv3_0/cpu_cycles/", True),
                (8, 17, "cycle_activity.stalls_total", False), (2, 300, "sched:sched_switch", False), (3, 1, "cycles", False)):
            with self.subTest(kind=kind, config=config, name=name):
                r = Recording(events=((kind, config, 1000, True),), kind=PLAIN | IDENTIFIER, names=(name,) if name else ())
                r.mapping(1, 0, 0x10000, 0x10000, "/nowhere/one")
                r.sample(1, 1, MS, 0x10000)
                ended = self.succeeds(["perf2pbin"], stdin=r.finish())
                self.assertEqual("does not count time" in ended.err, not is_clock, ended.err)
                self.assertEqual(f"event {name} does" in ended.err, not is_clock and name != "", ended.err)
                self.assertEqual("-e cpu-clock" in ended.err, not is_clock, ended.err)
                self.assertNotIn("-e cpu-clock", self.succeeds(["perf2pbin", "-r", "1000"], stdin=r.finish()).err)

    def test_idle(self):
        """If cpu-clock covers all CPUs, idle ones are sampled too."""
        for config, samples in ((CPU_CLOCK, 1), (TASK_CLOCK, 2)):
            r = Recording(events=((1, config, 1000, True),))
            r.sample(0, 0, MS, 0xffffffff81000000, mode=KERNEL)
            r.sample(3, 3, 2 * MS, 0xffffffff81000000, mode=KERNEL)
            self.assertEqual(self.table(self.convert(r.finish()), "binary"), {("_kernel",): (samples, samples * MS)})


class Bad(PerfCase):
    def test_messages(self):
        data = simple().finish()
        end = struct.unpack_from("<QQ", data, 40)
        compressed = Recording()
        compressed.record(81, bytes(16))
        untimed = Recording(kind=IP | TID)
        untimed.sample(1, 1, 1, 1)
        nothing = Recording()
        nothing.name(1, 1, 1, "x")
        long = Recording()
        long.sample(1, 1, 1, 1, period=1 << 63)
        stranger = Recording(events=((1, 0, 1, False),) * 2, kind=PLAIN | IDENTIFIER)
        stranger.sample(1, 1, 1, 1, event=7)
        short = Recording()
        short.record(9, bytes(8))
        for bad, text in ((b"PERFFILE" + data[8:], "begins with PERFILE2"), (data[:8] + bytes(8) + data[16:], "found 0"),
                          (data[:48] + bytes(8) + data[56:], "perf record was killed"), (data[:sum(end) - 8], "truncated"),
                          (data[:16] + bytes(8) + data[24:], "0x10: expected a list of events"),
                          (compressed.finish(), "record without -z"), (untimed.finish(), "record with -T"),
                          (nothing.finish(), "has no samples"),
                          (long.finish(), f": {end[0]:#x}: expected a sample with a period of at most 2^40, found {1 << 63}"),
                          (stranger.finish(), "an unknown event"), (short.finish(), "that is too short"),
                          (simple(pipe=True).finish()[:16] + data[end[0]:end[0] + 200], "description of an event")):
            with self.subTest(text):
                self.assertIn(text, self.fails(["perf2pbin"], "<stdin>", stdin=bad).err)
        self.assertIn("empty", self.fails(["perf2pbin"], stdin=b"").err)

    def test_every_end(self):
        """Cut at any byte: an error, except that the features at the end are not needed. With
        --salvage, the data before the cut are kept."""
        for pipe in (False, True):
            data = simple(pipe=pipe).finish()
            end = len(data) if pipe else sum(struct.unpack_from("<QQ", data, 40))
            for at in tool.places(1, end):
                ended = tool.run(["perf2pbin", "-q"], stdin=data[:at])
                if ended.status == 0:  # a pipe that ends between two records
                    self.assertTrue(pipe, at)
                    continue
                self.assertEqual((ended.status, ended.out, ended.err.count("\n")), (1, b"", 1), at)
        data = simple().finish()
        end = sum(struct.unpack_from("<QQ", data, 40))
        kept = self.succeeds(["perf2pbin", "--salvage"], stdin=data[:end - 70])
        self.assertIn("truncated: kept 4 samples", kept.err)
        self.assertEqual(sum(n for n, _ in self.table(kept.out, "binary").values()), 4)

    def test_every_byte(self):
        data = simple(kind=PLAIN | CHAIN | IDENTIFIER).finish()
        for at in tool.places(0, len(data), data):
            value = data[at] ^ (255, 1, 128)[at % 3]
            ended = tool.run(["perf2pbin", "-q"], stdin=data[:at] + bytes((value,)) + data[at + 1:])
            self.assertIn(ended.status, (0, 1), (at, value))
            self.assertEqual(ended.err.count("\n"), ended.status, (at, value, ended.err))


class Recorded(PerfCase):
    def test_against_perf(self):
        """Each sample belongs to the same process, thread and file as in perf."""
        want = collections.Counter()
        with open(os.path.join(HERE, "recorded", "job.txt"), encoding="ascii") as f:
            for line in f:
                pid, tid, name, count = line.split()
                name = os.path.basename(name.strip("()"))
                want[pid, tid, {"[kernel.kallsyms]": "_kernel", "[unknown]": "_foreign"}.get(name, name)] += int(count)
        data = self.succeeds(["perf2pbin", "-q", os.path.join(HERE, "recorded", "job.data.xz")]).out
        got = self.table(data, "process,thread,binary")
        self.assertEqual({key: n for key, (n, _) in got.items()}, dict(want))
        self.assertTrue(all(time == n * 2 * MS for n, time in got.values()), got)

    def test_sample(self):
        """samples/perf.data.xz: burn, whose functions are called in proportion to their shares."""
        samples = os.path.join(os.path.dirname(os.path.dirname(HERE)), "samples")
        data = self.succeeds(["perf2pbin", "-q", os.path.join(samples, "perf.data.xz")]).out
        got = self.table(data, "function")
        total = sum(n for n, _ in got.values())
        for share in (50, 30, 20):
            self.assertAlmostEqual(got[f"burn_{share}",][0] / total, share / 100, delta=0.06)

    @unittest.skipUnless(shutil.which("perf"), "perf is not installed")
    def test_now(self):
        """A recording made now, compared with perf's own counts."""
        path = os.path.join(self.folder, "perf.data")
        ended = subprocess.run(["perf", "record", "-q", "-F", "1000", "-o", path, tool.path("samples/burn"), "0.2", "2"],
                               capture_output=True, check=False)
        if ended.returncode != 0 or not os.path.exists(path):
            self.skipTest("perf record is not permitted: " + ended.stderr.decode(errors="replace")[:200])
        text = subprocess.run(["perf", "script", "-i", path, "-F", "tid,ip,sym", "-G"], capture_output=True, check=True).stdout
        want = collections.Counter(line.split()[2] for line in text.decode().splitlines() if b"burn_" in line.encode())
        got = self.table(self.succeeds(["perf2pbin", "-q", path]).out, "function")
        self.assertEqual({name: got[name,][0] for name in want}, dict(want))
        self.assertGreater(sum(want.values()), 100)

    @unittest.skipUnless(shutil.which("perf"), "perf is not installed")
    def test_names_now(self):
        """Threads that change their names, compared with perf."""
        path = os.path.join(self.folder, "perf.data")
        program = """import threading, time
def name_and_burn(*names):
    for name in names:
        with open(f"/proc/self/task/{threading.get_native_id()}/comm", "w") as f:
            f.write(name)
        end = time.thread_time() + 0.1
        while time.thread_time() < end:
            pass
name_and_burn("first", "second")
threads = [threading.Thread(target=name_and_burn, args=names) for names in (("first", "third", "first"), ("fourth",))]
for thread in threads: thread.start()
for thread in threads: thread.join()
name_and_burn("last")"""
        ended = subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "1000", "-o", path, "/usr/bin/python3", "-c", program],
                               capture_output=True, check=False)
        if ended.returncode != 0 or not os.path.exists(path):
            self.skipTest("perf record is not permitted: " + ended.stderr.decode(errors="replace")[:200])
        text = subprocess.run(["perf", "script", "-i", path, "-F", "comm,tid", "-G"], capture_output=True, check=True).stdout
        want = collections.Counter(tuple(reversed(line.split())) for line in text.decode().splitlines())
        got = self.table(self.succeeds(["perf2pbin", "-q", path]).out, "thread,comm")
        self.assertEqual({key: n for key, (n, _) in got.items()}, dict(want))
        self.assertTrue({"first", "second", "third", "fourth", "last"} <= {name for _, name in want}, want)

    @unittest.skipUnless(shutil.which("perf"), "perf is not installed")
    def test_vdso_now(self):
        """Code of the vdso is that of the running kernel, if the build-ids are equal."""
        path = os.path.join(self.folder, "perf.data")
        program = "import time\nend = time.thread_time() + 0.5\nwhile time.thread_time() < end:\n for _ in range(999): time.time()"
        ended = subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "5000", "-o", path, "/usr/bin/python3", "-c", program],
                               capture_output=True, check=False)
        if ended.returncode != 0 or not os.path.exists(path):
            self.skipTest("perf record is not permitted: " + ended.stderr.decode(errors="replace")[:200])
        listed = subprocess.run(["perf", "buildid-list", "-i", path], capture_output=True, check=True).stdout.decode()
        number = [line.split()[0] for line in listed.splitlines() if line.endswith("[vdso]")]
        if not number:
            self.skipTest("no samples in the vdso")
        with open(path, "rb") as f:
            data = f.read()
        for changed in (False, True):
            if changed:
                data = data.replace(bytes.fromhex(number[0]), bytes(20))
            got = self.table(self.convert(data), "binary,function")
            names = {function for binary, function in got if binary == "[vdso]"}
            self.assertEqual("_unknown" in names, changed, names)
            self.assertEqual(any("gettime" in name or "time" in name for name in names), not changed, names)


if __name__ == "__main__":
    unittest.main()
