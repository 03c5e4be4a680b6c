"""clang-tidy finds nothing in the sources, and the checks selected in .clang-tidy find planted
faults.

SPDX-License-Identifier: MIT
"""
import os
import shutil
import tempfile
import unittest

import checking
import lint
import priority


def setUpModule():
    priority.lower()


def settings():
    """The .clang-tidy files, for a tree of planted faults."""
    files = {}
    for name in lint.clang_tidy_settings(checking.ROOT):
        with open(os.path.join(checking.ROOT, name), encoding="utf-8") as file:
            files[name] = file.read()
    return files


class ClangTidy(checking.Case):
    def test_finds_nothing(self):
        self.clean(lint.clang_tidy(checking.ROOT), 150)


class Planted(checking.Case):
    NULL = "int f(int *p)\n{\n    if (p == 0)\n        return *p;\n    return 0;\n}\n"
    WIDE = "unsigned long f(unsigned a)\n{\n    return a * a;\n}\n"
    DEEP = "int f(int n)\n{\n    return n == 0 ? 0 : f(n - 1);\n}\n"
    NAME = "#define _A 1\nint f(int __a)\n{\n    return __a + _A;\n}\n"
    TEXT = "#include <stdlib.h>\nint f(const char *t)\n{\n    return atoi(t);\n}\n"

    def test_each_family_of_checks(self):
        root = self.tree(settings() | {"base/null.c": self.NULL, "base/wide.c": self.WIDE, "base/deep.c": self.DEEP,
                                       "base/text.c": self.TEXT, "base/name.c": self.NAME, "base/good.c": "int f(void)\n{\n    return 1;\n}\n"})
        self.faulty(lint.clang_tidy(root),
                    {"base/null.c": "clang-analyzer-core.NullDereference",
                     "base/wide.c": "bugprone-implicit-widening-of-multiplication-result",
                     "base/deep.c": "misc-no-recursion", "base/text.c": "cert-err34-c",
                     "base/name.c": "clang-diagnostic-reserved-macro-identifier"})

    def test_fault_in_a_header(self):
        root = self.tree(settings() | {"base/a.h": "static inline " + self.DEEP, "base/a.c": '#include "base/a.h"\n'})
        self.faulty(lint.clang_tidy(root), {"base/a.c": "base/a.h:1:19: error: function 'f' is within a recursive"})

    def test_some_folders_are_checked_less(self):
        self.assertEqual(set(settings()), {".clang-tidy"} | {f + "/.clang-tidy" for f in ("record", "samples", "tests")})
        folders = ("record", "samples", "tests/unit")
        root = self.tree(settings() | {f + "/null.c": self.NULL for f in folders} |
                         {f + "/text.c": self.TEXT for f in folders})
        self.faulty(lint.clang_tidy(root), {f + "/null.c": "NullDereference" for f in folders})


class Cache(checking.Case):
    """A result is kept as long as nothing changes that it depends on."""

    def setUp(self):
        self.root = self.tree({"base/a.c": '#include "base/a.h"\nint a = A;\n', "base/a.h": '#include "base/b.h"\n',
                               "base/b.h": "#define A 1\n", "settings": "x\n"})
        place = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, place)
        self.keep(lint, "CACHE", place)
        self.keep(lint.sources, "ROOT", self.root)
        self.keep(lint, "output_of", self.count)
        self.runs = 0

    def keep(self, module, name, value):
        """Sets NAME of MODULE until the end of the test."""
        self.addCleanup(setattr, module, name, getattr(module, name))
        setattr(module, name, value)

    def count(self, _argv, _root, _stdin):
        self.runs += 1
        return f"finding {self.runs}"

    def ask(self, *argv):
        return lint.cached(["gcc", *argv], self.root, "base/a.c", ["settings"])

    def test_same_again(self):
        self.assertEqual([self.ask(), self.ask()], ["finding 1"] * 2)

    def test_other_arguments(self):
        self.assertEqual([self.ask(), self.ask("-O1")], ["finding 1", "finding 2"])

    def test_any_file_changes(self):
        for number, name in enumerate(("base/a.c", "base/a.h", "base/b.h", "settings"), 2):
            with self.subTest(name):
                self.ask()
                with open(os.path.join(self.root, name), "a", encoding="utf-8") as file:
                    file.write("\n")
                self.assertEqual([self.ask(), self.ask()], [f"finding {number}"] * 2)

    def test_damaged_cache(self):
        self.ask()
        for path, _, names in os.walk(lint.CACHE):
            for name in names:
                with open(os.path.join(path, name), "w", encoding="utf-8") as file:
                    file.write("{")
        self.assertEqual(self.ask(), "finding 2")


if __name__ == "__main__":
    unittest.main()
