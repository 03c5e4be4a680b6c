"""Debug files from debuginfod: which files are fetched, and the behaviour if that fails. The
servers are folders (file://) and sockets of the test; the library is the real one.

SPDX-License-Identifier: MIT
"""
import glob
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading

import tool
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from oracle import Elf
from rawprofile import Map, Run, Sample, Thread, write

SOURCE = """
static inline __attribute__((always_inline)) long twice(long v) { __asm__ volatile("imul $7, %%0" : "+r"(v)); return v; }
__attribute__((noinline)) long %(name)s(long n) { volatile long s = 0; for (long i = 0; i < n; i++) s += twice(i); return s; }
int main(int argc, char **argv) { return (int)%(name)s(argc); }
"""
CHUNK = 1 << 16
LOST = "names and lines in binaries without debug information may be missing (--no-debuginfod turns downloads off)\n"


class Server(threading.Thread):
    """Accepts connections, and calls ANSWER with the first one."""

    def __init__(self, answer):
        super().__init__(daemon=True)
        self.answer = answer
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.asked = threading.Event()

    def run(self):
        connection, _ = self.listener.accept()
        with connection:
            connection.recv(CHUNK)
            self.asked.set()
            self.answer(connection)

    def close(self):
        self.listener.close()


class Debuginfod(tool.Case):
    def setUp(self):
        super().setUp()
        self.cache, self.served = os.path.join(self.folder, "cache"), os.path.join(self.folder, "served")
        self.urls = "file://" + self.served

    def program(self, name, *flags, serve=True):
        """A stripped program, whose debug file is served. Returns its path and the addresses of its function NAME."""
        path = os.path.join(self.folder, name)
        subprocess.run(["gcc", "-g", "-O2", *flags, "-o", path, "-x", "c", "-"], input=(SOURCE % {"name": name}).encode(), check=True)
        value, size = next((s[0], s[1]) for s in Elf(path).symbols if s[2] == name)
        if serve:
            self.serve(path, self.build_id(path))
        subprocess.run(["strip", path], check=True)
        return path, range(value, value + size)

    def build_id(self, path):
        return re.search(r"Build ID: (\w+)", subprocess.run(["readelf", "-n", path], capture_output=True, check=True).stdout.decode())[1]

    def serve(self, path, build_id):
        to = os.path.join(self.served, "buildid", build_id, "debuginfo")
        os.makedirs(os.path.dirname(to))
        shutil.copy(path, to)

    def environment(self, **more):
        env = dict(tool.environment(), DEBUGINFOD_URLS=self.urls, DEBUGINFOD_CACHE_PATH=self.cache, XDG_CACHE_HOME=self.folder) | more
        return {k: v for k, v in env.items() if v is not None}

    def run_tool(self, *argv, **more):
        done = subprocess.run([tool.path(argv[0]), *argv[1:]], env=self.environment(**more), capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode(), done.stderr.decode()

    def fetched(self):
        return sorted(os.path.basename(os.path.dirname(f)) for f in glob.glob(self.cache + "/*/debuginfo") if os.path.getsize(f) > 0)

    def profile(self, dialect, counts):
        """A raw profile with COUNTS[i] samples in program number i."""
        maps, samples = [], []
        for i, ((path, code), count) in enumerate(counts):
            bias = (i + 1) << 32
            begin, size = next(((s["vaddr"] & -4096), (s["vaddr"] + s["memsz"] + 4095 & -4096) - (s["vaddr"] & -4096))
                               for s in Elf(path).segments if s["kind"] == 1 and s["flags"] & 1)
            maps.append(Map(begin + bias, size, path))
            samples += [Sample(1.0, [Thread(7, code[j % len(code)] + bias, 0)], 0) for j in range(count)]
        for i, sample in enumerate(samples):
            sample.time_us, sample.threads[0].cpu_ns = (i + 1) * 1000, (i + 1) * 1000000
        return self.file(dialect + ".bin", write(Run(samples, maps, len(samples) * 1000), dialect))

    def functions(self, raw, *options, **more):
        pbin = os.path.join(self.folder, "out.pbin")
        err = self.run_tool("prof2pbin", "-v", "5", "-o", pbin, *options, raw, **more)[1]
        table = self.run_tool("pbin-aggregate", "-q", "-k", "function,file", "--format=csv", pbin)[0]
        return {tuple(line.split(",")[:2]) for line in table.splitlines()[1:]}, err

    def test_names_and_lines(self):
        path, code = self.program("spin")
        full = os.path.join(self.served, "buildid", self.build_id(path), "debuginfo")
        places = [hex(a) for a in code]
        expected = self.run_tool("pbin-addr2line", "-fie", full, *places)
        self.assertIn("twice\n", expected[0])
        unnamed = self.run_tool("pbin-addr2line", "-fie", path, *places, DEBUGINFOD_URLS=None)
        self.assertNotIn("spin\n", unnamed[0])
        self.assertEqual(self.run_tool("pbin-addr2line", "--no-debuginfod", "-fie", path, *places), unnamed)
        self.assertEqual(self.run_tool("pbin-addr2line", "-fie", path, *places, DEBUGINFOD_URLS=" "), unnamed)
        self.assertEqual(self.fetched(), [])
        self.assertEqual(self.run_tool("pbin-addr2line", "-fie", path, *places), expected)
        self.assertEqual(self.fetched(), [self.build_id(path)])

    def test_share(self):
        """1 sample of 100 is enough, 1 of 101 is not."""
        one, other = self.program("one"), self.program("other")
        functions, err = self.functions(self.profile("sampler-walltime", ((one, 100), (other, 1))))
        self.assertEqual(({f for f, _ in functions if "!" not in f}, err), ({"one"}, ""))
        self.assertEqual(self.fetched(), [self.build_id(one[0])])
        raw = self.profile("intrvelf-aggregated", ((one, 100), (other, 1)))
        self.assertEqual({f for f, _ in self.functions(raw)[0] if "!" not in f}, {"one"})
        self.assertEqual(self.fetched(), [self.build_id(one[0])])
        for dialect in "sampler-walltime", "intrvelf-aggregated":
            raw = self.profile(dialect, ((one, 99), (other, 1)))
            self.assertEqual({f for f, _ in self.functions(raw, "--no-debuginfod")[0] if "!" not in f}, set())
            self.assertEqual({f for f, _ in self.functions(raw)[0] if "!" not in f}, {"one", "other"})
            shutil.rmtree(self.cache)

    def test_share_of_an_export(self):
        """The same for sthem2pbin; no file is requested for a mapping that no core executed."""
        programs = [self.program(name) for name in ("one", "other", "none")]
        segments = [next(s for s in Elf(path).segments if s["kind"] == 1 and s["flags"] & 1) for path, _ in programs]
        vmmap = self.file("maps", "".join("%x %x %s\n" % ((i + 1 << 32) + (s["vaddr"] & -4096), 4096, path) for i, (s, (path, _))
                                          in enumerate(zip(segments, programs))).encode())
        for count, asked in ((99, {0, 1}), (100, {0})):
            shutil.rmtree(self.cache, ignore_errors=True)
            pcs = [(1 << 32) + programs[0][1][0]] * count + [(2 << 32) + programs[1][1][0]]
            export = self.file("x.csv", ("Time;Power 1;PC 0\n" + "".join("%g;1;%#x\n" % (i / 1000, pc) for i, pc in enumerate(pcs))).encode())
            self.run_tool("sthem2pbin", "-q", "-m", vmmap, "-o", os.path.join(self.folder, "x.pbin"), export)
            self.assertEqual(self.fetched(), sorted(self.build_id(programs[i][0]) for i in asked))

    def test_failures(self):
        """One warning for any number of binaries; none if a server does not have the file."""
        programs = [self.program(name, serve=False) for name in ("one", "other")]
        raw = self.profile("sampler-walltime", [(p, 50) for p in programs])
        os.makedirs(self.served)
        self.assertEqual(self.functions(raw)[1], "")
        self.assertIn("prof2pbin: debuginfod: no server has debug information for other\n", self.functions(raw, "--verbose")[1])
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.urls = "http://127.0.0.1:%d" % free.getsockname()[1]
        self.cache += "2"
        functions, err = self.functions(raw)
        self.assertEqual(err, "prof2pbin: debuginfod: Connection refused: " + LOST)
        self.assertEqual(len(functions), 2)
        broken = os.path.join(self.folder, "libraries")
        os.mkdir(broken)
        self.file("libraries/libdebuginfod.so.1", b"text")
        self.assertEqual(self.functions(raw, LD_LIBRARY_PATH=broken)[1],
                         "prof2pbin: debuginfod: %s/libdebuginfod.so.1: file too short: %s" % (broken, LOST))

    def test_server_hangs(self):
        """The tool waits for the server once, for the time given by the variable."""
        raw = self.profile("sampler-walltime", [(self.program("one", serve=False), 50)])
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.urls = "http://127.0.0.1:%d" % server.getsockname()[1]
            functions, err = self.functions(raw, DEBUGINFOD_TIMEOUT="1")
            server.settimeout(0)
            server.accept()[0].close()
            self.assertRaises(BlockingIOError, server.accept)  # no second connection was made
        self.assertEqual((len(functions), err), (1, "prof2pbin: debuginfod: Timer expired: " + LOST))

    def test_wrong_files(self):
        path, code = self.program("right", serve=False)
        wrong, _ = self.program("wrong")
        served = os.path.join(self.served, "buildid", self.build_id(wrong), "debuginfo")
        for content, say in ((None, "not the debug file with build-id " + self.build_id(path)), (b"text", "not an ELF file")):
            if content is not None:
                self.file(served, content)
            shutil.rmtree(os.path.join(self.served, "buildid", self.build_id(path)), ignore_errors=True)
            shutil.rmtree(self.cache, ignore_errors=True)
            self.serve(served, self.build_id(path))
            out, err = self.run_tool("pbin-addr2line", "-fe", path, hex(code[0]))
            self.assertRegex(out, r"\Aright!0x\w+\n\?\?:\?\n\Z")
            self.assertRegex(err, r"\Apbin-addr2line: debuginfod: \S+/debuginfo: .*%s.*: names and lines [^\n]*\n\Z" % say)

    def test_alternate(self):
        """The debug file refers to an alternate file, which dwz made and which has its own
        build-id."""
        path, code = self.program("spin", "-gdwarf-4")
        full = os.path.join(self.served, "buildid", self.build_id(path), "debuginfo")
        places = [hex(a) for a in code]
        expected = self.run_tool("pbin-addr2line", "-fie", full, "--no-cache", *places)[0]
        common, other = os.path.join(self.folder, "common"), os.path.join(self.folder, "other")
        shutil.copy(full, other)
        subprocess.run(["dwz", "-m", common, "-M", common, full, other], check=True)
        self.serve(common, self.build_id(common))
        build_ids = sorted((self.build_id(path), self.build_id(common)))
        os.unlink(common)
        self.assertEqual(self.run_tool("pbin-addr2line", "-fie", path, "--no-cache", *places), (expected, ""))
        self.assertEqual(self.fetched(), build_ids)

    def test_interrupt(self):
        """The wait for a server that sends nothing ends at once, and leaves neither output nor a
        part of a debug file."""
        path, code = self.program("spin", serve=False)
        raw, out = self.profile("sampler-walltime", (((path, code), 10),)), os.path.join(self.folder, "out.pbin")
        done = threading.Event()
        server = Server(lambda _: done.wait())
        server.start()
        self.urls = server.url
        with subprocess.Popen([tool.path("prof2pbin"), "-v", "5", "-o", out, raw], env=self.environment(), stderr=subprocess.PIPE) as process:
            self.assertTrue(server.asked.wait(60))
            process.send_signal(signal.SIGINT)
            err = process.communicate(timeout=60)[1]
        done.set()
        server.close()
        self.assertEqual((process.returncode, err), (-signal.SIGINT, b""))
        self.assertFalse(os.path.exists(out))
        self.assertEqual([f for f in glob.glob(self.cache + "/*/*") if os.path.getsize(f) > 0], [])

    def test_progress(self):
        """A bar is shown on a terminal while the server has only sent the first part."""
        path, code = self.program("spin")
        raw = self.profile("sampler-walltime", (((path, code), 10),))
        with open(os.path.join(self.served, "buildid", self.build_id(path), "debuginfo"), "rb") as file:
            data = file.read()
        shown = threading.Event()

        def answer(connection):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(data) + data[:5000])
            shown.wait(60)
            connection.sendall(data[5000:])
        server = Server(answer)
        server.start()
        self.urls = server.url
        ours, theirs = pty.openpty()
        text = b""
        with subprocess.Popen([tool.path("prof2pbin"), "-v", "5", "-o", os.path.join(self.folder, "out.pbin"), raw],
                              stderr=theirs, env=self.environment(TERM="xterm")) as process:
            os.close(theirs)
            while select.select([ours], [], [], 60)[0]:
                try:
                    part = os.read(ours, CHUNK)
                except OSError:  # the other end is closed
                    break
                text += part
                if re.search(rb"\rdebug information for spin: \[#* *\] +%d %%  [\d.]+ bytes/s" % (100 * 5000 // len(data)), text):
                    shown.set()
        os.close(ours)
        server.close()
        self.assertEqual((process.returncode, shown.is_set()), (0, True), text)
        self.assertTrue(text.endswith(b"\r\033[K"), text)
        self.assertEqual(self.fetched(), [self.build_id(path)])
