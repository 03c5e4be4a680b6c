#!/usr/bin/env python3
# Names of code: stubs that call libraries, and functions with several names.
# Usage: BUILD=build python3 tests/symbols/test_names.py
# SPDX-License-Identifier: MIT
import collections, os, re, shutil, subprocess, sys, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from oracle import Elf, run_llvm
from test_addr2line import TOOL, answers
from test_symbols import Case, sh

CALLS = """
#include <stdio.h>
#include <stdlib.h>
int main(int c, char **v)
{
    int (*volatile say)(const char *) = puts;
    say(v[0]);
    printf("%d\\n", atoi(v[0]));
    return malloc((size_t)c) == NULL;
}
"""


class Stubs(Case):
    def program(self, name, compiler, *flags):
        source = os.path.join(self.dir, "calls.c")
        with open(source, "w") as f:
            f.write(CALLS)
        path = os.path.join(self.dir, name)
        sh(compiler, "-O2", "-o", path, source, *flags)
        return path

    def expected(self, path, objdump="objdump"):
        """{address: name} of each instruction in a stub that objdump names."""
        named, name = {}, None
        for line in subprocess.run([objdump, "-d", path], capture_output=True, text=True, check=True).stdout.split("\n"):
            label = re.match(r"[0-9a-f]+ <(.*)>:$", line)
            code = re.match(r" *([0-9a-f]+):\t", line)
            if label:
                called = re.match(r"[0-9a-f]{8}\.plt_call\.([^@]*)", label[1])  # ppc64
                name = called[1] + "@plt" if called else label[1] if label[1].endswith("@plt") else None
                if name and not called and "ppc64" in objdump + path:
                    name = None  # the call of the dynamic linker, inside __glink_PLTresolve
            elif not code:
                name = None
            elif name and not re.search(r"(\.\.\.|\.long 0x0)$", line):  # or padding
                named[int(code[1], 16)] = name
        return named

    def check(self, path, objdump="objdump", fewest=3):
        expected = self.expected(path, objdump)
        self.assertGreaterEqual(len(set(expected.values())), fewest, path)
        names = collections.defaultdict(set)
        for value, _, name, _ in Elf(path).symbols:
            names[value].add(name)
        wrong = []
        for address, (ours, _) in zip(expected, answers(TOOL, (), path, expected)):
            resolver = re.fullmatch(r"\*ABS\*\+0x([0-9a-f]+)@plt", expected[address])
            theirs = {n + "@plt" for n in names[int(resolver[1], 16)]} if resolver else ()
            if ours != [expected[address]] and not (len(ours) == 1 and ours[0] in theirs):
                wrong.append((hex(address), ours, expected[address]))
        self.assertEqual(wrong[:5], [])
        code = [a for a in Elf(path).code(1)[:20000] if a not in expected]  # other code has other names
        others = [(hex(a), n) for a, (n, _) in zip(code, answers(TOOL, (), path, code)) if n[0].endswith("@plt")]
        self.assertLessEqual(len(others), 16 * len(expected), others[:5])
        return expected

    def test_x86(self):
        for name, compiler, *flags in (("lazy", "gcc"), ("now", "gcc", "-Wl,-z,now"), ("branches", "gcc", "-fcf-protection=full", "-Wl,-z,ibtplt"),
                                       ("branches-now", "gcc", "-fcf-protection=full", "-Wl,-z,ibtplt,-z,now"),
                                       ("fixed", "gcc", "-no-pie"), ("clang", "clang-14"), ("gold", "gcc", "-fuse-ld=gold")):
            with self.subTest(name=name):
                path = self.program(name, compiler, *flags)
                self.assertIn("printf@plt", self.check(path).values())
                sh("strip", path)
                self.check(path)
        self.assertIn("realloc@plt", self.check(os.path.realpath("/lib/x86_64-linux-gnu/libc.so.6")).values())

    def test_aarch64(self):
        for name, *flags in (("plain",), ("bti", "-mbranch-protection=standard", "-Wl,-z,force-bti"),
                             ("pac", "-mbranch-protection=standard", "-Wl,-z,pac-plt")):
            with self.subTest(name=name):
                path = self.program("aarch64-" + name, "clang-14", "--target=aarch64-linux-gnu", "-I/usr/aarch64-linux-gnu/include", *flags)
                self.assertIn("printf@plt", self.check(path, "aarch64-linux-gnu-objdump").values())

    def test_i386(self):
        for name, *flags in (("lazy",), ("now", "-Wl,-z,now"), ("branches", "-fcf-protection=full", "-Wl,-z,ibtplt"),
                             ("fixed", "-no-pie"), ("fixed-branches", "-no-pie", "-fcf-protection=full", "-Wl,-z,ibtplt")):
            with self.subTest(name=name):
                path = self.program("i386-" + name, "gcc", "-m32", *flags)
                self.assertIn("printf@plt", self.check(path).values())
                sh("strip", path)
                self.check(path)

    def test_other_machines(self):
        for machine, name, *flags in (("arm-linux-gnueabihf", "arm"), ("arm-linux-gnueabihf", "thumb", "-mthumb"),
                                      ("riscv64-linux-gnu", "riscv64"), ("s390x-linux-gnu", "s390x"), ("powerpc64-linux-gnu", "ppc64"),
                                      ("mips-linux-gnu", "mips", "-fno-pic", "-no-pie")):
            with self.subTest(name=name):
                path = self.program(name, "clang-14", "--target=" + machine, "-I/usr/%s/include" % machine, *flags)
                found = self.check(path, machine + "-objdump")
                self.assertIn("printf@plt", found.values())
                sh(machine + "-strip", path)  # then objdump no longer names the stubs on ppc64
                names = [n for n, _ in answers(TOOL, (), path, found)]
                self.assertEqual([n for n, wanted in zip(names, found.values()) if n != [wanted]], [])

    def test_libraries_of_ppc64(self):
        """Threads may call a function while its slot is being filled: linkers have three ways to
        guard against that. Slots far from the middle of the table need two more instructions."""
        source, object = (os.path.join(self.dir, "ppc64." + end) for end in "co")
        for many in (3, 3000):
            with open(source, "w") as f:
                f.write("".join("int f%d(int); int g%d(int x) { return f%d(x) + 1; }\n" % (i, i, i) for i in range(many)))
            sh("clang-14", "-O1", "-fPIC", "--target=powerpc64-linux-gnu", "-c", "-o", object, source)
            for name, *flags in (("guarded",), ("chain", "--plt-static-chain"), ("single", "--no-plt-thread-safe"),
                                 ("chain-single", "--plt-static-chain", "--no-plt-thread-safe")):
                with self.subTest(name=name, many=many):
                    path = os.path.join(self.dir, "ppc64-%s.so" % name)
                    sh("powerpc64-linux-gnu-ld", "-shared", "-o", path, object, *flags)
                    found = self.expected(path, "powerpc64-linux-gnu-objdump")
                    self.assertEqual(set(found.values()), {"f%d@plt" % i for i in range(many)})
                    sh("powerpc64-linux-gnu-strip", path)
                    names = [n for n, _ in answers(TOOL, (), path, found)]
                    wrong = [(hex(a), n, found[a]) for n, a in zip(names, found) if n != [found[a]]]
                    self.assertEqual(wrong[:3], [])

    def test_tail_call_of_thumb(self):
        """The stub begins with a change to ARM code."""
        source, path = (os.path.join(self.dir, n) for n in ("tail.c", "tail"))
        with open(source, "w") as f:
            f.write("#include <stdio.h>\nint __attribute__((noinline)) say(const char *t) { return puts(t); }\n"
                    "int main(int c, char **v) { return say(v[c - 1]); }\n")
        sh("clang-14", "-O2", "-mthumb", "--target=arm-linux-gnueabihf", "-I/usr/arm-linux-gnueabihf/include", "-o", path, source)
        sizes = collections.Counter(self.check(path, "arm-linux-gnueabihf-objdump").values())
        self.assertEqual(sizes["puts@plt"] - sizes["abort@plt"], 2, sizes)  # two more instructions

    def test_lazy_stubs_of_mips(self):
        """Stubs are named after undefined functions with an address; objdump does not support
        them."""
        path = self.program("mips-pic", "clang-14", "--target=mips-linux-gnu", "-I/usr/mips-linux-gnu/include")
        out = subprocess.run(["readelf", "--dyn-syms", "-W", path], capture_output=True, text=True, check=True).stdout
        stubs = {int(f[1], 16): f[7].split("@")[0] for f in (line.split() for line in out.split("\n"))
                 if len(f) > 7 and f[6] == "UND" and int(f[1], 16)}
        self.assertIn("printf", stubs.values())
        asked = [a + d for a in stubs for d in (0, 4, 8, 12)]
        self.assertEqual([n for n, _ in answers(TOOL, (), path, asked)], [[n + "@plt"] for n in stubs.values() for _ in range(4)])

    def test_damaged(self):
        """Slots without relocations, and relocations with names that do not exist: the names
        differ, but there is no crash."""
        path = self.program("damaged", "gcc")
        data, elf = Elf(path).data, Elf(path)
        code = [a for s in elf.sections if s["name"].startswith(".plt") for a in range(s["addr"], s["addr"] + s["size"])]
        for name in ".rela.plt", ".dynsym", ".dynstr", ".plt":
            section = [s for s in elf.sections if s["name"] == name][0]
            for byte in 0, 0x7f, 0xff:
                changed = bytearray(data)
                changed[section["offset"]:section["offset"] + section["size"]] = bytes([byte]) * section["size"]
                with open(path, "wb") as f:
                    f.write(changed)
                self.assertEqual(len(answers(TOOL, (), path, code)), len(code))
        shutil.rmtree(path, ignore_errors=True)


