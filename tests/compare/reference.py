"""The second implementation of pbin-compare's arithmetic, in exact rationals where possible.

A side is a list of runs, a run is {key: oracle.Row}.
SPDX-License-Identifier: MIT
"""
import math
from fractions import Fraction

import oracle

METRICS = ("time", "energy", "power", "samples", "execution-time", "share", "samples-share")
RATIOS = ("power", "execution-time")
SHARES = ("error", "relative")
NONE = oracle.Row(entries=0)


class Run(dict):
    """The rows of a run that took WALL seconds."""

    def __init__(self, rows, wall):
        super().__init__(rows)
        self.wall = wall


def plus(rows):
    return oracle.total(dict(enumerate(rows)))


def total(run):
    return plus(run.values())


def metric(name, row, whole):
    """The metric NAME of ROW; WHOLE: the sum of all rows. None: not defined."""
    if name == "time":
        return row.time
    if name == "energy":
        return row.energy
    if name == "samples":
        return Fraction(row.samples)
    if name == "power":
        return row.energy / row.time if row.time else None
    if name == "execution-time":
        return row.time / row.entries if row.entries else None
    if name == "share":
        return 100 * row.time / whole.time
    return Fraction(100 * row.samples, whole.samples)


def is_there(side, key):
    return any(key in run for run in side)


def row_of(run, key):
    return total(run) if key is None else run.get(key, NONE)


def value(name, side, key):
    """The value that pbin-compare shows; KEY None: for the total. Returns None if it is not
    defined."""
    if key is not None and not is_there(side, key) and name in RATIOS:
        return None
    if name == "power" and key is None:
        return total_power(side)
    found = metric(name, plus(row_of(run, key) for run in side), plus(total(run) for run in side))
    return found / len(side) if name in ("time", "energy", "samples") else found


def total_power(side):
    """Energy divided by wall time: idle energy has no CPU time."""
    return sum(total(run).energy for run in side) / sum(run.wall for run in side)


def run_values(name, side, key):
    if name == "power" and key is None:
        return [total_power([run]) for run in side]
    values = [metric(name, row_of(run, key), total(run)) for run in side]
    return [v for v in values if v is not None]


def student_two_sided(t, df):
    """P(|T| > t) by Simpson's rule over t = sqrt(df) tan(a): the density becomes cos(a)^(df - 1)."""
    steps, low, high = 4000, math.atan(abs(t) / math.sqrt(df)), math.pi / 2
    width = (high - low) / steps
    heights = [max(math.cos(low + i * width), 0) ** (df - 1) for i in range(steps + 1)]
    area = width / 3 * (heights[0] + heights[-1] + 4 * sum(heights[1:-1:2]) + 2 * sum(heights[2:-1:2]))
    return 2 * area * math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(math.pi)


def variance(values, least):
    mean = sum(values) / len(values)
    return max(sum((v - mean) ** 2 for v in values) / (len(values) - 1), least)


def welch(a, b, least):
    """p of two lists of Fractions; None if it cannot be known."""
    if len(a) < 2 or len(b) < 2:
        return None
    va, vb = variance(a, least) / len(a), variance(b, least) / len(b)
    difference = sum(b) / len(b) - sum(a) / len(a)
    if va + vb == 0:
        return 1.0 if difference == 0 else 0.0
    df = (va + vb) ** 2 / (va ** 2 / (len(a) - 1) + vb ** 2 / (len(b) - 1))
    return student_two_sided(math.sqrt(difference ** 2 / (va + vb)), float(df))


def least_variance(name, base, other, key):
    """The square of one sample's value."""
    if name in RATIOS:
        return Fraction(0)
    samples = sum(Fraction(plus(row_of(r, key) for r in side).samples, len(side)) for side in (base, other))
    return ((abs(value(name, base, key)) + abs(value(name, other, key))) / samples) ** 2 if samples else 0


def sampled(name, side, key):
    """(value, total, moments, entries, runs); shares are fractions of 1."""
    plain = {"share": "time", "samples-share": "samples"}.get(name, name)
    v, whole = value(plain, side, key), value(plain, side, None)
    if plain != name:
        v, whole = v / whole, Fraction(1)
    entries = sum(run[key].entries for run in side if key in run)
    return v, whole, sum(run_samples(run) for run in side), entries, len(side)


def run_samples(run):
    """The number of moments at which a run with one thread was sampled."""
    return total(run).samples


