"""sthem2pbin: energy of generated exports in exact rationals, and the handling of bad exports.

SPDX-License-Identifier: MIT
"""
import bz2
import json
import os
import random
import subprocess
from fractions import Fraction

import export
import program
import tool
from export import Layout, Row

TOLERANCE = Fraction(1, 10**12)
NOTE = "one PC per core, no threads and no CPU time"


class Sthem(tool.Case):
    def convert(self, data, *options, warnings=0):
        ended = self.succeeds(["sthem2pbin", *options], stdin=data)
        self.assertEqual(ended.err.count("\n"), 1 + warnings, ended.err)
        self.assertEqual(ended.err.count(NOTE), 1, ended.err)
        return ended.out

    def table(self, pbin, *options):
        return json.loads(self.succeeds(["pbin-aggregate", "--format=json", *options], stdin=pbin).out)

    def near(self, got, want, what):
        self.assertLessEqual(abs(Fraction(got) - want), TOLERANCE * abs(want), f"{what}: {got}, not {float(want)!r}")

    def check(self, data, rows, sensors, *options, key=lambda place: place, **more):
        """Totals and rows of the tool equal those of the generator if each sample keeps its energy.
        Times of rows are whole nanoseconds."""
        table = self.table(self.convert(data, *options, **more), "--energy-model=sample")
        want = {}
        for place, (seconds, joules) in export.expected(rows, sensors).items():
            name = ("_idle", "_idle") if place is None else key(place)
            old = want.get(name, (0, 0))
            want[name] = (old[0] + seconds, old[1] + joules)
        got = {(r["binary"], r["function"]): r for r in table["rows"]}
        if ("_idle", "_idle") in want:
            self.assertTrue([k for k in got if "_idle" in k], got.keys())
            got = {("_idle", "_idle") if "_idle" in k else k: r for k, r in got.items()}
        self.assertEqual(sorted(got), sorted(want))
        for name, (seconds, joules) in want.items():
            self.near(got[name]["energy"], joules, f"energy of {name}")
            self.assertLessEqual(abs(Fraction(got[name]["time"]) - seconds), Fraction(len(rows), 2 * 10**9))
        self.near(table["profile"]["energy_J"], sum(j for _, j in want.values()), "energy")
        return table

    def meta(self, pbin):
        return self.succeeds(["pbin-dump"], stdin=pbin).out.decode()


