"""A second implementation of the default energy model, in rationals.

A profile is cut into stretches of 1024 samples. The CPU time of an interval belongs half to its
first and half to its last PC; the energy between two updates of the sensor is divided in proportion
to the CPU time there, if there is any. See analyze/attribute/stretch.h.
SPDX-License-Identifier: MIT
"""
import functools
from dataclasses import dataclass, field
from fractions import Fraction

STRETCH = 1024
SAME_POWER, NOTHING = Fraction(1, 10**9), Fraction(1, 10**12)
CLASSES = 16


@dataclass
class Sample:
    ns: Fraction      # duration of the interval that it ends
    rate: Fraction    # power in the interval; None: not a number
    energy: Fraction  # energy of the interval
    cpu: list         # (thread, CPU time [ns]) for each of its threads
    busy: int = None  # CPU time of the machine in the interval; None: unknown
    used: Fraction = Fraction(0)  # CPU time in its interval


@dataclass
class Window:
    ns: Fraction = Fraction(0)
    cpu: Fraction = Fraction(0)
    energy: Fraction = Fraction(0)
    parts: list = field(default_factory=list)  # (interval, from, to): 0 to 1 is the whole interval

    def add(self, samples, i, begin, end, energy):
        s = samples[i]
        self.ns += s.ns * (end - begin)
        self.cpu += Fraction(s.used) * (end - begin) if s.ns else 0
        self.energy += energy
        self.parts.append((i, begin, end))

    @property
    def power(self):
        return self.energy / self.ns if self.ns else Fraction(0)

    @property
    def lack(self):
        return self.ns - self.cpu if self.ns - self.cpu > NOTHING * self.ns else Fraction(0)

    @property
    def over(self):
        return self.cpu - self.ns if self.ns and self.cpu > self.ns else Fraction(0)


def steady(samples, i):
    a, b = samples[i - 1].rate, samples[i].rate
    return a is not None and b is not None and abs(b - a) <= SAME_POWER * abs(b)


