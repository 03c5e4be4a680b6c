"""The libFuzzer targets: their corpora, past failures, and two seconds of new inputs each. "make
fuzz" runs longer.

Two targets at a time, beside the other tests (tests/run: BESIDE).

SPDX-License-Identifier: MIT
"""
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import unittest

import priority

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
        priority.lower()
        fuzz.build("fuzz")

    def start(self, target):
        argv = [SCRIPT, "--seconds", str(SECONDS), "--seed", "1", target]
        return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")

    def run_targets(self, targets):
        started = [(target, self.start(target)) for target in targets]
        for target, process, output in [(target, process, process.communicate()[0]) for target, process in started]:
            with self.subTest(target):
                self.assertEqual(process.returncode, 0, output)
                corpus, runs = map(int, re.search(r"(\d+) inputs of the corpus, .* (\d+) executions", output).groups())
                self.assertGreater(corpus, 0)
                self.assertGreater(runs, corpus)

    def test_each_has_a_parser(self):
        self.assertEqual(set(fuzz.TARGETS), set(fuzz.PARSERS))


for pair in [fuzz.TARGETS[i:i + 2] for i in range(0, len(fuzz.TARGETS), 2)]:
    setattr(Targets, "test_" + "_and_".join(pair), lambda self, targets=pair: self.run_targets(targets))

if __name__ == "__main__":
    unittest.main()
