"""Endless pipes, and compressed ones: refused on account of their first bytes, before anything is
copied to $TMPDIR.

SPDX-License-Identifier: MIT
"""
import bz2
import os
import re
import signal
import subprocess
import unittest

import pbin
import rawprofile
import tool

MB = tool.MB


class Endless(tool.Case):
    def refused(self, argv, text):
        """ARGV ends although the pipe does not end."""
        with subprocess.Popen(["yes", text], stdout=subprocess.PIPE) as source:
            try:
                ended = tool.run(argv, stdin=source.stdout, timeout=10)
            finally:
                source.kill()
        self.assertEqual((ended.status, ended.err.count("\n")), (1, 1), f"{argv}: {ended.err}")
        return ended.err

    def test_every_tool(self):
        for argv in (["prof2pbin"], ["prof2pbin", "--salvage"], ["sthem2pbin"], ["igprof2pbin"], ["perf2pbin"], ["gperf2pbin"],
                     ["tracerv2pbin"], ["memtrace2pbin"], ["pbin-aggregate"], ["pbin-dump"],
                     ["pbin-compare", "-"], ["pbin-annotate"], ["pbin-callgraph"], ["pbin2gmon"],
                     ["pbin-plot", "timeline", "-o", self.folder + "/x.svg"], ["gmon2pbin", "-"]):
            if argv[0] == "pbin-compare":
                argv = [*argv, self.file("p.pbin", pbin.Writer({"name": "x"}).finish())]
            with self.subTest(argv):
                self.refused(argv, "GGGG")

    def test_messages(self):
        self.assertIn("not a raw profile", self.refused(["prof2pbin"], "GGGG"))
        self.assertIn("not a pbin profile", self.refused(["pbin-plot", "heatmap", "-o", self.folder + "/x.svg"], "x"))


class Closed(tool.Case):
    """The reader of standard output has ended."""
    def status(self, *argv):
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as out:
            ended = tool.run(argv, stdout=out)
        self.assertEqual(ended.err, "")
        return ended.status

    def test_help(self):
        for name in ("sampler", "funcmeter", "prof2pbin", "pbin-aggregate", "pbin-plot"):
            for option in ("--help", "--usage", "--version", *(["--list-pmus"] if name == "sampler" else [])):
                self.assertEqual(self.status(name, option), 0, (name, option))

    def test_the_command_inherits_the_signal(self):
        """The signal is ignored in the command only if it is ignored in the sampler."""
        read = ["sh", "-c", "grep SigIgn /proc/self/status"]
        for ignored in (False, True):
            ended = subprocess.run([tool.path("sampler"), "-q", "-o", self.folder + "/x.bin", "--", *read], capture_output=True, text=True,
                                   check=True, timeout=20, restore_signals=not ignored)
            mask = int(re.search(r"SigIgn:\s*(\w+)", ended.stdout)[1], 16)
            self.assertEqual(bool(mask >> (signal.SIGPIPE - 1) & 1), ignored)


class Zeros(tool.Case):
    def test_bzip2_of_a_gigabyte(self):
        """A file of 785 bytes; nothing is written."""
        small = bz2.compress(bytes(64 * MB))
        raw = small * 16
        for name, data in (("zeros", raw), ("an endless spool", bz2.compress(bytes(32) + rawprofile.SIGNATURE) + raw)):
            path = self.file("zeros.bin", data)
            with self.subTest(name), open(path, "rb") as f:
                ended = tool.run(["prof2pbin"], stdin=f, timeout=5)
                self.assertEqual(ended.status, 1)
                self.assertIn("killed sampler", ended.err)
                self.assertLess(ended.seconds, 20 if tool.is_asan() else 3)


class Full(tool.Case):
    def test_no_room(self):
        """Data that do not fit cause an error that reports the room needed."""
        if os.getuid() != 0:
            self.skipTest("needs root, to mount a small file system")
        raw = self.file("in.bin", b"\1" + bytes(31) + bytes(8 * MB))
        script = f'mount -t tmpfs -o size=1m none "{self.folder}/small" && TMPDIR="{self.folder}/small" ' \
                 f'"{tool.path("prof2pbin")}"'
        os.mkdir(self.folder + "/small")
        with open(raw, "rb") as f:
            cat = subprocess.Popen(["cat"], stdin=f, stdout=subprocess.PIPE)
        with cat:
            ended = subprocess.run(["unshare", "-m", "sh", "-c", script], stdin=cat.stdout, capture_output=True, text=True,
                                   timeout=20, check=False)
            cat.stdout.close()
        if "unshare" in ended.stderr or "mount" in ended.stderr:
            self.skipTest(ended.stderr)
        self.assertEqual(ended.returncode, 1)
        self.assertRegex(ended.stderr, r"<stdin>: cannot copy it to a temporary file, which needs more than \d+ bytes "
                                       r"\(TMPDIR chooses another folder\): No space left on device")


if __name__ == "__main__":
    unittest.main()
