"""Measures of rows: exact in every order and grouping, the quantities that tables show, refused
files.

The profiles are made here, from lists of durations of calls; expected values are arithmetic on these lists.

SPDX-License-Identifier: MIT
"""
import csv
import io
import json
import random
import subprocess
import unittest
from fractions import Fraction as F

import pbin
import profiles
import test_merge
import tool
from pbin import ADD, ADD_SAME, HISTOGRAM, INTEGER, LEAST, MOST, REAL

MEASURES = {"calls": ("", INTEGER, ADD), "returned": ("", INTEGER, ADD), "unwound": ("", INTEGER, ADD),
            "inclusive": ("ns", REAL, ADD_SAME), "total": ("ns", REAL, ADD), "min": ("ns", REAL, LEAST),
            "max": ("ns", REAL, MOST), "duration": ("ns", HISTOGRAM, ADD)}
KEYS = "process,thread,binary,function"


def bucket(ns):
    """The bucket of NS by the rule of pbin.5, but computed differently from the code: the first
    octave in which 32 buckets reach x."""
    x, k = int(ns * 16), 0
    if x < 64:
        return x
    while x >= 64 * 2**k:
        k += 1
    return min(32 * k + x // 2**k, 1311)


class Calls:
    """The calls of one function in one thread of one run."""

    def __init__(self, rng):
        scale = rng.choice((8, 50, 3000, 10**6, 10**9))
        self.durations = [F(rng.randrange(int(scale * 16)), 16) for _ in range(rng.choice((0, 1, 5, 300)))]
        self.unwound = rng.randrange(3)
        self.inclusive = sum(self.durations) / rng.choice((1, 2))

    def values(self):
        d = self.durations
        of = {"calls": len(d) + self.unwound, "returned": len(d), "unwound": self.unwound, "inclusive": self.inclusive}
        if d:
            of.update(total=sum(d), min=min(d), max=max(d))
        return of


def counts(durations):
    found = {}
    for d in durations:
        found[bucket(d)] = found.get(bucket(d), 0) + 1
    return found


def make_run(rng):
    """{key: Calls}"""
    keys = [(1, t, b, f) for t in range(1, 4) for b, f in (("app", "parse"), ("app", "run"), ("lib.so", "read"))]
    return {k: Calls(rng) for k in rng.sample(keys, rng.randrange(1, len(keys) + 1))}


def write(run, name="run", measures=None):
    p = pbin.Profile(meta={"name": name, "keys": KEYS, "dialect": "funcmeter", "wall_ns": 10**9},
                     measures=measures or MEASURES)
    for number, key in enumerate(sorted(run, key=pbin.sort_key)):
        calls = run[key]
        time = calls.inclusive / 2
        p.rows.append(pbin.Row(key, F(0), calls.values()["calls"], 1, time, F(0), time**2, F(0), (time, time, 0, 0)))
        for measure, value in calls.values().items():
            p.measured[number, measure] = pbin.Measured.of_run(F(value))
        if calls.durations:
            p.measured[number, "duration"] = counts(calls.durations)
    p.runs.append(pbin.Run(name, 10**9, 0, 0, sum(r.time for r in p.rows), F(0)))
    return pbin.write(p)


def joined(runs, keys, add):
    """{key: {measure: Measured or buckets}} of RUNS by the given indices of their keys."""
    out, within = {}, {}
    for number, run in enumerate(runs):
        for key, calls in run.items():
            at = within.setdefault(tuple(key[k] for k in keys), {})
            of_run = at.setdefault(0 if add else number, {})
            for name, value in calls.values().items():
                old = of_run.get(name)
                how = {"min": min, "max": max}.get(name, lambda a, b: a + b)
                of_run[name] = value if old is None else how(old, value)
            at.setdefault("durations", []).extend(calls.durations)
    for key, of_runs in within.items():
        durations = of_runs.pop("durations")
        row = out[key] = {}
        for name in MEASURES:
            values = [F(r[name]) for r in of_runs.values() if name in r]
            if name == "duration" or not values or (name == "inclusive" and 3 not in keys):
                continue
            whole = {"min": min, "max": max}.get(name, sum)(values)
            row[name] = pbin.Measured(len(values), whole, sum(v * v for v in values), min(values), max(values))
        if durations:
            row["duration"] = counts(durations)
    return out


class MeasureCase(test_merge.MergeCase):
    def inputs(self, runs):
        return [self.file(f"run-{i}.pbin", write(r, f"n{i % 2}")) for i, r in enumerate(runs)]


class Sums(MeasureCase):
    def test_any_order_and_grouping(self):
        rng = random.Random(1500)
        names = KEYS.split(",")
        for number in range(8):
            runs = [make_run(rng) for _ in range(rng.randrange(2, 7))]
            keys = rng.choice(((0, 1, 2, 3), (2, 3), (3,), (1,), (2,)))
            mode = rng.choice(("mean", "add"))
            with self.subTest(number=number, keys=keys, mode=mode):
                argv = ["-k", ",".join(names[k] for k in keys), "--mode", mode]
                got = self.check_trees(self.inputs(runs), argv, number)
                want = joined(runs, keys, mode == "add")
                self.assertEqual(got.measures, dict(sorted(MEASURES.items())))
                found = {r.key: {} for r in got.rows}
                for (row, name), value in got.measured.items():
                    found[got.rows[row].key][name] = value
                self.assertEqual(found, want)

    def test_filters_join_the_excluded(self):
        run = make_run(random.Random(3))
        out = self.sum(self.inputs([run]), "-k", "function", "--filter", "function=parse")
        got = pbin.read(self.content(out))
        rows = {r.key[0]: i for i, r in enumerate(got.rows)}
        of = {"parse": [c for k, c in run.items() if k[3] == "parse"],
              "_excluded": [c for k, c in run.items() if k[3] != "parse"]}
        for name, calls in of.items():
            if calls:
                self.assertEqual(got.measured[rows[name], "calls"].value, sum(c.values()["calls"] for c in calls))
        self.assertNotIn((rows["_excluded"], "inclusive"), got.measured)


class Tables(MeasureCase):
    def text(self, *argv):
        done = subprocess.run([tool.path("pbin-aggregate"), "-q", *argv], stdout=subprocess.PIPE, check=True,
                              env=dict(tool.environment(), COLUMNS="80"))
        return done.stdout.decode()

    def setUp(self):
        super().setUp()
        rng = random.Random(99)
        self.durations = {"fast": [F(rng.randrange(16 * 40), 16) for _ in range(5000)],
                          "slow": [F(int(rng.lognormvariate(10, 2) * 16), 16) for _ in range(5000)]}
        run = {}
        for function, durations in self.durations.items():
            for thread in (1, 2):
                calls = run[1, thread, "app", function] = Calls(rng)
                calls.durations, calls.unwound = durations[thread - 1::2], thread
                calls.inclusive = sum(calls.durations)
        self.path = self.file("run.pbin", write(run))

    def test_values(self):
        rows = {r["function"]: r for r in self.table("-k", "function", self.path)["rows"]}
        for function, durations in self.durations.items():
            row, ordered = rows[function], sorted(durations)
            self.assertEqual([row[k] for k in ("calls", "returned", "unwound")], [5003, 5000, 3])
            self.close(row["mean"], sum(durations) / 5000, "mean")
            self.close(row["min"], ordered[0], "min")
            self.close(row["max"], ordered[-1], "max")
            self.close(row["inclusive"], sum(durations) / 10**9, "inclusive")
            for name, rank in (("p50", 2499), ("p90", 4499), ("p99", 4949)):
                self.assertAlmostEqual(row[name], float(ordered[rank]), delta=max(float(ordered[rank]) * 0.016, 1 / 31))

    def test_total(self):
        """All measures of calls except inclusive times can be summed over functions."""
        total = self.table("-k", "function", self.path)["total"]
        everything = sorted(d for ds in self.durations.values() for d in ds)
        self.assertEqual(total["calls"], 10006)
        self.assertIsNone(total["inclusive"])
        self.close(total["mean"], sum(everything) / 10000, "mean")
        self.assertAlmostEqual(total["p50"] / float(everything[4999]), 1, delta=0.016)

    def test_other_and_trees(self):
        other = self.table("-k", "function,thread", "--sort", "calls", "--top", "3", self.path)["rows"][-1]
        self.assertEqual((other["function"], other["calls"]), ("_other", 2501))
        tree = self.table("-k", "function,thread", "--tree", self.path)["rows"]
        slow = [r for r in tree if r["tree"] == "slow"][0]
        self.close(slow["inclusive"], sum(self.durations["slow"]) / 10**9, "inclusive")
        tree = self.table("-k", "thread,function", "--tree", self.path)["rows"]
        self.assertIsNone([r for r in tree if r["depth"] == 0][0]["inclusive"])

    def test_sort(self):
        def order(metric):
            return [r["function"] for r in self.table("-k", "function", "--sort", metric, self.path)["rows"]]
        self.assertEqual((order("inclusive"), order("calls")), (["slow", "fast"], ["fast", "slow"]))

    def test_mean_over_runs(self):
        rows = {r["function"]: r for r in self.table("-k", "function", self.path, self.path)["rows"]}
        self.assertEqual([rows["fast"][k] for k in ("calls", "runs")], [5003, 2])
        rows = {r["function"]: r for r in self.table("-k", "function", "--mode", "add", self.path, self.path)["rows"]}
        self.assertEqual(rows["fast"]["calls"], 10006)

    def test_text_fits(self):
        text = self.text(self.path)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        head = [line for line in text.splitlines() if "function" in line][0]
        for name in ("time", "calls", "inclusive", "mean"):
            self.assertIn(name, head)
        text = self.text("--columns", "function,p99,unwound", self.path)
        self.assertIn("p99 [ns]", text)
        self.assertNotIn("inclusive", text)

    def test_csv_has_all(self):
        rows = list(csv.DictReader(io.StringIO(self.csv(self.path).decode())))
        for name in ("calls", "returned", "unwound", "inclusive [s]", "total [s]", "mean [ns]", "min [ns]", "p50 [ns]",
                     "p90 [ns]", "p99 [ns]", "max [ns]"):
            self.assertIn(name, rows[0])

    def test_only_calls(self):
        """Without times, rows are ordered by calls, and columns of times are not shown."""
        p = pbin.Profile(meta={"name": "x", "keys": "function", "dialect": "funcmeter"},
                         measures={"calls": ("", INTEGER, ADD)}, runs=[pbin.Run("x", 1, 0, 0, F(0), F(0))])
        for number, (name, calls) in enumerate((("a", 5), ("b", 9))):
            p.rows.append(pbin.Row((name,), F(0), calls, 1, F(0), F(0), F(0), F(0), (0, 0, 0, 0)))
            p.measured[number, "calls"] = pbin.Measured.of_run(F(calls))
        text = self.text("-k", "function", self.file("c.pbin", pbin.write(p)))
        self.assertEqual([line.split() for line in text.splitlines()[-5:]],
                         [["calls", "function"], ["9", "b"], ["5", "a"], ["-----", "--------"], ["14", "_total"]])

    def test_older_profiles(self):
        """Entries in older profiles are calls."""
        p = pbin.Profile(meta={"name": "x", "keys": "binary,function", "dialect": "funcmeter"},
                         runs=[pbin.Run("x", 1, 0, 0, F(30), F(0))])
        for name, calls in (("a", 5), ("b", 9)):
            p.rows.append(pbin.Row(("app", name), F(0), calls, 1, F(15), F(0), F(225), F(0), (15, 15, 0, 0)))
        path = self.file("old.pbin", pbin.write(p))
        self.assertEqual([r["calls"] for r in self.table(path)["rows"]], [5, 9])
        self.assertEqual([r["calls"] for r in self.table("-k", "binary", path, path, "--mode", "add")["rows"]], [28])

    def test_dump(self):
        """Exactly the contents of the file."""
        p = pbin.read(self.content(self.path))
        want, buckets = set(), set()
        for (row, name), value in p.measured.items():
            key = tuple(map(str, p.rows[row].key))
            if isinstance(value, dict):
                buckets |= {(*key, name, str(b), str(n)) for b, n in value.items()}
            else:
                want.add((*key, name, "1", float(value.value)))
        columns = (*KEYS.split(","), "measure")
        rows = list(csv.DictReader(io.StringIO(self.succeeds(["pbin-dump", "--measures", self.path]).out.decode())))
        self.assertEqual({(*(r[c] for c in columns), r["runs"], float(r["value"])) for r in rows}, want)
        rows = list(csv.DictReader(io.StringIO(self.succeeds(["pbin-dump", "--histograms", self.path]).out.decode())))
        self.assertEqual({(*(r[c] for c in columns), r["bucket"], r["count"]) for r in rows}, buckets)
        for r in rows:
            x = int(r["bucket"])
            if x >= 64:  # the bucket begins at m * 2^k sixteenths, m from 32 to 63
                k = x // 32 - 1
                self.assertEqual(float(r["from"]) * 16, (x - 32 * k) * 2**k)
                self.assertEqual(float(r["to"]) * 16, (x - 32 * k + 1) * 2**k)
        self.assertIn("no measures", self.fails(["pbin-dump", "--measures", self.file(
            "full.pbin", pbin.write(profiles.make(1)))]).err)

    def test_other_tools_read_it(self):
        """The call graph has the same times as without measures."""
        p = pbin.read(self.content(self.path))
        p.measures, p.measured = {}, {}
        plain = self.file("plain.pbin", pbin.write(p))
        got, want = (self.succeeds(["pbin-callgraph", "-q", path]).out for path in (self.path, plain))
        self.assertEqual(got, want)
        self.succeeds(["pbin-compare", plain, self.path])


class Bad(MeasureCase):
    def refused(self, what, change):
        run = {(1, 1, "app", "f"): Calls(random.Random(5)), (1, 1, "app", "g"): Calls(random.Random(6))}
        w = pbin.Writer({"name": "x", "keys": KEYS, "dialect": "funcmeter"})
        w.put_runs([pbin.Run("x", 1, 0, 0, F(2), F(0))])
        w.put_rows([pbin.Row(k, F(0), 1, 1, F(1), F(0), F(1), F(0), (1, 1, 0, 0)) for k in run])
        change(w)
        path = self.file("bad.pbin", w.finish())
        error = self.fails(["pbin-aggregate", "-q", "-k", KEYS, path], path).err
        self.assertIn(what, error)

    def test_refused(self):
        one = pbin.Measured.of_run(F(1))
        undefined = "refers to something undefined"
        calls = {"calls": ("", INTEGER, ADD)}
        time = {"duration": ("ns", HISTOGRAM, ADD)}

        def put(measures, *measured):
            def change(w):
                w.put_measures(measures)
                for m in measured:
                    w.put_measured(m)
            return change

        def raw(measures, kind, payload):
            def change(w):
                w.put_measures(measures)
                w.block(kind, payload)
            return change
        for what, change in (
                (undefined, put(calls, {(2, "calls"): one})),
                (undefined, raw(calls, "mval", bytes.fromhex("01000000 00000000 01000000 0100000000000000") + bytes(16))),
                (undefined, raw(calls, "mval", bytes.fromhex("01000000 00000000 00000000 0000000000000000") + bytes(16))),
                (undefined, raw(calls, "mval", bytes.fromhex("ffffffff 00000000 00000000 0100000000000000") + bytes(16))),
                (undefined, raw(calls, "hist", bytes.fromhex("01000000 00000000 00000000 00000000"))),
                (undefined, raw(time, "mval", bytes.fromhex("01000000 00000000 00000000 0100000000000000") + bytes(16))),
                (undefined, put(time, {(0, "duration"): {1312: 1}})),
                (undefined, put(time, {(0, "duration"): {1: 0}})),
                (undefined, raw(time, "hist", bytes.fromhex("01000000 00000000 00000000 02000000") +
                                2 * bytes.fromhex("05000000 0100000000000000"))),
                (undefined, raw(time, "hist", bytes.fromhex("01000000 00000000 00000000 ffffffff"))),
                ("two values of measure 'calls'", put(calls, {(0, "calls"): one}, {(0, "calls"): one})),
                ("two values of measure 'duration'", put(time, {(0, "duration"): {1: 1}}, {(0, "duration"): {2: 1}})),
                ("negative", put(calls, {(0, "calls"): pbin.Measured.of_run(F(-1))})),
                ("less than its minimum", put(calls, {(0, "calls"): pbin.Measured(2, F(1), F(1), F(2), F(2))})),
                ("a row counts 3 runs", put(calls, {(0, "calls"): pbin.Measured(3, F(3), F(3), F(1), F(1))})),
                (undefined, put({"Calls": ("", INTEGER, ADD)})),
                (undefined, put({"c" * 33: ("", INTEGER, ADD)})),
                (undefined, put({"calls": ("", 3, ADD)})),
                (undefined, put({"calls": ("", INTEGER, 4)})),
                (undefined, put({"calls": ("", HISTOGRAM, LEAST)})),
                (undefined, lambda w: (w.put_measures(calls), w.put_measures(calls))),
                (undefined, put({f"m{i}": ("", INTEGER, ADD) for i in range(65)}))):
            with self.subTest(what):
                self.refused(what, change)

    def test_most_measures(self):
        names = [f"m{i}" for i in range(64)]
        p = pbin.Profile(meta={"name": "x", "keys": "function"}, measures={n: ("", INTEGER, ADD) for n in names},
                         runs=[pbin.Run("x", 1, 0, 0, F(0), F(0))],
                         rows=[pbin.Row(("f",), F(0), 1, 1, F(0), F(0), F(0), F(0), (0, 0, 0, 0))])
        for i, name in enumerate(names):
            p.measured[0, name] = pbin.Measured.of_run(F(i))
        table = json.loads(self.succeeds(["pbin-aggregate", "-k", "function", "--format", "json",
                                          self.file("m.pbin", pbin.write(p))]).out)
        self.assertEqual([table["rows"][0][n] for n in names], list(range(64)))

    def test_other_kinds(self):
        run = make_run(random.Random(8))
        a = self.file("a.pbin", write(run))
        b = self.file("b.pbin", write(run, measures=dict(MEASURES, calls=("s", INTEGER, ADD))))
        self.assertIn("'calls' has a different kind or unit", self.fails(["pbin-aggregate", a, b]).err)

    def test_cut_short(self):
        """Every truncated file is refused; complete parts are salvaged."""
        data = write(make_run(random.Random(9)))
        for end in range(40, len(data), 101):
            path = self.file("cut.pbin", data[:end])
            self.fails(["pbin-aggregate", "-q", path], path)
            self.assertIn(tool.run(["pbin-aggregate", "-q", "--salvage", path]).status, (0, 1))


if __name__ == "__main__":
    unittest.main()
