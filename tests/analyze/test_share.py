"""The guarantees of the default energy model: it conserves energy, is physical, and gives the same result however a
profile is read.

SPDX-License-Identifier: MIT
"""
import itertools
import json
import os
import random
import struct
import subprocess
import sys
import unittest
from fractions import Fraction

import pbin
import profiles
import stretches
import tool

MS = 1_000_000
TRUTH = os.path.join(os.environ["TESTS"], "bench", "truth.py")


def make(taken, threads=1, cpus=0, **meta):
    locations = sorted({l for s in taken for _, l, _ in s.entries})
    fields = {"name": "share", "target": "app", "pmu": pbin.POWER, "unit": "W", "cpus": cpus, "cpu_time": 1, "times": 1,
              "samples": len(taken), "wall_ns": sum(s.interval_ns for s in taken) or 1, **meta}
    return pbin.Profile(fields, [pbin.Thread(t + 1, 1, "app") for t in range(threads)],
                        [pbin.Location(0x1000 + 16 * l, "app", [pbin.Frame(f"f{l}", f"f{l}", "", 0)])
                         for l in range(max(locations, default=0) + 1)], taken)


class ShareTest(tool.Case):
    def run_on(self, profile, *argv, batch=4096):
        path = self.file("share.pbin", pbin.write(profile, batch=batch))
        ended = self.succeeds(["pbin-aggregate", "-q", "--format", "json", *argv, path])
        table = json.loads(ended.out)
        return {r["function"]: r for r in table["rows"]}, table["total"]

    def test_no_row_exceeds_the_highest_power(self):
        """Other programs share the CPU, and moments are random: with a constant source, rows have
        its power; otherwise at most its highest power."""
        for seed in range(6):
            rng = random.Random(seed)
            constant = seed % 2 == 0
            samples = []
            for _ in range(2500):
                ns = max(1, round(rng.expovariate(1 / MS)))
                used = rng.choice((0, ns // 3, ns))
                samples.append(pbin.Sample(ns, 7.5 if constant else rng.uniform(2, 7.5), [(0, rng.randrange(40), used)]))
            rows, total = self.run_on(make(samples, cpus=4))
            highest = max(s.value for s in samples)
            for name, row in rows.items():
                if row["time"]:
                    self.assertLessEqual(row["power"], highest * (1.01 if not constant else 1 + 1e-9), name)
            energy = sum(s.interval_ns * s.value for s in samples) / 1e9
            self.assertAlmostEqual(total["energy"], energy, 9)
            used = sum(c for s in samples for _, _, c in s.entries) / sum(s.interval_ns for s in samples)
            if constant:
                self.assertAlmostEqual(rows["_idle"]["energy"] / energy, 1 - used, 9)

    def test_moments_that_share_cpu_time(self):
        """As from the engine ptrace: f0 for 3 ms, f1 for 2 ms, then asleep for 6.3 ms. All moments that see the thread running share its
        CPU time, and a source that does not depend on the thread has one power for all: f0 got 7 % too much, f1 9 % too little."""
        rng, samples, t, cpu, known, shared = random.Random(5), [], 0, 0, 0, []
        watts = [10 + rng.uniform(-1, 1) for _ in range(1300)]  # of 5 ms each
        while t < 6000 * MS:
            ns = max(1, round(rng.expovariate(1 / MS)))
            t += ns
            at = t % (113 * MS // 10)
            cpu = t // (113 * MS // 10) * 5 * MS + min(at, 5 * MS)
            place = 0 if at < 3 * MS else 1 if at < 5 * MS else 2
            samples.append(pbin.Sample(ns, watts[t // (5 * MS)], [(0, place, 0)]))
            shared += [len(samples) - 1] if place < 2 else []
            if len(shared) == 16:
                for n in shared:
                    samples[n].entries[0] = (0, samples[n].entries[0][1], (cpu - known) // 16)
                known, shared = cpu, []
        rows, _ = self.run_on(make(samples, cpus=2, divided=16))
        for name in ("f0", "f1"):
            self.assertAlmostEqual(rows[name]["power"], 10, delta=0.15)

    def test_cpu_time_of_others(self):
        """The target ran for a third of the time: it gets a third of the energy."""
        rows, total = self.run_on(make([pbin.Sample(3 * MS, 6.0, [(0, i % 2, MS)]) for i in range(600)], cpus=2))
        self.assertAlmostEqual(total["energy"], 600 * 0.018, 9)
        self.assertAlmostEqual(rows["_idle"]["energy"], 600 * 0.012, 9)
        self.assertAlmostEqual(rows["f0"]["power"], 6, 6)

    def test_two_programs_at_once(self):
        """Each uses one CPU of two: together they get the energy once. Without the CPU time of the
        machine, each gets all."""
        made = [make([pbin.Sample(MS, 8.0, [(0, i % 2, MS)]) for i in range(1500)], cpus=2) for _ in range(2)]
        for profile in made:
            self.assertNotIn("_others", self.run_on(profile)[0])
            profile.busy = [2 * MS] * 1500
        for profile in made:
            rows, total = self.run_on(profile)
            self.assertAlmostEqual(total["energy"], 12, 9)
            self.assertAlmostEqual(rows["_others"]["energy"], 6, 9)
            self.assertAlmostEqual(rows["f0"]["energy"] + rows["f1"]["energy"], 6, 9)
            rows, total = self.run_on(profile, "--others", "ignore")
            self.assertAlmostEqual(rows["f0"]["energy"] + rows["f1"]["energy"], 12, 9)
            self.assertNotIn("_others", rows)
        path = self.file("others.pbin", pbin.write(made[0]))
        table = json.loads(self.succeeds(["pbin-aggregate", "-q", "--format", "json", path]).out)
        self.assertAlmostEqual(table["profile"]["energy_others_J"], 6, 9)
        self.assertAlmostEqual(table["profile"]["energy_code_J"], 6, 9)
        self.assertIn(b"in other programs", self.succeeds(["pbin-aggregate", "-q", path]).out)

    def test_other_programs_while_this_one_waits(self):
        """The program uses a third of the time, others use a third, and a third is idle; less than
        two ticks count as idle."""
        profile = make([pbin.Sample(3 * MS, 6.0, [(0, i % 2, MS)]) for i in range(1024)], cpus=1)
        profile.busy = [2 * MS] * 1024
        rows, total = self.run_on(profile)
        for name in ("_others", "_idle"):
            self.assertAlmostEqual(rows[name]["energy"], total["energy"] / 3, 9)
        profile.busy = [MS + 19_000] * 1024
        self.assertNotIn("_others", self.run_on(profile)[0])

    def test_remainder_of_rounding(self):
        """The rounding error is not charged to a row without energy, which would then show -8e-18
        J."""
        rng = random.Random(40)
        samples = [pbin.Sample(rng.randrange(MS // 2, 2 * MS), rng.uniform(1, 9), [(0, 0, MS // 3)]) for _ in range(700)]
        samples.append(pbin.Sample(MS, 0.0, [(0, 1, MS // 2)]))
        samples[-2].entries[0] = (0, 0, 0)
        path = self.file("zero.pbin", pbin.write(make(samples, cpus=1)))
        for argv in ((path,), ("--start", "0", path)):
            table = json.loads(self.succeeds(["pbin-aggregate", "-q", "--format", "json", *argv]).out)
            rows = {row["function"]: row for row in table["rows"]}
            self.assertEqual(rows["f1"]["energy"], 0, argv)
            self.assertGreater(rows["f0"]["energy"], 1)

    def test_implausible_machine(self):
        """CPU time for more or fewer samples than the following block has, and missing counts of
        runs."""
        data = pbin.write(make([pbin.Sample(MS, 6.0, [(0, 0, MS)]) for _ in range(10)], cpus=1))
        at = data.index(b"SMPL") - 4
        for payload, message in ((struct.pack("<IIQ", 1, 9, MS), "the CPU time of the machine belongs to other samples"),
                                 (struct.pack("<IIQ", 1, 11, MS), "the CPU time of the machine belongs to other samples"),
                                 (struct.pack("<IIQIQ", 2, 10, MS, 0, MS), "the CPU time of the machine belongs to other samples"),
                                 (struct.pack("<IIQ", 2, 5, MS), "block 'busy': too short for its count"),
                                 (struct.pack("<I", 2**32 - 1), "has more runs than a block of samples may hold")):
            path = self.file("lie.pbin", data[:at] + pbin.block("busy", payload) + data[at:])
            self.assertIn(message, self.fails(["pbin-aggregate", "-q", path]).err)
            self.succeeds(["pbin-aggregate", "-q", "--others", "ignore", path])

    def test_other_programs_by_the_second_implementation(self):
        """Compared with the second implementation. With seeds from 34, threads come and go; from
        36, CPU times are sightings; from 38, a part is selected. Every fourth recording has
        own_intervals."""
        for seed in tool.some(range(30, 42), 5):
            rng, held, threads = random.Random(seed), seed % 2, 1 + seed % 3
            samples = []
            for i in range(1500):
                ns = max(1, round(rng.expovariate(1 / MS)))
                entries = [(t, rng.randrange(5), rng.choice((0, ns // 2, ns) if seed < 36 else (0, MS, 2 * MS))) for t in range(threads)
                           if seed < 34 or rng.random() < 0.6]
                value = samples[-1].value if held and i % 8 and samples else rng.uniform(1, 9)
                samples.append(pbin.Sample(ns, value, entries))
            own = seed % 4 == 3
            profile = make(samples, threads, cpus=threads, own_intervals=2 * own)
            profile.busy = [s.interval_ns * (rng.randrange(1, 4) + (threads if seed >= 36 else 0)) for s in samples]
            exact = [stretches.Sample(Fraction(s.interval_ns), Fraction(s.value), Fraction(s.value) * s.interval_ns / 10**9,
                                      [(t, Fraction(c)) for t, _, c in s.entries], b)
                     for s, b in zip(samples, profile.busy)]
            for sample in exact:  # [W] = 1e-9 J/ns
                sample.rate /= 10**9
            at = list(itertools.accumulate(s.interval_ns for s in samples))
            selected = [seed < 38 or 5 * 10**8 <= t < 13 * 10**8 for t in at]
            energies, idle = stretches.spread(exact, threads, selected, own)
            expected = {"_idle": sum(float(e) for e, taken in zip(idle, selected) if taken)}
            for s, of, taken in zip(samples, energies, selected):
                for (_, location, _), energy in zip(s.entries, of):
                    expected[f"f{location}"] = expected.get(f"f{location}", 0) + float(energy * taken)
            energy = float(sum(s.energy for s, taken in zip(exact, selected) if taken))
            expected["_others"] = energy - sum(expected.values())
            self.assertGreater(expected["_others"], energy / 10)
            part = [] if seed < 38 else ["--start", "0.5", "--end", "1.3"]
            for how in ([], ["--max-gap", "1e6"]):
                for batch in (100, 1024, 4096):
                    rows, _ = self.run_on(profile, *part, *how, batch=batch)
                    for name, energy in expected.items():
                        got = rows[name]["energy"] if name in rows else 0
                        self.assertAlmostEqual(got, energy, 6, (seed, how, batch, name))

    def test_full_machine(self):
        """All CPUs are always in use, at constant power: a second of CPU time has the same cost
        everywhere, whether CPU times are exact or sightings, also in parts of 10 ms."""
        cpus, watts = 2, 7.0
        for seed in range(8):
            rng, threads, sighted = random.Random(seed), 1 + seed % 2, seed % 4 >= 2
            samples, left = [], [[0, True] for _ in range(threads)]
            for i in range(3000):
                ns, entries = max(1, round(rng.expovariate(1 / MS))), []
                for t, state in enumerate(left):  # runs and waits for 3 ms each, on average
                    state[0] -= ns
                    if state[0] < 0:
                        state[:] = [rng.expovariate(1 / (3 * MS)), not state[1]]
                    entries.append((t, rng.randrange(4), (MS if sighted else ns) * state[1]))
                samples.append(pbin.Sample(ns, watts, entries))
            profile = make(samples, threads, cpus=cpus)
            profile.busy = [cpus * s.interval_ns for s in samples]
            for part in ([], ["--start", "1.5", "--end", "1.51"], ["--end", "0.2"]):
                rows, total = self.run_on(profile, *part)
                code = {name: row for name, row in rows.items() if row["time"]}
                self.assertAlmostEqual(sum(row["energy"] for row in code.values()) / total["time"], watts / cpus,
                                       delta=(0.1 if part else 0.01) * watts, msg=(seed, part))
                for name, row in code.items():
                    if not part:
                        self.assertAlmostEqual(row["energy"] / row["time"], watts / cpus, delta=0.05 * watts, msg=(seed, name))
                if "_idle" in rows:
                    self.assertLess(rows["_idle"]["energy"], 0.002 * total["energy"], (seed, part))
                self.assertGreater(rows["_others"]["energy"], 0, (seed, part))

    def test_several_threads(self):
        """Each of several constant threads gets E * min(1, sum c / d) * c_j / sum c."""
        for cpu in ((MS, MS, MS, MS), (MS, MS // 2, MS // 4, 0), (MS // 4, MS // 4, 0, 0)):
            samples = [pbin.Sample(MS, 8.0 + i % 2, [(t, t, c) for t, c in enumerate(cpu)]) for i in range(512)]
            rows, total = self.run_on(make(samples, threads=4, cpus=4))
            busy = min(1, sum(cpu) / MS)
            for t, c in enumerate(cpu):
                self.assertAlmostEqual(rows[f"f{t}"]["energy"], total["energy"] * busy * c / sum(cpu), 6)
            idle = rows["_idle"]["energy"] if "_idle" in rows else 0
            self.assertAlmostEqual(idle, total["energy"] * (1 - busy), 6)

    def test_a_sample_stands_for_the_time_around_it(self):
        """Three intervals of 2, 4 and 6 mJ: the PC between the first two gets half of each."""
        samples = [pbin.Sample(0, 0.0, [(0, 0, 5)])]
        samples += [pbin.Sample(MS, p, [(0, l, MS)]) for p, l in ((2.0, 1), (4.0, 2), (6.0, 0))]
        rows, total = self.run_on(make(samples, cpus=1))
        self.assertAlmostEqual(rows["f1"]["energy"], 0.003, 9)
        self.assertAlmostEqual(rows["f2"]["energy"], 0.005, 9)
        self.assertAlmostEqual(total["energy"], 0.012, 9)

    def test_own_intervals(self):
        """Three intervals of 2, 4 and 6 mJ, each belonging to the PC at its end; the fast path
        agrees with samples one by one."""
        samples = [pbin.Sample(0, 0.0, [(0, 0, 5)])]
        samples += [pbin.Sample(MS, p, [(0, l, MS)]) for p, l in ((2.0, 1), (4.0, 2), (6.0, 0))]
        for args in ([], ["--max-gap", "1e6"]):
            rows, _ = self.run_on(make(samples, cpus=1, own_intervals=1), *args)
            for name, joule in (("f1", 0.002), ("f2", 0.004), ("f0", 0.006)):
                self.assertAlmostEqual(rows[name]["energy"], joule, 9)

    def test_no_interval_of_parallel_threads(self):
        """Two threads run at the same time, and each sample has one of them: their energies have no
        confidence intervals."""
        for parallel in (1, 2):
            samples = [pbin.Sample(MS, 10.0 + 10 * (i // 100 % 2) + i // 4 % 2, [(i % 2, i // 100 % 2, parallel * MS)])
                       for i in range(4000)]
            rows, _ = self.run_on(make(samples, 2, cpus=2, own_intervals=2), "--ci")
            self.assertEqual(rows["f0"]["energy_ci_approx"] is None, parallel == 2)

    def test_counter_that_leaps(self):
        """A counter is read at every sample and moves at every fourth: the energy that it counts
        belongs to the PCs before the leap."""
        samples = []
        for i in range(1024):
            leap = i % 4 == 3
            samples.append(pbin.Sample(MS, 4.0 * (10 if i // 64 % 2 else 30) if leap else 0.0,
                                       [(0, (i - 3) // 64 % 2 if leap else i // 64 % 2, MS)]))
        rows, total = self.run_on(make(samples, cpus=1))
        self.assertAlmostEqual(rows["f0"]["power"], 30, delta=0.3)
        self.assertAlmostEqual(rows["f1"]["power"], 10, delta=0.3)
        self.assertAlmostEqual(total["energy"], 512 * 0.04, 9)

    def test_every_way_to_the_same_bits(self):
        """Packed or one by one, in blocks of any size: the tables are equal to the last digit. In
        the last two profiles, threads come and go, and return with the CPU time of several
        intervals."""
        for seed, threads in ((1, 1), (2, 2), (3, 3), (4, 7), (5, 2), (6, 5)):
            rng = random.Random(seed)
            samples = []
            for i in range(2600):
                held = seed % 2 == 0 and i % 3 != 0
                samples.append(pbin.Sample(rng.randrange(900_000, 1_100_000), samples[-1].value if held else rng.uniform(1, 9),
                                           [(t, rng.randrange(9), rng.choice((0, 400_000, 1_000_000, 1_050_000, 3_000_000)))
                                            for t in range(threads) if seed < 5 or rng.random() < 0.4]))
            profile = make(samples, threads, cpus=threads, own_intervals=int(seed in (1, 2, 3, 6)))
            paths = [self.file(f"{batch}.pbin", pbin.write(profile, batch=batch)) for batch in tool.some((7, 100, 1024, 4096), 2)]
            for model in ("share", "sample"):
                outs = {self.succeeds(["pbin-aggregate", "--format", "csv", "--energy-model", model, *how, path]).out
                        for path in paths for how in ([], ["--max-gap", "1e6"])}
                self.assertEqual(len(outs), 1, (seed, model))
                for part in (["--start", "0.1", "--end", "0.2"], ["--start", "0.3"], ["--end", "2.5"], ["--phase", "f3:9"]):
                    outs = {self.succeeds(["pbin-aggregate", "--format", "csv", "--energy-model", model, *part, *how, path]).out
                            for path in paths for how in ([], ["--max-gap", "1e6"])}
                    self.assertEqual(len(outs), 1, (seed, model, part))

    def test_parts_of_the_time_add_up(self):
        """Everything outside the selected time is excluded, however much it is. A row may differ by
        half an interval of the highest power at each border."""
        rng = random.Random(9)
        samples = [pbin.Sample(MS, rng.uniform(1, 9), [(0, i // 300 % 3, MS)]) for i in range(9000)]
        whole, total = self.run_on(make(samples, cpus=1))
        for borders in ((0, 4.0005), (0, 0.0105, 0.0115, 8.9), (0, 1.0235, 1.0245, 2.0475, 3)):
            parts = [self.run_on(make(samples, cpus=1), "--start", str(a), "--end", str(b))
                     for a, b in zip(borders, [*borders[1:], 100])]
            self.assertAlmostEqual(sum(t["energy"] for _, t in parts), total["energy"], 9)
            for name, row in whole.items():
                self.assertAlmostEqual(sum(p[name]["energy"] for p, _ in parts if name in p), row["energy"],
                                       delta=len(borders) * 9 * 0.5e-3 + 1e-9, msg=name)

    def test_power_of_a_part_is_as_measured(self):
        """At constant power, with CPU times that the kernel updates now and then, each part of the
        time has that power in its head and its sum, whatever the CPU times around its borders
        are."""
        rng = random.Random(24)
        samples = [pbin.Sample(rng.randrange(100_000, 300_000), 5.0, [(0, rng.randrange(9), rng.choice((0, 0, 200_000, 600_000)))])
                   for i in range(5000)]
        path = self.file("c.pbin", pbin.write(make(samples, cpus=1)))
        for part in (["--start", "0.1", "--end", "0.12"], ["--start", "0.3", "--end", "0.3011"], ["--end", "0.7"], ["--phase", "f3:9"],
                     ["--start", "0.2", "--max-gap", "0.00015"]):
            table = json.loads(self.succeeds(["pbin-aggregate", "-q", "--format", "json", *part, path]).out)
            facts, total = table["profile"], table["total"]
            self.assertAlmostEqual(facts["energy_J"] / (5 * facts["wall_s"]), 1, 9, part)
            self.assertAlmostEqual(facts["power_W"], 5, 8, part)
            self.assertAlmostEqual(total["energy"] / facts["energy_J"], 1, 9, part)

    def test_busy_time_is_not_idle(self):
        """A thread always uses its CPU: no energy is idle, although the first sample shares half of
        its interval with no other and the power falls."""
        for count in (3, 8, 20, 100, 3000):
            samples = [pbin.Sample(MS, 10.0 if i // 5 % 2 else 30.0, [(0, i // 7 % 3, MS)]) for i in range(count)]
            rows, total = self.run_on(make(samples, cpus=1))
            self.assertNotIn("_idle", rows, count)
            self.assertAlmostEqual(sum(r["energy"] for r in rows.values()), sum(s.value for s in samples) / 1000, 9)

    def test_rounding_is_not_idle(self):
        """Constant power and a thread that is never idle: there are no other rows, however the
        energies are rounded."""
        for seed in range(12):
            rng = random.Random(seed)
            samples = [pbin.Sample(rng.randrange(MS // 2, 3 * MS // 2), (3.0, 7.0)[seed % 2], [(0, rng.randrange(3), 0)])
                       for _ in range(50)]
            rows, total = self.run_on(make(samples, cpus=1, cpu_time=0))
            self.assertLessEqual(set(rows), {"f0", "f1", "f2"}, seed)
            self.assertAlmostEqual(total["energy"], sum(r["energy"] for r in rows.values()), 12)

    def test_balance(self):
        """The measured energy equals the sum of its parts; rows that do not add up to their runs
        are refused."""
        samples = [pbin.Sample(2 * MS, 5.0, [(0, i % 2, MS)]) for i in range(100)]
        path = self.file("b.pbin", pbin.write(make(samples, cpus=2)))
        for argv, parts in (([], ("code", 0.5), ), (["--max-gap", "0.001"], ("gap", 0.5)),
                            (["--energy-model", "thread"], ("unattributed", 0.5))):
            table = json.loads(self.succeeds(["pbin-aggregate", "-q", "--format", "json", *argv, path]).out)
            facts = {n: v for n, v in table["profile"].items() if n.startswith("energy_") and n != "energy_J"}
            self.assertAlmostEqual(sum(facts.values()), 1, 9, argv)
            self.assertAlmostEqual(table["profile"]["energy_J"], 1, 9, argv)
            self.assertAlmostEqual(table["profile"]["power_W"], 5, 9, argv)
            self.assertAlmostEqual(facts[f"energy_{parts[0]}_J"], parts[1], 9, argv)
        row = lambda energy: pbin.Row(("app", "f"), 1, 1, 1, 1, energy, 1, 1, (1, 1, energy, energy))
        for measured in (2, 3):
            data = pbin.write(pbin.Profile({"keys": "binary,function", "pmu": pbin.POWER, "cpu_time": 1},
                                           runs=[pbin.Run("r", 10, 0, 1, 1, measured)], rows=[row(2)]))
            argv = ["pbin-aggregate", "-q", self.file(f"{measured}.pbin", data)]
            if measured == 2:
                self.succeeds(argv)
            else:
                self.assertIn("the balance does not add up: rows add up to 2, their runs to 3 J", self.fails(argv).err)

    def test_random_profiles_keep_their_energy(self):
        for seed in range(20, 26):
            profile = profiles.make(seed, samples=2200)
            path = self.file("p.pbin", pbin.write(profile))
            totals = {json.loads(self.succeeds(["pbin-aggregate", "--format", "json", "--energy-model", m, path]).out)
                      ["total"]["energy"] for m in ("share", "sample")}
            self.assertEqual(len(totals), 1)

    def test_a_warning_of_what_windows_move(self):
        """With --ci, a warning reports how long rows run in windows of ten samples, and how much
        energy that moves. A row of 10 W that alternates with one of 20 W gets a third of a window's
        part too much, as with exact integrals in make bench-truth."""
        for stay, percent, wrong in ((30, 11, 0.11), (5, 50, 0.5), (1000, None, 0)):
            rng = random.Random(stay)
            ns = [rng.randrange(MS // 2, MS) for _ in range(6000)]
            shift = stay // 2 - 3 if stay > 9 else 0
            who = [(i + shift) // stay % 2 for i in range(6000)]
            taken, used = [], [0, 0]
            for w in range(0, 6000, 10):
                for i in range(w, w + 10):
                    used[who[i]] += ns[i]
                value = rng.uniform(0.999, 1.001) * sum((10, 20)[who[i]] * ns[i] for i in range(w, w + 10)) / sum(ns[w:w + 10])
                taken += [pbin.Sample(ns[i], value, [(0, who[i], ns[i])]) for i in range(w, w + 10)]
            path = self.file("mixed.pbin", pbin.write(make(taken)))
            for argv, warns in (((), False), (("--ci",), percent is not None), (("--ci", "--energy-model=fit"), False)):
                ended = self.succeeds(["pbin-aggregate", *argv, path])
                self.assertEqual("too much energy goes to rows" in ended.err, warns, (stay, argv, ended.err))
                if warns:
                    self.assertIn(f"rows run for {stay / 10:.2g} updates", ended.err)
                    self.assertIn(f"(about {percent} % of theirs", ended.err)
            rows, _ = self.run_on(make(taken))
            self.assertAlmostEqual(rows["f0"]["energy"] / (used[0] * 10e-9) - 1, wrong, delta=0.06, msg=stay)

    def test_window_of_too_many_threads(self):
        """A small file may contain samples of half a million threads: these are not all kept until
        a window is complete."""
        threads, count = 1 << 19, tool.rounds(48, 4)
        constant = lambda value: struct.pack("<BQ", 0, value)
        watts = struct.unpack("<Q", struct.pack("<d", 5.0))[0]
        sample = pbin.block("SMPL", struct.pack("<II", 1, threads) + constant(MS) + constant(watts) + constant(threads) +
                            constant(0) + constant(0) + constant(MS))
        data = pbin.write(make([], samples=count, wall_ns=count * MS))
        tail = len(data) - 60  # the trailer, including its frame
        counts = bytearray(data[tail + 8:-8])
        struct.pack_into("<QQ", counts, 0, count, count * threads)
        path = self.file("wide.pbin", data[:tail] + sample * count + pbin.block("TAIL", bytes(counts)))
        ended = tool.run(["pbin-aggregate", "-q", "--format", "json", path],
                         memory=None if tool.is_asan() else 400 * tool.MB, timeout=60)
        self.assertEqual((ended.status, ended.err), (0, ""))
        self.assertAlmostEqual(json.loads(ended.out)["total"]["energy"], count * 0.005, 9)

    @unittest.skipIf(tool.is_asan(), "judges errors, along paths that other simulations take, too")
    def test_simulation(self):
        """Errors of the default model and the fit against exact integrals, in less time than make bench-truth."""
        ended = subprocess.run([sys.executable, TRUTH, "--check", "--table", "pairs", "--seeds", "4", "--length", "1"],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(ended.returncode, 0, ended.stdout.decode())
