#!/usr/bin/env python3
# pbin-addr2line against addr2line of binutils and llvm-symbolizer, and its own --csv.
# Usage: BUILD=build python3 tests/symbols/test_addr2line.py
# SPDX-License-Identifier: MIT
import collections, csv, io, os, random, re, subprocess, sys, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from oracle import Elf, run_driver
from test_symbols import BUILD, DRIVER, SLOW, Case, sh

TOOL = os.path.abspath(os.path.join(BUILD, "pbin-addr2line"))


def run(tool, options, path, addresses):
    text = "".join("0x%x\n" % a for a in addresses)
    return subprocess.run([tool, *options, "-e", path], input=text, capture_output=True, text=True, check=True)


def answers(tool, options, path, addresses):
    """[(names, places)] by address, from the form with -a -f: a name and a place on lines of their own."""
    out, found = run(tool, ["-a", "-f", *options], path, addresses).stdout, []
    for line in out.split("\n")[:-1]:
        if re.fullmatch("0x[0-9a-f]{8,16}", line):
            found.append([])
        else:
            found[-1].append(line)
    return [(lines[::2], lines[1::2]) for lines in found]


def tidy(place):
    file, line = place.rsplit(":", 1)
    return os.path.normpath(file), line


class Maps(Case):
    def test_vsyscall(self):
        """The page of old system calls, which is not in any file."""
        maps = os.path.join(self.dir, "maps")
        with open(maps, "w") as f:
            f.write("ffffffffff600000 1000 [vsyscall]\n")
        wanted = {0x000: "gettimeofday", 0x009: "gettimeofday", 0x010: "??", 0x400: "time", 0x800: "getcpu", 0xc00: "??", 0xfff: "??"}
        done = subprocess.run([TOOL, "-f", "-m", maps, *("%x" % (0xffffffffff600000 + a) for a in wanted)],
                              capture_output=True, text=True, check=True)
        self.assertEqual((done.stdout.split("\n")[:-1:2], done.stderr), ([*wanted.values()], ""))


class Compare(Case):
    against = "addr2line"

    def explain(self, elf, address, ours, theirs):
        (names, places), (other_names, other_places) = ours, theirs
        if ours == theirs:
            return "equal"
        if names[-1].endswith("@plt") and other_places[-1] in ("??:0", "??:?", ":?"):
            return "stub"  # test_names.py compares stubs with objdump
        places, other_places = [tidy(p) for p in places], [tidy(p) for p in other_places]
        if other_places[-1][1] in ("?", "0") and places[-1] in (("??", "?"), ("??", "0")):
            if names[0].startswith(os.path.basename(elf.path) + "!0x"):
                return "bounds"
            if names == other_names and other_places[-1][0] == os.path.normpath(""):
                return "object file without a name"  # added by the linker
            owner = [s for s in elf.symbols if s[2] == other_names[-1]]
            if names == ["??"] and any(not s[0] <= address < s[0] + s[1] for s in owner):
                return "beyond the end of the nearest symbol"
            if {s[0] for s in elf.symbols if s[2] == names[-1]} & {s[0] for s in owner}:
                return "alias of the same address"
        nearest = [s for s in elf.symbols if s[2] == other_names[-1]]
        if places == other_places and names == ["??"] and any(s[0] + s[1] <= address for s in nearest):
            return "beyond the end of the nearest symbol"
        if places == other_places:
            if names == other_names:
                return "spelling of a path"
            inner = all(o.endswith("::" + t) or o == t for o, t in zip(names[:-1], other_names[:-1]))
            clone = [o == t or o.startswith(t + ".") or o.startswith(t + " [clone") for o, t in zip(names[-1:], other_names[-1:])]
            return "name that we qualify, or clone" if inner and all(clone) else None
        if len(other_names) == 1 and (names[-1], places[0]) == (other_names[0], other_places[0]):
            return "inlined functions that binutils misses"  # in DWARF 5 range lists by clang; llvm-symbolizer finds them
        return None

    def compare(self, path, step, limit, options=("-i",), debug=None):
        elf, counts, bad = Elf(path), collections.Counter(), []
        addresses = elf.code(step)
        random.Random(1).shuffle(addresses)
        ours, theirs = (answers(t, options, path, addresses) for t in (TOOL, self.against))
        self.assertEqual((len(ours), len(theirs)), (len(addresses), len(addresses)))
        for a, mine, other in zip(addresses, ours, theirs):
            other = ([re.sub(r"@@?[A-Z]\w*_[\d.]+$", "", name) for name in other[0]], *other[1:])  # versions of symbols
            why = self.explain(elf, a, mine, other)
            counts[why] += 1
            if why is None:
                bad.append("0x%x: ours %s, addr2line %s" % (a, mine, other))
        print("  %s: %s" % (os.path.basename(path), dict(counts)), file=sys.stderr)
        self.assertLessEqual(len(bad), limit * len(addresses), "\n".join(bad[:5]))
        self.assertGreater(counts["equal"], len(addresses) / 5)


