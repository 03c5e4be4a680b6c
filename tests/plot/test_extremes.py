"""pbin-plot: one function, one sample, energy that mostly belongs to other programs, negative
power.

SPDX-License-Identifier: MIT
"""
import os
import re
import xml.etree.ElementTree as xml

import pbin
import plotdata
import tool

SVG = "{http://www.w3.org/2000/svg}"
MS = 1_000_000


def profile(walk, functions, threads=1, cpu_ns=MS, cpus=1):
    """WALK: power and function number of each millisecond, in which each thread uses CPU_NS."""
    p = pbin.Profile(meta={"name": "run", "target": "app", "pmu": pbin.POWER, "unit": "W", "cpus": cpus, "cpu_time": 1,
                           "times": 1, "dialect": "test", "samples": len(walk), "wall_ns": len(walk) * MS,
                           "latency_ns": 0})
    p.threads = [pbin.Thread(100 + t, 100, "app") for t in range(threads)]
    p.locations = [pbin.Location(0x1000 + i, "app", [pbin.Frame(f"f{i}", f"f{i}")]) for i in range(functions)]
    p.samples = [pbin.Sample(MS, float(power), [(t, f, cpu_ns(i, t) if callable(cpu_ns) else cpu_ns) for t in range(threads)])
                 for i, (power, f) in enumerate(walk)]
    return pbin.write(p)


def waiting(run):
    """Three functions have 2 % of 64 CPUs' energy, in 6, 3 and 1 of ten milliseconds."""
    return profile([(100 + run, (0, 0, 0, 0, 0, 0, 1, 1, 1, 2)[i % 10]) for i in range(200)], 3, cpu_ns=MS // 50,
                   cpus=64)


