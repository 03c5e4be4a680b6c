"""Runs the tools under test, with limits, and checks every failure.

SPDX-License-Identifier: MIT
"""
import collections
import contextlib
import functools
import os
import resource
import signal
import subprocess
import tempfile
import unittest
from dataclasses import dataclass

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
MB = 1 << 20


def path(name):
    """The tool's file. If a test needs a tool that is not built, it fails; it is not skipped."""
    full = os.path.join(BUILD, name)
    if not os.access(full, os.X_OK):
        raise AssertionError(f"{name} is not built in {BUILD}")
    return full


@functools.lru_cache(maxsize=None)
def is_asan():
    """Limits of address space make no sense with AddressSanitizer, which reserves terabytes."""
    with open(path("prof2pbin"), "rb") as f:
        return b"__asan_init" in f.read()


def is_padding(data, at):
    """Whether AT is inside a long run of zeros, such as the rest of a label, whose bytes are
    equivalent: every 17th represents them."""
    return at % 17 != 0 and at >= 8 and data[at - 8:at + 16] == bytes(24)


def places(begin, end, data=b""):
    """Offsets at which to cut or damage DATA: every byte except padding. Under sanitizers, where a
    start takes ten times as long and the plain run has tested every byte: every 13th byte, which
    includes each offset within a field of 2, 4 or 8 bytes, and the last byte."""
    every = sorted({*range(begin, end, 13), end - 1}) if is_asan() else range(begin, end)
    return [at for at in every if not is_padding(data, at)]


def plain_only(test):
    """For a test that only compares times, on paths that other tests of its file also test under
    sanitizers."""
    return unittest.skipIf(is_asan(), "compares times, which the plain run judges")(test)


def rounds(count, part):
    """How often to repeat a test of the same paths with different numbers: COUNT. Under sanitizers,
    which check the paths, and where the plain run has checked all numbers: one PART of COUNT."""
    return max(1, count // part) if is_asan() else count


def some(items, part):
    """ITEMS; under sanitizers one PART of them, as in rounds."""
    return list(items)[::part if is_asan() else 1]


@dataclass
class Ended:
    status: int  # negative: killed by that signal
    out: bytes
    err: str
    peak: int    # resident memory at its highest [bytes], None unless run was to measure it
    seconds: float


@contextlib.contextmanager
def limits(memory):
    """A process started in this block inherits the limits: no core file, at most MEMORY bytes of
    address space. With a preexec_fn, subprocess copies this process by fork, which takes longer
    than most tools run; without it, it uses vfork. However, only after fork does the peak memory
    of the child exclude that of Python."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    old = resource.getrlimit(resource.RLIMIT_AS)
    if memory is not None:
        resource.setrlimit(resource.RLIMIT_AS, (memory, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, old)


class Leaks:
    """Which runs look for memory leaks. This takes a third of the time of most runs under
    sanitizers, and most runs of a test exit in the same way: of each tool, the first FIRST runs in
    a test look for leaks, and then one in EVERY."""
    FIRST, EVERY = 3, 8
    runs = collections.Counter()

    @classmethod
    def look(cls, name):
        cls.runs[name] += 1
        return cls.runs[name] <= cls.FIRST or cls.runs[name] % cls.EVERY == 0

    @classmethod
    def options(cls, name):
        """The environment variables that the next run of NAME needs in addition to
        environment()."""
        if not is_asan() or cls.look(name):
            return {}
        return {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}


def environment():
    env = dict(os.environ, PATH=BUILD + ":" + os.environ.get("PATH", "/usr/bin:/bin"), LC_ALL="C",
               TZ="UTC", TERM="dumb")
    env.pop("NO_COLOR", None)
    env.pop("DEBUGINFOD_URLS", None)
    return env


def run(argv, stdin=None, timeout=10, memory=None, cwd=None, stdout=None, peak=False):
    """Runs a tool by name. STDIN: bytes, a file or None (nothing); MEMORY: limit of the address space
    [bytes]; STDOUT: a file object in place of what is returned; PEAK: measure its memory."""
    env = environment() | Leaks.options(argv[0])
    argv = [path(argv[0])] + [str(a) for a in argv[1:]]
    with open(os.memfd_create("stdout"), "w+b") as out, open(os.memfd_create("stderr"), "w+b") as err:
        source = subprocess.PIPE if isinstance(stdin, bytes) else \
            subprocess.DEVNULL if stdin is None else stdin
        begin = os.times().elapsed
        with limits(memory):
            process = subprocess.Popen(argv, stdin=source, stdout=stdout or out, stderr=err, cwd=cwd,
                                       env=env, start_new_session=True,
                                       preexec_fn=(lambda: None) if peak else None)
        try:
            if isinstance(stdin, bytes):
                try:
                    process.stdin.write(stdin)
                    process.stdin.close()
                except BrokenPipeError:
                    pass
            status, highest = wait(process, timeout)
        finally:
            kill_group(process)
        out.seek(0)
        err.seek(0)
        ended = Ended(status, out.read(), err.read().decode("utf-8", "replace"), highest if peak else None,
                      os.times().elapsed - begin)
    if "Sanitizer" in ended.err or "runtime error:" in ended.err:
        raise AssertionError(" ".join(argv) + "\n" + ended.err)
    return ended


def wait(process, timeout):
    """Exit status and peak memory; AssertionError after TIMEOUT seconds."""
    def late(_signum, _frame):
        raise TimeoutError
    old = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, timeout)
    try:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode, usage.ru_maxrss * 1024
    except TimeoutError:
        raise AssertionError(f"no end after {timeout} s: {' '.join(process.args)}") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    if process.returncode is None:
        process.wait()


class Spoiled(AssertionError):
    """A measurement failed that other programs on the machine can spoil. The runner repeats the test
    when no other test runs."""


@contextlib.contextmanager
def measurement():
    """A failure in this block raises Spoiled."""
    try:
        yield
    except AssertionError as failure:
        raise Spoiled(str(failure)) from failure


def shared_folder(case):
    """For setUpClass: a folder for all tests of the class CASE, which is removed after them. Returns its path."""
    holder = tempfile.TemporaryDirectory()
    case.addClassCleanup(holder.cleanup)
    return holder.name


class Case(unittest.TestCase):
    """A test case with a scratch folder, self.folder."""

    def setUp(self):
        Leaks.runs.clear()
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name

    def file(self, name, data):
        full = os.path.join(self.folder, name)
        with open(full, "wb") as f:
            f.write(data)
        return full

    def succeeds(self, argv, **more):
        ended = run(argv, **more)
        self.assertEqual(ended.status, 0, f"{argv}: {ended.err}")
        return ended

    def fails(self, argv, name=None, status=1, lines=1, **more):
        """The tool exits with STATUS and prints only one line on stderr, `TOOL: NAME: ...`, or for
        empty standard input `TOOL: standard input is empty`."""
        ended = run(argv, **more)
        where = f"{[str(a)[:80] for a in argv]}: status {ended.status}, stderr {ended.err[:1000]!r}"
        self.assertEqual(ended.status, status, where)
        self.assertEqual(ended.out, b"", where)
        self.assertEqual(ended.err.count("\n"), lines, where)
        self.assertTrue(ended.err.endswith("\n"), where)
        start = argv[0] + ": " + (f"{name}: " if name else "")
        starts = (start, argv[0] + ": standard input is empty, expected ") if more.get("stdin") == b"" else (start,)
        self.assertTrue(ended.err.startswith(starts), f"{where}\nexpected to start with {start!r}")
        self.assertFalse([c for c in ended.err[:-1] if ord(c) < 32 or ord(c) == 127], where)
        return ended
