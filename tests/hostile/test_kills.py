"""Tools are killed at random moments: the old output or the complete new one remains, no other
files except those that the manuals name, no process. The data that the sampler recorded can be
salvaged, and its command ends as the manual describes.

PBIN_KILLS=N kills each tool N times in place of a few; run this file by "python3 -m unittest" for that, as make torture
does.
SPDX-License-Identifier: MIT
"""
import os
import platform
import random
import re
import signal
import subprocess
import time
import unittest

import profiles
import pbin
import tool
import traces
from fast_xxh3 import xxh3

KILLS = int(os.environ.get("PBIN_KILLS", "6"))
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
BURN = os.path.join(tool.BUILD, "samples", "burn")
SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "samples")
SALVAGEABLE = 0.1  # [s] after the start of the command, if sampler and command get a CPU
TICK = 0.01        # of /proc/uptime [s]


def members(session):
    """Processes of SESSION that are not dead."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as f:
                fields = f.read().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[3]) == session and fields[0] not in "ZX":
            found.append(int(entry))
    return found


def all_gone(session, seconds):
    end = time.monotonic() + seconds
    while members(session):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def waited(pids):
    """How long the processes were ready to run without a CPU, together [s]. A wait that has not
    ended is not counted."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/schedstat", encoding="ascii") as f:
                total += int(f.read().split()[1])
        except (FileNotFoundError, ProcessLookupError):
            pass
    return total * 1e-9


class Case(tool.Case):
    @classmethod
    def setUpClass(cls):
        cls.shared = tool.shared_folder(cls)
        cls.raw = os.path.join(cls.shared, "b.bin")
        subprocess.run([tool.path("sampler"), "-q", "-o", cls.raw, "--", BURN, "0.3", "2"], check=True, capture_output=True)
        cls.pbin = os.path.join(cls.shared, "b.pbin")
        with open(cls.pbin, "wb") as f:
            f.write(pbin.write(profiles.make(5, samples=4000, threads=6, locations=200), 500, xxh3))

    def setUp(self):
        super().setUp()
        self.temporary = os.path.join(self.folder, "tmp")
        self.work = os.path.join(self.folder, "work")
        os.mkdir(self.temporary)
        os.mkdir(self.work)

    def start(self, argv, stdin=None):
        # LeakSanitizer reports when it is killed, which is not an error of the tool
        options = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        env = dict(tool.environment(), TMPDIR=self.temporary, ASAN_OPTIONS=options)
        return subprocess.Popen([tool.path(argv[0]), *map(str, argv[1:])], env=env, cwd=self.work, stdin=stdin,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)

    def content(self, path):
        if not os.path.exists(path):
            return None
        with open(path, "rb") as f:
            return f.read()

    def unkilled(self, argv, stdin=None):
        """The time that it takes [s]."""
        begin = time.monotonic()
        process = self.start(argv, stdin and open(stdin, "rb"))
        error = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 0, error)
        return time.monotonic() - begin

    def killed_once(self, argv, number, after, stdin):
        """Its process, status and messages. Sets self.killed to the time of the kill [s since
        boot], minus the time that its session waited for a CPU."""
        process = self.start(argv, stdin and open(stdin, "rb"))
        time.sleep(after)
        self.killed = time.clock_gettime(time.CLOCK_BOOTTIME)
        if process.poll() is None:
            os.kill(process.pid, number)
            if number == signal.SIGKILL:
                os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
                self.killed -= waited([process.pid, *members(process.pid)])
        error = process.communicate(timeout=20)[1]
        return process.pid, process.returncode, error

    def each(self, argv, suffix, stdin=None):
        rng, out = random.Random(argv[0] + suffix), os.path.join(self.work, "out" + suffix)
        argv = [*argv, "-o", out]
        seconds = max(self.unkilled(argv, stdin) for _ in range(2))
        good, kept = self.content(out), 0
        for i in range(20 * KILLS):
            if i >= KILLS and kept > 0:  # a tool may end before a signal comes
                break
            with open(out, "wb") as f:
                f.write(b"old")
            number, after = SIGNALS[i % 3], rng.uniform(0, 1.1 * seconds)
            pid, status, error = self.killed_once(argv, number, after, stdin)
            where = f"{argv[0]}, {number.name} after {after:.4f} s: status {status}, {error[:300]}"
            self.assertIn(status, (0, -number), where)
            self.assertIn(self.content(out), (b"old", good) if status != 0 else (good,), where)
            self.assertTrue(all_gone(pid, 2), where + f": {members(pid)} left")
            others = sorted(set(os.listdir(self.work)) - {os.path.basename(out)})
            if number == signal.SIGKILL:  # documented: only this signal, at one moment
                for name in [n for n in others if re.fullmatch(re.escape(os.path.basename(out)) + r"\.\d+-\d+\.tmp", n)]:
                    self.assertEqual(self.content(os.path.join(self.work, name)), good, where)
                    os.unlink(os.path.join(self.work, name))
                    others.remove(name)
            self.assertEqual(others + os.listdir(self.temporary), [], where)
            kept += status != 0
        self.assertGreater(kept, 0, "no kill came in time")
        os.unlink(out)


