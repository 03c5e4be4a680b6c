"""The exact output of pbin-aggregate for full pbin profiles: time, energy, samples and entries per
key.

The second implementation of attribution, in rationals, from the definitions: time is the CPU time that threads
used, energy is power times interval and is split by CPU time (the default model is in stretches.py).
SPDX-License-Identifier: MIT
"""
import fnmatch
import math
import re
from dataclasses import dataclass, field
from fractions import Fraction

import pbin
import stretches

KEYS = ("process", "thread", "comm", "binary", "file", "function", "inline", "line", "pc")
BILLION = 10**9
LARGEST = 2**30  # power [W] and energy of a sample [J] must be below, or else count as 0


@dataclass
class Row:
    samples: int = 0
    entries: int = 0    # None: unknown
    time: Fraction = Fraction(0)    # [s]
    energy: Fraction = Fraction(0)  # [J]

    def add(self, other):
        self.samples += other.samples
        self.entries = None if None in (self.entries, other.entries) else self.entries + other.entries
        self.time += other.time
        self.energy += other.energy


def complete(keys):
    """The columns of a table with KEYS: a line without a file is preceded by its function."""
    at = keys.index("line") if "line" in keys and "file" not in keys and "inline" not in keys else len(keys)
    return keys[:at] + ("inline",) * (at < len(keys)) + keys[at:]


@dataclass
class Options:
    keys: tuple = ("binary", "function")
    start: Fraction = None
    end: Fraction = None
    phase: str = None
    phase_number: int = 0
    include: list = field(default_factory=list)  # ("function", "=" or "~", pattern)
    exclude: list = field(default_factory=list)
    external: bool = False
    model: str = "share"
    wall_time: bool = False
    subtract_latency: str = None    # "interval" or "thread"
    max_gap: Fraction = None

    def __post_init__(self):
        self.keys = complete(self.keys)

    def argv(self):
        out = ["-k", ",".join(self.keys)]
        for name in ("start", "end", "max_gap"):
            value = getattr(self, name)
            if value is not None:
                out += ["--" + name.replace("_", "-"), repr(float(value))]
        if self.phase:
            out += ["--phase", self.phase + (f":{self.phase_number}" if self.phase_number else "")]
        out += [a for k, op, p in self.include for a in ("--filter", k + op + p)]
        out += [a for k, op, p in self.exclude for a in ("--exclude", k + op + p)]
        out += ["--exclude-external"] * self.external + ["--wall-time"] * self.wall_time
        out += [f"--subtract-latency={self.subtract_latency}"] if self.subtract_latency else []
        return out + (["--energy-model", self.model] if self.model != "share" else [])


@dataclass
class Result:
    rows: dict
    excluded: Row
    samples: int
    wall: Fraction
    latency: Fraction


def total(rows):
    sum_ = Row()
    for row in rows:
        sum_.add(row)
    return sum_


def value_of(key, thread, location):
    inner, outer = location.frames[0], location.frames[-1]
    return {"process": thread.pid, "thread": thread.tid, "comm": thread.name, "binary": location.binary,
            "file": inner.file, "function": outer.demangled, "inline": inner.demangled, "line": inner.line,
            "pc": location.pc}[key]


def shown(key, value):
    labels = [name for name, number in NUMBERS.items() if value == number]
    return labels[0] if labels else f"{value:#x}" if key == "pc" else str(value)


def matches(condition, thread, location):
    return text_matches(condition, shown(condition[0], value_of(condition[0], thread, location)))


def text_matches(condition, value):
    _, op, pattern = condition
    return fnmatch.fnmatchcase(value, pattern) if op == "=" else re.search(pattern, value) is not None


def selected(options, profile, thread, location):
    target = profile.meta.get("target", "")
    if options.external and target and location.binary != target:
        return False
    if any(matches(c, thread, location) for c in options.exclude):
        return False
    wanted = {c[0] for c in options.include}
    return wanted == {c[0] for c in options.include if matches(c, thread, location)}


NUMBERS = {"_idle": 2**64 - 2, "_gap": 2**64 - 3}


