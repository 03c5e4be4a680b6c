"""The CPU time represented by each record, written only from prof2pbin.1 and raw.5, as simply as
possible.

SPDX-License-Identifier: MIT
"""
import math

from rawprofile import ASLEEP, EXEC, RAN, TOTAL

WINDOW = 16
POOL, POOL_AGED = 64, 256
EDGE_WINDOW, FEW_LOOKS, LITTLE = 8, 2, 0.125
SHORT, SHORT_AGED = 16, 64
STRATUM, ROUNDS = 8, 8
BURST_POOL, POOL_BURSTS, LEAST_BURSTS, LEAST_BURST, LATEST_WAKE, WHOLE = 256, 16, 8, 1_000_000, 50_000, 1 << 32
FEW = 50  # one sighting in this many may be later than the others
GAP_WANTED, GAP_MEAN, GAP_LEAST = 20, 8, 50_000_000


def by_start(items, key):
    """The ITEMS of each KEY, ordered by start, and by their order in the file if starts are
    equal."""
    groups = {}
    for item in sorted(items, key=lambda x: x.start):
        groups.setdefault(key(item), []).append(item)
    return groups


def last_started(ordered, time):
    """The last of ORDERED with start <= TIME, else the first; None if ORDERED is empty."""
    started = [x for x in ordered if x.start <= time]
    return started[-1] if started else ordered[0] if ordered else None


class Thread:
    def __init__(self):
        self.records = []   # [time, flags, used, cumulative, where, used before a sample without threads or None]
        self.task = self.image = None


def before_edge(thread, record, before, passed, used):
    """The part of USED before the edge: a thread that ran and now waits ran first, one that waited and now runs, last."""
    ran = record.flags & (RAN | TOTAL) == RAN
    ran_before = thread.records[-1][1] & (RAN | TOTAL) == RAN
    if ran == ran_before:
        return used * before // max(1, passed)
    return used - min(used, passed - before) if ran else min(used, before)


def split_threads(run, times, ext):
    """Threads in order of appearance, with their records; WHERE is (sample, seat)."""
    threads, current, now, edge, at_edge = [], {}, 0, -1, False
    tasks, images = by_start(ext.tasks, lambda t: t.tid), by_start(ext.images, lambda i: i.pid)
    for number, sample in enumerate(run.samples):
        now = max(now, times[number])
        edge = now if not sample.threads and not at_edge else edge
        at_edge = not sample.threads
        for seat, record in enumerate(sample.threads):
            thread = current.get(record.tid)
            task = last_started(tasks.get(record.tid, []), now)
            image = last_started(images.get(task.pid, []) if task else [], now)
            if thread is not None:
                last = thread.records[-1]
                began = task is not thread.task and (task.pid != thread.task.pid or last[1] & TOTAL)
                if began or record.cpu_ns < last[3] and not record.flags & TOTAL:
                    thread = None
            if thread is None:
                thread = current[record.tid] = Thread()
                threads.append(thread)
            before, seen = (thread.records[-1][3], thread.records[-1][0]) if thread.records else (0, 0)
            used = max(0, record.cpu_ns - before)
            divided = thread.records and any(not s.threads for s in run.samples[thread.records[-1][4][0]:number])
            thread.records.append((now, record.flags, used, record.cpu_ns, (number, seat),
                                   before_edge(thread, record, edge - seen, now - seen, used) if divided else None))
            thread.task, thread.image = task, image
    return threads


def is_sighting(record):
    return record[1] & RAN and not record[1] & TOTAL


def least_gap(facts):
    wanted = float(facts.get("frequency", 0))
    reached = float(facts.get("reached", 0)) or wanted
    return max(GAP_LEAST, 1e9 * GAP_WANTED / wanted, 1e9 * GAP_MEAN / reached) if wanted else float("inf")