class Against(Compare):
    def test_programs(self):
        for compiler, version in (("gcc", "4"), ("gcc", "5"), ("clang-14", "4"), ("clang-14", "5")):
            p = self.build("a2l-%s-%s" % (compiler, version), "threads.c", "-O2", "-gdwarf-" + version, "-pthread", compiler=compiler)
            self.compare(p, 1, 0.01)
            if (compiler, version) == ("clang-14", "5"):
                continue
            self.compare(p, 3, 0.01, options=())
            self.compare(p, 3, 0.01, options=("-i", "-s", "-C"))
        self.compare(self.build("a2l-m32", "threads.c", "-O2", "-g", "-m32", "-pthread"), 1, 0.01)

    def test_llvm(self):
        p = self.build("llvm", "shapes.cpp", "-O2", "-g", compiler="clang++-14")
        text = [s for s in Elf(p).sections if s["name"] == ".text"][0]
        addresses = range(text["addr"] + 64, text["addr"] + text["size"], 7 * SLOW)
        ours = [re.sub(r" \(discriminator \d+\)$", "", t) for t in run(TOOL, ["-afi"], p, addresses).stdout.split("\n")]
        theirs = run("llvm-symbolizer-14", ["--no-demangle", "--output-style=GNU", "-a", "-i", "-f"], p, addresses).stdout
        theirs = [re.sub(r" \(discriminator \d+\)$", "", t).replace("0x", "0x" + "0" * 12) if re.fullmatch("0x[0-9a-f]{4}", t) else
                  re.sub(r" \(discriminator \d+\)$", "", t) for t in theirs.split("\n")]
        self.assertEqual(len(ours), len(theirs))
        differ = [(o, t) for o, t in zip(ours, theirs) if o != t and not (o.endswith(":?") and t.endswith(":0"))]
        self.assertLess(len(differ), len(ours) / 100, differ[:10])

    def test_forms(self):
        """Every output format is equal to the byte, where both tools know the answer."""
        p = self.build("forms", "threads.c", "-O2", "-g", "-pthread")
        elf = Elf(p)
        text = [s for s in elf.sections if s["name"] == ".text"][0]
        main = [s for s in elf.symbols if s[2] == "main"][0]
        inside = list(range(main[0], main[0] + main[1])) + [1, 0xffffffffffff, (1 << 64) - 2, (1 << 64) - 1]
        for options in ("", "-a", "-f", "-af", "-fp", "-afp", "-i", "-fi", "-afip", "-ip", "-s", "-fs", "-afipsC", "-C"):
            ours, theirs = (run(t, [options] if options else [], p, inside).stdout for t in (TOOL, "addr2line"))
            self.assertEqual(ours, theirs, options)
        looping = next(s for s in elf.symbols if s[2] == "recurse")
        inside = range(looping[0], looping[0] + looping[1])
        for options in "-fi", "-fip", "-a", "-s":
            ours, theirs = (run(t, [options], p, inside).stdout for t in (TOOL, "addr2line"))
            self.assertEqual(ours, theirs, options)
            self.assertIn(" (discriminator ", theirs)
        offsets = ["%x" % (a - text["addr"]) for a in inside[:20]]
        for arguments in (["-fj", ".text"], ["--functions", "--section=.text"]):
            ours, theirs = (subprocess.run([t, *arguments, "--exe=" + p, *offsets], capture_output=True, text=True, check=True).stdout
                            for t in (TOOL, "addr2line"))
            self.assertEqual(ours, theirs)

    def test_units_of_several_ranges_in_dwarf_2(self):
        """The DIE of a unit only covers .text: the rest is in .debug_aranges, and without that in
        the functions."""
        for source, level in (("shapes.cpp", "-O0"), ("shapes.cpp", "-O2"), ("threads.c", "-O2")):
            compiler, *more = ("g++", "-gno-record-gcc-switches") if source == "shapes.cpp" else ("gcc", "-pthread")
            p = self.build("dwarf-2" + level + source[0], source, level, "-gdwarf-2", "-gstrict-dwarf", *more, compiler=compiler)
            bare = os.path.join(self.dir, "bare")
            subprocess.run(["objcopy", "-R", ".debug_aranges", p, bare], check=True)
            elf = Elf(p)
            named = [s for s in elf.symbols if s[1] > 0]
            addresses = sorted({a for s in named for a in range(s[0], s[0] + s[1])} & set(elf.code(1)))[::7 * SLOW]
            theirs = run("eu-addr2line", ["-f"], p, addresses).stdout.splitlines()[1::2]
            theirs = [re.sub(r"(:\d+):\d+$", r"\1", t) for t in theirs]
            for path in p, bare:
                ours = [re.sub(r" \(disc.*", "", t) for t in run(TOOL, ["-f"], path, addresses).stdout.splitlines()[1::2]]
                self.assertEqual(len(ours), len(theirs))
                pairs = [("0x%x" % a, o, t) for a, o, t in zip(addresses, ours, theirs) if t.rpartition(":")[2] not in "0?"]
                self.assertGreater(len(pairs), 0.8 * len(addresses))
                self.assertEqual([x for x in pairs if x[1] != x[2]], [])

    def test_debug_file_of_a_relative_path(self):
        """Below --debug-dir, folders have their absolute paths, for any path of the program."""
        full = self.build("linked-from", "threads.c", "-O2", "-g", "-pthread", "-Wl,--build-id=none")
        top = os.path.realpath(self.dir) + "/relative"
        root, away = top + "/root", top + "/away"
        debug = root + away + "/program.debug"
        os.makedirs(away)
        os.makedirs(os.path.dirname(debug))
        sh("objcopy", "--only-keep-debug", full, debug)
        sh("strip", "-o", away + "/program", full)
        sh("objcopy", "--add-gnu-debuglink=" + debug, away + "/program")
        os.symlink("away", top + "/link")
        os.symlink("away/program", top + "/other")
        main = "0x%x" % next(s[0] for s in Elf(full).symbols if s[2] == "main")
        for folder, path, found in (("away", "program", "../root"), ("away", "./program", "../root"), ("root", "../away/program", "."),
                                    (".", "away/program", "root"), (".", away + "/program", "root"), (".", top + "/link/program", "root"),
                                    (".", "other", "root")):
            done = subprocess.run([TOOL, "--no-cache", "-s", "-e", path, "--debug-dir", found, main], cwd=os.path.join(top, folder),
                                  capture_output=True, text=True, check=True)
            self.assertRegex(done.stdout, r"^threads.c:\d", (folder, path, found))

    def test_object_files(self):
        """Local functions without lines, with and without the cache. Profiles do not have the names
        of object files, which are not paths."""
        p = self.build("files", "threads.c", "-O1", "-fno-inline", "-pthread")
        both = self.build("files-g", "threads.c", "-O1", "-g", "-fno-inline", "-pthread")  # except for the files of the C runtime
        cache = dict(os.environ, XDG_CACHE_HOME=os.path.join(self.dir, "cache"))
        for path, file in ((p, "threads.c:?"), (both, "crtstuff.c:?"), (both, "crtstuff.c:?")):
            code = set(Elf(path).code(1))
            addresses = ["0x%x" % s[0] for s in Elf(path).symbols if s[0] in code]
            theirs = subprocess.run(["addr2line", "-f", "-e", path, *addresses], capture_output=True, text=True, check=True).stdout
            ours = subprocess.run([TOOL, "-f", "-e", path, *addresses], capture_output=True, text=True, check=True, env=cache).stdout
            self.assertEqual(ours, theirs)
            self.assertIn(file + "\n", ours)
        maps, bias = Elf(p).maps()
        found = run_driver(DRIVER, maps, [bias + s[0] for s in Elf(p).symbols])[0]
        self.assertEqual({f[2] for _, chain in found.values() for f in chain}, {""})

    def test_answers_at_once(self):
        """Some programs keep addr2line running, and wait for each answer."""
        p = self.build("forms", "threads.c", "-O2", "-g", "-pthread")
        main = [s for s in Elf(p).symbols if s[2] == "main"][0]
        with subprocess.Popen([TOOL, "-fe", p], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as tool:
            for _ in range(3):
                tool.stdin.write("%x\n" % main[0])
                tool.stdin.flush()
                self.assertEqual(tool.stdout.readline(), "main\n")
                self.assertRegex(tool.stdout.readline(), r"threads.c:\d+\n")
            tool.stdin.write("  0x%x" % main[0])
            tool.stdin.close()
            self.assertEqual(tool.stdout.readline(), "main\n")
            tool.stdout.read()
        self.assertEqual(tool.returncode, 0)

    def test_wrong_input(self):
        p = self.build("forms", "threads.c", "-O2", "-g", "-pthread")
        for arguments, status, say in ((["-e", "/nowhere"], 1, "/nowhere: cannot open"), (["-e", p, "-j", ".none"], 1, "no section '.none'"),
                                       (["-e", p, "--csv=pc", "-i"], 2, "combined with -a, -i or -p"),
                                       (["-e", p, "--csv=pc", "a", "b"], 2, "more than one CSV file"),
                                       (["-m", "/nowhere"], 1, "/nowhere: cannot open"), (["-m", p, "-e", p], 2, "-m cannot be combined"),
                                       (["-e", p, "--kallsyms", p], 2, "need -m"), (["-e", p, "--fill-addresses"], 2, "needs --csv"),
                                       (["-e", p, "--csv=1", "--fill-columns=0"], 2, "needs --fill-addresses"),
                                       (["--none"], 2, "none")):
            done = subprocess.run([TOOL, *arguments], input="", capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (status, ""))
            self.assertIn(say, done.stderr)
        relocatable = self.build("forms.o", "threads.c", "-c", "-O2", "-g")
        done = subprocess.run([TOOL, "-fe", relocatable, "0"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (1, "", "pbin-addr2line: %s: a relocatable file, whose code has no addresses yet: expected a linked one\n" % relocatable))
        done = subprocess.run([TOOL, "-e", p], input="xyz\n1" + "0" * 100000 + "\n", capture_output=True, text=True)
        self.assertEqual(done.returncode, 0)
        self.assertIn("not hexadecimal addresses, treated as 0: ", done.stderr)


class Csv(Case):
    def test_columns(self):
        p = self.build("csv", "threads.c", "-O2", "-g", "-pthread")
        main = [s for s in Elf(p).symbols if s[2] == "main"][0]
        rows = [["time", "pc [hex]", "text"], ["0.1", "0x%x" % main[0], "a, \"b\""], ["0.2", "", "none"], ["0.3", "1", "low"],
                ["0.4", "%X" % (main[0] + 9), "x"]] + [["%d" % i, "%x" % (main[0] + i % main[1]), ""] for i in range(9000)]
        text = io.StringIO()
        csv.writer(text).writerows(rows)
        plain = subprocess.run([TOOL, "-fe", p, *(r[1] for r in rows[4:40])], capture_output=True, text=True, check=True).stdout.split("\n")
        for column in ("pc [hex]", "2"):
            done = subprocess.run([TOOL, "-e", p, "--csv=" + column], input=text.getvalue(), capture_output=True, text=True, check=True)
            out = list(csv.reader(io.StringIO(done.stdout)))
            self.assertEqual(out[0], rows[0] + ["function", "file", "line"])
            self.assertEqual([r[:3] for r in out], rows)
            self.assertEqual(out[2][3:], ["", "", ""])
            self.assertEqual(out[3][3:], ["", "", ""])
            self.assertEqual([x for r in out[4:40] for x in (r[3], "%s:%s" % (r[4], r[5]))], plain[:-1])
            self.assertIn("not hexadecimal addresses, treated as 0: 1", done.stderr)

    def test_separators_and_comments(self):
        p = self.build("csv", "threads.c", "-O2", "-g", "-pthread")
        main = [s for s in Elf(p).symbols if s[2] == "main"][0]
        rows = [["pc", "a,b;c" * 20], ["%x" % main[0], "1"], ["1", "x;y"]]
        for separator, mark in zip(",;\t", ("", "\ufeff", "\ufeff")):
            text = io.StringIO()
            csv.writer(text, delimiter=separator).writerows(rows)
            for column in ("pc", "1"):
                head = "# made by, a tracer\n#;\n" if column == "pc" else ""
                done = subprocess.run([TOOL, "-e", p, "--csv=" + column], input=mark + head + text.getvalue(), capture_output=True, text=True, check=True)
                self.assertEqual(done.stdout[:len(head)], head)
                if separator != "," and column == "1":
                    continue  # the quoted comma of the names is the first separator in the line
                out = list(csv.reader(io.StringIO(done.stdout[len(head):]), delimiter=separator))
                self.assertEqual([r[:2] for r in out], rows)
                self.assertEqual([r[2] for r in out], ["function", "main", ""], separator)
                self.assertTrue(out[1][3].endswith("threads.c"), out)
                self.assertEqual(len(out[1]), 5)

    def test_without_names(self):
        """Columns are given by number; the first line is then a row with an address. A name that is
        also a hexadecimal number is a name."""
        p = self.build("csv", "threads.c", "-O2", "-g", "-pthread")
        main = [s for s in Elf(p).symbols if s[2] == "main"][0]
        rows = [["0.%d" % i, "0x%x" % (main[0] + i)] for i in range(3)]
        for names in ([], [["time", "add"]]):
            text = "# comment\n" + "".join(";".join(r) + "\n" for r in names + rows)
            done = subprocess.run([TOOL, "-e", p, "--csv", "2"], input=text, capture_output=True, text=True, check=True)
            out = [line.split(";") for line in done.stdout.splitlines()]
            self.assertEqual(out[:1 + len(names)], [["# comment"]] + [n + ["function", "file", "line"] for n in names])
            self.assertEqual([r[:3] for r in out[1 + len(names):]], [r + ["main"] for r in rows])

    def test_line_breaks_in_fields(self):
        """Quoted fields may contain line breaks: in the names, before the address and in a last row
        that is not terminated. Comments do not continue on the next line."""
        p = self.build("csv", "threads.c", "-O2", "-g", "-pthread")
        pc = "0x%x" % [s for s in Elf(p).symbols if s[2] == "main"][0][0]
        rows = [["no\nte", "pc", "more\r\n,;\""], ["a\n\n\"b\"", pc, "c\n" * 60000], ["\n", pc, "\n\"\n"], ["x", "\n", ""], ["y", pc, "z\n#z"]] * 2
        for separator in ",;\t":
            text = io.StringIO()
            csv.writer(text, delimiter=separator).writerows(rows)
            for mark, cut in (("", 0), ("\ufeff", 2)):
                given = mark + text.getvalue()[:len(text.getvalue()) - cut]
                done = subprocess.run([TOOL, "-e", p, "--csv=pc"], input=given.encode(), capture_output=True, check=True)
                out = list(csv.reader(io.StringIO(done.stdout.decode(), newline=""), delimiter=separator))
                self.assertEqual([r[:3] for r in out], rows)
                self.assertEqual([r[3] for r in out], (["function", "main", "main", "", "main"] + ["", "main", "main", "", "main"]))
        given = "# \"\n#,\"x\nnote,pc\n#,\"x\n#\"x\",\"y\n#1,%s,\"x\ny\"\n#\"2,\"%s\"\n" % (pc, pc)
        done = subprocess.run([TOOL, "-e", p, "--csv=pc"], input=given, capture_output=True, text=True, check=True)
        place = done.stdout.splitlines()[-1].partition(pc + '"')[2]
        self.assertTrue(place.startswith(",main,"), done.stdout)
        self.assertEqual(done.stdout, given.replace("pc\n", "pc,function,file,line\n").replace("\ny\"\n", "\ny\"%s\n" % place)[:-1] + place + "\n")

    def add(self, program, rows, *options):
        """The rows that --csv writes for ROWS, each of which has one address, and stderr."""
        text = "".join(",".join(r) + "\n" for r in rows)
        done = subprocess.run([TOOL, *program, "--csv", "1", *options], input=text, capture_output=True, text=True, check=True)
        return list(csv.reader(io.StringIO(done.stdout))), done.stderr

    def test_decimal_addresses(self):
        p = self.build("csv", "threads.c", "-O2", "-g", "-pthread")
        code = [a for a in Elf(p).code(1) if not set("%x" % a) & set("abcdef")]
        want, _ = self.add(["-e", p], [["0x%x" % a] for a in code])
        named = sum(r[1] != "" for r in want)
        self.assertIn("main", [r[1] for r in want])
        for form, say in (("%d", "of the first %d, %d are in the code as decimal and 0 as hexadecimal numbers" % (len(code) + 1, named)), ("%x", "")):
            got, err = self.add(["-e", p], [["0"], *([form % a] for a in code)])
            self.assertEqual([r[1:] for r in got[1:]], [r[1:] for r in want], form)
            self.assertEqual((say in err, err == ""), (True, say == ""), err)

    def test_mappings(self):
        """Addresses of a process; addresses outside its mappings have no answer. A comment among
        the rows is copied."""
        p = self.build("csv", "threads.c", "-O2", "-g", "-pthread")
        elf = Elf(p)
        part = [s for s in elf.segments if s["kind"] == 1 and s["flags"] & 1][0]
        begin, maps = 0x7f0000000000, os.path.join(self.dir, "maps")
        with open(maps, "w") as f:
            f.write("%x %x csv\n" % (begin, part["memsz"] + 0xfff & ~0xfff))
        code = elf.code(5)
        want, _ = self.add(["-e", p], [["0x%x" % a] for a in code])
        moved = ["0x%x" % (a - (part["vaddr"] & ~0xfff) + begin) for a in code]
        got, _ = self.add(["-m", maps, "--search-path", self.dir], [["pc"], *([a] for a in moved), ["# comment"], ["0x10"]])
        self.assertEqual(got[0], ["pc", "binary", "function", "file", "line"])
        self.assertEqual(got[1:-2], [[a, "csv", *r[1:]] for a, r in zip(moved, want)])
        self.assertEqual(got[-2:], [["# comment"], ["0x10", "", "", "", ""]])

    def test_fill_addresses(self):
        """All instructions that objdump finds, once each."""
        p = self.build("csv", "threads.c", "-O2", "-g", "-pthread")
        listing = subprocess.run(["objdump", "-d", "--wide", p], capture_output=True, text=True, check=True).stdout
        code = ["0x" + a for a in re.findall(r"^ *([0-9a-f]+):\t(?:[0-9a-f]{2} )+ *\t", listing, re.M)]
        given = [[a, "7", "x"] for a in code[::3]]
        got, _ = self.add(["-e", p], [["pc", "n", "text"], *given], "--fill-addresses", "--fill-columns", "0")
        self.assertEqual([r[:3] for r in got[1:1 + len(given)]], given)
        added = got[1 + len(given):]
        self.assertEqual(sorted(r[0] for r in added), sorted(set(code) - set(code[::3])))
        self.assertEqual({tuple(r[1:3]) for r in added}, {("0", "0")})
        names = {r[0]: r[3:] for r in self.add(["-e", p], [[a, "", ""] for a in code])[0]}
        self.assertEqual([r[3:] for r in added], [names[r[0]] for r in added])

    def test_wrong_tables(self):
        p = self.build("csv", "threads.c", "-O2", "-g", "-pthread")
        out = os.path.join(self.dir, "out.csv")
        for text, column, say in (("", "pc", "empty"), ("a,b\n", "pc", "no column 'pc' in the first line"), ("a,b\n", "3", "no column '3'"),
                                  ("a,pc\n1,\"2\n", "pc", "<stdin>: line 2, column 2: a quoted field without an end: found the end of the file, "
                                                          "expected a closing quote"),
                                  ("a,pc\n1,2\n\"1\n\n1,2", "pc", "<stdin>: line 3, column 1: a quoted field without an end: found the end"),
                                  ("pc,a\n1,\"\n2\"\n\"1\",b,\"\n\n1,2\n", "pc", "<stdin>: line 4, column 3: a quoted field without an end"),
                                  ("\"pc,a\n1,2\n", "pc", "<stdin>: line 1, column 1: a quoted field without an end"),
                                  ("a,pc\n\"1\"2,3\n", "pc", "line 2, column 1: a quoted field without an end: expected a separator"),
                                  ("a,pc\n\"%s\",3\n" % ("1\n" * (1 << 20)), "pc", "line 2, column 1: row of more than 1048576 bytes"),
                                  ("a,pc\n" + "\"1\n\"," * (1 << 18), "pc", "row of more than 1048576 bytes")):
            for to in (["-o", out], []):
                done = subprocess.run([TOOL, "-e", p, "--csv", column, *to], input=text, capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr.count("\n"), os.path.exists(out)), (1, 1, False), done.stderr)
                self.assertIn(say, done.stderr)
                self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
