"""Damaged profiles: for any bytes, tools exit with 0 or 1 and one error line, and leave no output
after an error.

The mutations of a seed are always the same; on a slow machine fewer of them are tried.
SPDX-License-Identifier: MIT
"""
import random
import struct
import time

import rawprofile as raw
import tool

SECONDS = 9    # for each of the two tests
MUTATIONS = 700
MEMORY = 2048 * tool.MB
EDGES = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0x7fffffffffffffff,
         0x8000000000000000, 0xffffffffffffffff, 0x7ff0000000000000, 0x7ff8000000000000, 1 << 32, 1 << 40]


def make_run(kind, count=12):
    rng = random.Random(3)
    samples, cpu, us = [], 0, 1_600_000_000_000_000
    for _ in range(count):
        us += rng.randrange(900, 1100)
        cpu += rng.randrange(10**6)
        samples.append(raw.Sample(rng.uniform(0.1, 3), [raw.Thread(t, 0x401000 + rng.randrange(64), cpu)
                                                        for t in (7, 8)], us))
    return raw.Run(samples, [raw.Map(0x401000, 64, "burn"), raw.Map(0x7f0000000000, 32, "libc.so.6")],
                   15000, 100, kind)


def raw_profiles():
    """(options that make it convertible, bytes) of every dialect, layout and byte order."""
    for order in "<>":
        for dialect in raw.DIALECTS:
            for late in (False, True):
                kind = raw.CURRENT if dialect.startswith("intrvelf") else raw.POWER
                data = raw.write(make_run(kind), dialect, late=late, order=order)
                yield (["-v", "5"] if kind == raw.CURRENT else []), data
    run = make_run(raw.POWER)
    times = [s.time_us * 1000 for s in run.samples]
    facts = {"command": "burn 1", "cpus": "2", "frequency": "1000", "unit": "W"}
    yield [], raw.write(run, "sampler") + raw.extension(run, times, facts=facts, names={7: "a", 8: "b"})
    yield ["--salvage"], raw.spool(run, times, facts=facts)
    yield ["--salvage"], raw.killed(run, "sampler")


def mutate(rng, data, others):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        at = rng.randrange(len(data) + 1)
        how = rng.randrange(7)
        if how == 0:
            data[at:] = b""
        elif how == 1:
            del data[at:at + rng.choice([1, 4, 8, 12, 20, 272])]
        elif how == 2:
            data[at:at] = bytes(rng.choice([1, 4, 8, 272]))
        elif how == 3 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif how == 4:
            other = rng.choice(others)
            begin = rng.randrange(len(other))
            data[at:at] = other[begin:begin + rng.randrange(1, 300)]
        else:  # an edge value in a field, more often in headers than in the rest
            at = rng.randrange(min(len(data), 64)) if rng.random() < 0.6 and data else at
            size = rng.choice([1, 2, 4, 8])
            value = rng.choice(EDGES) & ((1 << 8 * size) - 1)
            packed = struct.pack(rng.choice("<>") + {1: "B", 2: "H", 4: "I", 8: "Q"}[size], value)
            data[at:at + size] = packed
        if not data:
            data = bytearray(b"\0")
    return bytes(data)


def blocks(pbin):
    """Head, and (type, payload) of each block."""
    at, found = 16, []
    while at < len(pbin):
        length, kind = struct.unpack_from("<I4s", pbin, at)
        found.append((kind.decode(), pbin[at + 8:at + 8 + length]))
        at += 16 + length
    return pbin[:16], found


def mutate_blocks(rng, pbin):
    """Damages blocks and corrects their checksums, to reach the code after the check."""
    head, found = blocks(pbin)
    for _ in range(rng.choice([1, 1, 2])):
        at = rng.randrange(len(found))
        how = rng.randrange(12)
        if how == 0:
            del found[at]
        elif how == 1:
            found.insert(rng.randrange(len(found) + 1), found[at])
        elif found[at][1]:
            found[at] = (found[at][0], mutate(rng, found[at][1], [found[at][1]]))
        if not found:
            break
    return head + b"".join(raw.block(kind, payload) for kind, payload in found)


class Mutations(tool.Case):
    def ends_well(self, argv, data, what):
        """Status 0 or 1; with an error, one line on stderr. Returns the output of a success."""
        memory = None if tool.is_asan() else MEMORY
        ended = tool.run(argv, stdin=data, memory=memory)
        self.assertIn(ended.status, (0, 1), f"{what}, {argv}: {ended.err[:500]}")
        if ended.status == 0:
            return ended.out
        lines = [line for line in ended.err.splitlines() if line.startswith(argv[0] + ": ")]
        self.assertTrue(lines, f"{what}, {argv}: no message: {ended.err[:500]!r}")
        self.assertFalse([c for c in ended.err if ord(c) < 32 and c != "\n"], f"{what}, {argv}: {ended.err!r}")
        return None

    def test_histogram_too_large_to_be_summed(self):
        data = bytearray(raw.write(make_run(raw.CURRENT), "intrvelf-aggregated"))
        first = 32 + 2 * 272 + 16 + 8  # entry of the first byte of the first map
        data[4:12] = data[first:first + 8] = b"\xff" * 8
        ended = self.fails(["prof2pbin", "-q", "-v", "5"], "<stdin>", stdin=bytes(data))
        self.assertIn("too large to sum", ended.err)

    def test_raw_profiles(self):
        profiles = list(raw_profiles())
        self.assertGreaterEqual(len(profiles), 12)
        for options, data in profiles:
            out = self.ends_well(["prof2pbin", "-q", "--no-dwarf", *options], data, "unharmed")
            self.assertIsNotNone(out)
        rng, others, begin, good = random.Random(11), [d for _, d in profiles], time.monotonic(), 0
        for i in range(MUTATIONS):
            options, data = rng.choice(profiles)
            data = mutate(rng, data, others)
            more = rng.choice([[], [], ["--salvage"], ["-l"], ["-b"], ["--dialect", "pperf"], ["--dialect", "sampler"]])
            pbin = self.ends_well(["prof2pbin", "-q", "--no-dwarf", *options, *more], data, f"mutation {i}")
            if pbin is not None:
                good += 1
                self.ends_well(["pbin-aggregate", "-q"], pbin, f"mutation {i}")
            if time.monotonic() - begin > SECONDS:
                break
        self.assertGreater(good, 0, "no mutation was ever accepted: they are too coarse")

    def test_pbin(self):
        pbins = []
        for options, data in list(raw_profiles())[::3]:
            full = self.ends_well(["prof2pbin", "-q", "--no-dwarf", *options], data, "unharmed")
            pbins += [full, self.ends_well(["pbin-aggregate", "-q", "--format=pbin"], full, "unharmed")]
        self.assertNotIn(None, pbins)
        rng, begin = random.Random(12), time.monotonic()
        for i in range(MUTATIONS):
            pbin = rng.choice(pbins)
            data = mutate_blocks(rng, pbin) if rng.random() < 0.8 else mutate(rng, pbin, pbins)
            argv = rng.choice([["pbin-aggregate", "-q"], ["pbin-aggregate", "-q", "--format=json"],
                               ["pbin-aggregate", "-q", "--salvage"], ["pbin-dump"], ["pbin-dump", "--samples"],
                               ["pbin-dump", "--locations", "--format=json"], ["pbin-dump", "--salvage"]])
            self.ends_well(argv, data, f"mutation {i}")
            if time.monotonic() - begin > SECONDS:
                break
