"""igprof2pbin: dumps made here are compared with arithmetic, recorded ones with IgProf's own
analyser; and damaged ones.

recorded/ has dumps by IgProf (master; mf and me by its multifunction module) and by funcmeter (own), and beside each what
`igprof-analyse -t -nf -r COUNTER` printed: its flat profiles.

SPDX-License-Identifier: MIT
"""
import bz2
import csv
import gzip
import io
import os
import random
import re
import unittest

import pbin
import tool

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded")


class Node:
    def __init__(self, function, values=None, leaks=()):
        self.function, self.values, self.leaks, self.children = function, values or {}, leaks, []


def number(value, base):
    return f"{value:x}" if base == 16 else str(value)


def dump(roots, files, base=16, tick=0.01, threads=1):
    """ROOTS as text; FILES: {function: (path, offset)}. Each of THREADS buffers has all trees, and
    numbers counters in its own way."""
    lines, functions, paths, counters = [], {}, {}, []

    def next_counter():
        counters.append(None)
        return len(counters) - 1

    def text(value):
        return number(value, base)

    def put(node, depth, own):
        line = f"C{text(depth)} FN"
        place = (node.function, depth % 3)  # a function is defined for each of its addresses
        if place in functions:
            line += f"{text(functions[place])}+{text(7)}"
        else:
            path, offset = files[node.function]
            known = path in paths
            functions[place] = len(functions) * 3 + 1
            offset += depth % 3 if not node.function.startswith("@?") else 0
            where = f"F{text(paths.setdefault(path, len(paths)))}" + ("" if known else f"=({path})")
            line += f"{text(functions[place])}=({where}+{text(offset)} N=({node.function}))+0"
        for counter, (ticks, value, peak) in node.values.items():
            new = counter not in own
            if new:
                own[counter] = next_counter()
            line += f" V{text(own[counter])}" + (f"=({counter})" if new else "")
            line += f":({text(ticks)},{text(value)},{text(peak)})"
            line += "".join(f";LK=(0x{address:x},{text(size)})" for address, size in node.leaks)
        lines.append(line)
        for child in node.children:
            put(child, depth + 1, own)
    lines.append(f"P=({'HEX ' if base == 16 else ''}ID={text(4711)} N=(./program) T={tick:f})")
    for _ in range(threads):
        own = {}
        for root in roots:
            put(root, 1, own)
    return ("\n".join(lines) + "\n").encode()


def walk(node, above=()):
    yield node, above
    for child in node.children:
        yield from walk(child, above + (node,))


def below(node, counter, join=sum):
    return join(n.values.get(counter, (0, 0, 0))[1] for n, _ in walk(node))


class IgprofCase(tool.Case):
    def convert(self, data, *argv):
        return pbin.read(self.succeeds(["igprof2pbin", "-q", *argv], stdin=data).out)

    def values(self, profile):
        """{(binary, function): {measure: value}}"""
        out = {row.key: {} for row in profile.rows}
        for (row, name), value in profile.measured.items():
            out[profile.rows[row].key][name] = value.value
        return out


