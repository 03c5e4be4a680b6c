"""What tests/run prints, and what it runs. SPDX-License-Identifier: MIT"""
import os
import subprocess
import sys
import unittest

import sources
import tool


def run(*arguments):
    done = subprocess.run([sys.executable, os.path.join(sources.ROOT, "tests", "run"), *arguments], text=True,
                          stdout=subprocess.PIPE, env=tool.environment(), check=False)
    return done.returncode, done.stdout.splitlines()


class Run(unittest.TestCase):
    def test_times_come_before_the_summary(self):
        status, lines = run("-k", "unit/c", "--times")
        self.assertEqual(status, 0, lines)
        self.assertRegex(lines[-1], r"^\d+ passed, 0 failed$")
        seconds = [float(line.split()[0]) for line in lines[:-1]]
        self.assertEqual(seconds, sorted(seconds))
        self.assertGreaterEqual(len(seconds), 2)
        self.assertRegex(lines[-2], r"^ +\d+\.\d s  unit/\w+$")

    def test_one_test_by_name(self):
        status, lines = run("-k", "check/test_layout.Planted.test_long_function")
        self.assertEqual((status, lines[-1]), (0, "1 passed, 0 failed"))
        self.assertEqual([line.split()[-1] for line in lines[:-1]], ["selfcheck/test_layout.py"])

    def test_nothing_runs(self):
        self.assertEqual(run("-k", "nowhere/test"), (1, ["0 passed, 0 failed"]))


if __name__ == "__main__":
    unittest.main()
