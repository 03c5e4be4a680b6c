"""Headers compile alone; gcc -fanalyzer, clang-format and shellcheck find nothing in the sources,
and each finds planted faults.

SPDX-License-Identifier: MIT
"""
import os
import subprocess
import unittest

import checking
import lint
import priority


def setUpModule():
    priority.lower()


class Lint(checking.Case):
    def test_headers_compile_alone(self):
        self.clean(lint.headers_alone(checking.ROOT), 100)

    def test_gcc_analyzer(self):
        self.clean(lint.analyzer(checking.ROOT), 150)

    def test_clang_format(self):
        self.clean(lint.clang_format(checking.ROOT), 250)

    def test_shellcheck(self):
        self.clean(lint.shellcheck(checking.ROOT), 5)


class Planted(checking.Case):
    def test_header_that_needs_another(self):
        root = self.tree({"base/a.h": "size_t size(void);\n", "base/b.h": "#include <stddef.h>\nsize_t b(void);\n"})
        self.faulty(lint.headers_alone(root), {"base/a.h": "size_t"})

    def test_header_with_a_warning(self):
        root = self.tree({"base/a.h": "static inline int f(int *p)\n{\n    return p;\n}\n"})
        self.faulty(lint.headers_alone(root), {"base/a.h": "int-conversion"})

    def test_gcc_analyzer(self):
        root = self.tree({
            "base/leak.c": "#include <stdlib.h>\nint leak(int n);\nint leak(int n)\n{\n"
                           "    char *p = malloc(8);\n    if (p == NULL || n > 3)\n        return -1;\n"
                           "    free(p);\n    return 0;\n}\n",
            "base/twice.c": "#include <stdlib.h>\nvoid twice(char *p);\nvoid twice(char *p)\n{\n"
                            "    free(p);\n    free(p);\n}\n",
            "base/null.c": "#include <stdlib.h>\n#include <string.h>\nchar *null(void);\nchar *null(void)\n{\n"
                           "    char *p = malloc(8);\n    memset(p, 0, 8);\n    return p;\n}\n",
            "base/good.c": "int good(void);\nint good(void)\n{\n    return 1;\n}\n"})
        self.faulty(lint.analyzer(root), {"base/leak.c": "-Werror=analyzer-malloc-leak",
                                          "base/twice.c": "-Werror=analyzer-double-free",
                                          "base/null.c": "-Werror=analyzer-possible-null-argument"})

    def test_header_that_its_source_includes_first(self):
        """Such a header was compiled alone by the build."""
        needs = {"base/a.h": "size_t size(void);\n", "base/b.h": "#include <stddef.h>\n", "base/a.c": '#include "base/a.h"\n'}
        self.faulty(lint.headers_alone(self.tree(needs)), {})
        needs["base/a.c"] = '#include "base/b.h"\n#include "base/a.h"\n'
        self.faulty(lint.headers_alone(self.tree(needs)), {"base/a.h": "size_t"})

    def test_files_that_the_build_has_analyzed(self):
        """Files that were compiled with -fanalyzer, and have not changed since, are not analyzed
        again."""
        root = self.tree({"base/twice.c": "#include <stdlib.h>\nvoid twice(char *p);\nvoid twice(char *p)\n{\n"
                                          "    free(p);\n    free(p);\n}\n"})
        source, built = os.path.join(root, "base/twice.c"), os.path.join(root, "build/base/twice.o")
        os.makedirs(os.path.dirname(built))
        found = {"base/twice.c": "-Werror=analyzer-double-free"}
        for flags, changed, expected in (([], 0, found), (["-fanalyzer"], 0, {}), (["-fanalyzer"], 10, found)):
            subprocess.run(["gcc", "-g", *flags, "-w", "-c", "-o", built, source], check=True)
            os.utime(source, times=(os.path.getmtime(built) - 5 + changed,) * 2)
            with self.subTest(flags, changed=changed):
                self.faulty(lint.analyzer(root), expected)

    def test_clang_format(self):
        with open(checking.ROOT + "/.clang-format", encoding="utf-8") as file:
            root = self.tree({".clang-format": file.read(), "base/a.c": "int f(void) { return 1; }\n",
                              "base/b.h": "int f(void);\n"})
        self.faulty(lint.clang_format(root), {"base/a.c": "clang-format-violations"})

    def test_shellcheck(self):
        root = self.tree({"tests/a.sh": "rm -rf $1\n", "tests/b": "#!/bin/sh\nlocal x=1\n",
                          "tests/c.py": "#!/usr/bin/python3\nrm = 1\n", "tests/d.sh": "rm -rf \"$1\"\n"})
        self.faulty(lint.shellcheck(root), {"tests/a.sh": "SC2086", "tests/b": "SC3043"})


if __name__ == "__main__":
    unittest.main()
