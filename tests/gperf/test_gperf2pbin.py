"""gperf2pbin: profiles made here are compared with arithmetic, a recorded one with google-pprof;
and damaged ones.

recorded/cpu.txt is what `google-pprof --text burn cpu.prof` printed for samples/cpu.prof.xz.

SPDX-License-Identifier: MIT
"""
import collections
import os
import random
import struct
import unittest

import pbin
import tool

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES = os.path.join(os.path.dirname(os.path.dirname(HERE)), "samples")
MAPS = """00400000-00401000 r--p 00000000 00:00 12    /nowhere/bin/one
00401000-00402000 r-xp 00001000 00:00 12    /nowhere/bin/one
7f000000-7f002000 r-xp 00000000 00:00 13    /nowhere/lib/two words.so
7f100000-7f101000 rwxp 00000000 00:00 0
build=/nowhere/bin/one
7fff0000-7fff1000 r-xp 00000000 00:00 0    [vdso]
"""


def write(stacks, word="Q", order="<", period=10000, slots=3, maps=MAPS, end=(0, 1, 0)):
    """STACKS: (count, PCs)."""
    words = [0, slots, 0, period] + [0] * (slots - 2)
    for count, pcs in stacks:
        words += [count, len(pcs), *pcs]
    return struct.pack(f"{order}{len(words) + len(end)}{word}", *words, *end) + maps.encode()


class GperfCase(tool.Case):
    def table(self, data, keys, *argv):
        """{keys: (samples, nanoseconds)}"""
        made = self.succeeds(["gperf2pbin", "-q", *argv], stdin=data).out
        text = self.succeeds(["pbin-aggregate", "-q", "--format=csv", "-k", keys], stdin=made).out.decode()
        rows = [line.split(",") for line in text.splitlines()]
        samples, time = (next(i for i, c in enumerate(rows[0]) if c.startswith(name)) for name in ("samples", "time"))
        first, count = rows[0].index(keys.split(",")[0]), len(keys.split(","))
        return {tuple(row[first:first + count]): (int(row[samples]), round(float(row[time]) * 1e9)) for row in rows[1:]}


class Made(GperfCase):
    def test_layouts(self):
        rng = random.Random(3)
        places = {"one": 0x401000, "two words.so": 0x7f000000, "[anon]": 0x7f100000, "[vdso]": 0x7fff0000, "_foreign": 0x100}
        for word in "QI":
            for order in "<>":
                for slots in (3, 7):
                    stacks, want = [], collections.Counter()
                    for _ in range(200):
                        name = rng.choice(list(places))
                        count = rng.randrange(1, 9)
                        stacks.append((count, [places[name] + rng.randrange(200)] + [0x401000] * rng.randrange(0, 40)))
                        want[name] += count
                    data = write(stacks, word, order, 2500, slots)
                    with self.subTest(word=word, order=order, slots=slots):
                        self.assertEqual(self.table(data, "binary"), {(k,): (n, n * 2500000) for k, n in want.items()})
                        force = ["--bits", "64" if word == "Q" else "32", "-b" if order == ">" else "-l"]
                        self.assertEqual(sum(n for n, _ in self.table(data, "binary", *force).values()), sum(want.values()))
                        self.fails(["gperf2pbin", "-l" if order == ">" else "-b"], "<stdin>", stdin=data)
                        self.fails(["gperf2pbin", "--bits", "32" if word == "Q" else "64"], "<stdin>", stdin=data)

    def test_times(self):
        data = write([(3, [0x401000]), (1, [0x7f000000])])
        for argv, each in (([], 10000000), (["-r", "1000"], 1000000), (["--total-time", "2"], 500000000)):
            self.assertEqual(self.table(data, "binary", *argv), {("one",): (3, 3 * each), ("two words.so",): (1, each)})
        self.assertEqual(tool.run(["gperf2pbin", "-r", "1", "--total-time", "2"]).status, 2)

    def test_short_periods(self):
        for period, argv, warns in ((1000, [], True), (1000, ["--total-time", "2"], False), (1000, ["-r", "250"], False), (4000, [], False)):
            ended = self.succeeds(["gperf2pbin", *argv], stdin=write([(3, [0x401000])], period=period))
            self.assertEqual("its period is 1000 us, but many kernels end at most one in 4 ms" in ended.err, warns, (period, argv))

    def test_unloaded_libraries(self):
        """The mappings are those at the end of the run."""
        for outside, warns in ((0, False), (9, False), (11, True), (100, True)):
            data = write([(n, [pc]) for n, pc in ((outside, 0x12345678), (100 - outside, 0x401000)) if n > 0])
            err = self.succeeds(["gperf2pbin"], stdin=data).err
            self.assertEqual(f"{outside} % of the samples are outside its mappings, counted as _foreign" in err, warns, err)

    def test_facts(self):
        profile = pbin.read(self.succeeds(["gperf2pbin", "-q", "-n", "x"], stdin=write([(5, [0x401000])], "I", ">")).out)
        self.assertEqual([profile.meta[name] for name in ("name", "target", "dialect", "samples", "wall_ns", "frequency")],
                         ["x", "one", "gperftools, 32 bits, big endian", 5, 50000000, 100000])


