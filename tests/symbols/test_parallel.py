#!/usr/bin/env python3
# Large debug information is read by two threads, and that of two programs at the same time: answers and warnings are
# the same.
# Usage: BUILD=build python3 tests/symbols/test_parallel.py
# SPDX-License-Identifier: MIT
import os, random, subprocess, sys, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from oracle import Elf, run_driver
from test_addr2line import TOOL
from test_kills import NO_CACHE, children
from test_symbols import DRIVER, Case, sh

CPUS = sorted(os.sched_getaffinity(0))
UNITS = 12


class Parallel(Case):
    def program(self):
        """A program of several units, each with inlined functions; and the same in a large file."""
        small, large, sources = (os.path.join(self.dir, n) for n in ("small/program", "large/program", "unit%d.c"))
        if os.path.exists(small):
            return small, large
        os.mkdir(os.path.dirname(small))
        os.mkdir(os.path.dirname(large))
        for i in range(UNITS):
            with open(sources % i, "w") as f:
                f.write("extern int v;\nstatic inline int step(int x)\n{\n    return x * v + %d;\n}\n" % i)
                f.writelines("int f%d_%d(int x)\n{\n    for (int i = 0; i < x; i++)\n        v += step(i) ^ step(v);\n"
                             "    return step(x);\n}\n" % (i, k) for k in range(9))
                f.write("int v;\nint main(void)\n{\n    return v;\n}\n" if i == 0 else "")
        sh("gcc", "-O2", "-g", "-o", small, *(sources % i for i in range(UNITS)))
        with open(os.path.join(self.dir, "zeros"), "wb") as f:
            f.write(bytes(2 << 20))
        sh("objcopy", "--add-section", ".zeros=" + f.name, small, large)
        return small, large

    def ask(self, path, addresses, *prefix):
        text = "".join("0x%x\n" % a for a in addresses)
        done = subprocess.run([*prefix, TOOL, "--no-cache", "-afi", "-e", path], input=text, capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def test_same_answers(self):
        small, large = self.program()
        addresses = Elf(small).code(1)
        random.Random(1).shuffle(addresses)
        addresses *= 10_000 // len(addresses) + 1  # several questions
        expected = self.ask(small, addresses)
        self.assertIn("\nstep\n", expected)
        self.assertEqual(self.ask(large, addresses), expected)
        self.assertEqual(self.ask(large, addresses, "taskset", "-c", str(CPUS[0])), expected)

    def threads(self, path, *prefix):
        """The number of threads that read debug information."""
        process = subprocess.Popen([*prefix, TOOL, "--no-cache", "-e", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.stdin.write(b"0x%x\n" % Elf(path).code(1)[0])
        process.stdin.flush()
        process.stdout.readline()
        workers = children(process.pid)
        count = sum(len(os.listdir("/proc/%d/task" % w)) for w in workers)
        process.communicate()
        self.assertEqual((process.returncode, len(workers)), (0, 1))
        return count

    def test_threads(self):
        small, large = self.program()
        self.assertEqual(self.threads(small), 1)
        self.assertEqual(self.threads(large), min(2, len(CPUS)))
        self.assertEqual(self.threads(large, "taskset", "-c", str(CPUS[0])), 1)

    def test_memory(self):
        """Debug information that is not compressed is mapped: the parts that were read do not stay
        in memory."""
        path, sources = os.path.join(self.dir, "types"), []
        for i in range(UNITS):
            sources.append(os.path.join(self.dir, "types%d.c" % i))
            with open(sources[-1], "w") as f:
                f.writelines("struct s%d_%d { int a, b; struct s%d_%d *next; char text[%d]; };\n" % (i, k, i, k, k + 1) for k in range(2000))
                f.write("int g%d(int x)\n{\n    return x * %d;\n}\n" % (i, i) + ("int main(void)\n{\n    return 0;\n}\n" if i == 0 else ""))
        sh("gcc", "-O1", "-g", "-fno-eliminate-unused-debug-types", "-o", path, *sources)
        elf = Elf(path)
        size = [s for s in elf.sections if s["name"] == ".debug_info"][0]["size"]
        self.assertGreater(size, 1 << 20)
        with subprocess.Popen([TOOL, "--no-cache", "-f", "-e", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as tool:
            for i in range(UNITS):
                at = [s[0] for s in elf.symbols if s[2] == "g%d" % i][0]
                tool.stdin.write("0x%x\n" % at)
                tool.stdin.flush()
                self.assertEqual(tool.stdout.readline(), "g%d\n" % i)
                self.assertIn("types%d.c:200" % i, tool.stdout.readline())
            with open("/proc/%d/smaps" % children(tool.pid)[0]) as f:
                maps = f.read().split(path + "\n")[1:]
            tool.stdin.close()
        resident = sum(int(m.split("Rss:")[1].split()[0]) << 10 for m in maps)
        self.assertLess(resident, size / 2, "of %d bytes" % size)

    def test_damage_by_two_threads(self):
        small, large = self.program()
        damaged, elf = [], Elf(small)
        for path in small, large:  # the first unit loses its lines
            line = [s for s in Elf(path).sections if s["name"] == ".debug_line"][0]
            with open(path, "rb") as f:
                data = bytearray(f.read())
            data[line["offset"] + 4] = 99  # the version
            damaged.append(path + ".damaged")
            with open(damaged[-1], "wb") as f:
                f.write(data)
        maps, bias = elf.maps()
        addresses = [a + bias for a in elf.code(1)]
        found = [run_driver(DRIVER, [m.replace(small, p) for m in maps], addresses, env=NO_CACHE) for p in damaged]
        self.assertEqual(found[0][0], found[1][0])
        for path, (_, warnings) in zip(damaged, found):
            self.assertEqual(warnings, "symbolize: %s: damaged debug information: some lines and inlined functions are lost\n" % path)

    def test_order_of_warnings(self):
        small, _ = self.program()
        line = [s for s in Elf(small).sections if s["name"] == ".debug_line"][0]
        with open(small, "rb") as f:
            data = bytearray(f.read())
        data[line["offset"] + 4] = 99
        first, second = (os.path.join(self.dir, n) for n in ("first", "second"))
        with open(first, "wb") as f:
            f.write(data)
        maps, bias = Elf(small).maps()
        shift = 1 << 32  # the second program, which is missing, has higher addresses than the first
        more = ["%x,%s" % (int(m.split(",", 1)[0], 16) + shift, m.split(",", 1)[1].replace(small, second)) for m in maps]
        at = [s[0] for s in Elf(small).symbols if s[2] == "f0_0"][0] + bias
        _, warnings = run_driver(DRIVER, [m.replace(small, first) for m in maps] + more, [at, at + shift], env=NO_CACHE)
        self.assertEqual([line.split(": ")[1] for line in warnings.splitlines()], [first, second], warnings)


if __name__ == "__main__":
    unittest.main()
