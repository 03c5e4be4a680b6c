"""Programs whose functions have chosen names, and seeded runs of them: a walk that stays in a
function for a while, sampled every millisecond.

SPDX-License-Identifier: MIT
"""
import os
import random
import subprocess

import program
import rawprofile as raw
import tool

SIZE = 64  # bytes of each function


class Program:
    """An executable of FUNCTIONS (names as the linker uses them), each SIZE bytes without
    contents."""

    def __init__(self, folder, name, functions):
        self.label, self.path = name, os.path.join(folder, name)
        source = self.path + ".s"
        with open(source, "w") as f:
            for function in functions:
                f.write(f'.globl "{function}"\n.type "{function}",@function\n"{function}":\n'
                        f'.skip {SIZE},0x90\n.size "{function}",{SIZE}\n')
        subprocess.run(["gcc", "-nostdlib", "-static", "-no-pie", "-Wl,-e,0", "-o", self.path, source],
                       check=True, stderr=subprocess.DEVNULL)
        offset, address, size = program.executable_segment(self.path)
        first, page = address // program.PAGE * program.PAGE, program.PAGE
        self.map = raw.Map(first, -(-(address + size - first) // page) * page, name, path=self.path)
        self.address = self.read_addresses()

    def read_addresses(self):
        out = subprocess.run(["nm", self.path], stdout=subprocess.PIPE, check=True).stdout.decode()
        return {line.split()[2]: int(line.split()[0], 16) for line in out.splitlines()
                if line.split()[1] == "T"}


def walk(rng, work, stay, samples):
    """SAMPLES functions, each with a share like its WORK; a stay lasts STAY samples on average."""
    names, weights = list(work), list(work.values())
    now = None
    for _ in range(samples):
        if now is None or rng.random() < 1 / stay:
            now = rng.choices(names, weights)[0]
        yield now


def run(prog, seed, work, samples, stay=1.5, speed=1.0, tids=(100,), power=2.0, places=16):
    """A raw.Run in which each function uses a share like its WORK. SPEED: CPU time of a sample [ms]; PLACES: addresses seen in a function."""
    rng = random.Random(seed)
    walks = [walk(rng, work, stay, samples) for _ in tids]
    used, out = [0] * len(tids), []
    for _ in range(samples):
        threads = []
        for i, tid in enumerate(tids):
            used[i] += int(speed * rng.uniform(0.9, 1.1) * 1e6)
            threads.append(raw.Thread(tid, prog.address[next(walks[i])] + 4 * rng.randrange(places), used[i]))
        out.append(raw.Sample(power * rng.uniform(0.8, 1.2), threads))
    # less than the CPU time: nothing is idle
    return raw.Run(out, [prog.map], int(samples * speed * 890), kind=raw.POWER)


def save(folder, name, simulated):
    """The pbin of a run as a file; returns its path."""
    path = os.path.join(folder, name)
    ended = tool.run(["prof2pbin", "-q", "--no-dwarf", "-s", os.path.dirname(simulated.maps[0].path), "-o", path],
                     stdin=raw.write(simulated, "sampler"))
    if ended.status != 0:
        raise AssertionError(ended.err)
    return path
