"""Small files that expand: memory, time and output are in proportion to the real contents of the
file.

SPDX-License-Identifier: MIT
"""
import bz2
import itertools
import os
import struct
import unittest
import zlib

import elf
import pbin
import rawprofile
import tool
from fast_xxh3 import xxh3
from rawprofile import Map, Run, Sample, Thread

MB = tool.MB
OUTPUT = 64 * MB  # the limit for the output of a tool with any of these files


def column(width, base):
    return struct.pack("<BQ", width, base)


class Case(tool.Case):
    def small(self, argv, statuses=(0, 1), most=192 * MB, seconds=10, output=OUTPUT, **more):
        """ARGV ends by itself, with little memory and output, and at most one error line. Returns
        the result of tool.run."""
        sink = os.path.join(self.folder, "sink")
        with open(sink, "wb") as out:
            ended = tool.run(argv, timeout=12 * seconds if tool.is_asan() else seconds, peak=True, stdout=out, **more)
        where = f"{argv[:2]}: status {ended.status}, {ended.peak >> 20} MB, {ended.seconds:.1f} s, {ended.err[:300]!r}"
        self.assertIn(ended.status, statuses, where)
        self.assertLess(os.path.getsize(sink), output, where)
        if not tool.is_asan():
            self.assertLess(ended.peak, most, where)
        if ended.status != 0:
            self.assertEqual(ended.err.count("\n"), 1, where)
        return ended


def profile(**meta):
    return pbin.Writer({"name": "x", "pmu": pbin.POWER, "unit": "W", "cpus": 1, "cpu_time": 1, "times": 1,
                        "wall_ns": 10**9, **meta}, xxh3)


def packed(parts):
    """PARTS compressed by bzip2, never in memory as a whole: the peak memory of this process would
    count as that of the tool."""
    packer = bz2.BZ2Compressor()
    return b"".join(packer.compress(p) for p in parts) + packer.flush()


