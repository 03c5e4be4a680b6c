#!/usr/bin/env python3
# Every address of programs compiled here and of Debian's programs, compared with llvm-symbolizer;
# then damaged files.
# Usage: BUILD=build python3 tests/symbols/test_symbols.py
# SPDX-License-Identifier: MIT
import collections, json, os, random, resource, shutil, signal, struct, subprocess, sys, tempfile, time, unittest, zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(1, os.path.join(sys.path[0], os.pardir, "lib"))
import compiled
import oracle
from oracle import Elf, explain, run_driver, run_llvm

BUILD = os.environ.get("BUILD", "build")
DRIVER = os.path.abspath(os.path.join(BUILD, "tests", "symbols", "symbolize"))
HERE = os.path.dirname(os.path.abspath(__file__))
SLOW = 8 if "asan" in BUILD else 1
TOTALS = collections.Counter()


def sh(*command, **more):
    subprocess.run(command, check=True, capture_output=True, **more)


def section(path, name):
    elf = Elf(path)
    found = [s for s in elf.sections if s["name"] == name][0]
    return elf.data[found["offset"]:found["offset"] + found["size"]]


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="symbols.")
        cls.built = {}

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def build(self, name, source, *flags, compiler="gcc"):
        path = os.path.join(self.dir, name)
        if name not in self.built:
            compiled.build(compiler, path, os.path.join(HERE, source), *flags)
            self.built[name] = path
        return path

    def compare(self, path, step, oracle_path=None, symbols=None, separate=False, offset=True, arguments=(), warning=r"\A\Z"):
        """Compares every STEPth address of PATH's code, under sanitizers at most every 8th; fails
        if a difference has no class, or if WARNING is missing."""
        elf, counts, bad = Elf(path), collections.Counter(), []
        addresses = elf.code(max(step, SLOW))
        maps, bias = elf.maps(offset=offset)
        ours, warnings = run_driver(DRIVER, list(arguments) + maps, [a + bias for a in addresses])
        theirs = run_llvm(oracle_path or path, addresses)
        if symbols:
            other = Elf(symbols)
            elf.symbols, elf.files = other.symbols, other.files
        for a in addresses:
            binary, chain = ours[a + bias]
            self.assertEqual(binary, os.path.basename(path))
            why = explain(elf, a, chain, theirs[a], separate)
            counts[why] += 1
            if why is None:
                bad.append("0x%x: ours %s, llvm %s" % (a, chain, theirs[a]))
        print("  %s: %d addresses: %s" % (os.path.basename(path), len(addresses), dict(counts)), file=sys.stderr)
        TOTALS.update(counts)
        self.assertEqual(bad[:5], [])
        self.assertRegex(warnings, warning)
        return counts


