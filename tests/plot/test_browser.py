"""SVGs and interactive pages in a headless Chromium: they open without errors, no text is cut,
hover, zoom, sort and legend toggles work, and names are not executed.

Skipped without chromium, which is too large to require.
SPDX-License-Identifier: MIT
"""
import base64
import csv
import hashlib
import html
import io
import json
import os
import re
import shutil
import subprocess
import unittest

import pbin
import plotdata
import test_extremes
import test_plot
import tool

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

# the boxes, clicks and hovers of all texts are reported as JSON in an attribute of the page
PAGE = """<!DOCTYPE html><meta charset="utf-8"><body style="margin:0"><pre id="report"></pre><script>
window.onerror = function (m) { document.getElementById('report').textContent = JSON.stringify({error: m}); };
</script>%s<script>
var svg = document.querySelector('svg'), report = {};
%s
document.getElementById('report').textContent = JSON.stringify(report);
</script></body>"""
BOXES = """
report = Array.from(document.querySelectorAll('svg')).map(function (svg) {
  var area = svg.getBoundingClientRect(), texts = Array.from(svg.querySelectorAll('text'));
  return {texts: texts.length, cut: texts.filter(function (t) {
    var b = t.getBoundingClientRect();
    return b.width > 0 && (b.left < area.left - 1 || b.right > area.right + 1 || b.top < area.top - 1 ||
                           b.bottom > area.bottom + 1);
  }).map(function (t) { return t.textContent; })};
});
"""
DRIVE = """
function state() {
  return Array.from(svg.querySelectorAll('g.node')).map(function (g) {
    return [g.getAttribute('data-n'), g.style.display !== 'none', +g.querySelector('rect').getAttribute('width')];
  });
}
function fire(node, what) { node.dispatchEvent(new MouseEvent(what, {bubbles: true})); }
var nodes = Array.from(svg.querySelectorAll('g.node')), info = document.getElementById('info');
var leaf = nodes.filter(function (g) { return g.getAttribute('data-n') === NAME; })[0];
report.before = state();
fire(leaf, 'mouseover');
report.hover = info.textContent;
fire(leaf, 'mouseout');
report.left = info.textContent;
fire(leaf, 'click');
report.zoomed = state();
report.label = leaf.querySelector('text').textContent;
fire(nodes[0], 'click');
report.after = state();
"""


def dumped(folder, page, *options):
    """The report in the file PAGE after its scripts have run."""
    out = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", *options,
                          f"--user-data-dir={folder}/profile", "--dump-dom", "file://" + page],
                         capture_output=True, timeout=60, check=True, stdin=subprocess.DEVNULL)
    text = re.search(r'<pre id="report">(.*?)</pre>', out.stdout.decode(), re.S).group(1)
    return json.loads(html.unescape(text))


def browse(folder, svgs, script):
    """The report of SCRIPT about the pictures. The scripts of several pictures are removed, because
    they would interfere."""
    svgs = [s[s.index("<svg"):].replace("document.documentElement", "document.querySelector('svg')") for s in svgs]
    if len(svgs) > 1:
        svgs = [re.sub("<script.*</script>", "", s, flags=re.S) for s in svgs]
    svg = "".join(f"<div>{s}</div>" for s in svgs)
    page = os.path.join(folder, "page.html")
    write_text(page, PAGE % (svg, script))
    return dumped(folder, page, "--virtual-time-budget=2000")


