"""The command line of sampler: without -o, with -a and -d, names with patterns.

SPDX-License-Identifier: MIT"""
import csv
import io
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

import tool

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from profile_reader import Profile  # noqa: E402

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
SAMPLER = os.path.join(BUILD, "sampler")
BURN = os.path.realpath(os.path.join(BUILD, "samples", "burn"))
LIMIT = 50


class Case(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name

    def sampler(self, *arguments, env=(), status=0):
        return self.run_tool(SAMPLER, *arguments, env=env, status=status)

    def run_tool(self, *argv, env=(), status=0):
        done = subprocess.run(argv, text=True, capture_output=True, timeout=LIMIT, cwd=self.folder,
                              env=dict(os.environ, **dict(env)))
        self.assertEqual(done.returncode, status, done.stderr)
        return done


class Summary(Case):
    def test_nothing_is_written_without_a_name(self):
        done = self.sampler("--", BURN, "0.1")
        self.assertEqual((done.stdout, os.listdir(self.folder)), ("", []))
        self.assertRegex(done.stderr, r"\Asampler: \d+ samples in [\d.]+ s, [\d.]+ of 1000 Hz, [\d.]+ us a sample, "
                                      r"pmu none\n(sampler: the rate was reduced: .*\n)?"
                                      r"(sampler: counting at its context switches cost .* of CPU time\n)?\Z")
        self.assertEqual(self.sampler("-q", "--", BURN, "0.05").stderr, "")

    def test_the_limit_of_the_cost(self):
        """The sampler reports why a rate was not reached; without a limit, the rate is much
        higher."""
        rates = []
        for limit in ("1", "0"):
            done = self.sampler("-d", "-f", "10000", "--engine", "ptrace", "--max-overhead", limit, "--", BURN, "0.5")
            rates.append(float(re.search(r"requested, (\S+) Hz", done.stderr)[1]))
            for text in ("sampler: the rate was reduced: sampling may cost at most 1 % (--max-overhead)\n",
                         "intervals, the rate was reduced by --max-overhead\n"):
                (self.assertIn if limit == "1" else self.assertNotIn)(text, done.stderr)
        with tool.measurement():
            self.assertGreater(rates[1], 2 * rates[0])

    def test_interrupts_cost(self):
        """Interrupts count for the limit; on a fast machine, the sampler's own CPU time alone would
        not exceed it."""
        argv = [SAMPLER, "-d", "-f", "20000", "--engine", "perf", "--max-overhead", "0.5", "--", BURN, "1.5"]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT, check=False)
        if "perf_event_paranoid" in done.stderr:
            self.skipTest(done.stderr.strip())
        rate = float(re.search(r"requested, (\S+) Hz", done.stderr)[1])
        cost = float(re.search(r"  interrupts +(\S+) s of the command's CPU time\n", done.stderr)[1])
        self.assertTrue(0.2e-6 < cost / (1.5 * rate) < 200e-6, done.stderr)
        with tool.measurement():
            self.assertLess(rate, 16000)
        self.assertIn("sampler: the rate was reduced: sampling may cost at most 0.5 % (--max-overhead)\n", done.stderr)

    def test_cost_of_long_interrupts(self):
        """Interrupts do not cost more than the CPU time of the command. Where one took longer than the
        period with which it was measured, several counted as one: 1.1 s of 1 s."""
        argv = [SAMPLER, "-d", "-f", "10000", "--engine", "perf", "--max-overhead", "0", "--", BURN, "1"]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT, check=False)
        if "perf_event_paranoid" in done.stderr:
            self.skipTest(done.stderr.strip())
        cost = float(re.search(r"  interrupts +(\S+) s of the command's CPU time\n", done.stderr)[1])
        with tool.measurement():
            self.assertLess(cost, 0.8 * 1, done.stderr)

    @unittest.skipUnless(os.getuid() == 0, "takes the right to sample the kernel")
    def test_kernel_that_may_not_be_sampled(self):
        """The summary reports the time of the kernel unless it is little. The table shows it, as the
        ticks of the kernel do, also with --aggregate."""
        kernel = ("import os\nwhile os.times().system < 0.8: os.stat('/proc/self/status'), os.listdir('/proc/self/task')\n"
                  "print(os.times().system)")
        user = "import os, time\nwhile time.process_time() < 2: sum(range(100000))\nprint(os.times().system)"
        os.chmod(self.folder, 0o755)
        sampler, line = shutil.copy(SAMPLER, self.folder), "of the CPU time were in the kernel, which may not be sampled here"
        os.mkdir(os.path.join(self.folder, "all"), 0o777)
        os.chmod(os.path.join(self.folder, "all"), 0o777)
        for number, (script, uid, shown, more) in enumerate(((kernel, 65534, True, []), (kernel, 65534, True, ["-a"]),
                                                             (user, 65534, False, []), (kernel, 0, False, []))):
            out = os.path.join(self.folder, "all", f"{number}.bin")
            done = subprocess.run([sampler, "--engine", "perf", "-o", out, *more, "--", sys.executable, "-c", script],
                                  capture_output=True, text=True, timeout=LIMIT, check=False, cwd="/",
                                  preexec_fn=lambda uid=uid: os.setuid(uid))
            if "cannot open perf events" in done.stderr or "does not" in done.stderr:
                self.skipTest(done.stderr.strip())
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(line in done.stderr, shown, done.stderr)
            system = float(done.stdout)
            with self.subTest(uid=uid, more=more, system=system):
                rows = self.rows(out)
                with tool.measurement():
                    self.assertAlmostEqual(rows.get("_kernel", 0), system, delta=0.05 + 0.1 * system)
                    self.assertLess(system, sum(rows.values()))

    def rows(self, path):
        """The time of each function in the recording at PATH [s]."""
        pbin = subprocess.run([os.path.join(BUILD, "prof2pbin"), "-q", path], stdout=subprocess.PIPE, check=True).stdout
        table = subprocess.run([os.path.join(BUILD, "pbin-aggregate"), "-q", "-k", "function", "--format=json"], input=pbin,
                               stdout=subprocess.PIPE, check=True).stdout
        return {row["function"]: row["time"] for row in json.loads(table)["rows"]}

    def test_energy_without_a_profile(self):
        with open(os.path.join(self.folder, "w"), "w") as file:
            file.write("4\n")
        done = self.sampler("-p", "file:w", "--unit", "W", "--", "sleep", "0.5")
        seconds = float(re.search(r"in ([\d.]+) s", done.stderr)[1])
        joules, watts = map(float, re.search(r"energy (\S+) J, (\S+) W, from file:value", done.stderr).groups())
        self.assertAlmostEqual(joules, 4 * seconds, delta=0.01)
        self.assertAlmostEqual(watts, 4, delta=1e-5)
        self.assertNotIn("in the samples", done.stderr)
        self.assertEqual(os.listdir(self.folder), ["w"])

    def test_balance(self):
        with open(os.path.join(self.folder, "w"), "w") as file:
            file.write("4\n")
        done = self.sampler("-o", "o.bin", "-p", "file:w", "--unit", "W", "--", BURN, "0.3")
        total = float(re.search(r"energy (\S+) J", done.stderr)[1])
        sampled, rest = map(float, re.search(r"sampler: (\S+) J in the samples, (\S+) J outside them",
                                             done.stderr).groups())
        profile = Profile(os.path.join(self.folder, "o.bin"))
        mine = sum(value * (b - a) * 1e-9 for (value, _), a, b in
                   zip(profile.samples, [0] + profile.times, profile.times))
        self.assertAlmostEqual(sampled, mine, delta=1e-5 * mine)
        self.assertAlmostEqual(total, sampled + rest, delta=1e-5 * total)
        self.assertLess(abs(rest), 1e-3 * total)

    def test_details(self):
        for engine, unit in (("perf", r"per second of CPU time\n"), ("ptrace", r"per second\n")):
            done = self.sampler("-d", "-f", "200", "--engine", engine, "--", BURN, "0.2")
            short, long = re.search(r" s, ([\d.]+) of 200 Hz, [^$]* requested, (\S+) Hz reached, " + unit,
                                    done.stderr).groups()
            self.assertAlmostEqual(float(short), float(long), delta=0.06)
        for pattern in (r"  engine +(perf|ptrace), random intervals", r"  frequency +200 Hz requested, [\d.e+-]+ Hz reached",
                        r"  samples +\d+ taken, \d+ skipped, \d+ lost, \d+ threads not readable",
                        r"  latency +min \S+ us, mean \S+ us, p99 \S+ us a sample", r"  own CPU time +[\d.]+ s\n"):
            self.assertRegex(done.stderr, pattern)
        with open(os.path.join(self.folder, "w"), "w") as file:
            file.write("4\n")
        done = self.sampler("-d", "-p", "file:w", "--unit", "W", "--", BURN, "0.2")
        self.assertRegex(done.stderr, r"  own CPU time +[\d.]+ s, \S+ J by its share of the CPU time of the machine")
        self.assertRegex(done.stderr, r"  power readings  \d+, \S+ us each")


