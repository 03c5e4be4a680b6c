#!/usr/bin/python3
"""How far attributed energy is from the truth: truth.py [--check] [--table NAME] [--seeds N] [--length S] [--runs N]

Simulates programs whose functions have known powers, integrates them exactly, records them as a sampler would (an energy
counter that is updated now and then, program counters at random moments), and prints for each model of energy the mean
error over the functions [%]: two functions, more of them with several threads, noise, jitter and lag; and how often the
95 % intervals contain the truth. --check exits with 1 where a model is beyond its limits.
SPDX-License-Identifier: MIT
"""
import argparse
import array
import bisect
import itertools
import json
import multiprocessing
import os
import random
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import make_pbin  # noqa: E402
import pbin  # noqa: E402

BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(HERE, "..", "..", "build")))
UPDATE = 1_000_000  # of the counter [ns]
MODELS = ("thread", "sample", "share", "fit")
BATCH = 4096  # samples
CHECKSUM = make_pbin.fast_checksum()


class Timeline:
    """Which function runs when: consecutive phases. All times in ns, energies in J."""

    def __init__(self, rng, powers, length, total, regular, order, offset):
        self.powers, self.starts, self.who, self.energy = powers, [], [], []
        self.truth = [0.0] * len(powers)
        t, joules, who = 0.0, 0.0, 0
        while t < total:
            stay = length * UPDATE * (1 if regular else rng.expovariate(1))
            if t == 0:
                stay *= offset
            stay = min(stay, total - t)
            self.starts.append(t)
            self.who.append(who)
            self.energy.append(joules)
            joules += powers[who] * stay / 1e9
            self.truth[who] += powers[who] * stay / 1e9
            t += stay
            who = (who + 1) % len(powers) if order == "turn" else rng.choice(
                [k for k in range(len(powers)) if k != who])
        self.total = total

    def at(self, t):
        return self.who[bisect.bisect_right(self.starts, t) - 1]

    def energy_until(self, t):
        i = bisect.bisect_right(self.starts, t) - 1
        return self.energy[i] + self.powers[self.who[i]] * (t - self.starts[i]) / 1e9


class Counter:
    """The energy that a counter shows; between its updates a straight line, as a sampler
    interpolates it, unless LEAPS."""

    def __init__(self, rng, threads, total, jitter=0.0, noise=0.0, lag=0.0, leaps=False):
        self.leaps = leaps
        self.times, self.joules = [0.0], [0.0]
        t, before = 0.0, 0.0
        while t < total:
            t = min(total, t + UPDATE * (1 + (rng.uniform(-jitter, jitter) if jitter else 0)))
            now = sum(line.energy_until(max(0, t - lag * UPDATE)) for line in threads)
            self.joules.append(self.joules[-1] + (now - before) * (1 + (rng.gauss(0, noise) if noise else 0)))
            self.times.append(t)
            before = now

    def until(self, t):
        i = min(bisect.bisect_right(self.times, t), len(self.times) - 1)
        a, b = self.times[i - 1], self.times[i]
        if self.leaps:
            return self.joules[i - 1 + (t >= b)]
        return self.joules[i - 1] + (self.joules[i] - self.joules[i - 1]) * (t - a) / (b - a)


def sample_intervals(rng, total, mean):
    out, t, rate = [], 0, 1 / mean
    while True:
        interval = max(1, round(rng.expovariate(rate)))
        t += interval
        if t > total:
            return out
        out.append(interval)


def columns(*values):
    """Columns of equally many samples or thread samples, at the full width, because packing takes
    longer than all the rest."""
    return b"".join(pbin.column_head(64, 0) + array.array("Q" if isinstance(v[0], int) else "d", v).tobytes() for v in values)


def profile(rng, lines, counter, mean):
    """The bytes of a pbin. Each thread runs all the time: its CPU time is the elapsed time."""
    intervals = sample_intervals(rng, lines[0].total, mean)
    times = list(itertools.accumulate(intervals))
    joules = [0.0] + [counter.until(t) for t in times]
    watts = [(after - before) / (ns / 1e9) for before, after, ns in zip(joules, joules[1:], intervals)]
    who = [[line.at(t) for t in times] for line in lines]
    count, threads = len(times), len(lines)
    w = pbin.Writer({"name": "truth", "target": "app", "pmu": pbin.POWER, "unit": "W", "cpus": threads, "cpu_time": 1,
                     "times": 1, "samples": count, "wall_ns": times[-1]}, CHECKSUM)
    w.put_threads([pbin.Thread(k + 1, 1, "app") for k in range(threads)])
    w.put_locations([pbin.Location(0x1000 + 16 * f, "app", [pbin.Frame(f"f{f}", f"f{f}", "", 0)])
                     for f in range(len(lines[0].powers))])
    for begin in range(0, count, BATCH):
        i = slice(begin, min(begin + BATCH, count))
        size = len(intervals[i])
        w.block("SMPL", struct.pack("<II", size, size * threads) +
                columns(intervals[i], watts[i], [threads] * size, list(range(threads)) * size,
                        [f for at in zip(*(row[i] for row in who)) for f in at],
                        [ns for ns in intervals[i] for _ in range(threads)]))
    w.counts["samples"], w.counts["entries"] = count, count * threads
    return w.finish()


