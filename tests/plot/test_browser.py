"""SVGs in a headless Chromium: they open without error, no text is cut, hover and click of flame work.

Skipped without chromium, which is too large to require.
SPDX-License-Identifier: MIT
"""
import html
import json
import os
import re
import shutil
import subprocess
import unittest

import plotdata
import tool

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

# every text's box, clicks and hovers are reported as JSON in an attribute of the page
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


def browse(folder, svgs, script):
    """What SCRIPT reports of the pictures; the scripts of several would get in each other's way."""
    svgs = [s[s.index("<svg"):].replace("document.documentElement", "document.querySelector('svg')") for s in svgs]
    if len(svgs) > 1:
        svgs = [re.sub("<script.*</script>", "", s, flags=re.S) for s in svgs]
    svg = "".join(f"<div>{s}</div>" for s in svgs)
    page = os.path.join(folder, "page.html")
    with open(page, "w", encoding="utf-8") as f:
        f.write(PAGE % (svg, script))
    out = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000",
                          f"--user-data-dir={folder}/profile", "--dump-dom", "file://" + page],
                         capture_output=True, timeout=60, check=True, stdin=subprocess.DEVNULL)
    text = re.search(r'<pre id="report">(.*?)</pre>', out.stdout.decode(), re.S).group(1)
    return json.loads(html.unescape(text))


@unittest.skipIf(CHROMIUM is None, "no chromium (apt-get install chromium)")
class Browser(tool.Case):
    def profile(self, functions, threads, **more):
        def call(argv):
            self.succeeds(argv)
        return plotdata.pbin(self.folder, f"p{functions}-{threads}-{more.get('seed', 1)}",
                             plotdata.names_of(functions), call, samples=300, threads=threads, **more)

    def test_no_text_is_cut(self):
        few, many = self.profile(3, 1), self.profile(400, 64)
        runs = [self.profile(40, 2, seed=i, label="same") for i in range(4)]
        made = []
        for kind in ("bars", "timeline", "heatmap", "cumulative", "scatter", "compare", "dumbbell", "box", "violin",
                     "flame"):
            for inputs in ([few], [many]) if kind not in ("compare", "dumbbell", "box", "violin") else (runs,):
                for width, height in ((480, 320), (900, 560), (1600, 1000)):
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
        self.assertEqual(len(set(shown.values())), 1)  # itself and what is above it, at full width
        self.assertTrue(report["label"].startswith("acme::detail"))
        self.assertEqual([(n, v) for n, v, _ in report["after"]], [(n, True) for n, _, _ in report["before"]])
        for (_, _, was), (_, _, now) in zip(report["before"], report["after"]):
            self.assertAlmostEqual(was, now, delta=0.02)
