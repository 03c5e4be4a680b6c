"""Bad input, bad output, bad usage: one clear line, exit status 1 (usage: 2), nothing half-written.

SPDX-License-Identifier: MIT
"""
import bz2
import json
import os
import random
import struct
import subprocess
import unittest

import pbin
import rawprofile as raw
import tool

MEMORY = 512 * tool.MB
TOOLS = ("prof2pbin", "pbin-aggregate", "pbin-dump")
QUIET = {"prof2pbin": ["-q"], "pbin-aggregate": ["-q"], "pbin-dump": []}


def small_run(samples=3, maps=1, kind=raw.POWER, threads=2):
    return raw.Run([raw.Sample(1.5 + i, [raw.Thread(100 + t, 0x401000 + 16 * t, 10**6 * (i + 1))
                                         for t in range(threads)], 10**15 + 1000 * i)
                    for i in range(samples)],
                   [raw.Map(0x401000 + 0x100000 * m, 0x1000, f"program{m}") for m in range(maps)],
                   1000 * samples, kind=kind)


class BadCase(tool.Case):
    def limits(self):
        return {"memory": None if tool.is_asan() else MEMORY, "timeout": 30 if tool.is_asan() else 10}

    def refuses(self, name, file, *options):
        """NAME refuses FILE with one line: no output file, no other new files."""
        folder = os.path.join(self.folder, "out")
        os.makedirs(folder, exist_ok=True)
        out = os.path.join(folder, "result")
        ended = self.fails([name, *QUIET[name], *options, "-o", out, file], file, **self.limits())
        self.assertEqual(os.listdir(folder), [])
        return ended

    def refuses_bytes(self, name, data, *options):
        """Like refuses, and from stdin too."""
        self.refuses(name, self.file("input", data), *options)
        return self.fails([name, *QUIET[name], *options], "<stdin>", stdin=data, **self.limits())

    def pbin(self, run=None, dialect="sampler"):
        return self.succeeds(["prof2pbin", "-q"], stdin=raw.write(run or small_run(), dialect)).out

    def ends_well(self, argv, **more):
        """The file is accepted, or refused with at most one line; no crash."""
        ended = tool.run(argv, **more, **self.limits())
        self.assertIn(ended.status, (0, 1), ended.err)
        if ended.status == 1:
            self.assertEqual((ended.out, ended.err.count("\n")), (b"", 1), ended.err)
            self.assertTrue(ended.err.startswith(argv[0] + ": "), ended.err)
        return ended


