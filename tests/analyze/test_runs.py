"""Several runs: mean, standard deviation, extremes and Student's interval per row, compared with
rationals and a table.

SPDX-License-Identifier: MIT
"""
import math
import random
import unittest
from fractions import Fraction as F

import pbin
import profiles
import sums
import test_aggregate
import tool

# two-sided 95 % points of Student's t for 1 to 29 degrees of freedom, as printed in textbooks
T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
       2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045)


class RunsCase(test_aggregate.TableCase):
    def make(self, count, seed=100, **meta):
        """COUNT runs of one program; some functions run only in some of them."""
        made = []
        for i in range(count):
            p = profiles.make(seed + i, samples=40, **meta)
            rng = random.Random(i)
            missing = set(rng.sample(range(30), 15))
            for s in p.samples:
                s.entries = [e for e in s.entries if e[1] not in missing]
            made.append(p)
        return made, [self.profile(f"{i}.pbin", p) for i, p in enumerate(made)]

    def check_spread(self, row, values, what, present):
        n, mean = len(values), sum(values) / len(values)
        sd = math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1))
        scale = max(map(abs, values))
        self.close(row[what], mean, (what, "mean"), scale)
        for suffix, want in (("min", min(values)), ("max", max(values))):
            self.close(row[f"{what}_{suffix}"], want, (what, suffix), scale)
        self.assertAlmostEqual(row[f"{what}_sd"], sd, delta=1e-11 * float(scale))
        if sd:
            t = row[f"{what}_ci95"] / row[f"{what}_sd"] * math.sqrt(n)
            self.assertAlmostEqual(t, T95[n - 2], delta=0.00051)
        self.assertEqual(row["runs"], present)

    def check_runs(self, made, table, keys=("binary", "function")):
        results = [sums.aggregate(p, sums.Options(keys))[0] for p in made]
        wanted, rows = sums.mean(results), self.rows_by_key(table, sums.complete(keys))
        self.assertEqual(set(rows), set(wanted))
        for key, runs in wanted.items():
            present = sum(key in r.rows for r in results)
            for what in ("time", "energy"):
                self.check_spread(rows[key], [getattr(r, what) for r in runs], what, present)
            self.close(rows[key]["samples"], F(sum(r.samples for r in runs), len(made)), (key, "samples"))
            self.close(rows[key]["entries"], F(sum(r.entries for r in runs), len(made)), (key, "entries"))
            time, energy = sum(r.time for r in runs), sum(r.energy for r in runs)
            self.close(rows[key]["power"], energy / time if time else None, (key, "power"))
        totals = [sums.total(r.rows.values()) for r in results]
        for what in ("time", "energy"):
            self.check_spread(table["total"], [getattr(t, what) for t in totals], what, len(made))
            whole = sum(getattr(t, what) for t in totals)
            share = "share" if what == "time" else "energy_share"
            for key, runs in wanted.items():
                self.close(rows[key][share], 100 * sum(getattr(r, what) for r in runs) / whole, (key, share))
        facts = table["profile"]
        self.assertEqual(facts["runs"], len(made))
        self.close(facts["wall_s"], sum(r.wall for r in results) / len(made), "wall")
        self.close(facts["latency_s"], sum(r.latency for r in results) / len(made), "latency")


class Spread(RunsCase):
    def test_two_to_thirty_runs(self):
        made, files = self.make(30)
        for n in tool.some(range(2, 31), 7):
            with self.subTest(runs=n):
                self.check_runs(made[:n], self.table(*files[:n]))

    def test_other_keys(self):
        made, files = self.make(5)
        for keys in (("thread", "line"), ("pc",), ("comm", "process", "inline")):
            with self.subTest(keys=keys):
                self.check_runs(made, self.table("-k", ",".join(keys), *files), keys)

    def test_without_cpu_time(self):
        made, files = self.make(4, cpu_time=0)
        self.check_runs(made, self.table(*files))

    def test_from_sums(self):
        """The standard deviation survives aggregation."""
        made, files = self.make(7)
        parts = []
        for i, group in enumerate((files[:1], files[1:4], files[4:])):
            parts.append(f"{self.folder}/part{i}.pbin")
            self.succeeds(["pbin-aggregate", "-q", "-o", parts[-1], *group])
        self.check_runs(made, self.table(*parts))

    def test_one_run_has_no_spread(self):
        made, files = self.make(1)
        self.assertNotIn("time_sd", self.table(*files)["total"])

    def test_runs_that_are_alike(self):
        made, files = self.make(1)
        table = self.table(*files * 5)
        for row in table["rows"] + [table["total"]]:
            for what in ("time", "energy"):
                self.assertEqual(row[what + "_sd"], 0)
                self.assertEqual(row[what + "_min"], row[what + "_max"])
                self.close(row[what], row[what + "_max"], what)

    def test_digits_survive_large_times(self):
        """Runs of eleven days that differ by nanoseconds: a sum of squares in doubles would give
        0."""
        made = []
        for i, ns in enumerate((0, 3, 7, 1)):
            p = profiles.make(130, samples=2, threads=1)
            p.samples = [pbin.Sample(0, 1.0, [(0, 0, 10**15 + ns)]), pbin.Sample(1000, 1.0, [])]
            made.append(self.profile(f"{i}.pbin", p))
        row = self.table(*made)["rows"][0]
        mean = F(11, 4)
        want = math.sqrt(sum((v - mean) ** 2 for v in (0, 3, 7, 1)) / 3) * 1e-9
        self.assertAlmostEqual(row["time_sd"], want, delta=want * 1e-12)

    def test_other_and_total(self):
        made, files = self.make(6)
        table = self.table("--top", "3", *files)
        whole = self.table(*files)
        other = table["rows"][-1]
        self.assertEqual([r["function"] for r in table["rows"][3:]], ["_idle", "_other"])
        for what in ("time", "energy", "samples", "entries"):
            rest = [F(r[what]) for r in whole["rows"][3:] if r["function"] != "_idle"]
            self.close(other[what], sum(rest), what)
        self.assertIsNone(other["time_sd"], "the spread of a sum is not known from its parts'")
        self.assertEqual(table["total"], whole["total"])


class Add(RunsCase):
    def test_shards_are_one_run(self):
        made, files = self.make(6)
        table = self.table("--mode", "add", *files)
        result = sums.Result({}, sums.Row(), 0, F(0), F(0))
        for p in made:
            one, _ = sums.aggregate(p, sums.Options())
            for key, row in one.rows.items():
                result.rows.setdefault(key, sums.Row()).add(row)
            result.samples, result.wall = result.samples + one.samples, result.wall + one.wall
        self.check_table(table, result, sums.Options())
        self.assertEqual(table["profile"]["runs"], 1)
        self.assertNotIn("time_sd", table["total"])


class Facts(RunsCase):
    def test_texts_that_differ_are_not_shown(self):
        a, b = profiles.make(140, command="./a 1"), profiles.make(141, command="./a 2")
        facts = self.table(self.profile("a.pbin", a), self.profile("b.pbin", b))["profile"]
        self.assertEqual((facts["name"], facts["command"], facts["target"]), (None, None, "app"))


if __name__ == "__main__":
    unittest.main()
