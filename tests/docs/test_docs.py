"""Help, man pages and README agree with the tools: they have the same options, and examples run.

Environment: BUILD, the build folder.
SPDX-License-Identifier: MIT
"""
import glob
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
import rawprofile as raw  # noqa: E402
import sources  # noqa: E402
import tool  # noqa: E402
import traces  # noqa: E402

LAYERS = ("base", "formats", "record", "analyze", "convert", "plot")


def files_named(suffix):
    return [p for f in LAYERS for p in glob.glob(os.path.join(ROOT, f, "**", "*" + suffix), recursive=True)]


PAGES = {os.path.basename(p)[:-2]: p for p in files_named(".1")}
COMMON_PAGE = os.path.join(ROOT, "base", "pbin-tools.7")
MIGRATION = os.path.join(ROOT, "docs", "migration.md")
MACROS = {"Ar", "Cm", "Fl", "Ns", "Op", "Ic", "Pa", "Sy", "Em", "No"}


def tools():
    """Every tool that is built."""
    mains = subprocess.run(["grep", "-lE", r"^int main\b", *files_named(".c")],
                           stdout=subprocess.PIPE, text=True, check=False).stdout.split()
    return sorted(os.path.basename(m)[:-2] for m in mains)


def help_text(name):
    return subprocess.run([tool.path(name), "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout


def options_of_help(name):
    found = set()
    for line in help_text(name).splitlines():
        if re.match(r" {2,6}-", line):
            found |= set(re.findall(r"(?:^|, )(--?[\w?][\w-]*)", re.split(r"  +", line.strip())[0]))
    return found - {"-?"}


def options_of_man(path):
    found = set()
    with open(path, encoding="utf-8") as file:
        for line in file:
            if not line.startswith(".It Fl"):
                continue
            flags = False
            for word in line.split()[1:]:
                if word in MACROS:
                    flags = word == "Fl"
                elif flags and word != ",":
                    found.add("-" + word)
    return found


class Options(unittest.TestCase):
    def test_every_tool_has_a_page(self):
        self.assertEqual([t for t in tools() if t not in PAGES], [])
        self.assertEqual([p for p in PAGES if p not in tools()], [])

    def test_help_and_page_agree(self):
        wrong = []
        for name in tools():
            shown, documented = options_of_help(name), options_of_man(PAGES[name])
            self.assertIn("--help", shown, name)
            wrong += [f"{name}: {o} is in --help only" for o in sorted(shown - documented)]
            wrong += [f"{name}: {o} is in the page only" for o in sorted(documented - shown)]
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))

    def test_page_of_common_options(self):
        options, shown = options_of_man(COMMON_PAGE), [options_of_help(name) for name in tools()]
        self.assertGreater(len(options), 10)
        self.assertEqual({o for o in options if sum(o in of_tool for of_tool in shown) < 2}, set())
        for name in tools():
            with open(PAGES[name], encoding="utf-8") as file:
                self.assertIn(".Xr pbin-tools 7", file.read(), name)

    @unittest.skipIf(shutil.which("mandoc") is None, "no mandoc")
    def test_pages_have_no_warnings(self):
        pages = [p for suffix in (".1", ".5", ".7") for p in files_named(suffix)]
        lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *pages], stdout=subprocess.PIPE, text=True,
                              check=False)
        self.assertEqual((len(pages) > 13, lint.returncode, lint.stdout), (True, 0, ""))

    def test_options_of_every_tool(self):
        for name in tools():
            self.assertEqual({"-h", "--help", "-q", "--quiet", "--verbose", "-V", "--version", "-o", "--output"} -
                             options_of_help(name), set(), name)

    def test_shared_options_have_the_same_help(self):
        for option, own in (("-o, --output=FILE", {"sampler", "pbin-plot", "funcmeter"}), ("--bzip2", set()), ("--salvage", set()),
                            ("--color=WHEN", set()), ("-s, --search-path=DIR", set()), ("--sysroot=DIR", set())):
            texts = [help_text(name) for name in set(tools()) - own]
            found = [re.search(rf"\n +{option} +((?:.*\n {{29}})*.*)", text) for text in texts]
            self.assertEqual(len({match[1] for match in found if match}), 1, option)

    def test_formats_of_help_and_errors(self):
        for name in ("pbin-aggregate", "pbin-annotate", "pbin-callgraph", "pbin-compare", "pbin-dump"):
            shown = re.search(r"--format=FORMAT +((?:.*\n {29})*.*)\(default", help_text(name))[1]
            ended = tool.run([name, "--format=none"])
            listed = re.search(r"--format must be (.*), not 'none'\n", ended.err)[1]
            self.assertEqual((ended.status, " ".join(shown.split())), (2, listed))
            for format_name in re.findall(r"[a-z]+", listed.replace(" or ", " ")):
                self.assertNotIn("--format must be", tool.run([name, f"--format={format_name}", "/nowhere", "/b"]).err)

    def test_options_of_the_migration_page(self):
        """Everything that the page names as a replacement for the scripts' options exists: the
        options in the column of ours, in the tool that is named by its code or title."""
        options, tool_of_table, checked = {name: options_of_help(name) for name in tools()}, None, 0
        with open(MIGRATION, encoding="utf-8") as file:
            rows = [line for line in file if line.startswith("| ")]
        for row in rows:
            theirs, ours = [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:3]]
            spans = re.findall(r"`([^`]+)`", ours)
            if theirs == "option":
                tool_of_table = spans[0] if spans else None
            named = spans[0].split()[0] if spans and spans[0].split()[0] in options else tool_of_table
            if ours.startswith("the same"):
                spans += [f"{named} {option}" for option in re.findall(r"`(-[^` ]+)", theirs)]
            for span in spans:
                name = span.split()[0] if span.split()[0] in options else tool_of_table
                own = span.partition(" -- ")[0]  # after that, a command
                for option in re.findall(r"(?:^| )(--?[a-z][a-z-]*)", own) if name is not None else []:
                    self.assertIn(option, options[name], row)
                    checked += 1
        self.assertGreater(checked, 50)

    def test_help_fits_the_width_of_a_terminal(self):
        self.assertEqual([line for name in tools() for line in help_text(name).splitlines() if len(line) > 79], [])

    def test_help_has_no_lines_of_blanks(self):
        """argp breaks a line after a text that fills it exactly."""
        self.assertEqual([f"{name}: below {above.strip()}" for name in tools()
                          for above, line in itertools.pairwise(help_text(name).splitlines()) if line.isspace()], [])


