#!/usr/bin/env python3
# Functions of stripped files: bounds from the unwind tables, compared with readelf of binutils, and
# damaged tables.
# Usage: BUILD=build python3 tests/symbols/test_stripped.py
# SPDX-License-Identifier: MIT
import os, random, re, resource, struct, subprocess, sys, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import oracle
from oracle import Elf, run_driver
from test_symbols import BUILD, DRIVER, SLOW, Case, sh, tiny_elf


def bounds(path):
    """[(begin, end)] of the functions in .eh_frame."""
    out = subprocess.run(["readelf", "--wide", "--debug-dump=frames", path], capture_output=True, text=True, check=True).stdout
    return sorted({(int(a, 16), int(b, 16)) for a, b in re.findall(r" FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)", out)})


def names(path, functions, symbols):
    """{address: names that it may have} for each address that has a name."""
    elf, found = Elf(path), {}
    code = [(s["addr"], s["addr"] + s["size"]) for s in elf.sections if s["flags"] & 4]
    base, at = os.path.basename(path), {}
    for value, size, name, section in symbols:
        if section["flags"] & 4 and section["addr"] <= value < section["addr"] + section["size"]:
            at.setdefault(value, []).append((size, name, section))
    for begin, end in functions:
        if not code or any(low <= begin < high for low, high in code):
            size = max((size for size, _, _ in at.get(begin, [])), default=0)
            called = {name for s, name, _ in at.get(begin, []) if s == size} or {"%s!0x%x" % (base, begin)}
            found.update((a, called) for a in range(begin, end))
    for value in sorted(at):
        size = max(size for size, _, _ in at[value])
        called = {name for s, name, _ in at[value] if s == size}
        end = value + size
        if size == 0:
            section = at[value][0][2]
            around = [e for b, e in functions if b <= value < e] + [b for b, _ in functions if b > value]
            end = min(around[:1] + [v for v in at if v > value] + [section["addr"] + section["size"]])
        found.update((a, called) for a in range(value, end))
    return found


