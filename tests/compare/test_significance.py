"""False and missed changes: runs of one program compared with each other, and with slower ones.

SPDX-License-Identifier: MIT
"""
import glob
import itertools
import json
import os
import random
import tempfile
import unittest

import pbin
import simulate
import tool

WORK = {"hot": 45, "warm": 25, "mild": 15, "cool": 8, "cold": 4, "dust_a": 1, "dust_b": 1, "dust_c": 1}
SLOW = dict(WORK, hot=WORK["hot"] * 1.1)
RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded")


def setUpModule():
    global HOLDER, PROGRAM
    HOLDER = tempfile.TemporaryDirectory()
    PROGRAM = simulate.Program(HOLDER.name, "prog", list(WORK))


def tearDownModule():
    HOLDER.cleanup()


def make(name, count, seed, work=WORK, samples=400, **more):
    samples = round(samples * sum(work.values()) / 100)
    return [simulate.save(HOLDER.name, f"{name}{i}.pbin", simulate.run(PROGRAM, seed + i, work, samples, **more))
            for i in range(count)]


class Significance(tool.Case):
    def changed(self, *argv):
        """Names of the significant rows, with their verdicts."""
        table = json.loads(self.succeeds(["pbin-compare", "-q", "--format=json", *argv], timeout=30).out)
        return {r["function"]: r["verdict"] for r in table["rows"] if r["significant"] == "yes"}

    def alarms(self, pairs):
        return sum(bool(self.changed(*pair)) for pair in pairs)

    def pairs(self, files, count):
        every = list(itertools.combinations(files, 2))
        random.Random(7).shuffle(every)
        return every[:count]


class SameProgram(Significance):
    def check(self, files, count):
        """At most 5 % of the pairs may show a difference."""
        count = tool.rounds(count, 5)
        alarms = self.alarms(self.pairs(files, count))
        self.assertLessEqual(alarms, count * 5 // 100, f"{alarms} of {count} pairs")

    def test_independent_samples(self):
        self.check(make("a", 40, 1000, stay=1), 200)

    def test_long_stays(self):
        """A stay of 20 samples: if these were treated as independent, most pairs would be false
        alarms."""
        self.check(make("b", 40, 2000, stay=20), 200)

    def test_three_threads(self):
        self.check(make("c", 24, 3000, samples=200, stay=3, tids=(100, 101, 102)), 200)

    def test_machine_of_changing_speed(self):
        files = [simulate.save(HOLDER.name, f"d{i}.pbin", simulate.run(PROGRAM, 4000 + i, WORK, 400,
                                                                     speed=random.Random(i).uniform(0.7, 1.3)))
                 for i in range(30)]
        self.check(files, 200)

    def test_repeated_runs(self):
        files, rng = make("e", 40, 5000, stay=3), random.Random(11)
        alarms, count = 0, tool.rounds(100, 5)
        for _ in range(count):
            chosen = rng.sample(files, 10)
            alarms += bool(self.changed("--base", *chosen[:5], "--with", *chosen[5:]))
        self.assertLessEqual(alarms, count * 5 // 100)

    def test_recorded(self):
        for name in ("burn", "py", "sql"):
            with self.subTest(name):
                files = sorted(glob.glob(os.path.join(RECORDED, name + "[0-9]*.pbin.bz2")))
                self.assertEqual(len(files), 12)
                self.check(files, 66)


class SlowerFunction(Significance):
    def test_ten_percent_slower_in_five_runs(self):
        """Runs of 4 s at 1 kHz; each pair uses 5 of 15 runs of both programs."""
        base, slow = make("f", 15, 6000, samples=4000), make("g", 15, 7000, SLOW, samples=4000)
        rng, found, wrong, pairs = random.Random(13), 0, 0, tool.rounds(60, 3)
        for _ in range(pairs):
            changed = self.changed("--base", *rng.sample(base, 5), "--with", *rng.sample(slow, 5))
            found += changed.pop("hot", None) == "slower"
            wrong += bool(changed)
        self.assertGreaterEqual(found, pairs * 95 // 100)
        self.assertLessEqual(wrong, pairs // 10, "others were blamed")

    def test_twice_as_slow_in_single_runs(self):
        twice = dict(WORK, mild=WORK["mild"] * 2)
        base, slow = make("h", 10, 8000, samples=1600), make("i", 10, 9000, twice, samples=1600)
        results = [self.changed(a, b) for a, b in zip(base, slow)]
        self.assertGreaterEqual(sum(r.get("mild") == "slower" for r in results), 9, results)
        self.assertLessEqual(sum(set(r) != {"mild"} for r in results), 1, results)
        back = [self.changed(b, a) for a, b in zip(base, slow)]
        self.assertEqual([r.get("mild") == "faster" for r in back],
                         [r.get("mild") == "slower" for r in results])

    def test_new_and_gone(self):
        replaced = dict(WORK)
        replaced["dust_a"] = replaced.pop("mild")
        base, other = make("j", 1, 10000), make("k", 1, 10001, {k: v for k, v in replaced.items() if k != "mild"})
        self.assertEqual(self.changed(*base, *other)["mild"], "gone")
        self.assertEqual(self.changed(*other, *base)["mild"], "new")

    def test_one_long_stay_proves_nothing(self):
        """In a program of phases, each function is entered about once."""
        files = [simulate.save(HOLDER.name, f"l{i}.pbin", simulate.run(PROGRAM, 11000 + i, WORK, 400, stay=200))
                 for i in range(10)]
        self.assertEqual([self.changed(*p) for p in self.pairs(files, 20)], [{}] * 20)

    def test_kernel_of_single_runs(self):
        """The time of the kernel depends on the rest of the machine: one run on each side proves
        nothing, several runs do."""
        def save(name, parts):
            samples = [pbin.Sample(10**6, 1.0, [(0, int(i % 10 < kernel), 10**6)]) for i, kernel in enumerate(parts)]
            profile = pbin.Profile({"name": name, "target": "app", "pmu": pbin.POWER, "unit": "W", "cpus": 1, "cpu_time": 1,
                                    "times": 1, "samples": len(samples), "wall_ns": len(samples) * 10**6},
                                   [pbin.Thread(1, 1, "app")],
                                   [pbin.Location(0x1000, "app", [pbin.Frame("work", "work")]),
                                    pbin.Location(0x2000, "_kernel", [pbin.Frame("_kernel", "_kernel")])], samples)
            return self.file(name, pbin.write(profile))
        few = [save(f"few{i}.pbin", [1] * (2000 + i)) for i in range(3)]
        much = [save(f"much{i}.pbin", [4] * (2000 + i)) for i in range(3)]
        self.assertNotIn("_kernel", self.changed(few[0], much[0]))
        self.assertEqual(self.changed("--base", *few, "--with", *much)["_kernel"], "slower")
        work = [save(f"{name}.pbin", [k] * 2000) for name, k in (("less", 1), ("more", 6))]
        self.assertEqual(self.changed(*work), {"work": "faster"})

    def test_limits(self):
        base, slow = make("m", 1, 12000), make("n", 1, 13000, dict(WORK, mild=WORK["mild"] * 3))
        self.assertIn("mild", self.changed(*base, *slow))
        self.assertEqual(self.changed("--alpha", "1e-12", *base, *slow), {})
        self.assertEqual(self.changed("--noise", "500", *base, *slow), {})
        self.assertEqual(self.changed("--min-share", "90", *base, *slow), {})


if __name__ == "__main__":
    unittest.main()
