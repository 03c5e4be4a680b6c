"""Profiles such as prof2pbin makes from recordings of the ptrace engine: sightings of threads at
random moments, and CPU times that are divided equally among 16 sightings that found a thread
running, or up to a sample without threads.

SPDX-License-Identifier: MIT
"""
import bisect
import itertools

import pbin

MS = 1_000_000
WATTS, IDLE_WATTS = (5, 15, 10, 30), 4  # of f0 and f1 in the first thread, f2 and f3 in the second; always
SHARED_BY, SHARED_AT_UPDATE = 16, 2
OFF = 3  # time for which a thread has to wait for a CPU [ms]


class Thread:
    """The stays of a thread in its rows: when each ends, the CPU time and energy up to that moment,
    the row, and whether the thread runs."""

    def __init__(self, rng, number, seconds, on, stays, sleep, spread):
        self.ends, self.stays, self.shared, self.known = [], [], [], 0.0
        t = cpu = joule = 0.0
        left = rng.expovariate(1 / on / MS)
        while t < seconds * 1e9:
            for row, mean in ((2 * number, stays[0]), (2 * number + 1, stays[1]), (None, sleep)):
                need = mean * MS * rng.uniform(1 - spread, 1 + spread)
                while need > 0:
                    ran = need if row is None else min(need, left)
                    cpu += 0 if row is None else ran
                    joule += 0 if row is None else ran * WATTS[row] * 1e-9
                    t, need, left = t + ran, need - ran, left - (0 if row is None else ran)
                    self.put(t, cpu, joule, row, row is not None)
                    if left <= 0:
                        t, left = t + rng.expovariate(1 / OFF / MS), rng.expovariate(1 / on / MS)
                        self.put(t, cpu, joule, row, False)

    def put(self, t, *state):
        self.ends.append(t)
        self.stays.append(state)

    def at(self, t):
        """CPU time, energy and row at T, and whether the thread runs."""
        n = bisect.bisect_left(self.ends, t)
        cpu, joule, row, runs = self.stays[n]
        rest = self.ends[n] - t if runs else 0
        return cpu - rest, joule - (rest * WATTS[row] * 1e-9 if runs else 0), row, runs

    def share(self, samples, t):
        """Divides the CPU time since it was last known among the sightings."""
        cpu = self.at(t)[0]
        for n, (sample, place) in enumerate(self.shared):
            thread, row, _ = samples[sample][2][place]
            samples[sample][2][place] = thread, row, int((cpu - self.known) / len(self.shared)) + n % 2
        self.shared, self.known = [], cpu


def moments(rng, mean, end):
    t = 0
    while t < end:
        t += int(mean * (0.2 + 0.8 * rng.expovariate(1))) + 1
        yield t


def record(rng, seconds, threads=2, hertz=3300, update=MS, marked=0.1, missed=0.0, on=6, stays=(5, 8), sleep=4, noise=0.0,
           spread=0.5):
    """Returns samples, and the energy of each row. The sensor is updated every UPDATE ns; the
    fraction MARKED of updates is seen at once, by a sample without threads. The fraction MISSED of
    running threads seems to be waiting. Threads stay for STAYS ms in both of their functions, then
    sleep for SLEEP ms, times 1 +- SPREAD; every ON ms they have to wait for a CPU. Updates have an error of NOISE
    J."""
    ran = [Thread(rng, n, seconds + 0.1, on, stays, sleep, spread) for n in range(threads)]
    joules = [4e-9 * t + sum(thread.at(t)[1] for thread in ran) for t in range(0, int(seconds * 1e9) + 1, update)]
    joules = [j + rng.gauss(0, noise) for j in joules] if noise else joules
    end = (len(joules) - 1) * update
    marks = {t for t in range(update, end, update) if rng.random() < marked}

    def until(t):
        n = min(t // update, len(joules) - 2)
        return joules[n] + (joules[n + 1] - joules[n]) * (t - n * update) / update
    samples, times = [], sorted(marks.union(itertools.takewhile(lambda t: t < end, moments(rng, 1e9 / hertz, end))))
    for last, t in zip([0] + times, times):
        samples.append((t - last, (until(t) - until(last)) / (t - last) * 1e9, []))
        for n, thread in enumerate(ran):
            _, _, row, runs = thread.at(t)
            if t not in marks:
                if runs and rng.random() >= missed:
                    thread.shared.append((len(samples) - 1, n))
                samples[-1][2].append((n, 2 * threads if row is None else row, 0))
            if len(thread.shared) == SHARED_BY or (t in marks and len(thread.shared) >= SHARED_AT_UPDATE):
                thread.share(samples, t)
    truth = {f"f{row}": 0.0 for row in range(2 * threads)} | {"_idle": IDLE_WATTS * times[-1] * 1e-9}
    for thread in ran:
        before = 0.0
        for end, (_, joule, row, _) in zip(thread.ends, thread.stays):
            joule = joule if end < times[-1] else thread.at(times[-1])[1]
            truth[f"f{row}"] = truth.get(f"f{row}", 0.0) + joule - before
            before = joule
    return [pbin.Sample(*s) for s in samples], {name: joule for name, joule in truth.items() if name != "fNone"}
