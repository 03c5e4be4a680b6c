"""A second implementation of the arithmetic: time and energy of each row, in exact rationals.

Time is conserved (all rows together have the CPU time that threads used), energy is conserved (all
rows together have the energy of the run).
SPDX-License-Identifier: MIT
"""
from dataclasses import dataclass
from fractions import Fraction

import stretches

IDLE = ("_idle", "_idle")
BILLION, MILLION = 10**9, 10**6


@dataclass
class Row:
    samples: int = 0   # observations of a thread
    entries: int = 0   # None: unknown
    time: Fraction = Fraction(0)    # [s]
    energy: Fraction = Fraction(0)  # [J]

    @property
    def power(self):
        """Mean power [W], None if there is no time."""
        return self.energy / self.time if self.time else None


def total(rows):
    entries = [r.entries for r in rows.values()]
    return Row(sum(r.samples for r in rows.values()),
               None if None in entries else sum(entries),
               sum((r.time for r in rows.values()), Fraction(0)),
               sum((r.energy for r in rows.values()), Fraction(0)))


def intervals(times, count, wall):
    """Seconds before each of COUNT samples: from TIMES [s], else equal parts of WALL [s]."""
    if times is None:
        return [Fraction(wall) / count] * count
    return [Fraction(0)] + [b - a for a, b in zip(times, times[1:])]


def cpu_deltas(samples):
    """For each sample, for each of its threads: (CPU time since it was last seen [ns], is it new?).

    The first delta is what the thread used so far; a counter that goes backwards is a new thread."""
    last, out = {}, []
    for sample in samples:
        row = []
        for t in sample.threads:
            before = last.get(t.tid)
            new = before is None or t.cpu_ns < before
            row.append((t.cpu_ns if new else t.cpu_ns - before, new))
            last[t.tid] = t.cpu_ns
        out.append(row)
    return out


def attribute(samples, key, *, wall, watts, times=None, has_cpu=True, cpus=None):
    """Rows {key: Row}. WALL [s]; WATTS: power for one unit of a sample's value (volts for a current, 1 for a
    power); TIMES: seconds of each sample, exact, or None; CPUS: only for dialects without CPU time."""
    rows, place, around = {}, {}, []
    spans = intervals(times, len(samples), wall)
    for sample, span, deltas in zip(samples, spans, cpu_deltas(samples)):
        if not has_cpu:
            deltas = [(0, t.tid not in place) for t in sample.threads]
        ids = thread_numbers(sample, deltas, place)
        if not has_cpu:
            deltas = [(each, new) for (_, each), (_, new) in zip(stretches.ran(span * BILLION, ids, cpus), deltas)]
        power = Fraction(sample.value) * Fraction(watts)
        around.append(stretches.Sample(span * BILLION, power, power * span,
                                       [(t, Fraction(d)) for t, (d, _) in zip(ids, deltas)]))
        for thread, (delta, new) in zip(sample.threads, deltas):
            where = key(thread.pc)
            row = rows.setdefault(where, Row())
            row.samples += 1
            row.entries += new or place[thread.tid][1] != where
            row.time += Fraction(delta) / BILLION
            place[thread.tid] = place[thread.tid][0], where
    energies, idle = stretches.spread(around, cpus or 0)
    for sample, energy, unused in zip(samples, energies, idle):
        for thread, joules in zip(sample.threads, energy):
            rows[key(thread.pc)].energy += joules
        if unused:
            rows.setdefault(IDLE, Row()).energy += unused
    return rows


def thread_numbers(sample, deltas, place):
    """A thread that reuses a tid gets a new number."""
    for thread, (_, new) in zip(sample.threads, deltas):
        number, where = place.get(thread.tid, (0, None))
        place[thread.tid] = number + new, where
    return [(t.tid, place[t.tid][0]) for t in sample.threads]


def attribute_aggregated(table, key, *, wall, samples, volts):
    """The aggregated dialect. TABLE {pc or None: (observations, summed current)}."""
    rows, interval = {}, Fraction(wall) / samples
    for pc, (count, current) in table.items():
        row = rows.setdefault(key(pc), Row(entries=None))
        row.samples += count
        row.time += count * interval
        row.energy += Fraction(current) * Fraction(volts) * interval
    return rows


def times_of(samples):
    """Seconds since the first sample, from absolute microseconds."""
    return [Fraction(s.time_us - samples[0].time_us, MILLION) for s in samples]


def microseconds(us):
    return Fraction(us, MILLION)
