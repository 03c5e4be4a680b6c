#!/usr/bin/env python3
# Programs of other machines, made by clang, against the addr2line and readelf of binutils. (Debian's cross compilers of gcc
# cannot be installed beside gcc-multilib, which other tests need.)
# Usage: BUILD=build python3 tests/symbols/test_machines.py
# SPDX-License-Identifier: MIT
import os, re, shutil, subprocess, sys, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from oracle import Elf
from test_addr2line import TOOL, Compare, answers
from test_stripped import bounds
from test_symbols import sh

MACHINES = ("aarch64-linux-gnu", "arm-linux-gnueabihf", "mips-linux-gnu", "powerpc64-linux-gnu", "riscv64-linux-gnu",
            "s390x-linux-gnu")


class Machines(Compare):
    def program(self, machine, name, *flags):
        return self.build(machine + "-" + name, "threads.c", "-O2", "-pthread", "-funwind-tables", "--target=" + machine,
                          "-I/usr/%s/include" % machine, *flags, compiler="clang-14")

    def symbols(self, machine, path):
        """Functions and their sizes, at the addresses that nm shows: on ppc64, the addresses of
        code, not of descriptors."""
        out = subprocess.run([machine + "-nm", "--synthetic", path], capture_output=True, text=True, check=True).stdout
        return {f[2].lstrip("."): int(f[0], 16) for f in (line.split() for line in out.split("\n")) if len(f) == 3 and f[1] in "tT"}

    def test_lines(self):
        for machine in MACHINES:
            for version in ("4", "5"):
                with self.subTest(machine=machine, version=version):
                    path = self.program(machine, version, "-gdwarf-" + version)
                    self.against = machine + "-addr2line"
                    # Symbols of ppc64 are at descriptors: code beyond their end is not explained.
                    self.compare(path, 2, 0.02 if machine.startswith("powerpc64") else 0.01)

    def test_functions_without_debug_information(self):
        for machine in MACHINES:
            with self.subTest(machine=machine):
                path = self.program(machine, "plain")
                functions = {n: a for n, a in self.symbols(machine, path).items()
                             if n in ("main", "run", "recurse", "never", "unused_function_for_the_linker_to_drop")}
                self.assertGreaterEqual(len(functions), 3)
                asked = [a + d for a in functions.values() for d in (0, 4)]
                self.assertEqual([names for names, _ in answers(TOOL, (), path, asked)],
                                 [[n] for n in functions for _ in range(2)])

    def test_no_mapping_symbols(self):
        for machine in MACHINES:
            with self.subTest(machine=machine):
                path = self.program(machine, "plain")
                found = answers(TOOL, (), path, Elf(path).code(2))
                self.assertEqual([n for n, _ in found if n[0].startswith("$")], [])

    def test_stripped(self):
        for machine in MACHINES:
            with self.subTest(machine=machine):
                path = shutil.copy(self.program(machine, "plain"), os.path.join(self.dir, "stripped"))
                sh(machine + "-strip", path)
                if machine.startswith("arm"):
                    out = subprocess.run(["readelf", "--unwind", path], capture_output=True, text=True, check=True).stdout
                    begins = sorted(int(b, 16) for b in re.findall(r"^0x([0-9a-f]+):", out, re.M))
                    text = [s for s in Elf(path).sections if s["name"] == ".text"][0]
                    ends = begins[1:] + [text["addr"] + text["size"]]
                    functions = [(b, e) for b, e in zip(begins, ends) if text["addr"] <= b < text["addr"] + text["size"]]
                else:
                    functions = bounds(path)
                self.assertGreater(len(functions), 4)
                named = {s[2] for s in Elf(path).symbols}
                for begin, end in functions:
                    for names, _ in answers(TOOL, (), path, [begin, end - 2]):
                        self.assertTrue(names == ["stripped!0x%x" % begin] or names[0] in named, (machine, hex(begin), names))


if __name__ == "__main__":
    unittest.main()