def attributed(path, model, *options):
    ended = subprocess.run([os.path.join(BUILD, "pbin-aggregate"), "-q", "--ci", "--energy-model", model, "--format", "json", *options,
                            path], check=True, stdout=subprocess.PIPE)
    return {row["function"]: row for row in json.loads(ended.stdout)["rows"]}


def simulate(rng, powers, length, mean, regular, seconds, offset, threads=1, order="turn", models=MODELS, options=(),
             **sensor):
    """The true energy of each function, and the rows of each model."""
    total = int(seconds * 1e9)
    lines = [Timeline(rng, powers, length, total, regular, order, offset if k == 0 else rng.random())
             for k in range(threads)]
    truth = [sum(line.truth[f] for line in lines) for f in range(len(powers))]
    made = profile(rng, lines, Counter(rng, lines, total, **sensor), mean)
    with tempfile.NamedTemporaryFile(suffix=".pbin") as file:
        file.write(made)
        file.flush()
        return truth, {model: attributed(file.name, model, *options) for model in models}


def energy(rows, function):
    return rows[f"f{function}"]["energy"] if f"f{function}" in rows else 0


def errors(*how, **more):
    """Mean error over the functions [%], for each model."""
    truth, got = simulate(*how, **more)
    return {model: sum(100 * abs(energy(rows, f) / t - 1) for f, t in enumerate(truth)) / len(truth)
            for model, rows in got.items()}


# Two functions that alternate, 10 and 30 W: PCs per window, length of a phase in windows, regular, limits of the default model and the fit [%].
PAIR = [(10, 100, True, None, 0.5), (10, 10, True, 5, 0.5), (10, 3, True, 15, 2), (10, 1, False, 30, 2),
        (10, 0.3, False, 50, 8), (1, 100, True, 1.3, None), (1, 10, True, None, None)]
# A counter that is read with every PC, and one whose readings have times of their own.
SENSORS = {"leaps": True, "lines": False}

# Functions of 5 to 40 W in random order, ten PCs a window, 1 % noise, updates that come up to 20 % early or late:
# how many, threads, length of a phase in windows, regular, lag in windows, limit of the fit [%].
WIDE = [(2, 1, 100, True, 0, 0.5), (2, 1, 10, False, 0, 0.5), (2, 4, 10, False, 0, 0.5), (2, 1, 1, False, 0, 2),
        (2, 4, 1, False, 0, 2), (2, 1, 0.3, False, 0, 8), (2, 1, 0.1, False, 0, None),
        (5, 1, 10, True, 0, 0.5), (5, 1, 10, False, 0, 0.5), (5, 4, 10, False, 0, 0.5), (5, 1, 1, False, 0, 2),
        (5, 4, 1, False, 0, 2), (5, 1, 0.3, False, 0, 8), (20, 1, 10, False, 0, 0.5), (20, 4, 10, False, 0, 0.5),
        (20, 1, 1, False, 0, 2), (20, 4, 1, False, 0, 2), (20, 1, 0.3, False, 0, 8)]
# The same with the lag of the sensor unknown, given, or found by --sensor-lag=auto.
LAGS = [(5, 1, 10, False, lag, how, None if how == "unknown" else 0.5) for lag in (0.5, 1, 2) for how in ("unknown", "given", "auto")]
LAGS += [(5, 1, 100, False, 1, "auto", 0.5), (5, 1, 1, False, 1.3, "auto", 2), (5, 4, 1, False, 0.7, "auto", 2),
         (5, 1, 0.3, False, 1, "auto", 8), (5, 1, 10, False, 0, "auto", 0.5)]


def powers_of(count):
    return [10, 30] if count == 2 else [5 + 35 * f / (count - 1) for f in range(count)]


def seed_of(*what):
    return random.Random(" ".join(map(str, what)))


def offset_of(seed, seeds, length, regular):
    """The phases of each run begin at a different moment of a window."""
    return (seed + 0.5) / seeds / max(1, length) if regular else 1


