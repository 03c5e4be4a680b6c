"""Text tables at the width of a terminal, the columns that users select, and CSV.

SPDX-License-Identifier: MIT
"""
import csv
import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import termios
import unicodedata
import unittest

import pbin
import profiles
import tool

LONG = ("void std::__introsort_loop<__gnu_cxx::__normal_iterator<int*, std::vector<int, std::allocator<int> > >, long, "
        "__gnu_cxx::__ops::_Iter_less_iter>(__gnu_cxx::__normal_iterator<int*, std::vector<int, std::allocator<int> > "
        ">, long)")


class TablesCase(tool.Case):
    def make(self, file, seed=1, functions=(), **meta):
        """A profile with power, several threads, and names of all lengths."""
        profile = profiles.make(seed, **meta)
        for location, function in zip(profile.locations, functions):
            location.frames[-1].demangled = function
        return self.file(file, pbin.write(profile))

    def at_width(self, width, *argv):
        env = dict(tool.environment(), COLUMNS=str(width))
        ended = subprocess.run([tool.path(argv[0]), "-q", *argv[1:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=env, check=False)
        self.assertEqual((ended.returncode, ended.stderr), (0, b""), argv)
        return ended.stdout.decode().splitlines()

    def rows(self, *argv):
        return list(csv.DictReader(io.StringIO(self.succeeds([argv[0], "-q", "--format=csv", *argv[1:]]).out.decode(),
                                               newline="")))


class Width(TablesCase):
    def all_tables(self):
        names = [LONG, "a_function_of_c_with_a_name_that_is_longer_than_a_line_of_eighty_characters_can_ever_be"] * 15
        short = [self.make(f"s{i}.pbin", i, name=f"s{i}.pbin") for i in range(3)]
        long = [self.make(f"l{i}.pbin", i, names, command="x " * 300) for i in range(3)]
        for files in (short, long):
            yield ["pbin-aggregate", files[0]]
            yield ["pbin-aggregate", "--ci", files[0]]
            yield ["pbin-aggregate", "--threads", files[0]]
            yield ["pbin-aggregate", "--sort=energy", "--top=3", files[0]]
            yield ["pbin-aggregate", "--tree", "-k", "file,function,line", files[0]]
            yield ["pbin-aggregate", *files]
            yield ["pbin-aggregate", "--ci", "--threads", *files]
            yield ["pbin-compare", files[0], files[1]]
            yield ["pbin-compare", "--metric=power", "--error=relative", files[0], files[1]]
            yield ["pbin-compare", "--base", *files[:2], "--with", *files[1:]]
            yield ["pbin-compare", "--metric=energy", *files]

    def test_one_line_a_row(self):
        for argv in self.all_tables():
            for width in (80, 100, 132, 200):
                with self.subTest(argv=argv, width=width):
                    lines = self.at_width(width, *argv)
                    self.assertEqual([line for line in lines if len(line) > width], [])

    def test_wide_characters(self):
        """East Asian characters take two columns: they do not shift other characters, and do not
        make lines too wide."""
        columns = lambda text: sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
        names = ["\u65e5\u672c\u8a9e\u306e\u95a2\u6570", "\ud568\uc218" * 40, "a\u6587b\u5b57" * 30, "plain", "\U0001f600::f<\u4e2d>(int)"] * 6
        files = [self.make(f"w{i}.pbin", i, names, target="\u30d7\u30ed\u30b0\u30e9\u30e0", command="\u5f15 \u6570" * 60) for i in range(2)]
        for argv in (["pbin-aggregate", files[0]], ["pbin-aggregate", "--columns=function,time,binary", files[0]], ["pbin-compare", *files]):
            for width in (80, 81, 120, 1000):
                lines = self.at_width(width, *argv)
                self.assertEqual([line for line in lines if columns(line) > width], [], (argv, width))
                if argv[1].startswith("--columns"):
                    table = lines[lines.index("") + 1:-2]
                    at = {columns(re.match(r"(.*?  +)[0-9.]+  +\S+$", line)[1] + re.search(r"([0-9.]+)  +\S+$", line)[1]) for line in table[1:-1]}
                    self.assertEqual(len(at), 1, table)

    def test_no_row_is_lost(self):
        for argv in self.all_tables():
            with self.subTest(argv=argv):
                narrow = [line for line in self.at_width(80, *argv) if not line.startswith("(not shown: ")]
                wide = self.succeeds([argv[0], "-q", "--wide", *argv[1:]]).out.decode().splitlines()
                parts = [(lines[:lines.index("")], lines[lines.index(""):]) for lines in (narrow, wide)]
                self.assertEqual(len(parts[0][1]), len(parts[1][1]))
                facts = [sum(line[0] != " " for line in head) for head, _ in parts]  # long facts have two lines
                self.assertEqual(facts[0], facts[1])
                if argv[0] == "pbin-compare":
                    self.assertIn("Holm's correction, level 0.05", " ".join(" ".join(parts[0][0]).split()))

    def test_the_note_names_what_is_missing(self):
        file = self.make("p.pbin", 3, [LONG] * 30)
        lines = self.at_width(80, "pbin-aggregate", file)
        title = next(line for line in lines if line.startswith("time [s]"))
        titles = re.split("  +", title)
        missing = re.fullmatch(r"\(not shown: (.*); --wide shows all\)", lines[-1])[1].split(", ")
        table = json.loads(self.succeeds(["pbin-aggregate", "-q", "--format=json", file]).out)
        shown = {t.partition(" [")[0] for t in titles}
        self.assertEqual(shown | set(missing), {c["name"] for c in table["columns"]})
        self.assertEqual(shown & set(missing), set())
        self.assertLessEqual({"time", "energy", "binary", "function"}, shown)

    def test_names_lose_arguments_first(self):
        file = self.make("p.pbin", 3, [LONG] * 30)
        text = "\n".join(self.at_width(80, "pbin-aggregate", file))
        self.assertIn("  void std::__introsort_loop<...>(...)\n", text)
        self.assertIn(LONG, "\n".join(self.at_width(80, "pbin-aggregate", "--wide", file)))
        text = "\n".join(self.at_width(300, "pbin-aggregate", file))
        self.assertIn("std::__introsort_loop<__gnu_cxx::__normal_iterator<int*, std::vector<int, std::allocator<int> > >, "
                      "long, __gnu_cxx::__ops::_Iter_less_iter>(...)\n", text)

    def test_a_pipe_has_no_width(self):
        file = self.make("p.pbin", 3, [LONG] * 30)
        ended = self.succeeds(["pbin-aggregate", "-q", file])
        self.assertIn(LONG, ended.out.decode())
        self.assertNotIn(b"not shown", ended.out)
        self.assertEqual(self.succeeds(["pbin-aggregate", "-q", "--wide", file]).out, ended.out)

    def test_a_file_has_no_width(self):
        file = self.make("p.pbin", 3, [LONG] * 30)
        self.at_width(80, "pbin-aggregate", "-o", f"{self.folder}/out.txt", file)
        with open(f"{self.folder}/out.txt", encoding="utf-8") as out:
            self.assertIn(LONG, out.read())

    def test_terminal(self):
        """The width of the window applies, unless COLUMNS is set."""
        file = self.make("p.pbin", 3, [LONG] * 30)
        for window, columns, widest in ((80, None, 80), (120, None, 120), (0, None, 80), (80, "100", 100)):
            master, slave = pty.openpty()
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, window, 0, 0))
            env = tool.environment()
            env.pop("COLUMNS", None)
            if columns is not None:
                env["COLUMNS"] = columns
            with subprocess.Popen([tool.path("pbin-aggregate"), "-q", file], stdout=slave, env=env):
                os.close(slave)
                text = b""
                try:
                    while part := os.read(master, 65536):
                        text += part
                except OSError:  # the other end is closed
                    pass
            os.close(master)
            lines = text.decode().splitlines()
            self.assertLessEqual(max(map(len, lines)), widest, (window, columns))
            self.assertGreater(max(map(len, lines)), widest - 4, (window, columns))


