"""Many binaries, few descriptors: few processes are started, and no name is lost without a warning.

SPDX-License-Identifier: MIT
"""
import os
import resource
import shutil
import subprocess
import unittest

import pbin
import rawprofile
import tool
from rawprofile import Map, Run, Sample, Thread

COUNT = 200


class Many(tool.Case):
    """COUNT programs with debug information, a sample in each."""

    @classmethod
    def setUpClass(cls):
        cls.shared = tool.shared_folder(cls)
        source, first = (os.path.join(cls.shared, name) for name in ("p.c", "p0"))
        with open(source, "w", encoding="ascii") as f:
            f.write("int main(void)\n{\n    return 0;\n}\n")
        subprocess.run(["cc", "-g", "-Wl,--build-id=none", "-o", first, source], check=True)
        for i in range(1, COUNT):
            shutil.copy(first, os.path.join(cls.shared, f"p{i}"))
        cls.main = int(subprocess.run(["nm", first], capture_output=True, text=True, check=True).stdout
                       .split(" T main")[0].split()[-1], 16)
        load = next(line.split() for line in subprocess.run(["readelf", "-lW", first], capture_output=True, text=True,
                                                             check=True).stdout.splitlines() if " R E " in line)
        cls.offset, cls.address, cls.size = (int(load[i], 16) for i in (1, 2, 4))

    def profile(self, maps):
        """A profile with a sample in main of each mapping."""
        samples = [Sample(1.0, [Thread(1, m.address + self.main - self.address + 4, i)], i + 1) for i, m in enumerate(maps)]
        return self.file("in.bin", rawprofile.write(Run(samples, maps, len(maps), kind=rawprofile.POWER), "sampler"))

    @unittest.skipIf(tool.is_asan(), "a sanitizer has its own functions")
    def test_missing_files(self):
        """If many files are missing, the tool does not search for each in each folder; existing
        files are found."""
        library, log, out = (os.path.join(self.folder, name) for name in ("fail.so", "log", "out.pbin"))
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "inject", "fail.c")
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", library, source], check=True)
        missing, most = 3000, 200 * 50  # folders are listed after 200 files were missed in them
        size = self.size + -self.size % 4096
        maps = [Map(0x1000000 * (i + 1), size, f"{self.shared}/none{i}", self.offset) for i in range(missing)]
        maps += [Map(0x1000000 * (missing + 1), size, f"{self.shared}/p0", self.offset)]
        env = dict(tool.environment(), FAULT="none:0:0", FAULT_PROGRAM="prof2pbin", LD_PRELOAD=library, FAULT_LOG=log)
        subprocess.run([tool.path("prof2pbin"), "-q", "--no-dwarf", "-o", out, self.profile(maps)], env=env, timeout=60, check=True)
        with open(out, "rb") as f:
            locations = pbin.read(f.read()).locations
        self.assertEqual([l.binary for l in locations if l.frames[0].function == "main"], ["p0"])
        with open(log, encoding="ascii") as f:
            counts = dict(line.split() for line in f)
        self.assertLess(int(counts["open"]), most)

    def names(self, limits):
        size = self.size + -self.size % 4096
        pages = [0x1000000 * (i + 1) for i in range(COUNT)]
        maps = [Map(p, size, "p", self.offset, "", f"{self.shared}/p{i}") for i, p in enumerate(pages)]
        for m in maps:
            m.label = m.path
        raw, out = self.profile(maps), os.path.join(self.folder, "out.pbin")
        ended = subprocess.run([tool.path("prof2pbin"), "-o", out, raw], env=tool.environment(), capture_output=True,
                               timeout=60, text=True, check=True,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limits))
        with open(out, "rb") as f:
            locations = pbin.read(f.read()).locations
        return sum(l.frames[0].function == "main" and l.frames[0].line > 0 for l in locations), ended.stderr

    def test_soft_limit(self):
        if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 1024:
            self.skipTest("too low a limit here")
        self.assertEqual(self.names((64, 1024)), (COUNT, ""))

    def test_few_workers(self):
        """The tool needs one descriptor for each binary, not two."""
        self.assertEqual(self.names((COUNT + 50, COUNT + 50)), (COUNT, ""))

    def test_few_descriptors(self):
        """Files are closed and opened again: one or two at a time."""
        for limit in 20, 26:
            self.assertEqual(self.names((limit, limit)), (COUNT, ""))

    def test_too_few_descriptors(self):
        """The files that cannot be opened are named."""
        known, messages = self.names((6, 6))
        self.assertLess(known, COUNT)
        self.assertIn("Too many open files", messages)
        self.assertIn("more warnings not shown", messages)


if __name__ == "__main__":
    unittest.main()
