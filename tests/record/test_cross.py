"""The sampler for boards: compiled without a warning, and in need of libelf, libbz2 and the C library alone.

By clang, as Debian's cross compilers of gcc cannot be installed beside gcc-multilib, which other tests need.

SPDX-License-Identifier: MIT
"""
import os
import re
import subprocess
import tempfile
import unittest

import sources

PROCESSORS = {"aarch64-linux-gnu": "ELF64", "arm-linux-gnueabihf": "ELF32", "riscv64-linux-gnu": "ELF64"}
LIBRARIES = ("elf_", "gelf_", "BZ2_")


class Cross(unittest.TestCase):
    def build(self, triplet):
        compiler = ["clang-14", "--target=" + triplet]
        with tempfile.TemporaryDirectory() as folder:
            argv = ["make", "-j2", f"CROSS_COMPILE={triplet}-", "CC=" + " ".join(compiler),
                    "AR=llvm-ar-14", "CFLAGS=-O1", "WERROR=-Werror -Wno-unused-command-line-argument", "BUILD=" + folder]
            env = {k: v for k, v in os.environ.items() if k not in ("ASAN", "BUILD", "CC", "DEBUG", "MAKEFLAGS")}
            parts = ["record/sampler.o", "librecord.a", "libformats.a", "libbase.a"]
            made = subprocess.run(argv + [os.path.join(folder, p) for p in parts], cwd=sources.ROOT, env=env,
                                  capture_output=True, text=True)
            self.assertEqual((made.returncode, made.stderr), (0, ""))
            for kind in ("-static", "-pie"):
                link = subprocess.run([*compiler, kind, "-o", "sampler", *parts, "-lm", "-lpthread", "-ldl"],
                                      cwd=folder, capture_output=True, text=True)
                missing = set(re.findall(r"undefined reference to `(\w+)'", link.stderr))
                self.assertIn("elf_begin", missing)
                self.assertIn("BZ2_bzCompress", missing)
                self.assertEqual([m for m in missing if not m.startswith(LIBRARIES)], [])
            header = subprocess.run(["readelf", "-h", os.path.join(folder, parts[0])], capture_output=True, text=True)
            self.assertIn(PROCESSORS[triplet], header.stdout)

    def test_boards(self):
        for triplet in PROCESSORS:
            with self.subTest(triplet):
                self.build(triplet)


if __name__ == "__main__":
    unittest.main()
