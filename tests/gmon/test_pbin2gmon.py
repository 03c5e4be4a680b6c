"""pbin2gmon: its output, read by gprof, by gmon2pbin and field by field.

SPDX-License-Identifier: MIT
"""
import json
import os
import random
import re
import stat
import struct
import subprocess
import unittest

import elffile
import gmonfile
import gprof
import program
import rawprofile as raw
import tool
from gmonfile import Histogram, Profile

BASE = 0x7f0000000000


class Made(tool.Case):
    """Profiles with known program counters in a program of six functions."""

    @classmethod
    def setUpClass(cls):
        folder = tool.shared_folder(cls)
        cls.fixed = program.Program(program.build(folder, "fixed", flags=["-no-pie"]))
        cls.pie = program.Program(program.build(folder, "pie", flags=["-pie", "-fPIE"]), BASE)

    def pbin(self, prog, weights, samples=2000, step=10**6, elsewhere=0, extra=()):
        """WEIGHTS: {function: samples of 1000}; each sample has STEP ns of CPU time. ELSEWHERE:
        samples outside the program."""
        rng = random.Random(3)
        names = [n for n, w in weights.items() for _ in range(w * samples // 1000)]
        rng.shuffle(names)
        self.counts = {n: names.count(n) for n in weights}
        pcs = [prog.functions[n][0] + rng.randrange(prog.functions[n][1]) for n in names]
        pcs += [0x10] * elsewhere
        taken = [raw.Sample(0, [raw.Thread(77, pc, (i + 1) * step)], 10**15 + i * step // 1000)
                 for i, pc in enumerate(pcs)]
        run = raw.Run(taken, [prog.map, *extra], len(pcs) * step // 1000, kind=raw.POWER)
        ended = self.succeeds(["prof2pbin", "-q", "-s", os.path.dirname(prog.path)],
                              stdin=raw.write(run, "sampler"))
        return self.file("run.pbin", ended.out)

    WEIGHTS = {"{}_0": 500, "{}_1": 300, "{}_3": 199, "{}_5": 1}

    def weights(self, prog):
        return {n.format(prog.label): w for n, w in self.WEIGHTS.items()}

    def write(self, prog, *options, lines=0, **more):
        made = self.pbin(prog, self.weights(prog), **more)
        out = os.path.join(self.folder, "gmon.out")
        ended = self.succeeds(["pbin2gmon", "-s", os.path.dirname(prog.path), *options, made, "-o", out])
        self.assertEqual(ended.err.count("\n"), lines, ended.err)
        return out

    def test_gprof(self):
        for prog in (self.fixed, self.pie):
            for dialect in ("gnu", "bsd"):
                with self.subTest(program=prog.label, dialect=dialect):
                    out = self.write(prog, "--format", dialect, "-r", "1000")
                    found = {n: t for n, (t, _) in gprof.flat(prog.path, out).items() if t > 0}
                    for name, count in self.counts.items():
                        # gprof prints hundredths; a bin of two bytes may straddle two functions
                        self.assertAlmostEqual(found.get(name, 0), count / 1000, delta=0.0301)
                    self.assertLessEqual(set(found), set(self.counts) | {"fixed_2", "fixed_4", "pie_2", "pie_4"})

    def back(self, prog, gmon):
        made = self.succeeds(["gmon2pbin", "-e", prog.path, gmon]).out
        rows = json.loads(self.succeeds(["pbin-aggregate", "--format", "json"], stdin=made).out)
        return {r["function"]: r["samples"] for r in rows["rows"]}, rows["total"]

    def test_round_trip(self):
        for prog in (self.fixed, self.pie):
            for scale in (65536, 32768, 50000, 8192):
                with self.subTest(program=prog.label, scale=scale):
                    out = self.write(prog, "--scale", scale, "-r", "1000")
                    with open(out, "rb") as f:
                        data = f.read()
                    low, high, bins, rate = struct.unpack_from("<QQII", data, 0x15)
                    self.assertEqual((high - low) * scale, bins * 131072)
                    self.assertEqual(rate, 1000)
                    found, total = self.back(prog, out)
                    self.assertEqual(total["samples"], sum(self.counts.values()))
                    if scale == 65536:
                        for name, count in self.counts.items():
                            self.assertAlmostEqual(found.get(name, 0), count, delta=0.06 * 1000 + 1)  # a bin of two bytes at its end

    def test_saturation(self):
        """40000 samples of 5 ms at 5000 Hz: more ticks in a bin than its 16 bits hold."""
        for dialect, lines in (("gnu", 0), ("bsd", 1)):
            with self.subTest(dialect):
                prog = self.fixed
                name = "fixed_0"
                made = self.pbin(prog, {name: 1000}, samples=40000, step=5 * 10**6)
                out = os.path.join(self.folder, "gmon.out")
                ended = self.succeeds(["pbin2gmon", "-s", os.path.dirname(prog.path), "--format", dialect, "-r",
                                       "5000", "--scale", "4096", made, "-o", out])
                self.assertEqual(ended.err.count("\n"), lines, ended.err)
                if lines:
                    self.assertIn("Hz", ended.err)
                found = sum(t for t, _ in gprof.flat(prog.path, out).values())
                self.assertAlmostEqual(found, 200, delta=0.5)
                rows = json.loads(self.succeeds(["pbin-aggregate", "--format", "json"], stdin=self.succeeds(
                    ["gmon2pbin", "-e", prog.path, out]).out).out)
                self.assertAlmostEqual(rows["total"]["time"], 200, delta=1e-3)

    def test_outside(self):
        out = self.write(self.fixed, lines=1, elsewhere=100)
        _, total = self.back(self.fixed, out)
        self.assertEqual(total["samples"], 2000)

    def test_profil(self):
        made = self.pbin(self.fixed, self.weights(self.fixed))
        folder = os.path.join(self.folder, "prof")
        os.mkdir(folder)
        os.environ["PROFDIR"] = folder
        try:
            self.succeeds(["pbin2gmon", "--profil", "--format", "bsd", "-s", os.path.dirname(self.fixed.path), made])
        finally:
            del os.environ["PROFDIR"]
        name, = os.listdir(folder)
        self.assertEqual(name, "gmon.fixed.77.out")
        self.assertEqual(stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode), 0o600)
        self.succeeds(["pbin2gmon", "--profil", "-s", os.path.dirname(self.fixed.path), made], cwd=self.folder)
        self.assertIn("gmon.fixed.77.out", os.listdir(self.folder))
        self.assertEqual(tool.run(["pbin2gmon", "--profil", "-o", "x", made]).status, 2)

    def test_choice(self):
        made = self.pbin(self.fixed, self.weights(self.fixed))
        by_path = self.succeeds(["pbin2gmon", "-e", self.fixed.path, made]).out
        by_name = self.succeeds(["pbin2gmon", "-e", "fixed", "-s", os.path.dirname(self.fixed.path), made]).out
        self.assertEqual(by_path, by_name)
        other = self.file("fixed", open(self.pie.path, "rb").read())
        self.assertIn("not the file that ran", self.fails(["pbin2gmon", "-e", other, made], other).err)
        self.fails(["pbin2gmon", "-e", self.pie.path, made], self.pie.path)
        self.fails(["pbin2gmon", "-e", "no such file", made], "no such file")

    def test_bad(self):
        made = self.pbin(self.fixed, self.weights(self.fixed))
        with open(made, "rb") as f:
            data = f.read()
        for cut in (0, 7, 30, len(data) // 2, len(data) - 1):
            self.fails(["pbin2gmon"], "<stdin>", stdin=data[:cut])
        coarse = self.succeeds(["pbin-aggregate", "--format", "pbin"], stdin=data).out
        self.assertIn("pc", self.fails(["pbin2gmon"], "<stdin>", stdin=coarse).err)
        for argv in (["--scale", "1"], ["--scale", "65537"], ["-r", "0"], ["--format", "elf"]):
            self.assertEqual(tool.run(["pbin2gmon", *argv]).status, 2)


class Again(tool.Case):
    """gmon.out -> pbin -> gmon.out"""

    FUNCTIONS = [("one", 0x1000, 0x40), ("two", 0x1040, 0x40), ("three", 0x1080, 0x80)]

    def test_same(self):
        for bits in (32, 64):
            for order in "<>":
                for write, dialect in ((gmonfile.gnu, "gnu"), (gmonfile.bsd, "bsd")):
                    with self.subTest(bits=bits, order=order, dialect=dialect):
                        rng = random.Random(bits)
                        h = Histogram(0x1000, 0x1120, [rng.choice((0, 0, 7, 30000)) for _ in range(0x90)], 250)
                        h.bins[0x80:] = [0] * 16
                        p = Profile([h], [(0x1000, 0x1040, 12), (0x1040, 0x1080, 3)], bits, order)
                        elf = self.file("elf", elffile.write(self.FUNCTIONS, bits, order))
                        data = write(p)
                        made = self.succeeds(["gmon2pbin", "-e", elf], stdin=data).out
                        again = self.succeeds(["pbin2gmon", "-e", elf, "--format", dialect], stdin=made).out
                        self.assertEqual(again, data)

    def test_no_time(self):
        h = Histogram(0x1000, 0x1120, [1, 5, 0, 9] * 32 + [0] * 16, 0)
        elf = self.file("elf", elffile.write(self.FUNCTIONS))
        made = self.succeeds(["gmon2pbin", "-q", "-e", elf], stdin=gmonfile.gnu(Profile([h]))).out
        ended = self.succeeds(["pbin2gmon", "-e", elf], stdin=made)
        self.assertEqual(ended.err.count("\n"), 1)
        h.rate = 100
        self.assertEqual(ended.out, gmonfile.gnu(Profile([h])))

    def test_recorded(self):
        """gprof prints the same for a file that was converted to pbin and back; with 2-byte bins
        where glibc's were wider."""
        source = self.file("p.c", b"""
            volatile unsigned long sink;
            __attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) sink += i; }
            __attribute__((noinline)) void work(void) { for (int i = 0; i < 3000; i++) leaf(20000); }
            int main(void) { work(); return 0; }""")
        elf = os.path.join(self.folder, "p")
        subprocess.run(["gcc", "-pg", "-O1", "-o", elf, source], check=True)
        subprocess.run([elf], cwd=self.folder, check=True)
        before = os.path.join(self.folder, "gmon.out")
        after = self.file("after", self.succeeds(["pbin2gmon", "-e", elf], stdin=self.succeeds(
            ["gmon2pbin", "-e", elf, before]).out).out)
        self.assertEqual({k: v[1] for k, v in gprof.flat(elf, before).items()},
                         {k: v[1] for k, v in gprof.flat(elf, after).items()})
        for name, (time, _) in gprof.flat(elf, before).items():
            self.assertAlmostEqual(gprof.flat(elf, after)[name][0], time, delta=0.0101)


class Hidden(tool.Case):
    """Local functions with $ or . in their names, as made by Rust and by passes of compilers."""
    NAMES = {"closure": "_ZN3abc28_$u7b$$u7b$closure$u7d$$u7d$17h4d61d863015b0077E", "part": "plain.part.0", "inner": "plain.llvm.77"}
    SHOWN = {"closure": "abc::{{closure}}", "part": "plain.part.0", "inner": "plain.llvm.77", "open": "glob$al", "plain": "plain"}

    def build(self):
        text = "volatile unsigned long sink;\n"
        for name in ("closure", "part", "inner", "open", "plain"):
            static = "static " if name in self.NAMES else ""
            label = self.NAMES.get(name) or self.SHOWN[name]
            head = f"{static}__attribute__((noinline, noclone)) void f_{name}(void)"
            text += f'{head} __asm__("{label}");\n{head} {{ for (int i = 0; i < 99; i++) sink += i; }}\n'
        text += "int main(void) { f_closure(); f_part(); f_inner(); f_open(); f_plain(); }\n"
        source, path = self.file("hidden.c", text.encode()), os.path.join(self.folder, "hidden")
        subprocess.run(["gcc", "-O1", "-no-pie", "-o", path, source], check=True)
        return path

    def flat(self, *argv):
        out = subprocess.run(["gprof", "-b", "-p", *argv], capture_output=True, text=True, check=True).stdout
        rows = [re.match(r" *[\d.]+ +[\d.]+ +([\d.]+) +(\S.*)", l) for l in out.split("\n")]
        return {m[2]: float(m[1]) for m in rows if m and float(m[1]) > 0}

    def test_with_gprof(self):
        path = self.build()
        nm = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
        at = {line.split()[2]: int(line.split()[0], 16) for line in nm.split("\n") if len(line.split()) == 3}
        weights = {"closure": 400, "part": 300, "inner": 200, "open": 500, "plain": 600}
        prog = program.Program(path)
        pcs = [at[self.NAMES.get(n) or self.SHOWN[n]] + 4 for n, w in weights.items() for _ in range(w)]
        taken = [raw.Sample(0, [raw.Thread(77, pc, (i + 1) * 10**7)], 10**15 + i * 10**4) for i, pc in enumerate(pcs)]
        run = raw.Run(taken, [prog.map], len(pcs) * 10**4, kind=raw.POWER)
        made = self.file("run.pbin", self.succeeds(["prof2pbin", "-q", "-s", self.folder], stdin=raw.write(run, "sampler")).out)
        gmon, table = os.path.join(self.folder, "gmon.out"), os.path.join(self.folder, "symbols")
        ended = self.succeeds(["pbin2gmon", "-r", "100", made, "-o", gmon])
        self.assertRegex(ended.err, r"^pbin2gmon: \S+: gprof hides 3 functions with \$ or \. in the name, such as _ZN3abc\S+, "
                                    r"and adds the time in them, 45\.00 %, to others \(--symbols FILE, .*\)\n$")
        self.assertEqual(set(self.flat(path, gmon)) & set(self.SHOWN.values()), {"glob$al", "plain"}, "gprof no longer hides them")
        for dialect in ("gnu", "bsd"):
            ended = self.succeeds(["pbin2gmon", "-r", "100", "--format", dialect, "--symbols", table, made, "-o", gmon])
            self.assertEqual(ended.err, "")
            self.assertEqual(self.flat(f"--external-symbol-table={table}", path, gmon),
                             {self.SHOWN[n]: w / 100 for n, w in weights.items()})

    def test_table(self):
        """The table contains each function once, by address."""
        path = self.build()
        made = self.file("run.pbin", self.succeeds(["prof2pbin", "-q", "-s", self.folder], stdin=raw.write(raw.Run(
            [raw.Sample(0, [raw.Thread(7, program.executable_segment(path)[1] + 64, 10**6)], 10**15)], [program.Program(path).map], 1000,
            kind=raw.POWER), "sampler")).out)
        table = os.path.join(self.folder, "symbols")
        self.succeeds(["pbin2gmon", "-q", "--symbols", table, made, "-o", os.path.join(self.folder, "gmon.out")])
        with open(table, encoding="ascii") as f:
            rows = [line.rstrip("\n").split(" ") for line in f]
        self.assertEqual([r[0] for r in rows], sorted({r[0] for r in rows}))
        self.assertEqual({r[1] for r in rows}, {"T"})
        self.assertGreaterEqual({r[2] for r in rows}, set(self.NAMES.values()) | {"glob$al", "plain", "main", "_start"})
        self.fails(["pbin2gmon", "--symbols", f"{self.folder}/no/file", made, "-o", os.path.join(self.folder, "g")],
                   f"{self.folder}/no/file")
        self.assertFalse(os.path.exists(os.path.join(self.folder, "g")))


class Sampled(tool.Case):
    def test_burn(self):
        """sampler -> prof2pbin -> pbin2gmon -> gprof: the same functions with the same shares."""
        burn = os.path.join(tool.BUILD, "samples/burn")
        recorded = os.path.join(self.folder, "run.bin")
        self.succeeds(["sampler", "-q", "-o", recorded, "--", burn, "1.5"], timeout=60)
        made = self.file("run.pbin", self.succeeds(["prof2pbin", "-q", recorded], timeout=60).out)
        out = os.path.join(self.folder, "gmon.out")
        self.succeeds(["pbin2gmon", "-q", made, "-o", out])
        rows = json.loads(self.succeeds(["pbin-aggregate", "--format", "json", made]).out)["rows"]
        ours = {r["function"]: r["time"] for r in rows if r["binary"] == "burn"}
        theirs = {n: t for n, (t, _) in gprof.flat(burn, out).items()}
        for name in ("burn_50", "burn_30", "burn_20"):
            self.assertAlmostEqual(theirs[name], ours[name], delta=0.02 * ours[name] + 0.01)
        self.assertAlmostEqual(sum(theirs.values()), sum(ours.values()), delta=0.03)


if __name__ == "__main__":
    unittest.main()
