"""funcmeter on aarch64: programs whose calls are known, run in qemu-user and metered by the
launcher of this machine.

The loader and libraries are those of Debian's cross packages, so that both sides find them under one path. Not tested, as
qemu-user 7.2 lacks it: that a forked child gets counters of its own (MADV_WIPEONFORK). Times are those of the emulator.

SPDX-License-Identifier: MIT
"""
import csv
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

import sources
import test_funcmeter

LIBRARIES = "/usr/aarch64-linux-gnu/lib"
COMPILER = ["clang-14", "--target=aarch64-linux-gnu"]
LIMIT = 120  # [s] for any one run
# clang has no noipa, and would not call a function without effect
CHANGES = (("noipa", "noinline"), ("KEEP int work(int n) { return n + 1; }", "KEEP int work(int n) { __asm__ volatile(\"\"); return n + 1; }"),
           ("n == 0 ? 0 : nest(n - 1) + work(n);", "n == 0 ? 0 : nest(n - 1) + work(n); __asm__ volatile(\"\");"),
           ("setitimer(ITIMER_REAL, &often, NULL);", "kill(getpid(), SIGALRM);"),
           # threads of the emulator end some time after they are joined; a fork before that can
           # block the child
           ("setitimer(ITIMER_REAL, &never, NULL);", "usleep(100000);"), ("i < 10000", "i < 300"), ("i < 100;", "i < 10;"),
           # the emulator keeps data of each page of the results, which a child copies: 4 s on a virtual machine
           ("i < 5;", "i < 1;"))

BEGINNINGS = r"""
#include <stdio.h>
#define FUNCTION(name, body) \
    __asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ",%function\n" \
            #name ":\n" body "\n.size " #name ",.-" #name "\n"); \
    extern long name(long);
long number = 40;
double half = 0.5;
__attribute__((noinline)) long helper(long a) { __asm__ volatile(""); return a + 1; }
FUNCTION(page, "adrp x1, number\n ldr x1, [x1, :lo12:number]\n add x0, x0, x1\n ret")
FUNCTION(place, "adr x1, 1f\n ldr x1, [x1]\n add x0, x0, x1\n ret\n .p2align 3\n 1: .quad 7")
FUNCTION(literal, "ldr x1, 1f\n add x0, x0, x1\n ret\n .p2align 3\n 1: .quad 9")
FUNCTION(signed_literal, "ldrsw x1, 1f\n add x0, x0, x1\n ret\n 1: .word -5")
FUNCTION(vector, "ldr d1, 1f\n fcvtzs x1, d1\n add x0, x0, x1\n ret\n .p2align 3\n 1: .double 1000")
FUNCTION(empty, "cbz x0, 1f\n add x0, x0, #10\n ret\n 1: mov x0, #20\n ret")
FUNCTION(filled, "cbnz w0, 1f\n mov x0, #5\n ret\n 1: add x0, x0, #3\n ret")
FUNCTION(odd, "tbnz w0, #0, 1f\n mov x0, #6\n ret\n 1: add x0, x0, #4\n ret")
FUNCTION(even, "tbz x0, #0, 1f\n mov x0, #7\n ret\n 1: add x0, x0, #8\n ret")
FUNCTION(jumping, "b helper")
FUNCTION(calling, "stp x29, x30, [sp, #-16]!\n bl helper\n add x0, x0, #100\n ldp x29, x30, [sp], #16\n ret")
FUNCTION(called, "bl 1f\n 1: mov x30, x9\n add x0, x0, #1\n ret")
__asm__(".globl calls_called\ncalls_called: stp x29, x30, [sp, #-16]!\n adr x9, 1f\n b called\n 1: ldp x29, x30, [sp], #16\n ret");
extern long calls_called(long);
FUNCTION(landing, "bti c\n add x0, x0, #7\n ret")
FUNCTION(signing, "paciasp\n stp x29, x30, [sp, #-16]!\n bl helper\n ldp x29, x30, [sp], #16\n autiasp\n ret")
FUNCTION(brief, "ret")
FUNCTION(results, "mov x9, x0\n mov x1, #11\n mov x7, #12\n ret")
FUNCTION(again, "sub x0, x0, #1\n cbnz x0, again\n ret")
int main(void)
{
    long sum = 0;
    for (long i = 1; i <= 10; i++)
        sum = sum * 3 + page(i) + place(i) + literal(i) + signed_literal(i) + vector(i) + empty(i % 2) + filled(i % 2) +
              odd(i) + even(i) + jumping(i) + calling(i) + landing(i) + signing(i) + brief(i) + results(i) + again(i) + calls_called(i);
    printf("%ld\n", sum);
}
"""


