"""Boxes and violins of errors, compared with lists in which each error is repeated according to its
weight, as the original script drew them.

SPDX-License-Identifier: MIT
"""
import csv
import json
import math
import os
import random
import re
import xml.etree.ElementTree as xml
from fractions import Fraction as F

import pbin
import tool

FUNCTIONS = 40
ERRORS = {"error": lambda b, v, w: v - b, "absolute": lambda b, v, w: abs(v - b),
          "relative": lambda b, v, w: 100 * (v - b) / b if b else None,
          "absolute-relative": lambda b, v, w: 100 * abs(v - b) / b if b else None,
          "weighted-relative": lambda b, v, w: w * 100 * (v - b) / b if b else None}


def profile(name, times):
    """An aggregated run; TIMES: {function: ms}."""
    p = pbin.Profile(meta={"name": name, "target": "program", "keys": "binary,function", "dialect": "test", "cpu_time": 1})
    for key in sorted((("program", f) for f in times), key=pbin.sort_key):
        ns = F(times[key[1]] * 10**6)
        p.rows.append(pbin.Row(key, 1, 1, 1, ns, F(0), ns * ns, F(0), (ns, ns, F(0), F(0))))
    p.runs.append(pbin.Run(name, 10**10, 0, len(times), sum(r.time for r in p.rows), F(0)))
    return pbin.write(p)


def repeated(base, other, function, by_other=False):
    """The errors in seconds or percent, sorted, each repeated once per ms of its weight."""
    weights = other if by_other else base
    total, out = sum(weights.values()), []
    for name in set(base) | set(other):
        b, v, w = (F(m.get(name, 0)) for m in (base, other, weights))
        error = ERRORS[function](b / 1000, v / 1000, w / total)
        if error is not None:
            out += [error] * int(w)
    return sorted(out)


def quantile(values, part):
    return values[max(0, math.ceil(part * len(values)) - 1)]


