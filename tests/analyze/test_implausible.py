"""Profiles with valid checksums that no program would write: refused, or summed correctly, never
wrong numbers.

SPDX-License-Identifier: MIT
"""
import json
import math
import os
import sys

import tool

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "annotate"))
from pbinfile import Writer  # noqa: E402

POWER = 3
MOST = 2**127 - 1


class Case(tool.Case):
    def aggregate(self, writer, *options):
        path = self.file("hostile.pbin", writer.bytes())
        return tool.run(["pbin-aggregate", "--format", "json", *options, path], timeout=20)

    def rows(self, ended):
        table = json.loads(ended.out)
        return table["rows"], table["total"], table["profile"]

    def refused_or(self, ended, check):
        """The file is refused with one line, or its rows pass CHECK(rows, total, facts)."""
        self.assertIn(ended.status, (0, 1), ended.err)
        if ended.status == 1:
            self.assertEqual((ended.out, ended.err.count("\n")), (b"", 1), ended.err)
        else:
            check(*self.rows(ended))

    def full(self, **meta):
        w = Writer(**meta)
        w.location(1, "f", "f.c", 1)
        return w

    def sums(self):
        w = Writer(keys="function")
        return w, w.string("f"), w.string("g")


class Arithmetic(Case):
    def test_sums_beyond_128_bits(self):
        w, f, g = self.sums()
        w.add_run()
        w.add_row(f, time=MOST)
        w.add_row(g, time=MOST)
        self.refused_or(self.aggregate(w, "-k", "function"),
                        lambda rows, total, _: self.assertGreater(total["time"], rows[0]["time"]))

    def test_merging_beyond_128_bits(self):
        w, f, _ = self.sums()
        w.add_run()
        w.add_row(f, energy=MOST, time=MOST)
        path = self.file("hostile.pbin", w.bytes())
        ended = tool.run(["pbin-aggregate", "--format", "json", "-k", "function", path, path], timeout=20)
        self.refused_or(ended, lambda rows, total, _: self.assertGreater(total["time"], 0))

    def test_negative_sums(self):
        for what in ("time", "samples"):
            w, f, _ = self.sums()
            w.add_run()
            w.add_row(f, **{what: -1 << 90})
            self.refused_or(self.aggregate(w, "-k", "function"),
                            lambda rows, total, _: self.assertGreaterEqual(total[what], 0))

    def test_cpu_times_of_a_sample_beyond_64_bits(self):
        w = self.full(pmu=POWER, wall_ns=10**9)
        w.thread_count = 2
        w.add_samples(3.0, 2**63)
        # both used the same CPU time: half of the energy each
        self.refused_or(self.aggregate(w, "-k", "thread"), lambda rows, _total, _facts: self.assertEqual(
            [r["energy"] for r in rows], [1.5, 1.5]))

    def test_power_times_cpu_time_beyond_the_sums(self):
        w = self.full(pmu=POWER, wall_ns=10**9)
        w.add_samples(2.0**29, 2**63)
        want = 2.0**29 * 2**63 / 1e9
        def check(_rows, total, _facts):
            energy = total["energy"]
            self.assertTrue(energy == 0 or math.isclose(energy, want, rel_tol=1e-9), energy)
        self.refused_or(self.aggregate(w, "-k", "function", "--energy-model", "thread"), check)

    def test_more_energy_than_the_sums_hold(self):
        w = self.full(pmu=POWER, wall_ns=10**9)
        count = 300000
        w.add_samples(2.0**29.9, 1000, count=count)
        def check(_rows, total, _facts):
            self.assertTrue(math.isclose(total["energy"], 2.0**29.9 * count, rel_tol=1e-9) or
                            total["energy"] == 0, total["energy"])
        self.refused_or(self.aggregate(w, "-k", "function"), check)

    def test_wall_time_beyond_64_bits(self):
        w, f, _ = self.sums()
        w.add_run(wall_ns=2**63)
        w.add_run(wall_ns=2**63)
        w.add_row(f, time=1 << 60, runs=2)
        def check(_rows, _total, facts):
            self.assertTrue(facts["wall_s"] is None or facts["wall_s"] > 9e9, facts)
        # the mean of two runs of 292 years is 292 years
        self.refused_or(self.aggregate(w, "-k", "function"), check)
        self.refused_or(self.aggregate(w, "-k", "function"),
                        lambda _r, _t, facts: self.assertIsNotNone(facts["wall_s"]))

    def test_more_runs_in_a_row_than_there_are(self):
        w, f, _ = self.sums()
        w.add_run()
        w.add_row(f, time=1 << 62, runs=2**64 - 1)
        ended = self.aggregate(w, "-k", "function")
        self.assertEqual(ended.status, 1, ended.out)

    def test_no_samples_at_all(self):
        """Under UBSan: sorting nothing passes NULL to qsort."""
        w = Writer()
        w.more = b""
        self.assertIn(self.aggregate(w).status, (0, 1))


class Mixed(Case):
    def test_full_profile_with_runs(self):
        w = self.full(wall_ns=10**9)
        w.add_samples(0, 10**9)
        w.add_run()
        self.refused_or(self.aggregate(w, "-k", "function"),
                        lambda _rows, total, _: self.assertAlmostEqual(total["time"], 1.0))

    def test_full_profile_with_rows(self):
        """Rows have no keys there: missing keys must not be read from uninitialized memory."""
        w = self.full(wall_ns=10**9)
        w.add_samples(0, 10**9)
        w.add_row(time=1 << 62)
        ended = self.aggregate(w, "-k", "line")
        self.assertEqual(ended.status, 1, ended.out)
        self.assertIn("ROWS", ended.err)

    def test_aggregated_profile_with_samples(self):
        w = Writer(keys="function")
        w.location(1, "f", "f.c", 1)
        w.add_samples(0, 10**9)
        w.add_run()
        ended = self.aggregate(w, "-k", "function")
        self.assertEqual(ended.status, 1, ended.out)

    def test_same_row_twice(self):
        w, f, _ = self.sums()
        w.add_run()
        w.add_row(f, time=10**9 << 32)
        w.add_row(f, time=10**9 << 32)
        ended = self.aggregate(w, "-k", "function")
        self.assertEqual(ended.status, 1, "one run has a row once: " + ended.out.decode())

    def test_rows_without_runs(self):
        w, f, _ = self.sums()
        w.add_row(f, time=10**9 << 32)
        self.assertEqual(self.aggregate(w, "-k", "function").status, 1)

    def test_same_key_twice(self):
        w = Writer(keys="function,function")
        f = w.string("f")
        w.add_run()
        w.add_row(f, 0, time=1 << 62)
        self.assertEqual(self.aggregate(w, "-k", "function").status, 1)


class Facts(Case):
    def test_unknown_pmu_kind_is_custom_everywhere(self):
        w = self.full(pmu=2**32)
        path = self.file("hostile.pbin", w.bytes())
        dump = json.loads(tool.run(["pbin-dump", "--format", "json", path]).out)
        self.assertEqual(dump["profile"]["pmu"], "custom")

