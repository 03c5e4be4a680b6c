"""Which rows correspond: clones, Rust's hashes, binaries with another name, moved lines.

SPDX-License-Identifier: MIT
"""
import json
import os
import subprocess

import rawprofile as raw
import simulate
import tool

BEFORE = """volatile int sink;
int main(void)
{
    for (int i = 0; i < 10; i++) {
        sink += 1;
        sink += 2;
        sink += 3;
        sink += 4;
        sink += 5;
    }
    return 0;
}
"""
# two lines were inserted above, one in the middle
AFTER = BEFORE.replace("volatile", "\n\nvolatile", 1).replace("        sink += 3;", "        sink += 99;\n        sink += 3;")


class Matching(tool.Case):
    def rows(self, *argv):
        table = json.loads(self.succeeds(["pbin-compare", "-q", "--format=json", *argv]).out)
        return table, {r["function"]: r for r in table["rows"]}

    def profile(self, name, functions, work, binary="prog", seed=1, **more):
        folder = os.path.join(self.folder, name)
        os.mkdir(folder)
        program = simulate.Program(folder, binary, functions)
        return simulate.save(folder, "p.pbin", simulate.run(program, seed, work, 300, **more))

    def test_clones(self):
        old = self.profile("a", ["f.constprop.0", "g", "h.part.0.cold"],
                           {"f.constprop.0": 2, "g": 2, "h.part.0.cold": 1})
        new = self.profile("b", ["zzz", "g.isra.4", "h", "h.cold", "f.llvm.123"],
                           {"g.isra.4": 2, "h": 1, "h.cold": 1, "f.llvm.123": 2})
        table, rows = self.rows(old, new)
        self.assertEqual(sorted(rows), ["f", "g", "h"])
        self.assertEqual({r["verdict"] for r in rows.values()}, {"not significant"})
        self.assertAlmostEqual(table["profile"]["coverage_other"], 100)
        self.assertAlmostEqual(sum(r["other"] for r in rows.values()), table["total"]["other"])

    def test_rust(self):
        old, new = ("_ZN4core3fmt5write17h0123456789abcdefE", "_ZN4core3fmt5write17hfedcba9876543210E")
        _, rows = self.rows(self.profile("a", [old], {old: 1}), self.profile("b", [new], {new: 1}))
        self.assertEqual(sorted(rows), ["core::fmt::write"])

    def test_other_names_stay_apart(self):
        old = self.profile("a", ["f", "g.cold2"], {"f": 1, "g.cold2": 1})
        new = self.profile("b", ["f2", "g"], {"f2": 1, "g": 1})
        _, rows = self.rows(old, new)
        self.assertEqual({k: r["verdict"] for k, r in rows.items()},
                         {"f": "gone", "g.cold2": "gone", "f2": "new", "g": "new"})

    def test_binaries(self):
        old = self.profile("a", ["f"], {"f": 1}, "app-1.0")
        new = self.profile("b", ["f"], {"f": 1}, "app-1.1")
        table, _ = self.rows(old, new)
        self.assertEqual({r["verdict"] for r in table["rows"]}, {"gone", "new"})
        self.assertEqual(table["profile"]["coverage_other"], 0)
        table, rows = self.rows("--map-binary", "x=y", "--map-binary", "app-1.0=app-1.1", old, new)
        self.assertEqual((rows["f"]["binary"], rows["f"]["verdict"]), ("app-1.1", "not tested"))
        self.assertEqual(len(table["rows"]), 1)

    def test_joined_clones_of_aggregated_runs_have_an_upper_bound_of_variance(self):
        """Two parts vary in opposite directions between runs: their sum varies less than the
        bound."""
        files = []
        for i, first in enumerate((10, 90, 50)):
            files.append(self.profile(f"r{i}", ["f", "f.cold"], {"f": first, "f.cold": 100 - first}, seed=i))
        merged = os.path.join(self.folder, "merged.pbin")
        self.succeeds(["pbin-aggregate", "--format=pbin", "-o", merged, *files])
        other = self.profile("o", ["f"], {"f": 1}, seed=50, speed=1.2)
        other2 = self.profile("o2", ["f"], {"f": 1}, seed=51, speed=1.2)
        exact, _ = self.rows("--base", *files, "--with", other, other2)
        bound, _ = self.rows("--base", merged, "--with", other, other2)
        self.assertEqual(exact["rows"][0]["base"], bound["rows"][0]["base"])
        self.assertEqual(exact["rows"][0]["significant"], "yes")
        self.assertLess(exact["rows"][0]["p"], bound["rows"][0]["p"])

    def test_entries_of_joined_clones(self):
        """A walk back and forth between two parts of one function enters the whole function once:
        nothing is proved."""
        files = []
        for i, work in enumerate(({"f": 1, "f.cold": 1}, {"f": 1, "f.cold": 1, "g": 1})):
            files.append(self.profile(f"r{i}", ["f", "f.cold", "g"], work))
        _, rows = self.rows(*files)
        self.assertEqual(rows["f"]["significant"], "no")


