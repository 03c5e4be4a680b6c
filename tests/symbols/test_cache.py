"""Answers of debug information that are cached on disk: used, equal to the byte, and trusted only
where that is safe.

SPDX-License-Identifier: MIT
"""
import glob
import os
import random
import struct
import subprocess

import sources
import tool
from xxh3 import xxh3

SAMPLES = os.path.join(sources.ROOT, "samples")
MB = 1 << 20


class Cache(tool.Case):
    def setUp(self):
        super().setUp()
        self.home = os.path.join(self.folder, "cache")
        self.program = self.file("burn", b"")
        with open(os.path.join(SAMPLES, "burn"), "rb") as file:
            self.program = self.file("burn", file.read())

    def convert(self, *options, home=None):
        env = dict(tool.environment(), XDG_CACHE_HOME=home or self.home)
        done = subprocess.run([tool.path("prof2pbin"), "-q", "-n", "x", "-s", self.folder, *options,
                               os.path.join(SAMPLES, "out.bin.bz2")], env=env, capture_output=True)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout

    def files(self, *options):
        table = self.succeeds(["pbin-aggregate", "-q", "-k", "file", "--format=csv"],
                              stdin=self.convert(*options))
        return table.out.decode()

    def cached(self):
        """The file that contains the answers about burn."""
        files = [f for f in glob.glob(os.path.join(self.home, "pbin-tools", "*.frames")) if self.has(f, b"samples/b")]
        self.assertEqual(len(files), 1)
        return files[0]

    def has(self, path, text):
        with open(path, "rb") as file:
            return text in file.read()

    def change(self, edit, sign=True):
        """Applies EDIT to the bytes after the checksum in the file; SIGN: also corrects the
        checksum."""
        with open(self.cached(), "rb") as file:
            data = file.read()
        head, rest = data[:16], edit(data[16:])
        if sign:
            head = head[:8] + struct.pack("<Q", xxh3(rest))
        with open(self.cached(), "wb") as file:
            file.write(head + rest)

    def poison(self):
        """Changes the name of the source in the cache."""
        self.change(lambda rest: rest.replace(b"samples/burn.c", b"samples/bXrn.c"))

    def test_same_bytes(self):
        plain = self.convert("--no-cache")
        self.assertFalse(os.path.exists(self.home))
        self.assertEqual(self.convert(), plain)
        self.assertEqual(self.convert(), plain)
        self.poison()
        self.assertIn("bXrn.c", self.files())
        self.assertNotIn("bXrn.c", self.files("--no-cache"))

    def test_not_believed(self):
        """If other users may write to the file, if it is not a regular file, or if it was made from
        another debug file, it is created again."""
        plain = self.convert("--no-cache")

        def link(path):
            os.rename(path, path + ".moved")
            os.symlink(path + ".moved", path)

        def another(_):
            os.utime(self.program, (1, 1))

        for name, spoil in (("checksum", None), ("group", lambda path: os.chmod(path, 0o660)), ("link", link),
                            ("folder", lambda path: os.chmod(os.path.dirname(path), 0o777)), ("program", another)):
            with self.subTest(name):
                home = self.home = os.path.join(self.folder, name)
                self.convert()
                path = self.cached()
                self.change(lambda rest: rest.replace(b"samples/burn.c", b"samples/bXrn.c"), sign=name != "checksum")
                if spoil is not None:
                    spoil(path)
                self.assertEqual(self.convert(home=home), plain)

    def test_damaged(self):
        plain, rng = self.convert("--no-cache"), random.Random(1)
        self.convert()
        with open(self.cached(), "rb") as file:
            good = file.read()
        path = self.cached()
        for size in (0, 4, 8, 15, 16, 20, len(good) // 2, len(good) - 1):
            with open(path, "wb") as file:
                file.write(good[:size])
            self.assertEqual(self.convert(), plain)
        for _ in range(60):  # with a correct checksum: the names in it may change, but nothing else
            rest = bytearray(good[16:])
            for _ in range(rng.randrange(1, 4)):
                rest[rng.randrange(len(rest))] = rng.choice((0, 1, 0x7f, 0xff, rng.randrange(256)))
            with open(path, "wb") as file:
                file.write(good[:8] + struct.pack("<Q", xxh3(bytes(rest))) + rest)
            self.convert()

    def test_no_folder(self):
        plain = self.convert("--no-cache")
        for home in ("/dev/null", "relative", self.program):
            self.assertEqual(self.convert(home=home), plain)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "relative")))

    def test_bounded(self):
        """The files that were unused for longest are deleted, and files that another process left
        unfinished a day ago."""
        folder = os.path.join(self.home, "pbin-tools")
        os.makedirs(folder, 0o700)
        for i in range(6):
            path = os.path.join(folder, f"{i}.frames")
            with open(path, "wb") as file:
                file.truncate(60 * MB)
            os.utime(path, (1000 + i, 1000 + i))
        for name, age in ((".tmp-1-old", 10), (".tmp-2-new", None)):
            with open(os.path.join(folder, name), "wb") as file:
                file.write(b"x")
            if age is not None:
                os.utime(os.path.join(folder, name), (age, age))
        self.convert()
        left = set(os.listdir(folder))
        self.assertEqual({f"{i}.frames" for i in range(6)} & left, {f"{i}.frames" for i in range(2, 6)})
        self.assertNotIn(".tmp-1-old", left)
        self.assertIn(".tmp-2-new", left)
        self.assertLessEqual(sum(os.path.getsize(os.path.join(folder, f)) for f in left), 256 * MB)
        self.cached()
