"""Energy as static + dynamic: --static.

SPDX-License-Identifier: MIT
"""
import json
import os
import random

import pbin
import tool

MS = 1_000_000
SAMPLE = os.path.join(os.path.dirname(os.environ["TESTS"]), "samples", "out.bin.bz2")


def make(taken, threads=1, cpus=1, **meta):
    count = max(l for s in taken for _, l, _ in s.entries) + 1
    fields = {"name": "static", "target": "app", "pmu": pbin.POWER, "unit": "W", "cpus": cpus, "cpu_time": 1, "times": 1,
              "samples": len(taken), "wall_ns": sum(s.interval_ns for s in taken), **meta}
    return pbin.Profile(fields, [pbin.Thread(t + 1, 1, "app") for t in range(threads)],
                        [pbin.Location(0x1000 + 16 * l, "app", [pbin.Frame(f"f{l}", f"f{l}", "", 0)])
                         for l in range(count)], taken)


def idling(seed, base=4.0, top=10.0, count=3000):
    """A thread that runs for a part of each interval; the power is BASE when idle, and TOP while it
    runs."""
    rng = random.Random(seed)
    used = [rng.choice((0, MS // 2, MS)) for _ in range(count)]
    return [pbin.Sample(MS, base + (top - base) * u / MS, [(0, rng.randrange(4), u)]) for u in used]


class StaticTest(tool.Case):
    def put(self, profile, name="p.pbin"):
        return self.file(name, pbin.write(profile))

    def table(self, *argv):
        return json.loads(self.succeeds(["pbin-aggregate", "-q", "--format=json", *argv]).out)

    def check_sums(self, table, static=None):
        for row in table["rows"] + [table["total"]]:
            self.assertAlmostEqual(row["static"] + row["dynamic"], row["energy"], 12)
        for name in ("static", "dynamic", "energy"):
            self.assertAlmostEqual(sum(row[name] for row in table["rows"]), table["total"][name], 10)
        if static is not None:
            self.assertAlmostEqual(table["total"]["static"], static, 9)

    def test_one_thread(self):
        samples = idling(1)
        table = self.table("--static", self.put(make(samples, baseline_w=4.0)))
        wall = sum(s.interval_ns for s in samples) / 1e9
        self.check_sums(table, 4 * wall)
        rows = {row["function"]: row for row in table["rows"]}
        self.assertEqual(set(rows), {"f0", "f1", "f2", "f3", "_idle"})
        used = sum(row["time"] for row in rows.values())
        for name in ("f0", "f1", "f2", "f3"):
            self.assertAlmostEqual(rows[name]["static"], 4 * rows[name]["time"], 9)
            self.assertGreater(rows[name]["dynamic"], 0)
        self.assertAlmostEqual(rows["_idle"]["static"], 4 * (wall - used), 9)

    def test_threads_at_the_same_time(self):
        rng = random.Random(2)
        samples = [pbin.Sample(MS, 12.0, [(0, 0, MS), (1, 1, MS), (2, rng.randrange(2, 4), MS)]) for _ in range(1000)]
        table = self.table("--static=3", self.put(make(samples, 3, 4)))
        self.check_sums(table, 3.0)
        rows = {row["function"]: row for row in table["rows"]}
        self.assertAlmostEqual(rows["f0"]["static"], 1.0, 2)
        self.assertAlmostEqual(rows["f0"]["dynamic"], 3.0, 2)

    def test_parts_and_runs_add_up(self):
        files = [self.put(make(idling(i), baseline_w=4.0), f"{i}.pbin") for i in range(3)]
        sums = os.path.join(self.folder, "sums.pbin")
        self.succeeds(["pbin-aggregate", "-q", "-o", sums, *files])
        table = self.table("--static", *files)
        self.assertEqual(table["rows"], self.table("--static", sums)["rows"])
        self.check_sums(table, 12)
        self.check_sums(self.table("--static", "--top", "1", *files), 12)
        tree = self.table("--static", "--tree", "-k", "binary,function", *files)
        self.assertAlmostEqual(sum(row["static"] for row in tree["rows"] if row["depth"] == 0), 12, 9)
        half = self.table("--static", "--fractions", *files)
        self.assertAlmostEqual(half["total"]["static"] + half["total"]["dynamic"], 1, 12)

    def test_text_and_csv(self):
        path = self.put(make(idling(1), baseline_w=4.0))
        text = self.succeeds(["pbin-aggregate", "-q", "--static", path]).out.decode()
        self.assertRegex(text, r"energy \[J\]  static \[J\]  dynamic \[J\]")
        head = self.succeeds(["pbin-aggregate", "-q", "--static", "--format=csv", path]).out.decode().splitlines()[0]
        self.assertIn("energy [J],static [J],dynamic [J],", head)
        self.assertNotIn("static [J]", self.succeeds(["pbin-aggregate", "-q", path]).out.decode())

    def test_least_squares(self):
        table = self.table("--energy-model=fit", "--static", self.put(make(idling(5))))
        self.check_sums(table)
        rows = {row["function"]: row for row in table["rows"]}
        self.assertAlmostEqual(rows["_idle"]["static"] / 3.0, 4, delta=0.1)
        self.assertEqual(rows["f0"]["static"], 0)

    def test_other_programs(self):
        profile = self.file("others.pbin", self.succeeds(["prof2pbin", "-q", SAMPLE]).out)
        table = self.table("--static=2", profile)
        rows = {row["function"]: row for row in table["rows"]}
        self.check_sums(table, 2 * table["profile"]["wall_s"])
        ratio = rows["_others"]["energy"] / rows["_others"]["static"]
        code = [row for row in rows.values() if row["time"]]
        self.assertAlmostEqual(ratio, sum(r["energy"] for r in code) / sum(r["static"] for r in code), 6)

    def aggregated(self, path, *options):
        name = path + options[-1].split("=")[-1] + ".pbin"
        self.succeeds(["pbin-aggregate", *options, path, "-o", name])
        return name

    def test_refused(self):
        path, other = self.put(make(idling(1))), self.put(make(idling(1), baseline_w=3.0), "other.pbin")
        both = self.put(make(idling(1), baseline_w=4.0), "both.pbin")
        for argv, status, text in (([path], 1, "no baseline of the value, or different ones"), ([other, both], 1, "different ones"),
                                   ([self.aggregated(both, "--energy-model=sample")], 1, "needs --energy-model=share or fit"),
                                   ([self.aggregated(both, "--filter", "function=f1")], 1, "needs all rows"),
                                   (["--static=0", both], 2, "greater than 0"), (["--static=x", both], 2, "--static")):
            ended = tool.run(["pbin-aggregate", "--static", *argv])
            self.assertEqual(ended.status, status, argv)
            self.assertIn(text, ended.err)
            self.assertEqual(ended.out, b"")
        for value in (float("nan"), float("inf"), -1.0, 1e300):
            bad = self.put(make(idling(1), baseline_w=value), "bad.pbin")
            self.assertEqual(tool.run(["pbin-aggregate", "--static", bad]).status, 1, value)

    def test_wrong_usage(self):
        """Usage that is wrong for any file is refused without reading the file."""
        for text, *options in (("needs --energy-model=share or fit", "--static", "--energy-model=sample"),
                               ("needs --energy-model=share or fit", "--energy-model=thread", "--static=5"),
                               ("needs --energy-model=share or fit", "--static", "--subtract-latency=thread"),
                               ("needs all rows", "--static", "--filter", "function=f1"),
                               ("needs all rows", "--static", "--exclude", "function~f"),
                               ("needs all rows", "--exclude-external", "--static=5"),
                               ("--others needs", "--others=ignore", "--energy-model=thread"),
                               ("--others needs", "--others=split", "--energy-model=sample"),
                               ("--others needs", "--energy-model=fit", "--others=ignore"),
                               ("--others needs", "--others=ignore", "--wall-time")):
            ended = tool.run(["pbin-aggregate", *options, self.folder + "/absent.pbin"])
            self.assertEqual(ended.status, 2, options)
            self.assertIn(text, ended.err)
        path = self.put(make(idling(1), baseline_w=4.0))
        self.table("--static", "--energy-model=fit", "--filter", "function=f1", path)
        self.table("--static", "--start=0.1", "--others=ignore", "--energy-model=share", path)

    def test_value_chosen_by_name(self):
        """A baseline is for the PMU value, also if that is selected by its name, but not for other
        values."""
        watts = [self.file(f"watts{i}", b"5\n") for i in range(2)]
        raw, path = os.path.join(self.folder, "two.bin"), os.path.join(self.folder, "two.pbin")
        ended = tool.run(["sampler", "-o", raw, "-p", "file:" + watts[0], "--unit", "W", "-p", "file:" + watts[1], "--unit", "W",
                          "--baseline", "2W", "--", os.path.join(tool.BUILD, "samples", "burn"), "0.2"])
        self.assertEqual(ended.status, 0, ended.err)
        self.succeeds(["prof2pbin", "-q", "-o", path, raw])
        self.assertEqual(self.table("--static", "--value=file:value", path), self.table("--static", path))
        ended = tool.run(["pbin-aggregate", "--static", "--value=file:value#2", path])
        self.assertEqual(ended.status, 1)
        self.assertIn("no baseline of file:value#2, or different ones", ended.err)

    def test_baseline_of_the_sampler_reaches_pbin(self):
        power = self.file("power", b"5\n")
        raw, pbin_file = os.path.join(self.folder, "out.bin"), os.path.join(self.folder, "out.pbin")
        ended = tool.run(["sampler", "-o", raw, "-p", "file:" + power, "--unit", "W", "--baseline", "2.25W", "--",
                          os.path.join(tool.BUILD, "samples", "burn"), "0.3"])
        self.assertEqual(ended.status, 0, ended.err)
        self.succeeds(["prof2pbin", "-q", "-o", pbin_file, raw])
        self.assertRegex(self.succeeds(["pbin-dump", pbin_file]).out.decode(), r"power without the program +2\.25\S* W")
        self.assertRegex(self.succeeds(["pbin-dump", "--raw", pbin_file]).out.decode(), r"baseline_w +2\.25")
        table = self.table("--static", pbin_file)
        self.check_sums(table, 2.25 * table["profile"]["wall_s"])
