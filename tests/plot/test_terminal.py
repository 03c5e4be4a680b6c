"""pbin-plot on a terminal: it asks whether the terminal shows sixel graphics, and restores its
settings.

SPDX-License-Identifier: MIT
"""
import fcntl
import os
import pty
import select
import signal
import struct
import tempfile
import termios
import time

import plotdata
import tool

QUESTION = b"\x1b[c"
SIXEL = b"\x1bP"
TEXT = b"####"


def setUpModule():
    global HOLDER, RUN
    HOLDER = tempfile.TemporaryDirectory()
    RUN = plotdata.pbin(HOLDER.name, "run", plotdata.names_of(12), samples=200)


def tearDownModule():
    HOLDER.cleanup()


class Terminal:
    """A terminal of 80 x 24 characters with a program in it."""

    def __init__(self, argv, term="xterm", ahead=b""):
        main, side = pty.openpty()
        fcntl.ioctl(main, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.before = termios.tcgetattr(main)
        os.write(main, ahead)
        self.pid = os.fork()
        if self.pid == 0:
            os.close(main)
            self.log_in(side)
            os.execve(argv[0], argv, dict(tool.environment(), TERM=term))
        os.close(side)
        self.main, self.seen, self.status = main, b"", None

    @staticmethod
    def log_in(side):
        os.setsid()
        fcntl.ioctl(side, termios.TIOCSCTTY, 0)
        for fd in range(3):
            os.dup2(side, fd)

    def read(self, until=None, seconds=20):
        """Reads until UNTIL has arrived or the program has ended. Returns False if neither
        happened."""
        end = time.monotonic() + seconds
        while until is None or until not in self.seen:
            if not select.select([self.main], [], [], max(0, end - time.monotonic()))[0]:
                return False
            try:
                data = os.read(self.main, 65536)
            except OSError:  # no process has the terminal open
                data = b""
            if not data:
                return until is None
            self.seen += data
        return True

    def end(self):
        self.read(seconds=20)
        self.after = termios.tcgetattr(self.main)
        self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.main)


class Asking(tool.Case):
    def show(self, answer, term="xterm", options=()):
        t = Terminal([tool.path("pbin-plot"), "bars", RUN, *options], term)
        t.read(QUESTION, 20 if answer else 5)
        asked = time.monotonic()
        if answer:
            os.write(t.main, answer)
        t.read(SIXEL if answer and b";4" in answer else TEXT)
        t.patience = time.monotonic() - asked
        t.end()
        self.assertEqual(t.status, 0)
        self.assertEqual(t.after, t.before)
        return t

    def test_sixel_where_the_terminal_shows_it(self):
        for answer in (b"\x1b[?62;4c", b"\x1b[?63;1;2;4;6;9;15;22c", b"\x1b[?1;2;4c"):
            seen = self.show(answer).seen
            self.assertEqual(seen.count(QUESTION), 1)
            self.assertIn(SIXEL, seen)
            self.assertTrue(seen.rstrip().endswith(b"\x1b\\"), seen[-20:])
            self.assertNotIn(TEXT, seen)

    def test_text_where_it_does_not(self):
        for answer in (b"\x1b[?62;22c", b"\x1b[?6c", b"\x1b[?4;6c", b"\x1b[?62;14;44c"):
            seen = self.show(answer).seen
            self.assertIn(TEXT, seen)
            self.assertNotIn(SIXEL, seen)

    def test_no_answer(self):
        t = self.show(None)
        self.assertIn(QUESTION, t.seen)
        self.assertIn(TEXT, t.seen)
        self.assertLess(t.patience, 4)

    def test_endless_answer(self):
        t = self.show(b"\x1b[?" + b"1;" * 200)
        self.assertIn(TEXT, t.seen)

    def test_not_asked(self):
        for term, options in (("dumb", ()), ("", ()), ("xterm", ("--color=never",)), ("xterm", ("--format=txt",)),
                              ("xterm", ("-o", os.path.join(self.folder, "x.svg"))), ("xterm", ("-o", "-"))):
            with self.subTest(term=term, options=options):
                t = Terminal([tool.path("pbin-plot"), "bars", RUN, *options], term)
                t.end()
                self.assertEqual(t.status, 0)
                self.assertNotIn(QUESTION, t.seen)

    def test_killed_while_it_waits(self):
        t = Terminal([tool.path("pbin-plot"), "bars", RUN])
        self.assertTrue(t.read(QUESTION))
        os.kill(t.pid, signal.SIGTERM)
        t.end()
        self.assertEqual(t.status, -signal.SIGTERM)
        self.assertEqual(t.after, t.before)


class Typing(tool.Case):
    script = '"$0" bars "$1"; echo; read line; echo "got=<$line>"'

    def start(self, **more):
        return Terminal(["/bin/sh", "-c", self.script, tool.path("pbin-plot"), RUN], **more)

    def test_typed_before(self):
        t = self.start(ahead=b"early\n")
        t.end()
        self.assertIn(b"got=<early>", t.seen)
        self.assertNotIn(QUESTION, t.seen)
        self.assertIn(TEXT, t.seen)

    def test_typed_after_the_answer(self):
        t = self.start()
        self.assertTrue(t.read(QUESTION))
        os.write(t.main, b"\x1b[?62;4clate\n")
        t.end()
        self.assertIn(b"got=<late>", t.seen)
        self.assertIn(SIXEL, t.seen)

    def test_typed_before_the_answer(self):
        t = self.start()
        self.assertTrue(t.read(QUESTION))
        os.write(t.main, b"x\x1b[?62;4c")
        self.assertTrue(t.read(b"\x1b\\"))
        os.write(t.main, b"y\n")
        t.end()
        self.assertIn(SIXEL, t.seen)
        try:
            with open("/proc/sys/dev/tty/legacy_tiocsti", encoding="ascii") as f:
                allowed = f.read().strip() == "1" or os.geteuid() == 0
        except FileNotFoundError:
            allowed = True
        self.assertIn(b"got=<xy>" if allowed else b"got=<y>", t.seen)