class Intervals(TablesCase):
    def test_of_several_runs(self):
        files = [self.make(f"{i}.pbin", i) for i in range(4)]
        want = {(r["binary"], r["function"]): r for r in self.rows("pbin-aggregate", *files)}
        lines = self.succeeds(["pbin-aggregate", "-q", "--columns=time,energy,binary,function", *files]).out.decode()
        found = re.findall(r"(?m)^ *([\d.]+) \+-([\d.]+) +([\d.]+) \+-([\d.]+) +(\S+) +(\S.*?) *$", lines)
        self.assertEqual(len(found), len(want) + 1)
        for time, time_half, energy, energy_half, binary, function in found[:-1]:
            row = want[binary, function]
            for got, name in ((time, "time [s]"), (time_half, "time_ci95 [s]"), (energy, "energy [J]"),
                              (energy_half, "energy_ci95 [J]")):
                digits = len(got.partition(".")[2])
                self.assertLessEqual(abs(float(got) - float(row[name])), 0.5000001 * 10**-digits)
        self.assertIn("time +-95% [s]", lines)

    def test_all_columns_apart_if_wide(self):
        files = [self.make(f"{i}.pbin", i) for i in range(4)]
        table = json.loads(self.succeeds(["pbin-aggregate", "-q", "--format=json", *files]).out)
        text = self.succeeds(["pbin-aggregate", "-q", "--wide", *files]).out.decode()
        self.assertNotIn("+-", text)
        title = next(line for line in text.splitlines() if line.lstrip().startswith("time [s]"))
        self.assertEqual({t.partition(" [")[0] for t in re.split("  +", title.strip())},
                         {c["name"] for c in table["columns"]})

    def test_of_shares(self):
        file = self.make("p.pbin", 1)
        rows = self.rows("pbin-aggregate", "--ci", file)
        text = self.succeeds(["pbin-aggregate", "-q", "--ci", file]).out.decode()
        for row in rows:
            self.assertIn(f"{float(row['share [%]']):.2f} +-{float(row['share_ci_approx [%]']):.2f} ", text)


