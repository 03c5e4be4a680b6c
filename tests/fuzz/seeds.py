#!/usr/bin/python3
"""Valid files of every kind, from the independent writers of tests/lib and from compilers: the
beginning of fuzzing.

    python3 tests/fuzz/seeds.py FOLDER       writes FOLDER/TARGET/NAME

SPDX-License-Identifier: MIT
"""
import bz2
import gzip
import itertools
import lzma
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import zlib

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
for name in ("lib", "gmon", "gperf", "igprof", "perf", "sthem", "fuzz"):
    sys.path.append(os.path.join(TESTS, name))

import elf  # noqa: E402
import export  # noqa: E402
import gmonfile  # noqa: E402
import pbin  # noqa: E402
import profiles  # noqa: E402
import rawprofile as raw  # noqa: E402
import test_gperf2pbin as gperf  # noqa: E402
import test_igprof2pbin as igprof  # noqa: E402
import test_perf2pbin as perf  # noqa: E402
import test_mutations  # noqa: E402
import traces  # noqa: E402
from fast_xxh3 import xxh3  # noqa: E402

PROGRAM = """
struct shape { virtual ~shape() {} virtual int area(int) const; int n = 3; };
namespace deep { namespace er { template <class T> inline T twice(T t) { return t + t * (t & 3); } } }
static inline __attribute__((always_inline)) int step(int v) { return deep::er::twice(v) ^ 5; }
int shape::area(int v) const { int s = 0; for (int i = 0; i < v; i++) s += step(i) * n; return s; }
static __attribute__((noinline)) int cold(int v) { if (v > 100) __builtin_trap(); return step(v); }
int main(int argc, char **) { shape s; return s.area(argc) + cold(argc); }
"""
# Options that change the output of a compiler: versions of DWARF, wide offsets, split and
# compressed sections.
VARIANTS = (("-gdwarf-5",), ("-gdwarf-4", "-gz=zlib"), ("-gdwarf-3",), ("-gdwarf-2", "-gstrict-dwarf"), ("-gdwarf64", "-O0"),
            ("-gdwarf-5", "-fdebug-types-section"), ("-g", "-gz=zlib-gnu"), ("-m32", "-gdwarf-4"), ("-gdwarf-5", "-ffunction-sections"))


def raw_seeds():
    options = {None: 0, "--salvage": 8, "-v": 0}
    for i, (arguments, data) in enumerate(test_mutations.raw_profiles()):
        yield f"dialect{i}", bytes([options[arguments[0] if arguments else None], 0]) + data
    run = test_mutations.make_run(raw.POWER, 6)
    times = [s.time_us * 1000 for s in run.samples]
    for pmu in "dfbBhHiIqQ":
        yield f"pperf-{pmu}", bytes([5, 0]) + raw.write(run, "pperf", pmu=pmu)
    for value, pmu in enumerate([*"ddfbhiqBHIQ", 5]):  # in the order of enum raw_value
        yield f"value-{value}", bytes([5, value]) + raw.write(run, "pperf", pmu=pmu)
    ext = raw.Extended({"command": "burn", "cpus": "2"}, [raw.Image(7, "/bin/burn", comm="burn"),
                                                         raw.Image(8, "/bin/sh", 5, 7, 0, raw.FORK, "sh")],
                       [raw.Mapping(0, 0x401000, 64, "/bin/burn", build_id="ab12"),
                        raw.Mapping(1, 0x601000, 64, "", kind=raw.ANONYMOUS)],
                       [raw.Task(7, 7, 0, "a"), raw.Task(8, 7, 3, "b")],
                       [(0, raw.JIT_TEXT, b"401000 20 jitted\n"), (1, raw.JIT_DUMP, jitdump("<"))],
                       [raw.Source("rapl"), raw.Source("fan", "power", "W", "board", 0.5, 100, 0, "text")],
                       [raw.Reading(0, 0, 5, 1), raw.Reading(0, times[3], 77, 2), raw.Reading(1, times[4], 1 << 60)],
                       [(7, 5, 6)], [(7, times[3], 4000000, 8000000, 9)], (0x7000, b"\x7fELFvdso"))
    yield "spool", bytes([8, 0]) + raw.spool(run, times)
    flags = [t for s in run.samples for t in s.threads]
    for i, t in enumerate(flags):
        t.flags, t.caller = 1 + i % 7, 0x401010
    yield "extended", bytes(2) + raw.extended(run, times, ext, per_block=4)
    yield "processes", bytes([8, 0]) + raw.extended_spool(run, times, ext, 3)
    watts = [struct.unpack("<Q", struct.pack("<d", 2.0 + i))[0] for i in range(4)]
    ext.facts["engine"], ext.marks = "perf", [(t, 100 * i) for i, t in enumerate(times)]
    yield "marks", bytes(2) + raw.extended(run, times, ext, per_block=4)
    del ext.facts["engine"]
    ext.marks = []
    ext.sources = [raw.Source("board", "power", "W", "board"), raw.Source("fan", "speed", "Hz", "")]
    ext.readings = [raw.Reading(i % 2, t, watts[i % 4]) for i, t in enumerate([0, *times[::2], times[-1]])]
    ext.readings += [raw.Reading(0, t + 500, watts[i % 4]) for i, t in enumerate(times)]
    ext.readings.sort(key=lambda r: r.time)
    yield "gauge", bytes([8, 0]) + raw.extended_spool(run, times, ext, 3)


