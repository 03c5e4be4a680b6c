"""pbin files, written and read in plain Python from formats/pbin/pbin.5 alone: profiles that are
not made by the C code. Only their checksums are computed by libxxhash, which tests/selfcheck
compares with xxh3.py.

SPDX-License-Identifier: MIT
"""
import functools
import struct
from dataclasses import dataclass, field
from fractions import Fraction

from fast_xxh3 import xxh3

SIGNATURE = bytes.fromhex("8950424e0d0a1a0a")
NONE, CURRENT, VOLTAGE, POWER, CUSTOM = range(5)
NO_MAP, NOT_KNOWN = 2**32 - 1, 2**64 - 1
TEXT_KEYS = ("binary", "file", "function", "inline", "comm", "program")
INTEGER, REAL, HISTOGRAM = range(3)
ADD, ADD_SAME, LEAST, MOST = range(4)
FIELDS = {"name": "s", "target": "s", "command": "s", "host": "s", "started": "s", "dialect": "s", "tool": "s",
          "unit": "s", "keys": "s", "value": "s", "scope": "s", "pmu": "u", "volts": "f", "baseline_w": "f", "cpus": "u", "wall_ns": "u", "latency_ns": "u",
          "samples": "u", "frequency": "u", "cpu_time": "u", "times": "u", "own_intervals": "u",
          "idle_samples": "u", "attribution": "s", "unattributed": "f", "divided": "u"}


@dataclass
class Frame:
    function: str      # as the linker names it
    demangled: str
    file: str = ""
    line: int = 0


@dataclass
class Location:
    pc: int
    binary: str
    frames: list       # innermost first
    map: int = NO_MAP


@dataclass
class Thread:
    tid: int
    pid: int = 0
    name: str = ""


@dataclass
class Map:
    address: int
    size: int
    offset: int = NOT_KNOWN
    label: str = ""
    path: str = ""
    build_id: str = ""


@dataclass
class Sample:
    interval_ns: int
    value: float
    entries: list      # of (thread number, location number, CPU time [ns])
    equal: list = None  # CPU times if sightings share them equally [ns]; None: as in entries


@dataclass
class Run:
    name: str
    wall_ns: int
    latency_ns: int
    samples: int
    time: Fraction     # [ns]
    energy: Fraction   # [J]


@dataclass
class Row:
    key: tuple
    samples: Fraction
    entries: int       # None: unknown
    runs: int
    time: Fraction
    energy: Fraction
    time_sq: Fraction
    energy_sq: Fraction
    extremes: tuple    # least and greatest time, least and greatest energy


@dataclass
class Measured:
    """The value of a measure in a row, over runs."""
    runs: int
    value: Fraction
    square: Fraction
    least: Fraction
    most: Fraction

    @classmethod
    def of_run(cls, value):
        return cls(1, value, value * value, value, value)


@dataclass
class Profile:
    meta: dict = field(default_factory=dict)
    threads: list = field(default_factory=list)
    locations: list = field(default_factory=list)
    samples: list = field(default_factory=list)
    maps: list = field(default_factory=list)
    runs: list = field(default_factory=list)
    rows: list = field(default_factory=list)
    arcs: list = field(default_factory=list)  # (caller binary, caller, callee binary, callee, calls)
    measures: dict = field(default_factory=dict)  # name: (unit, type, how values are joined)
    measured: dict = field(default_factory=dict)  # (row number, name): Measured, or {bucket: count}
    checksums: list = field(default_factory=list)  # (binary, file, MD5 in hexadecimal)
    programs: dict = field(default_factory=dict)  # thread number: path
    callers: dict = field(default_factory=dict)   # location number: location number
    sources: list = field(default_factory=list)   # (name, kind, unit, scope, per count, period, role, help)
    readings: list = field(default_factory=list)  # (source, time, value, busy)
    values: dict = field(default_factory=dict)    # source number: a value per sample
    # CPU time of the machine in the interval of each sample [ns]; as read: (samples, CPU time) of
    # groups of intervals
    busy: list = field(default_factory=list)


# ---- writing -----------------------------------------------------------------------------------

def raw(value):
    return value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")


def text(value):
    return struct.pack("<I", len(raw(value))) + raw(value)


def i128(value):
    return (value % 2**128).to_bytes(16, "little")


def u256(value):
    return (value % 2**256).to_bytes(32, "little")


def block(kind, payload, checksum=xxh3):
    head = struct.pack("<I4s", len(payload), kind.encode()) + payload
    return head + struct.pack("<Q", checksum(head))


