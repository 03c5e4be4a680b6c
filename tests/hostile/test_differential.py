"""The same facts by every way into the tools - file, pipe, each compression, byte order, layout, number of threads - give
the same tables, to the last byte. Profiles are random, from the independent writers.

PBIN_SEEDS=N tries N profiles of each kind in place of a few. The runner drops the variable: run this file by
"python3 -m unittest" for that, as make torture does.
SPDX-License-Identifier: MIT
"""
import bz2
import gzip
import lzma
import os
import random
import subprocess

import pbin
import profiles
import rawprofile as raw
import tool
from fast_xxh3 import xxh3

SEEDS = int(os.environ.get("PBIN_SEEDS", "2"))
TABLES = (["--format=csv", "-k", "function"], ["--format=json", "-k", "thread,binary,function,line"],
          ["--format=csv", "--energy-model=sample", "-k", "binary"])
PADDING = pbin.block("padd", bytes(1 << 19), xxh3)  # of no known type: makes parts large enough for threads


def packings(data):
    zstd = subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True, check=True).stdout
    half = len(data) // 2
    return {"plain": data, "bzip2": bz2.compress(data), "gzip": gzip.compress(data), "xz": lzma.compress(data), "zstd": zstd,
            "bzip2 twice": bz2.compress(data[:half]) + bz2.compress(data[half:])}


def random_run(seed, kind):
    rng = random.Random(seed)
    maps = [raw.Map(0x401000, 512, "burn"), raw.Map(0x7f0000000000, 256, "libc.so.6")]
    threads, counters, samples, us = rng.randrange(1, 6), {}, [], 1_600_000_000_000_000
    for _ in range(rng.randrange(2, 400)):
        us += rng.randrange(500, 2500)
        seen = []
        for tid in sorted(rng.sample(range(40, 40 + threads), rng.randrange(0, threads + 1))):
            counters[tid] = counters.get(tid, 0) + rng.choice((0, rng.randrange(1, 10**6)))
            pc = rng.choice((0x401000, 0x7f0000000000)) + rng.randrange(256)
            seen.append(raw.Thread(tid, pc if rng.random() < 0.95 else 5, counters[tid]))
        samples.append(raw.Sample(rng.uniform(0.1, 50), seen, us))
    return raw.Run(samples, maps, us - 1_600_000_000_000_000 + 777, 42, kind)


def split(data):
    at, out = 16, [data[:16]]
    while at < len(data):
        size = int.from_bytes(data[at:at + 4], "little") + 16
        out.append(data[at:at + size])
        at += size
    return out


class Same(tool.Case):
    def tables(self, argv, tables=TABLES, **more):
        return [self.succeeds(["pbin-aggregate", "-q", *argv, *table], **more).out for table in tables]

    def ways(self, argv, data, suffix):
        """(how, output of ARGV) for DATA as a file and as a pipe, packed in every way."""
        for what, packed in packings(data).items():
            path = self.file("in" + suffix, packed)
            yield what + " file", self.succeeds([*argv, path]).out
            yield what + " pipe", self.succeeds(argv, stdin=packed).out

    def all_equal(self, outputs, what):
        """Checks that all outputs are equal, and returns that output."""
        (first_name, first), *rest = outputs
        for name, out in rest:
            self.assertEqual(out, first, f"{what}: {name} differs from {first_name}")
        return first

    def test_raw_profiles(self):
        """Byte orders and layouts are varied for the dialects that have them."""
        for seed in range(SEEDS):
            for dialect in raw.DIALECTS:
                current = dialect.startswith("intrvelf")
                run = random_run(seed, raw.CURRENT if current else raw.POWER)
                argv = ["prof2pbin", "-q", "--no-dwarf", "-n", "x", *(["-v", "5"] if current else [])]
                outputs = []
                # it has neither threads nor samples, which an energy model needs
                tables = TABLES if dialect != "intrvelf-aggregated" else TABLES[:1]
                for order in "<>":
                    for late in (False, True) if dialect != "intrvelf-aggregated" else (False,):
                        what = f"seed {seed}, {dialect}, {order}, {'late' if late else 'early'}"
                        data = raw.write(run, dialect, late=late, order=order)
                        ways = self.ways(argv, data, ".bin") if order == "<" and not late else \
                            [("file", self.succeeds([*argv, self.file("in.bin", data)]).out),
                             ("pipe", self.succeeds(argv, stdin=data).out)]
                        profile = self.all_equal(list(ways), what)
                        outputs.append((what, self.tables([], tables, stdin=profile)))
                self.assertIn(b"_unknown", self.all_equal(outputs, dialect)[0])

    def test_pbins(self):
        for seed in range(SEEDS):
            profile = profiles.make(seed + 50, samples=1000, threads=4, gaps=3)
            data = pbin.write(profile, 60, xxh3)
            padded = b"".join(b + (PADDING if b[4:8] == b"SMPL" else b"") for b in split(data))
            path, large = self.file("a.pbin", data), self.file("b.pbin", padded)
            outputs = [("file", self.tables([path])), ("pipe", self.tables([], stdin=data))]
            outputs += [(f"{jobs} threads", self.tables(["-j", jobs, large])) for jobs in (1, 2, 3, 7)]
            outputs += [("other blocks", self.tables([], stdin=pbin.write(profile, size, xxh3))) for size in (1, 7, 1000)]
            for what, packed in packings(data).items():
                outputs += [(what + " file", self.tables([self.file("c.pbin", packed)])),
                            (what + " pipe", self.tables([], stdin=packed))]
            self.assertIn(b"leaf", self.all_equal(outputs, f"seed {seed}")[0])

    def test_aggregated_in_any_order(self):
        """The sums of runs, passed in any way and in any order."""
        for seed in range(SEEDS):
            data = [pbin.write(profiles.make(seed * 3 + i, samples=150), 40, xxh3) for i in range(3)]
            paths = [self.file(f"{i}.pbin", d) for i, d in enumerate(data)]
            packed = [self.file(f"p{i}.pbin", packings(d)[how]) for i, (d, how) in enumerate(zip(data, ("xz", "zstd", "gzip")))]
            outputs = [("in order", self.tables(paths)), ("packed", self.tables(packed)),
                       ("reversed", self.tables(paths[::-1])), ("4 threads", self.tables(["-j", 4, *paths]))]
            self.all_equal(outputs, f"seed {seed}")


if __name__ == "__main__":
    import unittest
    unittest.main()