def pbin_seeds():
    for seed in range(6):
        profile = profiles.make(seed, samples=40, threads=3, locations=8, gaps=seed % 2, cpu_time=seed % 3 and 1)
        if seed == 1:
            profile.maps = [pbin.Map(0x400000, 0x1000, 0, "app", "/bin/app", "ab" * 20)]
            profile.locations[0].map = 0
            profile.programs, profile.callers = {0: "/bin/app"}, {1: 2}
            profile.checksums = [("app", "/src/app.c", "0123456789abcdef" * 2)]
            profile.sources = [("cpu", "energy", "J", "package", 1.0, 0, 1, "text"), ("fan", "power", "W", "", .5, 9, 0, "")]
            profile.readings = [(0, 0, 1, 0), (0, 900_000, 7, 3), (1, 1_000_000, 1 << 60, 4)]
            profile.values = {1: [1.0 * i for i in range(40)]}
            profile.busy = list(range(40))
            for sample in profile.samples[10:20]:
                sample.equal = [7] * len(sample.entries)
        data = pbin.write(profile, 15, xxh3)
        for flags in (0, 3, 8, 20) if seed == 1 else (seed % 8,):
            yield f"full{seed}-{flags}", bytes([flags]) + data
    with tempfile.TemporaryDirectory() as folder:  # values that are not numbers
        odd = os.path.join(folder, "odd.bin")
        with open(odd, "wb") as f:
            f.write(raw.write(test_mutations.make_run(raw.POWER, 40), "pperf", pmu=5))
        done = subprocess.run([os.path.join(os.environ.get("BUILD", "build"), "prof2pbin"), "-q", "--no-dwarf", odd], capture_output=True,
                              check=True)
    for flags in (32, 41):
        yield f"opaque-{flags}", bytes([flags]) + done.stdout
    parts = pbin.write(profiles.make(3, samples=400, threads=2, locations=8), 20, xxh3)
    for flags in (20, 28):
        yield f"parts-{flags}", bytes([flags]) + parts
    bomb = pbin.Writer({"name": "x"}, xxh3)  # 2^30 empty definitions
    yield "bomb", b"\0" + bomb.finish()[:-40] + pbin.block("LOCN", struct.pack("<I", 1 << 30), xxh3)
    w = pbin.Writer({"name": "x", "keys": "binary,function,line"}, xxh3)
    w.put_runs([pbin.Run("x", 10**9, 5, 1, 10**6, 1)])
    w.put_rows([pbin.Row(("b", n, 4), 2, k, 1, 1000, 1, 1, 0, (1, 1, 0, 0)) for n, k in (("f", 3), ("g", None))])
    w.put_arcs([("a", "a", "b", "b", 1), ("b", "b", "c", "c", 2)])
    w.put_measures({"calls": ("", pbin.INTEGER, pbin.ADD), "max": ("ns", pbin.REAL, pbin.MOST),
                    "duration": ("ns", pbin.HISTOGRAM, pbin.ADD)})
    w.put_measured({(0, "calls"): pbin.Measured.of_run(3), (1, "calls"): pbin.Measured(2, 4, 10, 1, 3),
                    (0, "max"): pbin.Measured.of_run(7), (0, "duration"): {5: 1, 90: 2}})
    yield "rows", b"\0" + w.finish()
    for name in ("a", "b"):
        with open(os.path.join(TESTS, "..", "samples", name + ".pbin"), "rb") as f:
            yield "sample-" + name, b"\4" + f.read()
    build = os.environ.get("BUILD", "build")
    for keys in ("function", "thread,file,line", "binary,inline,comm"):  # and least squares, ours only
        full = pbin.write(profiles.make(9, samples=200, threads=3, locations=6), 50, xxh3)
        done = subprocess.run([os.path.join(build, "pbin-aggregate"), "-q", "--energy-model=fit", "-k", keys, "--format=pbin"], input=full,
                              capture_output=True, check=False)
        if done.returncode == 0:
            yield "fit-" + keys.replace(",", "-"), b"\0" + done.stdout