# inserted before the end of the page: records errors, and reports the actions and observations of a
# script
WATCH = """<script>var errors = [], touched = 0;
window.onerror = function (m) { errors.push(String(m)); };
document.addEventListener('securitypolicyviolation', function (e) { errors.push(e.violatedDirective + ' ' + e.blockedURI); });
window.alert = function () { touched++; };
function all(selector) { return Array.from(document.querySelectorAll(selector)); }
function texts(selector) { return all(selector).map(function (e) { return e.textContent; }); }
function press(text) { all('button').filter(function (b) { return b.textContent === text; })[0].click(); }
function hover(e) { e.dispatchEvent(new MouseEvent('mouseenter')); return document.getElementById('info').textContent; }
function mouse(e, what, x, y) {
  var r = e.getBoundingClientRect();
  e.dispatchEvent(new MouseEvent(what, {bubbles: true, movementX: 9, clientX: r.left + x * r.width, clientY: r.top + y * r.height}));
}
function pixels(canvas) {
  var d = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data, sum = 0;
  for (var i = 0; i < d.length; i++) sum = (sum * 31 + d[i]) % 1000000007;
  return sum;
}
function later(act) { return new Promise(function (done) { setTimeout(function () { done(act && act()); }, 60); }); }
</script>"""
RUN = """<script>(async function () {
var report = {};
await later();
try { %s } catch (e) { errors.push(String(e)); }
report.errors = errors;
report.touched = touched;
parent.postMessage([%d, report], '*');
})();</script>"""
# a frame for each page, because each start of Chromium takes a second of CPU time
FRAMES = """<!DOCTYPE html><meta charset="utf-8"><pre id="report"></pre><script>
var reports = {};
window.onmessage = function (e) {
  reports[e.data[0]] = e.data[1];
  document.getElementById('report').textContent = JSON.stringify(reports);
};
</script>%s"""
FRAME = '<iframe src="page%d.html" width="1200" height="800"></iframe>'


# keeps the texts that are drawn on canvases
DRAWN = """window.drawn = [];
var fillText = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (t) { window.drawn.push(String(t)); return fillText.apply(this, arguments); };
"""