# ---- examples ----------------------------------------------------------------------------------

def is_command(line):
    words = [w for w in line.split() if "=" not in w]
    return bool(words) and words[0] in tools()


def strip(line):
    return re.sub(r"\s+#.*$", "", line.strip())


def examples_of_readme():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        return [strip(line) for line in file if line.startswith("    ") and is_command(line)]


def examples_of_help(name):
    text = help_text(name).partition("Examples:\n")[2].partition("\n\n")[0]
    return [line.strip() for line in text.splitlines()]


def examples_of_page(path):
    with open(path, encoding="utf-8") as file:
        lines = [re.sub(r"^\.Dl ", "", line.strip()) for line in file]
    return [line[2:].replace("\\e", "\\") for line in lines if line.startswith("$ ")]


PROGRAM = """
#include <stdlib.h>
#include <time.h>
extern void foo(unsigned);
volatile unsigned sink;
__attribute__((noinline)) void burn_50(unsigned n) { while (n-- > 0) sink += n; }
__attribute__((noinline)) void work(unsigned n) { burn_50(n); foo(n); }
int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 0.2;
    struct timespec t;
    do {
        for (int i = 0; i < 100; i++)
            work(1000);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    } while ((double)t.tv_sec + (double)t.tv_nsec / 1e9 < seconds);
    return 0;
}
"""
LIBRARY = "volatile unsigned drain; void foo(unsigned n) { while (n-- > 0) drain += n; }\n"
UUID = "8aaaf200-2450-11e4-abe2-0002a5d5c51b"
# Absolute paths and external files in examples, and their place in the folder of the examples.
ELSEWHERE = {"/usr/lib/libfoo.so.1": "./libfoo.so.1", "/var/prof": "prof", "~/src": "src",
             "/sys/class/hwmon/hwmon3/power1_input": "power1_input"}