class Variants(Sthem):
    def test_symbolised(self):
        rows = export.make_rows("sthem", 3000, 1)
        table = self.check(export.text(Layout(), rows), rows, [2])
        self.assertEqual(table["profile"]["dialect"], "sthem")

    def test_program_counters_of_bare_metal(self):
        path = program.build(self.folder, "firmware", flags=["-static", "-no-pie", "-fno-pie"])
        functions = program.Program(path).functions
        places = {a + i: name for name, (a, size) in functions.items() for i in (0, size - 1)}
        rows = export.make_rows("pc", 2000, 2, places=sorted(places) + [16])
        table = self.check(export.text(Layout("pc"), rows), rows, [2], "-e", path,
                           key=lambda pc: ("firmware", places[pc]) if pc in places else ("_foreign", "_foreign"))
        self.assertEqual(table["profile"]["dialect"], "sthem-pc")
        self.assertEqual(table["profile"]["target"], "firmware")

    def test_lynsyn_with_vmmap(self):
        path = program.build(self.folder, "app", flags=["-pie", "-fPIE"])
        p = program.Program(path, base=0x555555554000)
        maps = self.file("maps", b"%x %x app\n" % (p.map.address, p.map.size))
        places = {a: name for name, (a, _) in p.functions.items()}
        rows = export.make_rows("lynsyn", 2000, 3, places=sorted(places), digits=".6f")
        layout = Layout("lynsyn", sensors=(0, 1, 2, 3, 4, 5, 6))
        table = self.check(export.text(layout, rows), rows, [2], "-m", maps, "-s", self.folder,
                           key=lambda pc: ("app", places[pc]))
        self.assertEqual(table["profile"]["dialect"], "lynsyn")

    def test_supply_voltage_replaces_measured_ones(self):
        rows = export.make_rows("lynsyn", 300, 4)
        for r in rows:
            r.values[2] = (r.values[2][0], "5")
        data = export.text(Layout("lynsyn"), [Row(r.time, {2: (r.values[2][0], "0")}, r.cores) for r in rows])
        self.check(data, rows, [2], "-v", 5, warnings=1, key=lambda pc: (
            ("_kernel", "_kernel") if pc >= 1 << 63 else ("_foreign", "_foreign")))
        table = self.table(self.convert(data, warnings=2))
        self.assertIsNone(table["rows"][0]["energy"])

    def test_columns_in_any_order_and_number(self):
        for seed in range(1, 20):
            rng = random.Random(seed)
            kind = rng.choice(["sthem", "pc", "lynsyn"])
            layout = Layout(kind, sensors=tuple(rng.sample(range(9), 3)) + (12,), shuffle=seed,
                            cores=(0, 1, 3) + tuple(range(7, 7 + rng.randrange(3))))
            rows = export.make_rows(kind, 60, seed, sensor=12)
            options = {} if kind == "sthem" else dict(warnings=1, key=lambda pc: (
                ("_kernel", "_kernel") if pc >= 1 << 63 else ("_foreign", "_foreign")))
            self.check(export.text(layout, rows), rows, [12], **options)

    def test_ways_of_writing(self):
        rows = export.make_rows("sthem", 300, 5)
        want = self.convert(export.text(Layout(), rows), "-n", "x")
        for more in (dict(newline="\r\n"), dict(bom=True), dict(comma=True), dict(quotes=True),
                     dict(trailing=";"), dict(separator="\t"), dict(separator=",", quotes=True),
                     dict(newline="\r\n", bom=True, comma=True, quotes=True, trailing=";")):
            with self.subTest(**more):
                self.assertEqual(self.convert(export.text(Layout(**more), rows), "-n", "x"), want)
        data = export.text(Layout(), rows)
        self.assertEqual(self.convert(data.replace(b"\n", b"\n\n"), "-n", "x"), want)
        self.assertEqual(self.convert(bz2.compress(data), "-n", "x"), want)
        file = self.file("x.csv", data)
        out = os.path.join(self.folder, "x.pbin")
        self.assertEqual(self.succeeds(["sthem2pbin", "-q", "-n", "x", "-o", out, file]).err, "")
        with open(out, "rb") as f:
            self.assertEqual(f.read(), want)
        packed = self.convert(data, "--bzip2", "-n", "x")
        self.assertEqual(bz2.decompress(packed), want)

    def test_hexadecimal_and_comments(self):
        rows = export.make_rows("pc", 300, 5)
        data = export.text(Layout("pc"), rows)
        want = self.convert(data, "-n", "x", warnings=1)
        lines = data.decode().splitlines()
        at = [i for i, name in enumerate(lines[0].split(";")) if name.startswith("PC")]
        for form in ("0x%x", "0X%X"):
            changed = ["# recorded by hand", lines[0]]
            for line in lines[1:]:
                fields = line.split(";")
                for i in at:
                    fields[i] = form % int(fields[i]) if fields[i] else ""
                changed += [";".join(fields), "#;;"]
            self.assertEqual(self.convert("\n".join(changed).encode() + b"\n", "-n", "x", warnings=1), want)
        for bad in ("0x", "0x1g", "0x12345678123456789", "1x2"):
            fields = lines[1].split(";")
            fields[at[0]] = bad
            ended = tool.run(["sthem2pbin"], stdin="\n".join([lines[0], ";".join(fields)]).encode() + b"\n")
            self.assertEqual((ended.status, "expected a program counter" in ended.err), (1, True), ended.err)

    def test_numbers_are_rounded_correctly(self):
        rng, rows = random.Random(6), []
        for i in range(1000):
            digits = rng.randrange(1, 25)
            value = "%d.%0*d" % (rng.randrange(10), digits, rng.randrange(10**digits))
            value += rng.choice(["", "", "e0", "e-3", "E+2"])
            rows.append(Row(str(i), {1: value}, {0: ("m", "f")}))
        pbin = self.convert(export.text(Layout(), rows))
        samples = self.succeeds(["pbin-dump", "--samples", "--format=json"], stdin=pbin).out
        values = [r[[k for k in r if k.startswith("value")][0]] for r in json.loads(samples)["rows"]]
        self.assertEqual(values, [float(r.values[1]) for r in rows])

    def test_names(self):
        names = ['a,b', 'operator"" _km', "x" * 3000, "\u00e9t\u00e9", "_ZN3foo3barEv", "a  b ", "%s%n"]
        rows = [Row(str(i), {1: "1"}, {0: ("mod", n)}) for i, n in enumerate(names * 2)]
        self.check(export.text(Layout(), rows), rows, [1],
                   key=lambda p: ("mod", "foo::bar()" if p[1].startswith("_Z") else p[1]))

    def test_cores_that_were_not_sampled(self):
        """As written by the sthem tool: PC 0 has a name."""
        rows = export.make_rows("sthem", 500, 6)
        for cores in ((0,), (0, 3), ()):
            kept = [Row(r.time, r.values, {c: p for c, p in r.cores.items() if c in cores}) for r in rows]
            named = [Row(r.time, r.values, {c: r.cores.get(c, ("__External__", f"CPU{c}:Unknown")) for c in range(4)})
                     for r in kept]
            self.check(export.text(Layout(), named), kept, [2])

    def test_functions_of_libraries(self):
        """Functions of a library are the same on all cores, under its binary; other colons are left
        alone."""
        names = {"CPU1:app.elf:memcpy": ("app.elf", "memcpy"), "CPU2:app.elf:memcpy": ("app.elf", "memcpy"),
                 "CPU0:libstdc++.so:std::sort(int*)": ("libstdc++.so", "std::sort(int*)"),
                 "CPU12:memcpy": ("__External__", "memcpy"), "CPU1:std::sort": ("__External__", "std::sort"),
                 "CPU:x": ("__External__", "x"), "CPUs": ("__External__", "CPUs"), "Unknown": ("__External__", "Unknown")}
        rows = [Row(str(i), {1: "1"}, {i % 4: ("__External__", n)}) for i, n in enumerate(list(names) * 2)]
        self.check(export.text(Layout(), rows), rows, [1], key=lambda place: names[place[1]])
        rows = [Row(str(i), {1: "1"}, {0: ("main.elf", n)}) for i, n in enumerate(list(names) * 2)]
        self.check(export.text(Layout(), rows), rows, [1])

    def test_threads_are_cores(self):
        rows = [Row(str(i), {1: "1"}, {0: ("m", "f"), 3: ("m", "g")}) for i in range(5)]
        pbin = self.convert(export.text(Layout(), rows))
        table = self.table(pbin, "-k", "thread")
        self.assertEqual(len(table["rows"]), 2)
        self.assertIn(b"core 0", pbin)
        self.assertIn(b"core 3", pbin)
        self.assertNotIn(b"core 1", pbin)
        dump = self.meta(pbin)
        self.assertRegex(dump, r"cpus\D+2\b")
        self.assertRegex(self.meta(self.convert(export.text(Layout(), rows), "--cpus", "4")), r"cpus\D+4\b")

    def test_choice_of_cores(self):
        """Only the selected cores are kept, and they get all of the energy."""
        for kind in ("sthem", "pc", "lynsyn"):
            rows = export.make_rows(kind, 400, 11)
            more = {} if kind == "sthem" else dict(warnings=1, key=lambda pc: (
                ("_kernel", "_kernel") if pc >= 1 << 63 else ("_foreign", "_foreign")))
            for text, cores in (("1", {1}), ("0,3", {0, 3}), ("0-1", {0, 1}), ("1-1,3", {1, 3}), ("0-3", {0, 1, 2, 3})):
                kept = [Row(r.time, r.values, {c: p for c, p in r.cores.items() if c in cores}) for r in rows]
                with self.subTest(kind=kind, cores=text):
                    self.check(export.text(Layout(kind), rows), kept, [2], "-c", text, **more)

    def test_no_such_core(self):
        data = export.text(Layout(), Sensors.rows)
        ended = self.fails(["sthem2pbin", "-p1", "-c", "0-4"], "<stdin>: line 1, column 1", stdin=data)
        self.assertIn("no core 4, expected one of 0, 1, 2, 3", ended.err)
        for bad in ("x", "", "1,", "-1", "1.5", "3-1", "1-", "0-99999999"):
            self.assertEqual(tool.run(["sthem2pbin", "-c", bad]).status, 2, bad)


