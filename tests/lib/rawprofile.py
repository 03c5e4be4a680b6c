"""An independent writer of every raw dialect, layout and byte order, written from the documents.

Facts come in as Run/Sample/Thread/Map; write() gives the bytes of one dialect. The raw extension and
the sampler's unfinished file (the spool) are here as well.
SPDX-License-Identifier: MIT
"""
import struct
from dataclasses import dataclass, field

from fast_xxh3 import xxh3

SIGNATURE = b"\x89PBX\r\n\x1a\n"
CUSTOM, CURRENT, VOLTAGE, POWER = range(4)
DIALECTS = ("intrvelf", "intrvelf-aggregated", "sampler", "sampler-walltime", "pperf")


@dataclass
class Thread:
    tid: int
    pc: int
    cpu_ns: int = 0  # cumulative
    flags: int = 1   # RAN, TOTAL, CALLER, SAME_CPU, FAULT, PREEMPTED, ASLEEP: only `seen` blocks have them
    caller: int = 0


@dataclass
class Sample:
    value: float
    threads: list = field(default_factory=list)
    time_us: int = 0  # absolute clock
    raw_value: bytes = None  # pperf: the bytes of the value


@dataclass
class Map:
    address: int
    size: int
    label: str
    offset: int = 0  # in the file; only the raw extension contains it
    build_id: str = ""
    path: str = ""
    after: bytes = b""  # after the label


@dataclass
class Run:
    samples: list
    maps: list
    wall_us: int
    latency_us: int = 0
    kind: int = CURRENT


# ---- pieces ------------------------------------------------------------------------------------

def header(run, magic, order, middle=b"", samples=None, maps=None):
    """32 bytes, or 32 + len(MIDDLE): pperf has the size of a PMU value before the number of
    maps."""
    count = len(run.samples) if samples is None else samples
    return (struct.pack(order + "IQQQ", magic, run.wall_us, run.latency_us, count) + middle +
            struct.pack(order + "I", len(run.maps) if maps is None else maps))


def vmmap(m, order):
    label = m.label.encode("utf-8", "surrogateescape") + m.after
    assert len(label) <= 256
    return struct.pack(order + "QQ256s", m.address, m.size, label)


def vmmaps(run, order):
    return b"".join(vmmap(m, order) for m in run.maps)


def threads12(sample, order):
    return struct.pack(order + "I" + "IQ" * len(sample.threads), len(sample.threads),
                       *(x for t in sample.threads for x in (t.tid, t.pc)))


def threads20(sample, order):
    return struct.pack(order + "I" + "IQQ" * len(sample.threads), len(sample.threads),
                       *(x for t in sample.threads for x in (t.tid, t.pc, t.cpu_ns)))


def pmu_bytes(sample, pmu, order):
    """PMU: a struct letter (d f b B h H i I q Q), or a number of opaque bytes."""
    if sample.raw_value is not None:
        return sample.raw_value
    if isinstance(pmu, int):
        return bytes((i * 37 + 11) & 0xff for i in range(pmu))
    return struct.pack(order + pmu, sample.value if pmu in "df" else int(sample.value))


def record(dialect, sample, order, pmu="d"):
    """The bytes of one sample."""
    value = struct.pack(order + "d", sample.value)
    time = struct.pack(order + "Q", sample.time_us)
    if dialect == "intrvelf":
        return value + threads12(sample, order)
    if dialect == "sampler":
        return value + threads20(sample, order)
    if dialect == "sampler-walltime":
        return time + value + threads20(sample, order)
    if dialect == "pperf":
        return time + pmu_bytes(sample, pmu, order) + threads20(sample, order)
    raise ValueError(dialect)


# ---- whole files -------------------------------------------------------------------------------

def aggregated_table(run):
    """The contents of the aggregated dialect: {pc: [observations, summed current]}, key None
    outside the maps.

    A sample's current is shared by its threads, so that the run's charge is conserved."""
    table = {}
    for sample in run.samples:
        for thread in sample.threads:
            inside = any(m.address <= thread.pc < m.address + m.size for m in run.maps)
            cell = table.setdefault(thread.pc if inside else None, [0, 0.0])
            cell[0] += 1
            cell[1] += sample.value / len(sample.threads)
    return table


def write_aggregated(run, order):
    table = aggregated_table(run)
    out = [header(run, 1, order), vmmaps(run, order)]
    out.append(struct.pack(order + "Qd", *table.get(None, (0, 0.0))))
    for m in run.maps:
        body = bytearray(16 * m.size)
        for pc, (count, current) in table.items():
            if pc is not None and m.address <= pc < m.address + m.size:
                struct.pack_into(order + "Qd", body, 16 * (pc - m.address), count, current)
        out += [struct.pack(order + "Q", m.address), bytes(body)]
    return b"".join(out)


