"""pbin-aggregate --sensor-lag=auto determines the lag of a sensor from the energies that powers of
functions explain.
SPDX-License-Identifier: MIT
"""
import json
import os
import random
import sys
import unittest

import ownintervals
import pbin
import tool

sys.path.insert(0, os.path.join(os.environ["TESTS"], "bench"))
import truth  # noqa: E402

MS = 1_000_000
WATTS = [5, 15, 25, 40]


class SensorLag(tool.Case):
    def simulated(self, length, lag, threads=1, seconds=2, leaps=False):
        """A sensor that is updated every 1 ms and is LAG windows late, and functions that run for
        LENGTH windows at a time."""
        rng, total = random.Random(f"{length} {lag} {threads}"), int(seconds * 1e9)
        lines = [truth.Timeline(rng, WATTS, length, total, False, "any", 1 if k == 0 else rng.random()) for k in range(threads)]
        counter = truth.Counter(rng, lines, total, jitter=0.2, noise=0.01, lag=lag, leaps=leaps)
        return self.file("late.pbin", truth.profile(rng, lines, counter, MS / 10))

    def own(self, lag):
        """A profile as prof2pbin makes it of the perf engine: a sensor that is updated every 10 ms,
        and pauses."""
        rng = random.Random(lag)
        stays = (stay for _ in iter(int, 1) for stay in ((30 * MS * rng.uniform(0.9, 1.1), 0), (40 * MS * rng.uniform(0.9, 1.1), 1),
                                                         (20 * MS * rng.uniform(0.9, 1.1), None)))
        samples, _ = ownintervals.record(rng, ownintervals.Program(8, stays), 8, {0: 10, 1: 20}, lag=lag)
        fields = {"name": "own", "target": "app", "pmu": pbin.POWER, "unit": "W", "cpus": 1, "cpu_time": 1, "times": 1,
                  "samples": len(samples), "wall_ns": sum(s.interval_ns for s in samples), "own_intervals": 2}
        frames = [pbin.Location(0x1000 + 16 * k, "app", [pbin.Frame(f"f{k}", f"f{k}", "", 0)]) for k in range(2)]
        return self.file("own.pbin", pbin.write(pbin.Profile(fields, [pbin.Thread(1, 1, "app")], frames, samples)))

    def found(self, path, *options):
        ended = tool.run(["pbin-aggregate", "-q", "--sensor-lag=auto", "--format=json", *options, path])
        self.assertEqual((ended.status, ended.err), (0, ""))
        return json.loads(ended.out)["profile"]["sensor_lag_s"] * 1000

    @unittest.skipIf(tool.is_asan(), "reads each profile 25 times, along paths that other tests take, too")
    def test_is_found(self):
        """The lag is found to a twentieth of a window, also with functions that are shorter than
        windows, and with several threads."""
        for length, lag, threads, leaps in ((10, 0.5, 1, False), (10, 2, 1, True), (10, 3.3, 1, False), (1, 1.3, 1, True),
                                            (1, 0.7, 4, False), (0.3, 1, 1, False)):
            path = self.simulated(length, lag, threads, leaps=leaps)
            self.assertAlmostEqual(self.found(path), lag, delta=0.1 if leaps else 0.05, msg=(length, lag, threads, leaps))

    @unittest.skipIf(tool.is_asan(), "reads each profile 25 times, along paths that other tests take, too")
    def test_of_the_perf_engine(self):
        for lag in (0, 5 * MS, 12 * MS):
            self.assertAlmostEqual(self.found(self.own(lag)), lag / MS, delta=0.5)

    def test_none(self):
        """No lag is found with a sensor that is not late, with equal powers, and with a program of
        one function."""
        self.assertEqual(self.found(self.simulated(10, 0, seconds=0.5)), 0)
        self.assertEqual(self.found(self.simulated(10, 0, seconds=0.5), "-k", "thread", "--energy-model=fit"), 0)
        rng = random.Random(3)
        for watts in ([10, 10], [10]):
            lines = [truth.Timeline(rng, watts, 1e9, int(3e8), True, "turn", 1)]
            counter = truth.Counter(rng, lines, int(3e8), noise=0.01)
            self.assertEqual(self.found(self.file("late.pbin", truth.profile(rng, lines, counter, MS / 10))), 0)

    def test_is_that_of_the_table(self):
        """The table has the rows of the lag that was found, for both models and in aggregated
        profiles."""
        path = self.simulated(10, 1, seconds=1)
        lag = f"{self.found(path) / 1000:.6f}"
        self.assertAlmostEqual(float(lag), 0.001, delta=0.00005)
        for options in (["--energy-model=share"], ["--energy-model=fit"], ["--format=pbin"]):
            tables = [tool.run(["pbin-aggregate", "-q", "--sensor-lag", how, *options, path]).out for how in ("auto", lag)]
            self.assertEqual(tables[0], tables[1])

    def test_refused(self):
        path = self.simulated(10, 0, seconds=0.3)
        with open(path, "rb") as file:
            ended = tool.run(["pbin-aggregate", "--sensor-lag=auto"], stdin=file)
        self.assertEqual(ended.status, 1)
        self.assertIn("--sensor-lag=auto reads profiles several times: save this one to a file", ended.err)
        ended = tool.run(["pbin-aggregate", "--sensor-lag=auto", "--energy-model=thread", path])
        self.assertEqual(ended.status, 2)
        self.assertIn("--sensor-lag needs --energy-model=share or fit", ended.err)
        ended = tool.run(["pbin-aggregate", "--sensor-lag=often", path])
        self.assertEqual(ended.status, 2)
        self.assertIn("--sensor-lag", ended.err)