def gmon_seeds():
    histogram = gmonfile.Histogram(0x400000, 0x400080, [1, 2, 3, 0, 65535, 0, 7, 8])
    other = gmonfile.Histogram(0x500000, 0x500040, [5] * 4)
    for bits in (32, 64):
        for order in "<>":
            p = gmonfile.Profile([histogram], [(0x400010, 0x400020, 3), (0x400030, 0x400000, 1)], bits, order)
            two = gmonfile.Profile([histogram, other], p.arcs, bits, order)
            flags = (4 | (8 if bits == 64 else 0)) | 16 | (32 if order == ">" else 0)
            for i, data in enumerate((gmonfile.gnu(p), gmonfile.gnu(two, blocks=[(1, 2)]), gmonfile.bsd(p), gmonfile.bsd_old(p))):
                yield f"{bits}{'lb'[order == '>']}{i}", b"\0" + data
                yield f"{bits}{'lb'[order == '>']}{i}cut", bytes([64 | flags | min(i, 3)]) + data[:-5]


def sthem_seeds():
    rng = random.Random(3)
    for kind, places in (("sthem", [("app", "main"), ("lib,x", "f;g"), ("", "h")]), ("pc", [4198400, 4198500]),
                         ("lynsyn", [4198400, 0x1234])):
        for i, more in enumerate(({}, {"newline": "\r\n", "bom": True, "trailing": ";"}, {"comma": True, "quotes": True},
                                  {"separator": ",", "shuffle": 3}, {"separator": "\t"})):
            layout, rows = export.Layout(kind, **more), []
            for n in range(12):
                time = f"{0.001 * n:.6g}" if n not in (4, 7) else "0.002"
                values = {1: ("0.5", "12") if kind == "lynsyn" else "1.25e0", 2: ("-0.1", "5") if kind == "lynsyn" else "-3"}
                rows.append(export.Row(time, values, {0: rng.choice(places), 2: rng.choice(places)}))
            yield f"{kind}{i}", bytes([(0, 5, 16, 0, 0)[i]]) + export.text(layout, rows)


