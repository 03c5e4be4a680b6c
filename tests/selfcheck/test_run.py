"""The output of tests/run, the tests that it runs, and which runs of a tool look for leaks.

SPDX-License-Identifier: MIT"""
import argparse
import importlib.machinery
import io
import json
import os
import subprocess
import sys
import unittest
from unittest import mock

import sources
import tool


def run(*arguments):
    done = subprocess.run([sys.executable, os.path.join(sources.ROOT, "tests", "run"), *arguments], text=True,
                          stdout=subprocess.PIPE, env=tool.environment(), check=False)
    return done.returncode, done.stdout.splitlines()


class Run(unittest.TestCase):
    def test_times_come_before_the_summary(self):
        status, lines = run("-k", "unit/c")
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


def runner():
    """tests/run as a module."""
    return importlib.machinery.SourceFileLoader("runner", os.path.join(sources.ROOT, "tests", "run")).load_module()


class Stolen(unittest.TestCase):
    """Tests that fail while the host of a virtual machine takes CPU time."""

    class Planted(unittest.TestCase):
        fails, error = [], AssertionError

        def test(self):
            with self.subTest("part"):
                value = self.fails.pop(0)
                if value != 0:
                    raise self.error(f"{value} != 0")

    def events(self, fails, stolen, measures=True):
        """What is reported of a test that fails in order of FAILS, while the host takes STOLEN seconds."""
        module = runner()
        taken = iter(float(i) for i in range(100))
        with mock.patch.object(module.Machine, "stolen", lambda _: next(taken) * stolen):
            self.Planted.fails, pipe = list(fails), io.StringIO()
            test = self.Planted("test")
            unittest.TestSuite([test]).run(module.Events(pipe, [test], measures))
        events = [json.loads(line) for line in pipe.getvalue().splitlines()]
        return [kind for kind, *_ in events if kind != "step"], events[-1][2]

    def test_repeated(self):
        self.assertEqual(self.events([0], 9)[0], ["start", "passed"])
        kinds, why = self.events([1, 2, 0], 9)
        self.assertEqual(kinds, ["start", "passed"])
        self.assertEqual(why, "; ".join(f"the host took CPU time: AssertionError: {i} != 0" for i in (1, 2)))
        self.assertEqual(self.events([1, 2, 3, 0], 9)[0], ["start", "failed"])
        for more in ({"stolen": 0}, {"stolen": 9, "measures": False}):
            kinds, why = self.events([1, 0], **more)
            self.assertEqual(kinds, ["start", "failed"])
            self.assertIn("1 != 0", why)

    def test_measurement(self):
        with mock.patch.object(self.Planted, "error", tool.Spoiled):
            self.assertEqual(self.events([1], 0)[0], ["start", "spoiled"])
            self.assertEqual(self.events([1, 2, 3], 9)[0], ["start", "spoiled"])


class Alone(unittest.TestCase):
    """A spoiled measurement is repeated after all other tests."""

    NAME = "record/test_planted.Case.test"

    class Job:
        id = "record/test_planted.py"

        def __init__(self, runs):
            self.runs = runs

        def names(self, _env):
            return [Alone.NAME, Alone.NAME + "_more"]

        def run(self, options, _env, _scratch):
            assert options.k == Alone.NAME
            return self.runs.pop(0)

    def found(self, *runs):
        """Name, status and reason after repetitions that give RUNS: a list of (name, status, why) for each."""
        module = runner()
        job = self.Job([[module.Result(*r) for r in results] for results in runs])
        result = module.alone(job, module.Result(self.NAME, "spoiled", "Traceback\ntool.Spoiled: 1 != 0\n"),
                              argparse.Namespace(k="", timeout=9), "build")
        self.assertEqual(job.runs, [])
        return result.name, result.status, result.why

    def test_result(self):
        name, first, passed = self.NAME, "tool.Spoiled: 1 != 0", (self.NAME, "passed", "")
        self.assertEqual(self.found([passed]), (name, "passed", first))
        self.assertEqual(self.found([passed, (name + "_more", "failed", "other")]), (name, "passed", first))
        self.assertEqual(self.found([(name, "spoiled", "2 != 0")], [passed]), (name, "passed", first + "; 2 != 0"))
        self.assertEqual(self.found(*[[(name, "spoiled", why)] for why in ("2", "3")]), (name, "failed", first + "; 2\n3"))
        self.assertEqual(self.found([(name, "failed", "hang")]), (name, "failed", first + "\nhang"))
        self.assertEqual(self.found([passed, (self.Job.id, "failed", "leak")]), (self.Job.id, "failed", first + "\nleak"))
        self.assertEqual(self.found([]), (name, "failed", first + "\nnot run"))


class Leaks(tool.Case):
    SOURCE = b"""
        #include <stdlib.h>
        int main(void) { char *volatile lost = malloc(7); lost = NULL; return 0; }
    """

    def finds(self):
        """Whether another run of a program that leaks is an error."""
        try:
            self.succeeds(["leaky"])
        except AssertionError as e:
            self.assertIn("LeakSanitizer: detected memory leaks", str(e))
            return True
        return False

    def test_planted_leak(self):
        program = os.path.join(self.folder, "leaky")
        subprocess.run(["gcc", "-fsanitize=address", "-o", program, self.file("leaky.c", self.SOURCE)], check=True)
        with mock.patch.object(tool, "BUILD", self.folder), mock.patch.dict(os.environ, ASAN_OPTIONS="exitcode=99"), \
                mock.patch.object(tool, "is_asan", return_value=True):
            self.assertEqual([i for i in range(1, 25) if self.finds()], [1, 2, 3, 8, 16, 24])
            super().setUp()  # the next test begins again
            self.assertTrue(self.finds())


if __name__ == "__main__":
    unittest.main()
