"""A file that may be another build than the one that ran, where no build-id shows it.

SPDX-License-Identifier: MIT
"""
import os
import subprocess
import time
import unittest

import tool

SPIN = "int main(void) { volatile long v = 0; for (long i = 0; i < 60000000; i++) v += i; return v == 1; }\n"


class Rebuilt(tool.Case):
    def warnings(self, raw):
        done = subprocess.run([tool.path("prof2pbin"), raw, "-o", raw + ".pbin"], env=tool.environment(), capture_output=True, check=True)
        return [line for line in done.stderr.decode().split("\n") if "written after the recording" in line]

    def test_newer_files(self):
        source = self.file("spin.c", SPIN.encode())
        for identity, expected in (("none", 1), ("sha1", 0)):
            program, raw = os.path.join(self.folder, "spin-" + identity), os.path.join(self.folder, identity + ".bin")
            subprocess.run(["gcc", "-O1", "-Wl,--build-id=" + identity, "-o", program, source], check=True)
            os.utime(program, (time.time() - 100,) * 2)
            subprocess.run([tool.path("sampler"), "-q", "-o", raw, "--", program], env=tool.environment(), check=True, capture_output=True)
            self.assertEqual(self.warnings(raw), [])
            os.utime(program, (time.time() + 100,) * 2)
            found = self.warnings(raw)
            self.assertEqual(len(found), expected, found)
            if expected:
                self.assertEqual(found, ["prof2pbin: %s: written after the recording, and no build-id shows whether it is the file "
                                         "that ran: names and lines may be of another build" % program])
            table = self.succeeds(["pbin-aggregate", "-q", "-k", "function", "--format=csv", raw + ".pbin"]).out.decode()
            self.assertIn("main", table)


if __name__ == "__main__":
    unittest.main()
