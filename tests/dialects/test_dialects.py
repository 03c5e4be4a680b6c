"""The same run in every raw dialect, layout and byte order gives the table that the oracle
computes.

SPDX-License-Identifier: MIT
"""
import bz2
import gzip
import json
import lzma
import os
import random
import struct
import subprocess
import tempfile
from fractions import Fraction

import oracle
import pbin
import program
import rawprofile as raw
import tool

CPUS, VOLTS = 4, 12
PMU_TYPE_OPTION = "--pmu-type"  # f32 f64 i8 u8 i16 u16 i32 u32 i64 u64
TOLERANCE = Fraction(1, 10**12)
PMU_TYPES = {"d": "f64", "f": "f32", "b": "i8", "B": "u8", "h": "i16", "H": "u16", "i": "i32", "I": "u32",
             "q": "i64", "Q": "u64"}


def make_pcs(programs, rng):
    pcs = [address + rng.randrange(size) for p in programs for address, size in p.functions.values()
           for _ in range(3)]
    pcs += [address for p in programs for address, _ in p.functions.values()]
    pcs += [p.padding for p in programs]
    return pcs + [0x10, 0x12345678, programs[1].map.address + programs[1].map.size]


def make_run(programs, kind, count=500, seed=1, integers=False):
    """Threads start, end, wait, and reuse the numbers of threads that ended."""
    rng = random.Random(seed)
    pcs, counters, samples = make_pcs(programs, rng), {}, []
    us = 1_600_000_000_000_000
    for _ in range(count):
        us += rng.randrange(900, 1400)
        nobody_runs, threads = rng.random() < 0.05, []
        for tid in sorted(rng.sample(range(4001, 4009), rng.randrange(1, 6))):
            if rng.random() < 0.03:
                counters.pop(tid, None)  # the thread ended; its number is reused
            step = 0 if nobody_runs or rng.random() < 0.3 else rng.randrange(1, 1_100_000)
            counters[tid] = counters.get(tid, 0) + step
            threads.append(raw.Thread(tid, rng.choice(pcs), counters[tid]))
        value = float(rng.randrange(1, 100)) if integers else rng.uniform(0.1, 3.0)
        samples.append(raw.Sample(value, threads, us))
    wall = samples[-1].time_us - samples[0].time_us + 777
    return raw.Run(samples, [p.map for p in programs], wall, 4242, kind)


def setUpModule():
    global FOLDER, HOLDER, PROGRAMS, KEY
    HOLDER = tempfile.TemporaryDirectory()
    FOLDER = HOLDER.name
    fixed = program.Program(program.build(FOLDER, "alpha", flags=["-no-pie", "-fno-pie"]))
    moved = program.Program(program.build(FOLDER, "beta", flags=["-pie", "-fPIE"]), base=0x555555554000)
    PROGRAMS = [fixed, moved]
    KEY = program.key_of(PROGRAMS)


def tearDownModule():
    HOLDER.cleanup()


def expected(run, dialect, times=None):
    wall = oracle.microseconds(run.wall_us)
    watts = VOLTS if run.kind == raw.CURRENT else 1
    if dialect == "intrvelf-aggregated":
        return oracle.attribute_aggregated(raw.aggregated_table(run), KEY, wall=wall,
                                           samples=len(run.samples), volts=VOLTS)
    if dialect in ("sampler-walltime", "pperf"):
        times = oracle.times_of(run.samples)
    return oracle.attribute(run.samples, KEY, wall=wall, watts=watts, times=times,
                            has_cpu=dialect != "intrvelf", cpus=CPUS)


def label_key(row):
    """Rows of labels that belong to no binary have one name, in whichever column it is."""
    for label in ("_foreign", "_idle", "_kernel"):
        if label in (row["binary"], row["function"]):
            return label, label
    return row["binary"], row["function"]


