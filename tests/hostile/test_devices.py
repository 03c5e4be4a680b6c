"""Labels that name devices and pipes: these are never opened. Many missing files cause few
messages.

SPDX-License-Identifier: MIT
"""
import os
import subprocess
import unittest

import rawprofile
import tool
from rawprofile import Map, Run, Sample, Thread


class Case(tool.Case):
    def raw(self, labels):
        maps = [Map(0x1000 * (i + 1), 0x1000, label) for i, label in enumerate(labels)]
        samples = [Sample(1.0, [Thread(1, m.address + 16, i)], i + 1) for i, m in enumerate(maps)]
        return self.file("in.bin", rawprofile.write(Run(samples, maps, len(maps), kind=rawprofile.POWER), "sampler"))


class Devices(Case):
    def test_not_opened(self):
        fifo = os.path.join(self.folder, "fifo")
        os.mkfifo(fifo)
        path = self.raw(["/dev/console", "/dev/tty", "/dev/zero", "/dev/full", fifo])
        library = os.path.join(self.folder, "opens.so")
        source = self.file("opens.c", b"""
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int mode = va_arg(args, int);
    va_end(args);
    if ((flags & O_PATH) == 0 && (strncmp(path, "/dev/", 5) == 0 || strstr(path, "fifo") != NULL) &&
        strcmp(path, "/dev/null") != 0)
        fprintf(stderr, "opened %s\\n", path);
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) __attribute__((alias("open")));
""")
        subprocess.run(["cc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", library, source], check=True)
        env = dict(tool.environment(), LD_PRELOAD=library)
        env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        ended = subprocess.run([tool.path("prof2pbin"), "-o", self.folder + "/o.pbin", path], env=env, check=True,
                               capture_output=True, timeout=10, text=True)
        self.assertNotIn("opened", ended.stderr)
        self.assertEqual(ended.stderr.count("not a regular file: its samples have no function names"), 5, ended.stderr)


class Missing(Case):
    def test_many_missing_files(self):
        path = self.raw([f"/nowhere/b{i}" for i in range(2000)])
        ended = self.succeeds(["prof2pbin", "-o", self.folder + "/o.pbin", path], timeout=30)
        self.assertEqual(ended.err.count("\n"), 11, ended.err[:2000])
        self.assertIn("1990 more warnings not shown", ended.err)

class Overwritten(Case):
    def test_no_setuid(self):
        """The new contents of a file do not inherit its set-user-ID bit."""
        for mode, left in ((0o4755, 0o755), (0o2755, 0o755), (0o1640, 0o640), (0o600, 0o600)):
            out = self.file("out.pbin", b"old")
            os.chmod(out, mode)
            self.succeeds(["prof2pbin", "-q", "-o", out, self.raw(["/nowhere/b"])])
            self.assertEqual(os.stat(out).st_mode & 0o7777, left, oct(mode))


if __name__ == "__main__":
    unittest.main()
