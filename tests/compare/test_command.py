"""The command line of pbin-compare: sides, names, conditions for CI, formats, and refused usage.

SPDX-License-Identifier: MIT
"""
import bz2
import json
import os
import tempfile

import pbin
import profiles
import simulate
import tool

WORK = {"hot": 50, "warm": 30, "evil|<b>_name": 20}
SLOW = dict(WORK, warm=45)


def setUpModule():
    global HOLDER, BASE, SAME, SLOWER
    HOLDER = tempfile.TemporaryDirectory()
    program = simulate.Program(HOLDER.name, "prog", list(WORK))
    BASE, SAME, SLOWER = (
        [simulate.save(HOLDER.name, f"{name}{i}.pbin", simulate.run(program, seed + i, work, samples))
         for i in range(3)] for name, seed, work, samples in
        (("base", 1, WORK, 2000), ("same", 11, WORK, 2000), ("slow", 21, SLOW, 2300)))


def tearDownModule():
    HOLDER.cleanup()


class Gate(tool.Case):
    def gate(self, condition, base, other, status, *more):
        ended = tool.run(["pbin-compare", "--fail-if", condition, *more, "--base", *base, "--with", *other])
        self.assertEqual(ended.status, status, condition + ended.err)
        self.assertTrue(ended.out.startswith(b"metric "), "the table is there in any case")
        return ended.err.splitlines()

    def test_row(self):
        for condition in ("time>5%", "time>0%", "time>0.1s", "time>100ms", "energy>5%", "energy>0.2J", "samples>200"):
            with self.subTest(condition):
                lines = self.gate(condition, BASE, SLOWER, 3)
                self.assertEqual(len(lines), 1, lines)
                self.assertTrue(lines[0].startswith(f"pbin-compare: {condition}: other: prog warm: "), lines)

    def test_below_the_limit(self):
        for condition in ("time>60%", "time>0.5s", "time>500ms", "energy>1.5J", "power>5%", "samples>2000"):
            with self.subTest(condition):
                self.assertEqual(self.gate(condition, BASE, SLOWER, 0), [])

    def test_not_significant(self):
        self.assertEqual(self.gate("time>0%", BASE, SAME, 0), [])

    def test_total(self):
        lines = self.gate("total:time>10%", BASE, SLOWER, 3)
        self.assertEqual(len(lines), 1)
        self.assertIn("other: _total: 2.", lines[0])
        self.assertEqual(self.gate("total:time>20%", BASE, SLOWER, 0), [])
        self.assertEqual(self.gate("total:time>0.2s", BASE, SLOWER, 3)[0][:42], "pbin-compare: total:time>0.2s: other: _tot")
        self.assertEqual(self.gate("total:time>0.4s", BASE, SLOWER, 0), [])

    def test_what_can_never_fail_is_refused(self):
        for condition in ("total:time>0%", "total:energy>1J", "power>5%"):
            for sides in ((BASE[:1], SLOWER[:1]), (BASE, SLOWER[:1])):
                for more in ([], ["-q"]):
                    argv = ["pbin-compare", *more, "--fail-if", condition, "--base", *sides[0], "--with", *sides[1]]
                    ended = self.fails(argv, f"--fail-if '{condition}' can never fail", status=2)
                    self.assertIn("several runs", ended.err)
        self.gate("time>5%", BASE[:1], SLOWER[:1], 3)

    def test_what_no_row_can_be_tested_for(self):
        sides = [os.path.join(os.path.dirname(os.environ["TESTS"]), "samples", name) for name in ("a.pbin", "b.pbin")]
        for condition in ("samples>1", "power>5%", "calls>1%", "inclusive>1%", "total:calls>1%"):
            ended = tool.run(["pbin-compare", "--fail-if", condition, *sides])
            self.assertEqual(ended.status, 2, condition)
            self.assertIn(f"--fail-if '{condition}' cannot be tested: nothing in other has enough values", ended.err)

    def test_values_have_units(self):
        for condition, unit in (("time>5%", " s"), ("energy>5%", " J"), ("samples>5%", "")):
            self.assertRegex(self.gate(condition, BASE, SLOWER, 3)[0], rf": [0-9.]+{unit}, base [0-9.]+{unit}, p ")
        self.assertRegex(self.gate("total:time>10%", BASE, SLOWER, 3)[0], r": [0-9.]+ s, base [0-9.]+ s, p ")

    def test_limits_are_in_the_unit_of_the_values(self):
        """Volt seconds are not joules."""
        runs = [self.file(f"{n}.pbin", pbin.write(profiles.make(n, pmu=pbin.VOLTAGE, unit="V"))) for n in (1, 2)]
        for condition in ("energy>1J", "power>1W"):
            ended = self.fails(["pbin-compare", "-q", *runs, "--fail-if", condition], f"--fail-if '{condition}'", status=2)
            self.assertIn("the profiles contain voltage_time [V s]: give the limit in %", ended.err)
        self.assertIn(tool.run(["pbin-compare", "-q", *runs, "--fail-if", "energy>1%"]).status, (0, 3))

    def test_narrow_tables_keep_the_error_that_was_asked_for(self):
        os.environ["COLUMNS"] = "72"
        self.addCleanup(os.environ.pop, "COLUMNS")
        out = self.succeeds(["pbin-compare", "--error=weighted-absolute", "--base", *BASE, "--with", *SLOWER]).out.decode()
        head = next(line for line in out.splitlines() if "function" in line)
        self.assertIn("weighted_absolute [s]", head)
        self.assertNotIn("ratio", head)

    def test_everything_ten_times_slower(self):
        """A single run does not show whether the program changed, but the output must not suggest
        that it did not."""
        program = simulate.Program(self.folder, "p", list(WORK))
        runs = [simulate.save(self.folder, f"r{n}.pbin", simulate.run(program, 5, WORK, n)) for n in (500, 5000)]
        table = json.loads(self.succeeds(["pbin-compare", "--format=json", *runs]).out)
        self.assertEqual({r["verdict"] for r in table["rows"]}, {"as the total"})
        self.assertEqual(table["total"]["verdict"], "not tested")
        self.assertRegex(table["profile"]["total_other"], r"^(9\.\d*|10(\.\d)?) times that of the base, not tested")
        for more in ([], ["-q"]):
            lines = self.gate("time>5%", runs[:1], runs[1:], 2, *more)
            self.assertEqual(len(lines), 1)
            self.assertRegex(lines[0], r"--fail-if 'time>5%' cannot be tested: everything in other takes about (9\.\d*|10(\.\d)?) "
                             r"times as much as in the base.*; record several runs of each side")
        several = [simulate.save(self.folder, f"s{n}.pbin", simulate.run(program, n, WORK, n)) for n in (505, 510, 5005, 5010)]
        self.gate("time>5%", [runs[0], *several[:2]], [runs[1], *several[2:]], 3)
        self.assertEqual(self.succeeds(["pbin-compare", "--fail-if", "time>2000%", *runs]).err, "")
        same = json.loads(self.succeeds(["pbin-compare", "--format=json", BASE[0], SAME[0]]).out)
        self.assertEqual(self.succeeds(["pbin-compare", "--fail-if", "time>5%", BASE[0], SAME[0]]).err, "")
        self.assertNotIn("total_other", same["profile"])
        self.assertEqual({r["verdict"] for r in same["rows"]}, {"not significant"})

    def test_several(self):
        lines = self.gate("time>5%", BASE, SLOWER, 3, "--fail-if", "energy>5%", "--fail-if", "power>5%")
        self.assertEqual([line.split(": ")[1] for line in lines], ["time>5%", "energy>5%"])

    def test_names_the_side(self):
        ended = tool.run(["pbin-compare", "-n", "v1,v2,v3", "--fail-if=time>5%", "--base", *BASE, "--with", *SAME,
                          "--with", *SLOWER])
        self.assertEqual((ended.status, ended.err.count("\n")), (3, 1), ended.err)
        self.assertIn(": v3: prog warm: ", ended.err)

    def test_bad_conditions(self):
        for wrong in ("", "time", "time>", "time>x", "time>5", "time>-5%", "time>5J", "energy>5s", "energy>5",
                      "share>5%", "foo>5%", "time<5%", ">5%", "total:", "total:time", "samples>5s", "time>5%%",
                      "time>nan%", "time>1e999s", "time>0x5s"):
            with self.subTest(wrong):
                ended = tool.run(["pbin-compare", "--fail-if", wrong, BASE[0], SAME[0]])
                self.assertEqual((ended.status, ended.out), (2, b""))
                self.assertTrue(ended.err.startswith(f"pbin-compare: --fail-if '{wrong}': "), ended.err)