def programs():
    """ELF files made by the compilers that are installed."""
    with tempfile.TemporaryDirectory() as folder:
        source, out = os.path.join(folder, "p.cc"), os.path.join(folder, "p")
        with open(source, "w", encoding="ascii") as f:
            f.write(PROGRAM)
        for compiler in ("g++", "clang++-14"):
            for options in VARIANTS:
                argv = [compiler, "-O2", *options, "-nostdlib", "-w", "-ffreestanding", "-fno-rtti", "-Wl,-e,main",
                        "-Wl,--unresolved-symbols=ignore-all", "-Wl,-z,noseparate-code", "-Wl,--build-id", "-o", out, source]
                if subprocess.run(argv, cwd=folder, capture_output=True, check=False).returncode != 0:
                    continue
                name = compiler[0] + "".join(options)
                yield name, read(out)
                for extra in (["--strip-all"], ["--only-keep-debug"]):
                    if options == VARIANTS[0] or options == VARIANTS[7]:
                        subprocess.run(["objcopy", *extra, out, out + "2"], check=True)
                        yield name + extra[0], read(out + "2")
                if options == VARIANTS[0]:
                    subprocess.run(["objcopy", "--only-keep-debug", "--remove-section=.debug*", out, out + "3"], check=True)
                    with open(out + ".xz", "wb") as f:
                        f.write(lzma.compress(read(out + "3")))
                    subprocess.run(["objcopy", "--strip-all", f"--add-section=.gnu_debugdata={out}.xz", out, out + "4"], check=True)
                    yield name + "-minidebug", read(out + "4")
        with open(source[:-1], "w", encoding="ascii") as f:
            f.write("int f(int a) { return a + 1; } int _start(int a) { return f(a) * 3; }\n")
        for machine in ("arm-linux-gnueabihf", "powerpc64-linux-gnu", "s390x-linux-gnu"):
            for assembler in (f"{machine}-as",):
                s = os.path.join(folder, "e.s")
                with open(s, "w", encoding="ascii") as f:
                    f.write(".text\n.globl f\n.type f,%function\nf:\n" + (".fnstart\n" if "arm" in machine else ".cfi_startproc\n") +
                            ".long 0\n.long 0\n" + (".fnend\n" if "arm" in machine else ".cfi_endproc\n") + ".size f,.-f\n")
                if subprocess.run([assembler, "-g", "-o", out + ".o", s], capture_output=True, check=False).returncode == 0 and \
                        subprocess.run([f"{machine}-ld", "-e", "f", "-o", out, out + ".o"], capture_output=True, check=False).returncode == 0:
                    yield machine, read(out)