class Aliases(Case):
    def test_libc(self):
        path = os.path.realpath("/lib/x86_64-linux-gnu/libc.so.6")
        dynamic = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
        where = {re.sub("@.*", "", f[2]): int(f[0], 16) for f in (line.split() for line in dynamic.split("\n")) if len(f) == 3}
        wanted = ["strfromd", "write", "read", "puts", "open", "printf", "getpid", "nanosleep", "sched_yield", "fork"]
        found = answers(TOOL, (), path, [where[n] for n in wanted])
        self.assertEqual([n[0] for n, _ in found], wanted)

    def test_rule(self):
        """Default versions, then names that are globally visible, names with few underscores, short
        names, alphabetical order."""
        source, versions, path = (os.path.join(self.dir, n) for n in ("names.c", "names.map", "names.so"))
        functions = {"one": ("__one", "_one", "one_64", "one"), "ab": ("ac", "ab", "_a"), "visible_name": ("hid", "visible_name")}
        with open(source, "w") as f:
            for i, names in enumerate(functions.values()):
                f.write("int %s(int v) { return v * %d; }\n" % (names[0], i + 3))
                f.writelines('__attribute__((alias("%s"))) int %s(int);\n' % (names[0], n) for n in names[1:])
            f.write('int new_name(int v) { return v - 9; }\n__attribute__((alias("new_name"))) int o(int);\n__asm__(".symver o,old@V_1");\n')
        with open(versions, "w") as f:
            f.write("V_1 { global: *; local: hid; o; };\n")
        sh("gcc", "-shared", "-fPIC", "-o", path, source, "-Wl,--version-script=" + versions)
        symbols = {s[2].split("@")[0]: s[0] for s in Elf(path).symbols}
        wanted = [*functions, "new_name"]
        self.assertEqual([n[0] for n, _ in answers(TOOL, (), path, [symbols[n] for n in wanted])], wanted)


