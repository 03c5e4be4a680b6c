#!/usr/bin/env python3
# The process that reads debug information is killed at random moments: only lines and inlined functions are lost.
# Usage: BUILD=build python3 tests/symbols/test_kills.py
# SPDX-License-Identifier: MIT
import contextlib
import os, random, signal, subprocess, sys, threading, time, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from oracle import Elf, parse, run_driver
from test_symbols import DRIVER, SLOW, Case, sh

NO_CACHE = dict(os.environ, XDG_CACHE_HOME="/dev/null")


def children(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            return [int(c) for c in f.read().split()]
    except OSError:
        return []


class Kills(Case):
    KILLS = 200 // SLOW

    def killed(self, arguments, pcs, delay, rng):
        """(output, warnings, lifetime of the worker or None) of a run in which a worker is killed
        DELAY seconds after its start."""
        lived = None
        process = subprocess.Popen([DRIVER, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=NO_CACHE)
        writer = threading.Thread(target=lambda: (process.stdin.write(pcs), process.stdin.close()))
        outputs = {}
        reader = threading.Thread(target=lambda: outputs.update(out=process.stdout.read()))
        for thread in writer, reader:
            thread.start()
        while process.poll() is None and lived is None:
            workers = children(process.pid)
            for worker in rng.sample(workers, min(1, len(workers))):
                time.sleep(delay)
                if process.poll() is None and worker in children(process.pid):
                    with contextlib.suppress(ProcessLookupError):  # it may have ended by now
                        os.kill(worker, signal.SIGKILL)
                lived = delay
        err = process.stderr.read().decode()
        for thread in writer, reader:
            thread.join()
        process.stdout.close()
        process.stderr.close()
        self.assertEqual(process.wait(), 0, err)
        return outputs["out"], err, lived

    def test_random_moments(self):
        small, victim = self.build("small", "shapes.cpp", "-O2", "-g", compiler="g++"), os.path.join(self.dir, "victim")
        with open(os.path.join(self.dir, "zeros"), "wb") as f:
            f.write(bytes(2 << 20))
        sh("objcopy", "--add-section", ".zeros=" + f.name, small, victim)  # large: read by two threads
        other = self.build("other", "threads.c", "-O2", "-g", "-pthread")
        (maps, bias), (more, _) = Elf(victim).maps(), Elf(other).maps()
        shift = 1 << 32  # the other program is mapped above the victim
        more = ["%x,%s" % (int(m.split(",", 1)[0], 16) + shift, m.split(",", 1)[1]) for m in more]
        addresses = [a + bias for a in Elf(victim).code(9)] + [a + bias + shift for a in Elf(other).code(9)]
        pcs = "".join("%x\n" % a for a in addresses).encode()
        whole, err = run_driver(DRIVER, maps + more, addresses, env=NO_CACHE)
        self.assertEqual(err, "")
        rng, lost = random.Random(9), 0
        begin = time.monotonic()
        run_driver(DRIVER, maps + more, addresses, env=NO_CACHE)
        longest = time.monotonic() - begin
        for _ in range(self.KILLS):
            out, err, lived = self.killed(maps + more, pcs, longest * rng.random() ** 4, rng)  # mostly ours, not the worker's
            found = parse(out)
            self.assertEqual(set(found), set(whole))
            self.assertLessEqual(err.count("\n"), 1, err)
            self.assertIn("lines and inlined functions are lost, function names are not" if err else "", err)
            binary = "victim" if "/victim:" in err else "other" if err else None
            lost += binary is not None
            for pc, (name, chain) in found.items():
                expected = whole[pc][1]
                self.assertEqual(name, whole[pc][0])
                if name == binary and chain != expected:  # from the death of the worker onwards
                    self.assertEqual(chain, [(*expected[-1][:2], "", 0)])
                else:
                    self.assertEqual(chain, expected)
        print("  %d kills, %d lost lines" % (self.KILLS, lost), file=sys.stderr)
        self.assertGreater(lost, self.KILLS / 20)


if __name__ == "__main__":
    unittest.main()
