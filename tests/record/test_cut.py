"""A complete profile that was cut is salvaged: each number is that of the whole profile, or is
omitted.

SPDX-License-Identifier: MIT"""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import pbin  # noqa: E402
import tool  # noqa: E402
from profile_reader import Bytes, Profile, take_block, take_sample  # noqa: E402

BURN = tool.path("samples/burn")
CUTS = 20


def cpu_ns(samples):
    return sum(cpu for s in samples for _, _, cpu in s.entries)


def names(profile):
    """Binary and function of each location that has both, by program counter."""
    return {place.pc: (place.binary, place.frames[-1].function) for place in profile.locations if place.binary[0] != "_"}


class Cut(tool.Case):
    """Recordings by each engine: threads with power, and processes without."""

    def record(self, engine, options, command):
        out = self.file("whole.bin", b"")
        done = subprocess.run([tool.path("sampler"), "-q", "--engine", engine, *options, "-o", out, "--", *command],
                              capture_output=True, text=True, check=False)
        if "perf_event_paranoid" in done.stderr:
            self.skipTest(done.stderr.strip())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return out

    def layout(self, data, count):
        """Ends of the samples, {kind of block: (beginning of the first block, end of the last
        block)}, and the end of the block of each reading."""
        read, cursor, ends, blocks = [], Bytes(data, 32 + 272 * int.from_bytes(data[28:32], "little")), [], {}
        for _ in range(count):
            take_sample(cursor)
            ends.append(cursor.at)
        cursor.at += 8
        while cursor.left():
            begin = cursor.at
            kind, payload = take_block(cursor)
            blocks[kind] = (blocks.get(kind, (begin,))[0], cursor.at)
            if kind == "read":
                read += [cursor.at] * int.from_bytes(payload[:4], "little")
        return ends, blocks, read

    def salvage(self, data):
        done = tool.run(["prof2pbin", "--no-dwarf", "--salvage"], stdin=data)
        if done.status != 0:
            self.assertEqual((done.out, done.err.count("\n")), (b"", 1))
            return None, done.err
        return pbin.read(done.out), done.err

    def used(self, whole):
        """CPU time in the documented part up to each sample [ns]."""
        last, sums = {}, [0]
        for _, threads in whole.samples:
            used = 0
            for tid, _, cpu in threads:
                used += cpu - last.get(tid, 0) if cpu >= last.get(tid, 0) else cpu
                last[tid] = cpu
            sums.append(sums[-1] + used)
        return sums

    def check(self, engine, options, command):
        path = self.record(engine, options, command)
        raw, count = Profile(path), 0
        with open(path, "rb") as f:
            data = f.read()
        whole = pbin.read(self.succeeds(["prof2pbin", "-q", "--no-dwarf", path]).out)
        ends, blocks, read = self.layout(data, len(raw.samples))
        order = sorted(("time", "mapx", "read", "seen") if read else ("time", "mapx", "seen"), key=lambda kind: blocks[kind][1])
        self.assertEqual(order[2:], ["read", "seen"][-len(order) + 2:], "what matters most comes first")
        known, used, before = names(whole), self.used(raw), 0
        inside = [(begin + end) // 2 for begin, end in blocks.values()]
        places = {len(data) * i // (CUTS - 1) for i in range(CUTS)} | {ends[-1], ends[-1] + 3, len(data) - 1, *inside}
        for size in sorted(places):
            with self.subTest(engine=engine, size=size, of=len(data), blocks=blocks):
                cut, said = self.salvage(data[:size])
                count = sum(end <= size for end in ends)
                if cut is None:
                    self.assertEqual(count, 0, said)
                    continue
                self.assertEqual(len(cut.samples), count)
                times = self.times(raw, blocks, size)
                until = self.energy_until(raw, blocks, read, size, times)
                self.check_values(cut, whole, raw, times, until)
                # without flags, no pass over the samples finds the time of the last one in
                # nanoseconds, and the header has microseconds
                wall = whole.meta["wall_ns"] if until is None else 0
                self.assertEqual(cut.meta["wall_ns"], wall if size >= blocks["seen"][0] + 100 else wall // 1000 * 1000)
                # in recordings of processes without flags, code that ran just before an exec may
                # look like code after it, and has no name
                self.check_names(cut, known, size >= (blocks["read"][0] + 100 if read else blocks["seen"][1]))
                self.assertLessEqual(cpu_ns(cut.samples), max(used[count], cpu_ns(whole.samples[:count])))
                # the kernel's CPU time of the process reduces the sum as soon as the flags are
                # present
                self.assertGreaterEqual(cpu_ns(cut.samples), min(before, cpu_ns(whole.samples[:count])))
                before = cpu_ns(cut.samples)
                self.assertEqual(len(said.splitlines()), int(size < len(data)), said)
                if len(times) < count:
                    self.assertIn(f"kept {count} whole samples of an incomplete profile; {count - len(times)} of them have lost "
                                  "their times", said)
                lost = bool(options) and until is not None
                self.assertEqual(("; energy after" in said, "; all energy" in said), (lost and until > 0, lost and until == 0), said)

    def times(self, raw, blocks, size):
        """The times in the first SIZE bytes: all of them are in one block."""
        return raw.times if size >= blocks["time"][1] else raw.times[:max(0, size - blocks["time"][0] - 16) // 8]

    def energy_until(self, raw, blocks, read, size, times):
        """The time up to which there are times and readings [ns]; None: up to the end."""
        until = times[-1] if times else 0
        if not read or size >= blocks["seen"][0] + 100:
            return None if len(times) == len(raw.times) else until
        last = {}
        for (source, time, _, _), end in zip(raw.readings, read):
            last[source] = time if end <= size else last.get(source, 0)
        return min(until, *last.values())

    def check_values(self, cut, whole, raw, times, until):
        """Intervals are correct where times are known, else 0; values are those of the same samples
        of the whole profile."""
        got = [(s.value, s.interval_ns) for s in cut.samples]
        wanted = [s.interval_ns if time <= (times[-1] if until is None else until) else 0 for s, time in zip(whole.samples, times)]
        self.assertEqual([value for value, _ in got], [value for value, _ in raw.samples[:len(got)]])
        self.assertEqual([interval for _, interval in got], wanted + [0] * (len(got) - len(wanted)))

    def check_names(self, cut, known, has_maps):
        """Names are correct where they exist; with the mappings, none is missing."""
        got = names(cut)
        both = got.keys() & known.keys()
        self.assertEqual({pc: got[pc] for pc in both}, {pc: known[pc] for pc in both})
        if has_maps:
            self.assertEqual(both, {p.pc for p in cut.locations} & known.keys())

    def test_threads(self):
        with tempfile.NamedTemporaryFile("w", dir=self.folder, delete=False) as f:
            f.write("2.5")
        for engine in ("perf", "ptrace"):
            self.check(engine, ["-p", f"file:{f.name}", "--pmu-kind", "power"], [BURN, "0.03", "3"])

    def test_processes(self):
        for engine in ("perf", "ptrace"):
            self.check(engine, [], ["sh", "-c", f"{BURN} 0.02 & sleep 0.01; {BURN} 0.03; wait; {BURN} 0.01"])


if __name__ == "__main__":
    unittest.main()