VALUE = ("std.functional.memoize!(std.regex.regexImpl!(immutable(char)[]).regexImpl(const(immutable(char)[]), const(char)[]), 8)"
         ".memoize(const(immutable(char)[]), const(char)[]).Value")
PLACED = ("core.internal.lifetime.emplaceRef!(%s, %s, const(immutable(char)[]), const(char)[], std.regex.internal.ir.Regex!(char).Regex)"
          ".emplaceRef(ref %s, ref const(immutable(char)[]), ref const(char)[], std.regex.internal.ir.Regex!(char).Regex).S" % ((VALUE,) * 3))
MEMOIZE = "%s.__xtoHash(ref const(%s))" % (PLACED, PLACED)


class Languages(Case):
    def test_demangled(self):
        """Names from the documents of each language. Names that are too costly to demangle, and
        names of Swift, are unchanged."""
        many = ("_D4core8internal8lifetime__T10emplaceRefTS3std10functional__T7memoizeS_DQBe5regex__T9regexImplTAyaZQ"
                "pFNfxAyaAxaZSQCtQBpQEi2ir__T5RegexTaZQjVii8ZQDfFxQBsQBsZ5ValueTQEsTxQClTQCmTQCmZQFwFKQFoKxQDhKQDiQDh"
                "Z1S9__xtoHashFNbNeKxSQIlQIjQId__TQHxTQHoTQHsTxQFlTQFmTQFmZQIwFKQIoKxQGhKQGiQGhZQDaZm")  # of std.regex: 33 references, most to identifiers
        doubling = "_D1a1bFHiiHQeQg" + "HQgQi" * 15 + "HQgQiZv"
        names = {"_ZN3app3runEi": "app::run(int)",
                 "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE": "core::fmt::Write::write_fmt",
                 "_RNvC3app3run": "app::run",
                 "_Dmain": "D main",
                 "_D3app3runFiZi": "app.run(int)",
                 "_D1t__T1PTlZQf5twiceMFNaNbNiNfZl": "t.P!(long).P.twice()",
                 "_D3app3runFiZi.part.0": "app.run(int).part.0",
                 many: MEMOIZE,
                 "_Destroy": "_Destroy",
                 doubling: doubling,
                 "$s3app3runyS2iF": "$s3app3runyS2iF"}
        source, path = os.path.join(self.dir, "names.s"), os.path.join(self.dir, "languages.so")
        with open(source, "w") as f:
            for name in names:
                f.write('.globl "%s"\n.type "%s", @function\n"%s": nop\n.size "%s", 1\n' % (name, name, name, name))
        sh("gcc", "-shared", "-o", path, source)
        where = {s[2]: s[0] for s in Elf(path).symbols}
        for options, wanted in ((("-C",), names.values()), ((), names)):
            found = answers(TOOL, options, path, [where[n] for n in names])
            self.assertEqual([n[0] for n, _ in found], list(wanted))


