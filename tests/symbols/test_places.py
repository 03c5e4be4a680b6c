#!/usr/bin/env python3
# Places of debug information: packed symbols, folders for debug files, compressed sections,
# alternate files of dwz.
# Usage: BUILD=build python3 tests/symbols/test_places.py
# SPDX-License-Identifier: MIT
import lzma, os, random, shutil, struct, subprocess, sys, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from oracle import Elf, run_driver
from test_symbols import DRIVER, SLOW, Case, note, sh


class Places(Case):
    def resolve(self, path, arguments=(), step=1, pcs=None):
        """{address: chain} of PATH's code, and the warnings. Names that contain an address do not
        contain the name of the file."""
        maps, bias = Elf(path).maps()
        ours, err = run_driver(DRIVER, list(arguments) + maps, [a + bias for a in pcs or Elf(path).code(step)])
        base = os.path.basename(path) + "!"
        return {p - bias: [tuple(f[:2] if base not in f[0] else ["!"] * 2) + f[2:] for f in c[1]] for p, c in ours.items()}, err

    def copy(self, path, name):
        to = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copy(path, to)
        return to

    # ---- .gnu_debugdata

    def minidebug(self, name, change=lambda packed: packed):
        """A stripped program with the symbols of its functions in .gnu_debugdata, as rpm makes them."""
        full = self.build("mini-full", "threads.c", "-O2", "-rdynamic", "-pthread")
        path, inner, kept = self.copy(full, name), os.path.join(self.dir, "inner"), os.path.join(self.dir, "kept")
        out = subprocess.run(["nm", "--format=posix", "--defined-only", full], capture_output=True, text=True, check=True).stdout
        shown = {s[2] for s in Elf(full).symbols} - {n for n in out.split() if n in ("main", "never")}
        with open(kept, "w") as f:
            f.write("\n".join(shown))
        sh("objcopy", "-S", "--remove-section=.comment", "--keep-symbols=" + kept, "--only-keep-debug", full, inner)
        sh("objcopy", "-S", "--keep-symbols=" + kept, inner)
        with open(inner, "rb") as f, open(inner + ".xz", "wb") as g:
            g.write(change(lzma.compress(f.read())))
        sh("strip", path)
        sh("objcopy", "--add-section=.gnu_debugdata=%s.xz" % inner, path)
        return full, path

    def test_minidebug(self):
        full, path = self.minidebug("mini")
        functions = {s[2]: s for s in Elf(full).symbols if s[1] and s[3]["flags"] & 4}
        dynamic = {s[2] for s in Elf(path).symbols}
        self.assertTrue("run" in functions and "run" not in dynamic)
        self.assertTrue("never" in functions and "never" in dynamic)
        ours, err = self.resolve(path)
        self.assertEqual(err, "")
        for name, (value, size, _, _) in functions.items():
            self.assertEqual({ours[a][-1][0] for a in range(value, value + size)}, {name})

    def test_damaged_minidebug(self):
        def flip(packed):
            return packed[:100] + bytes([packed[100] ^ 1]) + packed[101:]
        for name, change in (("flipped", flip), ("cut", lambda packed: packed[:-20]), ("text", lambda _: b"text"),
                             ("other", lambda _: lzma.compress(b"text")),
                             ("bomb", lambda _: lzma.compress(bytes(200 << 20), preset=0))):
            ours, err = self.resolve(self.minidebug(name, change)[1])
            self.assertEqual(err.count("\n"), 1, err)
            self.assertIn("damaged section .gnu_debugdata: some functions are lost", err)
            self.assertIn("main", {c[-1][0] for c in ours.values()})

    # ---- folders

    def test_debug_folders(self):
        full = self.build("folders-full", "threads.c", "-O2", "-g", "-pthread")
        build_id = note(full).hex()
        for how in ("build-id", "link"):
            stripped = self.copy(full, how + "/bin/program")
            root = os.path.join(self.dir, how + "-debug")
            debug = "%s/.build-id/%s/%s.debug" % (root, build_id[:2], build_id[2:]) if how == "build-id" else \
                "%s%s/program.debug" % (root, os.path.dirname(stripped))
            os.makedirs(os.path.dirname(debug))
            sh("objcopy", "--only-keep-debug", full, debug)
            sh("strip", stripped)
            if how == "link":
                sh("objcopy", "--add-gnu-debuglink=" + debug, stripped)
            before, _ = self.resolve(stripped)
            self.assertFalse(any(f[2] for c in before.values() for f in c))
            after, err = self.resolve(stripped, ["-d", "/nowhere", "-d", root])
            expected = self.resolve(full)[0]
            self.assertEqual((err, [hex(a) for a in expected if after[a] != expected[a]]), ("", []))

    # ---- compressed sections

    def test_zstd(self):
        for flags in (("-g",), ("-gdwarf-4",), ("-g", "-m32")):
            plain = self.build("plain" + "".join(flags), "threads.c", "-O2", "-pthread", *flags)
            packed = plain + "-zstd"
            sh("objcopy", "--compress-debug-sections=zstd", plain, packed)
            kinds = {struct.unpack_from("<I", Elf(packed).data, s["offset"])[0] for s in Elf(packed).sections
                     if s["flags"] & 0x800}
            self.assertEqual(kinds, {2})
            after, err = self.resolve(packed)
            self.assertEqual(err, "")
            self.assertTrue(after == self.resolve(plain)[0])
            self.assertTrue(any(f[2].endswith("threads.c") for c in after.values() for f in c))

    def test_damaged_zstd(self):
        plain = self.build("zstd", "threads.c", "-O2", "-g", "-pthread")
        packed, said = self.copy(plain, "zstd-damaged"), 0
        sh("objcopy", "--compress-debug-sections=zstd", packed)
        data, sections = Elf(packed).data, [s for s in Elf(packed).sections if s["flags"] & 0x800]
        rng = random.Random(5)
        for i in range(100 // SLOW):
            changed, section = bytearray(data), rng.choice(sections)
            if i % 4 == 0:
                struct.pack_into("<Q", changed, section["offset"] + 8, rng.choice((1, 1 << 20, 1 << 31, 1 << 60)))
            else:
                changed[section["offset"] + rng.randrange(section["size"])] ^= 1 << rng.randrange(8)
            with open(packed, "wb") as f:
                f.write(changed)
            _, err = self.resolve(packed, step=16)
            self.assertLessEqual(err.count("\n"), 1, err)
            said += "damaged debug information" in err
        self.assertGreater(said, 20 // SLOW)


    # ---- alternate files

    def share(self, name, *flags):
        """Two programs whose common parts dwz has moved, the alternate file, and the programs before that."""
        plain = [self.build("%s-plain%d" % (name, i), "shapes.cpp", "-O%d" % i, *flags, compiler="g++") for i in (1, 2)]
        folder = os.path.join(self.dir, name)
        both = [self.copy(p, "%s/program%d" % (name, i)) for i, p in enumerate(plain)]
        common = folder + "/common.debug"
        sh("dwz", "-m", common, "-M", common, *(f for f in ("--dwarf-5",) if "-gdwarf-5" in flags), *both)
        for p in both:
            names = [s["name"] for s in Elf(p).sections]
            self.assertTrue(".gnu_debugaltlink" in names or ".debug_sup" in names, names)
        return plain, both, common

    def test_alternate(self):
        for version in ("4", "5"):
            plain, both, common = self.share("dwz" + version, "-gdwarf-" + version)
            for before, after in zip(plain, both):
                expected, _ = self.resolve(before, step=3 * SLOW)
                ours, err = self.resolve(after, step=3 * SLOW)
                self.assertEqual((err, [hex(a) for a in expected if ours[a] != expected[a]]), ("", []))
            inlined = {f[0] for c in expected.values() for f in c[:-1]}
            self.assertGreater(len(inlined), 30)

    def test_where_alternates_are(self):
        def same(found):
            self.assertEqual(found[1], "")
            self.assertEqual([hex(a) for a in expected if found[0][a] != expected[a]], [])
        plain, both, common = self.share("where", "-gdwarf-4")
        expected, _ = self.resolve(plain[1], step=5)
        build_id = note(common).hex()
        moved = os.path.join(self.dir, "elsewhere", ".build-id", build_id[:2], build_id[2:] + ".debug")
        os.makedirs(os.path.dirname(moved))
        os.rename(common, moved)
        same(self.resolve(both[1], ["-d", os.path.join(self.dir, "elsewhere")], step=5))
        ours, err = self.resolve(both[1], step=5)
        self.assertEqual(err.count("\n"), 1)
        self.assertIn("%s: not found (--debug-dir DIR adds a folder): some names of functions are lost" % common, err)
        self.assertEqual([hex(a) for a in expected if [f[2:] for f in ours[a]] != [f[2:] for f in expected[a]]], [])
        root = os.path.join(self.dir, "root")
        os.makedirs(root + os.path.dirname(common))
        os.rename(moved, root + common)
        self.copy(both[1], "root" + both[1])
        same(self.resolve(both[1], ["-r", root], step=5))
        with open(root + common, "rb") as f:
            data = bytearray(f.read())
        section = [s for s in Elf(root + common).sections if s["name"] == ".note.gnu.build-id"][0]
        data[section["offset"] + 16] ^= 1  # another build
        with open(root + common, "wb") as f:
            f.write(data)
        self.assertIn("not found", self.resolve(both[1], ["-r", root], step=5)[1])

    def test_damaged_alternate(self):
        plain, both, common = self.share("broken", "-gdwarf-4")
        with open(common, "rb") as f:
            data = f.read()
        debug = [s for s in Elf(common).sections if s["name"] in (".debug_info", ".debug_abbrev", ".debug_str")]
        rng, said = random.Random(9), 0
        for _ in range(100 // SLOW):
            changed = bytearray(data)
            for _ in range(rng.choice((1, 16, 64))):
                section = rng.choice(debug)
                changed[section["offset"] + rng.randrange(section["size"])] = rng.choice((0, 0xff, 0x80, rng.randrange(256)))
            with open(common, "wb") as f:
                f.write(changed)
            maps, bias = Elf(both[1]).maps()
            pcs = "".join("%x\n" % (a + bias) for a in Elf(both[1]).code(16)).encode()
            done = subprocess.run([DRIVER, "-q"] + maps, input=pcs, capture_output=True, timeout=60)
            self.assertEqual((done.returncode, done.stderr.count(b"\n") <= 1), (0, True), done.stderr)
            said += done.stderr != b""
        self.assertGreater(said, 10 // SLOW)


if __name__ == "__main__":
    unittest.main()