class Extremes(tool.Case):
    def plot(self, kind, *files, form="svg", options=()):
        """Returns (texts of the picture, script, picture)."""
        out = os.path.join(self.folder, "p." + form)
        table = [] if kind == "flame" else ["--script"]
        ended = self.succeeds(["pbin-plot", kind, "--verbose", *options, "-o", out, *table, *files])
        self.assertNotIn("gnuplot", ended.err)
        with open(out, "rb") as f:
            data = f.read()
        script = ""
        if table:
            with open(out + ".gp", encoding="utf-8") as f:
                script = f.read()
        texts = [] if form != "svg" else ["".join(e.itertext()).strip() for e in xml.fromstring(data).iter(SVG + "text")]
        return texts, script, data

    def range_of(self, script, axis="x"):
        return tuple(map(float, re.findall(rf"set {axis}range \[(.*):(.*)\]", script)[-1]))

    def waiting(self):
        return [self.file(f"wait{i}.pbin", waiting(i)) for i in range(4)]

    def test_bars_of_code_are_visible_beside_idle_energy(self):
        texts, script, _ = self.plot("bars", self.waiting()[0])
        rows = dict((r.split("\t")[-1].strip(), float(r.split("\t")[1]))
                    for r in re.search(r"\$rows << (END_\w+)\n(.*?)\1", script, re.S).group(2).splitlines())
        self.assertEqual(set(rows), {"_idle", "f0", "f1", "f2"})
        self.assertGreater(rows["_idle"], 40 * rows["f0"])
        factor = 1e-3 if any("[mJ]" in t for t in texts) else 1
        end = self.range_of(script)[1] * factor
        self.assertTrue(rows["f0"] < end < 1.6 * rows["f0"], end)
        self.assertTrue(any(t.startswith("19.6 J  98.") for t in texts), texts)

    def test_boxes_of_code_are_visible_beside_idle_energy(self):
        for kind in ("box", "violin"):
            texts, script, _ = self.plot(kind, *self.waiting())
            self.assertTrue({"_idle", "f0", "f1", "f2"} <= set(texts), texts)
            boxes = re.search(r"\$boxes << (END_\w+)\n(.*?)\1", script, re.S).group(2)
            self.assertEqual([line.split("\t")[-1] for line in boxes.splitlines()], ["f0", "f1", "f2"])
            self.assertIn("median 19.9 J, runs 19.6 J to 20.2 J \u2192", texts)
            self.assertLess(self.range_of(script)[1], 1000)  # mJ: f0 has 240
        text = self.succeeds(["pbin-plot", "box", "--format=txt", *self.waiting()]).out.decode()
        self.assertRegex(text, r"_idle +median 19.9 J, runs 19.6 J to 20.2 J >>")

    def test_flame_of_code_is_visible_beside_idle_energy(self):
        texts, _, data = self.plot("flame", self.waiting()[0])
        nodes = {n.get("data-n"): n for n in xml.fromstring(data).iter(SVG + "g") if n.get("class") == "node"}
        width = {name: float(n.get("data-w")) for name, n in nodes.items()}
        self.assertAlmostEqual(width["_idle"], 0.25, 6)
        self.assertAlmostEqual(width["f0"], 0.45, 6)
        self.assertAlmostEqual(width["f0"] + width["f1"] + width["f2"], width["app"], 6)
        self.assertIn("98.00 %", nodes["_idle"].find(SVG + "title").text)
        self.assertIn("1.20 %", nodes["f0"].find(SVG + "title").text)
        self.assertIn("_idle: narrower than its share", " ".join(texts))
        alone = self.file("busy.pbin", profile([(10, i % 2) for i in range(100)], 2))
        self.assertNotIn("narrower", " ".join(self.plot("flame", alone)[0]))

    def test_differences_of_code_are_visible_beside_idle_energy(self):
        files = self.waiting()
        for kind, most in (("compare", 30), ("dumbbell", 1000)):  # mJ: f0 grows by 2.4 from 240, _idle by 196
            texts, script, _ = self.plot(kind, files[0], files[1])
            self.assertTrue(any("+196 mJ" in t for t in texts), texts)
            self.assertLess(self.range_of(script)[1], most)
            self.assertEqual(script.count("nohead front lw 3"), 2 if kind == "compare" else 0)  # two strokes across the bar of _idle

    def test_differences_in_text_have_signs(self):
        """At every width, characters of the rows do not cover the values."""
        one, other = (self.file(f"{n}.pbin", profile([(10 + n * (i % 2), i % 3) for i in range(60)], 3)) for n in (0, 1))
        for kind in ("compare", "dumbbell"):
            for width in (60, 80, 99, 100, 101):
                text = self.succeeds(["pbin-plot", kind, "-q", "--format=txt", f"--width={width}", one, other]).out.decode()
                rows = [line for line in text.splitlines() if re.match(r" *f\d ", line)]
                self.assertEqual(len(rows), 3, text)
                for row in rows:
                    self.assertRegex(row, r" \+\S+ mJ  \+\S+ %")

    def test_heatmap_of_code_is_visible_beside_idle_energy(self):
        texts, script, _ = self.plot("heatmap", self.waiting()[0])
        self.assertIn("_idle: beyond the scale", " ".join(texts))
        self.assertEqual(re.search(r"set cbrange \[0:(.*)\]", script).group(1)[:3], "2.0")

    def test_heatmap_of_one_function_and_of_one_sample(self):
        """The middle of the picture is dark; gnuplot draws nothing for an image with a single
        row."""
        for walk in ([(10, 0)] * 50, [(10, 0)]):
            data = self.plot("heatmap", self.file("one.pbin", profile(walk, 1)), form="png", options=["--height=200"])[2]
            middle = plotdata.png_lines(data)[90][450]
            self.assertLess(sum(middle), 300, middle)

    def test_lanes_have_a_scale(self):
        """Threads that use little CPU time fill their lanes; the subtitle shows how much that
        is."""
        few = self.file("few.pbin", profile([(10, i % 3) for i in range(200)], 3, threads=3, cpu_ns=MS // 25, cpus=8))
        texts, script, _ = self.plot("timeline", few)
        self.assertIn("full lane: 0.05 CPUs", " ".join(texts))
        tops = [float(line.split("\t")[2]) for block in re.findall(r"\$series\d << (END_\w+)\n(.*?)\1", script, re.S)
                for line in block[1].splitlines() if line.count("\t") == 2 and "NaN" not in line]
        lane = min(t for t in tops)  # the first lane is from 0.42 up to -0.42
        self.assertAlmostEqual((0.42 - lane) / 0.84, 0.04 / 0.05, 3)
        many = self.file("many.pbin", profile([(10, 0)] * 50, 1, threads=100, cpu_ns=MS // 25, cpus=8))
        subtitle = " ".join(self.plot("timeline", many)[0])
        shown = int(re.search(r"the (\d+) busiest of 100 threads", subtitle).group(1))
        self.assertLess(shown, 60)
        self.assertIn("full lane: 0.05 CPUs, the last: 5", subtitle)  # of (100 - shown) * 0.04 CPUs
        self.assertTrue(2 < (100 - shown) * 0.04 <= 5)

    def test_threads_without_a_lane(self):
        """Threads that wait in the function of the busy one, and threads that start after the
        window."""
        def times(index, thread):
            return MS if thread == 0 else MS // 2 if index >= 400 and thread < 4 else 0
        file = self.file("late.pbin", profile([(10, i % 3) for i in range(500)], 3, threads=300, cpu_ns=times, cpus=8))
        for options, names in (["--end=0.3"], ["app 100"]), (["--end=0.3", "--no-threads"], ["app 100"]), ([], ["app 100", "app 101", "app 102", "app 103"]):
            texts = self.plot("timeline", file, options=options)[0]
            self.assertEqual([t for t in texts if re.fullmatch(r"app \d+", t)], names)

    def test_power_of_one_sample_is_a_line(self):
        script = self.plot("timeline", self.file("one.pbin", profile([(10, 0)], 1)))[1]
        points = re.search(r"\$power << (END_\w+)\n(.*?)\1", script, re.S).group(2).splitlines()
        self.assertEqual([float(p.split("\t")[0]) for p in points], [0, 0.001])

    def test_negative_power(self):
        file = self.file("neg.pbin", profile([(-1e-6 * (1 + i // 50) + (-1)**i * 1e-8, i // 50) for i in range(100)], 2))
        texts, script, _ = self.plot("bars", file)
        low, high = self.range_of(script)
        self.assertTrue(low < -100 and 0 < high < 50, (low, high))  # nJ: -50 and -100
        self.assertTrue(any(re.fullmatch(r"-(99|100)(\.\d)? nJ", t) for t in texts), texts)
        script = self.plot("timeline", file)[1]
        low, high = map(float, re.search(r"set yrange \[(.*):(.*)\]", script).groups())
        self.assertTrue(-2.5 < low < -2 and high == 0, (low, high))  # uW
        other = self.file("other.pbin", profile([(-1e-6 * (1 + i // 50) + (-1)**i * 1e-8, i // 50) for i in range(104)], 3))
        for kind in ("box", "violin"):
            texts, script, _ = self.plot(kind, file, other, file)
            low, high = self.range_of(script)
            self.assertTrue(low < -100 and 0 < high < 50, (low, high))
            self.assertTrue({"f0", "f1"} <= set(texts), texts)
        for kind, words in (("flame", "no row has energy above 0"), ("scatter", "no row has both time and energy above 0"),
                            ("cumulative", "the total of energy is not above 0")):
            ended = tool.run(["pbin-plot", kind, "-q", "--format=svg", file])
            self.assertEqual((ended.status, ended.out), (1, b""))
            self.assertIn(words, ended.err)
        mixed = self.file("mixed.pbin", profile([(3 - 5 * (i // 50), i // 50) for i in range(100)], 2))
        self.assertIn("not drawn: 1 row below 0", " ".join(self.plot("flame", mixed)[0]))
