"""pbin-annotate: sums are compared with pbin-aggregate, lines with addr2line, instructions with
objdump.

SPDX-License-Identifier: MIT
"""
import csv
import glob
import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
import unittest
from unittest import mock

import rawprofile
import tool

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from pbinfile import Writer  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BURN = os.path.join(tool.BUILD, "samples", "burn")
TOOL = "pbin-annotate"
INLINED = """
#include <cstdio>
struct point { double x, y; };
static inline __attribute__((always_inline)) double length(const point &p)
{
    double sum = 0;
    for (int i = 1; i < 2000; i++)
        sum += p.x / i + p.y;
    return sum;
}
__attribute__((noinline)) double all(const point *points, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += length(points[i]);
    return sum;
}
int main()
{
    point points[200];
    double sum = 0;
    for (int i = 0; i < 200; i++)
        points[i] = {double(i), 1};
    for (int i = 0; i < 700; i++) {
        points[i % 200].x += sum; /* or the compiler asks once */
        sum += all(points, 200);
    }
    printf("%g\\n", sum);
}
"""


def sh(*argv):
    return subprocess.run(argv, stdout=subprocess.PIPE, check=True).stdout.decode()


def symbol(path, name):
    """(first address, end address) of a function."""
    for line in sh("nm", "-S", path).splitlines():
        words = line.split()
        if len(words) == 4 and words[3] == name:
            return int(words[0], 16), int(words[0], 16) + int(words[1], 16)
    raise AssertionError(name)


class Recorded(tool.Case):
    """burn, and a C++ program with an inlined function, each recorded once for all tests."""

    @classmethod
    def setUpClass(cls):
        cls.shared = tool.shared_folder(cls)
        cls.power = cls.at("power")
        with open(cls.power, "w") as f:
            f.write("2.5")
        cls.burn = cls.record("burn", BURN, "0.6")
        cls.inlined_source = cls.at("inlined.cpp")
        with open(cls.inlined_source, "w") as f:
            f.write(INLINED)
        cls.program = cls.at("inlined")
        sh("g++", "-O2", "-g", "-o", cls.program, cls.inlined_source)
        cls.inlined = cls.record("inlined", cls.program)

    @classmethod
    def at(cls, name):
        return os.path.join(cls.shared, name)

    @classmethod
    def record(cls, name, *command):
        raw, pbin = cls.at(name + ".bin"), cls.at(name + ".pbin")
        ended = tool.run(["sampler", "-q", "-p", "file:" + cls.power, "--unit", "W", "-o", raw, "--",
                          *command], timeout=60)
        assert ended.status == 0, ended.err
        assert tool.run(["prof2pbin", "-o", pbin, raw], timeout=60).status == 0
        return pbin

    def json(self, *options):
        return json.loads(self.succeeds([TOOL, "--format", "json", "-q", *options], timeout=30,
                                        cwd=self.shared).out)["rows"]

    def text(self, *options, columns=None, **more):
        with mock.patch.dict(os.environ, {"COLUMNS": str(columns)} if columns else {}):
            return self.succeeds([TOOL, *options], timeout=30, cwd=self.shared, **more).out.decode()