class Parsing(Case):
    def test_command_line_that_cannot_be_read(self):
        """Out of memory in argp_parse: options would be lost silently."""
        source, library = os.path.join(self.folder, "argp.c"), os.path.join(self.folder, "argp.so")
        with open(source, "w") as file:
            file.write("int argp_parse(void) { return 12; }\n")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
        options = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        for argv in ([SAMPLER, "-o", "out.bin"], [os.path.join(os.path.dirname(SAMPLER), "funcmeter"), "-o", "out.pbin", "libc.so.6:puts"]):
            done = self.run_tool(*argv, "--", "touch", "ran", status=1, env={"LD_PRELOAD": library, "ASAN_OPTIONS": options})
            self.assertEqual(done.stderr, os.path.basename(argv[0]) + ": cannot read the command line: Cannot allocate memory\n")
        self.assertEqual(sorted(os.listdir(self.folder)), ["argp.c", "argp.so"])


class Names(Case):
    def test_patterns(self):
        self.sampler("-o", "%h-%r-%p-%t-%%.bin", "--", "true", env={"PMI_RANK": "7"})
        name, = os.listdir(self.folder)
        self.assertRegex(name, rf"^{re.escape(socket.gethostname())}-7-\d+-\d{{8}}-\d{{6}}-%\.bin$")
        for variable in ("OMPI_COMM_WORLD_RANK", "SLURM_PROCID"):
            self.sampler("-o", "r%r.bin", "--", "true", env={variable: "12"})
            os.unlink(os.path.join(self.folder, "r12.bin"))
        self.sampler("-o", "r%r.bin", "--", "true")
        self.assertTrue(os.path.exists(os.path.join(self.folder, "r0.bin")))

    def test_wrong_patterns(self):
        for name in ("%x", "a%", "%"):
            done = self.sampler("-o", name, "--", "true", status=2)
            self.assertIn("-o must be a name with % only in %p, %h, %r, %t or %%, not", done.stderr)