class Oracle(Case):
    def lines(self, path, counts):
        self.assertGreater(counts["equal"], 50, path)

    def test_pie_threads(self):
        p = self.build("threads", "threads.c", "-O2", "-g", "-pthread")
        self.lines(p, self.compare(p, 1))
        self.compare(p, 3, offset=False)

    def test_levels_and_versions(self):
        for compiler in ("gcc", "clang-14"):
            for version in ("2", "3", "4", "5"):
                for level in ("-O0", "-O2", "-O3"):
                    name = "threads-%s-%s%s" % (compiler, version, level)
                    p = self.build(name, "threads.c", level, "-gdwarf-" + version, "-pthread", compiler=compiler)
                    self.compare(p, 3 * SLOW)

    def test_non_pie_and_static(self):
        self.compare(self.build("nopie", "threads.c", "-O2", "-g", "-no-pie", "-pthread"), 1, offset=False)
        self.compare(self.build("static", "threads.c", "-O2", "-g", "-static", "-pthread"), 23 * SLOW)
        self.compare(self.build("staticpie", "threads.c", "-O2", "-g", "-static-pie", "-pthread"), 23 * SLOW, offset=False)

    def test_32_bit(self):
        for version in ("4", "5"):
            p = self.build("m32-" + version, "threads.c", "-O2", "-gdwarf-" + version, "-m32", "-pthread")
            self.compare(p, 1, offset=False)

    def test_cplusplus(self):
        for compiler in ("g++", "clang++-14"):
            for version in ("4", "5"):
                for level in ("-O0", "-O2"):
                    p = self.build("cpp-%s-%s%s" % (compiler, version, level), "shapes.cpp", level,
                                   "-gdwarf-" + version, compiler=compiler)
                    self.compare(p, 3 * SLOW)

    def test_sections_and_link_time_optimisation(self):
        self.compare(self.build("gc", "threads.c", "-O2", "-g", "-pthread", "-ffunction-sections",
                                "-Wl,--gc-sections"), 1)
        self.compare(self.build("lto", "shapes.cpp", "-O2", "-g", "-flto", compiler="g++"), 3 * SLOW)

    def test_compressed_sections(self):
        for kind in ("zlib", "zlib-gnu"):
            p = self.build("gz-" + kind, "threads.c", "-O2", "-g", "-pthread", "-gz=" + kind)
            self.lines(p, self.compare(p, 1))

    def test_ratio_that_libdwarf_refuses(self):
        source = os.path.join(self.dir, "ratio.c")
        with open(source, "w") as f:
            f.write("int v;\nint main(void)\n{\n" + "    v++;\n" * 60000 + "    return 0;\n}\n")
        p = os.path.join(self.dir, "ratio")
        sh("gcc", "-g", "-O0", "-gz", "-o", p, source)
        line = [s for s in Elf(p).sections if s["name"] == ".debug_line"][0]
        data = Elf(p).data
        unpacked = struct.unpack_from("<Q", data, line["offset"] + 8)[0]
        self.assertGreater(unpacked, 16 * line["size"], "ratio %d" % (unpacked // line["size"]))
        self.compare(p, 331)

    def test_clones(self):
        p = self.build("clones", "shapes.cpp", "-O2", "-g", compiler="g++")
        self.compare(p, 1 * SLOW)
        self.assertTrue(any(s[2].endswith(".cold") for s in Elf(p).symbols))

    def test_stripped_has_dynamic_symbols(self):
        p = self.build("dynamic", "threads.c", "-O2", "-pthread", "-rdynamic")
        sh("strip", p)
        counts = self.compare(p, 1)
        self.assertGreater(counts["equal"], 50)

    def test_debuglink_and_build_id(self):
        full = self.build("split", "threads.c", "-O2", "-g", "-pthread")
        for how in ("link", "path", "id"):
            d = os.path.join(self.dir, "split-" + how)
            os.makedirs(d + "/.debug", exist_ok=True)
            stripped = d + "/split"
            build_id = "".join("%02x" % b for b in note(full))
            debug = d + "/.debug/split.debug"
            arguments = []
            if how != "link":
                below = "/usr/lib/debug" if how == "id" else ""
                debug = "%s%s/.build-id/%s/%s.debug" % (d, below, build_id[:2], build_id[2:])
                arguments = ["-r", d, "-s", d] if how == "id" else ["-s", d]
                os.makedirs(os.path.dirname(debug), exist_ok=True)
            sh("objcopy", "--only-keep-debug", full, debug)
            sh("strip", "-o", stripped, full)
            if how == "link":
                sh("objcopy", "--add-gnu-debuglink=" + debug, stripped)
                sh("objcopy", "--remove-section=.note.gnu.build-id", stripped)
            counts = self.compare(stripped, 1, oracle_path=full, symbols=full, arguments=arguments)
            self.lines(stripped, counts)
        # The checksum guards against a debug file of another build.
        with open(d.replace("-id", "-link") + "/.debug/split.debug", "ab") as f:
            f.write(b"x")
        stripped = d.replace("-id", "-link") + "/split"
        maps, bias = Elf(stripped).maps()
        ours, err = run_driver(DRIVER, maps, [a + bias for a in Elf(full).code(16)])
        self.assertTrue(all(f[2] == "" for _, c in ours.values() for f in c))
        debug = os.path.dirname(stripped) + "/.debug/split.debug"
        with open(debug, "rb") as f:
            found = zlib.crc32(f.read())
        expected = struct.unpack("<I", section(stripped, ".gnu_debuglink")[-4:])[0]
        self.assertNotEqual(found, expected)
        self.assertEqual(err.count("\n"), 1, err)
        self.assertIn("%s: of another build: its CRC-32 is %08x, .gnu_debuglink expects %08x (install the debug file of this build): "
                      "no debug information for %s\n" % (debug, found, expected, stripped), err)

    def test_debuglink_of_another_build_id(self):
        """A debug file in another folder that matches is used without a message."""
        full = self.build("one-build", "threads.c", "-O2", "-g", "-pthread")
        other = self.build("other-build", "threads.c", "-O1", "-g", "-pthread")
        folder = os.path.join(self.dir, "builds")
        os.makedirs(folder + "/.debug")
        stripped, debug = folder + "/program", folder + "/program.debug"
        sh("objcopy", "--only-keep-debug", full, debug)
        sh("strip", "-o", stripped, full)
        sh("objcopy", "--add-gnu-debuglink=" + debug, stripped)
        sh("objcopy", "--only-keep-debug", other, debug)
        maps, bias = Elf(stripped).maps()
        asked = [a + bias for a in Elf(full).code(16)]
        ours, err = run_driver(DRIVER, maps, asked)
        self.assertIn("%s: of another build: its build-id is %s, expected %s" % (debug, note(other).hex(), note(full).hex()), err)
        self.assertEqual(err.count("\n"), 1, err)
        self.assertTrue(all(f[2] == "" for _, c in ours.values() for f in c))
        sh("objcopy", "--only-keep-debug", full, folder + "/.debug/program.debug")
        ours, err = run_driver(DRIVER, maps, asked)
        self.assertEqual(err, "")
        self.assertTrue(any(f[2].endswith("threads.c") for _, c in ours.values() for f in c))

    def test_debuglink_below_the_sysroot(self):
        """Equal build-ids need no checksum, and usr/lib/debug contains paths as seen by the
        target."""
        full = self.build("linked", "threads.c", "-O2", "-g", "-pthread")
        root = os.path.join(self.dir, "sysroot")
        debug = root + "/usr/lib/debug/opt/bin/linked.debug"
        for folder in (root + "/opt/bin", os.path.dirname(debug)):
            os.makedirs(folder)
        sh("objcopy", "--only-keep-debug", full, debug)
        stripped = root + "/opt/bin/linked"
        sh("strip", "-o", stripped, full)
        sh("objcopy", "--add-gnu-debuglink=" + debug, stripped)
        with open(debug, "ab") as f:
            f.write(b"x")
        maps, bias = Elf(stripped).maps(label="/opt/bin/linked")
        os.symlink("sysroot", self.dir + "/system")
        near = os.path.relpath(os.path.dirname(stripped))
        for options in (["-r", root], ["-r", root + "/"], ["-r", os.path.relpath(root)], ["-r", root, "-s", near],
                        ["-r", self.dir + "/system", "-s", near], ["-r", self.dir + "/system"]):
            ours, err = run_driver(DRIVER, options + maps, [a + bias for a in Elf(full).code(16)])
            self.assertEqual(err, "", options)
            self.assertTrue(any(f[2].endswith("threads.c") for _, c in ours.values() for f in c), options)

    def test_split_dwarf_has_lines(self):
        p = os.path.join(self.dir, "fission")
        sh("gcc", "-O1", "-g", "-gsplit-dwarf", "-pthread", "-o", p, os.path.join(HERE, "threads.c"), cwd=self.dir)
        for f in os.listdir(self.dir):
            if f.endswith(".dwo"):
                os.remove(os.path.join(self.dir, f))
        self.lines(p, self.compare(p, 1, warning=r"\A.*fission-threads.dwo: not found .*: some inlined functions are lost\n\Z"))

    def test_debian(self):
        for path, step in (("/usr/bin/sqlite3", 31), ("/usr/bin/python3.11", 101),
                           ("/lib/x86_64-linux-gnu/libsqlite3.so.0", 61)):
            if os.path.exists(path):
                self.compare(os.path.realpath(path), step * SLOW)
        libc = os.path.realpath("/lib/x86_64-linux-gnu/libc.so.6")
        build_id = "".join("%02x" % b for b in note(libc))
        debug = "/usr/lib/debug/.build-id/%s/%s.debug" % (build_id[:2], build_id[2:])
        if os.path.exists(debug):
            self.compare(libc, 53 * SLOW, symbols=debug, separate=True)

    def test_few_addresses(self):
        """The first large qsort is in the worker, not in its parent: it must be allowed to read the
        memory size."""
        p = self.build("static", "threads.c", "-O2", "-g", "-static", "-pthread")
        maps, bias = Elf(p).maps()
        for path in (p, self.build("cpp-few", "shapes.cpp", "-O2", "-g", compiler="g++")):
            maps, bias = Elf(path).maps()
            main = [s[0] for s in Elf(path).symbols if s[2] == "main"][0] + bias
            ours, err = run_driver(DRIVER, maps, [main])
            self.assertEqual(err, "")
            self.assertGreater(ours[main][1][0][3], 0)

    def test_epilogue_is_no_end(self):
        source = os.path.join(self.dir, "epilogue.s")
        with open(source, "w") as f:
            f.write('.globl main\n.type main,@function\n.text\n.file 1 "made/up.c"\nmain:\n.loc 1 1\nnop\nnop\n'
                    '.loc 1 2 epilogue_begin\nnop\nnop\n.loc 1 3\nxor %eax,%eax\n.loc 1 4\nret\n.size main,.-main\n')
        p = os.path.join(self.dir, "epilogue")
        sh("gcc", "-g", "-o", p, source)
        self.compare(p, 1)

    def test_rust(self):
        if shutil.which("rustc") is None:
            self.skipTest("no rustc")
        source = os.path.join(self.dir, "r.rs")
        with open(source, "w") as f:
            f.write('fn main() { let v: Vec<String> = std::env::args().collect(); println!("{:?}", v); }')
        p = os.path.join(self.dir, "rust")
        sh("rustc", "-g", "-O", "-o", p, source)
        self.compare(p, 41 * SLOW)

    QUALIFIED = '''
        #include <cstdio>
        namespace { struct Hidden { int v; int twice(int x) const { return v * x + 1; } }; }
        namespace lib {
        struct Pair { int a, b; int sum() const { return a * a + b / 3; } };
        static inline int helper(int q) { return q * q % 17 + q / 5; }
        namespace { namespace deep { template <typename T> struct Box { T t; T get(T u) { return t * u / 3; } }; } }
        }
        static inline int plain(int x) { return x * x / 7; }
        int main(int argc, char **)
        {
            Hidden h{argc};
            lib::Pair p{argc, argc + 1};
            lib::deep::Box<int> b{argc};
            auto l = [&](int z) { return z * p.a % 7 + z % 11; };
            std::printf("%d %d %d %d %d %d\\n", h.twice(argc), p.sum(), lib::helper(argc * 7), l(argc), b.get(argc), plain(argc));
            return 0;
        }
    '''

    def test_qualified_names(self):
        """gcc gives no linkage names to functions that other files cannot see; clang does."""
        source = os.path.join(self.dir, "qualified.cpp")
        with open(source, "w") as f:
            f.write(self.QUALIFIED)
        names = {}
        for compiler in ("g++", "clang++-14"):
            for version in ("4", "5"):
                p = os.path.join(self.dir, "qualified-" + compiler)
                sh(compiler, "-O2", "-gdwarf-" + version, "-o", p, source)
                elf = Elf(p)
                maps, bias = elf.maps()
                ours, err = run_driver(DRIVER, maps, [a + bias for a in elf.code(1)])
                self.assertEqual(err, "")
                found = {f[1].split("(int)")[0].replace("() const", "") for _, c in ours.values() for f in c[:-1]}
                names[compiler] = {n.replace("main::$_0", "main::{lambda}") for n in found if "printf" not in n}
                self.assertEqual(names[compiler], {
                    "(anonymous namespace)::Hidden::twice", "lib::Pair::sum", "lib::helper", "main::{lambda}::operator()",
                    "lib::(anonymous namespace)::deep::Box<int>::get", "plain"}, compiler)
                self.compare(p, 1)

    def test_addr2line_agrees(self):
        p = self.build("threads", "threads.c", "-O2", "-g", "-pthread")
        elf = Elf(p)
        text = [s for s in elf.sections if s["name"] == ".text"][0]
        addresses = range(text["addr"], text["addr"] + text["size"], 3)
        maps, bias = elf.maps()
        ours, _ = run_driver(DRIVER, maps, [a + bias for a in addresses])
        out = subprocess.run(["addr2line", "-e", p] + ["%x" % a for a in addresses], capture_output=True,
                             text=True, check=True).stdout.splitlines()
        for a, line in zip(addresses, out):
            file, number = line.split(" (")[0].rsplit(":", 1)
            mine = ours[a + bias][1][0]
            if file != "??" and number != "?":
                self.assertEqual((os.path.normpath(mine[2]), mine[3]), (os.path.normpath(file), int(number)), hex(a))


def note(path):
    s = [s for s in Elf(path).sections if s["name"] == ".note.gnu.build-id"][0]
    return Elf(path).data[s["offset"] + 16:s["offset"] + s["size"]]


def tiny_elf(is64, big, symbols, machine=0, type_=3, more=None):
    """A hand-made ELF file: code at 0x1000 (file offset 0x1000), SYMBOLS [(name, value, size,
    info)]. MORE: another section (type, name with NUL, address, contents)."""
    o = ">" if big else "<"
    names = b"\0" + b"".join(n.encode() + b"\0" for n, *_ in symbols)
    table, at = b"\0" * (24 if is64 else 16), 1
    for n, value, size, info in symbols:
        table += (struct.pack(o + "IBBHQQ", at, info, 0, 1, value, size) if is64 else
                  struct.pack(o + "IIIBBH", at, value, size, info, 0, 1))
        at += len(n) + 1
    shstr = b"\0.text\0.symtab\0.strtab\0.shstrtab\0" + (more[1] if more else b"")
    body = {"text": b"\x90" * 0x800, "sym": table, "str": names, "shstr": shstr}
    if more:
        body["more"] = more[3]
    offsets, image = {}, bytearray(0x1000)
    for k in body:
        offsets[k] = len(image)
        image += body[k] + b"\0" * (-len(body[k]) % 8)
    def section(name, kind, flags, addr, k, link=0, entsize=0):
        f = (name, kind, flags, addr, offsets.get(k, 0), len(body.get(k, b"")), link, 1, 1, entsize)
        return struct.pack(o + ("IIQQQQIIQQ" if is64 else "10I"), *f)
    shoff = len(image)
    image += section(0, 0, 0, 0, "") + section(1, 1, 6, 0x1000, "text") + \
        section(7, 2, 0, 0, "sym", 3, 24 if is64 else 16) + section(15, 3, 0, 0, "str") + section(23, 3, 0, 0, "shstr")
    if more:
        image += section(33, more[0], 2, more[2], "more")
    ident = b"\x7fELF" + bytes([2 if is64 else 1, 2 if big else 1, 1]) + b"\0" * 9
    if is64:
        head = ident + struct.pack(o + "HHIQQQIHHHHHH", type_, machine, 1, 0, 64, shoff, 0, 64, 56, 1, 64, 6 if more else 5, 4)
        head += struct.pack(o + "IIQQQQQQ", 1, 5, 0x1000, 0x1000, 0x1000, 0x800, 0x800, 0x1000)
    else:
        head = ident + struct.pack(o + "HHIIIIIHHHHHH", type_, machine, 1, 0, 52, shoff, 0, 52, 32, 1, 40, 6 if more else 5, 4)
        head += struct.pack(o + "IIIIIIII", 1, 0x1000, 0x1000, 0x1000, 0x800, 0x800, 5, 0x1000)
    image[:len(head)] = head
    return bytes(image)


class Maps(Case):
    def write(self, name, data):
        path = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)
        return path

    def names(self, arguments, pcs, **more):
        ours, err = run_driver(DRIVER, arguments, pcs, **more)
        return [(ours[p][0], ours[p][1][-1][0]) for p in pcs], err

    SYMBOLS = [("first", 0x1000, 0x10, 0x12), ("open", 0x1100, 0, 0x12), ("last", 0x1400, 0x20, 0x12)]

    def test_either_order_and_width(self):
        for is64 in (False, True):
            for big in (False, True):
                p = self.write("tiny%d%d" % (is64, big), tiny_elf(is64, big, self.SYMBOLS))
                got, err = self.names(["5000,1000,1000,-," + p],
                                      [0x5000, 0x500f, 0x5010, 0x5100, 0x53ff, 0x5400, 0x541f, 0x5420, 0x6000])
                self.assertEqual([n for _, n in got], ["first", "first", "_unknown", "open", "open", "last", "last",
                                                       "_unknown", "_foreign"])
                self.assertEqual(err, "")

    def test_arm_symbols(self):
        p = self.write("arm", tiny_elf(False, False, [("$a", 0x1000, 0, 0), ("thumb", 0x1001, 8, 0x12),
                                                      ("$t.1", 0x1004, 0, 0)], machine=40))
        got, _ = self.names(["5000,1000,-,-," + p], [0x5000, 0x5006, 0x5008])
        self.assertEqual([n for _, n in got], ["thumb", "thumb", "_unknown"])

    def test_search_order_and_refusal(self):
        good, bad = tiny_elf(True, False, self.SYMBOLS), bytearray(tiny_elf(True, False, [("wrong", 0x1000, 4, 2)]))
        struct.pack_into("<QQ", bad, 64 + 32, 0x5800, 0x5800)  # code of another size
        self.write("a/lib.so", bytes(bad))
        self.write("b/lib.so", good)
        self.write("root/opt/x/lib.so", good)
        a, b, root = (os.path.join(self.dir, d) for d in ("a", "b", "root"))
        got, err = self.names(["-s", a, "-s", b, "5000,1000,-,-,lib.so"], [0x5000])
        self.assertEqual((got, err), ([("lib.so", "first")], ""))
        got, err = self.names(["-r", root, "5000,1000,-,-,/opt/x/lib.so"], [0x5000])
        self.assertEqual((got, err), ([("lib.so", "first")], ""))
        got, err = self.names(["-s", root, "5000,1000,-,-,/opt/x/lib.so"], [0x5000])
        self.assertEqual((got, err), ([("lib.so", "first")], ""))
        got, err = self.names(["5000,1000,-,-,lib.so"], [0x5000], cwd=b)
        self.assertEqual((got, err), ([("lib.so", "first")], ""))
        got, err = self.names(["-s", a, "5000,1000,-,-,lib.so"], [0x5000, 0x5001])
        self.assertEqual(got, [("lib.so", "_unknown")] * 2)
        self.assertEqual(err.count("\n"), 1)
        self.assertIn("lib.so: %s/lib.so: not the file that ran: its code has 24576 bytes, the mapping 4096" % a, err)

    def test_build_id(self):
        p = self.build("id", "threads.c", "-O2", "-g", "-pthread")
        maps, bias = Elf(p).maps(build_id="00" * 20)
        pcs = [a + bias for a in Elf(p).code(64)]
        got, err = self.names(maps, pcs)
        self.assertEqual({n for _, n in got}, {"_unknown"})
        self.assertEqual(err.count("\n"), 1)
        self.assertIn("not the file that ran: its build-id is", err)
        maps, _ = Elf(p).maps(build_id="".join("%02x" % b for b in note(p)))
        self.assertIn("main", {n for _, n in self.names(maps, pcs)[0]})

    def test_missing_once_for_many_maps(self):
        maps = ["%x,1000,-,-,/nowhere/gone.so" % (0x10000 + i * 0x1000) for i in range(3000)]
        got, err = self.names(maps, [0x10000 + i * 0x800 for i in range(6000)])
        self.assertEqual(set(got), {("gone.so", "_unknown")})
        self.assertEqual(err.count("\n"), 1)

    def test_same_file_many_times(self):
        p = self.build("many", "threads.c", "-O2", "-g", "-pthread")
        (one,), bias = Elf(p).maps()
        begin, size = (int(x, 16) for x in one.split(",")[:2])
        rest = one.split(",", 1)[1]
        maps = ["%x,%s" % (begin + i * 0x100000, rest) for i in range(1000)]
        main = [s[0] for s in Elf(p).symbols if s[2] == "main"][0] + bias
        got, err = self.names(maps, [main + i * 0x100000 for i in range(1000)])
        self.assertEqual((set(got), err), ({("many", "main")}, ""))

    def test_odd_maps(self):
        p = self.write("tiny", tiny_elf(True, False, self.SYMBOLS))
        maps = ["5000,1000,1000,-," + p, "5000,2000,-,-,second", "8000,0,-,-,empty", "fffffffffffff000,2000,-,-,wraps",
                "7000,100,-,-,", "a000,100,-,-,\x1b[31m\xff", "b000,100,-,-,[heap]", "c000,100,-,-,dir/",
                "d000,1000,-,-,/dev/zero", "e000,1000,-,-,/tmp", "f000,fffffffffffffff,-,-,huge"]
        got, err = self.names(maps, [0x5000, 0x6000, 0x8000, 0xfffffffffffff000, 2**64 - 1, 0x7000, 0xa000, 0xb000,
                                     0xc000, 0xd000, 0xe000, 0xf000, 0])
        self.assertEqual(got[:9], [("tiny", "first"), ("second", "_unknown"), ("_foreign", "_foreign"),
                                   ("wraps", "_unknown"), ("wraps", "_unknown"), ("_unknown", "_unknown"),
                                   ("\x1b[31m\xff", "_unknown"), ("[heap]", "_unknown"), ("dir/", "_unknown")])
        self.assertNotIn("\x1b", err)
        self.assertIn("not a regular file", err)

    def test_image_in_memory(self):
        p = self.write("vdso", tiny_elf(True, False, self.SYMBOLS))
        got, err = self.names(["5000,1000,image,-," + p], [0x5000, 0x5400])
        self.assertEqual((got, err), ([("[vdso]", "first"), ("[vdso]", "last")], ""))

    def test_kernel(self):
        k = self.write("kallsyms", b"ffffffff81000000 T _stext\nffffffff81000100 t helper\t[module]\n"
                                   b"ffffffff81000100 D data\n0000000000000000 A zero\n")
        got, _ = self.names(["-k", k], [0xffffffff81000050, 0xffffffff81000200, 0xffff800000000000])
        self.assertEqual(got, [("_kernel", "_stext"), ("_kernel", "helper"), ("_kernel", "_kernel")])
        self.assertEqual(self.names([], [0xffffffff81000050])[0], [("_kernel", "_kernel")])
        for text, say in ((b"hello\n", "not a line of kallsyms"), (b"0000000000000000 T a\n", "address 0"),
                          (b"", "no functions")):
            done = subprocess.run([DRIVER, "-k", self.write("bad", text)], input=b"", capture_output=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn(say, done.stderr.decode())

    def test_demangling(self):
        table = [("_ZN3foo3barEi", "foo::bar(int)"), ("_ZN3foo3barEi.cold", "foo::bar(int) [clone .cold]"),
                 ("_ZN4core3fmt9Arguments6as_str17h0123456789abcdefE", "core::fmt::Arguments::as_str"),
                 ("_RNvCs4fqI2P2rA04_4main4main", "main::main"), ("plain", "plain"), ("_Z", "_Z"),
                 ("_ZN3fooEv.part.0.constprop.1", "foo() [clone .part.0] [clone .constprop.1]"),
                 ("_ZN3foo3barEi@plt", "foo::bar(int)@plt"), ("_Z" + "P" * 3000, "_Z" + "P" * 3000)]
        bomb = "_Z1fI" + "1AIS_S_E" * 60 + "Ev"
        deep = "_Z1f" + "".join("St4pairI" for _ in range(400)) + "i"
        endless = ("_RNvXs_NvXsf_NtNtCslNYArtu3iFV_5alloc5boxed7convertINtBc_3BoxDGtNtCsgEmfK2I1SDS_4core5error5ErrorNtNt"
                   "B11_6marker4SyncNtB1y_4SendEL_EINtNtB11_7convert4FromtNtBe_6string6StringE4fromNtB4_11StringErrorNtNt"
                   "B11_3fmt7Display3fmt")
        for name in (endless, bomb, deep, "_R" + "B_" * 500, "_ZN" + "9" * 300):
            table.append((name, None))
        symbols = [(n, 0x1000 + i * 16, 16, 0x12) for i, (n, _) in enumerate(table)]
        p = self.write("mangled", tiny_elf(True, False, symbols))
        ours, err = run_driver(DRIVER, ["5000,1000,1000,-," + p], [0x5000 + i * 16 for i in range(len(table))], timeout=60)
        for i, (name, plain) in enumerate(table):
            frame = ours[0x5000 + i * 16][1][0]
            self.assertEqual(frame[0], name)
            if plain is not None:
                self.assertEqual(frame[1], plain)


class Versions(Case):
    SOURCE = """
__attribute__((noinline)) void new_work(void) { for (volatile int i = 0; i < 9; i++) ; }
__attribute__((noinline)) void release(void) { for (volatile int i = 0; i < 8; i++) ; }
void old_release(void) __attribute__((alias("release")));
__attribute__((noinline)) void alone(void) { for (volatile int i = 0; i < 7; i++) ; }
__asm__(".symver new_work, work@@VERS_2.17\\n.symver old_release, crelease@VERS_2.2.5\\n.symver alone, lonely@VERS_2.2.5");
void odd(void) { for (volatile int i = 0; i < 6; i++) ; }
"""

    def test_versions_are_no_part_of_names(self):
        source, script = os.path.join(self.dir, "versions.c"), os.path.join(self.dir, "versions.map")
        with open(source, "w") as f:
            f.write(self.SOURCE)
        with open(script, "w") as f:
            f.write("VERS_2.2.5 { global: crelease; lonely; release; local: *; };\nVERS_2.17 { global: work; } VERS_2.2.5;\n")
        library = os.path.join(self.dir, "libversions.so")
        sh("gcc", "-O1", "-shared", "-fPIC", "-o", library, source, "-Wl,--version-script=" + script)
        sh("objcopy", "--redefine-sym", "odd=odd@plt", library)
        names = {s[2] for s in Elf(library).symbols}
        self.assertTrue({"work@@VERS_2.17", "crelease@VERS_2.2.5", "lonely@VERS_2.2.5"} <= names, names)
        starts = {s[0] for s in Elf(library).symbols if s[2].split("@")[0] in ("work", "release", "alone", "odd")}
        for strip in (False, True):
            if strip:
                sh("strip", library)
            maps, bias = Elf(library).maps()
            ours, _ = run_driver(DRIVER, maps, [a + bias for a in starts])
            found = {f[0] for _, chain in ours.values() for f in chain}
            self.assertTrue({"work", "release", "lonely" if strip else "alone"} <= found, found)
            self.assertNotIn("crelease", found)
            self.assertFalse([name for name in found if "@" in name and name != "odd@plt"], found)
            self.assertEqual("odd@plt" in found, not strip)


LINE_TABLE = """
        .globl f
        .type f, @function
f:
.Lf:    ret
.Lend:  .size f, 1
        .section .debug_abbrev,"",@progbits
.Labbr: .byte 1, 0x11, 0, 0x11, 1, 0x12, 7, 0x10, 0x17, 0, 0, 0
        .section .debug_info,"",@progbits
        .long .Lcu - . - 4
        .short 4
        .long .Labbr
        .byte 8, 1
        .quad .Lf, .Lend - .Lf
        .long .Lline
.Lcu:   .section .debug_line,"",@progbits
.Lline: .long .Lall - . - 4
        .short 5
        .byte 8, 0
        .long .Lrun - . - 4
        .byte 1, 1, 1, -5, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1
        .byte 1, 1, 8, 1
        .string "/"
        .byte 2, 1, 8, 2, 11
        .uleb128 %s
        .string "x.c"
        .byte 0
.Lrun:  .byte 0, 9, 2
        .quad .Lf
        .byte 4, 0, 0x14, 2
        .uleb128 %s
        .byte 0, 1, 1
.Lall:
"""


class Hostile(Case):
    def resolve(self, path, timeout="5"):
        """Output lines and warnings for a file with any contents; the map is that of the whole
        file."""
        pcs = "".join("%x\n" % p for p in self.pcs).encode()
        done = subprocess.run([DRIVER, "-t", timeout] + [m[:m.rindex(",")] + "," + path for m in self.maps],
                              input=pcs, capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr.decode("utf-8", "replace")[-3000:])
        self.assertEqual(len(done.stdout.splitlines()), len(self.pcs))
        warnings = done.stderr.decode("utf-8", "replace").splitlines()
        self.assertLessEqual(len(warnings), 1, warnings)
        return done.stdout, warnings

    def prepare(self, *flags):
        p = self.build("victim" + "".join(flags), "threads.c", "-O2", "-g", "-pthread", *flags)
        self.maps, bias = Elf(p).maps()
        self.pcs = [a + bias for a in Elf(p).code(16)]
        return p, Elf(p).data

    def damaged(self, data):
        path = os.path.join(self.dir, "damaged")
        with open(path, "wb") as f:
            f.write(data)
        return self.resolve(path)

    def test_cut(self):
        p, data = self.prepare()
        for size in list(range(0, 4096, 64)) + list(range(4096, len(data), 509)):
            self.damaged(data[:size])

    def test_flipped(self):
        for flags in ((), ("-gdwarf-4",), ("-gz",)):
            p, data = self.prepare(*flags)
            rng, said = random.Random(7), collections.Counter()
            elf = Elf(p)
            debug = [s for s in elf.sections if s["name"].startswith(".debug_")]
            for i in range(500 // SLOW):
                d = bytearray(data)
                for _ in range(rng.choice((1, 1, 4, 16))):
                    s = rng.choice(debug)
                    where = s["offset"] + rng.randrange(s["size"]) if i % 4 else rng.randrange(len(d))
                    d[where] = rng.choice((d[where] ^ 1 << rng.randrange(8), 0xff, 0, 0x80, rng.randrange(256)))
                _, warnings = self.damaged(bytes(d))
                for w in warnings:
                    said[[k for k in ("died", "did not answer", "malformed", "damaged", "not the file", "headers", "ELF",
                                      "without function") if k in w][0]] += 1
            print("  flips %s: %s" % (flags, dict(said)), file=sys.stderr)

    def worker_of(self, pid):
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            children = f.read().split()
        self.assertEqual(len(children), 1)
        return int(children[0])

    def interrupted(self, number):
        """Resolves half of the addresses, sends signal NUMBER to the worker, resolves the other
        half."""
        p, _ = self.prepare()
        read, write = os.pipe()
        pid = subprocess.Popen([DRIVER, "-w", "-t", "1"] + self.maps, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, preexec_fn=lambda: os.dup2(read, 3), pass_fds=(3,))
        os.close(read)
        pid.stdin.write("".join("%x\n" % p for p in self.pcs).encode())
        pid.stdin.close()
        out = b""
        while b"waiting" not in out:
            line = pid.stdout.readline()
            self.assertTrue(line)
            out += line
        worker = self.worker_of(pid.pid)
        with open("/proc/%d/status" % worker) as f:
            status = f.read()
        self.assertIn("Seccomp:\t2", status)
        self.assertIn("NoNewPrivs:\t1", status)
        os.kill(worker, number)
        os.close(write)
        out += pid.stdout.read()
        err = pid.stderr.read().decode()
        pid.stdout.close(), pid.stderr.close()
        self.assertEqual(pid.wait(), 0)
        self.assertFalse(os.path.exists("/proc/%d" % worker), "no zombie, no orphan")
        return oracle.parse(out), err

    def test_count_of_files(self):
        """A line table that claims to have 2^60 source files is damaged, not one without names."""
        self.line_tables(("1", "1"), ("1 << 60", "1"))

    def test_addresses_that_wrap(self):
        """A sequence of lines that ends before it begins is damaged; it was once dropped without a
        message. An empty sequence is not damaged."""
        self.line_tables(("1", "1"), ("1", "0xffffffffffffffff"))
        self.line_tables(("1", "0"), None, has_lines=False)

    def line_tables(self, whole, damaged, has_lines=True):
        """One warning for the second of two line tables, about a count of files and about a size of
        the code."""
        source, path = os.path.join(self.dir, "files.s"), os.path.join(self.dir, "files.so")
        for values, warning in ((whole, ""), (damaged, "damaged debug information")):
            if values is None:
                continue
            with open(source, "w") as f:
                f.write(LINE_TABLE % values)
            sh("gcc", "-shared", "-o", path, source)
            (maps, bias), at = Elf(path).maps(), [s[0] for s in Elf(path).symbols if s[2] == "f"][0]
            out, err = run_driver(DRIVER, maps, [at + bias])
            self.assertIn(warning, err) if warning else self.assertEqual(err, "")
            self.assertEqual(err.count("\n"), 1 if warning else 0)
            self.assertEqual("x.c" in str(out), has_lines and not warning)

    def test_killed_and_stopped(self):
        for number, say in ((signal.SIGKILL, "died"), (signal.SIGSTOP, "did not answer within 1 s")):
            chains, err = self.interrupted(number)
            self.assertEqual(err.count("\n"), 1, err)
            self.assertIn("DWARF worker " + say, err)
            half = len(self.pcs) // 2
            names = {chains[p][1][-1][0] for p in self.pcs[half:]}
            self.assertTrue({"_start", "main"} & names or len(names) > 3, names)
            self.assertTrue(all(f[2] == "" for p in self.pcs[half:] for f in chains[p][1]))

    def test_file_shrinks_under_us(self):
        p, data = self.prepare()
        path = os.path.join(self.dir, "shrinks")
        with open(path, "wb") as f:
            f.write(data)
        first = self.resolve(path)[0]
        os.truncate(path, 4096)
        self.resolve(path)
        self.assertIn(b"threads.c", first)


class Libelf(Case):
    """Damage that libelf accepts and formats/elf/elf_file.c checks: time and memory for small
    files."""
    SYMBOLS = [("first", 0x1000, 0x10, 0x12)]

    def resolve(self, name, data, size=None):
        """(name of the function, warnings) with 512 MiB of memory and 30 s."""
        path = os.path.join(self.dir, "libelf-" + name)
        with open(path, "wb") as f:
            f.write(data)
        if size is not None:
            os.truncate(path, size)
        limit = None if "asan" in BUILD else lambda: resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))
        ours, err = run_driver(DRIVER, ["5000,1000,1000,-," + path], [0x5000], preexec_fn=limit, timeout=30 * SLOW)
        return ours[0x5000][1][0][0], err

    def tiny(self):
        data = bytearray(tiny_elf(True, False, self.SYMBOLS))
        return data, struct.unpack_from("<Q", data, 40)[0]

    def test_sections_of_a_sparse_file(self):
        for count in (1 << 24, 1 << 31, 1 << 33):
            data, sections = self.tiny()
            struct.pack_into("<H", data, 60, 0)
            struct.pack_into("<Q", data, sections + 32, count)
            name, err = self.resolve("sections", data, sections + 64 * min(count, 1 << 24))
            self.assertEqual(name, "_unknown")
            self.assertIn("more than 1048576 ELF sections", err)

    def test_number_of_sections_in_section_0(self):
        data, sections = self.tiny()
        struct.pack_into("<HH", data, 60, 0, 0xffff)
        struct.pack_into("<Q", data, sections + 32, 5)
        struct.pack_into("<I", data, sections + 40, 4)
        self.assertEqual(self.resolve("many", data), ("first", ""))

    def test_table_of_terabytes(self):
        for section in (2, 3, 4):
            data, sections = self.tiny()
            struct.pack_into("<Q", data, sections + 64 * section + 32, 1 << 40)
            name, err = self.resolve("table", data, 1 << 41)
            self.assertEqual((name, err), ("first" if section == 4 else "_unknown", ""))

    def test_notes_everywhere(self):
        data, _ = self.tiny()
        data += bytes(-len(data) % 8)
        table = len(data)
        data += data[64:120] + b"".join(struct.pack("<IIQQQQQQ", 4, 4, 4 * i, 0, 0, 1 << 20, 1 << 20, 4)
                                        for i in range(1000))
        struct.pack_into("<Q", data, 32, table)
        struct.pack_into("<H", data, 56, 1001)
        self.assertEqual(self.resolve("notes", data, table + (2 << 20)), ("first", ""))

    def test_names_without_end(self):
        data, sections = self.tiny()
        symbols, count, size = len(data), 200000, 64 << 20
        data += bytes(24) + b"".join(struct.pack("<IBBHQQ", 1, 0x12, 0, 1, 0x1000 + i % 2048, 1) for i in range(count))
        struct.pack_into("<QQ", data, sections + 128 + 24, symbols, len(data) - symbols)
        struct.pack_into("<QQ", data, sections + 192 + 24, len(data), size)
        data += b"\0f\0" + b"x" * (size - 3)
        self.assertEqual(self.resolve("names", data), ("f", ""))

    def test_headers_of_another_size(self):
        data, _ = self.tiny()
        struct.pack_into("<H", data, 54, 57)
        self.assertIn("program headers of 57 bytes each, expected 56", self.resolve("size", data)[1])
        data, _ = self.tiny()
        struct.pack_into("<H", data, 58, 63)
        self.assertEqual(self.resolve("sections", data), ("_unknown", ""))

    def test_headers_of_another_kind(self):
        for is_64, big in ((True, False), (False, True)):
            size = 8 if is_64 else 4
            for at, field, say in ((4, b"\0", "0x4: ELF class 0, expected 1 or 2"), (5, b"\3", "0x5: ELF byte order 3, expected 1 or 2"),
                                   (6, b"\0", "0x6: ELF version 0, expected 1"), (6, b"\2", "0x6: ELF version 2, expected 1"),
                                   (24 + size, bytes(size), "0x%x: 1 program headers at offset 0, expected one after the ELF header" % (24 + size))):
                data = bytearray(tiny_elf(is_64, big, self.SYMBOLS))
                data[at:at + len(field)] = field
                name, err = self.resolve("kind", data)
                self.assertIn("libelf-kind: %s" % say.split(": ")[1], err)
                self.assertEqual((name, err.count("\n")), ("_unknown", 1), err)
                path = os.path.join(self.dir, "libelf-kind")
                done = subprocess.run([os.path.join(BUILD, "pbin-addr2line"), "-e", path, "1"], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (1, "pbin-addr2line: %s: %s\n" % (path, say)))

    def test_program_headers_cut_short(self):
        data, _ = self.tiny()
        struct.pack_into("<Q", data, 32, len(data) - 57)
        struct.pack_into("<H", data, 56, 2)
        self.assertIn("program headers outside the file: 2 of 56 bytes each", self.resolve("cut", data)[1])
        struct.pack_into("<H", data, 56, 2000)
        self.assertIn("2000 program headers, at most 1024", self.resolve("many", data, 1 << 20)[1])


class Remapped(Case):
    """A process maps its own code again, at another address and size, as node does before it runs;
    or it copies it to memory without a file in the middle of its code, for large pages, as node
    --use-largepages does."""
    MAPS = """
        #include <fcntl.h>
        #include <stdint.h>
        #include <string.h>
        #include <sys/mman.h>
        #include <time.h>
        enum { PAGE = 4096 };
        #define PAGE_OF __attribute__((used, noinline, aligned(PAGE))) void
        PAGE_OF before(void) { }
        PAGE_OF spin(int turns)
        {
            for (volatile int i = 0; i < turns; i++)
                continue;
        }
        PAGE_OF covered(int turns)
        {
            for (volatile int i = 0; i < turns; i++)
                continue;
        }
        PAGE_OF after(void) { }
        int main(void)
        {
            /* no PIE: an address is an offset and 0x400000 */
            static char copy[PAGE];
            off_t offset = (off_t)((uintptr_t)spin - 0x400000);
            int fd = open("/proc/self/exe", O_RDONLY);
            void *again = mmap(NULL, 1 << 20, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, offset);
            memcpy(copy, covered, PAGE);
            void *large = mmap(covered, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
            if (again == MAP_FAILED || large != (void *)covered)
                return 1;
            memcpy(large, copy, PAGE);
            for (clock_t end = clock() + CLOCKS_PER_SEC / 3; clock() < end;) {
                ((void (*)(int))(uintptr_t)again)(1000000);
                covered(1000000);
            }
            return 0;
        }
    """

    def table(self, name, *command, engine="auto"):
        """{(binary, function): samples} of COMMAND, and the warnings."""
        raw, pbin = (os.path.join(self.dir, name + "." + kind) for kind in ("raw", "pbin"))
        sh(os.path.join(BUILD, "sampler"), "-q", "--engine", engine, "-o", raw, "--", *command)
        done = subprocess.run([os.path.join(BUILD, "prof2pbin"), "-o", pbin, raw], capture_output=True, text=True, check=True)
        out = subprocess.run([os.path.join(BUILD, "pbin-aggregate"), "--format", "json", pbin], capture_output=True, check=True).stdout
        return {(r["binary"], r["function"]): r["samples"] for r in json.loads(out)["rows"]}, done.stderr

    def test_own_text_at_another_size(self):
        source = os.path.join(self.dir, "remap.c")
        with open(source, "w") as f:
            f.write(self.MAPS)
        program = os.path.join(self.dir, "remap")
        sh("gcc", "-O2", "-g", "-no-pie", "-fno-pie", "-fno-toplevel-reorder", "-o", program, source)
        for engine, least in ("auto", 50), ("ptrace", 10):
            rows, err = self.table("remap", program, engine=engine)
            self.assertEqual(err, "")
            self.assertGreater(rows[("remap", "spin")], least)
            self.assertGreater(rows[("remap", "covered")], least)
            self.assertLess(rows.get(("remap", "_unknown"), 0), rows[("remap", "spin")] / 10)
            self.assertEqual([r for r in rows if r[0] == "[anon]"], [])

    @unittest.skipUnless(shutil.which("node"), "no node")
    def test_node(self):
        rows, err = self.table("node", "node", "-e", "const t = Date.now(), m = new Map();"
                               "while (Date.now() - t < 500) { m.set(Math.random(), 1); [3, 1, 2].sort(); }")
        self.assertEqual(err, "")
        node = {f: n for (b, f), n in rows.items() if b == "node"}
        self.assertLess(node.get("_unknown", 0), sum(node.values()) / 5, node)
        self.assertTrue(any(f.startswith("Builtins_") for f in node), sorted(node))


class Speed(Case):
    def test_a_million(self):
        p = self.build("static", "threads.c", "-O2", "-g", "-static", "-pthread")
        maps, bias = Elf(p).maps()
        begin = int(maps[0].split(",")[0], 16)
        size = int(maps[0].split(",")[1], 16)
        times = {}
        for count in (100000, size if size < 1000000 else 1000000):
            pcs = "".join("%x\n" % (begin + i) for i in range(count)).encode()
            t = time.time()
            subprocess.run([DRIVER, "-q"] + maps, input=pcs, check=True, capture_output=True)
            times[count] = time.time() - t
        print("  seconds by count of addresses: %s" % times, file=sys.stderr)
        (n1, t1), (n2, t2) = times.items()
        self.assertLess(t2, 3 * t1 * n2 / n1 + 1)


if __name__ == "__main__":
    try:
        unittest.main()
    finally:
        print("classes of all comparisons: %s" % dict(TOTALS), file=sys.stderr)
