"""Blocking calls that transfer many bytes do not end early because the ptrace engine stops their
thread. Environment: BUILD, the build folder.

SPDX-License-Identifier: MIT"""
import os
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from test_sampler import LIMIT, PYTHON, SAMPLER, Case  # noqa: E402

SOURCE = """
    #define _GNU_SOURCE
    #include <signal.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/socket.h>
    #include <sys/time.h>
    #include <sys/wait.h>
    #include <unistd.h>
    enum { SIZE = 1 << 21 };
    static unsigned char bytes[SIZE];
    static unsigned long sent, received, wrong;
    static long alarms;
    static unsigned char expected(unsigned long at) { return (unsigned char)(at * 7 + (at >> 12)); }
    static void count(int number) { (void)number; alarms++; }
    static void check(const unsigned char *data, long size) {
        for (long i = 0; i < size; i++, received++)
            wrong += data[i] != expected(received); }
    static void put(long size) {
        for (long i = 0; i < size; i++)
            bytes[i] = expected(sent + (unsigned long)i); }
    static long transfer(const char *how, int fd) {
        if (how[0] == 'r') {
            long done = recv(fd, bytes, SIZE, MSG_WAITALL);
            check(bytes, done);
            return done; }
        put(SIZE);
        long done = write(fd, bytes, SIZE);
        sent += done > 0 ? (unsigned long)done : 0;
        return done; }
    /* the other side, in small steps; it waits after some of them */
    static void serve(const char *how, int fd, long rounds) {
        static unsigned char part[16384];
        long done;
        if (how[0] == 'r') {
            for (long i = 0; i < rounds * (SIZE / (long)sizeof part); i++) {
                put(sizeof part);
                memcpy(part, bytes, sizeof part);
                if (write(fd, part, sizeof part) != sizeof part) abort();
                sent += sizeof part; }
            return; }
        for (long i = 0; (done = read(fd, part, sizeof part)) > 0; i++) {
            check(part, done);
            if (i % 16 == 0) usleep(200); }
        printf("received %lu wrong %lu\\n", received, wrong); }
    int main(int argc, char **argv) {
        int fd[2];
        const char *how = argc > 2 ? argv[1] : "write";
        long rounds = argc > 2 ? atol(argv[2]) : 0, partial = 0;
        if (how[0] == 'w' ? pipe(fd) : socketpair(AF_UNIX, SOCK_STREAM, 0, fd)) abort();
        if (fork() == 0) {
            close(fd[1]);
            serve(how, fd[0], rounds);
            fflush(stdout);
            _exit(0); }
        close(fd[0]);
        if (argc > 3) {
            struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
            struct itimerval every = {{0, 5000}, {0, 5000}};
            sigaction(SIGALRM, &action, 0);
            setitimer(ITIMER_REAL, &every, 0); }
        for (long i = 0; i < rounds; i++)
            partial += transfer(how, fd[1]) != SIZE;
        if (how[0] == 'r') printf("received %lu wrong %lu\\n", received, wrong);
        else printf("sent %lu ", sent);
        printf("partial %ld alarms %ld\\n", partial, alarms);
        fflush(stdout);
        close(fd[1]);
        wait(0);
        return 0; }"""
SIZE = 1 << 21