class Bad(tool.Case):
    def test_messages(self):
        good = write([(1, [0x401000])])
        for data, text in ((b"\1" + good[1:], "begins with the words 0, 3, 0"), (good[:20], "something else"),
                           (write([(0, [5])]), "0x28: expected a stack with a count of 1"),
                           (write([(1, [])]), "found a count of 1 and 0"), (write([(1, [1] * 70000)]), "and 70000"),
                           (write([], maps=""), "has no samples"), (write([(1, [1])], maps="nonsense\n"), "found 'nonsense'"),
                           (write([(1, [1])], maps="7-6 r-xp 0 0 0\n"), "expected a mapping"),
                           (write([(1, [1])], maps="1" * 70000), "at most 65536 bytes"),
                           (write([(1 << 41, [1])]), "at most 2^40 samples"),
                           (write([(1 << 40, [1])], period=1000000000), "2^63 ns"),
                           (write([(1, [1])], period=0), "a period of 1"), (good[:48], "truncated")):
            with self.subTest(text):
                self.assertIn(text, self.fails(["gperf2pbin"], "<stdin>", stdin=data).err)
        self.assertIn("empty", self.fails(["gperf2pbin"], stdin=b"").err)

    def test_every_end(self):
        data = write([(1, [0x401000, 5, 6]), (2, [0x401001])], "I")
        for at in tool.places(1, len(data)):
            ended = tool.run(["gperf2pbin", "-q"], stdin=data[:at])
            start = len(data) - len(MAPS)
            whole = at == start or (at > start and data[at - 1:at] == b"\n")  # missing mappings are not noticed
            if ended.status != 0 or not whole:
                self.assertEqual((ended.status, ended.out, ended.err.count("\n")), (1, b"", 1), at)
        kept = self.succeeds(["gperf2pbin", "--salvage"], stdin=data[:20 + 20 + 11])
        self.assertIn("truncated: kept 1 samples", kept.err)
        kept = self.succeeds(["gperf2pbin", "--salvage"], stdin=data[:-5])
        self.assertIn("truncated: kept 3 samples", kept.err)

    def test_every_byte(self):
        data = write([(1, [0x401000, 5, 6]), (2, [0x401001])], "I")
        for at in tool.places(0, len(data), data):
            ended = tool.run(["gperf2pbin", "-q"], stdin=data[:at] + bytes((data[at] ^ (255, 1, 128)[at % 3],)) + data[at + 1:])
            self.assertIn(ended.status, (0, 1), at)
            self.assertEqual(ended.err.count("\n"), ended.status, (at, ended.err))


class Recorded(GperfCase):
    def test_against_google_pprof(self):
        want = {}
        with open(os.path.join(HERE, "recorded", "cpu.txt"), encoding="ascii") as f:
            total = int(f.readline().split()[1])
            for line in f:
                words = line.split(maxsplit=5)
                if words[5].startswith("burn_") and int(words[0]) > 0:
                    want[words[5].strip(),] = int(words[0])
        with open(os.path.join(SAMPLES, "cpu.prof.xz"), "rb") as f:
            got = self.table(f.read(), "function", "-s", SAMPLES)
        self.assertEqual({key: got[key][0] for key in want}, want)
        self.assertEqual(len(want), 3)
        self.assertEqual(sum(n for n, _ in got.values()), total)
        self.assertTrue(all(time == n * 5000000 for n, time in got.values()), got)


if __name__ == "__main__":
    unittest.main()
