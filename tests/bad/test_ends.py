"""What tools do when nobody reads on. Environment: BUILD, the build folder.

SPDX-License-Identifier: MIT
"""
import os
import resource
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import rawprofile as raw  # noqa: E402
import tool  # noqa: E402


def long_profile(samples):
    """A `sampler` profile of one thread, in a map that fits no file."""
    run = raw.Run([], [raw.Map(0x10000, 0x1000, "gone")], samples * 1000, 0, raw.POWER)
    block = b"".join(struct.pack("<dIIQQ", 2.0, 1, 7, 0x10000 + i, 10**12) for i in range(1000))
    return raw.header(run, raw.POWER, "<", samples=samples) + raw.vmmaps(run, "<") + block * (samples // 1000)


class Ends(tool.Case):
    def pbin(self, samples):
        path = os.path.join(self.folder, "long.pbin")
        self.succeeds(["prof2pbin", "-q", "-o", path, self.file("long.bin", long_profile(samples))],
                      timeout=60)
        return path

    @staticmethod
    def cpu_time(run):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = run()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, result

    def test_closed_pipe_ends_a_long_dump(self):
        argv = [tool.path("pbin-dump"), "--samples", self.pbin(1_000_000)]

        def first_line():
            with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as dump:
                dump.stdout.readline()
                dump.stdout.close()
                error = dump.stderr.read()
            return dump.returncode, error.decode()

        whole, _ = self.cpu_time(lambda: subprocess.run(argv, stdout=subprocess.DEVNULL, check=True))
        short, end = self.cpu_time(first_line)
        self.assertEqual(end, (1, "pbin-dump: <stdout>: cannot write: Broken pipe\n"))
        self.assertLess(short, whole / 3)


if __name__ == "__main__":
    unittest.main()
