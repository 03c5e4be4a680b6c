"""Samples of the usual kind are summed in chunks, others one by one: the results are equal to the
last bit.

SPDX-License-Identifier: MIT
"""
import random

import pbin
import profiles
import tool


class UsualTest(tool.Case):
    def both(self, name, profile):
        """The tables with samples in chunks and one by one: --start, even at 0, causes the
        latter."""
        path = self.file(name, pbin.write(profile))
        tables = []
        for options in ([], ["--start", "0"]):
            out = self.succeeds(["pbin-aggregate", "-q", "-k", "thread,function", "--format", "csv", *options, path]).out
            tables.append([line.split(b",") for line in out.splitlines()])
            del tables[-1][-1][6]  # the power of the run is over the wall time, not that of all samples
        self.assertEqual(tables[0], tables[1], name)

    def test_samples_of_all_kinds(self):
        for seed in range(4):
            self.both(f"mixed{seed}.pbin", profiles.make(seed, samples=700, threads=seed + 1))

    def test_runs_of_usual_samples_of_many_sizes(self):
        rng = random.Random(5)
        profile = profiles.make(5, samples=2000)
        for sample in profile.samples:
            if rng.random() < 0.97:
                sample.entries = [(t, rng.randrange(30), rng.randrange(1, 2**rng.choice((1, 20, 36))))
                                  for t in range(rng.randrange(1, 6))]
        self.both("sizes.pbin", profile)

    def test_energies_of_all_sizes(self):
        for powers in ((1e-12, 1e-3), (-2.0, 2.0), (0.0, 0.0), (1e-320, 1e-300), (1e9, 1e13)):
            rng = random.Random(6)
            profile = profiles.make(6, samples=400, threads=3)
            for sample in profile.samples:
                sample.value = rng.uniform(*powers)
            self.both(f"powers{powers[1]}.pbin", profile)

    def test_more_threads_than_a_chunk_holds(self):
        profile = profiles.make(7, samples=6, threads=1500)
        for sample in profile.samples:
            sample.entries = [(t, t % 30, t % 3 * 1000) for t in range(1500)]
        self.both("crowd.pbin", profile)

    def test_idle_energy_that_rounds_to_nothing(self):
        profile = profiles.make(8, samples=40, threads=1)
        for sample in profile.samples:
            sample.value, sample.entries = 1e-30, [(0, 0, 0)]
        self.both("idle.pbin", profile)
