"""Writes instruction traces of TracerV and memory access traces of memtrace.

SPDX-License-Identifier: MIT
"""
import struct

LINE = b"# Clock Domain: baseline, Relative Frequency: 1/1 of Base Clock\n"


def tracerv(cycles, line=LINE):
    """CYCLES: (cycle, {lane: PC})."""
    out = [line]
    for cycle, lanes in cycles:
        out.append(struct.pack("<8Q", cycle, *((1 << 40 | lanes[i]) if i in lanes else 0xdead for i in range(7))))
    return b"".join(out)


def memtrace(accesses):
    """ACCESSES: (is it a write, address, size, PC)."""
    return b"".join(struct.pack("<B7sQQQ", write, b"padding", address, size, pc) for write, address, size, pc in accesses)