def write_text(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def scripted(page, script, number):
    """PAGE with SCRIPT, whose report has the number NUMBER, and a policy that admits it by a
    nonce."""
    page = page.replace("script-src ", "script-src 'nonce-test' ", 1)
    watch, run = (text.replace("<script>", "<script nonce=\"test\">") for text in (WATCH, RUN % (script, number)))
    return page.replace("<style>", watch + "<style>", 1).replace("</body>", run + "</body>")


def open_pages(folder, pages, script):
    """The report of SCRIPT about each of the interactive PAGES."""
    for number, page in enumerate(pages):
        write_text(os.path.join(folder, f"page{number}.html"), scripted(page, script, number))
    path = os.path.join(folder, "frames.html")
    write_text(path, FRAMES % "".join(FRAME % number for number in range(len(pages))))
    reports = dumped(folder, path, "--virtual-time-budget=5000", f"--window-size=1250,{850 * len(pages)}")
    return [reports[str(number)] for number in range(len(pages))]


class Vendored(unittest.TestCase):
    ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../plot/vendor/uplot")

    def test_checksums(self):
        with open(os.path.join(self.ROOT, "SHA256SUMS"), encoding="utf-8") as f:
            sums = dict(reversed(line.split()) for line in f)
        self.assertEqual(set(sums), set(os.listdir(self.ROOT)) - {"SHA256SUMS"})
        self.assertEqual(sums["uPlot.iife.min.js"], "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f")
        for name, checksum in sums.items():
            with open(os.path.join(self.ROOT, name), "rb") as f:
                self.assertEqual(hashlib.sha256(f.read()).hexdigest(), checksum, name)


class Page(tool.Case):
    """Properties that need no browser: a single file, its policy, its size, its data."""
    @classmethod
    def setUpClass(cls):
        test_plot.setUpModule()

    @classmethod
    def tearDownClass(cls):
        test_plot.tearDownModule()

    def page(self, kind, *inputs):
        return self.succeeds(["pbin-plot", kind, *inputs, "--format=html"], timeout=60).out.decode()

    def pages(self):
        for kind in ("bars", "timeline", "heatmap", "flame", "compare"):
            for inputs in ([test_plot.MANY], [test_plot.EVIL]):
                yield kind, self.page(kind, *inputs, *([test_plot.RUNS[0]] if kind == "compare" else []))
        for calls in (test_plot.CALLS, test_plot.EVIL_CALLS):
            yield "hist", self.page("hist", calls)

    def test_verdicts_of_a_comparison(self):
        """Rows that were not tested are not called "not significant"."""
        files = test_plot.RUNS[0], test_plot.RUNS[3]
        data = json.loads(re.search(r'id="data">(.*?)</script>', self.page("compare", *files), re.S).group(1))
        table = self.succeeds(["pbin-compare", "--format=csv", *files]).out.decode()
        verdicts = {row["function"]: row["verdict"] for row in csv.DictReader(io.StringIO(table))}
        groups = {row["name"]: row["group"] for row in data["rows"] if row["name"] in verdicts}
        for name, group in groups.items():
            self.assertEqual(group if group.startswith("not") else None, verdicts[name] if verdicts[name].startswith("not") else None)
        self.assertLessEqual({"not tested", "not significant"}, {*groups.values()})

    def test_one_file_without_network(self):
        for kind, page in self.pages():
            with self.subTest(kind):
                self.assertLess(len(page), 1_000_000)
                policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page).group(1)
                self.assertTrue(policy.startswith("default-src 'none'; "), policy)
                scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
                styles = re.findall(r"<style>(.*?)</style>", page, re.S)
                self.assertEqual((len(scripts), len(styles), len(re.findall("<script", page))), (1, 1, 2))
                for name, text in (("script", scripts[0]), ("style", styles[0])):
                    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
                    self.assertIn(f"{name}-src 'sha256-{digest}'", policy)
                self.assertNotRegex(page, r"(?i)<(link|img|iframe|object|base)\b|\b(src|href)=")
                self.assertIn("Permission is hereby granted", scripts[0])
                data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1)
                self.assertNotRegex(data, "[<>&\n]")
                json.loads(data)

    def test_same_bytes(self):
        self.assertEqual(self.page("timeline", test_plot.MANY), self.page("timeline", test_plot.MANY))

    def test_values_are_those_of_the_table(self):
        data = json.loads(re.search(r'id="data">(.*?)</script>', self.page("bars", test_plot.RUNS[0]), re.S).group(1))
        table = json.loads(self.succeeds(["pbin-aggregate", "--format=json", test_plot.RUNS[0]]).out)
        energy = {r["function"]: r["energy"] for r in table["rows"]}
        self.assertEqual(data["columns"][0], {"name": "energy", "unit": "J"})
        self.assertEqual({r["name"] for r in data["rows"]}, set(energy))
        for row in data["rows"]:
            self.assertAlmostEqual(row["values"][0], energy[row["name"]], delta=1e-8 * energy[row["name"]] + 1e-15)

    def test_other_kinds_say_so(self):
        ended = self.fails(["pbin-plot", "scatter", test_plot.RUNS[0], "--format=html"], status=2)
        self.assertIn("bars, compare, timeline, heatmap, flame and hist", ended.err)
        ended = self.fails(["pbin-plot", "bars", test_plot.RUNS[0], "-o", os.path.join(self.folder, "x.html"), "--script"], status=2)
        self.assertIn("--script has nothing to write", ended.err)
        self.assertEqual(os.listdir(self.folder), [])


