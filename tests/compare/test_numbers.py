"""Every number of pbin-compare compared with exact rationals: values, ratios, weights, coverage,
errors, probabilities.

SPDX-License-Identifier: MIT
"""
import csv
import io
import itertools
import json
import tempfile
import unittest
from fractions import Fraction

import oracle
import rawprofile as raw
import reference as ref
import simulate
import tool

FUNCTIONS = ("alpha", "beta", "gamma", "delta", "rare", "only_old", "only_new")
OLD = {"alpha": 40, "beta": 30, "gamma": 20, "delta": 5, "rare": 0.3, "only_old": 5}
NEW = {"alpha": 60, "beta": 30, "gamma": 18, "delta": 5, "rare": 0.3, "only_new": 7}
ERRORS = [w + e for w in ("", "weighted-") for e in ("error", "absolute", "relative", "absolute-relative")] + ["correct"]
AGGREGATES = ("sum", "min", "max", "mean", "weighted-mean", "rmse", "weighted-rmse")


def setUpModule():
    global HOLDER, PROGRAM, OLD_RUNS, NEW_RUNS, OLD_FILES, NEW_FILES
    HOLDER = tempfile.TemporaryDirectory()
    PROGRAM = simulate.Program(HOLDER.name, "prog", FUNCTIONS)
    OLD_FILES, OLD_RUNS = make("old", OLD, 5, 0)
    NEW_FILES, NEW_RUNS = make("new", NEW, 4, 100)


def tearDownModule():
    HOLDER.cleanup()


