"""Names of files may contain any byte: prof2pbin reads what the sampler writes.

SPDX-License-Identifier: MIT
"""
import os
import shutil
import signal
import subprocess
import time
import unittest

import pbin
import rawprofile
import tool
from rawprofile import Map, Run, Sample, Thread

ALL = bytes(b for b in range(1, 256) if b != ord("/"))
BURN = os.path.join(tool.BUILD, "samples", "burn")


def run_of(names):
    """A run of two samples in the first of the files NAMES (bytes)."""
    maps = [Map(0x1000 * (i + 1), 0x1000, name.decode("utf-8", "surrogateescape")) for i, name in enumerate(names)]
    samples = [Sample(1.0, [Thread(1, 0x1010, i * 1000)], 1000 * (i + 1)) for i in range(2)]
    return Run(samples, maps, 2000, kind=rawprofile.POWER)


class Labels(tool.Case):
    def read(self, data, *argv, volts=()):
        out = os.path.join(self.folder, "out.pbin")
        ended = self.succeeds(["prof2pbin", "-q", *argv, *volts, "-o", out, self.file("in.bin", data)])
        self.assertEqual(ended.err, "")
        with open(out, "rb") as f:
            return pbin.read(f.read())

    def labels(self, profile):
        return [m.label.encode("utf-8", "surrogateescape") for m in profile.maps]

    def test_every_byte_alone(self):
        for dialect in ("sampler", "sampler-walltime", "pperf"):
            for byte in (*range(1, 32), 34, 92, 127, 155, 255):
                name = b"/x" + bytes([byte]) + b"y"
                with self.subTest(dialect=dialect, byte=byte):
                    profile = self.read(rawprofile.write(run_of([name]), dialect))
                    self.assertEqual(self.labels(profile), [name])
                    self.assertEqual(len(profile.samples), 2)

    def test_all_bytes_in_every_dialect(self):
        names = [b"/x" + bytes([byte]) + b"y" for byte in ALL] + [ALL]
        for dialect in rawprofile.DIALECTS:
            lates = (False,) if dialect == "intrvelf-aggregated" else (False, True)
            for order in "<>":
                for late in lates:
                    run = run_of(names[-3:] if dialect == "intrvelf-aggregated" else names)
                    data = rawprofile.write(run, dialect, late, order)
                    for argv in ([], ["--salvage"]):
                        with self.subTest(dialect=dialect, order=order, late=late, argv=argv):
                            volts = ("-v", "1") if dialect.startswith("intrvelf") else ()
                            labels = self.labels(self.read(data, *argv, volts=volts))
                            self.assertEqual(labels, [m.label.encode("utf-8", "surrogateescape") for m in run.maps])

    def test_names_in_the_extension(self):
        run = run_of([b"/" + ALL])
        ext = rawprofile.extension(run, [0, 1000], {"command": ALL.decode("utf-8", "surrogateescape")},
                                   {1: ALL.decode("utf-8", "surrogateescape")})
        profile = self.read(rawprofile.write(run, "sampler") + ext)
        self.assertEqual(self.labels(profile), [b"/" + ALL])
        self.assertEqual(profile.meta["command"].encode("utf-8", "surrogateescape"), ALL)
        self.assertEqual(profile.threads[0].name.encode("utf-8", "surrogateescape"), ALL)


class Recorded(tool.Case):
    """Programs whose names contain all bytes, recorded by each engine."""

    def program(self, name):
        path = os.path.join(os.fsencode(self.folder), name)
        shutil.copy(BURN, path)
        return path

    def check(self, profile, label):
        self.assertIn(label, [m.label.encode("utf-8", "surrogateescape") for m in profile.maps])

    def record(self, engine, path):
        raw, out = (os.path.join(self.folder, name) for name in ("out.bin", "out.pbin"))
        recorded = subprocess.run([tool.path("sampler"), "-q", "--engine", engine, "-o", raw, "--", path, "0.02"],
                                  capture_output=True, timeout=20, check=False)
        self.assertEqual(recorded.returncode, 0, recorded.stderr)
        self.succeeds(["prof2pbin", "-q", "-o", out, raw])
        with open(out, "rb") as f:
            return pbin.read(f.read())

    def test_all_bytes_in_one_name(self):
        path = self.program(ALL)
        for engine in ("perf", "ptrace"):
            with self.subTest(engine):
                self.check(self.record(engine, path), path)

    def test_line_ends_as_the_kernel_writes_them(self):
        for name in (b"a\\012b", b"a\nb", b"a\n\\012\\01\n"):
            path = self.program(name)
            with self.subTest(name):
                self.check(self.record("ptrace", path), path if name.count(b"\n") < 2 else path.replace(b"\\012", b"\n"))

    def test_short_names(self):
        """The kernel keeps 15 bytes of a program's name as the name of the thread."""
        for at in range(0, len(ALL), 15):
            path = self.program(ALL[at:at + 15])
            with self.subTest(path):
                self.check(self.record("perf", path), path)

    def test_killed(self):
        path, raw = self.program(ALL[:40]), os.path.join(self.folder, "out.bin")
        with subprocess.Popen([tool.path("sampler"), "-q", "-f", "2000", "-o", raw, "--", path, "5"],
                              start_new_session=True) as process:
            deadline = time.monotonic() + 10
            while time.monotonic() < deadline and (not os.path.exists(raw + ".part") or
                                                   os.path.getsize(raw + ".part") < 30000):
                time.sleep(0.02)
            os.killpg(process.pid, signal.SIGKILL)
        out = os.path.join(self.folder, "out.pbin")
        self.succeeds(["prof2pbin", "-q", "--salvage", "-o", out, raw + ".part"])
        with open(out, "rb") as f:
            self.check(pbin.read(f.read()), path)


if __name__ == "__main__":
    unittest.main()