def pmu_size(pmu):
    return pmu if isinstance(pmu, int) else struct.calcsize("=" + pmu)


def write(run, dialect, late=False, order="<", pmu="d", magic=None):
    """The file as bytes. LATE: maps follow the samples. MAGIC None: as documented."""
    if dialect == "intrvelf-aggregated":
        return write_aggregated(run, order)
    if magic is None:
        magic = int(late) if dialect == "intrvelf" else run.kind
    middle = struct.pack(order + "I", pmu_size(pmu)) if dialect == "pperf" else b""
    body = b"".join(record(dialect, s, order, pmu) for s in run.samples)
    maps = vmmaps(run, order)
    return header(run, magic, order, middle) + (body + maps if late else maps + body)


def killed(run, dialect, order="<", pmu="d"):
    """The file that a killed sampler leaves: a zeroed header, good records, no maps."""
    size = 36 if dialect == "pperf" else 32
    return bytes(size) + b"".join(record(dialect, s, order, pmu) for s in run.samples)


# ---- the raw extension -------------------------------------------------------------------------

def block(kind, payload):
    head = struct.pack("<I4s", len(payload), kind.encode()) + payload
    return head + struct.pack("<Q", xxh3(head))


def text(s):
    data = s if isinstance(s, bytes) else s.encode("utf-8", "surrogateescape")
    return struct.pack("<I", len(data)) + data


def info_block(facts):
    return block("info", struct.pack("<I", len(facts)) +
                 b"".join(text(k) + text(v) for k, v in facts.items()))


def maps_block(maps, pid=1):
    return block("maps", struct.pack("<I", len(maps)) + b"".join(
        struct.pack("<QQQI", m.address, m.size, m.offset, pid) + text(m.build_id) +
        text(m.path or m.label) for m in maps))


def threads_block(names, pid=1):
    """NAMES: {tid: name}."""
    return block("thrd", struct.pack("<I", len(names)) + b"".join(
        struct.pack("<II", tid, pid) + text(name) for tid, name in names.items()))


def time_blocks(times_ns, per_block=65536):
    return b"".join(
        block("time", struct.pack("<Q", at) +
              struct.pack(f"<{len(part)}Q", *part))
        for at in range(0, len(times_ns), per_block)
        for part in [times_ns[at:at + per_block]])


def done_block(samples):
    return block("done", struct.pack("<Q", samples))


def extension(run, times_ns, facts=None, names=None, done=True):
    """The bytes after the last documented byte; TIMES_NS since the start of the run, one for each
    sample."""
    out = SIGNATURE + info_block(facts or {}) + maps_block(run.maps) + threads_block(names or {})
    out += time_blocks(times_ns)
    return out + (done_block(len(run.samples)) if done else b"")


def spool(run, times_ns, per_block=50, facts=None):
    """The sampler's unfinished file: zeros in place of a header, then blocks that contain the
    samples."""
    out = [bytes(32), SIGNATURE, info_block(facts or {}), maps_block(run.maps)]
    for at in range(0, len(run.samples), per_block):
        part = run.samples[at:at + per_block]
        rows = b"".join(struct.pack("<Q", t) + record("sampler", s, "<")
                        for t, s in zip(times_ns[at:], part))
        out.append(block("rows", struct.pack("<I", len(part)) + rows))
    return b"".join(out)


# ---- the extension of a sampler that records processes -----------------------------------------

RAN, TOTAL, CALLER, SAME_CPU, FAULT, PREEMPTED, ASLEEP = 1, 2, 4, 16, 32, 64, 128
NO_IMAGE = 2**32 - 1
START, FORK, EXEC = range(3)
FILE, ANONYMOUS, HEAP, STACK, VDSO, VSYSCALL, JIT = range(7)
JIT_TEXT, JIT_DUMP = range(2)


@dataclass
class Image:
    pid: int
    path: str
    start: int = 0
    ppid: int = 0
    parent: int = NO_IMAGE
    how: int = START
    comm: str = ""


@dataclass
class Mapping:
    image: int
    address: int
    size: int
    path: str
    since: int = 0
    offset: int = 0
    inode: int = 0
    kind: int = FILE
    build_id: str = ""


@dataclass
class Task:
    tid: int
    pid: int
    start: int = 0
    name: str = ""


@dataclass
class Source:
    name: str
    kind: str = "energy"
    unit: str = "J"
    scope: str = "package"
    per_count: float = 1.0
    period: int = 0
    role: int = 1
    help: str = ""


