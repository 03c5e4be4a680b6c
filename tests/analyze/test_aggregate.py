"""pbin-aggregate against exact sums over profiles that the tests wrote themselves.

SPDX-License-Identifier: MIT
"""
import csv
import dataclasses
import io
import itertools
import json
import math
import os
import random
import re
import statistics
import unittest
from fractions import Fraction as F

import pbin
import profiles
import sums
import tool

TOLERANCE = F(1, 10**12)


class TableCase(tool.Case):
    def profile(self, name, profile):
        return self.file(name, pbin.write(profile))

    def table(self, *argv, **more):
        ended = self.succeeds(["pbin-aggregate", "-q", "--format", "json", *argv], **more)
        return json.loads(ended.out)

    def close(self, got, want, what, scale=0):
        if want is None:
            self.assertIsNone(got, what)
            return
        self.assertIsNotNone(got, what)
        self.assertLessEqual(abs(F(got) - F(want)), TOLERANCE * max(abs(F(want)), abs(F(scale))), f"{what}: {got}, "
                             f"expected {float(want)!r}")

    def key_of(self, row, keys):
        return tuple(row[k] if k in pbin.TEXT_KEYS else sums.NUMBERS.get(row[k]) or
                     (int(row[k], 16) if k == "pc" and row[k] else row[k] or 0)
                     for k in keys)

    def rows_by_key(self, table, keys):
        rows = {self.key_of(r, keys): r for r in table["rows"]}
        self.assertEqual(len(rows), len(table["rows"]), "a key has two rows")
        return rows

    def check_values(self, got, row, total, what, power=None):
        self.close(got["time"], row.time, f"{what} time")
        self.close(got["share"], 100 * row.time / total.time if total.time else None, f"{what} share")
        self.close(got["samples"], row.samples, f"{what} samples")
        self.close(got["entries"], row.entries, f"{what} entries")
        self.close(got["energy"], row.energy, f"{what} energy")
        self.close(got["power"], power if what == "total" else row.energy / row.time if row.time else None,
                   f"{what} power")
        self.close(got["energy_share"], 100 * row.energy / total.energy if total.energy else None,
                   f"{what} energy share")

    def check_table(self, table, result, options, measured=None):
        rows, total = self.rows_by_key(table, options.keys), sums.total(result.rows.values())
        self.assertEqual(set(rows), set(result.rows))
        for key, row in result.rows.items():
            self.check_values(rows[key], row, total, key)
        facts = table["profile"]
        self.check_values(table["total"], total, total, "total", facts["power_W"])
        self.close(facts["thread_samples"], total.samples, "thread samples")
        self.close(facts["time_s"], total.time, "time_s")
        energy = total.energy if measured is None else measured
        self.close(facts["energy_J"], energy, "energy_J")
        self.close(facts["wall_s"], result.wall or None, "wall_s")
        self.close(facts["samples"], result.samples, "samples")
        self.close(facts["frequency_hz"], result.samples / result.wall if result.wall and result.samples else None,
                   "frequency")
        self.close(facts["power_W"], energy / result.wall if result.wall else None, "power_W")
        order = [r["time"] for r in table["rows"]]
        self.assertEqual(order, sorted(order, reverse=True))

    def check(self, profile, options, file=None, *argv):
        """The tool's table of PROFILE equals that of the oracle."""
        result, _ = sums.aggregate(profile, options)
        table = self.table(*options.argv(), *argv, file or self.profile("p.pbin", profile))
        filtered = options.include or options.exclude or options.external
        # the model thread charges more or less energy than was measured, but the facts show the
        # measured energy
        loses = options.model == "thread" and not filtered
        exact = sums.aggregate(profile, dataclasses.replace(options, model="sample"))[0] if loses else result
        self.check_table(table, result, options, sums.total(exact.rows.values()).energy if loses else None)
        if filtered:
            self.close(table["profile"]["excluded_time_s"], result.excluded.time, "excluded_time_s")
            self.close(table["profile"]["excluded_energy_J"], result.excluded.energy, "excluded_energy_J")
        return table, result


class Keys(TableCase):
    def test_every_combination(self):
        profile = profiles.make(1)
        file = self.profile("p.pbin", profile)
        for count in (1, 2, 3):
            for keys in tool.some(itertools.combinations(sums.KEYS, count), 2 * count - 1):
                with self.subTest(keys=keys):
                    self.check(profile, sums.Options(keys), file)

    def test_order_of_keys_is_order_of_columns(self):
        profile = profiles.make(2)
        for keys in (("function", "binary"), ("binary", "pc", "comm", "line"), ("line", "process")):
            with self.subTest(keys=keys):
                table, _ = self.check(profile, sums.Options(keys))
                wanted = sums.complete(keys)
                self.assertEqual([c["name"] for c in table["columns"][:len(wanted)]], list(wanted))

    def test_all_keys_at_once(self):
        self.check(profiles.make(3, samples=300, threads=9, locations=80), sums.Options(sums.KEYS))

    def test_threads_option(self):
        profile = profiles.make(4)
        file = self.profile("p.pbin", profile)
        table = self.table("--threads", file)
        result, _ = sums.aggregate(profile, sums.Options(("thread", "binary", "function")))
        self.check_table(table, result, sums.Options(("thread", "binary", "function")))
        same = self.table("--threads", "-k", "function,thread", file)
        self.assertEqual([c["name"] for c in same["columns"][:2]], ["function", "thread"])

    def test_csv_says_the_same(self):
        profile = profiles.make(5)
        file = self.profile("p.pbin", profile)
        table = self.table("-k", "binary,function,pc", file)
        out = self.succeeds(["pbin-aggregate", "-q", "--format", "csv", "--total", "-k", "binary,function,pc", file]).out
        rows = list(csv.reader(io.StringIO(out.decode(), newline="")))
        self.assertEqual(rows[0], [c["name"] + (f" [{c['unit']}]" if c["unit"] else "") for c in table["columns"]])
        for cells, want in zip(rows[1:], table["rows"] + [table["total"]], strict=True):
            for column, cell in zip(table["columns"], cells, strict=True):
                value = want[column["name"]]
                if isinstance(value, float):
                    self.assertEqual(float(cell), value)
                else:
                    self.assertEqual(cell, "" if value is None else str(value))

    def test_wrong_keys(self):
        for keys in ("", "function,", "frob", "function,function", "Function"):
            with self.subTest(keys=keys):
                self.assertEqual(tool.run(["pbin-aggregate", "-k", keys, "x"]).status, 2)