def leaps(samples):
    zeros = [s.rate == 0 for s in samples]
    runs = [len(run) for run in "".join("0" if z else " " for z in zeros).split()]
    others = len(samples) - sum(zeros)
    return (len(runs) >= 4 and others >= 4 and 8 * len(runs) >= others
            and (zeros and max(runs) <= 8 * (sum(runs) // len(runs) + 1)))


def updated_within(samples, i):
    """The parts of an interval's time and energy that precede the update of the sensor in it; None
    if it has no update."""
    if not 2 <= i < len(samples) - 2 or not steady(samples, i - 1) or not steady(samples, i + 2):
        return None
    before, mean, after = (samples[k].rate for k in (i - 1, i, i + 1))
    if mean is None or before == after or before <= 0 or after <= 0:
        return None
    part = (mean - after) / (before - after)
    return (part, part * before / mean) if 0 < part < 1 else None


def make_windows(samples):
    changes = [i for i in range(1, len(samples)) if not steady(samples, i)]
    if not changes or len(changes) == len(samples) - 1:
        out = []
        for i, s in enumerate(samples):
            out.append(Window())
            out[-1].add(samples, i, Fraction(0), Fraction(1), s.energy)
        return out
    leaping, out = leaps(samples), [Window()]
    for i, s in enumerate(samples):
        cut = None if i and steady(samples, i) else updated_within(samples, i)
        if leaping:
            cut = (Fraction(1, 2), 1) if s.rate != 0 else None
        if cut is not None:
            out[-1].add(samples, i, Fraction(0), cut[0], cut[1] * s.energy)
            out.append(Window())
            out[-1].add(samples, i, cut[0], Fraction(1), (1 - cut[1]) * s.energy)
            continue
        if not leaping and i in changes and not (i > 1 and not steady(samples, i - 1)
                                                 and updated_within(samples, i - 1) is not None):
            out.append(Window())
        out[-1].add(samples, i, Fraction(0), Fraction(1), s.energy)
    return out


def in_turn(samples, cpus):
    return cpus == 1 or len({t for s in samples for t, c in s.cpu if c > 0}) <= 1


def find_uses(samples, own=False):
    """For each thread sample: the number of intervals in which its CPU time was used, and the
    thread sample that gets half of it, unless each sample has its OWN interval."""
    last, out = {}, []
    for i, s in enumerate(samples):
        uses = []
        for thread, cpu in s.cpu:
            p = last.get(thread)
            most = i - p[0] if p else i + 1
            reach = 1
            while reach < most and sum(x.ns for x in samples[i + 1 - reach:i + 1]) < cpu * (1 - SAME_POWER):
                reach += 1
            shared = not own and p and reach == most and samples[p[0]].cpu[p[1]][1] > 0
            uses.append((reach, p if shared else None))
        out.append(uses)
        last.update({thread: (i, k) for k, (thread, _) in enumerate(s.cpu)})
    return out


def add_uses(samples, uses):
    for s in samples:
        s.used = Fraction(0)
    for i, s in enumerate(samples):
        for (_, cpu), (reach, _) in zip(s.cpu, uses[i]):
            span = samples[i + 1 - reach:i + 1]
            ns = sum(x.ns for x in span)
            for x in span:
                x.used += cpu if reach == 1 else cpu * x.ns / ns if ns else 0


def place(samples, uses, price, cut):
    """Energy of each thread sample: the cost of CPU time before an update, or else half of the
    cost, goes to the thread's previous PC, if the thread ran there."""
    out = [[Fraction(0)] * len(s.cpu) for s in samples]
    for i, s in enumerate(samples):
        for k, ((_, cpu), (reach, before)) in enumerate(zip(s.cpu, uses[i])):
            first, second = price[i, 0] * cpu * cut[i], price[i, 1] * cpu * (1 - cut[i])
            if reach > 1:
                span = range(i + 1 - reach, i + 1)
                ns = sum(samples[x].ns for x in span)
                cost = sum((price[x, 0] * cut[x] + price[x, 1] * (1 - cut[x])) * samples[x].ns for x in span)
                first = second = cpu / ns * cost / 2 if ns else Fraction(0)
            out[i][k] += second
            to = before or (i, k)
            out[to[0]][to[1]] += first
    return out


def level(samples, uses, price, most, rest, out):
    """No thread sample gets more than the highest power: the excess goes to the sample with which
    its thread shares its interval, then to those that cost about the same or the next lower price,
    if these have room, else to others."""
    def class_of(i):
        around = price[i, 1] + price[min(i + 1, len(samples) - 1), 0]
        part = around * CLASSES * (1 + SAME_POWER) / most / 2 if most else 0
        return max(0, min(CLASSES - 1, int(part)))
    members = {}
    for i, s in enumerate(samples):
        members.setdefault(class_of(i), []).extend((i, k, c) for k, (_, c) in enumerate(s.cpu))
    limit = lambda c: most * c
    for i, s in reversed(list(enumerate(samples))):
        for k in reversed(range(len(s.cpu))):
            before, over = uses[i][k][1], out[i][k] - limit(s.cpu[k][1])
            if before and over > 0:
                j, l = before
                moved = max(Fraction(0), min(over, limit(samples[j].cpu[l][1]) - out[j][l]))
                out[i][k] -= moved
                out[j][l] += moved
    if len(samples) > 1:  # half an interval more at the beginning, half an interval less at the end
        ends = [[max(Fraction(0), sign * (out[i][k] - limit(c))) for k, (_, c) in enumerate(samples[i].cpu)]
                for i, sign in ((0, 1), (-1, -1))]
        moved = min(map(sum, ends))
        for i, sign, parts in ((0, -1, ends[0]), (-1, 1, ends[1])):
            for k, part in enumerate(parts):
                out[i][k] += sign * part * moved / sum(parts) if moved else 0
    rooms, surplus = [], Fraction(0)
    for _, group in sorted(members.items(), reverse=True):
        over = sum(max(0, out[i][k] - limit(c)) for i, k, c in group)
        room = sum(max(0, limit(c) - out[i][k]) for i, k, c in group)
        filled = min(room, over + surplus)
        surplus += over - filled
        for i, k, c in group:
            free = max(Fraction(0), limit(c) - out[i][k])
            part = filled / room if room else Fraction(1)
            out[i][k] = min(out[i][k], limit(c)) + free * part
            rooms.append((i, k, free * (1 - part)))
    left, rest = sum(r for _, _, r in rooms), rest + surplus
    for i, k, room in rooms:
        out[i][k] += room * min(1, rest / left) if left else 0
    return max(Fraction(0), rest - left)


def are_sighted(samples, uses):
    """Whether more than 5 % of the CPU time, in the first samples with 128 running threads, exceeds
    the time in which it was used."""
    used = over = running = Fraction(0)
    for i, s in enumerate(samples):
        if running >= 128:
            break
        for (_, c), (reach, _) in zip(s.cpu, uses[i]):
            running += c > 0
            used += c
            over += max(0, c - sum(x.ns for x in samples[i + 1 - reach:i + 1]))
    return over > used / 20


def blocks(windows, least):
    """Groups of consecutive windows that last at least this time."""
    out, ns = [], 0
    for w in windows:
        if not out or ns >= least:
            ns = 0
            out.append([])
        ns += w.ns
        out[-1].append(w)
    return out


class Others:
    """CPU time of other programs in a period, if it exceeds two ticks of the kernel's clock. They
    need the same number of CPUs at all times, and get those that the threads leave."""

    def __init__(self, samples, sighted, cpus):
        self.wanted, self.room, self.sighted = Fraction(0), lambda ns, cpu: Fraction(0), sighted
        self.least = 32 * sum(s.ns for s in samples) / len(samples) if sighted else 0
        if any(s.busy is None for s in samples):
            return
        time, busy = sum(s.ns for s in samples), sum(Fraction(s.busy) for s in samples)
        others = busy - sum(s.used for s in samples)
        if others <= 20_000_000:
            return
        most = max(cpus, busy / time) if cpus else 10**6
        self.room = lambda ns, cpu: max(Fraction(0), most * ns - cpu)
        times = [(sum(x.ns for x in b), sum(x.used for x in b)) for b in blocks([s for s in samples if s.ns], self.least)]
        left, open_ns = others, time
        for ns, cpu in sorted(times, key=lambda t: self.room(*t) / t[0]):
            if left / open_ns <= self.room(ns, cpu) / ns:
                self.wanted = left / open_ns
                return
            left -= self.room(ns, cpu)
            open_ns -= ns
        self.wanted = most

    def __call__(self, ns, cpu):
        return min(self.wanted * ns, self.room(ns, cpu))


def share_sighted(block, others):
    """The price of CPU time in each window of a block, and the part of the remaining energy that
    belongs to unused CPU time."""
    ns, cpu, energy = sum(w.ns for w in block), sum(w.cpu for w in block), sum(w.energy for w in block)
    theirs = others(ns, cpu)
    idle = max(Fraction(0), ns - cpu - theirs)
    prices = [w.power * ns / max(ns, cpu + theirs, Fraction(1, 10**9)) for w in block]
    cost = sum(p * w.cpu for p, w in zip(prices, block))
    if cost > energy or theirs + idle == 0:
        prices = [p * energy / cost if cost else p for p in prices]
        cost = energy
    return prices, (energy - cost) * idle / (theirs + idle) / ns if theirs + idle else Fraction(0)


def settle(samples, cpus, others=None, own=False):
    """Returns the energy of each thread sample and the idle energy of each interval; the rest
    belongs to other programs."""
    uses = find_uses(samples, own)
    add_uses(samples, uses)
    windows = make_windows(samples)
    turn = in_turn(samples, cpus)
    lack = sum(w.lack for w in windows)
    spare = sum(w.lack * w.power for w in windows)
    over_ns = sum(w.over for w in windows) if turn else Fraction(0)
    over = sum(w.over * max(0, w.power) for w in windows) if turn else Fraction(0)
    chance = min(Fraction(1), over_ns / lack) if spare > 0 else Fraction(0)
    moved = spare * chance
    paid = min(Fraction(1), moved / over) if over else Fraction(0)
    others = others or Others(samples, are_sighted(samples, uses), cpus)
    price, cut, idle = {}, [Fraction(1, 2)] * len(samples), [Fraction(0)] * len(samples)
    by_block = {}
    if others.sighted and (others.wanted or not turn):
        moved = paid = over = Fraction(0)
        for block in blocks(windows, others.least):
            prices, unused = share_sighted(block, others)
            by_block.update({id(w): (each, unused) for w, each in zip(block, prices)})
    for w in windows:
        extra = paid * w.over * max(0, w.power)
        each = (w.energy + extra) / w.cpu if w.over else w.power
        unused = w.lack * w.power * (1 - chance) / w.ns if w.ns else Fraction(0)
        if by_block:
            each, unused = by_block[id(w)]
        elif others.wanted and w.ns:
            theirs = others(w.ns, w.cpu)
            each *= Fraction(max(w.ns, w.cpu)) / max(w.ns, w.cpu + theirs)
            unused = max(Fraction(0), w.lack - theirs) * w.power * (1 - chance) / w.ns
        for i, begin, end in w.parts:
            if begin == 0:
                price[i, 0] = each if samples[i].ns else Fraction(0)
            if end == 1:
                price[i, 1] = each if samples[i].ns else Fraction(0)
            else:
                cut[i] = end
            if w.ns:
                idle[i] += unused * samples[i].ns * (end - begin)
    out = place(samples, uses, price, cut)
    most = max([Fraction(0)] + [s.energy / s.ns for s in samples if s.ns])
    rest = moved - paid * over
    limits = [(out[i][k], most * c) for i, s in enumerate(samples) for k, (_, c) in enumerate(s.cpu)]
    if sum(max(0, o - l) for o, l in limits) + rest > NOTHING * sum(abs(w.energy) for w in windows):
        idle[-1] += level(samples, uses, price, most, rest, out)
    if not any(c > 0 for s in samples for _, c in s.cpu):
        idle = [s.energy for s in samples]
    return out, idle


def stretches(counts):
    """Beginnings of stretches: every STRETCH samples, and where a selection begins or ends."""
    return [i for i in range(len(counts)) if i % STRETCH == 0 or counts[i] != counts[i - 1]] + [len(counts)]


def others_around(samples, begin, end, cpus):
    """Others in the whole stretch around a part of it, which may be too short for the kernel's
    ticks; None if it is a whole stretch."""
    first = begin - begin % STRETCH
    whole, part = samples[first:first + STRETCH], samples[begin:end]
    if len(whole) == len(part):
        return None
    for s in whole:
        s.used = sum(Fraction(c) for _, c in s.cpu)
    others, uses = Others(whole, True, cpus), find_uses(part)
    others.sighted = are_sighted(part, uses)
    others.least = 32 * sum(s.ns for s in part) / len(part)
    return others


def spread(samples, cpus=0, counts=None, own=False):
    """The same as settle for all samples of a profile. COUNTS: which samples are selected, None:
    all."""
    return spread_once(tuple((s.ns, s.rate, s.energy, tuple(s.cpu), s.busy) for s in samples), cpus,
                       tuple(counts or [True] * len(samples)), own)


@functools.lru_cache(maxsize=64)
def spread_once(values, cpus, counts, own):
    """Cached, because tables with other keys divide the same energy again: callers must not change
    the result."""
    samples, out, idle = [Sample(ns, rate, energy, list(cpu), busy) for ns, rate, energy, cpu, busy in values], [], []
    if samples:
        first = samples[0]
        most = first.ns if first.ns or len(samples) == 1 else samples[1].ns
        first.cpu = [(t, min(c, most)) for t, c in first.cpu]
    borders = stretches(counts)
    for begin, end in zip(borders, borders[1:]):
        energies, unused = settle(samples[begin:end], cpus, others_around(samples, begin, end, cpus), own)
        out += energies
        idle += unused
    return out, idle


def ran(ns, threads, cpus):
    """CPU times where there are none: each thread ran, within the number of CPUs."""
    each = ns * Fraction(cpus, len(threads)) if cpus and len(threads) > cpus else ns
    return [(t, each) for t in threads]
