"""pbin files written by hand, after pbin.5: what no converter would make.

SPDX-License-Identifier: MIT
"""
import struct

from rawprofile import block, text

SIGNATURE = bytes.fromhex("8950424e0d0a1a0a") + struct.pack("<II", 1, 0)
NO_MAP, NO_OFFSET = 2**32 - 1, 2**64 - 1


class Writer:
    """Collects definitions; bytes() makes the file: one thread, a sample a location."""

    def __init__(self, **meta):
        self.meta = {"cpu_time": 1, "times": 1, **meta}
        self.strings, self.maps, self.locations = {"": 0}, [], []

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

    def bytes(self):
        n = len(self.locations)
        meta = struct.pack("<I", len(self.meta)) + b"".join(
            text(k) + (b"s" + text(v) if isinstance(v, str) else b"u" + struct.pack("<Q", v))
            for k, v in self.meta.items())
        strings = [text(s) for s in self.strings if s]
        return SIGNATURE + block("META", meta) + self.members("STRS", strings) + \
            self.members("MAPS", self.maps) + self.members("THRD", [struct.pack("<III", 1, 1, 0)]) + \
            self.members("LOCS", self.locations) + self.samples() + \
            block("TAIL", struct.pack("<QQ7I", n, n, len(self.strings), len(self.maps), 1, n, 0, 0, 0))
