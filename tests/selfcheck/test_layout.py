"""Includes point downward without cycles, only one folder reads ELF, functions are short; and the
checks find planted faults.

SPDX-License-Identifier: MIT
"""
import os
import unittest

import checking
import sources


class Layout(unittest.TestCase):
    def none(self, findings):
        if findings:
            self.fail("\n" + "\n".join(findings))

    def test_includes_point_downward(self):
        self.none(sources.upward_includes(sources.ROOT))

    def test_no_cycles(self):
        self.none(sources.include_cycles(sources.ROOT))

    def test_one_reader_of_elf(self):
        self.none(sources.elf_readers(sources.ROOT))

    def test_licence_tags(self):
        self.none(sources.glued_tags(sources.ROOT))

    def test_plain_english(self):
        self.none(sources.stiff_words(sources.ROOT))

    def test_lines_are_short(self):
        self.none(sources.long_lines(sources.ROOT))

    def test_include_guards(self):
        self.none(sources.other_guards(sources.ROOT))

    def test_documents_name_files_that_exist(self):
        for document in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"):
            with self.subTest(document):
                self.none(sources.lost_files(sources.ROOT, document))

    def test_functions_are_short(self):
        self.none(sources.long_functions(sources.ROOT))

    def test_there_is_something_to_check(self):
        graph = sources.include_graph(sources.ROOT)
        self.assertGreater(len(graph), 200)
        self.assertEqual({path.split("/")[0] for path in graph}, set(sources.LAYERS))
        self.assertEqual([f for f in sources.FOLDERS if not os.path.isdir(os.path.join(sources.ROOT, f))], [])
        self.assertEqual([t for targets in graph.values() for t in targets if t not in graph], [])
        self.assertGreater(sum(1 for path in graph for _ in sources.functions(sources.lines_of(sources.ROOT, path))),
                           1000)
        for of_lines, path in ((sources.python_functions, "tests/run"), (sources.script_functions, "plot/page/page.js")):
            self.assertGreater(sum(1 for _ in of_lines(sources.lines_of(sources.ROOT, path))), 20)