def supported():
    return test_funcmeter.supported() and shutil.which("qemu-aarch64") is not None


@unittest.skipUnless(supported(), "needs qemu-user, and no sanitizers")
class Aarch64(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.library = os.path.join(cls.folder, "funcmeter-preload.so")
        env = {k: v for k, v in os.environ.items() if k not in ("ASAN", "BUILD", "CC", "DEBUG", "MAKEFLAGS")}
        subprocess.run(["make", "CROSS_COMPILE=aarch64-linux-gnu-", "CC=" + " ".join(COMPILER), "BUILD=" + cls.folder,
                        "WERROR=-Werror", cls.library], cwd=sources.ROOT, env=env, stdout=subprocess.DEVNULL, check=True)

    def run_all(self, name, source, *patterns, flags=(), suffix=".c", status=0):
        """(calls, returned, unwound) of functions, and the output of the program, which must be the
        same as without funcmeter."""
        path = os.path.join(self.folder, name)
        for old, new in CHANGES:
            source = source.replace(old, new)
        with open(path + suffix, "w", encoding="utf-8") as file:
            file.write(source)
        subprocess.run([*COMPILER, "-O1", "-w", "-falign-functions=16", "-o", path, path + suffix, *flags, "-pthread", "-lm",
                        "-Wl,--disable-new-dtags,-rpath=" + LIBRARIES, f"-Wl,--dynamic-linker={LIBRARIES}/ld-linux-aarch64.so.1"],
                       check=True)
        done = subprocess.run([test_funcmeter.FUNCMETER, "-q", "--clock", "monotonic", "-o", path + ".csv", *patterns, "--",
                               "qemu-aarch64", "-E", "LD_PRELOAD=" + self.library, path],
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        with open(path + ".csv", newline="", encoding="utf-8") as file:
            ends = {r["function"]: tuple(int(r[k]) for k in ("calls", "returned", "unwound"))
                    for r in csv.DictReader(file) if r["library"] == name}
        return ends, done.stdout, path

    def alone(self, path):
        return subprocess.run(["qemu-aarch64", path], text=True, stdout=subprocess.PIPE, check=False).stdout

    def test_every_way_to_call(self):
        """All functions of the C library are also hooked."""
        ends, printed, path = self.run_all("calls", test_funcmeter.CALLS, "calls:.*", LIBRARIES + "/lib*:.*", status=3)
        self.assertEqual(printed, self.alone(path))
        expected = test_funcmeter.EXPECTED
        self.assertEqual({k: ends[k] for k in expected}, expected)

    def test_exceptions(self):
        """All functions of the C++ library and of the unwinder are also hooked; functions begin
        with landing pads, and sign their return addresses."""
        ends, printed, path = self.run_all("throws", test_funcmeter.THROWS, "throws:.*", LIBRARIES + "/lib*:.*", suffix=".cpp",
                                           flags=["-mbranch-protection=standard", "-nostdlib++", "-lstdc++"])
        self.assertEqual(printed, self.alone(path))
        self.assertEqual({k: ends[k] for k in test_funcmeter.THROWN}, test_funcmeter.THROWN)

    def test_threads_signals_fork_kill(self):
        ends, printed, _ = self.run_all("threads", test_funcmeter.THREADS, "threads:.*", status=128 + signal.SIGKILL)
        handled, nests = int(printed), 64 * 10 * 11 + 300 * 21
        self.assertEqual([ends[n][0] for n in ("nest", "leave", "handle", "work", "child")],
                         [nests, 256, handled, nests - 64 * 10 - 300 + handled + 1, 1])
        self.assertEqual((ends["nest"][1], ends["leave"]), (nests, (256, 0, 256)))

    def test_beginnings_of_functions(self):
        ends, printed, path = self.run_all("beginnings", BEGINNINGS, "beginnings:.*")
        self.assertEqual(printed, self.alone(path))
        names = ("page", "place", "literal", "signed_literal", "vector", "empty", "filled", "odd", "even", "jumping", "calling",
                 "landing", "signing", "brief", "results")
        self.assertEqual({k: ends[k] for k in names} | {"helper": ends["helper"]},
                         {n: (10, 10, 0) for n in names} | {"helper": (30, 30, 0)})
        self.assertEqual(ends["called"][0], 10)
        self.assertNotIn("again", ends)  # a loop to its first instruction


if __name__ == "__main__":
    unittest.main()
