"""The samples kept of a truncated profile have their original power: times of the whole run are
reduced in proportion.

SPDX-License-Identifier: MIT
"""
import bz2
import gzip
import json
import lzma
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import pbin  # noqa: E402
import profiles  # noqa: E402
import rawprofile as raw  # noqa: E402
import tool  # noqa: E402


def steady_run(samples, step_us):
    """One thread that always runs, at 2 W or 2 A."""
    return raw.Run([raw.Sample(2.0, [raw.Thread(1, 0x10000 + i % 50, (i + 1) * step_us * 1000)], i * step_us)
                    for i in range(samples)], [raw.Map(0x10000, 0x1000, "gone")], samples * step_us,
                   samples * step_us // 10, raw.POWER)


class Salvage(tool.Case):
    def facts(self, pbin, *options):
        out = self.succeeds(["pbin-aggregate", "-q", "--format=json", *options], stdin=pbin).out
        return json.loads(out)["profile"]

    def test_cut_raw_profile_keeps_its_power(self):
        for dialect, record, volts in (("sampler", 32, []), ("sampler-walltime", 40, []), ("intrvelf", 24, ["-v", "1"])):
            whole = raw.write(steady_run(1000, 1000), dialect)
            kept = self.succeeds(["prof2pbin", "-q", "--salvage", "--dialect", dialect, *volts],
                                 stdin=whole[:-record * 500]).out
            facts = self.facts(kept)
            self.assertEqual(facts["samples"], 500, dialect)
            self.assertAlmostEqual(facts["wall_s"], 0.5, 2, dialect)
            self.assertAlmostEqual(facts["energy_J"], 1.0, 2, dialect)
            self.assertAlmostEqual(facts["power_W"], 2.0, 2, dialect)
            self.assertAlmostEqual(facts["latency_s"], 0.05, 2, dialect)

    def test_ours_is_recognized_by_its_paths(self):
        """With threads of 12 bytes, these records are followed by others that seem to have 30,000
        threads."""
        samples = [raw.Sample(0.0, [raw.Thread(30_000, 0x10000, i)]) for i in range(20_000)]
        whole = raw.write(raw.Run(samples, [raw.Map(0x10000, 0x1000, "/bin/gone")], 1000, 0, raw.CUSTOM), "sampler")
        for size in range(len(whole) // 2, len(whole), len(whole) // 9):
            ended = self.succeeds(["prof2pbin", "--salvage"], stdin=whole[:size])
            self.assertEqual(len(pbin.read(ended.out).samples), (size - 32 - 272) // 32, ended.err)

    def test_cut_pbin_keeps_its_power(self):
        for dialect in ("sampler", "sampler-walltime"):
            whole = self.succeeds(["prof2pbin", "-q", "--dialect", dialect],
                                  stdin=raw.write(steady_run(200_000, 100), dialect)).out
            facts = self.facts(whole[:len(whole) * 3 // 4], "--salvage")
            self.assertGreater(facts["samples"], 0)
            self.assertLess(facts["samples"], 200_000)
            self.assertAlmostEqual(facts["wall_s"], facts["samples"] * 1e-4, 3, dialect)
            self.assertAlmostEqual(facts["power_W"], 2.0, 2, dialect)

    def test_damage_amid_a_pbin(self):
        """The position and the cause of losses are reported, and the number of samples kept."""
        profile = profiles.make(3, samples=300, threads=3)
        whole = pbin.write(profile, 50)
        at = [i for i in range(len(whole)) if whole[i:i + 4] == b"SMPL"][2] - 4
        length = int.from_bytes(whole[at:at + 4], "little")
        lie = bytearray(whole[at + 8:at + 8 + length])
        lie[4] += 1  # a thread sample more than there are
        damaged = {"its checksum does not match": whole[:at + 40] + bytes([whole[at + 40] ^ 1]) + whole[at + 41:],
                   "cut short": whole[:at + 40],
                   "number of threads|column": whole[:at] + pbin.block("SMPL", bytes(lie)) + whole[at + 16 + length:]}
        for why, data in damaged.items():
            path = self.file("damaged.pbin", data)
            self.fails(["pbin-aggregate", path], path)
            for argv in (["pbin-aggregate"], ["pbin-aggregate", "-j", "2"], ["pbin-dump"], ["pbin-dump", "--samples"]):
                ended = self.succeeds([*argv, "--salvage", path])
                self.assertRegex(ended.err, rf"^{argv[0]}: {path}: {at:#x}: block 'SMPL'.*({why}).*: kept the 100 of 300 samples before\n$")
        lost = self.file("lost.pbin", whole[:-1])
        self.assertRegex(self.succeeds(["pbin-dump", "--salvage", lost]).err, "block 'TAIL' cut short: .*: kept the 300 samples before\n")

    def test_compressed_data_that_end_early(self):
        """All data that can be decompressed are used; if there are none, that is the error, not an
        empty file."""
        whole = raw.write(steady_run(6000, 100), "sampler")
        for name, pack in (("bzip2", bz2.compress), ("gzip", gzip.compress), ("xz", lzma.compress)):
            packed = pack(whole)
            for size in (12, len(packed) // 2, len(packed) - 1):
                for options in ([], ["--salvage"]):
                    ended = tool.run(["prof2pbin", *options], stdin=packed[:size])
                    where = (name, size, options, ended.err)
                    self.assertEqual(ended.err.count("<stdin>"), 1, where)
                    # bzip2 has a single block here
                    kept = bool(options) and (size == len(packed) - 1 or (size > 12 and name != "bzip2"))
                    self.assertEqual(ended.status == 0, kept, where)
                    if not kept or size == len(packed) - 1:
                        self.assertIn(f"<stdin>: {size:#x}: {name} data cut short", ended.err, where)
                    if kept:
                        samples = len(pbin.read(ended.out).samples)
                        self.assertEqual(samples == 6000, size == len(packed) - 1, where)
                        self.assertGreater(samples, 0, where)

    def test_only_block_of_samples(self):
        whole = pbin.write(profiles.make(3, samples=300, threads=3), 300)
        ended = self.succeeds(["pbin-aggregate", "--salvage"], stdin=whole[:len(whole) * 3 // 4])
        self.assertRegex(ended.err, "kept the 0 of 300 samples before, as only whole blocks of samples can be read\n$")

    def test_sums_without_all_rows(self):
        """Some of the samples are a part of a run, but some rows of sums are not: refused."""
        whole = pbin.write(profiles.make(3, samples=300, threads=3), 50)
        rows = self.succeeds(["pbin-aggregate", "-q", "-k", "function", "--format=pbin"], stdin=whole).out
        at = rows.index(b"ROWS") - 4
        for data in (rows[:at], rows[:at + 100]):
            ended = tool.run(["pbin-aggregate", "-k", "function", "--salvage"], stdin=data)
            self.assertEqual((ended.status, ended.out), (1, b""))
            self.assertRegex(ended.err, r"^pbin-aggregate: <stdin>: 0x[0-9a-f]+: .*: kept the 0 rows before\n")
            self.assertIn("the balance does not add up", ended.err)

    def test_lost_kind_of_values(self):
        """A header of zeros does not contain the kind of the values: they are custom, unless the
        user specifies the kind."""
        for dialect in ("sampler-walltime", "pperf"):
            run = steady_run(500, 1000)
            data = raw.killed(run, dialect)
            argv = ["prof2pbin", "--salvage", "--dialect", dialect]
            ended = self.succeeds(argv, stdin=data)
            self.assertIn("header is lost", ended.err)
            self.assertIn("--pmu-kind", ended.err)
            self.assertNotIn("energy_J", self.facts(ended.out))
            ended = self.succeeds([*argv, "--pmu-kind=power"], stdin=data)
            self.assertNotIn("header is lost", ended.err)
            energy = self.facts(ended.out)["energy_J"]
            self.assertAlmostEqual(energy, 1.0, 2, dialect)
            amps = self.succeeds([*argv, "--pmu-kind=current", "-v", "3"], stdin=data)
            self.assertAlmostEqual(self.facts(amps.out)["energy_J"], 3 * energy, 9, dialect)
            self.fails([*argv, "--pmu-kind=current"], stdin=data)

    def test_lost_time_of_the_run(self):
        """If samples have no times, only the header contains the time: there is no energy, and this
        is reported."""
        for dialect, options in (("sampler", ["--pmu-kind=power"]), ("intrvelf", ["-v", "1"])):
            argv = ["prof2pbin", "--salvage", "--dialect", dialect, *options]
            ended = self.succeeds(argv, stdin=raw.killed(steady_run(100, 1000), dialect))
            self.assertIn("energies cannot be computed", ended.err)

    def test_kind_of_values_that_the_file_states(self):
        data = raw.write(steady_run(10, 1000), "sampler")
        self.fails(["prof2pbin", "--pmu-kind=current", "-v", "3"], stdin=data)
        self.succeeds(["prof2pbin", "--pmu-kind=power"], stdin=data)
        self.assertEqual(tool.run(["prof2pbin", "--pmu-kind=joules"], stdin=data).status, 2)

    def test_bad_mappings(self):
        """A list of mappings with a bad line is an error, and is freed only once."""
        profile = self.file("run.bin", raw.write(steady_run(10, 1000), "sampler"))
        for content in (b"10000 1000 gone\nthis is not one\n", b"nonsense"):
            maps = self.file("maps", content)
            self.fails(["prof2pbin", "-m", maps, profile], maps)


if __name__ == "__main__":
    unittest.main()