def split_programs():
    """Programs that also have the sections of their split debug information, or of the package of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)
        with open(path("p.cc"), "w", encoding="ascii") as f:
            f.write(PROGRAM)
        for compiler, version, package in itertools.product(("g++", "clang++-14"), (4, 5), (None, "dwp", "llvm-dwp-14")):
            def run(*argv):
                return subprocess.run(argv, cwd=folder, capture_output=True, check=False).returncode == 0
            good = run(compiler, "-O2", f"-gdwarf-{version}", "-gsplit-dwarf", "-w", "-ffreestanding", "-fno-rtti", "-c", "p.cc") and \
                run(compiler, "-nostdlib", "-Wl,-e,main", "-Wl,--unresolved-symbols=ignore-all", "-Wl,-z,noseparate-code", "-o", "p", "p.o")
            split = "p.dwo" if package is None else "p.dwp"
            if not good or (package and not run(package, "-e", "p", "-o", "p.dwp")):
                continue
            listed = subprocess.run(["readelf", "-SW", split], cwd=folder, capture_output=True, text=True, check=True).stdout
            for section in re.findall(r"(\.debug_(?:\S+\.dwo|cu_index))", listed):
                run("objcopy", "--dump-section", f"{section}=section", split) and run("objcopy", "--add-section", f"{section}=section", "p")
            yield f"split-{compiler[0]}{version}{package}", read(path("p"))


def odd_programs():
    """Programs as compilers rarely make them, or not for this machine."""
    named = b"\0f@V_1\0f@@V_2\0_g\0resolve\0"
    symbols = elf.symbols(((1, elf.CODE, 16), (7, elf.CODE, 16), (14, elf.CODE, 0), (17, elf.CODE + 32, 16)))
    tables = [(".symtab", elf.SYMTAB, 0, 3, 24, symbols), (".strtab", elf.STRTAB, 0, 0, 0, named)]
    text = b"".join(b"%d of the debug information, " % (i * i) for i in range(2000))
    zstd = subprocess.run(["zstd", "-c"], input=text, capture_output=True, check=True).stdout
    packed = [(".debug_str", elf.PROGBITS, elf.COMPRESSED, 0, 0, struct.pack("<IIQQ", kind, 0, len(text), 1) + data)
              for kind, data in ((2, zstd), (1, zlib.compress(text)))]
    yield "zstd", elf.write(64, [*tables, *packed])
    slots = 0x100000
    code = b"".join(before + struct.pack("<i", slots + 8 * i - (16 * i + len(before) + 4)) + bytes(12 - len(before))
                    for i, before in enumerate((b"\xff\x25", b"\xf3\x0f\x1e\xfa\xff\x25", b"\xf2\xff\x25")))
    relocations = b"".join(struct.pack("<QQq", slots + 8 * i, *r) for i, r in enumerate(((37, elf.CODE + 32), (7 | 1 << 32, 0), (6 | 2 << 32, 0))))
    stubs = [*tables, (".rela.plt", 4, 2, 2, 24, relocations), (".plt", elf.PROGBITS, 6, 0, 0, code)]
    yield "plt", elf.write(64, stubs)
    arm64 = struct.pack("<IIIIII", 0xd503245f, 0x90000810, 0xf9400211, 0x91000210, 0xd61f0220, 0xd503201f)
    yield "plt-aarch64", of_machine(elf.write(64, [*tables, (".rela.plt", 4, 2, 2, 24, struct.pack("<QQq", slots, 1026 | 1 << 32, 0)),
                                                   (".plt", elf.PROGBITS, 6, 0, 0, arm64)]), 183)
    descriptor = struct.pack("<QQQ", elf.CODE + 16, 0, 0)
    in_opd = bytes(24) + struct.pack("<IBBHQQ", 17, 0x12, 0, 4, 0, 16)
    yield "opd", of_machine(elf.write(64, [(".strtab", elf.STRTAB, 0, 0, 0, named), (".symtab", elf.SYMTAB, 0, 2, 24, in_opd),
                                           (".opd", elf.PROGBITS, 3, 0, 0, descriptor)]), 21)
    entries = struct.pack("<IIIIII", elf.CODE + 1, 1, elf.CODE - 8 + 17, 1, 0x80000000, 1)
    yield "exidx", of_machine(elf.write(64, [*tables, (".ARM.exidx", 0x70000001, 2, 0, 0, entries + b"x")]), 40)
    cie = struct.pack("<II", 14, 0xffffffff) + b"\3\0\1\x78\x10" + bytes(5)
    frames = cie + struct.pack("<IIQQ", 20, 0, elf.CODE, 16)
    yield "debug-frame", elf.write(64, [*tables, (".debug_frame", elf.PROGBITS, 0, 0, 0, frames)])


def of_machine(data, machine):
    return data[:18] + struct.pack("<H", machine) + data[20:]


def dwarf_seeds():
    yield from programs()
    yield from split_programs()


def elf_seeds():
    yield from programs()
    yield from odd_programs()


def read(path):
    with open(path, "rb") as f:
        return f.read()


def answer(strings, addresses, damaged=0):
    body = struct.pack("<II", damaged, len(strings)) + b"".join(struct.pack("<I", len(s)) + s for s in strings) + b"".join(addresses)
    return struct.pack("<I", len(body)) + body


def answer_seeds():
    frame, md5 = struct.pack("<IIII", 1, 2, 7, 0), b"0123456789abcdef" * 2
    first = answer([b"main", b"a.c"], [b"\1" + frame, b"\xff", b"\0", b"\2" + frame * 2, b"\xff"])
    yield "one", first
    yield "two", first + answer([b"f"], [b"\1" + struct.pack("<IIII", 3, 0, 1, 0), b"\0", b"\xff", b"\xff", b"\0"], 3)
    yield "none", answer([], [b"\0"] * 5)
    for name, text in (("checksum", md5), ("no-checksum", md5[:-1] + b"g")):
        yield name, answer([b"f", b"a.c", text], [b"\1" + struct.pack("<IIII", 1, 2, 7, 3)] + [b"\xff"] * 4)
    wants = struct.pack("<I", 2**32 - 1)
    for name in (b"a.dwo", b"none.dwo"):
        text = raw.text(b"/folder") + raw.text(name)
        yield "split-" + name.decode(), wants + struct.pack("<I", len(text)) + text + struct.pack("<I", 2**32 - 2) + first
    yield "split-cut", wants + struct.pack("<I", 9) + raw.text(b"/folder")[:9]
    yield "split-long", wants + struct.pack("<I", 1 << 20)
    yield "cut", first[:-5]
    yield "implausible", first[:4] + struct.pack("<II", 0, 1 << 30) + first[12:]


def igprof_seeds():
    files = {"main": ("/bin/app", 16), "_ZN1a1bEv": ("/lib/libc.so.6", 64), "@?0x7f10": ("/lib/libc.so.6", 80)}
    inner = igprof.Node("_ZN1a1bEv", {"PERF_TICKS": (1, 2, 2), "MEM_LIVE": (1, 64, 64), "odd name": (1, 1, 1)}, [(4096, 64)])
    unnamed = igprof.Node("@?0x7f10", {"MEM_MAX": (1, 100, 100), "MEM_TOTAL": (3, 300, 100)})
    recursive = igprof.Node("main", {"PERF_TICKS": (1, 1, 1)})
    roots = [igprof.Node("main", {"PERF_TICKS": (5, 5, 5)}), unnamed]
    roots[0].children, inner.children = [inner, unnamed], [recursive]
    for base in (10, 16):
        yield f"base{base}", igprof.dump(roots, files, base, threads=2)
    for i, line in enumerate(("C2 FN0+0", "C1 FN0=(F0+0 N=(a))+0", "C1 FN0+0 V0:(1,1,1)", "C1 FN0=(F0=(b)+-5 N=(a))+-7 V0=(X_COUNT):(1,2,3);LK=(0xff,3)",
                              "C1 FN0=(F0=(b)+0 N=(a))+0 V0=(PERF_TICKS):(18446744073709551615,18446744073709551615,1)\nC2 FN0+0 V0:(9,9,9)",
                              "C1 FN0=(F0=(b)+0 N=(a))+0 V0=(X):(1,1,1) V0:(1,1,1)", "C1 FN0=(F0=(b)+0 N=(a))+0 V0=():(1,1,1)")):
        yield f"line{i}", f"P=(ID=7 N=(app) T=0.01)\n{line}\n".encode()
    yield "many counters", b"P=(ID=7 N=(app) T=0.01)\nC1 FN0=(F0=(b)+0 N=(a))+0" + b"".join(b" V%d=(C%d):(1,1,1)" % (i, i) for i in range(33)) + b"\n"
    yield "ticks", b"P=(HEX ID=7 N=(app) T=-1)\n"


def perf_seeds():
    kinds = (perf.PLAIN, perf.PLAIN | perf.ADDR | perf.ID | perf.CPU, perf.PLAIN | perf.IDENTIFIER | perf.STREAM | perf.READ,
             perf.PLAIN | perf.CHAIN | perf.READ | perf.ID)
    for order in "<>":
        for pipe in (False, True):
            for kind in kinds:
                yield f"kind{kind}{order}{pipe}", perf.simple(order=order, pipe=pipe, kind=kind, read_format=7).finish()
    events = ((1, perf.DUMMY, 1, False), (0, 0, 4000, True), (3, 0x10000, 1, False))
    for kind in (perf.PLAIN | perf.IDENTIFIER, perf.PLAIN | perf.ID | perf.READ | perf.CHAIN):
        yield f"events{kind}", perf.simple(events=events, kind=kind, read_format=15).finish()
    r = perf.Recording(kind=perf.PLAIN | perf.CHAIN)
    r.mapping(1, 0, 0x10000, 0x10000, "/nowhere/one", build_id=bytes(range(20)))
    r.mapping(1, 0, 0x18000, 0x1000, "//anon", old=True)
    for i, path in enumerate(("[heap]", "[stack]", "[vdso]", "[vsyscall]", "/memfd:x (deleted)", "/dev/zero", "")):
        r.mapping(1, i, 0x20000 + i * 0x1000, 0x2000, path)
    r.sample(1, 1, 5, 0xffffffff81000010, mode=perf.KERNEL, chain=((1 << 64) - 128, 0xffffffff81000010, (1 << 64) - 512, 0x10020))
    r.record(71, r.pack("QQ", 16, 0))
    r.records.append(bytes(16))
    r.record(66, r.pack("II", 5, 0))
    r.records.append(bytes(8))
    r.record(67, r.pack("I20sB3x", 1, bytes(range(20)), 20) + r.text("/nowhere/one"))
    r.record(80, r.pack("QI", 3, 8) + b"machine\0")
    r.record(80, r.pack("QIIII", 12, 1, 16, 0, 0) + bytes(12) + r.pack("II", 1, 8) + b"cycles\0\0" + r.pack("Q", 100))
    r.record(13, r.pack("Q", 3) + r.tail(1, 1, 9))
    r.record(81, bytes(8))
    yield "odd records", r.finish()


def trace_seeds():
    for word in "QI":
        for order in "<>":
            yield f"gperf{word}{order}", gperf.write([(1, [0x401000, 5, 6]), (2, [0x401001])], word, order)
    yield "bad stack", gperf.write([(0, [5])])
    yield "bad map", gperf.write([(1, [5])], maps="nonsense\n")
    for i, line in enumerate(("", "7-6", "5-6 r", "5-6 rwxp", "5-6 rwxp 0", "1" * 70000)):
        yield f"map{i}", gperf.write([(1, [5])], maps=line + "\n")
    yield "tracerv", traces.tracerv([(1, {0: 0x10000}), (2, {5: 0xff80001000}), (2, {1: 5}), (3, {}), (4, {6: 7})])
    yield "late cycle", traces.tracerv([(1 << 56, {0: 1})])
    yield "later cycle", traces.tracerv([(1, {0: 1}), (1 << 56, {0: 1})])
    yield "text", b"Cycle: 0001 I0: 0002\n"
    yield "line", b"x" * 5000
    yield "memtrace", traces.memtrace([(0, 1, 8, 0x10000), (1, 1, 4, 0x10008)])
    yield "large access", traces.memtrace([(1, 1, 1 << 21, 1)])
    yield "short", b"hello"


def jitdump(order):
    def record(kind, payload):
        return struct.pack(order + "IIQ", kind, 16 + len(payload), 1) + payload
    head = struct.pack(order + "IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, 7, 1, 0)
    load = struct.pack(order + "IIQQQQ", 7, 7, 0x5000, 0x5000, 0x40, 1) + b"jitted\0" + bytes(0x40)
    move = struct.pack(order + "IIQQQQQ", 7, 7, 0x5000, 0x5000, 0x6000, 0x40, 1)
    return head + record(0, load) + record(2, bytes(8)) + record(1, move) + record(3, b"")


def name_seeds():
    yield "kallsyms", b"\0ffffffff81000000 T _stext\nffffffff81000100 t helper\t[module]\nffffffff81000200 D data\n"
    yield "perf-map", b"\x01401000 20 jitted code\n0x402000 0X10 other\n500 0 none\nbad\n"
    yield "jitdump-l", b"\2" + jitdump("<")
    yield "jitdump-b", b"\2" + jitdump(">")
    yield "mappings", b"\3400000-401000 r-xp 00000000 08:01 7 /bin/a b\n# text\n0x500000 0x1000 libc.so\n"
    for i, mangled in enumerate((b"_ZN4deep2er5twiceIiEET_S2_", b"_ZNSt3mapIicSt4lessIiESaISt4pairIKicEEEixERS3_.cold",
                                 b"_RNvCs1234_7mycrate3foo", b"_ZN3foo3bar17h05af221e174051e9E", b"_Z1fIJidEEvDpT_.part.0",
                                 b"_D3app4main3runFiAyaZv", b"_D3app4broken", b"_D3app" + 40 * b"Q")):
        yield f"mangled{i}", b"\4" + mangled


def packed_seeds():
    data = b"".join(b"%d some text, " % (i * i % 97) for i in range(300))
    packed = {"bz2": bz2.compress(data), "gz": gzip.compress(data, mtime=0), "xz": lzma.compress(data),
              "zst": subprocess.run(["zstd", "-c", "--check"], input=data, capture_output=True, check=True).stdout}
    packed["bz2s"] = packed["bz2"] + bz2.compress(b"more")
    packed["gzs"] = packed["gz"] + gzip.compress(b"more", mtime=0)
    packed["plain"] = b"some text " * 20
    for name, content in packed.items():
        for flags in (0, 1, 2, 12):
            yield f"{name}{flags}", bytes([flags]) + content
        yield name + "cut", b"\1" + content[:-9]
    yield "xz-dictionary", b"\0" + with_dictionary(packed["xz"])


def with_dictionary(xz):
    """An xz file that declares a dictionary of 4 GB."""
    size = (xz[12] + 1) * 4  # of the header: size, flags, filter, its properties, padding, CRC32
    header = bytearray(xz[12:12 + size - 4])
    assert header[2] == 0x21
    header[4] = 40
    return xz[:12] + bytes(header) + struct.pack("<I", zlib.crc32(header)) + xz[12 + size:]


def tool_seeds():
    """Profiles of each kind, with the commands that use most of their contents."""
    source = os.path.join(TESTS, "fuzz", "tools.c")
    with open(source, encoding="ascii") as f:
        commands = re.findall(r'{main_\w+, "([^"]*)"}', f.read())
    for name, data in [*pbin_seeds(), ("burn", sample_of_burn())]:
        for number in range(len(commands)) if name == "burn" else random.Random(name).sample(range(len(commands)), 8):
            yield f"{name}-{number}", bytes([number]) + (data if name == "burn" else data[1:])


def sample_of_burn():
    """A profile of samples/burn, for commands that need its symbols."""
    binary = os.path.join(os.path.dirname(TESTS), "samples", "burn")
    symbols = subprocess.run(["nm", "-S", "--defined-only", binary], check=True, capture_output=True, text=True).stdout
    functions = [(int(f[0], 16), f[3]) for f in (line.split() for line in symbols.splitlines()) if len(f) == 4 and f[2] in "tT"]
    base, w = 0x555500000000, pbin.Writer({"name": "burn", "target": "burn", "pmu": pbin.POWER, "cpus": 2, "cpu_time": 1, "times": 1,
                                           "wall_ns": 10**7, "samples": 20, "latency_ns": 0}, xxh3)
    w.put_threads([pbin.Thread(1, 1, "burn")])
    w.put_locations([pbin.Location(base + address, "burn", [pbin.Frame(name, name, "burn.c", 7)]) for address, name in functions])
    w.put_samples([pbin.Sample(5 * 10**5, 2.0, [(0, i % len(functions), 4 * 10**5)]) for i in range(20)])
    return w.finish()


SEEDS = {"tools": tool_seeds, "raw": raw_seeds, "pbin": pbin_seeds, "gmon": gmon_seeds, "igprof": igprof_seeds, "perf": perf_seeds,
         "sthem": sthem_seeds, "traces": trace_seeds, "elf": elf_seeds, "dwarf": dwarf_seeds, "answers": answer_seeds, "names": name_seeds,
         "packed": packed_seeds}


def main(folder):
    for target, seeds in SEEDS.items():
        os.makedirs(os.path.join(folder, target), exist_ok=True)
        for name, data in seeds():
            with open(os.path.join(folder, target, name), "wb") as f:
                f.write(data)


if __name__ == "__main__":
    main(sys.argv[1])
