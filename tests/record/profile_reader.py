"""Reads what sampler writes, byte by byte and without any of the C code.

SPDX-License-Identifier: MIT"""
import ctypes
import struct

SIGNATURE = b"\x89PBX\r\n\x1a\n"

_xxhash = ctypes.CDLL("libxxhash.so.0")
_xxhash.XXH3_64bits.restype = ctypes.c_uint64
_xxhash.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


class Damaged(Exception):
    pass


class Bytes:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, form):
        size = struct.calcsize("<" + form)
        if self.at + size > len(self.data):
            raise Damaged(f"cut short at {self.at}: {form}")
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += size
        return values if len(values) > 1 else values[0]

    def string(self):
        return self.take(f"{self.take('I')}s").decode()

    def left(self):
        return len(self.data) - self.at


def take_sample(data):
    value, threads = data.take("dI")
    return value, [data.take("IQQ") for _ in range(threads)]


def take_block(data):
    """Type and payload of the next block; its checksum must be right."""
    begin = data.at
    length, kind = data.take("I4s")
    payload = data.take(f"{length}s")
    expected = _xxhash.XXH3_64bits(data.data[begin:data.at], data.at - begin)
    if data.take("Q") != expected:
        raise Damaged(f"checksum of block {kind} at {begin}")
    return kind.decode(), payload


class Profile:
    """Header, vmmaps [(address, size, label)], samples [(value, [(tid, pc, cpu)])], then what the
    extension holds: facts, maps, threads, vdso, times."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = Bytes(file.read())
        self.magic, self.wall, self.latency, count, maps = data.take("IQQQI")
        self.vmmaps = []
        for _ in range(maps):
            address, size, label = data.take("QQ256s")
            text, _, padding = label.partition(b"\0")
            if padding.strip(b"\0"):
                raise Damaged("label is not padded with NUL")
            self.vmmaps.append((address, size, text.decode()))
        self.samples = [take_sample(data) for _ in range(count)]
        self.documented_end = data.at
        if data.take("8s") != SIGNATURE:
            raise Damaged("the signature does not follow the last sample")
        self.read_extension(data)

    def read_extension(self, data, salvage=False):
        self.facts, self.maps, self.threads, self.times = {}, [], [], []
        self.rows, self.vdso, self.done, self.order = [], None, None, []
        while data.left() > 0:
            try:
                kind, payload = take_block(data)
            except Damaged:
                if salvage:
                    return
                raise
            self.order.append(kind)
            getattr(self, "read_" + kind)(Bytes(payload))

    def read_info(self, data):
        for _ in range(data.take("I")):
            name = data.string()
            self.facts[name] = data.string()

    def read_maps(self, data):
        for _ in range(data.take("I")):
            self.maps.append(data.take("QQQI") + (data.string(), data.string()))

    def read_thrd(self, data):
        for _ in range(data.take("I")):
            self.threads.append(data.take("II") + (data.string(),))

    def read_vdso(self, data):
        self.vdso = data.take("Q"), data.data[8:]

    def read_time(self, data):
        if data.take("Q") != len(self.times):
            raise Damaged("times do not follow each other")
        while data.left():
            self.times.append(data.take("Q"))

    def read_rows(self, data):
        for _ in range(data.take("I")):
            self.rows.append((data.take("Q"),) + take_sample(data))
        if data.left():
            raise Damaged("bytes after the last row")

    def read_done(self, data):
        self.done = data.take("Q")

    def deltas(self):
        """(tid, pc, CPU time used since the thread's sample before) of all samples."""
        last = {}
        for _, threads in self.samples:
            for tid, pc, cpu in threads:
                before = last.get(tid, 0)
                yield tid, pc, cpu - before if cpu >= before else cpu
                last[tid] = cpu

    def cpu(self):
        return sum(delta for _, _, delta in self.deltas())


class Spool(Profile):
    def __init__(self, path):
        with open(path, "rb") as file:
            data = Bytes(file.read())
        if data.take("32s") != bytes(32) or data.take("8s") != SIGNATURE:
            raise Damaged("not a spool")
        self.read_extension(data, salvage=True)
