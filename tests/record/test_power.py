"""Power sources without hardware: folders replace /sys, libraries replace drivers, commands, logs.
The results of the sampler are compared with sums computed here.

SPDX-License-Identifier: MIT"""
import itertools
import json
import os
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tool  # noqa: E402
from profile_reader import Profile  # noqa: E402

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
SAMPLER = os.path.join(BUILD, "sampler")
STUBS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stubs")
BURN = os.path.join(BUILD, "samples", "burn")
LIMIT = 50


class Case(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name
        self.out = os.path.join(self.folder, "out.bin")
        self.env = dict(os.environ, PBIN_SYSROOT=self.folder)

    def at(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, path, text):
        """Writes a file below the root; an existing one is overwritten in place, as in sysfs."""
        full = self.at(path.lstrip("/"))
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w") as file:
            file.write(f"{text}\n")
        return full

    def sampler(self, *options, command=("sleep", "0.4"), out=True, **more):
        where = ["-o", self.out] if out else []
        return subprocess.run([SAMPLER, *where, *options, "--", *command], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=LIMIT, env=self.env, **more)

    def energy(self, *options, **more):
        """(joules, the source, seconds, the whole report) of a run."""
        done = self.sampler(*options, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = re.search(r"energy (\S+) J, \S+ W, from (.*) \(scope: (.*)\)\n", done.stderr)
        self.assertIsNotNone(found, done.stderr)
        seconds = float(re.search(r" samples in ([\d.]+) s", done.stderr)[1])
        return float(found[1]), found[2], seconds, done.stderr

    def listed(self, source):
        """The output of --list-pmus for a source: [(number, name, kind, scope, the rest)], or its error."""
        done = subprocess.run([SAMPLER, "--list-pmus"], text=True, capture_output=True, timeout=LIMIT, env=self.env)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        text = re.search(rf"^{source}[:\[ ].*\n((?:    .*\n)*)", done.stdout, re.M)[1]
        if "does not work here" in text:
            return text.strip()
        return [tuple(re.split(r"\s+", line.strip(), maxsplit=4)) for line in text.splitlines()[1:]]

    def waiting(self, seconds):
        """A command that signals its start and then runs for this time; see wait_for_command."""
        return ("sh", "-c", f"sleep 0.1; touch {self.at('started')}; sleep {seconds}")

    def wait_for_command(self):
        end = time.monotonic() + 20
        while not os.path.exists(self.at("started")) and time.monotonic() < end:
            time.sleep(0.01)

    def fails(self, pattern, *options, status=1, **more):
        done = self.sampler(*options, **more)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertRegex(done.stderr, r"\Asampler: [^\n]*" + pattern)
        return done


# ---- trees ------------------------------------------------------------------------------------

class Tree(Case):
    def zone(self, name, title, energy=0, most=262143328850):
        folder = f"/sys/class/powercap/{name}"
        self.write(folder + "/name", title)
        self.write(folder + "/max_energy_range_uj", most)
        return self.write(folder + "/energy_uj", energy)

    def moving(self, path, start, steps, most, pause=0.005):
        """A thread that adds STEPS to the counter in PATH while the command runs, wrapping after MOST."""
        def run():
            value = start
            self.wait_for_command()
            for step in steps:
                value = (value + step) % most
                with open(path + ".new", "w") as file:
                    file.write(f"{value}\n")
                os.rename(path + ".new", path)
                time.sleep(pause)
        thread = threading.Thread(target=run)
        thread.start()
        self.addCleanup(thread.join)
        return thread


class Trees(Tree):
    def rapl(self):
        for package in (0, 1):
            self.zone(f"intel-rapl:{package}", f"package-{package}")
            self.zone(f"intel-rapl:{package}:0", "core")
            self.zone(f"intel-rapl:{package}:1", "dram")
        self.zone("intel-rapl:2", "psys")
        self.zone("intel-rapl-mmio:0", "package-0")
        self.write("/sys/class/powercap/intel-rapl/enabled", 1)

    def test_rapl_domains(self):
        self.rapl()
        listed = self.listed("rapl")
        self.assertEqual([(name, kind, scope) for _, name, kind, scope, _ in listed],
                         [("package-0", "energy", "package"), ("package-0/dram", "energy", "dram"),
                          ("package-1", "energy", "package"), ("package-1/dram", "energy", "dram"),
                          ("package-0/core", "energy", "core"), ("package-1/core", "energy", "core"),
                          ("psys", "energy", "psys")])
        self.assertTrue(all("wraps at 262143 J" in rest for *_, rest in listed), listed)
        _, value, _, _ = self.energy("-p", "rapl")
        self.assertEqual(value, "rapl:package-0 + rapl:package-0/dram + rapl:package-1 + rapl:package-1/dram")
        self.assertEqual(self.energy("-p", "rapl:psys")[1], "rapl:psys")
        self.assertEqual(self.energy("-p", "rapl", "-s", "5")[1], "rapl:package-0/core")
        self.fails("rapl:package-9: rapl has no 'package-9'", "-p", "rapl:package-9")
        self.fails("rapl: --sensor must be a number from 1 to 7, not 8", "-p", "rapl", "-s", "8")

    def test_rapl_that_only_root_reads(self):
        self.rapl()
        os.chmod(self.at("sys/class/powercap/intel-rapl:0/energy_uj"), 0)
        os.chmod(self.folder, 0o755)
        demote = (lambda: os.setuid(65534)) if os.getuid() == 0 else None
        sampler = shutil.copy(SAMPLER, self.folder)  # the build may be in a folder that only root can enter
        done = subprocess.run([sampler, "-p", "rapl", "--", "true"], text=True, capture_output=True, env=self.env,
                              preexec_fn=demote, cwd="/", timeout=LIMIT)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^sampler: .*/intel-rapl:0/energy_uj: cannot open: Permission denied \(usually, only root may read it")

    def test_wraps_several_times(self):
        most = 1000000
        # the rate is known before the first wrap, so that a wrap is not mistaken for a reset on a
        # busy machine
        self.zone("intel-rapl:0", "package-0", 100000, most)
        steps = [50000 + 137 * (i % 7) for i in range(100)]
        thread = self.moving(self.at("sys/class/powercap/intel-rapl:0/energy_uj"), 100000, steps, most)
        joules, _, _, report = self.energy("-p", "rapl", command=self.waiting(2.5))
        self.assertFalse(thread.is_alive(), "this machine is too slow for the test")
        self.assertGreater(sum(steps) // most, 4)
        self.assertAlmostEqual(joules, sum(steps) * 1e-6, delta=1e-5 * joules)
        self.assertNotIn("reset", report)

    def test_sums_of_sources(self):
        self.zone("intel-rapl:0", "package-0", 5)
        dram, other = self.zone("intel-rapl:0:0", "dram", 7), self.write("/board", 1000)
        threads = [self.moving(self.at("sys/class/powercap/intel-rapl:0/energy_uj"), 5, [1000] * 40, 10**9),
                   self.moving(dram, 7, [300] * 40, 10**9), self.moving(other, 1000, [5000] * 40, 10**9)]
        joules, value, _, report = self.energy("-p", "rapl", "-p", "counter:" + other, command=self.waiting(3))
        self.assertFalse(any(t.is_alive() for t in threads))
        self.assertEqual(value, "rapl:package-0 + rapl:package-0/dram")
        self.assertAlmostEqual(joules, 40 * 1300e-6, delta=1e-9)
        self.assertRegex(report, r"not included in the value, .*: counter:energy \(--value NAME ")

    def test_reset_is_no_wrap(self):
        counter = self.write("/counter", 500000)
        def restart():
            self.wait_for_command()
            for value in [500000 + 1000 * i for i in range(30)] + [1000 * i for i in range(30)]:
                with open(counter + ".new", "w") as file:
                    file.write(f"{value}\n")
                os.rename(counter + ".new", counter)
                time.sleep(0.005)
        thread = threading.Thread(target=restart)
        thread.start()
        joules, _, _, report = self.energy("-p", "counter:" + counter, "--range", "1000000", command=self.waiting(3))
        thread.join()
        self.assertRegex(report, r"counter:energy was reset 1 time: the previous power is assumed for 0\.0\d+ s")
        self.assertAlmostEqual(joules, 59e-3, delta=25e-3)

    def test_counter_with_decimals_and_units(self):
        counter = self.write("/counter", "10.250000")
        thread = self.moving_text(counter, ["10.5", "11.000001", "12.75"])
        joules = self.energy("-p", "counter:" + counter, "--unit", "kJ", command=self.waiting(1.2))[0]
        thread.join()
        self.assertAlmostEqual(joules, 2500, delta=1e-3)

    def moving_text(self, path, texts):
        def run():
            self.wait_for_command()
            for text in texts:
                time.sleep(0.1)
                with open(path + ".new", "w") as file:
                    file.write(text)
                os.rename(path + ".new", path)
        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def test_file_that_vanishes_ends_the_sampling(self):
        counter = self.write("/counter", 5)
        timer = threading.Timer(0.5, os.unlink, [counter])
        timer.start()
        done = self.fails(r"counter: cannot (read|open): No such file or directory; sampling ended 0\.\d+ s after the "
                          r"start", "-p", "counter:" + counter,
                          command=("sh", "-c", f"{BUILD}/samples/burn 1.2; echo went on"))
        self.assertIn("went on", done.stdout)
        profile = Profile(self.out)
        self.assertGreater(len(profile.samples), 3)
        self.assertEqual(profile.wall, profile.times[-1] // 1000, "it ends with what was recorded")
        self.assertLess(profile.wall, 1.0e6)

    def test_file_that_is_empty_for_a_moment(self):
        gauge = self.write("/gauge", 5)
        def rewrite():
            for _ in range(20):
                with open(gauge, "w") as file:
                    file.flush()
                    time.sleep(0.01)
                    file.write("5\n")
                time.sleep(0.005)
        thread = threading.Thread(target=rewrite)
        thread.start()
        joules, _, seconds, _ = self.energy("-p", "file:" + gauge, "--unit", "W", command=("sleep", "0.6"))
        thread.join()
        self.assertAlmostEqual(joules, 5 * seconds, delta=5e-3 * joules)

    def test_constant_power_at_every_rate(self):
        gauge = self.write("/gauge", 5000)
        for rate in ("2", "100", "1000"):
            joules, _, _, _ = self.energy("-f", rate, "-p", "file:" + gauge, "--unit", "mW")
            profile = Profile(self.out)
            samples = sum(value * (b - a) * 1e-9 for (value, _), a, b in
                          zip(profile.samples, [0] + profile.times, profile.times))
            self.assertAlmostEqual(samples, 5 * profile.times[-1] * 1e-9, delta=1e-6 * samples)
            self.assertAlmostEqual(joules, 5 * profile.wall * 1e-6, delta=1e-3 * joules)
            self.assertLessEqual(max(value for value, _ in profile.samples), 5 * (1 + 1e-9))

    def test_hwmon_chips(self):
        chips = {
            "hwmon0": {"name": "ina3221", "in1_input": 5000, "curr1_input": 2000, "in1_label": "VDD_IN",
                       "in2_input": 5000, "curr2_input": 400, "in2_label": "VDD_CPU", "in3_input": 1},
            "hwmon2": {"name": "coretemp", "temp1_input": 41000},
            "hwmon10": {"name": "power_meter", "power1_average": 93000000, "power1_average_interval": 1000},
            "hwmon9": {"name": "i915", "energy1_input": 123456789},
            "hwmon3": {"name": "ina226", "power1_input": 1250000, "curr1_input": 250, "in1_input": 5000,
                       "update_interval": 35}}
        for chip, files in chips.items():
            for name, text in files.items():
                self.write(f"/sys/class/hwmon/{chip}/{name}", text)
        self.assertEqual([(name, kind, scope) for _, name, kind, scope, _ in self.listed("hwmon")],
                         [("ina3221/VDD_IN", "power", "board"), ("ina3221/VDD_CPU", "power", "other"),
                          ("ina226/power1", "power", "other"), ("i915/energy1", "energy", "gpu"),
                          ("power_meter/power1", "power", "board")])
        self.assertIn("every 35 ms", self.listed("hwmon")[2][4])
        for source, value, watts in (("hwmon", "ina3221/VDD_IN", 10), ("hwmon:ina3221/VDD_CPU", "ina3221/VDD_CPU", 2),
                                     ("hwmon:ina226", "ina226/power1", 1.25), ("hwmon:hwmon10", "power_meter/power1", 93)):
            joules, name, seconds, _ = self.energy("-p", source)
            self.assertEqual(name.split(" + ")[0], "hwmon:" + value)
            self.assertAlmostEqual(joules, watts * seconds, delta=2e-3 * joules + 5e-4 * watts)
        self.fails("no chip 'coretemp' measures power", "-p", "hwmon:coretemp")
        self.fails("hwmon has no 'i915/x'", "-p", "hwmon:i915/x")

    def test_cray(self):
        folder = "/sys/cray/pm_counters/"
        for name, text in (("freshness", "100"), ("energy", "5000 J"), ("cpu_energy", "2000 J"), ("raw_scan_hz", "10"),
                           ("memory_energy", "700 J"), ("accel0_energy", "900 J"), ("power", "300 W")):
            self.write(folder + name, text)
        self.assertEqual([(name, scope) for _, name, _, scope, _ in self.listed("cray")],
                         [("energy", "board"), ("accel0_energy", "gpu"), ("cpu_energy", "package"),
                          ("memory_energy", "dram")])
        def update():
            self.wait_for_command()
            for i in range(1, 6):
                time.sleep(0.1)
                self.write(folder + "energy", f"{5000 + 30 * i} J")
                if i % 2 == 1:  # the other updates have not arrived yet
                    self.write(folder + "freshness", 100 + i)
        thread = threading.Thread(target=update)
        thread.start()
        joules, value, _, _ = self.energy("-p", "cray", command=self.waiting(1.2))
        thread.join()
        self.assertEqual((joules, value), (150, "cray:energy"))

    @unittest.skipUnless(os.getuid() == 0, "takes the right to count on a processor")
    def test_rapl_through_perf(self):
        """cpu-clock of a processor counts its nanoseconds: at 2 nJ each, this is 2 W."""
        folder = "/sys/bus/event_source/devices/power/"
        for name, text in (("type", 1), ("cpumask", "0"), ("events/energy-pkg", "event=0x00"),
                           ("events/energy-pkg.scale", "2e-9"), ("events/energy-pkg.unit", "Joules")):
            self.write(folder + name, text)
        self.assertEqual([row[1:4] for row in self.listed("rapl")], [("package-0", "energy", "package")])
        joules, value, seconds, _ = self.energy("-p", "rapl")
        self.assertEqual(value, "rapl:package-0")
        self.assertAlmostEqual(joules, 2 * seconds, delta=0.01 * joules)

    def test_nothing_here(self):
        for source in ("rapl", "amd-core", "hwmon", "cray"):
            self.assertIn("does not work here: ", self.listed(source))
            done = self.fails(".*", "-p", source)
            self.assertEqual(done.stderr.count("\n"), 1)
        self.assertFalse(os.path.exists(self.out))

    def test_options_of_a_source_follow_it(self):
        first, second = self.write("/first", 3000), self.write("/second", 7)
        joules, value, seconds, _ = self.energy("--unit", "mW", "-p", "file:" + first, "-p", "file:" + second)
        self.assertEqual(value, "file:value")
        self.assertAlmostEqual(joules, 3 * seconds, delta=0.01 * joules)
        for options in (["-p", "rapl", "--unit", "W"], ["-p", "file:" + first, "--range", "5"], ["-s", "0"],
                        ["--baseline", "2V"], ["--baseline", "2s"], ["-p", "counter:" + first, "--unit", "mA", "--pmu-kind", "power"],
                        ["-a", "-p", "log:" + first], ["--interval", "often"], ["--attach", "x"]):
            done = self.sampler(*options)
            self.assertEqual(done.returncode, 2, options)
        for source in ("cmd:while echo 5; do sleep 0.1; done", "counter:" + self.write("/decimals", "7.125")):
            self.fails("--range: too large for a counter with decimals", "-p", source, "--unit", "uJ", "--range", str(2**64 - 1))
        self.fails("file: reads a gauge", "-p", "file:" + first, "--unit", "uJ")
        self.fails("expected a number, found 'five'", "-p", "file:" + self.write("/text", "five"))
        self.fails("expected a number, found nothing", "-p", "file:" + self.write("/empty", ""))

    def test_baseline(self):
        gauge = self.write("/gauge", 3)
        _, _, seconds, report = self.energy("-p", "file:" + gauge, "--unit", "W", "--baseline", "0.3s")
        self.assertIn("baseline 3 W: ", report)
        self.assertAlmostEqual(float(Profile(self.out).facts["baseline_w"]), 3, delta=1e-9)
        joules, _, seconds, report = self.energy("-p", "file:" + gauge, "--unit", "W", "--baseline", "1.25W")
        below, above = map(float, re.search(r"baseline 1.25 W: (\S+) J, and (\S+) J above it", report).groups())
        self.assertAlmostEqual(below, 1.25 * seconds, delta=0.002)
        self.assertAlmostEqual(above, joules - below, delta=1e-4)


class Readings(Tree):
    """The blocks srcs and read of the extension, and the documented values that follow from
    them."""

    def counted(self, readings):
        """A function that returns the count of each source at a time, on the lines between its
        readings."""
        def at(time):
            before = max((r for r in readings if r[1] <= time), key=lambda r: (r[1], r[2]))
            after = min((r for r in readings if r[1] > time), key=lambda r: r[1], default=None)
            if after is None:
                return before[2]
            return before[2] + (after[2] - before[2]) * (time - before[1]) / (after[1] - before[1])
        return at

    def test_values_follow_from_readings(self):
        package, dram = self.zone("intel-rapl:0", "package-0", 5, 10**6), self.zone("intel-rapl:0:0", "dram", 7, 10**6)
        core = self.zone("intel-rapl:0:1", "core", 9, 10**6)
        gauge = self.write("/gauge", 2.5)
        steps = [20000 + 1001 * (i % 5) for i in range(120)]
        threads = [self.moving(package, 5, steps, 10**6), self.moving(dram, 7, [s // 4 for s in steps], 10**6),
                   self.moving(core, 9, [s // 2 for s in steps], 10**6)]
        joules, _, _, _ = self.energy("-p", "rapl", "-p", "file:" + gauge, "--unit", "W",
                                      command=("sh", "-c", f"sleep 0.1; touch {self.at('started')}; "
                                                         f"{BUILD}/samples/burn 2.5"))
        self.assertFalse(any(t.is_alive() for t in threads), "this machine is too slow for the test")
        profile = Profile(self.out)
        self.assertEqual([(s[0], s[1], s[2], s[3], s[4], s[6]) for s in profile.sources],
                         [("rapl:package-0", "energy", "J", "package", 1e-6, 1),
                          ("rapl:package-0/dram", "energy", "J", "dram", 1e-6, 1),
                          ("rapl:package-0/core", "energy", "J", "core", 1e-6, 0),
                          ("file:value", "power", "W", "other", 1, 0)])
        by_source = [[r for r in profile.readings if r[0] == i] for i in range(4)]
        for readings in by_source:
            self.assertEqual(readings[0][1], 0)
            self.assertGreaterEqual(readings[-1][1], profile.times[-1])
            self.assertEqual([r[1] for r in readings], sorted(r[1] for r in readings))
            busy = [r[3] for r in readings]
            self.assertEqual(busy, sorted(busy))
            self.assertGreater(busy[-1] - busy[0], 1e9)
        for readings in by_source[:3]:  # unchanged values are not recorded, except for the last one
            self.assertTrue(all(a[2] < b[2] for a, b in zip(readings, readings[1:-1])))
        for readings, part in zip(by_source, (1, 4, 2)):
            self.assertAlmostEqual(readings[-1][2], sum(s // part for s in steps), delta=2)
        self.assertEqual({struct.unpack("<d", struct.pack("<Q", r[2]))[0] for r in by_source[3]}, {2.5})
        lines = [self.counted(r) for r in by_source[:2]]
        total = 0
        for (value, _), a, b in zip(profile.samples, [0] + profile.times, profile.times):
            mine = sum(line(b) - line(a) for line in lines) * 1e-6
            self.assertAlmostEqual(value * (b - a) * 1e-9, mine, delta=1e-9 + 1e-9 * mine)
            total += mine
        self.assertAlmostEqual(total, joules, delta=1e-4 * joules)
        self.assertEqual((profile.magic, profile.facts["unit"], profile.facts["pmu"]),
                         (3, "W", f"rapl file:{gauge}"))
        self.values_of_each_source(profile, [self.counted(r) for r in by_source[:3]])

    def values_of_each_source(self, profile, lines):
        """The sums of pbin-aggregate for each source: the energy that a counter counted, and 2.5
        W."""
        pbin = self.at("out.pbin")
        subprocess.run([os.path.join(BUILD, "prof2pbin"), "-q", "-o", pbin, self.out], check=True)
        end = profile.times[-1]
        expected = [(s[0], s[3], (line(end) - line(0)) * 1e-6) for s, line in zip(profile.sources, lines)]
        for name, scope, joules in [*expected, ("file:value", "other", 2.5e-9 * end)]:
            facts = json.loads(subprocess.check_output(
                [os.path.join(BUILD, "pbin-aggregate"), "-q", "--format=json", "--value", name, pbin]))["profile"]
            self.assertAlmostEqual(facts["energy_J"], joules, delta=1e-9 * joules, msg=name)
            self.assertEqual((facts["value"], facts["scope"]), (name, scope))
        facts = json.loads(subprocess.check_output(
            [os.path.join(BUILD, "pbin-aggregate"), "-q", "--format=json", pbin]))["profile"]
        self.assertAlmostEqual(facts["energy_J"], expected[0][2] + expected[1][2], delta=1e-9 * facts["energy_J"])
        self.assertEqual((facts["value"], facts["scope"]), ("rapl:package-0 + rapl:package-0/dram", "package, dram"))


# ---- libraries --------------------------------------------------------------------------------

class Moments(Case):
    """The times at which sources are read."""

    def test_as_often_while_the_command_waits(self):
        """Readings that are only taken with samples would be 8 ms apart, and absent while the
        command waits."""
        source = self.write("w", 4)
        for engine in ("perf", "ptrace"):
            done = self.sampler("--engine", engine, "-p", f"file:{source}", "--unit", "W",
                                command=("sh", "-c", f"{BURN} 0.2; sleep 0.2; {BURN} 0.2"))
            self.assertEqual(done.returncode, 0, done.stderr)
            times = [r[1] for r in Profile(self.out).readings]
            steps = sorted(b - a for a, b in zip(times, times[1:]))
            with tool.measurement():
                self.assertLess(steps[len(steps) // 2], 4e6, engine)
                self.assertGreater(len(times), 100, engine)

    def test_updates_are_located(self):
        """A counter shows the past: the energy that it counted belongs to the time up to its
        update, not up to the reading."""
        path, begun, ended = self.write("c", 0), time.monotonic_ns(), threading.Event()

        def update():
            while not ended.wait(0.05):
                with open(path, "r+") as file:
                    file.write(f"{(time.monotonic_ns() - begun) // 1000}\n")
        thread = threading.Thread(target=update)
        thread.start()
        done = self.sampler("--engine", "perf", "-p", f"counter:{path}", "--unit", "uJ", command=("sleep", "1.5"))
        ended.set()
        thread.join()
        self.assertEqual(done.returncode, 0, done.stderr)
        late = sorted(time - 1000 * count for _, time, count, _ in Profile(self.out).readings[2:-1])
        with tool.measurement():
            self.assertGreater(len(late), 15)
            self.assertLess(late[-1 - len(late) // 8] - late[len(late) // 8], 10e6)  # of 50 ms

    def test_start_and_end_between_updates(self):
        """The first update counts energy from before the start, and the last energy is counted after the
        end. The run gets its parts of both."""
        path, begun, ended = self.write("c", 0), time.monotonic_ns(), threading.Event()

        def update():
            for number in itertools.count(1):
                if ended.wait(max(0, 0.1 * number - (time.monotonic_ns() - begun) * 1e-9)):
                    break
                with open(path, "r+") as file:
                    file.write(f"{(time.monotonic_ns() - begun) // 100:012}\n")
        thread = threading.Thread(target=update)
        thread.start()
        errors = []
        try:
            for engine in 4 * ("perf", "ptrace"):
                joules, _, seconds, _ = self.energy("--engine", engine, "-p", f"counter:{path}", "--unit", "uJ",
                                                    command=(BURN, "0.3"))
                errors.append(abs(joules / (10 * seconds) - 1))
        finally:
            ended.set()
            thread.join()
        with tool.measurement():
            self.assertLess(statistics.median(errors), 0.04, errors)


class Libraries(Case):
    """Stubs in place of the drivers' libraries, where the dynamic linker looks first."""

    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        for source, library in (("nvml", "libnvidia-ml.so.1"), ("amdsmi", "libamd_smi.so"), ("usb", "libusb-1.0.so.0")):
            os.makedirs(os.path.join(cls.holder.name, source))
            subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", os.path.join(cls.holder.name, source, library),
                            os.path.join(STUBS, source + ".c")], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def use(self, *names):
        self.env["LD_LIBRARY_PATH"] = ":".join(os.path.join(self.holder.name, n) for n in names)

    def test_nvidia(self):
        self.use("nvml")
        self.assertEqual([row[1:4] for row in self.listed("gpu")], [("nvidia-0", "energy", "gpu")])
        joules, value, seconds, _ = self.energy("-p", "gpu")
        self.assertEqual(value, "gpu:nvidia-0")
        self.assertAlmostEqual(joules, 50 * seconds, delta=0.02 * joules)
        self.env["STUB_BROKEN"] = "1"
        self.assertIn("no GPU with an energy counter", self.listed("gpu"))

    def test_amd_and_both(self):
        self.use("amdsmi")
        self.assertEqual([row[1] for row in self.listed("gpu")], ["amd-0", "amd-1"])
        joules, value, seconds, _ = self.energy("-p", "gpu")
        self.assertEqual(value, "gpu:amd-0 + gpu:amd-1")
        self.assertAlmostEqual(joules, 42 * seconds, delta=0.02 * joules)
        self.use("nvml", "amdsmi")
        joules, value, seconds, _ = self.energy("-p", "gpu")
        self.assertEqual(value, "gpu:nvidia-0 + gpu:amd-0 + gpu:amd-1")
        self.assertAlmostEqual(joules, 92 * seconds, delta=0.02 * joules)
        joules, _, seconds, _ = self.energy("-p", "gpu:amd-1")
        self.assertAlmostEqual(joules, 12 * seconds, delta=0.02 * joules)

    # -- Lynsyn

    def board(self, hardware, channels, software=0x21):
        """Writes the packets of a board with three calibration points per sensor; the expected
        values are computed from the same numbers here, by the rules of the protocol."""
        counts, offset = [3] * 7, [[10.0 * s + p for p in range(4)] for s in range(7)]
        gain = [[1 + 0.01 * s + 0.001 * p for p in range(4)] for s in range(7)]
        points = [[4000, 12000, 30000, 0] for _ in range(7)]
        resistors = [0.025, 0.05, 0.05, 0.1, 0.1, 1, 10]
        flat = lambda table: [x for row in table for x in row]  # noqa: E731
        part = lambda o: (struct.pack("<7Bx", *counts) + struct.pack("<28d", *(x + o for x in flat(offset))) +  # noqa: E731
                          struct.pack("<28d", *flat(gain)) + struct.pack("<28h", *flat(points)))
        data = bytes([hardware, software, 1, 7]) + bytes(58) + part(0) + part(3) + struct.pack("<7d", *resistors)
        data += struct.pack("<7h", *channels)
        path = self.at("board")
        with open(path, "wb") as file:
            file.write(data)
        self.env["LYNSYN_FILE"] = path
        self.use("usb")

        def volts(sensor, raw, shift):
            point = 0
            while point < 2 and points[sensor][point] <= raw:
                point += 1
            return (raw - offset[sensor][point] - shift) * 2.5 / 32768 * gain[sensor][point]

        def current(sensor, raw):
            return volts(sensor, raw, 0) / (100 if hardware == 0x30 else 20) / resistors[sensor]
        return current, lambda sensor, raw: volts(sensor, raw, 3) * 92000 / 10000

    def test_lynsyn_3_measures_power(self):
        channels = [9000, 2000, 20000, 15000, 3000, 31000, 0]
        for hardware in (0x30, 0x31):
            current, voltage = self.board(hardware, channels)
            for sensor in (0, 1, 2):
                channel = (2 - sensor) * 2
                watts = current(sensor, channels[channel]) * voltage(sensor, channels[channel + 1])
                joules, value, seconds, _ = self.energy("-p", f"lynsyn:{sensor + 1}")
                self.assertEqual(value, f"lynsyn:{sensor + 1}")
                self.assertAlmostEqual(joules / seconds / watts, 1, delta=0.01)
            self.assertEqual(self.energy("-p", "lynsyn", "-s", "2")[1], "lynsyn:2")
        self.assertEqual([row[:4] for row in self.listed("lynsyn")],
                         [(str(i), str(i), "energy", "other") for i in (1, 2, 3)])

    def test_lynsyn_2_measures_current(self):
        channels = [9000, 2000, 20000, 15000, 3000, 31000, -20]
        current, _ = self.board(0x21, channels)
        for sensor in (0, 3, 6):
            done = self.sampler("-p", f"lynsyn:{sensor + 1}")
            self.assertEqual(done.returncode, 0, done.stderr)
            profile = Profile(self.out)
            self.assertEqual((profile.magic, profile.facts["unit"]), (1, "A"))
            for value, _ in profile.samples:
                self.assertAlmostEqual(value, current(sensor, channels[sensor]), delta=1e-9)
        self.assertEqual(len(self.listed("lynsyn")), 7)
        self.fails("this Lynsyn board has no '8'", "-p", "lynsyn:8")

    def test_lynsyn_that_fails(self):
        self.use("usb")
        self.fails("no accessible Lynsyn board", "-p", "lynsyn")
        self.board(0x40, [0] * 7)
        self.fails("Lynsyn hardware 4.0: expected one of 2.0", "-p", "lynsyn")
        self.board(0x30, [0] * 7, software=0x14)
        self.fails("Lynsyn firmware 1.4: expected one of 2.0", "-p", "lynsyn")
        self.board(0x30, [0] * 7)
        self.env["LYNSYN_FAIL"] = "short"
        self.fails("the Lynsyn board sent 59 bytes, expected 60", "-p", "lynsyn")
        self.env["LYNSYN_FAIL"] = "gone"
        self.fails(r"does not answer: LIBUSB_ERROR_NO_DEVICE; sampling ended", "-p", "lynsyn",
                   command=(BUILD + "/samples/burn", "0.8"))
        self.assertTrue(Profile(self.out).samples)


# ---- commands and logs ------------------------------------------------------------------------

class Commands(Case):
    def test_command(self):
        joules, value, seconds, _ = self.energy("-p", "cmd:while echo 2500; do sleep 0.01; done", "--unit", "mW")
        self.assertEqual(value, "cmd:value")
        self.assertAlmostEqual(joules, 2.5 * seconds, delta=0.005 * joules)

    def test_command_that_counts(self):
        script = "i=0; while [ $i -lt 30 ]; do i=$((i+1)); echo $i.5; sleep 0.01; done; sleep 30"
        joules = self.energy("-p", "cmd:echo 0; sleep 1; " + script, "--unit", "J", command=("sleep", "3"))[0]
        self.assertAlmostEqual(joules, 30.5, delta=1e-6)

    def left(self):
        done = subprocess.run(["ps", "-eo", "args"], text=True, stdout=subprocess.PIPE, check=True)
        return [line for line in done.stdout.splitlines() if self.marker in line and "ps -eo" not in line]

    def test_command_is_gone_afterwards(self):
        self.marker = f"sleep 0.{os.getpid()}77"
        self.energy("-p", f"cmd:while echo 1; do {self.marker}; done")
        end = time.monotonic() + 10
        while self.left() and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(self.left(), [])

    def test_command_that_dies(self):
        done = self.fails(r"cmd:.*has ended, with exit status 3; sampling ended 0\.\d+ s after the start",
                          "-p", "cmd:for i in 1 2 3 4 5 6 7 8 9; do echo 1; sleep 0.05; done; exit 3",
                          command=("sh", "-c", f"{BUILD}/samples/burn 1; echo went on"))
        self.assertIn("went on", done.stdout)
        self.assertTrue(Profile(self.out).samples)
        self.fails(r"was killed by signal 9", "-p", "cmd:echo 1; sleep 0.2; kill -9 $$", command=("sleep", "1"))
        self.fails(r"'echo': expected a number, found ''", "-p", "cmd:echo")
        self.fails(r"'exit 4' has ended, with exit status 4", "-p", "cmd:exit 4")
        self.fails(r"expected a number, found 'watts: 5'", "-p", "cmd:echo watts: 5")

    def test_target_does_not_see_it(self):
        """The target has no additional child and no additional descriptor."""
        script = 'ls /proc/self/fd | wc -l; children=$(ps -o ppid= --ppid $$); echo "$children" | wc -l'
        counts = [self.sampler(*options, command=("sh", "-c", script)).stdout
                  for options in ([], ["-p", "cmd:while echo 1; do sleep 0.1; done"])]
        self.assertEqual(counts[0], counts[1])


class Logs(Case):
    def log(self, lines, offset=0.0, form="{:.6f}"):
        """LINES are (seconds from now, watts)."""
        now = time.time() + offset
        return self.write("/log", "time;power\n# a comment\n" + "\n".join(
            (form.format(now + at) if isinstance(form, str) else form(now + at)) + f";{watts}" for at, watts in lines))

    def test_log_of_a_ramp(self):
        """5 W rising by 10 W per second: the mean over the run equals the power at its middle."""
        points = [(0.05 * i, 5 + 10 * 0.05 * i) for i in range(-40, 200)]
        begin = time.time()
        joules, value, seconds, _ = self.energy("-p", "log:" + self.log(points), command=("sleep", "1"))
        self.assertEqual(value, "log:value")
        # the run began some time after BEGIN, at the latest when the sampler had started
        least = (5 + 10 * seconds / 2) * seconds
        self.assertGreater(joules, least * 0.999)
        self.assertLess(joules, least + 10 * (time.time() - begin - seconds) * seconds * 1.001)

    def test_clock_offset_and_forms(self):
        iso = lambda t: time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(t)) + f"{t % 1:.3f}"[1:] + "Z"  # noqa: E731
        local = lambda t: time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(t))  # noqa: E731
        steps = [(-3600 + 1, 99)] + [(i, 7) for i in range(-5, 20)]
        zone = lambda t: iso(t + 5400)[:-1] + "+01:30"  # noqa: E731
        for offset, form in ((0, zone), (3600, "{:.3f}"), (-7200, iso), (0, local), (0, lambda t: str(int(t * 1000))),
                             (0, lambda t: str(int(t * 1e6))), (12.5, lambda t: str(int(t * 1e9)))):
            path = self.log(steps, offset, form)
            joules, _, seconds, _ = self.energy("-p", "log:" + path, "--clock-offset", str(offset))
            self.assertAlmostEqual(joules, 7 * seconds, delta=7 * 0.0006)

    def test_columns_and_late_lines(self):
        path = self.log([(i * 0.1, f"1, 4.5,{i}") for i in range(-5, 8)])
        def append():
            with open(path, "a") as file:
                for i in range(8, 40):
                    file.write(f"{now + i * 0.1:.3f};1, 4.5,{i}\n")
        now = time.time()
        timer = threading.Timer(1.5, append)
        timer.start()
        joules, _, seconds, _ = self.energy("-p", "log:" + path, "-s", "2", command=("sleep", "1"))
        self.assertAlmostEqual(joules, 4.5 * seconds, delta=4.5 * 0.0006)

    def test_decimal_commas(self):
        """Loggers write "16:21:52,594 7.5", meters "1700000000,907;7,5": the digits after the comma
        are not watts."""
        stamp = lambda t: time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(t)) + f",{int(t * 1000) % 1000:03}"  # noqa: E731
        number = lambda t: f"{t:.3f}".replace(".", ",")  # noqa: E731
        for form, rest, column in ((stamp, " 7.5", 1), (stamp, " 7,5", 1), (stamp, ";7,5", 1), (number, ";7,5", 1),
                                   (number, " 7,5", 1), (number, "\t3,25\t7,5", 2), (stamp, " - meter - 7.5 W", 4),
                                   (lambda t: f'"{number(t)}"', ',"3,25","7,5"', 2), (lambda t: f"{t:.3f}", ",7.5,8", 1),
                                   (lambda t: f"{t:.3f}", ", 3, 7.5", 2), (lambda t: f"{t:.3f}", ";7.5,3", 1)):
            now = time.time()
            path = self.write("/log", "".join(f"{form(now + 0.02 * i)}{rest}\n" for i in range(-10, 400)))
            joules, _, seconds, _ = self.energy("-p", "log:" + path, "-s", str(column))
            self.assertAlmostEqual(joules, 7.5 * seconds, delta=7.5 * 0.001, msg=form(now) + rest)

    def test_lines_of_the_same_time(self):
        """With a clock of 1 s, 10 W and 30 W in turn are 20 W, in the summary and in the
        profile."""
        now = time.time()
        path = self.write("/log", "".join(f"{int(now + 0.05 * i)};{10 + 20 * (i % 2)}\n" for i in range(-100, 400)))
        joules, _, seconds, report = self.energy("-p", "log:" + path, command=("sleep", "1"))
        self.assertRegex(report, "log:value has [0-9]+ values whose time occurs more than once: each such time counts once, with the mean of its values")
        self.assertAlmostEqual(joules, 20 * seconds, delta=0.4 * seconds)
        made = subprocess.run([BUILD + "/prof2pbin", self.out], capture_output=True, check=True).stdout
        rows = subprocess.run([BUILD + "/pbin-aggregate", "--format=json", "--total"], input=made, capture_output=True, check=True)
        self.assertAlmostEqual(json.loads(rows.stdout)["total"]["energy"], joules, delta=0.01 * joules)

    def machine_time(self):
        """CPU time of the machine up to now, and time that its host took [s]; the former is time without idle time and waits for
        devices, and includes the latter."""
        with open("/proc/stat") as stat:
            ticks = stat.readline().split()[1:9]
        unused = sum(int(ticks[i]) for i in (3, 4)) / os.sysconf("SC_CLK_TCK")
        return os.sysconf("SC_NPROCESSORS_ONLN") * time.monotonic() - unused, int(ticks[7]) / os.sysconf("SC_CLK_TCK")

    def test_time_of_the_machine_includes_that_of_the_sampler(self):
        """Ticks of the kernel miss most of what timers wake, such as the sampler: the machine seemed to use up to 0.06 s less in
        2 s than the program and the sampler together."""
        for engine in ("ptrace", "perf"):
            before, stolen_before = self.machine_time()
            done = self.sampler("-d", "--engine", engine, "-f", "1000", "-p", "file:" + self.write("/power", "5"), "--unit", "W",
                                command=(BURN, "1"))
            after, stolen = self.machine_time()
            if "perf_event_paranoid" in done.stderr:
                continue
            machine, command = map(float, re.search(r"machine ([0-9.]+) s, of the command ([0-9.]+) s", done.stderr).groups())
            own = float(re.search(r"own CPU time +([0-9.]+) s", done.stderr)[1])
            taken = stolen - stolen_before  # ticks show how much of it CPUs were idle, to some 10 ms
            self.assertGreater(machine, command + own - 0.03 - min(taken, 0.1), done.stderr)  # rounded, and in steps of 0.01 s
            self.assertLess(machine, after - before + 0.03)

    def test_other_programs_during_a_log(self):
        """Values that arrive after the run also have the CPU time of the machine at their time."""
        log = self.log([(0.02 * i, 6) for i in range(-5, 400)])
        beside = subprocess.Popen([BUILD + "/samples/burn", "5"], stdout=subprocess.DEVNULL)
        self.addCleanup(beside.wait)
        self.addCleanup(beside.kill)
        before, _ = self.machine_time()
        self.energy("-p", "log:" + log, command=(BUILD + "/samples/burn", "1"))
        after, _ = self.machine_time()
        busy = [r[3] for r in Profile(self.out).readings]
        self.assertEqual(busy, sorted(busy))
        self.assertGreater(len(set(busy)), 20)
        self.assertLess((busy[-1] - busy[0]) * 1e-9, after - before + 0.05)
        self.assertGreater((busy[-1] - busy[0]) * 1e-9, 1)

    def test_log_of_another_time(self):
        self.fails("log: has no value from the time of the run", "-p", "log:" + self.log([(-50, 1), (-40, 2)]))
        self.assertTrue(Profile(self.out).samples)
        self.fails("log: has no value from the time of the run", "-p", "log:" + self.log([(50, 1), (60, 2)]))
        self.fails("line 5: its time is earlier than that of the previous line", "-p",
                   "log:" + self.log([(-50, 1), (-40, 2), (-45, 2), (90, 2)]))
        self.fails("nowhere: cannot open the meter's log", "-p", "log:/nowhere")
        self.fails("not a regular file", "-p", "log:/dev/null")


if __name__ == "__main__":
    unittest.main()
