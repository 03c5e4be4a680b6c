"""pbin-plot: every kind in every format, data equal to pbin-aggregate's, names that contain
commands.

SPDX-License-Identifier: MIT
"""
import csv
import io
import itertools
import json
import math
import os
import random
import re
import subprocess
import tempfile
import unicodedata
import xml.etree.ElementTree as xml
from fractions import Fraction as F

import plotdata
import rawprofile as raw
import pbin
import profiles
import tool

KINDS = {"bars": 1, "timeline": 1, "heatmap": 1, "cumulative": 1, "scatter": 1, "flame": 1, "compare": 2,
         "dumbbell": 2, "box": 3, "violin": 3, "hist": 1}
STARTS = {"svg": b"<?xml", "png": b"\x89PNG\r\n", "pdf": b"%PDF-", "txt": b""}
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = ["`touch pwned`", "$(touch pwned)", "'.system('touch pwned').'", "\";system(\"touch pwned\");\"",
           "@system", "{/Symbol a}_{b}^c", "a\\nb\\\\c\\", "it''s 'quoted' \"twice\"", "'';system('touch pwned');#", "''''",
           "a''' . system(\"touch pwned\") . '''b", "'", "<b>&amp;</b>", "]]></script>",
           "END_OF_DATA", "# no comment", "tab\there", "line\nend\n!touch pwned\n", "\x1b[2J", "%s%n%d", "| touch pwned",
           "x" * 65536, "\u4e2d\u6587\u51fd\u6570", "\ufffe"]


def visible(name):
    for hidden, shown in (("\t", "\\x09"), ("\n", "\\x0a"), ("\x1b", "\\x1b"), ("\ufffe", "\\xef\\xbf\\xbe")):
        name = name.replace(hidden, shown)
    return name


def calls_profile(name, functions):
    """Profile NAME of calls; FUNCTIONS: {function: durations [ns]}."""
    p = pbin.Profile(meta={"name": name, "target": "program", "keys": "binary,function", "dialect": "funcmeter"},
                     measures={"calls": ("", pbin.INTEGER, pbin.ADD), "min": ("ns", pbin.REAL, pbin.LEAST),
                               "max": ("ns", pbin.REAL, pbin.MOST), "duration": ("ns", pbin.HISTOGRAM, pbin.ADD),
                               "inclusive": ("ns", pbin.REAL, pbin.ADD_SAME)})
    keys = sorted((("program", f) for f in functions), key=pbin.sort_key)
    for number, key in enumerate(keys):
        d = functions[key[1]]
        p.rows.append(pbin.Row(key, 0, len(d), 1, F(sum(d)), 0, F(sum(d))**2, 0, (F(sum(d)), F(sum(d)), 0, 0)))
        for measure, value in (("calls", len(d)), ("min", min(d)), ("max", max(d)), ("inclusive", 2 * sum(d))):
            p.measured[number, measure] = pbin.Measured.of_run(F(value))
        p.measured[number, "duration"] = {}
        for ns in d:
            x = int(16 * ns)
            k = max(0, x.bit_length() - 6)
            bucket = 32 * k + (x >> k) if x >= 64 else x
            p.measured[number, "duration"][bucket] = p.measured[number, "duration"].get(bucket, 0) + 1
    p.runs.append(pbin.Run(name, 10**9, 0, 0, sum(r.time for r in p.rows), 0))
    path = os.path.join(FOLDER, name)
    with open(path, "wb") as f:
        f.write(pbin.write(p))
    return path


def setUpModule():
    global HOLDER, FOLDER, RUNS, MANY, EVIL, DURATIONS, CALLS, EVIL_CALLS
    HOLDER = tempfile.TemporaryDirectory()
    FOLDER = HOLDER.name
    RUNS = [plotdata.pbin(FOLDER, f"run{i}", plotdata.names_of(12), label="work-program", samples=400,
                          threads=2, seed=i, scale={1: 4} if i > 2 else None) for i in range(6)]
    MANY = plotdata.pbin(FOLDER, "many", plotdata.names_of(300), samples=300, threads=70)
    EVIL = plotdata.pbin(FOLDER, "evil", HOSTILE, samples=600)
    rng = random.Random(5)
    DURATIONS = {f"function_{i}": [F(int(16 * rng.lognormvariate(i, 1)), 16) for _ in range(40 * i)]
                 for i in range(1, 16)}
    CALLS = calls_profile("calls.pbin", DURATIONS)
    EVIL_CALLS = calls_profile("evil-calls.pbin", {n.replace("\0", ""): [F(i + 1)] for i, n in enumerate(HOSTILE[:12])})


def tearDownModule():
    HOLDER.cleanup()


def svg_texts(data):
    """All texts of a picture, which must be well-formed XML."""
    return ["".join(e.itertext()) for e in xml.fromstring(data).iter() if e.tag in (SVG + "text", "text")]


def svg_places(data):
    """Texts of a gnuplot picture as (text, x, y, anchor), and its dots as (x, y)."""
    texts = []
    for group in (e for e in xml.fromstring(data).iter(SVG + "g") if e.find(SVG + "text") is not None):
        place = re.match(r"translate\(([\d.]+),([\d.]+)\)", group.get("transform"))
        texts.append(("".join(group.itertext()).strip(), *map(float, place.groups()), group.get("text-anchor")))
    dots = re.findall(rb"'#gpPt6' transform='translate\(([\d.]+),([\d.]+)\)", data)
    return texts, [(float(x), float(y)) for x, y in dots]


def contrast(one, other):
    """The contrast of two colours, as defined by WCAG 2."""
    parts = [[c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in color] for color in (one, other)]
    low, high = sorted(0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in parts)
    return (high + 0.05) / (low + 0.05)