class Made(IgprofCase):
    COUNTERS = ("MEM_TOTAL", "MEM_MAX", "MEM_LIVE", "CALLS_TOTAL", "ENTER_COUNT", "FD_USED")

    def tree(self, rng, functions, depth=0):
        values = {c: tuple(rng.randrange(1, 1000) for _ in range(3)) for c in self.COUNTERS if rng.random() < 0.4}
        node = Node(rng.choice(functions), values, [(rng.randrange(2**47), 5)] * rng.randrange(3))
        if depth < 8:
            node.children = [self.tree(rng, functions, depth + 1) for _ in range(rng.choice((0, 1, 1, 2)))]
        return node

    def test_random_trees(self):
        rng = random.Random(15)
        functions = [f"function_{i}" for i in range(6)]
        files = {f: (rng.choice(("/usr/lib/libone.so.1", "./program")), rng.randrange(2**32)) for f in functions}
        for number_ in range(30):
            roots = [self.tree(rng, functions) for _ in range(rng.randrange(1, 4))]
            base, threads = rng.choice((10, 16)), rng.choice((1, 3))
            nodes = [x for root in roots for x in walk(root)]
            if not any(n.values for n, _ in nodes):
                continue
            with self.subTest(number=number_, base=base, threads=threads):
                got = self.values(self.convert(dump(roots, files, base, threads=threads)))
                want = {(os.path.basename(files[n.function][0]), n.function): {} for n, _ in nodes}
                for (_, function), row in want.items():
                    mine = [n for n, _ in nodes if n.function == function]
                    outer = [n for n, above in nodes if n.function == function and
                             function not in [a.function for a in above]]
                    for c in self.COUNTERS:
                        of = [n.values[c] for n in mine if c in n.values]
                        name = c.lower()
                        largest = c == "MEM_MAX"
                        row[name] = max([v[1] for v in of], default=0) if largest else threads * sum(v[1] for v in of)
                        if not c.endswith("_COUNT"):
                            row[name + "_calls"] = threads * sum(v[0] for v in of)
                        if c in ("MEM_LIVE", "FD_USED"):
                            row[name + "_peak"] = max([v[2] for v in of], default=0)
                        row[name + "_inclusive"] = (max(below(n, c, max) for n in outer) if largest else
                                                    threads * sum(below(n, c) for n in outer))
                self.assertEqual(got, {k: {n: v for n, v in r.items() if v} for k, r in want.items()})

    def test_time(self):
        """Ticks of the performance profiler are samples and time."""
        root = Node("main", {"PERF_TICKS": (2, 2, 2)})
        root.children = [Node("work", {"PERF_TICKS": (5, 5, 5)})]
        root.children[0].children = [Node("work", {"PERF_TICKS": (1, 1, 1)})]
        files = {"main": ("app", 1), "work": ("app", 2)}
        p = self.convert(dump([root], files, tick=0.005))
        rows = {r.key[1]: r for r in p.rows}
        self.assertEqual({n: (r.samples, round(float(r.time))) for n, r in rows.items()},
                         {"main": (2, 10_000_000), "work": (6, 30_000_000)})
        self.assertEqual({k[1]: round(float(v["inclusive"])) for k, v in self.values(p).items()},
                         {"main": 40_000_000, "work": 30_000_000})
        self.assertEqual((p.meta["dialect"], p.meta["target"]), ("igprof", "./program"))
        table = self.succeeds(["pbin-aggregate", "-q", "--format", "csv"], stdin=self.succeeds(
            ["igprof2pbin", "-q"], stdin=dump([root], files, tick=0.005)).out).out.decode()
        self.assertEqual([r["function"] for r in csv.DictReader(io.StringIO(table))], ["work", "main"])

    def test_names(self):
        """Names are demangled; unnamed functions are named by their offset; parentheses, which end
        a name for IgProf's analyser, are kept."""
        names = {"_ZN4shop4till4spinEl": "shop::till::spin(long)", "@?0x7f00": "libx.so!0x1f", "@?(nil)": "libx.so!0x1f",
                 "operator()(int)": "operator()(int)"}
        for name, shown in names.items():
            p = self.convert(dump([Node(name, {"MEM_TOTAL": (1, 1, 1)})], {name: ("/a b/libx.so", 31)}))
            self.assertEqual([r.key for r in p.rows], [("libx.so", shown)])

    def test_compressed(self):
        data = dump([Node("f", {"MEM_TOTAL": (1, 2, 2)})], {"f": ("app", 1)})
        want = self.convert(data, "--name=x")
        for packed in (gzip.compress(data), bz2.compress(data)):
            self.assertEqual(self.convert(packed, "--name=x"), want)

    def test_runs_add_up(self):
        """Dumps of several runs become runs."""
        paths = []
        for n in (3, 5):
            data = dump([Node("f", {"MEM_TOTAL": (1, n, n)})], {"f": ("app", 1)})
            paths.append(self.file(f"{n}.pbin", self.succeeds(["igprof2pbin", "-q"], stdin=data).out))
        for mode, want in (("mean", 4), ("add", 8)):
            out = self.succeeds(["pbin-aggregate", "-q", "--mode", mode, "--format", "csv", *paths]).out.decode()
            self.assertEqual(float(next(csv.DictReader(io.StringIO(out)))["mem_total [B]"]), want)