class Sums(Recorded):
    def check(self, rows, pbin, function):
        table = json.loads(self.succeeds(["pbin-aggregate", "--format", "json", pbin]).out)["rows"]
        row, = [r for r in table if r["function"] == function]
        self.assertGreater(row["samples"], 20)
        ns = lambda r: round(r["time"] * 1e9)
        self.assertEqual(sum(ns(r) for r in rows), ns(row))
        self.assertEqual(sum(r["samples"] for r in rows), row["samples"])
        self.assertTrue(math.isclose(math.fsum(r["energy"] for r in rows), row["energy"], rel_tol=1e-13))
        self.assertTrue(math.isclose(math.fsum(r["share"] for r in rows), row["share"], rel_tol=1e-12))

    def test_lines_add_up_to_the_function(self):
        for function in ("burn_50", "burn_30", "burn_20"):
            self.check(self.json("-f", function, self.burn), self.burn, function)

    def test_instructions_add_up_to_the_function(self):
        for function in ("burn_50", "burn_30", "burn_20"):
            self.check(self.json("--asm", "-f", function, self.burn), self.burn, function)

    def test_inlined_lines_add_up_to_the_function(self):
        name = "all(point const*, int)"
        for options in ([], ["--asm"]):
            self.check(self.json(*options, "-f", name, self.inlined), self.inlined, name)

    def test_runs_are_means(self):
        other = self.record("burn2", BURN, "0.3")
        table = json.loads(self.succeeds(["pbin-aggregate", "--format", "json", self.burn, other]).out)
        row, = [r for r in table["rows"] if r["function"] == "burn_30"]
        for options in ([], ["--asm"]):
            rows = self.json(*options, "-f", "burn_30", self.burn, other)
            self.assertTrue(math.isclose(math.fsum(r["time"] for r in rows), row["time"], rel_tol=1e-12))
            self.assertEqual(math.fsum(r["samples"] for r in rows), row["samples"])
        # the two runs are at different addresses, but their instructions are the same
        addresses = [r["address"] for r in rows]
        self.assertEqual(len(addresses), len(set(addresses)))

    def test_intervals_are_those_of_aggregate(self):
        lines = json.loads(self.succeeds(["pbin-aggregate", "-q", "--ci", "--format=json", "-k", "function,line",
                                          self.burn]).out)["rows"]
        want = {row["line"]: row for row in lines if row["function"] == "burn_50"}
        rows = [row for row in self.json("--ci", "-f", "burn_50", self.burn) if row["samples"]]
        self.assertEqual({row["line"] for row in rows}, set(want))
        for row in rows:
            for name in ("time_ci_approx", "share_ci_approx"):  # lines change at almost every sample
                self.assertGreaterEqual(row[name], want[row["line"]][name] - 1e-9)
                self.assertLess(row[name], 1.5 * want[row["line"]][name])
            self.assertGreater(row["time_ci_approx"], 0)
            self.assertIsNone(row["energy_ci_approx"])
        text = self.text("--ci", "-f", "burn_50", self.burn)
        self.assertRegex(text, r"\n +time \+-95% \[s\]  share \+-95% \[%\]  +energy \[J\] +line ")
        self.assertEqual(len(re.findall(r"(?m)^( *[\d.]+ \+-[\d.]+ *){2}[\d.]+ +\d+ \|", text)), len(rows))
        self.assertNotIn("share_ci_approx", self.json("-f", "burn_50", self.burn)[0])

    def test_weighed_as_by_aggregate(self):
        for options in (["--wall-time"], ["--subtract-latency"], ["--mode=add"], ["--wall-time", "--ci"]):
            argv = ["pbin-aggregate", "-q", "--format=json", "-k", "function", *options, self.burn, self.burn]
            want = {r["function"]: r for r in json.loads(self.succeeds(argv).out)["rows"] if r["samples"]}
            rows = self.json("-f", "*", *options, self.burn, self.burn)
            for name, row in want.items():
                for value in ("time", "energy", "samples"):
                    got = math.fsum(r[value] for r in rows if r["function"] == name)
                    self.assertTrue(math.isclose(got, row[value], rel_tol=1e-12, abs_tol=1e-15), (options, name, value))
            self.assertGreater(want["burn_50"]["time"], 0.05)
        self.assertIn("% of total time of threads", self.text("--wall-time", "-q", "-f", "burn_50", self.burn))
        self.assertEqual(tool.run([TOOL, "--mode=both", self.burn]).status, 2)

    def test_aggregated_profile(self):
        keys = self.at("keys.pbin")
        self.succeeds(["pbin-aggregate", "-k", "thread,binary,function,inline,file,line", "-o", keys, self.burn])
        full, sums = self.json("-f", "burn_*", self.burn), self.json("-f", "burn_*", keys)
        self.assertEqual(full, sums)
        self.succeeds(["pbin-aggregate", "-o", keys, self.burn])
        ended = self.fails([TOOL, keys], keys)
        self.assertIn("was aggregated by binary,function: key file is missing", ended.err)

    def test_aggregate_of_runs_with_more_keys(self):
        keys = self.at("runs.pbin")
        self.succeeds(["pbin-aggregate", "-k", "thread,binary,function,file,line", "-o", keys, self.burn, self.burn])
        rows = self.json("-f", "burn_50", keys)
        want = [r for r in self.json("-f", "burn_50", self.burn) if r["samples"]]
        self.assertEqual([r["time"] for r in rows if r["samples"]], [r["time"] for r in want])


