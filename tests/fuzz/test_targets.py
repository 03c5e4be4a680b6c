"""The libFuzzer targets: their corpora, past failures, and some seconds of new inputs each. "make fuzz" runs longer.

SPDX-License-Identifier: MIT
"""
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fuzz")
SECONDS = 2


def load():
    loader = importlib.machinery.SourceFileLoader("fuzz", SCRIPT)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("fuzz", loader))
    loader.exec_module(module)
    return module


fuzz = load()


class Targets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        fuzz.build("fuzz")

    def run_target(self, target):
        ended = subprocess.run([SCRIPT, "--seconds", str(SECONDS), target], capture_output=True, text=True, check=False,
                               errors="replace")
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        corpus, runs = map(int, re.search(r"(\d+) inputs of the corpus, .* (\d+) executions", ended.stdout).groups())
        self.assertGreater(corpus, 0)
        self.assertGreater(runs, corpus)

    def test_each_has_a_parser(self):
        self.assertEqual(set(fuzz.TARGETS), set(fuzz.PARSERS))


for name in fuzz.TARGETS:
    setattr(Targets, "test_" + name, lambda self, target=name: self.run_target(target))

if __name__ == "__main__":
    unittest.main()