def analysed(name, counter):
    """The output of IgProf's analyser: {function: self} and {function: including the functions that
    it called}; recursion has names of its own."""
    with open(os.path.join(RECORDED, f"{name}.{counter}.txt"), encoding="utf-8") as f:
        cumulative, own = f.read().split("Flat profile (self")
    tables = []
    for text in (cumulative, own):
        table = {}
        for line in text.splitlines():
            found = re.match(r" *[\d.]+ +([\d'.]+)(?: +[\d']+)?  (\S+) \[\d+\]$", line)
            if found and found[2] != "<spontaneous>":
                table[found[2]] = float(found[1].replace("'", ""))
        tables.append(table)
    return tables[1], tables[0]


class Recorded(IgprofCase):
    def recorded(self, name):
        with open(os.path.join(RECORDED, name + ".gz"), "rb") as f:
            return f.read()

    def named(self, name, measure):
        """Values by the names that the analyser uses: @{file+offset in decimal}, and linkage names
        of functions."""
        out, data = {}, gzip.decompress(self.recorded(name)).decode()
        mangled = {}
        for symbol in re.findall(r"N=\((_Z\w+)\)", data):
            shown = [r.key[1] for r in self.convert(dump([Node(symbol, {"X": (1, 1, 1)})], {symbol: ("a", 1)})).rows][0]
            mangled[shown] = symbol
        for (binary, function), values in self.values(self.convert(self.recorded(name))).items():
            offset = re.fullmatch(re.escape(binary) + r"!0x([0-9a-f]+)", function)
            shown = f"@{{{binary}+{int(offset[1], 16)}}}" if offset else mangled.get(function, function)
            out[shown] = float(values.get(measure, 0))
        return out

    def test_counters(self):
        for name, counter in (("mem", "MEM_TOTAL"), ("mem", "MEM_LIVE"), ("mem", "MEM_MAX"), ("mf", "CALLS_TOTAL"), ("me", "ENTER_COUNT"),
                              ("own", "CALLS_TOTAL"), ("own", "ENTER_COUNT"), ("own", "EXIT_COUNT")):
            with self.subTest(name=name, counter=counter):
                own, inclusive = analysed(name, counter)
                self.assertGreater(len(own), 0)
                got = self.named(name, counter.lower())
                self.assertEqual({k: v for k, v in got.items() if k in own}, own)
                self.assertLess(sum(v for k, v in got.items() if k not in own), 0.001 * sum(own.values()) + 1)
                got = self.named(name, counter.lower() + "_inclusive")
                self.assertEqual({k: v for k, v in got.items() if k in inclusive}, inclusive)

    def test_time(self):
        """Times in seconds, which the analyser rounds to 0.01; it treats levels of a recursion as
        separate functions."""
        own, inclusive = analysed("perf", "PERF_TICKS")
        got = self.values(self.convert(self.recorded("perf")))
        ticks = sum(v.get("perf_ticks", 0) for v in got.values())
        self.assertEqual(ticks, sum(int(v, 16) for v in re.findall(
            rb"V0[^:]*:\(([0-9a-f]+),", gzip.decompress(self.recorded("perf")))))
        named = self.named("perf", "inclusive")
        for function, seconds in inclusive.items():
            if "'" not in function:
                self.assertAlmostEqual(named[function] / 1e9, seconds, delta=0.0051)
        spin = [v for k, v in own.items() if "spin" in k]
        self.assertAlmostEqual(float(got["shop", "shop::till::spin(long)"]["perf_ticks"]) * 0.005, spin[0], delta=0.0051)

    def test_modules_agree(self):
        """The multifunction module and funcmeter counted the same calls of leafwork in the same program."""
        total = sum(v.get("calls_total_calls", 0) for v in self.values(self.convert(self.recorded("mf"))).values())
        ours = self.values(self.convert(self.recorded("own")))
        self.assertEqual(total, ours["app", "leafwork"]["enter_count"])


