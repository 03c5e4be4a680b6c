"""pbin files written by hand according to pbin.5, with contents that no converter produces.

SPDX-License-Identifier: MIT
"""
import struct

from rawprofile import block, text

SIGNATURE = bytes.fromhex("8950424e0d0a1a0a") + struct.pack("<II", 1, 0)
NO_MAP, NO_OFFSET = 2**32 - 1, 2**64 - 1


def i128(value):
    return (value & (1 << 128) - 1).to_bytes(16, "little")


class Writer:
    """Collects definitions; bytes() returns the file: one thread, one sample per location."""

    def __init__(self, **meta):
        self.meta = {"cpu_time": 1, "times": 1, **meta}
        self.strings, self.maps, self.locations = {"": 0}, [], []
        self.more = b""  # blocks in place of the samples, and their counts in the trailer
        self.counts = {"samples": 0, "entries": 0, "runs": 0, "rows": 0}
        self.thread_count = 1

    def string(self, s):
        return self.strings.setdefault(s, len(self.strings))

    def map(self, address, size, label, path="", build_id="", offset=NO_OFFSET):
        self.maps.append(struct.pack("<QQQIII", address, size, offset, self.string(label),
                                     self.string(path), self.string(build_id)))
        return len(self.maps) - 1

    def location(self, pc, function, file, line, binary="program", map_number=NO_MAP, inner=None):
        frames = [(inner, file, line), (function, file, 1)] if inner else [(function, file, line)]
        out = struct.pack("<QIII", pc, self.string(binary), map_number, len(frames))
        for name, path, number in frames:
            out += struct.pack("<IIII", self.string(name), self.string(name), self.string(path), number)
        self.locations.append(out)

    def members(self, kind, members, most=1 << 20):
        out, at = b"", 0
        while at < len(members):
            part, size = [], 0
            while at < len(members) and size < most:
                part.append(members[at])
                size += len(members[at])
                at += 1
            out += block(kind, struct.pack("<I", len(part)) + b"".join(part))
        return out

    def samples(self):
        out, n = b"", len(self.locations)
        for at in range(0, n, 4096):
            count = min(4096, n - at)
            column = lambda values: struct.pack("<BQ", 64, 0) + struct.pack(f"<{count}Q", *values)
            out += block("SMPL", struct.pack("<II", count, count) + column([10**6] * count) +
                         column([0] * count) + column([1] * count) + column([0] * count) +
                         column(range(at, at + count)) + column([10**6] * count))
        return out

    def add_samples(self, value, cpu_ns, interval_ns=10**9, count=1):
        """COUNT samples of all threads at location 0, which all use CPU_NS: in columns of width
        0."""
        threads, left = self.thread_count, count
        while left > 0:
            n = min(left, 65536, (1 << 20) // threads)
            same = lambda v: struct.pack("<BQ", 0, v)
            thread = same(0) if threads == 1 else \
                struct.pack("<BQ", 64, 0) + b"".join(struct.pack("<Q", t) for _ in range(n) for t in range(threads))
            self.more += block("SMPL", struct.pack("<II", n, n * threads) + same(interval_ns) +
                               same(struct.unpack("<Q", struct.pack("<d", value))[0]) + same(threads) +
                               thread + same(0) + same(cpu_ns))
            self.counts["samples"] += n
            self.counts["entries"] += n * threads
            left -= n

    def add_run(self, wall_ns=10**9, samples=1, time=0, energy=0):
        self.more += block("RUNS", struct.pack("<IIQQQ", 1, 0, wall_ns, 0, samples) + i128(time) + i128(energy))
        self.counts["runs"] += 1

    def add_row(self, *keys, time=0, energy=0, samples=1 << 64, entries=1, runs=1):
        """KEYS: for each key, the number of its string, or its value if it is a number."""
        self.more += block("ROWS", struct.pack("<I", 1) + struct.pack(f"<{len(keys)}Q", *keys) + i128(samples) +
                           struct.pack("<QQ", entries, runs) + i128(time) + i128(energy) + bytes(64) +
                           2 * i128(time) + 2 * i128(energy))
        self.counts["rows"] += 1

    def bytes(self):
        samples = self.more or self.samples()
        n = len(self.locations)
        if not self.more:
            self.counts.update(samples=n, entries=n)
        count = self.counts
        meta = struct.pack("<I", len(self.meta)) + b"".join(
            text(k) + (b"s" + text(v) if isinstance(v, str) else b"u" + struct.pack("<Q", v))
            for k, v in self.meta.items())
        strings = [text(s) for s in self.strings if s]
        return SIGNATURE + block("META", meta) + self.members("STRS", strings) + \
            self.members("MAPS", self.maps) + self.members(
                "THRD", [struct.pack("<III", 1 + t, 1, 0) for t in range(self.thread_count)]) + \
            self.members("LOCS", self.locations) + samples + \
            block("TAIL", struct.pack("<QQ7I", count["samples"], count["entries"], len(self.strings),
                                      len(self.maps), self.thread_count, n, count["runs"], count["rows"], 0))