@dataclass
class Reading:
    source: int
    time: int
    value: int  # counts, or the bits of a double
    busy: int = 0


@dataclass
class Extended:
    facts: dict = field(default_factory=dict)
    images: list = field(default_factory=list)
    mappings: list = field(default_factory=list)
    tasks: list = field(default_factory=list)
    jits: list = field(default_factory=list)     # (image, kind, bytes)
    sources: list = field(default_factory=list)
    readings: list = field(default_factory=list)
    cpus: list = field(default_factory=list)     # (pid, user, system)
    ticks: list = field(default_factory=list)    # (pid, time, user, system, stops)
    vdso: tuple = None                           # (address, bytes)
    marks: list = field(default_factory=list)    # (time, CPU time of the program)
    nominal: list = field(default_factory=list)  # CPU time by the samples, for each total


def counted(kind, members):
    return block(kind, struct.pack("<I", len(members)) + b"".join(members)) if members else b""


def image_bytes(i):
    return struct.pack("<IIQIB", i.pid, i.ppid, i.start, i.parent, i.how) + text(i.path) + text(i.comm)


def mapping_bytes(m):
    return struct.pack("<IQQQQQB", m.image, m.since, m.address, m.size, m.offset, m.inode,
                       m.kind) + text(m.build_id) + text(m.path)


def task_bytes(t):
    return struct.pack("<IIQ", t.tid, t.pid, t.start) + text(t.name)


def source_bytes(s):
    return text(s.name) + text(s.kind) + text(s.unit) + text(s.scope) + struct.pack(
        "<dQB", s.per_count, s.period, s.role) + text(s.help)


def reading_bytes(r):
    return struct.pack("<IQQQ", r.source, r.time, r.value, r.busy)


def definitions(ext):
    """Blocks of everything that does not concern samples."""
    out = info_block(ext.facts) + counted("imgs", [image_bytes(i) for i in ext.images])
    out += counted("mapx", [mapping_bytes(m) for m in ext.mappings])
    out += counted("task", [task_bytes(t) for t in ext.tasks])
    if ext.vdso:
        out += block("vdso", struct.pack("<Q", ext.vdso[0]) + ext.vdso[1])
    for image, kind, data in ext.jits:
        out += block("jits", struct.pack("<IB", image, kind) + data)
    out += counted("srcs", [source_bytes(s) for s in ext.sources])
    return (out + counted("cpus", [struct.pack("<IQQ", *c) for c in ext.cpus]) +
            counted("tick", [struct.pack("<IQQQQ", *t) for t in ext.ticks]) +
            counted("mark", [struct.pack("<QQ", *m) for m in ext.marks]) +
            counted("nomi", [struct.pack("<Q", n) for n in ext.nominal]))


def reading_blocks(readings, per_block=1000):
    return b"".join(counted("read", [reading_bytes(r) for r in readings[at:at + per_block]])
                    for at in range(0, len(readings), per_block))


def seen_block(first, threads):
    return block("seen", struct.pack("<QI", first, len(threads)) + bytes(t.flags for t in threads) +
                 b"".join(struct.pack("<Q", t.caller) for t in threads if t.flags & CALLER))


def seen_blocks(samples, per_block=65536):
    threads = [t for s in samples for t in s.threads]
    return b"".join(seen_block(at, threads[at:at + per_block]) for at in range(0, len(threads), per_block))


def extended(run, times_ns, ext, flags=True, per_block=65536):
    """A whole file, dialect sampler."""
    out = write(run, "sampler") + SIGNATURE + definitions(ext) + time_blocks(times_ns, per_block)
    out += seen_blocks(run.samples, per_block) if flags else b""
    return out + reading_blocks(ext.readings, per_block) + done_block(len(run.samples))


def extended_spool(run, times_ns, ext, per_block=50):
    """The file that a killed sampler leaves: rows and flags alternate, and each reading precedes
    later rows."""
    out, first, readings = [bytes(32), SIGNATURE, definitions(ext)], 0, list(ext.readings)
    for at in range(0, len(run.samples), per_block):
        part = run.samples[at:at + per_block]
        due = [r for r in readings if r.time <= times_ns[at]]
        readings = readings[len(due):]
        out.append(reading_blocks(due))
        out.append(block("rows", struct.pack("<I", len(part)) + b"".join(
            struct.pack("<Q", t) + record("sampler", s, "<") for t, s in zip(times_ns[at:], part))))
        threads = [t for s in part for t in s.threads]
        out.append(seen_block(first, threads))
        first += len(threads)
    return b"".join(out + [reading_blocks(readings)])
