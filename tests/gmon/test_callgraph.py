"""pbin-callgraph: the case for which gprof's answer is known, and its formats.
tests/unit/callgraph.c tests the arithmetic.

SPDX-License-Identifier: MIT
"""
import itertools
import json
import re
import shutil
import subprocess
import unittest
from fractions import Fraction as F

import elffile
import gmonfile
import pbin
import tool
from gmonfile import Histogram, Profile

NAMES = ("main", "aa", "bb", "cc", "dd")
CALLS = [("main", "aa", 1), ("aa", "bb", 3), ("aa", "cc", 1), ("bb", "cc", 5), ("cc", "bb", 5),
         ("bb", "bb", 7), ("cc", "dd", 4), ("aa", "dd", 4)]


class Callgraph(tool.Case):
    def pbin(self, names=NAMES, calls=CALLS, ticks=(0, 10, 20, 30, 40), binary="program"):
        """Functions of 16 bytes each, with TICKS; CALLS by name."""
        at = {name: 0x1000 + 16 * i for i, name in enumerate(names)}
        bins = [n for t in ticks for n in (t, 0, 0, 0)]
        profile = Profile([Histogram(0x1000, 0x1000 + 16 * len(names), bins)],
                          [(at[a] + 4, at[b] + 4, n) for a, b, n in calls])
        elf = self.file(binary, elffile.write([(n, at[n], 16) for n in names]))
        return self.succeeds(["gmon2pbin", "-e", elf], stdin=gmonfile.gnu(profile)).out

    def json(self, *options, data=None):
        return json.loads(self.succeeds(["pbin-callgraph", "--format", "json", *options],
                                        stdin=data or self.pbin()).out)

    def test_checked_case(self):
        graph = self.json()
        f = {f["function"]: f for f in graph["functions"]}
        cycle, = graph["cycles"]
        for key, value in (("self_s", 0.5), ("children_s", 0.2), ("calls", 4), ("recursive_calls", 10)):
            self.assertAlmostEqual(cycle[key], value, 12)
        self.assertEqual(set(cycle["members"]), {f["bb"]["index"], f["cc"]["index"]})
        self.assertAlmostEqual(f["aa"]["self_s"], 0.1, 12)
        self.assertAlmostEqual(f["aa"]["children_s"], 0.9, 12)
        self.assertEqual((f["bb"]["calls"], f["bb"]["recursive_calls"]), (8, 7))
        arcs = {c["function"]: (round(c["self_s"], 9), round(c["children_s"], 9)) for c in f["aa"]["callees"]}
        self.assertEqual(arcs, {"bb": (0.375, 0.15), "cc": (0.125, 0.05), "dd": (0.2, 0)})
        self.assertEqual(graph["profile"]["time_s"], 1)

    def test_text(self):
        text = self.succeeds(["pbin-callgraph"], stdin=self.pbin()).out.decode()
        for line in (r"\[\d\] +70.0 +0.5000 +0.2000 +4\+10 +<cycle 1 as a whole> \[\d\]",
                     r" +0.3750 +0.1500 +3/4 +bb <cycle 1> \[\d\]", r"\[\d\] +100.0 +0.1000 +0.9000 +1 +aa \[\d\]",
                     r" +5 +cc <cycle 1> \[\d\]", r" +7 +bb <cycle 1> \[\d\]", r" +<spontaneous>"):
            self.assertRegex(text, "(?m)^" + line + "$")
        self.assertNotIn("program", text)

    def test_text_of_terminals(self):
        """Names are shortened to fit the line, unless --complete is given; binaries are omitted
        where there is no room."""
        names = ("main", "std::vector<int, std::allocator<int> >::push_back(int const&)", "x" * 300, "cc", "dd")
        calls = [(names[NAMES.index(a)], names[NAMES.index(b)], n) for a, b, n in CALLS]
        file = self.file("c.pbin", self.pbin(names=names, calls=calls))
        two = self.file("d.pbin", self.pbin(binary="other_program"))
        lines = lambda env, *argv: subprocess.run([tool.path("pbin-callgraph"), *argv], check=True, capture_output=True,
                                                  env=dict(tool.environment(), **env), text=True).stdout.split("\n")
        for width in (80, 120, 200):
            text = lines({"COLUMNS": str(width)}, file)
            self.assertEqual([line for line in text if len(line) > width], [])
            self.assertRegex("\n".join(text), r"std::vector<.*>::push_back\(" if width > 80 else r"std::v[^ ]*h_back")
            both = lines({"COLUMNS": str(width)}, file, two)
            self.assertEqual([line for line in both if len(line) > width], [])
            self.assertEqual(["not shown: binaries" in "".join(both), " (other_program)" in "".join(both)], [width == 80, width > 80])
        whole = lines({}, file)
        self.assertIn(names[2], "".join(whole))
        self.assertEqual(lines({"COLUMNS": "80"}, "--wide", file), whole)

    def test_text_of_large_numbers(self):
        """Large numbers of calls, energies and the names of binaries do not make lines longer than the terminal."""
        names = ["main", "some_function_name_of_a_library", "another_function_with_a_long_name"]
        binaries = ["program", "libwith_a_very_long_name_of_its_own.so.1.2.3", "x"]
        for calls, power in itertools.product((3, 20_000_000, 10**11, 2**63), (False, True)):
            meta = {"name": "p", "target": "program", "keys": "binary,function", "wall_ns": 10**9}
            p = pbin.Profile(meta=dict(meta, pmu=pbin.POWER, unit="W") if power else meta)
            p.rows = [pbin.Row(key, 1, 1, 1, F(10**9), F(5 * power), F(10**18), F(25 * power), (F(10**9), F(10**9), F(5 * power), F(5 * power)))
                      for key in sorted(zip(binaries, names), key=pbin.sort_key)]
            p.runs = [pbin.Run("p", 10**9, 0, 3, F(3 * 10**9), F(15 * power))]
            p.arcs = [(binaries[a], names[a], binaries[b], names[b], n) for a, b, n in ((0, 1, calls), (1, 2, calls), (2, 2, calls))]
            file = self.file("large.pbin", pbin.write(p))
            for width in (80, 99, 100, 119, 120, 121, 200):
                text = subprocess.run([tool.path("pbin-callgraph"), file], check=True, capture_output=True, text=True,
                                      env=dict(tool.environment(), COLUMNS=str(width))).stdout
                self.assertEqual([line for line in text.split("\n") if len(line) > width], [], (calls, power, width))
                self.assertEqual("not shown: energy" in text, power and width < 120)
                self.assertIn(text.count(f"{calls}/{calls}"), (4,) if calls < 10**12 or width == 200 else (0, 4), (calls, width))

    def dot(self, *options, data=None):
        text = self.succeeds(["pbin-callgraph", "--format", "dot", *options], stdin=data or self.pbin()).out.decode()
        nodes = dict(re.findall(r'^ +(n\d+) \[label="((?:[^"\\]|\\.)*?)\\n', text, re.M))
        arcs = {(nodes[a], nodes[b]): int(n) for a, b, n in
                re.findall(r'^ +(n\d+) -> (n\d+) \[label="(\d+)', text, re.M)}
        return text, nodes, arcs

    def test_dot(self):
        text, nodes, arcs = self.dot()
        self.assertEqual(set(nodes.values()), set(NAMES))
        self.assertEqual(arcs, {(a, b): n for a, b, n in CALLS})
        inner = text.partition("subgraph cluster_1")[2].partition("  }")[0]
        self.assertEqual(len(re.findall(r"n\d+ \[", inner)), 2)

    def test_dot_names(self):
        names = ('say "hi"', "back\\slash", "line\nbreak", "caf\u00e9")
        data = self.pbin(names, [(names[0], names[1], 1)], (1, 2, 3, 4))
        text, nodes, _ = self.dot(data=data)
        self.assertEqual(set(nodes.values()), {'say \\"hi\\"', "back\\\\slash", "line\\\\x0abreak", "caf\u00e9"})
        if shutil.which("dot"):
            subprocess.run(["dot", "-Tcanon"], input=text.encode(), stdout=subprocess.DEVNULL, check=True)
        self.json(data=data)

    def shown(self, *options):
        return {f["function"] for f in self.json(*options)["functions"]}

    def test_focus(self):
        self.assertEqual(self.shown("--focus", "aa"), set(NAMES))
        self.assertEqual(self.shown("--focus", "dd", "--depth", "1"), {"dd", "cc", "aa"})
        self.assertEqual(self.shown("--focus", "main", "--depth", "1"), {"main", "aa"})
        self.assertEqual(self.shown("--depth", "2"), {"main", "aa", "bb", "cc", "dd"})
        self.assertEqual(self.shown("--depth", "1"), {"main", "aa"})
        self.assertEqual(len(self.json("--focus", "main", "--depth", "1")["cycles"]), 0)
        self.assertEqual(set(self.dot("--focus", "dd", "--depth", "1")[2]), {("aa", "cc"), ("aa", "dd"), ("cc", "dd")})
        ended = self.succeeds(["pbin-callgraph", "--focus", "a"], stdin=self.pbin())
        self.assertIn("nothing is selected: no function named 'a'", ended.err)
        self.assertEqual(self.shown("--focus", "a"), set())

    def test_keys_and_several(self):
        one, two = self.file("1.pbin", self.pbin()), self.file("2.pbin", self.pbin(binary="other"))
        both = self.json(one, two)
        self.assertEqual(len(both["functions"]), 10)
        self.assertEqual({f["binary"] for f in both["functions"]}, {"program", "other"})
        self.assertEqual(len(both["cycles"]), 2)
        joined = self.json("-k", "function", one, two)
        f = {f["function"]: f for f in joined["functions"]}
        self.assertEqual(len(f), 5)
        self.assertEqual(f["bb"]["calls"], 16)
        self.assertAlmostEqual(f["aa"]["children_s"], 1.8, 12)
        text = self.succeeds(["pbin-callgraph", one, two]).out.decode()
        self.assertIn("bb (other) <cycle ", text)

    def test_no_arcs(self):
        data = self.pbin(calls=[])
        ended = self.succeeds(["pbin-callgraph"], stdin=data)
        self.assertEqual(ended.err.count("\n"), 1)
        self.assertEqual(self.succeeds(["pbin-callgraph", "-q"], stdin=data).err, "")

    def test_suffix(self):
        data = self.pbin()
        for name, start in (("a.json", b'{"profile"'), ("a.dot", b"digraph"), ("a.gv", b"digraph"), ("a", b"time ")):
            self.succeeds(["pbin-callgraph", "-o", self.folder + "/" + name], stdin=data)
            with open(self.folder + "/" + name, "rb") as f:
                self.assertTrue(f.read().startswith(start))

    def test_through_aggregate(self):
        """Aggregation keeps the arcs."""
        made = self.succeeds(["pbin-aggregate", "--format", "pbin"], stdin=self.pbin()).out
        mine, direct = self.json(data=made), self.json()
        self.assertEqual(mine["functions"], direct["functions"])

    def test_bad(self):
        data = self.pbin()
        for cut in (0, 3, 20, len(data) // 2, len(data) - 1):
            self.fails(["pbin-callgraph"], "<stdin>", stdin=data[:cut])
        for argv in (["-k", "line"], ["--format", "svg"], ["--depth", "0"], ["--nothing"]):
            self.assertEqual(tool.run(["pbin-callgraph", *argv]).status, 2)


if __name__ == "__main__":
    unittest.main()
