"""Profiles such as prof2pbin makes from recordings of the perf engine: sightings after equal CPU
times, among which the CPU time of a window is divided.

SPDX-License-Identifier: MIT
"""
import bisect
import itertools
import math

import pbin

MS = 1_000_000
BATCH, IDLE_WATTS = 8, 4
OPEN_WINDOW, SHARED_BY = 10 * MS, 8  # minimum of a window that does not end with an update


class Program:
    """Stays (end, CPU time at the end, row or None) [ns], made of STAYS (ns, row)."""

    def __init__(self, seconds, stays):
        self.stays, self.before, t, cpu, by_row = [], [], 0.0, 0.0, {}  # BEFORE each stay: CPU time by row
        for ns, row in stays:
            begin, t, cpu = t, t + ns, cpu + (0 if row is None else ns)
            self.stays.append((t, cpu, row))
            self.before.append(by_row)
            by_row = by_row | {row: by_row.get(row, 0) + (t - begin)}
            if t > seconds * 1e9:
                break
        self.before.append(by_row)
        self.cpu_ends = [c for _, c, _ in self.stays]

    def cpu_at(self, t):
        end, cpu, row = self.stays[bisect.bisect_left(self.stays, (t,))]
        return cpu - (0 if row is None else end - t)

    def when(self, cpu):
        """The moment at which the thread has used CPU, and the row that ran; None after the end."""
        n = bisect.bisect_left(self.cpu_ends, cpu)
        if n == len(self.stays):
            return None
        return self.stays[n][0] - (self.stays[n][1] - cpu), self.stays[n][2]

    def used(self, until):
        """CPU time by row up to UNTIL."""
        n = bisect.bisect_right(self.stays, (until,))
        out, begin = dict(self.before[n]), self.stays[n - 1][0] if n else 0.0
        if n < len(self.stays) and until > begin:
            row = self.stays[n][2]
            out[row] = out.get(row, 0) + (until - begin)
        return out


def intervals(rng, mean, each):
    """CPU times between sightings: independent ones, or batches of equal ones."""
    if each:
        while True:
            yield mean * (0.05 + 0.95 * rng.expovariate(1))
    yield from itertools.chain.from_iterable([mean * (0.5 + rng.random()) * math.log(3)] * BATCH for _ in itertools.count())


def sightings(rng, program, mean, each):
    """(time, row, the CPU time that the sighting represents)"""
    cpu, out = 0.0, []
    for interval in intervals(rng, mean, each):
        cpu += interval
        seen = program.when(cpu)
        if seen is None:
            return out
        out.append((*seen, 1 if each else interval))


def record(rng, program, seconds, watts, mean=MS, update=10 * MS, aligned=True, each=False, lag=0):
    """Returns samples, and the energy of each row. ALIGNED: CPU time is counted when the sensor is
    updated, which shows its measurements LAG ns later."""
    seen, samples = sightings(rng, program, mean, each), []
    state = {"last": 0, "counted": 0.0, "next": 0}
    power = [IDLE_WATTS + sum(watts[row] * (b.get(row, 0) - a.get(row, 0)) for row in watts) / update
             for a, b in itertools.pairwise(program.used(k * update - lag) for k in range(int(seconds * 1e9 / update) + 1))]
    total = [0.0, *itertools.accumulate(watt * update for watt in power)]

    def joules(t):
        k = min(t // update, len(power) - 1)
        return total[k] + power[k] * (t - k * update)

    def emit(t, entries):
        last = state["last"]
        whole = t - last > 0 and (t - 1) // update == last // update
        value = power[min(last // update, len(power) - 1)] if whole else (joules(t) - joules(last)) / max(1, t - last)
        samples.append(pbin.Sample(t - last, value, entries))
        state["last"] = t

    def end(until):
        own = []
        while state["next"] + len(own) < len(seen) and seen[state["next"] + len(own)][0] <= until:
            own.append(seen[state["next"] + len(own)])
        cpu, span = program.cpu_at(until) - state["counted"], until - state["last"]
        if not own:
            if cpu < span / 2:
                emit(until, [])
            return
        busy = cpu if cpu < 0.98 * span else span
        state["next"], state["counted"], rest, whole = state["next"] + len(own), program.cpu_at(until), busy, sum(s[2] for s in own)
        for n, (t, row, stands_for) in enumerate(own):
            part = int(busy * stands_for / whole)
            rest -= part
            t = max(min(int(t + part / 2), int(until - max(0, rest))), state["last"] + part)
            if n + 1 == len(own) and busy == span:
                t = until
            if t > state["last"] + part + 1:
                emit(t - part, [])
            emit(t, [(0, row, int(cpu * stands_for / whole))])
        if until > state["last"]:
            emit(until, [])
    if aligned:
        for k in range(1, len(power) + 1):
            end(k * update)
    else:
        until = 0
        while True:
            after = seen[min(state["next"] + SHARED_BY, len(seen) - 1)][0]
            until = int(max(until + OPEN_WINDOW, after)) + 1
            if until >= len(power) * update:
                break
            end(until)
    used = program.used(samples and state["last"])
    return samples, {f"f{row}": watts[row] * used.get(row, 0) * 1e-9 for row in watts} | {"_idle": IDLE_WATTS * state["last"] * 1e-9}
