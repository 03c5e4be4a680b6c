#!/usr/bin/python3
"""How far attributed energy is from the truth: truth.py [--check] [--seeds N] [--length S]

Simulates programs whose functions have known powers, integrates them exactly, records them as a sampler would (an energy
counter that is updated now and then, program counters at random moments), and prints for each model of energy the mean
error over the functions [%]. --check exits with 1 where the default model is beyond its limits.
SPDX-License-Identifier: MIT
"""
import argparse
import bisect
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import pbin  # noqa: E402

BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(HERE, "..", "..", "build")))
UPDATE = 1_000_000  # of the counter [ns]
MODELS = ("thread", "sample", "share")


class Timeline:
    """Which function runs when: phases one after the other. All times in ns, energies in J."""

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
    """The energy that a counter has counted, a straight line between its updates, as a sampler takes it."""

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


def sample_times(rng, total, mean, random_moments=True):
    out, t = [], 0
    while True:
        t += max(1, round(rng.expovariate(1 / mean))) if random_moments else round(mean)
        if t > total:
            return out
        out.append(t)


def profile(rng, lines, counter, mean):
    """Each thread runs all the time: its CPU time is the time."""
    samples, last = [], 0
    for t in sample_times(rng, lines[0].total, mean):
        value = (counter.until(t) - counter.until(last)) / ((t - last) / 1e9)
        samples.append(pbin.Sample(t - last, value, [(k, line.at(t), t - last) for k, line in enumerate(lines)]))
        last = t
    count = len(lines[0].powers)
    return pbin.Profile({"name": "truth", "target": "app", "pmu": pbin.POWER, "unit": "W", "cpus": len(lines), "cpu_time": 1,
                         "times": 1, "samples": len(samples), "wall_ns": last},
                        [pbin.Thread(k + 1, 1, "app") for k in range(len(lines))],
                        [pbin.Location(0x1000 + 16 * f, "app", [pbin.Frame(f"f{f}", f"f{f}", "", 0)])
                         for f in range(count)], samples=samples)


def attributed(path, model):
    ended = subprocess.run([os.path.join(BUILD, "pbin-aggregate"), "-q", "--energy-model", model, "--format", "json", path],
                           check=True, stdout=subprocess.PIPE)
    return {row["function"]: row["energy"] for row in json.loads(ended.stdout)["rows"]}


def errors(rng, powers, length, mean, regular, seconds, offset, threads=1, order="turn", **sensor):
    """Mean error over the functions [%], for each model."""
    total = int(seconds * 1e9)
    lines = [Timeline(rng, powers, length, total, regular, order, offset) for _ in range(threads)]
    truth = [sum(line.truth[f] for line in lines) for f in range(len(powers))]
    made = profile(rng, lines, Counter(rng, lines, total, **sensor), mean)
    with tempfile.NamedTemporaryFile(suffix=".pbin") as file:
        file.write(pbin.write(made))
        file.flush()
        got = {model: attributed(file.name, model) for model in MODELS}
    return {model: sum(100 * abs(rows.get(f"f{f}", 0) / truth[f] - 1) for f in range(len(powers))) / len(powers)
            for model, rows in got.items()}


# Two functions that alternate, 10 and 30 W: PCs a window, L in windows, regular, limit of the default model [%].
PAIR = [(10, 100, True, None), (10, 10, True, 5), (10, 3, True, 15), (10, 1, False, 30), (10, 0.3, False, 50),
        (1, 100, True, 1.3), (1, 10, True, None)]
# A counter that is read with every PC, and one whose readings have times of their own.
SENSORS = {"leaps": True, "lines": False}


def row(pcs, length, regular, leaps, seeds, seconds):
    """Mean over runs whose phases begin at other moments of a window."""
    seconds *= max(1, length / 10)
    runs = [errors(random.Random(f"{seed} {pcs} {length}"), [10, 30], length, UPDATE / pcs, regular, seconds,
                   (seed + 0.5) / seeds / max(1, length) if regular else 1, leaps=leaps) for seed in range(seeds)]
    return {m: sum(r[m] for r in runs) / len(runs) for m in runs[0]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--length", type=float, default=4, help="of a run [s]; longer where phases are")
    o = parser.parse_args()
    slack = 1 + 0.1 * (4 / o.length / o.seeds) ** 0.5 * 8 ** 0.5  # short runs have chance errors of their own
    wrong = 0
    print(f"{'sensor':8}{'PCs a window':>14}{'L [windows]':>13}  {'':10}" + "".join(f"{m + ' [%]':>12}" for m in MODELS) +
          f"{'limit [%]':>11}")
    for name, leaps in SENSORS.items():
        for pcs, length, regular, limit in PAIR:
            mean = row(pcs, length, regular, leaps, o.seeds, o.length)
            bad = limit is not None and mean["share"] > limit * (slack if o.check else 1)
            wrong += bad
            print(f"{name:8}{pcs:>14}{length:>13}  {'' if regular else 'irregular':10}" +
                  "".join(f"{mean[m]:>12.2f}" for m in MODELS) + (f"{limit:>11}" if limit else "") +
                  (" beyond it" if bad else ""), flush=True)
    return 1 if wrong and o.check else 0


if __name__ == "__main__":
    sys.exit(main())