class Attribution:
    def __init__(self, profile, options):
        self.profile, self.options, self.meta = profile, options, profile.meta
        self.rows, self.excluded, self.keys = {}, Row(), {}
        self.pending = []  # (sample in stretches.py, rows of its threads; None: it does not count)
        self.last, self.inside, self.phase = {}, {}, 0
        self.os_thread = self.find_os_threads()
        self.debt = self.at = self.wall = Fraction(0)
        self.cpus = 1  # number of CPUs used at once, if known
        self.count = self.bad = 0
        n = self.meta.get("samples", 0)
        self.even = Fraction(self.meta.get("wall_ns", 0), n * BILLION) if n else Fraction(0)
        self.latency = Fraction(self.meta.get("latency_ns", 0), n * BILLION) if n else Fraction(0)
        kind, volts = self.meta.get("pmu", 0), self.meta.get("volts", 0)
        self.scale = 0 if kind == pbin.NONE else Fraction(volts) if kind == pbin.CURRENT and volts else 1

    def label_selected(self, name):
        """A label is not code: it is selected as if all its keys were the label."""
        texts = lambda key: name
        o = self.options
        if o.external or any(text_matches(c, texts(c[0])) for c in o.exclude):
            return False
        return {c[0] for c in o.include} == {c[0] for c in o.include if text_matches(c, texts(c[0]))}

    def label(self, name):
        if not self.label_selected(name):
            return self.excluded
        key = tuple(name if k in pbin.TEXT_KEYS else NUMBERS[name] for k in self.options.keys)
        return self.rows.setdefault(key, Row())

    def key(self, *numbers):
        """The key of a thread and a location; None if they are excluded."""
        if numbers not in self.keys:
            thread, location = self.profile.threads[numbers[0]], self.profile.locations[numbers[1]]
            self.keys[numbers] = tuple(value_of(k, thread, location) for k in self.options.keys) \
                if selected(self.options, self.profile, thread, location) else None
        return self.keys[numbers]

    def row(self, thread_number, location_number):
        key = self.key(thread_number, location_number)
        row = self.excluded if key is None else self.rows.setdefault(key, Row())
        row.samples += 1
        who = self.os_thread[thread_number]
        if self.last.get(who, ()) != key:
            row.entries += 1
        self.last[who] = key
        return row

    def find_os_threads(self):
        """The first definition of each thread: a later one with the same tid and another name is
        the same thread renamed; with the same name, it is another thread."""
        found, latest = [], {}
        for i, t in enumerate(self.profile.threads):
            before = latest.get((t.pid, t.tid))
            found.append(i if before is None or self.profile.threads[before].name == t.name else found[before])
            latest[t.pid, t.tid] = i
        return found

    def counts(self, sample):
        o = self.options
        for thread, location, _ in sample.entries if o.phase else ():
            here = any(o.phase in (f.function, f.demangled) for f in self.profile.locations[location].frames)
            who = self.os_thread[thread]
            self.phase += here and not self.inside.get(who, False)
            self.inside[who] = here
        if (o.start is not None and self.at < o.start) or (o.end is not None and self.at >= o.end):
            return False
        return not o.phase or (self.phase == o.phase_number if o.phase_number else self.phase > 0)

    def power(self, value, seconds):
        if not math.isfinite(value):
            self.bad += self.scale != 0
            return Fraction(0)
        power = Fraction(value) * self.scale
        if abs(power) >= LARGEST or abs(power * seconds) >= LARGEST:
            self.bad += 1
            return Fraction(0)
        return power

    def sample(self, s):
        interval = Fraction(s.interval_ns, BILLION) if self.meta.get("times") else self.even
        self.at += interval
        counts = self.counts(s)
        if counts:
            self.count += 1
            self.wall += interval
        if self.options.subtract_latency == "interval":
            self.debt += self.latency
            cpu = [Fraction(c, BILLION) for _, _, c in s.entries] if self.meta.get("cpu_time") else []
            if interval and not self.meta.get("cpus"):
                self.cpus = max(self.cpus, math.ceil(sum(cpu) / interval))
            ran = max([sum(cpu) / (self.meta.get("cpus") or self.cpus)] + cpu)
            paid = min(self.debt, max(0, interval - ran))
            interval -= paid
            self.debt -= paid
        beyond = Fraction(0)
        if self.options.max_gap is not None and interval > self.options.max_gap:
            interval, beyond = self.options.max_gap, interval - self.options.max_gap
        bad = self.bad
        power = self.power(s.value, interval + beyond)
        if not counts:
            self.bad = bad
        elif beyond:
            self.label("_gap").energy += power * beyond
            self.label("_gap").time += beyond if self.options.wall_time else 0
        if counts or (self.options.model == "share" and not self.options.wall_time):
            self.split(s, interval, power, counts)

    def split(self, s, interval, power, counts):
        rows = [self.row(t, l) if counts else None for t, l, _ in s.entries]
        if self.meta.get("cpu_time"):
            cpu = [Fraction(c, BILLION) for _, _, c in s.entries]
            time = cpu if not self.options.wall_time else [interval] * len(cpu)
            weight = cpu if not self.options.wall_time else [1] * len(cpu)
        else:
            cpus = self.meta.get("cpus", 0)
            crowd = Fraction(cpus, len(rows)) if cpus and len(rows) > cpus and not self.options.wall_time else 1
            time, weight = [interval * crowd] * len(rows), [1] * len(rows)
        for row, t, w in zip(rows, time, weight):
            if self.options.subtract_latency == "thread":
                t = max(t - self.latency, 0)
            if counts:
                row.time += t
            if self.options.model == "thread":
                row.energy += power * t
            elif (self.options.model == "sample" or self.options.wall_time) and sum(weight):
                row.energy += power * interval * w / sum(weight)
        if self.options.model == "share" and not self.options.wall_time:
            self.put_off(s, interval, power, rows, counts)
        elif not sum(weight) and power * interval:
            self.label("_idle").energy += power * interval

    def put_off(self, s, interval, power, rows, counts):
        """Postpones the energy of a sample, which depends on the samples around it."""
        threads = [t for t, _, _ in s.entries]
        cpu = [(t, Fraction(c)) for t, _, c in s.entries]
        if not self.meta.get("cpu_time"):
            cpu = stretches.ran(interval * BILLION, threads, self.meta.get("cpus", 0))
        rate = Fraction(s.value) * self.scale if math.isfinite(s.value) and self.scale else None
        self.pending.append((stretches.Sample(interval * BILLION, rate, power * interval, cpu), rows, counts))

    def settle(self):
        energies, idle = stretches.spread([s for s, _, _ in self.pending], self.meta.get("cpus", 0),
                                          [counts for _, _, counts in self.pending])
        for (_, rows, counts), energy, unused in zip(self.pending, energies, idle):
            for row, joules in zip(rows if counts else (), energy):
                row.energy += joules
            if counts and unused:
                self.label("_idle").energy += unused


def aggregate(profile, options):
    a = Attribution(profile, options)
    for s in profile.samples:
        a.sample(s)
    a.settle()
    part = options.start is not None or options.end is not None or options.phase
    meta = profile.meta
    wall = a.wall if part or not meta.get("wall_ns") else Fraction(meta["wall_ns"], BILLION)
    latency = Fraction(meta.get("latency_ns", 0), BILLION)
    if part and meta.get("samples"):
        latency = latency * a.count / meta["samples"]
    if options.subtract_latency == "interval":
        owed = a.latency * len(profile.samples)
        paid = latency * (1 - a.debt / owed) if owed else 0
        wall -= min(wall, Fraction(round(paid * BILLION), BILLION))
    return Result(a.rows, a.excluded, a.count, wall, latency), a.bad


def mean(results):
    """{key: [Row of each run]}; a run without the key has an empty row."""
    keys = dict.fromkeys(k for r in results for k in r.rows)
    return {k: [r.rows.get(k, Row()) for r in results] for k in keys}