class Sensors(Sthem):
    rows = [Row(str(i), {1: "1.5", 3: str(i)}, {0: ("m", "f")}) for i in range(5)]

    def test_several_are_listed(self):
        ended = self.fails(["sthem2pbin"], "<stdin>", stdin=export.text(Layout(), self.rows))
        self.assertIn("1 (6 J), 3 (10 J)", ended.err)

    def test_choice_and_sum(self):
        data = export.text(Layout(), self.rows)
        for sensors in ([1], [3], [1, 3]):
            self.check(data, self.rows, sensors, "-p", ",".join(map(str, sensors)))
        self.check(data, self.rows, [1, 3], "-p1", "-p3")

    def test_no_such_sensor(self):
        ended = self.fails(["sthem2pbin", "-p", "8"], "<stdin>: line 1, column 1",
                           stdin=export.text(Layout(), self.rows))
        self.assertIn("1, 2, 3, 4, 5, 6, 7", ended.err)
        for bad in ("x", "", "1,", "-1", "1.5"):
            self.assertEqual(tool.run(["sthem2pbin", "-p", bad]).status, 2, bad)

    def test_numbers_are_those_of_the_header(self):
        """Boards number sensors from 0 or from 1."""
        rows = export.make_rows("lynsyn", 50, 4)
        for first in (0, 1):
            data = export.text(Layout("lynsyn", sensors=tuple(range(first, first + 7))), rows)
            ended = self.fails(["sthem2pbin", "-p", str(7 - 7 * first)], "<stdin>: line 3, column 1", stdin=data)
            self.assertIn("expected one of " + ", ".join(str(i) for i in range(first, first + 7)), ended.err)
            self.succeeds(["sthem2pbin", "-p", str(7 * first)], stdin=data)

    def test_bad_values_of_other_sensors_do_not_matter(self):
        data = export.text(Layout(), self.rows).replace(b";3;", b";nan;")
        self.check(data, self.rows, [1], "-p1")
        self.fails(["sthem2pbin", "-p3"], "<stdin>: line 5, column 4", stdin=data)

    def test_negative_power_is_data(self):
        """Noise of a sensor whose offset was subtracted: counted as measured, with a note."""
        rows = [Row(str(i), {1: "-1.8e-06" if i % 3 == 2 else "-2e-07" if i % 3 else "0.5"}, {0: ("m", f"f{i % 4}")})
                for i in range(30)]
        ended = self.succeeds(["sthem2pbin"], stdin=export.text(Layout(), rows))
        self.assertIn("20 powers are negative, the smallest -1.8e-06 W", ended.err)
        self.check(export.text(Layout(), rows), rows, [1], warnings=1)
        self.check(export.text(Layout(), rows), rows, [1], "-p1", warnings=1)
        self.assertNotIn("negative", self.succeeds(["sthem2pbin"], stdin=export.text(Layout(), self.rows[:1])).err)
        wrong = [Row(r.time, {1: "-1"}, r.cores) for r in rows]
        self.assertIn("the energy is negative, -29 J", self.succeeds(["sthem2pbin"], stdin=export.text(Layout(), wrong)).err)
        self.check(export.text(Layout(), wrong), wrong, [1], warnings=2)


