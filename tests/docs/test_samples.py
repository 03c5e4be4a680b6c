"""The recordings in samples/: every command of their README works, and every dialect shows the same program.

SPDX-License-Identifier: MIT
"""
import bz2
import ctypes
import glob
import json
import os
import re
import struct
import subprocess

import sources
import tool

SAMPLES = os.path.join(sources.ROOT, "samples")


FORBID_SAMPLING = [  # struct sock_filter: load the number of the system call, EPERM for ptrace and perf_event_open
    (0x20, 0, 0, 0), (0x15, 1, 0, 101), (0x15, 0, 1, 298), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)]


def forbid_sampling():
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in FORBID_SAMPLING)
    text = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(FORBID_SAMPLING), ctypes.addressof(text)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, program, 0, 0) != 0:  # NO_NEW_PRIVS, SECCOMP
        raise OSError(ctypes.get_errno(), "seccomp")


class Samples(tool.Case):
    def shell(self, command):
        env = dict(os.environ, PATH=tool.BUILD + ":" + os.environ["PATH"])
        done = subprocess.run(["bash", "-c", "set -o pipefail; " + command], cwd=self.folder, env=env,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_commands_of_the_readme(self):
        os.symlink(SAMPLES, os.path.join(self.folder, "samples"))
        with open(os.path.join(SAMPLES, "README.md"), encoding="utf-8") as file:
            commands = re.findall(r"^    (.*)$", file.read(), re.M)
        self.assertGreater(len(commands), 10)
        for command in commands:
            with self.subTest(command):
                out = self.shell(command)
                self.assertTrue(out or " -o " in command)
                if "-callgraph" not in command and " -o " not in command:
                    self.assertRegex(out, "burn_50")

    def test_demo_where_sampling_is_forbidden(self):
        os.symlink(SAMPLES, os.path.join(self.folder, "samples"))
        env = dict(os.environ, BUILD=os.path.abspath(tool.BUILD), ASAN_OPTIONS="detect_leaks=0")  # leaks need ptrace
        done = subprocess.run(["sh", "samples/demo"], cwd=self.folder, env=env, capture_output=True, text=True,
                              preexec_fn=forbid_sampling, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Operation not permitted", done.stderr)
        self.assertIn("the rest shows a recording", done.stdout)
        self.assertRegex(done.stdout, r"burn_50 #+ 3\.00 J")
        for name in ("bars.png", "timeline.png"):
            self.assertGreater(os.path.getsize(os.path.join(self.folder, "demo-out", name)), 10000)

    def test_layout_of_dialects(self):
        """As the original samplers wrote them: maps of the newer dialects after the samples, and labels without folders."""
        paths = [p for d in ("sampler", "pperf") for p in glob.glob(os.path.join(SAMPLES, "recordings", d + "-[!a]*"))]
        self.assertGreater(len(paths), 5)
        for path in paths:
            with bz2.open(path) as file:
                data = file.read()
            count, = struct.unpack_from("<I", data, 32 if "pperf" in path else 28)
            labels = [data[len(data) - 256 - 272 * i:].partition(b"\0")[0] for i in range(count)]
            self.assertEqual(labels[-1], b"burn", path)
            self.assertFalse([label for label in labels if b"/" in label], path)

    def test_dialects(self):
        """Counts of samples are exactly equal, as are shares and energies where the dialect has CPU
        times."""
        shares, energies, places = {}, {}, {}
        for path in sorted(glob.glob(os.path.join(SAMPLES, "recordings", "*"))) + [os.path.join(SAMPLES, "out.bin.bz2")]:
            name = os.path.basename(path).split(".")[0]
            volts = "-v 5" if "current" in name else ""
            table = json.loads(self.shell(f"prof2pbin -q {volts} -s '{SAMPLES}' '{path}' | "
                                          "pbin-aggregate -q -k binary,function,pc --format json"))
            rows = table["rows"]
            shares[name] = sum(row["time"] for row in rows if row["function"] == "burn_50") / sum(row["time"] for row in rows)
            places[name] = {row["pc"] for row in rows if row["binary"] == "burn"}
            if "unmeasured" not in name:
                energies[name] = sum(row["energy"] for row in rows)
        self.assertEqual(len(shares), 13)
        del places["sampler-a"]  # a run of its own
        for name, found in places.items():  # offsets in the file, also of dialects that do not record where it is mapped
            self.assertEqual(found, places["out"], name)
        for name, share in shares.items():
            self.assertAlmostEqual(share, 0.5, delta=0.03, msg=name)
        energies.pop("sampler-a")  # a run of its own
        for name, energy in energies.items():
            # intrvelf has neither CPU times nor times of samples, sampler only the former
            delta = 0.1 if name.startswith("intrvelf") else 0.03 if re.match("sampler-[cp]", name) else 0.01
            self.assertAlmostEqual(energy / energies["out"], 1, delta=delta, msg=name)
        exact = {name: share for name, share in shares.items() if name.startswith(("sampler-", "pperf"))
                 and name != "sampler-a"}
        self.assertLess(max(exact.values()) - min(exact.values()), 1e-9)
