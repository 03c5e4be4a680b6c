#!/usr/bin/env python3
# Split debug information: files that compilers leave beside the program (.dwo), and packages of them (.dwp).
# Usage: BUILD=build python3 tests/symbols/test_split.py
# SPDX-License-Identifier: MIT
import os, random, re, shutil, subprocess, sys, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tool
from oracle import Elf, run_driver
from test_addr2line import TOOL
from test_symbols import DRIVER, HERE, SLOW, Case, sh

# A second unit, so that there is more than one to find.
MORE = """
static inline int twice(int v) { return v * v + v; }
static inline int thrice(volatile int *v) { *v += twice(*v); return *v; }
int more(volatile int *v, int n) { for (int i = 0; i < n; i++) thrice(v); return twice(*v); }
int unused(int n) { static volatile int v; return more(&v, n); }
"""
KINDS = [(c, v) for c in ("g++", "clang++-14") for v in ("4", "5")]


def text(path):
    section = [s for s in Elf(path).sections if s["name"] == ".text"][0]
    return Elf(path).data[section["offset"]:section["offset"] + section["size"]]


class Split(Case):
    def make(self, compiler, version, *flags):
        """A program with split debug information, alone with it in a folder."""
        folder = os.path.join(self.dir, "-".join((compiler, version, *flags)))
        path = folder + "/program"
        if folder not in self.built:
            os.makedirs(folder)
            shutil.copy(os.path.join(HERE, "shapes.cpp"), folder)
            with open(folder + "/more.cpp", "w") as f:
                f.write(MORE)
            sources = "shapes.cpp", "more.cpp"
            if "-gsplit-dwarf=single" in flags:  # it is in the object files
                sh(compiler, "-O2", "-gdwarf-" + version, "-c", *sources, *flags, cwd=folder)
                sources = "shapes.o", "more.o"
            sh(compiler, "-O2", "-gsplit-dwarf", "-gdwarf-" + version, "-o", path, *sources, *flags, cwd=folder)
            self.built[folder] = path
        return path

    def files(self, path):
        folder = os.path.dirname(path)
        return sorted(os.path.join(folder, f) for f in os.listdir(folder) if f.endswith((".dwo", ".dwp")))

    def resolve(self, path, arguments=(), step=3):
        maps, bias = Elf(path).maps()
        ours, err = run_driver(DRIVER, list(arguments) + maps, [a + bias for a in Elf(path).code(step)], timeout=60)
        return {p - bias: c[1] for p, c in ours.items()}, err

    def move(self, path, name, keep=lambda file: False):
        """A copy of PATH in a folder NAME, with the files that KEEP accepts. The files that PATH
        names are removed."""
        to = os.path.join(self.dir, name)
        shutil.rmtree(to, ignore_errors=True)
        os.makedirs(to)
        for file in [path] + [f for f in self.files(path) if keep(f)]:
            shutil.copy(file, to)
        self.addCleanup(os.rename, os.path.dirname(path) + ".away", os.path.dirname(path))
        os.rename(os.path.dirname(path), os.path.dirname(path) + ".away")
        return os.path.join(to, os.path.basename(path))

    def test_against_llvm(self):
        """The same program with complete debug information: llvm-symbolizer loses range lists of
        split units after the first."""
        for compiler, version, *flags in tool.some((*KINDS, ("g++", "5", "-m32"), ("clang++-14", "5", "-gsplit-dwarf=single")), 3):
            path = self.make(compiler, version, *flags)
            self.assertEqual(len(self.files(path)), 0 if "-gsplit-dwarf=single" in flags else 2)
            plain = path + "-plain"
            sh(compiler, "-O2", "-gdwarf-" + version, "-o", plain, "shapes.cpp", "more.cpp", *(f for f in flags if f == "-m32"),
               cwd=os.path.dirname(path))
            self.assertEqual(*(text(p) for p in (path, plain)))
            self.assertGreater(self.compare(path, 7 * SLOW, oracle_path=plain)["equal"], 400 / SLOW)
            inlined = {f[0] for chain in self.resolve(path)[0].values() for f in chain[:-1]}
            self.assertGreater(len(inlined), 30)
            self.assertTrue(inlined & {"_ZL5twicei", "twice"}, inlined)

    def test_several_questions(self):
        """The next questions are sent while the worker waits for the files that the first one
        needs."""
        path = self.make("clang++-14", "5")
        addresses = Elf(path).code(1)
        addresses = [addresses[0]] * 20_000 + addresses + addresses[::-1]
        text = "".join("0x%x\n" % a for a in addresses)
        done = subprocess.run([TOOL, "--no-cache", "-afi", "-e", path], input=text, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        answers = re.findall(r"0x0*([0-9a-f]+)\n([^0][^\n]*\n(?:[^0][^\n]*\n)*)", done.stdout)
        self.assertEqual([int(a, 16) for a, _ in answers], addresses)
        half = (len(addresses) - 20_000) // 2
        there, back = ([text for _, text in part] for part in (answers[-2 * half:-half], answers[-half:]))
        self.assertEqual(there, back[::-1])
        chains = self.resolve(path, step=1)[0]
        for (address, text), a in zip(answers[-2 * half:], addresses[-2 * half:]):
            self.assertEqual(text.split("\n")[:-1:2], [f[0] if f[0] != "_unknown" else "??" for f in chains[a]])

    def test_packages(self):
        """The tools that make packages do not support all variants: with gcc's DWARF 5, both fail
        or never end."""
        for maker, kinds in (("llvm-dwp-14", KINDS[:1] + KINDS[2:]), ("dwp", (KINDS[0], KINDS[2]))):
            for compiler, version in kinds:
                path = self.make(compiler, version)
                expected, err = self.resolve(path)
                self.assertEqual(err, "")
                sh(maker, "-e", path, "-o", path + ".dwp", timeout=60, cwd=os.path.dirname(path))
                moved = self.move(path, "package", lambda f: f.endswith(".dwp"))
                self.assertEqual(self.files(moved), [moved + ".dwp"])
                self.assertEqual(self.resolve(moved), (expected, ""))
                os.makedirs(os.path.dirname(moved) + "/elsewhere/in")
                os.rename(moved + ".dwp", os.path.dirname(moved) + "/elsewhere/program.dwp")
                self.assertEqual(self.resolve(moved, ["-d", os.path.dirname(moved) + "/elsewhere"]), (expected, ""))
                self.doCleanups()
                os.remove(path + ".dwp")

    def test_places(self):
        path = self.make("g++", "5")
        expected, _ = self.resolve(path)
        away = os.path.dirname(path) + ".away"
        moved = self.move(path, "alone")
        ours, err = self.resolve(moved)
        self.assertEqual(err.count("\n"), 1, err)
        self.assertRegex(err, r"%s: %s/program-\w+\.dwo: not found \(--debug-dir DIR adds a folder\): some inlined functions are lost"
                         % (moved, re.escape(os.path.dirname(path))))
        self.assertEqual({a: c[-1][0] for a, c in ours.items()}, {a: c[-1][0] for a, c in expected.items()})
        self.assertEqual({a: c[0][2:] for a, c in ours.items()}, {a: c[0][2:] for a, c in expected.items()})
        for option in "-d", "-s":  # by the base name, then by the full path
            self.assertEqual(self.resolve(moved, [option, away]), (expected, ""))
            root = os.path.join(self.dir, "root" + option)
            shutil.copytree(away, root + os.path.dirname(path))
            self.assertEqual(self.resolve(moved, [option, root]), (expected, ""))
        for file in self.files(away + "/program"):
            shutil.copy(file, os.path.dirname(moved))
        self.assertEqual(self.resolve(moved), (expected, ""))

    def test_unusable(self):
        path = self.make("g++", "4")
        expected, _ = self.resolve(path)
        other = self.files(self.make("g++", "5"))
        moved = self.move(path, "unusable", lambda f: True)
        for say, make in (("of another build", lambda f, i: shutil.copy(other[i], f)),
                          ("not a regular file", lambda f, i: os.mkfifo(f)),
                          ("not a regular file", lambda f, i: os.symlink("/dev/zero", f)),
                          ("no split debug information of this machine", lambda f, i: shutil.copy(moved, f)),
                          ("not an ELF file", lambda f, i: open(f, "w").write("text" * 100))):
            for i, file in enumerate(self.files(moved)):
                os.remove(file)
                make(file, i)
            ours, err = self.resolve(moved)
            self.assertEqual((err.count("\n"), say in err, "some inlined functions are lost" in err), (1, True, True), err)
            self.assertEqual({a: c[0][2:] for a, c in ours.items()}, {a: c[0][2:] for a, c in expected.items()})

    def test_damaged(self):
        rng, said = random.Random(7), 0
        for compiler, version, kind in (("g++", "4", ".dwp"), ("g++", "5", ".dwo"), ("clang++-14", "5", ".dwp"), ("clang++-14", "4", ".dwo")):
            path = self.make(compiler, version)
            if kind == ".dwp":
                sh("llvm-dwp-14", "-e", path, "-o", path + ".dwp", timeout=60)
            moved = self.move(path, "damaged" + kind, lambda f: f.endswith(kind))
            file = max(self.files(moved), key=os.path.getsize)
            sections = [s for s in Elf(file).sections if s["name"].startswith(".debug_") and s["size"] and "loc" not in s["name"]]
            maps, bias = Elf(moved).maps()
            pcs = "".join("%x\n" % (a + bias) for a in Elf(moved).code(16)).encode()
            data = Elf(file).data
            for i in range(24 // SLOW):
                changed = bytearray(data)
                for _ in range(rng.choice((1, 16, 64))):
                    section = rng.choice(sections)
                    changed[section["offset"] + rng.randrange(min(section["size"], 400))] = rng.choice((0, 0xff, 0x80, rng.randrange(256)))
                with open(file, "wb") as f:
                    f.write(changed[:rng.randrange(len(changed))] if i % 8 == 0 else changed)
                done = subprocess.run([DRIVER, "-q"] + maps, input=pcs, capture_output=True, timeout=60)
                self.assertEqual((done.returncode, done.stderr.count(b"\n") <= 1), (0, True), done.stderr)
                said += done.stderr != b""
            self.doCleanups()
        self.assertGreater(said, 24 // SLOW)


if __name__ == "__main__":
    unittest.main()
