"""Test cases for checks of the sources: the tree is clean, and planted faults are found.

SPDX-License-Identifier: MIT
"""
import os
import tempfile
import unittest

from sources import ROOT  # noqa: F401


class Case(unittest.TestCase):
    def tree(self, files):
        """A scratch folder with FILES: {path: text}."""
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        for name, text in files.items():
            path = os.path.join(holder.name, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return holder.name

    def clean(self, results, least):
        """RESULTS are (file, findings) of at least LEAST files, all without findings."""
        count = 0
        for path, findings in results:
            count += 1
            with self.subTest(path):
                if findings:
                    self.fail("\n" + findings)
        self.assertGreaterEqual(count, least)

    def faulty(self, results, expected):
        """The files of RESULTS with findings are those of EXPECTED: {file: text that its findings
        contain}."""
        found = {path: findings for path, findings in results if findings}
        self.assertEqual(set(found), set(expected), found)
        for path, text in expected.items():
            self.assertIn(text, found[path])
