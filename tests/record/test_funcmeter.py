"""funcmeter counts exactly: programs whose calls are known, with all ways to enter and leave a
function.

SPDX-License-Identifier: MIT
"""
import csv
import json
import os
import platform
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import tool

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
FUNCMETER = os.path.join(BUILD, "funcmeter")
LIMIT = 60  # [s] for any one run

CALLS = r"""
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define KEEP __attribute__((noipa))
struct big { long a[6]; };
typedef float vector __attribute__((vector_size(16)));
KEEP int leaf(int x) { return 2 * x + 1; }
KEEP int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
KEEP int odd(int n);
KEEP int even(int n) { int r = n == 0 ? 1 : odd(n - 1); __asm__ volatile(""); return r; }
KEEP int odd(int n) { int r = n == 0 ? 0 : even(n - 1); __asm__ volatile(""); return r; }
KEEP int tail(int n) { return leaf(n + 1); }
KEEP double real(double a, float b) { return a * b + 1; }
KEEP long double longest(long double a) { return a / 3; }
KEEP struct big structure(long n) { struct big b = {{n, n + 1, n + 2}}; return b; }
KEEP vector vectors(vector a, vector b) { return a * b; }
KEEP int many(int a, double b, int c, int d, int e, int f, int g, int h, double i, struct big j)
{ return a + (int)b + c * d - e + f * g - h + (int)i + (int)j.a[2]; }
static jmp_buf target;
KEEP void jumper(int n) { if (n == 0) longjmp(target, 1); jumper(n - 1); __asm__ volatile(""); }
KEEP void spin(long ns)
{
    struct timespec t, s;
    clock_gettime(CLOCK_MONOTONIC, &s);
    do
        clock_gettime(CLOCK_MONOTONIC, &t);
    while ((t.tv_sec - s.tv_sec) * 1000000000 + t.tv_nsec - s.tv_nsec < ns);
}
KEEP void rest(long ns) { spin(ns); __asm__ volatile(""); }
int main(int argc, char **argv)
{
    double sum = 0;
    int times = argc > 1 ? atoi(argv[1]) : 100;
    for (int i = 0; i < times; i++) {
        sum += leaf(i) + tail(i) + real(i, 2) + (double)longest(i) + structure(i).a[1];
        sum += vectors((vector){1, 2, 3, i}, (vector){2, 2, 2, 2})[3] + many(i, 2, 3, 4, 5, 6, 7, 8, 9, structure(i));
        sum += sin(i);
        if (setjmp(target) == 0)
            jumper(4);
    }
    sum += fib(15) + even(10);
    for (int i = 0; i < 50; i++)
        rest(200000);
    printf("%.6f\n", sum);
    return argc > 2 ? (abort(), 0) : 3;
}
"""
EXPECTED = {"leaf": (200, 200, 0), "tail": (100, 100, 0), "real": (100, 100, 0), "longest": (100, 100, 0),
            "structure": (200, 200, 0), "vectors": (100, 100, 0), "many": (100, 100, 0), "jumper": (500, 0, 500),
            "fib": (1973, 1973, 0), "even": (6, 6, 0), "odd": (5, 5, 0), "rest": (50, 50, 0), "spin": (50, 50, 0),
            "main": (1, 1, 0)}

THROWS = r"""
#include <cstdio>
#include <execinfo.h>
#include <stdexcept>
#define KEEP __attribute__((noipa))
extern "C" {
KEEP void cleanup() { __asm__ volatile(""); }
KEEP int thrower(int n) { if (n % 3 == 0) throw std::runtime_error("three"); return n; }
}
struct guard { ~guard() { cleanup(); } };
extern "C" {
KEEP int middle(int n) { guard g; int r = thrower(n) + 1; __asm__ volatile(""); return r; }
KEEP int catcher(int n) { try { return middle(n); } catch (std::exception &) { return -1; } }
KEEP int again(int n) { try { return middle(n); } catch (...) { throw; } }
KEEP int outer(int n)
{
    int r = catcher(n);
    try { r += again(n); } catch (std::exception &) { r += catcher(n + 1); }
    __asm__ volatile("");
    return r;
}
KEEP int depth() { void *frames[50]; int n = backtrace(frames, 50); __asm__ volatile(""); return n; }
}
namespace shop { struct till { KEEP int add(int a, double b) { return a + (int)(2 * b); } }; }
int main()
{
    long sum = 0;
    shop::till till;
    for (int i = 0; i < 300; i++)
        sum += outer(i) + till.add(i, 2);
    for (int i = 0; i < 10; i++)
        sum += depth();
    printf("%ld\n", sum);
}
"""
THROWN = {"cleanup": (700, 700, 0), "thrower": (700, 500, 200), "middle": (700, 500, 200), "catcher": (400, 400, 0),
          "again": (300, 200, 100), "outer": (300, 300, 0), "depth": (10, 10, 0)}

THREADS = r"""
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#define KEEP __attribute__((noipa))
KEEP int work(int n) { return n + 1; }
KEEP int nest(int n) { int r = n == 0 ? 0 : nest(n - 1) + work(n); __asm__ volatile(""); return r; }
KEEP void leave(int n) { if (n == 0) pthread_exit(NULL); leave(n - 1); __asm__ volatile(""); }
KEEP int child(int n) { pid_t pid = fork(); if (pid == 0) { work(n); return 0; } waitpid(pid, NULL, 0); return 1; }
static void *run(void *opaque) { for (int i = 0; i < 100; i++) nest(10); leave(3); return opaque; }
static volatile int handled;
KEEP void handle(int number) { handled++; work(number); }
int main(void)
{
    pthread_t thread[64];
    for (int i = 0; i < 64; i++)
        pthread_create(&thread[i], NULL, run, NULL);
    for (int i = 0; i < 64; i++)
        pthread_join(thread[i], NULL);
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    sigaltstack(&stack, NULL);
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 10000; i++)
        nest(20);
    setitimer(ITIMER_REAL, &never, NULL);
    for (int i = 0; i < 5; i++)
        if (child(i) == 0)
            _exit(7);
    printf("%d\n", handled);
    fflush(stdout);
    kill(getpid(), SIGKILL);
}
"""

MANY_THREADS = r"""
#include <pthread.h>
#include <stdlib.h>
__attribute__((noipa)) int work(int n) { int r = n == 0 ? 0 : work(n - 1); __asm__ volatile(""); return r; }
static void *run(void *opaque) { work(4); return opaque; }
int main(void)
{
    pthread_t thread;
    for (int i = 0; i < 5000; i++) {
        pthread_create(&thread, NULL, run, NULL);
        pthread_join(thread, NULL);
    }
}
"""

PLUGIN = "__attribute__((noipa)) int plugin(int n) { return n + 1; }\n" \
         "__attribute__((constructor)) static void first(void) { plugin(1); }\n"