class Plot(tool.Case):
    def plot(self, kind, *options, inputs=None, stdin=None):
        if kind == "hist" and inputs != [EVIL_CALLS]:
            inputs = [EVIL_CALLS] if inputs == [EVIL] else [CALLS]
        inputs = RUNS[:KINDS[kind]] if inputs is None else inputs
        out = self.succeeds(["pbin-plot", kind, *inputs, "--verbose", *options], timeout=60, cwd=self.folder,
                            stdin=stdin)
        self.assertEqual(out.err, "", f"{kind} {options}")  # gnuplot reports no errors
        return out.out

    def rows(self, *options):
        """pbin-aggregate's table: list of dicts."""
        out = self.succeeds(["pbin-aggregate", "--format=csv", *options]).out
        return out, list(csv.DictReader(io.StringIO(out.decode())))

    def table(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as f:
            return list(csv.reader(f))


class Pictures(Plot):
    def test_every_kind_in_every_format(self):
        for kind in KINDS:
            for form, start in STARTS.items():
                with self.subTest(kind=kind, form=form):
                    out = self.plot(kind, f"--format={form}")
                    self.assertTrue(out.startswith(start) and len(out) > (500 if kind != "flame" else 200), out[:40])
                    if form == "svg":
                        self.assertGreater(len(svg_texts(out)), 3)
                    if form == "txt":
                        self.assertNotIn(b"\x1b", out)

    def test_list_names_every_kind(self):
        out = self.succeeds(["pbin-plot", "--list"]).out.decode()
        self.assertEqual(sorted(line.split()[0] for line in out.splitlines()), sorted(KINDS))

    def test_sizes_and_themes(self):
        grounds = {"light": "#ffffff", "dark": "#16191d", "print": "#ffffff"}
        sizes = (480, 320), (1600, 1000)
        for kind in KINDS:
            for theme, ground in grounds.items():
                for width, height in tool.some(sizes if theme != "dark" else sizes[::-1], 2):
                    with self.subTest(kind=kind, theme=theme, width=width):
                        inputs = [MANY] if KINDS[kind] == 1 else None
                        out = self.plot(kind, f"--theme={theme}", f"--width={width}", f"--height={height}",
                                        "--format=svg", inputs=inputs)
                        picture = xml.fromstring(out)
                        self.assertEqual((picture.get("width"), picture.get("height")), (str(width), str(height)))
                        self.assertIn(f'"{ground}"', out.decode().lower())

    def test_text_has_nothing_blank(self):
        for kind in KINDS:
            if kind == "flame":
                continue
            for options in ((), ("--color=always",), ("--width=60", "--height=20")):
                with self.subTest(kind=kind, options=options):
                    text = self.plot(kind, "--format=txt", *options).decode()
                    text = re.sub("\x1b\\[[0-9;]*m", "", text)
                    self.assertNotIn("\f", text)
                    self.assertEqual([line for line in text.split("\n") if line.endswith(" ") and not options], [])
                    self.assertTrue(text.endswith("\n") and text.splitlines()[-1].strip(), text[-100:])
                    self.assertNotIn("\n\n\n", text)

    def test_text_of_wide_characters(self):
        """Wide characters take two columns: bars begin in the same column, and no line is too
        wide."""
        names = {"\u65e5\u672c\u8a9e" * i + "f": [F(10 * i + 10)] for i in range(4)} | {"\ud568" * 100: [F(60)]}
        text = self.plot("bars", "--format=txt", "--width=80", inputs=[calls_profile("wide.pbin", names)]).decode()
        columns = lambda line: sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)
        self.assertEqual([line for line in text.split("\n") if columns(line) > 80], [])
        bars = [line.partition("#")[0] for line in text.split("\n") if "#" in line]
        self.assertEqual((len(bars), len({columns(name) for name in bars})), (5, 1), text)
        for name in bars:  # each name ends beside its bar
            self.assertRegex(name, r"^ +(\u65e5\u672c\u8a9e)*f $|^ \ud568+\.\.\ud568+ $")

    def test_timeline_of_threads_alone(self):
        both, alone = (" ".join(svg_texts(self.plot("timeline", "--format=svg", *o))) for o in ((), ("--metric=time",)))
        self.assertIn("power [W]", both)
        self.assertNotIn("power", alone)
        self.assertIn("thread 4000", alone)

    def test_flame_tells_neighbours_apart(self):
        picture = xml.fromstring(self.plot("flame", "--format=svg", inputs=[MANY]))
        last = {}
        for node in (e for e in picture.iter(SVG + "g") if e.get("class") == "node"):
            depth, name = int(node.get("data-d")), node.get("data-n")
            color = node.find(SVG + "rect").get("fill")
            if depth > 0 and not name.startswith("_"):
                self.assertNotEqual(color, last[depth - 1], name)
                self.assertNotEqual(color, last.get(depth), name)
            last[depth] = color
        self.assertGreater(len(last), 2)

    def test_flame_fills_its_height(self):
        for height in (300, 1000):
            picture = xml.fromstring(self.plot("flame", "--format=svg", f"--height={height}", inputs=[MANY]))
            rects = [n.find(SVG + "rect") for n in picture.iter(SVG + "g") if n.get("class") == "node"]
            self.assertGreater(max(float(r.get("y")) + float(r.get("height")) for r in rects), height - 60)

    def test_flame_labels_say_something(self):
        picture = xml.fromstring(self.plot("flame", "--format=svg", inputs=[MANY]))
        labels = [(n.get("data-n"), n.find(SVG + "text").text or "") for n in picture.iter(SVG + "g")
                  if n.get("class") == "node"]
        self.assertGreater(len([label for _, label in labels if label]), 2)
        self.assertGreater(len([label for _, label in labels if not label]), 2)
        for name, label in labels:
            self.assertTrue(label in ("", name) or len(label) >= 6, label)

    def test_flame_labels_are_readable(self):
        def color(text):
            return [int(text[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        for theme in ("light", "dark", "print"):
            out = self.plot("flame", "--format=svg", f"--theme={theme}", inputs=[MANY]).decode()
            ground = color(re.search(r'height="100%" fill="(#\w+)"', out).group(1))
            text = color(re.search(r"text { [^}]*fill: (#\w+)", out).group(1))
            fills = set(re.findall(r'fill="(#\w+)" fill-opacity="([\d.]+)"', out))
            self.assertGreater(len(fills), 8)
            for fill, part in fills:
                shown = [c * float(part) + g * (1 - float(part)) for c, g in zip(color(fill), ground)]
                self.assertGreater(contrast(shown, text), 4.5, f"{theme} {fill}")

    def test_scatter_names_stand_at_their_dots(self):
        """Each name is at its dot, or at the end of a line from one."""
        for inputs, size in ((RUNS[:1], "--width=1600"), ([MANY], "--width=1600"), ([MANY], "--width=900")):
            out = self.plot("scatter", "--format=svg", size, inputs=inputs)
            texts, dots = svg_places(out)
            lines = [tuple(map(float, l)) for l in re.findall(rb"M([\d.]+),([\d.]+) L([\d.]+),([\d.]+)", out)]
            lines = [l for l in lines if any(math.dist(l[:2], d) < 8 for d in dots)]
            names = [t for t in texts if re.search(r"_\d+$|operator\(\)$", t[0])]
            self.assertGreater(len(names), 2)
            beside = 0
            for name, x, y, anchor in names:
                reach = {"start": (-15, 0), "end": (0, 15), "middle": (-2, 2)}[anchor]
                near = [d for d in dots if reach[0] <= d[0] - x <= reach[1] and abs(d[1] - y) < 28]
                width = 9 * len(name)
                left = {"start": x, "end": x - width, "middle": x - width / 2}[anchor]
                led = [l for l in lines if left - 6 <= l[2] <= left + width + 6 and y - 15 <= l[3] <= y + 8]
                self.assertTrue(near or led, f"{name} {x} {y} {anchor}")
                beside += bool(near)
            self.assertGreater(beside, 2)
            nameless = re.search(r"(\d+) rows? without a name", " ".join(t[0] for t in texts))
            self.assertEqual(len(names) + int(nameless.group(1) if nameless else 0), len(dots))

    def test_cumulative_names_its_last_step(self):
        few = plotdata.pbin(self.folder, "few", plotdata.names_of(3), samples=200)
        for width in (480, 1600):
            texts, dots = svg_places(self.plot("cumulative", "--format=svg", f"--width={width}", inputs=[few]))
            _, x, y, _ = next(t for t in texts if "make up 99 %" in t[0])
            last = min(dots, key=lambda dot: dot[1])
            self.assertLess(abs(y - last[1]), 10)
            self.assertLess(x, last[0])

    def test_cumulative_counts_code_alone(self):
        """A thread runs for a fifth of the time: most energy is idle, which is not a function."""
        made = pbin.Profile({"name": "c", "target": "app", "pmu": pbin.POWER, "unit": "W", "cpus": 1, "cpu_time": 1, "times": 1,
                             "samples": 1000, "wall_ns": 10**9}, [pbin.Thread(1, 1, "app")],
                            [pbin.Location(0x1000 + 16 * f, "app", [pbin.Frame(f"f{f}", f"f{f}", "", 0)]) for f in range(4)],
                            samples=[pbin.Sample(10**6, 10.0, [(0, n // 10 % 4, 200_000)]) for n in range(1000)])
        file = self.file("c.pbin", pbin.write(made))
        texts = " ".join(svg_texts(self.plot("cumulative", "--format=svg", "--metric=energy", inputs=[file])))
        self.assertIn("over 4 rows", texts)
        self.assertIn("2 make up 50 %", texts)
        self.assertIn("4 make up 99 %", texts)
        self.assertRegex(texts, r"without the (79\.9|80\.0|80\.1) % that no code used")

    def test_power_has_a_color_of_its_own(self):
        """Nine functions use all colours of functions."""
        for theme in ("light", "dark", "print"):
            out = self.plot("timeline", "--format=svg", "--width=1200", f"--theme={theme}", inputs=[MANY]).decode()
            power, lanes = out.split('id="gnuplot_plot_1b"')
            line = re.search(r"<path stroke='(rgb\([\d, ]+\))'", power.split('id="gnuplot_plot_2a"')[1]).group(1)
            fills = set(re.findall(r"fill = '(rgb\([\d, ]+\))'", lanes))
            self.assertGreater(len(fills), 8)
            self.assertNotIn(line, fills, theme)

    def test_dots_at_zero_are_clear_of_names(self):
        for kind in ("box", "violin"):
            texts, dots = svg_places(self.plot(kind, "--format=svg", inputs=[RUNS[0], MANY]))
            names = [x for _, x, _, anchor in texts if anchor == "end"]
            self.assertGreater(min(x for x, _ in dots) - max(names), 12)

    def test_heatmap_says_what_is_beyond_its_scale(self):
        note = "_other: beyond the scale"
        self.assertIn(note, " ".join(svg_texts(self.plot("heatmap", "--format=svg", "--top=3", inputs=[MANY]))))
        self.assertNotIn(note, " ".join(svg_texts(self.plot("heatmap", "--format=svg"))))

    def test_repeatable(self):
        for kind in KINDS:
            for form in ("txt", "svg"):
                self.assertEqual(self.plot(kind, "--format=" + form), self.plot(kind, "--format=" + form))

    def test_stdin(self):
        with open(RUNS[0], "rb") as f:
            data = f.read()
        for kind in ("bars", "timeline", "heatmap", "flame"):
            out = self.plot(kind, "--format=svg", inputs=[], stdin=data).decode()
            self.assertIn("stdin", out)

    def test_file_and_script(self):
        self.plot("bars", "-o", "a.svg", "--script")
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.svg", "a.svg.csv", "a.svg.gp"])
        with open(os.path.join(self.folder, "a.svg"), "rb") as f:
            picture = f.read()
        again = subprocess.run(["gnuplot", "-d", "a.svg.gp"], cwd=self.folder, capture_output=True, check=True)
        self.assertEqual(again.stdout, picture)

    def test_title_and_subtitle(self):
        texts = svg_texts(self.plot("bars", "--title", "It's `mine` {x}", "--format=svg"))
        self.assertIn("It's `mine` {x}", texts)
        subtitle = [t for t in texts if "samples" in t]
        self.assertEqual(len(subtitle), 1)
        for part in ("run0.pbin", "400 samples", "Hz"):
            self.assertIn(part, subtitle[0])


class Data(Plot):
    def script_rows(self, name, block):
        with open(os.path.join(self.folder, name + ".gp"), encoding="utf-8") as f:
            text = f.read()
        body = re.search(re.escape(block) + r" << (END_\w+)\n(.*?)\1\n", text, re.S).group(2)
        return [line.split("\t") for line in body.splitlines()]

    def test_bars_equal_aggregate(self):
        for metric, column in (("time", "time [s]"), ("energy", "energy [J]"), ("samples", "samples")):
            for inputs in (RUNS[:1], RUNS[:3]):
                with self.subTest(metric=metric, runs=len(inputs)):
                    self.plot("bars", "--metric", metric, "--top=5", "-o", "b.svg", "--script", inputs=inputs)
                    code = 4 if metric == "energy" else 5  # _idle is one of five rows if it has a value
                    table, rows = self.rows("--sort", metric, f"--top={code}", *inputs)
                    with open(os.path.join(self.folder, "b.svg.csv"), "rb") as f:
                        self.assertEqual(f.read(), table)
                    drawn = self.script_rows("b.svg", "$rows")
                    self.assertEqual(len(drawn), 6)
                    rows = [r for r in rows if r["function"] != "_idle" or metric == "energy"]
                    self.assertEqual([float(d[1]) for d in drawn], [float(r[column]) for r in rows])
                    self.assertEqual([d[-1] for d in drawn], [r["function"] for r in rows])
                    self.assertEqual(drawn[-1][-1], "_other")

    def test_bars_of_calls(self):
        for metric, values in (("calls", {n: len(d) for n, d in DURATIONS.items()}),
                               ("inclusive", {n: float(2 * sum(d) / 10**9) for n, d in DURATIONS.items()})):
            self.plot("bars", "--metric", metric, "-o", "b.svg", "--script", inputs=[CALLS])
            drawn = {d[-1]: float(d[1]) for d in self.script_rows("b.svg", "$rows")}
            self.assertEqual(list(drawn), sorted(values, key=values.get, reverse=True))
            for name, value in values.items():
                self.assertAlmostEqual(drawn[name] / value, 1)
        self.plot("bars", "--metric=calls", "--filter=function=function_1*", "--exclude", "function=function_15", "-o",
                  "b.svg", "--script", inputs=[CALLS])
        self.assertEqual({d[-1] for d in self.script_rows("b.svg", "$rows")},
                         {f"function_{i}" for i in (1, 10, 11, 12, 13, 14)})
        self.plot("bars", "--metric=calls", "--top=3", "-o", "b.svg", "--script", inputs=[CALLS])
        rows = self.script_rows("b.svg", "$rows")
        self.assertEqual((rows[-1][-1], float(rows[-1][1])), ("_other", sum(40 * i for i in range(1, 13))))

    def test_hist(self):
        """Areas are calls, marks quantiles, and the table has every bucket."""
        for options in ((), ("--counts",)):
            self.plot("hist", "--top=4", *options, "-o", "h.svg", "--script")
            with open(os.path.join(self.folder, "h.svg.csv"), encoding="utf-8") as f:
                table = list(csv.DictReader(f))
            shapes, marks = {}, self.script_rows("h.svg", "$marks")
            for x, top, base, name in filter(lambda r: len(r) == 4, self.script_rows("h.svg", "$shapes")):
                shapes.setdefault(name, []).append((float(x), float(base) - float(top)))
            largest = sorted(DURATIONS, key=lambda n: -sum(DURATIONS[n]))[:4]
            self.assertEqual(list(shapes), largest)
            scale = set()
            for number, name in enumerate(largest):
                durations = sorted(float(d) for d in DURATIONS[name])  # exact: 16ths
                buckets = [r for r in table if r["name"] == name]
                self.assertEqual(sum(int(r["calls"]) for r in buckets), len(durations))
                for r in buckets:
                    low, high = float(r["from [s]"]) * 1e9, float(r["to [s]"]) * 1e9
                    inside = [d for d in durations if low * (1 - 1e-12) <= d < high * (1 - 1e-12)]
                    self.assertEqual(int(r["calls"]), len(inside))
                heights = [h for _, h in shapes[name][::2]]
                self.assertAlmostEqual(max(heights) if not options else 0.86, 0.86)
                scale.add(round(sum(heights) / len(durations), 6))
                for share, mark in zip((0.5, 0.99), marks[2 * number:]):
                    want = durations[math.ceil(share * len(durations)) - 1]
                    self.assertAlmostEqual(float(mark[0]) * 1e9 / want, 1, delta=0.016)
                    self.assertAlmostEqual(float(mark[1]), number + 0.45)
            self.assertEqual(len(scale) == 1, bool(options), scale)  # calls have one scale for all rows

    def test_hist_page(self):
        page = self.plot("hist", "--format=html").decode()
        data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))
        self.assertEqual(data["kind"], "hist")
        for row in data["rows"]:
            self.assertEqual(row["calls"], len(DURATIONS[row["name"]]))
            self.assertAlmostEqual(sum(row["values"]), row["calls"], delta=1e-5 * row["calls"])
            self.assertEqual(len(row["values"]) + 1, len(data["edges"]))

    def test_unknown_names_its_binary(self):
        pbin = os.path.join(self.folder, "u.pbin")
        with open(os.path.join(FOLDER, "run0.bin"), "rb") as file:  # beside it, prof2pbin would find the program
            profile = self.file("run0.bin", file.read())
        self.succeeds(["prof2pbin", "-q", "-o", pbin, profile])
        for kind, inputs in (("bars", [pbin]), ("heatmap", [pbin]), ("timeline", [pbin]), ("compare", [pbin, RUNS[0]])):
            texts = svg_texts(self.plot(kind, "--format=svg", inputs=inputs))
            self.assertIn("work-program / _unknown", texts, kind)
            self.assertEqual([t for t in texts if t.startswith("work-program / ") and not t.endswith("_unknown")], [])

    def test_aggregated_input(self):
        mean = os.path.join(self.folder, "mean.pbin")
        self.succeeds(["pbin-aggregate", *RUNS[:3], "-o", mean])
        for kind in ("bars", "cumulative", "scatter", "flame"):
            self.plot(kind, "--format=svg", inputs=[mean])
        self.plot("bars", "-o", "x.svg", "--script", inputs=[mean])
        self.plot("bars", "-o", "y.svg", "--script", inputs=RUNS[:3])
        self.assertEqual(self.script_rows("x.svg", "$rows"), self.script_rows("y.svg", "$rows"))

    def test_error_bars(self):
        """Half the 95 % interval of the mean of three runs: t(2) = 4.302653."""
        self.plot("bars", "--metric=energy", "-o", "e.svg", "--script", inputs=RUNS[:3])
        single = []
        for run in RUNS[:3]:
            single.append({r["function"]: float(r["energy [J]"]) for r in self.rows(run)[1]})
        for row in self.script_rows("e.svg", "$rows"):
            if row[-1] == "_other":
                continue
            values = [s.get(row[-1], 0) for s in single]
            mean = sum(values) / 3
            half = 4.302652729911275 * (sum((v - mean) ** 2 for v in values) / 2 / 3) ** 0.5
            self.assertAlmostEqual(float(row[2]), half, delta=1e-9 * mean + 1e-12)

    def profile(self, run):
        return json.loads(self.succeeds(["pbin-aggregate", "--format=json", "-k", "function", run]).out)

    def test_renamed_binary(self):
        """With --map-binary, no function is new or gone."""
        files = []
        for binary in ("app-1", "app-2"):
            profile = profiles.make(5)
            for location in profile.locations:
                location.binary = binary
            files.append(os.path.join(self.folder, binary + ".pbin"))
            with open(files[-1], "wb") as f:
                f.write(pbin.write(profile))
        for options, found in (([], True), (["--map-binary", "app-1=app-2"], False)):
            texts = svg_texts(self.plot("compare", "--format=svg", *options, inputs=files))
            self.assertEqual(any(t.endswith("gone") for t in texts), found, texts)
        self.assertEqual(tool.run(["pbin-plot", "compare", "--map-binary", "x", *files]).status, 2)
        self.assertEqual(tool.run(["pbin-plot", "bars", "--map-binary", "x=y", files[0]]).status, 2)

    def test_timeline_conserves(self):
        whole = self.profile(RUNS[0])
        self.plot("timeline", "-o", "t.svg", "--script", inputs=RUNS[:1])
        head, *rows = self.table("t.svg.csv")
        energy = sum(float(r[1]) * float(r[3]) for r in rows)
        self.assertAlmostEqual(energy, whole["profile"]["energy_J"], delta=1e-9 * energy)
        time = sum(float(x) for r in rows for x in r[5:])
        self.assertAlmostEqual(time, whole["profile"]["time_s"], delta=1e-5 * time)
        by_name = {r["function"]: r["time"] for r in whole["rows"]}
        for i, column in enumerate(head[5:], 5):
            name = re.sub(r" \[s\]$", "", column)
            if name != "_other":
                self.assertAlmostEqual(sum(float(r[i]) for r in rows), by_name[name], delta=1e-4)
        for row in rows:
            low, mean, high = (float(x) for x in row[2:5])
            self.assertTrue(low * (1 - 1e-9) <= mean <= high * (1 + 1e-9), row)

    def test_samples_per_point(self):
        for kind in ("timeline", "heatmap"):
            for options, points in (([], 200), (["-i", "100"], 4), (["-i", "300"], 2), (["-i", "1000"], 1)):
                self.plot(kind, "-o", "i.svg", "--script", *options)
                self.assertGreaterEqual(len(self.table("i.svg.csv")) - 1, points)
                if options:
                    self.assertEqual(len(self.table("i.svg.csv")) - 1, points)
        self.plot("timeline", "-s", "0.1", "-e", "0.2", "-i", "10", "-o", "i.svg", "--script")
        starts = [float(row[0]) for row in self.table("i.svg.csv")[1:]]
        self.assertTrue(0.1 <= starts[0] and starts[-1] < 0.2 and 9 <= len(starts) <= 11, starts)

    def test_one_lane_for_all_threads(self):
        lanes = [[t for t in svg_texts(self.plot("timeline", "--format=svg", *options)) if "thread" in t.lower()]
                 for options in ([], ["-n"])]
        self.assertEqual([sum(bool(re.fullmatch("thread [0-9]+", t)) for t in texts) for texts in lanes], [2, 0], lanes)
        self.assertIn("2 threads", lanes[1])
        self.assertFalse([t for t in lanes[1] if "busiest" in t])

    def test_timeline_of_threads_that_only_wait(self):
        profile = pbin.Profile({"pmu": pbin.POWER, "times": 1, "cpu_time": 1, "samples": 40, "cpus": 2, "unit": "W",
                                "wall_ns": 40 * 10**6}, [pbin.Thread(1)],
                               [pbin.Location(1, "app", [pbin.Frame("wait", "wait")])],
                               [pbin.Sample(10**6, 3.0, [(0, 0, 0)])] * 40)
        file = self.file("waits.pbin", pbin.write(profile))
        for kind, suffix, metric in itertools.product(("timeline", "heatmap"), ("svg", "txt", "html"), ("time", "energy")):
            ended = self.succeeds(["pbin-plot", kind, file, "--metric", metric, "-o", f"w.{suffix}"], timeout=60,
                                  cwd=self.folder)
            self.assertEqual("no thread used CPU time" in ended.err, (kind, metric) == ("heatmap", "time"), ended.err)
            self.assertEqual(ended.err.count("\n"), int((kind, metric) == ("heatmap", "time")), ended.err)

    def test_timeline_window(self):
        self.plot("timeline", "-o", "w.svg", "--script", "--start=0.1", "--end=0.2", "--mark", "0.15=here",
                  inputs=RUNS[:1])
        rows = self.table("w.svg.csv")[1:]
        self.assertAlmostEqual(float(rows[0][0]), 0.1, delta=1e-9)
        self.assertAlmostEqual(sum(float(r[1]) for r in rows), 0.1, delta=1e-6)
        with open(os.path.join(self.folder, "w.svg"), "rb") as f:
            self.assertIn("here", svg_texts(f.read()))

    def test_tics_of_small_windows(self):
        """Labels have as many digits as are needed to distinguish them, in pictures and in text."""
        for kind in ("timeline", "heatmap"):
            for width in ("1e-9", "1e-7", "3e-6", "2e-3"):
                options = ["--start=0.1", f"--end={float(F('0.1') + F(width)):.12f}", "--width=900"]
                labels = [t for t in svg_texts(self.plot(kind, "--format=svg", *options, inputs=RUNS[:1])) if re.fullmatch(r"10[0-3](\.\d+)?", t)]
                self.assertGreaterEqual(len(labels), 3, (kind, width))
                self.assertEqual(len(set(labels)), len(labels), labels)
                right = max(x + 4 * len(t) for t, x, _, _ in svg_places(self.plot(kind, "--format=svg", *options, inputs=RUNS[:1]))[0] if t in labels)
                self.assertLess(right, 900, labels)
                steps = {round((F(b) - F(a)) / F(width), 9) for a, b in zip(labels, labels[1:])}
                self.assertEqual(len(steps), 1, labels)
        text = self.plot("timeline", "--format=txt", "--width=120", "--start=0.1", "--end=0.1000001", inputs=RUNS[:1]).decode()
        axis = next(re.findall(r"10[0-3][.\d]*", line) for line in text.split("\n") if len(re.findall(r" 10[0-3][.\d]*", line)) > 2)
        self.assertEqual(len(set(axis)), len(axis), axis)

    def test_heatmap_conserves(self):
        whole = self.profile(RUNS[0])
        for metric, total in (("energy", "energy_J"), ("time", "time_s")):
            self.plot("heatmap", "--metric", metric, "-o", "h.svg", "--script", inputs=RUNS[:1])
            rows = [[float(x) for x in r] for r in self.table("h.svg.csv")[1:]]
            width = rows[1][0] - rows[0][0]
            self.assertAlmostEqual(sum(sum(r[1:]) for r in rows) * width, whole["profile"][total],
                                   delta=1e-5 * whole["profile"][total])

    def test_heatmap_has_no_seams(self):
        """Along a row of pixels, the colour changes at most once per cell: there are no gaps
        between cells."""
        self.plot("heatmap", "--metric=time", "-o", "s.png", "--script", inputs=[MANY])
        with open(os.path.join(self.folder, "s.png.gp"), encoding="utf-8") as f:
            left, right = (float(re.search(f"set {side}margin at screen (.*)", text).group(1))
                           for text in [f.read()] for side in "lr")
        with open(os.path.join(self.folder, "s.png"), "rb") as f:
            lines = plotdata.png_lines(f.read())
        width = len(lines[0])
        first, last = int(left * width) + 3, int(right * width) - 3
        cells = (len(self.table("s.png.csv")) - 1) * (last - first) / ((right - left) * width)
        for y in range(len(lines) // 8, len(lines) * 7 // 8, 5):
            pixels = lines[y][first:last]
            changes = sum(a != b for a, b in zip(pixels, pixels[1:]))
            self.assertLessEqual(changes, cells + 1, y)

    def test_box_holds_every_run(self):
        self.plot("box", "-o", "v.svg", "--script", "--top=4", inputs=RUNS)
        rows = self.table("v.svg.csv")[1:]
        self.assertEqual(len(rows), 4 * len(RUNS))
        for name, run, value in rows:
            single = {r["function"]: r["energy [J]"] for r in self.rows(RUNS[int(run) - 1])[1]}
            self.assertEqual(float(value), float(single.get(name, 0)))

    def test_dots_of_many_runs_are_outliers(self):
        few, many = RUNS, RUNS * 4

        def dots(kind, runs, *options):
            self.plot(kind, "-o", "d.svg", "--script", "--top=3", *options, inputs=runs)
            return self.script_rows("d.svg", "$points")
        for kind in ("box", "violin"):
            with self.subTest(kind):
                self.assertEqual(len(dots(kind, few)), 3 * len(few))
                self.assertEqual(len(dots(kind, many, "--points=all")), 3 * len(many))
                self.assertEqual(dots(kind, many, "--points=none"), [])
                outliers = dots(kind, many)
                self.assertEqual(outliers, dots(kind, many, "--points", "outliers"))
                boxes = [[float(x) for x in row[:6]] for row in self.script_rows("d.svg", "$boxes")]
                values = [[float(value) for name, _, value in self.table("d.svg.csv")[1:] if name == row[7]]
                          for row in self.script_rows("d.svg", "$boxes")]
                beyond = sum(not box[1] <= v <= box[5] for box, row in zip(boxes, values) for v in row)
                self.assertEqual(len(outliers), beyond)
                for i, value, _ in outliers:
                    self.assertFalse(boxes[int(i)][1] <= float(value) <= boxes[int(i)][5])

    def test_means_and_boxes(self):
        self.plot("violin", "-o", "m.svg", "--script", "--top=4", "--means", "--boxes", "--horizontal", inputs=RUNS)
        rows = self.table("m.svg.csv")[1:]
        for row in self.script_rows("m.svg", "$boxes"):
            values = [float(value) for name, _, value in rows if name == row[7]]
            self.assertAlmostEqual(float(row[6]), sum(values) / len(values), delta=1e-9)
        with open(os.path.join(self.folder, "m.svg.gp"), encoding="utf-8") as f:
            command = f.read().split("\nplot ")[1]
        self.assertIn("$7/", command)
        self.assertIn("boxxyerror", command)
        text = self.plot("violin", "--top=4", "--means", "--boxes", "--format=txt", inputs=RUNS).decode()
        self.assertRegex(text, r"\[[^\n]*m[^\n]*\]")
        self.assertIn("[]: middle half, m: mean", text)

    def test_small_rows_do_not_squeeze_the_others(self):
        runs = [plotdata.pbin(self.folder, f"small{i}", plotdata.names_of(12), label="small-program",
                              samples=3000, seed=i, scale={n: 0.001 for n in range(3, 12)}) for i in range(3)]
        self.plot("box", "-o", "s.svg", "--script", inputs=runs)
        with open(os.path.join(self.folder, "s.svg"), "rb") as f:
            texts = " ".join(svg_texts(f.read()))
        drawn = [row[7] for row in self.script_rows("s.svg", "$boxes")]
        every = {r["function"]: float(r["energy [J]"]) for r in self.rows(*runs)[1]}
        largest = max(every.values())
        self.assertEqual(set(drawn), {n for n, e in every.items() if e >= 0.01 * largest})
        self.assertLess(len(drawn), len(every))
        self.assertIn(f"{len(every) - len(drawn)} rows below 1 % of the largest not drawn", texts)
        self.plot("box", "-o", "s.svg", "--script", f"--top={len(every)}", inputs=runs)
        self.assertEqual(len(list(self.script_rows("s.svg", "$boxes"))), len(every))

    def test_power_has_no_value_where_nothing_ran(self):
        runs = [plotdata.pbin(self.folder, f"gone{i}", plotdata.names_of(3), label="gone-program", samples=400,
                              seed=i, scale={2: 0} if i == 0 else None) for i in range(4)]
        self.plot("box", "--metric=power", "-o", "p.svg", "--script", "--top=4", inputs=runs)
        name = plotdata.names_of(3)[2]
        self.assertEqual([value for n, _, value in self.table("p.svg.csv") if n == name and value == ""], [""])
        box, = (row for row in self.script_rows("p.svg", "$boxes") if row[7] == name)
        self.assertGreater(float(box[1]), 1)

    def test_axis_of_large_values(self):
        def axis(*options):
            self.plot("box", "-o", "a.svg", "--script", "-k", "binary", *options, inputs=[RUNS[0], RUNS[1], RUNS[0]])
            with open(os.path.join(self.folder, "a.svg.gp"), encoding="utf-8") as f:
                low, high = re.search(r"set xrange \[(.*):(.*)\]", f.read()).groups()
            with open(os.path.join(self.folder, "a.svg"), "rb") as f:
                return float(low), float(high), " ".join(svg_texts(f.read()))
        low, high, subtitle = axis("--top=1")
        values = [float(value) for _, _, value in self.table("a.svg.csv")[1:]]
        self.assertTrue(0.5 * high < low < min(values) <= max(values) < high, (low, values, high))
        self.assertIn("axis not from 0", subtitle)
        low, _, subtitle = axis()  # with _idle
        self.assertLess(low, 0)
        self.assertNotIn("axis", subtitle)

    def test_scatter_counts_what_it_does_not_draw(self):
        """Functions without energy or far below the largest cannot be drawn on logarithmic axes."""
        profile = profiles.make(1, threads=1, samples=2)
        walk = [(0, 5 + i / 10) for i in range(20)]
        walk += [(1, 4), (1, 0), (2, 0), (1, 0), (1, 1e-6), (3, 2e-6), (1, 3e-6), (4, 2), (4, 3)]
        profile.locations = [pbin.Location(0x1000 + i, "app", [pbin.Frame(f"f{i}", f"f{i}", "", 0)])
                             for i in range(5)]
        profile.samples = [pbin.Sample(1_000_000, float(power), [(0, i, 1_000_000)]) for i, power in walk]
        profile.meta.update(samples=len(walk), wall_ns=len(walk) * 1_000_000)
        file = self.file("few.pbin", pbin.write(profile))
        energy = {r["function"]: float(r["energy [J]"]) for r in self.rows(file)[1]}
        seen = {name for name, value in energy.items() if value >= 0.5e-4 * max(energy.values())} - {"_idle"}
        self.assertEqual(seen, {"f0", "f1", "f4"}, energy)
        texts, dots = svg_places(self.succeeds(["pbin-plot", "scatter", "-q", "--format=svg", file]).out)
        words = [text for text, *_ in texts]
        self.assertEqual(len(dots), len(seen))
        self.assertEqual({w for w in words if w in energy}, seen)
        self.assertIn("not drawn: 2 rows at 0 or below 0.01 % of the largest", " ".join(words))
        out = self.plot("scatter", "--format=svg", inputs=RUNS[:1]).decode()
        self.assertNotIn("not drawn", out)

    def test_whiskers_end_outside_of_the_box(self):
        """With four runs and one outlier, the quartile is beyond the last value that a whisker may reach."""
        self.plot("box", "--metric=energy", "-o", "w.svg", "--script", inputs=[RUNS[0], RUNS[0], RUNS[1], RUNS[3]])
        clamped = 0
        for row in self.script_rows("w.svg", "$boxes"):
            numbers = [float(x) for x in row[1:6]]
            self.assertEqual(numbers, sorted(numbers), row)
            clamped += numbers[3] == numbers[4] or numbers[0] == numbers[1]
        self.assertGreater(clamped, 0)

    def test_flame_tree(self):
        picture = xml.fromstring(self.plot("flame", "--format=svg", inputs=RUNS[:1]))
        nodes = [(float(g.get("data-x")), float(g.get("data-w")), int(g.get("data-d")), g.get("data-n"))
                 for g in picture.iter(SVG + "g") if g.get("class") == "node"]
        rows = self.profile(RUNS[0])
        for row in rows["rows"]:
            found = [n for n in nodes if n[3] == row["function"]]
            self.assertEqual(len(found), 1, row["function"])
            self.assertAlmostEqual(found[0][1], row["energy_share"] / 100, delta=1e-8)
        for x, w, d, _ in nodes:
            inside = [n for n in nodes if n[2] == d + 1 and n[0] >= x - 1e-8 and n[0] + n[1] <= x + w + 1e-8]
            if inside:
                self.assertAlmostEqual(sum(n[1] for n in inside), w, delta=1e-6)

    def test_timeline_of_many_threads(self):
        """Each lane is high enough for its name, and the last lane shows the remaining threads."""
        texts = svg_texts(self.plot("timeline", "--format=svg", inputs=[MANY]))
        lanes = [t for t in texts if re.fullmatch(r"\S+ \d+", t)]
        others = [int(t.split()[0]) for t in texts if re.fullmatch(r"\d+ others", t)]
        self.assertEqual(len(others), 1)
        self.assertEqual(len(lanes) + others[0], 70)
        self.assertIn(f"the {len(lanes)} busiest of 70 threads", " ".join(texts))

    def test_flame_as_text(self):
        """Each function has a box whose width is its share of the energy, with an error of at most
        a character at either end."""
        text = self.plot("flame", "--format=txt", "--width=200", inputs=RUNS[:1]).decode()
        self.assertIn(": binary, function, inlined, file, line\n", text)
        self.assertIn(": file, thread\n", self.plot("flame", "--format=txt", "-k", "file,thread", inputs=RUNS[:1]).decode())
        functions = re.findall(r"\[[^]]*\]", text.split("\n")[5])
        rows = {row["function"]: row for row in self.profile(RUNS[0])["rows"]}
        self.assertGreaterEqual(len(functions), 3)
        for box in functions:
            if ".." in box:
                continue  # a long name
            share = rows[box[1:-1].strip()]["energy_share"]
            self.assertAlmostEqual(len(box), share * 2, delta=1.01)

    def test_without_power(self):
        run = plotdata.make_run(os.path.join(FOLDER, "work-program"), 12, samples=50, threads=2)
        run.kind = raw.CUSTOM
        pbin = os.path.join(self.folder, "pure.pbin")
        self.succeeds(["prof2pbin", "-q", "-s", FOLDER, "-o", pbin,
                       self.file("pure.bin", raw.write(run, "pperf", pmu=24))])
        for kind in ("bars", "timeline", "heatmap", "cumulative", "flame"):
            texts = " ".join(svg_texts(self.plot(kind, "--format=svg", inputs=[pbin])))
            for part in ("50 samples", plotdata.names_of(1)[0]):
                if not (kind == "cumulative" and part.endswith("_0")):
                    self.assertIn(part, texts, kind)
            self.assertNotIn(" W]", texts)
        for argv in (["bars", "--metric=energy"], ["heatmap", "--metric=power"], ["scatter"]):
            self.assertIn("no PMU values", self.fails(["pbin-plot", *argv, pbin]).err)

    def test_custom_quantity(self):
        """A quantity whose sum is not an energy keeps its own name and unit."""
        run = plotdata.make_run(os.path.join(FOLDER, "work-program"), 12, samples=50)
        run.kind = raw.CUSTOM
        pbin = os.path.join(self.folder, "custom.pbin")
        self.succeeds(["prof2pbin", "-q", "-s", FOLDER, "-o", pbin,
                       self.file("custom.bin", raw.write(run, "sampler-walltime"))])
        for kind, word in (("bars", "integral"), ("timeline", "mean"), ("heatmap", "mean"), ("scatter", "integral")):
            texts = " ".join(svg_texts(self.plot(kind, "--format=svg", inputs=[pbin])))
            self.assertIn(word, texts, kind)
            self.assertNotIn("energy", texts)
            self.assertNotIn(" J", texts)

    def test_current_with_volts(self):
        run = plotdata.make_run(os.path.join(FOLDER, "work-program"), 12, samples=50)
        run.kind = raw.CURRENT
        pbin = os.path.join(self.folder, "volts.pbin")
        self.succeeds(["prof2pbin", "-q", "-v", "5", "-s", FOLDER, "-o", pbin,
                       self.file("volts.bin", raw.write(run, "sampler-walltime"))])
        self.assertIn("energy", self.plot("bars", "--format=svg", inputs=[pbin]).decode())


class Comparison(Plot):
    """compare and dumbbell show the results of pbin-compare."""

    @classmethod
    def setUpClass(cls):
        """Two sides of five runs. In B, function 2 has grown, 0 is gone, 1 is new, 39 is small and
        three times as large."""
        super().setUpClass()
        common = {"samples": 1500, "label": "forty"}
        cls.a = [plotdata.pbin(FOLDER, f"a{i}", plotdata.names_of(40), seed=i, scale={1: 0, 39: 0.1}, **common)
                 for i in range(5)]
        cls.b = [plotdata.pbin(FOLDER, f"b{i}", plotdata.names_of(40), seed=i + 9,
                               scale={0: 0, 1: 4, 2: 6, 39: 0.3}, **common) for i in range(5)]

    def drawn(self, kind, metric, sides):
        """Rows of the picture: name -> (base, with, difference, color, text)."""
        words = ["--base", *sides[0], "--with", *sides[1], "--metric", metric, "--top=50"]
        self.plot(kind, *words, "-o", "c.svg", "--script", inputs=[])
        with open(os.path.join(self.folder, "c.svg.gp"), encoding="utf-8") as f:
            text = f.read()
        body = re.search(r"\$rows << (END_\w+)\n(.*?)\n\1\n", text, re.S).group(2)
        texts = {int(row): label for label, row in
                 re.findall(r"set label '(.*)' at (?:graph 1, first |first [^,]*,)(\d+) left", text)}
        rows = [line.split("\t") for line in body.split("\n")]
        return {r[-1]: (*map(float, r[1:4]), int(float(r[5])), texts[int(r[0])]) for r in rows}

    def judged(self, metric, sides):
        """The table of pbin-compare as bytes, and its rows."""
        words = ["--base", *sides[0], "--with", *sides[1], "--metric", metric]
        out = self.succeeds(["pbin-compare", "--format=csv", *words]).out
        head, *rows = csv.reader(io.StringIO(out.decode()))
        names = [name.split(" ")[0] for name in head]
        return out, [dict(zip(names, r)) for r in rows if r[0] != "_total"]

    def check(self, kind, metric, sides):
        table, rows = self.judged(metric, sides)
        drawn = self.drawn(kind, metric, sides)
        with open(os.path.join(self.folder, "c.svg.csv"), "rb") as f:
            self.assertEqual(f.read(), table)
        self.assertEqual(list(drawn), [r["function"] or r["binary"] for r in rows])
        grey = 0xa8b0b9
        for row, (name, (base, other, difference, color, text)) in zip(rows, drawn.items()):
            self.assertEqual((base, other), (float(row["base"] or 0), float(row["other"] or 0)), name)
            if metric != "power":
                self.assertEqual(difference, float(row["difference"] or 0), name)
            self.assertEqual(text.endswith(" *"), row["significant"] == "yes", (name, text, row))
            self.assertEqual(color == grey, row["significant"] == "no" and (metric, len(sides[0])) != ("power", 1), (name, row))
            for verdict in ("new", "gone"):
                self.assertEqual(f"  {verdict}" in text, row["verdict"] == verdict, (name, text))
        return rows

    def test_equal_pbin_compare(self):
        verdicts = set()
        for kind in ("compare", "dumbbell"):
            for runs in (1, 5):
                for metric in ("time", "energy", "samples", "power"):
                    with self.subTest(kind=kind, runs=runs, metric=metric):
                        sides = self.a[:runs], self.b[:runs]
                        rows = self.check(kind, metric, sides)
                        verdicts |= {(runs, r["significant"], r["verdict"], r["p"] == "") for r in rows}
        for runs in (1, 5):  # each case has occurred
            for case in (("yes", "slower", False), ("no", "not significant", False), ("no", "not tested", True), ("yes", "new", False),
                         ("yes", "gone", False)):
                self.assertIn((runs, *case), verdicts)

    def test_small_rows_are_not_tested(self):
        """A row with less than 1 % on both sides has no p and no star, even if it is three times as
        large."""
        name = plotdata.names_of(40)[39]
        row = next(r for r in self.judged("time", (self.a, self.b))[1] if r["function"] == name)
        self.assertGreater(float(row["ratio"]), 150)
        self.assertEqual((row["p"], row["significant"]), ("", "no"))
        self.assertFalse(self.drawn("compare", "time", (self.a, self.b))[name][4].endswith("*"))

    def test_whiskers(self):
        """Half of Welch's interval, from runs in single profiles."""
        drawn = self.drawn("compare", "energy", (self.a, self.b))
        with open(os.path.join(self.folder, "c.svg.gp"), encoding="utf-8") as f:
            text = f.read()
        errors = {line.split("\t")[-1]: float(line.split("\t")[4]) for line in text.split("\n") if line.count("\t") == 6}
        name = plotdata.names_of(3)[2]
        sides = [[next(float(r["energy [J]"]) for r in self.rows(run)[1] if r["function"] == name) for run in side]
                 for side in (self.a, self.b)]
        means = [sum(s) / 5 for s in sides]
        parts = [sum((v - m) ** 2 for v in s) / 4 / 5 for s, m in zip(sides, means)]
        df = sum(parts) ** 2 / sum(p * p / 4 for p in parts)
        self.assertAlmostEqual(means[1] - means[0], drawn[name][2], delta=1e-9)
        t = errors[name] / sum(parts) ** 0.5  # of the table: t(4) = 2.776, t(8) = 2.306
        self.assertTrue(4 <= df <= 8 and 2.306 <= t <= 2.776, (df, t))

    def test_clones_are_one_row(self):
        old = plotdata.pbin(self.folder, "old", ["work", "rest"], samples=200)
        new = plotdata.pbin(self.folder, "new", ["work.constprop.0", "rest", "work.part.1"], samples=200)
        self.plot("compare", "-k", "function", old, new, "-o", "k.svg", "--script", inputs=[])
        self.assertEqual({r[0] for r in self.table("k.svg.csv")[1:]} - {"_total", "_idle"}, {"work", "rest"})

    def test_power_of_the_rest(self):
        """_other has the power of all its rows, not the sum of their powers."""
        drawn = self.drawn_top("power", 2)["_other"]
        hidden = set(self.drawn("compare", "power", (self.a, self.b))) - set(self.drawn_top("power", 2))
        for side, runs in enumerate((self.a, self.b)):
            rows = [r for r in self.rows(*runs)[1] if (r["function"] or r["binary"]) in hidden]
            whole = sum(float(r["energy [J]"]) for r in rows) / sum(float(r["time [s]"]) for r in rows)
            self.assertAlmostEqual(drawn[side], whole, delta=1e-9 * whole)

    def drawn_top(self, metric, top):
        words = ["--base", *self.a, "--with", *self.b, "--metric", metric, f"--top={top}"]
        self.plot("compare", *words, "-o", "t.svg", "--script", inputs=[])
        with open(os.path.join(self.folder, "t.svg.gp"), encoding="utf-8") as f:
            body = re.search(r"\$rows << (END_\w+)\n(.*?)\n\1\n", f.read(), re.S).group(2)
        rows = [line.split("\t") for line in body.split("\n")]
        return {r[-1]: tuple(map(float, r[1:3])) for r in rows}

    def test_dumbbells_are_whole(self):
        """Both ends of a row are drawn, or none if one is outside the axis."""
        beyond = set()
        for top in range(1, 20):
            words = ["--metric=time", f"--top={top}", "--width=480", "--format=svg"]
            picture = self.plot("dumbbell", "--base", *self.a[1:2], "--with", *self.b[1:2], *words, inputs=[])
            out = picture.decode()
            points = [out.count(f"xlink:href='#gpPt{n}' transform") for n in (5, 6)]
            self.assertEqual(points[0], points[1], top)
            beyond.add(points[0] < top + 1)
            self.assertIn(points[0], (top, top + 1))
        self.assertEqual(beyond, {False, True})

    def test_explanation_fits(self):
        for inputs in (["--base", *self.a, "--with", *self.b], [self.a[0], self.b[0]]):
            for kind in ("compare", "dumbbell"):
                texts = " ".join(svg_texts(self.plot(kind, "--width=480", "--format=svg", inputs=inputs)))
                self.assertRegex(texts, r"\* significant \([a-zA-Z, ]*5 %\); grey: not")

    def test_tics_keep_apart(self):
        for top in range(3, 12):
            for width in (360, 420, 480):
                words = [f"--top={top}", f"--width={width}", "--height=300", "--format=svg", "--metric=time"]
                texts, _ = svg_places(self.plot("compare", *words, inputs=["--base", *self.a, "--with", *self.b]))
                tics = [t for t in texts if re.fullmatch(r"-?[\d.]+", t[0]) and t[3] == "middle"]
                self.assertGreaterEqual(len(tics), 2)
                for one, next_one in zip(tics, tics[1:]):
                    room = 10 * (0.64 * len((one[0] + next_one[0]).replace("-", "")) / 2 + 0.5)
                    self.assertGreater(next_one[1] - one[1], room, f"{one} {next_one}")

    def test_subtitle_is_whole(self):
        runs = ["--base", *self.a, "--with", *self.b]
        for kind in ("compare", "dumbbell"):
            for width, text in ((420, rf"{len(self.b)} runs against {len(self.a)} runs \xb7"),
                                (1600, r"\(\d runs\) against base [^\u2026]*\(\d runs\) \xb7")):
                texts = " ".join(svg_texts(self.plot(kind, f"--width={width}", "--format=svg", inputs=runs)))
                self.assertRegex(texts, text)

    def test_salvage(self):
        with open(self.b[0], "rb") as f:
            data = f.read()
        cut = self.file("cut.pbin", data[:len(data) * 2 // 3])
        self.fails(["pbin-plot", "compare", self.a[0], cut])
        self.succeeds(["pbin-plot", "compare", "--salvage", self.a[0], cut])

    def test_several_sides(self):
        """Each --with, or each other file, is a side of its own, with the values and verdicts of pbin-compare."""
        sides = {"a0": self.a[:3], "b0": self.b[:3], "a3": self.a[3:], "b3": self.b[3:]}
        runs = list(sides.values())
        words = ["--base", *runs[0]] + [w for side in runs[1:] for w in ("--with", *side)]
        for kind in ("compare", "dumbbell"):
            self.plot(kind, *words, "--metric=time", "--top=12", "-o", "m.svg", "--script", inputs=[])
            with open(os.path.join(self.folder, "m.svg.csv"), "rb") as f:
                table = f.read()
            self.assertEqual(table, self.succeeds(["pbin-compare", "--format=csv", "--metric=time", *words]).out)
            rows = {r["function"] or r["binary"]: r for r in csv.DictReader(io.StringIO(table.decode()))}
            with open(os.path.join(self.folder, "m.svg.gp"), encoding="utf-8") as f:
                text = f.read()
            drawn = [line.split("\t") for line in re.search(r"\$rows << (END_\w+)\n(.*?)\n\1\n", text, re.S).group(2).split("\n")]
            self.assertEqual(len(drawn), 3 * 13)
            for i, line in enumerate(drawn):
                name, side = re.fullmatch(r"(.*) \[(\w+)\]", line[-1]).groups()
                self.assertEqual(side, list(sides)[1 + i % 3])
                if name != "_other":
                    row = rows[name]
                    want = [row["base [s]"], row[f"other{1 + i % 3} [s]"], row[f"difference_other{1 + i % 3} [s]"]]
                    self.assertEqual([float(v) for v in line[1:4]], [float(v or 0) for v in want])
            # the rows with the largest difference to any side
            largest = {n: max(abs(float(r[f"difference_other{k} [s]"] or 0)) for k in (1, 2, 3)) for n, r in rows.items()}
            self.assertEqual({re.sub(r" \[.*", "", l[-1]) for l in drawn[:36]}, set(sorted(largest, key=largest.get)[-12:]))

    def test_files_are_sides(self):
        self.plot("compare", self.a[0], self.b[0], self.b[1], "-o", "f.svg", "--script", inputs=[])
        with open(os.path.join(self.folder, "f.svg.csv"), "rb") as f:
            self.assertEqual(f.read(), self.succeeds(["pbin-compare", "--format=csv", "--metric=energy", self.a[0], *self.b[:2]]).out)
        self.assertEqual(tool.run(["pbin-plot", "compare", *[self.a[0]] * 70]).status, 2)
        for format in ("txt", "html"):
            out = self.plot("compare", self.a[0], self.b[0], self.b[1], f"--format={format}", inputs=[]).decode()
            self.assertIn("[b0]", out)
            self.assertIn("[b1]", out)

    def test_identical_runs(self):
        self.plot("compare", RUNS[0], RUNS[0], "-o", "s.svg", "--script", inputs=[])
        head, *rows = self.table("s.svg.csv")
        self.assertEqual({float(r[head.index("difference [J]")]) for r in rows}, {0.0})


class Options(Plot):
    def errors(self, *argv):
        self.plot("bars", *argv, "-o", "c.svg", "--script", inputs=[])
        with open(os.path.join(self.folder, "c.svg.gp"), encoding="utf-8") as f:
            body = re.search(r"\$rows << (END_\w+)\n(.*?)\n\1\n", f.read(), re.S).group(2)
        return {line.split("\t")[-1]: float(line.split("\t")[2]) for line in body.split("\n")}

    def test_intervals_of_a_single_run(self):
        for metric in ("time", "energy"):
            with self.subTest(metric):
                table = json.loads(self.succeeds(["pbin-aggregate", "-q", "--ci", "--format=json", RUNS[0]]).out)
                want = {r["function"]: r[f"{metric}_ci_approx"] for r in table["rows"]}
                got = self.errors("--ci", "--metric", metric, "--top=8", RUNS[0])
                self.assertGreater(len(got), 5)
                for name, error in got.items():
                    if name in want and want[name] is not None:
                        self.assertAlmostEqual(error, want[name], delta=1e-9 * want[name])
        self.assertTrue(all(e != e for e in self.errors(RUNS[0]).values()))
        self.assertEqual(self.errors("--ci", *RUNS[:3]), self.errors(*RUNS[:3]))
        self.assertEqual(tool.run(["pbin-plot", "flame", "--ci", RUNS[0]]).status, 2)

    def test_order_of_means(self):
        for kind in ("box", "violin"):
            for option, sign in (("--asc", 1), ("--desc", -1)):
                self.plot(kind, option, *RUNS[:3], "--metric=time", "-o", "o.svg", "--script", inputs=[])
                with open(os.path.join(self.folder, "o.svg.gp"), encoding="utf-8") as f:
                    body = re.search(r"# row, lower whisker.*?\$\w+ << (END_\w+)\n(.*?)\n\1\n", f.read(), re.S).group(2)
                means = [float(line.split("\t")[6]) for line in body.split("\n")]
                self.assertGreater(len(means), 2)
                self.assertEqual(means, sorted(means, key=lambda m: sign * m))
        self.assertEqual(tool.run(["pbin-plot", "bars", "--asc", RUNS[0]]).status, 2)


class Hostile(Plot):
    def test_names_are_only_text(self):
        for kind in KINDS:
            inputs = [EVIL] * KINDS[kind]
            for form in ("svg", "png", "txt"):
                with self.subTest(kind=kind, form=form):
                    options = ["--top=30"] if kind not in ("timeline",) else []
                    out = self.plot(kind, "-o", f"out.{form}", *options, *([] if kind == "flame" else ["--script"]),
                                    inputs=inputs)
                    self.assertEqual(out, b"")
                    left = set(os.listdir(self.folder))
                    self.assertLessEqual(left, {f"out.{f}{x}" for f in ("svg", "png", "txt")
                                                for x in ("", ".gp", ".csv")})

    def test_names_are_drawn_as_they_are(self):
        texts = svg_texts(self.plot("bars", "--format=svg", "--width=1600", "--height=1000", inputs=[EVIL]))
        for name in HOSTILE:
            shown = visible(name)
            with self.subTest(name=name[:40]):
                if len(name) < 100:
                    self.assertIn(shown, texts)
                else:
                    self.assertTrue([t for t in texts if t.startswith("xxx") and "\u2026" in t and len(t) < 200])

    def test_characters_without_glyph(self):
        """Pango draws such characters as boxes, which gnuplot makes larger than the picture. No
        font has glyphs for code points that are not characters."""
        hostile = ["a\ufdd0b", "\ufdd1" * 300, "\U000edcba\u0378"]
        shown = ["".join(c if c < "\u0300" else f"\\u{ord(c):04x}" for c in name) for name in hostile]
        pictures = {"png": [], "pdf": []}
        for names in (hostile, shown):
            profile = calls_profile("glyphs.pbin", {n: [F(i + 1)] for i, n in enumerate(names)})
            for form, drawn in pictures.items():
                out = self.plot("bars", f"--format={form}", "--title", names[0], inputs=[profile])
                drawn.append(re.sub(rb"/CreationDate \(.*?\)", b"", out))
        for form, (drawn, expected) in pictures.items():
            self.assertEqual(drawn, expected, form)

    def test_filters(self):
        """Rows that filters exclude do not appear in any kind of picture."""
        for kind in ("bars", "cumulative", "box", "violin", "scatter", "flame", "compare", "dumbbell"):
            names = {}
            for options in ([], ["--exclude=function=_idle", "--exclude=function=_kernel"]):
                self.plot(kind, "-q", "-o", "n.svg", *options, *([] if kind == "flame" else ["--script"]),
                          inputs=RUNS[:1] if kind in ("bars", "cumulative", "scatter", "flame") else RUNS[:2])
                with open(os.path.join(self.folder, "n.svg" if kind == "flame" else "n.svg.csv"), encoding="utf-8") as f:
                    text = f.read()
                names[len(options)] = {name for name in ("_idle", "_kernel") if name in text}
                self.assertNotIn("_excluded", text)
            self.assertTrue(names[0], kind)
            self.assertEqual(names[2], set(), kind)

    def test_whole_names_are_in_the_data(self):
        self.plot("bars", "-o", "n.svg", "--script", "--top=30", inputs=[EVIL])
        with open(os.path.join(self.folder, "n.svg.csv"), encoding="utf-8", newline="") as f:
            names = {r["function"] for r in csv.DictReader(f)}
        self.assertLessEqual({visible(name) for name in HOSTILE}, names)
        with open(os.path.join(self.folder, "n.svg.gp"), encoding="utf-8") as f:
            self.assertIn("x" * 65536, f.read())

    def test_marks_and_title(self):
        text = "`touch pwned` '\" @x $(touch pwned) \\"
        out = self.plot("timeline", "--mark", "0.1=" + text, "--title", text, "--format=svg")
        self.assertGreaterEqual(svg_texts(out).count(text), 2)
        self.assertEqual(os.listdir(self.folder), [])

    def test_broken_profiles(self):
        with open(RUNS[0], "rb") as f:
            data = f.read()
        for kind in ("bars", "timeline", "flame", "heatmap"):
            for cut in (0, 7, 100, len(data) // 2, len(data) - 1):
                file = self.file("cut.pbin", data[:cut])
                self.fails(["pbin-plot", kind, file, "-o", os.path.join(self.folder, "cut.svg")], file)
                self.assertFalse(os.path.exists(os.path.join(self.folder, "cut.svg")))
            self.plot(kind, "--salvage", "-q", "--format=svg", inputs=[self.file("cut.pbin", data[:-9])])


class Others(Plot):
    def test_energy_over_time_is_that_of_the_table(self):
        """A recording with the CPU time of other programs, which get their part of the energy."""
        pbin = os.path.join(self.folder, "out.pbin")
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        self.succeeds(["prof2pbin", "-q", "-o", pbin, os.path.join(root, "samples", "out.bin.bz2")])
        table = {r["function"]: float(r["energy [J]"]) for r in self.rows("-q", pbin)[1]}
        self.assertGreater(table["_others"], 0.1)
        self.plot("heatmap", "-q", "--top=40", "-o", "h.svg", "--script", inputs=[pbin])
        with open(os.path.join(self.folder, "h.svg.csv"), encoding="utf-8", newline="") as f:
            rows = list(csv.DictReader(f))
        width = float(rows[1]["start [s]"]) - float(rows[0]["start [s]"])
        for name in ("_others", "burn_50", "burn_30", "burn_20"):
            drawn = width * sum(float(r[name + " [W]"] or 0) for r in rows)
            self.assertAlmostEqual(drawn / table[name], 1, 3, name)


class Errors(Plot):
    def test_no_gnuplot(self):
        target = self.file("kept.svg", b"before")
        empty = os.path.join(self.folder, "empty")
        os.mkdir(empty)
        argv = [tool.path("pbin-plot"), "bars", RUNS[0], "-o", target]
        ended = subprocess.run(argv, env=dict(tool.environment(), PATH=empty), capture_output=True, timeout=20)
        self.assertEqual(ended.returncode, 1)
        self.assertEqual(ended.stderr.count(b"\n"), 1)
        self.assertIn(b"gnuplot-nox", ended.stderr)
        with open(target, "rb") as f:
            self.assertEqual(f.read(), b"before")
        flame = subprocess.run([tool.path("pbin-plot"), "flame", RUNS[0]], env=dict(tool.environment(), PATH=empty),
                               capture_output=True, timeout=20)
        self.assertEqual(flame.returncode, 0)

    def test_messages(self):
        mean = os.path.join(self.folder, "mean.pbin")
        self.succeeds(["pbin-aggregate", *RUNS[:2], "-o", mean])
        run = plotdata.make_run(os.path.join(FOLDER, "work-program"), 12, samples=20)
        run.kind = raw.CUSTOM
        pure = os.path.join(self.folder, "pure.pbin")
        self.succeeds(["prof2pbin", "-q", "-s", FOLDER, "-o", pure,
                       self.file("pure.bin", raw.write(run, "sampler"))])
        for argv, part in (
                (["timeline", mean], "needs a full profile"),
                (["heatmap", mean], "needs a full profile"),
                (["box", mean, mean], "sum of 2 runs"),
                (["bars", RUNS[0], "--metric=calls"], "only profiles of calls"),
                (["compare", *RUNS[:2], "--metric=calls"], "only profiles of calls"),
                (["hist", RUNS[0]], "no distributions"),
                (["bars", "nowhere.pbin"], "No such file"),
                (["bars", mean, "-k", "line"], "key inline is missing")):
            with self.subTest(argv=argv):
                self.assertIn(part, self.fails(["pbin-plot", *argv]).err)
        for argv, part in (
                (["timeline", *RUNS[:2]], "draws a single profile"),
                (["box", RUNS[0]], "several runs"),
                (["compare", RUNS[0]], "needs a base"),
                (["violin", RUNS[0], "--error=relative"], "needs a base"),
                (["violin", *RUNS[:2], "--error=relative", "--format=html"], "cannot be drawn as html"),
                (["violin", *RUNS[:3], "--error=relative", "--weight=other", "-o", "x.svg", "--script"], "needs a single other"),
                (["bars", RUNS[0], "-o", "x.gif"], "unknown suffix, expected"),
                (["flame", RUNS[0], "-o", "x.svg", "--script"], "--script has nothing to write"),
                (["flame", RUNS[0], "--metric=power"], "not power"),
                (["heatmap", RUNS[0], "--metric=samples"], "not samples"),
                (["cumulative", RUNS[0], "--metric=power"], "not of power"),
                (["cumulative", CALLS, "--metric=inclusive"], "not of inclusive")):
            with self.subTest(argv=argv):
                self.assertIn(part, self.fails(["pbin-plot", *argv], status=2).err)

    def test_too_high(self):
        """PNG has a size limit, and the message shows what to do."""
        many = calls_profile("high.pbin", {f"f{i}": [F(i + 10)] for i in range(2500)})
        png = os.path.join(self.folder, "x.png")
        ended = self.fails(["pbin-plot", "bars", many, "--top=2500", "-o", png], png)
        self.assertRegex(ended.err, r"too high for PNG: \d+ pixels, but at most 32767 \(reduce --top, give --height, or draw svg or pdf\)")
        self.assertEqual(os.listdir(self.folder), [])
        self.assertTrue(self.plot("bars", "--top=2500", "-q", "--height=9000", "--format=png", inputs=[many]).startswith(STARTS["png"]))

    def test_nothing_is_selected(self):
        """The picture reports it, and there is a warning; without a selection, there is something
        to draw or an error."""
        for argv, part in ((["bars", RUNS[0], "--filter=function=none"], "there are no rows to draw"),
                           (["cumulative", RUNS[0], "--filter=function=none"], "there are no rows to draw"),
                           (["hist", CALLS, "--filter=function=none"], "there are no rows to draw"),
                           (["box", *RUNS[:2], "--exclude=function=*"], "there are no rows to draw"),
                           (["scatter", RUNS[0], "--filter=function=none"], "there are no rows to draw"),
                           (["flame", RUNS[0], "--filter=function=none"], "there are no rows to draw"),
                           (["dumbbell", *RUNS[:2], "--filter=function=none"], "there are no rows to draw"),
                           (["timeline", RUNS[0], "--start=1e6"], "no samples between --start and --end"),
                           (["heatmap", RUNS[0], "--start=1e6"], "no samples between --start and --end")):
            with self.subTest(argv=argv):
                ended = self.succeeds(["pbin-plot", *argv, "--format=svg"])
                self.assertEqual(ended.err.count("nothing is selected: " + part), 1)
                self.assertIn("Nothing is selected", svg_texts(ended.out))
                self.assertTrue(any(part in text for text in svg_texts(ended.out)))
        self.plot("bars", "-q", "--filter=function=none", "-o", "n.svg", "--script")
        self.assertEqual(sorted(os.listdir(self.folder)), ["n.svg", "n.svg.csv", "n.svg.gp"])
        empty = os.path.join(self.folder, "empty.pbin")
        self.succeeds(["pbin-aggregate", "-q", "--filter=function=none", RUNS[0], "-o", empty])
        for kind in ("bars", "flame"):
            ended = self.succeeds(["pbin-plot", kind, "-k", "binary,function", empty, "--format=svg"])
            self.assertIn("nothing is selected: there are no rows to draw", ended.err)
        page = self.plot("bars", "-q", "--filter=function=none", "--format=html")
        self.assertIn(b"Nothing is selected", page)

    def test_usage(self):
        for argv in ([], ["timeline", "--metric=calls"], ["timeline", "--filter=function=f"], ["box", "--metric=calls"],
                     ["scatter", "--metric=calls"], ["bars", "--counts"],
                     ["hist", "--filter=colour=f"], ["pie"], ["bars", "--metric=entries"], ["bars", "--theme=pink"], ["bars", "--width=1"],
                     ["bars", "--script"], ["bars", "--base", "x"], ["bars", "-k", "colour"], ["bars", "--format=gif"], ["bars", "--format=htm"],
                     ["timeline", "--start=2", "--end=1"], ["timeline", "--metric=samples"], ["scatter", "--metric=time"],
                     ["timeline", "--mark=soon"], ["bars", "--top=0"],
                     ["bars", "--start=1"], ["box", "--points=some"], ["bars", "--points=all"], ["box", "--error=all"], ["bars", "--error=relative"],
                     ["box", "--base", "x"], ["violin", "--weight=other"], ["violin", "--error=relative", "--top=3"], ["flame", "--means"],
                     ["bars", "-i", "5"], ["heatmap", "-n"], ["timeline", "-i", "0"]):
            with self.subTest(argv=argv):
                ended = tool.run(["pbin-plot", *argv])
                self.assertEqual((ended.status, ended.out), (2, b""))

    def test_binary_to_terminal(self):
        main, side = os.openpty()
        with os.fdopen(side, "wb") as terminal:
            ended = tool.run(["pbin-plot", "bars", RUNS[0], "--format=png"], stdout=terminal)
        os.close(main)
        self.assertEqual(ended.status, 1)

    def test_text_on_a_terminal(self):
        main, side = os.openpty()
        with os.fdopen(side, "wb") as terminal:
            ended = tool.run(["pbin-plot", "bars", RUNS[0], "--color=never"], stdout=terminal)
            self.assertEqual(ended.status, 0)
        self.assertIn(b"####", os.read(main, 65536))
        os.close(main)