def stretches_exact(thread, gap):
    """Returns [[sightings, CPU time]]; sightings are (where, weight). Notes the beginnings of
    bursts, and the ages of sightings in them."""
    out, sightings, cpu, seen, in_gap, after_gap = [], [], 0, 0, False, 0
    thread.first, thread.begins, thread.ages, thread.alone, total = None, [], {}, set(), 0
    for record in thread.records:
        in_gap = in_gap or record[2] > int(gap) and record[0] - seen > int(gap) if gap < 1e30 else False
        seen = record[0]
        if record[5] is not None and len(sightings) >= EDGE_WINDOW:
            out.append([sightings, cpu + record[5]])
            sightings, cpu = [], -record[5]
        if in_gap and sightings:
            out.append([sightings, cpu])
            sightings, cpu = [], 0
        cpu += record[2]
        total += record[2]
        if record[1] & ASLEEP and not record[1] & RAN:
            if thread.first is None:
                thread.first = len(out) + 1 if sightings else len(out)
                thread.begins += [] if sightings else [total - cpu]
            thread.begins += [total] if total not in thread.begins[-1:] else []
        if is_sighting(record):
            if thread.first is not None and len(out) >= thread.first:
                if in_gap:
                    thread.alone.add(len(out))
                    thread.begins += [total] if total != thread.begins[-1] else []
                thread.ages[record[4]] = (thread.begins[-1], total - thread.begins[-1])
            sightings.append((record[4], 1))
            if len(sightings) == WINDOW or in_gap:
                out.append([sightings, cpu])
                sightings, cpu = [], 0
            after_gap = len(out) if in_gap else after_gap
            in_gap = False
    if sightings and after_gap and after_gap == len(out):
        return out + [[sightings, cpu]], 0
    return finish(out, sightings, cpu)


def stretches_nominal(thread):
    out, sightings, cpu, known = [], [], 0, 0
    for record in thread.records:
        if is_sighting(record):
            sightings.append((record[4], max(1, record[2])))
        if record[1] & TOTAL:
            cpu += max(0, record[3] - known)
            known = record[3]
            if sightings:
                out.append([sightings, cpu])
                sightings, cpu = [], 0
    return finish(out, sightings, cpu + max(0, thread.records[-1][3] - known))


def finish(out, sightings, cpu):
    if out:
        out[-1][0] += sightings
        out[-1][1] += cpu
        return out, 0
    return ([[sightings, cpu]], 0) if sightings else ([], cpu)


def process_of(image, ext):
    """The first image of a process: exec does not begin another process."""
    own = sorted((i for i in ext.images if i.pid == image.pid), key=lambda i: i.start)
    at = [id(i) for i in own].index(id(image))
    while at > 0 and own[at].how == EXEC:
        at -= 1
    return ("image", id(own[at]))


def levels(thread, ext, used):
    """The groups that THREAD belongs to. USED: CPU times of processes; those with at least
    LEAST_KNOWN keep theirs."""
    process = process_of(thread.image, ext) if thread.image else ("pid", thread.task.pid if thread.task else 0)
    name = thread.task.name if thread.task else ""
    if thread.task and thread.task.tid >> 30:  # all threads of the process that were never seen
        name = None
    alone = thread.image and used[process] >= LEAST_KNOWN
    program = process if alone else thread.image.path if thread.image else None
    return (process, name), process, (program, thread.image.how if thread.image and not alone else None), program


def divide(extra, parts):
    """Divides EXTRA in proportion to PARTS, or equally, rounded so that nothing is lost."""
    parts = parts if any(parts) else [1] * len(parts)
    whole, sum_, given, out = sum(parts), 0, 0, []
    for part in parts:
        sum_ += part
        due = extra * sum_ // whole
        out.append(due - given)
        given = due
    return out


def is_collective(thread):
    """Whether THREAD represents all threads of a process that were never found."""
    return thread.task is not None and thread.task.tid >> 30 != 0


def ages(thread):
    """The CPU time of THREAD at each of its sightings, and its total."""
    out, age = [], 0
    for record in thread.records:
        age += record[2]
        if is_sighting(record):
            out.append((age, record[4]))
    return out, age