class Bounds(Case):
    def agree(self, path, step=1, functions=None, symbols=None, addresses=None, maps=None):
        """Compares every STEPth address of PATH's code. Returns the number of addresses with each
        kind of name."""
        elf = Elf(path)
        functions = bounds(path) if functions is None else functions
        expected = names(path, functions, elf.symbols if symbols is None else symbols)
        stubs = [s for s in elf.sections if s["name"].startswith(".plt")]
        (arguments, bias), counts, bad = maps or elf.maps(), {"symbol": 0, "bounds": 0, "_unknown": 0}, []
        addresses = addresses or elf.code(step)
        ours, warnings = run_driver(DRIVER, arguments, [a + bias for a in addresses])
        for a in addresses:
            name = ours[a + bias][1][-1][0]
            counts["bounds" if "!0x" in name else name if name == "_unknown" else "symbol"] += 1
            if name.endswith("@plt") and any(s["addr"] <= a < s["addr"] + s["size"] for s in stubs):
                continue  # test_names.py compares stubs with objdump
            if name not in expected.get(a, {"_unknown"}):
                bad.append("0x%x: ours %s, expected %s" % (a, name, expected.get(a)))
        self.assertEqual(bad[:5], [])
        self.assertEqual(warnings, "")
        print("  %s: %s" % (os.path.basename(path), counts), file=sys.stderr)
        return counts

    def stripped(self, name, source, *flags, compiler="gcc"):
        path = self.build(name, source, *flags, compiler=compiler)
        sh("strip", path)
        return path

    def test_programs(self):
        for name, source, compiler, flags in (
                ("pie", "threads.c", "gcc", ()), ("nopie", "threads.c", "gcc", ("-no-pie",)),
                ("m32", "threads.c", "gcc", ("-m32",)), ("clang", "threads.c", "clang-14", ()),
                ("exported", "threads.c", "gcc", ("-rdynamic",)), ("cpp", "shapes.cpp", "g++", ()),
                ("lld", "shapes.cpp", "g++", ("-Wl,--no-eh-frame-hdr", "-static"))):
            path = self.stripped("stripped-" + name, source, "-O2", "-pthread", *flags, compiler=compiler)
            counts = self.agree(path, 1 if os.path.getsize(path) < 100000 else 13 * SLOW)
            self.assertGreater(counts["bounds"], 200)
            self.assertLess(counts["_unknown"], sum(counts.values()) / 3)

    def test_debug_frame(self):
        """Programs without symbols, and without .eh_frame except in linked objects."""
        for name, compiler, *flags in (("df", "gcc"), ("df32", "gcc", "-m32"), ("df4", "gcc", "-gdwarf-4", "-gz"), ("df-clang", "clang-14")):
            path = self.build(name, "threads.c", "-O2", "-g", "-pthread", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables",
                              "-fno-exceptions", *flags, compiler=compiler)
            without = path + "-none"
            sh("objcopy", "--strip-all", path, without)
            sh("objcopy", "--strip-all", "--keep-section=.debug_frame", path)
            self.assertGreater(len(bounds(path)), len(bounds(without)) + 3)
            self.assertGreater(self.agree(path)["bounds"], self.agree(without)["bounds"] + 300)
        section, said = [s for s in Elf(path).sections if s["name"] == ".debug_frame"][0], 0
        (maps, bias), rng, data = Elf(path).maps(), random.Random(3), Elf(path).data
        for _ in range(60 // SLOW):
            changed = bytearray(data)
            changed[section["offset"] + rng.randrange(section["size"])] = rng.choice((0, 1, 0x7f, 0xff))
            with open(path, "wb") as f:
                f.write(changed)
            _, warnings = run_driver(DRIVER, maps, [bias + section["addr"]], timeout=20)
            self.assertLessEqual(warnings.count("\n"), 1, warnings)
            said += "damaged unwind tables" in warnings
        self.assertLess(said, 60 // SLOW)

    def test_libraries(self):
        for path in ("/lib/x86_64-linux-gnu/libz.so.1", "/lib/x86_64-linux-gnu/libelf.so.1"):
            counts = self.agree(os.path.realpath(path), SLOW)
            self.assertGreater(counts["bounds"], 1000)
            self.assertLess(counts["_unknown"], sum(counts.values()) / 20)

    def test_no_section_headers(self):
        path = self.stripped("sections", "threads.c", "-O2", "-pthread")
        elf, functions = Elf(path), bounds(path)
        maps, addresses = elf.maps(), elf.code(1)
        data = bytearray(elf.data)
        struct.pack_into("<Q", data, 40, 0)
        struct.pack_into("<HH", data, 60, 0, 0)
        with open(path, "wb") as f:
            f.write(data)
        counts = self.agree(path, functions=functions, symbols=[], addresses=addresses, maps=maps)
        self.assertGreater(counts["bounds"], 500)

    ASSEMBLER = """
        .globl first, main
        .type first, @function
        .type main, @function
        .text
        first: .cfi_startproc
        .fill 16, 1, 0x90
        .cfi_endproc
        .fill 16, 1, 0x90
        hidden: .cfi_startproc
        .fill 16, 1, 0x90
        ret
        .cfi_endproc
        main: xor %eax, %eax
        ret
        .section .note.GNU-stack
    """

    def assembled(self, name, *flags):
        source, path = (os.path.join(self.dir, name + end) for end in (".s", ""))
        with open(source, "w") as f:
            f.write(self.ASSEMBLER)
        sh("gcc", "-g", "-rdynamic", "-o", path, source, *flags)
        return path, [s[0] for s in Elf(path).symbols if s[2] == "first"][0]

    def test_nearest_symbol_ends_at_a_bound(self):
        path, first = self.assembled("nearest")
        sh("strip", path)
        maps, bias = Elf(path).maps()
        ours, _ = run_driver(DRIVER, maps, [first + bias + i for i in range(51)])
        hidden = "nearest!0x%x" % (first + 32)
        self.assertEqual([ours[first + bias + i][1][0][0] for i in range(51)],
                         ["first"] * 16 + ["_unknown"] * 16 + [hidden] * 17 + ["main"] * 2)
        self.agree(path)

    def test_debug_information_names_what_symbols_do_not(self):
        path = self.build("kept", "threads.c", "-O2", "-g", "-pthread")
        at = [s[0] for s in Elf(path).symbols if s[2] == "main"][0]
        sh("objcopy", "--strip-all", "--keep-section=.debug_*", path)
        self.assertNotIn("main", [s[2] for s in Elf(path).symbols])
        maps, bias = Elf(path).maps()
        ours, _ = run_driver(DRIVER, maps, [at + bias])
        self.assertEqual(ours[at + bias][1][-1][0], "main")

    def test_arm(self):
        """.ARM.exidx: each function extends to the next one, and the last one to the end of its
        section."""
        begins = (0x1000, 0x1010, 0x1100, 0x1400)
        table = b"".join(struct.pack("<II", (begin - (0x2000 + 8 * i)) & 0x7fffffff, 1) for i, begin in enumerate(begins))
        path = os.path.join(self.dir, "exidx")
        with open(path, "wb") as f:
            f.write(tiny_elf(False, False, [("open", 0x1101, 0, 0x12), ("far", 0x1405, 4, 0x12)], machine=40,
                             more=(0x70000001, b".ARM.exidx\0", 0x2000, table)))
        pcs = [0x5000, 0x500f, 0x5010, 0x50ff, 0x5100, 0x53ff, 0x5400, 0x5404, 0x5408, 0x57ff]
        ours, err = run_driver(DRIVER, ["5000,1000,1000,-," + path], pcs)
        self.assertEqual(([ours[p][1][0][0] for p in pcs], err),
                         (["exidx!0x1000"] * 2 + ["exidx!0x1010"] * 2 + ["open"] * 2 +
                          ["exidx!0x1400", "far", "exidx!0x1400", "exidx!0x1400"], ""))


class Damaged(Case):
    def names(self, data, pcs, maps, timeout=60):
        path = os.path.join(self.dir, "damaged")
        with open(path, "wb") as f:
            f.write(data)
        limit = None if "asan" in BUILD else lambda: resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))
        ours, err = run_driver(DRIVER, [m[:m.rindex(",")] + "," + path for m in maps], pcs, preexec_fn=limit, timeout=timeout)
        self.assertLessEqual(err.count("\n"), 1, err)
        return {p: c[1][-1][0] for p, c in ours.items()}, err

    def victim(self):
        path = self.build("victim", "shapes.cpp", "-O2", compiler="g++")
        sh("strip", path)
        elf = Elf(path)
        table = [s for s in elf.sections if s["name"] == ".eh_frame"][0]
        maps, bias = elf.maps()
        return elf, table, maps, [a + bias for a in elf.code(16)]

    def test_flipped(self):
        elf, table, maps, pcs = self.victim()
        rng, said = random.Random(3), 0
        good, err = self.names(elf.data, pcs, maps)
        self.assertEqual(err, "")
        for _ in range(400 // SLOW):
            data = bytearray(elf.data)
            for _ in range(rng.choice((1, 2, 8))):
                where = table["offset"] + rng.randrange(table["size"])
                data[where] = rng.choice((data[where] ^ 1 << rng.randrange(8), 0xff, 0, 0x80, rng.randrange(256)))
            names, err = self.names(bytes(data), pcs, maps)
            said += "damaged unwind tables" in err
            kept = sum(names[p] == good[p] for p in pcs if "!" not in good[p])
            self.assertEqual(kept, sum("!" not in name for name in good.values()) -
                             sum(good[p] == "_unknown" and names[p] != "_unknown" for p in pcs))
        self.assertGreater(said, 20 // SLOW)

    def test_lengths(self):
        elf, table, maps, pcs = self.victim()
        for at, value in ((0, 0xffffffff), (0, 0x7fffffff), (4, 1), (24, 0xfffffff0), (28, 0xffffffff), (28, 1)):
            data = bytearray(elf.data)
            struct.pack_into("<I", data, table["offset"] + at, value)
            _, err = self.names(bytes(data), pcs, maps)
            self.assertIn("damaged unwind tables", err, (at, value))

    def test_size_of_terabytes(self):
        elf, _, maps, pcs = self.victim()
        sections = struct.unpack_from("<Q", elf.data, 40)[0]
        index = [s["name"] for s in elf.sections].index(".eh_frame")
        data = bytearray(elf.data)
        struct.pack_into("<Q", data, sections + 64 * index + 32, 1 << 60)
        _, err = self.names(bytes(data), pcs, maps)
        self.assertIn("damaged unwind tables", err)

    def test_heads_that_take_turns(self):
        """Consecutive FDEs refer to different long CIEs: reading each CIE completely would take
        hours."""
        head = struct.pack("<IB", 0, 1) + b"z" + b"S" * 4000000 + b"R\0\1\1\1\1\0"
        table = b""
        for _ in range(2):
            table += struct.pack("<I", len(head)) + head
        begin = len(table)
        rows = [struct.pack("<IIQQ", 20, begin + i * 24 + 4 - (len(head) + 4 if i % 2 else 0), 0x1000 + i % 2048, 1)
                for i in range(1000000)]
        data = tiny_elf(True, False, [("first", 0x1000, 0x10, 0x12)], more=(1, b".eh_frame\0", 0x2000, table + b"".join(rows)))
        names, err = self.names(data, [0x5000, 0x5010], ["5000,1000,1000,-,x"], timeout=10 * SLOW)
        self.assertEqual(names, {0x5000: "first", 0x5010: "_unknown"})
        self.assertIn("damaged unwind tables", err)


if __name__ == "__main__":
    unittest.main()
