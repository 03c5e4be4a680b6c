"""gmon2pbin: every dialect, compared with gprof and with exact arithmetic.

SPDX-License-Identifier: MIT
"""
import csv
import errno
import io
import json
import os
import random
import re
import struct
import subprocess
import unittest

import elffile
import gmonfile
import gprof
import tool
from gmonfile import Histogram, Profile

C_SOURCE = """
volatile unsigned long sink;
#define NEVER __attribute__((noinline, noclone))
NEVER void leaf(int n) { for (int i = 0; i < n; i++) sink += i * 7; }
NEVER void odd(int n);
NEVER void even(int n) { for (int i = 0; i < 20000; i++) sink += i; if (n > 0) odd(n - 1); leaf(3000); }
NEVER void odd(int n) { for (int i = 0; i < 40000; i++) sink ^= i; if (n > 0) even(n - 1); leaf(5000); }
NEVER int fact(int n) { for (int i = 0; i < 3000; i++) sink += i; return n < 2 ? 1 : n * fact(n - 1); }
NEVER void work(void) { for (int i = 0; i < 1000; i++) leaf(20000); }
int main(void) { for (int i = 0; i < 20; i++) { work(); even(6); fact(9); } return 0; }
"""
CXX_SOURCE = """
#define NEVER __attribute__((noinline, noclone))
volatile unsigned long sink;
namespace shape {
struct Base { virtual ~Base() {} virtual void turn(int n) = 0; };
struct Round : Base { NEVER void turn(int n) override { for (int i = 0; i < n; i++) sink += i; } };
template <typename T> NEVER void spin(T n) { for (T i = 0; i < n; i++) sink ^= i; }
}
int main() {
    shape::Round round; shape::Base *base = &round;
    for (int i = 0; i < 3000; i++) { base->turn(40000); shape::spin<long>(40000); shape::spin<short>(20000); }
}
"""
VARIANTS = {"o0": ["-O0"], "pie": ["-O2", "-fPIE", "-pie"], "fixed": ["-O1", "-no-pie"],
            "m32": ["-m32", "-O1"], "static": ["-O1", "-static"], "cxx": ["-O1", "-no-pie"]}


def read_json(argv, stdin=None):
    return json.loads(tool.run(argv, stdin=stdin).out)


