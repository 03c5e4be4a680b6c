"""The targets of the Makefile.

SPDX-License-Identifier: MIT"""
import json
import os
import re
import subprocess
import tempfile
import unittest

import sources
import tool

FOLDERS = tool.BUILD[len(sources.ROOT):].split("/")
FLAVOUR = [name + "=1" for name in ("ASAN", "DEBUG") if name.lower() in FOLDERS] + ["CC=clang-14"] * ("clang" in FOLDERS)


# settings of the make that runs the tests must not affect the tested makes
ENVIRONMENT = {name: value for name, value in os.environ.items()
               if name not in ("ASAN", "BUILD", "CC", "DEBUG", "MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS", "TEST", "V")}


def make(*arguments, flavour=FLAVOUR):
    return subprocess.run(["make", "--no-print-directory", *flavour, *arguments], cwd=sources.ROOT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True, env=ENVIRONMENT).stdout


class Make(unittest.TestCase):
    def test_help_lists_every_target(self):
        with open(os.path.join(sources.ROOT, "Makefile"), encoding="utf-8") as file:
            phony = re.search(r"\n\.PHONY: (.*)", file.read())[1].split()
        listed = [line.split()[0] for line in make("help").splitlines()]
        self.assertEqual(sorted(listed), sorted(phony + ["compile_commands.json"]))
        self.assertEqual([line for line in make("help").splitlines() if len(line.split()) < 3], [])

    def test_one_test(self):
        self.assertIn("-k 'block:'", make("-n", "check-only", "TEST=block:"))
        self.assertNotIn("-k", make("-n", "check-only").split("tests/run")[1])

    def test_uninstall_removes_what_install_copies(self):
        with tempfile.TemporaryDirectory() as folder:
            make("install", "DESTDIR=" + folder, "PREFIX=/usr")
            installed = [os.path.join(p, n) for p, _, names in os.walk(folder) for n in names]
            self.assertIn(folder + "/usr/bin/prof2pbin", installed)
            self.assertIn(folder + "/usr/share/man/man5/pbin.5", installed)
            make("uninstall", "DESTDIR=" + folder, "PREFIX=/usr")
            self.assertEqual([n for _, _, names in os.walk(folder) for n in names], [])

    def test_debug(self):
        commands = make("-n", "-B", "V=1", "debug", flavour=[])
        built = [line for line in commands.splitlines() if line.endswith(" base/error.c")]
        self.assertEqual(len(built), 1)
        self.assertRegex(built[0], r" -O0 -g3 .*-o build/debug/base/error\.o ")
        self.assertEqual(re.findall(r"-fsanitize|FORTIFY|-o build/base/", commands), [])

    def test_compile_commands(self):
        path = os.path.join(sources.ROOT, "compile_commands.json")
        make("-B", "compile_commands.json")
        with open(path, encoding="utf-8") as file:
            entries = json.load(file)
        self.assertEqual(sorted(e["file"] for e in entries if not e["file"].startswith("tests/")),
                         sources.files(sources.ROOT, ".c", folders=sources.LAYERS))
        self.assertEqual({e["directory"] for e in entries}, {sources.ROOT})
        self.assertIn("-DPBIN_TOOLS_VERSION='\"", entries[0]["command"])


if __name__ == "__main__":
    unittest.main()
