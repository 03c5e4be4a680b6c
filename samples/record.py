#!/usr/bin/python3
"""Makes the recordings in samples/: `make && python3 samples/record.py`. See samples/README.md.

The current sampler makes real recordings; the older dialects are written from the same samples by the writer of the
tests, and BSD's and OP-TEE's gmon files from the counts that GNU's C library wrote.
SPDX-License-Identifier: MIT
"""
import bz2
import math
import os
import shutil
import struct
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUILD = os.path.join(ROOT, "build")
for folder in ("lib", "gmon", "sthem", "record"):
    sys.path.insert(0, os.path.join(ROOT, "tests", folder))
import export  # noqa: E402
import gmonfile  # noqa: E402
import rawprofile as raw  # noqa: E402
from profile_reader import Profile, take_block, Bytes  # noqa: E402

FOLDER = "/tmp/samples"  # appears in the recordings, as does the name of the host
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-g", f"-ffile-prefix-map={ROOT}=.", "-pthread"]
OPTEE = "8aaaf200-2450-11e4-abe2-0002a5d5c51b"  # the UUID of a trusted application


def store(name, data):
    path = os.path.join(HERE, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(bz2.compress(data) if name.endswith(".bz2") else data)
    print(f"{os.path.getsize(path):8} {name}")


def load(path):
    with open(path, "rb") as file:
        return file.read()


def compile_burn(to, *flags):
    subprocess.run(["gcc", *FLAGS, *flags, "-o", to, "samples/burn.c"], cwd=ROOT, check=True)
    return to


class Meter:
    """A file with a power that changes: 6 W and a wave of 2 W and 0.4 s."""

    def __init__(self, path):
        self.path, self.running = path, True
        self.write()
        self.thread = threading.Thread(target=self.run)

    def write(self):
        with open(self.path + ".new", "w", encoding="ascii") as file:
            file.write(f"{6 + 2 * math.sin(time.monotonic() * 2 * math.pi / 0.4):.3f}\n")
        os.rename(self.path + ".new", self.path)

    def run(self):
        while self.running:
            self.write()
            time.sleep(0.01)

    def __enter__(self):
        self.thread.start()
        return self.path

    def __exit__(self, *_):
        self.running = False
        self.thread.join()


def sample(folder, out, *command, options=("-f", "500")):
    with Meter(os.path.join(folder, "watts")) as watts:
        subprocess.run(["unshare", "-u", "sh", "-c", 'hostname board && exec "$@"', "sh",
                        os.path.join(BUILD, "sampler"), "-q", *options, "-p", "file:" + watts, "--pmu-kind", "power",
                        "-o", out, "--", *command], cwd=folder, check=True)
    return out


def recordings(folder, burn):
    out = os.path.join(folder, "out.bin")
    sample(folder, out, burn, "1", "2")
    profile = Profile(out)
    store("out.bin.bz2", without_vdso(load(out)))
    sums = sample(folder, os.path.join(folder, "sums.bin"), burn, "1", "2", options=("-a", "-f", "500"))
    store("recordings/sampler-a.bin.bz2", without_vdso(load(sums)))
    return profile


def without_vdso(data):
    """The profile without the image of the kernel's vdso, which says where the kernel was built."""
    at = Bytes(data, data.rindex(raw.SIGNATURE) + len(raw.SIGNATURE))
    kept = data[:at.at]
    while at.left():
        begin = at.at
        kind, _ = take_block(at)
        kept += data[begin:at.at] if kind != "vdso" else b""
    return kept


def dialects(profile):
    start = 1_700_000_000_000_000
    samples = [raw.Sample(value, [raw.Thread(*t) for t in threads], start + now // 1000)
               for (value, threads), now in zip(profile.samples, profile.times)]
    # As the original samplers wrote them: labels without folders, and the maps of the newer dialects after the
    # samples.
    maps = [raw.Map(address, size, os.path.basename(label)) for address, size, label in profile.vmmaps]
    small = [m for m in maps if m.size <= 1 << 16]  # the aggregated dialect has 16 bytes for each byte of code
    for dialect in raw.DIALECTS:
        chosen = small if dialect == "intrvelf-aggregated" else maps
        for name, kind, scale in (("power", raw.POWER, 1), ("current", raw.CURRENT, 0.2), ("unmeasured", raw.CUSTOM, 0)):
            if dialect.startswith("intrvelf") and kind != raw.CURRENT:
                continue  # it contains currents only
            values = [raw.Sample(s.value * scale, s.threads, s.time_us) for s in samples]
            run = raw.Run(values, chosen, profile.wall, profile.latency, kind)
            store(f"recordings/{dialect}-{name}.bin.bz2", raw.write(run, dialect, late=not dialect.startswith("intrvelf")))


def profiles(folder, burn):
    for name, argv in (("a", [burn, "1", "2"]), ("b", [burn, "-s", "1.15", "2"])):
        runs, pbin = [], os.path.join(folder, name + ".pbin")
        for number in range(1, 6):
            out = sample(folder, os.path.join(folder, "run.bin"), *argv, options=("-f", "1000"))
            runs.append(os.path.join(folder, f"{name}{number}.pbin"))
            subprocess.run([os.path.join(BUILD, "prof2pbin"), "-q", "-n", name, "-o", runs[-1], out], check=True)
        subprocess.run([os.path.join(BUILD, "pbin-aggregate"), "-q", "-k", "binary,function", "-o", pbin, *runs],
                       check=True)
        store(name + ".pbin", load(pbin))


def read_gnu(data, bits):
    """The one histogram and the arcs of a gmon.out of the C library."""
    p = gmonfile.Profile(bits=bits)
    low, high, count, rate = struct.unpack_from(f"<{2 * p.word}II", data, 21)
    at = 21 + struct.calcsize(f"<{2 * p.word}II") + 16
    p.histograms.append(gmonfile.Histogram(low, high, list(struct.unpack_from(f"<{count}H", data, at)), rate))
    at += 2 * count
    while at < len(data):
        assert data[at] == 1
        p.arcs.append(struct.unpack_from(f"<{2 * p.word}i", data, at + 1))
        at += 1 + struct.calcsize(f"<{2 * p.word}i")
    return p


def gmon(folder):
    for bits, name in ((64, "burn-pg"), (32, OPTEE + ".elf")):
        flags = ["-pg", "-no-pie", "-m" + str(bits)]
        program = compile_burn(os.path.join(folder, name), *flags)
        if bits == 32:  # as the linker script of trusted applications defines it
            subprocess.run(["objcopy", "--add-symbol", "__text_start=.text:0", program], check=True)
        subprocess.run([program, "2"], cwd=folder, check=True)
        data = load(os.path.join(folder, "gmon.out"))
        profile = read_gnu(data, bits)
        store("gmon/" + name, load(program))
        os.chmod(os.path.join(HERE, "gmon", name), 0o755)
        if bits == 64:
            store("gmon/gmon.out", data)
            store("gmon/gmon.burn-pg.4711.out", gmonfile.bsd(profile))
        else:
            store(f"gmon/gmon-{OPTEE}.out", gmonfile.gnu(moved(profile, program)))


def moved(profile, program):
    """As OP-TEE writes it: addresses count from __text_start, plus 32."""
    symbols = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    start = next(int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(" __text_start"))
    h = profile.histograms[0]
    width = (h.high - h.low) / len(h.bins)
    skipped = math.ceil((start - h.low) / width) if start > h.low else 0
    h.bins = h.bins[skipped:]
    h.low, h.high = round(h.low + skipped * width) - start // 4 * 4 + 32, h.high - start // 4 * 4 + 32
    profile.arcs = [(f - start // 4 * 4 + 32, s - start // 4 * 4 + 32, c) for f, s, c in profile.arcs if f > start]
    return profile


def exports():
    places = [("burn", f"burn_{share}") for share in (50, 50, 50, 50, 50, 30, 30, 30, 20, 20)]
    store("export.csv", export.text(export.Layout(), export.make_rows("sthem", 1000, 1, places=places)))
    symbols = subprocess.run(["nm", os.path.join(HERE, "gmon/burn-pg")], capture_output=True, text=True, check=True)
    start = {line.split()[2]: int(line.split()[0], 16) for line in symbols.stdout.splitlines() if " T " in line}
    places = [start[name] + 16 for _, name in places]
    store("lynsyn.csv", export.text(export.Layout(kind="lynsyn"), export.make_rows("lynsyn", 1000, 2, places=places)))


def main():
    burn = compile_burn(os.path.join(HERE, "burn"))
    os.mkdir(FOLDER)
    try:
        shutil.copy(burn, FOLDER)
        dialects(recordings(FOLDER, os.path.join(FOLDER, "burn")))
        profiles(FOLDER, os.path.join(FOLDER, "burn"))
        gmon(FOLDER)
    finally:
        shutil.rmtree(FOLDER)
    exports()


if __name__ == "__main__":
    main()