class Tools(Case):
    def test_prof2pbin(self):
        self.each(["prof2pbin", "-q", "-n", "x", self.raw], ".pbin")

    def test_prof2pbin_pipe(self):
        """A pipe is copied to a temporary file."""
        self.each(["prof2pbin", "-q", "-n", "x"], ".pbin.bz2", os.path.join(SAMPLES, "out.bin.bz2"))

    def test_pbin_aggregate(self):
        self.each(["pbin-aggregate", "-q", "-k", "thread,function,line", self.pbin, self.pbin], ".json")
        self.each(["pbin-aggregate", "-q", self.pbin], ".pbin")

    def test_pbin_compare(self):
        self.each(["pbin-compare", "-q", self.pbin, self.pbin], ".csv")

    def test_pbin_dump(self):
        self.each(["pbin-dump", "--samples", self.pbin], ".csv")

    def test_pbin_annotate(self):
        profile = os.path.join(self.shared, "a.pbin")
        subprocess.run([tool.path("prof2pbin"), "-q", "-o", profile, self.raw], check=True)
        self.each(["pbin-annotate", "-q", "--asm", profile], ".txt")

    def test_pbin_plot(self):
        """gnuplot is a child."""
        self.each(["pbin-plot", "timeline", "-q", self.pbin], ".svg")

    def test_gmon2pbin_and_pbin2gmon(self):
        profile, gmon = (os.path.join(self.shared, name) for name in ("g.pbin", "g.out"))
        subprocess.run([tool.path("prof2pbin"), "-q", "-o", profile, self.raw], check=True)
        self.each(["pbin2gmon", "-q", "-e", BURN, profile], ".out")
        subprocess.run([tool.path("pbin2gmon"), "-q", "-e", BURN, "-o", gmon, profile], check=True)
        self.each(["gmon2pbin", "-q", "-n", "x", "-e", BURN, gmon], ".pbin")

    def test_pbin_callgraph(self):
        w = pbin.Writer({"name": "x", "keys": "binary,function"}, xxh3)
        w.put_runs([pbin.Run("x", 10**9, 0, 1, 10**6, 0)])
        names = [f"function_{n}" for n in range(2000)]
        w.put_rows([pbin.Row((n, n), 1, 1, 1, 1000, 0, 1, 0, (1, 1, 0, 0)) for n in names])
        w.put_arcs([(a, a, b, b, 1) for a, b in zip(names, names[1:])])
        profile = os.path.join(self.shared, "arcs.pbin")
        with open(profile, "wb") as f:
            f.write(w.finish())
        self.each(["pbin-callgraph", "-q", profile], ".json")

    def test_pbin_addr2line(self):
        self.each(["pbin-addr2line", "-f", "-i", "-e", BURN], ".txt", self.addresses())

    def addresses(self):
        path = os.path.join(self.shared, "addresses")
        with open(path, "w", encoding="ascii") as f:
            f.writelines(f"{address:#x}\n" for address in range(0x1000, 0x9000))
        return path

    def test_igprof2pbin(self):
        dump = os.path.join(self.shared, "igprof")
        with open(dump, "w", encoding="ascii") as f:
            f.write("P=(ID=7 N=(app) T=0.01)\nC1 FN0=(F0=(/bin/app)+0 N=(main))+0 V0=(PERF_TICKS):(1,1,1)\n")
            f.writelines(f"C2 FN{i}=(F0+{i} N=(function_{i}))+0 V0:({i},{i},1)\n" for i in range(1, 5000))
        self.each(["igprof2pbin", "-q", dump], ".pbin")

    def test_perf2pbin(self):
        self.each(["perf2pbin", "-q", "-n", "x", os.path.join(SAMPLES, "perf.data.xz")], ".pbin")

    def test_gperf2pbin(self):
        self.each(["gperf2pbin", "-q", "-n", "x", os.path.join(SAMPLES, "cpu.prof.xz")], ".pbin")

    def test_traces(self):
        trace, accesses = os.path.join(self.shared, "trace"), os.path.join(self.shared, "accesses")
        with open(trace, "wb") as f:
            f.write(traces.tracerv([(i, {i % 7: 0x401000 + i % 999}) for i in range(1, 5000)]))
        with open(accesses, "wb") as f:
            f.write(traces.memtrace([(i % 2, i, 8, 0x401000 + i % 999) for i in range(5000)]))
        self.each(["tracerv2pbin", "-q", "-n", "x", trace], ".pbin")
        self.each(["memtrace2pbin", "-q", "-n", "x", accesses], ".pbin")

    def test_sthem2pbin(self):
        self.each(["sthem2pbin", "-q", "-n", "x", os.path.join(SAMPLES, "export.csv")], ".pbin")


