"""Names with every code point, and names with a meaning in a format, in every tool and output
format.

SPDX-License-Identifier: MIT
"""
import csv
import functools
import io
import json
import os
import re
import shutil
import subprocess
import unicodedata
import unittest

import elf
import pbin
import tool
from fast_xxh3 import xxh3

# Characters that no output may contain: controls, invisible characters and those that reorder text.
CATEGORIES = ("Cc", "Cf", "Zl", "Zp")
VISIBLE_FORMATS = {*range(0x600, 0x606), 0x6dd, 0x70f, 0x890, 0x891, 0x8e2, 0x110bd, 0x110cd,  # Arabic, Kaithi signs
                   *range(0x13430, 0x13440)}  # of hieroglyphs
TABLES = ("text", "csv", "spreadsheet", "markdown")


def is_forbidden(code):
    return unicodedata.category(chr(code)) in CATEGORIES and code not in VISIBLE_FORMATS


def any_of(codes):
    """A pattern of ranges: re compares with each range in turn, except for characters for which it
    has a table."""
    codes = [c for c in codes if is_forbidden(c) and c != ord("\n")]
    first = [c for c in codes if c - 1 not in codes]
    last = [c for c in codes if c + 1 not in codes]
    return re.compile("[" + "".join(f"\\U{a:08x}-\\U{b:08x}" for a, b in zip(first, last)) + "]")


FORBIDDEN = any_of(range(0x10000)), any_of(range(0x10000, 0x110000))  # it has a table for the first 65536


def forbidden(text):
    """The match of a character that no output may contain, or None."""
    return FORBIDDEN[0].search(text) or FORBIDDEN[1].search(text)


class Case(tool.Case):
    def profile(self, names, arcs=()):
        """A profile with a location for each of NAMES as function; an aggregated one if there are ARCS."""
        keys = {"keys": "binary,function"} if arcs else {}
        w = pbin.Writer({"name": "x", "pmu": pbin.POWER, "unit": "W", "cpus": 1, "cpu_time": 1, "times": 1,
                         "wall_ns": 10**9, **keys}, xxh3)
        if arcs:
            w.put_runs([pbin.Run("x", 10**9, 0, len(names), 10**6, 0)])
            w.put_rows([pbin.Row((n, n), 1, 1, 1, 1000, 0, 1, 0, (1, 1, 0, 0))
                        for n in sorted(names, key=lambda n: n.encode("utf-8", "surrogateescape"))])
            w.put_arcs(arcs)
        else:
            w.put_threads([pbin.Thread(1)])
            w.put_locations([pbin.Location(i, n, [pbin.Frame(n, n, n, 1)]) for i, n in enumerate(names)])
            w.put_samples([pbin.Sample(1000, 1.0, [(0, i, 1000) for i in range(len(names))])])
        return self.file("p.pbin", w.finish())

    def output(self, *argv, **more):
        return self.succeeds([str(a) for a in argv], timeout=60, **more).out


@functools.lru_cache(maxsize=None)
def all_code_points(step=256):
    """Names with STEP code points each. Under sanitizers, an eighth of those above 0xffff, for
    which the tools have no special paths."""
    names = []
    for first in [*range(0, 0x10000, step), *tool.some(range(0x10000, 0x110000, step), 8)]:
        text = "".join(chr(c) for c in range(first, first + step) if c != 0 and not 0xd800 <= c < 0xe000)
        if text:
            names.append(f"<{first:06x}" + text + ">")
    return names


