"""Functions, binaries and files that are not in a profile: similar names are suggested.

SPDX-License-Identifier: MIT
"""
import unittest

import pbin
import tool

MATRIX = "mats<std::vector<double, std::allocator<double> > >::multiply(std::vector<double> const&, int) const"


class Suggestions(tool.Case):
    def setUp(self):
        super().setUp()
        names = ["main", MATRIX, "compute_forces", "leaf"]
        places = [pbin.Location(0x1000 + i, "app" if i < 3 else "libmatrix.so.1", [pbin.Frame(n, n, "/src/mats.cpp", 5)])
                  for i, n in enumerate(names)]
        samples = [pbin.Sample(1_000_000, 2.0, [(0, i % 4, 900_000)]) for i in range(40)]
        profile = pbin.Profile({"target": "other", "pmu": pbin.POWER, "unit": "W", "cpu_time": 1, "times": 1,
                                "samples": 40, "wall_ns": 40_000_000}, [pbin.Thread(1, 1, "app")], places)
        profile.samples = samples
        self.path = self.file("p.pbin", pbin.write(profile))

    def warnings(self, *argv):
        return self.succeeds(["pbin-aggregate", *argv, self.path]).err

    def test_filters(self):
        for condition, text in (("function=mats", "no function matches 'mats', did you mean 'mats<...>::multiply'?"),
                                ("function=compute_focres", "no function matches 'compute_focres', did you mean 'compute_forces'?"),
                                ("function=Main", "no function matches 'Main', did you mean 'main'?"),
                                ("binary=libmatrix.so", "no binary matches 'libmatrix.so', did you mean 'libmatrix.so.1'?"),
                                ("file=mats.cpp", "no file matches 'mats.cpp', did you mean '/src/mats.cpp'?"),
                                ("function=nothing_alike", "no function matches 'nothing_alike'")):
            self.assertEqual(self.warnings("--filter", condition).splitlines()[0], f"pbin-aggregate: {self.path}: {text}")

    def test_aggregated(self):
        made = self.path
        self.path = self.folder + "/sum.pbin"
        self.succeeds(["pbin-aggregate", "-o", self.path, made])
        self.assertIn("no function matches 'compute_focres', did you mean 'compute_forces'?", self.warnings("--filter=function=compute_focres"))
        self.assertIn("no binary matches 'libmatrix.so', did you mean 'libmatrix.so.1'?", self.warnings("--filter=binary=libmatrix.so"))
        self.assertEqual(self.warnings("--filter=function=leaf"), "")

    def test_filters_that_match(self):
        for argv in (["--filter=function=m*"], ["--filter=function=_idle"], ["--exclude=function=mats"],
                     ["--filter=binary=app", "--filter=function~nothing|leaf|main"], ["--filter=thread=1"]):
            self.assertEqual(self.warnings(*argv).replace("pbin-aggregate: nothing is selected: no sample matches these times, "
                                                          "phases and keys\n", ""), "", argv)

    def test_target_without_samples(self):
        self.assertEqual(self.warnings("--exclude-external"),
                         "pbin-aggregate: nothing is selected: no sample is in the target binary, 'other', with these options\n")

    def test_annotate(self):
        ended = tool.run(["pbin-annotate", "-f", "mats", self.path])
        self.assertEqual((ended.status, ended.err), (0, "pbin-annotate: nothing is selected: no function matches 'mats', did you mean "
                                                        "'mats<...>::multiply'?\n"))
        ended = tool.run(["pbin-annotate", "-f", "main", "-f", "laef", self.path])
        self.assertIn("no function matches 'laef', did you mean 'leaf'?\n", ended.err)

    def test_suggestions_are_accepted(self):
        """A suggestion matches when it replaces the wrong name, and so does a name without
        parameters."""
        suggested = "mats<...>::multiply"
        whole = "mats<std::vector<double, std::allocator<double> > >::multiply"
        for name in (suggested, whole, MATRIX, "*::multiply"):
            with self.subTest(name):
                ended = self.succeeds(["pbin-aggregate", "--filter=function=" + name, "--format=csv", self.path])
                self.assertEqual((ended.err, ended.out.count(b"\n")), ("", 2))
                ended = tool.run(["pbin-annotate", "-f", name, "--format=csv", self.path])
                self.assertEqual((ended.status, ended.err.count("no function")), (0, 0))
                self.assertIn(b"mats<", ended.out)
                ended = self.succeeds(["pbin-aggregate", "--phase=" + name, "--format=csv", self.path])
                self.assertNotIn("no function", ended.err)
                ended = tool.run(["pbin-callgraph", "--focus", name, "--format=json", self.path])
                self.assertNotIn("nothing is selected", ended.err)

    def test_callgraph(self):
        ended = tool.run(["pbin-callgraph", "--focus", "mian", self.path])
        self.assertEqual(ended.status, 0)
        self.assertTrue(ended.err.endswith("pbin-callgraph: nothing is selected: no function named 'mian', did you mean 'main'?\n"))


if __name__ == "__main__":
    unittest.main()