class Attribution(TableCase):
    def test_energy_of_threads(self):
        for cpu_time in (0, 1):
            with self.subTest(cpu_time=cpu_time):
                self.check(profiles.make(10, cpu_time=cpu_time), sums.Options(model="thread"))

    def test_wall_time(self):
        for cpu_time in (0, 1):
            for model in ("share", "sample", "thread"):
                with self.subTest(cpu_time=cpu_time, model=model):
                    self.check(profiles.make(11, cpu_time=cpu_time),
                               sums.Options(wall_time=True, model=model))

    def test_wall_time_has_the_power_that_was_measured(self):
        """A thread waits for most of each second at 2 W: the power in its wall time is 2 W, not 2 W
        * CPU time / wall time."""
        profile = pbin.Profile({"pmu": pbin.POWER, "times": 1, "cpu_time": 1, "samples": 10, "cpus": 4,
                                "wall_ns": 10**10}, [pbin.Thread(1)],
                               [pbin.Location(1, "app", [pbin.Frame("f", "f")])],
                               [pbin.Sample(10**9, 2.0, [(0, 0, 10**7)])] * 10)
        at = self.profile("w.pbin", profile)
        for model, energy in (("share", 20), ("sample", 20), ("thread", 20)):
            table = self.table("--wall-time", "--energy-model", model, at)
            self.assertEqual([(r["function"], r["time"], r["power"], r["energy"]) for r in table["rows"]],
                             [("f", 10, 2, energy)], model)

    def test_without_cpu_time(self):
        for cpus in (0, 1, 2, 64):
            with self.subTest(cpus=cpus):
                self.check(profiles.make(12, cpu_time=0, cpus=cpus), sums.Options())

    def test_without_times(self):
        for cpu_time in (0, 1):
            with self.subTest(cpu_time=cpu_time):
                self.check(profiles.make(13, times=0, cpu_time=cpu_time), sums.Options())

    def test_subtract_latency(self):
        for latency in (0, 120 * 50_000, 120 * 1_000_000, 120 * 3_000_000):  # the last one exceeds the wall time
            for cpu_time, wall_time in ((1, False), (1, True), (0, False)):
                with self.subTest(latency=latency, cpu_time=cpu_time, wall_time=wall_time):
                    self.check(profiles.make(14, latency_ns=latency, cpu_time=cpu_time),
                               sums.Options(subtract_latency="interval", wall_time=wall_time))

    def test_subtract_latency_of_threads(self):
        for cpu_time, wall_time in ((1, False), (1, True), (0, False)):
            profile = profiles.make(14, latency_ns=120 * 1_000_000, cpu_time=cpu_time)
            options = sums.Options(subtract_latency="thread", wall_time=wall_time, model="thread")
            with self.subTest(cpu_time=cpu_time, wall_time=wall_time):
                table, _ = self.check(profile, options)
                at = self.profile("p.pbin", profile)
                plain = self.table("--energy-model", "thread", at)
                self.assertLess(table["total"]["time"], plain["total"]["time"])
        # this model is implied, and no other is possible; the subtracted latency is recorded
        kept = os.path.join(self.folder, "kept.pbin")
        self.succeeds(["pbin-aggregate", "--subtract-latency=thread", at, "-o", kept])
        for file in (at, kept):
            self.assertEqual(self.table("--subtract-latency=thread", file)["total"]["energy"], table["total"]["energy"])
        self.fails(["pbin-aggregate", "--subtract-latency", kept], kept)
        for model in ("share", "sample", "fit"):
            ended = tool.run(["pbin-aggregate", "--subtract-latency=thread", "--energy-model", model, at])
            self.assertEqual((ended.status, ended.out), (2, b""))
            self.assertIn("--subtract-latency=thread needs --energy-model=thread", ended.err)

    def test_latency_that_an_interval_is_too_short_for_is_owed(self):
        # 1 ms each: 0.4 ms + 0.6 ms owed, which the third interval of 5 ms pays
        entry = [(0, 0, 100)]
        profile = pbin.Profile({"pmu": pbin.POWER, "times": 1, "cpu_time": 0, "samples": 3, "latency_ns": 3_000_000,
                                "wall_ns": 6_000_000}, [pbin.Thread(1)],
                               [pbin.Location(1, "app", [pbin.Frame("f", "f")])],
                               [pbin.Sample(ns, 1.0, entry) for ns in (0, 400_000, 5_000_000)])
        table, _ = self.check(profile, sums.Options(subtract_latency="interval"))
        self.close(table["total"]["time"], F(24, 10000), "5 + 0.4 - 3 ms")

    def test_latency_in_which_the_target_runs(self):
        """The sampler takes half of the wall time for 200 threads, but these use both CPUs, or all
        that there are: nothing is subtracted."""
        threads = [pbin.Thread(1 + i) for i in range(200)]
        entries = [(i, 0, 10**7) for i in range(200)]
        for cpus, model in itertools.product((2, 0), ("share", "sample", "thread")):
            profile = pbin.Profile({"pmu": pbin.POWER, "times": 1, "cpu_time": 1, "samples": 5, "cpus": cpus,
                                    "latency_ns": 5 * 10**9 // 2, "wall_ns": 5 * 10**9}, threads,
                                   [pbin.Location(1, "app", [pbin.Frame("f", "f")])],
                                   [pbin.Sample(10**9, 3.0, entries)] * 5)
            at = self.profile("l.pbin", profile)
            plain = self.table("--energy-model", model, at)
            table = self.table("--energy-model", model, "--subtract-latency", at)
            for what in ("wall_s", "time_s", "energy_J", "power_W"):
                self.close(table["profile"][what], plain["profile"][what], what)
            self.close(table["total"]["energy"], 30 if model == "thread" else 15, model)

    def test_units_and_totals_hold_for_any_key(self):
        profile = profiles.make(15)
        file = self.profile("p.pbin", profile)
        totals = [self.table("-k", k, file)["total"] for k in sums.KEYS]
        for t in totals[1:]:
            self.assertEqual((t["time"], t["energy"], t["samples"]), tuple(totals[0][k] for k in
                                                                          ("time", "energy", "samples")))


class Filters(TableCase):
    SHOWN = {"process": "7?", "thread": "10[13]", "comm": "w*", "binary": "lib*", "file": "*.c", "function": "*u*",
             "inline": "ma*", "line": "2", "pc": "0x4*[02468ace]"}
    REGEX = {"process": "^7[78]$", "thread": "1$", "comm": "^$", "binary": "^(app|_kernel)$", "file": "map",
             "function": "int", "inline": "f$|:", "line": "[12]", "pc": "^0x4001"}

    def setUp(self):
        super().setUp()
        self.made = profiles.make(20)
        self.at = self.profile("p.pbin", self.made)

    def test_each_key(self):
        whole = sums.aggregate(self.made, sums.Options())[0]
        for key in sums.KEYS:
            for op, patterns in (("=", self.SHOWN), ("~", self.REGEX)):
                for kind in ("include", "exclude"):
                    with self.subTest(key=key, op=op, kind=kind):
                        options = sums.Options(**{kind: [(key, op, patterns[key])]})
                        table, result = self.check(self.made, options, self.at)
                        self.assertTrue(result.excluded.samples and result.rows, "filters nothing, or all")
                        self.assertEqual(result.excluded.energy + sums.total(result.rows.values()).energy,
                                         sums.total(whole.rows.values()).energy)

    def test_with_keys_that_are_numbers(self):
        """Unknown lines and processes also have rows, and are distinguished from excluded ones."""
        for key in ("line", "process", "thread", "pc"):
            for more in ({"exclude": [("binary", "=", "app")]}, {"include": [("function", "=", "*u*")]},
                         {"wall_time": True}):
                with self.subTest(key=key, **more):
                    self.check(self.made, sums.Options((key,), **more), self.at)

    def test_several(self):
        for options in (sums.Options(include=[("function", "=", "main"), ("function", "~", "leaf")]),
                        sums.Options(include=[("function", "=", "*u*"), ("binary", "=", "app")]),
                        sums.Options(include=[("binary", "=", "*")], exclude=[("line", "=", "0"), ("comm", "=", "")]),
                        sums.Options(external=True), sums.Options(external=True, exclude=[("line", "=", "1")])):
            with self.subTest(options.argv()):
                self.check(self.made, options, self.at)

    def test_nothing_is_left(self):
        options = sums.Options(include=[("function", "=", "no such")])
        table, result = self.check(self.made, options, self.at)
        self.assertEqual(table["rows"], [])

    def test_wrong_filters(self):
        for text in ("", "function", "frob=1", "=x", "~x", "function~(", "function~["):
            for option in ("--filter", "--exclude"):
                with self.subTest(text=text):
                    self.assertEqual(tool.run(["pbin-aggregate", option, text, self.at]).status, 2)


class Windows(TableCase):
    def setUp(self):
        super().setUp()
        self.made = profiles.make(30)
        self.at = self.profile("p.pbin", self.made)

    def test_windows(self):
        for start, end in ((None, F(1, 16)), (F(1, 16), None), (F(1, 32), F(3, 32)), (F(0), F(0)), (F(9), F(10))):
            with self.subTest(start=start, end=end):
                self.check(self.made, sums.Options(start=start, end=end), self.at)

    def test_bounds_are_half_open(self):
        at = [F(sum(s.interval_ns for s in self.made.samples[:i + 1]), 10**9) for i in range(20)]
        for i in (0, 1, 7):
            first = self.table("--end", repr(float(at[i])), self.at)["profile"]["samples"]
            second = self.table("--start", repr(float(at[i])), self.at)["profile"]["samples"]
            self.assertEqual((first, second), (i, 120 - i))

    def test_adjacent_windows_sum_to_the_whole(self):
        edges = ["0", "0.01", "0.0100001", "0.05", "0.07", "1"]
        parts = [self.table("--start", a, "--end", b, self.at) for a, b in zip(edges, edges[1:])]
        whole = self.table(self.at)
        keys = ("binary", "function")
        for key, row in self.rows_by_key(whole, keys).items():
            for what in ("time", "samples"):
                got = sum(F(self.rows_by_key(p, keys).get(key, {}).get(what) or 0) for p in parts)
                self.close(got, F(row[what]), (key, what))
        # only in the whole profile are intervals at a border shared with samples on the other side
        self.close(sum(F(p["total"]["energy"]) for p in parts), F(whole["total"]["energy"]), "energy")

    def test_phases(self):
        for function in ("burn(int)", "main", "_Zleaf", "std::map<int, char>::find", "no such"):
            for number in (0, 1, 2, 3, 1000):
                with self.subTest(function=function, number=number):
                    self.check(self.made, sums.Options(phase=function, phase_number=number), self.at)

    def test_all_phases_are_what_follows_the_first(self):
        whole = self.table("--phase", "leaf", self.at)["total"]
        parts = [self.table("--phase", f"leaf:{n}", self.at)["total"] for n in range(1, 200)]
        for what in ("time", "energy", "samples"):
            self.close(sum(F(p[what]) for p in parts), whole[what], what)

    def test_all_together(self):
        self.check(profiles.make(31, gaps=3), sums.Options(
            ("thread", "function", "line"), start=F(1, 64), end=F(1, 2), phase="main", model="share",
            exclude=[("comm", "=", "")], subtract_latency="interval", max_gap=F(1, 64), wall_time=True))


class Gaps(TableCase):
    def test_max_gap(self):
        for wall_time, cpu_time, latency in itertools.product((False, True), (0, 1), (None, "interval")):
            with self.subTest(wall_time=wall_time, cpu_time=cpu_time, latency=latency):
                profile = profiles.make(40, gaps=4, cpu_time=cpu_time)
                options = sums.Options(max_gap=F(1, 128), wall_time=wall_time, subtract_latency=latency)
                table, result = self.check(profile, options)
                self.assertIn("_gap", [r["function"] for r in table["rows"]])
                whole = self.table(*sums.Options(wall_time=wall_time, subtract_latency=latency).argv(),
                                   self.profile("p.pbin", profile))
                self.close(table["total"]["energy"], whole["total"]["energy"], "energy stays whole")

    def warning(self, profile, *argv):
        return tool.run(["pbin-aggregate", *argv, self.profile("p.pbin", profile)]).err

    def test_warning(self):
        profile = profiles.make(41)
        self.assertEqual(self.warning(profile), "")
        profile.samples[50].interval_ns = 2_000_000_000
        ends = sum(s.interval_ns for s in profile.samples[:51]) / 1e9
        err = self.warning(profile)
        self.assertEqual(err.count("\n"), 1)
        self.assertRegex(err, r": 1 interval is over 20 times the median \(about [\d.]+ ms\): 2 s, ending at "
                              rf"{ends:.3f} s \(--max-gap S ")
        median = statistics.median(s.interval_ns for s in profile.samples[1:]) / 1e6
        self.assertAlmostEqual(float(re.search(r"median \(about ([\d.]+) ms\)", err).group(1)) / median, 1, delta=0.018)
        profile.samples[80].interval_ns = 1_000_000_000
        self.assertRegex(self.warning(profile), r": 2 intervals are over 20 times .*: the longest 2 s, ending at ")
        for argv in (["-q"], ["--max-gap", "1"]):
            self.assertEqual(self.warning(profile, *argv), "")

    def test_over_20_times_the_median(self):
        """The error of the median is at most 3 %."""
        for factor, found in ((15, False), (19, False), (20, False), (21, True), (25, True)):
            profile = profiles.make(42)
            for s in profile.samples[1:]:
                s.interval_ns = 1_000_000
            profile.samples[60].interval_ns = factor * 1_000_000
            with self.subTest(factor=factor):
                self.assertEqual("1 interval is" in self.warning(profile), found)

    def test_less_than_1_percent(self):
        """Most recordings have a long interval, due to the end of a process or a busy machine."""
        for samples, found in ((2000, True), (3000, False)):
            profile = profiles.make(43, samples=samples)
            for s in profile.samples[1:]:
                s.interval_ns = 1_000_000
            profile.samples[60].interval_ns = 25_000_000
            with self.subTest(samples=samples):
                self.assertEqual("1 interval is" in self.warning(profile), found)

    def test_warning_is_there_once_for_many_files(self):
        profile = profiles.make(41)
        profile.samples[50].interval_ns = 2_000_000_000
        files = [self.profile(f"{i}.pbin", profile) for i in range(5)]
        for jobs in ("1", "4"):
            lines = tool.run(["pbin-aggregate", "-j", jobs, *files]).err.splitlines()
            self.assertEqual(len([l for l in lines if "times the median" in l]), 1, lines)
            self.assertIn("pbin-aggregate: 4 more warnings not shown", lines)

    def test_no_advice_that_a_tool_does_not_have(self):
        profile = profiles.make(41)
        profile.samples[50].interval_ns = 2_000_000_000
        file = self.profile("g.pbin", profile)
        for argv in (["pbin-compare", file, file], ["pbin-plot", "bars", "-o", f"{self.folder}/x.svg", file]):
            err = self.succeeds(argv, timeout=60).err
            self.assertIn("1 interval is over 20 times the median", err)
            self.assertNotIn("--max-gap", err)


class Limits(TableCase):
    METRICS = ("time", "energy", "power", "samples", "entries")

    def setUp(self):
        super().setUp()
        self.made = profiles.make(50, samples=200, locations=60)
        self.keys = sums.complete(("binary", "function", "line"))
        self.rows = sums.aggregate(self.made, sums.Options(self.keys))[0].rows
        self.total = sums.total(self.rows.values())
        self.at = self.profile("p.pbin", self.made)

    def metric(self, row, name):
        if name == "power":
            return row.energy / row.time if row.time else None
        return getattr(row, name)

    def sorted(self, metric):
        def order(key):
            value = self.metric(self.rows[key], metric)
            return (value is None, -(value or 0), pbin.sort_key(key))
        return sorted(self.rows, key=order)

    def test_sort(self):
        for metric in self.METRICS:
            with self.subTest(metric):
                table = self.table("-k", ",".join(self.keys), "--sort", metric, self.at)
                self.assertEqual([self.key_of(r, self.keys) for r in table["rows"]], self.sorted(metric))

    @staticmethod
    def is_label(key):
        return "_idle" in key or "_gap" in key

    def check_cut(self, argv, metric, keep):
        """The table has the rows of code for which KEEP(key) is true, the rows without code, and
        one row for all others."""
        table = self.table("-k", ",".join(self.keys), "--sort", metric, *argv, self.at)
        order = self.sorted(metric)
        shown = [k for k in order if keep(k) or self.is_label(k)]
        order, shown = shown + [k for k in order if k not in shown], len(shown)
        rows = table["rows"]
        self.assertEqual([self.key_of(r, self.keys) for r in rows[:shown]], order[:shown])
        for row, key in zip(rows[:shown], order):
            self.check_values(row, self.rows[key], self.total, key)
        self.assertEqual(len(rows), shown + (shown < len(order)))
        if shown < len(order):
            self.assertEqual([rows[-1][k] for k in self.keys], ["_other"] * len(self.keys))
            self.check_values(rows[-1], sums.total(self.rows[k] for k in order[shown:]), self.total, "_other")
        self.check_values(table["total"], self.total, self.total, "total", table["profile"]["power_W"])

    def test_top(self):
        for metric, n in itertools.product(self.METRICS, (1, 5, len(self.rows) - 1, len(self.rows), 10**6)):
            with self.subTest(metric=metric, n=n):
                first = [k for k in self.sorted(metric) if not self.is_label(k)][:n]
                self.check_cut(["--top", str(n)], metric, lambda key: key in first)

    def share(self, key, metric):
        what = "energy" if metric == "energy" else "time"
        return 100 * getattr(self.rows[key], what) / getattr(self.total, what)

    def test_threshold(self):
        for metric, percent in itertools.product(("time", "energy"), (0.5, 2, 5, 100)):
            with self.subTest(metric=metric, percent=percent):
                self.check_cut(["--threshold", str(percent)], metric, lambda key: self.share(key, metric) >= percent)

    def test_cumulative(self):
        for metric, percent in itertools.product(("time", "energy"), (1, 50, 90, 99)):
            shown, sum_ = [], 0
            for key in self.sorted(metric):
                if sum_ >= percent:
                    break
                sum_, shown = sum_ + self.share(key, metric), shown + [key]
            with self.subTest(metric=metric, percent=percent):
                self.check_cut(["--cumulative", str(percent)], metric, lambda key: key in shown)

    def test_together(self):
        self.check_cut(["--top", "3", "--threshold", "0.01", "--cumulative", "99"], "time",
                       lambda key: key in self.sorted("time")[:3])
        self.check_cut(["--top", "40", "--threshold", "100"], "time", lambda key: False)

    def test_ci(self):
        n = self.running(self.made)
        table = self.table("--ci", "-k", ",".join(self.keys), self.at)
        sums = self.file("sums.pbin", self.succeeds(["pbin-aggregate", "-q", "--format=pbin", "-k", ",".join(self.keys),
                                                     self.at]).out)
        self.assertEqual(self.table("--ci", "-k", ",".join(self.keys), sums)["rows"], table["rows"])
        for row in table["rows"] + [table["total"]]:
            p = 1 if row is table["total"] else row["share"] / 100
            self.assertAlmostEqual(row["share_ci_approx"] or 0, 100 * self.half(p, n, row["entries"]), 6 if p > 0.999 else 9)
            if row["samples"] == 0:
                self.assertIsNone(row["energy_share_ci_approx"])
        self.assertNotIn("share_ci_approx", self.table(self.at)["total"])

    @staticmethod
    def half(p, n, entries):
        """The half width of the interval of a row that has the share P of the time in N samples:
        each entry has two ends, each with a variance of one squared mean interval. There are no
        more ends than if samples were independent."""
        return 1.96 * math.sqrt(2 * min(max(entries, 0.5), max(0, n * p * (1 - p)))) / n

    def test_ci_of_divided_cpu_times(self):
        """The number of samples of a row is random, except if the row lasts longer than the samples
        that share CPU time."""
        keys = ("-k", ",".join(self.keys))
        for divided in (0, 1, 2, 64, 10**6):
            made = profiles.make(50, samples=200, locations=60, divided=divided)
            n, path = self.running(made), self.profile("divided.pbin", made)
            table = self.table("--ci", *keys, path)
            for row in table["rows"]:
                p = row["share"] / 100
                most = n * p * (1 - p)
                x = min(1, max(row["entries"], 0.5) / most) if most > 0 else 1
                z = divided * x / (1 - x) if x < 1 else math.inf
                together = 0 if z == math.inf else 2 * (z - 1 + math.exp(-z)) / z**2 if z > 1e-3 else 1 - z / 3
                half = max(self.half(p, n, row["entries"]), 1.96 * math.sqrt(most * (1 - together)) / n if divided > 1 else 0)
                self.assertAlmostEqual(row["share_ci_approx"] or 0, 100 * half, 9, (divided, row))
            sums = self.file("sums.pbin", self.succeeds(["pbin-aggregate", "-q", "--format=pbin", *keys, path]).out)
            self.assertEqual(self.table("--ci", *keys, sums)["rows"], table["rows"])
            other = self.profile("other.pbin", profiles.make(51, divided=divided // 2))
            for files in ([path, other], [other, path]):
                both = self.succeeds(["pbin-aggregate", "-q", "--format=pbin", "--mode=add", *keys, *files]).out
                self.assertEqual(pbin.Reader(both).read().meta.get("divided", 0), divided)
        wall = self.table("--ci", "--wall-time", *keys, path)
        self.assertEqual(wall["rows"], self.table("--ci", "--wall-time", *keys, self.at)["rows"])

    def ci_of_phases(self, watts=(10, 30), stay=200, used=1, threads=1, *argv):
        """Two functions alternate, each for STAY samples; windows of ten samples. Returns rows and
        warnings."""
        made, rng, noise = profiles.make(7), random.Random(stay), 1
        made.meta.update(pmu=pbin.POWER, cpus=4, times=1, cpu_time=1)
        made.samples = []
        for i in range(4000):
            f = i // stay % 2
            noise = rng.uniform(0.99, 1.01) if i % 10 == 0 else noise
            made.samples.append(pbin.Sample(10**6, watts[i // stay % 2] * noise,
                                            [(t, f, int(used * 10**6)) for t in range(threads)]))
        made.meta.update(samples=len(made.samples), wall_ns=sum(s.interval_ns for s in made.samples))
        done = self.succeeds(["pbin-aggregate", "--ci", "-k", "pc", "--format=json", *argv, self.profile("ci.pbin", made)])
        return [r for r in json.loads(done.out)["rows"] if r["samples"] > 0], done.err

    def test_ci_of_energy(self):
        """Confidence intervals with phases: most of their width is energy that windows move,
        especially for the row with less power."""
        rows, err = self.ci_of_phases()
        rows.sort(key=lambda r: r["power"])
        self.assertNotIn("no intervals", err)
        # 20 ends of phases, in windows of 10 samples and at most two more: 10 and 12 ms x 20 W / 6
        # each, plus chance
        least, most = 20 * 0.010 * 20 / 6, 20 * 0.012 * 20 / 6 + 0.25
        for row in rows:
            self.assertLess(least, row["energy_ci_approx"])
            self.assertLess(row["energy_ci_approx"], most)
        same, _ = self.ci_of_phases((20, 20))
        self.assertLess(same[0]["energy_ci_approx"], least / 2)

    def test_ci_of_a_selection(self):
        """Filters do not make a row more certain, except that it is all of what is shown. Of a window
        in which one function runs for 0.1 s, each end is uncertain by an interval of 1 ms."""
        rows, _ = self.ci_of_phases()
        row = rows[0]
        only, _ = self.ci_of_phases((10, 30), 200, 1, 1, "--filter", f"pc={row['pc']}")
        for name in ("time", "time_ci_approx", "energy", "energy_ci_approx"):
            self.assertEqual(only[0][name], row[name], name)
        self.assertGreater(row["time_ci_approx"], 0)
        for name in ("share", "energy_share"):
            self.assertEqual((only[0][name], only[0][name + "_ci_approx"]), (100, 0))
        both, _ = self.ci_of_phases((10, 30), 200, 1, 1, "--filter", "pc~.*")
        self.assertEqual(both, rows)
        cut, _ = self.ci_of_phases((10, 30), 200, 1, 1, "--start=0.05", "--end=0.15")
        self.assertEqual((len(cut), cut[0]["share"], cut[0]["share_ci_approx"]), (1, 100, 0))
        self.assertAlmostEqual(cut[0]["time"], 0.1, 6)
        self.assertAlmostEqual(cut[0]["time_ci_approx"], 1.96 * 2 ** 0.5 * 0.001, 5)

    def test_ci_of_threads_that_get_time_late(self):
        """Engine perf at up to 250 Hz: the ends of a selection are uncertain by more than an interval."""
        rows = {}
        for own in (1, 2):
            made = profiles.make(7)
            made.meta.update(cpu_time=1, times=1, own_intervals=own)
            made.samples = [pbin.Sample(10**6, 0, [(0, i // 50 % 2, 10**6)]) for i in range(400)]
            made.meta.update(samples=400, wall_ns=400 * 10**6)
            for cut in ((), ("--start=0.0505", "--end=0.1505")):
                rows[own, len(cut)] = self.table("--ci", "-k", "pc", *cut, self.profile("own.pbin", made))["rows"]
        self.assertEqual(rows[1, 0], rows[2, 0], "of the whole run, nothing is cut off")
        self.assertEqual(len(rows[1, 2]), 2)
        for late, row in zip(rows[1, 2], rows[2, 2]):
            more = 3 * min(1, max(0.5, row["entries"])) * 0.001 ** 2
            self.assertAlmostEqual((late["time_ci_approx"] / 1.96) ** 2, (row["time_ci_approx"] / 1.96) ** 2 + more, 9)
            self.assertGreater(late["time_ci_approx"], 1.2 * row["time_ci_approx"])

    def test_wall_time_without_waits(self):
        """Samples of the engine perf contain threads only while they ran."""
        for own, count in ((0, 0), (1, 1), (2, 1)):
            made = profiles.make(7)
            made.meta.update(cpu_time=1, own_intervals=own)
            path = self.profile("own.pbin", made)
            err = self.succeeds(["pbin-aggregate", "--wall-time", path]).err
            self.assertEqual(err.count("waits are missing"), count, err)
            self.assertNotIn("waits", self.succeeds(["pbin-aggregate", path]).err)

    def test_no_ci_of_energy_that_is_not_known(self):
        """Intervals that would not contain the true value are replaced by a warning."""
        for why, how in (("idle time", {"used": 0.5}), ("same time", {"threads": 2})):
            with self.subTest(why):
                rows, err = self.ci_of_phases(**how)
                self.assertEqual({r["energy_ci_approx"] for r in rows}, {None})
                self.assertIn(why, err)
                self.assertTrue(all(r["time_ci_approx"] for r in rows))
        rows, err = self.ci_of_phases((20, 20), 2)
        self.assertEqual({r["energy_ci_approx"] for r in rows}, {None})
        self.assertIn("0.2 updates", err)
        for model in ("sample", "thread"):
            rows, err = self.ci_of_phases((10, 30), 200, 1, 1, f"--energy-model={model}")
            self.assertEqual({r["energy_ci_approx"] for r in rows}, {None})
            self.assertIn("updates of the sensor are not known", err)

    def test_ci_without_energy(self):
        made = profiles.make(7)
        made.meta.update(pmu=pbin.NONE, cpu_time=1)
        row = self.table("--ci", self.profile("none.pbin", made))["rows"][0]
        self.assertEqual((row["energy"], row["energy_ci_approx"]), (None, None))

    def test_ci_of_time_and_energy(self):
        """The totals of a run are exact: the intervals of time and energy are those of the shares,
        times the totals."""
        table = self.table("--ci", self.at)
        names = [c["name"] for c in table["columns"]]
        for what, share in (("time", "share"), ("energy", "energy_share")):
            self.assertEqual(names.index(f"{what}_ci_approx"), names.index(what) + 1)
            for row in table["rows"]:
                self.assertAlmostEqual(row[f"{what}_ci_approx"] or 0,
                                       (row[f"{share}_ci_approx"] or 0) / 100 * table["total"][what], 12)
        self.assertTrue(any(row["time_ci_approx"] for row in table["rows"]))
        text = self.succeeds(["pbin-aggregate", "-q", "--ci", "--columns=time,energy,function", self.at]).out.decode()
        self.assertRegex(text, r"\n *time \+-95% \[s\] +energy \+-95% \[J\]  function\n")
        fractions = self.table("--ci", "--fractions", self.at)
        for row in fractions["rows"]:
            self.assertAlmostEqual(row["time_ci_approx"], row["share_ci_approx"] / 100, 12)

    def test_ci_of_runs_is_that_of_their_spread(self):
        files = [self.profile(f"{i}.pbin", profiles.make(i)) for i in (51, 52, 53)]
        plain, table = self.table(*files), self.table("--ci", *files)
        self.assertNotIn("time_ci_approx", table["rows"][0])
        for row, like in zip(table["rows"], plain["rows"], strict=True):
            self.assertEqual((row["time_ci95"], row["energy_ci95"]), (like["time_ci95"], like["energy_ci95"]))

    @staticmethod
    def running(*made):
        """Thread samples with CPU time: those of waiting threads contain no information about
        shares of CPU time."""
        return sum(cpu > 0 for profile in made for s in profile.samples for _, _, cpu in s.entries)

    def test_all_is_exactly_all(self):
        """100 * x / x is 100.00000000000001 for these times, but the total must be exact."""
        for ns in [n for n in range(1430116400, 1430116500) if 100 * (n / 1e9) / (n / 1e9) != 100]:
            made = profiles.make(7)
            made.samples = [pbin.Sample(10**9, 1.0, [(0, 0, ns)])]
            made.meta["samples"] = 1
            total = self.table("--ci", self.profile("one.pbin", made))["total"]
            self.assertEqual((total["share"], total["share_ci_approx"]), (100, 0))

    def test_ci_of_wall_time(self):
        table = self.table("--ci", "--wall-time", self.at)
        n = sum(len(s.entries) for s in self.made.samples)
        for row in table["rows"]:
            p = row["share"] / 100
            self.assertAlmostEqual(row["share_ci_approx"], 100 * self.half(p, n, row["entries"]), 12)

    def test_ci_of_runs_rests_on_all_samples(self):
        files = [self.profile(f"{i}.pbin", profiles.make(i)) for i in (51, 52, 53)]
        table = self.table("--ci", *files)
        n = self.running(*[profiles.make(i) for i in (51, 52, 53)])
        for row in table["rows"]:
            p = row["share"] / 100
            self.assertAlmostEqual(row["share_ci_approx"], 100 * self.half(p, n, row["entries"] * 3), 12)

    def test_wrong_limits(self):
        for argv in (["--top", "0"], ["--top", "-1"], ["--top", "x"], ["--threshold", "101"], ["--cumulative", "-1"], ["--cumulative", "0"],
                     ["--threshold", "nan"], ["--sort", "colour"], ["--start", "-1"], ["--end", "x"], ["-j", "0"],
                     ["--mode", "x"], ["--energy-model", "x"], ["--max-gap", "-1"], ["--max-gap", "0"],
                     ["--start", "2", "--end", "1"], ["--phase", ""], ["--phase", ":1"]):
            with self.subTest(argv):
                self.assertEqual(tool.run(["pbin-aggregate", *argv, self.at]).status, 2)


class Labels(TableCase):
    """Rows without code keep their names under every key, and no value has two meanings."""

    def setUp(self):
        super().setUp()
        p = profiles.make(63, samples=3, threads=1, locations=1)
        p.meta.update(times=1, pmu=pbin.POWER, samples=4, wall_ns=4 * 10**9, cpu_time=1)
        p.threads = [pbin.Thread(0, 0, "core 0"), pbin.Thread(1, 0, "core 1")]
        p.locations = [pbin.Location(0x100, "app", [pbin.Frame("f", "f", "f.c", 7)]),
                       pbin.Location(0, "app", [pbin.Frame("g", "g", "", 0)])]
        p.samples = [pbin.Sample(10**9, 1.0, [(0, 0, 10**9)]), pbin.Sample(10**9, 2.0, [(1, 1, 10**9)]),
                     pbin.Sample(10**9, 4.0, []), pbin.Sample(10**9, 4.0, [])]
        self.at = self.profile("l.pbin", p)

    def names(self, keys, *argv):
        table = self.table("-k", keys, "--energy-model=sample", *argv, self.at)
        return {tuple(r[k] for k in keys.split(",")): r["energy"] for r in table["rows"]}

    def test_every_key(self):
        for keys, first, second in (("thread", (0,), (1,)), ("line", (7,), (None,)), ("pc", ("0x100",), (None,)),
                                    ("thread,function", (0, "f"), (1, "g")), ("function,line", ("f", 7), ("g", None))):
            idle = ("_idle",) * len(first)
            with self.subTest(keys):
                self.assertEqual(self.names(keys), {first: 1, second: 2, idle: 8})
        self.assertEqual(self.names("process"), {(None,): 3, ("_idle",): 8})
        self.assertEqual(self.names("function", "--filter", "thread=_idle"), {("_idle",): 8})
        self.assertEqual(self.names("function", "--filter", "thread=0"), {("f",): 1})

    def test_thread_0_in_text_and_csv(self):
        text = self.succeeds(["pbin-aggregate", "-k", "thread", self.at]).out.decode()
        self.assertRegex(text, r"(?m) 0$")
        rows = self.succeeds(["pbin-aggregate", "-k", "thread", "--format=csv", self.at]).out.decode().split("\n")
        self.assertEqual({r.split(",")[0] for r in rows[1:4]}, {"0", "1", "_idle"})

    def test_aggregated_and_merged(self):
        """An aggregated profile keeps these rows, and merging does not mix them with rows of
        code."""
        parts = []
        for name in ("a", "b"):
            parts.append(f"{self.folder}/{name}")
            self.succeeds(["pbin-aggregate", "-k", "thread,line", "--energy-model=sample", "--format=pbin", self.at,
                           "-o", parts[-1]])
        table = self.table("-k", "thread,line", *parts)
        self.assertEqual({(r["thread"], r["line"]): r["energy"] for r in table["rows"]},
                         {(0, 7): 1, (1, None): 2, ("_idle", "_idle"): 8})
        table = self.table("-k", "thread,line", "--filter", "line=_idle", parts[0])
        self.assertEqual([r["thread"] for r in table["rows"]], ["_idle"])

    def test_compared(self):
        ended = self.succeeds(["pbin-compare", "-q", "-k", "thread", "--format=json", self.at, self.at])
        self.assertEqual({r["thread"] for r in json.loads(ended.out)["rows"]}, {0, 1, "_idle"})

    def test_not_cut_off(self):
        """_other has the power of code, and no energy of time without code."""
        rows = self.table("-k", "function", "--top", "1", "--energy-model=sample", self.at)["rows"]
        self.assertEqual({(r["function"], r["energy"], r["power"]) for r in rows},
                         {("f", 1, 1), ("_other", 2, 2), ("_idle", 8, None)})
        for limit in (["--threshold=60"], ["--cumulative=20"]):
            rows = self.table("-k", "thread", "--energy-model=sample", *limit, self.at)["rows"]
            self.assertIn("_idle", [r["thread"] for r in rows])
            self.assertIn("_other", [r["thread"] for r in rows])


class Tree(TableCase):
    def check_tree(self, profile, keys, *argv):
        keys = sums.complete(keys)
        result, _ = sums.aggregate(profile, sums.Options(keys))
        total = sums.total(result.rows.values())
        table = self.table("--tree", "-k", ",".join(keys), *argv, self.profile("p.pbin", profile))
        self.assertEqual([c["name"] for c in table["columns"][:2]], ["depth", "tree"])
        path, seen, at_depth = [], set(), {}
        for row in table["rows"]:
            depth = row["depth"]
            path = path[:depth] + [row["tree"]]
            self.assertEqual(len(path), depth + 1, "a level is skipped")
            self.assertNotIn(tuple(path), seen)
            seen.add(tuple(path))
            at_depth.setdefault((depth, tuple(path[:-1])), []).append(row["time"])
            below = [r for k, r in result.rows.items()
                     if [self.name(key, v) for key, v in zip(keys, k)][:depth + 1] == path]
            self.assertTrue(below, path)
            self.check_values(row, sums.total(below), total, path)
        want = {tuple(self.name(key, v) for key, v in zip(keys, k))[:d] for k in result.rows
                for d in range(1, len(keys) + 1)}
        self.assertEqual(seen, want)
        for times in at_depth.values():
            self.assertEqual(times, sorted(times, reverse=True))
        self.check_values(table["total"], total, total, "total", table["profile"]["power_W"])

    def name(self, key, value):
        return "-" if value == "" or (value == 0 and key != "thread") else sums.shown(key, value)

    def test_trees(self):
        profile = profiles.make(60)
        for keys in (("binary",), ("binary", "file", "function", "line"), ("comm", "function"), ("process", "binary", "pc"),
                     ("line", "binary", "thread")):
            with self.subTest(keys=keys):
                self.check_tree(profile, keys)

    def test_limits_hold_at_each_level(self):
        profile = profiles.make(61)
        table = self.table("--tree", "-k", "binary,function", "--top", "2", self.profile("p.pbin", profile))
        self.assertEqual([r["tree"] for r in table["rows"] if r["depth"] == 0][-1], "_other")
        groups = []
        for row in table["rows"]:
            if row["depth"] == 0:
                groups.append((row, []))
            else:
                groups[-1][1].append(row)
        self.assertEqual([top["tree"] for top, _ in groups[2:]], ["_idle", "_other"])
        for top, below in groups[:2]:
            self.assertLessEqual(len(below), 3)
            for what in ("time", "energy", "samples", "entries"):
                self.close(sum(F(r[what]) for r in below), top[what], (top["tree"], what))
        for what in ("time", "energy", "samples"):
            self.close(sum(F(g[0][what]) for g in groups), table["total"][what], what)


class Values(TableCase):
    def test_not_finite_and_too_large(self):
        odd = [math.nan, math.inf, -math.inf, 1e300, -1e300, 2.0**40, 1.7e308, 0x7ff0000000000001]
        profile = profiles.make(70)
        for i, value in enumerate(odd):
            profile.samples[10 + 7 * i].value = value
        profile.samples[100].value = 5e-324
        profile.samples[101].value = -3.5
        for s in profile.samples:  # the oracle uses doubles
            if isinstance(s.value, int):
                s.value = math.nan
        options = sums.Options()
        result, bad = sums.aggregate(profile, options)
        self.assertEqual(bad, len(odd))
        self.check(profile, options)
        file = self.profile("p.pbin", profile)
        for argv in ([], ["--max-gap", "0.0001"], ["--subtract-latency"], ["--energy-model", "thread"]):
            ended = self.succeeds(["pbin-aggregate", *argv, file])
            lines = [l for l in ended.err.splitlines() if "PMU values" in l]
            self.assertEqual(len(lines), 1, ended.err)
            self.assertIn(f": {len(odd)} PMU values are not finite", lines[0])
            self.assertEqual(self.succeeds(["pbin-aggregate", "-q", *argv, file]).err, "")

    def test_negative_power_is_summed(self):
        profile = profiles.make(71)
        for s in profile.samples[::3]:
            s.value = -s.value
        self.check(profile, sums.Options())


class PowerOfTheRun(TableCase):
    def test_power_of_the_total_is_that_above_the_table(self):
        """5 W for 4 s, in which one thread uses 1 s: 5 W, neither 20 W nor that of CPU time plus
        _idle."""
        profile = pbin.Profile({"pmu": pbin.POWER, "times": 1, "cpu_time": 1, "samples": 4, "cpus": 1, "wall_ns": 4 * 10**9},
                               [pbin.Thread(1)], [pbin.Location(1, "app", [pbin.Frame("f", "f")])],
                               [pbin.Sample(10**9, 5.0, [(0, 0, 10**9)])] + [pbin.Sample(10**9, 5.0, [])] * 3)
        table = self.table(self.profile("p.pbin", profile))
        self.assertEqual((table["total"]["power"], table["profile"]["power_W"], table["total"]["energy"]), (5, 5, 20))
        self.assertEqual((table["profile"]["samples"], table["profile"]["thread_samples"]), (4, 1))
        self.assertEqual(table["total"]["samples"], 1)

    def test_what_is_no_energy_is_not_called_so(self):
        for meta in ({"pmu": pbin.CUSTOM, "unit": "uJ"}, {"pmu": pbin.VOLTAGE, "unit": "V"}):
            at = self.profile("k.pbin", profiles.make(81, **meta))
            for argv in ([], ["--ci"], ["--exclude", "function=main"]):
                self.assertNotIn(b"energy", self.succeeds(["pbin-aggregate", "-q", *argv, at]).out)


class Kinds(TableCase):
    def columns(self, table):
        return [(c["name"], c["unit"]) for c in table["columns"] if c["name"] not in
                ("binary", "function", "time", "share", "samples", "entries")]

    def check_kind(self, rate, rate_unit, name, quantity_unit, scale, **meta):
        profile = profiles.make(80, **meta)
        file = self.profile("p.pbin", profile)
        table = self.table(file)
        self.assertEqual(self.columns(table), [(rate, rate_unit), (name, quantity_unit), (name + "_share", "%")])
        result, _ = sums.aggregate(profile, sums.Options())
        energy = sums.total(result.rows.values()).energy
        by_key = self.rows_by_key(table, ("binary", "function"))
        for key, row in result.rows.items():
            self.close(by_key[key][name], row.energy if scale else None, key)
            self.close(by_key[key][rate], row.energy / row.time if scale and row.time else None, key)
        self.close(table["total"][name], energy if scale else None, "total")
        fact = "energy_J" if name == "energy" else name
        self.close(table["profile"][fact], energy if scale else None, fact)
        parts = {n: value for n, value in table["profile"].items() if n.startswith(f"{name}_") and n != fact}
        self.assertTrue(all(n.endswith("_J") == (name == "energy") for n in parts), parts)
        self.assertFalse(name != "energy" and any("energy" in n for n in table["profile"]), table["profile"])
        if scale:
            self.close(sum(parts.values()), energy, f"sum of {parts}")
        header = self.succeeds(["pbin-aggregate", "-q", "--format", "csv", file]).out.split(b"\n")[0].decode()
        for n, u in ((rate, rate_unit), (name, quantity_unit)):
            self.assertIn(f",{n} [{u}]" if u else f",{n},", header + ",")
        return table

    def test_kinds(self):
        for kind in (("power", "W", "energy", "J", 1, dict(pmu=pbin.POWER, unit="W")),
                     ("power", "W", "energy", "J", 1, dict(pmu=pbin.CURRENT, volts=12.5, unit="A")),
                     ("current", "A", "charge", "C", 1, dict(pmu=pbin.CURRENT, unit="A")),
                     ("current", "A", "charge", "C", 1, dict(pmu=pbin.CURRENT, volts=0.0, unit="A")),
                     ("voltage", "V", "voltage_time", "V s", 1, dict(pmu=pbin.VOLTAGE, unit="V")),
                     ("mean", "°C", "integral", "°C s", 1, dict(pmu=pbin.CUSTOM, unit="°C")),
                     ("mean", "", "integral", "s", 1, dict(pmu=pbin.CUSTOM, unit="")),
                     ("power", "W", "energy", "J", 0, dict(pmu=pbin.NONE, unit=""))):
            with self.subTest(kind):
                self.check_kind(*kind[:5], **kind[5])

    def test_long_unit(self):
        """The text is truncated but remains valid; columns of JSON are complete."""
        table = self.table(self.profile("p.pbin", profiles.make(85, pmu=pbin.CUSTOM, unit="€" * 100)))
        self.assertEqual(self.columns(table), [("mean", "€" * 7), ("integral", "€" * 7 + " s"), ("integral_share", "%")])
        table = self.table(self.profile("p.pbin", profiles.make(85, pmu=pbin.CUSTOM, unit=b"\xff")))
        self.assertEqual(self.columns(table), [("mean", "\ufffd"), ("integral", "\ufffd s"), ("integral_share", "%")])

    def test_odd_volts(self):
        for volts in (math.nan, -5.0, math.inf, 1e300):
            with self.subTest(volts):
                ended = tool.run(["pbin-aggregate", "-q", "--format", "json",
                                  self.profile("p.pbin", profiles.make(81, pmu=pbin.CURRENT, volts=volts))])
                self.assertEqual(ended.status, 0, ended.err)
                json.loads(ended.out)

    def test_kinds_do_not_mix(self):
        kinds = [dict(pmu=pbin.POWER), dict(pmu=pbin.CURRENT, unit="A"), dict(pmu=pbin.VOLTAGE, unit="V"),
                 dict(pmu=pbin.CUSTOM, unit="K"), dict(pmu=pbin.CUSTOM, unit="Pa"), dict(pmu=pbin.NONE)]
        files = [self.profile(f"{i}.pbin", profiles.make(82, samples=20, **k)) for i, k in enumerate(kinds)]
        sums_ = []
        for i, file in enumerate(files):
            sums_.append(self.folder + f"/sum{i}.pbin")
            self.succeeds(["pbin-aggregate", "-q", "-o", sums_[-1], file])
        for a, b in itertools.permutations(range(len(files)), 2):
            for group in ((files[a], files[b]), (files[a], sums_[b]), (sums_[a], sums_[b])):
                for jobs in ("1", "2"):
                    with self.subTest(kinds=(kinds[a], kinds[b]), jobs=jobs):
                        self.fails(["pbin-aggregate", "-q", "-j", jobs, *group])

    def test_current_with_volts_and_power_mix(self):
        a, b = profiles.make(83, pmu=pbin.CURRENT, volts=5.0, unit="A"), profiles.make(84)
        table = self.table(self.profile("a.pbin", a), self.profile("b.pbin", b))
        want = sum(sums.total(sums.aggregate(p, sums.Options())[0].rows.values()).energy for p in (a, b)) / 2
        self.close(table["total"]["energy"], want, "mean energy")


if __name__ == "__main__":
    unittest.main()