def column(values):
    """The smallest width for the range of values; the packed bits are those that pbin.5 describes."""
    base = min(values, default=0)
    width = (max(values, default=0) - base).bit_length()
    packed = 0
    if width and len(values) > 64:  # one shifted number is quadratic: use pieces of whole bytes
        return column_head(width, base) + b"".join(pack(values[i:i + 64], width, base)
                                                   for i in range(0, len(values), 64))
    return column_head(width, base) + pack(values, width, base) if width else column_head(0, base)


def column_head(width, base):
    return struct.pack("<BQ", width, base)


def pack(values, width, base):
    bits = 0
    for i, value in enumerate(values):
        bits |= (value - base) << (i * width)
    return bits.to_bytes((len(values) * width + 7) // 8, "little")


def meta_block(fields, checksum=xxh3):
    """FIELDS by name; a field that is not in the table is (type, value)."""
    out = struct.pack("<I", len(fields))
    for name, value in fields.items():
        kind = FIELDS.get(name)
        if kind is None or isinstance(value, tuple):
            kind, value = value
        out += text(name) + kind.encode()
        out += text(value) if kind == "s" else struct.pack("<Q" if kind == "u" else "<d", value)
    return block("META", out, checksum)


def value_bits(value):
    """VALUE is a double, or the 64 bits of one."""
    return value if isinstance(value, int) else struct.unpack("<Q", struct.pack("<d", value))[0]


def sample_columns(samples):
    entries = [e for s in samples for e in s.entries]
    return struct.pack("<II", len(samples), len(entries)) + b"".join(
        column(c) for c in ([s.interval_ns for s in samples], [value_bits(s.value) for s in samples],
                            [len(s.entries) for s in samples], [e[0] for e in entries],
                            [e[1] for e in entries], [e[2] for e in entries]))


class Writer:
    """Blocks in the order of the calls; `finish` adds the matching trailer."""

    def __init__(self, meta, checksum=xxh3, version=1):
        self.checksum, self.parts = checksum, [SIGNATURE + struct.pack("<II", version, 0)]
        self.parts.append(meta_block(meta, checksum))
        self.strings = {b"": 0}
        self.keys = meta["keys"].split(",") if meta.get("keys") else []
        self.counts = {"samples": 0, "entries": 0, "maps": 0, "threads": 0, "locations": 0, "runs": 0,
                       "rows": 0, "arcs": 0}

    def block(self, kind, payload):
        self.parts.append(block(kind, payload, self.checksum))

    def string(self, *texts):
        """Numbers of TEXTS, which are defined if they are new."""
        new = [t for t in dict.fromkeys(raw(t) for t in texts) if t not in self.strings]
        for t in new:
            self.strings[t] = len(self.strings)
        if new:
            self.block("STRS", struct.pack("<I", len(new)) + b"".join(text(t) for t in new))
        return [self.strings[raw(t)] for t in texts]

    def members(self, kind, name, encoded):
        self.counts[name] += len(encoded)
        self.block(kind, struct.pack("<I", len(encoded)) + b"".join(encoded))

    def put_maps(self, maps):
        self.members("MAPS", "maps", [struct.pack("<QQQIII", m.address, m.size, m.offset,
                                                  *self.string(m.label, m.path, m.build_id)) for m in maps])

    def put_threads(self, threads):
        names = self.string(*[t.name for t in threads])
        self.members("THRD", "threads", [struct.pack("<III", t.tid, t.pid, n) for t, n in zip(threads, names)])

    def put_locations(self, locations):
        self.string(*[s for l in locations for s in
                      (l.binary, *[x for f in l.frames for x in (f.function, f.demangled, f.file)])])
        self.members("LOCS", "locations", [self.location(l) for l in locations])

    def location(self, l):
        number = self.strings
        return struct.pack("<QIII", l.pc, number[raw(l.binary)], l.map, len(l.frames)) + b"".join(
            struct.pack("<IIII", number[raw(f.function)], number[raw(f.demangled)], number[raw(f.file)], f.line)
            for f in l.frames)

    def put_samples(self, samples):
        self.counts["samples"] += len(samples)
        self.counts["entries"] += sum(len(s.entries) for s in samples)
        if any(s.equal is not None for s in samples):
            equal = [ns for s in samples for ns in (s.equal if s.equal is not None else [e[2] for e in s.entries])]
            self.block("eqal", struct.pack("<I", len(equal)) + column(equal))
        self.block("SMPL", sample_columns(samples))

    def put_busy(self, busy, each=1):
        """In groups of EACH samples."""
        runs = [busy[i:i + each] for i in range(0, len(busy), each)]
        self.block("busy", struct.pack("<I", len(runs)) + b"".join(struct.pack("<IQ", len(r), sum(r)) for r in runs))

    def put_runs(self, runs):
        names = self.string(*[r.name for r in runs])
        self.members("RUNS", "runs", [struct.pack("<IQQQ", n, r.wall_ns, r.latency_ns, r.samples) +
                                      i128(int(r.time * 2**32)) + i128(int(r.energy * 2**80))
                                      for r, n in zip(runs, names)])

    def put_rows(self, rows):
        self.string(*[k for r in rows for k, name in zip(r.key, self.keys) if name in TEXT_KEYS])
        self.members("ROWS", "rows", [self.row(r) for r in rows])

    def row(self, r):
        key = [self.strings[raw(k)] if name in TEXT_KEYS else k for k, name in zip(r.key, self.keys)]
        low, high, low_energy, high_energy = r.extremes
        return (struct.pack(f"<{len(key)}Q", *key) + i128(int(r.samples * 2**64)) +
                struct.pack("<QQ", NOT_KNOWN if r.entries is None else r.entries, r.runs) +
                i128(int(r.time * 2**32)) + i128(int(r.energy * 2**80)) +
                u256(int(r.time_sq * 2**64)) + u256(int(r.energy_sq * 2**160)) +
                i128(int(low * 2**32)) + i128(int(high * 2**32)) +
                i128(int(low_energy * 2**80)) + i128(int(high_energy * 2**80)))

    def put_arcs(self, arcs):
        self.members("ARCS", "arcs", [struct.pack("<IIIIQ", *self.string(*a[:4]), a[4]) for a in arcs])

    def put_measures(self, measures):
        numbers = [self.string(name, unit) for name, (unit, _, _) in measures.items()]
        self.measures = measures
        self.block("meas", struct.pack("<I", len(measures)) + b"".join(
            struct.pack("<IIBB", *n, *m[1:]) for n, m in zip(numbers, measures.values())))

    def put_measured(self, measured):
        """{(row, name): value}"""
        values, histograms = [], []
        for (row, name), v in measured.items():
            number = list(self.measures).index(name)
            if isinstance(v, dict):
                histograms.append(struct.pack("<III", row, number, len(v)) +
                                  b"".join(struct.pack("<IQ", *b) for b in sorted(v.items())))
                continue
            scale = 2**32 if self.measures[name][1] == REAL else 1
            values.append(struct.pack("<IIQ", row, number, v.runs) + i128(int(v.value * scale)) + (
                b"" if v.runs == 1 else
                u256(int(v.square * scale**2)) + i128(int(v.least * scale)) + i128(int(v.most * scale))))
        for kind, members in (("mval", values), ("hist", histograms)):
            if members:
                self.block(kind, struct.pack("<I", len(members)) + b"".join(members))

    def put_programs(self, programs):
        """{thread: path}"""
        numbers = self.string(*programs.values())
        self.block("prog", struct.pack("<I", len(programs)) + b"".join(
            struct.pack("<II", t, n) for t, n in zip(programs, numbers)))

    def put_callers(self, callers):
        """{location: location of its caller}"""
        self.block("call", struct.pack("<I", len(callers)) + b"".join(
            struct.pack("<II", l, c) for l, c in callers.items()))

    def put_checksums(self, checksums):
        encoded = [struct.pack("<III", *self.string(*c)) for c in checksums]
        self.block("csum", struct.pack("<I", len(encoded)) + b"".join(encoded))

    def put_sources(self, sources):
        encoded = []
        for name, kind, unit, scope, per_count, period, role, text_ in sources:
            *first, last = self.string(name, kind, unit, scope, text_)
            encoded.append(struct.pack("<IIIIdQBI", *first, per_count, period, role, last))
        self.block("srcs", struct.pack("<I", len(encoded)) + b"".join(encoded))

    def put_readings(self, readings):
        self.block("read", struct.pack("<I", len(readings)) + b"".join(
            struct.pack("<IQQQ", *r) for r in readings))

    def put_values(self, source, values):
        self.block("vals", struct.pack("<II", source, len(values)) + column([value_bits(v) for v in values]))

    def finish(self):
        c = self.counts
        if self.parts[-1][4:8] != b"TAIL":
            self.block("TAIL", struct.pack("<QQIIIIIII", c["samples"], c["entries"], len(self.strings), c["maps"],
                                           c["threads"], c["locations"], c["runs"], c["rows"], c["arcs"]))
        return b"".join(self.parts)


def write(profile, batch=500, checksum=xxh3):
    """PROFILE as bytes, with BATCH samples per block."""
    w = Writer(profile.meta, checksum)
    for put, what in ((w.put_maps, profile.maps), (w.put_threads, profile.threads),
                      (w.put_locations, profile.locations), (w.put_runs, profile.runs),
                      (w.put_rows, profile.rows), (w.put_measures, profile.measures),
                      (w.put_measured, profile.measured), (w.put_arcs, profile.arcs),
                      (w.put_programs, profile.programs), (w.put_callers, profile.callers),
                      (w.put_checksums, profile.checksums), (w.put_sources, profile.sources), (w.put_readings, profile.readings)):
        if what:
            put(what)
    for i in range(0, len(profile.samples), batch):
        for source, values in profile.values.items():
            w.put_values(source, values[i:i + batch])
        if profile.busy:
            w.put_busy(profile.busy[i:i + batch])
        w.put_samples(profile.samples[i:i + batch])
    return w.finish()


# ---- reading -----------------------------------------------------------------------------------

@functools.lru_cache(maxsize=None)
def layout_of(form):
    return struct.Struct("<" + form)


class Cursor:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, form):
        layout = layout_of(form)
        values = layout.unpack_from(self.data, self.at)
        self.at += layout.size
        return values if len(values) > 1 else values[0]

    def bytes(self, count):
        assert self.at + count <= len(self.data), "cut short"
        self.at += count
        return self.data[self.at - count:self.at]

    def text(self):
        return self.bytes(self.take("I")).decode("utf-8", "surrogateescape")

    def integer(self, size, signed):
        return int.from_bytes(self.bytes(size), "little", signed=signed)

    def column(self, count):
        width, base = self.take("BQ")
        data, mask = self.bytes((count * width + 7) // 8), (1 << width) - 1
        if width == 0:
            return [base] * count
        values = []
        for at in range(0, len(data), width):  # eight numbers are WIDTH bytes
            bits = int.from_bytes(data[at:at + width], "little")
            values += [base + (bits >> shift & mask) for shift in range(0, 8 * width, width)]
        del values[count:]
        return values if max(values, default=0) < 2**64 else [value % 2**64 for value in values]


class Reader:
    def __init__(self, data):
        assert data[:16] == SIGNATURE + struct.pack("<II", 1, 0), "header"
        self.data, self.at = data, 16
        self.profile, self.strings, self.entries, self.equal = Profile(), [""], 0, None

    def read(self):
        kind, c = self.next_block()
        assert kind == "META", kind
        for _ in range(c.take("I")):
            name, type_ = c.text(), chr(c.take("B"))
            value = c.text() if type_ == "s" else c.take("Q" if type_ == "u" else "d")
            if FIELDS.get(name) == type_:
                self.profile.meta[name] = value
        self.keys = self.profile.meta["keys"].split(",") if self.profile.meta.get("keys") else []
        while True:
            kind, c = self.next_block()
            if kind == "TAIL":
                self.tail(c)
                return self.profile
            if kind == "SMPL":
                self.samples(c)
            elif kind == "eqal":
                self.equal = c.column(c.take("I"))
            elif kind == "busy":
                self.profile.busy += [c.take("IQ") for _ in range(c.take("I"))]
            elif kind in ("STRS", "MAPS", "THRD", "LOCS", "RUNS", "ROWS", "ARCS", "prog", "call", "srcs", "read",
                          "meas", "mval", "hist", "csum"):
                for _ in range(c.take("I")):
                    getattr(self, kind if kind != "read" else "read_")(c)
            else:
                assert kind[0].islower(), kind
                continue
            assert c.at == len(c.data), f"{kind}: {len(c.data) - c.at} bytes more than it counts"

    def next_block(self):
        length, kind = struct.unpack_from("<I4s", self.data, self.at)
        assert length <= 16777216, length
        end = self.at + 8 + length
        assert xxh3(self.data[self.at:end]) == struct.unpack_from("<Q", self.data, end)[0], "checksum"
        payload, self.at = self.data[self.at + 8:end], end + 8
        return kind.decode("ascii"), Cursor(payload)

    def string(self, c):
        return self.strings[c.take("I")]

    def prog(self, c):
        thread = c.take("I")
        assert thread < len(self.profile.threads) and thread not in self.profile.programs
        self.profile.programs[thread] = self.string(c)

    def call(self, c):
        location, caller = c.take("II")
        assert max(location, caller) < len(self.profile.locations) and location not in self.profile.callers
        self.profile.callers[location] = caller

    def csum(self, c):
        self.profile.checksums.append((self.string(c), self.string(c), self.string(c)))
        assert len(self.profile.checksums[-1][2]) == 32 and int(self.profile.checksums[-1][2], 16) >= 0

    def srcs(self, c):
        texts = [self.string(c) for _ in range(4)]
        self.profile.sources.append((*texts, *c.take("dQB"), self.string(c)))

    def meas(self, c):
        name, unit = self.string(c), self.string(c)
        assert name and name not in self.profile.measures
        self.profile.measures[name] = (unit, *c.take("BB"))

    def place(self, c):
        row, measure = c.take("II")
        place = row, list(self.profile.measures)[measure]
        assert row < len(self.profile.rows) and place not in self.profile.measured
        return place

    def mval(self, c):
        place, runs = self.place(c), c.take("Q")
        scale = 2**32 if self.profile.measures[place[1]][1] == REAL else 1
        value = Measured.of_run(Fraction(c.integer(16, True), scale))
        if runs != 1:
            value = Measured(runs, value.value, Fraction(c.integer(32, False), scale**2),
                             *(Fraction(c.integer(16, True), scale) for _ in range(2)))
        self.profile.measured[place] = value

    def hist(self, c):
        place = self.place(c)
        buckets = [c.take("IQ") for _ in range(c.take("I"))]
        assert buckets == sorted(set(buckets)) and len(dict(buckets)) == len(buckets) and all(b[1] for b in buckets)
        self.profile.measured[place] = dict(buckets)

    def read_(self, c):
        reading = c.take("IQQQ")
        assert reading[0] < len(self.profile.sources)
        self.profile.readings.append(reading)

    def STRS(self, c):
        value = c.text()
        assert value not in self.strings and "\0" not in value, value
        self.strings.append(value)

    def MAPS(self, c):
        self.profile.maps.append(Map(*c.take("QQQ"), self.string(c), self.string(c), self.string(c)))

    def THRD(self, c):
        self.profile.threads.append(Thread(*c.take("II"), self.string(c)))

    def LOCS(self, c):
        pc, binary, map_, frames = c.take("Q"), self.string(c), *c.take("II")
        assert 1 <= frames <= 4096 and (map_ == NO_MAP or map_ < len(self.profile.maps))
        self.profile.locations.append(Location(pc, binary, [
            Frame(self.string(c), self.string(c), self.string(c), c.take("I")) for _ in range(frames)], map_))

    def samples(self, c):
        count, entries = c.take("II")
        assert count <= 65536 and entries <= 1048576
        interval, bits, threads = (c.column(count) for _ in range(3))
        columns = list(zip(*(c.column(entries) for _ in range(3))))
        assert sum(threads) == entries
        assert all(thread < len(self.profile.threads) and location < len(self.profile.locations) for thread, location, _ in columns)
        assert self.equal is None or len(self.equal) == entries
        at = 0
        for ns, value, n in zip(interval, bits, threads):
            self.profile.samples.append(Sample(ns, struct.unpack("<d", struct.pack("<Q", value))[0],
                                               columns[at:at + n], self.equal and self.equal[at:at + n]))
            at += n
        self.entries += entries
        self.equal = None

    def RUNS(self, c):
        self.profile.runs.append(Run(self.string(c), *c.take("QQQ"), Fraction(c.integer(16, True), 2**32),
                                     Fraction(c.integer(16, True), 2**80)))

    def ROWS(self, c):
        key = tuple(self.strings[c.take("Q")] if k in TEXT_KEYS else c.take("Q") for k in self.keys)
        samples, entries, runs = Fraction(c.integer(16, True), 2**64), *c.take("QQ")
        time, energy = Fraction(c.integer(16, True), 2**32), Fraction(c.integer(16, True), 2**80)
        squares = Fraction(c.integer(32, False), 2**64), Fraction(c.integer(32, False), 2**160)
        extremes = tuple(Fraction(c.integer(16, True), 2**s) for s in (32, 32, 80, 80))
        row = Row(key, samples, None if entries == NOT_KNOWN else entries, runs, time, energy, *squares, extremes)
        if self.profile.rows:
            assert sort_key(self.profile.rows[-1].key) < sort_key(key), "rows are not in order"
        self.profile.rows.append(row)

    def ARCS(self, c):
        self.profile.arcs.append((self.string(c), self.string(c), self.string(c), self.string(c), c.take("Q")))

    def tail(self, c):
        p = self.profile
        want = (len(p.samples), self.entries, len(self.strings), len(p.maps), len(p.threads), len(p.locations),
                len(p.runs), len(p.rows), len(p.arcs))
        assert c.take("QQIIIIIII") == want, "trailer"
        assert self.at == len(self.data), "data after the trailer"


def sort_key(key):
    return tuple(raw(k) if isinstance(k, str) else k for k in key)


def read(data):
    return Reader(data).read()
