#!/usr/bin/python3
"""Writes a large `sampler` profile of two busy threads: make_profile.py FILE SAMPLES PROGRAM [--extension | --seen]

Numbers resemble those of a real run: power values use all bits of a double, CPU times jitter, program
counters stay in a function for a while.
SPDX-License-Identifier: MIT
"""
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import program  # noqa: E402
import rawprofile as raw  # noqa: E402

DISTINCT = 50
RECORD = struct.Struct("<dIIQQIQQ")


class BusyThread:
    """A thread that stays in a function for some samples, then moves to another one."""

    def __init__(self, rng, pcs):
        self.rng, self.pcs, self.cpu, self.stay = rng, pcs, rng.randrange(10**6), 0

    def step(self):
        if self.stay == 0:
            self.stay = 1 + int(self.rng.expovariate(0.05))
            at = min(len(self.pcs) - 4, int(self.rng.expovariate(4 / len(self.pcs))))
            self.here = self.pcs[at:at + 4]
        self.stay -= 1
        self.cpu += int(980_000 + self.rng.random() ** 4 * 60_000 - self.rng.random() ** 4 * 400_000)
        return self.here[int(self.rng.random() * 4)], self.cpu


def pick_pcs(target, rng):
    """DISTINCT program counters; those of a function are adjacent."""
    functions = list(target.functions.values())
    pcs = {address + rng.randrange(size) for address, size in functions}
    while len(pcs) < DISTINCT:
        address, size = rng.choice(functions)
        pcs.add(address + rng.randrange(size))
    return sorted(pcs)


def write_samples(out, count, pcs, rng):
    a, b = BusyThread(rng, pcs), BusyThread(rng, pcs[::-1])
    pack, uniform = RECORD.pack, rng.uniform
    for begin in range(0, count, 20000):
        out.write(b"".join(pack(uniform(1.0, 9.0), 2, 4001, *a.step(), 4002, *b.step())
                           for _ in range(min(20000, count - begin))))


def seen(count, binary_map):
    """Flags for COUNT samples of two threads: nine out of ten ran."""
    ext = raw.Extended({"command": "./burn", "engine": "ptrace"}, [raw.Image(4001, binary_map.path)],
                       [raw.Mapping(0, binary_map.address, binary_map.size, binary_map.path, 0, binary_map.offset)],
                       [raw.Task(4001, 4001, 0, "burn"), raw.Task(4002, 4001, 0, "burn")])
    pattern = bytes([raw.RAN] * 9 + [0])
    flags = pattern * (2 * count // 10 + 1)
    blocks = b"".join(raw.block("seen", struct.pack("<QI", at, len(part)) + part)
                      for at in range(0, 2 * count, 1 << 20)
                      for part in [flags[at:min(at + (1 << 20), 2 * count)]])
    return raw.definitions(ext), blocks


def main(path, count, binary, extension=False, with_seen=False):
    rng = random.Random(count)
    target = program.Program(binary, base=0x555555554000)
    run = raw.Run([], [target.map], count * 1000, count * 70, raw.POWER)
    with open(path + ".part", "wb") as out:
        out.write(raw.header(run, raw.POWER, "<", samples=count) + raw.vmmaps(run, "<"))
        write_samples(out, count, pick_pcs(target, rng), rng)
        if extension or with_seen:
            times, now = [], 0
            for _ in range(count):
                times.append(now)
                now += 1_000_000 + int(rng.gauss(0, 20_000))
            head, tail = raw.info_block({"command": "./burn"}) + raw.maps_block(run.maps), b""
            if with_seen:
                head, tail = seen(count, target.map)
            out.write(raw.SIGNATURE + head + raw.time_blocks(times) + tail + raw.done_block(count))
    os.rename(path + ".part", path)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], "--extension" in sys.argv, "--seen" in sys.argv)
