"""A file may be from a build other than the one that ran, and there are no build-ids that show it.

SPDX-License-Identifier: MIT
"""
import os
import shutil
import struct
import subprocess
import time
import unittest

import rawprofile
import tool

SOURCE = """
__attribute__((noinline)) long alpha(long n) { volatile long v = 0; for (long i = 0; i < n; i++) v += i * 3; return v; }
__attribute__((noinline)) long beta(long n) { volatile long v = 0; for (long i = 0; i < n; i++) v ^= i * 5; return v; }
int main(void) { return alpha(60000000) == beta(1000); }
"""
# The sizes are the same, but the order differs: the loop of the first function is where the second
# was.
OTHER = SOURCE.replace("alpha", "x").replace("beta", "alpha").replace("x(", "beta(").replace("i * 3", "i * 9")


def blocks(data):
    """(type, begin, end) of the blocks of the raw extension."""
    at = data.rindex(rawprofile.SIGNATURE) + len(rawprofile.SIGNATURE)
    while at < len(data):
        size = struct.unpack_from("<I", data, at)[0]
        yield data[at + 4:at + 8].decode(), at, at + 16 + size
        at += 16 + size


def code_of(path):
    """The bytes of the executable segments, from readelf."""
    out = subprocess.run(["readelf", "-lW", path], capture_output=True, check=True).stdout.decode()
    rows = [line.split() for line in out.split("\n") if line.strip().startswith("LOAD") and " E " in line]
    with open(path, "rb") as f:
        data = f.read()
    return b"".join(data[int(r[1], 16):int(r[1], 16) + int(r[4], 16)] for r in rows)


class Rebuilt(tool.Case):
    def compile(self, source, *options):
        program = os.path.join(self.folder, "spin")
        subprocess.run(["gcc", "-O1", *options, "-o", program, self.file("spin.c", source.encode())], check=True)
        os.utime(program, (time.time() - 100,) * 2)
        return program

    def record(self, program, *options):
        raw = os.path.join(self.folder, "spin.bin")
        subprocess.run([tool.path("sampler"), "-q", *options, "-o", raw, "--", program], env=tool.environment(), check=True, capture_output=True)
        return raw

    def names(self, raw, *options):
        """The function with the most samples, and the warnings."""
        pbin = os.path.join(self.folder, "spin.pbin")
        done = subprocess.run([tool.path("prof2pbin"), *options, raw, "-o", pbin], env=tool.environment(), capture_output=True, check=True)
        table = self.succeeds(["pbin-aggregate", "-q", "-k", "function", "--format=csv", pbin]).out.decode()
        return table.split("\n")[1].split(",")[0], done.stderr.decode()

    def without_code(self, raw):
        """The profile as earlier samplers recorded it."""
        with open(raw, "rb") as f:
            data = f.read()
        for kind, begin, end in blocks(data):
            if kind == "code":
                return self.file("old.bin", data[:begin] + data[end:])
        return self.fail("no code block")

    def test_newer_files(self):
        for identity, expected in (("none", 1), ("sha1", 0)):
            program = self.compile(SOURCE, "-Wl,--build-id=" + identity)
            raw = self.record(program)
            old = raw if expected == 0 else self.without_code(raw)
            self.assertEqual(self.names(old), ("alpha", ""))
            os.utime(program, (time.time() + 100,) * 2)
            self.assertEqual(self.names(old), ("alpha", expected * (
                "prof2pbin: %s: modified after the recording, and there is no build-id to confirm that it is the file that ran: "
                "names and lines may be from another build\n" % program)))
            self.assertEqual(self.names(raw), ("alpha", ""))

    def test_content(self):
        program = self.compile(SOURCE, "-Wl,--build-id=none", "-Wl,-z,separate-code")
        raw = self.record(program)
        code = code_of(program)
        identity = "code:%d:%016x" % (len(code), rawprofile.xxh3(code))
        copies = os.path.join(self.folder, "copies")
        os.mkdir(copies)
        shutil.copyfile(program, os.path.join(copies, "spin"))
        program = self.compile(OTHER, "-Wl,--build-id=none", "-Wl,-z,separate-code")
        os.utime(program, (1,) * 2)
        name, warning = self.names(raw)
        self.assertEqual(name, "_unknown")
        self.assertIn("%s: not the file that ran: its code is 'code:" % program, warning)
        self.assertIn("expected '%s'" % identity, warning)
        self.assertEqual(self.names(self.without_code(raw)), ("beta", ""))  # the best possible then
        os.remove(program)
        self.assertEqual(self.names(raw, "-s", copies), ("alpha", ""))
        maps = self.succeeds(["pbin-dump", "--format=json", os.path.join(self.folder, "spin.pbin")]).out.decode()
        self.assertIn(identity, maps)
        subprocess.run(["strip", "--strip-debug", os.path.join(copies, "spin")], check=True)
        self.assertEqual(self.names(raw, "-s", copies), ("alpha", ""))

    def test_sums(self):
        for identity, why in (("none", "its code is 'code:"), ("sha1", "its build-id is ")):
            program = self.compile(SOURCE, "-Wl,--build-id=" + identity)
            raw = self.record(program, "-a")
            self.assertEqual(self.names(raw), ("alpha", ""))
            program = self.compile(OTHER, "-Wl,--build-id=" + identity)
            name, warning = self.names(raw)
            self.assertEqual(name, "_unknown")
            self.assertIn("%s: not the file that ran: %s" % (program, why), warning)
            os.remove(raw)

    def test_stripped_with_headers_in_the_code(self):
        program = self.compile(SOURCE, "-Wl,--build-id=none", "-Wl,-z,noseparate-code")
        raw = self.record(program)
        subprocess.run(["strip", "--strip-debug", program], check=True)
        self.assertEqual(self.names(raw), ("alpha", ""))

    def test_written_to_while_recorded(self):
        program = self.compile(SOURCE, "-Wl,--build-id=none")
        script = "'%s'; touch -d 2001-01-01 '%s'" % (program, program)
        raw = os.path.join(self.folder, "spin.bin")
        subprocess.run([tool.path("sampler"), "-q", "-o", raw, "--", "sh", "-c", script], env=tool.environment(), check=True)
        _, warning = self.names(raw)
        self.assertIn("expected 'code:0:0'", warning)


if __name__ == "__main__":
    unittest.main()