def single(name, base, other, key, noise):
    """The approximate p of single runs; None if it is not tested."""
    sides = [sampled(name, base, key), sampled(name, other, key)]
    shares = [v / whole for v, whole, *_ in sides]
    spread = sum(n * p * (1 - p) for p, (_, _, n, _, _) in zip(shares, sides))
    entries = sum(s[3] for s in sides)
    if not spread or entries < 2:
        return None
    x = min(Fraction(entries) / spread, 1)
    effect = Fraction(3, 2) * (2 - x) / x
    moments = sum(s[2] for s in sides)
    p = sum(share * s[2] for share, s in zip(shares, sides)) / moments
    middle = sum(s[0] * s[2] for s in sides) / moments
    by_share = sum(p * (1 - p) * effect / n + (noise * p * (1 - p)) ** 2 / runs
                   for _, _, n, _, runs in sides)
    by_value = Fraction(0)
    for _, whole, n, _, runs in sides:
        q = min(middle / whole, 1)
        by_value += whole ** 2 * q * (1 - q) * effect / n + (noise * middle) ** 2 / runs
    tests = [student_two_sided(math.sqrt(d ** 2 / v), entries - 1) for d, v in
             ((shares[1] - shares[0], by_share), (sides[1][0] - sides[0][0], by_value))]
    return max(tests)


def share_for_testing(name, base, other, key):
    name = "time" if name in RATIOS else name
    shares = [value(name, side, key) / value(name, side, None) for side in (base, other)]
    return max(shares)


def holm(p):
    """{key: p} to {key: adjusted p}; None remains None."""
    order = sorted((v, k) for k, v in p.items() if v is not None)
    out, least = dict(p), 0.0
    for i, (v, k) in enumerate(order):
        least = max(least, min(1.0, v * (len(order) - i)))
        out[k] = least
    return out


def probabilities(name, base, other, min_share=Fraction(1, 100), noise=Fraction(1, 20)):
    """{key: p after Holm's correction or None}; key None: the total."""
    return all_probabilities(name, base, [other], min_share, noise)[0]


def all_probabilities(name, base, others, min_share=Fraction(1, 100), noise=Fraction(1, 20)):
    """The same for each of several sides. Rows of all sides are corrected together, and so are
    their totals."""
    single_sides = [uncorrected(name, base, other, min_share, noise) for other in others]
    rows = holm({(i, key): p for i, side in enumerate(single_sides) for key, p in side.items() if key is not None})
    totals = holm({(i, None): side[None] for i, side in enumerate(single_sides)})
    return [{key: (rows | totals)[i, key] for key in side} for i, side in enumerate(single_sides)]


def uncorrected(name, base, other, min_share, noise):
    repeated = len(base) > 1 and len(other) > 1
    out = {}
    for key in {k for run in base + other for k in run}:
        if share_for_testing(name, base, other, key) < min_share or (name in RATIOS and not repeated):
            out[key] = None
        elif repeated:
            out[key] = welch(run_values(name, base, key), run_values(name, other, key),
                             least_variance(name, base, other, key))
        else:
            out[key] = single(name, base, other, key, noise)
    out[None] = None
    if repeated and "share" not in name:
        out[None] = welch(run_values(name, base, None), run_values(name, other, None),
                          least_variance(name, base, other, None))
    return out


# ---- errors ------------------------------------------------------------------------------------

def weight(name, base, key, keys):
    """The share of the row in the sum of values, or of times if values are ratios."""
    name = "time" if name in RATIOS else name
    values = [value(name, base, k) for k in keys]
    own = value(name, base, key)
    return None if own is None else own / sum(v for v in values if v is not None)


def error(kind, b, v, w):
    weighted = kind.startswith("weighted-")
    kind = kind.removeprefix("weighted-")
    if b is None or v is None or (kind.endswith("relative") and b == 0):
        return None
    if kind == "correct":
        return min(b, v) if v > 0 else 0
    e = v - b
    if kind.endswith("relative"):
        e = 100 * e / b
    if kind.startswith("absolute"):
        e = abs(e)
    return w * e if weighted else e


def aggregate(kind, pairs, totals=None):
    """The error KIND over PAIRS of (error, weight); TOTALS: of the base and of the other side."""
    pairs = [(e, w) for e, w in pairs if e is not None]
    if kind.split("-")[0] in SHARES:
        whole = totals[0 if kind.endswith("-baseline") else 1]
        part = sum(e for e, _ in pairs)
        return 100 * (part if kind.startswith("relative") else whole - part) / whole
    if kind in ("sum", "min", "max"):
        return {"sum": sum, "min": min, "max": max}[kind]([e for e, _ in pairs])
    power = 2 if kind.endswith("rmse") else 1
    if kind.startswith("weighted"):
        mean = sum(w * e ** power for e, w in pairs) / sum(w for _, w in pairs)
    else:
        mean = sum(e ** power for e, _ in pairs) / len(pairs)
    return math.sqrt(mean) if power == 2 else mean