LOADER = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    for (int i = 0; i < 3; i++) {
        void *library = dlopen(argv[argc - 1], RTLD_NOW);
        int (*plugin)(int) = (int (*)(int))dlsym(library, "plugin");
        for (int k = 0; k < 10; k++)
            plugin(k);
        dlclose(library);
    }
}
"""

INTERRUPTED = r"""
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
static sigjmp_buf start;
static volatile int ticks;
static volatile long calls;
__attribute__((noipa)) void busy(void) { __asm__ volatile("nop; nop; nop; nop; nop"); }
static void leave(int number) { (void)number; ticks++; siglongjmp(start, 1); }
int main(void)
{
    struct sigaction action = {.sa_handler = leave};
    struct itimerval often = {{0, 150}, {0, 150}}, never = {{0, 0}, {0, 0}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    sigsetjmp(start, 1);
    while (ticks < 200) {
        calls++;
        busy();
    }
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%ld\n", calls);
}
"""

# Functions whose first instructions cannot simply be copied elsewhere.
BEGINNINGS = r"""
#include <stdio.h>
#define FUNCTION(name, body) \
    __asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ",@function\n" \
            #name ":\n" body "\n.size " #name ",.-" #name "\n"); \
    extern long name(long);
long number = 40;
__attribute__((noipa)) long helper(long a) { return a + 1; }
FUNCTION(relative, "mov number(%rip), %rax\n add %rdi, %rax\n ret")
FUNCTION(immediate, "cmpl $40, number(%rip)\n mov $1, %eax\n je 1f\n mov $2, %eax\n 1: ret")
FUNCTION(conditional, "test %edi, %edi\n je 1f\n mov $10, %eax\n ret\n 1: mov $20, %eax\n ret")
FUNCTION(calling, "push %rbx\n call helper\n add $100, %rax\n pop %rbx\n ret")
FUNCTION(jumping, "jmp helper")
FUNCTION(indirect, "jmp *pointer(%rip)")
FUNCTION(landing, "endbr64\n lea 7(%rdi), %rax\n ret")
FUNCTION(brief, "mov %rdi, %rax\n ret")
FUNCTION(through, "push %rbx\n call *pointer(%rip)\n add $3, %rax\n pop %rbx\n ret")
FUNCTION(computed, "push %rdi\n lea helper(%rip), %rax\n call *%rax\n pop %rdx\n ret")
FUNCTION(entered, "mov %rdi, %rax\n enter_here: add $1, %rax\n nop\n nop\n ret")
FUNCTION(enters, "lea 5(%rdi), %rax\n nop\n jmp enter_here")
FUNCTION(again, "dec %rdi\n cmp $0, %rdi\n jg again\n mov %rdi, %rax\n ret")
FUNCTION(again_far, "dec %rdi\n lea (%rdi,%rdi), %rax\n test %rdi, %rdi\n .byte 0x0f, 0x8f\n .long again_far - . - 4\n ret")
FUNCTION(spinning, "dec %edi\n jg spinning\n mov $4, %eax\n ret")
FUNCTION(spinning_inside, "nop\n 1: dec %edi\n jg 1b\n mov $5, %eax\n ret")
FUNCTION(into, "lea 3(%rdi), %rax\n 1: dec %rdi\n jg 1b\n add %rdi, %rax\n ret")
FUNCTION(counting, "mov %edi, %ecx\n inc %ecx\n 1: inc %rax\n loop 1b\n mov %edi, %eax\n ret")
/* without padding: the second and the fourth have no room for a jump but in others */
__asm__("packed: lea 1(%rdi), %rax\n ret\n" "packed_jump: jmp packed\n" "packed_other: lea 2(%rdi), %rax\n nop\n nop\n ret\n"
        "packed_loop: xor %eax, %eax\n 1: inc %eax\n dec %edi\n jg 1b\n ret\n"
        ".type packed, @function\n.type packed_jump, @function\n.type packed_other, @function\n.type packed_loop, @function\n");
extern long packed_jump(long), packed_other(long), packed_loop(long);
long (*pointer)(long) = helper;
int main(void)
{
    long sum = 0;
    for (long i = 0; i < 10; i++)
        sum = sum * 3 + relative(i) + immediate(i) + conditional(i % 2) + calling(i) + jumping(i) + indirect(i) +
              landing(i) + brief(i) + through(i) + computed(i) + entered(i) + enters(i) + again(i) + again_far(i) + spinning(i) +
              spinning_inside(i) + into(i) + counting(i) + packed_jump(i) + packed_other(i) + packed_loop(i);
    printf("%ld\n", sum);
}
"""

COROUTINES = r"""
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#define KEEP __attribute__((noipa))
static ucontext_t home, other[10];
static int turn;
KEEP int wait_deep(int n)
{
    if (n > 0)
        n = wait_deep(n - 1);
    else
        swapcontext(&other[turn], &home);
    __asm__ volatile("");
    return n;
}
static void body(void) { for (int i = 0; i < 20; i++) wait_deep(5); }
KEEP void resume(int i) { turn = i; swapcontext(&home, &other[i]); }
int main(void)
{
    for (int i = 0; i < 10; i++) {
        getcontext(&other[i]);
        other[i].uc_stack.ss_sp = malloc(65536);
        other[i].uc_stack.ss_size = 65536;
        other[i].uc_link = &home;
        makecontext(&other[i], body, 0);
    }
    for (int k = 0; k < 21; k++)
        for (int i = 0; i < 10; i++)
            resume(i);
    puts("done");
}
"""


def supported():
    return platform.machine() == "x86_64" and os.path.exists(FUNCMETER) and "asan" not in BUILD.split("/")


@unittest.skipUnless(supported(), "x86-64 only, and not under sanitizers")
class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def at(self, name):
        return os.path.join(self.folder, name)

    def build(self, name, source, *flags, compiler="gcc", suffix=".c"):
        with open(self.at(name + suffix), "w", encoding="utf-8") as file:
            file.write(source)
        subprocess.run([compiler, "-O1", "-falign-functions=16", "-o", self.at(name), self.at(name + suffix), *flags,
                        "-pthread", "-lm"], check=True)
        return self.at(name)

    def run_meter(self, *arguments, **more):
        return subprocess.run([FUNCMETER, *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=LIMIT, cwd=self.folder, **more)

    def rows(self, *arguments, status=0):
        """Rows of the table, and the output of the command."""
        done = self.run_meter("-o", "out.csv", *arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        with open(self.at("out.csv"), newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file)), done.stdout

    def ends(self, *arguments, status=0):
        rows, printed = self.rows(*arguments, status=status)
        return {r["function"]: tuple(int(r[k]) for k in ("calls", "returned", "unwound")) for r in rows}, printed


class Counts(Case):
    def test_every_way_to_call(self):
        program = self.build("calls", CALLS)
        alone = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=False)
        for options in ((), ("--clock", "monotonic")):
            ends, printed = self.ends(*options, "calls:" + "|".join(EXPECTED), "--", program, status=3)
            self.assertEqual((printed, ends), (alone.stdout, EXPECTED))

    def test_count_only(self):
        program = self.build("calls", CALLS)
        rows, _ = self.rows("--count", "calls:" + "|".join(EXPECTED), "libm.so.6:sin", "--", program, "250", status=3)
        counts = {r["function"]: int(r["calls"]) for r in rows}
        self.assertEqual((counts["leaf"], counts["tail"], counts["jumper"], counts["fib"]), (500, 250, 1250, 1973))
        self.assertEqual(list(rows[0]), ["calls", "library", "function"])

    def test_everything_at_once(self):
        program = self.build("calls", CALLS)
        alone = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=False)
        ends, printed = self.ends("calls:.*", "lib*:.*", "--", program, status=3)
        self.assertEqual((printed, {k: ends[k] for k in EXPECTED}), (alone.stdout, EXPECTED))
        self.assertEqual(ends["longjmp"][0] if "longjmp" in ends else ends["siglongjmp"][0], 100)

    def test_exceptions(self):
        program = self.build("throws", THROWS, compiler="g++", suffix=".cpp")
        alone = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True)
        for patterns in (["throws:.*"], ["throws:.*", "lib*:.*"]):
            ends, printed = self.ends(*patterns, "--", program)
            self.assertEqual((printed, {k: ends[k] for k in THROWN}), (alone.stdout, THROWN))
        self.assertEqual(ends["shop::till::add(int, double)"], (300, 300, 0))
        self.assertEqual(set(self.ends(r"throws:shop::.*", "--", program)[0]), {"shop::till::add(int, double)"})

    def counts_of_gdb(self, names, *command):
        """The number of hits of breakpoints, which are otherwise ignored."""
        breaks = [a for i, name in enumerate(names, 1) for a in ("-ex", "break " + name, "-ex", f"ignore {i} 1000000000")]
        done = subprocess.run(["gdb", "-q", "-nx", "-batch", "-ex", "set breakpoint pending on", "-ex", "set debuginfod enabled off",
                               *breaks, "-ex", "run", "-ex", "info breakpoints", "--args", *command], cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=LIMIT, check=False)
        table = done.stdout[done.stdout.index("Num "):]
        hits = re.findall(r"^\d+ .*?(?=^\d|\Z)", table, re.M | re.S)
        found = [re.search(r"already hit (\d+) time", hit) for hit in hits]
        return {name: int(hit.group(1)) if hit else 0 for name, hit in zip(names, found)}

    def test_as_gdb_counts(self):
        """Recursive, mutually recursive and tail-called functions, and functions of libraries."""
        program = self.build("calls", CALLS)
        names = list(EXPECTED)
        gdb = self.counts_of_gdb(names, program, "20")
        ends, _ = self.ends("calls:" + "|".join(names), "--", program, "20", status=3)
        self.assertEqual({n: e[0] for n, e in ends.items()}, gdb)
        self.assertEqual(gdb["fib"], 1973)
        script = ("import sqlite3, zlib\nc = sqlite3.connect(':memory:')\nc.execute('create table t(a, b)')\n"
                  "for i in range(30): c.execute('insert into t values(?, ?)', (i, zlib.crc32(b'x' * i)))\n"
                  "for r in c.execute('select * from t order by b'): zlib.decompress(zlib.compress(str(r).encode() * 500))\n")
        names = ["crc32", "deflate", "inflate", "deflateInit2_", "sqlite3_prepare_v2", "sqlite3_step", "sqlite3_column_int64",
                 "sqlite3_malloc64"]
        command = [os.path.realpath(sys.executable), "-I", "-S", "-c", script]  # not a wrapper script
        gdb = self.counts_of_gdb(names, *command)
        pattern = "|".join(names)
        ends, _ = self.ends("libz.so.1:" + pattern, "libsqlite3.so.0:" + pattern, "--", *command)
        self.assertEqual({n: e[0] for n, e in ends.items()}, gdb)
        self.assertGreater(gdb["sqlite3_step"], 60)

    def test_address_sanitizer(self):
        """The run-time library of AddressSanitizer must be loaded first, and unwinds stacks
        itself."""
        program = self.build("throws", THROWS, "-fsanitize=address", compiler="g++", suffix=".cpp")
        alone = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True)
        ends, printed = self.ends("throws:.*", "--", program)
        self.assertEqual((printed, {k: ends[k] for k in THROWN}), (alone.stdout, THROWN))
        wrong = self.build("wrong", "#include <stdlib.h>\n__attribute__((noipa)) int bad(int *p, int n) { return p[n]; }\n"
                                    "int main(int n, char **v) { return bad(malloc(4), n) * !v; }\n", "-fsanitize=address")
        with mock.patch.dict(os.environ, ASAN_OPTIONS=""):  # the tests' value sets a status and a log file
            done = self.run_meter("-o", "out.csv", "wrong:bad", "--", wrong)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"heap-buffer-overflow(.*\n)+ *#0 0x\w+ in bad .*\n *#1 0x\w+ in main ")
        with open(self.at("out.csv"), newline="", encoding="utf-8") as file:
            self.assertEqual([(r["calls"], r["inside"]) for r in csv.DictReader(file)], [("1", "1")])

    def test_threads_signals_fork_kill(self):
        program = self.build("threads", THREADS)
        for patterns in (["threads:.*"], ["threads:.*", "libc.so.6:.*"]):
            rows, printed = self.rows(*patterns, "--", program, status=128 + signal.SIGKILL)
            found = {r["function"]: r for r in rows}
            handled = int(printed)
            self.assertGreater(handled, 3)
            nests = 64 * 100 * 11 + 10000 * 21
            self.assertEqual([int(found[n]["calls"]) for n in ("nest", "leave", "handle", "work", "child")],
                             [nests, 256, handled, nests - 64 * 100 - 10000 + handled + 5, 5])
            for name in ("nest", "work", "handle"):
                r = found[name]
                self.assertEqual(int(r["returned"]) + int(r["untimed"]), int(r["calls"]), name)
            self.assertEqual((int(found["leave"]["unwound"]), int(found["main"]["inside"])), (256, 1))

    def test_rows_of_threads(self):
        program = self.build("threads", THREADS)
        rows, _ = self.rows("--threads", "threads:nest|work", "--", program, status=128 + signal.SIGKILL)
        counts = sorted(int(r["calls"]) for r in rows if r["function"] == "nest")
        self.assertEqual(counts, 64 * [1100] + [210000])
        forked = [r for r in rows if r["function"] == "work" and r["calls"] == "1"]
        self.assertEqual(len({r["process"] for r in forked}), 5)

    def test_more_threads_than_blocks(self):
        program = self.build("many", MANY_THREADS)
        self.assertEqual(self.ends("many:work", "--", program)[0], {"work": (25000, 25000, 0)})

    def test_libraries_that_come_later(self):
        plugin = self.build("plugin.so", PLUGIN, "-shared", "-fPIC")
        program = self.build("loader", LOADER)
        self.assertEqual(self.ends("plugin.so:plugin", "--", program, plugin)[0], {"plugin": (33, 33, 0)})

    def test_other_stacks(self):
        program = self.build("coroutines", COROUTINES)
        rows, printed = self.rows("coroutines:wait_deep|resume", "--", program)
        found = {r["function"]: (int(r["calls"]), int(r["returned"]), int(r["unwound"])) for r in rows}
        self.assertEqual((printed, found), ("done\n", {"wait_deep": (1200, 1200, 0), "resume": (210, 210, 0)}))

    def test_handlers_that_leave_hooks(self):
        program = self.build("interrupted", INTERRUPTED)
        rows, printed = self.rows("interrupted:busy", "--", program)
        row = {k: int(rows[0][k]) for k in ("calls", "returned", "unwound", "inside", "untimed")}
        self.assertLess(int(printed) - row["calls"], 200)  # a handler may run between the two
        self.assertEqual((row["calls"], row["inside"]), (row["returned"] + row["unwound"], 0))
        self.assertLessEqual(row["unwound"], 200)

    def test_beginnings_of_functions(self):
        program = self.build("beginnings", BEGINNINGS)
        alone = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True)
        names = ("relative", "immediate", "conditional", "calling", "jumping", "indirect", "landing", "brief", "through",
                 "computed", "entered", "enters", "again", "again_far", "spinning", "spinning_inside", "into", "counting",
                 "packed", "packed_jump", "packed_other", "packed_loop")
        for options in ([], ["--count"]):
            rows, printed = self.rows(*options, "beginnings:helper|" + "|".join(names), "--", program)
            counts = {r["function"]: int(r["calls"]) for r in rows}
            self.assertEqual((printed, counts), (alone.stdout, {n: 10 for n in names} | {"helper": 50}))

    def test_chosen_among_several(self):
        """An ifunc counts under its own name, and one that shares its code with another under both names."""
        program = self.build("chosen", r"""
            #include <stdio.h>
            #include <string.h>
            __attribute__((noinline)) static int plain(int n) { return n + 1; }
            static int other(int n) { return n + 2; }
            static int (*select_plain(void))(int) { return plain; }
            static int (*select_other(void))(int) { return other; }
            int first(int n) __attribute__((ifunc("select_plain")));
            static int (*select_second(void))(int) { return plain; }
            int second(int n) __attribute__((ifunc("select_second")));
            int third(int n) __attribute__((ifunc("select_other")));
            int main(void)
            {
                char text[100], copy[100];
                size_t sum = 0;
                size_t (*volatile length)(const char *) = strlen;
                void *(*volatile move)(void *, const void *, size_t) = memmove;
                for (int i = 0; i < 90; i++) {
                    text[i] = 'a';
                    text[i + 1] = 0;
                    move(copy, text, 91);
                    sum += length(copy) + first(i) + second(i) + third(i);
                }
                printf("%zu\n", sum);
            }
            """)
        for options in ([], ["--count"]):
            rows, printed = self.rows(*options, "chosen:first|second|third", "libc.so.6:strlen|memmove|memcpy", "--", program)
            counts = {r["function"]: int(r["calls"]) for r in rows}
            self.assertEqual((printed, counts["first|second"], counts["third"], counts["strlen"]), ("16470\n", 180, 90, 90))
            self.assertEqual([n for f, n in counts.items() if "memmove" in f.split("|")], [90])

    def test_started_programs(self):
        program = self.build("calls", CALLS)
        rows, _ = self.rows("calls:fib", "--", "sh", "-c", f"{program} 1; {program} 1; exit 5", status=5)
        self.assertEqual([int(r["calls"]) for r in rows], [2 * 1973])

    def test_libraries_of_others(self):
        for library, script in (("libz.so.1", "import zlib\nfor i in range(77): zlib.crc32(b'abc' * 1000)"),
                                ("libsqlite3.so.0", "import sqlite3\nc = sqlite3.connect(':memory:')\n"
                                                    "for i in range(40): c.execute('select %d' % i).fetchall()")):
            name = {"libz.so.1": "crc32", "libsqlite3.so.0": "sqlite3_prepare_v2"}[library]
            ends, _ = self.ends(library + ":.*", "--", shutil.which("python3"), "-c", script)
            self.assertEqual(ends[name][:2], (77, 77) if name == "crc32" else (40, 40), ends)


class Profiles(Case):
    def shown(self, *arguments):
        done = subprocess.run([os.path.join(BUILD, "pbin-aggregate"), "--format", "csv", *arguments], cwd=self.folder,
                              stdout=subprocess.PIPE, text=True, check=True)
        return list(csv.DictReader(done.stdout.splitlines()))

    def test_calls_and_times(self):
        program = self.build("calls", CALLS)
        pattern = "calls:" + "|".join(EXPECTED)
        self.assertEqual(self.run_meter("-q", "-o", "out.pbin", pattern, "--", program).returncode, 3)
        rows = self.shown("out.pbin")
        self.assertEqual({r["function"]: int(r["entries"]) for r in rows}, {k: v[0] for k, v in EXPECTED.items()})
        times = {r["function"]: float(r["time [s]"]) for r in rows}
        self.assertGreater(times["spin"], 50 * 199_900e-9)
        with tool.measurement():
            self.assertLess(times["rest"], 0.001)
        both = self.shown("out.pbin", "out.pbin", "--mode", "add")
        self.assertEqual({r["function"]: int(r["entries"]) for r in both}, {k: 2 * v[0] for k, v in EXPECTED.items()})

    def test_measures(self):
        """The ways in which calls ended, and a distribution with as many times as calls that
        returned."""
        program = self.build("calls", CALLS)
        self.run_meter("-q", "-o", "out.pbin", "calls:" + "|".join(EXPECTED), "--", program)
        rows = {r["function"]: r for r in self.shown("out.pbin")}
        for name, (calls, returned, unwound) in EXPECTED.items():
            row = rows[name]
            self.assertEqual([int(row[k]) for k in ("calls", "returned", "unwound", "inside", "untimed")],
                             [calls, returned, unwound, 0, 0])
            if returned:
                least, middle, most = (float(row[k + " [ns]"]) for k in ("min", "p50", "max"))
                self.assertTrue(least <= middle <= most and least <= float(row["mean [ns]"]) <= most, row)
        with tool.measurement():
            self.assertAlmostEqual(float(rows["spin"]["p50 [ns]"]) / 200_000, 1, delta=0.1)
        self.assertGreater(float(rows["main"]["inclusive [s]"]), 50 * 199_900e-9)
        done = subprocess.run([os.path.join(BUILD, "pbin-dump"), "--histograms", "out.pbin"], cwd=self.folder,
                              stdout=subprocess.PIPE, text=True, check=True)
        counts = {}
        for r in csv.DictReader(done.stdout.splitlines()):
            counts[r["function"]] = counts.get(r["function"], 0) + int(r["count"])
        self.assertEqual(counts, {k: v[1] for k, v in EXPECTED.items() if v[1]})
        self.run_meter("-q", "--count", "-o", "counts.pbin", "calls:leaf", "--", program)
        self.assertEqual([r["calls"] for r in self.shown("counts.pbin")], ["200"])
        self.assertNotIn("returned", self.shown("counts.pbin")[0])

    def test_igprof(self):
        """A dump of IgProf; its text is checked here and by igprof2pbin."""
        program = self.build("calls", CALLS)
        self.run_meter("-q", "--format", "igprof", "-o", "calls.ig", "calls:" + "|".join(EXPECTED), "--", program)
        with open(os.path.join(self.folder, "calls.ig"), encoding="utf-8") as f:
            head, *lines = f.read().splitlines()
        self.assertRegex(head, r"^P=\(HEX ID=[1-9a-f][0-9a-f]* N=\(.*calls\) T=0\.000000\)$")
        entered, left, names = {}, {}, {}
        for number, line in enumerate(lines):
            name, values = re.fullmatch(r"C1 FN%x=\(F1(?:=\(.*calls\))?\+[0-9a-f]+ N=\((\w+)\)\)\+0((?: V\S+)+)" % number,
                                        line).groups()
            for value in values.split():
                counter, defined, ticks, *_ = re.fullmatch(r"V(\d)(?:=\((\w+)\))?:\((\w+),(\w+),(\w+)\)", value).groups()
                names.setdefault(counter, defined)
                {"ENTER_COUNT": entered, "EXIT_COUNT": left}.get(names[counter], {})[name] = int(ticks, 16)
        self.assertEqual(entered, {k: v[0] for k, v in EXPECTED.items()})
        self.assertEqual(left, {k: v[1] + v[2] for k, v in EXPECTED.items()})
        done = subprocess.run([os.path.join(BUILD, "igprof2pbin"), "-q", "-o", "calls.pbin", "calls.ig"], cwd=self.folder, check=True)
        self.assertEqual(done.returncode, 0)
        self.assertEqual({r["function"]: int(r["enter_count"]) for r in self.shown("calls.pbin")}, entered)

    def test_threads(self):
        program = self.build("threads", THREADS)
        self.run_meter("-q", "--threads", "-o", "out.pbin", "threads:nest", "--", program)
        self.assertEqual(sorted(int(r["entries"]) for r in self.shown("-k", "process,thread", "out.pbin")),
                         64 * [1100] + [210000])
        self.assertEqual([(r["function"], r["entries"]) for r in self.shown("out.pbin")], [("nest", "280400")])


class Callers(Case):
    SOURCE = r"""
        #include <stdio.h>
        #define KEEP __attribute__((noipa))
        KEEP int leaf(int n) { int r = n + 1; __asm__ volatile(""); return r; }
        KEEP int fib(int n)
        {
            if (n < 2)
                return leaf(n);
            int a = fib(n - 1);
            return a + fib(n - 2);
        }
        KEEP int odd(int n);
        KEEP int even(int n) { int r = n == 0 ? leaf(1) : odd(n - 1); __asm__ volatile(""); return r; }
        KEEP int odd(int n) { int r = n == 0 ? leaf(0) : even(n - 1); __asm__ volatile(""); return r; }
        KEEP int tail(int n) { return leaf(n); }
        int main(void)
        {
            int sum = 0;
            for (int i = 0; i < 50; i++)
                sum += tail(i) + even(i) + leaf(i);
            printf("%d\n", sum + fib(12));
        }
        """

    def arcs(self, profile):
        """{(caller, function): calls} within one binary, by pbin-callgraph."""
        done = subprocess.run([os.path.join(BUILD, "pbin-callgraph"), "--format", "json", profile], cwd=self.folder,
                              stdout=subprocess.PIPE, text=True, check=True)
        functions = {f["function"]: f for f in json.loads(done.stdout)["functions"]}
        arcs = {(f["function"], f["function"]): f["recursive_calls"] for f in functions.values()}
        for f in functions.values():
            arcs |= {(f["function"], g["function"]): g["calls"] for g in f["callees"]}
        own = {"main", "tail", "even", "odd", "fib", "leaf"}
        return {a: n for a, n in arcs.items() if own.issuperset(a) and n > 0}

    def test_as_gprof(self):
        program = self.build("profiled", self.SOURCE, "-pg", "-g")
        subprocess.run([program], cwd=self.folder, stdout=subprocess.DEVNULL, check=True)
        subprocess.run([os.path.join(BUILD, "gmon2pbin"), "-e", program, "-o", "gmon.pbin", "gmon.out"],
                       cwd=self.folder, check=True)
        for options in ([], ["--count"]):
            self.run_meter("-q", "--callers", *options, "-o", "out.pbin", "profiled:.*", "--", program)
            self.assertEqual(self.arcs("out.pbin"), self.arcs("gmon.pbin"))
            self.assertEqual(self.arcs("out.pbin")["main", "leaf"], 50)

    def test_places(self):
        """Each place is the line after the call, to which the call returns, according to
        addr2line."""
        program = self.build("places", self.SOURCE, "-g")
        for options in ([], ["--count"]):
            rows, _ = self.rows("--callers", *options, "places:fib|leaf", "--", program)
            found = {}
            for row in rows:
                place = subprocess.run(["addr2line", "-e", program, hex(int(row["return_address"], 16) - 1)],
                                       stdout=subprocess.PIPE, text=True, check=True).stdout
                line = self.SOURCE.splitlines()[int(place.split(":")[1].split()[0]) - 1].strip()
                found[row["function"], row["caller"], line[-22:]] = int(row["calls"])
            places = [(f, c, n) for (f, c, _), n in sorted(found.items())]
            self.assertEqual(places, [("fib", "fib", 232), ("fib", "fib", 232), ("fib", "main", 1), ("leaf", "even", 25),
                                      ("leaf", "fib", 233), ("leaf", "main", 50), ("leaf", "odd", 25), ("leaf", "tail", 50)])
            self.assertIn(("fib", "fib", "int a = fib(n - 1);"), found)

    def test_tail_calls_threads_and_signals(self):
        program = self.build("tails", self.SOURCE, "-O2")
        for options in ([], ["--count"]):
            rows, _ = self.rows("--callers", *options, "tails:leaf|tail", "--", program)
            calls = {(r["caller"], r["function"]): 0 for r in rows}
            for r in rows:
                calls[r["caller"], r["function"]] += int(r["calls"])
            self.assertEqual((calls["main", "tail"], calls["main", "leaf"]), (50, 100))  # one is left by a jump
        program = self.build("threads", THREADS)
        rows, _ = self.rows("--callers", "threads:.*", "--", program, status=128 + signal.SIGKILL)
        calls = {r["caller"]: int(r["calls"]) for r in rows if r["function"] == "nest"}
        self.assertEqual(calls, {"nest": 64 * 100 * 10 + 10000 * 20, "run": 6400, "main": 10000})
        done = self.run_meter("--callers", "--threads", "threads:nest", "--", program)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("the table of --callers has no threads: write a pbin", done.stderr)

    def test_libraries_that_are_unloaded(self):
        """Two libraries, loaded one after the other at the same address, are distinguished."""
        one = self.build("one.so", PLUGIN, "-shared", "-fPIC")
        two = self.build("two.so", PLUGIN.replace("plugin(1)", "plugin(1) + plugin(2)").replace("first", "other"),
                         "-shared", "-fPIC")
        program = self.build("loader", LOADER.replace("argv[argc - 1]", "argv[1 + i % 2]").replace("i < 3", "i < 10"))
        rows, _ = self.rows("--callers", "one.so:plugin", "two.so:plugin", "--", program, one, two)
        calls = {}
        for r in rows:
            key = r["caller_library"], r["caller"], r["library"]
            calls[key] = calls.get(key, 0) + int(r["calls"])
        self.assertEqual(calls, {("one.so", "first", "one.so"): 5, ("two.so", "other", "two.so"): 10,
                                 ("loader", "main", "one.so"): 50, ("loader", "main", "two.so"): 50})


class Times(Case):
    def test_known_times(self):
        program = self.build("calls", CALLS)
        rows, _ = self.rows("calls:rest|spin|main", "--", program, "1", status=3)
        found = {r["function"]: r for r in rows}
        rest, spin, main = found["rest"], found["spin"], found["main"]
        self.assertGreaterEqual(float(rest["min [ns]"]), 199_900)
        with tool.measurement():
            self.assertLess(float(rest["min [ns]"]), 204_000)
        self.assertLessEqual(float(spin["inclusive [s]"]), float(rest["inclusive [s]"]))
        with tool.measurement():
            self.assertLess(float(rest["self [s]"]), 0.0005)
        self.assertLessEqual(float(rest["inclusive [s]"]), float(main["inclusive [s]"]))
        self.assertAlmostEqual(float(rest["mean [ns]"]) * 50e-9, float(rest["inclusive [s]"]), 6)
        for low, high in (("min [ns]", "p50 [ns]"), ("p50 [ns]", "p90 [ns]"), ("p90 [ns]", "p99 [ns]"),
                          ("p99 [ns]", "max [ns]")):
            self.assertLessEqual(float(rest[low]), float(rest[high]))

    def test_cpu_time(self):
        program = self.build("waits", CALLS.replace("rest(200000);", "rest(200000), nap();").replace(
            "int main(", "KEEP void nap(void) { struct timespec t = {0, 3000000}; nanosleep(&t, NULL); }\nint main("))
        for options, least, most in (([], 50 * 3e-3, 60), (["--cpu-time"], 0, 50 * 1e-3)):
            rows, _ = self.rows(*options, "waits:rest|nap|main", "--", program, "1", status=3)
            found = {r["function"]: r for r in rows}
            self.assertGreater(float(found["nap"]["inclusive [s]"]), least)
            self.assertLess(float(found["nap"]["inclusive [s]"]), most)
            self.assertGreater(float(found["main"]["inclusive [s]"]), float(found["rest"]["inclusive [s]"]))
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        rows, _ = self.rows("--cpu-time", "waits:main", "--", program, "1", status=3)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - usage.ru_utime - usage.ru_stime
        self.assertLess(float(rows[0]["inclusive [s]"]), used)

    def test_cpu_time_of_a_clock_that_gets_slower(self):
        """System calls are filtered after the start, so that a hook costs more than before. The
        program prints the CPU time of a call [ns], computed from calls that are not hooked."""
        program = self.build("slower", r"""
            #include <stdio.h>
            #include <time.h>
            #include <linux/filter.h>
            #include <linux/seccomp.h>
            #include <sys/prctl.h>
            __attribute__((noinline)) static void spin(long rounds) { for (long i = 0; i < rounds; i++) __asm__ volatile("" ::: "memory"); }
            __attribute__((noinline)) void work(long rounds) { spin(rounds); __asm__ volatile(""); }
            static double used(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
            int main(void)
            {
                enum { LOADS = 4000, ROUNDS = 5000, CALLS = 40 };
                static struct sock_filter code[LOADS + 1];
                for (int i = 0; i < LOADS; i++)
                    code[i] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 16 + i % 2 * 8);
                code[LOADS] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
                struct sock_fprog filter = {LOADS + 1, code};
                if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
                    return 1;
                double bare = 0;
                for (int i = 0; i < 500; i++) {
                    double start = used();
                    spin(CALLS * ROUNDS);
                    bare += used() - start;
                    for (int k = 0; k < CALLS; k++)
                        work(ROUNDS);
                }
                printf("%f\n", bare / 500 / CALLS);
            }""")
        (row,), printed = self.rows("--cpu-time", "slower:work", "--", program)
        with tool.measurement():
            self.assertAlmostEqual(float(row["mean [ns]"]) / float(printed), 1, delta=0.1)

    def test_callers_include_callees(self):
        """For calls that take less than the error of the time subtracted for a hook."""
        program = self.build("tiny", """
            __attribute__((noipa)) int tiny(int n) { return n + 1; }
            __attribute__((noipa)) int between(int n) { return tiny(n) + tiny(n + 1); }
            __attribute__((noipa)) int caller(int n) { for (int i = 0; i < 40000; i++) n += between(n) + tiny(n); return n; }
            int main(int n, char **v) { return caller(n) == 0 && v; }""")
        for options in ([], ["--clock", "monotonic"], ["--cpu-time"]):
            rows, _ = self.rows(*options, "tiny:tiny|between|caller|main", "--", program)
            inclusive, own = ({r["function"]: float(r[c]) for r in rows} for c in ("inclusive [s]", "self [s]"))
            self.assertEqual(inclusive["tiny"], own["tiny"])
            self.assertGreater(inclusive["tiny"], 0)
            self.assertGreaterEqual(inclusive["caller"], inclusive["between"])
            self.assertAlmostEqual(sum(own.values()), inclusive["main"], 9)

    def test_calls_of_a_child_in_a_recursion(self):
        """The calls of a forked process are outermost, also if its parent was in calls."""
        program = self.build("forking", """
            #include <sys/wait.h>
            #include <unistd.h>
            __attribute__((noipa)) int nest(int n)
            {
                if (n == 9 && fork() == 0)
                    _exit(nest(2));
                usleep(5000);
                return n == 9 ? wait(NULL) < 0 : n > 0 ? nest(n - 1) : 0;
            }
            int main(void) { return nest(10); }""")
        rows, _ = self.rows("--threads", "forking:nest", "--", program)
        for row in rows:
            self.assertEqual(row["self [s]"], row["inclusive [s]"])
        self.assertEqual(sorted(int(float(r["inclusive [s]"]) / 5e-3) >= int(r["calls"]) for r in rows), [True, True])
        self.assertEqual(sorted(int(r["calls"]) for r in rows), [2, 3])

    def test_recursion_counts_once(self):
        program = self.build("calls", CALLS)
        rows, _ = self.rows("calls:fib|main", "--", program, "1", status=3)
        found = {r["function"]: float(r["inclusive [s]"]) for r in rows}
        self.assertLess(found["fib"], found["main"])


def can_probe():
    """Uprobes need root, and a kernel that supports them."""
    return os.geteuid() == 0 and os.path.exists("/sys/bus/event_source/devices/uprobe")


@unittest.skipUnless(can_probe(), "needs root and uprobes")
class Breakpoints(Case):
    FAMILY = r"""
        #include <pthread.h>
        #include <sys/wait.h>
        #include <unistd.h>
        __attribute__((noipa)) int work(int n) { __asm__ volatile("nop; nop"); return n + 1; }
        static void *run(void *x) { for (int i = 0; i < 100; i++) work(i); return x; }
        int main(int count, char **name)
        {
            for (int i = 0; count > 1 && i < 7; i++)
                work(i);
            for (int k = 0; count == 1 && k < 20; k++) {
                pid_t child = fork();
                if (child == 0) {
                    pthread_t thread[4];
                    for (int i = 0; i < 4; i++)
                        pthread_create(&thread[i], 0, run, 0);
                    for (int i = 0; i < 4; i++)
                        pthread_join(thread[i], 0);
                    pid_t other = vfork();
                    if (other == 0)
                        execl(name[0], name[0], "again", (char *)0);
                    waitpid(other, 0, 0);
                    _exit(0);
                }
                if (k % 3 == 0)
                    waitpid(child, 0, 0);
            }
            while (wait(0) > 0)
                ;
            return count == 1 ? 5 : 0;
        }
        """
    CALLS = 20 * (4 * 100 + 7)

    def test_families(self):
        """Threads, forks and execs, linked statically and dynamically; the latter also with
        breakpoints in a library."""
        fixed = self.build("fixed", self.FAMILY, "-static")
        rows, _ = self.rows("--method", "uprobe", "fixed:work|run", "--", fixed, status=5)
        self.assertEqual([(r["function"], r["calls"], r["returned"]) for r in rows],
                         [("work", str(self.CALLS), str(self.CALLS)), ("run", "80", "80")])
        rows, _ = self.rows("--method", "auto", "--count", "fixed:work", "--", fixed, status=5)
        self.assertEqual([list(r.values()) for r in rows], [[str(self.CALLS), "fixed", "work"]])
        shared = self.build("shared", self.FAMILY)
        rows, _ = self.rows("--method", "uprobe", "shared:work", "libc.so.6:vfork|pthread_join", "--", shared, status=5)
        self.assertEqual({r["function"]: (r["calls"], r["returned"]) for r in rows},
                         {"work": 2 * (str(self.CALLS),), "pthread_join": ("80", "80"), "vfork": ("20", "0")})
        rows, _ = self.rows("--method", "uprobe", "--count", fixed + ":work", "--", "sh", "-c", fixed + "; kill -9 $$", status=137)
        self.assertEqual([r["calls"] for r in rows], [str(self.CALLS)])

    def test_rest(self):
        """Functions that cannot be hooked, together with others that can, in threads, forks and
        execs."""
        kept = """__asm__(".text\\n.type tiny,@function\\ntiny: ret\\n.type next,@function\\nnext: xor %eax,%eax\\nnop\\nnop\\nnop\\nret\\n"
            ".type into,@function\\ninto: nop\\n1: dec %edi\\nnop\\nnop\\njz 2f\\ncall 1b\\n2: ret\\n");
            extern void tiny(void), next(void), into(int);"""
        program = self.build("mixed", kept + self.FAMILY.replace("return n + 1;", "tiny(); next(); into(5); return n + 1;"))
        rows, _ = self.rows("--method", "auto", "mixed:tiny|next|into|work", "--", program, status=5)
        self.assertEqual({r["function"]: (int(r["calls"]), int(r["untimed"])) for r in rows},
                         {n: (self.CALLS, 0) for n in ("next", "work")} | {n: (self.CALLS, self.CALLS) for n in ("tiny", "into")})
        done = self.run_meter("--method", "auto", "--count", "mixed:tiny|next|into|work", "--", program, "again")
        self.assertIn("funcmeter: 28 calls, 2 functions hooked, 2 functions with a breakpoint\n", done.stderr)
        done = self.run_meter("--method", "auto", "--list", "mixed:tiny|next|into", "--", program)
        self.assertRegex(done.stdout, r"^0x\w+ +\d+  mixed:into  \(calls only, by a breakpoint\)\n0x\w+ +\d+  mixed:next\n"
                                      r"0x\w+ +\d+  mixed:tiny  \(calls only, by a breakpoint\)\n$")

    def test_limits(self):
        program = self.build("raised", "int main(void) { return 0; }\n")
        os.chown(program, 1, 1)
        os.chmod(program, 0o4755)
        for arguments, status, text in ((("raised:main", "--", program), 1, "set-user-ID"),
                                        (("true:none", "--", "true"), 1, "no function was hooked"),
                                        (("none:main", "--", "./none"), 127, "cannot run './none'"),
                                        (("--threads", "true:main", "--", "true"), 2, "--threads cannot be combined with --method uprobe")):
            done = self.run_meter("--method", "uprobe", *arguments)
            self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
            self.assertIn(text, done.stderr)
        done = self.run_meter("--method", "auto", "raised:main", "--", program)
        self.assertRegex(done.stderr, r"^funcmeter: cannot measure .*set-user-ID.*\n$")
        loop = self.build("loop", "__asm__(\".type again,@function\\nagain: dec %edi\\njg again\\nret\\n.type locked,@function\\n"
                                  "locked: lock incl (%rdi)\\nret\\n.type wide,@function\\nwide: vpxor %xmm0,%xmm0,%xmm0\\nret\\n"
                                  ".type local,@function\\nlocal: mov %fs:0,%rax\\nret\"); int main(void) { return 0; }")
        done = self.run_meter("--method", "uprobe", "--list", "loop:again|locked|wide|local", "--", loop)
        self.assertRegex(done.stdout, r"^0x\w+ +\d+  loop:local\n- +-  loop:again  \(has a loop back to its first instruction\)\n"
                                      r"(- +-  loop:(locked|wide)  \(begins with an instruction that cannot have a breakpoint\)\n){2}$")
        throws = self.build("throws", THROWS, compiler="g++", suffix=".cpp")
        rows, _ = self.rows("--method", "uprobe", "--count", "throws:" + "|".join(THROWN), "--", throws)
        self.assertEqual({r["function"]: int(r["calls"]) for r in rows}, {n: v[0] for n, v in THROWN.items()})
        done = self.run_meter("--method", "uprobe", "--list", "throws:catcher|depth", "--", throws)
        self.assertRegex(done.stdout, r"^0x\w+ +\d+  throws:catcher\n0x\w+ +\d+  throws:depth\n$")


class Energy(Case):
    """A program that counts the energy it pretends to use, in a file; it prints the energy that its
    functions used."""
    SOURCE = r"""
        #include <fcntl.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <time.h>
        #include <unistd.h>
        #define KEEP __attribute__((noipa))
        static int file;
        static double joules, seconds;
        static double now(void)
        {
            struct timespec t;
            clock_gettime(CLOCK_MONOTONIC, &t);
            return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
        }
        static void count(void)
        {
            char text[32];
            int length = snprintf(text, sizeof text, "%012.0f\n", joules * 1e6);
            if (pwrite(file, text, (size_t)length, 0) != length)
                abort();
        }
        KEEP double burn(double watts, double seconds)
        {
            double start = now(), last = start, before = joules, written = start;
            while (last - start < seconds) {
                double time = now();
                joules += watts * (time - last);
                last = time;
                if (time - written > 1e-3) {
                    count();
                    written = time;
                }
            }
            return joules - before;
        }
        KEEP double heavy(void) { double j = burn(50, seconds); __asm__ volatile(""); return j; }
        KEEP double light(void) { double j = burn(5, seconds); __asm__ volatile(""); return j; }
        KEEP void brief(void) { burn(20, 1e-4); __asm__ volatile(""); }
        int main(int argc, char **argv)
        {
            double h = 0, l = 0;
            file = open(argv[1], O_WRONLY);
            seconds = atof(argv[2]);
            for (int i = 0; i < 3 && seconds > 0; i++) {
                h += heavy();
                l += light();
            }
            for (int i = 0; i < 100; i++)
                brief();
            count();
            printf("%f %f %f\n", h, l, joules);
        }
        """

    def test_long_and_short_calls(self):
        program = self.build("heat", self.SOURCE)
        with open(self.at("counter"), "w", encoding="utf-8") as file:
            file.write("000000000000\n")
        source = ("-p", "counter:" + self.at("counter"))
        for seconds in ("0.15", "0.6", "3"):  # a busy machine reads the counter less often
            done = self.run_meter(*source, "-o", "out.pbin", "heat:heavy|light|brief|main", "--", program, self.at("counter"),
                                  seconds)
            if "1 function has no energy: less than 95 % of their time is in calls of at least " in done.stderr:
                break
        else:
            self.fail(done.stderr)
        self.assertEqual(done.returncode, 0)
        shown = subprocess.run([os.path.join(BUILD, "pbin-aggregate"), "--format", "csv", "out.pbin"], cwd=self.folder,
                               stdout=subprocess.PIPE, text=True, check=True)
        rows = {r["function"]: r for r in csv.DictReader(shown.stdout.splitlines())}
        self.assertEqual(rows["brief"]["inclusive_energy [J]"], "")
        found = {n: float(rows[n]["inclusive_energy [J]"]) for n in ("heavy", "light", "main")}
        for name, true in zip(found, map(float, done.stdout.split())):
            self.assertAlmostEqual(found[name], true, delta=float(rows[name]["energy_error [J]"]), msg=name)
        self.assertGreater(found["heavy"], 3 * found["light"])
        done = self.run_meter("-q", *source, "-o", "out.csv", "heat:brief", "--", program, self.at("counter"), "0")
        self.assertRegex(done.stderr, r"^funcmeter: counter:energy has a new value every \S+ ms, but calls of 'brief' take "
                                      r"\S+ ms: energy is known only for calls of \S+ ms or more \(leave out -p\)\n$")
        self.assertEqual((done.returncode, os.path.exists(self.at("out.csv"))), (1, False))

    def test_intervals_of_no_function(self):
        """On a busy machine, a call of the calibration, function 0, may be long enough for an
        energy; and a program may write anything to the memory that it shares with funcmeter."""
        program = self.build("forged", r"""
            #include <stdio.h>
            #include <string.h>
            #include <time.h>
            #include "record/funcmeter/shared.h"
            __attribute__((noinline)) void work(void)
            {
                struct timespec t = {0, 300000000};
                nanosleep(&t, NULL);
            }
            int main(void)
            {
                char line[512];
                unsigned long from = 0, to, offset;
                FILE *maps = fopen("/proc/self/maps", "r");
                while (fgets(line, sizeof line, maps) != NULL)
                    if (strstr(line, "memfd:funcmeter") != NULL &&
                        sscanf(line, "%lx-%lx %*s %lx", &from, &to, &offset) == 3 && offset == 0)
                        break;
                struct meter_header *header = (void *)from;
                struct meter_interval *all = (void *)(from + METER_INTERVALS_AT);
                work();
                struct meter_interval copy = all[header->next_interval - 1];
                const unsigned functions[] = {0, 2, 1U << 31, ~0U};
                for (int i = 0; i < 4; i++) {
                    copy.function = functions[i];
                    all[header->next_interval++] = copy;
                }
                printf("%d\n", copy.ready == 1);
            }
            """, "-I", os.path.dirname(os.environ["TESTS"]))
        with open(self.at("watts"), "w", encoding="utf-8") as file:
            file.write("5\n")
        rows, printed = self.rows("-p", "file:" + self.at("watts"), "--unit", "W", "forged:work", "--", program)
        self.assertEqual((printed, [r["function"] for r in rows]), ("1\n", ["work"]))
        energy = float(rows[0]["inclusive_energy [J]"])
        self.assertAlmostEqual(energy, 5 * float(rows[0]["inclusive [s]"]), delta=float(rows[0]["energy_error [J]"]))

    def test_refusals(self):
        with open(self.at("counter"), "w", encoding="utf-8") as file:
            file.write("000000000000\n")
        source = ("-p", "counter:" + self.at("counter"))
        for options, status, text in (
                ((*source, "--count"), 2, "-p cannot be combined with --count"), ((*source, "--cpu-time"), 2, "-p cannot be combined with --cpu-time"),
                (("-p", "none:x"), 2, "none"), (("--unit", "mJ"), 2, "no power source given (-p)"),
                (("-p", "counter:" + self.at("none")), 1, "none: "),
                (("-p", "file:" + self.at("counter"), "--unit", "mA"), 1, "expected a source of energy or power, found one of current")):
            done = self.run_meter(*options, "heat:brief", "--", "touch", "ran")
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn(text, done.stderr)
        self.assertFalse(os.path.exists(self.at("ran")))


class Refusals(Case):
    def refused(self, *arguments, status=1):
        done = self.run_meter(*arguments)
        self.assertEqual((done.returncode, done.stdout), (status, ""))
        return done.stderr

    def test_patterns(self):
        self.assertIn("a pattern must be LIBRARY:REGEX", self.refused("libc", "--", "true", status=2))
        self.assertIn("pattern 'libc:(': ", self.refused("libc:(", "--", "true", status=2))
        self.assertIn("no pattern given", self.refused("--", "true", status=2))
        self.assertIn("no command given", self.refused("libc:.*", status=2))
        self.assertIn("cannot read patterns", self.refused("@" + self.at("none"), "--", "true"))

    def test_nothing_matches(self):
        self.assertIn("pattern 'libnone.so:.*': the command loaded no such file\nfuncmeter: no function was hooked\n",
                      self.refused("libnone.so:.*", "--", "true"))
        self.assertIn("pattern 'libc.so.6:none': no function matches\n", self.refused("libc.so.6:none", "--", "true"))

    def test_programs(self):
        self.build("fixed", "int main(void) { return 0; }\n", "-static")
        self.assertIn("it is statically linked", self.refused("fixed:.*", "--", "./fixed"))
        self.assertIn("cannot run './none'", self.refused("libc.so.6:.*", "--", "./none", status=127))
        self.assertIn("cannot run '.'", self.refused("libc.so.6:.*", "--", "./", status=126).replace("'./'", "'.'"))

    def test_stripped(self):
        program = self.build("bare", "static __attribute__((noipa)) int hidden(int n) { return n + 1; }\n"
                                     "int main(void) { return hidden(-1); }\n")
        self.assertEqual(self.ends("bare:hidden", "--", program)[0], {"hidden": (1, 1, 0)})
        subprocess.run(["strip", program], check=True)
        self.assertIn("pattern 'bare:hidden': no function matches\nfuncmeter: no function was hooked\n",
                      self.refused("bare:hidden", "--", program))

    def test_only_inlined(self):
        """A function with code, one without, one with both, and a C++ method; in both versions of
        debug information."""
        source = r"""
            #define INLINE static inline __attribute__((always_inline))
            INLINE int parse_line(const char *s) { int n = 0; while (*s) n += *s++ == ','; return n; }
            struct page { inline __attribute__((always_inline)) int parse_word(int n) { return n * argument; } int argument; };
            static __attribute__((noinline)) int parse_file(const char *s) { return parse_line(s) + 1; }
            INLINE int parse_both(int x) { return x * 3; }
            int (*pointer)(int) = parse_both;
            int main(int n, char **v)
            {
                struct page page = {n};
                volatile int sink = parse_file(v[0]) + parse_line(v[n - 1]) * parse_line(v[0]) + parse_both(n) + page.parse_word(n);
                return sink * 0;
            }
            """
        for flags in (("-gdwarf-5", "-O2"), ("-gdwarf-4", "-O1"), ("-g", "-gz", "-O2"), ("-g", "-gz=zlib-gnu", "-O2")):
            program = self.build("parser", source, *flags, compiler="g++", suffix=".cpp")
            done = self.run_meter("parser:.*parse_(line|word).*", "--", program)
            self.assertEqual(done.returncode, 1)
            self.assertIn("parser: parse_line: only inlined (3 places), cannot be hooked\n", done.stderr)
            self.assertIn("parser: page::parse_word(int): only inlined (1 place), cannot be hooked\n", done.stderr)
        listed = self.run_meter("--list", "parser:.*parse_.*", "--", program).stdout.splitlines()
        self.assertEqual([line.split("parser:")[1] for line in listed],
                         ["parse_both(int)", "parse_file(char const*)",
                          "parse_line  (only inlined (3 places), cannot be hooked)",
                          "page::parse_word(int)  (only inlined (1 place), cannot be hooked)"])

    def test_not_a_program(self):
        """A file that is not a program is neither read as debug information nor waited for;
        libdwarf prints nothing."""
        fifo = os.path.join(self.folder, "fifo")
        os.mkfifo(fifo)
        for path in (fifo, "/dev/zero", __file__):
            done = self.run_meter("--list", path + ":x")
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"\A(funcmeter: .*\n)+\Z")

    def test_killed(self):
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV):
            done = self.run_meter("libc.so.6:getppid", "--", "sh", "-c", f"kill -{int(number)} $$")
            self.assertEqual(done.returncode, 128 + number)

    @unittest.skipUnless(os.geteuid() == 0, "needs root to make a file of another user")
    def test_set_user_id(self):
        program = self.build("raised", "int main(void) { return 0; }\n")
        os.chown(program, 1, 1)
        os.chmod(program, 0o4755)
        self.assertIn("set-user-ID", self.refused("raised:.*", "--", "./raised"))

    def test_output(self):
        self.assertIn("/none/", self.refused("-o", "/none/out.csv", "libc.so.6:exit", "--", "touch", "ran"))
        self.assertFalse(os.path.exists(self.at("ran")))  # otherwise it might run for hours in vain
        self.refused("-o", "out.csv", "libnone.so:.*", "--", "true")
        self.assertFalse(os.path.exists(self.at("out.csv")))
        self.assertIn("unknown suffix", self.refused("-o", "out.png", "libc.so.6:exit", "--", "true", status=2))

    def test_functions(self):
        program = self.build("odd", r"""
            __asm__(".text\n.globl _Z4tinyv\n.type _Z4tinyv,@function\n_Z4tinyv: ret\n.size _Z4tinyv,.-_Z4tinyv\n"
                    ".globl next\n.type next,@function\nnext: xor %eax,%eax\nnop\nnop\nnop\nret\n.size next,.-next\n"
                    ".globl loop\n.type loop,@function\nloop: mov $9,%ecx\nnop\n.size loop,.-loop\n"
                    ".globl into\n.type into,@function\ninto: nop\n1: dec %edi\nnop\nnop\njz 2f\ncall 1b\n2: ret\n.size into,.-into\n"
                    ".globl runtime.text\n.type runtime.text,@function\nruntime.text:\n.type main.work,@function\nmain.work: ret\n"
                    ".type runtime.etext,@function\nruntime.etext: ret\n");
            extern void tiny(void) __asm__("_Z4tinyv"); extern int next(void); extern void into(int);
            int main(void) { tiny(); next(); into(5); return 0; }
            """)
        done = self.run_meter("--verbose", "-o", "out.csv", r"odd:tiny\(\)|next|into|main.work", "--", program)
        self.assertIn("odd: main.work: is written in Go, whose stacks have no room for a hook\n", done.stderr)
        self.assertIn("odd: tiny(): too short\n", done.stderr)
        self.assertIn("odd: into: has a branch to its first instructions\n", done.stderr)
        with open(self.at("out.csv"), newline="", encoding="utf-8") as file:
            self.assertEqual([(r["function"], r["calls"]) for r in csv.DictReader(file)], [("next", "1")])
        listed = self.run_meter("--list", r"odd:tiny\(\)|next|into", "--", program)
        self.assertRegex(listed.stdout, r"0x0000\w+ +\d+  odd:next\n(-.*\n){2}")

    def test_list_without_a_command(self):
        """The loader finds libraries in its cache and by LD_LIBRARY_PATH; their code does not
        run."""
        self.build("libmine.so", PLUGIN.replace("plugin(1)", "__builtin_trap()"), "-shared", "-fPIC")
        symbols = subprocess.run(["nm", "-S", "libmine.so"], cwd=self.folder, stdout=subprocess.PIPE, text=True, check=True).stdout
        address, size = (int(n, 16) for n in re.search(r"(\w+) (\w+) T plugin\n", symbols).groups())
        patterns = ("libc.so.6:fsync|memcpy", "libz.so.1:adler32", "libmine.so:plugin")
        with mock.patch.dict(os.environ, LD_LIBRARY_PATH=self.folder):
            alone = self.run_meter("--list", *patterns)
        in_libc = self.run_meter("--list", patterns[0], "--", "true").stdout
        self.assertEqual((alone.returncode, alone.stderr), (0, ""))
        self.assertRegex(alone.stdout, "^" + re.escape(in_libc + f"0x{address:08x} {size:6}  libmine.so:plugin\n") +
                         r"0x\w+ +\d+  libz.so.1:adler32\n$")
        done = self.run_meter("--list", "./libmine.so:plugin", sys.executable + ":Py_BytesMain")
        self.assertRegex(done.stdout, r"^0x\w+ +\d+  libmine.so:plugin\n0x\w+ +\d+  python3\S*:Py_BytesMain\n$")
        for pattern, status, text in (("libmine.so:plugin", 1, "no such library (name a program by its path)\n"
                                       "funcmeter: no function was hooked\n"),
                                      ("libm*:.*", 2, "--list needs a command for a name with wildcards\n")):
            self.assertIn(f"funcmeter: pattern '{pattern}': {text}", self.refused("--list", pattern, status=status))

    def test_fragments_and_loops(self):
        """A part of a function that the compiler moved out of it has no return address, and is not
        hooked; a loop to the first instruction of a function is not a call; and the program
        computes the same as without funcmeter."""
        program = self.build("parts", r"""
            #include <stdio.h>
            #include <stdlib.h>
            __asm__(".text\n.globl again\n.type again,@function\nagain: dec %edi\ncmp $0,%edi\nnop\nnop\njg again\nret\n"
                    ".size again,.-again\n");
            extern void again(int);
            __attribute__((noinline, cold)) void rare(long *p) { *p += 3; }
            __attribute__((noinline)) long hot(int n) {
                long local[8] = {n, n * 3, n * 5};
                if (__builtin_expect(n % 97 == 0, 0)) {
                    rare(&local[n % 8]); rare(&local[1]);
                    for (int i = 0; i < 8; i++) local[i] *= 7;
                    if (local[2] == 12345) abort();
                }
                return local[0] ^ local[1] ^ local[2] ^ local[n % 8];
            }
            int main(void) { long sum = 0; for (int i = 0; i < 1000; i++) sum += hot(i); again(50); printf("%ld\n", sum); }
            """, "-O2")
        alone = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True)
        symbols = subprocess.run(["nm", program], stdout=subprocess.PIPE, text=True, check=True)
        self.assertIn("hot.cold", symbols.stdout)
        for options in ([], ["--count"]):
            rows, printed = self.rows(*options, "parts:hot.*|again|rare", "--", program)
            self.assertEqual(printed, alone.stdout)
            self.assertEqual({r["function"]: int(r["calls"]) for r in rows}, {"hot": 1000, "rare": 22, "again": 1})
        listed = self.run_meter("--verbose", "--list", "parts:hot.*", "--", program)
        self.assertIn("hot.cold: is not called", listed.stderr)

    def test_functions_of_v8(self):
        """V8 copies functions of its compiler, and searches for the return addresses of functions
        that these call."""
        program = self.build("engine", r"""
            #include <cstdio>
            extern "C" __attribute__((noipa)) int Builtins_Add(int a) { return a + 1; }
            namespace v8 {
            template <typename T> struct FunctionCallbackInfo { T value; };
            namespace internal {
            __attribute__((noipa)) long Runtime_Now(int n) { return (long)__builtin_return_address(0) * 0 + n; }
            }
            }
            __attribute__((noipa)) int callback(const v8::FunctionCallbackInfo<int> &info)
            {
                char *back = (char *)__builtin_return_address(0);
                return back > (char *)&Builtins_Add - 4096 && back < (char *)&Builtins_Add + 65536 ? info.value : -1;
            }
            int main() { printf("%d\n", Builtins_Add(1) + callback({5}) + (int)v8::internal::Runtime_Now(3)); }
            """, compiler="g++", suffix=".cpp")
        rows, printed = self.rows("engine:Builtins_.*|callback.*|v8::internal::.*", "--", program)
        self.assertEqual(printed, "10\n")
        self.assertEqual([(r["calls"], r["untimed"]) for r in rows], [("1", "1"), ("1", "1")])
        listed = self.run_meter("--list", "engine:Builtins_.*|callback.*", "--", program)
        self.assertIn("engine:Builtins_Add  (is copied by the program)", listed.stdout)
        self.assertIn("(calls only)", listed.stdout)

    def test_self_time_is_part_of_inclusive_time(self):
        program = self.build("deep", r"""
            __attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
            int main(void) { return fib(22) == 17711 ? 0 : 1; }
            """)
        rows, _ = self.rows("deep:fib|main", "--", program)
        for row in rows:
            self.assertLessEqual(float(row["self [s]"]), float(row["inclusive [s]"]) * (1 + 1e-9))

    def test_crash_keeps_counts(self):
        program = self.build("calls", CALLS)
        rows, _ = self.rows("calls:fib|main", "--", program, "1", "crash", status=128 + signal.SIGABRT)
        self.assertEqual({r["function"]: (r["calls"], r["inside"]) for r in rows},
                         {"fib": ("1973", "0"), "main": ("1", "1")})


if __name__ == "__main__":
    unittest.main()
