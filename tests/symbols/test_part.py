#!/usr/bin/env python3
# If .debug_aranges shows that the first part of .debug_info suffices, no more is read; but the
# section is not trusted.
# Usage: BUILD=build python3 tests/symbols/test_part.py
# SPDX-License-Identifier: MIT
import os, shutil, struct, subprocess, sys, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from oracle import Elf
from test_addr2line import TOOL
from test_symbols import Case, sh

SOURCES = {
    "first.c": "#include <stdio.h>\nint last(int);\nint big(int);\nint first(int x)\n{\n    return x * 3 + 1;\n}\n"
               "int main(int c, char **v)\n{\n    puts(v[0]);\n    return first(last(big(c)));\n}\n",
    "big.c": "".join("struct s%d { int %s; };\n" % (i, ", ".join("m%d_%d" % (i, k) for k in range(12))) for i in range(4000)) +
             "int big(int x)\n{\n    return x + 7;\n}\n",
    "data.c": "".join('#line 1 "%s%d.h"\nint data%d;\n' % ("long" * 1000, i, i) for i in range(20)),
    "last.c": "int last(int x)\n{\n    return x / 5;\n}\n",
}
FLAGS = ("-O1", "-g", "-fno-inline", "-fno-eliminate-unused-debug-types")
NO_RANGES = "clang-14 -gdwarf-4"  # a compiler that does not write .debug_aranges; with names in .debug_line
DAMAGED = "damaged debug information: some lines and inlined functions are lost"