class Assembly(Recorded):
    def objdump(self, path, name):
        """[(address, mnemonic)] in Intel syntax."""
        out = sh("objdump", "-d", "-M", "intel", "--no-show-raw-insn", f"--disassemble={name}", path)
        found = re.findall(r"^ *([0-9a-f]+):\t((?:(?:rep|repz|lock|bnd|cs|data16) )*)(\S+)", out, re.M)
        return [(int(a, 16), m) for a, _, m in found]

    def test_blocks(self):
        """The blocks of burn_50 between its branches, from objdump."""
        starts, after = set(), False
        for address, text in ((int(l.split(":")[0], 16), l.split(":")[1]) for l in
                              sh("objdump", "-d", "--no-show-raw-insn", "--disassemble=burn_50", BURN).splitlines()
                              if re.match(r" +[0-9a-f]+:", l)):
            branch = re.match(r"\s+(j\w+|call|ret)\s*([0-9a-f]*)", text)
            starts |= {address} if after else set()
            starts |= {int(branch[2], 16)} if branch and branch[2] else set()
            after = branch is not None
        blocks = {}
        for row in self.json("--asm", "-f", "burn_50", self.burn):
            start = max([s for s in starts if s <= int(row["address"], 16)], default=symbol(BURN, "burn_50")[0])
            self.assertEqual(int(row["block"], 16), start)
            blocks.setdefault(start, []).append(row)
        begins = re.findall(r"([0-9a-f]+):\|", self.text("--asm", "-q", "-f", "burn_50", self.burn))
        self.assertEqual({int(b, 16) for b in begins}, set(blocks))
        hottest = max(blocks.values(), key=lambda rows: sum(r["samples"] for r in rows))
        least = sum(r["samples"] for r in hottest)
        self.assertGreater(len(blocks), 1)
        self.assertEqual(self.json("--asm", "-f", "burn_50", "--min", f"block:samples={least}", self.burn), hottest)
        self.assertEqual(self.json("--asm", "-f", "burn_50", "--min", f"block:samples={least + 1}", self.burn), [])

    def test_same_instructions_as_objdump(self):
        for name in ("burn_50", "burn_30", "burn_20"):
            rows = self.json("--asm", "--syntax", "intel", "-f", name, self.burn)
            self.assertEqual([(int(r["address"], 16), r["text"].split()[0]) for r in rows],
                             self.objdump(BURN, name))

    def test_att_syntax_is_the_default(self):
        texts = [r["text"] for r in self.json("--asm", "-f", "burn_20", self.burn)]
        self.assertTrue(any("%r" in t for t in texts), texts)

    def test_hot_addresses_lie_in_the_function(self):
        for name in ("burn_50", "burn_30", "burn_20"):
            first, end = symbol(BURN, name)
            rows = self.json("--asm", "-f", name, self.burn)
            self.assertEqual(int(rows[0]["address"], 16), first)
            for r in rows:
                self.assertTrue(first <= int(r["address"], 16) < end, r)

    def lines_are_those_of_addr2line(self, pbin, path):
        """Returns the number of instructions compared."""
        rows = [r for r in self.json("--asm", "-f", "*", pbin)
                if r["samples"] and r["binary"] == os.path.basename(path)]
        out = sh("addr2line", "-e", path, *[r["address"] for r in rows]).splitlines()
        for r, at in zip(rows, out):
            file, _, line = at.split(" (")[0].rpartition(":")
            if r["file"] is None:  # start-up code and the PLT, for which addr2line may name a file
                self.assertIn(line, ("?", "0"), r)
                continue
            self.assertEqual((os.path.basename(r["file"]), str(r["line"])),
                             (os.path.basename(file), line), r)
        return len(rows)

    def test_lines_are_those_of_addr2line(self):
        for pbin, path in ((self.burn, BURN), (self.inlined, self.program)):
            self.assertGreater(self.lines_are_those_of_addr2line(pbin, path), 2)

    def test_lines_of_every_instruction_are_those_of_addr2line(self):
        for path in (BURN, self.program):
            base = 0x555555554000
            code = [int(m[1], 16) for m in re.finditer(r"^ +([0-9a-f]+):", sh("objdump", "-dw", path), re.M)]
            samples = [rawprofile.Sample(1, [rawprofile.Thread(1, base + pc, 1000 * (i + 1))], 1000 * (i + 1))
                       for i, pc in enumerate(code)]
            at, size = re.search(r"LOAD +\S+ (\S+) \S+ \S+ (\S+) R E", sh("readelf", "-lW", path)).groups()
            mapped = rawprofile.Map(base + int(at, 16), -(-int(size, 16) // 4096) * 4096, os.path.basename(path))
            run = rawprofile.Run(samples, [mapped], 1000 * len(code))
            raw, pbin = os.path.join(self.folder, "every.bin"), os.path.join(self.folder, "every.pbin")
            with open(raw, "wb") as f:
                f.write(rawprofile.write(run, "intrvelf"))
            self.succeeds(["prof2pbin", "-v", "1", "-s", os.path.dirname(path), "-o", pbin, raw])
            self.assertEqual(self.lines_are_those_of_addr2line(pbin, path), len(code))

    def test_other_binary_is_refused(self):
        moved = self.at("moved")
        os.makedirs(moved, exist_ok=True)
        program = os.path.join(moved, "p")
        shutil.copy(BURN, program)
        pbin = self.record("p", program, "0.2")
        rows = self.json("--asm", "-f", "burn_50", pbin)
        sh("g++", "-O1", "-g", "-o", program, self.inlined_source)
        ended = self.succeeds([TOOL, "--asm", "-f", "burn_50", pbin])
        self.assertEqual(ended.err.count("\n"), 1, ended.err)
        self.assertRegex(ended.err, r"p: not the file that ran: its build-id is [0-9a-f]+, expected [0-9a-f]+")
        os.unlink(program)
        ended = self.succeeds([TOOL, "--asm", "-f", "burn_50", pbin])
        self.assertIn("p: not found", ended.err)
        # the sums are still shown
        seen = self.json("--asm", "-f", "burn_50", pbin)
        self.assertEqual(sum(r["samples"] for r in seen), sum(r["samples"] for r in rows))
        # found again
        shutil.copy(BURN, self.at("p"))
        self.assertEqual(self.json("--asm", "-s", self.shared, "-f", "burn_50", pbin), rows)

    def test_stripped_binary_with_debug_file(self):
        whole = self.json("--asm", "-f", "burn_30", self.burn)
        stripped = os.path.join(self.folder, "burn")
        number = re.search(r"Build ID: (\S+)", sh("readelf", "-n", BURN))[1]
        debug = os.path.join(self.folder, ".build-id", number[:2], number[2:] + ".debug")
        os.makedirs(os.path.dirname(debug))
        sh("strip", "-o", stripped, BURN)
        bare = self.json("--asm", "-s", self.folder, "-f", "burn_30", self.burn)
        self.assertLessEqual(len(bare), len(whole))  # only the code around the samples
        self.assertEqual(sum(r["samples"] for r in bare), sum(r["samples"] for r in whole))
        sh("objcopy", "--only-keep-debug", BURN, debug)
        self.assertEqual(self.json("--asm", "-s", self.folder, "-f", "burn_30", self.burn), whole)

    def test_debug_file_that_is_linked(self):
        """The debug file is found by .gnu_debuglink, beside the binary and below usr/lib/debug in
        the sysroot."""
        whole = self.json("--asm", "-f", "burn_30", self.burn)
        for where in ("opt/burn.debug", "opt/.debug/burn.debug", "usr/lib/debug/opt/burn.debug"):
            root = os.path.join(self.folder, where.replace("/", "-"))
            stripped, debug = os.path.join(root, "opt", "burn"), os.path.join(root, where)
            for path in (stripped, debug):
                os.makedirs(os.path.dirname(path), exist_ok=True)
            sh("objcopy", "--only-keep-debug", BURN, debug)
            sh("strip", "-o", stripped, BURN)
            sh("objcopy", "--add-gnu-debuglink=" + debug, stripped)
            options = ["--sysroot", root, "-s", os.path.dirname(stripped)]
            self.assertEqual(self.json("--asm", *options, "-f", "burn_30", self.burn), whole, where)

    def test_debug_file_of_another_build(self):
        folder = os.path.join(self.folder, "other-build")
        stripped, debug = os.path.join(folder, "burn"), os.path.join(folder, "burn.debug")
        os.makedirs(folder)
        sh("objcopy", "--only-keep-debug", BURN, debug)
        sh("strip", "-o", stripped, BURN)
        sh("objcopy", "--add-gnu-debuglink=" + debug, stripped)
        other = "0" * 40  # replaces the build-id
        with open(debug, "rb") as f:
            data = f.read()
        build_id = re.search(r"Build ID: (\S+)", sh("readelf", "-n", BURN))[1]
        with open(debug, "wb") as f:
            f.write(data.replace(bytes.fromhex(build_id), bytes.fromhex(other)))
        err = self.succeeds([TOOL, "--asm", "-s", folder, "-f", "burn_30", self.burn], timeout=30).err
        self.assertEqual(err.count("of another build: its build-id is %s, expected %s" % (other, build_id)), 1, err)

    def located(self, label, path, address, build_id):
        """A pbin of one sample at ADDRESS of the file PATH; the profile only contains LABEL."""
        text = sh("readelf", "-lW", path)
        offset, start, size = (int(x, 16) for x in re.search(
            r"LOAD +(0x\S+) (0x\S+) 0x\S+ (0x\S+) 0x\S+ R E", text).groups())
        w = Writer()
        number = w.map(0x500000, (size + 4095) & -4096, label, "", build_id, offset)
        w.location(0x500000 + address - start, "f", "", 0, binary=os.path.basename(label), map_number=number)
        return self.file("located.pbin", w.bytes())

    def test_files_of_the_system(self):
        """Files are found by their base names in the folders for libraries, as by prof2pbin."""
        libc = os.path.realpath("/lib/x86_64-linux-gnu/libc.so.6")
        build_id = re.search(r"Build ID: (\S+)", sh("readelf", "-n", libc))[1]
        address = next(int(line.split()[1], 16) for line in sh("readelf", "-sW", "--dyn-syms", libc).splitlines()
                       if line.split()[-1:] == ["qsort@@GLIBC_2.2.5"])
        pbin = self.located("/elsewhere/libc.so.6", libc, address, build_id)
        ended = self.succeeds([TOOL, "--asm", pbin])
        self.assertEqual(ended.err, "")
        self.assertRegex(ended.out.decode(), r"libc.so.6: \S*qsort\S* at 0x%x" % address)

    def test_sysroot(self):
        root = os.path.join(self.folder, "root")
        os.makedirs(os.path.join(root, "opt"))
        shutil.copy(BURN, os.path.join(root, "opt", "program"))
        build_id = re.search(r"Build ID: (\S+)", sh("readelf", "-n", BURN))[1]
        pbin = self.located("/opt/program", BURN, symbol(BURN, "burn_50")[0], build_id)
        self.assertIn("/opt/program: not found", self.succeeds([TOOL, "--asm", pbin]).err)
        ended = self.succeeds([TOOL, "--asm", "--sysroot", root, pbin])
        self.assertEqual(ended.err, "")
        self.assertIn(os.path.join(root, "opt/program") + ": burn_50 at", ended.out.decode())

    def test_offset_from_the_program_headers(self):
        """A dialect without offsets: the segment is found by its size, and is the same as in the
        run with offsets."""
        with open(self.at("burn.bin"), "rb") as f:
            data = f.read()
        cut = data[:data.index(rawprofile.SIGNATURE)]
        found = self.file("plain.bin", cut)
        self.succeeds(["prof2pbin", "-q", "-s", os.path.dirname(BURN), "-o", found + ".pbin", found])
        maps = [re.search(rb"(0x[0-9a-f]+ +\d+ +0x[0-9a-f]+ +\S*)/burn ", self.succeeds(["pbin-dump", "--wide", p]).out)[1].split()
                for p in (found + ".pbin", self.burn)]
        self.assertEqual(maps[0], maps[1])
        plain = self.json("--asm", "-f", "burn_30", found + ".pbin")
        whole = self.json("--asm", "-f", "burn_30", self.burn)
        self.assertEqual([(r["address"], r["text"], r["samples"]) for r in plain],
                         [(r["address"], r["text"], r["samples"]) for r in whole])

    def test_aggregated_profile_has_no_mappings(self):
        keys = self.at("pc.pbin")
        self.succeeds(["pbin-aggregate", "-k", "binary,function,pc", "-o", keys, self.burn])
        ended = self.succeeds([TOOL, "--asm", keys])
        self.assertIn("contain no mappings", ended.err)


class Source(Recorded):
    def test_text_is_that_of_the_file(self):
        with open(os.path.join(ROOT, "samples", "burn.c")) as f:
            lines = f.read().split("\n")
        rows = self.json("--source-path", ROOT, "-f", "burn_50", self.burn)
        self.assertGreater(len(rows), 5)
        for r in rows:
            self.assertEqual(r["text"], lines[r["line"] - 1])

    def test_inlined_function_is_named(self):
        rows = self.json("-f", "all(*", self.inlined)
        inner = [r for r in rows if r["inline"]]
        self.assertTrue(inner)
        self.assertEqual({r["inline"].split("(")[0] for r in inner}, {"length"})
        self.assertTrue(any("p.x / i" in r["text"] for r in inner), inner)
        self.assertIn("[length", self.text("-f", "all(*", self.inlined))

    def test_default_is_the_function_with_the_most(self):
        table = json.loads(self.succeeds(["pbin-aggregate", "-q", "--format", "json", self.burn]).out)["rows"]
        for options, name in (([], "time"), (["--metric", "samples"], "samples")):
            most = max((row for row in table if row["function"].startswith("burn")), key=lambda row: row[name])
            self.assertEqual({r["function"] for r in self.json(*options, self.burn)}, {most["function"]})

    def moved_away(self):
        """A program whose source was moved after it was compiled; returns its profile."""
        away, build = self.at("away"), self.at("build/src/deep")
        shutil.rmtree(self.at("build"), ignore_errors=True)
        os.makedirs(build)
        os.makedirs(os.path.join(away, "deep"), exist_ok=True)
        shutil.copy(self.inlined_source, os.path.join(build, "x.cpp"))
        sh("g++", "-O2", "-g", "-o", self.at("x"), os.path.join(build, "x.cpp"))
        pbin = self.record("x", self.at("x"))
        os.rename(os.path.join(build, "x.cpp"), os.path.join(away, "deep", "x.cpp"))
        return pbin, away, build

    def test_finding_sources(self):
        pbin, away, build = self.moved_away()
        ended = self.succeeds([TOOL, "-f", "all(*", pbin])
        self.assertEqual(ended.err.count("\n"), 1, ended.err)
        self.assertIn("x.cpp: source not found: name its folder with --source-path DIR", ended.err)
        bare = self.json("-f", "all(*", pbin)
        self.assertTrue(bare and all(r["text"] is None and r["line"] for r in bare))
        for options in (["--source-path", away],
                        ["--source-path", self.folder, "--source-path", os.path.join(away, "deep")],
                        ["--prefix-map", f"{os.path.dirname(build)}={away}"]):
            ended = self.succeeds([TOOL, *options, "-f", "all(*", pbin])
            self.assertEqual(ended.err, "", options)
            self.assertIn("sum += p.x / i + p.y;", ended.out.decode())

    def test_longest_match_wins(self):
        pbin, away, _build = self.moved_away()
        with open(os.path.join(away, "x.cpp"), "w") as f:
            f.write("wrong\n" * 50)
        self.assertNotIn("wrong", self.text("--source-path", away, "-f", "all(*", pbin))
        os.unlink(os.path.join(away, "x.cpp"))

    def test_changed_source_is_said_once(self):
        os.utime(self.inlined_source, (time.time() + 100,) * 2)
        try:
            ended = self.succeeds([TOOL, "-f", "*", self.inlined], cwd=self.shared)
        finally:
            os.utime(self.inlined_source, (1, 1))
        self.assertEqual(ended.err.count("changed since inlined was built"), 1, ended.err)
        self.assertNotIn("changed", self.succeeds([TOOL, self.inlined], cwd=self.shared).err)

    def test_csv(self):
        out = self.succeeds([TOOL, "--source-path", ROOT, "--format", "csv", "-f", "burn_30", self.burn]).out
        rows = list(csv.DictReader(out.decode().splitlines()))
        self.assertEqual(list(rows[0]), ["binary", "function", "file", "line", "text", "inline", "time [s]",
                                         "share [%]", "energy [J]", "samples"])
        hot = max(rows, key=lambda r: float(r["time [s]"]))
        self.assertIn("number * 0.75", hot["text"])

    def test_context_folds(self):
        whole = self.json("--source-path", ROOT, "-f", "burn_50", self.burn)
        hot = self.json("--source-path", ROOT, "-f", "burn_50", "--context", "0", "--threshold", "15", self.burn)
        time_of = sum(r["time"] for r in whole)
        reach = {r["line"] for r in whole if r["time"] >= 0.15 * time_of * (1 - 1e-12)}  # 15 % counts
        between = {n + 1 for n in reach if n + 2 in reach}  # "..." would not be shorter
        self.assertEqual([r["line"] for r in hot], sorted(reach | between))
        text = self.text("--source-path", ROOT, "-f", "burn_50", "--context", "1", self.burn)
        self.assertIn("state ^= state", text)
        none = self.text("--source-path", ROOT, "-f", "burn_50", "--context", "1", "--threshold", "100", self.burn)
        self.assertIn("no line has at least 100 % of it", none)

    def test_colour(self):
        options = ["--source-path", ROOT, "-f", "burn_30"]
        self.assertNotIn("\033", self.text(*options, self.burn))
        red = [l for l in self.text(*options, "--color", "always", self.burn).splitlines()
               if l.startswith("\033[1;31m")]
        self.assertTrue(any("number * 0.75" in l for l in red), red)
        self.assertNotIn(b"\033", self.succeeds([TOOL, *options, "--color", "always", "--format", "json",
                                                  self.burn]).out)

    def test_output_file(self):
        out = os.path.join(self.folder, "a.json")
        self.succeeds([TOOL, "-q", "-o", out, self.burn])
        with open(out) as f:
            self.assertTrue(json.load(f)["rows"])

    def test_nothing_is_selected(self):
        out = os.path.join(self.folder, "b.csv")
        err = self.succeeds([TOOL, "-f", "burn_3", "-o", out, self.burn]).err
        self.assertIn("nothing is selected: no function matches 'burn_3', did you mean 'burn_30'?", err)
        with open(out) as f:
            self.assertEqual(len(f.read().splitlines()), 1)  # the names of the columns
        self.assertEqual(self.text("-q", "-f", "nothing at all", self.burn), "")

    def test_width(self):
        """Lines fit the terminal; whole functions, instructions, intervals, and omitted parts."""
        options = [[], ["--asm"], ["--ci"], ["--asm", "--ci", "--metric", "samples"]]
        for pbin, more in ((self.burn, ["--source-path", ROOT]), (self.inlined, [])):
            for chosen in options:
                for columns in (80, 200):
                    text = self.text("-f", "*", *chosen, *more, pbin, columns=columns)
                    self.assertLessEqual(max(map(len, text.splitlines())), columns, (chosen, columns))
                    if "--asm" in chosen or columns == 200:
                        self.assertEqual("(not shown: " in text, columns == 80, (chosen, columns))
        text = self.text("--asm", "-f", "burn_30", self.burn, columns=80)
        self.assertNotIn("samples  ", text)
        self.assertIn("(not shown: samples", text)
        wide = self.text("--asm", "-f", "burn_30", "--wide", self.burn, columns=80)
        self.assertIn("samples  ", wide)
        self.assertNotIn("(not shown", wide)

    def test_usage(self):
        for options in (["--metric", "heat"], ["--threshold", "101"], ["--context", "-1"], ["--prefix-map", "x"],
                        ["--syntax", "masm"], ["--format", "pbin"]):
            self.assertEqual(tool.run([TOOL, *options, self.burn]).status, 2, options)


class Hostile(tool.Case):
    def limits(self):
        return {"memory": None if tool.is_asan() else 256 * tool.MB, "timeout": 40}

    def show(self, writer, *options, status=0, columns=None, **more):
        with mock.patch.dict(os.environ, {"COLUMNS": str(columns)} if columns else {}):
            ended = tool.run([TOOL, *options, self.file("h.pbin", writer.bytes())], cwd=self.folder, **self.limits(), **more)
        self.assertEqual(ended.status, status, ended.err)
        return ended

    def source(self, data):
        return self.file("source.c", data)

    def test_last_line_number(self):
        w = Writer()
        source = self.source(b"one\ntwo\nthree\n")
        for pc, line in enumerate((2, 2**32 - 1)):
            w.location(pc, "f", source, line)
        out = self.show(w).out.decode()
        self.assertIn("2 | two", out)
        self.assertIn(f"{2**32 - 1} |\n", out)
        self.show(w, "--context", "4294967295")
        w.location(9, "f", "/nowhere.c", 2**32 - 1)
        self.show(w)

    def levels(self, *options):
        """{(binary, function): samples of its rows}; line N of F has N samples of a millisecond
        each."""
        w = Writer(target="app")
        pc = 0
        for binary, function, lines in (("app", "f", (4, 2)), ("app", "g", (3,)), ("lib", "h", (5, 1)), ("lib", "i", (2,))):
            for line in lines:
                for pc in range(pc + 1, pc + 1 + line):
                    w.location(pc, function, "/none.c", line, binary=binary)
        rows = json.loads(self.show(w, "--format", "json", *options).out)["rows"]
        found = {}
        for row in rows:
            self.assertAlmostEqual(row["time"], row["samples"] / 1000)
            found.setdefault((row["binary"], row["function"]), []).append(row["samples"])
        return found

    def test_levels(self):
        app, lib = {("app", "f"): [2, 4], ("app", "g"): [3]}, {("lib", "h"): [1, 5], ("lib", "i"): [2]}
        self.assertEqual(self.levels("--level", "line"), app | lib)
        self.assertEqual(self.levels("--level", "binary"), {("app", None): [9]} | lib)
        self.assertEqual(self.levels("--external-level", "binary"), {("lib", None): [8]} | app)
        self.assertEqual(self.levels("--external-level", "function"), {("lib", "h"): [6], ("lib", "i"): [2]} | app)
        self.assertEqual(self.levels("-f", "h", "--external-level", "function"), {("lib", "h"): [6]})

    def test_minima(self):
        self.assertEqual(self.levels("--min", "binary:samples=9"), {("app", "f"): [2, 4], ("app", "g"): [3]})
        self.assertEqual(self.levels("--min", "function:time=0.006"), {("app", "f"): [2, 4], ("lib", "h"): [1, 5]})
        self.assertEqual(self.levels("--min", "line:time=0.004", "-f", "[fgi]"), {("app", "f"): [4]})
        self.assertEqual(self.levels("--min", "function:samples=6", "--min", "line:samples=5"), {("lib", "h"): [5]})
        self.assertEqual(self.levels("--min", "function:samples=3", "--level", "binary", "--external-level", "binary"),
                         {("app", None): [9], ("lib", None): [8]})

    def test_control_characters(self):
        w = Writer()
        source = self.source(b"\tx\x1b[31m\x00y\xff\r\na\tb\n" + "é\tz\n".encode())
        w.location(1, "f", source, 1)
        ended = self.show(w)
        lines = [l.split("|", 1)[1] for l in ended.out.decode().splitlines() if "|" in l]
        self.assertEqual(lines[:3], [" " + " " * 8 + "x\\x1b[31m\\x00y\\xff", " a       b", " é       z"])
        self.assertFalse(set(ended.out) & (set(range(32)) - {10}))

    def test_names_with_escape_sequences(self):
        w = Writer()
        w.location(1, "f\x1b[2J", "file\x1b]0;\x07", 1, binary="b\x1b", inner="i\x1b")
        for options in ([], ["--asm"]):
            ended = self.show(w, *options)
            self.assertFalse(set(ended.out + ended.err.encode()) & (set(range(32)) - {10}))

    def test_special_files_are_no_sources(self):
        fifo = os.path.join(self.folder, "fifo")
        os.mkfifo(fifo)
        w = Writer()
        for pc, path in enumerate(("/dev/zero", "/dev/stdin", fifo, self.folder, "/proc/self/fd/0")):
            w.location(pc, "f", path, 5)
        self.assertEqual(self.show(w).err.count("source not found"), 5)
        w = Writer()
        for pc, path in enumerate(("/dev/zero", fifo, self.folder)):
            w.location(0x1000 * pc, "f", "", 0, map_number=w.map(0x1000 * pc, 4096, path, path))
        self.assertEqual(self.show(w, "--asm").err.count("not a regular file"), 3)

    def test_long_names_and_lines(self):
        w = Writer()
        source = self.source("short\n{}end\n".format("é" * 100).encode())
        name = "ns::" + "f" * 60 + "<" + "int, " * 30 + "int>(int)"
        w.location(1, name, source, 1, binary="b" * 90)
        w.location(2, name, source, 2, binary="b" * 90)
        lines = self.show(w, columns=80).out.decode().splitlines()
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertTrue(lines[0].startswith("ffff") and lines[0].endswith("bbb:"), lines[0])
        self.assertTrue(lines[1].startswith("  ") and lines[1].endswith("% of total CPU time"), lines[1])
        cut, = [l for l in lines if "é" in l]
        self.assertTrue(cut.endswith("éé...") and len(cut) == 80, cut)
        self.assertIn(name, self.show(w, "--wide").out.decode())

    def test_large_source(self):
        w = Writer()
        source = self.source(b"")
        with open(source, "wb") as f:
            f.write(b"first\n" + b"x" * (100 << 20) + b"\nlast\n")
        w.location(1, "f", source, 3)
        w.location(2, "f", source, 1)
        ended = self.show(w, peak=True)
        self.assertIn(b"| last", ended.out)
        if not tool.is_asan():
            self.assertLess(ended.peak, 64 * tool.MB)

    def test_many_lines_of_many_functions(self):
        w = Writer()
        for pc in range(60000):
            w.location(pc, f"f{pc % 3}", "/nowhere.c", 7 if pc % 2 else pc * 70000 % 2**32, inner=f"inner{pc}")
        ended = self.show(w, "-f", "*", "--format", "csv")
        self.assertEqual(ended.out.count(b"\n"), 30000 + 3 + 1)

    def test_long_paths(self):
        w = Writer()
        w.location(1, "f", "a/" * 500000 + "x.c", 1)
        w.location(2, "f", "/" * 3000, 1)
        w.location(3, "f", "b/" * 2000 + "x.c", 1)
        self.show(w, "--source-path", self.folder)

    def test_map_that_does_not_fit(self):
        for address, size, offset in ((0, 0, 2**64 - 1), (2**64 - 1, 2**64 - 1, 2**64 - 2), (5, 7, 0),
                                      (0, 4096, 2**63)):
            w = Writer()
            number = w.map(address, size, BURN, BURN, "", offset)
            for pc in (0, 1, 2**64 - 1, 2**63, 0x1000):
                w.location(pc, "f", "", 0, map_number=number)
            self.show(w, "--asm", "--format", "json")

    def test_damaged_binaries(self):
        with open(BURN, "rb") as f:
            good = f.read()
        path = os.path.join(self.folder, "damaged")
        w = Writer()
        number = w.map(0x1000, 0x1000, path, path, "", 0x1000)
        for pc in range(0x1000, 0x2000, 0x40):
            w.location(pc, "f", "", 0, map_number=number)
        self.file("h.pbin", w.bytes())
        for seed in range(60):
            data = bytearray(good)
            for k in range(1 + seed % 5):  # headers, then anywhere
                at = (seed * 7919 + k * 104729) % (len(data) if seed % 2 else 0x400)
                data[at] = (seed * 31 + k * 17 + 0xff * (seed % 3 == 0)) & 0xff
            self.file("damaged", bytes(data[:len(data) // (1 + seed % 4)]))
            ended = tool.run([TOOL, "-q", "--asm", os.path.join(self.folder, "h.pbin")], **self.limits())
            self.assertIn(ended.status, (0, 1), (seed, ended.err))

    def test_sums_beyond_128_bits(self):
        w = Writer(keys="function,file,line")
        f = w.string("f")
        w.add_run()
        for line in range(1, 4):
            w.add_row(f, 0, line, time=2**126 - 1)
        ended = self.show(w, status=1)
        self.assertIn("too large to add", ended.err)

    def test_rows_of_unknown_keys(self):
        for keys in ("function,file,line,colour", "function", ",", "function,file,line," + "line," * 20):
            w = Writer(keys=keys)
            w.add_run()
            self.show(w, status=1)

    def test_line_beyond_32_bits(self):
        w = Writer(keys="function,file,line")
        f, source = w.string("f"), w.string(self.source(b"a\nb\n"))
        w.add_run()
        w.add_row(f, source, 2**64 - 1, time=1 << 60)
        w.add_row(f, source, 1, time=1 << 60)
        for options in ([], ["--context", "3"], ["--format", "json"]):
            self.assertIn(str(2**64 - 1) if not options else "1", self.show(w, *options).out.decode())

    def test_no_samples(self):
        ended = self.show(Writer(), status=1)
        self.assertIn("nothing to annotate", ended.err)


if __name__ == "__main__":
    unittest.main()
