#!/usr/bin/python3
"""Writes a pbin of one thread whose samples visit many program counters: make_pbin.py FILE SAMPLES PCS

Each PC occurs equally often, in an order without pattern, as in a large program.
SPDX-License-Identifier: MIT
"""
import ctypes
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import pbin  # noqa: E402

BATCH = 50_000


def fast_checksum():
    """libxxhash itself, which the tests have shown to equal xxh3.py, and which is 1000 times as
    fast."""
    function = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
    function.restype, function.argtypes = ctypes.c_uint64, [ctypes.c_char_p, ctypes.c_size_t]
    return lambda data: function(data, len(data))


def main(path, samples, pcs):
    rng = random.Random(pcs)
    w = pbin.Writer({"name": "bench", "target": "big", "pmu": pbin.POWER, "cpus": 1, "cpu_time": 1, "times": 1,
                     "wall_ns": samples * 10**6, "samples": samples, "latency_ns": samples * 1000}, fast_checksum())
    w.put_threads([pbin.Thread(1, 1, "big")])
    for begin in range(0, pcs, BATCH):
        w.put_locations([pbin.Location(0x400000 + 4 * n, "big", [pbin.Frame(f"f{n // 100}", f"f{n // 100}()", "big.c",
                                                                            n % 5000)])
                         for n in range(begin, min(begin + BATCH, pcs))])
    order = list(range(pcs)) * (samples // pcs)
    rng.shuffle(order)
    for begin in range(0, samples, BATCH):
        w.put_samples([pbin.Sample(10**6, rng.uniform(1, 9), [(0, pc, 990_000 + pc % 10_000)])
                       for pc in order[begin:begin + BATCH]])
    with open(path + ".part", "wb") as out:
        out.write(w.finish())
    os.rename(path + ".part", path)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