class AllCodePoints(Case):
    def harmless(self, data, lines):
        text = data.decode("utf-8")  # raises an error if it is not UTF-8
        found = forbidden(text.replace("\r\n", "\n"))
        self.assertIsNone(found, found and (hex(ord(found[0])), text[found.start() - 20:found.end() + 20]))
        self.assertEqual(text.count("\n"), lines)
        return text

    def test_tables(self):
        names = all_code_points()
        path = self.profile(names)
        for form, extra in (("text", 3), ("csv", 1), ("spreadsheet", 1), ("markdown", 3)):
            with self.subTest(form):
                out = self.output("pbin-aggregate", "-k", "function", "--format", form, path)
                facts = out.split(b"\n\n", 1)[0].count(b"\n") + 2 if form in ("text", "markdown") else 0
                self.harmless(out, len(names) + extra + facts)
                out = self.output("pbin-dump", "--locations", "--format", form, path)
                self.assertIsNone(forbidden(out.decode().replace("\r\n", "\n")))

    def test_json_keeps_everything(self):
        names = all_code_points()
        path = self.profile(names)
        out = self.output("pbin-aggregate", "-k", "function", "--format", "json", path)
        self.assertTrue(out.isascii() and b"\x7f" not in out)
        self.assertEqual({r["function"] for r in json.loads(out)["rows"]}, set(names))
        lines = self.output("pbin-dump", "--locations", "--format", "jsonl", path)
        self.assertEqual([json.loads(line)["function"] for line in lines.decode().splitlines()], names)

    def test_call_graphs(self):
        names = all_code_points(4096)
        path = self.profile(names, [(a, a, b, b, 1) for a, b in zip(names, names[1:])])
        for form in ("text", "dot"):
            with self.subTest(form):
                out = self.output("pbin-callgraph", "--format", form, path).decode()
                self.assertIsNone(forbidden(out))
                self.assertGreater(len(out), 3500 * len(names))
        out = self.output("pbin-callgraph", "--format", "json", path)
        self.assertTrue(out.isascii() and b"\x7f" not in out)

    def test_annotated_source(self):
        names = all_code_points(4096)
        path = self.profile(names)
        source = os.path.join(self.folder, "a.c")
        with open(source, "w", encoding="utf-8", newline="") as f:
            f.write("".join(n.replace("\n", "") for n in names) + "\n")
        w = pbin.Writer({"name": "x", "pmu": pbin.POWER, "unit": "W", "cpus": 1, "cpu_time": 1, "times": 1,
                         "wall_ns": 10**9})
        w.put_threads([pbin.Thread(1)])
        w.put_locations([pbin.Location(1, "b", [pbin.Frame("f", "f", "a.c", 1)])])
        w.put_samples([pbin.Sample(1000, 1.0, [(0, 0, 1000)])])
        shown = self.file("s.pbin", w.finish())
        for form in TABLES:
            for argv in ([shown], ["-f", "*", path]):
                with self.subTest(form=form, argv=argv[0]):
                    out = self.output("pbin-annotate", "-q", "--format", form, *argv, cwd=self.folder)
                    self.assertIsNone(forbidden(out.decode().replace("\r\n", "\n")))

    def test_compared(self):
        names = all_code_points(4096)
        path = self.profile(names)
        for form in TABLES:
            with self.subTest(form):
                out = self.output("pbin-compare", "--format", form, path, path)
                self.assertIsNone(forbidden(out.decode().replace("\r\n", "\n")))

    def test_pictures(self):
        path = self.profile(all_code_points(4096))
        for kind, form in (("bars", "svg"), ("bars", "txt"), ("flame", "svg")):
            with self.subTest(kind=kind, form=form):
                target = os.path.join(self.folder, "p." + form)
                self.succeeds(["pbin-plot", kind, path, "-o", target], timeout=60)
                with open(target, encoding="utf-8") as f:
                    found = forbidden(f.read().replace("\f", "").replace("\t", ""))
                self.assertIsNone(found, found and hex(ord(found[0])))

    def program(self, names):
        """An ELF file with a function for each of NAMES."""
        table, members = b"\0", []
        for i, name in enumerate(names):
            members.append((len(table), elf.CODE + 16 * i, 16))
            table += name.encode("utf-8") + b"\0"
        return self.file("program", elf.write(16 * len(names), [(".symtab", elf.SYMTAB, 0, 3, 24, elf.symbols(members)),
                                                                (".strtab", elf.STRTAB, 0, 0, 0, table)]))

    def test_symbols(self):
        """Tools that print names of ELF files as they read them."""
        names = all_code_points(4096)
        path = self.program([*names, 'a"b,\x1b'])
        addresses = [hex(elf.CODE + 16 * i) for i in range(len(names) + 1)]
        self.assertGreater(len(self.harmless(self.output("pbin-addr2line", "-f", "-e", path, *addresses), 2 * len(addresses))), 3500 * len(names))
        self.harmless(self.output("pbin-addr2line", "-f", "-p", "-e", path, *addresses), len(addresses))
        csv_in = self.file("in.csv", "\n".join(["pc", *addresses, ""]).encode())
        out = self.harmless(self.output("pbin-addr2line", "--csv", "pc", "-e", path, csv_in), len(addresses) + 1)
        self.assertEqual(list(csv.reader(io.StringIO(out)))[-1][1], 'a"b,\\x1b')
        self.harmless(self.output("funcmeter", "--list", path + ":.*"), len(addresses))

    def test_units(self):
        w = pbin.Writer({"name": "x", "pmu": pbin.CUSTOM, "unit": "W\x1b[2J\u202e", "cpus": 1, "cpu_time": 1, "times": 1, "wall_ns": 10**9}, xxh3)
        w.put_threads([pbin.Thread(1)])
        w.put_locations([pbin.Location(1, "b", [pbin.Frame("f", "f")])])
        w.put_samples([pbin.Sample(1000, 1.0, [(0, 0, 1000)])])
        path = self.file("unit.pbin", w.finish())
        for argv in (["pbin-dump", "--samples"], ["pbin-dump"], ["pbin-aggregate"]):
            for form in TABLES:
                out = self.output(*argv, "--format", form, path).decode()
                self.assertIsNone(forbidden(out.replace("\r\n", "\n")), (argv, form))

    def test_messages(self):
        name = "x\x1b[2J\u202e\u200b\x9b\u2028y"
        ended = tool.run(["pbin-dump", name])
        self.assertEqual(ended.status, 1)
        self.assertIsNone(forbidden(ended.err))


