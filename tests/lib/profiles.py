"""Random full profiles with all special cases of attribution.

SPDX-License-Identifier: MIT
"""
import random

import pbin

BINARIES = ("app", "libc.so.6", "_kernel", "_foreign")
FUNCTIONS = ("main", "burn(int)", "std::map<int, char>::find", "_unknown", "copy, \"quoted\"", "leaf", "é")
FILES = ("", "/src/app.c", "/src/map.h", "leaf.c")
COMMS = ("app", "worker", "")


def make_locations(rng, count):
    out, pcs = [], rng.sample(range(0x400000, 0x400000 + 50 * count), count)
    for pc in pcs:
        frames = []
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            name = rng.choice(FUNCTIONS)
            frames.append(pbin.Frame("_Z" + name, name, rng.choice(FILES), rng.randrange(0, 4)))
        out.append(pbin.Location(pc, rng.choice(BINARIES), frames))
    return out


def make_threads(rng, count):
    """Some numbers are used twice: by another process, or by a later thread."""
    return [pbin.Thread(rng.randrange(100, 100 + count), rng.choice((0, 77, 78)), rng.choice(COMMS))
            for _ in range(count)]


def make_sample(rng, threads, here, interval, cpu_time):
    running = sorted(rng.sample(range(threads), rng.randrange(0, threads + 1)))
    nobody_runs = rng.random() < 0.1
    entries = []
    for t in running:
        if rng.random() < 0.4:
            here[t] = rng.randrange(here["count"])
        cpu = 0 if nobody_runs or not cpu_time or rng.random() < 0.3 else rng.randrange(1, 1_200_000)
        entries.append((t, here.setdefault(t, 0), cpu))
    return pbin.Sample(interval, rng.uniform(0.1, 3.0), entries)


def make(seed, samples=120, threads=5, locations=30, gaps=0, **meta):
    rng = random.Random(seed)
    fields = {"name": f"run{seed}", "target": "app", "pmu": pbin.POWER, "unit": "W", "cpus": 2, "cpu_time": 1,
              "times": 1, "latency_ns": 50_000 * samples, "samples": samples, "dialect": "test", **meta}
    # all profiles of a set of runs describe the same program
    same = random.Random(1)
    profile = pbin.Profile(fields, make_threads(same, threads), make_locations(same, locations))
    here = {"count": locations}
    for i in range(samples):
        interval = 0 if i == 0 else rng.randrange(900_000, 1_200_000)
        profile.samples.append(make_sample(rng, threads, here, interval, fields["cpu_time"]))
    for at in rng.sample(range(1, samples), gaps):
        profile.samples[at].interval_ns = rng.randrange(30_000_000, 400_000_000)
    fields.setdefault("wall_ns", sum(s.interval_ns for s in profile.samples) + 12_345)
    return profile