class Repair(Sthem):
    def rows(self, times):
        return [Row(t, {1: f"{1 + i % 7}.25"}, {0: ("m", f"f{i % 3}")}) for i, t in enumerate(times)]

    def test_runs(self):
        cases = ["0 1 1 1 2 3", "5 5 5 6", "0 1 2 2 2", "0 1 0.5 2", "3 2 1 4 4", "1 1 1", "0 3 1 2 1 4 4 5",
                 "-2 -1 -1 0.5", "0 1e-3 1e-3 2e-3 1", "0 1 2 1.5 1.6", "0.1 0.1 0.2 0.2 0.2 0.2 0.2 0.3"]
        for case in cases:
            with self.subTest(case):
                rows = self.rows(case.split())
                table = self.check(export.text(Layout(), rows), rows, [1], warnings=1)
                times = [Fraction(r.time) for r in rows]
                self.near(table["profile"]["wall_s"] or 0, max(times) - times[0], "wall time")

    def test_times_of_six_digits(self):
        times = [format(95 + i * 0.0003, ".6g") for i in range(40000)]
        self.assertLess(len(set(times)), len(times) * 2 // 3)
        rows = self.rows(times)
        data = export.text(Layout(), rows)
        self.check(data, rows, [1], warnings=1)
        ended = self.succeeds(["sthem2pbin"], stdin=data)
        self.assertIn(f"{len(times) - len(set(times))} rows are not later", ended.err)

    def test_finer_than_nanoseconds(self):
        rows = self.rows([repr(i * 0.00012345678901234 + 1e-7 / 3) for i in range(500)])
        self.check(export.text(Layout(), rows), rows, [1])

    def test_intervals_far_below_a_nanosecond(self):
        rows = self.rows([format(i * 1e-10, ".4e") for i in range(1001)])
        table = self.table(self.convert(export.text(Layout(), rows)))
        joules = sum(j for _, j in export.expected(rows, [1]).values())
        self.assertLess(abs(Fraction(table["profile"]["energy_J"]) - joules), Fraction(8, 10**9), "a nanosecond's")

    def test_clock_set_back(self):
        rows = self.rows([str(i) for i in range(2000)] * 2)
        self.fails(["sthem2pbin"], "<stdin>: line 3026, column 1", stdin=export.text(Layout(), rows))
        data = b"Time;Power 1;PC 0\n" + b"1;2;3\n" * 70000
        self.fails(["sthem2pbin"], "<stdin>: line 65538, column 1", stdin=data)
        data = b"Time;Power 1;PC 0\n0;2;3\n" + b"1;2;3\n" * 60000 + b"2;2;3\n"
        self.assertIn("59999 rows", self.succeeds(["sthem2pbin"], stdin=data).err)


class Units(Sthem):
    """Times and addresses compared with the arithmetic of the options."""
    head = "Time;Power 1;PC 0\n"

    def sums(self, text, *options):
        """(wall time, {pc: energy}) as read by the tool."""
        ended = self.succeeds(["sthem2pbin", *options], stdin=text.encode())
        table = self.table(ended.out, "-k", "pc", "--energy-model=sample", "-q")
        return table["profile"]["wall_s"], {int(r["pc"], 16): r["energy"] for r in table["rows"] if r["pc"] and r["pc"][0] == "0"}

    def same(self, got, wall, energies):
        self.near(got[0], wall, "wall time")
        self.assertEqual(set(got[1]), set(energies))
        for pc, joules in energies.items():
            self.near(got[1][pc], joules, f"energy of {pc:#x}")

    def test_flat(self):
        """Rows in any order of their durations, some of them without a duration."""
        rng, want, lines = random.Random(3), {}, []
        for i in range(500):
            duration, power, pc = f"{rng.randrange(0, 5)}.{rng.randrange(1000):03}", f"{rng.randrange(90)}.5", 4096 + i % 7
            lines.append(f"{duration};{power};{pc}\n")
            want[pc] = want.get(pc, 0) + Fraction(duration) * Fraction(power)
        text = self.head + "".join(lines)
        wall = sum(Fraction(l.split(";")[0]) for l in lines)
        for argv in (["-t", "flat"], ["-t", "flat", "--normalized"]):
            self.same(self.sums(text, *argv), wall, want)
        # the same as a timeline that begins at 0
        time, timeline = Fraction(0), self.head
        for line in lines:
            duration, rest = line.split(";", 1)
            time += Fraction(duration) or Fraction(1, 10**9)
            timeline += f"{float(time):.12f};{rest}"
        got = self.sums(timeline, "--normalized")
        self.assertAlmostEqual(got[0], float(wall), 6)
        for pc, joules in want.items():
            self.assertAlmostEqual(got[1][pc], float(joules), 4)

    def test_normalized(self):
        text = self.head + "0.5;2;16\n1.5;4;16\n"
        self.same(self.sums(text), 1, {16: 4})
        self.same(self.sums(text, "--normalized"), Fraction(3, 2), {16: 5})

    def test_time_factor(self):
        for factor, scale in (("1e-3", 1000), ("1e-6", 10**6), ("0.25", 4), ("60", Fraction(1, 60)), ("3600", Fraction(1, 3600)),
                              ("1e-9", 10**9), ("1e-12", 10**12)):
            text, want, last = self.head, 0, Fraction(0)
            for i in range(100):
                units = Fraction(i * (i + 3), 8) if scale <= 1 else Fraction(int(Fraction(i * (i + 3), 8) * scale))
                text += f"{float(units)!r};{i % 9}.5;32\n"
                want += (units - last) * Fraction(f"{i % 9}.5") / scale
                last = units
            with self.subTest(factor):
                self.same(self.sums(text, "--time-factor", factor), last / scale, {32: want})
                self.same(self.sums(self.head + f"{float(3 * scale)!r};2;32\n", "-t", "flat", "--time-factor", factor), 3, {32: 6})

    def test_address_offset(self):
        text = self.head + "0;1;0x1000\n1;1;8192\n2;1;0\n3;1;0x1000\n"
        for option, by in (("4096", 4096), ("0x10", 16), ("-0x800", -2048)):
            with self.subTest(option):
                pcs = json.loads(self.succeeds(["pbin-dump", "--locations", "--format=json"], stdin=self.succeeds(
                    ["sthem2pbin", "--address-offset", option], stdin=text.encode()).out).out)["rows"]
                self.assertEqual({int(r["pc"], 16) for r in pcs}, {4096 + by, 8192 + by})
        ended = self.fails(["sthem2pbin", "--address-offset=1", "-p1"], "<stdin>: line 1, column 1", stdin=export.text(Layout(), Sensors.rows))
        self.assertIn("this export has names", ended.err)

    def test_wrong(self):
        for argv in (["-t", "round"], ["--time-factor", "0"], ["--time-factor", "x"], ["--address-offset", "1f"],
                     ["--address-offset", ""], ["--address-offset", "0x"], ["--address-offset=--1"], ["--address-offset", "1" * 30]):
            self.assertEqual(tool.run(["sthem2pbin", *argv]).status, 2, argv)
        for text, where, message, argv in (
                ("-1;2;3\n", "line 2, column 1", "duration of -1, expected 0 or more", ["-t", "flat"]),
                ("3e9;2;3\n2e9;2;3\n", "line 3, column 1", "durations of more than 4e+09 s", ["-t", "flat"]),
                ("-1;2;3\n", "line 2, column 1", "time of -1, expected 0 or more", ["--normalized"]),
                ("2e6;2;3\n", "line 2, column 1", "expected at most 4e+09 s", ["--time-factor=3600"])):
            ended = self.fails(["sthem2pbin", *argv], f"<stdin>: {where}", stdin=(self.head + text).encode())
            self.assertIn(message, ended.err)


HEAD = b"Time;Power 1;Module 0;Function 0\n"


class Bad(Sthem):
    def refused(self, data, where, text, *options):
        ended = self.fails(["sthem2pbin", *options], "<stdin>: " + where, stdin=data)
        self.assertIn(text, ended.err)

    def test_messages(self):
        for data, where, text in [
                (b"", "line 1, column 1", "standard input is empty, expected a CSV export"),
                (b"\n\n", "line 3, column 1", "the file ends, expected"),
                (HEAD, "line 2, column 1", "no row"),
                (b"Sensors;Cores\n", "line 2, column 1", "the file ends, expected"),
                (b"Sensors;Cores\n7;x\n", "line 2, column 2", "expected the number of Cores"),
                (b"Sensors;Cores\n7;4\n", "line 3, column 1", "the file ends, expected"),
                (b"a;b\n1;2\n", "line 1, column 1", "expected a header with a column 'Time'"),
                (b"\xff\xfeT\0i\0\n\0", "line 1, column 1", "UTF-16"),
                (b"Time;Power 1\n0;1\n", "line 1, column 1", "expected a column 'Function 0' or 'PC 0'"),
                (b"Time;PC 0;Time\n", "line 1, column 3", "occurs twice, first as column 1"),
                (b"Time;PC 0;current 0\n", "line 1, column 3", "no voltage"),
                (b"Time;PC 0;voltage 0\n", "line 1, column 3", "no current"),
                (HEAD + b"0;1;m;f\n1;x;m;f\n", "line 3, column 2", "expected a power [W], found 'x'"),
                (HEAD + b"0;1;m;f\n1;;m;f\n", "line 3, column 2", "empty"),
                (HEAD + b";1;m;f\n", "line 2, column 1", "empty field, expected a time [s]"),
                (HEAD + b"0;NaN;m;f\n", "line 2, column 2", "'NaN'"),
                (HEAD + b"0;inf;m;f\n", "line 2, column 2", "'inf'"),
                (HEAD + b"nan;1;m;f\n", "line 2, column 1", "'nan'"),
                (HEAD + b"0;1e400;m;f\n", "line 2, column 2", "1e400"),
                (HEAD + b"0;-1e9;m;f\n1;-1e10;m;f\n", "line 3, column 2", "at most"),
                (HEAD + b"1e99;1;m;f\n", "line 2, column 1", "at most"),
                (HEAD + b"0;1.2.3;m;f\n", "line 2, column 2", "1.2.3"),
                (HEAD + b"0;1e;m;f\n", "line 2, column 2", "1e"),
                (HEAD + b"0;" + b"1" * 600 + b";m;f\n", "line 2, column 2", "1111"),
                (HEAD + b"0;1;m;f\n0\0;1;m;f\n", "line 3, column 1", "NUL"),
                (HEAD + b"0;1;m;f\0g\n", "line 2, column 4", "NUL"),
                (HEAD + b"0;1;m\n", "line 2, column 3", "3 fields, expected 4"),
                (HEAD + b"0;1;m;f;g\n", "line 2, column 5", "more fields"),
                (HEAD + b"0;1;\"m;f\n", "line 2, column 3", "quoted"),
                (HEAD + b"0;1;\"m\"x;f\n", "line 2, column 3", "quoted"),
                (b"Time;PC 0\n0;1.5\n", "line 2, column 2", "program counter"),
                (b"Time;PC 0\n0;-5\n", "line 2, column 2", "program counter"),
                (b"Time;PC 0\n0;18446744073709551616\n", "line 2, column 2", "program counter"),
                (HEAD + b"0;1;m;f\n1;1;m", "line 3, column 3", "may be cut"),
                (HEAD + b"0" * (1 << 20) + b";1;m;f\n", "line 2, column 1", "line of more than")]:
            with self.subTest(data[:60]):
                self.refused(data, where, text)
        self.refused(HEAD + b"0;1;m;f\n", "line 1, column 2", "-v applies to currents", "-v", "5")

    def test_huge_lines(self):
        self.refused(b"x" * (64 << 20), "line 1, column 1", "line of more than")
        self.refused(b"\0" * (64 << 20), "line 1, column 1", "line of more than")
        self.refused(b"Time" + b";P" * 10**6 + b"\n", "line 1, column 1", "line of more than")
        self.refused(b"Time" + b";" * 10**5 + b"\n", "line 1, column 4097", "columns")
        self.refused(b"Time;PC 0\n0" + b";" * 10**6 + b"\n", "line 2, column 3", "more fields")

    def test_cut_at_every_byte(self):
        rows = export.make_rows("lynsyn", 4, 1)
        for data in (export.text(Layout(), export.make_rows("sthem", 4, 1)),
                     export.text(Layout("lynsyn", sensors=(1, 2), newline="\r\n"), rows)):
            for size in tool.places(0, len(data)):
                ended = tool.run(["sthem2pbin"], stdin=data[:size])
                self.assertIn(ended.status, (0, 1), size)
                if ended.status == 1:
                    self.assertEqual((ended.out, ended.err.count("\n")), (b"", 1), (size, ended.err))
                    where = r"<stdin>: line \d+, column \d+: " if size > 0 else "standard input is empty, expected a CSV export"
                    self.assertRegex(ended.err, "^sthem2pbin: " + where)
                elif data[size - 1:size] != b"\n":
                    self.assertIn("no line end", ended.err)

    def test_not_written_over(self):
        out = self.file("out.pbin", b"old")
        self.fails(["sthem2pbin", "-o", out], "<stdin>", stdin=HEAD + b"0;1;m;f\n1;x;m;f\n")
        with open(out, "rb") as f:
            self.assertEqual(f.read(), b"old")
        self.assertEqual(os.listdir(self.folder), ["out.pbin"])

    def test_missing_files(self):
        data = b"Time;PC 0\n0;1\n"
        for options in (["-e", "none"], ["-m", "none"], ["--kallsyms", "none"]):
            self.fails(["sthem2pbin", "-q", *options], "none", stdin=data)
        text = self.file("text", b"not ELF")
        self.fails(["sthem2pbin", "-q", "-e", text], text, stdin=data)
        self.assertEqual(tool.run(["sthem2pbin", "a", "b"]).status, 2)

    def test_memory_is_bounded(self):
        row = b"%d.%04d;1.5" + b";0" * 6 + b";m;f" * 4 + b"\n"
        head = export.text(Layout(), []).splitlines()[0] + b"\n"
        peaks = []
        for count in (20000, 800000):
            file = os.path.join(self.folder, "%d.csv" % count)
            with open(file, "wb") as f:
                f.write(head)
                for i in range(count):
                    f.write(row % divmod(i, 10000))
            peaks.append(self.succeeds(["sthem2pbin", "-q", file], timeout=60, peak=True).peak)
        self.assertLess(peaks[1], peaks[0] + 4 * tool.MB, peaks)

    def test_mutations(self):
        """Damaged exports cause no crash, no hang and no silent failure."""
        rng = random.Random(7)
        seeds = [export.text(Layout(kind, sensors=(1, 2), quotes=q, comma=q), export.make_rows(kind, 5, 9))
                 for kind in ("sthem", "pc", "lynsyn") for q in (False, True)]
        tokens = [b";", b"\n", b"\r", b'"', b"\0", b"-", b"e", b"9" * 30, b"Time", b"PC 0", b"1e308", b";;;;", b"\xff",
                  b"Sensors;Cores\n", b"99999", b",", b"."]
        for i in range(300):
            data = bytearray(rng.choice(seeds))
            for _ in range(rng.randrange(1, 5)):
                at = rng.randrange(len(data) + 1)
                how = rng.randrange(4)
                if how == 0:
                    data[at:at + rng.randrange(1, 20)] = b""
                elif how == 1:
                    data[at:at] = rng.choice(tokens)
                elif how == 2 and at < len(data):
                    data[at] = rng.randrange(256)
                else:
                    other = rng.choice(seeds)
                    begin = rng.randrange(len(other))
                    data[at:at] = other[begin:begin + rng.randrange(60)]
            ended = tool.run(["sthem2pbin", *rng.choice([[], ["-p1"], ["-v5"], ["-p1,2"]])], stdin=bytes(data))
            self.assertIn(ended.status, (0, 1), f"mutation {i}: {ended.err}")
            if ended.status == 0:
                self.succeeds(["pbin-aggregate", "-q"], stdin=ended.out)
            else:
                self.assertEqual(ended.out, b"")
                self.assertRegex(ended.err, r"^sthem2pbin: <stdin>: ", f"mutation {i}")
                self.assertEqual(ended.err.count("\n"), 1, f"mutation {i}: {ended.err!r}")


class Manual(Sthem):
    def test_page(self):
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        page = os.path.join(root, "convert", "sthem2pbin", "sthem2pbin.1")
        lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True)
        self.assertEqual(lint.stdout, "")
        with open(page) as f:
            text = f.read().replace("\\-", "-")
        help_text = self.succeeds(["sthem2pbin", "--help"]).out.decode()
        for option in [w.rstrip(",").split("=")[0] for w in help_text.split() if w.startswith("--")]:
            if option != "--usage":
                self.assertIn(option[1:], text.replace(" , ", " "), option)
