"""Writes gmon.out files field by field, independently of the tools under test.

SPDX-License-Identifier: MIT
"""
import struct
from dataclasses import dataclass, field

BSD_VERSION = 0x51879


@dataclass
class Histogram:
    low: int
    high: int
    bins: list
    rate: int = 100
    dimension: bytes = b"seconds"
    abbreviation: bytes = b"s"


@dataclass
class Profile:
    histograms: list = field(default_factory=list)
    arcs: list = field(default_factory=list)  # (from, self, count)
    bits: int = 64
    order: str = "<"  # in the notation of struct

    @property
    def word(self):
        return "Q" if self.bits == 64 else "I"

    def pack(self, layout, *values):
        return struct.pack(self.order + layout, *values)

    def bins(self, histogram):
        return self.pack(f"{len(histogram.bins)}H", *histogram.bins)


def gnu(profile, version=1, blocks=None, wide_blocks=True):
    p = profile
    out = [b"gmon", p.pack("i", version), bytes(12)]
    for h in p.histograms:
        out += [b"\0", p.pack(f"{2 * p.word}II", h.low, h.high, len(h.bins), h.rate),
                h.dimension.ljust(15, b"\0"), h.abbreviation, p.bins(h)]
    if blocks is not None:
        out += [b"\2", p.pack(p.word if wide_blocks else "I", len(blocks))]
        out += [p.pack(2 * p.word, *b) for b in blocks]
    out += [b"\1" + p.pack(f"{2 * p.word}i", *arc) for arc in p.arcs]
    return b"".join(out)


def bsd(profile, totarc=True):
    p, h = profile, profile.histograms[0]
    header = 40 if p.bits == 64 else 32
    arcs = b"".join(p.pack(2 * p.word + p.word.lower(), *arc) for arc in p.arcs)
    return p.pack(f"{2 * p.word}IIII8x", h.low, h.high, header + 2 * len(h.bins), BSD_VERSION, h.rate,
                  len(arcs) if totarc else 0) + p.bins(h) + arcs


def bsd_old(profile):
    p, h = profile, profile.histograms[0]
    header = 20 if p.bits == 64 else 12
    arcs = b"".join(p.pack(2 * p.word + p.word.lower(), *arc) for arc in p.arcs)
    return p.pack(f"{2 * p.word}I", h.low, h.high, header + 2 * len(h.bins)) + p.bins(h) + arcs