class Sampler(Case):
    def complete(self, path, *options):
        converted = os.path.join(self.folder, "converted.pbin")
        return subprocess.run([tool.path("prof2pbin"), "-q", "--no-dwarf", *options, "-o", converted, path],
                              capture_output=True, check=False)

    def check_kill(self, out, began, where):
        """The command continues; the recorded data are in OUT.part, or already in OUT, which
        appears a moment before OUT.part is removed."""
        part = out + ".part"
        if self.content(out) != b"old":
            done = self.complete(out)
            self.assertEqual(done.returncode, 0, where + f": {done.stderr}")
            if os.path.exists(part):
                os.unlink(part)
            return False
        if not os.path.exists(part):
            self.assertLess(began, SALVAGEABLE, where + ": nothing recorded")
            return False
        done = self.complete(part, "--salvage")
        self.assertTrue(done.returncode == 0 or began < SALVAGEABLE, where + f": {done.stderr}")
        os.unlink(part)
        return done.returncode == 0

    def check_signal(self, out, number, status, where):
        """The command gets the signal; if there is a profile, it is complete."""
        self.assertIn(status, (0, -number), where)
        self.assertFalse(os.path.exists(out + ".part"), where)
        if self.content(out) != b"old":
            done = self.complete(out)
            self.assertEqual(done.returncode, 0, where + f": {done.stderr}")

    def kills(self, engine):
        rng, out, salvaged = random.Random(engine), os.path.join(self.work, "out.bin"), 0
        began = os.path.join(self.folder, "began")
        for i in range(20 * KILLS):
            if i >= KILLS and salvaged > 0:  # sampling may begin after the signal, or end before it
                break
            with open(out, "wb") as f:
                f.write(b"old")
            if os.path.exists(began):
                os.unlink(began)
            number, after = SIGNALS[i % 3], rng.uniform(0, 0.5)
            argv = ["sampler", "-q", f"--engine={engine}", "-o", out, "--", "/bin/sh", "-c",
                    f"read up idle </proc/uptime; echo $up >'{began}'; exec '{BURN}' 0.3"]
            pid, status, error = self.killed_once(argv, number, after, None)
            ran = self.killed - TICK - float(self.content(began) or "inf")
            where = f"{engine}, {number.name} after {after:.4f} s: status {status}, {error[:300]}"
            self.assertTrue(all_gone(pid, 10), where + f": {members(pid)} left")
            if number == signal.SIGKILL and status != 0:
                self.assertEqual(status, -number, where)
                salvaged += self.check_kill(out, ran, where)
            else:
                self.check_signal(out, number, status, where)
            self.assertEqual(sorted(os.listdir(self.work)) + os.listdir(self.temporary), ["out.bin"], where)
        self.assertGreater(salvaged, 0, "no kill came in time")

    def test_while_it_starts(self):
        """As soon as OUT.part exists, a signal leaves neither file."""
        out = os.path.join(self.work, "out.bin")
        for i in range(30):
            process = self.start(["sampler", "-q", f"--engine={('perf', 'ptrace')[i % 2]}", "-o", out, "--", "sleep", "0.3"])
            while not os.path.exists(out + ".part") and process.poll() is None:
                pass
            process.terminate()
            error = process.communicate(timeout=20)[1]
            self.assertEqual(process.returncode, -signal.SIGTERM, error)
            self.assertNotIn("out.bin.part", os.listdir(self.work), i)

    def test_perf(self):
        self.kills("perf")

    def test_ptrace(self):
        self.kills("ptrace")