@unittest.skipUnless(os.uname().machine == "x86_64", "the first argument of a call is lost elsewhere")
class Transfers(Case):
    engine = "ptrace"

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.program = os.path.join(folder.name, "transfers")
        subprocess.run(["cc", "-O1", "-x", "c", "-", "-o", cls.program], input=SOURCE, text=True, check=True)

    def numbers(self, text):
        """The numbers that the program has printed, by name."""
        words = text.split()
        return {name: int(value) for name, value in zip(words[::2], words[1::2])}

    def test_without_signals(self):
        """As without the sampler, each call transfers everything."""
        for how in ("write", "receive"):
            with self.subTest(how=how):
                _, done = self.profile_of(self.program, how, "100", options=("-f", "4000"))
                seen = self.numbers(done.stdout)
                self.assertEqual((seen["partial"], seen["wrong"], seen["received"]), (0, 0, 100 * SIZE))
                self.assertEqual(seen.get("sent", 100 * SIZE), 100 * SIZE)

    def test_with_signals(self):
        """A call that is interrupted by a signal returns what it has transferred, as without the
        sampler."""
        _, done = self.profile_of(self.program, "write", "100", "alarms", options=("-f", "4000"))
        seen = self.numbers(done.stdout)
        self.assertGreater(seen["alarms"], 5)
        self.assertGreater(seen["partial"], 0)
        self.assertEqual((seen["wrong"], seen["received"]), (0, seen["sent"]))

    def test_reader_that_ends(self):
        """A write that the end of the reader cuts short returns what it has transferred, and raises
        SIGPIPE once, which the program ignores."""
        code = ("import os\nfor i in range(30):\n  r, w = os.pipe()\n"
                "  if os.fork() == 0:\n    os.close(w)\n    os.read(r, 300000)\n    os.read(r, 9000)\n    os._exit(0)\n"
                "  os.close(r)\n  n = os.write(w, bytes(1 << 20))\n  assert 0 < n < 1 << 20, n\n"
                "  try:\n    os.write(w, bytes(9))\n    assert False\n  except BrokenPipeError:\n    pass\n"
                "  os.close(w)\n  os.wait()")
        self.profile_of(PYTHON, "-c", code, options=("-f", "4000"))

    def test_socket_that_is_closed(self):
        """A write to a socket never raises a signal that it would not raise without the sampler."""
        code = ("import os, signal, socket\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)\nfor i in range(20):\n"
                "  a, b = socket.socketpair()\n  if os.fork() == 0:\n    b.close()\n    n = d = 1\n"
                "    while n < 6000000 and d:\n      d = len(a.recv(65536))\n      n += d\n    os._exit(0)\n"
                "  a.close()\n  n = os.write(b.fileno(), bytes(8000000))\n  assert 0 < n < 8000000\n  b.close()\n  os.wait()")
        self.profile_of(PYTHON, "-c", code, options=("-f", "4000"))

    def attach(self, program, *options):
        """Attaches the sampler to PROGRAM for a moment. Returns whether that was possible."""
        done = subprocess.run([SAMPLER, "-o", self.out, "--engine", "ptrace", "-f", "4000", "--attach", str(program.pid),
                               *options], capture_output=True, text=True, timeout=LIMIT)
        return done.returncode == 0

    def test_end_of_sampling(self):
        """At the end of the sampling, calls transfer everything before the sampler detaches."""
        with subprocess.Popen([self.program, "write", "1000"], stdout=subprocess.PIPE, text=True) as program:
            attached = sum(self.attach(program, "--duration", "0.1") for _ in range(10))
            time.sleep(0.1)
            os.kill(program.pid, 0)
            seen = self.numbers(program.communicate(timeout=LIMIT)[0])
        self.assertGreater(attached, 5)
        self.assertLessEqual(seen["partial"], 1)  # if the program got no CPU for a second
        self.assertEqual((seen["wrong"], seen["received"]), (0, seen["sent"]))

    def test_reader_that_pauses(self):
        """A call that would take long after the end of the sampling returns what it has transferred."""
        code = ("import os, time\ndata = bytes(range(251)) * 130000\nr, w = os.pipe()\n"
                "if os.fork() == 0:\n  os.close(w)\n  seen, begin = [], time.monotonic()\n"
                "  while time.monotonic() - begin < 0.6:\n    seen.append(os.read(r, 4096))\n    time.sleep(0.0002)\n"
                "  time.sleep(3)\n  while part := os.read(r, 1 << 20):\n    seen.append(part)\n"
                "  os._exit(b''.join(seen) != data)\n"
                "os.close(r)\nprint('started', flush=True)\ndone = calls = 0\n"
                "while done < len(data):\n  done += os.write(w, data[done:])\n  calls += 1\n"
                "os.close(w)\nprint(os.wait()[1], calls)")
        with subprocess.Popen([PYTHON, "-c", code], stdout=subprocess.PIPE, text=True) as program:
            program.stdout.readline()
            self.assertTrue(self.attach(program, "--duration", "0.3"))
            status, calls = program.communicate(timeout=LIMIT)[0].split()
        self.assertEqual(status, "0")
        self.assertIn(calls, ("1", "2"))  # 1: no sample has stopped the call


if __name__ == "__main__":
    unittest.main()