class Columns(TablesCase):
    def test_chosen_in_every_format(self):
        file = self.make("p.pbin", 1)
        names = ["function", "energy", "time"]
        whole = json.loads(self.succeeds(["pbin-aggregate", "-q", "--format=json", file]).out)
        some = json.loads(self.succeeds(["pbin-aggregate", "-q", "--format=json", "--columns", ",".join(names), file]).out)
        self.assertEqual([c["name"] for c in some["columns"]], names)
        self.assertEqual(some["rows"], [{n: row[n] for n in names} for row in whole["rows"]])
        self.assertEqual(list(self.rows("pbin-aggregate", "--columns", ",".join(names), file)[0]),
                         ["function", "energy [J]", "time [s]"])
        text = self.succeeds(["pbin-aggregate", "-q", "--columns", ",".join(names), file]).out.decode()
        self.assertRegex(text, r"\nfunction +energy \[J\] +time \[s\]\n")
        other = self.succeeds(["pbin-compare", "-q", "--columns", "verdict,function", file, file]).out.decode()
        self.assertRegex(other, r"\nverdict +function\n")
        dump = self.succeeds(["pbin-dump", "--samples", "--columns", "thread,pc", file]).out.decode()
        self.assertTrue(dump.startswith("thread,pc\n"))

    def test_details(self):
        """Columns of wide tables can be selected by name."""
        files = [self.make(f"{i}.pbin", i) for i in range(3)]
        text = self.succeeds(["pbin-aggregate", "-q", "--columns", "time,time_sd,function", *files]).out.decode()
        self.assertRegex(text, r"\n *time \+-95% \[s\]  time_sd \[s\]  function\n")
        text = self.succeeds(["pbin-aggregate", "-q", "--columns", "time,time_ci95,function", *files]).out.decode()
        self.assertRegex(text, r"\n *time \[s\]  time_ci95 \[s\]  function\n")

    def test_unknown(self):
        file, out = self.make("p.pbin", 1), f"{self.folder}/out.csv"
        ended = tool.run(["pbin-aggregate", "--columns=time,tmie", "-o", out, file])
        self.assertEqual((ended.status, os.path.exists(out)), (2, False))
        self.assertRegex(ended.err, "^pbin-aggregate: unknown column 'tmie', expected one of binary, function, time, ")