class Priority(Case):
    def test_ptrace_outranks_the_command(self):
        """A command with real-time priority would keep the CPU from the sampler. The highest
        priority is 99."""
        show = "cat /proc/$PPID/task/*/stat"
        for prefix, started in (([], 50), (["chrt", "-f", "20"], 50), (["chrt", "-f", "60"], 50), ([], 99)):
            with self.subTest(prefix=prefix, started=started):
                command = ["chrt", "-f", str(started), "sh", "-c", show]
                try:
                    done = self.run_tool(*prefix, SAMPLER, "--engine", "ptrace", "-q", "--", *command)
                except AssertionError:
                    if subprocess.run(["chrt", "-f", "1", "true"], capture_output=True).returncode == 0:
                        raise
                    return  # not allowed here
                tasks = [line.rpartition(")")[2].split() for line in done.stdout.splitlines()]
                wanted = 1 if started == 99 else max(started, *map(int, prefix[2:]), 0) + 1
                self.assertEqual(max(int(fields[37]) for fields in tasks), wanted, done.stdout)


class Aggregate(Case):
    def read(self, path):
        """Header, maps and entries of the aggregated dialect, by its description."""
        with open(os.path.join(self.folder, path), "rb") as file:
            data = file.read()
        magic, wall, _, samples, count = struct.unpack_from("<IQQQI", data)
        maps = [struct.unpack_from("<QQ256s", data, 32 + 272 * i) for i in range(count)]
        at = 32 + 272 * count
        unknown = struct.unpack_from("<Qd", data, at)
        at += 16
        entries = {}
        for address, size, _ in maps:
            self.assertEqual(struct.unpack_from("<Q", data, at)[0], address)
            at += 8
            part = data[at:at + 16 * size]
            for byte in range(size):
                if part[16 * byte:16 * byte + 16].strip(b"\0"):
                    entries[address + byte] = struct.unpack_from("<Qd", part, 16 * byte)
            at += 16 * size
        self.assertEqual(magic, 1)
        self.assertEqual(data[at:at + 8], b"\x89PBX\r\n\x1a\n")
        return wall, samples, maps, unknown, entries

    def table(self, path):
        text = subprocess.run(f"prof2pbin -q {path} | pbin-aggregate -q --format=csv --total -k function", shell=True, text=True,
                              cwd=self.folder, stdout=subprocess.PIPE, check=True,
                              env=dict(os.environ, PATH=BUILD + ":" + os.environ["PATH"])).stdout
        return {row["function"]: row for row in csv.DictReader(io.StringIO(text))}

    def check(self, engine):
        with open(os.path.join(self.folder, "w"), "w") as file:
            file.write("4\n")
        path = f"{engine}.bin"
        done = self.sampler("-a", "-o", path, "--engine", engine, "-p", "file:w", "--unit", "W", "--", BURN, "-v", "1")
        self.assertEqual(sorted(os.listdir(self.folder)), sorted([path, "w"]))
        wall, samples, maps, unknown, entries = self.read(path)
        self.assertEqual(maps[0][2].rstrip(b"\0").decode(), BURN)
        seen = unknown[0] + sum(n for n, _ in entries.values())
        cpu = int(re.search(r"process (\d+)", done.stdout)[1]) * 1e-9
        self.assertAlmostEqual(seen * wall * 1e-6 / samples, cpu, delta=0.05 * cpu)
        with open(os.path.join(self.folder, path), "rb") as file:
            facts = {name.decode(): float(value) for name, value in re.findall(
                rb"((?:kernel|idle)_(?:samples|current))....([0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)", file.read()[-65536:], re.S)}
        self.assertLessEqual(facts["kernel_samples"], unknown[0])
        self.assertLessEqual(facts["kernel_current"], unknown[1] * (1 + 1e-12))
        idle = facts["idle_current"] * wall * 1e-6 / samples
        joules = (unknown[1] + sum(c for _, c in entries.values())) * wall * 1e-6 / samples + idle
        sampled = float(re.search(r"sampler: (\S+) J in the samples", done.stderr)[1])
        self.assertAlmostEqual(joules, sampled, delta=1e-5 * joules)
        self.assertAlmostEqual(joules, 4 * wall * 1e-6, delta=1e-5 * joules)
        real = {name: int(ns) for name, ns in re.findall(r"(burn_\d+) (\d+)", done.stdout)}
        rows = self.table(path)
        for name, ns in real.items():
            share = float(rows[name]["time [s]"]) / cpu
            p, n = ns / sum(real.values()), seen
            with tool.measurement():  # burn times some of its calls only; the speed of a CPU may change meanwhile
                self.assertLess(abs(share - p), 5 * (p * (1 - p) / n) ** 0.5 + 0.05, f"{name}: {share} of {p}, {n} samples")
        self.assertAlmostEqual(float(rows["_total"]["energy [J]"]), joules, delta=1e-4 * joules)
        self.assertAlmostEqual(float(rows.get("_idle", {"energy [J]": 0})["energy [J]"]), idle, delta=1e-4 * joules)
        self.assertEqual(int(rows.get("_kernel", {"samples": 0})["samples"]), facts["kernel_samples"])
        self.assertEqual(int(rows.get("_foreign", {"samples": 0})["samples"]), unknown[0] - facts["kernel_samples"])

    def test_perf(self):
        self.check("perf")

    def test_ptrace(self):
        self.check("ptrace")

    def test_short_processes(self):
        """With perf, samples of short processes arrive after they have ended. Without random
        addresses, the processes share their mappings."""
        for engine in ("perf", "ptrace"):
            path = f"short-{engine}.bin"
            self.sampler("-a", "-o", path, "--engine", engine, "--", "setarch", "-R", "sh", "-c",
                         f"for i in 1 2 3 4 5 6 7 8 9 10 11 12; do {BURN} 0.02; done >&2")
            rows = self.table(path)
            total = int(rows["_total"]["samples"])
            with tool.measurement():
                self.assertGreater(sum(int(rows[name]["samples"]) for name in rows if name.startswith("burn_")), 0.6 * total, rows)
                self.assertLess(int(rows.get("_foreign", {"samples": 0})["samples"]), 0.02 * total, rows)

    def test_files_at_the_same_place(self):
        """Different programs, and different files with the same name; if the build-id is unknown,
        the first of these has no name."""
        with open(BURN, "rb") as file:
            code = bytearray(file.read())
        for name in ("one", "two", "later"):
            with open(os.path.join(self.folder, name), "wb") as file:
                file.write(code)
        code[code.index(b"\x14\0\0\0\x03\0\0\0GNU\0") + 12] ^= 1
        with open(os.path.join(self.folder, "same"), "wb") as file:
            file.write(code)
        for engine in ("perf", "ptrace"):
            path = f"same-{engine}.bin"
            self.sampler("-a", "-o", path, "--engine", engine, "--", "setarch", "-R", "sh", "-c",
                         "cp same now; chmod +x *; for i in one two now; do ./$i 0.15; done; cp later new; mv new now; ./now 0.15")
            pbin = os.path.join(self.folder, "same.pbin")
            subprocess.run([os.path.join(BUILD, "prof2pbin"), "-q", "-o", pbin, os.path.join(self.folder, path)], check=True)
            text = subprocess.run([os.path.join(BUILD, "pbin-aggregate"), "-q", "--format=csv", "-k", "binary,function", pbin],
                                  capture_output=True, text=True, check=True).stdout
            times = {"one": 0, "two": 0, "now": 0, "_unknown": 0}
            for row in csv.DictReader(io.StringIO(text)):
                name = row["binary"] if row["function"].startswith("burn_") else row["function"]
                times[name] = times.get(name, 0) + float(row["time [s]"])
            mean = sum(times[name] for name in ("one", "two", "now", "_unknown")) / 4
            for name in ("one", "two", "now", "_unknown"):
                with tool.measurement():
                    self.assertGreater(times[name], 0.2 * mean, f"{engine} {times}")

    def test_without_power(self):
        self.sampler("-a", "-o", "plain.bin", "--", BURN, "0.2")
        _, _, _, unknown, entries = self.read("plain.bin")
        self.assertEqual(unknown[1] + sum(c for _, c in entries.values()), 0)
        self.assertTrue(self.table("plain.bin"))


if __name__ == "__main__":
    unittest.main()
