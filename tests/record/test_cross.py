"""The sampler and, for aarch64, funcmeter for boards: they compile without warnings, and need only
the libraries that the Makefile names.

Uses clang, because Debian's cross compilers of gcc cannot be installed together with gcc-multilib,
which other tests need.

SPDX-License-Identifier: MIT
"""
import os
import re
import subprocess
import tempfile
import unittest

import sources

PROCESSORS = {"aarch64-linux-gnu": "ELF64", "arm-linux-gnueabihf": "ELF32", "riscv64-linux-gnu": "ELF64"}
# The prefixes of the function names of each library
NAMES = {"-lelf": ("elf_", "gelf_"), "-ldwarf": ("dwarf_",), "-lbz2": ("BZ2_",), "-ldeflate": ("libdeflate_",), "-lz": ("inflate", "deflate"),
         "-llzma": ("lzma_",), "-lzstd": ("ZSTD_",), "-ljansson": ("json",), "-liberty": ("cplus_demangle",)}


class Cross(unittest.TestCase):
    def run_tool(self, *argv, **options):
        env = {k: v for k, v in os.environ.items() if k not in ("ASAN", "BUILD", "CC", "DEBUG", "MAKEFLAGS")}
        return subprocess.run(argv, capture_output=True, text=True, env=env, **options)

    def check_link(self, compiler, command, folder):
        """Every undefined symbol is in the libraries that COMMAND of the Makefile names."""
        parts = re.findall(r"\S+\.[oa]\b", command)
        libraries = tuple(name for option in re.findall(r"-l\w+", command) for name in NAMES.get(option, ()))
        for kind in ("-static", "-pie"):
            link = self.run_tool(*compiler, kind, "-o", "tool", *parts, "-lm", "-lpthread", "-ldl", cwd=folder)
            missing = set(re.findall(r"undefined reference to `(\w+)'", link.stderr))
            self.assertLessEqual({"elf_begin"}, missing)
            self.assertEqual([m for m in missing if not m.startswith(libraries)], [])

    def build(self, triplet, tools):
        compiler = ["clang-14", "--target=" + triplet]
        with tempfile.TemporaryDirectory() as folder:
            make = ["make", "-j2", f"CROSS_COMPILE={triplet}-", "CC=" + " ".join(compiler), "AR=llvm-ar-14", "DEBUG=1", "CFLAGS=-O0",
                    "WERROR=-Werror -Wno-unused-command-line-argument", "BUILD=" + folder]
            binaries = [os.path.join(folder, tool) for tool in tools]
            plan = self.run_tool(*make, "-n", "V=1", *binaries, cwd=sources.ROOT).stdout.splitlines()
            links = [line for binary in binaries for line in plan if f" -o {binary} " in line]
            self.assertEqual(len(links), len(tools))
            objects = sorted(set(re.findall(re.escape(folder) + r"/\S+\.[oa]\b", " ".join(links))))
            made = self.run_tool(*make, *objects, cwd=sources.ROOT)
            self.assertEqual((made.returncode, made.stderr), (0, ""))
            for link in links:
                self.check_link(compiler, link, folder)
            header = self.run_tool("readelf", "-h", objects[-1])
            self.assertIn(PROCESSORS[triplet], header.stdout)

    def test_boards(self):
        for triplet in PROCESSORS:
            with self.subTest(triplet):
                self.build(triplet, ["sampler", "funcmeter"] if triplet.startswith("aarch64") else ["sampler"])


if __name__ == "__main__":
    unittest.main()