@unittest.skipIf(CHROMIUM is None, "no chromium (apt-get install chromium)")
class Interactive(Page):
    def drive(self, page, script):
        return self.drive_all([page], script)[0]

    def drive_all(self, pages, script):
        reports = open_pages(self.folder, pages, script)
        for report in reports:
            self.assertEqual((report["errors"], report["touched"]), ([], 0))
        return reports

    test_one_file_without_network = test_same_bytes = test_verdicts_of_a_comparison = None
    test_values_are_those_of_the_table = test_other_kinds_say_so = None

    def test_rows(self):
        report = self.drive(self.page("bars", test_plot.RUNS[0]), """
            report.names = texts('td.name');
            report.hover = hover(all('tbody tr')[1]);
            press('name');
            report.up = all('td.name').map(function (e) { return e.title; });
            press('name');
            report.down = all('td.name').map(function (e) { return e.title; });
            press('samples');
            report.samples = texts('td:last-child').map(Number);
            press('_idle');
            report.without = texts('td.name');
            press('_idle');
            report.again = texts('td.name');
            function width() { return Math.max.apply(null, all('.value').map(function (e) { return e.offsetWidth; }).slice(3, 4)); }
            report.width = width();
            var slider = all('input')[0];
            slider.value = 0.5;
            slider.dispatchEvent(new Event('input'));
            report.zoomed = width();""")
        self.assertEqual(len(report["names"]), 13)
        self.assertRegex(report["hover"], r"\nenergy [0-9.]+ m?J   share [0-9.]+ %   time [0-9.]+ m?s   power [0-9.]+ m?W   samples")
        self.assertEqual(report["up"], sorted(report["up"]))
        self.assertEqual(report["down"], sorted(report["up"], reverse=True))
        self.assertEqual(report["samples"], sorted(report["samples"], reverse=True))
        self.assertEqual(set(report["names"]) - set(report["without"]), {"_idle"})
        self.assertEqual(set(report["again"]), set(report["names"]))
        self.assertGreater(report["zoomed"], 1.5 * report["width"])

    def test_nothing_is_selected(self):
        """Nothing is selected by filters, or there is nothing in the profile: the page reports
        this, without an error."""
        empty = []
        for name, source in (("run", test_plot.RUNS[0]), ("calls", test_plot.CALLS)):
            empty.append(os.path.join(self.folder, f"{name}.pbin"))
            self.succeeds(["pbin-aggregate", "-q", "-k", "binary,function", source, "--filter=function=none", "-o", empty[-1]])
        none = "--filter=function=none"
        pages = []
        for kind, *argv in (("bars", empty[0]), ("bars", empty[1]), ("bars", test_plot.RUNS[0], none), ("compare", empty[0], empty[0]),
                            ("compare", *test_plot.RUNS[:2], none), ("flame", "-k", "binary,function", empty[0]),
                            ("flame", test_plot.RUNS[0], none), ("hist", test_plot.CALLS, none), ("hist", empty[1]),
                            ("timeline", test_plot.RUNS[0], "--start=1e6"), ("heatmap", test_plot.RUNS[0], "--start=1e6")):
            with self.subTest(kind=kind, argv=argv):
                ended = self.succeeds(["pbin-plot", kind, *argv, "--format=html"])
                self.assertIn("nothing is selected: ", ended.err)
                pages.append(ended.out.decode())
        reports = self.drive_all(pages, "report.title = texts('h1');")
        self.assertEqual([report["title"] for report in reports], 11 * [["Nothing is selected"]])

    def test_rows_beside_idle_energy(self):
        """Rows without code do not make the bars of code too small to see; both kinds are drawn to
        scale among themselves."""
        files = [self.file(f"wait{i}.pbin", test_extremes.waiting(i)) for i in range(2)]
        reports = self.drive_all([self.page("bars", files[0]), self.page("compare", *files)], """
            report.names = texts('td.name');
            report.widths = all('td.bar').map(function (c) { return c.querySelector('.value').offsetWidth / c.offsetWidth; });
            report.cuts = all('td.bar').map(function (c) { return c.querySelectorAll('.cut').length; });""")
        for kind, report in zip(("bars", "compare"), reports):
            width = dict(zip(report["names"], report["widths"]))
            self.assertEqual(report["names"][0], "_idle")
            self.assertEqual(report["cuts"], [2, 0, 0, 0], kind)
            self.assertGreater(width["f0"], 0.8)
            self.assertAlmostEqual(width["f1"] / width["f0"], 0.5, delta=0.03)

    def test_compare(self):
        report = self.drive(self.page("compare", test_plot.RUNS[0], test_plot.RUNS[3]), """
            report.names = texts('td.name');
            report.hover = hover(all('tbody tr')[0]);
            press('change');
            report.changes = all('tbody tr').map(function (r) { return parseFloat(r.children[3].textContent); });
            report.groups = all('.tools button').map(function (b) { return b.textContent; });
            press(report.groups[0]);
            report.without = texts('td.name');""")
        self.assertRegex(report["hover"], r"difference -?[0-9.]+ m?J .*change -?[0-9.]+ %   base [0-9.]+ m?J   with [0-9.]+ m?J")
        finite = [c for c in report["changes"] if c is not None]
        self.assertEqual(finite, sorted(finite, reverse=True))
        self.assertLess(len(report["without"]), len(report["names"]))

    def test_timeline(self):
        report = self.drive(self.page("timeline", test_plot.RUNS[0]), """
            var power = all('.u-over')[0], lanes = all('.u-over')[1], canvas = all('canvas')[1];
            mouse(power, 'mouseenter', 0.5, 0.5);
            mouse(power, 'mousemove', 0.5, 0.5);
            await later(function () { report.legend = texts('.u-value'); });
            mouse(lanes, 'mouseenter', 0.5, 0.2);
            mouse(lanes, 'mousemove', 0.5, 0.2);
            await later(function () { report.hover = document.getElementById('info').textContent; report.before = pixels(canvas); });
            press(texts('.tools button')[0]);
            await later(function () { report.hidden = pixels(canvas); });
            press(texts('.tools button')[0]);
            await later(function () { report.shown = pixels(canvas); });
            all('.u-series')[1].querySelector('th').click();
            await later(function () { report.off = all('.u-series')[1].className; });
            mouse(power, 'mousemove', 0.25, 0.5);
            mouse(power, 'mousedown', 0.25, 0.5);
            mouse(power, 'mousemove', 0.5, 0.5);
            mouse(power, 'mouseup', 0.5, 0.5);
            await later(function () { report.zoomed = pixels(canvas); });
            press('whole time');
            await later(function () { report.whole = pixels(canvas); });""")
        self.assertRegex(" ".join(report["legend"]), r"[0-9.]+ ms [0-9.]+ W [0-9.]+ W [0-9.]+ W")
        self.assertRegex(report["hover"], r"^[0-9.]+ ms   thread 400[01]   .*[0-9.]+ %")
        self.assertNotEqual(report["before"], report["hidden"])
        self.assertEqual(report["before"], report["shown"])
        self.assertIn("u-off", report["off"])
        self.assertNotEqual(report["before"], report["zoomed"])
        self.assertEqual(report["before"], report["whole"])

    def test_power_from_zero(self):
        """The axis of power begins at 0, or below it if there are negative values, as in
        pictures."""
        for values, lowest in (((10.0, 12.0), 0), ((-8.0, 12.0), -5)):
            profile = pbin.Profile({"target": "app", "pmu": pbin.POWER, "unit": "W", "cpu_time": 1, "times": 1, "samples": 40, "wall_ns": 40_000_000},
                                   [pbin.Thread(1, 1, "app")], [pbin.Location(0, "app", [pbin.Frame("f", "f")])])
            profile.samples = [pbin.Sample(1_000_000, values[i % 2], [(0, 0, 1_000_000)]) for i in range(40)]
            page = self.page("timeline", self.file("p.pbin", pbin.write(profile)))
            page = page.replace("'use strict';", "'use strict'; " + DRAWN, 1)
            script = base64.b64encode(hashlib.sha256(re.findall(r"<script>(.*?)</script>", page, re.S)[0].encode()).digest()).decode()
            page = re.sub(r"script-src 'sha256-[^']*'", f"script-src 'sha256-{script}'", page, count=1)
            report = self.drive(page, "report.drawn = window.drawn;")
            drawn = report["drawn"]
            numbers = [float(t) for t in drawn[drawn.index("power [W]") + 1:drawn.index("time [s]")]]
            self.assertIn(0, numbers)
            self.assertEqual(min(numbers), lowest, drawn)

    def test_heatmap(self):
        report = self.drive(self.page("heatmap", test_plot.RUNS[0]), """
            var over = all('.u-over')[0];
            report.before = pixels(all('canvas')[0]);
            report.rows = texts('.tools button').slice(0, -1);
            press(report.rows[0]);
            await later(function () { report.hidden = pixels(all('canvas')[0]); report.pressed = all('.tools button')[0].getAttribute('aria-pressed'); });
            press(report.rows[0]);
            await later(function () { report.shown = pixels(all('canvas')[0]); });
            mouse(over, 'mouseenter', 0.5, 0.01);
            mouse(over, 'mousemove', 0.5, 0.01);
            await later(function () { report.hover = document.getElementById('info').textContent; });
            mouse(over, 'mousedown', 0.5, 0.3);
            mouse(over, 'mousemove', 0.9, 0.3);
            mouse(over, 'mouseup', 0.9, 0.3);
            await later(function () { report.zoomed = pixels(all('canvas')[0]); });""")
        self.assertRegex(report["hover"], r"^[0-9.]+ ms   power [0-9.]+ [mu]?W   \S")
        self.assertNotEqual(report["before"], report["zoomed"])
        self.assertEqual((report["pressed"], report["shown"]), ("false", report["before"]))
        self.assertNotEqual(report["before"], report["hidden"])
        self.assertGreater(len(report["rows"]), 3)

    def test_narrow_boxes_of_flame(self):
        """Boxes of 30 pixels show the functions, not their namespaces."""
        names = [f"ns::inner<int>::f{i}(int, long)" for i in range(28)]
        profile = pbin.Profile({"target": "app", "cpu_time": 1, "times": 1, "samples": 28, "wall_ns": 28_000_000}, [pbin.Thread(1, 1, "app")],
                               [pbin.Location(i, "app", [pbin.Frame(name, name)]) for i, name in enumerate(names)])
        profile.samples = [pbin.Sample(1_000_000, 0.0, [(0, i, 1_000_000)]) for i in range(28)]
        page = self.page("flame", "-k", "function", self.file("p.pbin", pbin.write(profile)))
        report = self.drive(page, "report.names = texts('.flame div');")
        self.assertEqual(sorted(report["names"]), sorted(["all", *(f"f{i}" for i in range(28))]))

    def test_flame(self):
        report = self.drive(self.page("flame", test_plot.RUNS[0]), """
            var wide = all('.flame div').filter(function (e) { return e.textContent && e.offsetWidth < 900; })[0];
            report.name = wide.textContent;
            report.hover = hover(wide);
            report.before = all('.flame div').length;
            wide.click();
            report.zoomed = all('.flame div').map(function (e) { return [e.textContent, e.style.width]; });
            press('whole');
            report.after = all('.flame div').length;""")
        self.assertTrue(report["hover"].startswith(report["name"] + "\n"))
        self.assertRegex(report["hover"], r"[0-9.]+ m?J   [0-9.]+ %   [0-9]+ samples")
        self.assertIn([report["name"], "100%"], report["zoomed"])
        self.assertLess(len(report["zoomed"]), report["before"])
        self.assertEqual(report["before"], report["after"])

    def test_hist(self):
        """A chart with a curve for each function; shares and numbers of calls."""
        report = self.drive(self.page("hist", test_plot.CALLS), """
            report.names = all('.u-legend .u-label').map(function (e) { return e.textContent; });
            report.shares = pixels(all('canvas')[0]);
            press('numbers of calls');
            await later(function () { report.counts = pixels(all('canvas')[0]); });
            all('.u-legend .u-label')[1].click();
            await later(function () { report.without = pixels(all('canvas')[0]); });""")
        self.assertEqual(len(report["names"]), 13)
        self.assertTrue(set(report["names"][1:]) < set(test_plot.DURATIONS))
        self.assertEqual(len({report["shares"], report["counts"], report["without"]}), 3)

    def test_names_do_nothing(self):
        evil = ["<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "\"onmouseover=alert(1) x=\"",
                "javascript:alert(1)", "<!--<script>", "${alert(1)}", "\u2028alert(1)", "__proto__", "constructor"]
        evil += [name for name in test_plot.HOSTILE if name not in evil]
        file = plotdata.pbin(self.folder, "evil", evil, samples=600)
        pages = [self.page(kind, file) for kind in ("bars", "timeline", "heatmap", "flame")]
        reports = self.drive_all([*pages, self.page("compare", file, test_plot.RUNS[0])], """
            all('tbody tr, .flame div, .u-over').forEach(function (e) {
              hover(e); mouse(e, 'mousemove', 0.5, 0.5); mouse(e, 'mouseover', 0.5, 0.5);
            });
            all('.tools button').forEach(function (b) { b.click(); b.click(); });
            await later();
            report.names = all('td.name').map(function (e) { return e.title; });
            report.elements = all('img, iframe, object, script:not([nonce]):not([id])').length;
            report.handlers = all('[onerror], [onmouseover], [href], [src]').length;""")
        for report in reports:
            self.assertEqual((report["elements"], report["handlers"]), (1, 0))  # its own script
        self.assertLessEqual({n for n in evil[:6]} | {"__proto__", "constructor"}, set(reports[0]["names"]))


