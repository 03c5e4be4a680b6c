"""pbin-annotate shows sources, not arbitrary files that a profile names.

SPDX-License-Identifier: MIT
"""
import hashlib
import os
import subprocess
import unittest
import unittest.mock

import pbin
import rawprofile as raw
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

    def annotate(self, source, *options, cwd=None, status=0, checksums=(), **more):
        w = pbin.Writer({"name": "x", "pmu": pbin.POWER, "unit": "W", "cpus": 1, "cpu_time": 1, "times": 1,
                         "wall_ns": 10**9})
        w.put_threads([pbin.Thread(1)])
        w.put_locations([pbin.Location(1, "b", [pbin.Frame("f", "f", source, RAW)])])
        if checksums:
            w.put_checksums(checksums)
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
                            continue  # that folder was requested
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

    def test_large(self):
        """A hole of a terabyte takes no room on disk, but would take an hour to read."""
        path = self.write("here", "a.c")
        os.truncate(path, 1 << 40)
        self.assertEqual(self.refused("a.c"), "pbin-annotate: a.c: not shown: larger than 256 MB\n")

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


class Binaries(Case):
    def test_another_is_used(self):
        """The message about a binary that cannot be read differs from that about a missing one: it
        names the file used instead."""
        for folder in (self.here, self.other):
            subprocess.run(["gcc", "-O1", "-o", os.path.join(folder, "a"), "-x", "c", "-"], input=b"int main(void) { return 0; }", check=True)
        program = os.path.join(self.other, "a")
        symbols = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
        address = next(int(l.split()[0], 16) for l in symbols.splitlines() if l.endswith(" T main"))
        run = raw.Run([raw.Sample(1.0, [raw.Thread(1, address, 1000 * i)], 1000 * i) for i in range(9)],
                      [raw.Map(address & -4096, 4096, "a")], 9000, 0, raw.POWER)
        recorded = self.file("run.bin", raw.write(run, "sampler-walltime"))
        argv = ["prof2pbin", "-o", os.path.join(self.folder, "out"), "-s", self.other, "-s", self.here, recorded]
        self.assertEqual(self.succeeds(argv, cwd=self.folder).err, "")
        os.unlink(program)
        self.assertEqual(self.succeeds(argv, cwd=self.folder).err, "")
        os.symlink("a", program)  # a link to itself
        self.assertEqual(self.succeeds(argv, cwd=self.folder).err,
                         f"prof2pbin: {program}: cannot open: Too many levels of symbolic links: using {self.here}/a instead\n")


def md5(text):
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