class Recorded(unittest.TestCase):
    """Programs built with gcc -pg, run, and read by gprof and by gmon2pbin."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tool.shared_folder(cls)
        for name, flags in VARIANTS.items():
            compiler, suffix, text = ("g++", "cc", CXX_SOURCE) if name == "cxx" else ("gcc", "c", C_SOURCE)
            source = os.path.join(cls.folder, f"{name}.{suffix}")
            with open(source, "w") as f:
                f.write(text)
            run = os.path.join(cls.folder, "run." + name)
            os.mkdir(run)
            subprocess.run([compiler, "-pg", "-fno-optimize-sibling-calls", *flags, "-o", cls.elf(name),
                            source], check=True)
            try:
                subprocess.run([cls.elf(name)], cwd=run, check=True)
            except OSError as e:
                if e.errno != errno.ENOEXEC:
                    raise
                # a kernel without 32-bit programs
                subprocess.run(["qemu-i386", cls.elf(name)], cwd=run, check=True)

    @classmethod
    def elf(cls, name):
        return os.path.join(cls.folder, name)

    def gmon(self, name):
        return os.path.join(self.folder, "run." + name, "gmon.out")

    def pbin(self, name):
        ended = tool.run(["gmon2pbin", "-e", self.elf(name), self.gmon(name)])
        self.assertEqual((ended.status, ended.err), (0, ""))
        return ended.out

    def test_flat(self):
        for name in VARIANTS:
            ours = {r["function"]: r["time"] for r in
                    read_json(["pbin-aggregate", "--format", "json"], self.pbin(name))["rows"]}
            theirs = gprof.flat(self.elf(name), self.gmon(name))
            self.assertGreater(sum(t for t, _ in theirs.values()), 0.05, "too few ticks: this tests nothing")
            for function, (time, _) in theirs.items():
                with self.subTest(program=name, function=function):
                    # printed to 0.01; gprof cuts a straddling bin at 2-byte units
                    self.assertAlmostEqual(ours.get(function, 0), time, delta=0.0051 + 0.01 * 0.5)

    def test_exact(self):
        """Compared with fractions: no digit is lost, whatever gprof prints. (glibc's own symbols
        have several names.)"""
        for name in set(VARIANTS) - {"static"}:
            with open(self.gmon(name), "rb") as f:
                data = f.read()
            wide = name != "m32"
            low, high, bins, rate = struct.unpack_from("<QQII" if wide else "<IIII", data, 0x15)
            counts = struct.unpack_from(f"<{bins}H", data, 0x3d if wide else 0x35)
            expected = gprof.credit(Histogram(low, high, counts, rate), gprof.ranges(self.elf(name)))
            rows = read_json(["pbin-aggregate", "--format", "json"], self.pbin(name))["rows"]
            ours = {r["function"]: r["samples"] for r in rows}
            with self.subTest(program=name):
                self.assertEqual(set(ours), set(expected))
                for function, count in expected.items():
                    self.assertAlmostEqual(ours[function], float(count), delta=1e-12 * float(count))

    def test_graph(self):
        for name in VARIANTS:
            graph = read_json(["pbin-callgraph", "--format", "json"], self.pbin(name))
            functions, arcs = gprof.graph(self.elf(name), self.gmon(name))
            self.assertGreater(len(arcs), 1)
            ours = {f["function"]: f for f in graph["functions"]}
            for function, (time, children, calls, recursive, in_cycle) in functions.items():
                with self.subTest(program=name, function=function):
                    f = ours[function]
                    self.assertAlmostEqual(f["self_s"], time, delta=0.0101)
                    self.assertAlmostEqual(f["children_s"], children, delta=0.0151)
                    self.assertEqual((f["calls"], f["recursive_calls"]), (calls, recursive))
                    self.assertEqual(f["cycle"] is not None, in_cycle)
            for (caller, callee), (time, children, count, of) in arcs.items():
                if caller == callee:
                    continue
                with self.subTest(program=name, arc=(caller, callee)):
                    arc, = [a for a in ours[caller]["callees"] if a["function"] == callee]
                    self.assertEqual((arc["calls"], arc["of"]), (count, of))
                    if time is not None:
                        self.assertAlmostEqual(arc["self_s"], time, delta=0.0101)
                        self.assertAlmostEqual(arc["children_s"], children, delta=0.0151)


class Case(tool.Case):
    FUNCTIONS = [("first", 0x1000, 0x23), ("second", 0x1023, 0x0d), ("third", 0x1030, 0x101),
                 ("tiny", 0x1131, 1), ("last", 0x1140, 0x80)]  # 14 bytes of padding before last

    def limits(self):
        return {"memory": None if tool.is_asan() else 512 * tool.MB, "timeout": 30}

    def elf(self, bits=64, order="<", name="program", shift=0, symbols=()):
        functions = [(n, a + shift, s) for n, a, s in self.FUNCTIONS]
        return self.file(name, elffile.write(functions, bits, order, symbols=symbols))

    def histogram(self, bins=97, rate=100, seed=1, low=0x1000, high=0x11c0):
        rng = random.Random(seed)
        return Histogram(low, high, [rng.choice((0, 1, 3, 65535)) for _ in range(bins)], rate)

    def arcs(self):
        return [(0x1005, 0x1030, 7), (0x1040, 0x1023, 5), (0x1145, 0x1145, 3), (0x10, 0x1000, 1)]

    def profile(self, bits=64, order="<", **more):
        return Profile([self.histogram(**more)], self.arcs(), bits, order)

    def expected(self, histograms, bias=0):
        functions = gprof.reach([(a, s, n) for n, a, s in self.FUNCTIONS])
        total = {}
        for h in histograms:
            for name, count in gprof.credit(h, functions, bias).items():
                total[name] = total.get(name, 0) + count
        return total

    def samples(self, *argv, lines=0):
        """{function: samples}, {function: time} of a conversion that may warn in LINES lines."""
        made = self.succeeds(["gmon2pbin", *argv])
        self.assertEqual(made.err.count("\n"), lines, made.err)
        text = self.succeeds(["pbin-aggregate", "-k", "function", "--format", "json"], stdin=made.out).out
        rows = json.loads(text)
        self.made = made
        return ({r["function"]: r["samples"] for r in rows["rows"]},
                {r["function"]: r["time"] for r in rows["rows"]}, rows["total"])

    def same(self, found, expected):
        self.assertEqual(set(found), set(expected))
        for name, value in expected.items():
            self.assertAlmostEqual(found[name], float(value), delta=1e-12 * max(1, float(value)), msg=name)

    def calls(self):
        graph = json.loads(self.succeeds(["pbin-callgraph", "-k", "function", "--format", "json"],
                                         stdin=self.made.out).out)
        found = {(f["function"], c["function"]): c["calls"] for f in graph["functions"] for c in f["callees"]}
        found.update({(f["function"],) * 2: f["recursive_calls"] for f in graph["functions"]
                      if f["recursive_calls"]})
        return found

    CALLS = {("first", "third"): 7, ("third", "second"): 5, ("last", "last"): 3, ("_unknown", "first"): 1}


class Layouts(Case):
    def check(self, data, histograms, bits, order, *options, rate=100):
        file = self.file("gmon.out", data)
        samples, times, total = self.samples("-e", self.elf(bits, order), *options, file)
        expected = self.expected(histograms)
        self.same(samples, expected)
        self.same(times, {k: v / rate for k, v in expected.items()})
        counted = sum(sum(h.bins) for h in histograms)
        self.assertEqual(total["samples"], counted)
        self.assertAlmostEqual(total["time"], counted / rate, delta=1e-15 * max(1, counted))
        self.assertEqual(self.calls(), self.CALLS)

    def test_gnu(self):
        for bits in (32, 64):
            for order in "<>":
                with self.subTest(bits=bits, order=order):
                    p = self.profile(bits, order)
                    self.check(gmonfile.gnu(p), p.histograms, bits, order)

    def test_bsd(self):
        for bits in (32, 64):
            for order in "<>":
                for totarc in (True, False):
                    with self.subTest(bits=bits, order=order, totarc=totarc):
                        p = self.profile(bits, order)
                        self.check(gmonfile.bsd(p, totarc), p.histograms, bits, order)

    def test_bsd_old(self):
        for bits in (32, 64):
            for order in "<>":
                with self.subTest(bits=bits, order=order):
                    p = self.profile(bits, order)
                    self.check(gmonfile.bsd_old(p), p.histograms, bits, order, "-r", "100")

    def test_odd_widths(self):
        for bins in (1, 3, 50, 224, 448, 1000):
            for rate in (100, 60, 128, 977):
                with self.subTest(bins=bins, rate=rate):
                    p = self.profile(bins=bins, rate=rate, seed=bins)
                    self.check(gmonfile.gnu(p), p.histograms, 64, "<", rate=rate)

    def test_several_histograms_and_blocks(self):
        for wide in (True, False):
            with self.subTest(wide=wide):
                p = self.profile()
                p.histograms.append(self.histogram(seed=2))
                p.histograms.append(self.histogram(bins=11, low=0x1010, high=0x1090, seed=3))
                self.check(gmonfile.gnu(p, blocks=[(0x1000, 5), (0x1023, 6)], wide_blocks=wide), p.histograms,
                           64, "<")

    def test_several_files(self):
        p, q = self.profile(), self.profile(seed=9)
        second = self.file("second", gmonfile.bsd(q))
        p.arcs, q.arcs = p.arcs[:1], p.arcs
        first = self.file("first", gmonfile.gnu(p))
        second = self.file("second", gmonfile.bsd(q))
        samples, _, _ = self.samples("-e", self.elf(), first, second)
        self.same(samples, self.expected(p.histograms + q.histograms))
        self.assertEqual(self.calls()["first", "third"], 14)

    def test_no_rate(self):
        p = self.profile(rate=0)
        file = self.file("gmon.out", gmonfile.bsd(p))
        samples, times, _ = self.samples("-e", self.elf(), file, lines=1)
        self.same(samples, self.expected(p.histograms))
        self.assertEqual(set(times.values()), {0})
        _, times, _ = self.samples("-r", "1000", "-e", self.elf(), file)
        self.same(times, {k: v / 1000 for k, v in self.expected(p.histograms).items()})

    def test_total_time(self):
        """The total time is divided by samples, at any rate; nothing of it is lost."""
        for rate in (0, 100):
            p = self.profile(rate=rate)
            file = self.file("gmon.out", gmonfile.bsd(p))
            expected = self.expected(p.histograms)
            _, times, _ = self.samples("--total-time", "7.7", "-e", self.elf(), file)
            self.same(times, {k: v * 7.7 / sum(expected.values()) for k, v in expected.items()})
            self.assertAlmostEqual(sum(times.values()), 7.7, delta=1e-9)
        self.assertEqual(tool.run(["gmon2pbin", "-r", "1", "--total-time", "2", file]).status, 2)

    def test_stdin_and_bzip2(self):
        import bz2
        p = self.profile()
        for data in (gmonfile.gnu(p), bz2.compress(gmonfile.gnu(p))):
            ended = self.succeeds(["gmon2pbin", "-e", self.elf()], stdin=data)
            self.assertEqual(ended.out, self.succeeds(["gmon2pbin", "-e", self.elf(), "-"], stdin=data).out)

    def test_ambiguous(self):
        """21 arcs of 13 bytes are also 13 arcs of 21 bytes, if every byte may be a tag."""
        data = b"gmon" + struct.pack("<i", 1) + bytes(12) + b"\1" * 273
        file = self.file("gmon.out", data)
        ended = self.fails(["gmon2pbin", "-e", self.elf(), file], file)
        self.assertIn("--bits", ended.err)
        self.samples("-e", self.elf(), "--bits", "64", file)
        self.samples("-e", self.elf(32, name="p32"), "--bits", "32", file)


class Programs(Case):
    UUID = "8aaaf200-2450-11e4-abe2-0002a5d5c51b"

    def optee(self, base, suffix="", **more):
        """A file of a TA whose text is linked at BASE: addresses are pc - __text_start + 32."""
        p = self.profile(bits=32, low=0x20, high=0x20 + 0x1c0, **more)
        move = 0x1000 - 0x20
        p.arcs = [(f - move + base % 4 if f > 0x10 else 0, s - move + base % 4, c) for f, s, c in p.arcs]
        return self.file(f"gmon-{self.UUID}{suffix}.out", gmonfile.gnu(p)), p

    def test_optee(self):
        for base in (0, 0x20, 2):  # 2: an address that is rounded down
            with self.subTest(base=base):
                self.elf(32, name=self.UUID + ".elf", shift=base - 0x1000, symbols=[("__text_start", base)])
                file, p = self.optee(base)
                more, q = self.optee(base, ".1", seed=4)
                samples, _, _ = self.samples(file, more)
                histograms = p.histograms + q.histograms
                self.same(samples, self.expected(histograms, 0x20 + base % 4 - 0x1000))
                self.assertEqual(self.calls(), {k: 2 * v for k, v in self.CALLS.items()})

    def test_optee_without_histogram(self):
        self.elf(32, name=self.UUID + ".elf", shift=-0x1000, symbols=[("__text_start", 0)])
        file, p = self.optee(0)
        p.histograms = []
        self.file(os.path.basename(file), gmonfile.gnu(p))
        self.samples(file)
        self.assertEqual(self.calls(), self.CALLS)

    def test_optee_cut(self):
        self.elf(32, name=self.UUID + ".elf", shift=-0x1000, symbols=[("__text_start", 0)])
        file, p = self.optee(0)
        data = gmonfile.gnu(p)
        cut = 20 + 33 + 2 * 40 + 1  # in the middle of a bin
        self.file(os.path.basename(file), data[:cut])
        self.assertIn("--salvage", self.fails(["gmon2pbin", file], file).err)
        samples, _, _ = self.samples("--salvage", file, lines=1)
        p.histograms[0].bins[40:] = [0] * (len(p.histograms[0].bins) - 40)
        self.same(samples, self.expected(p.histograms, 0x20 - 0x1000))
        self.file(os.path.basename(file), data[:-5])  # in the last arc
        self.samples("--salvage", file, lines=1)
        self.assertEqual(self.calls(), {k: v for k, v in self.CALLS.items() if k[0] != "_unknown"})

    def test_search_path(self):
        folder = os.path.join(self.folder, "ta")
        os.mkdir(folder)
        self.elf(32, name=f"ta/{self.UUID}.elf", shift=-0x1000, symbols=[("__text_start", 0)])
        file, p = self.optee(0)
        samples, _, _ = self.samples("-s", folder, file)
        self.same(samples, self.expected(p.histograms, 0x20 - 0x1000))

    def test_search_passes_over_another_layout(self):
        for folder, bits in (("wide", 64), ("narrow", 32)):
            os.mkdir(os.path.join(self.folder, folder))
            self.elf(bits, name=f"{folder}/{self.UUID}.elf", shift=-0x1000, symbols=[("__text_start", 0)])
        file, p = self.optee(0)
        wide, narrow = (os.path.join(self.folder, name) for name in ("wide", "narrow"))
        samples, _, _ = self.samples("-s", wide, "-s", narrow, file)
        self.same(samples, self.expected(p.histograms, 0x20 - 0x1000))
        ended = self.succeeds(["gmon2pbin", "-s", wide, file])
        self.assertIn("not the program that ran: 64-bit little-endian, expected 32-bit little-endian", ended.err)

    def test_openbsd_name(self):
        self.elf(name="my.prog")
        p = self.profile()
        samples, _, _ = self.samples(self.file("gmon.my.prog.1234.out", gmonfile.bsd(p)))
        self.same(samples, self.expected(p.histograms))

    def test_missing_program(self):
        p = self.profile()
        file = self.file("gmon.no such program.77.out", gmonfile.bsd(p))
        samples, _, _ = self.samples(file, lines=1)
        self.assertEqual(samples, {"_unknown": sum(p.histograms[0].bins)})
        ended = tool.run(["gmon2pbin", "--strict", file])
        self.assertEqual((ended.status, ended.out), (1, b""))

    def test_refused_programs(self):
        file = self.file("gmon.out", gmonfile.gnu(self.profile()))
        self.assertIn("-e FILE", self.fails(["gmon2pbin", file], file).err)
        missing = os.path.join(self.folder, "missing")
        self.fails(["gmon2pbin", "-e", missing, file], missing)
        self.fails(["gmon2pbin", "-e", file, file], file)
        elf = self.elf(32)
        self.assertIn("32-bit", self.fails(["gmon2pbin", "-e", elf, file], elf).err)

    def test_wrong_program(self):
        elf = self.elf(shift=0x100000)
        file = self.file("gmon.out", gmonfile.gnu(self.profile()))
        samples, _, _ = self.samples("-e", elf, file, lines=1)
        self.assertEqual(set(samples), {"_unknown"})
        samples, _, _ = self.samples("-e", elf, "--bias", "0xfffffffffff00000", file)
        self.same(samples, self.expected(self.profile().histograms))


TA_SOURCE = """
#define NEVER __attribute__((noinline))
NEVER int first(int n) { int s = 0; for (int i = 0; i < n; i++) s += i ^ n; return s; }
NEVER int second(int n) { return first(n) * 3 + first(n + 1); }
int __ta_entry(int n) { return second(n) - first(n); }
"""


class TrustedApplications(Case):
    """Real programs of 32-bit and 64-bit ARM, also in Thumb, without the symbol __text_start and
    without any symbols."""
    UUID = Programs.UUID

    def build(self, target, *flags):
        source = self.file("ta.c", TA_SOURCE.encode())
        elf = os.path.join(self.folder, self.UUID + ".elf")
        subprocess.run(["clang-14", f"--target={target}", *flags, "-O1", "-g", "-fno-inline", "-funwind-tables", "-nostdlib", "-shared",
                        "-Wl,-e,__ta_entry", "-o", elf, source], check=True, capture_output=True)
        return elf

    def functions(self, elf):
        """[(address, end, name)] by readelf, without the Thumb bit; the address of .text."""
        out = subprocess.run(["readelf", "-sSW", elf], capture_output=True, text=True, check=True).stdout
        text = int(re.search(r" \.text +PROGBITS +(\w+)", out)[1], 16)
        found = re.findall(r": (\w+) +(\d+) FUNC +\w+ +\w+ +\d+ (\w+)$", out, re.M)
        return sorted((int(a, 16) & ~1, (int(a, 16) & ~1) + int(n), name) for a, n, name in set(found)), text

    def gmon(self, elf, bits):
        """A bin of 2 bytes with one sample at each place in the functions, relative to .text +
        32."""
        functions, text = self.functions(elf)
        high = max(end for _, end, _ in functions)
        bins = [int(any(b <= text + 2 * i < e for b, e, _ in functions)) for i in range((high - text + 1) // 2)]
        profile = Profile([Histogram(32, 32 + 2 * len(bins), bins, 1000)], [], bits, "<")
        return (self.file(f"gmon-{self.UUID}.out", gmonfile.gnu(profile)),
                {name: (e - b) // 2 for b, e, name in functions}, text)

    def test_names(self):
        for target, bits, *flags in (("arm-linux-gnueabihf", 32, "-marm"), ("arm-linux-gnueabihf", 32, "-mthumb"),
                                     ("aarch64-linux-gnu", 64)):
            with self.subTest(target=target, flags=flags):
                elf = self.build(target, *flags)
                file, want, text = self.gmon(elf, bits)
                samples, _, _ = self.samples(file, lines=1)
                self.assertIn(f"no symbol __text_start: assuming that its code begins at {text:#x}", self.made.err)
                self.assertEqual(samples, want)
                self.assertGreaterEqual(set(want), {"first", "second", "__ta_entry"})
                # with the symbol; and with only a segment of code, whose beginning it must then be
                named = elf + ".named"
                subprocess.run(["llvm-objcopy-14", "--add-symbol=__text_start=.text:0", elf, named], check=True)
                os.replace(named, elf)
                samples, _, _ = self.samples(file)
                self.assertEqual(samples, want)
                with open(elf, "r+b") as f:
                    f.seek(0x28 if bits == 64 else 0x20)
                    f.write(bytes(8 if bits == 64 else 4))  # e_shoff
                    f.seek(0x3c if bits == 64 else 0x30)
                    f.write(bytes(4))  # e_shnum, e_shstrndx
                headers = subprocess.run(["readelf", "-lW", elf], capture_output=True, text=True, check=True).stdout
                begin = int(re.search(r"LOAD +\w+ +(\w+) .* R E ", headers)[1], 16)
                samples, _, _ = self.samples(file, lines=1)
                self.assertIn(f"code begins at {begin:#x}", self.made.err)
                self.assertEqual(sum(samples.values()), sum(want.values()))
                os.remove(elf)

    def test_lines(self):
        for target, bits, *flags in (("arm-linux-gnueabihf", 32, "-mthumb"), ("aarch64-linux-gnu", 64)):
            elf = self.build(target, *flags)
            file, _, _ = self.gmon(elf, bits)
            rows = read_json(["pbin-aggregate", "-k", "function,file,line", "--format=json"],
                             self.succeeds(["gmon2pbin", "-q", file]).out)["rows"]
            lines = {f"{name}(": number for number, text in enumerate(TA_SOURCE.split("\n"), 1)
                     for name in ("first", "second", "__ta_entry") if f"int {name}(" in text}
            self.assertEqual({(r["function"], r["file"], r["line"]) for r in rows if r["line"]},
                             {(n[:-1], os.path.join(self.folder, "ta.c"), l) for n, l in lines.items()})


class Lines(Case):
    SOURCE = b"""volatile unsigned long sink;