class Usage(tool.Case):
    def refused(self, text, *argv):
        ended = tool.run(["pbin-compare", *argv])
        self.assertEqual((ended.status, ended.out), (2, b""), ended.err)
        self.assertIn(text, ended.err)

    def test_refused(self):
        two = BASE[0], SAME[0]
        for text, *argv in (
                ("a base and at least one other", ), ("a base and at least one other", BASE[0]),
                ("a base and at least one other", "--base", *two), ("--base must precede", "--with", *two),
                ("must come first and only once", "--base", BASE[0], "--base", SAME[0]),
                ("must follow --base or --with", *two, "--base", BASE[0]),
                ("unknown key 'foo'", "-k", "foo", *two), ("named twice", "-k", "line,line", *two),
                ("--match must be", "--match", "x", *two), ("needs the keys", "--match", "line", "-k", "file", *two),
                ("cannot be combined", "--match", "line", "-k", "function,line,pc", *two),
                ("--map-binary must be", "--map-binary", "x", *two), ("--map-binary must be", "--map-binary", "=x", *two),
                ("--map-binary must be", "--map-binary", "x=", *two),
                ("--metric must be", "--metric", "x", *two), ("--error must be", "--error", "x", *two),
                ("--aggregate must be", "--aggregate", "x", *two), ("--sort must be", "--sort", "x", *two),
                ("--top must be", "--top", "0", *two), ("--largest must be", "--largest", "0", *two),
                ("--threshold must be", "--threshold", "101", *two), ("--cumulative must be", "--cumulative", "0", *two),
                ("filter 'colour=x'", "--filter", "colour=x", *two), ("--alpha must be", "--alpha", "0", *two),
                ("--alpha must be", "--alpha", "0.6", *two), ("--min-share must be", "--min-share", "101", *two),
                ("--noise must be", "--noise", "-1", *two), ("--format must be", "--format", "xml", *two),
                ("has 1 names for 2", "-n", "a", *two), ("more names", "-n", "a,b,c", *two),
                ("repeated", "-n", "a,a", *two), ("empty", "-n", "a,", *two), ("reserved", "-n", "a,ratio", *two),
                ("reserved", "-n", "a,function", *two), ("at most 64", *[BASE[0]] * 65)):
            with self.subTest(argv=argv[:4]):
                self.refused(text, *argv)

    def test_sixty_four_sides(self):
        table = json.loads(self.succeeds(["pbin-compare", "--format=json", *[BASE[0]] * 64]).out)
        self.assertEqual(table["total"]["difference_other63"], 0)

    def test_help(self):
        text = self.succeeds(["pbin-compare", "--help"]).out.decode()
        self.assertEqual(text.count("\n  pbin-compare "), 3)