def run_pair(run):
    """Errors of one run of two functions."""
    seed, seeds, pcs, length, regular, leaps, seconds = run
    return errors(seed_of(seed, pcs, length), [10, 30], length, UPDATE / pcs, regular, seconds * max(1, length / 10),
                  offset_of(seed, seeds, length, regular), leaps=leaps)


def mean_of(runs):
    """The mean of each model over runs, and the standard error of the fit."""
    mean = {m: sum(r[m] for r in runs) / len(runs) for m in runs[0]}
    squares = sum((r["fit"] - mean["fit"]) ** 2 for r in runs)
    return mean, (squares / max(1, len(runs) - 1) / len(runs)) ** 0.5


def row(o, pcs, length, regular, leaps):
    return mean_of(o.map(run_pair, [(seed, o.seeds, pcs, length, regular, leaps, o.length) for seed in range(o.seeds)]))


def share_exactly(line):
    """The mean error [%] if each window of the sensor is divided by the CPU times that were really
    used in it."""
    got = [0.0] * len(line.powers)
    begin, i = 0.0, 0
    while begin < line.total:
        end = min(begin + UPDATE, line.total)
        used = [0.0] * len(got)
        while True:
            stop = line.starts[i + 1] if i + 1 < len(line.starts) else line.total
            used[line.who[i]] += min(stop, end) - max(line.starts[i], begin)
            if stop > end or i + 1 == len(line.starts):
                break
            i += 1
        joules = line.energy_until(end) - line.energy_until(begin)
        for k, ns in enumerate(used):
            got[k] += joules * ns / (end - begin)
        begin = end
    return sum(100 * abs(g / t - 1) for g, t in zip(got, line.truth)) / len(got)


def floor(pcs, length, regular, seeds, seconds):
    """The lower limit for models that share windows by CPU time: the programs of row()."""
    total = int(seconds * max(1, length / 10) * 1e9)
    return sum(share_exactly(Timeline(seed_of(seed, pcs, length), [10, 30], length, total, regular, "turn",
                                      offset_of(seed, seeds, length, regular))) for seed in range(seeds)) / seeds


class Limits:
    """Counts values that exceed their limits."""

    def __init__(self, check, slack):
        self.slack, self.wrong = slack if check else 1, 0

    def text(self, found, limit):
        bad = limit is not None and found > limit * self.slack
        self.wrong += bad
        return f"{'' if limit is None else limit:>9}" + (" beyond it" if bad else "")


def print_pairs(o, limits):
    print(f"{'sensor':8}{'PCs a window':>14}{'L [windows]':>13}  {'':10}" + "".join(f"{m + ' [%]':>12}" for m in MODELS) +
          f"{'floor':>15}   limits [%] of share and fit")
    for name, leaps in SENSORS.items():
        for pcs, length, regular, limit, limit_fit in PAIR:
            mean, error = row(o, pcs, length, regular, leaps)
            print(f"{name:8}{pcs:>14}{length:>13}  {'' if regular else 'irregular':10}" +
                  "".join(f"{mean[m]:>12.2f}" for m in MODELS) + f" +-{error:.2f}" + f"{floor(pcs, length, regular, o.seeds, o.length):>8.2f}" +
                  limits.text(mean["share"], limit) +
                  limits.text(mean["fit"], limit_fit), flush=True)


def run_wide(run):
    """Errors of one run of several functions."""
    seed, count, threads, length, regular, lag, how, leaps, seconds = run
    value = {"unknown": 0, "given": lag * UPDATE / 1e9, "auto": "auto"}[how]
    return errors(seed_of(seed, count, threads, length, lag), powers_of(count), length, UPDATE / 10, regular,
                  seconds * max(1, length / 10) * max(1, count / 5), 1, threads, "any", ("share", "fit"), leaps=leaps,
                  jitter=0.2, noise=0.01, lag=lag, options=("--sensor-lag", str(value)))


def print_wide(o, limits):
    print(f"\n{'sensor':8}{'functions':>10}{'threads':>9}{'L [windows]':>13}  {'':10}{'lag':>5}{'':9}{'share [%]':>12}{'fit [%]':>10}"
          "    limit")
    cases = [(*case[:5], "unknown", case[5]) for case in WIDE] + LAGS
    for name, leaps in SENSORS.items():
        for count, threads, length, regular, lag, how, limit in cases:
            runs = o.map(run_wide, [(seed, count, threads, length, regular, lag, how, leaps, o.length) for seed in range(o.seeds)])
            mean, error = mean_of(runs)
            print(f"{name:8}{count:>10}{threads:>9}{length:>13}  {'' if regular else 'irregular':10}{lag:>5} {how if lag or how == 'auto' else '':8}"
                  f"{mean['share']:>12.2f}{mean['fit']:>10.2f} +-{error:.2f}" + limits.text(mean["fit"], limit), flush=True)