@unittest.skipIf(platform.machine() != "x86_64", "funcmeter is for x86-64")
class Funcmeter(Case):
    """Signals are passed to the command, and its calls up to then are written. SIGKILL loses these,
    but the command continues."""

    def check_kill(self, out, number, status, where):
        """Returns whether the tool itself was killed."""
        if number == signal.SIGKILL and status != 0:
            self.assertEqual(status, -number, where)
            if self.content(out) != b"old":  # killed between its last write and its end
                self.assertEqual(len(self.content(out).splitlines()), self.lines, where)
            return True
        if self.content(out) == b"old":  # before the program that has the functions began
            self.assertRegex(where, "no function was hooked|nothing was measured" if status == 1 else "status -")
        else:
            self.assertIn(status, (0, 128 + number), where)
            self.assertEqual(self.content(out).splitlines()[0], self.header, where)
        return False

    def test_funcmeter(self):
        rng, out, killed = random.Random("funcmeter"), os.path.join(self.work, "out.csv"), 0
        marks = begun, ended = [os.path.join(self.folder, name) for name in ("begun", "ended")]
        argv = ["funcmeter", "-q", "-o", out, "burn:burn_.*", "--", "/bin/sh", "-c",
                f": >'{begun}'; '{BURN}' 0.2; echo $? >'{ended}'"]
        self.unkilled(argv)
        self.header, self.lines = self.content(out).splitlines()[0], len(self.content(out).splitlines())
        self.assertIn(b"burn_50", self.content(out))
        for i in range(KILLS):
            with open(out, "wb") as f:
                f.write(b"old")
            for path in marks:
                if os.path.exists(path):
                    os.unlink(path)
            number, after = SIGNALS[i % 3], rng.uniform(0, 0.35)
            pid, status, error = self.killed_once(argv, number, after, None)
            where = f"{number.name} after {after:.4f} s: status {status}, {error[:300]}"
            self.assertTrue(all_gone(pid, 10), where + f": {members(pid)} left")
            if self.check_kill(out, number, status, where):
                killed += os.path.exists(begun)
                self.assertEqual(self.content(ended), b"0\n" if os.path.exists(begun) else None, where)
            self.assertEqual(sorted(os.listdir(self.work)) + os.listdir(self.temporary), ["out.csv"], where)
        self.assertGreater(killed, 0, "no kill came in time")


if __name__ == "__main__":
    unittest.main()