class Files(tool.Case):
    def test_bad_files(self):
        with open(BASE[0], "rb") as f:
            good = f.read()
        for name, data in (("empty", b""), ("cut", good[:-20]), ("garbage", os.urandom(100)),
                           ("damaged", good[:300] + bytes([good[300] ^ 1]) + good[301:])):
            with self.subTest(name):
                bad = self.file(name, data)
                out = os.path.join(self.folder, "out.md")
                for argv in ((bad, BASE[0]), (BASE[0], bad), ("--base", BASE[0], bad, "--with", BASE[1])):
                    self.fails(["pbin-compare", "-o", out, *argv], bad)
                    self.assertFalse(os.path.exists(out))
        self.fails(["pbin-compare", BASE[0], "/nonexistent"], "/nonexistent")

    def test_salvage(self):
        with open(BASE[0], "rb") as f:
            cut = self.file("cut", f.read()[:-20])
        ended = tool.run(["pbin-compare", "--salvage", "--format=json", cut, SAME[0]])
        self.assertEqual(ended.status, 0, ended.err)
        self.assertRegex(ended.err, r"cut: 0x[0-9a-f]+: block '....' cut short: .*: kept the [1-9]\d* samples before\n")
        self.assertGreater(json.loads(ended.out)["total"]["base"], 0)

    def test_bzip2(self):
        argv = ["pbin-compare", BASE[0], SAME[0]]
        packed = self.succeeds(argv + ["--bzip2", "--color=always"]).out
        self.assertEqual(bz2.decompress(packed), self.succeeds(argv).out)

    def test_keys_that_are_not_there(self):
        merged = os.path.join(self.folder, "m.pbin")
        self.succeeds(["pbin-aggregate", "--format=pbin", "-k", "function", "-o", merged, *BASE])
        self.fails(["pbin-compare", merged, BASE[0]], merged)
        self.succeeds(["pbin-compare", "-k", "function", merged, BASE[0]])

    def test_stdin(self):
        with open(SAME[0], "rb") as f:
            self.succeeds(["pbin-compare", BASE[0], "-"], stdin=f)

    def test_formats(self):
        starts = {"a.csv": b"binary,function,weight [%],base [s],", "a.json": b'{"profile":', "a.jsonl": b'{"binary":',
                  "a.md": b"- metric: time\n", "a.txt": b"metric  ", "a.csv.bz2": b"BZh"}
        for name, start in starts.items():
            with self.subTest(name):
                path = os.path.join(self.folder, name)
                self.assertEqual(self.succeeds(["pbin-compare", "-o", path, BASE[0], SAME[0]]).out, b"")
                with open(path, "rb") as f:
                    self.assertEqual(f.read(len(start)), start)

    def test_markdown(self):
        text = self.succeeds(["pbin-compare", "--format=markdown", "--base", *BASE, "--with", *SLOWER]).out.decode()
        lines = text.splitlines()
        table = lines[lines.index("") + 1:]
        bars = [line.replace("\\|", "").count("|") for line in table]
        self.assertEqual(bars, [bars[0]] * 6, text)  # titles, rule, three rows, total
        self.assertEqual(table[1], "|:---|:---|---:|---:|---:|---:|---:|---:|:---|:---|")
        self.assertIn("| evil\\|\\<b\\>\\_name |", text)
        self.assertIn("| yes | slower |", text)

    def test_colour(self):
        argv = ["pbin-compare", "--base", *BASE, "--with", *SLOWER]
        coloured = self.succeeds(argv + ["--color=always"]).out.decode()
        self.assertIn("\033[31mslower\033[0m", coloured)
        self.assertNotIn("\033[32m", coloured)
        back = self.succeeds(["pbin-compare", "--color=always", "--base", *SLOWER, "--with", *BASE]).out.decode()
        self.assertIn("\033[32mfaster\033[0m", back)
        plain = self.succeeds(argv).out.decode()
        self.assertEqual(plain, coloured.replace("\033[0m", "").replace("\033[31m", "").replace("\033[1m", ""))
        self.assertNotIn("\033", self.succeeds(argv + ["--color=always", "--format=csv"]).out.decode())

    def test_energy_needs_values(self):
        program = simulate.Program(self.folder, "p", ["f"])
        run = simulate.run(program, 1, {"f": 1}, 10)
        run.kind = 0  # a custom quantity
        custom = simulate.save(self.folder, "custom.pbin", run)
        self.fails(["pbin-compare", "--metric", "energy", BASE[0], custom])
        self.fails(["pbin-compare", "--fail-if", "power>1W", BASE[0], custom], status=2)
        self.succeeds(["pbin-compare", BASE[0], custom])