# Functions, threads, PCs per window, length of a phase in windows: of the runs whose intervals are
# checked.
COVERED = [(2, 1, 10, 100), (2, 1, 10, 10), (2, 1, 10, 1), (2, 1, 10, 0.3), (5, 1, 10, 10), (5, 1, 10, 1), (5, 4, 10, 3),
           (20, 1, 10, 3), (2, 1, 1, 10), (5, 1, 1, 30)]
# Value, its interval, and model: times are the same in all models, and energies of the models
# thread and sample have no intervals.
INTERVALS = {"time": ("time", "time_ci_approx", "share"), "share": ("energy", "energy_ci_approx", "share"),
             "fit": ("energy", "fit_ci95", "fit")}
LEAST_INSIDE = 91  # of the intervals of all lines [%]


def cover(run):
    """For each function and model: whether the interval contains the truth, and the half width
    relative to the truth; None: no interval."""
    seed, count, threads, pcs, length, leaps = run
    powers = powers_of(count)
    truth, got = simulate(seed_of("cover", seed, count, threads, length), powers, length, UPDATE / pcs,
                          False, 1, 1, threads, "any", ("share", "fit"), leaps=leaps, jitter=0.2, noise=0.01)
    found = {name: [] for name in INTERVALS}
    for name, (value, interval, model) in INTERVALS.items():
        for f, joules in enumerate(truth):
            true = joules / (powers[f] if value == "time" else 1)
            row_ = got[model].get(f"f{f}", {})
            half = row_.get(interval)
            if true > 0 and row_:
                found[name].append(None if half is None else (abs(row_[value] - true) <= half, half / true))
    return found


def covered(runs, name):
    """Percentage of intervals that contain the truth, its standard error (the functions of a run
    are not independent), mean half width [%], percentage of rows that have an interval."""
    rows = [r for run in runs for r in run[name]]
    known = [r for r in rows if r is not None]
    if not known:
        return None
    share = sum(inside for inside, _ in known) / len(known)
    off = [sum(r[0] - share for r in run[name] if r is not None) for run in runs]
    return (100 * share, 100 * sum(x * x for x in off) ** 0.5 / len(known), 100 * sum(width for _, width in known) / len(known),
            100 * len(known) / len(rows))


def print_coverage(o, limits):
    """Short runs, 1 % noise and updates that are early or late: how often the truth is in the 95 % interval."""
    print("\nintervals with the truth +-standard error (half width; rows with an interval) [%]")
    print(f"{'sensor':7}{'functions':>10}{'threads':>8}{'PCs':>5}{'L':>5}{'runs':>6}" + "".join(f"{name:>27}" for name in INTERVALS))
    all_runs = []
    for name, leaps in SENSORS.items():
        for count, threads, pcs, length in COVERED:
            runs = o.map(cover, [(seed, count, threads, pcs, length, leaps) for seed in range(o.runs)])
            cells = [covered(runs, model) for model in INTERVALS]
            print(f"{name:7}{count:>10}{threads:>8}{pcs:>5}{length:>5}{o.runs:>6}" +
                  "".join(f"{'none':>27}" if c is None else f"{c[0]:>8.1f} +-{c[1]:<4.1f}({c[2]:5.2f};{c[3]:4.0f})" for c in cells),
                  flush=True)
            all_runs += runs
    for model in INTERVALS:
        inside = covered(all_runs, model)[0]
        print(f"{model}: {inside:.1f} % of all intervals contain the truth" + limits.text(LEAST_INSIDE - inside, 0))


TABLES = {"pairs": print_pairs, "wide": print_wide, "coverage": print_coverage}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--table", choices=TABLES, action="append", help="only this one (repeatable)")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--runs", type=int, default=100, help="of each line of the coverage")
    parser.add_argument("--length", type=float, default=4, help="of a run [s]; longer where phases are, or more functions")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="simulations at a time")
    o = parser.parse_args()
    # short runs have random errors of their own
    limits = Limits(o.check, 1 + 0.1 * (4 / o.length / o.seeds) ** 0.5 * 8 ** 0.5)
    with multiprocessing.Pool(o.jobs) as pool:
        o.map = pool.map
        for name in o.table or TABLES:
            TABLES[name](o, limits)
    return 1 if limits.wrong and o.check else 0


if __name__ == "__main__":
    sys.exit(main())
