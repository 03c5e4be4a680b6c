"""Keys that distinguish code: offsets instead of addresses, linkage names, lines of calls.

SPDX-License-Identifier: MIT
"""
import html
import json
import subprocess
import unittest

import pbin
import profiles
import program
import rawprofile as raw
import tool

LABELS = ("_idle", "_gap", "_other", "_others", "_total", "_any", "_residual", "_excluded", "_unsampled", "_kernel", "_foreign")
PLACES = ((0x10, "app", 0), (0x24, "app", 0), (0x10, "libx.so", 1))


class Places(tool.Case):
    def run_at(self, name, bases, offset=0x1000):
        """A run whose files are mapped at BASES: three places in each, and one outside any
        mapping."""
        maps = [pbin.Map(base, 0x1000, offset, label) for base, label in zip(bases, ("app", "libx.so"))]
        inner = pbin.Frame("_Z5innerv", "inner()", "/src/inner.h", 7)
        outer = pbin.Frame("_Z5outeri", "outer(int)", "/src/outer.c", 30)
        places = [pbin.Location(bases[i] + at, binary, [inner, outer] if at == 0x24 else [outer], i)
                  for at, binary, i in PLACES]
        places.append(pbin.Location(0x7000_0000_0010, "_foreign", [pbin.Frame("_foreign", "_foreign", "", 0)]))
        profile = pbin.Profile({"target": "app", "cpu_time": 1, "times": 1, "samples": 8, "wall_ns": 8_000_000},
                               [pbin.Thread(1, 1, "app")], places, maps=maps)
        profile.samples = [pbin.Sample(1_000_000, 0.0, [(0, i % 4, 1_000_000)]) for i in range(8)]
        return self.file(name, pbin.write(profile))

    def rows(self, keys, *files, name="pbin-aggregate"):
        out = self.succeeds([name, "-q", "--format=json", "-k", keys, *files]).out
        return [tuple(r[k] for k in keys.split(",")) for r in json.loads(out)["rows"]]

    def test_offsets_are_the_same_at_any_address(self):
        files = [self.run_at("a", (0x5550_0000_0000, 0x7f00_0000_0000)), self.run_at("b", (0x5561_2345_6000, 0x7f11_1111_1000))]
        want = {("app", "0x1010"), ("app", "0x1024"), ("libx.so", "0x1010"), ("_foreign", "0x700000000010")}
        for chosen in (files[:1], files[1:], files):
            self.assertEqual(set(self.rows("binary,pc", *chosen)), want)
        self.assertEqual(set(self.rows("binary,pc", *files, name="pbin-compare")), want)
        whole = json.loads(self.succeeds(["pbin-aggregate", "-q", "--format=json", "-k", "pc", *files]).out)
        self.assertEqual([c["name"] for c in whole["columns"][:2]], ["binary", "pc"])
        self.assertEqual({r["runs"] for r in whole["rows"]}, {2})

    def test_mapping_without_offset(self):
        file = self.run_at("a", (0x5550_0000_0000, 0x7f00_0000_0000), pbin.NOT_KNOWN)
        self.assertIn(("app", "0x24"), self.rows("binary,pc", file))

    def test_offsets_in_aggregated_profiles(self):
        files = []
        for i, base in enumerate((0x5550_0000_0000, 0x5561_2345_6000)):
            files.append(f"{self.folder}/sum{i}")
            self.succeeds(["pbin-aggregate", "-k", "pc", "--format=pbin", "-o", files[-1],
                           self.run_at(f"r{i}", (base, base + 0x10_0000))])
        self.assertEqual(len(self.rows("binary,pc", *files)), 4)

    def test_offsets_of_sums_per_program_counter(self):
        """Sums per program counter are rows in place of samples, with addresses; those outside
        mappings stay as they are."""
        files = []
        for i, base in enumerate((0x5550_0000_0000, 0x5561_2345_6000)):
            samples = [raw.Sample(0.5, [raw.Thread(1, base + 0x10 * (1 + k % 3))]) for k in range(9)]
            run = raw.Run(samples, [raw.Map(base, 0x1000, "app")], 9_000_000)
            made = self.succeeds(["prof2pbin", "-q", "-v5"], stdin=raw.write(run, "intrvelf-aggregated")).out
            files.append(self.file(f"sums{i}", made))
        for chosen in (files, files[1:]):
            self.assertEqual(set(self.rows("binary,pc", *chosen)), {("app", "0x10"), ("app", "0x20"), ("app", "0x30")})
        self.assertEqual(len(self.rows("pc,binary", *files, name="pbin-compare")), 3)

    def test_filter_by_offset(self):
        file = self.run_at("a", (0x5550_0000_0000, 0x7f00_0000_0000))
        self.assertEqual(self.rows("binary,pc", "--filter=pc=0x1024", file), [("app", "0x1024")])

    def test_keys_of_external_binaries(self):
        """Rows of other binaries are joined as if they had only some of the keys; threads remain
        separate, and the target unchanged."""
        profile = profiles.make(4, samples=400, locations=40)
        target = profile.meta["target"] = profile.locations[0].binary
        path = self.file("p.pbin", pbin.write(profile))
        keys = ["thread", "binary", "function", "file", "line", "pc"]
        for kept in (["binary"], ["binary", "file"], ["function", "pc"]):
            gone = [k for k in keys[1:] if k not in kept]
            want = {}
            for row in json.loads(self.succeeds(["pbin-aggregate", "-q", "--format=json", "-k", ",".join(keys), path]).out)["rows"]:
                has_code = row["binary"] != "_idle"
                name = tuple("_any" if has_code and row["binary"] != target and k in gone else row[k] for k in keys)
                time, energy, samples = want.get(name, (0, 0, 0))
                want[name] = (time + row["time"], energy + row["energy"], samples + row["samples"])
            argv = ["pbin-aggregate", "-q", "-k", ",".join(keys), "--external-keys", ",".join(kept)]
            found = json.loads(self.succeeds([*argv, "--format=json", path]).out)["rows"]
            self.assertEqual(len(found), len(want))
            for row in found:
                time, energy, samples = want[tuple(row[k] for k in keys)]
                self.assertAlmostEqual(row["time"], time, delta=1e-9)
                self.assertAlmostEqual(row["energy"], energy, delta=1e-9)
                self.assertEqual(row["samples"], samples)
            sums = self.folder + "/sums.pbin"
            self.succeeds([*argv, "-o", sums, path])
            again = json.loads(self.succeeds(["pbin-aggregate", "-q", "-k", ",".join(keys), "--format=json", sums]).out)["rows"]
            self.assertEqual([[r[k] for k in keys] for r in again], [[r[k] for k in keys] for r in found])
        ended = self.fails(["pbin-aggregate", "-k", ",".join(keys), "--external-keys=binary", sums], sums)
        self.assertIn("--external-keys needs samples", ended.err)
        ended = tool.run(["pbin-aggregate", "--external-keys=file", path])
        self.assertEqual((ended.status, "file is not among the keys (-k)" in ended.err), (2, True))

    def test_names_and_lines(self):
        file = self.run_at("a", (0x5550_0000_0000, 0x7f00_0000_0000))
        self.assertEqual(set(self.rows("function,linkage-name,outer-line,inline,line", file)),
                         {("outer(int)", "_Z5outeri", 30, "outer(int)", 30), ("outer(int)", "_Z5outeri", 30, "inner()", 7),
                          ("_foreign", "_foreign", None, "_foreign", None)})
        self.succeeds(["pbin-aggregate", "-k", "linkage-name,outer-line", "--format=pbin", "-o", f"{self.folder}/s", file])
        self.assertEqual(set(self.rows("linkage-name,outer-line", f"{self.folder}/s")), {("_Z5outeri", 30), ("_foreign", None)})

    def test_inlined_functions(self):
        file = self.run_at("a", (0x5550_0000_0000, 0x7f00_0000_0000))
        self.assertEqual(set(self.rows("stack-inline", file)), {("outer(int)",), ("outer(int);inner()",), ("_foreign",)})
        self.succeeds(["pbin-aggregate", "-k", "stack-inline", "--format=pbin", "-o", f"{self.folder}/s", file])
        self.assertEqual(set(self.rows("stack-inline", f"{self.folder}/s")), {("outer(int)",), ("outer(int);inner()",), ("_foreign",)})
        self.assertEqual(self.rows("stack-inline", "--filter=stack-inline=*;inner()", file), [("outer(int);inner()",)])

    def test_no_demangle(self):
        file = self.run_at("a", (0x5550_0000_0000, 0x7f00_0000_0000))
        names = lambda keys, *more: set(self.rows(keys, "--no-demangle", *more, file))
        self.assertEqual(names("function,inline"), {("_Z5outeri", "_Z5outeri"), ("_Z5outeri", "_Z5innerv"), ("_foreign", "_foreign")})
        self.assertEqual(names("stack-inline"), {("_Z5outeri",), ("_Z5outeri;_Z5innerv",), ("_foreign",)})
        self.assertEqual(names("inline", "--filter=inline=inner()"), {("_Z5innerv",)})
        both = self.succeeds(["pbin-compare", "-q", "--no-demangle", "-k", "function", "--metric=samples", "--format=csv", file, file]).out
        self.assertIn(b"_Z5outeri", both)
        bars = self.succeeds(["pbin-plot", "bars", "--no-demangle", "--metric", "time", "--format=txt", "-k", "function", "-o-", file]).out
        self.assertIn(b"_Z5outeri", bars)
        self.succeeds(["pbin-aggregate", "-k", "function", "--format=pbin", "-o", f"{self.folder}/s", file])
        refused = self.fails(["pbin-aggregate", "--no-demangle", "-k", "function", f"{self.folder}/s"], f"{self.folder}/s")
        self.assertIn("was aggregated: its names cannot be changed by --no-demangle", refused.err)

    def test_filters_without_parameters(self):
        long = "void std::__introsort_loop<int*, long>(int*, int*, long)"
        frames = [pbin.Frame("_Z5outeri", "outer(int)", "", 0), pbin.Frame("_Zlong", long, "", 0), pbin.Frame("outer", "outer", "", 0)]
        profile = pbin.Profile({"target": "app", "cpu_time": 1, "times": 1, "samples": 3, "wall_ns": 3_000_000},
                               [pbin.Thread(1, 1, "app")], [pbin.Location(i + 1, "app", [f]) for i, f in enumerate(frames)])
        profile.samples = [pbin.Sample(1_000_000, 0.0, [(0, i, 1_000_000)]) for i in range(3)]
        file = self.file("p", pbin.write(profile))
        for option, want in (("--filter=function=outer", {"outer", "outer(int)"}), ("--filter=function=outer(int)", {"outer(int)"}),
                             ("--filter=inline~^outer$", {"outer", "outer(int)"}), ("--exclude=function=outer", {long}),
                             ("--filter=function=std::__introsort_loop<int[*], long>", {long}),
                             ("--filter=function=std::__introsort_loop<...>", {long}), ("--filter=function=" + long.replace("*", "[*]"), {long}),
                             ("--filter=function=introsort*", set())):
            done = self.succeeds(["pbin-aggregate", "-q", "--format=json", "-k", "function,inline", option, file])
            self.assertEqual({r["function"] for r in json.loads(done.out)["rows"]}, want, option)

    def named(self, name, functions, folders=None):
        frames = [pbin.Frame("_Z%d" % i, f, (folders or {}).get(i, ""), i + 1) for i, f in enumerate(functions)]
        profile = pbin.Profile({"target": "app", "cpu_time": 1, "times": 1, "samples": len(frames), "wall_ns": len(frames) * 1_000_000},
                               [pbin.Thread(1, 1, "app")], [pbin.Location(i + 1, "app", [f]) for i, f in enumerate(frames)])
        profile.samples = [pbin.Sample(1_000_000, 0.0, [(0, i, 1_000_000)]) for i in range(len(frames))]
        return self.file(name, pbin.write(profile))

    def samples(self, key, *arguments):
        out = self.succeeds(["pbin-aggregate", "-q", "--format=json", "-k", key, *arguments]).out
        return {r[key]: r["samples"] for r in json.loads(out)["rows"]}

    def test_short_names_and_clones(self):
        file = self.named("p", ["void sort<int*, long>(int*, int*)", "void sort<char*, char>(char*)", "work", "work.part.0", "work.cold",
                                "run(int) [clone .constprop.0]", "run(int)", "f<int>(int)"])
        self.assertEqual(self.samples("function", "--short-names", file), {"sort<...>": 2, "work": 1, "work.part.0": 1, "work.cold": 1,
                                                                           "run": 2, "f<...>": 1})
        self.assertEqual(self.samples("function", "--join-clones", file)["work"], 3)
        self.assertEqual(self.samples("function", "--join-clones", file)["run(int)"], 2)
        both = {"sort<...>": 2, "work": 3, "run": 2, "f<...>": 1}
        self.assertEqual(self.samples("function", "--join-clones", "--short-names", file), both)
        self.assertEqual(self.samples("stack-inline", "--join-clones", "--short-names", file), both)
        self.assertEqual(self.samples("function", "--short-names", "--filter=function=run(int)", file), {"run": 1})
        self.succeeds(["pbin-aggregate", "--format=pbin", "-k", "function", "-o", f"{self.folder}/s", file])
        self.assertEqual(self.samples("function", "--join-clones", "--short-names", f"{self.folder}/s"), both)
        rules, bars = ["-q", "-k", "function", "--join-clones", "--short-names"], "pbin-plot bars --metric time -o-".split()
        for input in (file, f"{self.folder}/s"):
            rows = json.loads(self.succeeds(["pbin-compare", *rules, "--metric=samples", "--format=json", file, input]).out)["rows"]
            self.assertEqual({r["function"]: (r["base"], r["other"]) for r in rows}, {name: (n, n) for name, n in both.items()})
        for plot in (bars, "pbin-plot timeline -o-".split()):
            text = html.unescape(self.succeeds([*plot, *rules, file]).out.decode())
            self.assertEqual([name for name in both if name not in text], [])
            self.assertNotIn("part.0", text)
        self.assertIn("part.0", self.succeeds([*bars, *rules[:3], file]).out.decode())

    def test_short_names_of_odd_types(self):
        """Results that are functions or arrays, and comparisons in template arguments."""
        names = ["int (*alpha<1>(int))(int)", "int (&beta<2>(int)) [3]", "int (*alpha<3>(int))(int)", "void gt<long>(C<((sizeof (long))>(4))>)"]
        file = self.named("odd", names)
        self.assertEqual(self.samples("function", "--short-names", file), {"alpha<...>": 2, "beta<...>": 1, "gt<...>": 1})
        for pattern, found in (("alpha<...>", names[::2]), ("beta<2>", names[1:2]), ("gt<...>", names[3:]), ("gt<long>", names[3:]), (names[1], names[1:2])):
            self.assertEqual(set(self.samples("function", "--filter=function=" + pattern, file)), set(found))

    def test_very_long_names(self):
        """In output for people, names lose as few arguments as necessary, or else their end; in
        output for programs, nothing."""
        inner, many = "g<" + "int, " * 1000 + "int>", ", ".join("h<%d>" % i for i in range(1000))
        names = {f"void f<{inner}>(int)": "void f<g<...>>(int)", f"void f<{many}>(int)": "void f<...>(int)", f"k({inner})": "k(...)",
                 "x" * 5000: "x" * 4093 + "..."}
        file = self.named("p", list(names))
        text = self.succeeds(["pbin-aggregate", "-q", "-k", "function", file]).out.decode()
        self.assertEqual(sorted(line.split(None, 4)[4] for line in text.splitlines()[-len(names) - 2:-2]), sorted(names.values()))
        self.assertEqual(set(self.samples("function", file)), set(names))

    def test_names_that_are_labels(self):
        """A function, file or thread whose name is that of a label has its own row under every key,
        with a distinct name."""
        names = [label + end for label in LABELS for end in ("", "(int)")]
        frames = [pbin.Frame(f"_Z{i}", f, "_gap" if i == 2 else "", 1) for i, f in enumerate(names)]
        places = [pbin.Location(0x1000 + i, "_other", [f], 0) for i, f in enumerate(frames)]
        places += [pbin.Location(0x9000 + i, label, [pbin.Frame(label, label)]) for i, label in enumerate(("_foreign", "_kernel"))]
        meta = {"target": "_other", "cpu_time": 1, "times": 1, "pmu": pbin.POWER, "unit": "W", "samples": len(places) + 1, "wall_ns": 10**6 * (len(places) + 1)}
        profile = pbin.Profile(meta, [pbin.Thread(1, 1, "_gap")], places, maps=[pbin.Map(0x1000, 0x1000, 0, "/bin/_other")])
        profile.samples = [pbin.Sample(10**6, 2.0, [(0, i, 10**6)]) for i in range(len(places))] + [pbin.Sample(10**6, 2.0, [])]
        full, sums = self.file("full", pbin.write(profile)), f"{self.folder}/sums"
        self.succeeds(["pbin-aggregate", "-k", "binary,function,inline,file", "--format=pbin", "-o", sums, full])
        each = {label + " [name]": 2 for label in LABELS}
        for file in (full, sums):
            for key in ("function", "inline"):
                self.assertEqual(self.samples(key, "--short-names", file), {**each, "_foreign": 1, "_kernel": 1, "_idle": 0})
            got = self.samples("function", file)
            self.assertEqual({name: n for name, n in got.items() if "(" not in name},
                             {**{name: 1 for name in each}, "_foreign": 1, "_kernel": 1, "_idle": 0})
            self.assertEqual(self.samples("binary", file), {"_other [name]": len(names), "_foreign": 1, "_kernel": 1, "_idle": 0})
            self.assertIn("_gap [name]", self.samples("file", file))
            self.assertEqual(set(self.samples("function", "--filter=function=_idle", file)), {"_idle", "_idle(int)"})
            self.assertEqual(set(self.samples("function", "--filter=function=_gap [name]", file)), {"_gap [name]"})
            kept = self.samples("binary", "--exclude-external", file)
            self.assertEqual(kept, {"_other [name]": len(names)})
        self.assertEqual(self.samples("comm", full), {"_gap [name]": len(places), "_idle": 0})
        self.assertEqual(self.samples("stack-inline", "--short-names", full), {**each, "_foreign": 1, "_kernel": 1, "_idle": 0})

    def test_symbols_that_are_labels(self):
        path = f"{self.folder}/app"
        text = "".join(f"void {label}(void) {{}} " for label in (*LABELS, "_unknown")) + "int main(void) { return 0; }"
        subprocess.run(["gcc", "-x", "c", "-no-pie", "-o", path, "-"], input=text.encode(), check=True)
        app = program.Program(path)
        symbols = (line.split() for line in subprocess.run(["nm", path], stdout=subprocess.PIPE, check=True).stdout.decode().splitlines())
        pcs = [int(words[0], 16) for words in symbols if words[-1] in (*LABELS, "_unknown")]
        self.assertEqual(len(pcs), len(LABELS) + 1)
        run = raw.Run([raw.Sample(1, [raw.Thread(1, pc)]) for pc in (*pcs, app.padding, 0x10)], [app.map], 10**4)
        for dialect in ("intrvelf", "intrvelf-aggregated"):
            profile = self.file(dialect, self.succeeds(["prof2pbin", "-q", "-v1", "-s", self.folder], stdin=raw.write(run, dialect)).out)
            got = {name: samples for name, samples in self.samples("function", profile).items() if samples > 0}
            self.assertEqual(got, {**{label + " [name]": 1 for label in (*LABELS, "_unknown")}, "_unknown": 1, "_foreign": 1})

    def test_paths(self):
        paths = ["./obj/src/./src/a.cc", "/build/x/src/b.cc", "/build/x/../x/src//b.cc", "/build/xy/c.cc", "../d.cc", "/../e.cc", "obj/../.."]
        file = self.named("p", ["f%d" % i for i in range(len(paths))], dict(enumerate(paths)))
        self.assertEqual(self.samples("file", file), dict.fromkeys(paths, 1))
        for options, want in ((["--strip-prefix=/build/x"], {"obj/src/src/a.cc": 1, "src/b.cc": 2, "/build/xy/c.cc": 1, "../d.cc": 1,
                                                             "/e.cc": 1, "..": 1}),
                              (["--map-prefix=./obj/src/./src=/src", "--map-prefix=/build/x=/y/", "--strip-prefix=/y/src/"],
                               {"/src/a.cc": 1, "b.cc": 2, "/build/xy/c.cc": 1, "../d.cc": 1, "/e.cc": 1, "..": 1}),
                              (["--map-prefix=/build=", "--strip-prefix=/"], {"obj/src/src/a.cc": 1, "x/src/b.cc": 2, "xy/c.cc": 1,
                                                                              "../d.cc": 1, "e.cc": 1, "..": 1})):
            self.assertEqual(self.samples("file", *options, file), want)
        for wrong in "x", "=y":
            ended = tool.run(["pbin-aggregate", "--map-prefix=" + wrong, file])
            self.assertEqual((ended.status, ended.err.split("\n")[0]), (2, f"pbin-aggregate: --map-prefix must be OLD=NEW, not '{wrong}'"))


if __name__ == "__main__":
    unittest.main()
