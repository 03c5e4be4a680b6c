"""Profiles that record processes and how threads were seen: the code and the CPU time of each
sample.

Written by an independent writer (rawprofile.py, from raw.5), weighed by an independent rule (cpuweights.py, from
prof2pbin.1), read by an independent reader (pbin.py, from pbin.5).

SPDX-License-Identifier: MIT
"""
import collections
import json
import math
import os
import random
import re
import struct
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import cpuweights  # noqa: E402
import pbin  # noqa: E402
import program  # noqa: E402
import rawprofile as raw  # noqa: E402
import tool  # noqa: E402
from rawprofile import ASLEEP, CALLER, FAULT, PREEMPTED, RAN, SAME_CPU, TOTAL, Extended, Image, Mapping, Sample, Task, Thread  # noqa: E402

MS = 1_000_000
KERNEL = 0xffffffff81000000
KERNEL_HALF = 1 << 63


def bits(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def run_of(samples, kind=raw.POWER, wall_us=None):
    return raw.Run(samples, [raw.Map(0x1000, 0x1000, "gone")], wall_us or 1000 * len(samples), 0, kind)


class Case(tool.Case):
    def convert(self, run, times, ext, *options, data=None):
        data = data if data is not None else raw.extended(run, times, ext)
        out = self.succeeds(["prof2pbin", "-q", *options], stdin=data).out
        return pbin.Reader(out).read()

    def where(self, profile, entry):
        """(binary, function) of an entry."""
        location = profile.locations[entry[1]]
        return location.binary, location.frames[-1].function

    def entries(self, profile):
        return [[(profile.threads[e[0]].tid, *self.where(profile, e), e[2]) for e in s.entries]
                for s in profile.samples]


# ---- random runs -------------------------------------------------------------------------------

class Machine:
    """Processes that fork, execute programs, begin and end threads; an engine that samples them."""

    def __init__(self, seed, engine):
        self.rng, self.engine = random.Random(seed), engine
        self.edges = random.Random(-1 - seed)
        self.ext = Extended({"engine": engine})
        self.samples, self.times, self.now = [], [], 0
        self.alive, self.next_id = {}, 100
        self.used, self.used_by = 0, {}
        self.spawn(None, raw.START)

    def spawn(self, parent, how):
        pid = self.next_id if how != raw.EXEC else parent
        self.next_id += how != raw.EXEC
        path = self.rng.choice(["/bin/a", "/bin/b", "/usr/bin/c"])
        self.ext.images.append(Image(pid, path, self.now, parent or 0, raw.NO_IMAGE, how))
        self.ext.mappings.append(Mapping(len(self.ext.images) - 1, 0x1000, 0x100000, path, self.now))
        if how != raw.EXEC:
            self.begin(pid, pid)

    def begin(self, pid, tid):
        self.ext.tasks.append(Task(tid, pid, self.now, self.rng.choice(["main", "worker"])))
        self.alive[tid] = {"pid": pid, "cpu": 0, "exact": 0, "busy": self.rng.random() ** 2,
                           "seen": self.rng.random() < 0.8, "pc": 0}

    def change(self):
        what, pids = self.rng.random(), sorted({t["pid"] for t in self.alive.values()})
        pid = self.rng.choice(pids)
        if what < 0.02 and len(self.alive) < 12:
            self.spawn(pid, raw.FORK)
        elif what < 0.03:
            self.spawn(pid, raw.EXEC)
        elif what < 0.06 and len(self.alive) < 12:
            tid, self.next_id = self.next_id, self.next_id + 1
            if self.rng.random() < 0.2 and len(self.ext.tasks) > 3:  # a number that was freed
                free = {t.tid for t in self.ext.tasks} - set(self.alive)
                tid = self.rng.choice(sorted(free)) if free else tid
            self.begin(pid, tid)
        elif what < 0.09 and len(self.alive) > 1:
            tid = self.rng.choice([t for t in self.alive])
            self.end(tid)
        elif what < 0.10:
            tid = self.rng.choice([t for t in self.alive])
            self.ext.tasks.append(Task(tid, self.alive[tid]["pid"], self.now, "renamed"))

    def work(self, nanoseconds):
        for t in self.alive.values():
            t["ran"] = self.rng.random() < t["busy"]
            if t["ran"] or self.rng.random() < 0.5:
                t["exact"] += int(nanoseconds * self.rng.random())

    def total(self, tid):
        t = self.alive[tid]
        self.used += t["exact"]
        self.used_by[t["pid"]] = self.used_by.get(t["pid"], 0) + t["exact"]
        return Thread(tid, t["pc"], t["exact"], TOTAL)

    def end(self, tid):
        if self.engine == "perf" or self.rng.random() < 0.7:
            self.add([self.total(tid)])
        else:
            self.add([Thread(tid, 0x1000, self.alive[tid]["exact"], 0)])
            self.used += self.alive[tid]["exact"]
        del self.alive[tid]

    def add(self, threads):
        self.samples.append(Sample(1.0, threads))
        self.times.append(self.now)

    def see(self, tid):
        t = self.alive[tid]
        ran = t["ran"] and t["seen"]
        t["pc"] = 0x1000 + self.rng.randrange(64)
        return Thread(tid, t["pc"], t["exact"], RAN if ran else 0)

    def step(self):
        self.now += 1 + int(self.rng.expovariate(1 / MS))
        self.change()
        self.work(MS)
        if self.engine == "ptrace":
            if self.edges.random() < 0.1:  # the sensor was updated
                self.add([])
                self.now += self.edges.randrange(MS)
            self.add([self.see(t) for t in self.alive])
            return
        for tid, t in self.alive.items():
            if t["ran"] and t["seen"]:
                t["cpu"] += MS
                t["pc"] = 0x1000 + self.rng.randrange(64)
                self.add([Thread(tid, t["pc"], t["cpu"], RAN)])
                self.now += 1

    def run(self, steps):
        for _ in range(steps):
            self.step()
        self.now += 1
        for tid in list(self.alive):
            self.end(tid)
        return run_of(self.samples), self.times, self.ext


class CalmMachine(Machine):
    """Changes rarely: in most batches of samples, the same threads are at the same places."""

    def __init__(self, seed, engine, threads):
        super().__init__(seed, engine)
        for tid in range(50, 50 + threads - 1):
            self.begin(100, tid)

    def change(self):
        if self.rng.random() < 0.03:
            super().change()


class Rule(Case):
    def check(self, run, times, ext, used=None):
        profile = self.convert(run, times, ext)
        expected, unsampled = cpuweights.weigh(run, times, ext)
        equal = cpuweights.weigh(run, times, ext, equal=True)[0] if ext.sources else expected
        whole = 0
        for number, (sample, got) in enumerate(zip(run.samples, profile.samples)):
            wanted, wanted_equal = [], []
            for seat, record in enumerate(sample.threads):
                at = (number, seat)
                if not record.flags & TOTAL or unsampled.get(at):
                    wanted.append((record.tid, expected.get(at, 0) + unsampled.get(at, 0)))
                    wanted_equal.append(equal.get(at, 0) + unsampled.get(at, 0))
            self.assertEqual([(profile.threads[e[0]].tid, e[2]) for e in got.entries], wanted, number)
            self.assertEqual([e[2] for e in got.entries] if got.equal is None else list(got.equal), wanted_equal, number)
            for seat, entry in enumerate(got.entries):
                if self.where(profile, entry)[1] == "_unsampled":
                    self.assertGreater(entry[2], 0)
            whole += sum(e[2] for e in got.entries)
        if used is not None:
            self.assertEqual(whole, used, "CPU time was lost or made")
        return profile

    def test_marks(self):
        """The perf engine reports the CPU time of the program at new values of power."""
        for seed in range(30):
            with self.subTest(seed):
                machine = (Machine(seed, "perf") if seed % 3 else CalmMachine(seed, "perf", 1 + seed % 2))
                run, times, ext = machine.run(20 if seed % 4 == 1 else 300)
                ext.sources.append(raw.Source("s"))
                rng, cpu = random.Random(-seed), 0
                for time in sorted(rng.choice(times) + rng.choice([0, 0, -1, 1, 700]) for _ in range(seed * 3)):
                    cpu += rng.choice([0, 1, MS, rng.randrange(20 * MS)])
                    ext.marks.append((max(0, time), cpu))
                self.check(run, times, ext, machine.used)

    def test_ptrace(self):
        for seed in range(25):
            with self.subTest(seed):
                machine = Machine(seed, "ptrace")
                run, times, ext = machine.run(20 if seed % 2 else 300)
                self.check(run, times, ext, machine.used)
                ext.facts["reached"] = "20000"
                self.check(run, times, ext, machine.used)
                ext.sources.append(raw.Source("s"))
                self.check(run, times, ext, machine.used)
                ext.facts["cpu_ns"] = str(machine.used // 3)
                self.check(run, times, ext)

    def sleepers(self, seed, seen, gaps=0.0, naps=(4, 9), always=False):
        """Three threads run for 2 to 12 ms, two thirds of it at 0x1000 and then at 0x1001, and
        sleep. Returns run, times, ext and the part of the CPU time at 0x1001. SEEN returns whether
        a thread of this age is seen running. Otherwise, ALWAYS or sometimes, it has a record
        without a sighting, else none."""
        rng = random.Random(seed)
        samples, times, now = [], [], 0
        bursts = {tid: [0, 0, 0, 2 * MS + 10 * MS * rng.random()] for tid in (7, 8, 9)}  # CPU time, age, left of sleep, length
        late = used = 0
        for _ in range(rng.choice((150, 900, 3000))):
            step, here = 10_000 + int(rng.expovariate(1 / MS)), []
            if rng.random() < gaps:
                step += 200 * MS
            now += step
            for tid, burst in bursts.items():
                left = step
                while left > 0:
                    asleep = burst[2] > 0
                    part = int(min(left, burst[2] if asleep else burst[3] - burst[1])) + 1
                    left -= part
                    if asleep:
                        burst[2] -= part
                        continue
                    late += max(0, burst[1] + part - max(burst[1], burst[3] * 2 / 3))
                    used += part
                    burst[0] += part
                    burst[1] += part
                    if burst[1] >= burst[3]:
                        burst[1:] = [0, rng.choice(naps) * MS, 2 * MS + 10 * MS * rng.random()]
                if burst[2] > 0:
                    here.append(Thread(tid, 0x1002, burst[0], ASLEEP))
                elif seen(burst[1] / burst[3], rng):
                    here.append(Thread(tid, 0x1000 + (burst[1] > burst[3] * 2 / 3), burst[0], RAN))
                elif always or rng.random() < 0.5:
                    here.append(Thread(tid, 0x1002, burst[0], 0))
            samples.append(Sample(1.0, here) if here else Sample(1.0, [Thread(6, 0x1000, 0, 0)]))
            times.append(now)
        tasks = [Task(tid, 7, name="worker") for tid in (6, *bursts)]
        ext = Extended({"engine": "ptrace", "frequency": "1000"}, [Image(7, "/bin/x")], [], tasks)
        return run_of(samples), times, ext, late / used

    def test_bursts(self):
        for seed in range(12):
            with self.subTest(seed):
                run, times, ext, _ = self.sleepers(seed, lambda age, rng: rng.random() > age / 2, 0.003 * (seed % 2), (0.1, 3, 9), seed % 4 < 2)
                self.check(run, times, ext)
                ext.sources.append(raw.Source("s"))
                self.check(run, times, ext)
                updates = random.Random(-seed)  # of the sensor
                for at in sorted(updates.sample(range(len(times)), len(times) // 8), reverse=True):
                    run.samples.insert(at, Sample(1.0, []))
                    times.insert(at, times[at] - updates.randrange(5000))
                self.check(run, times, ext)

    def test_bursts_of_which_the_end_is_seldom_seen(self):
        """The end is seen half as often as the beginning: of all sightings, 0x1001 has 25 % less
        than its part."""
        errors = []
        for seed in range(40, 52):
            run, times, ext, part = self.sleepers(seed, lambda age, rng: rng.random() > age / 2)
            if len(run.samples) < 900:
                continue
            profile = self.check(run, times, ext)
            used = collections.Counter()
            for got in profile.samples:
                for entry in got.entries:
                    used[profile.locations[entry[1]].pc] += entry[2]
            errors.append(used[0x1001] / (used[0x1000] + used[0x1001]) / part - 1)
        self.assertGreater(len(errors), 4)
        self.assertLess(abs(sum(errors)) / len(errors), 0.03, errors)

    def test_gaps(self):
        """The CPU time of a gap, in which the sampler was stopped, belongs to the sighting after it
        and not to those around."""
        for waits, after in ((0, 30), (0, 200), (3, 30), (0, 0)):
            times, used, flags, now, cpu = [], [], [], 0, 0
            for i in range(12 + 1 + waits + 1 + after):
                gap = i == 12
                now += 500 * MS if gap else 5 * MS
                cpu += 500 * MS if gap else 0 if 12 < i <= 12 + waits else 5 * MS
                times.append(now)
                used.append(cpu)
                flags.append(0 if 12 <= i < 12 + waits else RAN)
            samples = [Sample(1.0, [Thread(7, 0x1000 + i, c, f)]) for i, (c, f) in enumerate(zip(used, flags))]
            ext = Extended({"engine": "ptrace", "frequency": "200"})
            ext.images.append(Image(7, "/bin/a", 0, 0, raw.NO_IMAGE, raw.START))
            ext.mappings.append(Mapping(0, 0x1000, 0x100000, "/bin/a", 0))
            ext.tasks.append(Task(7, 7, 0, "main"))
            with self.subTest(waits=waits, after=after):
                profile = self.check(run_of(samples), times, ext, cpu)
                got = [s.entries[0][2] for s in profile.samples]
                late = 12 + waits
                self.assertEqual(got[:12], [5 * MS] * 12)
                self.assertAlmostEqual(got[late], 500 * MS, delta=6 * MS)
                self.assertEqual(got[12:late], [0] * waits)
                self.assertLess(max(got[late + 1:], default=0), 6 * MS)

    def test_gaps_of_chance(self):
        """Random times and CPU times, with gaps of any length."""
        for seed in range(20):
            machine, stops = Machine(100 + seed, "ptrace"), random.Random(seed)
            for _ in range(12):
                for _ in range(stops.randrange(1, 90)):
                    machine.step()
                stop = stops.choice((30, 80, 300)) * MS
                machine.now += stop
                machine.work(2 * stop)
            run, times, ext = machine.run(20)
            ext.facts["frequency"] = stops.choice(("100", "1000", "10000"))
            ext.facts["reached"] = stops.choice(("50", "700"))
            with self.subTest(seed):
                self.check(run, times, ext, machine.used)
                ext.sources.append(raw.Source("s"))
                self.check(run, times, ext, machine.used)

    def test_perf(self):
        for seed in range(25):
            with self.subTest(seed):
                machine = Machine(seed, "perf")
                run, times, ext = machine.run(20 if seed % 2 else 300)
                self.check(run, times, ext, machine.used)
                ext.facts["frequency"] = "4000"
                self.check(run, times, ext, machine.used)
                ext.facts["frequency" if seed % 3 else "reached"] = "700"
                self.check(run, times, ext, machine.used)
                ext.facts["cpu_ns"] = str(machine.used + 10**6 + seed)
                self.check(run, times, ext, machine.used + 10**6 + seed)
                ext.facts["cpu_ns"] = str(machine.used // 2)  # of several processes, the program may not have waited for all
                alone = len({image.pid for image in ext.images}) == 1
                self.check(run, times, ext, machine.used // 2 if alone else machine.used)
                del ext.facts["cpu_ns"]
                own = machine.used_by  # some processes continue to run
                ext.cpus = [(pid, ns * (seed % 3 + 1) // 3, ns // 4) for pid, ns in own.items() if pid % 4 or seed % 2]
                self.check(run, times, ext)
                ext.facts["cpu_ns"] = str(2 * machine.used)
                whole = sum(user + system for _, user, system in ext.cpus) > 2 * machine.used
                self.check(run, times, ext, None if whole else 2 * machine.used)

    def test_few_changes(self):
        for seed in range(12):
            with self.subTest(seed):
                machine = CalmMachine(seed, "perf" if seed % 2 else "ptrace", 1 + seed // 2 % 3)
                run, times, ext = machine.run(1500)
                profile = self.check(run, times, ext, machine.used)
                ext.sources.append(raw.Source("s"))
                self.check(run, times, ext, machine.used)
                seen = [t.pc for s in run.samples for t in s.threads if not t.flags & TOTAL]
                pcs = [profile.locations[e[1]] for s in profile.samples for e in s.entries]
                self.assertEqual([p.pc for p in pcs if p.binary != "_unsampled"], seen)

    def test_waiting_gets_nothing(self):
        """A thread computes for 9 ms between waits; it is seen waiting, and now and then
        running."""
        ext = Extended({"engine": "ptrace"}, [Image(1, "/bin/x")], [], [Task(1, 1, 0, "x")])
        samples = [Sample(1, [Thread(1, 0x1000 + (i % 10 == 0), 9 * MS * (i + 1), RAN if i % 10 == 0 else 0)])
                   for i in range(1000)]
        profile = self.check(run_of(samples), [MS * i for i in range(1000)], ext, 9000 * MS)
        by_pc = {}
        for s in profile.samples:
            for _, location, cpu in s.entries:
                pc = profile.locations[location].pc
                by_pc[pc] = by_pc.get(pc, 0) + cpu
        self.assertEqual(by_pc, {0x1000: 0, 0x1001: 9000 * MS})

    def test_own_intervals(self):
        """The perf engine divides CPU time among the samples that follow it, in batches unless
        intervals are independent."""
        for facts, own in (({"engine": "perf", "frequency": "1000"}, 2), ({"engine": "perf", "frequency": "250", "interval": "random"}, 1),
                           ({"engine": "perf", "frequency": "100", "interval": "fixed"}, 2), ({"engine": "ptrace", "frequency": "1000"}, 0)):
            profile = self.convert(run_of([Sample(1, [Thread(7, 0x1000, MS, RAN)])]), [MS], Extended(facts, [Image(7, "/bin/x")], [], [Task(7, 7)]))
            self.assertEqual(profile.meta["own_intervals"], own, facts)

    def test_known_shares(self):
        """A program of phases f (30 %), g (50 %) and waiting (20 %), whose period is near that of
        the sampling, seen at random moments: shares of CPU time are 3 : 5 within 4 standard errors,
        but shares of the preceding intervals are not.
        """
        for period in (0.5, 1, 2, 3):
            rng, now, ran, samples, times = random.Random(int(10 * period)), 0.0, [], [], []
            for _ in range(20000):
                now += rng.expovariate(1)
                cycles, phase = divmod(now / period, 1)
                cpu = (cycles * 0.8 + min(phase, 0.8)) * period
                waits = phase >= 0.8
                pc = 0x3000 if waits else 0x1000 if phase < 0.3 else 0x2000
                samples.append(Sample(1, [Thread(7, pc, int(cpu * MS), 0 if waits else RAN)]))
                times.append(int(now * MS))
                ran += [] if waits else [pc]
            ext = Extended({"engine": "ptrace"}, [Image(7, "/bin/x")], [], [Task(7, 7, 0, "x")])
            profile = self.convert(run_of(samples), times, ext)
            sums = {0x1000: 0, 0x2000: 0, 0x3000: 0}
            for s in profile.samples:
                for _, location, ns in s.entries:
                    sums[profile.locations[location].pc] += ns
            share = sums[0x1000] / (sums[0x1000] + sums[0x2000])
            self.assertEqual(sums[0x3000], 0)
            self.assertEqual(sum(sums.values()), samples[-1].threads[0].cpu_ns)
            self.assertLess(abs(share - 0.375), 4 * math.sqrt(0.375 * 0.625 / len(ran)), (period, share))

    def short_threads(self, count, at_random, processes, programs=1):
        """COUNT threads in a row, each with two phases of 3 ms, are seen every 1 ms on average: in
        the first phase at random moments if AT_RANDOM, in the second at fixed intervals. As in the
        engine, 8 sightings in a row share the CPU time since the last 8."""
        rng, seen, ends, ext = random.Random(2), [], [0.0], Extended({"engine": "perf"})
        ext.images = [Image(1 + p, f"/bin/x{p % programs}") for p in range(processes)]
        for n in range(count):
            ext.tasks.append(Task(1000 + n, 1 + n % processes, int(ends[-1] * MS)))
            begin, length = ends[-1], 6 + rng.random() / 10
            phases = [(0, length / 2, 0x1000, at_random), (length / 2, length, 0x2000, False)]
            for start, end, pc, irregular in phases:
                due = start + (rng.expovariate(1) if irregular else rng.random())
                while due < end:
                    seen.append((begin + due, n, pc))
                    due += rng.expovariate(1) if irregular else 1
            ends.append(begin + length)
        totals = [int((end - begin) * MS) for begin, end in zip(ends, ends[1:])]
        samples = [(end, Sample(1, [Thread(1000 + n, 0x1000, totals[n], TOTAL)])) for n, end in enumerate(ends[1:])]
        nominal, last = [0] * count, 0
        for at in range(0, len(seen), 8):
            window = seen[at:at + 8]
            for time, n, pc in window:
                nominal[n] += int((window[-1][0] - last) * MS / len(window))
                samples.append((time, Sample(1, [Thread(1000 + n, pc, nominal[n], RAN)])))
            last = window[-1][0]
        samples.sort(key=lambda s: s[0])
        return [s[1] for s in samples], [int(s[0] * MS) for s in samples], ext, totals

    def test_many_short_threads(self):
        """Both phases get half of the CPU time, although each thread or process has few samples."""
        for at_random, processes in ((True, 1), (False, 1), (True, 400), (False, 400)):
            samples, times, ext, totals = self.short_threads(400, at_random, processes)
            profile, sums, count = self.convert(run_of(samples), times, ext), {}, 0
            for s in profile.samples:
                for _, location, ns in s.entries:
                    pc = profile.locations[location].pc
                    sums[pc], count = sums.get(pc, 0) + ns, count + 1
            self.assertEqual(sum(sums.values()), sum(totals))
            self.assertLess(abs(sums[0x1000] / sum(totals) - 0.5), 2.5 * 0.5 / math.sqrt(count),
                            (at_random, processes, sums))

    def test_some_short_threads(self):
        """Short threads of a process represent one another, and so do short processes of a program.
        Those of different programs keep their own CPU time."""
        for processes, programs in ((1, 1), (40, 1), (40, 40)):
            samples, times, ext, totals = self.short_threads(40, True, processes, programs)
            profile, own = self.check(run_of(samples), times, ext, sum(totals)), {}
            for s in profile.samples:
                for thread, _, ns in s.entries:
                    tid = profile.threads[thread].tid
                    own[tid] = own.get(tid, 0) + ns
            self.assertEqual(programs > 1, all(own.get(1000 + n) == totals[n] for n in range(40)))

    def test_short_threads_of_two_lifetimes(self):
        """Threads of 5 and 17.5 ms with the same name, sampled once a ms on average: the shorter ones
        get nothing of the longer ones that have few samples by chance."""
        rng, ext, samples = random.Random(4), Extended({"engine": "perf", "frequency": "1000"}), []
        ext.images, sums = [Image(1, "/bin/x")], {0x1000: 0, 0x2000: 0}
        for n in range(400):
            length, pc = ((5, 0x1000), (17.5, 0x2000))[n % 2]
            ext.tasks.append(Task(1000 + n, 1, n * 20 * MS))
            due, cpu = rng.expovariate(1), 0
            while due < length:
                cpu += MS
                samples.append((n * 20 + due, Sample(1, [Thread(1000 + n, pc, cpu, RAN)])))
                due += rng.expovariate(1)
            samples.append((n * 20 + length, Sample(1, [Thread(1000 + n, pc, int(length * MS), TOTAL)])))
        profile = self.check(run_of([s for _, s in samples]), [int(t * MS) for t, _ in samples], ext, 200 * int(22.5 * MS))
        for s in profile.samples:
            for _, location, ns in s.entries:
                sums[profile.locations[location].pc] += ns
        self.assertEqual(sums, {0x1000: 1000 * MS, 0x2000: 3500 * MS})

    def test_functions_of_threads_of_different_lifetimes(self):
        """Threads of 2 to 30 ms, with one function for each lifetime, seen once a ms on average, or
        never: a thread represents itself, and those that live as long."""
        rng, ext, samples = random.Random(6), Extended({"engine": "ptrace", "frequency": "1000"}), []
        ext.images, true, shown = [Image(1, "/bin/x")], {}, {}
        for n in range(600):
            length = rng.choice((2, 5, 10, 15, 20, 30))
            ext.tasks.append(Task(1000 + n, 1, n * 40 * MS))
            true[0x1000 + length] = true.get(0x1000 + length, 0) + length * MS
            due = rng.expovariate(1)
            while due < length:
                samples.append((n * 40 + due, Sample(1, [Thread(1000 + n, 0x1000 + length, int(due * MS), RAN)])))
                due += rng.expovariate(1)
            samples.append((n * 40 + length, Sample(1, [Thread(1000 + n, 0, length * MS, TOTAL)])))
        profile = self.check(run_of([s for _, s in samples]), [int(t * MS) for t, _ in samples], ext, sum(true.values()))
        for s in profile.samples:
            for _, location, ns in s.entries:
                shown[profile.locations[location].pc] = shown.get(profile.locations[location].pc, 0) + ns
        for pc, ns in true.items():
            self.assertAlmostEqual(shown[pc] / ns, 1, delta=0.12 if pc == 0x1002 else 0.02, msg=hex(pc))

    def test_time_that_the_kernel_does_not_count(self):
        """Perf events count such time, but the CPU time that the kernel counts for a single process
        is exact."""
        samples = [Sample(1, [Thread(1 + i % 3, 0x1000 + i % 3, (i // 3 + 1) * MS, RAN)]) for i in range(900)]
        samples += [Sample(1, [Thread(1 + i, 0x1000, (310 + 10 * i) * MS, TOTAL)]) for i in range(3)]  # 960 ms
        for engine, cpu_ns, pids, sums in (("perf", 800 * MS + 1, 1, [258333333, 266666667, 275000001]),
                                           ("perf", 800 * MS, 2, [310 * MS, 320 * MS, 330 * MS]),
                                           ("ptrace", 800 * MS, 1, [310 * MS, 320 * MS, 330 * MS])):
            ext = Extended({"engine": engine, "cpu_ns": str(cpu_ns)}, [Image(1 + i, "/bin/a") for i in range(pids)], [],
                           [Task(1 + i, 1) for i in range(3)])
            profile = self.convert(run_of(samples), range(903), ext)
            got = {}
            for s in profile.samples:
                for thread, _, ns in s.entries:
                    tid = profile.threads[thread].tid
                    got[tid] = got.get(tid, 0) + ns
            self.assertEqual(sum(got.values()), sum(sums))
            for i in range(3):
                self.assertAlmostEqual(got[1 + i], sums[i], delta=1, msg=(engine, pids))

    def test_short_threads_that_the_kernel_counts_late(self):
        """The kernel only counts the time that threads had used at a tick: of 200 threads of 0.25
        ms, one in 16 saw a tick. The known CPU times stay, and the rest of the run is not that of
        the first thread, which can be read until the end."""
        ext = Extended({"engine": "perf", "cpu_ns": str(100 * MS), "frequency": "1000"}, [Image(1, "/bin/a")], [],
                       [Task(1, 1)] + [Task(10 + i, 1, 10 * i) for i in range(200)], cpus=[(1, 20 * MS, 0)])
        samples, times = [], []
        for i in range(200):
            samples.append(Sample(1, [Thread(10 + i, 0x1000 + i % 2, MS // 4, RAN)]))
            samples.append(Sample(1, [Thread(10 + i, 0, MS // 4, TOTAL)]))
            times += [10 * i + 1, 10 * i + 2]
        samples += [Sample(1, [Thread(1, 0x1002, MS, RAN)])] * 20 + [Sample(1, [Thread(1, 0, 20 * MS, TOTAL)])]
        profile = self.check(run_of(samples), times + [2001 + i for i in range(21)], ext, 100 * MS)
        sums = {}
        for s in profile.samples:
            for thread, location, ns in s.entries:
                key = profile.locations[location].pc if self.where(profile, (0, location))[1] != "_unsampled" else \
                    profile.threads[thread].tid == 1
                sums[key] = sums.get(key, 0) + ns
        self.assertEqual(sums, {0x1000: 25 * MS, 0x1001: 25 * MS, 0x1002: 20 * MS, False: 30 * MS})

    def test_time_that_the_host_takes(self):
        """Perf events count what the host of a virtual machine takes. The kernel may lack a tick of each
        of four threads, but of the run, only 2 ms are left; nothing is known of the run if it is attached to."""
        for run_ms, all_ms in ((202, 202), (150, 200), (0, 200 + 4 * 4)):
            facts = {"engine": "perf"} | ({"cpu_ns": str(run_ms * MS)} if run_ms else {})
            ext = Extended(facts, [Image(1, "/bin/a"), Image(2, "/bin/b", 1)], [],
                           [Task(1, 1), Task(11, 1), Task(2, 2, 1), Task(22, 2, 1)], cpus=[(1, 90 * MS, 0), (2, 100 * MS, 10 * MS)])
            samples = [Sample(1, [Thread(tid, 0x1000 + tid, 60 * MS, flags) for tid in (1, 11, 2, 22)]) for flags in (RAN, TOTAL)]
            profile = self.check(run_of(samples), [2, 3], ext, all_ms * MS)
            self.assertEqual(sum(ns for s in profile.samples for _, _, ns in s.entries), all_ms * MS)

    def test_time_that_the_kernel_counts_for_processes(self):
        """Perf events count too much for process 1, by more than a tick; too little for the first
        process 2; and everything for the second process with that pid. The known time of process 3
        belongs to no process."""
        ext = Extended({"engine": "perf", "cpu_ns": str(1000 * MS)},
                       [Image(1, "/bin/a"), Image(2, "/bin/b", 5), Image(2, "/bin/c", 6, how=raw.EXEC), Image(2, "/bin/d", 50)], [],
                       [Task(1, 1), Task(2, 2, 5), Task(9, 2, 7), Task(2, 2, 50)],
                       cpus=[(2, 150 * MS, 51 * MS), (1, 90 * MS, 0), (2, 7 * MS, 70 * MS), (3, MS, MS)])
        samples = [Sample(1, [Thread(1, 0x1000, MS, RAN)]), Sample(1, [Thread(2, 0x1001, MS, RAN)]),
                   Sample(1, [Thread(9, 0x1002, MS, RAN)]), Sample(1, [Thread(9, 0x1002, 50 * MS, TOTAL)]),
                   Sample(1, [Thread(2, 0x1002, 50 * MS, TOTAL)]), Sample(1, [Thread(2, 0x1003, MS, RAN)]),
                   Sample(1, [Thread(2, 0x1003, 77 * MS, TOTAL)]), Sample(1, [Thread(1, 0x1003, 100 * MS, TOTAL)])]
        times = [10, 20, 30, 40, 45, 60, 70, 80]
        for cpu_ns, wanted in ((372 * MS, [94, 50, 50, 51 - 0.5, 50 + 0.5, 77, 0, 0]),
                               (412 * MS, [94, 50, 50, 63.833, 63.833, 77, 13.333, 0])):
            ext.facts["cpu_ns"] = str(cpu_ns)
            profile = self.check(run_of(samples), times, ext, cpu_ns)
            self.assertEqual([round(sum(e[2] for e in s.entries) / MS, 3) for s in profile.samples], wanted)
        for user, system in ((2**63 - 1, 1), (2**64 - 1, 2**64 - 1)):
            ext.cpus = [(1, user, system)]
            self.fails(["prof2pbin", "-q"], "<stdin>: the CPU times of its threads are too large",
                       stdin=raw.extended(run_of(samples), times, ext))

    def test_a_total_alone(self):
        """Two processes that were never seen: one runs the program of another process, one runs a
        program of its own."""
        ext = Extended({"engine": "perf"},
                       [Image(1, "/bin/x"), Image(2, "/bin/x", 5), Image(3, "/bin/alone", 6)], [],
                       [Task(1, 1, 0, "x"), Task(2, 2, 5, "x"), Task(3, 3, 6, "alone")])
        samples = [Sample(1, [Thread(1, 0x1000, MS, RAN)]), Sample(1, [Thread(1, 0x1001, 2 * MS, RAN)]),
                   Sample(1, [Thread(2, 0, 500, TOTAL)]), Sample(1, [Thread(3, 0, 77, TOTAL)]),
                   Sample(1, [Thread(1, 0x1001, 3 * MS, TOTAL)])]
        profile = self.check(run_of(samples), [10, 20, 30, 40, 50], ext, 3 * MS + 577)
        self.assertEqual([[e[2] for e in s.entries] for s in profile.samples],
                         [[1500250], [1500250], [], [77], []])
        self.assertEqual(self.where(profile, profile.samples[3].entries[0]), ("_unsampled", "_unsampled"))
        self.assertEqual(profile.programs[profile.samples[3].entries[0][0]], "/bin/alone")

    def test_missed_but_not_by_chance(self):
        """At 100 Hz, a second of a thread that was never sampled is not given to the other thread;
        half a second is."""
        for ns, unsampled, number in ((1000 * MS, [1000 * MS], 2), (500 * MS, [], 2), (1000 * MS, [], 2**30 + 1)):
            ext = Extended({"engine": "perf", "frequency": "1000", "reached": "100"}, [Image(1, "/bin/x")], [],
                           [Task(1, 1), Task(number, 1)])
            samples = [Sample(1, [Thread(1, 0x1000, MS, RAN)]), Sample(1, [Thread(number, 0, ns, TOTAL)]),
                       Sample(1, [Thread(1, 0x1001, MS, TOTAL)])]
            profile = self.check(run_of(samples), [10, 20, 30], ext, ns + MS)
            self.assertEqual([e[2] for e in profile.samples[1].entries], unsampled)
            done = tool.run(["prof2pbin"], stdin=raw.extended(run_of(samples), [10, 20, 30], ext))
            warned = "1 thread used 1 s of CPU time and was never sampled" in done.err
            self.assertEqual(warned, bool(unsampled), done.err)

    def test_threads_that_were_never_seen_have_the_name_of_others(self):
        """Their total has the name of the process, as its first thread does; the short threads that
        were seen have another name."""
        ext = Extended({"engine": "ptrace"}, [Image(1, "/bin/x")], [],
                       [Task(1, 1, 0, "x"), *[Task(10 + i, 1, 0, "worker") for i in range(4)], Task(2**30 + 1, 1, 0, "x")])
        samples = [Sample(1, [Thread(1, 0x1000, (i + 1) * MS, RAN)]) for i in range(20)]
        samples += [Sample(1, [Thread(10 + i, 0x1001, MS, RAN)]) for i in range(4)]
        samples += [Sample(1, [Thread(2**30 + 1, 0, 100 * MS, TOTAL)])]
        profile, sums = self.check(run_of(samples), [10 * i for i in range(25)], ext, 124 * MS), {}
        for s in profile.samples:
            for _, location, ns in s.entries:
                sums[profile.locations[location].pc] = sums.get(profile.locations[location].pc, 0) + ns
        self.assertEqual(sums, {0x1000: 20 * MS, 0x1001: 104 * MS})

    def test_ages_that_are_seen_too_rarely(self):
        """Threads use 1 ms of CPU time, the first 0.7 ms in one function. The first 0.2 ms are
        never seen, and the rest up to 0.7 ms half as often as the time after that. For every thread
        that is seen, nine others are not, and have totals of their own or a common one; or threads
        are seen twelve times each, and keep their CPU time."""
        ages = [(i * 37 % 100) * MS // 100 for i in range(600)]
        ages = [age for i, age in enumerate(ages) if age >= 7 * MS // 10 or (age >= 2 * MS // 10 and (i + i // 100) % 2)]
        for others, each in (("missed", 1), ("collective", 1), ("none", 12)):
            ext = Extended({"engine": "ptrace"}, [Image(1, "/bin/x")], [], [Task(1, 1, 0, "x")])
            samples, times = [Sample(1, [Thread(1, 0x1002, MS, RAN)])], [0]
            threads = [sorted(ages[i:i + each]) for i in range(0, len(ages), each)]
            for i, own in enumerate(threads):
                ext.tasks.append(Task(10 + i, 1, 100 * i, "worker"))
                samples += [Sample(1, [Thread(10 + i, 0x1000 if age < 7 * MS // 10 else 0x1001, age, RAN)]) for age in own]
                samples.append(Sample(1, [Thread(10 + i, 0, MS, TOTAL)]))
                for k in range(9) if others == "missed" else ():
                    ext.tasks.append(Task(10000 * (k + 1) + i, 1, 100 * i, "worker"))
                    samples.append(Sample(1, [Thread(10000 * (k + 1) + i, 0, MS, TOTAL)]))
                times += [100 * i + k + 1 for k in range(len(samples) - len(times))]
            if others == "collective":
                ext.tasks.append(Task(2**30 + 1, 1, 0, "x"))
                samples.append(Sample(1, [Thread(2**30 + 1, 0, 9 * len(threads) * MS, TOTAL)]))
                times.append(100 * len(threads))
            whole, sums = len(threads) * MS * (1 if others == "none" else 10), collections.Counter()
            profile = self.check(run_of(samples), times, ext, whole + MS)
            for sample in profile.samples:
                for _, location, ns in sample.entries:
                    sums[profile.locations[location].pc] += ns
            with self.subTest(others):
                self.assertGreater(sum(age >= 7 * MS // 10 for age in ages) / len(ages), 0.5)  # by number
                self.assertAlmostEqual(sums[0x1001] / whole, 0.3, delta=0.03)

    def test_threads_keep_their_time_by_age(self):
        """Threads of 1 to 4 ms, each of which is seen twice, near its beginning and end."""
        ext = Extended({"engine": "ptrace"}, [Image(1, "/bin/x")], [], [])
        samples, times = [], []
        for i in range(100):
            ext.tasks.append(Task(10 + i, 1, 10 * i, "worker"))
            life = MS * (1 + i % 4)
            samples += [Sample(1, [Thread(10 + i, pc, age, flags)])
                        for pc, age, flags in ((0x1000, 1000 + i, RAN), (0x1001, life - 1000 - i, RAN), (0, life, TOTAL))]
            times += [10 * i + k for k in range(3)]
        profile, sums = self.check(run_of(samples), times, ext, 250 * MS), collections.Counter()
        for number, sample in enumerate(profile.samples):
            for entry in sample.entries:
                sums[number // 3] += entry[2]
        self.assertEqual([sums[i] for i in range(100)], [MS * (1 + i % 4) for i in range(100)])

    def test_processes_of_a_program_that_began_in_the_same_way(self):
        """A third of the short processes that are forked is seen, and all of those that call exec.
        Both kinds get their own time. If no forked process is seen, the others stand for them."""
        for seen in (3, 1000):
            ext = Extended({"engine": "ptrace", "tick_ns": str(4 * MS)}, [Image(1, "/bin/a")], [], [Task(1, 1)])
            samples, times = [Sample(1, [Thread(1, 0x1000, 10 * MS, RAN)])], [1]
            for i in range(60):
                pid, at = 10 + i, 10 * (i + 1)
                ext.images.append(Image(pid, "/bin/a", at, 1, 0, raw.FORK))
                if i % 2:
                    ext.images.append(Image(pid, "/bin/a", at + 1, 1, how=raw.EXEC))
                ext.tasks.append(Task(pid, pid, at))
                for k in range(3):
                    if i % 2 or (i // 2 + 1) % seen == 0:
                        samples.append(Sample(1, [Thread(pid, 0x2000 + i % 2, (k + 1) * MS, RAN)]))
                        times.append(at + 2 + k)
                samples.append(Sample(1, [Thread(pid, 0x2000 + i % 2, 3 * MS, TOTAL)]))
                times.append(at + 6)
            profile, sums = self.convert(run_of(samples), times, ext), collections.Counter()
            for _, location, ns in (e for s in profile.samples for e in s.entries):
                sums[profile.locations[location].pc] += ns
            both = {0x2000: 90 * MS, 0x2001: 90 * MS} if seen == 3 else {0x2001: 180 * MS}
            self.assertEqual({pc: ns for pc, ns in sums.items() if ns}, {0x1000: 10 * MS, **both})

    def test_too_much_time(self):
        ext = Extended({"engine": "ptrace"}, [Image(1, "/bin/x")], [], [Task(1, 1), Task(2, 1)])
        samples = [Sample(1, [Thread(1, 0x1000, 2**63 - 1, RAN), Thread(2, 0x1000, 2**63 - 1, RAN)])]
        self.fails(["prof2pbin", "-q"], "<stdin>", stdin=raw.extended(run_of(samples), [1], ext))

    def test_without_flags_all_ran(self):
        """As in files of earlier samplers, CPU time is charged where the thread is seen."""
        ext = Extended({}, [Image(1, "/bin/x")], [], [Task(1, 1, 0, "x")])
        samples = [Sample(1, [Thread(1, 0x1000 + i, 10 * (i + 1) ** 2)]) for i in range(5)]
        profile = self.convert(None, None, None, data=raw.extended(run_of(samples), range(5), ext, flags=False))
        self.assertEqual([s.entries[0][2] for s in profile.samples], [10, 30, 50, 70, 90])


class Resolution(Case):
    def one(self, ext, pcs, **more):
        """PCS: (time, tid, pc). Returns (binary, function) of each."""
        samples = [Sample(1, [Thread(tid, pc, i + 1, RAN)]) for i, (_, tid, pc) in enumerate(pcs)]
        profile = self.convert(run_of(samples), [t for t, _, _ in pcs], ext, **more)
        return [self.where(profile, s.entries[0]) for s in profile.samples], profile

    def test_same_addresses_of_two_processes(self):
        ext = Extended({}, [Image(1, "/bin/a"), Image(2, "/bin/b")],
                       [Mapping(0, 0x1000, 0x1000, "/bin/a"), Mapping(1, 0x1000, 0x1000, "/bin/b")],
                       [Task(1, 1), Task(2, 2), Task(3, 2)])
        got, profile = self.one(ext, [(1, 1, 0x1800), (2, 2, 0x1800), (3, 3, 0x1800), (4, 1, 0x2000)])
        self.assertEqual([b for b, _ in got], ["a", "b", "b", "_foreign"])
        self.assertEqual(len({e[1] for s in profile.samples for e in s.entries}), 3)
        self.assertEqual([profile.programs[s.entries[0][0]] for s in profile.samples],
                         ["/bin/a", "/bin/b", "/bin/b", "/bin/a"])

    def test_time(self):
        """A library is mapped, another one covers part of it, then the process executes another
        program."""
        ext = Extended({}, [Image(1, "/bin/a"), Image(1, "/bin/b", 100, 0, raw.NO_IMAGE, raw.EXEC)],
                       [Mapping(0, 0x1000, 0x1000, "/bin/a"), Mapping(0, 0x8000, 0x4000, "/lib/x", 20),
                        Mapping(0, 0x9000, 0x1000, "/lib/y", 40), Mapping(1, 0x1000, 0x1000, "/bin/b", 100)],
                       [Task(1, 1)])
        got, _ = self.one(ext, [(19, 1, 0x9800), (20, 1, 0x9800), (39, 1, 0x8000), (40, 1, 0x9800), (41, 1, 0x8fff),
                                (42, 1, 0xa000), (43, 1, 0xbfff), (44, 1, 0xc000), (99, 1, 0x1000), (100, 1, 0x1000),
                                (101, 1, 0x9800)])
        self.assertEqual([b for b, _ in got], ["_foreign", "x", "x", "y", "x", "x", "x", "_foreign", "a", "b",
                                               "_foreign"])

    def test_mappings_that_are_noticed_late(self):
        """The ptrace engine searches for mappings from time to time; a mapping that it finds more
        than a second later was not there."""
        second = 1000 * MS
        ext = Extended({"engine": "ptrace"}, [Image(1, "/bin/a")],
                       [Mapping(0, 0x8000, 0x1000, "/lib/x", 2 * second), Mapping(0, 0x9000, 0x1000, "/lib/y", 2 * second),
                        Mapping(0, 0x8000, 0x1000, "/lib/z", 3 * second), Mapping(0, 0xa000, 0x1000, "/lib/z", 3 * second)],
                       [Task(1, 1)])
        got, _ = self.one(ext, [(second - 1, 1, 0x8800), (second, 1, 0x8800), (second, 1, 0x9800), (second, 1, 0xa000),
                                (2 * second, 1, 0x8800), (2 * second, 1, 0xa000), (3 * second, 1, 0x8800)])
        self.assertEqual([b for b, _ in got], ["_foreign", "x", "y", "_foreign", "x", "z", "z"])

    def test_fork(self):
        """The child has the mappings that its parent had at the fork, no later ones; its own
        mappings are private."""
        ext = Extended({}, [Image(1, "/bin/a"), Image(2, "/bin/a", 50, 1, 0, raw.FORK)],
                       [Mapping(0, 0x1000, 0x1000, "/bin/a"), Mapping(0, 0x8000, 0x1000, "/lib/late", 60),
                        Mapping(1, 0x1800, 0x100, "/lib/own", 70)], [Task(1, 1), Task(2, 2, 50)])
        got, _ = self.one(ext, [(61, 1, 0x8000), (62, 2, 0x8000), (63, 2, 0x1800), (71, 2, 0x1800), (72, 1, 0x1800),
                                (73, 2, 0x1900)])
        self.assertEqual([b for b, _ in got], ["late", "_foreign", "a", "own", "a", "a"])

    def test_reused_pid(self):
        ext = Extended({}, [Image(1, "/bin/a"), Image(1, "/bin/b", 50)],
                       [Mapping(0, 0x1000, 0x1000, "/bin/a"), Mapping(1, 0x1000, 0x1000, "/bin/b", 50)],
                       [Task(1, 1, 0, "a"), Task(1, 1, 50, "b")])
        got, profile = self.one(ext, [(1, 1, 0x1000), (49, 1, 0x1000), (50, 1, 0x1000)])
        self.assertEqual([b for b, _ in got], ["a", "a", "b"])
        self.assertEqual([profile.threads[s.entries[0][0]].name for s in profile.samples], ["a", "a", "b"])

    def test_random_mappings(self):
        """Compared with a list that is searched from its end."""
        for seed in range(8):
            rng = random.Random(seed)
            ext, asked, expected = Extended(tasks=[Task(1, 1)]), [], []
            for image in range(6):
                ext.images.append(Image(image + 1, f"/bin/{image}", rng.randrange(100) if image else 0,
                                        0, raw.NO_IMAGE, raw.START))
                if image and rng.random() < 0.7:
                    parent = rng.randrange(image)
                    ext.images[image].parent, ext.images[image].how = parent, raw.FORK
                    ext.images[image].start = ext.images[parent].start + rng.randrange(100)
                ext.tasks.append(Task(image + 1, image + 1))
            for number in range(200):
                image, begin = rng.randrange(6), rng.randrange(4000)
                size = rng.choice([1, 10, 100, 1000, 2**64 - begin])
                since = ext.images[image].start + rng.randrange(200)
                ext.mappings.append(Mapping(image, begin, size, f"/lib/{number}", since))
            for time in sorted(rng.randrange(100, 500) for _ in range(2000)):
                tid, pc = rng.randrange(6) + 1, rng.choice([rng.randrange(5000), 2**64 - 1])
                if time < ext.images[tid - 1].start:
                    continue
                asked.append((time, tid, pc))
                expected.append(self.search(ext, tid - 1, time, pc))
            got, _ = self.one(ext, asked)
            self.assertEqual([b for b, _ in got], expected, seed)

    def search(self, ext, image, time, pc):
        """Name of the mapping: of the image, else of its parent at the fork."""
        while True:
            own = [m for m in ext.mappings if m.image == image and m.since <= time]
            for m in sorted(own, key=lambda m: m.since)[::-1]:
                if m.address <= pc < m.address + m.size:
                    # equal times: the later one in the file, because sorting is stable
                    return os.path.basename(m.path)
            if ext.images[image].parent == raw.NO_IMAGE:
                return "_kernel" if pc >= 0xffff800000000000 else "_foreign"
            time, image = min(time, ext.images[image].start), ext.images[image].parent

    def test_names_of_mappings_without_a_file(self):
        kinds = [("//anon", raw.ANONYMOUS, "[anon]"), ("[heap]", raw.HEAP, "[heap]"), ("[stack]", raw.STACK, "[stack]"),
                 ("[vsyscall]", raw.VSYSCALL, "[vsyscall]"), ("/memfd:jit code (deleted)", raw.FILE, "[memfd:jit code]"),
                 ("", raw.JIT, "[jit]"), ("", raw.ANONYMOUS, "[anon]"), ("[anon:js]", raw.ANONYMOUS, "[anon:js]"),
                 ("[vdso]", raw.VDSO, "[vdso]"), ("/lib/a\tb\nc", raw.FILE, "a\tb\nc")]
        ext = Extended({}, [Image(1, "/bin/a")], [Mapping(0, 0x1000 * (i + 1), 0x1000, path, 0, 0, 0, kind)
                                                  for i, (path, kind, _) in enumerate(kinds)], [Task(1, 1)])
        got, _ = self.one(ext, [(i, 1, 0x1000 * (i + 1)) for i in range(len(kinds))])
        self.assertEqual(got, [(name, "_unknown") for _, _, name in kinds])

    def test_every_byte_of_a_path(self):
        for byte in range(1, 256):
            if byte in b"/":
                continue
            path = b"/bin/x" + bytes([byte]) + b"y"
            run = run_of([Sample(1, [Thread(1, 0x1000, 1, RAN)])])
            ext = Extended({}, [Image(1, path)], [Mapping(0, 0x1000, 0x1000, path)], [Task(1, 1, 0, path[5:])])
            data = raw.extended(run, [1], ext)
            label = struct.pack("<QQ256s", 0x1000, 0x1000, path)
            profile = self.convert(None, None, None, data=data[:32] + label + data[32 + 272:])
            self.assertEqual(pbin.raw(self.where(profile, profile.samples[0].entries[0])[0]), path[5:])
            self.assertEqual(pbin.raw(profile.programs[0]), path)

    def test_kernel_and_caller(self):
        ext = Extended({}, [Image(1, "/bin/a")], [Mapping(0, 0x1000, 0x1000, "/bin/a"),
                                                 Mapping(0, 0x2000, 0x1000, "/lib/b")], [Task(1, 1)])
        threads = [Thread(1, KERNEL, 1, RAN | CALLER, 0x1000), Thread(1, KERNEL, 2, RAN | CALLER, 0x2000),
                   Thread(1, KERNEL, 3, RAN), Thread(1, 0x1000, 4, RAN), Thread(1, KERNEL, 5, RAN | CALLER, 0x1000)]
        profile = self.convert(run_of([Sample(1, [t]) for t in threads]), range(5), ext)
        at = [s.entries[0][1] for s in profile.samples]
        self.assertEqual([self.where(profile, s.entries[0])[1] for s in profile.samples],
                         ["_kernel", "_kernel", "_kernel", "_unknown", "_kernel"])
        self.assertEqual(at[4], at[0])
        self.assertEqual(len(set(at)), 4)
        self.assertEqual(profile.callers.get(at[0]), at[3])
        self.assertEqual(profile.locations[profile.callers[at[1]]].pc, 0x2000)
        self.assertNotIn(at[2], profile.callers)

    def test_jit_text(self):
        text = b"1000 100 LazyCompile:~f a.js:1\n0x1080 0x10 later\nnonsense\n2000 0 empty\n3000 10 cut"
        ext = Extended({}, [Image(1, "/bin/node"), Image(2, "/bin/node", 10, 1, 0, raw.FORK)],
                       [Mapping(0, 0x1000, 0x4000, "//anon", 0, 0, 0, raw.ANONYMOUS), Mapping(0, 0x1010, 1, "/bin/node")],
                       [Task(1, 1), Task(2, 2, 10)], jits=[(0, raw.JIT_TEXT, text[:40]), (0, raw.JIT_TEXT, text[40:])])
        asked = [0x1000, 0x10ff, 0x1085, 0x1010, 0x1100, 0x300f, 0x9000]
        wanted = [("[jit]", "LazyCompile:~f a.js:1")] * 2 + [("[jit]", "later"), ("node", "_unknown"),
                                                            ("[anon]", "_unknown"), ("[jit]", "cut"),
                                                            ("_foreign", "_foreign")]
        got, _ = self.one(ext, [(20 + i, 1 + i // 7, pc) for i, pc in enumerate(asked + asked)])
        self.assertEqual(got, wanted + wanted)

    def test_jit_dump(self):
        def record(order, kind, payload):
            return struct.pack(order + "IIQ", kind, 16 + len(payload), 0) + payload
        for order in "<>":
            dump = struct.pack(order + "IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, 1, 0, 0)
            dump += record(order, 0, struct.pack(order + "IIQQQQ", 1, 1, 0, 0x1000, 16, 5) + b"f()\0" + bytes(16))
            dump += record(order, 2, b"debug information")
            dump += record(order, 0, struct.pack(order + "IIQQQQ", 1, 1, 0, 0x1010, 16, 6) + b"g\0" + bytes(16))
            dump += record(order, 1, struct.pack(order + "IIQQQQQ", 1, 1, 0, 0x1000, 0x2000, 16, 5))
            for size in (*range(0, len(dump), 7), len(dump)):
                ext = Extended({}, [Image(1, "/bin/java")],
                               [Mapping(0, 0x1000, 0x4000, "", 0, 0, 0, raw.JIT)], [Task(1, 1)],
                               jits=[(0, raw.JIT_DUMP, dump[:size])])
                got, _ = self.one(ext, [(1, 1, 0x1000), (2, 1, 0x101f), (3, 1, 0x2000)])
            self.assertEqual(got, [("[jit]", "f()"), ("[jit]", "g"), ("[jit]", "f()")])

    def test_a_real_program_in_two_processes(self):
        path = program.build(self.folder, "two", functions=3, flags=["-pie", "-fPIE"])
        one, two = program.Program(path, 0x555500000000), program.Program(path, 0x7f0000000000)
        ext = Extended({}, [Image(1, path), Image(2, path)],
                       [Mapping(i, p.map.address, p.map.size, path, 0, p.map.offset, 0, raw.FILE, p.map.build_id)
                        for i, p in enumerate((one, two))], [Task(1, 1), Task(2, 2)])
        asked, wanted = [], []
        for tid, p in ((1, one), (2, two)):
            for name, (address, _) in sorted(p.functions.items()):
                asked.append((len(asked), tid, address))
                wanted.append(("two", name))
        got, profile = self.one(ext, asked)
        self.assertEqual(got, wanted)
        self.assertEqual(profile.meta["target"], "two")


class Facts(Case):
    def test_target_is_who_used_most(self):
        ext = Extended({"engine": "ptrace", "target": "/bin/wrong"}, [Image(1, "/usr/bin/env"),
                                   Image(1, "/bin/sh", 10, 0, raw.NO_IMAGE, raw.EXEC),
                                   Image(2, "/opt/one", 20, 1, 1, raw.FORK), Image(3, "/opt/one", 20, 1, 1, raw.FORK)],
                       [], [Task(1, 1), Task(2, 2, 20), Task(3, 3, 20)])
        samples = [Sample(1, [Thread(1, 1, 30, RAN)]), Sample(1, [Thread(1, 1, 50, RAN), Thread(2, 1, 20, RAN),
                                                                  Thread(3, 1, 20, RAN)])]
        self.assertEqual(self.convert(run_of(samples), [5, 30], ext).meta["target"], "one")

    def test_first_interval(self):
        ext = Extended({}, [Image(1, "/bin/a")], [], [Task(1, 1)])
        samples = [Sample(2.0, [Thread(1, 1, 5, RAN)]) for _ in range(3)]
        profile = self.convert(run_of(samples), [1000, 1500, 4000], ext)
        self.assertEqual([s.interval_ns for s in profile.samples], [1000, 500, 2500])

    def test_sources_and_readings(self):
        sources = [raw.Source("rapl:package-0", "energy", "J", "package", 1e-6, MS, 1, "package"),
                   raw.Source("file:x", "power", "W", "board", 1.0, 0, 0, "")]
        readings = [raw.Reading(i % 2, 1000 * i, i * 7 if i % 2 == 0 else bits(i / 3), 11 * i) for i in range(5000)]
        ext = Extended({}, [Image(1, "/bin/a")], [], [Task(1, 1)], sources=sources, readings=readings)
        samples = [Sample(2.0, [Thread(1, 1, 5 + i, RAN)]) for i in range(6000)]
        run, times = run_of(samples), [700 * i for i in range(6000)]
        profile = self.convert(run, times, ext)
        self.assertEqual(profile.sources, [("rapl:package-0", "energy", "J", "package", 1e-6, MS, 1, "package"),
                                           ("file:x", "power", "W", "board", 1.0, 0, 0, "")])
        self.assertEqual(profile.readings, [(r.source, r.time, r.value, r.busy) for r in readings])
        at, machine = 0, 0
        for count, cpu_ns in profile.busy:  # a straight line from the first reading with this count
            at += count
            machine += cpu_ns
            self.assertAlmostEqual(machine, max(0, times[at - 1] * 11 / 1000 - 11), delta=1)
        self.assertEqual(at, 6000)

    def test_machine_without_ticks(self):
        """The kernel counts in ticks, and does not update the count for each reading: straight
        lines between readings that differ."""
        sources = [raw.Source("s", "energy", "J", "package", 1e-6, MS, 1, "")]
        readings = [raw.Reading(0, MS * i, i, 5 * MS + i // 10 * 20 * MS) for i in range(101)]
        ext = Extended({}, [Image(1, "/bin/a")], [], [Task(1, 1)], sources=sources, readings=readings)
        run, times = run_of([Sample(2.0, [Thread(1, 1, 5 + i, RAN)]) for i in range(1000)]), [MS * (i + 1) // 10 for i in range(1000)]
        profile = self.convert(run, times, ext)
        self.assertEqual(sum(n for n, _ in profile.busy), 1000)
        self.assertEqual(sum(cpu for _, cpu in profile.busy), 200 * MS)
        for count, cpu in profile.busy:
            self.assertAlmostEqual(cpu, count * MS / 5, delta=1)
        for r in readings:
            r.busy = 0
        self.assertEqual(self.convert(run, times, ext).busy, [])

    def test_tools_of_today_read_it(self):
        run, times, ext = Machine(1, "ptrace").run(100)
        data = self.succeeds(["prof2pbin", "-q"], stdin=raw.extended(run, times, ext)).out
        for argv in (["pbin-aggregate", "-q"], ["pbin-dump"], ["pbin-dump", "--samples"]):
            self.succeeds(argv, stdin=data)


class KernelShare(Case):
    """A thread that enters the kernel soon after it was interrupted is seen in the kernel: the
    ticks show how much time is really spent there."""

    TICK = 4 * MS

    def record(self, phases, threads=1, ticks=True, seed=1, facts=None):
        """PHASES: (samples, share of the kernel, share of sightings there). In phase i, user code
        is at 0x1000 * (i + 1). The ticks have the share of the kernel, at moments of their own.
        Returns the sightings, their times and the extension."""
        rng = random.Random(seed)
        ext = Extended({"engine": "ptrace", "tick_ns": str(self.TICK), **(facts or {})}, [Image(1, "/bin/a")],
                       [Mapping(0, 0x1000, 0x8000, "/bin/a")], [Task(1 + i, 1) for i in range(threads)])
        samples, times, user, system = [], [], 0, 0
        for phase, (count, true, seen) in enumerate(phases):
            for _ in range(count):
                here = [Thread(1 + i, KERNEL, (len(samples) + 1) * MS, RAN | CALLER, 0x8ff0) if rng.random() < seen else
                        Thread(1 + i, 0x1000 * (phase + 1) + i, (len(samples) + 1) * MS, RAN) for i in range(threads)]
                for _ in range(threads):
                    if rng.random() < MS / self.TICK:
                        system, user = (system + 1, user) if rng.random() < true else (system, user + 1)
                samples.append(Sample(1, here))
                times.append(len(samples) * MS)
                if len(samples) % 100 == 0 and ticks:
                    ext.ticks.append((1, times[-1], user * self.TICK, (system + 1) * self.TICK, self.TICK))
                    user = system = 0
        return samples, times, ext

    def simulate(self, phases, threads=1, ticks=True, seed=1):
        """Returns the profile and its sightings."""
        samples, times, ext = self.record(phases, threads, ticks, seed)
        profile = self.convert(run_of(samples), times, ext)
        cpu = sum(e[2] for s in profile.samples for e in s.entries)
        self.assertEqual(cpu, len(samples) * threads * MS)
        return profile, samples

    def pcs(self, profile, begin=0, end=None):
        return [profile.locations[e[1]].pc for s in profile.samples[begin:end] for e in s.entries]

    def kernel(self, *place):
        pcs = self.pcs(*place)
        return sum(pc >= KERNEL_HALF for pc in pcs) / len(pcs)

    def test_too_many_go(self):
        for threads, true, seen in ((1, 0.2, 0.97), (3, 0.05, 0.3), (1, 0.7, 1.0)):
            profile, _ = self.simulate([(6000, true, seen)], threads)
            error = 4 * (true * (1 - true) * 4 / (6000 * threads)) ** 0.5
            self.assertAlmostEqual(self.kernel(profile), true, delta=error, msg=(threads, true, seen))

    def test_user_code_of_the_thread_gets_them(self):
        profile, samples = self.simulate([(3000, 0.2, 0.9), (3000, 0.2, 0.9)], 2)
        before, after = 0, 0
        for s, raw_sample in zip(profile.samples, samples):
            for e, t in zip(s.entries, raw_sample.threads):
                pc = profile.locations[e[1]].pc
                self.assertTrue(pc == KERNEL or pc & 1 == t.tid - 1)
                self.assertTrue(pc == t.pc or t.flags & CALLER)
        for pc in self.pcs(profile, 0, 3000):
            before += pc >> 12 == 1
        for pc in self.pcs(profile, 3400):
            after += pc >> 12 == 2
        self.assertGreater(before, 0.75 * 6000)
        self.assertGreater(after, 0.75 * 5200)

    def test_short_phases_keep_their_user_code(self):
        """A library runs for 0.1 s, then another one in its place for 0.3 s; both are noticed after
        they have begun."""
        samples, times, ext = self.record([(400, 0.1, 0.9)])
        ext.mappings[:] = [Mapping(0, 0x1000, 0x8000, "/lib/old", 20 * MS), Mapping(0, 0x1000, 0x8000, "/lib/new", 110 * MS)]
        profile = self.convert(run_of(samples), times, ext)
        shares = collections.Counter(self.where(profile, e)[0] for s in profile.samples for e in s.entries)
        self.assertEqual(set(shares), {"old", "new", "_kernel"})
        self.assertAlmostEqual(shares["old"], 0.9 * 110, delta=25)

    def test_page_faults_stay_with_their_code(self):
        """Excess page faults become user code at the same place."""
        samples, times, ext = self.record([(2000, 0.2, 0.9)])
        for s in samples:
            for t in s.threads:
                t.flags |= FAULT if t.flags & CALLER else 0
        pcs = collections.Counter(self.pcs(self.convert(run_of(samples), times, ext)))
        self.assertEqual(set(pcs), {KERNEL, 0x1000, 0x8ff0})
        self.assertAlmostEqual(pcs[0x8ff0], 0.7 * 2000, delta=150)

    def test_phases_that_are_rarely_seen_keep_their_user_code(self):
        """Every other phase of 0.1 s is mostly seen in the kernel, because it often calls the
        kernel."""
        profile, _ = self.simulate([(100, 0.1, 0.9), (100, 0.1, 0.1)] * 3)
        for i in range(6):
            here = [pc >> 12 for pc in self.pcs(profile, 100 * i, 100 * (i + 1)) if pc != KERNEL]
            self.assertGreater(here.count(i + 1), 0.6 * len(here), i)

    def test_phases_keep_their_kernel_time(self):
        """Sightings in the kernel are equally frequent all the time, but only those in every other
        second are true."""
        phases = [(1000, 0.97, 0.98), (1000, 0.1, 0.98)] * 4
        profile, _ = self.simulate(phases)
        self.assertAlmostEqual(self.kernel(profile), 0.535, delta=0.05)
        for i, (_, true, _) in enumerate(phases):
            self.assertAlmostEqual(self.kernel(profile, 1000 * i, 1000 * (i + 1)), true, delta=0.2)

    def test_only_user_code_is_the_caller(self):
        profile, _ = self.simulate([(2000, 0.5, 1.0)])
        self.assertEqual(set(self.pcs(profile)), {KERNEL, 0x8ff0})
        self.assertAlmostEqual(self.kernel(profile), 0.5, delta=0.1)

    def test_true_ones_stay(self):
        """The ticks agree with the sightings, there are no ticks, or too few for a decision."""
        for phases, ticks, seed in (([(3000, 0.6, 0.6)], True, 1), ([(3000, 0.6, 0.6)], True, 2), ([(3000, 0.9, 0.3)], True, 3),
                                    ([(3000, 0.1, 0.9)], False, 4), ([(100, 0.0, 0.05)], True, 5), ([(90, 0.1, 0.9)], True, 6)):
            profile, samples = self.simulate(phases, 1, ticks, seed=seed)
            self.assertEqual(self.pcs(profile), [t.pc for s in samples for t in s.threads], (phases, seed))

    def test_page_faults(self):
        """Page faults are seen in user code if the sampler had the CPU. Timers can signal in each
        tick: without page faults, ticks show nothing."""
        for true, seen, faults, found in ((0.3, 0.1, 100000, 0.3), (0.3, 0.1, 10000, 0.3), (0.3, 0.1, 10, 0.1), (0.3, 0.1, 0, 0.1),
                                          (0.13, 0.1, 1000, 0.1), (0.3, 0.9, 100000, 0.3)):
            samples, times, ext = self.record([(6000, true, seen)], facts={"page_faults": str(faults)} if faults else {})
            profile = self.convert(run_of(samples), times, ext)
            self.assertAlmostEqual(self.kernel(profile), found, delta=0.04, msg=(true, seen, faults))

    def test_places_of_page_faults(self):
        """Page faults in one function are 40 % of the CPU time. They are seen only in threads on
        other CPUs, and too often there. The code has a different address in each process."""
        rng, n = random.Random(1), 12000
        ext = Extended({"engine": "ptrace", "tick_ns": str(self.TICK), "page_faults": "100000"})
        samples, times, ticks = [], [], [0, 0]
        for i in range(n):
            process, at = divmod(i, 200)
            pid, base = 10 + process, 0x100000 + 0x1000 * process
            if at == 0:
                ext.images.append(Image(pid, "/bin/a", i * MS))
                ext.mappings.append(Mapping(process, base, 0x1000, "/bin/a", i * MS))
                ext.tasks.append(Task(pid, pid, i * MS))
            same, where = rng.random() < 0.7, rng.random()
            # the faulting instruction; its function; one 4 us before it; another function
            pc = base + (0x10 if where < 0.4 else 0x14 if where < 0.5 else 0x84 if where < 0.6 else 0x200 + 8 * rng.randrange(9))
            if not same and where < 0.6:
                samples.append(Sample(1, [Thread(pid, KERNEL, (at + 1) * MS, RAN | CALLER, base + 0x10)]))
            else:
                samples.append(Sample(1, [Thread(pid, pc, (at + 1) * MS, RAN | (SAME_CPU if same else 0))]))
            times.append((i + 1) * MS)
            if rng.random() < MS / self.TICK:
                ticks[rng.random() < 0.4] += self.TICK
            if at % 100 == 99:
                ext.ticks.append((pid, times[-1], *ticks, 0))
                ticks = [0, 0]
        profile = self.convert(run_of(samples), times, ext)
        self.assertAlmostEqual(self.kernel(profile), 0.4, delta=0.04)
        user = [pc & 0xfff for pc in self.pcs(profile) if pc < KERNEL_HALF]
        self.assertAlmostEqual(sum(pc >= 0x200 for pc in user) / len(user), 2 / 3, delta=0.1)

    def ticked(self, ext, rng, n, part, look):
        """Converts N samples, 1 ms apart, of the thread that LOOK returns for its CPU time; PART of
        the ticks is in the kernel. Returns the profile and the samples."""
        samples, times, ticks = [], [], [0, 0]
        for i in range(n):
            samples.append(Sample(1, [look((i + 1) * MS)]))
            times.append((i + 1) * MS)
            if rng.random() < MS / self.TICK:
                ticks[rng.random() < part] += self.TICK
            if i % 100 == 99:
                ext.ticks.append((1, times[-1], *ticks, 0))
                ticks = [0, 0]
        return self.convert(run_of(samples), times, ext), samples

    def test_sightings_count_by_cpu_time(self):
        """A thread that is mostly in the kernel is seen four times as often per CPU time as one that
        computes: half of the sightings, but a fifth of the CPU time, is in the kernel, and a fifth
        of the ticks. That is right. If a half of the ticks is, a half of the time must be."""
        for system, part in ((10, 0.2), (25, 0.5)):
            ext = Extended({"engine": "ptrace", "tick_ns": str(self.TICK), "page_faults": "10000000"}, [Image(1, "/bin/a")],
                           [Mapping(0, 0x1000, 0x8000, "/bin/a")], [Task(1, 1), Task(2, 1)])
            samples, times, sums = [], [], {True: 0, False: 0}
            for i in range(4000):
                samples.append(Sample(1, [Thread(1, KERNEL, (i + 1) * MS, RAN | CALLER, 0x8ff0), Thread(2, 0x2000, 4 * (i + 1) * MS, RAN)]))
                times.append((i + 1) * MS)
                if i % 40 == 39:  # 200 ms, 50 ticks
                    ext.ticks.append((1, times[-1], (50 - system) * self.TICK, system * self.TICK, 0))
            profile = self.convert(run_of(samples), times, ext)
            for s in profile.samples:
                for _, location, ns in s.entries:
                    sums[profile.locations[location].pc >= KERNEL_HALF] += ns
            self.assertEqual(sum(sums.values()), 20000 * MS)
            self.assertAlmostEqual(sums[True] / sum(sums.values()), part, delta=0.002)

    def test_a_process_that_executes_many_programs(self):
        """The table of programs grows while sightings are counted."""
        n = 300
        ext = Extended({"engine": "ptrace", "tick_ns": str(self.TICK)},
                       [Image(1, f"/bin/{i}", i * 10 * MS, 0, raw.NO_IMAGE, raw.EXEC if i else raw.START) for i in range(n)],
                       [Mapping(i, 0x1000, 0x8000, f"/bin/{i}") for i in range(n)], [Task(1, 1)])
        ext.ticks = [(1, 10 * n * MS, 2 * n * self.TICK, n // 2 * self.TICK, 0)]
        samples = [Sample(1, [Thread(1, *((KERNEL, (i + 1) * MS, RAN | CALLER, 0x8ff0) if i % 5 == 0 else (0x1000, (i + 1) * MS, RAN)))])
                   for i in range(10 * n)]
        profile = self.convert(run_of(samples), [(i + 1) * MS for i in range(10 * n)], ext)
        self.assertEqual(sum(e[2] for s in profile.samples for e in s.entries), 10 * n * MS)
        self.assertEqual(sum(l.pc == 0x1000 for l in profile.locations), n)

    def user_only(self, threads, ticked=None, total=False):
        """Converts what the perf engine of an ordinary user records in 8 s: THREADS are (pid, tid,
        the kernel's part of each half), and use a CPU each. Processes TICKED (None: all) have
        ticks; TOTAL: the kernel time of the run is known. The CPU time of every 10 ms is divided
        among the sightings in it. Returns the CPU time of each tid in user code in each half, and
        in the kernel [s]."""
        rng, n = random.Random(12), 8000
        pids = sorted({pid for pid, _, _ in threads})
        ext = Extended({"engine": "perf", "frequency": "1000", "tick_ns": str(self.TICK)},
                       [Image(pid, "/bin/a") for pid in pids], [Mapping(i, 0x1000, 0x8000, "/bin/a") for i, _ in enumerate(pids)],
                       [Task(tid, pid) for pid, tid, _ in threads])
        seen, nominal = [], {tid: 0 for _, tid, _ in threads}
        for window in range(0, n, 10):
            found = [(i, tid) for i in range(window, window + 10) for _, tid, parts in threads if rng.random() >= parts[i * 2 // n]]
            for i, tid in found:
                nominal[tid] += 10 * len(threads) * MS // len(found)
                seen.append((i * MS + tid, tid, nominal[tid]))
        if total:
            ext.facts["cpu_ns"] = str(len(threads) * n * MS)
            ext.facts["system_ns"] = str(int(sum(sum(parts) for _, _, parts in threads) / 2 * n * MS))
        for at in range(99, n, 100):
            for pid in pids:
                if ticked is None or pid in ticked:
                    part = [parts[at * 2 // n] for p, _, parts in threads if p == pid]
                    ext.ticks.append((pid, at * MS, int(25 * (len(part) - sum(part)) + 0.5) * self.TICK, int(25 * sum(part) + 0.5) * self.TICK, 0))
        samples = [Sample(1, [Thread(tid, 0x1000 + tid, used * n * MS // nominal[tid], RAN)]) for _, tid, used in seen]
        samples += [Sample(1, [Thread(tid, 0x1000, n * MS, TOTAL)]) for _, tid, _ in threads]
        times = [time for time, _, _ in seen] + [n * MS] * len(threads)
        ext.nominal = [nominal[tid] for _, tid, _ in threads]
        profile = self.convert(run_of(samples), times, ext)
        sums = {tid: [0, 0, 0] for _, tid, _ in threads}
        for at, s in zip(times, profile.samples):
            for thread, location, ns in s.entries:
                kernel = profile.locations[location].pc >= KERNEL_HALF
                sums[profile.threads[thread].tid][2 if kernel else at // (4000 * MS)] += ns / 1e9
        return sums

    def test_kernel_that_was_not_sampled(self):
        """The perf engine of an ordinary user only samples user code. Ticks, and how often each
        thread is seen, show how long it was in the kernel: different processes, the second of which
        is in the kernel for a longer part of the first half, or threads of one process. Without
        ticks, no sample moves."""
        for pid in (1, 2):
            parts = {1: (0.1, 0.1), 2: (0.6, 0.2)} if pid == 2 else {1: (0.1, 0.1), 2: (0.6, 0.6)}
            sums = self.user_only([(1, 1, parts[1]), (pid, 2, parts[2])])
            self.assertAlmostEqual(sum(map(sum, sums.values())), 16)
            for tid, (first, second) in parts.items():
                with self.subTest(pid=pid, tid=tid):
                    self.assertAlmostEqual(sums[tid][0], 4 * (1 - first), delta=0.15)
                    self.assertAlmostEqual(sums[tid][1], 4 * (1 - second), delta=0.2)
                    self.assertAlmostEqual(sums[tid][2], 4 * (first + second), delta=0.2)
        sums = self.user_only([(1, 1, (0.1, 0.1)), (1, 2, (0.6, 0.6))], ticked=())
        self.assertEqual([kernel for _, _, kernel in sums.values()], [0, 0])

    def test_kernel_time_of_processes_without_ticks(self):
        """Processes that were too short to have ticks have what is left of the run's."""
        for ticked in ((1,), (3,), ()):
            sums = self.user_only([(1, 1, (0.1, 0.1)), (2, 2, (0.6, 0.6)), (3, 3, (0.6, 0.6))], ticked, total=True)
            for tid, part in (1, 0.1), (2, 0.6), (3, 0.6):
                self.assertAlmostEqual(sums[tid][2], 8 * part, delta=0.4, msg=(ticked, tid))

    def test_kernel_part_by_the_number_of_samples(self):
        """By 1000 ticks, the kernel's part is 4 %; by the number of samples, 20 %. The mean is weighted by
        variances. In a thread that is switched all the time (10 % of its CPU time), ticks miss much."""
        n = 4000
        for switched in (0, 0.1):
            ext = Extended({"engine": "perf", "frequency": "1000", "tick_ns": str(self.TICK), "user_part": "0.8"},
                           [Image(1, "/bin/a")], [Mapping(0, 0x1000, 0x8000, "/bin/a")], [Task(1, 1)])
            ext.ticks = [(1, (i + 1) * 100 * MS, 24 * self.TICK, self.TICK, 0) for i in range(n // 100)]
            samples = [Sample(1, [Thread(1, 0x1000, (i + 1) * MS, RAN)]) for i in range(n)]
            total = (TOTAL | CALLER, int(switched * n) * MS) if switched else (TOTAL,)
            samples.append(Sample(1, [Thread(1, 0x1000, n * MS, *total)]))
            ext.nominal = [n * MS]
            profile = self.convert(run_of(samples), [i * MS for i in range(n + 1)], ext)
            user = sum(ns for s in profile.samples for _, location, ns in s.entries
                       if profile.locations[location].pc < KERNEL_HALF) / n / MS
            by_samples = 2 * 0.8 * 0.2 / n + 0.01 ** 2 + (0.2 * switched) ** 2
            by_ticks = 0.04 * 0.96 / 1000 + (0.8 * switched) ** 2
            kernel = (0.2 / by_samples + 0.04 / by_ticks) / (1 / by_samples + 1 / by_ticks)
            self.assertAlmostEqual(user, (1 - switched) * (1 - kernel), delta=0.004)

    def test_kernel_that_nobody_called(self):
        """A recording without samples in the kernel does not show which code called it, unlike one with such samples."""
        for called in (False, True):
            ext = Extended({"engine": "perf", "frequency": "1000", "tick_ns": str(self.TICK)}, [Image(1, "/bin/a")],
                           [Mapping(0, 0x1000, 0x8000, "/bin/a")], [Task(1, 1)])
            ext.ticks = [] if called else [(1, 100 * MS, 20 * self.TICK, 5 * self.TICK, 0)]
            seen = [(KERNEL, RAN | CALLER, 0x1000) if called and i % 5 == 0 else (0x1000, RAN) for i in range(100)]
            samples = [Sample(1, [Thread(1, pc, (i + 1) * MS, *flags)]) for i, (pc, *flags) in enumerate(seen)]
            data = self.succeeds(["prof2pbin", "-q"],
                                 stdin=raw.extended(run_of(samples), [(i + 1) * MS for i in range(100)], ext)).out
            for kernel in "own", "caller":
                with self.subTest(called=called, kernel=kernel):
                    done = self.succeeds(["pbin-aggregate", "-k", "binary", f"--kernel={kernel}", "--format=json"], stdin=data)
                    times = {row["binary"]: row["time"] for row in json.loads(done.out)["rows"]}
                    moved = called and kernel == "caller"
                    self.assertAlmostEqual(times["a"], 0.1 if moved else 0.08, delta=0.0015)
                    self.assertEqual("_kernel" in times, not moved)
                    self.assertEqual("which code called the kernel" in done.err, kernel == "caller" and not called)

    def test_short_processes_of_different_lengths(self):
        """Processes that start in the kernel for 2 ms, and then run for 4 or 12 ms: a third of the CPU
        time of the former, and a seventh of that of the latter, is in the kernel."""
        rng, n, begin, samples, times = random.Random(4), 800, 0, [], []
        ext = Extended({"engine": "perf", "frequency": "1000", "tick_ns": str(self.TICK), "system_ns": str(2 * n * MS)}, [], [], [])
        for i in range(n):
            total = (14 if i % 2 else 6) * MS
            ext.images.append(Image(i + 1, "/bin/a", begin))
            ext.mappings.append(Mapping(i, 0x1000, 0x8000, "/bin/a"))
            ext.tasks.append(Task(i + 1, i + 1, begin))
            ats = [begin + at for at in range(2 * MS, total, MS // 10) if rng.random() < 0.1]
            samples += [Sample(1, [Thread(i + 1, 0x1000 + i % 2 * 0x100, total * (k + 1) // (len(ats) + 1), RAN)]) for k in range(len(ats))]
            begin += total
            samples.append(Sample(1, [Thread(i + 1, 0x1000, total, TOTAL)]))
            times += [*ats, begin]
            ext.nominal.append(len(ats) * MS)
        ext.facts["cpu_ns"] = str(begin)
        profile = self.convert(run_of(samples), times, ext)
        sums = collections.Counter()
        for s in profile.samples:
            for _, location, ns in s.entries:
                sums[profile.locations[location].pc] += ns / n * 2 / MS
        self.assertAlmostEqual(sums[0x1000], 4, delta=0.4)
        self.assertAlmostEqual(sums[0x1100], 12, delta=0.5)

    def test_switches_between_threads(self):
        """No event sees the kernel switch between threads: of a thread, this is 12 % of the CPU time,
        which goes from its user code to the kernel, and of another one 0.1 %, which stays."""
        rng, n = random.Random(3), 4000
        ext = Extended({"engine": "perf", "frequency": "1000"}, [Image(1, "/bin/a")], [Mapping(0, 0x1000, 0x8000, "/bin/a")],
                       [Task(1, 1), Task(2, 1)])
        samples, seen = [], collections.Counter()
        for i in range(n):
            kernel = i % 2 == 0 and rng.random() < 0.2
            seen[1 + i % 2, kernel] += 1
            where = (KERNEL, RAN | CALLER, 0x8ff0) if kernel else (0x1000, RAN, 0)
            samples.append(Sample(1, [Thread(1 + i % 2, where[0], (1 + i // 2) * MS, *where[1:])]))
        samples += [Sample(1, [Thread(tid, 0x1000, n // 2 * MS, TOTAL | CALLER, n // 2 * lack)]) for tid, lack in ((1, MS * 12 // 100), (2, MS // 1000))]
        profile = self.convert(run_of(samples), [i * MS for i in range(n + 2)], ext)
        self.assertEqual(sum(e[2] for s in profile.samples for e in s.entries), n * MS)
        found = collections.Counter((profile.threads[e[0]].tid, profile.locations[e[1]].pc >= KERNEL_HALF)
                                    for s in profile.samples for e in s.entries)
        self.assertEqual(found[2, True], 0)
        self.assertAlmostEqual(found[1, False], 0.88 * seen[1, False], delta=2)
        called = [l for l, c in profile.callers.items() if profile.locations[c].pc == 0x1000]
        self.assertEqual(len(called), 1)

    def test_page_faults_stay_where_system_calls_are_too_many(self):
        """Page faults at one place are 30 %, system calls 5 %. From other CPUs, more than half of
        the user code is seen in system calls."""
        rng, n = random.Random(3), 6000
        ext = Extended({"engine": "ptrace", "tick_ns": str(self.TICK), "page_faults": "100000"}, [Image(1, "/bin/a")],
                       [Mapping(0, 0x1000, 0x8000, "/bin/a")], [Task(1, 1)])

        def look(used):
            same, where = rng.random() < 0.5, rng.random()
            fault, call = where < 0.3, where < 0.35 or (not same and where < 0.75)
            flags = RAN | (SAME_CPU if same else 0)
            return Thread(1, KERNEL, used, flags | CALLER | FAULT, 0x1010) if fault and not same else \
                Thread(1, 0x1010, used, flags) if fault else \
                Thread(1, KERNEL, used, flags | CALLER, 0x8ff0) if call else Thread(1, 0x2000, used, flags)
        profile, _ = self.ticked(ext, rng, n, 0.35, look)
        self.assertAlmostEqual(self.kernel(profile), 0.35, delta=0.04)
        pcs = self.pcs(profile)
        self.assertLess(pcs.count(0x1010), 0.04 * n)

    def test_page_faults_that_are_seen_from_other_cpus(self):
        """Page faults in one function are 10 % of the CPU time, and are seen only from another CPU,
        to which the sampler moves then: both sides together are right, and so is each place."""
        rng, n = random.Random(11), 8000
        ext = Extended({"engine": "ptrace", "tick_ns": str(self.TICK), "page_faults": "100000"}, [Image(1, "/bin/a")],
                       [Mapping(0, 0x1000, 0x8000, "/bin/a")], [Task(1, 1)])

        def look(used):
            fault = rng.random() < 0.1
            same = not fault and rng.random() < 0.5
            pc = 0x1010 if rng.random() < 0.2 else 0x2000 + 8 * rng.randrange(9)
            return Thread(1, KERNEL, used, RAN | CALLER | FAULT, 0x1010) if fault else \
                Thread(1, pc, used, RAN | (SAME_CPU if same else 0))
        profile, samples = self.ticked(ext, rng, n, 0.1, look)
        self.assertAlmostEqual(self.kernel(profile), 0.1, delta=0.03)
        moved = [(t.pc, pc) for s, t in zip(profile.samples, (s.threads[0] for s in samples))
                 for pc in (profile.locations[s.entries[0][1]].pc,) if t.pc != pc]
        self.assertLess(len(moved), 0.02 * n)

    def test_places_of_system_calls(self):
        """Phases of 20 ms: code that computes and calls the kernel, code that only calls it, and
        code that only computes. From other CPUs, half of the computing in the first phase is seen
        in the call after it. Only these calls are too many."""
        rng, n = random.Random(5), 12000
        ext = Extended({"engine": "ptrace", "tick_ns": str(self.TICK)}, [Image(1, "/bin/a")],
                       [Mapping(0, 0x1000, 0x8000, "/bin/a")], [Task(1, 1)])
        samples, times, ticks, true = [], [], [0, 0], {KERNEL: 0, 0x1010: 0, 0x2010: 0, 0x3010: 0}
        for i in range(n):
            base, part = ((0x1000, 0.05), (0x2000, 0.9), (0x3000, 0))[i // 20 % 3]
            same, call = rng.random() < 0.5, rng.random() < part
            true[KERNEL if call else base + 0x10] += 1
            seen = call or (base == 0x1000 and not same and rng.random() < 0.5)
            flags = RAN | (SAME_CPU if same else 0)
            samples.append(Sample(1, [Thread(1, KERNEL, (i + 1) * MS, flags | CALLER, base + base // 64) if seen else
                                      Thread(1, base + 0x10, (i + 1) * MS, flags)]))
            times.append((i + 1) * MS)
            if i % 4 == 0:
                ticks[call] += self.TICK
            if i % 100 == 99:
                ext.ticks.append((1, times[-1], *ticks, 0))
                ticks = [0, 0]
        pcs = self.pcs(self.convert(run_of(samples), times, ext))
        for pc, count in true.items():
            self.assertAlmostEqual(pcs.count(pc) / n, count / n, delta=0.02, msg=hex(pc))

    def test_code_before_system_calls(self):
        """Each sample is in another phase: a function computes, one computes and calls the kernel
        through a library, and one has page faults. From other CPUs, nearly all of the second
        function is seen in the call after it, which stands for this function only."""
        rng, n = random.Random(17), 12000
        ext = Extended({"engine": "ptrace", "tick_ns": str(self.TICK), "page_faults": "100000"}, [Image(1, "/bin/a")],
                       [Mapping(0, 0x1000, 0x8000, "/bin/a")], [Task(1, 1)])
        true = collections.Counter()

        def look(used):
            same, where = rng.random() < 0.3, rng.random()
            flags, pc = RAN | (SAME_CPU if same else 0), 0x100 * rng.randrange(4)
            pc += 0x1000 if where < 0.3 else 0x2000 if where < 0.6 else 0x3000 if where < 0.9 else 0x8000
            true[pc >> 12] += 1
            if pc >= 0x8000 or (0x2000 <= pc < 0x3000 and not same and rng.random() < 0.9):
                return Thread(1, KERNEL, used, flags | CALLER, 0x8ff0)
            if pc >= 0x3000:
                return Thread(1, pc, used, flags) if same else Thread(1, KERNEL, used, flags | CALLER | FAULT, pc)
            return Thread(1, pc, used, flags)
        profile, _ = self.ticked(ext, rng, n, 0.4, look)
        self.assertAlmostEqual(self.kernel(profile), 0.4, delta=0.04)
        found = collections.Counter(profile.locations[profile.callers.get(e[1], e[1])].pc >> 12
                                    for s in profile.samples for e in s.entries)
        for part, count in true.items():
            self.assertAlmostEqual(found[part], count, delta=0.05 * n, msg=(part, found, true))

    def test_short_threads_and_processes(self):
        """The few sightings and ticks of one process prove nothing, but those of all processes of
        the program do. Processes reuse pids."""
        rng, n, each = random.Random(7), 800, 5
        ext = Extended({"engine": "ptrace", "tick_ns": str(self.TICK)})
        samples, times = [], []
        for i in range(n):
            pid, start = 10 + i % 300, i * each * MS
            ext.images.append(Image(pid, "/bin/a", start))
            ext.mappings.append(Mapping(i, 0x1000, 0x8000, "/bin/a", start))
            ext.tasks.append(Task(pid, pid, start))
            for k in range(each):
                where = (KERNEL, RAN | CALLER, 0x8ff0) if rng.random() < 0.8 else (0x1000, RAN, 0)
                samples.append(Sample(1, [Thread(pid, where[0], (k + 1) * MS, *where[1:])]))
                times.append(start + k * MS + 1)
            system = rng.random() < 0.25
            ext.ticks.append((pid, start + each * MS - 1, 0 if system else self.TICK, self.TICK if system else 0, 0))
        profile = self.convert(run_of(samples), times, ext)
        self.assertAlmostEqual(self.kernel(profile), 0.25, delta=4 * (0.25 * 0.75 / n) ** 0.5)
        self.assertEqual(set(self.pcs(profile)), {KERNEL, 0x1000, 0x8ff0} & set(self.pcs(profile)))
        self.assertLess(self.pcs(profile).count(0x8ff0), 20)

    def stand_ins(self, name, waits=0, calls=0.3, often=False, others=()):
        """The places shown for threads that were seen a few times each, or all the time (OFTEN),
        CALLS of that in the kernel, else at 0x2000; beside a thread at 0x1000, and OTHERS (tid,
        pc). NAME(i) is the name of thread i; WAITS are its records before it runs."""
        rng, n = random.Random(9), 2000
        ext = Extended({"engine": "ptrace", "tick_ns": str(self.TICK)}, [Image(1, "/bin/a")],
                       [Mapping(0, 0x1000, 0x8000, "/bin/a")], [Task(1, 1, 0, "main")])
        samples, times, used = [], [], {}
        for i in range(n):
            here, tid = [(1, 0x1000), *others], 1000 if often else 1000 + i
            here += [(k, None) for k in range(max(tid - waits, 1000), tid)] if waits and not often else []
            here.append((tid, KERNEL if rng.random() < calls else 0x2000))
            if not often or i == 0:
                ext.tasks.append(Task(tid, 1, i * MS, name(i)))
            threads = []
            for who, pc in here:
                used[who] = used.get(who, 0) + (MS if pc else 0)
                threads.append(Thread(who, pc or 0x3000, used[who], 0 if pc is None else RAN | CALLER if pc == KERNEL else RAN,
                                      0x8ff0 if pc == KERNEL else 0))
            samples.append(Sample(1, threads))
            times.append((i + 1) * MS)
            if i % 100 == 99:  # a hundredth is in the kernel
                ext.ticks.append((1, times[-1], 200 * MS, 2 * MS, 0))
        profile = self.convert(run_of(samples), times, ext)
        shown = [(profile.threads[e[0]].tid, profile.locations[e[1]].pc, e[2]) for s in profile.samples for e in s.entries]
        self.assertEqual(sum(cpu for _, _, cpu in shown), sum(used.values()))
        for tid, pc, _ in shown:
            self.assertTrue(tid >= 1000 or (tid, pc) in [(1, 0x1000), *others], (tid, hex(pc)))
        return collections.Counter(pc for tid, pc, cpu in shown if tid >= 1000 and cpu)

    def test_short_threads_are_not_like_long_ones(self):
        """A thread that was only seen in a call is shown in user code of similar threads, whatever
        their names."""
        for name in (lambda i: "short", lambda i: "main", lambda i: f"thread {i}"):
            pcs = self.stand_ins(name)
            self.assertEqual(set(pcs) - {0x8ff0}, {KERNEL, 0x2000}, pcs)
            self.assertLess(pcs[0x8ff0], 10)
            self.assertLess(pcs[KERNEL], 0.1 * 2000)

    def test_threads_that_mostly_wait_are_not_like_short_ones(self):
        pcs = self.stand_ins(lambda i: "worker", waits=20)
        self.assertEqual(set(pcs) - {0x8ff0}, {KERNEL, 0x2000}, pcs)
        self.assertLess(pcs[0x8ff0], 10)

    def test_threads_that_only_call_the_kernel_are_not_like_others(self):
        """Threads of that name were never seen in user code, or were seen often: the caller is
        shown."""
        for often, name in (False, "reader"), (True, "reader"), (True, "main"):
            pcs = self.stand_ins(lambda i, name=name: name, calls=1, often=often)
            self.assertEqual(set(pcs), {KERNEL, 0x8ff0}, (often, name))
            self.assertGreater(pcs[0x8ff0], 0.8 * 2000)

    @tool.plain_only
    def test_threads_stand_for_themselves(self):
        """Many threads of the same name share a CPU, and each is seen running in a few samples:
        half of the threads first in a call, and only at the end in their own user code; the others
        only in calls, but preempted in their own code. A hundredth of the time is in the kernel."""
        n, threads = 1500, 100
        ext = Extended({"engine": "ptrace", "tick_ns": str(self.TICK)}, [Image(1, "/bin/a")], [Mapping(0, 0x1000, 0x8000, "/bin/a")],
                       [Task(1 + k, 1, 0, "worker") for k in range(threads)])
        samples, times, used = [], [], [0] * threads
        for i in range(n):
            here = []
            for k in range(threads):
                own, runs = 0x2000 + 0x10 * k, k == i % threads
                used[k] += MS * runs
                if runs:  # the thread with an odd number is preempted in the next sample
                    end = k % 2 == 0 and i >= 0.9 * n
                    here.append(Thread(1 + k, own, used[k], RAN) if end else Thread(1 + k, KERNEL, used[k], RAN | CALLER, 0x8ff0))
                elif k % 2 and k == (i - 1) % threads:
                    here.append(Thread(1 + k, own + 4, used[k], PREEMPTED))
                else:  # the thread sleeps
                    here.append(Thread(1 + k, 0x1000, used[k], 0))
            samples.append(Sample(1, here))
            times.append((i + 1) * MS)
            if i % 100 == 99:
                ext.ticks.append((1, times[-1], 99 * MS, MS, 0))
        profile = self.convert(run_of(samples), times, ext)
        places = collections.Counter()
        for tid, pc in ((profile.threads[e[0]].tid, profile.locations[e[1]].pc) for s in profile.samples for e in s.entries if e[2]):
            own = 0x2000 + 0x10 * (tid - 1)
            self.assertIn(pc, (KERNEL, own + 4 * ((tid - 1) % 2)), tid)
            places[pc == KERNEL] += 1
        self.assertLess(places[True], 0.05 * n)

    def test_absurd_ticks(self):
        run, times = run_of([Sample(1, [Thread(1, KERNEL, i + 1, RAN | CALLER, 0x1000)]) for i in range(50)]), range(50)
        most = 2**64 - 1
        for tick in ("0", "1", str(most), "x"):
            ext = Extended({"tick_ns": tick}, [Image(1, "/bin/a")], [], [Task(1, 1)],
                           ticks=[(1, most, most, most, 0), (1, 0, most, 0, most), (2, 5, 0, 0, 0), (1, 10, 0, 1, most)])
            profile = self.convert(run, times, ext)
            self.assertEqual(sum(e[2] for s in profile.samples for e in s.entries), 50)
            ext.facts["engine"] = "perf"
            total = run_of(run.samples + [Sample(1, [Thread(1, 0x1000, 60, TOTAL)])] * 3)
            for nominal in ([], [0], [most] * 5):
                ext.nominal = nominal
                profile = self.convert(total, range(53), ext)
                self.assertEqual(sum(e[2] for s in profile.samples for e in s.entries), 60)

    def test_absurd_marks(self):
        """Marks in no order, with CPU times that fall or are too large: tables are as without them."""
        run, times = run_of([Sample(1, [Thread(1, 0x1000, i + 1, RAN)]) for i in range(50)]), range(50)
        most = 2**64 - 1
        for marks in ([(most, most)], [(10, most), (20, 5), (5, 7), (0, 0), (30, 3), (30, most // 2), (40, most // 2 + 1)], [(0, 0)] * 1000):
            ext = Extended({"engine": "perf"}, [Image(1, "/bin/a")], [], [Task(1, 1)], sources=[raw.Source("s")], marks=marks)
            profile = self.convert(run, times, ext)
            self.assertEqual([e[2] for s in profile.samples for e in s.entries], [1] * 50)


class Intervals(Case):
    def test_of_times(self):
        """A thread is in one place for 20 ms and in another for 30 ms on average, and samples are 1
        ms apart on average. CPU times are exact, but divided equally among many samples."""
        inside, halves, runs = 0, [], tool.rounds(60, 10)
        for seed in range(runs):
            rng, now, until, place, cpu = random.Random(seed), 0, 0, 0, [0, 0]
            ext = Extended({"engine": "ptrace"}, [Image(1, "/bin/a")], [Mapping(0, 0x1000, 0x8000, "/bin/a")], [Task(1, 1)])
            samples, times = [], []
            for _ in range(2000):
                begin, now = now, now + 1 + int(rng.expovariate(1 / MS))
                while until < now:
                    cpu[place] += until - begin
                    begin, place = until, 1 - place
                    until += int(rng.expovariate(1 / (20, 30)[place] / MS))
                cpu[place] += now - begin
                samples.append(Sample(1, [Thread(1, 0x1000 * (1 + place), now, RAN)]))
                times.append(now)
            pbin_file = self.succeeds(["prof2pbin", "-q"], stdin=raw.extended(run_of(samples), times, ext)).out
            rows = json.loads(self.succeeds(["pbin-aggregate", "-q", "--ci", "-k", "pc", "--format=json"], stdin=pbin_file).out)["rows"]
            row = next(r for r in rows if r["pc"] == "0x1000")  # in the file: the second place
            inside += abs(row["time"] - cpu[1] / 1e9) <= row["time_ci_approx"]
            halves.append(row["time_ci_approx"] / row["time"])
        self.assertGreater(inside, 0.88 * runs)
        self.assertLess(sum(halves) / runs, 0.025)


class Damage(Case):
    def small(self):
        ext = Extended({"engine": "ptrace"}, [Image(1, "/bin/a"), Image(2, "/bin/b", 3, 1, 0, raw.FORK)],
                       [Mapping(0, 0x1000, 0x1000, "/bin/a"), Mapping(1, 0x3000, 0x1000, "/bin/b", 3)],
                       [Task(1, 1, 0, "a"), Task(2, 2, 3, "b")], [(1, raw.JIT_TEXT, b"1000 10 f\n")],
                       [raw.Source("s", "energy", "J", "board", 0.5)],
                       [raw.Reading(0, 0, 0), raw.Reading(0, 30, 30), raw.Reading(0, 100, 240)],
                       [(1, 5, 6)], [(1, 20, 5, 6, 0), (2, 40, 7, 8, 1)], (0x7000, b"\x7fELF no image"))
        threads = [Thread(1, 0x1000, 10, RAN), Thread(2, 0x3000, 5, 0), Thread(1, KERNEL, 30, RAN | CALLER, 0x1004),
                   Thread(2, 0x3000, 9, TOTAL)]
        return run_of([Sample(0.0, [t]) for t in threads]), [10, 20, 40, 80], ext

    def test_every_truncation_is_refused(self):
        whole = raw.extended(*self.small(), per_block=2)
        begin = whole.index(raw.SIGNATURE) + 8
        for size in tool.places(begin, len(whole)):
            ended = tool.run(["prof2pbin", "-q"], stdin=whole[:size])
            self.assertEqual((ended.status, ended.out), (1, b""), size)
        self.succeeds(["prof2pbin", "-q"], stdin=whole)

    def test_every_truncation_is_salvaged(self):
        """All samples are in the documented part."""
        run, times, ext = self.small()
        whole = raw.extended(run, times, ext, per_block=2)
        begin, counts = whole.index(raw.SIGNATURE) + 8, set()
        for size in tool.places(begin, len(whole) + 1):
            profile = self.convert(None, None, None, "--salvage", data=whole[:size])
            counts.add(len(profile.samples))
        self.assertEqual(counts, {4})

    def test_spool(self):
        """Values are computed from the readings; a cut file keeps all samples before the cut."""
        run, times, ext = self.small()
        spool = raw.extended_spool(run, times, ext, per_block=2)
        profile = self.convert(None, None, None, "--salvage", data=spool)
        self.assertEqual([s.interval_ns for s in profile.samples], [10, 10, 20, 40])
        joules = [s.value * s.interval_ns * 1e-9 for s in profile.samples]
        for got, wanted in zip(joules, [5, 5, 5 + 15, 60]):
            self.assertAlmostEqual(got, wanted, 9)
        self.assertEqual(self.entries(profile)[0], [(1, "a", "_unknown", 15)])
        self.assertEqual(profile.meta["wall_ns"], 80)
        seen = set()
        for size in tool.places(len(raw.SIGNATURE) + 32, len(spool)):
            ended = tool.run(["prof2pbin", "-q", "--salvage"], stdin=spool[:size])
            if ended.status == 0:
                seen.add(len(pbin.Reader(ended.out).read().samples))
            else:
                self.assertRegex(ended.err, "without a (whole|complete) sample")
        self.assertEqual(seen, {2, 4})

    def test_counts_that_lie(self):
        run, times, ext = self.small()
        whole = raw.extended(run, times, ext)
        at, blocks = whole.index(raw.SIGNATURE) + 8, []
        head = whole[:at]
        while at < len(whole):
            length, kind = struct.unpack_from("<I4s", whole, at)
            blocks.append((kind.decode(), whole[at + 8:at + 8 + length]))
            at += length + 16
        for lied, (kind, payload) in enumerate(blocks):
            offset = {"seen": 8}.get(kind, 0)
            if kind in ("vdso", "time", "done", "jits"):
                continue
            for count in (2**32 - 1, 2**31, struct.unpack_from("<I", payload, offset)[0] + 1):
                changed = payload[:offset] + struct.pack("<I", count) + payload[offset + 4:]
                data = head + b"".join(raw.block(k, changed if i == lied else p)
                                       for i, (k, p) in enumerate(blocks))
                ended = tool.run(["prof2pbin", "-q"], stdin=data, memory=None if tool.is_asan() else 512 * tool.MB)
                self.assertEqual(ended.status, 1, (kind, count))
                self.assertIn(kind, ended.err)

    def test_references_to_nothing(self):
        run, times, _ = self.small()
        bad = [Extended({}, [Image(1, "a", parent=0)]), Extended({}, [Image(1, "a", how=3)]),
               Extended({}, [Image(1, "a")], [Mapping(1, 0, 1, "x")]), Extended({}, [], [Mapping(0, 0, 1, "x")]),
               Extended({}, [Image(1, "a")], [Mapping(0, 0, 1, "x", kind=7)]),
               Extended({}, [Image(1, "a")], jits=[(1, 0, b"")]), Extended({}, [Image(1, "a")], jits=[(0, 2, b"")]),
               Extended({}, sources=[raw.Source("s")], readings=[raw.Reading(1, 0, 0)])]
        for ext in bad:
            self.fails(["prof2pbin", "-q"], "<stdin>", stdin=raw.extended(run, times, ext))

    def test_flags_of_other_samples(self):
        run, times, ext = self.small()
        for wrong in (raw.seen_blocks(run.samples[:3]), raw.seen_blocks(run.samples + run.samples[:1]),
                      raw.seen_block(1, [t for s in run.samples for t in s.threads]),
                      raw.seen_blocks(run.samples) * 2):
            data = raw.write(run, "sampler") + raw.SIGNATURE + raw.definitions(ext) + raw.time_blocks(times) + wrong
            self.fails(["prof2pbin", "-q"], "<stdin>", stdin=data + raw.done_block(4))

    def test_many_mappings_and_forks(self):
        """30,000 mappings at distinct times, with a fork at every tenth: takes seconds, not
        hours."""
        ext, samples, times = Extended({}, [Image(1, "/bin/a")], [], [Task(1, 1)]), [], []
        for i in range(30000):
            if i % 10 == 9:
                ext.images.append(Image(i + 1, "/bin/a", 10 * i, 1, len(ext.images) - 1, raw.FORK))
                ext.tasks.append(Task(i + 1, i + 1, 10 * i))
            ext.mappings.append(Mapping(len(ext.images) - 1, (i * 7919 % 30000) << 12, 0x1800, "/lib/x", 10 * i))
            samples.append(Sample(1, [Thread(ext.tasks[-1].tid, (i * 7919 % 30000) << 12, 1, RAN)]))
            times.append(10 * i)
        data = raw.extended(run_of(samples), times, ext)
        ended = self.succeeds(["prof2pbin", "-q"], stdin=data, timeout=60, peak=True)
        self.assertLess(ended.peak, 700 * tool.MB)
        profile = pbin.Reader(ended.out).read()
        self.assertTrue(all(self.where(profile, s.entries[0])[0] == "x" for s in profile.samples))

    def test_forks_and_mappings_in_turns(self):
        """A process with 10,000 mappings forks as often, and each time parent and child map
        something: neither has the mappings that the other adds from then on. Memory must not be
        that of 10,000 times 10,000 mappings (4 GB)."""
        count, base, page = 10000, 0x10000, 0x1000
        for is_chain in (False, True):  # each child forks the next child
            ext, samples, times, parent = Extended({}, [Image(1, "/bin/a")], [], [Task(1, 1)]), [], [], 0
            ext.mappings += [Mapping(0, base + 2 * i * page, page, "/lib/old") for i in range(count)]
            for i in range(count):
                now, child, at = 10 * (i + 1), i + 1, base + 2 * (i * 7919 % count) * page
                ext.images.append(Image(child + 1, "/bin/a", now, 1, parent, raw.FORK))
                ext.tasks.append(Task(child + 1, child + 1, now))
                ext.mappings.append(Mapping(child, at, page, "/lib/child", now + 1))
                ext.mappings.append(Mapping(parent, at, page, "/lib/parent", now + 1))
                samples.append(Sample(1, [Thread(ext.images[parent].pid, at, 1, RAN), Thread(child + 1, at, 1, RAN)]))
                times.append(now + 2)
                parent = child if is_chain else 0
            data = raw.extended(run_of(samples), times, ext)
            ended = self.succeeds(["prof2pbin", "-q"], stdin=data, timeout=60, peak=True)
            self.assertLess(ended.peak, 700 * tool.MB)
            profile = pbin.Reader(ended.out).read()
            self.assertTrue(all([self.where(profile, e)[0] for e in s.entries] == ["parent", "child"]
                                for s in profile.samples))


if __name__ == "__main__":
    unittest.main()