class Part(Case):
    def program(self, *flags, name="program", compilers=("gcc", "gcc", NO_RANGES, "gcc")):
        """The program, and the addresses of its functions. The unit of big.c is nearly all of its
        debug information. That of data.c contains only data and a long line table, and
        .debug_aranges does not list it."""
        path = os.path.join(self.dir, name)
        if not os.path.exists(path):
            objects = []
            for (source, text), compiler in zip(SOURCES.items(), compilers):
                objects.append(os.path.join(self.dir, name + "-" + source + ".o"))
                with open(os.path.join(self.dir, source), "w") as f:
                    f.write(text)
                sh(*compiler.split(), "-c", *FLAGS, *flags, "-o", objects[-1], f.name)
            sh("gcc", *flags, "-fno-inline", "-o", path, *objects)
        self.functions = {s[2]: s[0] for s in Elf(path).symbols}
        return path

    def changed(self, path, name, change):
        """A copy of PATH in which CHANGE, which gets a bytearray, has modified a section."""
        section, copy = [s for s in Elf(path).sections if s["name"] == name][0], path + ".changed"
        data = bytearray(Elf(path).data)
        part = data[section["offset"]:section["offset"] + section["size"]]
        change(part)
        data[section["offset"]:section["offset"] + section["size"]] = part
        with open(copy, "wb") as f:
            f.write(data)
        return copy

    def ask(self, path, *names, oracle="addr2line"):
        """The messages about NAMES, looked up one after the other; the answers must be those of
        ORACLE."""
        addresses = ["0x%x" % self.functions[n] for n in names]
        expected = subprocess.run([oracle, "-fi", "-e", path.replace(".changed", ""), *addresses],
                                  capture_output=True, text=True, check=True).stdout.splitlines()
        with subprocess.Popen([TOOL, "--no-cache", "-fi", "-e", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as tool:
            for i, address in enumerate(addresses):
                tool.stdin.write(address + "\n")
                tool.stdin.flush()
                got = [tool.stdout.readline().rstrip("\n") for _ in range(2)]
                if got[1] != "??:?" or i == 0:
                    self.assertEqual(got, expected[2 * i:2 * i + 2])
            tool.stdin.close()
            return tool.stderr.read()

    def test_less_is_read(self):
        """Damage after the needed part is not noticed."""
        path = self.program()

        def spoil(info):  # the version of the second unit
            at = 4 + struct.unpack_from("<I", info)[0]
            self.assertGreater(struct.unpack_from("<I", info, at)[0], 500_000)
            info[at + 4] = 99
        spoilt = self.changed(path, ".debug_info", spoil)
        self.assertEqual(self.ask(spoilt, "first", "main"), "")
        for name in "big", "last":
            self.assertEqual(self.ask(spoilt, "first", name), "pbin-addr2line: %s: %s\n" % (spoilt, DAMAGED))

    def test_units_are_passed(self):
        """Damage in a unit before the needed units is not noticed, even by later questions, until
        everything is read."""
        def spoil(info):  # the code of the DIE of the second unit
            info[4 + struct.unpack_from("<I", info)[0] + 12] = 0x7f
        spoilt = self.changed(self.program(), ".debug_info", spoil)
        self.assertEqual(self.ask(spoilt, "last", "first", "main", "last"), "")
        for names in ("last", "big"), ("first", "last"):
            self.assertEqual(self.ask(spoilt, *names), "pbin-addr2line: %s: %s\n" % (spoilt, DAMAGED))

    def test_packed(self):
        """The same if the checksum at the end is wrong; zstd has none."""
        for kind in "zlib", "zstd":
            packed = self.program() + "-" + kind
            sh("objcopy", "--compress-debug-sections=" + kind, self.program(), packed)
            self.assertEqual(self.ask(packed, "first", "last", "main", "big"), "")
            if kind == "zlib":
                def spoil(info):
                    info[-1] ^= 1
                spoilt = self.changed(packed, ".debug_info", spoil)
                self.assertEqual(self.ask(spoilt, "main", "first"), "")
                self.assertEqual(self.ask(spoilt, "first", "last"), "pbin-addr2line: %s: %s\n" % (spoilt, DAMAGED))

    def test_more_is_asked(self):
        """With one thread, and with two, which are used for a larger file."""
        path = self.program()
        large = path + ".changed"
        with open(os.path.join(self.dir, "zeros"), "wb") as f:
            f.write(bytes(2 << 20))
        sh("objcopy", "--add-section", ".zeros=" + f.name, path, large)
        for file in path, large:
            for names in (("first", "last", "first"), ("main", "big", "first"), ("last", "first"), ("first", "main", "first", "big", "last")):
                self.assertEqual(self.ask(file, *names), "")

    def test_stubs(self):
        """Stubs are not in any unit: nothing more is read because of them."""
        path = self.program()

        def spoil(info):
            info[4 + struct.unpack_from("<I", info)[0] + 4] = 99
        spoilt = self.changed(path, ".debug_info", spoil)
        stubs = [s for s in Elf(path).sections if s["name"] == ".plt"][0]
        addresses = "0x%x" % self.functions["first"], "0x%x" % (stubs["addr"] + 16)
        done = subprocess.run([TOOL, "--no-cache", "-f", "-e", spoilt, *addresses], capture_output=True, text=True, check=True)
        self.assertEqual((done.stderr, done.stdout.splitlines()[0::2]), ("", ["first", "puts@plt"]))

    def test_wrong_ranges(self):
        path = self.program()

        def all_in_first(ranges):
            at = 0
            while at < len(ranges):
                struct.pack_into("<I", ranges, at + 6, 0)
                at += 4 + struct.unpack_from("<I", ranges, at)[0]

        def last_in_first(ranges):
            self.assertEqual(struct.unpack_from("<I", ranges, 96)[0], 44)  # the last of three sets
            struct.pack_into("<I", ranges, 96 + 6, 0)

        def beyond(ranges):
            struct.pack_into("<I", ranges, 6, 0x7fffffff)

        def inside(ranges):
            struct.pack_into("<I", ranges, 48 + 6, 77)

        def too_long(ranges):
            struct.pack_into("<I", ranges, 48, 1 << 30)

        def version(ranges):
            ranges[4] = 9

        def nothing(ranges):
            ranges[:] = bytes(len(ranges))
        for change in all_in_first, last_in_first, beyond, inside, too_long, version, nothing:
            for names in ("first", "last"), ("last", "big"), ("big", "main"):
                self.assertEqual(self.ask(self.changed(path, ".debug_aranges", change), *names), "", change)

    def test_answer_is_replaced(self):
        """A first try finds the line of last, and nothing for big. After everything has been read,
        the first unit, which ends inside last, has both. Data that only the first try referred to
        are not lost in the next answer."""
        path = self.program()
        first, big, last = (self.functions[n] for n in ("first", "big", "last"))

        def widen(info):  # until the first byte of last
            at = info.index(struct.pack("<2Q", first, big - first))
            struct.pack_into("<Q", info, at + 8, last + 1 - first)

        def big_in_last(ranges):
            struct.pack_into("<2Q", ranges, 48 + 16, 1, 1)
            struct.pack_into("<2Q", ranges, 96 + 16, big, last + 16 - big)
        file = self.changed(self.changed(path, ".debug_info", widen), ".debug_aranges", big_in_last)
        with subprocess.Popen([TOOL, "--no-cache", "-fi", "-e", file], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as tool:
            tool.stdin.write("0x%x\n0x%x\n" % (last, big))
            tool.stdin.flush()
            got = [tool.stdout.readline() for _ in range(4)]
            out, err = tool.communicate("0x%x\n" % (last + 4))
        self.assertEqual((got, err), (["last\n", "??:?\n", "big\n", "??:?\n"], ""))
        self.assertRegex(out, r"\Alast\n\S*/last\.c:[23]\n\Z")

    def test_units_without(self):
        """clang writes no ranges; and a file without any ranges."""
        path = self.program(name="mixed", compilers=("gcc", "gcc", NO_RANGES, NO_RANGES))
        for names in ("first", "last"), ("last", "first"), ("main", "big"):
            self.assertEqual(self.ask(path, *names), "")
        bare = path + ".changed"
        sh("objcopy", "-R", ".debug_aranges", path, bare)
        for names in ("first", "last"), ("big", "first"):
            self.assertEqual(self.ask(bare, *names), "")

    def test_references(self):
        """The part refers to data outside it: the names of functions of a program that was
        optimized as a whole."""
        path = self.program("-flto", name="whole", compilers=("gcc", "gcc", "gcc", "gcc"))
        info = [s for s in Elf(path).sections if s["name"] == ".debug_info"][0]
        second = 4 + struct.unpack_from("<I", Elf(path).data, info["offset"])[0]
        ranges = [s for s in Elf(path).sections if s["name"] == ".debug_aranges"][0]
        self.assertEqual(struct.unpack_from("<I", Elf(path).data, ranges["offset"])[0] + 4, ranges["size"])  # one set, of the first unit
        more, copy = os.path.join(self.dir, "ranges"), path + ".changed"
        with open(more, "wb") as f:
            f.write(Elf(path).data[ranges["offset"]:ranges["offset"] + ranges["size"]])
            f.write(struct.pack("<IHIBBI2Q", 28, 2, second, 8, 0, 0, 0, 0))
        shutil.copy(path, copy)
        sh("objcopy", "--update-section", ".debug_aranges=" + more, copy)
        for names in ("first", "last"), ("big", "main"):
            self.assertEqual(self.ask(copy, *names, oracle="llvm-addr2line-14"), "")


if __name__ == "__main__":
    unittest.main()
