"""pbin-dump over time - a column per thread, a row per stay, with a time range - and one line for
each of many profiles.

SPDX-License-Identifier: MIT
"""
import csv
import io
import json
import os
import unittest

import pbin
import profiles
import tool

SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "samples")


class DumpCase(tool.Case):
    def write(self, profile, name="p.pbin"):
        return self.file(name, pbin.write(profile))

    def csv(self, *argv):
        return list(csv.DictReader(io.StringIO(self.succeeds(["pbin-dump", *argv]).out.decode())))


def place(profile, location):
    at = profile.locations[location]
    return at.binary, at.frames[-1].demangled


def times(profile):
    """(begin, end) of the interval of each sample [ns]."""
    end, found = 0, []
    for s in profile.samples:
        found.append((end, end + s.interval_ns))
        end += s.interval_ns
    return found


class Wide(DumpCase):
    def check(self, profile, start=0, end=float("inf")):
        path, argv = self.write(profile), ["--per-thread"]
        argv += ["--start", repr(start)] * (start > 0) + ["--end", repr(end)] * (end < float("inf"))
        chosen = [(s, t / 1e9) for s, (_, t) in zip(profile.samples, times(profile)) if start <= t / 1e9 < end]
        seen = sorted({t for s, _ in chosen for t, _, _ in s.entries})
        names, used = [], set()
        for t in seen:
            tid = profile.threads[t].tid
            names.append(f"thread_{tid}_{t}" if tid in used else f"thread_{tid}")
            used.add(tid)
        rows = self.csv(*argv, path)
        self.assertEqual(len(rows), len(chosen))
        for row, (sample, time) in zip(rows, chosen):
            self.assertEqual(list(row), ["time [s]", "value [W]", *names])
            self.assertEqual((float(row["time [s]"]), float(row["value [W]"])), (time, sample.value))
            want = {t: ":".join(place(profile, at)) for t, at, _ in sample.entries}
            self.assertEqual([row[n] for n in names], [want.get(t, "") for t in seen])

    def test_all(self):
        self.check(profiles.make(1, samples=300, threads=9))

    def test_time_range(self):
        profile = profiles.make(2, samples=200)
        self.check(profile, 0.05)
        self.check(profile, 0.05, 0.1)
        self.check(profile, 0, 0.02)
        self.check(profile, 5, 6)

    def test_keys(self):
        profile = profiles.make(3, samples=50)
        rows = self.csv("--per-thread", "-k", "file,line", self.write(profile))
        for row, sample in zip(rows, profile.samples):
            want = {f"{profile.locations[at].frames[0].file}:{profile.locations[at].frames[0].line or '-'}"
                    for _, at, _ in sample.entries}
            self.assertEqual({v for k, v in row.items() if k.startswith("thread") and v}, want)

    def test_interpolate(self):
        profile = profiles.make(5, samples=50)
        path = self.write(profile)
        whole, times_of = self.csv("--per-thread", path), [t / 1e9 for _, t in times(profile)]
        for n in (1, 3, 7, 50, 80):
            rows = self.csv("--per-thread", "-i", str(n), path)
            self.assertEqual(len(rows), -(-50 // n))
            for i, row in enumerate(rows):
                values = [s.value for s in profile.samples[i * n:(i + 1) * n]]
                self.assertAlmostEqual(float(row["value [W]"]), sum(values) / len(values), 12)
                self.assertEqual(float(row["time [s]"]), times_of[i * n])
                self.assertEqual({k: v for k, v in row.items() if v and k[0] == "t"},
                                 {k: v for k, v in whole[i * n].items() if v and k[0] == "t"})
        rows = self.csv("--per-thread", "-n", "-s", "0.01", "-e", "0.03", path)
        self.assertEqual([list(r) for r in rows], [["time [s]", "value [W]"]] * len(rows))
        self.assertEqual([float(r["time [s]"]) for r in rows], [t for t in times_of if 0.01 <= t < 0.03])

    def test_without_values_and_times(self):
        profile = profiles.make(4, samples=20, pmu=0, times=0, wall_ns=40_000_000)
        rows = self.csv("--per-thread", self.write(profile))
        self.assertNotIn("value [W]", rows[0])
        self.assertEqual([round(float(r["time [s]"]), 9) for r in rows], [round(0.002 * (i + 1), 9) for i in range(20)])


class Gantt(DumpCase):
    def stays(self, profile, start=0, end=float("inf")):
        """By thread: [begin, end, CPU time, samples, place] [ns], by the rule of the man page."""
        found = {}
        for sample, (begin, now) in zip(profile.samples, times(profile)):
            if not start <= now / 1e9 < end:
                continue
            for t, at, cpu in sample.entries:
                mine = found.setdefault(t, [])
                since = mine[-1][1] if mine and 2 * cpu >= now - mine[-1][1] else begin
                if mine and mine[-1][4] == place(profile, at) and mine[-1][1] >= since:
                    mine[-1][1:4] = [now, mine[-1][2] + cpu, mine[-1][3] + 1]
                else:
                    mine.append([since, now, cpu, 1, place(profile, at)])
        return found

    def check(self, profile, *argv, **range_):
        rows, want = self.csv("--gantt", *argv, self.write(profile)), self.stays(profile, **range_)
        got = sorted((int(r["thread"]), r["thread_name"], round(float(r["begin [s]"]) * 1e9), round(float(r["duration [s]"]) * 1e9),
                      round(float(r["cpu_time [s]"]) * 1e9), int(r["samples"]), r["binary"], r["function"]) for r in rows)
        self.assertEqual(got, sorted((profile.threads[t].tid, profile.threads[t].name, b, e - b, c, n, *p)
                                     for t, all_ in want.items() for b, e, c, n, p in all_))
        return rows

    def test_random(self):
        for seed in range(5):
            with self.subTest(seed):
                rows = self.check(profiles.make(10 + seed, samples=300, threads=6, locations=4))
                self.assertGreater(max(int(r["samples"]) for r in rows), 3)

    def test_time_range(self):
        self.check(profiles.make(20, samples=300), "--start", "0.1", "--end", "0.2", start=0.1, end=0.2)

    def test_threads_seen_in_every_second_sample(self):
        """Two threads run all the time, and are seen alternately; the third uses no CPU time while
        it is not seen."""
        ms = 10**6
        profile = pbin.Profile({"target": "app", "cpu_time": 1, "times": 1, "samples": 8, "wall_ns": 8 * ms},
                               [pbin.Thread(t, 1, "w") for t in (1, 2, 3)],
                               [pbin.Location(16, "app", [pbin.Frame("f", "f", "", 0)])])
        profile.samples = [pbin.Sample(ms, 0.0, [(i % 2, 0, 2 * ms if i > 1 else ms)] + [(2, 0, ms // 4)] * (i % 4 == 0))
                           for i in range(8)]
        rows = self.check(profile)
        self.assertEqual(sorted((r["thread"], float(r["begin [s]"]), float(r["duration [s]"])) for r in rows),
                         [("1", 0, 0.007), ("2", 0.001, 0.007), ("3", 0, 0.001), ("3", 0.004, 0.001)])

    def test_formats(self):
        path = self.write(profiles.make(21, samples=30))
        rows = json.loads(self.succeeds(["pbin-dump", "--gantt", "--format=json", path]).out)["rows"]
        self.assertEqual(len(rows), len(self.csv("--gantt", path)))

    def test_samples_in_a_range(self):
        profile = profiles.make(22, samples=100)
        path = self.write(profile)
        whole, part = self.csv("--samples", path), self.csv("--samples", "--start=0.03", "--end=0.06", path)
        self.assertEqual(part, [r for r in whole if 0.03 <= float(r["time [s]"]) < 0.06])
        self.assertTrue(part)

    def test_normalized_times(self):
        """Times begin at 0 with the first sample shown; the distances between them are
        unchanged."""
        path = self.write(profiles.make(22, samples=100))
        for kind in ("--samples", "--per-thread"):
            part = [float(r["time [s]"]) for r in self.csv(kind, "--start=0.03", path)]
            moved = [float(r["time [s]"]) for r in self.csv(kind, "--start=0.03", "--normalized", path)]
            self.assertEqual(moved, [round(t - part[0], 9) for t in part])
            self.assertGreater(part[0], 0.03)
        self.assertEqual(tool.run(["pbin-dump", "--gantt", "--normalized", path]).status, 2)

    def test_nothing_is_selected(self):
        path = self.write(profiles.make(22, samples=100))
        for kind in ("--samples", "--per-thread", "--gantt", "--readings"):
            ended = self.succeeds(["pbin-dump", kind, "--start=1e6", path])
            self.assertIn("nothing is selected", ended.err, kind)
            self.assertEqual(ended.out.count(b"\n"), 1, kind)
        for options in (["-q", "--start=1e6"], ["--end=1e6"]):
            self.assertEqual(self.succeeds(["pbin-dump", "--samples", *options, path]).err, "", options)


class Info(DumpCase):
    def rows(self, *files):
        return json.loads(self.succeeds(["pbin-dump", "--info", "--format=json", *files]).out)["rows"]

    def test_against_aggregate(self):
        made = [profiles.make(i, samples=100 * i, threads=i) for i in (1, 2, 3)]
        files = [self.write(p, f"{i}.pbin") for i, p in enumerate(made)]
        files += [os.path.join(SAMPLES, n) for n in ("a.pbin", "b.pbin")]
        for row, file, profile in zip(self.rows(*files), files, made + [None] * 2):
            table = json.loads(self.succeeds(["pbin-aggregate", "-q", "--format=json", file]).out)
            facts, total = table["profile"], table["total"]
            self.assertEqual(row["file"], file)
            self.assertEqual((row["samples"], row["runs"]), (facts["samples"], facts["runs"]))
            for mine, theirs in (("span", facts["wall_s"]), ("rate", facts["frequency_hz"]), ("cpu_time", total["time"]),
                                 ("energy", total["energy"]), ("power", facts["power_W"])):
                self.assertAlmostEqual(row[mine], theirs, delta=1e-9 * theirs, msg=mine)
            self.assertEqual(row["kind"], "full" if profile else "aggregated")
            self.assertEqual(row["threads"], len(profile.threads) if profile else None)

    def test_units_in_the_header(self):
        rows = self.csv("--info", "--format=csv", self.write(profiles.make(5)))
        self.assertEqual(list(rows[0]), ["file", "kind", "runs", "samples", "rate [Hz]", "span [s]", "threads", "cpu_time [s]",
                                         "energy [J]", "power [W]", "target"])

    def test_one_line_each_at_80_columns(self):
        files = [self.write(profiles.make(i), f"a_profile_with_a_long_name_{i}.pbin") for i in range(4)]
        os.environ["COLUMNS"] = "80"
        self.addCleanup(os.environ.pop, "COLUMNS")
        lines = self.succeeds(["pbin-dump", "--info", *files]).out.decode().split("\n")
        self.assertLessEqual(max(map(len, lines)), 80)
        for word in ("samples", "rate [Hz]", "span [s]", "threads", "energy [J]", "power [W]"):
            self.assertIn(word, lines[0])

    def test_no_energy(self):
        row, = self.rows(self.write(profiles.make(6, pmu=4, unit="uJ s")))
        self.assertEqual((row["energy"], row["power"]), (None, None))

    def test_bad_file(self):
        self.fails(["pbin-dump", "--info", self.write(profiles.make(7)), self.file("bad", b"frob")], f"{self.folder}/bad")


class Narrow(DumpCase):
    def test_names_at_80_columns(self):
        """Text omits columns rather than names, reports which, and keeps the function."""
        profile, name = profiles.make(3, samples=40), "a_function_with_a_name_of_35_letters"
        for at in profile.locations:
            at.binary = "a_library_with_a_long_name.so.12"
            for frame in at.frames:
                frame.demangled, frame.function, frame.file = name, "_Z36" + name, "/home/somebody/src/a_long_name.c"
        path = self.write(profile)
        os.environ["COLUMNS"] = "80"
        self.addCleanup(os.environ.pop, "COLUMNS")
        for option, kept in (("--samples", "time value thread cpu_time function"),
                             ("--gantt", "thread begin duration binary function"),
                             ("--locations", "pc frame binary function")):
            with self.subTest(option):
                lines = self.succeeds(["pbin-dump", option, "--format=text", path]).out.decode().split("\n")
                self.assertLessEqual(max(map(len, lines)), 80)
                titles = lines[0].replace(" [s]", "").replace(" [W]", "").split()
                self.assertEqual([t for t in kept.split() if t not in titles], [])
                names = [cell for line in lines for cell in line.split() if cell.endswith("letters")]
                self.assertGreater(len(names), 20)
                self.assertGreaterEqual(min(map(len, names)), 18)
                self.assertIn("(not shown: ", lines[-2])


class Usage(DumpCase):
    def test_wrong(self):
        path = self.write(profiles.make(1))
        for argv in (["--start", "1"], ["--end=1", "--info"], ["--gantt", "--start=2", "--end=1"], ["-k", "line"],
                     ["-n"], ["--gantt", "-i", "2"], ["--gantt", "-k", "frob"], ["--samples", path]):
            with self.subTest(argv):
                ended = tool.run(["pbin-dump", *argv, path])
                self.assertEqual((ended.status, ended.out), (2, b""), ended.err)

    def test_aggregated(self):
        for option in ("--gantt", "--per-thread"):
            ended = self.fails(["pbin-dump", option, os.path.join(SAMPLES, "a.pbin")], os.path.join(SAMPLES, "a.pbin"))
            self.assertIn("contain no samples", ended.err)


if __name__ == "__main__":
    unittest.main()