class Dialects(tool.Case):
    def table(self, file, *options, stdin=None, run=None):
        """The JSON of prof2pbin | pbin-aggregate."""
        argv = ["prof2pbin", "-c", CPUS, "-s", FOLDER, *options]
        if run is not None and run.kind == raw.CURRENT:
            argv += ["-v", VOLTS]
        pbin = self.succeeds(argv + ([file] if file else []), stdin=stdin).out
        return json.loads(self.succeeds(["pbin-aggregate", "--format=json"], stdin=pbin).out)

    def near(self, got, want, what):
        if want is None:
            self.assertIsNone(got, what)
            return
        self.assertIsNotNone(got, what)
        difference = abs(Fraction(got) - want)
        self.assertLessEqual(difference, TOLERANCE * max(abs(want), Fraction(1, 10**9)),
                             f"{what}: {got}, not {float(want)!r}")

    def check_row(self, got, want, all_rows, name, power=...):
        """POWER: the expected power if it is not energy / CPU time."""
        self.near(got["time"], want.time, f"time of {name}")
        self.near(got["energy"], want.energy, f"energy of {name}")
        self.near(got["power"], want.power if power is ... else power, f"power of {name}")
        if all_rows.time:
            self.near(got["share"], 100 * want.time / all_rows.time, f"share of {name}")
        if all_rows.energy:
            self.near(got["energy_share"], 100 * want.energy / all_rows.energy, f"energy_share of {name}")

    def check_table(self, table, rows, run):
        got = {label_key(r): r for r in table["rows"]}
        self.assertEqual(len(got), len(table["rows"]), "two rows of one key")
        self.assertEqual(sorted(got), sorted(rows))
        whole = oracle.total(rows)
        for key, want in rows.items():
            self.check_row(got[key], want, whole, key)
            if key != oracle.IDLE:
                self.assertEqual(got[key]["samples"], want.samples, f"samples of {key}")
                self.assertEqual(got[key]["entries"], want.entries, f"entries of {key}")
        of_run = whole.energy / Fraction(run.wall_us, 10**6) if run.wall_us else None
        self.check_row(table["total"], whole, whole, "total", of_run)
        profile = table["profile"]
        self.assertEqual(profile["samples"], len(run.samples))
        self.near(profile["wall_s"], Fraction(run.wall_us, 10**6), "wall_s")
        self.near(profile["latency_s"], Fraction(run.latency_us, 10**6), "latency_s")
        self.near(profile["time_s"], whole.time, "time_s")
        self.near(profile["energy_J"], whole.energy, "energy_J")
        self.near(profile["frequency_hz"], Fraction(len(run.samples) * 10**6, run.wall_us), "frequency_hz")

    def each(self, run, dialect, layouts=(False, True), pmu="d", options=()):
        want = expected(run, dialect)
        for late in layouts:
            for order in "<>":
                with self.subTest(dialect=dialect, late=late, order=order, pmu=pmu):
                    data = raw.write(run, dialect, late=late, order=order, pmu=pmu)
                    file = self.file("profile.bin", data)
                    table = self.table(file, *options, run=run)
                    self.check_table(table, want, run)
                    self.assertEqual(table["profile"]["dialect"], dialect)

    def test_intrvelf_full(self):
        self.each(make_run(PROGRAMS, raw.CURRENT), "intrvelf")

    def test_intrvelf_aggregated(self):
        self.each(make_run(PROGRAMS, raw.CURRENT), "intrvelf-aggregated", layouts=(False,))

    def test_sampler_power(self):
        self.each(make_run(PROGRAMS, raw.POWER), "sampler")

    def test_sampler_current(self):
        self.each(make_run(PROGRAMS, raw.CURRENT, seed=2), "sampler")

    def test_sampler_walltime(self):
        self.each(make_run(PROGRAMS, raw.POWER), "sampler-walltime")
        self.each(make_run(PROGRAMS, raw.CURRENT, seed=3), "sampler-walltime")

    def test_pperf(self):
        self.each(make_run(PROGRAMS, raw.POWER), "pperf")
        self.each(make_run(PROGRAMS, raw.CURRENT, seed=4), "pperf")

    def test_pperf_value_types(self):
        run = make_run(PROGRAMS, raw.POWER, count=60, integers=True)
        for pmu, name in PMU_TYPES.items():
            self.each(run, "pperf", layouts=(False,), pmu=pmu, options=(PMU_TYPE_OPTION, name))

    def test_no_power(self):
        """Custom values, voltages, opaque values: CPU time, but no energy."""
        run = make_run(PROGRAMS, raw.CUSTOM, count=60)
        volts = make_run(PROGRAMS, raw.VOLTAGE, count=60)
        for name, r, dialect, pmu in (("custom", run, "sampler", "d"), ("voltage", volts, "sampler", "d"),
                                      ("opaque", run, "pperf", 24), ("opaque 0", run, "pperf", 0)):
            with self.subTest(name):
                file = self.file("profile.bin", raw.write(r, dialect, late=True, pmu=pmu))
                table = self.table(file, run=r)
                rows = {k: v for k, v in expected(r, dialect).items() if k != oracle.IDLE}
                got = {label_key(x): x for x in table["rows"]}
                got.pop(oracle.IDLE, None)
                self.assertEqual(sorted(got), sorted(rows))
                for key, want in rows.items():
                    self.near(got[key]["time"], want.time, f"time of {key}")
                    self.assertEqual(got[key]["samples"], want.samples)
                    self.assertIn(got[key].get("energy"), (None, 0))

    def test_opaque_values_are_kept(self):
        """Opaque values are unchanged; more samples than fit in a block."""
        for size, count, order in ((24, 9000, "<"), (3, 60, ">"), (1, 20, "<"), (8, 60, "<"), (1024, 4200, "<"), (1025, 20, "<")):
            run, rng = make_run(PROGRAMS, raw.CUSTOM, count=count), random.Random(size)
            for sample in run.samples:
                sample.raw_value = rng.randbytes(size)
            file = self.file("profile.bin", raw.write(run, "pperf", True, order, size))
            ended = self.succeeds(["prof2pbin", "-n", "x", "--pmu-type=opaque", file])
            rows = self.succeeds(["pbin-dump", "-q", "--samples", "--columns=sample,value", self.file("x.pbin", ended.out)])
            got = dict(line.split(",") for line in rows.out.decode().splitlines()[1:])
            want = {str(i): s.raw_value.hex() if size <= 1024 else "" for i, s in enumerate(run.samples)}
            self.assertEqual(got, want)
            self.assertEqual("PMU values of 1025 bytes are left out" in ended.err, size > 1024)

    def test_damaged_equal_cpu_times(self):
        profile = pbin.Profile({"name": "x", "pmu": pbin.POWER, "unit": "W", "cpu_time": 1, "times": 1, "samples": 400}, [pbin.Thread(1, 1, "x")],
                               [pbin.Location(0x1000, "x", [pbin.Frame("f", "f", "", 0)])],
                               [pbin.Sample(10**6, 1 + i % 7, [(0, 0, 10**6)], [10**6 + i % 3 - 1]) for i in range(400)])
        data = pbin.write(profile)
        at = data.index(b"eqal") - 4
        length = struct.unpack_from("<I", data, at)[0]
        payload = data[at + 8:at + 8 + length]
        for bad, text in ((payload[:-1], "cut short"), (payload[:3], "cut short"), (struct.pack("<I", 1 << 31) + payload[4:], "more CPU times"),
                          (struct.pack("<I", 399) + payload[4:], "to other samples")):
            file = self.file("bad.pbin", data[:at] + pbin.block("eqal", bad) + data[at + length + 16:])
            ended = tool.run(["pbin-aggregate", "-q", "--energy-model=fit", file])
            self.assertEqual((ended.status, text in ended.err), (1, True), ended.err)
            self.assertEqual(tool.run(["pbin-aggregate", "-q", file]).status, 0)

    def test_damaged_opaque_values(self):
        run = make_run(PROGRAMS, raw.CUSTOM, count=20)
        data = self.succeeds(["prof2pbin", "-q", self.file("p.bin", raw.write(run, "pperf", late=True, pmu=3))]).out
        at = data.index(b"opaq") - 4
        length = struct.unpack_from("<I", data, at)[0]
        payload = data[at + 8:at + 8 + length]
        self.assertEqual(struct.unpack_from("<II", payload), (3, 20))
        for bad, text in ((struct.pack("<II", 0, 20) + payload[8:], "more or larger"), (payload[:-1], "too short"),
                          (struct.pack("<II", 1025, 20) + payload[8:], "more or larger"), (payload[:6], "too short"),
                          (struct.pack("<II", 3, 1 << 31) + payload[8:], "more or larger"),
                          (struct.pack("<II", 3, 19) + payload[8:], "to other samples"),
                          (struct.pack("<II", 4, 20) + payload[8:], "too short")):
            file = self.file("bad.pbin", data[:at] + pbin.block("opaq", bad) + data[at + length + 16:])
            ended = tool.run(["pbin-dump", "-q", "--samples", file])
            self.assertEqual((ended.status, text in ended.err), (1, True), ended.err)
            self.assertEqual(tool.run(["pbin-aggregate", "-q", file]).status, 0)

    def test_stdin_and_compression(self):
        run = make_run(PROGRAMS, raw.CURRENT, count=200)
        for dialect in raw.DIALECTS:
            late = dialect not in ("intrvelf-aggregated", "intrvelf")
            data = raw.write(run, dialect, late=late)
            want = expected(run, dialect)
            half = len(data) // 2
            packed = {"bzip2": bz2.compress(data, 1), "gzip": gzip.compress(data), "xz": lzma.compress(data),
                      "zstd": subprocess.run(["zstd", "-c"], input=data, capture_output=True, check=True).stdout,
                      "two streams": bz2.compress(data[:half]) + bz2.compress(data[half:])}
            for name, stdin in dict(packed, plain=data).items():
                with self.subTest(dialect=dialect, stdin=name):
                    self.check_table(self.table(None, stdin=stdin, run=run), want, run)
                    self.check_table(self.table("-", stdin=stdin, run=run), want, run)
            for name, stored in packed.items():
                with self.subTest(dialect=dialect, file=name):
                    file = self.file("named-without-suffix", stored)
                    self.check_table(self.table(file, run=run), want, run)

    def test_forced(self):
        run = make_run(PROGRAMS, raw.CURRENT, count=50)
        for dialect in raw.DIALECTS:
            for order, option in (("<", "-l"), (">", "-b")):
                late = dialect in ("sampler", "sampler-walltime")
                file = self.file("profile.bin", raw.write(run, dialect, late=late, order=order))
                want = expected(run, dialect)
                for options in ((option,), ("--dialect", dialect), (option, "--dialect=" + dialect)):
                    with self.subTest(dialect=dialect, order=order, options=options):
                        self.check_table(self.table(file, *options, run=run), want, run)
                wrong = "-b" if option == "-l" else "-l"
                with self.subTest(dialect=dialect, order=order, wrong=wrong):
                    self.fails(["prof2pbin", "-v", VOLTS, wrong, file], file)

    def test_forced_to_the_wrong_dialect(self):
        run = make_run(PROGRAMS, raw.CURRENT, count=50)
        file = self.file("profile.bin", raw.write(run, "sampler", late=True))
        for dialect in ("intrvelf", "intrvelf-aggregated", "sampler-walltime", "pperf"):
            with self.subTest(dialect):
                self.fails(["prof2pbin", "-v", VOLTS, "--dialect", dialect, file], file)

    def test_extension_gives_exact_times(self):
        run = make_run(PROGRAMS, raw.POWER, count=300, seed=6)
        rng, t, times = random.Random(5), 0, []
        for _ in run.samples:
            times.append(t)
            t += rng.randrange(500_000, 3_000_000)
        want = expected(run, "sampler", times=[Fraction(n, 10**9) for n in times])
        for late in (False, True):
            with self.subTest(late=late):
                data = raw.write(run, "sampler", late=late) + raw.extension(
                    run, times, {"command": "./alpha -x", "sampler": "test 1"}, {4001: "alpha"})
                table = self.table(self.file("profile.bin", data), run=run)
                self.check_table(table, want, run)
                self.assertEqual(table["profile"]["command"], "./alpha -x")
                self.check_table(self.table(None, stdin=data, run=run), want, run)

    def test_extension_of_a_wrong_length_of_times(self):
        run = make_run(PROGRAMS, raw.POWER, count=20)
        data = raw.write(run, "sampler") + raw.extension(run, list(range(19)))
        file = self.file("profile.bin", data)
        self.fails(["prof2pbin", file], file)

    def test_target_is_the_first_map(self):
        run = make_run(PROGRAMS, raw.POWER, count=20)
        table = self.table(self.file("profile.bin", raw.write(run, "sampler")), "-n", "my name", run=run)
        self.assertEqual(os.path.basename(table["profile"]["target"]), "alpha")
        self.assertEqual(table["profile"]["name"], "my name")

    def test_integers_that_look_like_doubles(self):
        """8 bytes may be either: 1377 W, read as a double, would be 7e-321 W."""
        run = make_run(PROGRAMS, raw.POWER, count=50, integers=True)
        for sample in run.samples:
            sample.value += 1300
        run.samples[0].value = run.samples[1].value = 0
        values = [int(s.value) for s in run.samples[2:]]
        for letter, sign in (("q", 1), ("q", -1), ("Q", 1)):
            for sample, value in zip(run.samples[2:], values):
                sample.value = sign * value
            for order in "<>":
                data = raw.write(run, "pperf", late=True, order=order, pmu=letter)
                text = self.succeeds(["prof2pbin"], stdin=data).err
                self.assertIn(f"{min(sign * v for v in values)} to {max(sign * v for v in values)}: --pmu-type=i64", text)
                self.assertNotIn("--pmu-type", self.succeeds(["prof2pbin", "--pmu-type=i64"], stdin=data).err)
                self.assertNotIn("--pmu-type", self.succeeds(["prof2pbin", "--pmu-type=f64"], stdin=data).err)
        for value in (0.0, 1e-9, -1e-9, 1300.0, -2.0):
            for sample in run.samples:
                sample.value = value
            self.assertNotIn("--pmu-type", self.succeeds(["prof2pbin"], stdin=raw.write(run, "pperf")).err)

    def test_label_ends_at_its_first_nul(self):
        """The newest pperf leaves bytes of the heap after it, if there are 12 or more threads."""
        run = make_run(PROGRAMS, raw.CURRENT, count=200)
        rng = random.Random(8)
        plain = [m.after for m in run.maps]
        self.addCleanup(lambda: [setattr(m, "after", b) for m, b in zip(run.maps, plain)])
        for m in run.maps:
            m.after = b"\0" + rng.randbytes(255 - len(m.label.encode()))
        for dialect in raw.DIALECTS:
            self.each(run, dialect)

    def test_order_of_rows(self):
        run = make_run(PROGRAMS, raw.POWER, count=100)
        table = self.table(self.file("profile.bin", raw.write(run, "sampler")), run=run)
        times = [r["time"] for r in table["rows"]]
        self.assertEqual(times, sorted(times, reverse=True))

    def test_first_samples_of_nobody(self):
        for empty in (1, 400, 500):
            run = make_run(PROGRAMS, raw.POWER)
            for sample in run.samples[:empty]:
                sample.threads = []
            self.each(run, "sampler", layouts=(False,))

    def test_no_sample(self):
        """Only its extension shows that an empty profile does not have currents."""
        run = make_run(PROGRAMS, raw.CUSTOM, count=1)
        run.samples = []
        profile = os.path.join(self.folder, "profile.pbin")
        self.succeeds(["prof2pbin", "-o", profile], stdin=raw.write(run, "sampler") + raw.extension(run, []))
        dumped = json.loads(self.succeeds(["pbin-dump", "--format=json", profile]).out)["profile"]
        self.assertEqual((dumped["dialect"], dumped["samples"]), ("sampler", 0))

    def test_no_map(self):
        """Without any map, everything is foreign, and nothing is lost."""
        run = make_run(PROGRAMS, raw.POWER, count=30)
        run.maps = []
        table = self.table(self.file("profile.bin", raw.write(run, "sampler")), run=run)
        self.assertEqual({label_key(r) for r in table["rows"]} - {oracle.IDLE}, {("_foreign", "_foreign")})
        self.near(table["total"]["time"], oracle.total(expected(run, "sampler")).time, "time")