class Pbin(Case):
    def test_texts_that_bzip2_repeats(self):
        w = profile()
        texts = (pbin.block("STRS", struct.pack("<I", 1) + pbin.text(b"%08d" % i + b"x" * 50_000), xxh3)
                 for i in range(2000))
        data = packed(itertools.chain(w.parts, texts))
        self.assertLess(len(data), 200_000)
        ended = self.small(["pbin-dump", self.file("p.pbin", data)], (1,))
        self.assertIn("decompress it", ended.err)

    def test_definitions_that_bzip2_repeats(self):
        """Locations, threads, mappings, sources, all identical."""
        for kind, member in (("THRD", struct.pack("<III", 1, 1, 0)), ("MAPS", struct.pack("<QQQIII", 0, 0, 0, 0, 0, 0)),
                             ("LOCS", struct.pack("<QIII4I", 1, 0, pbin.NO_MAP, 1, 0, 0, 0, 0)),
                             ("srcs", struct.pack("<IIIIdQBI", 0, 0, 0, 0, 0, 0, 0, 0))):
            w = profile()
            count = 1_000_000 // len(member)
            block = pbin.block(kind, struct.pack("<I", count) + member * count, xxh3)
            data = bz2.compress(b"".join(w.parts)) + 100 * bz2.compress(block)
            with self.subTest(kind):
                ended = self.small(["pbin-dump", self.file("p.pbin", data)], (1,))
                self.assertIn("decompress it", ended.err)

    def test_measures_that_bzip2_repeats(self):
        """Over a million values in a few kB."""
        w = pbin.Writer({"name": "x", "keys": "function"}, xxh3)
        w.put_runs([pbin.Run("x", 1, 0, 0, 0, 0)])
        w.put_rows([pbin.Row(("f",), 0, 1, 1, 0, 0, 0, 0, (0, 0, 0, 0))])
        w.put_measures({"calls": ("", pbin.INTEGER, pbin.ADD)})
        block = pbin.block("mval", struct.pack("<I", 100_000) + (struct.pack("<IIQ", 0, 0, 1) + bytes(16)) * 100_000, xxh3)
        path = self.file("values.pbin", bz2.compress(b"".join(w.parts)) + 12 * bz2.compress(block))
        self.assertLess(os.path.getsize(path), 8000)
        self.assertIn("more measures than a file of this size",
                      self.small(["pbin-dump", "-q", "--histograms", path], (1,)).err)

    def zero_width(self, blocks, samples, threads):
        w = profile()
        w.put_threads([pbin.Thread(1)])
        w.put_locations([pbin.Location(1, "b", [pbin.Frame("f", "f")])])
        w.counts["samples"] += blocks * samples
        w.counts["entries"] += blocks * samples * threads
        block = pbin.block("SMPL", struct.pack("<II", samples, samples * threads) + b"".join(
            column(0, v) for v in (1000, 0, threads, 0, 0, 1)), xxh3)
        head = list(w.parts)
        w.finish()
        return [b"".join(head), *[block] * blocks, w.parts[-1]]

    @unittest.skipIf(tool.is_asan(), "computes for 20 s along paths that test_a_constant_profile_is_good takes, too")
    def test_columns_of_width_0(self):
        head, *blocks, tail = self.zero_width(20_000, 65536, 1)
        data = bz2.compress(head) + 20 * bz2.compress(b"".join(blocks[:1000])) + bz2.compress(tail)
        self.assertLess(len(data), 8000)
        tools = ["pbin-aggregate"], ["pbin-dump"], ["pbin-plot", "timeline", "-o", self.folder + "/t.txt"]
        for argv in tools:
            with self.subTest(argv):
                ended = self.small([*argv, self.file("p.pbin", data)], (1,))
                self.assertIn("decompress it", ended.err)

    def test_a_constant_profile_is_good(self):
        self.small(["pbin-aggregate", self.file("p.pbin", b"".join(self.zero_width(100, 65536, 1)))], (0,))
        self.small(["pbin-aggregate", self.file("p.pbin", packed(self.zero_width(100, 65536, 1)))], (0,))

    def long_name(self, length, rows):
        w = profile()
        w.put_threads([pbin.Thread(1)])
        binary, function, source = (c * length for c in "bfs")
        w.put_locations([pbin.Location(i, binary, [pbin.Frame(function, function, source, i + 1)]) for i in range(rows)])
        w.put_samples([pbin.Sample(1000, 1.0, [(0, i, 1000)]) for i in range(rows)])
        return self.file("p.pbin", w.finish())

    def test_padding_to_the_widest_name(self):
        w = profile()
        w.put_threads([pbin.Thread(1)])
        w.put_locations([pbin.Location(i, "b" * (100_000 if i == 0 else 1), [pbin.Frame("f", "f", "s", i)])
                         for i in range(10_000)])
        w.put_samples([pbin.Sample(1000, 1.0, [(0, i, 1000)]) for i in range(10_000)])
        path = self.file("p.pbin", w.finish())
        for argv in (["pbin-aggregate", "-k", "binary,line"], ["pbin-dump", "--locations", "--format", "text"]):
            with self.subTest(argv):
                self.small([*argv, path], (0,), output=8 * MB)

    def test_long_names_in_many_rows(self):
        path = self.long_name(100_000, tool.rounds(2000, 5))
        for argv in (["pbin-aggregate", "-k", "binary,function,file,line"], ["pbin-dump", "--locations"]):
            for form in ("text", "markdown"):
                with self.subTest(argv=argv, form=form):
                    self.small([*argv, "--format", form, path], (0,), most=512 * MB)


