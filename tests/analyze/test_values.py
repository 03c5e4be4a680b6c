"""--value: the values of one power source in place of the PMU values.

SPDX-License-Identifier: MIT
"""
import json
import random

import pbin
import tool

MS = 1_000_000
SOURCES = [("board", "power", "W", "board", 1.0, 0, 1, "the whole board"),
           ("core", "energy", "J", "core", 1e-6, MS, 0, ""),
           ("battery", "voltage", "V", "other", 1.0, 0, 0, "")]


class ValuesTest(tool.Case):
    def setUp(self):
        super().setUp()
        rng = random.Random(4)
        count = 3000
        columns = [[rng.uniform(1, 40) for _ in range(count)] for _ in SOURCES]
        samples = [pbin.Sample(rng.randrange(1, 3 * MS), columns[0][i], [(0, i % 3, 10**5)]) for i in range(count)]
        meta = {"name": "profile", "target": "app", "pmu": pbin.POWER, "unit": "W", "cpu_time": 1, "times": 1,
                "samples": count, "wall_ns": sum(s.interval_ns for s in samples), "value": "board", "scope": "board"}
        self.profile = pbin.Profile(meta, [pbin.Thread(1, 1, "app")],
                                    [pbin.Location(16 * l, "app", [pbin.Frame(f"f{l}", f"f{l}")]) for l in range(3)],
                                    samples, sources=SOURCES, values={1: columns[1], 2: columns[2]})
        self.columns = columns

    def pbin(self, batch=500):
        return self.file("values.pbin", pbin.write(self.profile, batch=batch))

    def facts(self, tool_name, *argv):
        return json.loads(self.succeeds([tool_name, "-q", "--format=json", *argv]).out)["profile"]

    def test_each_source(self):
        for batch in (1, 100, 4096):
            path = self.pbin(batch)
            for number, (name, _, _, scope, *_) in enumerate(SOURCES):
                with self.subTest(batch=batch, name=name):
                    total = sum(s.interval_ns * 1e-9 * v for s, v in zip(self.profile.samples, self.columns[number]))
                    facts = self.facts("pbin-aggregate", "--value", name, path)
                    self.assertAlmostEqual(facts["energy_J" if number < 2 else "voltage_time"], total, delta=1e-9 * total)
                    self.assertEqual((facts["value"], facts["scope"]), (name, scope))

    def test_same_as_a_profile_of_that_source(self):
        """In every tool, the samples are those of a profile that contains only the values of the
        source."""
        path = self.pbin()
        for s, value in zip(self.profile.samples, self.columns[1]):
            s.value = value
        self.profile.values = {}
        self.profile.sources = []
        self.profile.meta.update(value="core", scope="core")
        alone = self.file("alone.pbin", pbin.write(self.profile, batch=500))
        for name, *argv in (["pbin-dump", "--samples"], ["pbin-aggregate", "--format=csv"],
                            ["pbin-callgraph", "--format=json"], ["pbin-compare"],
                            ["pbin-plot", "--format=txt", "timeline"]):
            with self.subTest(name):
                inputs = 2 if name == "pbin-compare" else 1
                got = self.succeeds([name, "-q", "--value", "core", *argv, *[path] * inputs])
                want = self.succeeds([name, "-q", *argv, *[alone] * inputs])
                self.assertEqual(got.out.replace(b"values.pbin", b"alone.pbin"), want.out)

    def test_refused(self):
        path = self.pbin()
        ended = self.fails(["pbin-aggregate", "--value", "nothing", path], path)
        self.assertIn("no value 'nothing', expected one of board, core, battery", ended.err)
        aggregated = self.file("sums.pbin", self.succeeds(["pbin-aggregate", "-q", "--format=pbin", path]).out)
        self.assertIn("aggregate with --value first",
                      self.fails(["pbin-aggregate", "--value", "core", aggregated], aggregated).err)
        self.profile.sources = []
        self.profile.values = {}
        path = self.pbin()
        self.assertIn("has only its PMU value", self.fails(["pbin-aggregate", "--value", "core", path], path).err)

    def test_missing_columns(self):
        """A source without values, and a number of values that differs from the number of
        samples."""
        del self.profile.values[1]
        path = self.pbin()
        self.assertIn("lacks the values", self.fails(["pbin-aggregate", "--value", "core", path], path).err)
        self.profile.values[2] = self.profile.values[2][:-1]
        path = self.pbin()
        self.assertIn("lacks the values", self.fails(["pbin-aggregate", "--value", "battery", path], path).err)
        self.profile.values = {7: self.columns[1]}
        path = self.pbin()
        self.assertIn("undefined source", self.fails(["pbin-aggregate", path], path).err)

    def test_sources_are_listed(self):
        table = json.loads(self.succeeds(["pbin-dump", "--sources", "--format=json", self.pbin()]).out)
        self.assertEqual([(r["name"], r["kind"], r["unit"], r["scope"], r["role"]) for r in table["rows"]],
                         [(s[0], s[1], s[2], s[3], s[6]) for s in SOURCES])


class ParallelTest(tool.Case):
    def test_parts(self):
        """A file is read in parts."""
        rng = random.Random(5)
        count = 400_000
        wide = [rng.uniform(1, 40) for _ in range(4096)]
        values = [wide[rng.randrange(4096)] for _ in range(count)]
        samples = [pbin.Sample(rng.randrange(1, 2**40), wide[i % 4096], [(0, i % 3, rng.randrange(2**32))])
                   for i in range(count)]
        meta = {"name": "p", "pmu": pbin.POWER, "unit": "W", "cpu_time": 1, "times": 1, "samples": count,
                "wall_ns": sum(s.interval_ns for s in samples)}
        profile = pbin.Profile(meta, [pbin.Thread(1, 1, "app")],
                               [pbin.Location(16 * l, "app", [pbin.Frame(f"f{l}", f"f{l}")]) for l in range(3)], samples,
                               sources=SOURCES, values={1: values})
        path = self.file("parts.pbin", pbin.write(profile, batch=4096))
        one, four = (self.succeeds(["pbin-aggregate", "-q", "--format=csv", "--value=core", "-j", j, path]).out
                     for j in ("1", "4"))
        self.assertEqual(one, four)
        self.assertNotEqual(one, self.succeeds(["pbin-aggregate", "-q", "--format=csv", path]).out)


if __name__ == "__main__":
    import unittest
    unittest.main()
