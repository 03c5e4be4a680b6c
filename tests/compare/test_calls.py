"""Comparison of calls: exact counts, times over runs.

SPDX-License-Identifier: MIT
"""
import json
import random
import unittest
from fractions import Fraction as F

import pbin
import profiles
import reference
import tool
from pbin import ADD, ADD_SAME, INTEGER, REAL

MEASURES = {"calls": ("", INTEGER, ADD), "returned": ("", INTEGER, ADD), "inclusive": ("ns", REAL, ADD_SAME),
            "total": ("ns", REAL, ADD)}


class Compare(tool.Case):
    def run_file(self, name, rows, measures=MEASURES):
        """ROWS: {function: (calls, inclusive [ns])}; the self time is half of the inclusive
        time."""
        p = pbin.Profile(meta={"name": name, "keys": "function", "dialect": "funcmeter"}, measures=measures)
        for number, (function, (calls, inclusive)) in enumerate(sorted(rows.items())):
            time = F(inclusive) / 2
            p.rows.append(pbin.Row((function,), F(0), calls, 1, time, F(0), time**2, F(0), (time, time, 0, 0)))
            for measure, value in (("calls", calls), ("returned", calls), ("inclusive", inclusive), ("total", inclusive)):
                if measure in measures:
                    p.measured[number, measure] = pbin.Measured.of_run(F(value))
        p.runs.append(pbin.Run(name, 1, 0, 0, sum(r.time for r in p.rows), F(0)))
        return self.file(name, pbin.write(p))

    def compare(self, metric, base, other, *argv):
        table = json.loads(self.succeeds(["pbin-compare", "-q", "-k", "function", "--metric", metric, "--format", "json",
                                          *argv, "--base", *base, "--with", *other]).out)
        return {r["function"]: r for r in table["rows"]}, table

    def two(self, base, other, metric="calls"):
        return self.compare(metric, [self.run_file("a.pbin", base)], [self.run_file("b.pbin", other)])[0]


class Labels(Compare):
    def energy_file(self, name, **joules):
        """Runs of a second with the energy of each row; only rows with code also have time."""
        p = pbin.Profile(meta={"name": name, "keys": "function", "pmu": 3})
        for row, value in sorted(joules.items()):
            value, time = F(value), F(0 if row.startswith("_") else 10**9)
            p.rows.append(pbin.Row((row,), F(0), 1, 1, time, value, time**2, value**2, (time, time, value, value)))
        p.runs.append(pbin.Run(name, 10**9, 0, 9, F(10**9), sum(r.energy for r in p.rows)))
        return self.file(name, pbin.write(p))

    def test_missing_is_zero(self):
        """A missing _idle counts as no energy; a missing function is gone."""
        with_idle, without = self.energy_file("a.pbin", f=4, g=1, _idle=2), self.energy_file("b.pbin", f=4)
        for base, other, values, verdict in ((with_idle, without, (2, 0), "gone"), (without, with_idle, (0, 2), "new")):
            rows, _ = self.compare("energy", [base], [other])
            self.assertEqual((rows["_idle"]["base"], rows["_idle"]["other"]), values)
            self.assertEqual((rows["_idle"]["verdict"], rows["g"]["verdict"]), ("not tested", verdict))
            rows, _ = self.compare("energy", [base] * 2, [other] * 2)
            self.assertIn(rows["_idle"]["verdict"], ("less", "more"))
            self.assertEqual(set(self.compare("energy", [base], [other], "--common")[0]), {"f"})