class EveryTool(BadCase):
    def test_empty_and_tiny(self):
        for name in TOOLS:
            for data in (b"", b"\0", b"x", b"B", b"BZ", b"BZh9", b"\x89PBX\r\n\x1a\n", bytes(32), bytes(36)):
                with self.subTest(tool=name, data=data):
                    self.refuses_bytes(name, data)

    def test_header_only(self):
        run = small_run()
        for dialect in ("sampler", "pperf"):
            size = 36 if dialect == "pperf" else 32
            with self.subTest(dialect):
                self.refuses_bytes("prof2pbin", raw.write(run, dialect)[:size])
        for name in TOOLS[1:]:
            with self.subTest(name):
                self.refuses_bytes(name, self.pbin()[:8])

    def test_garbage(self):
        rng = random.Random(20)
        for number in range(tool.rounds(200, 4)):
            data = rng.randbytes(rng.choice((3, 31, 32, 33, 48, 100, 304, 1000, 5000)))
            if number % 4 == 0:  # begins like a profile
                data = struct.pack("<IQQQI", rng.randrange(4), 1000, 10, rng.randrange(100),
                                   rng.randrange(3)) + data
            file = self.file("garbage", data)
            for name in TOOLS:
                with self.subTest(number=number, tool=name):
                    self.refuses(name, file)

    def test_directory(self):
        for name in TOOLS:
            with self.subTest(name):
                self.refuses(name, "/usr")
                handle = os.open("/usr", os.O_RDONLY)
                try:
                    self.fails([name], "<stdin>", stdin=handle, **self.limits())
                finally:
                    os.close(handle)

    def test_nonexistent(self):
        for name in TOOLS:
            with self.subTest(name):
                ended = self.refuses(name, os.path.join(self.folder, "no such file"))
                self.assertIn("No such file", ended.err)

    def test_name_with_escape_sequence(self):
        for name in TOOLS:
            with self.subTest(name):
                ended = tool.run([name, "no\033[2Jsuch"])
                self.assertEqual(ended.status, 1)
                self.assertNotIn("\033", ended.err)

    def test_elf(self):
        for name in TOOLS:
            with self.subTest(name):
                self.refuses(name, "/bin/true")

    def test_each_others_files(self):
        profile, pbin = raw.write(small_run(), "sampler"), self.pbin()
        self.refuses_bytes("prof2pbin", pbin)
        self.refuses_bytes("pbin-aggregate", profile)
        self.refuses_bytes("pbin-dump", profile)

    def test_bzip2_cut(self):
        raws, pbin = raw.write(small_run(400, threads=5), "sampler"), self.pbin(small_run(400, threads=5))
        for name, data in (("prof2pbin", raws), ("pbin-aggregate", pbin), ("pbin-dump", pbin)):
            packed = bz2.compress(data)
            for size in (5, 20, len(packed) // 2, len(packed) - 1):
                with self.subTest(tool=name, size=size):
                    self.refuses_bytes(name, packed[:size])

    def test_bzip2_damaged(self):
        pbin = self.pbin(small_run(400))
        for name, data in (("prof2pbin", raw.write(small_run(400), "sampler")), ("pbin-aggregate", pbin)):
            packed = bytearray(bz2.compress(data))
            packed[len(packed) // 2] ^= 0x40
            with self.subTest(name):
                self.refuses_bytes(name, bytes(packed))

    def test_other_bombs(self):
        """256 MB of zeros packed in the other formats: refused at once, or read with little
        memory."""
        for pack in ("gzip", "xz", "zstd"):
            zeros = subprocess.run([pack, "-1", "-c"], input=bytes(64 * tool.MB), capture_output=True, check=True).stdout * 4
            for name in ("prof2pbin", "pbin-aggregate"):
                with self.subTest(tool=name, pack=pack):
                    file = self.file("bomb", zeros)
                    ended = self.fails([name, *QUIET[name], file], file, timeout=100, peak=True)
                    if not tool.is_asan():
                        self.assertLess(ended.peak, 64 * tool.MB)

    def test_bzip2_bomb(self):
        """256 MB of zeros in a few hundred bytes; for prof2pbin also after a good header."""
        zeros = bz2.compress(bytes(32 * tool.MB)) * 8
        after_header = bz2.compress(raw.header(small_run(), 3, "<", samples=1 << 40, maps=0)) + zeros
        cases = [(name, zeros) for name in TOOLS] + [("prof2pbin", after_header)]
        for name, data in tool.some(cases, 3):
            with self.subTest(tool=name, size=len(data)):
                file = self.file("bomb", data)
                ended = self.fails([name, *QUIET[name], file], file, memory=self.limits()["memory"],
                                   timeout=100, peak=True)
                if not tool.is_asan():
                    self.assertLess(ended.peak, 64 * tool.MB)


class Counts(BadCase):
    """Numbers in a header that are too large for any file."""

    def test_samples(self):
        run = small_run()
        for dialect in ("intrvelf", "sampler", "sampler-walltime", "pperf", "intrvelf-aggregated"):
            for order in "<>":
                whole = raw.write(run, dialect, order=order)
                for count in (2**32 - 1, 2**63, 2**64 - 1, 2**60):
                    data = whole[:20] + struct.pack(order + "Q", count) + whole[28:]
                    if dialect == "intrvelf-aggregated":  # there the number is only a divisor
                        with self.subTest(dialect=dialect, order=order, count=count):
                            self.ends_well(["prof2pbin", "-q", "-v", "5"], stdin=data)
                        continue
                    for options in ((), ("--dialect", dialect)):
                        with self.subTest(dialect=dialect, order=order, count=count, options=options):
                            self.refuses_bytes("prof2pbin", data, *options)

    def test_maps(self):
        for dialect in ("intrvelf", "sampler", "sampler-walltime", "pperf", "intrvelf-aggregated"):
            for late in (False, True):
                whole = raw.write(small_run(), dialect, late=late)
                at = 32 if dialect == "pperf" else 28
                data = whole[:at] + struct.pack("<I", 2**32 - 1) + whole[at + 4:]
                for options in ((), ("--dialect", dialect)):
                    with self.subTest(dialect=dialect, late=late, options=options):
                        self.refuses_bytes("prof2pbin", data, *options)

    def test_size_of_a_map(self):
        for size in (2**60, 2**63, 2**64 - 1):
            for dialect in ("sampler", "intrvelf", "pperf"):
                run = small_run()
                run.maps[0].size = size
                with self.subTest(dialect=dialect, size=size):
                    self.ends_well(["prof2pbin", "-q"], stdin=raw.write(run, dialect))
            run = small_run()
            whole = raw.write(run, "intrvelf-aggregated")
            data = whole[:40] + struct.pack("<Q", size) + whole[48:]
            for options in ((), ("--dialect", "intrvelf-aggregated")):
                with self.subTest(dialect="intrvelf-aggregated", size=size, options=options):
                    self.refuses_bytes("prof2pbin", data, *options)

    def test_threads(self):
        for dialect, inside in (("intrvelf", 8), ("sampler", 8), ("sampler-walltime", 16), ("pperf", 16)):
            for late in (False, True):
                whole = raw.write(small_run(), dialect, late=late)
                at = inside + (36 if dialect == "pperf" else 32) + (0 if late else 272)
                for count in (2**32 - 1, 2**31, 10**6):
                    data = whole[:at] + struct.pack("<I", count) + whole[at + 4:]
                    for options in ((), ("--dialect", dialect)):
                        with self.subTest(dialect=dialect, late=late, count=count, options=options):
                            self.refuses_bytes("prof2pbin", data, *options)

    def test_kernel_samples_of_an_aggregated_profile(self):
        whole = raw.write(small_run(), "intrvelf-aggregated")
        for number in ("18446744073709551615", "1000000"):
            facts = raw.info_block({"kernel_samples": number, "kernel_current": "1"})
            with self.subTest(number):
                self.refuses_bytes("prof2pbin", whole + raw.SIGNATURE + facts + raw.done_block(3), "-v", "1")

    def test_pmu_size(self):
        whole = raw.write(small_run(), "pperf")
        for size in (2**32 - 1, 2**31, 10**6):
            data = whole[:28] + struct.pack("<I", size) + whole[32:]
            with self.subTest(size):
                self.refuses_bytes("prof2pbin", data, "--dialect", "pperf")

    def test_odd_numbers_as_values(self):
        for value in (float("nan"), float("inf"), -float("inf"), 1e308, -1.0, 5e-324):
            run = small_run()
            run.samples[1].value = value
            with self.subTest(value):
                data = raw.write(run, "sampler")
                ended = self.ends_well(["prof2pbin", "-q", "--dialect", "sampler"], stdin=data)
                if ended.status == 0:
                    table = self.ends_well(["pbin-aggregate", "--format=json"], stdin=ended.out)
                    if table.status == 0:  # JSON has no NaN
                        json.loads(table.out, parse_constant=lambda c: self.fail(c + " in JSON"))


class Truncated(BadCase):
    def test_raw(self):
        run = small_run()
        for dialect, late in (("sampler", False), ("sampler", True), ("pperf", False),
                              ("intrvelf", True)):
            whole = raw.write(run, dialect, late=late)
            for size in tool.places(0, len(whole), whole):
                with self.subTest(dialect=dialect, late=late, size=size):
                    self.refuses("prof2pbin", self.file("cut", whole[:size]))

    def test_raw_from_stdin(self):
        whole = raw.write(small_run(), "sampler", late=True)
        for size in range(0, len(whole), 7):
            with self.subTest(size):
                self.fails(["prof2pbin", "-q"], "<stdin>", stdin=whole[:size], **self.limits())

    def test_raw_forced(self):
        whole = raw.write(small_run(), "sampler")
        for size in range(0, len(whole), 5):
            with self.subTest(size):
                self.refuses("prof2pbin", self.file("cut", whole[:size]), "--dialect", "sampler", "-l")

    def test_aggregated(self):
        run = small_run(kind=raw.CURRENT)
        run.maps[0].size = 64
        whole = raw.write(run, "intrvelf-aggregated")
        for size in range(0, len(whole), 3):
            with self.subTest(size):
                self.refuses("prof2pbin", self.file("cut", whole[:size]), "-v", "5")

    def test_extension(self):
        run = small_run()
        plain = raw.write(run, "sampler")
        whole = plain + raw.extension(run, [0, 10, 20])
        for size in tool.places(len(plain) + 1, len(whole)):
            with self.subTest(size):
                self.refuses("prof2pbin", self.file("cut", whole[:size]))

    def test_extension_damaged(self):
        run = small_run()
        plain = raw.write(run, "sampler")
        whole = bytearray(plain + raw.extension(run, [0, 10, 20]))
        for at in tool.places(len(plain), len(whole)):
            whole[at] ^= 0x21
            with self.subTest(at):
                self.refuses("prof2pbin", self.file("damaged", bytes(whole)))
            whole[at] ^= 0x21

    def test_trailing_bytes(self):
        for late in (False, True):
            whole = raw.write(small_run(), "sampler", late=late)
            for tail in (b"\0", b"xyz", bytes(100)):
                with self.subTest(late=late, tail=tail):
                    self.refuses_bytes("prof2pbin", whole + tail)

    def test_pbin(self):
        whole = self.pbin()
        for name in TOOLS[1:]:
            for size in tool.places(0, len(whole)):
                with self.subTest(tool=name, size=size):
                    self.refuses(name, self.file("cut", whole[:size]))

    def test_pbin_from_stdin(self):
        whole = self.pbin()
        for name in TOOLS[1:]:
            for size in range(0, len(whole), 5):
                with self.subTest(tool=name, size=size):
                    self.fails([name], "<stdin>", stdin=whole[:size], **self.limits())

    def test_pbin_samples(self):
        """A long dump may have printed samples before it reports the error and fails."""
        whole = self.pbin(small_run(200))
        for size in range(8, len(whole), 41):
            with self.subTest(size):
                ended = tool.run(["pbin-dump", "--samples", self.file("cut", whole[:size])], **self.limits())
                self.assertEqual((ended.status, ended.err.count("\n")), (1, 1), ended.err)

    def test_pbin_trailing_bytes(self):
        whole = self.pbin()
        for name in TOOLS[1:]:
            for tail in (b"\0", whole):
                with self.subTest(tool=name, tail=len(tail)):
                    self.refuses_bytes(name, whole + tail)

    def test_second_input_is_bad(self):
        good = self.file("good", self.pbin())
        cut = self.file("cut", self.pbin()[:-3])
        self.fails(["pbin-aggregate", good, cut], cut)
        self.fails(["pbin-aggregate", cut, good], cut)


class Damaged(BadCase):
    def test_every_byte_of_pbin(self):
        whole = bytearray(self.pbin())
        for at in tool.places(0, len(whole)):
            whole[at] ^= 0x21
            for name in TOOLS[1:]:
                with self.subTest(tool=name, at=at):
                    self.refuses(name, self.file("damaged", bytes(whole)))
            whole[at] ^= 0x21

    def test_text_mode_transfer(self):
        whole = self.pbin()
        for name in TOOLS[1:]:
            for data in (whole.replace(b"\r\n", b"\n"), whole.replace(b"\n", b"\r\n"),
                         bytes(b & 0x7f for b in whole)):
                with self.subTest(name):
                    self.refuses_bytes(name, data)

    def test_every_byte_of_a_raw_profile(self):
        whole = bytearray(raw.write(small_run(), "sampler"))
        for at in tool.places(0, len(whole), bytes(whole)):
            whole[at] ^= 0xff
            with self.subTest(at):
                self.ends_well(["prof2pbin", "-q", "-v", "5"], stdin=bytes(whole))
            whole[at] ^= 0xff


class Output(BadCase):
    """Outputs that cannot be written."""

    def cases(self):
        pbin = self.file("good.pbin", self.pbin(small_run(2000)))
        profile = self.file("good.bin", raw.write(small_run(2000), "sampler"))
        yield ["prof2pbin", "-q", profile]
        yield ["prof2pbin", "-q", "--bzip2", profile]
        for kind in ("text", "csv", "json", "pbin"):
            yield ["pbin-aggregate", "--format=" + kind, pbin]
        yield ["pbin-dump", pbin]
        yield ["pbin-dump", "--samples", pbin]

    def test_full_device(self):
        for argv in self.cases():
            with self.subTest(argv), open("/dev/full", "wb") as full:
                self.fails(argv, stdout=full)
                self.fails(argv + ["-o", "/dev/full"], "/dev/full")

    def test_closed_pipe(self):
        """A reader that closes the pipe early, like head, causes no error."""
        for argv in self.cases():
            with self.subTest(argv):
                reader, writer = os.pipe()
                os.close(reader)
                with os.fdopen(writer, "wb") as pipe:
                    self.assertEqual(self.succeeds(argv, stdout=pipe).err, "")

    def test_no_stdout(self):
        for argv in self.cases():
            with self.subTest(argv):
                command = ["bash", "-c", 'exec "$@" >&-', "bash", tool.path(argv[0])] + argv[1:]
                ended = subprocess.run(command, stderr=subprocess.PIPE, timeout=20, env=tool.environment())
                self.assertEqual(ended.returncode, 1, ended.stderr)
                self.assertEqual(ended.stderr.count(b"\n"), 1, ended.stderr)

    def test_no_stdin(self):
        for name in TOOLS:
            with self.subTest(name):
                command = ["bash", "-c", 'exec "$@" <&-', "bash", tool.path(name)]
                ended = subprocess.run(command, capture_output=True, timeout=20, env=tool.environment())
                self.assertEqual((ended.returncode, ended.stdout), (1, b""), ended.stderr)
                self.assertEqual(ended.stderr.count(b"\n"), 1, ended.stderr)

    def test_no_such_folder(self):
        for argv in self.cases():
            with self.subTest(argv):
                self.fails(argv + ["-o", "no/such/folder/out"], "no/such/folder/out")

    def test_old_output_stays(self):
        out = self.file("out", b"precious")
        for name in TOOLS:
            with self.subTest(name):
                self.fails([name, *QUIET[name], "-o", out, self.file("in", b"bad")], self.folder + "/in")
                with open(out, "rb") as f:
                    self.assertEqual(f.read(), b"precious")

    def test_new_output_keeps_only_plain_permissions(self):
        """A profile that replaces a program must not inherit its set-user-ID bit."""
        out = self.file("out", b"old")
        os.chmod(out, 0o6751)
        self.succeeds(["prof2pbin", "-q", "-o", out], stdin=raw.write(small_run(), "sampler"))
        self.assertEqual(os.stat(out).st_mode & 0o7777, 0o751)

    def test_command_line_that_cannot_be_parsed(self):
        """Without memory, argp parses nothing: options and files would be lost."""
        source, library = self.file("parse.c", PARSE_FAILS.encode()), os.path.join(self.folder, "parse.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
        environment = {**tool.environment(), "LD_PRELOAD": library}
        if tool.is_asan():  # its runtime must come first, and checks that
            environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        for name in (*TOOLS, "sampler"):
            with self.subTest(name):
                ended = subprocess.run([tool.path(name), "-o", self.folder + "/out", "/no/such/file"], env=environment,
                                       capture_output=True, text=True, timeout=30)
                self.assertEqual((ended.returncode, ended.stderr),
                                 (1, f"{name}: cannot read the command line: Cannot allocate memory\n"))


PARSE_FAILS = r"""
#include <errno.h>
struct argp;
int argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags, int *index, void *input)
{
    (void)argp, (void)argc, (void)argv, (void)flags, (void)index, (void)input;
    return ENOMEM;
}
"""


class Salvage(BadCase):
    def salvages(self, data, count, *options):
        """--salvage keeps exactly COUNT samples and reports it. If nothing can be kept: refused, or
        0 samples."""
        argv = ["prof2pbin", "--salvage", *options]
        ended = tool.run(argv, stdin=data, **self.limits())
        if count == 0 and ended.status == 1:
            self.assertEqual(ended.out, b"")
            return
        self.assertEqual(ended.status, 0, ended.err)
        self.assertEqual(len(pbin.read(ended.out).samples), count, ended.err)
        self.assertRegex(ended.err, rf"(^|\D){count}\D", "the number of samples")

    def test_killed_sampler(self):
        run = small_run(20, threads=3)
        for dialect in ("sampler", "sampler-walltime", "pperf", "intrvelf"):
            options = ("-v", "5") if dialect == "intrvelf" else ()
            for order in "<>":
                data = raw.killed(run, dialect, order)
                for force in ((), ("--dialect", dialect)):
                    with self.subTest(dialect=dialect, order=order, force=force):
                        ended = self.refuses_bytes("prof2pbin", data, *options, *force)
                        self.assertIn("--salvage", ended.err)
                        self.salvages(data, 20, *options, *force)

    def test_killed_in_the_middle_of_a_sample(self):
        run = small_run(4)
        for dialect in ("sampler", "pperf"):
            head = 36 if dialect == "pperf" else 32
            data = raw.killed(run, dialect)
            one = (len(data) - head) // 4
            for size in tool.places(head + one, len(data) + 1):
                with self.subTest(dialect=dialect, size=size):
                    self.salvages(data[:size], (size - head) // one, "--dialect", dialect)

    def cuts(self, dialect, late):
        run = small_run(4)
        whole = raw.write(run, dialect, late=late)
        first = (36 if dialect == "pperf" else 32) + (0 if late else 272)
        one = len(raw.record(dialect, run.samples[0], "<"))
        for size in tool.places(0, len(whole), whole):
            with self.subTest(dialect=dialect, late=late, size=size):
                self.salvages(whole[:size], max(0, min(4, (size - first) // one)), "--dialect", dialect)

    def test_cut_early_maps(self):
        for dialect in ("sampler", "sampler-walltime", "pperf"):
            self.cuts(dialect, False)

    def test_cut_late_maps(self):
        for dialect in ("sampler", "sampler-walltime", "pperf"):
            self.cuts(dialect, True)

    def test_spool(self):
        """The sampler's unfinished file, cut at any byte: the samples of every whole block are
        kept, with their maps."""
        run = small_run(12)
        times = [1000 * i for i in range(12)]
        whole = raw.spool(run, times, per_block=5)
        ended = self.refuses_bytes("prof2pbin", whole)
        self.assertIn("--salvage", ended.err)
        ends = [len(raw.spool(raw.Run(run.samples[:n], run.maps, 0), times, per_block=5)) for n in (0, 5, 10, 12)]
        self.assertEqual(ends[-1], len(whole))
        for size in sorted(set(range(41, len(whole), 3)) | set(ends)):
            with self.subTest(size):
                whole_blocks = sum(size >= end for end in ends)
                self.salvages(whole[:size], (0, 0, 5, 10, 12)[whole_blocks])

    def test_good_file_needs_no_salvage(self):
        run = small_run(7)
        for tid in (101, 0):  # 0: threads that ended before they were seen, as the sampler writes them
            run.samples[3].threads[1].tid = tid
            data = raw.write(run, "sampler")
            salvaged = self.succeeds(["prof2pbin", "--salvage", "-q"], stdin=data).out
            self.assertEqual(salvaged, self.succeeds(["prof2pbin", "-q"], stdin=data).out)

    def test_pbin(self):
        whole = self.pbin(small_run(300))
        ended = self.fails(["pbin-aggregate"], "<stdin>", stdin=whole[:-1])
        self.assertRegex(ended.err, "truncated|cut short")
        ended = tool.run(["pbin-aggregate", "--salvage", "--format=json"], stdin=whole[:-1])
        self.assertEqual(ended.status, 0, ended.err)
        self.assertIn(json.loads(ended.out)["profile"]["samples"], range(1, 301))
        self.assertNotEqual(ended.err, "")


class Usage(BadCase):
    def test_wrong(self):
        cases = [(name, options) for name in TOOLS for options in (["--nonsense"], ["-o"])]
        cases += [("prof2pbin", o) for o in (["-v", "abc"], ["-v", "nan"], ["-v", "-1"], ["-c", "0"], ["-c", "x"],
                                             ["--dialect", "nonsense"], ["--format", "sampler"], ["a", "b"])]
        cases += [("pbin-aggregate", o) for o in (["-k", "nonsense"], ["-k", ""], ["--sort", "nonsense"],
                                                  ["--top", "x"], ["--top", "-1"], ["--format", "nonsense"],
                                                  ["--mode", "nonsense"])]
        cases += [("pbin-dump", o) for o in (["a", "b"], ["--format", "nonsense"])]
        for name, options in cases:
            with self.subTest(tool=name, options=options):
                ended = tool.run([name, *options], **self.limits())
                self.assertEqual(ended.status, 2, ended.err)
                self.assertEqual(ended.out, b"")
                self.assertIn("--help", ended.err)
                self.assertRegex(ended.err, rf"^(\S*/)?{name}: ")  # getopt prints argv[0]

    def test_help_and_version(self):
        for name in TOOLS:
            for option in ("--help", "-h", "--version"):
                with self.subTest(tool=name, option=option):
                    ended = self.succeeds([name, option])
                    self.assertEqual(ended.err, "")
                    self.assertIn(name, ended.out.decode())

    def test_help_to_a_full_device(self):
        for name in TOOLS:
            for option in ("--help", "--version"):
                with self.subTest(tool=name, option=option), open("/dev/full", "wb") as full:
                    self.assertEqual(tool.run([name, option], stdout=full).status, 1)


if __name__ == "__main__":
    unittest.main()