class Csv(TablesCase):
    def test_total_on_request(self):
        file = self.make("p.pbin", 1)
        for argv in (["pbin-aggregate", file], ["pbin-compare", file, file]):
            rows, with_total = self.rows(*argv), self.rows(argv[0], "--total", *argv[1:])
            self.assertEqual(with_total[:-1], rows)
            self.assertEqual(with_total[-1]["binary"], "_total")
        self.assertAlmostEqual(sum(float(r["time [s]"]) for r in self.rows("pbin-aggregate", file)),
                               float(self.rows("pbin-aggregate", "--total", file)[-1]["time [s]"]))
        self.assertIn("_total", [r["binary"] for r in self.rows("pbin-compare", "--aggregate=rmse", file, file)])

    def test_line_ends(self):
        file = self.make("p.pbin", 1)
        plain = self.succeeds(["pbin-aggregate", "-q", "--format=csv", file]).out
        self.assertNotIn(b"\r", plain)
        self.assertEqual(self.succeeds(["pbin-aggregate", "-q", "--format=csv", "--crlf", file]).out,
                         plain.replace(b"\n", b"\r\n"))

    def test_delimiter(self):
        file = self.make("p.pbin", 1, ["f(a;b, c)", 'say "x"'] * 15)
        want = self.rows("pbin-aggregate", file)
        for option, character in ((";", ";"), ("tab", "\t"), ("\t", "\t"), ("|", "|"), (" ", None), ("ab", None),
                                  ("1", None), (".", None), ('"', None), ("", None)):
            argv = ["pbin-aggregate", "-q", "--format=csv", "--delimiter", option, file]
            if character is None:
                self.assertEqual(tool.run(argv).status, 2, option)
                continue
            text = self.succeeds(argv).out.decode()
            self.assertEqual(list(csv.DictReader(io.StringIO(text, newline=""), delimiter=character)), want)
            self.assertTrue(text.startswith(f"binary{character}function{character}time [s]"))

    def test_label_none(self):
        file = self.make("p.pbin", 1, ["_unknown", "f"] * 15)
        keys = "file,function,line"
        want = self.rows("pbin-aggregate", "-k", keys, file)
        got = self.rows("pbin-aggregate", "-k", keys, "--label-none=n/a", file)
        self.assertTrue(any(r["file"] == "" for r in want) and any(r["line"] == "" for r in want))
        for row in want:
            for key in keys.split(","):
                row[key] = "n/a" if row[key] in ("", "_unknown") else row[key]
        self.assertEqual(got, want)

    def test_fractions(self):
        file = self.make("p.pbin", 1)
        want, got = self.rows("pbin-aggregate", "--total", file), self.rows("pbin-aggregate", "--fractions", file)
        total = want.pop()
        self.assertEqual(len(got), len(want))
        for row, whole in zip(got, want):
            for name in ("time [s]", "samples", "entries", "energy [J]"):
                short = name.partition(" [")[0]
                self.assertAlmostEqual(float(row[short]), float(whole[name] or 0) / float(total[name]), places=12)
            self.assertEqual(row["power [W]"], whole["power [W]"])


class Json(TablesCase):
    def test_numbers_are_short_and_exact(self):
        """Numbers have as many digits as are needed to read the same number back, as in CSV;
        fractions remain fractions."""
        file = self.make("p.pbin", 1)
        text = self.succeeds(["pbin-aggregate", "-q", "--format=json", file]).out.decode()
        table, rows = json.loads(text), self.rows("pbin-aggregate", file)
        for row, line in zip(table["rows"], rows, strict=True):
            self.assertIsInstance(row["time"], float)
            self.assertEqual(row["time"], float(line["time [s]"]))
            self.assertIn(f'"time":{line["time [s]"]}', text)
        for number in re.findall(r":(-?\d[\d.e+-]*)", text):
            if "." in number:
                digits = len(re.sub(r"e.*|[.-]", "", number).strip("0"))
                self.assertTrue(digits <= 15 or float(f"{float(number):.15g}") != float(number), number)


if __name__ == "__main__":
    unittest.main()