def strata_of(sightings):
    """Divides the SIGHTINGS of a pool, in order of age, into strata: (sightings, end)."""
    wanted, out, at = max(1, len(sightings) // STRATUM), [], 0
    for i in range(1, wanted + 1):
        following = len(sightings) * i // wanted
        while at < following < len(sightings) and sightings[following][0] == sightings[following - 1][0]:
            following += 1
        if following > at:
            last = sightings[following - 1][0]
            end = last + (sightings[following][0] - last) // 2 if following < len(sightings) else None
            out.append((sightings[at:following], end))
            at = following
    return out


def overlaps(strata, life):
    """The part of a LIFE in each of STRATA."""
    begin, out = 0, []
    for _, end in strata:
        end = life if end is None else min(end, life)
        out.append(max(0, end - begin))
        begin = max(begin, end)
    return out


def stood_for(strata, lives):
    """By stratum, in any unit: the CPU time of all threads that sightings in threads of LIVES
    represent."""
    seen = [1.0] * len(strata)
    for _ in range(ROUNDS):
        sums = [0.0] * len(strata)
        for life in lives:
            own = overlaps(strata, life)
            whole = 0.0
            for e, part in zip(seen, own):
                whole += e * part
            for i, part in enumerate(own if whole else []):
                sums[i] += part / whole
        seen = [len(s[0]) / one if one else e for s, one, e in zip(strata, sums, seen)]
    return sums


def unseen(order):
    """How long before their end threads are not seen, from sightings in ORDER: [(age, ..., life)]."""
    left, density = sorted(life - age for age, *_, life in order), 0.0
    for *_, life in order:
        density += 1 / life if life else 0.0
    few = len(order) // FEW
    later = (few + 1) / density if density else 0.0
    return left[few] - int(later) if left and left[few] > later else 0


def seen_lives(pool):
    """The part of the life of each thread of POOL in which it is seen."""
    lives = [ages(t)[1] for t in pool]
    end = unseen([(age, life) for t, life in zip(pool, lives) for age, _ in ages(t)[0]])
    return [life - min(end, life // 2) for life in lives]


def represented(pool, seen, lives, cpu):
    """Divides CPU, the time of the POOL, among the threads that were SEEN: by CPU time, and by how often chance sees threads of
    their LIVES."""
    sightings, mean, whole, parts = sum(len(ages(t)[0]) for t in seen), 0.0, 0.0, []
    for life in lives:
        mean += life / sightings
    for t, life in zip(pool, lives):
        if any(t is other for other in seen):
            chance = -math.expm1(-life / mean) if mean else 0
            parts.append(t.total / chance if chance > 0 else 0)
            whole += parts[-1]
    return [int(cpu * (part / whole)) if part else 0 for part in parts]


def stratum_times(strata, pool, lives, cpu, complete):
    """Divides CPU, the time of the POOL, among strata."""
    order = sorted((age, number, k, life) for number, (t, life) in enumerate(zip(pool, lives)) for k, (age, _) in enumerate(ages(t)[0]))
    known = [sum(x) for x in zip(*(overlaps(strata, life) for life in lives))]
    sums = [0.0] * len(strata) if complete else stood_for(strata, [o[3] for o in order])
    whole = 0.0
    for one in sums:
        whole += one
    missing = [max(cpu * one / whole - k, 0.0) if whole else 0.0 for one, k in zip(sums, known)]
    lacking = 0.0
    for one in missing:
        lacking += one
    base, due, so_far = cpu if cpu < sum(known) or not lacking else sum(known), [], 0.0
    for i, one in enumerate(missing):
        so_far += one
        due.append(base * sum(known[:i + 1]) // sum(known) if any(known) else 0)
        if base < cpu:
            due[-1] = min(cpu, due[-1] + int((cpu - base) * (so_far / lacking)))
    due[-1] = cpu
    return [after - before for before, after in zip([0] + due, due)]


def by_age(pool, seen, cpu, complete):
    """Divides CPU among the sightings of the threads SEEN of POOL."""
    sightings, lives = sorted((age, number, k) for number, t in enumerate(seen) for k, (age, _) in enumerate(ages(t)[0])), seen_lives(pool)
    strata = strata_of(sightings)
    times, weights = stratum_times(strata, pool, lives, cpu, complete), {s[1:]: 0 for s in sightings}
    totals = [t.total for t in seen] if complete else represented(pool, seen, lives, cpu)
    for turn in range(ROUNDS):
        for (own, _), time in zip(strata, times):
            weights.update(zip([s[1:] for s in own], divide(time, [weights[s[1:]] for s in own])))
        for number, t in enumerate(seen if complete or turn < ROUNDS - 1 else []):
            keys = [(number, k) for k in range(len(ages(t)[0]))]
            weights.update(zip(keys, divide(totals[number], [weights[key] for key in keys])))
    for number, t in enumerate(seen):
        t.stretches = [[[(where, 1)], weights[number, k]] for k, (_, where) in enumerate(ages(t)[0])]
        t.total = sum(s[1] for s in t.stretches)


def sums_of(values):
    out = [0]
    for value in values:
        out.append(out[-1] + value)
    return out[1:]


def within(begin, end, length, strata):
    """The part of the time from BEGIN to END in a burst of LENGTH that is in each of STRATA."""
    out, low = [], begin
    for _, high in strata:
        high = min(end, end if high is None else length * high // WHOLE)
        out.append(max(0, high - low))
        low = max(low, high)
    return out


def burst_times(thread, stretches, begin, end):
    """{where: CPU time} of each sighting of STRETCHES, which the thread used from BEGIN to END of
    its CPU time; or None."""
    ends = thread.begins[1:] + [thread.ends[-1]]
    bursts = [(b, e) for b, e in zip(thread.begins, ends) if b < end and e > begin]
    if len(bursts) < LEAST_BURSTS or (end - begin) // len(bursts) < LEAST_BURST:
        return None
    order = [where for sightings, _ in stretches for where, _ in sightings]
    later = (end - begin) // (1 + sum(begin < b <= end for b in thread.begins)) // (len(order) + 1)
    wake = max(0, min([LATEST_WAKE, *(thread.ages[where][1] - later for where in order)]))
    length = dict(zip(thread.begins, [e - b for b, e in zip(thread.begins, thread.begins[1:] + [thread.ends[-1]])]))
    passed = {where: WHOLE * thread.ages[where][1] // (length[thread.ages[where][0]] or 1) for where in order}
    strata = strata_of(sorted((passed[where], number, where) for number, where in enumerate(order)))
    known, times = [0] * len(strata), {where: 0 for where in order}
    for b, e in bursts:
        parts = within(max(b + wake, begin) - b, min(e, end) - b, length[b], strata)
        known = [k + part for k, part in zip(known, parts)]
    for _ in range(ROUNDS):
        for (own, _), time in zip(strata, known):
            times.update(zip([s[2] for s in own], divide(time, [times[s[2]] for s in own])))
        for own, time in stretches:
            times.update(zip([s[0] for s in own], divide(time, [times[s[0]] for s in own])))
    return times


def by_bursts(thread, ends):
    """Divides the CPU time of THREAD, whose stretches ended at ENDS of its measured CPU time, by
    the ages of sightings in bursts."""
    if thread.first is None or len(thread.begins) < LEAST_BURSTS:
        return
    out, at = thread.stretches[:thread.first], thread.first
    while at < len(thread.stretches):
        stop = min([i for i in thread.alone if i >= at], default=len(thread.stretches))
        part, number = thread.stretches[at:stop], sum(len(s[0]) for s in thread.stretches[at:stop])
        begin = ends[at - 1] if at else 0
        began = sum(begin < b <= ends[stop - 1] for b in thread.begins) if part else 0
        pools, passed = max(1, min(number // BURST_POOL, began // POOL_BURSTS)), 0
        for i in range(1, pools + 1):
            own = []
            while at < stop and (i == pools or passed < number * i // pools):
                own.append(thread.stretches[at])
                passed += len(own[-1][0])
                at += 1
            times = burst_times(thread, own, begin, ends[at - 1]) if own else None
            out += [[[(where, 1)], time] for where, time in times.items()] if times else own
            begin = ends[at - 1] if own else begin
        out += thread.stretches[stop:stop + 1]
        at = stop + 1
    thread.stretches = out


def pools(group, short, size):
    """The short threads and those not seen, in their order: at least SIZE samples in each pool."""
    samples, out = 0, []
    for t in group:
        if t in short or t.orphan and not is_collective(t):
            while len(out) <= samples // size:
                out.append([])
            out[samples // size].append(t)
            samples += sum(len(s[0]) for s in t.stretches)
    full = max(1, samples // size)
    return out[:full - 1] + [sum(out[full - 1:], [])]


def equally(whole, threads, own):
    for left in range(len(threads), 0, -1):
        part = whole // left
        own[id(threads[-left])] += part
        whole -= part


def lacking(threads, ext):
    """The threads that lack missing CPU time: all but the first thread of the program, whose CPU
    time is exact."""
    first = ext.images[0].pid if ext.images else None
    return [t for t in threads if not (t.task and t.task.tid == t.task.pid == first)] or threads


def reduce(threads, whole):
    for t, left in zip(threads, divide(whole, [t.total + t.orphan for t in threads])):
        if t.stretches:
            t.total = left
            for stretch, part in zip(t.stretches, divide(left, [s[1] for s in t.stretches]) if left else [0] * len(t.stretches)):
                stretch[1] = part
        else:
            t.orphan = left


TICK = 4_000_000  # ns
LEAST_KNOWN = 10_000_000  # ns: processes with less CPU time are divided together


def kernel_times(threads, ext, nominal):
    """Gives threads the time that the kernel counted. Returns the unsampled time of each thread, by
    id."""
    own, recorded, rest = {id(t): 0 for t in threads}, {}, int(ext.facts.get("cpu_ns", 0))
    for pid in {image.pid for image in ext.images} if nominal else ():
        processes = []
        for image in sorted((i for i in ext.images if i.pid == pid), key=lambda i: i.start):
            if process_of(image, ext) not in processes:
                processes.append(process_of(image, ext))
        records = [user + system for p, user, system in ext.cpus if p == pid]
        if len(records) == len(processes):
            recorded.update((p, r) for p, r in zip(processes, records) if r >= LEAST_KNOWN)
    of = lambda process: [t for t in threads if t.image and process_of(t.image, ext) == process]
    counted = {process: sum(t.total + t.orphan for t in of(process)) for process in recorded}
    late = {}  # a tick of each thread may not have been counted
    for process in list(recorded):
        if recorded[process] < counted[process]:
            late[process] = sum(min(TICK, t.total + t.orphan) for t in of(process))
            if recorded[process] + late[process] >= counted[process]:
                del recorded[process], late[process]
    known = sum(recorded.values()) + sum(t.total + t.orphan for t in threads
                                         if not t.image or process_of(t.image, ext) not in recorded)
    left = min(sum(late.values()), max(0, rest - known)) if rest else sum(late.values())
    for process in late:
        recorded[process] += late[process] * left // sum(late.values())
    for process, kernel in recorded.items():
        if kernel < counted[process]:
            reduce(of(process), kernel)
        else:
            equally(kernel - counted[process], lacking(of(process), ext), own)
    others = [t for t in threads if not t.image or process_of(t.image, ext) not in recorded]
    counted = sum(t.total + t.orphan for t in others)
    if rest:
        rest = max(0, rest - sum(recorded.values()))
        if rest >= counted:
            equally(rest - counted, lacking(others or threads, ext), own)
        elif nominal and len({i.pid for i in ext.images}) == 1:  # perf events may count more
            reduce(others, rest)
    return own


def settle(active, little, last=False):
    """Ends a window of the sensor for the ACTIVE threads. Returns those that are active in the next one."""
    for t in active:
        if t.closed:
            sightings, cpu = t.closed.pop()
            t.open = [sightings + t.open[0], cpu + t.open[1]]
    pool = [t for t in active if len(t.open[0]) < FEW_LOOKS]
    looks, cpu = sum(len(t.open[0]) for t in pool), sum(t.open[1] for t in pool)
    while looks < FEW_LOOKS and looks + cpu and len(pool) < len(active):
        more = min((t for t in active if t not in pool), key=lambda t: len(t.open[0]))
        pool = [t for t in active if t in pool or t is more]
        looks, cpu = looks + len(more.open[0]), cpu + more.open[1]
    ends = last or looks >= FEW_LOOKS or looks + cpu == 0
    if ends:
        shares = divide(cpu, [len(t.open[0]) for t in pool]) if looks else [0] * len(pool)
        for t, share in zip(pool, shares):
            t.open[1] = share
    joined = not ends and not (looks == 0 and cpu <= little)
    for t in active:
        if ends:
            t.closed += [t.open] if t.open[0] else []
            t.open = [[], 0]
        if not joined:
            t.windows += t.closed
            t.closed = []
        t.open = [t.open[0] + t.next[0], t.open[1] + t.next[1]]
        t.next = [[], 0]
    return active if joined else [t for t in active if t.open[0] or t.open[1]]


def by_windows(threads, run, ext):
    """Sets WINDOWS of each thread: the same as its stretches, but the CPU time of each window of the sensor is
    divided among the sightings in it."""
    records = {}
    for t in threads:
        t.windows, t.closed, t.open, t.next = [], [], [[], 0], [[], 0]
        for record in t.records:
            records.setdefault(record[4][0], []).append((record[4][1], t, record))
    rate = float(ext.facts.get("frequency", 0))
    little = int(LITTLE * 1e9 / rate) if rate > 1 else 0
    active, ends = [], False
    for number, sample in enumerate(run.samples):
        for _, t, record in sorted(records.get(number, []), key=lambda r: r[0]):
            if not any(t is other for other in active):
                active.append(t)
            before = record[5] or 0
            t.open[1] += before
            to = t.next if ends else t.open
            to[0] += [record[4]] if is_sighting(record) else []
            to[1] += record[2] - before
            if len(t.open[0]) == WINDOW and not ends:
                t.closed.append(t.open)
                t.open = [[], 0]
        if sample.threads and ends:
            active = settle(active, little)
        ends = not sample.threads
    settle(active, little, last=True)
    for t in threads:
        counted = sum(s[1] for s in t.counted)
        t.windows = [[[(where, 1) for where in sightings], cpu * t.total // counted if counted else cpu]
                     for sightings, cpu in t.windows]


def between_marks(threads, times, marks):
    """Sets WINDOWS of each thread: the CPU time between two marks belongs to the sightings in between, in proportion to
    their nominal CPU times. Without sightings, it belongs to those after the second mark."""
    seen, known, latest = [], 0, 0
    for t in threads:
        t.windows = []
        seen += [(record[4], t, max(1, record[2])) for record in t.records if is_sighting(record)]
    seen.sort(key=lambda s: s[0])
    for time, cpu in marks + [(None, None)]:
        own, whole = {}, 0
        while seen and (time is None or max(latest, times[seen[0][0][0]]) <= time):
            where, t, weight = seen.pop(0)
            latest = max(latest, times[where[0]])
            own.setdefault(id(t), (t, []))[1].append((where, weight))
            whole += weight
        if not whole:
            continue
        weights = [sum(w for _, w in sightings) for _, sightings in own.values()]
        for (t, sightings), share in zip(own.values(), divide(whole if time is None else cpu - known, weights)):
            t.windows.append([sightings, share])
        known = cpu


def is_short(thread, level, nominal, rate):
    """Whether the sightings of THREAD are few: by its CPU time if that is nominal, since chance decides how many there are."""
    if nominal:
        return len(thread.records) <= POOL and (not rate or sum(s[1] for s in thread.counted) <= int(SHORT * 1e9 / rate))
    return len(thread.records) <= (SHORT if level in (1, 3) else SHORT_AGED)


def give(group, level, nominal, rate, crowds):
    """Divides the CPU time without sightings of the threads of GROUP, at LEVEL, among those with sightings. CROWDS: also if there
    is none, but many short threads."""
    extra, givers = sum(t.orphan for t in group), [t for t in group if t.stretches]
    short = [t for t in givers if is_short(t, level, nominal, rate)]
    samples = sum(len(s[0]) for t in short for s in t.stretches)
    crowd = crowds and samples >= POOL
    if not (extra or crowd) or not givers:
        return
    own_pools = pools(group, short, POOL if nominal else POOL_AGED) if short else []
    members = [[t for t in pool if t in short] for pool in own_pools]
    collective = sum(t.orphan for t in group if is_collective(t))
    more_of = divide(collective, [sum(len(s[0]) for t in seen for s in t.stretches) for seen in members])
    for pool, seen, more_ns in zip(own_pools, members, more_of):
        cpu = sum(t.total + t.orphan for t in pool) + more_ns
        if not nominal:
            by_age(pool, seen, cpu, not extra)
            continue
        counts = [sum(len(s[0]) for s in t.stretches) for t in seen]
        for t, share in zip(seen, divide(cpu, counts)):
            t.total = share
            t.stretches = [[[(where, 1) for s in t.stretches for where, _ in s[0]], share]]
    others = [] if short else givers
    for t, share in zip(others, divide(extra, [t.total for t in others])):
        own = [s[1] for s in t.stretches]
        if not any(own):
            own = [sum(w for _, w in s[0]) for s in t.stretches]
        for stretch, part in zip(t.stretches, divide(share, own)):
            stretch[1] += part
    for t in group:
        t.orphan = 0


def weigh(run, times, ext, equal=False):
    """({(sample, seat): CPU time}, {(sample, seat): unsampled CPU time}). EQUAL: those for least squares."""
    nominal = ext.facts.get("engine") == "perf"
    threads = split_threads(run, times, ext)
    for t in threads:
        t.stretches, t.orphan = stretches_nominal(t) if nominal else stretches_exact(t, least_gap(ext.facts))
        t.total = sum(s[1] for s in t.stretches)
        t.ends = sums_of(s[1] for s in t.stretches)
        t.counted = [list(s) for s in t.stretches] + [[None, t.orphan]]
    more = kernel_times(threads, ext, nominal)
    windows = equal and (bool(ext.marks) if nominal else not all(s.threads for s in run.samples))
    if windows and nominal:
        between_marks(threads, times, ext.marks)
    elif windows:
        for t in threads:
            t.total_before, t.total = t.total, t.total + t.orphan
        by_windows(threads, run, ext)
        for t in threads:
            t.total = t.total_before
    rate = float(ext.facts.get("reached", 0)) or float(ext.facts.get("frequency", 0))
    for t in threads:  # more than chance explains, but no total of unseen threads of a process
        t.missed = t.orphan if rate and t.orphan * rate > 64e9 and not (t.task and t.task.tid >> 30) else 0
        t.orphan -= t.missed
    used = {}
    for t in threads:
        if t.image:
            process = process_of(t.image, ext)
            used[process] = used.get(process, 0) + t.total + t.orphan + t.missed + more[id(t)]
    for level in range(4):
        groups = {}
        for t in threads:
            groups.setdefault(levels(t, ext, used)[level], []).append(t)
        for group in groups.values():
            crowds = level == 0 or (level == 2 and group[0].image and
                                    used[process_of(group[0].image, ext)] < LEAST_KNOWN)
            give(group, level, nominal, rate, crowds)
    for t in threads:
        if not nominal and not equal and len(t.records) > SHORT_AGED:
            by_bursts(t, t.ends)
    times_of = {where: share for t in threads for sightings, cpu in (t.windows if windows else t.stretches)
                for (where, _), share in zip(sightings, divide(cpu, [w for _, w in sightings]))}
    return times_of, {t.records[-1][4]: t.orphan + t.missed + more[id(t)] for t in threads
                      if t.orphan + t.missed + more[id(t)]}