class Calls(Compare):
    def test_any_difference_is_one(self):
        big = 10**12
        rows = self.two({"same": (5, 10), "one_more": (big, 10**9), "fewer": (2, 1), "gone": (1, 1)},
                        {"same": (5, 90), "one_more": (big + 1, 10**9), "fewer": (1, 1), "new": (1, 1)})
        self.assertEqual({k: (r["p"], r["significant"], r["verdict"]) for k, r in rows.items()},
                         {"same": (1, "no", "not significant"), "one_more": (0, "yes", "more"),
                          "fewer": (0, "yes", "fewer"), "gone": (0, "yes", "gone"), "new": (0, "yes", "new")})
        self.assertEqual((rows["one_more"]["base"], rows["one_more"]["other"]), (big, big + 1))

    def test_runs_that_agree(self):
        base = [self.run_file(f"a{i}.pbin", {"f": (7, 100 + i)}) for i in range(3)]
        other = [self.run_file(f"b{i}.pbin", {"f": (8, 100 - i)}) for i in range(2)]
        self.assertEqual(self.compare("calls", base, other)[0]["f"]["verdict"], "more")
        self.assertEqual(self.compare("calls", base, base[:1])[0]["f"]["p"], 1)
        sums = f"{self.folder}/sum.pbin"
        self.succeeds(["pbin-aggregate", "-q", "-k", "function", "-o", sums, *base])
        self.assertEqual(self.compare("calls", [sums], other)[0]["f"]["verdict"], "more")

    def test_runs_that_differ(self):
        """Welch's test over the runs, which are in files of their own or were aggregated."""
        rng = random.Random(3)
        calls = [[rng.randrange(100, 120) for _ in range(5)], [rng.randrange(104, 130) for _ in range(4)]]
        files = [[self.run_file(f"{s}{i}.pbin", {"f": (n, n), "g": (1, 1)}) for i, n in enumerate(side)]
                 for s, side in zip("ab", calls)]
        want = reference.welch(*[list(map(F, side)) for side in calls], F(0))
        row = self.compare("calls", *files)[0]["f"]
        self.assertAlmostEqual(row["p"], 2 * want, delta=1e-9)  # Holm: two rows
        sums = [f"{self.folder}/sum{i}.pbin" for i in range(2)]
        for out, side in zip(sums, files):
            self.succeeds(["pbin-aggregate", "-q", "-k", "function", "-o", out, *side])
        self.assertAlmostEqual(self.compare("calls", *[[s] for s in sums])[0]["f"]["p"], row["p"], delta=1e-9)
        one = self.compare("calls", files[0], files[1][:1])[0]["f"]
        self.assertEqual((one["p"], one["verdict"]), (None, "not tested"))

    def test_total_and_limit(self):
        a, b = self.run_file("a.pbin", {"f": (5, 1), "g": (3, 1)}), self.run_file("b.pbin", {"f": (4, 1), "g": (6, 1)})
        total = self.compare("calls", [a], [b])[1]["total"]
        self.assertEqual((total["base"], total["other"], total["verdict"]), (8, 10, "more"))
        for condition, status in (("calls>0", 3), ("calls>3", 0), ("calls>2", 3), ("total:calls>1", 3), ("total:calls>2", 0)):
            self.assertEqual(tool.run(["pbin-compare", "-q", "-k", "function", "--fail-if", condition, a, b]).status, status,
                             condition)

    def test_older_profiles(self):
        """Entries in older profiles are calls."""
        rows = self.compare("calls", [self.run_file("a.pbin", {"f": (5, 1)}, {})],
                            [self.run_file("b.pbin", {"f": (6, 1)})])[0]
        self.assertEqual((rows["f"]["base"], rows["f"]["verdict"]), (5, "more"))

    def test_clones_are_one_function(self):
        rows = self.two({"f": (5, 10), "f.part.0": (4, 20)}, {"f": (9, 30)})
        self.assertEqual((rows["f"]["base"], rows["f"]["other"]), (9, 9))
        rows = self.two({"f": (5, 10), "f.part.0": (4, 20)}, {"f": (9, 30)}, "execution-time")
        self.assertAlmostEqual(rows["f"]["base"], 15e-9 / 9)


class Times(Compare):
    def test_values(self):
        rows = self.two({"f": (4, 1000)}, {"f": (5, 1500)}, "inclusive")
        self.assertAlmostEqual(rows["f"]["base"] / 1e-6, 1)
        self.assertAlmostEqual(rows["f"]["difference"] / 0.5e-6, 1)
        self.assertEqual(rows["f"]["verdict"], "not tested")
        rows = self.two({"f": (4, 1000)}, {"f": (5, 1500)}, "call-time")
        self.assertAlmostEqual(rows["f"]["base"] / 250e-9, 1)
        self.assertAlmostEqual(rows["f"]["other"] / 300e-9, 1)
        self.assertEqual(self.two({"f": (4, 1000)}, {"f": (4, 9000)}, "time")["f"]["verdict"], "not tested")

    def test_over_runs(self):
        rng = random.Random(4)
        ns = [[rng.gauss(mean, 50) for _ in range(6)] for mean in (1000, 1300)]
        files = [[self.run_file(f"{s}{i}.pbin", {"f": (10, F(round(n * 16), 16)), "g": (1, 5)}) for i, n in enumerate(side)]
                 for s, side in zip("ab", ns)]
        for metric, scale in (("inclusive", 1), ("call-time", 10)):
            want = reference.welch(*[[F(round(n * 16), 16) / scale for n in side] for side in ns], F(0))
            row = self.compare(metric, *files)[0]["f"]
            self.assertAlmostEqual(row["p"] / float(2 * want), 1, delta=1e-6)
            self.assertEqual(row["verdict"], "slower")

    def test_without_calls(self):
        """A warning accompanies the empty table; a side without calls is compared as far as
        possible."""
        without = self.file("sampled.pbin", pbin.write(profiles.make(1)))
        for options in (["--metric=calls"], ["--metric=inclusive"], ["--metric=call-time"]):
            ended = self.succeeds(["pbin-compare", "--format=json", *options, without, without])
            self.assertRegex(ended.err, "cannot compare [a-z-]+: only profiles of calls have them")
            rows = json.loads(ended.out)["rows"]
            self.assertEqual({(r["base"], r["verdict"]) for r in rows}, {(None, "not tested")})
        rows, _ = self.compare("calls", [self.run_file("a.pbin", {"f": (3, 40)})], [without])
        self.assertEqual((rows["f"]["base"], rows["f"]["other"]), (3, None))
        self.assertIn("nothing is selected", self.succeeds(["pbin-compare", "--metric=calls", "--filter=function=no",
                                                            without, without]).err)


if __name__ == "__main__":
    unittest.main()