def sthem(cells, last):
    """An export with two rows per PC or function, for four cores."""
    head = "Time;" + ";".join(f"Power {i}" for i in range(1, 8)) + ";" + last
    rows = [f"{0.001 * i:g};0;2.5;0;0;0;0;0;" + ";".join([cells[i % len(cells)]] * 4) for i in range(100)]
    return "\n".join([head] + rows) + "\n"


class Workshop:
    """A folder with all files that the examples name, made from a program that runs for 0.2 s or a
    given time."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("bin", "board/bin", "ta", "prof", "src"):
            os.makedirs(self.at(name))
        self.text("program.c", PROGRAM)
        self.text("foo.c", LIBRARY)
        self.sh("gcc -g -O1 -fPIC -shared -Wl,-soname,libfoo.so.1 -o libfoo.so.1 foo.c")
        self.sh("gcc -g -O1 -pg -o program program.c ./libfoo.so.1 -Wl,-rpath," + folder)
        self.sh("gcc -g -O1 -static -no-pie -o firmware.elf program.c foo.c")
        shutil.copy(os.path.join(sources.ROOT, "samples", "perf.data.xz"), folder)
        self.sh("xz -dk perf.data.xz")
        shutil.copy(os.path.join(sources.ROOT, "samples", "cpu.prof.xz"), folder)
        self.sh("xz -d cpu.prof.xz; gzip -k cpu.prof")
        self.text("Makefile", "check:\n\t./program\n")
        self.text("power1_input", "5000000\n")
        self.calls()  # before the others: it leaves a gmon.out of a program with hooks
        self.profiles()
        self.boards()

    def at(self, name):
        return os.path.join(self.folder, name)

    def text(self, name, content):
        with open(self.at(name), "w", encoding="utf-8") as file:
            file.write(content)

    def sh(self, command, folder=None):
        return subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=folder or self.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                              timeout=50, check=folder is None, env=tool.environment())

    def profiles(self):
        self.sh("sampler -q -o out.bin -p file:power1_input --unit uW -- ./program 2.2")
        self.sh("cp out.bin run.bin; prof2pbin -o run.pbin run.bin")
        for name in ("before", "after", "base", "old", "new", "run-1", "run-2", "before-1", "before-2", "after-1", "after-2",
                     "old-1", "old-2", "new-1", "new-2"):
            shutil.copy(self.at("run.pbin"), self.at(name + ".pbin"))
        self.sh("cp program board/bin; cp firmware.elf bin; cp program.c foo.c src")
        self.sh(f"./program && cp gmon.out gmon-{UUID}.out && cp program ta/{UUID}.elf")
        samples = [raw.Sample(0.5, [raw.Thread(1, 0x401000 + i)]) for i in range(100)]
        run = raw.Run(samples, [raw.Map(0x401000, 0x1000, "program")], 100_000)
        with open(self.at("run.bin"), "rb") as file:
            keep = file.read()
        with open(self.at("currents.bin"), "wb") as file:
            file.write(raw.write(run, "intrvelf"))
        self.sh("bzip2 -c currents.bin > run.bin.bz2")
        with open(self.at("out.bin.part"), "wb") as file:
            file.write(raw.spool(run, [i * 1_000_000 for i in range(100)]))
        with open(self.at("run.bin"), "wb") as file:
            file.write(keep)

    def calls(self):
        self.sh("funcmeter -q -o calls.pbin 'program:.*' -- ./program")
        recorded = os.path.join(ROOT, "tests", "igprof", "recorded")
        for name, kind in (("igprof.app.123", "perf"), ("run", "perf"), ("memory", "mem"), ("old", "mf"), ("new", "own")):
            shutil.copy(os.path.join(recorded, kind + ".gz"), self.at(name + ".gz"))

    def boards(self):
        symbols = self.sh("nm firmware.elf").stdout.splitlines()
        pcs = [str(int(s.split()[0], 16) + 4) for s in symbols if s.endswith((" T work", " T foo"))]
        cores = ";".join(f"Module {i};Function {i}" for i in range(4))
        self.text("names.csv", sthem(["kernel;work", "kernel;idle"], cores))
        self.text("pcs.csv", sthem(pcs, ";".join(f"PC {i}" for i in range(4))))
        self.text("run.vmmap", "401000 100000 firmware.elf\n")
        self.text("addresses", "0x1139\n1150\n")
        self.text("trace.csv", "time,pc\n0.1,0x1139\n")
        with open(self.at("TRACEFILE0-C0"), "wb") as file:
            file.write(traces.tracerv([(i, {i % 7: int(pcs[i % len(pcs)])}) for i in range(1, 100)]))
        with open(self.at("memtrace.log"), "wb") as file:
            file.write(traces.memtrace([(i % 2, i, 8, int(pcs[i % len(pcs)])) for i in range(100)]))
        self.sh("xz -k TRACEFILE0-C0 memtrace.log")
        self.text("kallsyms", "ffffffff81000000 T _stext\n")

    def run(self, example):
        """Runs EXAMPLE in a fresh folder; returns what is wrong with it, or None."""
        with tempfile.TemporaryDirectory() as scratch:
            folder = os.path.join(scratch, "here")
            shutil.copytree(self.folder, folder)
            os.symlink(os.path.join(sources.ROOT, "samples"), os.path.join(folder, "samples"))
            has_pcs = re.search(r"firmware\.elf|vmmap", example)
            shutil.copy(os.path.join(folder, "pcs.csv" if has_pcs else "names.csv"),
                        os.path.join(folder, "export.csv"))
            subprocess.run(["bzip2", "-k", os.path.join(folder, "export.csv")], check=True)
            if "--metric call" in example:  # only profiles of calls have this metric
                for name in ("before.pbin", "after.pbin"):
                    shutil.copy(os.path.join(folder, "calls.pbin"), os.path.join(folder, name))
            if "sampler" in example:  # it does not overwrite an unfinished recording
                os.unlink(os.path.join(folder, "out.bin.part"))
            for absolute, here in ELSEWHERE.items():
                example = example.replace(absolute, here)
            # perf may not be installed or not be permitted
            example = re.sub(r"perf record -o ?(\S+) ./program", lambda m: "xz -dc samples/perf.data.xz" +
                             ("" if m[1] == "-" else f" >{m[1]}"), example)
            if shutil.which("dot") is None:
                example = example.replace("dot -Tsvg", "grep digraph")
            done = self.sh(example, folder)
            made = re.findall(r"(?:-o |> )(\S+)", example)
            lost = [name for name in made if not os.path.getsize(os.path.join(folder, name))] \
                if done.returncode == 0 else []
        if done.returncode != 0 or lost:
            return f"{example}: status {done.returncode}, empty {lost}: {done.stderr}"
        return None


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.workshop = Workshop(cls.holder.name)

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def all_run(self, examples, least):
        self.assertGreaterEqual(len(examples), least, examples)
        wrong = [w for w in map(self.workshop.run, examples) if w]
        self.assertEqual(wrong, [], "\n".join(wrong))

    def test_readme(self):
        self.all_run(examples_of_readme(), 3)

    def test_help(self):
        for name in tools():
            with self.subTest(tool=name):
                self.all_run(examples_of_help(name), 3)

    def test_pages(self):
        for name in tools():
            with self.subTest(tool=name):
                self.all_run(examples_of_page(PAGES[name]), 2)

    def test_migration(self):
        """The commands of the page run in the order in which they are shown."""
        with open(MIGRATION, encoding="utf-8") as file:
            commands = [strip(line) for line in file if line.startswith("    ")]
        self.assertEqual([c for c in commands if not is_command(c)], [])
        self.assertGreater(len(commands), 5)
        self.assertIsNone(self.workshop.run(" && ".join(commands)))

    def test_page_of_all_tools(self):
        self.all_run(examples_of_page(COMMON_PAGE), 2)

    def test_table_in_readme(self):
        """The README shows the columns that the tool prints."""
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
            shown = [line for line in file if line.lstrip().startswith("time [s]")]
        table = self.workshop.sh("pbin-aggregate -q run.pbin").stdout.splitlines()
        real = [line for line in table if line.lstrip().startswith("time [s]")]
        self.assertEqual([re.split(r"  +", line.strip()) for line in shown],
                         [re.split(r"  +", line.strip()) for line in real])
        facts = {re.split(r"  +", line)[0] for line in table if line}
        for name in ("wall time", "sampling frequency", "energy"):
            self.assertIn(name, facts)


if __name__ == "__main__":
    unittest.main()
