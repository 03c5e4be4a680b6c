"""Reads the output of the sampler byte by byte, without any of the C code.

SPDX-License-Identifier: MIT"""
import collections
import ctypes
import struct

RAN, TOTAL, CALLER, PREEMPTED = 1, 2, 4, 64
NONE = 2**32 - 1
Image = collections.namedtuple("Image", "pid ppid start parent how path comm")
Map = collections.namedtuple("Map", "image start address size offset inode kind build_id path")
Task = collections.namedtuple("Task", "tid pid start name")
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
    """Type and payload of the next block; its checksum must be correct."""
    begin = data.at
    length, kind = data.take("I4s")
    payload = data.take(f"{length}s")
    expected = _xxhash.XXH3_64bits(data.data[begin:data.at], data.at - begin)
    if data.take("Q") != expected:
        raise Damaged(f"checksum of block {kind} at {begin}")
    return kind.decode(), payload


class Profile:
    """Header, vmmaps [(address, size, label)], samples [(value, [(tid, pc, cpu)])], then the
    contents of the extension: facts, images, maps, tasks, vdso, jits, sources, readings, times,
    seen."""

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
        self.facts, self.images, self.maps, self.tasks, self.times = {}, [], [], [], []
        self.rows, self.vdso, self.done, self.order = [], None, None, []
        self.jits, self.sources, self.readings, self.cpus, self.ticks, self.marks, self.nominal = {}, [], [], {}, [], [], []
        self.seen = []  # (flags, caller) for each thread of each sample, in order
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

    def read_imgs(self, data):
        for _ in range(data.take("I")):
            fields = data.take("IIQIB")
            self.images.append(Image(*fields, data.string(), data.string()))

    def read_mapx(self, data):
        for _ in range(data.take("I")):
            fields = data.take("IQQQQQB")
            self.maps.append(Map(*fields, data.string(), data.string()))

    def read_task(self, data):
        for _ in range(data.take("I")):
            fields = data.take("IIQ")
            self.tasks.append(Task(*fields, data.string()))

    def read_jits(self, data):
        key = data.take("IB")
        self.jits[key] = self.jits.get(key, b"") + data.data[5:]

    def read_seen(self, data):
        first, count = data.take("QI")
        if first != len(self.seen):
            raise Damaged("flags do not follow each other")
        flags = data.take(f"{count}s")
        self.seen += [(flag, data.take("Q") if flag & CALLER else None) for flag in flags]
        if data.left():
            raise Damaged("bytes after the last caller")

    def read_srcs(self, data):
        for _ in range(data.take("I")):
            names = [data.string() for _ in range(4)]
            self.sources.append((*names, *data.take("dQB"), data.string()))

    def read_read(self, data):
        for _ in range(data.take("I")):
            self.readings.append(data.take("IQQQ"))

    def read_tick(self, data):
        self.ticks += [data.take("IQQQQ") for _ in range(data.take("I"))]

    def read_mark(self, data):
        self.marks += [data.take("QQ") for _ in range(data.take("I"))]

    def read_nomi(self, data):
        self.nominal += [data.take("Q") for _ in range(data.take("I"))]

    def read_cpus(self, data):
        for _ in range(data.take("I")):
            pid, user, system = data.take("IQQ")
            self.cpus[pid] = (user, system)

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

    def sightings(self):
        """(time, tid, pc, cpu, flags, caller) of every thread of every sample, including records
        with TOTAL."""
        samples = self.samples if self.samples is not None else [(r[1], r[2]) for r in self.rows]
        times = self.times or [r[0] for r in self.rows]
        flat = iter(self.seen or ((RAN, None) for _, threads in samples for _ in threads))
        for time, (_, threads) in zip(times, samples):
            for tid, pc, cpu in threads:
                yield (time, tid, pc, cpu, *next(flat))

    def totals(self):
        """{(tid, number of the thread with that tid): CPU time in its last record}."""
        last, done, number = {}, {}, 0
        for _, tid, _, cpu, flags, _ in self.sightings():
            if tid in last and cpu < last[tid]:
                done[tid, number] = last[tid]
                number += 1
            last[tid] = cpu
            if flags & TOTAL:
                done[tid, number] = last.pop(tid)
                number += 1
        done.update({(tid, number): cpu for tid, cpu in last.items()})
        return done

    def deltas(self):
        """(tid, pc, CPU time since the thread's previous sample) of all samples."""
        last = {}
        for _, tid, pc, cpu, flags, _ in self.sightings():
            before = last.get(tid, 0)
            yield tid, pc, cpu - before if cpu >= before else cpu
            last[tid] = cpu
            if flags & TOTAL:
                del last[tid]

    def cpu(self):
        return sum(delta for _, _, delta in self.deltas())

    def pid_of(self, tid, time):
        found = [t.pid for t in self.tasks if t.tid == tid and t.start <= time]
        return found[-1] if found else None

    def image_of(self, pid, time):
        """Number of the image of PID at TIME."""
        found = [i for i, image in enumerate(self.images) if image.pid == pid and image.start <= time]
        return found[-1] if found else None

    def map_at(self, image, time, pc):
        """The mapping that contains PC, by the rules of raw.5; None if there is none."""
        while image is not None:
            for m in reversed(self.maps):
                if m.image == image and m.start <= time and m.address <= pc < m.address + m.size:
                    return m
            parent = self.images[image]
            image, time = (parent.parent, parent.start) if parent.parent != NONE else (None, 0)
        return None


class Spool(Profile):
    def __init__(self, path):
        with open(path, "rb") as file:
            data = Bytes(file.read())
        if data.take("32s") != bytes(32) or data.take("8s") != SIGNATURE:
            raise Damaged("not a spool")
        self.samples = None
        self.read_extension(data, salvage=True)