class Symbols(Case):
    COUNT = 20_000

    def convert(self, binary, count, step=16, statuses=(0,), **more):
        path = self.file("program", binary)
        run = Run([Sample(1.0, [Thread(1, elf.CODE + step * i, i)], i + 1) for i in range(count)],
                  [Map(elf.CODE, step * count + -step * count % 4096, path)], count, kind=rawprofile.POWER)
        raw = self.file("in.bin", rawprofile.write(run, "sampler"))
        return self.small(["prof2pbin", "-o", self.folder + "/out.pbin", raw], statuses, **more)

    def test_names_that_overlap(self):
        count, long = 5000, 400_000
        names = b"\0" + b"x" * long + b"\0"
        table = elf.symbols((1 + i, elf.CODE + 16 * i, 16) for i in range(count))
        ended = self.convert(elf.write(16 * count, [(".symtab", elf.SYMTAB, 0, 3, 24, table),
                                                    (".strtab", elf.STRTAB, 0, 0, 0, names)]), count)
        self.assertIn("overlap", ended.err)
        self.assertLess(os.path.getsize(self.folder + "/out.pbin"), 32 * MB)

    def test_versioned_names_that_overlap(self):
        """Names are copied without their version: a name that begins at each byte would take 2
        GB."""
        count, long = 5000, 400_000
        names = b"\0" + bytes(97 + i * i % 23 for i in range(long)) + b"@GLIBC_2.2\0"
        table = elf.symbols((1 + i, elf.CODE + 16 * i, 16) for i in range(count))
        ended = self.convert(elf.write(16 * count, [(".symtab", elf.SYMTAB, 0, 3, 24, table),
                                                    (".strtab", elf.STRTAB, 0, 0, 0, names)]), count)
        self.assertIn("overlap", ended.err)

    def stubs(self, count, names, symbols, relocation):
        """COUNT entries of .plt, and a RELOCATION (number) for each slot."""
        slots = 0x100000
        code = b"".join(b"\xff\x25" + struct.pack("<i", slots + 8 * i - (8 * i + 6)) + bytes(2) for i in range(count))
        relocations = b"".join(struct.pack("<QQq", slots + 8 * i, *relocation(i)) for i in range(count))
        return elf.write(4096, [(".dynsym", 11, 2, 3, 24, symbols), (".dynstr", elf.STRTAB, 2, 0, 0, names),
                                (".rela.plt", 4, 2, 2, 24, relocations), (".plt", elf.PROGBITS, 6, 0, 0, code),
                                (".symtab", elf.SYMTAB, 0, 3, 24, symbols)])

    def test_names_of_stubs_that_overlap(self):
        """80,000 parts of a name as slots of functions, and as slots whose resolver has a name of a
        megabyte."""
        count, long = 80_000, 1_000_000
        names = b"\0" + bytes(97 + i * i % 23 for i in range(long)) + b"\0"
        symbols = bytes(24) + b"".join(struct.pack("<IBBHQQ", 1 + i, 0x12, 0, 0, 0, 0) for i in range(count))
        ended = self.convert(self.stubs(count, names, symbols, lambda i: (7 | (i + 1) << 32, 0)), 16)
        self.assertIn("overlap", ended.err)
        resolver = elf.symbols([(1, elf.CODE, 16)])
        self.convert(self.stubs(count, names, resolver, lambda i: (37, elf.CODE)), 16)

    def test_names_that_share_ends_as_linkers_do(self):
        names = b"\0" + b"".join(b"prefix_%d_common\0" % i for i in range(100))
        members = []
        for i in range(100):
            at = names.index(b"prefix_%d_" % i)
            members += [(at, elf.CODE + 32 * i, 16), (at + 7, elf.CODE + 32 * i + 16, 16)]
        ended = self.convert(elf.write(3200, [(".symtab", elf.SYMTAB, 0, 3, 24, elf.symbols(members)),
                                              (".strtab", elf.STRTAB, 0, 0, 0, names)]), 200)
        self.assertEqual(ended.err, "")

    def test_demangled_names(self):
        """Substitutions double a name: 115 bytes become 35 kB."""
        count = 4000
        mangled = [self.doubling(i) for i in range(count)]
        names, members = bytearray(b"\0"), []
        for i, name in enumerate(mangled):
            members.append((len(names), elf.CODE + 16 * i, 16))
            names += name + b"\0"
        ended = self.convert(elf.write(16 * count, [(".symtab", elf.SYMTAB, 0, 3, 24, elf.symbols(members)),
                                                    (".strtab", elf.STRTAB, 0, 0, 0, bytes(names))]), count)
        self.assertLess(os.path.getsize(self.folder + "/out.pbin"), 48 * MB)
        self.assertIn("demangled", ended.err)

    def doubling(self, number):
        """f<number>(A<int, int>, B<A<int, int>, A<int, int> >, ...): each argument contains the
        previous one twice."""
        out = b"_Z6f%05d1AIiiE" % number
        last = b"S0_"
        for i in range(10):
            out += b"1BI" + last + last + b"E"
            last = b"S%c_" % b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[2 * i + 2]
        return out

    def abbreviations(self, *entries):
        out = b""
        for number, (tag, children, attributes) in enumerate(entries, 1):
            out += bytes((number, tag, children)) + b"".join(bytes(a) for a in attributes) + b"\0\0"
        return out + b"\0"

    def debug(self, body, abbreviations, *more):
        unit = struct.pack("<HIB", 4, 0, 8) + body
        return [(".debug_info", elf.PROGBITS, 0, 0, 0, struct.pack("<I", len(unit)) + unit),
                (".debug_abbrev", elf.PROGBITS, 0, 0, 0, abbreviations), *more]

    def nested(self, shape):
        abbreviations = self.abbreviations((0x11, 1, [(0x11, 1), (0x12, 7)]), (0x2e, 1, [(0x11, 1), (0x12, 7)]),
                                           (0x0b, 1, []), (0x0b, 0, []))
        place = struct.pack("<QQ", elf.CODE, 4096)
        body = b"\1" + place + b"\2" + place + shape + b"\0\0"
        return elf.write(4096, self.debug(body, abbreviations))

    def test_code_that_sections_share(self):
        """Sections that share code with an instruction per byte: each instruction is a row of a CSV
        file."""
        def shared(flags, data):
            return elf.write(4096, [(f".text{i}", elf.PROGBITS, 6 | flags, 0, 0, data if i == 0 else 2) for i in range(100)])
        packed = struct.pack("<IIQQ", 1, 0, 15 * MB, 1) + zlib.compress(bytes(15 * MB), 9)
        rows = self.file("rows.csv", b"pc\n0x1000\n")
        for name, data in (("compressed", shared(elf.COMPRESSED, packed)), ("plain", shared(0, b"\x90" * 8000))):
            with self.subTest(name):
                self.small(["pbin-addr2line", "--csv", "pc", "--fill-addresses", "-e", self.file("program", data), rows], output=MB)

    def test_nested_blocks(self):
        for name, shape in (("deep", b"\3" * 1_000_000 + b"\0" * 1_000_000),
                            ("deep and wide", b"\3" * 500 + b"\4" * 100_000 + b"\0" * 500)):
            with self.subTest(name):
                self.convert(self.nested(shape), 16, seconds=20, most=512 * MB)

    def test_compressed_sections_that_share_bytes(self):
        size = 256 * MB
        packer = zlib.compressobj(9)
        packed = b"".join(packer.compress(bytes(MB)) for _ in range(size // MB)) + packer.flush()
        data = struct.pack("<IIQQ", 1, 0, size, 1) + packed
        sections = [(".debug_" + name, elf.PROGBITS, elf.COMPRESSED, 0, 0, data if i == 0 else 2) for i, name in
                    enumerate(("line", "info", "abbrev", "str", "line_str", "ranges", "rnglists", "addr", "str_offsets"))]
        self.convert(elf.write(4096, sections), 16, seconds=20, most=640 * MB)


class Budget(Case):
    def test_more_than_max_memory(self):
        if tool.is_asan():
            self.skipTest("AddressSanitizer needs terabytes of addresses")
        w = profile()
        w.put_threads([pbin.Thread(i) for i in range(200_000)])
        path = self.file("p.pbin", w.finish())
        out = os.path.join(self.folder, "out.txt")
        ended = self.small(["pbin-dump", "--threads", "--max-memory", "8M", "-o", out, path], (1,))
        self.assertEqual(ended.err, "pbin-dump: out of memory: more than 8192 KB are needed (--max-memory)\n")
        for size, words in (("1", "1 byte is"), ("1000", "1000 bytes are"), ("1K", "1 KB are")):
            ended = self.small(["pbin-dump", "--threads", "--max-memory", size, "-o", out, path], (1,))
            self.assertEqual(ended.err, f"pbin-dump: out of memory: more than {words} needed (--max-memory)\n")
        self.assertEqual(sorted(os.listdir(self.folder)), ["p.pbin", "sink"])
        self.small(["pbin-dump", "--threads", "-o", out, path], (0,))

    def test_sizes(self):
        path = self.file("p.pbin", profile().finish())
        for size in ("100000K", "100M", "1G", "0", "18446744073709551615", "17179869183G"):
            self.succeeds(["pbin-dump", "-q", "--max-memory", size, path])
        for size in ("", "K", "-1", "1T", "1.5G", "18446744073709551616", "17179869184G", "1GG"):
            ended = tool.run(["pbin-dump", "--max-memory", size, path])
            self.assertEqual((ended.status, ended.out), (2, b""), size)
            self.assertIn("--max-memory must be a number of bytes", ended.err)


if __name__ == "__main__":
    unittest.main()