class Csv(Case):
    NAMES = ["=1+1", "+1", "-1", "@SUM(1)", "=cmd|' /C calc'!A0", " =1", "\uff1d1", "\uff20a", 'a"b', "a,b", "a;=1", "plain",
             "\t=1", "\r=1", "'=1"]

    def cells(self, form):
        out = self.output("pbin-aggregate", "-k", "function", "--format", form, self.profile(self.NAMES)).decode()
        return out, {row["function"] for row in csv.DictReader(io.StringIO(out, newline=""))} - {"_total"}

    def test_csv_is_the_data(self):
        self.assertEqual(self.cells("csv")[1], {n.replace("\t", "\\x09").replace("\r", "\\x0d") for n in self.NAMES})

    def test_no_formulas(self):
        out, cells = self.cells("spreadsheet")
        for cell in cells:
            self.assertNotRegex(cell, r"^[ \t\r]*[-=+@\uff1d\uff0b\uff0d\uff20]")
        self.assertEqual({c.lstrip("'") for c in cells},
                         {n.replace("\t", "\\x09").replace("\r", "\\x0d").lstrip("'") for n in self.NAMES})
        for line in out.splitlines()[1:]:  # in quotes, other separators do not begin another cell
            self.assertTrue(line.startswith('"'), line)


class Markdown(Case):
    def cell(self, name):
        out = self.output("pbin-aggregate", "-k", "function", "--format", "markdown", self.profile([name])).decode()
        row = out.splitlines()[-2]
        return re.split(r"(?<!\\)\|", row)[1].strip()

    def test_names_that_do_something_are_code(self):
        for name in ("@everyone", "x@GLIBC_2.2", "a@b.c", "http://evil", "ftp://x", "www.evil.com", "WWW.evil.com",
                     "#12", "user/repo#1", "GH-12", "mailto:x", "`@x`", "``@x", "@a|b", "@`", "@<b>", "@\\|x", "@\\"):
            with self.subTest(name):
                cell = self.cell(name)
                fence = re.match("`+", cell)[0]
                self.assertTrue(cell.endswith(fence) and len(cell) > 2 * len(fence), cell)
                inside = cell[len(fence):-len(fence)]
                self.assertNotIn(fence, re.findall("`+", inside))
                if "`" in name:
                    self.assertTrue(inside.startswith(" ") and inside.endswith(" "), cell)
                    inside = inside[1:-1]
                self.assertEqual(inside.replace("\\|", "|"), name)

    def test_other_names_are_escaped(self):
        for name in ("burn_50", "std::map<int, char>", "a|b", "[x](y)", "<script>", "**b**", "&amp;", "~~x~~", "#x", "a\\"):
            with self.subTest(name):
                cell = self.cell(name)
                self.assertEqual(re.sub(r"\\([\\`*_{}\[\]<>#|~&])", r"\1", cell), name)
                self.assertNotRegex(re.sub(r"\\.", "", cell), r"[`*_{}\[\]<>#|~&]")


class Dot(Case):
    @unittest.skipIf(shutil.which("dot") is None, "no dot")
    def test_graphviz_shows_the_names(self):
        names = ['a"b', "a\\b", "a\\", "\\N", "\\n", "&lt;", "<b>", "a\\\"b", "{x|y}"]
        path = self.profile(names, [(a, a, b, b, 1) for a, b in zip(names, names[1:])])
        dot = self.output("pbin-callgraph", "--format", "dot", path)
        plain = subprocess.run(["dot", "-Tjson0"], input=dot, capture_output=True, check=True).stdout
        self.assertEqual(len([o for o in json.loads(plain)["objects"] if "label" in o]), len(names))
        svg = subprocess.run(["dot", "-Tsvg"], input=dot, capture_output=True, check=True).stdout.decode()
        for shown in ("&amp;lt;", "&lt;b&gt;", "\\N"):
            self.assertIn(shown, svg)


if __name__ == "__main__":
    unittest.main()
