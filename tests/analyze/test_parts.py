"""A large profile is read in parts by several threads: tables and errors are those of one thread,
to the last bit.

SPDX-License-Identifier: MIT
"""
import csv
import io
import random
import struct

import pbin
import profiles
import tool

PADDING = pbin.block("padd", b"\0" * (1 << 19))  # of an unknown type, which is skipped


def blocks(data):
    at = 16
    while at < len(data):
        size = struct.unpack_from("<I", data, at)[0] + 16
        yield data[at:at + size]
        at += size


def padded(data):
    """Each block of samples is half a megabyte from the next, because a part has at least four megabytes."""
    out = [data[:16]]
    for block in blocks(data):
        out.append(block)
        if block[4:8] == b"SMPL":
            out.append(PADDING)
    return b"".join(out)


class PartsTest(tool.Case):
    def profile(self, seed):
        """Threads come and go, and stay in a function long enough to be there on both sides of a
        border."""
        rng = random.Random(seed)
        profile = profiles.make(seed, samples=1600, threads=5)
        here = {}
        for sample in profile.samples:
            entries = []
            for t in sorted(rng.sample(range(5), rng.randrange(0, 6))):
                here[t] = rng.randrange(len(profile.locations)) if rng.random() < 0.05 else here.get(t, 0)
                entries.append((t, here[t], rng.choice((0, 1, 10**6, 2**40))))
            sample.entries = entries
        if seed % 2 == 0:
            profile.busy = [2**41 + 4 * s.interval_ns for s in profile.samples]
        for sample in profile.samples[400:900] if seed % 3 == 0 else []:
            sample.equal = [rng.choice((0, 1, 10**6)) for _ in sample.entries]
        return profile

    def same(self, path, *options):
        ends = [tool.run(["pbin-aggregate", "-j", jobs, "--format", "csv", *options, path])
                for jobs in ("1", "2", "3", "8")]
        for end in ends[1:]:
            self.assertEqual((end.status, end.out, end.err), (ends[0].status, ends[0].out, ends[0].err), options)
        return ends[0]

    def test_every_number_of_threads_gives_the_same(self):
        for seed in range(tool.rounds(3, 3)):
            path = self.file(f"parts{seed}.pbin", padded(pbin.write(self.profile(seed), batch=25)))
            for options in ([], ["-k", "thread,function,line"], ["--energy-model", "thread"], ["--max-gap", "0.001"],
                            ["--wall-time"], ["--start", "0.2"], ["--subtract-latency"], ["--mode", "add"], ["--others", "ignore"],
                            ["--energy-model", "fit"]):
                self.assertEqual(self.same(path, *options).status, "fit" in options and seed > 0)

    def test_entries_at_the_borders(self):
        """A thread that never leaves a function has entered it once; another thread enters it with
        every sample."""
        profile = profiles.make(1, samples=1600, threads=2)
        for i, sample in enumerate(profile.samples):
            sample.entries = [(0, 0, 1000), (1, i % 2, 1000)]
        path = self.file("border.pbin", padded(pbin.write(profile, batch=25)))
        out = self.same(path, "-k", "thread,pc").out
        rows = csv.DictReader(io.StringIO(out.decode()))
        entries = sorted(int(row["entries"]) for row in rows
                         if row["thread"] not in ("_total", "0") and row["samples"] != "0")
        self.assertEqual(entries, [1, 800, 800])

    def test_entries_of_a_thread_that_is_renamed(self):
        """The thread stays in its row: samples one by one (--wall-time), together, and in parts; a
        reused tid is another thread."""
        names = ("sh", "env", "python", "env")
        for same, want in ((False, [2]), (True, [8])):
            profile = profiles.make(1, samples=1600, threads=2)
            profile.threads = [pbin.Thread(7 + t, 7, "sh" if same else names[n]) for n in range(4) for t in range(2)]
            for i, sample in enumerate(profile.samples):
                sample.entries = [(i // 400 * 2 + t, 0, 1000) for t in range(2)]
            path = self.file("renamed.pbin", padded(pbin.write(profile, batch=25)))
            for options in ([], ["--wall-time"], ["--phase", profile.locations[0].frames[-1].function]):
                rows = csv.DictReader(io.StringIO(self.same(path, "-k", "pc", *options).out.decode()))
                self.assertEqual([int(row["entries"]) for row in rows if row["samples"] == "3200"], want, options)

    def test_the_first_error_of_the_file_is_reported(self):
        data = padded(pbin.write(self.profile(4), batch=25))
        starts, at = [], 16
        for block in blocks(data):
            starts.append((at, block[4:8]))
            at += len(block)
        samples = [at for at, kind in starts if kind == b"SMPL"]
        for hit in ([samples[0]], [samples[20]], [samples[-1]], [samples[10], samples[50]], [starts[-1][0]],
                    [starts[1][0]]):
            damaged = bytearray(data)
            for at in hit:
                damaged[at + 12] ^= 1
            ended = self.same(self.file("damaged.pbin", bytes(damaged)))
            self.assertEqual(ended.status, 1)
            self.assertIn(f"{min(hit):#x}", ended.err)
        for cut in (samples[2] + 5, samples[33], len(data) - 1, len(data) - 60):
            self.assertEqual(self.same(self.file("cut.pbin", data[:cut])).status, 1)
        self.assertEqual(self.same(self.file("cut.pbin", data[:samples[33]]), "--salvage").status, 0)

    def test_arcs_that_the_trailer_does_not_count(self):
        """Only samples are distributed: arcs between their blocks do not count as samples."""
        arcs = pbin.block("ARCS", struct.pack("<IIIIIQ", 1, 1, 1, 1, 1, 5))
        data, samples = [], 0
        for block in blocks(padded(pbin.write(self.profile(5), batch=25))):
            if block[4:8] == b"SMPL":
                samples += 1
                data += [arcs] if samples in (1, 40) else []
            data.append(block)
        ended = self.same(self.file("arcs.pbin", pbin.write(self.profile(5))[:16] + b"".join(data)))
        self.assertEqual(ended.status, 1)
        self.assertIn("counts do not match", ended.err)

    def test_few_addresses_are_enough(self):
        """Address space that suffices for one thread suffices for eight: the others are not started
        then. (Not limited with AddressSanitizer, which needs terabytes of addresses.)"""
        path = self.file("parts.pbin", padded(pbin.write(self.profile(6), batch=25)))
        want = tool.run(["pbin-aggregate", "-j", "1", path]).out
        for megabytes in (40, 60, 100, 200, 400):
            for argv in ([path], ["--mode", "add", path, path]):
                ended = tool.run(["pbin-aggregate", "-j", "8", *argv], memory=None if tool.is_asan() else megabytes << 20)
                self.assertEqual((ended.status, ended.err), (0, ""), megabytes)
                self.assertTrue(len(argv) > 1 or ended.out == want)
