"""The behaviour of tools when their output is not read, on a terminal, and when nothing is
selected. Environment: BUILD, the build folder.

SPDX-License-Identifier: MIT
"""
import os
import pty
import resource
import struct
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import rawprofile as raw  # noqa: E402
import tool  # noqa: E402


def long_profile(samples):
    """A `sampler` profile of one thread, in a map that matches no file."""
    run = raw.Run([], [raw.Map(0x10000, 0x1000, "gone")], samples * 1000, 0, raw.POWER)
    block = b"".join(struct.pack("<dIIQQ", 2.0, 1, 7, 0x10000 + i, 10**12) for i in range(1000))
    return raw.header(run, raw.POWER, "<", samples=samples) + raw.vmmaps(run, "<") + block * (samples // 1000)


class Case(tool.Case):
    def pbin(self, samples, name="long.pbin"):
        path = os.path.join(self.folder, name)
        self.succeeds(["prof2pbin", "-q", "-o", path, self.file("long.bin", long_profile(samples))],
                      timeout=60)
        return path


class Ends(Case):
    @staticmethod
    def cpu_time(run):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = run()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, result

    def test_closed_pipe_ends_a_long_dump(self):
        argv = [tool.path("pbin-dump"), "--samples", self.pbin(tool.rounds(1_000_000, 5))]

        def first_line():
            with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as dump:
                dump.stdout.readline()
                dump.stdout.close()
                error = dump.stderr.read()
            return dump.returncode, error.decode()

        whole, _ = self.cpu_time(lambda: subprocess.run(argv, stdout=subprocess.DEVNULL, check=True))
        short, end = self.cpu_time(first_line)
        self.assertEqual(end, (0, ""))
        self.assertLess(short, whole / 3)


    def test_closed_pipe_is_no_error(self):
        """The condition of a comparison still applies."""
        path = self.pbin(100_000)
        for argv, status in ((["pbin-aggregate", "-q", "-k", "pc", "--format=csv", path], 0),
                             (["pbin-dump", "--samples", path], 0),
                             (["pbin-compare", "--fail-if", "total:time>0%", "--base", path, path, "--with", path, path], 0)):
            with subprocess.Popen([tool.path(argv[0]), *argv[1:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  preexec_fn=lambda: time.sleep(0.2)) as process:
                process.stdout.close()
                self.assertEqual((process.stderr.read(), process.wait()), (b"", status), argv)

    def test_full_disk_is_an_error(self):
        with open("/dev/full", "wb") as full:
            ended = tool.run(["pbin-aggregate", "-q", self.pbin(1000)], stdout=full)
            other = tool.run(["pbin-addr2line", "-e", tool.path("pbin-addr2line"), "0x1139"], stdout=full)
        for name, end in (("pbin-aggregate", ended), ("pbin-addr2line", other)):
            self.assertEqual((end.status, end.err), (1, name + ": <stdout>: cannot write: No space left on device\n"))


class Inputs(Case):
    def on_terminal(self, argv, **environment):
        """Runs ARGV on a terminal without any input; returns its output on the terminal."""
        ours, theirs = pty.openpty()
        env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
        with subprocess.Popen([tool.path(argv[0]), *argv[1:]], stdin=theirs, stdout=theirs, stderr=theirs,
                              env=dict(env, **environment), start_new_session=True) as process:
            os.close(theirs)
            os.write(ours, b"\4" * 20)  # the end of the input, however often it is read
            text = b""
            try:
                while part := os.read(ours, 65536):
                    text += part
            except OSError:
                pass
        os.close(ours)
        return text.decode()

    def test_what_is_awaited(self):
        for name, what in (("prof2pbin", "a raw profile"), ("sthem2pbin", "a CSV export"), ("gmon2pbin", "a gmon.out"),
                           ("igprof2pbin", "a dump of IgProf"), ("perf2pbin", "a recording of perf"),
                           ("gperf2pbin", "a CPU profile of gperftools"), ("tracerv2pbin", "a trace of TracerV"),
                           ("memtrace2pbin", "a trace of memory accesses"),
                           ("pbin2gmon", "a pbin profile"), ("pbin-aggregate", "a pbin profile"),
                           ("pbin-dump", "a pbin profile"), ("pbin-annotate", "a pbin profile"),
                           ("pbin-callgraph", "a pbin profile")):
            text = self.on_terminal([name])
            self.assertIn(f"{name}: waiting for {what} from the terminal", text)
        self.assertNotIn("waiting", self.on_terminal(["pbin-dump", "-q"]))
        self.assertNotIn("waiting", self.on_terminal(["pbin-dump", self.pbin(1000)]))

    def test_empty(self):
        """An empty input is named once: a file by its name, standard input in words."""
        path = self.file("empty", b"")
        for name in ("prof2pbin", "sthem2pbin", "gmon2pbin", "igprof2pbin", "perf2pbin", "gperf2pbin", "tracerv2pbin",
                     "memtrace2pbin", "pbin2gmon", "pbin-aggregate", "pbin-dump", "pbin-annotate", "pbin-callgraph"):
            with self.subTest(name):
                ended = tool.run([name], stdin=b"")
                self.assertEqual((ended.status, ended.out), (1, b""))
                self.assertRegex(ended.err, rf"^{name}: standard input is empty, expected an? [^\n]+\n$")
                what = ended.err.split(", expected ")[1]
                ended = tool.run([name, path])
                self.assertEqual((ended.status, ended.out, ended.err), (1, b"", f"{name}: {path}: empty file, expected {what}"))

    def test_dumb_terminal(self):
        argv = ["pbin-aggregate", "-q", self.pbin(1000)]
        self.assertIn("\x1b[", self.on_terminal(argv, TERM="xterm"))
        self.assertNotIn("\x1b", self.on_terminal(argv, TERM="dumb"))
        self.assertIn("\x1b[", self.on_terminal([*argv, "--color=always"], TERM="dumb"))

    def test_empty_selections(self):
        path = self.pbin(1000)
        for options, text in ((["--filter", "function=nothing"], "nothing is selected"),
                              (["--exclude-external", "--exclude", "function=*"], "target binary"), (["--start", "1e6"], "nothing is selected")):
            ended = self.succeeds(["pbin-aggregate", *options, path])
            self.assertIn(text, ended.err, options)
            self.assertEqual(self.succeeds(["pbin-aggregate", "-q", *options, path]).err, "")
        self.assertEqual(self.succeeds(["pbin-aggregate", "--filter", "function=*", path]).err, "")


class Outputs(Case):
    def test_unknown_suffix(self):
        path = self.pbin(1000)
        for argv in (["pbin-aggregate", path], ["pbin-compare", path, path], ["pbin-dump", path], ["pbin-callgraph", path],
                     ["pbin-annotate", path]):
            for name in ("x.xlsx", "x.xlsx.bz2", "a.b/x.jpg"):
                out = os.path.join(self.folder, name)
                ended = self.fails([argv[0], "-q", "-o", out, *argv[1:]], out, status=2)
                self.assertIn("unknown suffix", ended.err)
                self.assertFalse(os.path.exists(out))
        for name in ("plain", ".hidden", "x.csv", "x.pbin.bz2"):
            self.succeeds(["pbin-aggregate", "-q", "-o", os.path.join(self.folder, name), path])
        self.succeeds(["pbin-aggregate", "-q", "--format=csv", "-o", os.path.join(self.folder, "x.dat"), path])

    def test_output_that_is_stdout(self):
        """-o - is equivalent to no -o, including colours."""
        path = self.pbin(1000)
        for options in ([], ["--color=always"]):
            argv = ["pbin-aggregate", "-q", *options, path]
            self.assertEqual(self.succeeds(argv + ["-o", "-"]).out, self.succeeds(argv).out)
        self.assertIn(b"\x1b[", self.succeeds(argv + ["-o", "-"]).out)

    def test_output_without_a_name(self):
        """An empty name, as from an unset variable, is reported before anything is read."""
        for name in ("prof2pbin", "gmon2pbin", "igprof2pbin", "perf2pbin", "gperf2pbin", "tracerv2pbin", "memtrace2pbin", "pbin2gmon",
                     "sthem2pbin", "pbin-aggregate", "pbin-annotate", "pbin-callgraph", "pbin-dump", "pbin-compare"):
            ended = tool.run([name, "-o", "", "/nowhere"])
            self.assertEqual(ended.status, 2, name)
            self.assertIn("-o needs the name of a file", ended.err)


class Messages(Case):
    def test_names_from_files_are_harmless_to_a_terminal(self):
        """U+009B begins an escape sequence, just as ESC [ does."""
        run = raw.Run([raw.Sample(1.0, [raw.Thread(1, 0x10001)])], [raw.Map(0x10000, 0x1000, "x\x9b31m")], 1000, 0,
                      raw.POWER)
        ended = self.succeeds(["prof2pbin"], stdin=raw.write(run, "sampler"))
        self.assertIn(r"x\xc2\x9b31m: not found", ended.err)
        self.assertNotIn("\x9b", ended.err)


class Phases(Case):
    def test_phase_that_never_comes(self):
        long = self.pbin(1000)
        for phase, text in (("nothing", "no function is called 'nothing'"),
                            ("_unknwon:2", "no function is called '_unknwon', did you mean '_unknown'?"),
                            ("_unknown:2", "no such phase: _unknown was entered 1 time")):
            ended = self.succeeds(["pbin-aggregate", "--phase", phase, long])
            self.assertEqual(ended.err, f"pbin-aggregate: {long}: {text}\n")
        self.assertEqual(self.succeeds(["pbin-aggregate", "--phase", "_unknown:1", long]).err, "")


class Progress(Case):
    """Bars appear after a second: a FIFO provides half of the profile, and the rest after that."""

    def aggregate(self, *arguments):
        """The output of pbin-aggregate on stderr, a terminal."""
        with open(self.pbin(400_000), "rb") as file:
            data = file.read()
        fifo, (ours, theirs) = os.path.join(self.folder, "slow.pbin"), pty.openpty()
        os.mkfifo(fifo)
        environment = dict(os.environ, TERM="xterm")
        argv = [tool.path("pbin-aggregate"), *[fifo if a == "FIFO" else a for a in arguments]]
        with open("/dev/null", "rb") as null, subprocess.Popen(
                argv, stdin=null, stdout=subprocess.DEVNULL, stderr=theirs, env=environment) as process:
            os.close(theirs)
            with open(fifo, "wb") as out:
                out.write(data[:len(data) // 2])
                out.flush()
                time.sleep(1.3)
                out.write(data[len(data) // 2:])
            text = b""
            try:
                while part := os.read(ours, 65536):
                    text += part
            except OSError:  # the other end is closed
                pass
        os.close(ours)
        os.unlink(fifo)
        self.assertEqual(process.returncode, 0, text)
        return text.decode()

    def test_bar_of_one_file(self):
        text = self.aggregate("FIFO")
        self.assertRegex(text, r"\[#+ *\] +\d+ %  [\d.e+]+ samples/s  \d+ s left")
        self.assertTrue(text.endswith("\r\033[K"), text)

    def test_no_bar_when_quiet_or_for_several_files(self):
        self.assertEqual(self.aggregate("-q", "FIFO"), "")
        self.assertEqual(self.aggregate("FIFO", self.pbin(1000, "other.pbin")), "")


if __name__ == "__main__":
    unittest.main()