@unittest.skipIf(CHROMIUM is None, "no chromium (apt-get install chromium)")
class Browser(tool.Case):
    @classmethod
    def setUpClass(cls):
        test_plot.setUpModule()
        cls.addClassCleanup(test_plot.tearDownModule)

    def profile(self, functions, threads, **more):
        return plotdata.pbin(self.folder, f"p{functions}-{threads}-{more.get('seed', 1)}",
                             plotdata.names_of(functions), samples=300, threads=threads, **more)

    def test_no_text_is_cut(self):
        few, many = self.profile(3, 1), self.profile(400, 64)
        runs = [self.profile(40, 2, seed=i, label="same") for i in range(4)]
        made = []
        for kind in ("bars", "timeline", "heatmap", "cumulative", "scatter", "compare", "dumbbell", "box", "violin",
                     "flame", "hist"):
            calls = [test_plot.CALLS], [test_plot.EVIL_CALLS]
            one = calls if kind == "hist" else ([few], [many])
            for inputs in one if kind not in ("compare", "dumbbell", "box", "violin") else (runs,):
                for width, height in tool.some(((480, 320), (900, 560), (1600, 1000)), 3):
                    argv = ["pbin-plot", kind, *inputs, f"--width={width}", f"--height={height}", "--format=svg"]
                    made.append((argv, self.succeeds(argv, timeout=60).out.decode()))
        reports = browse(self.folder, [svg for _, svg in made], BOXES)
        self.assertEqual(len(reports), len(made))
        for (argv, _), report in zip(made, reports):
            with self.subTest(argv=argv):
                self.assertGreater(report["texts"], 3)
                self.assertEqual(report["cut"], [])

    def test_flame_hover_and_zoom(self):
        pbin = self.profile(40, 2)
        svg = self.succeeds(["pbin-plot", "flame", pbin]).out.decode()
        name = plotdata.names_of(40)[3]
        report = browse(self.folder, [svg], DRIVE.replace("NAME", json.dumps(name)))
        self.assertIn(name, report["hover"])
        self.assertRegex(report["hover"], r"[0-9.]+ m?J  [0-9.]+ %  [0-9]+ samples")
        self.assertEqual(report["left"], "")
        shown = {n: w for n, visible, w in report["zoomed"] if visible}
        self.assertEqual(set(shown), {"all", "p40-2-1-program", name})
        self.assertEqual(len(set(shown.values())), 1)  # itself and those above, at full width
        self.assertTrue(report["label"].startswith("acme::detail"))
        self.assertEqual([(n, v) for n, v, _ in report["after"]], [(n, True) for n, _, _ in report["before"]])
        for (_, _, was), (_, _, now) in zip(report["before"], report["after"]):
            self.assertAlmostEqual(was, now, delta=0.02)