class Errors(tool.Case):
    def setUp(self):
        super().setUp()
        rng = random.Random(3)
        self.base = {f"f{i}": rng.randrange(1, 400) for i in range(FUNCTIONS)}
        self.base["tiny"] = 1
        self.other = {f: t + rng.randrange(-t // 2, t) for f, t in self.base.items()}
        self.other.update(tiny=99, new=150)
        self.third = {f: t + 20 + rng.randrange(-15, 15) for f, t in self.base.items()}
        del self.third["f3"]
        self.files = [self.file(f"{name}.pbin", profile(name, times)) for name, times in
                      (("base", self.base), ("other", self.other), ("third", self.third))]

    def plot(self, kind, function, *options):
        argv = ["pbin-plot", kind, "--error", function, "-o", "e.svg", "--script", *options]
        self.assertEqual(self.succeeds(argv, timeout=60, cwd=self.folder).err, "")
        with open(os.path.join(self.folder, "e.svg.gp"), encoding="utf-8") as f:
            self.script = f.read()
        self.axis = [float(x) for x in re.search(r"set xrange \[(.*):(.*)\]", self.script).groups()]
        with open(os.path.join(self.folder, "e.svg"), "rb") as f:
            self.texts = ["".join(e.itertext()) for e in xml.fromstring(f.read()).iter() if e.tag.endswith("text")]

    def data(self, name):
        lines = re.search(r"\$%s << (END_\w+)\n(.*?)\n?\1" % name, self.script, re.S).group(2).splitlines()
        return [re.split(r"[\t ]", line) for line in lines if line]

    def near(self, got, want, what=None):
        self.assertAlmostEqual(float(got), float(want), delta=1e-6 * max(1e-3, abs(float(want))), msg=what)

    def check_box(self, row, values):
        """VALUES: the repeated errors."""
        q1, median, q3 = (quantile(values, F(n, 4)) for n in (1, 2, 3))
        inside = [v for v in values if q1 - F(3, 2) * (q3 - q1) <= v <= q3 + F(3, 2) * (q3 - q1)]
        for got, want in zip(row[2:5] + row[6:7], (q1, median, q3, sum(values) / len(values))):
            self.near(got, want)
        self.assertLessEqual(float(row[1]), float(q1))
        self.near(row[1], min(inside))
        self.near(row[5], max(inside))

    def test_boxes(self):
        for function in ERRORS:
            with self.subTest(function):
                self.plot("box", function, "--means", *self.files)
                for row, other in zip(self.data("boxes"), (self.other, self.third)):
                    if function.startswith("weighted"):  # rarely beyond the axis
                        self.near(row[3], quantile(repeated(self.base, other, function), F(1, 2)))
                    else:
                        self.check_box(row, repeated(self.base, other, function))
                self.assertEqual([row[7] for row in self.data("boxes")], ["other", "third"])

    def test_weights_of_the_other_side(self):
        self.plot("box", "relative", "--weight=other", *self.files[:2])
        self.check_box(*self.data("boxes"), repeated(self.base, self.other, "relative", True))
        self.plot("box", "error", "--weight=other", *self.files[:2])  # new functions have a weight
        self.check_box(*self.data("boxes"), repeated(self.base, self.other, "error", True))

    def test_errors_are_those_of_the_table(self):
        self.plot("box", "relative", "--points=all", "--base", self.files[0], "--with", *self.files[1:])
        table = self.succeeds(["pbin-compare", "--error=relative", "--format=json", "--base", self.files[0],
                               "--with", *self.files[1:]]).out
        rows = {r["function"]: r for r in json.loads(table)["rows"]}
        for f, row in rows.items():
            mean = F(self.other.get(f, 0) + self.third.get(f, 0), 2)
            self.near(row["relative"] or 0, 100 * (mean / self.base[f] - 1) if f in self.base else 0, f)
        errors = sorted(row["relative"] for f, row in rows.items() if f in self.base)
        self.assertEqual(len(errors), len(self.data("points")))
        for got, want in zip(sorted(float(p[1]) for p in self.data("points")), errors):
            self.near(got, want)
        with open(os.path.join(self.folder, "e.svg.csv"), encoding="utf-8") as f:
            for row in csv.DictReader(f):
                self.assertEqual(float(row["relative [%]"] or 0), rows[row["function"]]["relative"] or 0)
                self.assertEqual(float(row["weight [%]"]), rows[row["function"]]["weight"])

    def test_what_is_drawn(self):
        self.plot("violin", "relative", "--width=1400", *self.files)
        weights = self.base.values()
        every = len(set(self.base) | set(self.other))
        said = f"{len(self.base)} of {every} rows by share of the base · effectively " \
               f"{sum(weights) ** 2 / sum(w * w for w in weights):.1f} rows or more"
        self.assertTrue(any(said in text for text in self.texts), self.texts)
        self.assertIn("relative error of time [%]", self.texts)

    def test_light_errors_do_not_stretch_the_axis(self):
        for kind in ("box", "violin"):
            with self.subTest(kind):
                self.plot(kind, "relative", *self.files)
                values = [v for o in (self.other, self.third) for v in repeated(self.base, o, "relative")]
                ends = [quantile(repeated(self.base, o, "relative"), p) for o in (self.other, self.third)
                        for p in (F(5, 1000), F(995, 1000))]
                self.assertTrue(self.axis[0] < min(ends) and max(ends) < self.axis[1] < max(values) / 5, self.axis)
                self.assertTrue(any("ends of 0.5 % cut off" in text for text in self.texts), self.texts)
                for row in self.data("boxes"):
                    self.assertTrue(self.axis[0] <= float(row[1]) <= float(row[5]) <= self.axis[1])
        self.plot("violin", "relative", "--exclude=function=tiny", *self.files[:2])
        self.assertFalse(any("cut off" in text for text in self.texts), self.texts)

    def test_whiskers_end_at_the_axis(self):
        files = [self.file(name, profile(name, dict(zip("abt", times))))
                 for name, times in (("o.pbin", (5000, 5000, 10)), ("n.pbin", (2500, 7500, 28)))]
        self.plot("box", "relative", *files)
        self.assertTrue(50 < self.axis[1] < 180)
        self.near(self.data("boxes")[0][5], self.axis[1])  # otherwise gnuplot does not draw them

    def test_violins_are_weighted_densities(self):
        self.plot("violin", "relative", "--exclude=function=tiny", *self.files[:2])
        del self.base["tiny"], self.other["tiny"]
        values = [float(v) for v in repeated(self.base, self.other, "relative")]
        mean, n = sum(values) / len(values), sum(self.base.values()) ** 2 / sum(w * w for w in self.base.values())
        deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / len(values) * n / (n - 1))
        spread = min(deviation, (quantile(values, 0.75) - quantile(values, 0.25)) / 1.34)
        width = 0.9 * spread * n ** -0.2
        curve = [(float(x), (float(high) - float(low)) / 2) for x, low, high in self.data("violins")]
        want = [sum(math.exp(-0.5 * ((x - v) / width) ** 2) for v in values) for x, _ in curve]
        for (x, half), density in zip(curve, want):
            self.assertAlmostEqual(half, 0.42 * density / max(want), delta=1e-5, msg=x)
        self.near(curve[0][0], max(values[0] - 2.5 * width, -100))  # no program takes less than no time
        self.near(curve[-1][0], values[-1] + 2.5 * width)

    def test_violins_of_relative_errors_end_at_nothing(self):
        """No function takes less than no time, but its error of time can have any value."""
        times = ([1000] * 4, [1, 500, 1000, 4000])
        files = [self.file(f"{n}.pbin", profile(n, dict(zip("abcd", t)))) for n, t in zip("on", times)]
        for function, least in (("relative", -100), ("absolute", 0), ("error", None)):
            self.plot("violin", function, *files)
            begin = float(self.data("violins")[0][0])
            if least is None:
                self.assertLess(begin, -1.2)
            else:
                self.near(begin, least)

    def test_order_of_sides(self):
        means = {name: sum(v) / len(v) for name, v in (("other", repeated(self.base, self.other, "relative")),
                                                       ("third", repeated(self.base, self.third, "relative")))}
        for option, reverse in (("--asc", False), ("--desc", True)):
            self.plot("violin", "relative", option, *self.files)
            self.assertEqual([row[7] for row in self.data("boxes")], sorted(means, key=means.get, reverse=reverse))

    def test_nothing_has_an_error(self):
        new = self.file("new.pbin", profile("new", {"elsewhere": 5}))
        self.assertIn("no row has both an error and a weight",
                      self.fails(["pbin-plot", "violin", "--error=weighted-relative", "--weight=other", self.files[0], new]).err)

    def test_equal_sides(self):
        same = self.file("same.pbin", profile("same", self.base))
        for kind in ("box", "violin"):
            self.plot(kind, "error", self.files[0], same)
            self.assertEqual({float(x) for x in self.data("boxes")[0][1:7]}, {0})
