"""pbin-annotate shows sources, not any file that a profile names.

SPDX-License-Identifier: MIT
"""
import os
import unittest
import unittest.mock

import pbin
import tool

SECRET = "TOKEN=do-not-print"
RAW = 1  # the first line


class Case(tool.Case):
    def setUp(self):
        super().setUp()
        self.folder = os.path.realpath(self.folder)
        self.here, self.other = (os.path.join(self.folder, name) for name in ("here", "other"))
        for folder in (self.here, self.other):
            os.mkdir(folder)

    def write(self, *path, text=SECRET):
        full = os.path.join(self.folder, *path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as f:
            f.write(text + "\n")
        return full

    def annotate(self, source, *options, cwd=None, status=0, **more):
        w = pbin.Writer({"name": "x", "pmu": pbin.POWER, "unit": "W", "cpus": 1, "cpu_time": 1, "times": 1,
                         "wall_ns": 10**9})
        w.put_threads([pbin.Thread(1)])
        w.put_locations([pbin.Location(1, "b", [pbin.Frame("f", "f", source, RAW)])])
        w.put_samples([pbin.Sample(1000, 1.0, [(0, 0, 1000)])])
        ended = tool.run(["pbin-annotate", *options, self.file("p.pbin", w.finish())], cwd=cwd or self.here, **more)
        self.assertEqual(ended.status, status, ended.err)
        return ended

    def refused(self, source, *options, **more):
        ended = self.annotate(source, *options, **more)
        self.assertNotIn(SECRET, ended.out.decode() + ended.err)
        self.assertEqual(ended.err.count("\n"), 1, ended.err)
        return ended.err

    def shown(self, source, *options, **more):
        ended = self.annotate(source, *options, **more)
        self.assertIn(SECRET, ended.out.decode(), f"{source} {options}: {ended.err}")
        self.assertEqual(ended.err, "")


class Refused(Case):
    def test_environment(self):
        with unittest.mock.patch.dict(os.environ, {"A": SECRET}):
            for path in ("/proc/self/environ", "/proc/thread-self/environ", "/proc/self/task/../environ",
                         "//proc//self/./environ", f"/proc/{os.getpid()}/environ", "/proc/self/root/proc/self/environ",
                         "/proc/self/cmdline", "proc/self/environ"):
                for options in ((), ("--source-path", "/"), ("--prefix-map", "/proc=/proc/"), ("--prefix-map", "x=/")):
                    for cwd in (self.here, "/"):
                        if options == ("--prefix-map", "/proc=/proc/"):
                            continue  # that folder was asked for
                        with self.subTest(path=path, options=options, cwd=cwd):
                            self.refused(path, *options, cwd=cwd)

    def test_outside(self):
        self.write("other", "a.c")
        self.write("herenot", "a.c")
        for path in (self.other + "/a.c", "../other/a.c", self.here + "/../other/a.c", "../herenot/a.c",
                     self.folder + "/herenot/a.c", "/etc/passwd", "/etc/../etc/passwd", "/root/.bashrc"):
            with self.subTest(path):
                error = self.refused(path)
                self.assertTrue(error.startswith(f"pbin-annotate: {path}: "), error)

    def test_names_the_path_and_the_way_out(self):
        error = self.refused(self.write("other", "a.c"))
        self.assertIn("other/a.c: not shown", error)
        self.assertIn("--source-path", error)

    def test_not_a_source(self):
        for name in ("secret", "secret.env", ".env", "id_rsa", "a.pem", "a.json", "a.yml", "c", "a.", "a.c.bak", "a.c~",
                     "a.c c", "a. c", "Makefile"):
            self.write("here", name)
            with self.subTest(name):
                self.refused(name)
                self.refused(self.here + "/" + name)

    def test_hidden(self):
        for path in (".git/config.c", "a/.ssh/id.c", ".a.c", "a/b/.c"):
            self.write("here", path)
            with self.subTest(path):
                self.refused(path)
                self.refused(path, "--source-path", self.here)

    def test_links(self):
        secret = self.write("other", "a.c")
        for number, target in enumerate((secret, "../other/a.c", "/proc/self/environ", "/dev/stdin")):
            link = os.path.join(self.here, f"l{number}.c")
            os.symlink(target, link)
            with self.subTest(target):
                self.refused(link)
                self.refused(link, "--source-path", self.here)
        os.symlink(self.other, self.here + "/way")
        self.refused("way/a.c")
        self.refused("way/a.c", "--source-path", self.here + "/")

    def test_special_files(self):
        os.mkfifo(self.here + "/fifo.c")
        os.mkdir(self.here + "/folder.c")
        for path in ("fifo.c", "folder.c", "/dev/stdin", "/dev/tty", "/dev/zero", "/dev/fd/0"):
            with self.subTest(path):
                self.refused(path, "--source-path", "/dev", "--source-path", self.here, stdin=SECRET.encode())

    def test_current_directory_is_the_root(self):
        path = self.write("other", "a.c")
        self.refused(path, cwd="/")
        self.refused(path[1:], cwd="/")


class Shown(Case):
    def test_here(self):
        for name in ("a.c", "a.C", "src/deep/a.cpp", "x.y/a.F90", "a.rs", "a.S", "a.h++"):
            path = self.write("here", name)
            with self.subTest(name):
                self.shown(name)
                self.shown(path)
                self.shown("./" + name)
                self.shown("../here/" + name)

    def test_named_folders(self):
        for name in ("a.c", "no suffix", "a.inc.d"):
            path = self.write("other", "src", name)
            with self.subTest(name):
                for options in (("--source-path", self.other), ("--source-path", self.other + "/src/"),
                                ("--source-path", "../other"), ("--source-path", "/"),
                                ("--prefix-map", f"/build={self.other}")):
                    self.shown(path, *options)
                self.shown("/build/src/" + name, "--prefix-map", f"/build={self.other}")
                self.shown("/build/src/" + name, "--prefix-map", f"/build/s={self.other}/s")
                self.shown("/build/src/" + name, "--source-path", self.other)

    def test_a_hidden_folder_that_is_named(self):
        path = self.write("other", ".cargo", "registry", "a.rs")
        self.refused(path, "--source-path", self.other)
        self.shown(path, "--source-path", self.other + "/.cargo")

    def test_a_link_that_is_named(self):
        self.write("other", "a.c")
        os.symlink(self.other, self.folder + "/link")
        self.shown("a.c", "--source-path", self.folder + "/link")
        self.shown(self.folder + "/link/a.c", "--source-path", self.folder + "/link")

    def test_headers_of_the_system(self):
        ended = self.annotate("/usr/include/stdio.h")
        self.assertEqual(ended.err, "")
        self.assertIn(b"/*", ended.out)


if __name__ == "__main__":
    unittest.main()