class Planted(checking.Case):
    """Each check fails on a fault in a tree of a few files."""

    def test_upward_include(self):
        root = self.tree({"base/a.c": '#include "base/a.h"\n#include "formats/b.h"\n', "base/a.h": "",
                          "formats/b.h": "", "plot/c.c": '#include "base/a.h"\n'})
        self.assertEqual(sources.upward_includes(root), ["base/a.c:2: base must not include formats (formats/b.h)"])

    def test_include_of_a_neighbour(self):
        root = self.tree({"record/a.c": '#include "analyze/b.h"\n', "analyze/b.h": "",
                          "convert/c.c": '#include "analyze/b.h"\n', "plot/d.c": '#include "../convert/e.h"\n',
                          "convert/e.h": ""})
        self.assertEqual(sources.upward_includes(root),
                         ["plot/d.c:1: plot must not include convert (convert/e.h)",
                          "record/a.c:1: record must not include analyze (analyze/b.h)"])

    def test_order_inside_analyze(self):
        root = self.tree({"analyze/attribute/a.c": '#include "analyze/aggregate/b.h"\n',
                          "analyze/aggregate/b.h": "", "analyze/compare/c.c": '#include "analyze/annotate/d.h"\n',
                          "analyze/annotate/d.h": '#include "analyze/aggregate/b.h"\n'})
        self.assertEqual(len(sources.upward_includes(root)), 2)

    def test_second_reader_of_elf(self):
        root = self.tree({"formats/elf/a.c": "#include <gelf.h>\n", "record/b.c": "#include <elf.h>\nint machine = EM_386;\n",
                          "analyze/c.c": "#include <libelf.h>\n", "convert/d.c": '\nint e = memcmp(p, "\\x7f" "ELF", 4);\n',
                          "plot/e.c": "int e = memcmp(p, ELFMAG, SELFMAG);\n", "base/f.h": "Elf64_Ehdr head;\n",
                          "record/g.c": "dwarf_init_b(fd, 0);\ndwarf_object_init_b(&object);\n"})
        self.assertEqual(sorted(sources.elf_readers(root)),
                         [f"{at}: only formats/elf/ reads ELF files"
                          for at in ("analyze/c.c:1", "base/f.h:1", "convert/d.c:2", "plot/e.c:1", "record/g.c:1")])

    def test_glued_licence_tag(self):
        root = self.tree({"base/a.c": "/* A.\n * SPDX-License-Identifier: MIT */\n", "base/b.h": "/* SPDX-License-Identifier: MIT */\n",
                          "base/c.c": "/* A.\n * B. SPDX-License-Identifier: MIT */\n"})
        self.assertEqual(sources.glued_tags(root), ["base/c.c:2: the licence tag needs a line of its own"])

    def test_stiff_words(self):
        root = self.tree({"base/a.c": '/* It is no profile. There is no profile. */\n"the end lies at 5"\n/* from I on */\n', "convert/b.1": "A\n.\nis told\n",
                          "README.md": "is no longer another one than b\n", "CHANGELOG.md": "It is no tool.\n", ".ci/run": "#!/bin/sh\n# told\n",
                          "tests/b": "#!/usr/bin/env python3\nfile.tell()  # as for all tools\n", "tests/c": "is told\n",
                          "base/d.h": "/* from NOW [ns, CLOCK_MONOTONIC] on */\n/* from sample FIRST and thread sample NEXT on */\n"})
        self.assertEqual([one.split(": write")[0] for one in sources.stiff_words(root)],
                         ["README.md:1: 'another one than'", "CHANGELOG.md:1: 'is no tool'", ".ci/run:2: 'told'",
                          "base/a.c:1: 'is no profile'", "base/a.c:2: 'lies at'",
                          "base/a.c:3: 'from I on'",
                          "base/d.h:1: 'from NOW [ns, CLOCK_MONOTONIC] on'", "base/d.h:2: 'from sample FIRST and thread sample NEXT on'",
                          "convert/b.1:3: 'told'", "tests/b:2: 'as for all tools'"])

    def test_long_line(self):
        root = self.tree({".editorconfig": "[*]\ncharset = utf-8\n\n[*.{c,h}]\nmax_line_length = 20\n\n[*.py]\nmax_line_length = 30\n",
                          "base/a.c": "/* 20 columns ... */\n/* 21 columns .... */\n", "base/b.py": "é" * 30 + "\n", "tests/c.py": "#" * 31 + "\n",
                          "base/d.1": "a" * 99 + "\n"})
        self.assertEqual(sources.long_lines(root), ["base/a.c:2: 21 columns, more than 20", "tests/c.py:1: 31 columns, more than 30"])

    def test_guard_of_another_header(self):
        root = self.tree({"base/a_b.h": "#ifndef BASE_A_B_H\n#define BASE_A_B_H\n#endif\n", "base/c.h": "#ifndef BASE_A_H\n#endif\n"})
        self.assertEqual(sources.other_guards(root), ["base/c.h: the include guard must be BASE_C_H"])

    def test_headers_that_include_each_other(self):
        root = self.tree({"base/a.h": '#include "base/b.h"\n', "base/b.h": '# include "c.h"\n',
                          "base/c.h": '#include "base/a.h"\n', "base/d.h": '#include "base/a.h"\n'})
        self.assertEqual(sources.include_cycles(root),
                         ["files include each other: base/a.h, base/b.h, base/c.h"])

    def test_modules_that_include_each_other(self):
        both = {"base/a.h": "", "base/a.c": '#include "base/a.h"\n#include "base/b.h"\n', "base/b.h": ""}
        root = self.tree(both | {"base/b.c": '#include "base/a.h"\n'})
        self.assertEqual(sources.include_cycles(root), ["modules include each other: base/a, base/b"])
        self.assertEqual(sources.include_cycles(self.tree(both | {"base/b.c": '#include "base/b.h"\n'})), [])

    def test_internal_header_hides_no_cycle(self):
        """The internal header of a module is not a module of its own, but its includes count."""
        root = self.tree({"base/a.h": "", "base/a.c": '#include "base/a_internal.h"\n',
                          "base/a_part.c": '#include "base/a_internal.h"\n', "base/a_internal.h": '#include "base/a.h"\n'})
        self.assertEqual(sources.include_cycles(root), [])
        root = self.tree({"base/a.h": "", "base/a.c": '#include "base/a_internal.h"\n', "base/b.h": "",
                          "base/b.c": '#include "base/a.h"\n', "base/a_internal.h": '#include "base/b.h"\n'})
        self.assertEqual(sources.include_cycles(root), ["modules include each other: base/a, base/b"])

    def test_folders_that_include_each_other(self):
        root = self.tree({"formats/x/a.h": '#include "formats/y/b.h"\n', "formats/y/b.h": "",
                          "formats/y/c.h": '#include "formats/x/d.h"\n', "formats/x/d.h": ""})
        self.assertEqual(sources.include_cycles(root), ["folders include each other: formats/x, formats/y"])

    def test_lost_file(self):
        root = self.tree({"base/a.c": "", "d.md": "`base/a.c` `base/b.c` `base/*.h` [a](base/a.c) [c](c.md)\n"
                                                  "`record/NAME.c` `/dev/null` `demo-out/bars.png` `base/`\n"})
        self.assertEqual(sources.lost_files(root, "d.md"), [f"d.md:1: {path} does not exist"
                                                            for path in ("base/b.c", "base/*.h", "c.md")])

    def test_long_function(self):
        def function(lines):
            return "int f(int a,\n      int b)\n{\n" + "    a++;\n" * (lines - 4) + "}\n"
        root = self.tree({"base/a.c": "#define X 1\n" + function(60) + "\n" + function(61),
                          "base/b.c": "static const int table[] = {\n" + "    1,\n" * 90 + "};\n"})
        self.assertEqual(sources.long_functions(root), ["base/a.c:63: a function of 61 lines, more than 60"])

    def test_long_script_function(self):
        def python(lines):
            return "    def f(self):\n" + "        self.a += 1\n" * (lines - 1)
        def script(lines):
            return "  function f(a) {\n" + "    if (a) {\n      a++;\n    }\n" * ((lines - 2) // 3) + "    a++;\n" * ((lines - 2) % 3) + "  }\n"
        root = self.tree({"tests/a.py": "class A:\n" + python(60) + "\n" + python(61), "tests/b": "#!/usr/bin/env python3\nclass B:\n" + python(62),
                          "tests/c": "#!/bin/sh\n", "plot/page/d.js": "(function () {\n" + script(60) + "\n" + script(61) + "})();\n"})
        self.assertEqual(sources.long_functions(root),
                         [f"{at}: a function of {lines} lines, more than 60"
                          for at, lines in (("tests/a.py:63", 61), ("tests/b:3", 62), ("plot/page/d.js:63", 61))])


if __name__ == "__main__":
    unittest.main()
