"""Exports of the sthem tool and of Lynsyn boards, made of rows whose integral of power is known
exactly.

SPDX-License-Identifier: MIT
"""
import random
from dataclasses import dataclass
from fractions import Fraction


@dataclass
class Row:
    time: str       # as printed
    values: dict    # sensor -> text of its power, or (current, voltage)
    cores: dict     # core -> (module, function) or a PC; absent: idle


@dataclass
class Layout:
    kind: str = "sthem"  # sthem, pc, lynsyn
    sensors: tuple = (1, 2, 3, 4, 5, 6, 7)
    cores: tuple = (0, 1, 2, 3)
    newline: str = "\n"
    bom: bool = False
    comma: bool = False
    quotes: bool = False
    trailing: str = ""
    separator: str = ";"
    shuffle: int = 0


def columns(layout):
    names = ["Time"]
    if layout.kind == "lynsyn":
        names += [f"pc {c}" for c in layout.cores] + [f"current {s}" for s in layout.sensors]
        names += [f"voltage {s}" for s in layout.sensors]
    else:
        names += [f"Power {s}" for s in layout.sensors]
        for c in layout.cores:
            names += [f"PC {c}"] if layout.kind == "pc" else [f"Module {c}", f"Function {c}"]
    if layout.shuffle:
        random.Random(layout.shuffle).shuffle(names)
    return names


def cell(layout, row, name):
    what, _, number = name.partition(" ")
    n = int(number or 0)
    if what == "Time":
        return row.time
    if what in ("Power", "current", "voltage"):
        value = row.values.get(n, "0")
        return value if isinstance(value, str) else value[what == "voltage"]
    if what.lower() == "pc":
        return str(row.cores.get(n, 0))
    return row.cores.get(n, ("", ""))[what == "Function"]


def text(layout, rows):
    """The bytes of the file."""
    names = columns(layout)
    lines = ["Sensors;Cores", f"{len(layout.sensors)};{len(layout.cores)}"] if layout.kind == "lynsyn" else []
    table = [names] + [[cell(layout, row, name) for name in names] for row in rows]
    for i, fields in enumerate(table):
        if layout.comma and i > 0:
            fields = [f.replace(".", ",") if n[0] in "TPcv" and not n.startswith("PC") else f
                      for f, n in zip(fields, names)]
        if layout.quotes:
            fields = ['"' + f.replace('"', '""') + '"' for f in fields]
        lines.append(layout.separator.join(fields) + layout.trailing)
    return (("\ufeff" if layout.bom else "") + layout.newline.join(lines) + layout.newline).encode()


def power(value):
    return Fraction(value) if isinstance(value, str) else Fraction(value[0]) * Fraction(value[1])


def repaired(times):
    """Times [s, Fraction] by the rule of the tool, implemented again: times that are not after the
    last good one are interpolated."""
    good = [0]
    for i in range(1, len(times)):
        if times[i] > times[good[-1]]:
            good.append(i)
    result = list(times)
    for a, b in zip(good, good[1:]):
        for i in range(a + 1, b):
            result[i] = times[a] + (times[b] - times[a]) * Fraction(i - a, b - a)
    last, end = good[-1], len(times) - 1
    if last < end and len(good) > 1:
        before = result[last - 1]
        for i in range(last, end + 1):
            result[i] = before + (times[last] - before) * Fraction(i - last + 1, end - last + 1)
    elif last < end:
        result = [times[0]] * len(times)
    return result


def expected(rows, sensors):
    """{place or None (idle): (core seconds, joules)}, and their totals."""
    times = repaired([Fraction(r.time) for r in rows])
    parts, before = {}, times[0]
    for row, now in zip(rows, times):
        step, before = now - before, now
        joules = step * sum((power(row.values[s]) for s in sensors if s in row.values), Fraction(0))
        for place in row.cores.values() or [None]:
            seconds, energy = parts.get(place, (Fraction(0), Fraction(0)))
            parts[place] = (seconds + (step if place is not None else 0),
                            energy + joules / max(1, len(row.cores)))
    return parts


def make_rows(kind, count, seed, digits=".6g", step=0.0001, places=None, sensor=2):
    rng = random.Random(seed)
    if places is None:
        places = [("main.elf", f"f{i}") for i in range(9)] + [("lib c++.so", "operator<(a, b)")]
        if kind != "sthem":
            places = [0x80000000 + 4 * rng.randrange(1000) for _ in range(12)] + [0xffffffff80001234]
    rows, t = [], 0.0
    for _ in range(count):
        value = f"{rng.uniform(0.5, 3):.6g}"
        if kind == "lynsyn":
            value = (f"{rng.uniform(0.1, 1):.6f}", f"{rng.uniform(4.9, 5.1):.6f}")
        cores = {c: rng.choice(places) for c in (0, 1, 3) if rng.random() < (0.9, 0.5, 0.2, 0.1)[c]}
        rows.append(Row(format(t, digits), {sensor: value}, cores))
        t += step * rng.uniform(0.5, 1.5)
    return rows
