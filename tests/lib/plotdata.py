"""Profiles for pictures: programs with any names and number of functions, runs with any number of
threads; and the pixels of pictures.

SPDX-License-Identifier: MIT
"""
import os
import random
import struct
import subprocess
import zlib

import program
import rawprofile as raw
import tool

SLOT = 16  # bytes of a function


def build(folder, label, names):
    """Writes an ELF file with the functions NAMES (any bytes except NUL), SLOT bytes each; returns
    its path."""
    lines, names = [".text", ".globl _start", "_start: nop"], [n.encode() for n in names]
    holders = [f"f{i:07d}" + "x" * (len(n) - 8) for i, n in enumerate(names)]  # as long as the name, at least 8
    for name in holders:
        lines += [f".balign {SLOT}", f".type {name}, @function", f"{name}: .skip {SLOT}, 0x90", f".size {name}, {SLOT}"]
    source, path = os.path.join(folder, label + ".s"), os.path.join(folder, label)
    with open(source, "w") as f:
        f.write("\n".join(lines) + "\n")
    subprocess.run(["gcc", "-nostdlib", "-no-pie", "-o", path, source], check=True)
    with open(path, "rb") as f:
        data = f.read()
    for holder, name in zip(holders, names):  # assemblers reject some names
        data = data.replace(b"\0" + holder.encode() + b"\0", b"\0" + name.ljust(len(holder), b"\0") + b"\0")
    with open(path, "wb") as f:
        f.write(data)
    return path


def addresses(path):
    """First addresses of the functions, which follow _start one after the other."""
    out = subprocess.run(["readelf", "-SW", path], stdout=subprocess.PIPE, check=True).stdout.decode()
    for line in out.splitlines():
        words = line.replace("[ ", "[").split()
        if len(words) > 4 and words[1] == ".text":
            return int(words[3], 16) + SLOT
    raise ValueError("no .text")


def make_run(path, functions, samples=2000, threads=1, seed=1, step_us=1000, scale=None):
    """Each thread walks through phases with a few functions each; the power depends on the phase.
    SCALE: factors for the shares, by function number."""
    rng = random.Random(seed)
    first, segment = addresses(path), program.executable_segment(path)
    base = segment[1] // program.PAGE * program.PAGE
    size = (segment[1] + segment[2] + program.PAGE - 1) // program.PAGE * program.PAGE - base
    weights = [(1 / (i + 1) ** 0.8) * (scale or {}).get(i, 1) for i in range(functions)]
    used, us, out = [0] * threads, 1_600_000_000_000_000, []
    phases = [rng.choices(range(functions), weights, k=4) for _ in range(12)]
    everything = rng.choices(range(functions), weights, k=samples * threads)
    for n in range(samples):
        us += rng.randrange(step_us * 9 // 10, step_us * 11 // 10)
        phase, seen = n * 12 // samples, []
        for t in range(threads):
            function = everything[n * threads + t]
            if rng.random() < 0.6:
                function = phases[(phase + t) % 12][n // 7 % 4]
            busy = 0 if (phase + t) % 5 == 4 and rng.random() < 0.8 else rng.randrange(700, 1000)
            used[t] += busy * step_us
            seen.append(raw.Thread(4000 + t, first + function * SLOT + 4, used[t]))
        value = 8 + 9 * (phase % 3) + rng.uniform(-2, 2) + (15 if n % 331 == 0 else 0)
        out.append(raw.Sample(value, seen, us))
    maps = [raw.Map(base, size, os.path.basename(path))]
    return raw.Run(out, maps, out[-1].time_us - out[0].time_us, 500, raw.POWER)


def names_of(count):
    """Names as in C++ programs: some short, some very long."""
    rng, out = random.Random(7), []
    for i in range(count):
        if i % 5 == 3:
            parts = "::".join(rng.choice(("detail", "matrix", "allocator_traits", "io")) for _ in range(6))
            out.append(f"acme::{parts}::transform<std::vector<double, aligned<64>>, {i}>::operator()")
        else:
            out.append(rng.choice(("solve", "memcpy_avx", "parse_row", "fft", "sort_keys", "x")) + f"_{i}")
    return out


def pbin(folder, name, names, label=None, **more):
    """Writes FOLDER/NAME.pbin, a profile of the program LABEL. Returns the path."""
    label = label or name + "-program"
    path = os.path.join(folder, label)
    if not os.path.exists(path):
        build(folder, label, names)
    run = make_run(path, len(names), **more)
    rawfile, out = os.path.join(folder, name + ".bin"), os.path.join(folder, name + ".pbin")
    with open(rawfile, "wb") as f:
        f.write(raw.write(run, "sampler-walltime"))
    ended = tool.run(["prof2pbin", "-q", "-c", "8", "-s", folder, "-n", name, rawfile, "-o", out], timeout=60)
    if ended.status != 0:
        raise AssertionError(ended.err)
    return out


def unfilter(kind, step, line, above):
    """Undoes filter KIND of a PNG in LINE, bytes whose left neighbour is STEP bytes before them."""
    if kind == 2:
        line[:] = [(byte + b) & 255 for byte, b in zip(line, above)]
    for x, byte in enumerate(line if kind in (1, 3, 4) else ()):
        a, b = line[x - step] if x >= step else 0, above[x]
        if kind == 4:
            c = above[x - step] if x >= step else 0
            p = a + b - c
            nearest = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            line[x] = (byte + nearest) & 255
        else:
            line[x] = (byte + (a if kind == 1 else (a + b) // 2)) & 255


def png_lines(data):
    """The lines of a PNG with 8 bits a channel, each a list of pixels (bytes)."""
    width, height, depth, color = struct.unpack(">IIBB", data[16:26])
    assert depth == 8
    step, at, packed = {2: 3, 6: 4}[color], 8, b""
    while at < len(data):
        size, = struct.unpack(">I", data[at:at + 4])
        packed += data[at + 8:at + 8 + size] if data[at + 4:at + 8] == b"IDAT" else b""
        at += size + 12
    raw_lines, above, lines = zlib.decompress(packed), bytes(width * step), []
    for y in range(height):
        kind, *line = raw_lines[y * (width * step + 1):(y + 1) * (width * step + 1)]
        unfilter(kind, step, line, above)
        above = bytes(line)
        lines.append([above[x:x + step] for x in range(0, len(above), step)])
    return lines