static inline void inner(int n)
{
    for (int i = 0; i < n; i++)
        sink += i * 7;
}
__attribute__((noinline)) void leaf(int n)
{
    inner(n);
    for (int i = 0; i < n; i++)
        sink ^= i;
}
int main(void)
{
    for (int i = 0; i < 20000; i++)
        leaf(30000);
    return 0;
}
"""

    def test_against_llvm(self):
        """Each row has the position of its address; sums are those without lines, and annotated lines add up to them."""
        source, elf = self.file("g.c", self.SOURCE), os.path.join(self.folder, "g")
        subprocess.run(["gcc", "-O2", "-g", "-pg", "-o", elf, source], check=True)
        subprocess.run([elf], cwd=self.folder, check=True)
        file = os.path.join(self.folder, "gmon.out")
        made = self.succeeds(["gmon2pbin", "-e", elf, file]).out
        rows = read_json(["pbin-aggregate", "-k", "function,inline,file,line,pc", "--format=json"], made)["rows"]
        self.assertTrue(rows)
        for row in rows:
            out = subprocess.run(["llvm-symbolizer-14", "-e", elf, "--no-demangle", row["pc"]], capture_output=True, text=True,
                                 check=True).stdout.split("\n\n")[0].split("\n")
            place, line, _ = out[1].rsplit(":", 2)
            # Line 0: start-up code without a line table (a bucket can end in it); llvm then names the symbol table's file.
            expected = (place, int(line)) if int(line) else ("", None)
            self.assertEqual((row["inline"], row["file"], row["line"]), (out[0], *expected), row)
        self.assertIn("inner", {r["inline"] for r in rows})
        plain = self.succeeds(["gmon2pbin", "--no-dwarf", "-e", elf, file]).out
        tables = [read_json(["pbin-aggregate", "--format=json"], pbin)["rows"] for pbin in (made, plain)]
        self.assertEqual(*tables)
        total = sum(r["samples"] for r in tables[0] if r["function"] == "leaf")
        shown = read_json(["pbin-annotate", "-f", "leaf", "--source-path", self.folder, "--format=json"], made)["rows"]
        self.assertAlmostEqual(sum(r["samples"] or 0 for r in shown), total)
        self.assertEqual({r["text"].strip() for r in shown if r["samples"]} - {
            "for (int i = 0; i < n; i++)", "sink += i * 7;", "sink ^= i;"}, set())


class Hostile(Case):
    def test_every_truncation(self):
        for write, boundary in ((gmonfile.gnu, 21), (gmonfile.bsd, 0), (gmonfile.bsd_old, 24),
                                (lambda p: gmonfile.bsd(p, False), 24)):
            data = write(self.profile(bins=9, seed=5))
            whole = {len(data) - boundary * i for i in range(len(self.arcs()) + 1)}
            for size in sorted({*tool.places(0, len(data)), *whole} - {len(data)}):
                file = self.file("gmon.out", data[:size])
                ended = tool.run(["gmon2pbin", "-r", "100", "-e", self.elf(), file], **self.limits())
                with self.subTest(boundary=boundary, size=size):
                    if size in whole:
                        self.assertEqual((ended.status, ended.err), (0, ""))
                    else:
                        self.fails(["gmon2pbin", "-e", self.elf(), file], file, **self.limits())
                salvaged = tool.run(["gmon2pbin", "-q", "--salvage", "-e", self.elf(), file], **self.limits())
                self.assertIn(salvaged.status, (0, 1))
                self.assertLessEqual(salvaged.err.count("\n"), 1)

    def patched(self, data, at, layout, *values):
        text = bytearray(data)
        struct.pack_into(layout, text, at, *values)
        return bytes(text)

    def test_counts(self):
        gnu, bsd = gmonfile.gnu(self.profile()), gmonfile.bsd(self.profile())
        bad = {
            "bins": self.patched(gnu, 0x25, "<I", 0xffffffff),
            "bins more": self.patched(gnu, 0x25, "<I", 1 << 20),
            "range": self.patched(gnu, 0x15, "<QQ", 0x2000, 0x1000),
            "empty range": self.patched(gnu, 0x15, "<QQ", 0x1000, 0x1000),
            "huge range": self.patched(gnu, 0x15, "<QQ", 0, 2**64 - 1),
            "dimension": self.patched(gnu, 0x2d, "4s", b"\1\2\3\4"),
            "tag": self.patched(gnu, len(gnu) - 21, "B", 3),
            "version": self.patched(gnu, 4, "<i", 2),
            "blocks": gnu + b"\2" + struct.pack("<Q", 2**61),
            "ncnt": self.patched(bsd, 16, "<I", 0xfffffff0),
            "ncnt odd": self.patched(bsd, 16, "<I", 41),
            "ncnt small": self.patched(bsd, 16, "<I", 39),
            "rate": self.patched(bsd, 24, "<i", -1),
            "totarc": self.patched(bsd, 28, "<I", 24),
            "totarc more": self.patched(bsd, 28, "<I", 0x7fffffff),
            "count": self.patched(bsd, len(bsd) - 8, "<q", -1),
            "bsd range": self.patched(bsd, 0, "<QQ", 2**63, 5),
            "sum": gmonfile.bsd(Profile([self.histogram()], [(0x1005, 0x1030, 2**63 - 1)] * 3)),
            "empty": b"", "header": gnu[:20], "text": b"hello, world\n" * 50,
        }
        for name, data in bad.items():
            with self.subTest(name):
                file = self.file("gmon.out", data)
                out = os.path.join(self.folder, "out.pbin")
                self.fails(["gmon2pbin", "-e", self.elf(), "-o", out, file], file, **self.limits())
                self.assertFalse(os.path.exists(out))

    def test_damage(self):
        rng = random.Random(7)
        for write in (gmonfile.gnu, gmonfile.bsd, gmonfile.bsd_old):
            data = write(self.profile(bins=20))
            for _ in range(tool.rounds(150, 3)):
                text = bytearray(data)
                for _ in range(rng.choice((1, 1, 2, 8))):
                    text[rng.randrange(min(len(text), 120))] = rng.choice((0, 1, 0x7f, 0x80, 0xff,
                                                                            rng.randrange(256)))
                file = self.file("gmon.out", bytes(text))
                ended = tool.run(["gmon2pbin", "-q", "-e", self.elf(), file], **self.limits())
                self.assertIn(ended.status, (0, 1), ended.err)
                self.assertEqual(ended.err.count("\n"), ended.status, ended.err)

    def test_bomb(self):
        import bz2
        data = gmonfile.gnu(Profile([Histogram(0x1000, 0x2000, [])]))
        data = self.patched(data, 0x25, "<I", 2**31)
        file = self.file("gmon.out.bz2", bz2.compress(data) + bz2.compress(bytes(50 << 20)) * 8)
        memory = None if tool.is_asan() else 700 * tool.MB
        ended = self.fails(["gmon2pbin", "-e", self.elf(), file], memory=memory, timeout=60)
        self.assertIn("256 MiB", ended.err)

    def test_usage(self):
        for argv in (["-r", "0"], ["-r", "x"], ["--bits", "48"], ["--dialect", "elf"], ["--bias", "xyz"],
                     ["--no-such"]):
            with self.subTest(argv):
                self.assertEqual(tool.run(["gmon2pbin", *argv]).status, 2)