class Checksums(Case):
    """If the binary contains the MD5 of its source, no other file is shown."""

    def test_same_or_other(self):
        path, right, wrong = self.write("here", "a.c"), md5(SECRET + "\n"), md5("other\n")
        self.shown(path, checksums=[("b", path, right)])
        self.shown(path, checksums=[("other", path, wrong), ("b", path, right), ("b", "other.c", wrong)])
        self.shown(path, checksums=[("other", path, wrong)])
        for checksums in ([("b", path, wrong)], [("", path, wrong)], [("b", path, wrong), ("other", path, right)]):
            with self.subTest(checksums):
                error = self.refused(path, checksums=checksums)
                self.assertEqual(error, f"pbin-annotate: {path}: not shown: not the file that b was built from: its MD5 differs\n")

    def test_search_goes_on(self):
        path, checksums = self.write("other", "deep", "a.c"), [("b", "/build/deep/a.c", md5(SECRET + "\n"))]
        self.write("here", "a.c", text="another")
        self.write("here", "deep", "a.c", text="another")
        self.shown("/build/deep/a.c", "--source-path", self.here, "--source-path", self.other, checksums=checksums)
        os.unlink(path)
        error = self.refused("/build/deep/a.c", "--source-path", self.here, checksums=checksums)
        self.assertIn(f"{self.here}/deep/a.c: not shown", error)

    def test_several_versions(self):
        path, versions = self.write("here", "a.c"), [("b", "a.c", md5(f"version {i}")) for i in range(3)]
        ended = self.annotate("a.c", checksums=[*versions, ("b", "a.c", md5(SECRET + "\n"))])
        self.assertIn(SECRET, ended.out.decode())
        self.assertIn("a.c: b was built from 4 versions of it", ended.err)
        self.refused("a.c", checksums=versions)
        os.truncate(path, 0)
        self.assertEqual(self.annotate("a.c", checksums=[("b", "a.c", md5(""))]).err, "")

    def test_bad_block(self):
        for bad in ("", "0" * 31, "0" * 33, "A" * 32, "0" * 31 + "g"):
            ended = self.annotate("a.c", status=1, checksums=[("b", "a.c", bad)])
            self.assertIn("block 'csum': ", ended.err)
            self.assertEqual(ended.out, b"")

    def test_hostile_number_of_versions(self):
        self.write("here", "a.c")
        self.refused("a.c", checksums=[("b", "a.c", f"{i:032x}") for i in range(20_000)])

    def test_from_compiler_to_annotation(self):
        """The checksum passes prof2pbin, its cache and merging, and a source changes; GCC writes no
        checksums."""
        text = "#include \"a.h\"\nint main(void) { volatile int v = 0; for (int i = 0; i < 9; i++) v = twice(v); return v; }\n"
        header = "static inline int twice(int n) { return 2 * n + 1; }\n"
        paths = source, include = [self.write("here", name, text=t.rstrip("\n")) for name, t in (("a.c", text), ("a.h", header))]
        cache = unittest.mock.patch.dict(os.environ, {"XDG_CACHE_HOME": os.path.join(self.folder, "cache")})
        self.addCleanup(cache.stop)
        cache.start()
        for compiler in ("clang-14", "gcc"):
            program = os.path.join(self.here, compiler)
            subprocess.run([compiler, "-gdwarf-5", "-O1", "-o", program, source], check=True)
            symbols = subprocess.run(["nm", "-S", program], check=True, capture_output=True, text=True).stdout
            address, size = next((int(l.split()[0], 16), int(l.split()[1], 16)) for l in symbols.splitlines() if l.endswith(" T main"))
            run = raw.Run([raw.Sample(1.0, [raw.Thread(1, address + i, 1000 * i)], 1000 * i) for i in range(size)],
                          [raw.Map(address & -4096, 4096, compiler)], 1000 * size, 0, raw.POWER)
            recorded = self.file(compiler + ".bin", raw.write(run, "sampler-walltime"))
            full, again, table, merged = [os.path.join(self.folder, f"{compiler}{i}.pbin") for i in range(4)]
            for out in (full, again):
                self.succeeds(["prof2pbin", "-q", "-n", "x", "-s", self.here, "-o", out, recorded])
            self.succeeds(["pbin-aggregate", "-q", "-k", "binary,file,function,inline,line", "-o", table, full])
            self.succeeds(["pbin-aggregate", "-q", "-k", "binary,file,function,inline,line", "-o", merged, table, full, table])
            profiles = [pbin.read(open(path, "rb").read()) for path in (full, again, table, merged)]
            found = [{(binary, os.path.basename(file), sum_) for binary, file, sum_ in p.checksums} for p in profiles]
            self.assertEqual(found, [{(compiler, "a.c", md5(text)), (compiler, "a.h", md5(header))} if compiler != "gcc" else set()] * 4)
            for profile in (full, merged):
                for path in paths:
                    with open(path, encoding="utf-8") as f:
                        before = f.read()
                    shown = self.succeeds(["pbin-annotate", "-f", "main", profile], cwd=self.here)
                    self.assertIn(before.split("{")[1].strip(), shown.out.decode())
                    with open(path, "a", encoding="utf-8") as f:
                        f.write("/* changed */\n")
                    os.utime(path, (0, 0))
                    ended = self.succeeds(["pbin-annotate", "-f", "main", profile], cwd=self.here)
                    self.assertEqual(before.split("{")[1].strip() in ended.out.decode(), compiler == "gcc")
                    self.assertEqual(f"{os.path.basename(path)}: not shown: not the file that {compiler} was built from" in ended.err,
                                     compiler != "gcc")
                    with open(path, "w", encoding="utf-8") as f:
                        f.write(before)


if __name__ == "__main__":
    unittest.main()