def rows_of(run):
    names = {address // simulate.SIZE: name for name, address in PROGRAM.address.items()}
    first = min(PROGRAM.address.values()) % simulate.SIZE
    wall = oracle.microseconds(run.wall_us)
    return ref.Run(oracle.attribute(run.samples, lambda pc: ("prog", names[(pc - first) // simulate.SIZE]
                                                             if first == 0 else None), wall=wall, watts=1), wall)


def make(name, work, count, seed):
    runs = [simulate.run(PROGRAM, seed + i, work, 260 + 3 * i) for i in range(count)]
    files = [simulate.save(HOLDER.name, f"{name}{i}.pbin", run) for i, run in enumerate(runs)]
    return files, [rows_of(run) for run in runs]


class Compare(tool.Case):
    def compare(self, *argv):
        return json.loads(self.succeeds(["pbin-compare", "--format=json", *argv], timeout=30).out)

    def near(self, got, want, what, tolerance=1e-9):
        if want is None:
            self.assertIsNone(got, what)
            return
        self.assertIsNotNone(got, f"{what}: {float(want)}")
        self.assertLessEqual(abs(got - float(want)), tolerance * abs(float(want)) + 1e-12,
                             f"{what}: {got}, not {float(want)!r}")

    def aggregated(self, name, files):
        path = f"{self.folder}/{name}.pbin"
        self.succeeds(["pbin-aggregate", "--format=pbin", "-o", path, *files])
        return path

    def check_row(self, got, base, other, name, key, keys, p, columns=("base", "other", "")):
        b, v = ref.value(name, base, key), ref.value(name, other, key)
        what, (base_name, other_name, suffix) = f"{name} of {key}", columns
        self.near(got[base_name], b if key is None or ref.is_there(base, key) else None, what)
        self.near(got[other_name], v if key is None or ref.is_there(other, key) else None, what)
        defined = b is not None and v is not None
        self.near(got["difference" + suffix], v - b if defined else None, "difference, " + what)
        self.near(got["ratio" + suffix], 100 * v / b if defined and b else None, "ratio, " + what)
        self.near(got["p" + suffix], p, "p, " + what, 2e-6)
        self.assertEqual(got["significant" + suffix], "yes" if p is not None and p <= 0.05 else "no")
        if key is not None:
            self.near(got["weight"], 100 * ref.weight(name, base, key, keys), "weight, " + what)

    def check(self, table, base, other, name, columns=("base", "other", "")):
        keys = sorted({k for run in base + other for k in run})
        got = {(r["binary"], r["function"]): r for r in table["rows"]}
        p = ref.probabilities(name, base, other)
        self.assertEqual(sorted(got), keys)
        for key in keys:
            self.check_row(got[key], base, other, name, key, keys, p[key], columns)
            self.check_verdict(got[key], base, other, name, key, columns[2])
        self.check_row(table["total"], base, other, name, None, keys, p[None], columns)

    def check_verdict(self, row, base, other, name, key, suffix):
        if not ref.is_there(base, key):
            want = "new"
        elif not ref.is_there(other, key):
            want = "gone"
        elif row["significant" + suffix] == "no":
            want = "not tested" if row["p" + suffix] is None else "not significant"
        else:
            words = {"time": ("faster", "slower"), "execution-time": ("faster", "slower"), "samples": ("fewer", "more")}
            want = words.get(name, ("less", "more"))[row["difference" + suffix] > 0]
        self.assertEqual(row["verdict" + suffix], want)


class Values(Compare):
    def test_single_runs(self):
        for name in ref.METRICS:
            with self.subTest(name):
                table = self.compare("--metric", name, OLD_FILES[0], NEW_FILES[0])
                self.check(table, OLD_RUNS[:1], NEW_RUNS[:1], name)
                if name not in ref.RATIOS:
                    self.assertIn("approximate", table["profile"]["test_other"])

    def test_repeated_runs(self):
        for name in ref.METRICS:
            with self.subTest(name):
                table = self.compare("--metric", name, "--base", *OLD_FILES, "--with", *NEW_FILES)
                self.check(table, OLD_RUNS, NEW_RUNS, name)
                self.assertIn("Welch", table["profile"]["test_other"])
                self.assertEqual(table["profile"]["runs_base"], 5)
                self.assertEqual(table["profile"]["runs_other"], 4)

    def test_one_run_against_several(self):
        for name in ("time", "energy", "samples", "share"):
            with self.subTest(name):
                table = self.compare("--metric", name, "--base", *OLD_FILES, "--with", NEW_FILES[0])
                self.check(table, OLD_RUNS, NEW_RUNS[:1], name)

    def test_aggregated_runs_are_the_runs(self):
        old, new = self.aggregated("o", OLD_FILES), self.aggregated("n", NEW_FILES)
        for name in ("time", "energy"):
            with self.subTest(name):
                self.check(self.compare("--metric", name, old, new), OLD_RUNS, NEW_RUNS, name)

    def test_aggregated_and_full_runs_of_one_side(self):
        old = self.aggregated("o", OLD_FILES[:3])
        table = self.compare("--base", old, *OLD_FILES[3:], "--with", *NEW_FILES)
        self.check(table, OLD_RUNS, NEW_RUNS, "time")

    def test_what_aggregated_runs_do_not_tell(self):
        old, new = self.aggregated("o", OLD_FILES), self.aggregated("n", NEW_FILES)
        for row in self.compare("--metric", "samples", old, new)["rows"]:
            self.assertIsNone(row["p"])

    def test_sides_are_corrected_together(self):
        """Sides of several runs: one table, one family of tests."""
        sides = [(NEW_FILES, NEW_RUNS), (OLD_FILES[:3], OLD_RUNS[:3]), (NEW_FILES[:2], NEW_RUNS[:2])]
        argv = [a for files, _ in sides for a in ("--with", *files)]
        table = self.compare("--base", *OLD_FILES, *argv, "-n", "v1,v2,v3,v4")
        all_p = ref.all_probabilities("time", OLD_RUNS, [runs for _, runs in sides])
        for name, p in zip(("v2", "v3", "v4"), all_p):
            for row in [*table["rows"], dict(table["total"], binary=None)]:
                want = p.get((row["binary"], row["function"]) if row["binary"] else None)
                if want is not None:
                    self.near(row["p_" + name], want, (name, row), 2e-6)

    def test_several_others(self):
        files = [OLD_FILES[0], NEW_FILES[0], NEW_FILES[1], OLD_FILES[1]]
        table = self.compare("-n", "v1,v2,v3,v4", *files)
        others = {"v2": NEW_RUNS[:1], "v3": NEW_RUNS[1:2], "v4": OLD_RUNS[1:2]}
        known = set(OLD_RUNS[0])
        for (name, runs), p in zip(others.items(), ref.all_probabilities("time", OLD_RUNS[:1], list(others.values()))):
            keys = sorted(known | set(runs[0]))
            for row in table["rows"]:
                key = row["binary"], row["function"]
                if key in keys:
                    self.check_row(row, OLD_RUNS[:1], runs, "time", key, sorted(known), p[key],
                                   ("v1", name, "_" + name))
                else:
                    self.assertEqual((row[name], row["difference_" + name], row["verdict_" + name]), (None, None, ""))
        table = self.compare(*files)
        self.assertIn("difference_other3", table["total"])

    def test_coverage(self):
        for base, other, files in ((OLD_RUNS, NEW_RUNS, (OLD_FILES, NEW_FILES)),
                                   (NEW_RUNS, OLD_RUNS, (NEW_FILES, OLD_FILES))):
            profile = self.compare("--base", *files[0], "--with", *files[1])["profile"]
            covered = sum(run[k].time for run in base for k in run if ref.is_there(other, k))
            self.near(profile["coverage_other"], 100 * covered / sum(ref.total(r).time for r in base), "coverage")

    def test_a_row_of_nothing_but_one_sample_has_noise(self):
        """The same number of samples in each run of a side does not prove precision."""
        runs = [simulate.run(PROGRAM, 1, {"alpha": 1}, 50) for _ in range(4)]
        for i, run in enumerate(runs):
            for sample in run.samples[:1 + (i >= 2)]:
                sample.threads[0].pc = PROGRAM.address["rare"]
        files = [simulate.save(self.folder, f"r{i}.pbin", r) for i, r in enumerate(runs)]
        rows = [rows_of(r) for r in runs]
        table = self.compare("--metric", "samples", "--base", *files[:2], "--with", *files[2:])
        self.check(table, rows[:2], rows[2:], "samples")
        self.assertEqual({r["significant"] for r in table["rows"]}, {"no"})


def only(runs, wanted):
    """The runs with only the rows that WANTED selects by their keys."""
    return [ref.Run({key: row for key, row in run.items() if wanted(key)}, run.wall) for run in runs]


class Selected(Compare):
    """Numbers of a selection are those of profiles without the other rows; the wall time is still
    that of the runs."""

    def test_filters(self):
        for options, wanted in ((["--exclude", "function=alpha", "--exclude=function=only_*"], lambda k: k[1] != "alpha" and "only" not in k[1]),
                                (["--filter", "function~^(beta|gamma|only_new)$"], lambda k: k[1] in ("beta", "gamma", "only_new")),
                                (["--exclude-external"], lambda k: k[0] == "prog")):
            old, new = only(OLD_RUNS, wanted), only(NEW_RUNS, wanted)
            for name in ("time", "energy", "power", "samples-share"):
                with self.subTest(name, options=options):
                    table = self.compare("--metric", name, *options, "--base", *OLD_FILES, "--with", *NEW_FILES)
                    self.check(table, old, new, name)
            table, p = self.compare(*options, OLD_FILES[0], NEW_FILES[0]), ref.probabilities("time", old[:1], new[:1])
            keys = {(r["binary"], r["function"]): r for r in table["rows"]}
            for key, row in [*keys.items(), (None, table["total"])]:
                self.check_row(row, old[:1], new[:1], "time", key, list(keys), p[key])

    def test_what_is_left_of_aggregated_runs(self):
        """Rows have their variances; only the mean of the total is known."""
        old, new = self.aggregated("o", OLD_FILES), self.aggregated("n", NEW_FILES)
        argv = ["--exclude", "function=alpha", "--metric", "energy"]
        known = self.compare(*argv, "--base", *OLD_FILES, "--with", *NEW_FILES)
        table = self.compare(*argv, old, new)
        self.assertEqual([r["function"] for r in table["rows"]], [r["function"] for r in known["rows"]])
        for row, other in zip(table["rows"], known["rows"]):
            self.near(row["p"], other["p"], row["function"], 1e-6)
        self.assertAlmostEqual(table["total"]["base"], known["total"]["base"], 12)
        self.assertIsNotNone(known["total"]["p"])
        self.assertIsNone(table["total"]["p"])

    def test_largest_rows(self):
        argv = ["--base", *OLD_FILES, "--with", *NEW_FILES, "--error", "absolute", "--aggregate", "mean"]
        for metric, measure in (("time", "time"), ("power", "energy")):
            share = {key: ref.value(measure, OLD_RUNS, key) / ref.value(measure, OLD_RUNS, None)
                     for key in {k for run in OLD_RUNS for k in run}}
            order = sorted(share, key=lambda k: (-share[k], k))
            half = [key for i, key in enumerate(order) if sum(share[k] for k in order[:i]) < Fraction("0.6")]
            self.assertGreater(len(half), 1)
            whole = self.compare("--metric", metric, *argv)
            for options, kept in ((["--largest=3"], order[:3]), (["--threshold=10"], [k for k in order if share[k] >= Fraction(1, 10)]),
                                  (["--cumulative=60"], half), (["--threshold=1e-9"], order),
                                  (["--largest=2", "--common"], [k for k in order if k[1] != "only_old"][:2])):
                with self.subTest(metric, options=options):
                    table = self.compare("--metric", metric, *options, *argv)
                    self.assertEqual({(r["binary"], r["function"]) for r in table["rows"]}, set(kept))
                    for side in ("base", "other"):
                        self.assertEqual(table["total"][side], whole["total"][side])
                    errors = [abs(r["difference"]) for r in table["rows"] if r["difference"] is not None]
                    self.near(table["total"]["absolute"], Fraction(sum(errors)) / len(errors), options)

    def test_nothing(self):
        argv = ["pbin-compare", "--format=json", OLD_FILES[0], NEW_FILES[0]]
        for options in (["--filter", "function=none"], ["--exclude-external", "--exclude", "binary=prog"], ["--threshold", "100"]):
            ended = self.succeeds([*argv, *options])
            self.assertIn("nothing is selected", ended.err)
            self.assertEqual(json.loads(ended.out)["rows"], [])
        self.assertEqual(self.succeeds([*argv, "-q", "--filter", "function=none"]).err, "")


class Errors(Compare):
    def table(self, metric, error, aggregate):
        return self.compare("--metric", metric, "--error", error, "--aggregate", aggregate,
                            "--base", *OLD_FILES, "--with", *NEW_FILES)

    def test_every_error_with_every_aggregate(self):
        for number, (error, aggregate) in enumerate(itertools.product(ERRORS, AGGREGATES)):
            metric = ref.METRICS[number % len(ref.METRICS)]
            with self.subTest(error=error, aggregate=aggregate, metric=metric):
                self.check_errors(metric, error, aggregate)

    def test_shares_of_a_total(self):
        plain = [error for error in ERRORS if not error.endswith("relative")]
        shares = [share + suffix for share in ref.SHARES for suffix in ("", "-baseline")]
        for number, (error, aggregate) in enumerate(itertools.product(plain, shares)):
            metric = ref.METRICS[number % len(ref.METRICS)]
            with self.subTest(error=error, aggregate=aggregate, metric=metric):
                self.check_errors(metric, error, aggregate)
        ended = tool.run(["pbin-compare", "--error", "relative", "--aggregate", "error", OLD_FILES[0], NEW_FILES[0]])
        self.assertEqual((ended.status, ended.out), (2, b""))
        self.assertIn("--aggregate error needs an --error in the unit of the metric, not in %", ended.err)

    def check_errors(self, metric, error, aggregate):
        table, column = self.table(metric, error, aggregate), error.replace("-", "_")
        keys = sorted({k for run in OLD_RUNS + NEW_RUNS for k in run})
        pairs = {}
        for key in keys:
            b, v = ref.value(metric, OLD_RUNS, key), ref.value(metric, NEW_RUNS, key)
            w = ref.weight(metric, OLD_RUNS, key, keys)
            pairs[key] = ref.error(error, b, v, w), w
        totals = [ref.value(metric, side, None) for side in (OLD_RUNS, NEW_RUNS)]
        share = aggregate.split("-")[0] in ref.SHARES
        part = 100 / totals[not aggregate.endswith("-baseline")] if share else 1
        for row in table["rows"]:
            e = pairs[row["binary"], row["function"]][0]
            self.near(row[column], None if e is None else e * part, column)
        self.near(table["total"][column], ref.aggregate(aggregate, pairs.values(), totals), aggregate)
        if share:
            self.assertEqual([c["unit"] for c in table["columns"] if c["name"] == column], ["%"])
        self.assertEqual(table["profile"]["aggregate"], f"{aggregate} of {error}")

    def test_rows_without_the_metric(self):
        """_idle has energy, but no CPU time: errors of time are not averaged over it."""
        files = []
        for name, functions in (("a", "ffgg"), ("b", "f.gg")):
            text = "".join(f"{i};1;{'app' if f != '.' else ''};{f.strip('.')}\n" for i, f in enumerate("f" + functions))
            with open(f"{self.folder}/{name}.csv", "w", encoding="ascii") as out:
                out.write("Time;Power 1;Module 0;Function 0\n" + text)
            files.append(f"{self.folder}/{name}.pbin")
            self.succeeds(["sthem2pbin", "-q", "-o", files[-1], f"{self.folder}/{name}.csv"])
        for aggregate, time in (("mean", 0.5), ("rmse", 0.5 ** 0.5)):
            table = self.compare("--error=absolute", "--aggregate", aggregate, *files)
            self.assertEqual({r["function"]: r["absolute"] for r in table["rows"]}, {"f": 1, "g": 0, "_idle": None})
            self.near(table["total"]["absolute"], time, aggregate)
        table = self.compare("--metric=energy", "--error=absolute", "--aggregate=mean", *files)
        self.near(table["total"]["absolute"], Fraction(2, 3), "energy")

    def test_weights_of_the_other_side(self):
        for metric in ("time", "energy", "power", "execution-time"):
            argv = ["--metric", metric, "--error", "weighted-error", "--weight", "other",
                    "--base", *OLD_FILES, "--with", *NEW_FILES]
            table, keys = self.compare(*argv), sorted({k for run in OLD_RUNS + NEW_RUNS for k in run})
            total = Fraction(0)
            for row in table["rows"]:
                key = row["binary"], row["function"]
                w = ref.weight(metric, NEW_RUNS, key, keys)
                self.near(row["weight"], 100 * w, f"weight of {key}")
                b, v = (ref.value(metric, side, key) for side in (OLD_RUNS, NEW_RUNS))
                e = ref.error("weighted-error", b, v, w)
                self.near(row["weighted_error"], e, f"{metric} of {key}")
                total += e or 0
            self.near(table["total"]["weighted_error"], total, metric)
        ended = tool.run(["pbin-compare", "--weight", "other", *OLD_FILES[:3]])
        self.assertEqual(ended.status, 2)

    def test_common_rows(self):
        argv = ["--error", "weighted-relative", "--base", *OLD_FILES, "--with", *NEW_FILES]
        whole, table = self.compare(*argv), self.compare("--common", *argv)
        common = [r for r in whole["rows"] if r["verdict"] not in ("new", "gone")]
        self.assertLess(len(common), len(whole["rows"]))
        self.assertEqual([r["function"] for r in table["rows"]], [r["function"] for r in common])
        self.assertAlmostEqual(sum(r["weight"] for r in table["rows"]), 100, 9)
        self.assertEqual({k: v for k, v in table["total"].items() if k != "weighted_relative"},
                         {k: v for k, v in whole["total"].items() if k != "weighted_relative"})

    def test_names_of_the_original(self):
        argv = ["--base", *OLD_FILES, "--with", *NEW_FILES]
        for theirs, ours in (("relative_error", "relative"), ("absolute_weighted_error", "weighted-absolute"),
                             ("absolute_weighted_relative_error", "weighted-absolute-relative"), ("error", "error")):
            for aggregate, named in (("total", "sum"), ("wmean", "weighted-mean"), ("wrmse", "weighted-rmse"), ("rmse", "rmse")):
                self.assertEqual(self.compare("--error", theirs, "--aggregate", aggregate, *argv),
                                 self.compare("--error", ours, "--aggregate", named, *argv))

        for named in ("error-baseline", "relative-baseline"):
            self.assertEqual(self.compare("--error", "correct", "--aggregate", named.replace("-", "_"), *argv),
                             self.compare("--error", "correct", "--aggregate", named, *argv))

    def test_defaults(self):
        argv = ["--base", *OLD_FILES, "--with", *NEW_FILES]
        self.assertNotIn("error", self.compare(*argv)["total"])
        self.assertEqual(self.compare("--error", "absolute", *argv)["profile"]["aggregate"], "sum of absolute")
        self.assertEqual(self.compare("--aggregate", "rmse", *argv)["profile"]["aggregate"], "rmse of error")


class Order(Compare):
    def rows(self, *options):
        return self.compare(*options, "--base", *OLD_FILES, "--with", *NEW_FILES)["rows"]

    def test_sort(self):
        by = {"difference": lambda r: -abs((r["other"] or 0) - (r["base"] or 0)),
              "base": lambda r: -(r["base"] or 0), "other": lambda r: -(r["other"] or 0),
              "ratio": lambda r: -(float("inf") if r["ratio"] is None else r["ratio"]),
              "p": lambda r: 2 if r["p"] is None else r["p"], "key": lambda r: (r["binary"], r["function"])}
        for name, key in by.items():
            with self.subTest(name):
                rows = self.rows("--sort", name)
                self.assertEqual([key(r) for r in rows], sorted(key(r) for r in rows))
        self.assertEqual(self.rows(), self.rows("--sort", "difference"))

    def test_top(self):
        self.assertEqual(self.rows("--top", "2"), self.rows()[:2])

    def test_order_of_runs_does_not_matter(self):
        a = self.compare("--base", *OLD_FILES, "--with", *NEW_FILES)
        b = self.compare("--base", *OLD_FILES[::-1], "--with", *NEW_FILES[::-1])
        for x, y in zip(a["rows"], b["rows"]):
            self.assertEqual((x["function"], x["base"], x["other"]), (y["function"], y["base"], y["other"]))
            if x["p"] is not None:
                self.assertAlmostEqual(x["p"], y["p"], 9)

    def test_csv_agrees_with_json(self):
        argv = ["--base", *OLD_FILES, "--with", *NEW_FILES]
        text = self.succeeds(["pbin-compare", "--format=csv", *argv]).out.decode()
        table = self.compare(*argv)
        rows = list(csv.reader(io.StringIO(text)))
        self.assertEqual([c.split(" [")[0] for c in rows[0]], [c["name"] for c in table["columns"]])
        for got, want in zip(rows[1:], table["rows"] + [table["total"]]):
            for cell, column in zip(got, table["columns"]):
                value = want[column["name"]]
                self.assertEqual(cell if isinstance(value, str) else float(cell) if cell else None,
                                 value if value is not None or cell else None)


if __name__ == "__main__":
    unittest.main()