class Sparse(tool.Case):
    """An aggregated profile has an entry for each byte of code: files of gigabytes, mostly
    holes."""

    def sparse(self, sizes, lines):
        """A file with maps of SIZES; LINES: {(map, byte): samples}, the current is half of the
        samples."""
        maps = [raw.Map(0x400000 + i * (1 << 40), size, f"/nowhere/{i}") for i, size in enumerate(sizes)]
        path = os.path.join(self.folder, "profile.bin")
        with open(path, "wb") as file:
            file.write(raw.header(raw.Run([], maps, 10**6), 1, "<", samples=sum(lines.values())))
            file.write(b"".join(raw.vmmap(m, "<") for m in maps) + bytes(16))
            for i, m in enumerate(maps):
                file.write(struct.pack("<Q", m.address))
                begin = file.tell()
                for (where, byte), count in lines.items():
                    if where == i:
                        file.seek(begin + 16 * byte)
                        file.write(struct.pack("<Qd", count, count / 2))
                file.seek(begin + 16 * m.size)
            file.truncate()
        return path, {(str(i), byte): count for (i, byte), count in lines.items()}

    def samples(self, pbin):
        table = json.loads(self.succeeds(["pbin-aggregate", "-q", "-k", "binary,pc", "--format=json"], stdin=pbin).out)
        return {(row["binary"], int(row["pc"] or "0", 16)): row["samples"] for row in table["rows"]}

    def test_holes(self):
        rng = random.Random(9)
        sizes = [70000, 1, 65536, 200000, 3, 300000]
        for count in (1, 20, 2000):
            lines = {(i, rng.randrange(sizes[i])): rng.randrange(1, 9) for i in rng.choices(range(6), k=count)}
            lines.update({(0, 0): 1, (0, 69999): 2, (2, 65535): 3, (3, 0): 4} if count > 1 else {})
            path, want = self.sparse(sizes, lines)
            with open(path, "rb") as file:
                data = file.read()
            with self.subTest(count):
                pbin = self.succeeds(["prof2pbin", "-q", "-v", VOLTS, "-n", "x", path]).out
                self.assertEqual(self.samples(pbin), want)
                dense = self.file("dense.bin", data)
                for argv, stdin in (([path], None), ([dense], None), ([], data), ([], bz2.compress(data))):
                    again = self.succeeds(["prof2pbin", "-q", "-v", VOLTS, "-n", "x", *argv], stdin=stdin).out
                    self.assertEqual(again, pbin)

    def test_huge(self):
        size = 1 << 36  # a file of a terabyte
        try:
            path, want = self.sparse([size, 5], {(0, 0): 1, (0, size // 3): 2, (0, size - 1): 3, (1, 4): 4})
        except OSError as why:
            self.skipTest(f"no file of a terabyte: {why}")
        with open(path, "rb") as file:
            if os.lseek(file.fileno(), 1 << 20, os.SEEK_HOLE) != 1 << 20:
                self.skipTest("no holes in this file system")
        self.assertEqual(self.samples(self.succeeds(["prof2pbin", "-q", "-v", VOLTS, path]).out), want)


class Volts(tool.Case):
    def test_required_for_current(self):
        run = make_run(PROGRAMS, raw.CURRENT, count=20)
        for dialect in raw.DIALECTS:
            with self.subTest(dialect):
                file = self.file("profile.bin", raw.write(run, dialect))
                ended = tool.run(["prof2pbin", "-s", FOLDER, file])
                self.assertIn(ended.status, (1, 2))
                self.assertEqual(ended.out, b"")
                self.assertIn("volt", ended.err.lower())

    def test_refused_for_power(self):
        run = make_run(PROGRAMS, raw.POWER, count=20)
        for dialect in ("sampler", "sampler-walltime", "pperf"):
            with self.subTest(dialect):
                file = self.file("profile.bin", raw.write(run, dialect))
                ended = tool.run(["prof2pbin", "-v", "5", "-s", FOLDER, file])
                self.assertIn(ended.status, (1, 2))
                self.assertEqual(ended.out, b"")
                self.assertIn("power", ended.err)


def sampler_or_walltime():
    """100 bytes after the header that are 5 records of either dialect. With wall times, which rise,
    no sample has a thread; without them, the third and the fourth have one each."""
    body = bytearray(100)
    for at, value in {28: 0x3ff00000, 32: 1, 40: 0x401000, 48: 1000000, 60: 0x3ff80000, 64: 1, 68: 4001,
                      72: 0x40100000, 80: 0x80000000, 84: 1, 92: 0x40000000}.items():
        struct.pack_into("<I", body, at, value)
    return struct.pack("<IQQQI", raw.POWER, 1 << 33, 0, 5, 0) + bytes(body)


class Ambiguous(tool.Case):
    def refused(self, data, *names):
        file = self.file("profile.bin", data)
        for options in ((), ("-v", "5")):
            ended = self.fails(["prof2pbin", *options, file], file)
            for name in names:
                self.assertIn(name, ended.err)
            self.assertIn("--dialect", ended.err)
        return file

    def test_samples_without_threads(self):
        """Samples without threads have 12 bytes in both dialects."""
        run = raw.Run([raw.Sample(1.5)] * 3, [PROGRAMS[0].map], 3000, kind=raw.CUSTOM)
        self.refused(raw.write(run, "sampler"), "intrvelf", "sampler")
        run.kind = raw.CURRENT
        self.refused(raw.write(run, "sampler", late=True), "intrvelf", "sampler")

    def test_sampler_or_walltime(self):
        file = self.refused(sampler_or_walltime(), "sampler", "sampler-walltime")
        for name, threads in (("sampler", 2), ("sampler-walltime", 0)):
            pbin = self.succeeds(["prof2pbin", "--dialect", name, file]).out
            table = json.loads(self.succeeds(["pbin-aggregate", "--format=json"], stdin=pbin).out)
            self.assertEqual(table["profile"]["samples"], 5)
            self.assertEqual(table["total"]["samples"], threads)

    def test_not_recognised(self):
        for name, data in (("text", b"hello, world\n" * 100), ("noise", random.Random(1).randbytes(5000)),
                           ("png", b"\x89PNG\r\n\x1a\n" + bytes(400))):
            with self.subTest(name):
                file = self.file(name, data)
                ended = self.fails(["prof2pbin", file], file)
                self.assertRegex(ended.err, "not recogni[sz]ed|unrecogni[sz]ed|no (known )?(raw )?dialect|not a ")

    def test_unknown_format_name(self):
        file = self.file("profile.bin", b"x" * 100)
        ended = tool.run(["prof2pbin", "--dialect", "nonsense", file])
        self.assertEqual(ended.status, 2)
        self.assertIn("nonsense", ended.err)


if __name__ == "__main__":
    import unittest
    unittest.main()
