"""The oracle is compared with sums computed by hand.

SPDX-License-Identifier: MIT
"""
import random
import unittest
from fractions import Fraction as F

import oracle
from rawprofile import Run, Map, Sample, Thread, aggregated_table


def key(pc):
    return ("b", {1: "f", 2: "g", 3: "h", None: "?"}[pc])


class ByHand(unittest.TestCase):
    def test_with_times(self):
        # t: 0, 1 ms, 3 ms; power 2 W, 4 W, 8 W -> 0, 4 mJ, 16 mJ
        samples = [Sample(2.0, [Thread(7, 1, 5_000_000)], 100),
                   Sample(4.0, [Thread(7, 1, 5_250_000), Thread(8, 2, 750_000)], 1100),
                   Sample(8.0, [Thread(7, 2, 5_250_000), Thread(8, 2, 100_000)], 3100)]
        rows = oracle.attribute(samples, key, wall=F(4, 1000), watts=1, times=oracle.times_of(samples))
        f, g = rows["b", "f"], rows["b", "g"]
        self.assertEqual((f.samples, f.entries, f.time), (2, 1, F(5_250_000, 10**9)))
        self.assertEqual(f.energy, F(1, 1000))  # 0.25 ms at 4 W
        # the CPU time of tid 8 fell from 750 to 100 us: another thread, so there is one more entry,
        # and its 100 us count
        self.assertEqual((g.samples, g.entries, g.time), (3, 3, F(850_000, 10**9)))
        self.assertEqual(g.energy, F(3_000 + 800, 10**6))  # 0.75 ms at 4 W, 0.1 ms at 8 W
        self.assertEqual(f.power, F(1, 1000) / F(5_250_000, 10**9))
        self.assertEqual(rows[oracle.IDLE].energy, F(15_200, 10**6))  # 1.9 ms of 2 ms
        self.assertEqual(oracle.total(rows).energy, F(20, 1000))

    def test_idle(self):
        samples = [Sample(3.0, [Thread(7, 1, 10**9)]), Sample(3.0, [Thread(7, 1, 15 * 10**8)]), Sample(3.0, [])]
        rows = oracle.attribute(samples, key, wall=3, watts=2)
        self.assertEqual(rows[oracle.IDLE].energy, 3 + 6)
        self.assertEqual(rows[oracle.IDLE].time, 0)
        self.assertEqual(rows["b", "f"].energy, 6 + 3)
        self.assertIsNone(rows[oracle.IDLE].power)

    def test_around(self):
        """Half of the cost of an interval goes to the PC at its beginning."""
        ms = 10**6
        samples = [Sample(w, [Thread(7, pc, (i + 1) * ms)]) for i, (w, pc) in
                   enumerate(((1.0, 1), (2.0, 2), (4.0, 3), (8.0, 1)))]
        rows = oracle.attribute(samples, key, wall=F(4, 1000), watts=1)
        self.assertEqual(rows["b", "g"].energy, F(1 + 2, 1000))
        self.assertEqual(rows["b", "h"].energy, F(2 + 4, 1000))
        self.assertEqual(rows["b", "f"].energy, F(1 + 1 + 4, 1000))

    def test_without_cpu_time(self):
        samples = [Sample(1.0, [Thread(i, 1 + i % 3, 0) for i in range(6)]),
                   Sample(2.0, [Thread(0, 3, 0)])]
        rows = oracle.attribute(samples, key, wall=2, watts=5, has_cpu=False, cpus=4)
        self.assertEqual(rows["b", "f"].time, 2 * F(4, 6))
        self.assertEqual(rows["b", "h"].time, 2 * F(4, 6) + 1)
        self.assertEqual(rows["b", "h"].energy, F(5, 3) + 5)
        self.assertEqual(rows["b", "f"].energy, F(5, 3) + 5)  # half of the second belongs to its first PC
        self.assertEqual(rows["b", "h"].entries, 3)
        self.assertEqual(oracle.total(rows).energy, 15)

    def test_aggregated(self):
        rows = oracle.attribute_aggregated({1: (3, 1.5), None: (1, 0.5)}, key, wall=2, samples=4, volts=10)
        self.assertEqual((rows["b", "f"].time, rows["b", "f"].energy), (F(3, 2), F(15, 2)))
        self.assertIsNone(oracle.total(rows).entries)
        self.assertEqual(oracle.total(rows).energy, 10)


class Conservation(unittest.TestCase):
    def test_random(self):
        rng = random.Random(2)
        for _ in range(50):
            samples, used, us = [], 0, 0
            counters = {}
            for _ in range(rng.randrange(1, 30)):
                us += rng.randrange(0, 3000)
                threads = []
                for tid in rng.sample(range(5), rng.randrange(0, 5)):
                    step = rng.choice((0, 1, 10**6))
                    counters[tid] = counters.get(tid, 0) + step
                    used += step
                    threads.append(Thread(tid, rng.randrange(1, 4), counters[tid]))
                samples.append(Sample(rng.random(), threads, us))
            rows = oracle.attribute(samples, key, wall=1, watts=12, times=oracle.times_of(samples))
            self.assertEqual(oracle.total(rows).time, F(used, 10**9))
            energy = sum(12 * F(s.value) * F(s.time_us - p.time_us, 10**6)
                         for p, s in zip(samples, samples[1:]))
            self.assertEqual(oracle.total(rows).energy, energy)
            run = Run(samples, [Map(1, 3, "b")], 10**6)
            table = aggregated_table(run)
            self.assertEqual(sum(c for c, _ in table.values()), sum(len(s.threads) for s in samples))


if __name__ == "__main__":
    unittest.main()