class Comdat(Case):
    def test_first_unit(self):
        """If several units contain equal functions, the linker keeps that of the first, but all
        units claim its code."""
        for first, second in ("ab", "ba"):
            for unit in "ab":
                with open(os.path.join(self.dir, unit + ".cpp"), "w") as f:
                    f.write("\n" * (7 if unit == "a" else 70))
                    f.write("__attribute__((noinline)) inline int shared(int v) { return v * 3 + 1; }\n")
                    f.write("int %s(int v) { return shared(v) + 1; }\n" % unit)
            with open(os.path.join(self.dir, "main.cpp"), "w") as f:
                f.write("int a(int), b(int);\nint main(int c, char **) { return a(c) + b(c); }\n")
            path = os.path.join(self.dir, "comdat")
            sh("g++", "-O2", "-g", "-o", path, "main.cpp", first + ".cpp", second + ".cpp", cwd=self.dir)
            shared = [s for s in Elf(path).symbols if s[2] == "_Z6sharedi"][0]
            addresses = range(shared[0], shared[0] + shared[1])
            file, line = first + ".cpp", 8 if first == "a" else 71
            self.assertEqual({p[0] for _, p in answers(TOOL, (), path, addresses)}, {"%s/%s:%d" % (self.dir, file, line)})
            self.assertEqual({c[0][1:] for c in run_llvm(path, addresses).values()}, {("%s/%s" % (self.dir, file), line)})


if __name__ == "__main__":
    unittest.main()