class Bad(IgprofCase):
    def test_refused(self):
        good = "P=(HEX ID=1 N=(a) T=0.01)\n"
        one = "C1 FN0=(F0=(a)+1 N=(f))+0"
        for text, what in (
                ("hello\n", "not a dump of IgProf"), ("P", "not a dump of IgProf"), ("P=(", "expected 'ID=', found the end"),
                ("P=(HEX ID=1 N=(a) T=x)\n", "expected the time of a tick"), (good, "no counters"),
                (good + one, "expected 'end of line', found the end of the file"),
                (good + one + "\n", "no counters"), (good + "C0 FN0\n", "depth 0, expected 1 to 1"),
                (good + one + "\nC3 FN0+0\n", "depth 3, expected 1 to 2"), (good + "C1 FN0+0\n", "function 0 is not defined"),
                (good + one + "\n" + one + "\n", "function 0 is defined twice"),
                (good + "C1 FN0=(F0+1 N=(f))+0\n", "file 0 is not defined"),
                (good + one + "\nC1 FN1=(F0=(b)+1 N=(g))+0\n", "file 0 is defined twice"),
                (good + one + " V0:(1,1,1)\n", "counter 0 is not defined"),
                (good + one + " V0=(A):(1,1,1) V0=(B):(1,1,1)\n", "counter 0 is defined twice"),
                (good + one + " V0=(A):(1,1,1) V0:(1,1,1)\n", "counter A occurs twice"),
                (good + one + " V0=():(1,1,1)\n", "counter without a name"),
                (good + one + " V0=(A):(g,1,1)\n", "expected a number, found 'g'"),
                (good + one + " V0=(A):(10000000000000000,1,1)\n", "a number below 2^64"),
                (good + one + " V0=(A):(1,1,1);LX=(0x1,1)\n", "expected ';LK=(0x'"),
                (good + one + " V0=(A):(1,ffffffffffffffff,1)\nC2 FN0+0 V0:(1,1,1)\n", "too large"),
                (good + one + " V0=(PERF_TICKS):(1,ffffffffffffff,1)\n", "too large"),
                (good + one + "".join(f" V{i:x}=(A{i}):(1,1,1)" for i in range(33)) + "\n", "too many counters"),
                (good + "C1 FN0=(F0=(a)+1 N=(" + "x" * 70000 + "))+0 V0=(A):(1,1,1)\n", "a shorter name")):
            with self.subTest(text[:80]):
                path = self.file("bad.ig", text.encode())
                self.assertIn(what, self.fails(["igprof2pbin", "-o", f"{self.folder}/x.pbin", path], path).err)
                self.assertFalse(os.path.exists(f"{self.folder}/x.pbin"))

    def test_cut_anywhere(self):
        data = gzip.decompress(self.recorded())
        for end in range(0, len(data) - 1, 7):
            ended = tool.run(["igprof2pbin", "-q", "--name=x"], stdin=data[:end])
            self.assertEqual((ended.status, ended.out), (1, b"") if data[end - 1:end] != b"\n" or end < 40 else (
                ended.status, ended.out), end)

    def test_mutations(self):
        """For any bytes, the result is a profile or one error line."""
        rng = random.Random(8)
        seeds = [gzip.decompress(self.recorded(n)) for n in ("me", "mem", "perf", "own")]
        pieces = (b"FN", b"V0", b"=(", b")", b"+", b"\n", b"C", b"ffffffffffffffff", b":(1,1,1)", b";LK=(0x1,1)", b"\0", b"@?", b"-")
        for number_ in range(150):
            data = bytearray(rng.choice(seeds))
            for _ in range(rng.choice((1, 1, 2, 5))):
                at = rng.randrange(len(data))
                data[at:at + rng.choice((0, 1, 1, 4))] = rng.choice(pieces) if rng.random() < 0.6 else bytes([rng.randrange(256)])
            ended = tool.run(["igprof2pbin", "-q", "-n", "x"], stdin=bytes(data))
            self.assertIn(ended.status, (0, 1), (number_, ended.err))
            if ended.status == 0:
                pbin.read(ended.out)
            else:
                self.assertEqual((ended.out, ended.err.count("\n")), (b"", 1), (number_, ended.err))

    @staticmethod
    def recorded(name="me"):
        with open(os.path.join(RECORDED, name + ".gz"), "rb") as f:
            return f.read()

    def test_deep_and_long(self):
        depth = 3000
        text = b"P=(HEX ID=1 N=(a) T=0.01)\nC1 FN0=(F0=(a)+1 N=(f))+0\n" + b"".join(
            b"C%x FN0+0\n" % d for d in range(2, depth)) + b"C%x FN0+0 V0=(MEM_TOTAL):(1,5,5)" % depth
        text += b";LK=(0x1,1)" * 200_000 + b"\n"
        row = self.values(self.convert(text))["a", "f"]
        self.assertEqual((row["mem_total"], row["mem_total_inclusive"]), (5, 5))


if __name__ == "__main__":
    unittest.main()
