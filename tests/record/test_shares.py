"""The main task with a program of known shares, from the sampler to the table, in one thread and in
three.
SPDX-License-Identifier: MIT"""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import tool

BUILD = os.path.abspath(os.environ["BUILD"])
WATTS = 5.0


def run(argv, **more):
    return subprocess.run(argv, check=True, capture_output=True, text=True, **more)


def become_ordinary():
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)


class Shares(unittest.TestCase):
    """burn prints the CPU times of its functions and of the whole process, according to the clocks
    of the kernel."""

    def measure(self, threads):
        with tempfile.TemporaryDirectory() as folder:
            raw, power = os.path.join(folder, "burn.bin"), os.path.join(folder, "watts")
            with open(power, "w") as f:
                f.write(f"{WATTS}\n")
            said = run([os.path.join(BUILD, "sampler"), "-q", "-o", raw, "-p", "file:" + power, "--pmu-kind", "power",
                        "--", os.path.join(BUILD, "samples", "burn"), "-v", "2", str(threads)]).stdout
            pbin = os.path.join(folder, "burn.pbin")
            run([os.path.join(BUILD, "prof2pbin"), "-o", pbin, raw])
            table = json.loads(run([os.path.join(BUILD, "pbin-aggregate"), "-k", "function", "--format=json", pbin]).stdout)
            times = run([os.path.join(BUILD, "pbin-dump"), "--samples", "--format=csv", pbin]).stdout.splitlines()
        return said, table, [float(line.split(",")[1]) for line in times[1:]]

    def check(self, threads):
        said, table, times = self.measure(threads)
        used = {}  # function -> ns, summed over threads
        for function, ns in re.findall(r"(burn_\d+)\D+(\d+)", said):
            used[function] = used.get(function, 0) + int(ns)
        self.assertEqual(sorted(used), ["burn_20", "burn_30", "burn_50"], said)
        rows = {r["function"]: r for r in table["rows"]}
        whole = sum(used.values())
        for function, ns in used.items():
            p = ns / whole
            # slices of about 10 ms make neighbouring samples similar: slices are counted, not their
            # samples
            n = min(rows[function]["samples"], 4 * max(rows[function]["entries"], 1)) / max(p, 1e-9)
            error = 4 * (p * (1 - p) / n) ** 0.5 + 0.01
            with tool.measurement():  # burn times some of its calls only; the speed of a CPU may change meanwhile
                self.assertLess(abs(rows[function]["time"] / table["total"]["time"] - p), error, function)
                self.assertAlmostEqual(p, int(function[-2:]) / 100, delta=0.05)
        process = int(re.findall(r"process\D+(\d+)", said)[0]) / 1e9
        # the process reads its clock before it ends: the cost of exit is not included
        self.assertGreater(table["total"]["time"], process * 0.995)
        self.assertLess(table["total"]["time"], process * 1.01 + 0.02)
        self.assertAlmostEqual(sum(r["time"] for r in table["rows"]), table["total"]["time"], delta=1e-9)
        joules = WATTS * max(times)
        self.assertAlmostEqual(table["total"]["energy"], joules, delta=1e-9 * joules)
        self.assertAlmostEqual(sum(r["energy"] for r in table["rows"]), joules, delta=1e-9 * joules)

    def test_one_thread(self):
        self.check(1)

    @tool.plain_only
    def test_three_threads(self):
        self.check(3)

    def record(self, pbin, engine, program, *arguments, before=(), record=()):
        """Writes the profile PBIN of a sample program; returns the output of the program."""
        raw = pbin + ".bin"
        done = subprocess.run([*before, os.path.join(BUILD, "sampler"), "-q", "--engine", engine, *record, "-o", raw, "--",
                               os.path.join(BUILD, "samples", program), *map(str, arguments)],
                              capture_output=True, text=True)
        if engine == "perf" and "perf_event_paranoid" in done.stderr:
            self.skipTest(done.stderr.strip())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        run([os.path.join(BUILD, "prof2pbin"), "-q", "-o", pbin, raw])
        return done.stdout

    def rows(self, *arguments, options=(), **more):
        """The output of the program [s], and the rows of the profile by function; ARGUMENTS and
        MORE as in record."""
        with tempfile.TemporaryDirectory() as folder:
            pbin = os.path.join(folder, "out.pbin")
            said = self.record(pbin, *arguments, **more)
            table = json.loads(run([os.path.join(BUILD, "pbin-aggregate"), "-q", "-k", "function", "--format=json",
                                    *options, pbin]).stdout)
        return ({name: int(ns) / 1e9 for name, ns in re.findall(r"(\w+) (\d+)", said)},
                {r["function"]: r for r in table["rows"]})

    def sample(self, *arguments, **more):
        """The same, with the times of the rows [s]."""
        true, rows = self.rows(*arguments, **more)
        return true, {name: row["time"] for name, row in rows.items()}

    def test_what_follows_a_wait(self):
        """The start of a burst is sampled as often as its end: if half a millisecond after each
        wait were missed, the first half would be shown as 30 % of both."""
        for engine in ("perf", "ptrace"):
            with self.subTest(engine):
                true, shown = self.sample(engine, "bursts", 300, 800000, 10000)
                share = shown["opening"] / (shown["opening"] + shown["closing"])
                expected = true["opening"] / (true["opening"] + true["closing"])
                error = 4 * (0.25 / (1000 * (true["opening"] + true["closing"]))) ** 0.5
                with tool.measurement():
                    self.assertLess(error, 0.1)
                    self.assertAlmostEqual(share, expected, delta=error)

    @tool.plain_only
    def test_halves_of_a_burst(self):
        """If a period changes in a burst, or a window ends in it, the code before the next wait
        does not get less time. It got 0.27 to 0.43 % less for the second half. At 10 kHz, 0.3 % would
        be missing from the first half where an interrupt takes 50 us."""
        errors = []
        for _ in range(2):
            true, shown = self.sample("perf", "bursts", 250, 3200000, 10000, record=["-f", "5000", "--max-overhead", "0"])
            errors.append(shown["opening"] / (shown["opening"] + shown["closing"]) -
                          true["opening"] / (true["opening"] + true["closing"]))
        with tool.measurement():
            self.assertAlmostEqual(sum(errors) / 2, 0, delta=0.002)

    def needs_ordinary_perf(self):
        """Skips the test where an ordinary user must not use the perf engine."""
        reason = subprocess.run([os.path.join(BUILD, "sampler"), "-q", "--engine", "perf", "--", "true"],
                                capture_output=True, text=True, preexec_fn=become_ordinary, check=False, cwd="/").stderr
        if "perf_event_paranoid" in reason:
            self.skipTest(reason.strip())

    def check_bursts(self, engine, command, count, delta, *options):
        """Runs bursts (COMMAND % its path) COUNT times at once, sampled by an ordinary user: opening
        gets its part of the time of both functions, +- DELTA, or 1.5 % if the sampler warns."""
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            bursts, sampler = (shutil.copy(os.path.join(BUILD, name), folder) for name in ("samples/bursts", "sampler"))
            out, pbin = os.path.join(folder, "out.bin"), os.path.join(folder, "out.pbin")
            done = run([sampler, "--engine", engine, *options, "-o", out, "--",
                        "sh", "-c", f"{command % bursts} & " * count + "wait"], preexec_fn=become_ordinary, cwd="/")
            run([os.path.join(BUILD, "prof2pbin"), "-q", "-o", pbin, out])
            table = json.loads(run([os.path.join(BUILD, "pbin-aggregate"), "-q", "--format=json", pbin]).stdout)
            shown = {row["function"]: row["time"] for row in table["rows"]}
            first, second = (sum(int(ns) for ns in re.findall(f"{name} ([0-9]+)", done.stdout)) for name in ("opening", "closing"))
            delta = max(delta, 0.015) if "may be wrong by a few percent" in done.stderr else delta
            self.assertAlmostEqual(shown["opening"] / (shown["opening"] + shown["closing"]), first / (first + second), delta=delta)

    @tool.plain_only
    def test_programs_that_share_cpus(self):
        """Four programs on two CPUs: when one goes to sleep, the sampler of an ordinary user gets a
        CPU, and sees where the others are at that moment. The first half of bursts got 1 to 3 % too
        little."""
        with tool.measurement():
            self.check_bursts("ptrace", "%s 120 2000000 5000", 4, 0.01, "--max-overhead", "0")

    @tool.plain_only
    def test_bursts_shorter_than_an_interval(self):
        """Bursts of 0.15 ms. If the cost of switches limits sampling, a period that is set while the
        thread slept began with the next burst: closing got 51 to 58 % of the time."""
        self.needs_ordinary_perf()
        with tool.measurement():
            self.check_bursts("perf", "%s 5000 75000 1000", 1, 0.035, "-f", "10000")

    def often_asleep(self, attached):
        """Bursts of about 0.1 ms between sleeps of 0.1 ms, sampled by an ordinary user. Returns the
        relative error of the time of the functions, with their own clocks."""
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            bursts, sampler = (shutil.copy(os.path.join(BUILD, name), folder) for name in ("samples/bursts", "sampler"))
            out, pbin = os.path.join(folder, "out.bin"), os.path.join(folder, "out.pbin")
            record = [sampler, "-q", "--engine=perf", "--max-overhead=0", "-o", out]
            command = [bursts, "8000", "75000", "100"]
            if attached:
                with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=become_ordinary) as program:
                    run([*record, "--attach", str(program.pid)], preexec_fn=become_ordinary, cwd="/")
                    said = program.stdout.read()
            else:
                said = run([*record, "--", *command], preexec_fn=become_ordinary, cwd="/").stdout
            run([os.path.join(BUILD, "prof2pbin"), "-q", "-o", pbin, out])
            rows = json.loads(run([os.path.join(BUILD, "pbin-aggregate"), "-q", "-k", "function", "--format=json", pbin]).stdout)["rows"]
        true = sum(int(ns) for ns in re.findall("(?:opening|closing) ([0-9]+)", said)) / 1e9
        return sum(row["time"] for row in rows if row["function"] in ("opening", "closing")) / true - 1

    @tool.plain_only
    def test_often_asleep(self):
        """Most of the time in the kernel is at switches, where neither samples nor ticks see it: the
        functions got 6 to 16 % too much, attached to 8 to 17 %, where this test finds 3 %."""
        self.needs_ordinary_perf()
        for attached in (False, True):
            error = sum(self.often_asleep(attached) for _ in range(2)) / 2
            with tool.measurement(), self.subTest(attached=attached):
                self.assertLess(abs(error), 0.05)

    def test_periods_change_on_one_cpu(self):
        """A sampler that shares a CPU with the program finds it stopped already; still, no period
        lasts for a whole run, in which it could beat with a loop of the program. A tenth of the
        periods is shorter than most by more than a tenth."""
        cpu = str(min(os.sched_getaffinity(0)))
        with tempfile.TemporaryDirectory() as folder:
            pbin = os.path.join(folder, "out.pbin")
            self.record(pbin, "perf", "burn", 1, 1, before=["taskset", "-c", cpu], record=["-f", "10000"])
            rows = run([os.path.join(BUILD, "pbin-dump"), "--samples", "--format=csv", pbin]).stdout.splitlines()
        at = rows[0].split(",").index("cpu_time [s]")
        times = sorted(float(t) for t in (row.split(",")[at] for row in rows[1:]) if t not in ("", "0"))
        with tool.measurement():
            self.assertGreater(len(times), 500)
            self.assertLess(times[len(times) // 10], 0.9 * times[len(times) // 2])

    def test_system_calls_of_a_program_that_sleeps(self):
        """On the CPU of the sampler, a thread that was woken together with it looks as if it had
        been preempted in its sleep. A thread that was preempted in another call still counts: none
        did, although it should be 30 %."""
        cpu = min(os.sched_getaffinity(0))
        true, shown = self.sample("ptrace", "bursts", 1600, 150000, 200, 8000000, options=["--kernel=caller"],
                                  before=["taskset", "-c", str(cpu)])
        del true["asleep"]
        p, used = true["reading"] / sum(true.values()), sum(true.values())
        error = 4 * (p * (1 - p) / (400 * used)) ** 0.5  # samples in which another program has the CPU show nothing
        with tool.measurement():
            self.assertLess(error, 0.8 * p)
        reading = sum(time for name, time in shown.items() if "read" in name)
        with tool.measurement():
            self.assertAlmostEqual(reading / (reading + shown["opening"] + shown["closing"]), p, delta=error)

    def compete(self):
        """Three programs that use all the CPU time that they get."""
        for _ in range(3):
            other = subprocess.Popen(["sh", "-c", "while :; do :; done"])
            self.addCleanup(other.wait)
            self.addCleanup(other.kill)

    @tool.plain_only
    def test_what_follows_a_wait_for_a_cpu(self):
        """The thread wakes up, and waits for a CPU. A period that begins with its burst would miss
        the first half: it would get 35 %."""
        self.compete()
        true, shown = self.sample("perf", "bursts", 200, 800000, 1000, before=["nice", "-n", "10"])
        used = true["opening"] + true["closing"]
        error = 4 * (0.25 / (1000 * used)) ** 0.5
        with tool.measurement():
            self.assertLess(error, 0.13)
            self.assertAlmostEqual(shown["opening"] / (shown["opening"] + shown["closing"]), true["opening"] / used, delta=error)

    @tool.plain_only
    def test_sleep_while_others_compete(self):
        """A thread that stops late, because it waits for a CPU, is not seen there during the whole
        sleep that follows."""
        self.compete()
        true, shown = self.sample("ptrace", "bursts", 20, 8000000, 80000, options=["--wall-time"])
        asleep = sum(time for name, time in shown.items() if "sleep" in name)
        with tool.measurement():
            self.assertAlmostEqual(asleep, true["asleep"], delta=0.1 * true["asleep"])

    def test_page_faults(self):
        """Page faults are time in the kernel, of the function that touches new memory. A hypervisor
        that replaces page tables by its own handles a part of each fault, which then seems to be time
        of the function, or of the kernel."""
        for engine, record in tool.some((("perf", ()), ("ptrace", ()), ("ptrace", ("-a",))), 2):
            with self.subTest(engine, record=record):
                true, shown = self.sample(engine, "faults", 4000, 64, 120000, record=record)
                kernel, system = true["new"] - true["old"], true.pop("system")
                used = sum(true.values())
                p, ticks = kernel / used, used * 100  # at least
                hidden = p - system / used  # by the hypervisor
                if hidden < 4 * (p * (1 - p) / ticks) ** 0.5:
                    hidden = 0
                p -= hidden
                error = 4 * (p * (1 - p) / ticks) ** 0.5
                with tool.measurement():
                    self.assertGreater(shown["_kernel"] / sum(shown.values()), p - error)
                    self.assertLess(shown["_kernel"] / sum(shown.values()), p + hidden + error)
                more = (hidden and hidden + error) * used
                # without the page faults: 0.01 of both
                with tool.measurement():
                    self.assertLess(shown.get("touching", 0), 0.2 / 0.8 * shown["computing"] + more)

    def test_short_threads(self):
        """Most threads end before they are sampled: the threads that are seen stand for them."""
        for engine in ("perf", "ptrace"):
            with self.subTest(engine), tempfile.TemporaryDirectory() as folder:
                raw, pbin = os.path.join(folder, "short.bin"), os.path.join(folder, "short.pbin")
                done = subprocess.run([os.path.join(BUILD, "sampler"), "-q", "--engine", engine, "-o", raw, "--",
                                       os.path.join(BUILD, "samples", "short_threads"), "300", "3000"],
                                      capture_output=True, text=True)
                if engine == "perf" and "perf_event_paranoid" in done.stderr:
                    self.skipTest(done.stderr.strip())
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                run([os.path.join(BUILD, "prof2pbin"), "-q", "-o", pbin, raw])
                table = json.loads(run([os.path.join(BUILD, "pbin-aggregate"), "-q", "--format=json", pbin]).stdout)
                rows = {r["function"]: r for r in table["rows"]}
                used = float(done.stdout.split()[1]) / 1e9
                both = [rows[name]["time"] for name in ("short_30", "short_70")]
                samples = sum(rows[name]["samples"] for name in ("short_30", "short_70"))
                with tool.measurement():
                    self.assertGreater(samples, 100)
                    self.assertLess(abs(sum(both) / used - 1), 0.5)  # a busy machine sees fewer of such threads
                # the first 20 of 300 us are not sampled, and each stop takes longer with sanitizers
                unseen = 0.15 if tool.is_asan() else 0.04
                with tool.measurement():
                    self.assertLess(abs(both[0] / sum(both) - 0.3), unseen + 4 * (0.3 * 0.7 / samples) ** 0.5)

    def test_begin_of_threads(self):
        """A thread inherits the period of its creator: a period that the creator has not used up is
        long, and one that it has just drawn is not short. Only a fifth of these threads was
        sampled."""
        true, rows = self.rows("perf", "short_threads", 500, 400, 2000, record=["--max-overhead", "0"])
        both = [rows[name]["samples"] if name in rows else 0 for name in ("short_30", "short_70")]
        expected = 1000 * true["short"]
        with tool.measurement():
            self.assertGreater(sum(both), 0.55 * expected)
            self.assertLess(sum(both), 1.5 * expected)
            self.assertAlmostEqual(both[0] / sum(both), 0.3, delta=0.02 + 4 * (0.3 * 0.7 / sum(both)) ** 0.5)

    @tool.plain_only
    def test_attach_to_a_program_of_short_threads(self):
        """The CPU time that threads use in the kernel at their beginning and end is in the table.
        The perf engine lost it: 3 to 10 %."""
        with tempfile.TemporaryDirectory() as folder:
            raw, pbin = os.path.join(folder, "out.bin"), os.path.join(folder, "out.pbin")
            program = subprocess.Popen(["sh", "-c", f"sleep 0.7; exec {BUILD}/samples/short_threads 60 12000"], stdout=subprocess.DEVNULL)
            try:
                done = subprocess.run([os.path.join(BUILD, "sampler"), "-q", "--engine", "perf", "-o", raw, "--attach", str(program.pid)],
                                      capture_output=True, text=True)
            finally:
                _, status, used = os.wait4(program.pid, 0)
                program.returncode = status
            if "perf_event_paranoid" in done.stderr:
                self.skipTest(done.stderr.strip())
            self.assertEqual((done.returncode, done.stderr, status), (0, "", 0))
            run([os.path.join(BUILD, "prof2pbin"), "-q", "-o", pbin, raw])
            table = json.loads(run([os.path.join(BUILD, "pbin-aggregate"), "-q", "--format=json", pbin]).stdout)
        used = used.ru_utime + used.ru_stime
        with tool.measurement():
            self.assertAlmostEqual(table["total"]["time"], used, delta=0.015 * used + 0.005)

    @tool.plain_only
    def test_many_threads_are_sampled_with_whole_cpus(self):
        """The threads then inherit no samplers; other programs do not count, and later code of the
        program has samplers again. On a busy machine, threads may be created too slowly for this at
        first."""
        shown, many, one = self.sample_many_threads()
        with tool.measurement():
            self.assertAlmostEqual(shown[0] / many, 1, delta=0.5)  # threads of 0.1 ms also spend time in the kernel
            self.assertAlmostEqual(shown[1] / one, 1, delta=0.15)

    @tool.plain_only
    def test_rate_of_whole_cpus_after_pauses(self):
        """Switches make the sampler pause, and then new processes make it sample whole CPUs. Threads
        got samplers again, in addition: 1000 Hz became 2400 to 7800."""
        source = r"""#include <sys/wait.h>
                     #include <unistd.h>
                     static volatile unsigned long sink;
                     static void pass(int from, int to) {
                        char byte = 0;
                        for (int i = 0; i < 1000 && read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1; i++)
                            for (int k = 0; k < 10000; k++) sink++; }
                     int main(void) {
                        for (int turn = 0; turn < 6; turn++) {
                            int to[2], back[2];
                            for (int i = 0; i < 10; i++) {
                                if (fork() == 0) { execl("/bin/true", "true", NULL); _exit(1); }
                                wait(NULL); }
                            if (pipe(to) != 0 || pipe(back) != 0) return 1;
                            if (fork() == 0) { close(to[1]); pass(to[0], back[1]); _exit(0); }
                            if (fork() == 0) { close(back[1]); if (write(to[1], "", 1) == 1) pass(back[0], to[1]); _exit(0); }
                            for (int i = 0; i < 2; i++) { close(to[i]); close(back[i]); }
                            while (wait(NULL) > 0) { } }
                        return 0; }"""
        with tempfile.TemporaryDirectory() as folder:
            program, raw = os.path.join(folder, "passes"), os.path.join(folder, "out.bin")
            run(["gcc", "-O1", "-x", "c", "-o", program, "-"], input=source)
            rates = []
            for _ in range(3):
                said = run([os.path.join(BUILD, "sampler"), "-d", "--engine", "perf", "-o", raw, "--", program]).stderr
                rates.append(float(re.search("([0-9.]+) Hz reached", said)[1]))
        with tool.measurement():
            self.assertLess(max(rates), 1600)

    @tool.plain_only
    def test_many_threads_of_an_ordinary_user(self):
        """The threads inherit samplers for only a part of the time; nothing is missed because of
        the pauses."""
        shown, many, one = self.sample_many_threads("part of the time", (300, 6000), become_ordinary)
        with tool.measurement():
            self.assertAlmostEqual(shown[0] / one, 1, delta=0.15)
            self.assertAlmostEqual(shown[1] / many, 1, delta=0.25)  # the kernel's time for creations counts as theirs

    def crowd(self, folder):
        """A program that starts 200 threads at once, which compute first for 3 to 15 ms, and after a
        short sleep for 6 ms."""
        source = r"""#define _GNU_SOURCE
                     #include <pthread.h>
                     #include <stdio.h>
                     #include <time.h>
                     #include <unistd.h>
                     static volatile unsigned long sink;
                     static unsigned long used[2];
                     static unsigned long cpu(void) {
                        struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec * 1000000000UL + t.tv_nsec; }
                     #define WORK(name, at) __attribute__((noipa)) static void name(unsigned long n) { \
                        unsigned long x = n, begin = cpu(); for (; n > 0; n--) x = x * 6364136223846793005U + 1; sink = x; \
                        __atomic_fetch_add(&used[at], cpu() - begin, __ATOMIC_RELAXED); }
                     WORK(first, 0) WORK(second, 1)
                     static void *run(void *kind) {
                        first(3000000 + 4000000 * *(int *)kind); usleep(3000); second(6000000); return NULL; }
                     int main(void) {
                        static int kinds[] = {0, 1, 2, 3};
                        pthread_t threads[200];
                        for (int i = 0; i < 200; i++) pthread_create(&threads[i], NULL, run, &kinds[i % 4]);
                        for (int i = 0; i < 200; i++) pthread_join(threads[i], NULL);
                        printf("first %lu second %lu\n", used[0], used[1]);
                        return 0; }"""
        program = os.path.join(folder, "crowd")
        run(["gcc", "-O1", "-pthread", "-x", "c", "-o", program, "-"], input=source)
        return program

    @tool.plain_only
    def test_threads_that_start_at_once(self):
        """The sampler of an ordinary user shares the CPUs with 200 threads. It opened samplers for
        all of them, which took 0.3 s, and divided the CPU time of that time among the samples before:
        the share of the first function was wrong by 0.05 on average."""
        errors = []
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            sampler, crowd = shutil.copy(os.path.join(BUILD, "sampler"), folder), self.crowd(folder)
            for i in range(3):
                out, pbin = os.path.join(folder, f"{i}.bin"), os.path.join(folder, f"{i}.pbin")
                said = run([sampler, "-q", "--engine", "perf", "-o", out, "--", crowd], preexec_fn=become_ordinary, cwd="/").stdout
                run([os.path.join(BUILD, "prof2pbin"), "-q", "-o", pbin, out])
                rows = json.loads(run([os.path.join(BUILD, "pbin-aggregate"), "-q", "--format=json", pbin]).stdout)["rows"]
                shown = {row["function"]: row["time"] for row in rows}
                first, second = (int(ns) for ns in re.findall("[0-9]+", said))
                errors.append(abs(shown["first"] / (shown["first"] + shown["second"]) - first / (first + second)))
        with tool.measurement():
            self.assertLess(sum(errors) / 3, 0.02, errors)

    @tool.plain_only
    def test_rate_on_a_busy_machine(self):
        """The sampler of an ordinary user gets a CPU late. If the time until then counted as CPU
        time of the program, a rate of 250 Hz would become 280 to 320 Hz."""
        rates = []
        with tempfile.TemporaryDirectory() as folder, tool.measurement():
            os.chmod(folder, 0o777)
            burn, phases, sampler = (shutil.copy(os.path.join(BUILD, name), folder)
                                     for name in ("samples/burn", "samples/phases", "sampler"))
            others = [subprocess.Popen([burn, "60", "1"], stdout=subprocess.DEVNULL) for _ in range(2 * os.cpu_count())]
            try:
                for number in range(3):
                    said = run([sampler, "-d", "--engine", "perf", "-f", "250", "-o", os.path.join(folder, "out.bin"), "--",
                                phases, os.path.join(folder, f"phases{number}"), "run", "1.5", "3", "4", "5"],
                               preexec_fn=become_ordinary, cwd="/").stderr
                    rates.append(float(re.search("([0-9.]+) Hz reached", said)[1]))
            finally:
                for other in others:
                    other.kill()
                    other.wait()
            self.assertAlmostEqual(sum(rates) / len(rates), 250, delta=25, msg=rates)

    @tool.plain_only
    def test_programs_on_all_cpus_that_sleep(self):
        """The sampler of an ordinary user shares a CPU with them. When it resumes a program, it
        must not have to wait for the next tick of the kernel: of 3 ms after each wait, 5 to 12 %
        would be missing."""
        errors = []
        with tempfile.TemporaryDirectory() as folder, tool.measurement():
            os.chmod(folder, 0o777)
            bursts, sampler = (shutil.copy(os.path.join(BUILD, name), folder) for name in ("samples/bursts", "sampler"))
            raw, pbin = os.path.join(folder, "bursts.bin"), os.path.join(folder, "bursts.pbin")
            programs = f"{bursts} 200 2000000 5000 & " * os.cpu_count() + "wait"
            for _ in range(4):
                said = run([sampler, "-q", "--engine", "ptrace", "-o", raw, "--", "sh", "-c", programs],
                           preexec_fn=become_ordinary, cwd="/").stdout
                run([os.path.join(BUILD, "prof2pbin"), "-q", "-o", pbin, raw])
                table = json.loads(run([os.path.join(BUILD, "pbin-aggregate"), "-q", "-k", "function", "--format=json", pbin]).stdout)
                shown = {row["function"]: row["time"] for row in table["rows"]}
                used = sum(int(ns) for ns in re.findall(r"opening (\d+)", said)) / 1e9
                errors.append(shown["opening"] / used - 1)
                os.unlink(raw)
            self.assertAlmostEqual(sum(errors) / len(errors), 0, delta=0.045, msg=errors)

    def sample_many_threads(self, means="whole CPUs", threads=(100, 2000), prepare=None):
        """The times of both programs [s], ascending, and their output. MEANS: the method shown in
        the summary. THREADS: their length [us] and number."""
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            short, burn, sampler = (shutil.copy(os.path.join(BUILD, name), folder)
                                    for name in ("samples/short_threads", "samples/burn", "sampler"))
            raw, pbin = os.path.join(folder, "many.bin"), os.path.join(folder, "many.pbin")
            other = subprocess.Popen([burn, "5", "1"], stdout=subprocess.DEVNULL)
            try:
                done = subprocess.run([sampler, "-d", "--engine", "perf", "--max-overhead", "1", "-o", raw, "--", "sh", "-c",
                                       f"{short} {threads[0]} {threads[1]}; {short} 300000 1"], capture_output=True, text=True,
                                      preexec_fn=prepare, cwd="/")
            finally:
                other.kill()
                other.wait()
            if "perf_event_paranoid" in done.stderr:
                self.skipTest(done.stderr.strip())
            self.assertEqual(done.returncode, 0, done.stderr)
            if means not in done.stderr:
                self.skipTest(f"threads are created slowly here, or there is a way other than {means}: " + done.stderr)
            run([os.path.join(BUILD, "prof2pbin"), "-q", "-o", pbin, raw])
            table = json.loads(run([os.path.join(BUILD, "pbin-aggregate"), "-q", "-k", "process,function", "--format=json",
                                    pbin]).stdout)
        many, one = (int(line.split()[1]) / 1e9 for line in done.stdout.splitlines())
        times = {}  # by process: [s] in both functions
        for row in table["rows"]:
            self.assertNotIn("burn", row["function"])
            if row["function"].startswith("short"):
                times[row["process"]] = times.get(row["process"], 0) + row["time"]
        shown = sorted(times.values())
        self.assertEqual(len(shown), 2, table["rows"])
        return shown, many, one

    @staticmethod
    def mixed(folder, fours=3000, turns=100000):
        """A program with a thread that runs one(), and short threads named many that run many():
        FOURS groups of four."""
        source = r"""#include <pthread.h>
                     #include <stdio.h>
                     #include <sys/prctl.h>
                     #include <time.h>
                     static volatile unsigned long sink;
                     static volatile int over;
                     static double cpu(void) {
                        struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
                     #define WORK(name) __attribute__((noipa)) static void name(unsigned long n) { \
                        unsigned long x = n; for (; n > 0; n--) x = x * 6364136223846793005U + 1; sink = x; }
                     WORK(many) WORK(one)
                     static double used[2];
                     static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
                     static void *run_one(void *unused) { while (!over) one(100000); used[0] = cpu(); return unused; }
                     static void *run_many(void *unused) {
                        prctl(PR_SET_NAME, "many");
                        many(TURNS);
                        pthread_mutex_lock(&lock);
                        used[1] += cpu();
                        pthread_mutex_unlock(&lock);
                        return unused; }
                     int main(void) {
                        pthread_t thread, others[4];
                        pthread_create(&thread, NULL, run_one, NULL);
                        for (int i = 0; i < FOURS; i++) {
                            for (int k = 0; k < 4; k++) pthread_create(&others[k], NULL, run_many, NULL);
                            for (int k = 0; k < 4; k++) pthread_join(others[k], NULL);
                        }
                        over = 1;
                        pthread_join(thread, NULL);
                        printf("one %.0f many %.0f\n", used[0] * 1e9, used[1] * 1e9);
                        return 0; }"""
        program = os.path.join(folder, "mixed")
        run(["gcc", "-O1", "-pthread", f"-DFOURS={fours}", f"-DTURNS={turns}", "-x", "c", "-o", program, "-"], input=source)
        return program

    @tool.plain_only
    def test_long_thread_beside_short_ones(self):
        """When threads end, the kernel writes to the rings of other CPUs; in half of the runs,
        their samples were lost."""
        with tempfile.TemporaryDirectory() as folder:
            true, shown = self.sample("perf", self.mixed(folder))
        with tool.measurement():
            self.assertAlmostEqual(shown["one"] / true["one"], 1, delta=0.1)
            self.assertAlmostEqual(shown["many"] / true["many"], 1, delta=0.4)  # the kernel's time for creations is added

    @tool.plain_only
    def test_short_threads_never_run_what_a_long_one_does(self):
        """With an ordinary user, who has no real-time priority, too many short threads are seen in
        system calls."""
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            program, raw, pbin = self.mixed(folder, 1000, 300000), os.path.join(folder, "mixed.bin"), os.path.join(folder, "mixed.pbin")
            run([shutil.copy(os.path.join(BUILD, "sampler"), folder), "-q", "--engine", "ptrace", "-f", "1000", "-o", raw, "--", program],
                preexec_fn=become_ordinary, cwd="/")
            run([os.path.join(BUILD, "prof2pbin"), "-q", "-o", pbin, raw])
            table = json.loads(run([os.path.join(BUILD, "pbin-aggregate"), "-q", "-k", "comm,function", "--format=json", pbin]).stdout)
        rows = {(r["comm"], r["function"]): r["time"] for r in table["rows"]}
        self.assertGreater(rows["many", "many"], 0)
        self.assertEqual(rows.get(("many", "one"), 0), 0)

    def test_short_threads_have_their_names(self):
        """The threads set their names first. Samples are moved a little, but not to a time at which
        their thread had another name."""
        with tempfile.TemporaryDirectory() as folder:
            raw, pbin = os.path.join(folder, "mixed.bin"), os.path.join(folder, "mixed.pbin")
            run([os.path.join(BUILD, "sampler"), "-q", "--engine", "perf", "-f", "1000", "-o", raw, "--", self.mixed(folder, 500, 300000)])
            run([os.path.join(BUILD, "prof2pbin"), "-q", "-o", pbin, raw])
            table = json.loads(run([os.path.join(BUILD, "pbin-aggregate"), "-q", "-k", "comm,function", "--format=json", pbin]).stdout)
        times = {(r["comm"], r["function"]): r["time"] for r in table["rows"]}
        unnamed = sum(ns for (comm, function), ns in times.items() if comm != "many" and function == "many")
        with tool.measurement():
            self.assertGreater(times["many", "many"], 0)
            self.assertLess(unnamed, 0.02 * times["many", "many"])

    @tool.plain_only
    def test_very_short_threads_come_and_go(self):
        """If the period were as short as the cost of a sample, the creating thread would be kept in
        clone for seconds."""
        work = [os.path.join(BUILD, "samples", "short_threads"), "10", "12000"]
        costs = []
        for observer in ([], [os.path.join(BUILD, "sampler"), "-q", "--engine", "auto", "--"]):
            costs.append([])
            for _ in range(5):
                pid = os.posix_spawn((observer + work)[0], observer + work, os.environ,
                                     file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
                _, status, used = os.wait4(pid, 0)
                self.assertEqual(status, 0)
                costs[-1].append(used.ru_utime + used.ru_stime)
        with tool.measurement():
            self.assertLess(max(costs[1]), 8 * sorted(costs[0])[2], costs)


if __name__ == "__main__":
    unittest.main()
