"""The writer is compared with an independent reader, field by field.

SPDX-License-Identifier: MIT
"""
import struct
import unittest

import rawprofile as raw
from xxh3 import xxh3

RUN = raw.Run(samples=[raw.Sample(1.5, [raw.Thread(7, 0x401010, 1000), raw.Thread(8, 0x99, 5)], 10**15),
                       raw.Sample(0.25, [], 10**15 + 1000),
                       raw.Sample(2.0, [raw.Thread(7, 0x401ffe, 4000)], 10**15 + 2001)],
              maps=[raw.Map(0x401000, 0x1000, "burn"), raw.Map(0x7f0000001000, 0x20, "libc.so.6")],
              wall_us=3000, latency_us=12, kind=raw.POWER)


class Reader:
    def __init__(self, data, order):
        self.data, self.order, self.at = data, order, 0

    def __call__(self, letters):
        values = struct.unpack_from(self.order + letters, self.data, self.at)
        self.at += struct.calcsize(self.order + letters)
        return values[0] if len(values) == 1 else values

    def maps(self, count):
        out = []
        for _ in range(count):
            address, size = self("QQ")
            label = self("256s")
            name = label[:label.index(0)]
            assert label[len(name):] == bytes(256 - len(name))
            out.append((address, size, name.decode()))
        return out

    def samples(self, count, walltime, pmu, cpu):
        out = []
        for _ in range(count):
            time = self("Q") if walltime else None
            value, threads = self(pmu), self("I")
            out.append((time, value, [self("IQQ" if cpu else "IQ") for _ in range(threads)]))
        return out


class Writer(unittest.TestCase):
    def check(self, dialect, late, order, pmu="d"):
        data = raw.write(RUN, dialect, late=late, order=order, pmu=pmu)
        read = Reader(data, order)
        self.assertEqual(read("I"), int(late) if dialect == "intrvelf" else 3)
        self.assertEqual(read("QQQ"), (3000, 12, 3))
        if dialect == "pperf":
            self.assertEqual(read("I"), struct.calcsize("=" + pmu))
        count = read("I")
        self.assertEqual(read.at, 36 if dialect == "pperf" else 32)
        maps = None if late else read.maps(count)
        cpu = dialect != "intrvelf"
        samples = read.samples(3, dialect in ("sampler-walltime", "pperf"), pmu, cpu)
        maps = read.maps(count) if late else maps
        self.assertEqual(read.at, len(data))
        self.assertEqual(maps, [(m.address, m.size, m.label) for m in RUN.maps])
        for got, want in zip(samples, RUN.samples):
            self.assertIn(got[0], (None, want.time_us))
            self.assertEqual(got[1], want.value if pmu in "df" else int(want.value))
            self.assertEqual(got[2], [(t.tid, t.pc) + ((t.cpu_ns,) if cpu else ()) for t in want.threads])

    def test_every_dialect(self):
        for dialect in ("intrvelf", "sampler", "sampler-walltime", "pperf"):
            for late in (False, True):
                for order in "<>":
                    with self.subTest(dialect=dialect, late=late, order=order):
                        self.check(dialect, late, order)

    def test_pmu_types(self):
        for pmu in "dfbBhHiIqQ":
            with self.subTest(pmu=pmu):
                self.check("pperf", False, "<", pmu)
        self.assertEqual(len(raw.write(RUN, "pperf", pmu=5)), 36 + 2 * 272 + 3 * 17 + 3 * 20)

    def test_sizes_of_the_documents(self):
        self.assertEqual(len(raw.header(RUN, 0, "<")), 32)
        self.assertEqual(len(raw.vmmap(RUN.maps[0], "<")), 272)
        self.assertEqual(len(raw.record("intrvelf", RUN.samples[0], "<")), 12 + 2 * 12)
        self.assertEqual(len(raw.record("sampler", RUN.samples[0], "<")), 12 + 2 * 20)

    def test_aggregated(self):
        for order in "<>":
            data = raw.write(RUN, "intrvelf-aggregated", order=order)
            read = Reader(data, order)
            self.assertEqual(read("IQQQI"), (1, 3000, 12, 3, 2))
            read.maps(2)
            self.assertEqual(read("Qd"), (1, 0.75))
            self.assertEqual(read("Q"), 0x401000)
            cells = {i: read("Qd") for i in range(0x1000)}
            self.assertEqual({i: c for i, c in cells.items() if c[0]},
                             {0x10: (1, 0.75), 0xffe: (1, 2.0)})
            self.assertEqual(read("Q"), 0x7f0000001000)
            read.at += 16 * 0x20
            self.assertEqual(read.at, len(data))


class Extension(unittest.TestCase):
    def blocks(self, data):
        self.assertEqual(data[:8], b"\x89PBX\r\n\x1a\n")
        at, out = 8, []
        while at < len(data):
            length, kind = struct.unpack_from("<I4s", data, at)
            end = at + 8 + length
            self.assertEqual(struct.unpack_from("<Q", data, end)[0], xxh3(data[at:end]))
            out.append((kind.decode(), data[at + 8:end]))
            at = end + 8
        self.assertEqual(at, len(data))
        return out

    def test_blocks(self):
        data = raw.extension(RUN, [0, 1000, 2001], {"command": "./burn"}, {7: "burn"})
        blocks = self.blocks(data)
        self.assertEqual([k for k, _ in blocks], ["info", "maps", "thrd", "time", "done"])
        self.assertEqual(blocks[0][1], b"\1\0\0\0\7\0\0\0command\6\0\0\0./burn")
        self.assertEqual(blocks[3][1], struct.pack("<4Q", 0, 0, 1000, 2001))
        self.assertEqual(blocks[4][1], struct.pack("<Q", 3))

    def test_spool(self):
        data = raw.spool(RUN, [0, 1000, 2001], per_block=2)
        self.assertEqual(data[:32], bytes(32))
        blocks = self.blocks(data[32:])
        self.assertEqual([k for k, _ in blocks], ["info", "maps", "rows", "rows"])
        self.assertEqual(blocks[3][1], struct.pack("<IQ", 1, 2001) + raw.record("sampler", RUN.samples[2], "<"))


if __name__ == "__main__":
    unittest.main()