class Lines(tool.Case):
    def build(self, name, text):
        folder = os.path.join(self.folder, name)
        os.mkdir(folder)
        source, path = os.path.join(folder, "work.c"), os.path.join(folder, "work")
        with open(source, "w") as f:
            f.write(text)
        subprocess.run(["gcc", "-g", "-O0", "-no-pie", "-o", path, source], check=True)
        return path

    def lines(self, path, text):
        """{statement: one of its addresses}, from objdump."""
        out = subprocess.run(["objdump", "--dwarf=decodedline", path], stdout=subprocess.PIPE, check=True)
        source, found = text.split("\n"), {}
        for words in (line.split() for line in out.stdout.decode().splitlines()):
            if len(words) >= 3 and words[0].endswith(".c") and words[1].isdigit():
                found.setdefault(source[int(words[1]) - 1].strip(), int(words[2], 16))
        return {k: v for k, v in found.items() if k.startswith("sink")}

    def profile(self, name, text, work):
        path = self.build(name, text)
        address = self.lines(path, text)
        program = simulate.Program.__new__(simulate.Program)
        program.path, program.label, program.address = path, "work", address
        offset, first, size = simulate.program.executable_segment(path)
        program.map = raw.Map(first // 4096 * 4096, -(-size // 4096) * 4096, "work", path=path)
        run = simulate.run(program, 5, work, 2000, places=1)
        pbin = os.path.join(self.folder, name + ".pbin")
        ended = tool.run(["prof2pbin", "-q", "-s", os.path.dirname(path), "-o", pbin], stdin=raw.write(run, "sampler"))
        self.assertEqual(ended.status, 0, ended.err)
        return pbin

    def test_moved_lines(self):
        work = {f"sink += {i};": 10 + 5 * i for i in range(1, 6)}
        old = self.profile("old", BEFORE, work)
        new = self.profile("new", AFTER, dict(work, **{"sink += 99;": 8}))
        table = json.loads(self.succeeds(["pbin-compare", "--format=json", "--match", "line", old, new]).out)
        pairs = {(r["line"], r["other_line"]): r["verdict"] for r in table["rows"]}
        want = {(5 + i, 7 + i if i < 2 else 8 + i): "not significant" for i in range(5)}
        want[None, 9] = "new"
        self.assertEqual(pairs, want)
        self.assertAlmostEqual(table["profile"]["coverage_other"], 100)
        self.assertEqual({(r["binary"], r["file"], r["function"]) for r in table["rows"]}, {("work", "work.c", "main")})
        # without the option, line 7 is compared with the line 7 of the other program
        table = json.loads(self.succeeds(["pbin-compare", "--format=json", "-k", "function,line", old, new]).out)
        self.assertIn(7, [r["line"] for r in table["rows"] if r["base"] and r["other"]])

    def test_same_lines(self):
        work = {f"sink += {i};": 10 + 5 * i for i in range(1, 6)}
        old = self.profile("old", BEFORE, work)
        table = json.loads(self.succeeds(["pbin-compare", "--format=json", "--match", "line", old, old]).out)
        self.assertEqual(sorted((r["line"], r["other_line"], r["difference"]) for r in table["rows"]),
                         [(line, line, 0) for line in range(5, 10)])

    def test_three_sides(self):
        work = {f"sink += {i};": 10 + 5 * i for i in range(1, 6)}
        files = [self.profile("a", BEFORE, work), self.profile("b", AFTER, work), self.profile("c", BEFORE, work)]
        table = json.loads(self.succeeds(["pbin-compare", "--format=json", "--match", "line", *files]).out)
        for row in table["rows"]:
            self.assertEqual(row["other_line_other1"], row["line"] + (2 if row["line"] < 7 else 3))
            self.assertEqual(row["other_line_other2"], row["line"])


