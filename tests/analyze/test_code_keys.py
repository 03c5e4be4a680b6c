"""Basic blocks and instructions of samples, on programs for five machines, compared with
llvm-objdump; AVX-512 with objdump.

SPDX-License-Identifier: MIT
"""
import collections
import json
import os
import re
import shutil
import subprocess
import unittest

import pbin
import tool

SOURCE = """
#include <stdlib.h>
#ifdef __thumb__
#define OTHER_SET __attribute__((target("arm")))
#else
#define OTHER_SET
#endif
int table[64];
__attribute__((noinline)) static int leaf(int n) { return n > 2 ? leaf(n - 1) + n : n; }
__attribute__((noinline)) int choose(int n)
{
    switch (n) {
    case 0: return leaf(n + 3);
    case 1: return table[n] / 7;
    case 2: abort();
    case 3: table[n & 63]++; return n;
    case 4: return n * 17;
    case 5: exit(n);
    default: return -1;
    }
}
OTHER_SET __attribute__((noinline)) int loops(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            if ((i ^ j) & 5)
                sum += choose(j & 7);
            else
                table[j & 63] -= i;
    return sum;
}
int main(int argc, char **argv) { (void)argv; return loops(argc * 10); }
"""
SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "samples")
FUNCTIONS = ("leaf", "choose", "loops", "main")
# Target and -mthumb: flags of clang, mnemonics that end a block, and those of them that are calls,
# whose targets do not begin a block.
MACHINES = {
    "x86_64-linux-gnu": ([], r"j\w+|callq|retq|int3|syscall", r"call.*"),
    "i386-linux-gnu": (["-m32"], r"j\w+|calll|retl|int3", r"call.*"),
    "aarch64-linux-gnu": ([], r"b|b\.\w+|bl|br|blr|ret|cbn?z|tbn?z|brk|svc", r"blr?"),
    "arm-linux-gnueabihf": (["-mfloat-abi=hard"], r"b(eq|ne|hs|lo|mi|pl|ge|lt|gt|le|hi|ls)?|bl|blx|bx\w*|udf|bl\w\w", r"blx?"),
    "arm-linux-gnueabihf -mthumb": (["-mfloat-abi=hard", "-march=armv7-a", "-rdynamic"],
                                     r"b(eq|ne|hs|lo|mi|pl|ge|lt|gt|le|hi|ls)?|bl|blx|bx\w*|udf|bl\w\w|cbn?z|tb[bh]", r"blx?"),
}
ALIASES = {"movz": "mov", "movn": "mov"}  # capstone's names of what LLVM shows by an alias


class Instruction:
    def __init__(self, line):
        address, text = line.split(":", 1)
        words = text.split("#")[0].split("@")[0].split(None, 1)
        self.address, self.mnemonic = int(address, 16), words[0]
        self.target = re.search(r"(?:^|, )(0x[0-9a-f]+) <", words[1] if len(words) > 1 else "")


def listing(path, function):
    out = subprocess.run(["llvm-objdump-14", "-d", "--no-show-raw-insn", f"--disassemble-symbols={function}", path],
                         capture_output=True, text=True, check=True).stdout
    found = [Instruction(line) for line in out.split("\n") if re.match(r"\s*[0-9a-f]+:\s+[a-z]", line)]
    while re.match("nop|movs$", found[-1].mnemonic):  # between functions
        found.pop()
    return found


def blocks(instructions, leaves, calls):
    """{address of an instruction: address at which its block begins}"""
    begins, inside = {instructions[0].address}, {i.address for i in instructions}
    for here, after in zip(instructions, instructions[1:] + [None]):
        if re.fullmatch(leaves, here.mnemonic):
            begins |= {after.address} if after else set()
            if here.target and not re.fullmatch(calls, here.mnemonic):
                begins |= {int(here.target[1], 16)} & inside
    found, begin = {}, None
    for i in instructions:
        begin = i.address if i.address in begins else begin
        found[i.address] = begin
    return found


class Profiled(tool.Case):
    maxDiff = None

    def profile(self, path, addresses, name="p.pbin", label="program"):
        """A sample at each of ADDRESSES of the file, which is mapped at 2^40, and one outside."""
        code = next(l.split() for l in subprocess.run(["readelf", "-lW", path], capture_output=True, text=True).stdout.split("\n")
                    if re.search(r"LOAD.* R E", l))
        offset, address = int(code[1], 16), int(code[2], 16)
        build_id = re.search(r"Build ID: (\w+)", subprocess.run(["readelf", "-n", path], capture_output=True, text=True).stdout)
        base = 1 << 40
        maps = [pbin.Map(base, 1 << 20, offset, label, path, build_id[1])]
        frames = lambda n: [pbin.Frame(n, n, "", 0)]
        places = [pbin.Location(base + a - address, "program", frames(function), 0) for a, function in addresses]
        places.append(pbin.Location(64, "_foreign", frames("_foreign")))
        made = pbin.Profile({"target": "program", "cpu_time": 1, "times": 1, "samples": len(places), "wall_ns": len(places) * 10**6},
                            [pbin.Thread(1, 1, "program")], places, maps=maps)
        made.samples = [pbin.Sample(10**6, 0.0, [(0, i, 10**6)]) for i in range(len(places))]
        return self.file(name, pbin.write(made)), address - offset

    def table(self, *argv):
        return json.loads(self.succeeds(["pbin-aggregate", "--format=json", *argv]).out)["rows"]


class CodeKeys(Profiled):
    def build(self, machine):
        flags = MACHINES[machine][0]
        machine, *thumb = machine.split()
        path = os.path.join(self.folder, "program")
        with open(path + ".c", "w") as f:
            f.write(SOURCE)
        system = [] if machine.startswith(("x86", "i386")) else ["-I/usr/%s/include" % machine]
        subprocess.run(["clang-14", "--target=" + machine, *system, *flags, *thumb, "-O2", "-fPIE", "-pie", "-Wl,--build-id", "-o", path,
                        path + ".c"], check=True)
        return path

    def test_against_llvm(self):
        for machine, (_, leaves, calls) in MACHINES.items():
            with self.subTest(machine):
                path = self.build(machine)
                listings = {f: listing(path, f) for f in FUNCTIONS}
                want, names = {}, {}
                for function, instructions in listings.items():
                    first = instructions[0].address
                    for address, begin in blocks(instructions, leaves, calls).items():
                        want[address] = f"{function}+{begin - first:#x}"
                    names |= {i.address: i.mnemonic for i in instructions}
                profile, bias = self.profile(path, [(i.address, f) for f, l in listings.items() for i in l])
                rows = self.table("-k", "basic-block,pc,instruction", profile)
                found = {int(r["pc"], 16) + bias: (r["basic-block"], ALIASES.get(r["instruction"], r["instruction"]))
                         for r in rows if r["binary"] == "program"}
                self.assertEqual({a: b for a, (b, _) in found.items()}, want)
                self.assertEqual({a: m for a, (_, m) in found.items()}, names)
                self.assertGreater(len(set(want.values())), 15)
                if "-mthumb" in machine:
                    self.check_listing(path, profile)
                    # without mapping symbols, bit 0 of dynamic symbols shows that code is Thumb
                    subprocess.run(["llvm-strip-14", path], check=True)
                    bare = self.table("-k", "function,pc,instruction", profile)
                    self.assertEqual({int(r["pc"], 16) + bias: r["instruction"] for r in bare if r["function"] in ("main", "loops")},
                                     {i.address: i.mnemonic for f in ("main", "loops") for i in listings[f]})
                self.assertIn(("_foreign", "_foreign", "_foreign"), [(r["binary"], r["basic-block"], r["instruction"]) for r in rows])

    def check_listing(self, path, profile):
        """The jump table of a switch inside choose and the constants after it are data; the code
        after them is decoded again."""
        out = subprocess.run(["llvm-objdump-14", "-d", path], capture_output=True, text=True, check=True).stdout
        lines = re.findall(r"^ *([0-9a-f]+):\s+((?:[0-9a-f]{2} ?)+)\s+([.\w]+)", out, re.M)
        code = {int(address, 16): mnemonic for address, _, mnemonic in lines if mnemonic[0] != "."}
        byte = {int(address, 16) + i: int(b, 16) for address, raw, _ in lines for i, b in enumerate(raw.split())}
        rows = json.loads(self.succeeds(["pbin-annotate", "--asm", "-f", "choose", "--format=json", profile]).out)["rows"]
        found = [(int(r["address"], 16), *r["text"].split(None, 1)) for r in rows]
        data = [(a, m, rest[0]) for a, m, *rest in found if m == ".byte"]
        self.assertEqual({a: m for a, m, *_ in found if m != ".byte"},
                         {a: m for a, m in code.items() if found[0][0] <= a <= found[-1][0]})
        self.assertGreaterEqual(len(data), 2)
        for address, _, text in data:
            self.assertEqual([int(t, 16) for t in text.split(", ")], [byte[address + i] for i in range(text.count(",") + 1)])

    def x86(self):
        path = self.build("x86_64-linux-gnu")
        instructions = listing(path, "loops")
        return path, instructions, self.profile(path, [(i.address, "loops") for i in instructions])[0]

    def test_sums_and_filters(self):
        path, instructions, profile = self.x86()
        count = {}
        for i in instructions:
            count[i.mnemonic] = count.get(i.mnemonic, 0) + 1
        self.assertEqual({r["instruction"]: r["samples"] for r in self.table("-k", "instruction", profile)}, count | {"_foreign": 1})
        jumps = self.table("-k", "instruction", "--filter", "instruction=j*", profile)
        self.assertEqual({r["instruction"]: r["samples"] for r in jumps}, {m: n for m, n in count.items() if m[0] == "j"})
        out = subprocess.run(["objdump", "-d", "--insn-width=15", "--disassemble=loops", path], capture_output=True, text=True, check=True).stdout
        raw = {int(a, 16): "".join(b.split()) for a, b in re.findall(r"^ *([0-9a-f]+):\t([0-9a-f ]+)", out, re.M)}
        self.assertEqual({r["opcode"]: r["samples"] for r in self.table("-k", "opcode", profile)},
                         collections.Counter(raw[i.address] for i in instructions) + collections.Counter(["_foreign"]))
        # the key binary is added, and an aggregated profile keeps the names without the file
        rows = self.table("-k", "basic-block", profile)
        self.assertEqual(list(rows[0])[:2], ["binary", "basic-block"])
        self.succeeds(["pbin-aggregate", "-k", "basic-block", "-o", f"{self.folder}/sum.pbin", profile])
        os.remove(os.path.join(self.folder, "program"))
        self.assertEqual(self.table("-k", "basic-block", f"{self.folder}/sum.pbin"), rows)

    def test_jump_targets(self):
        """A block of burn_50 is divided at the jump targets listed in the file; lines without two
        addresses are ignored."""
        program, profile = os.path.join(self.folder, "burn"), os.path.join(self.folder, "burn.pbin")
        shutil.copy(os.path.join(SAMPLES, "burn"), program)
        self.succeeds(["prof2pbin", "-q", os.path.join(SAMPLES, "out.bin.bz2"), "-o", profile])
        blocks = lambda: {r["basic-block"]: r["samples"] for r in self.table("-k", "basic-block", "-s", self.folder, profile)}
        plain = blocks()
        pcs = {int(r["pc"], 16): r["samples"] for r in self.table("-k", "pc", "--filter", "function=burn_50", profile)}
        dump = subprocess.run(["objdump", "-d", "--disassemble=burn_50", program], capture_output=True, text=True, check=True).stdout
        code = [int(a, 16) for a in re.findall(r"^ *([0-9a-f]+):\t", dump, re.M)]
        begin, end = next(a for a in code if a == code[0] + 0x10), next(a for a in code if "%x:\t75 " % a in dump)
        middle = [a for a in code if begin < a < end][5]
        for text in ("from,to\n%#x,%#x\n" % (end, middle), "%d,%d,7\n,\n0x,1\n%#x\n" % (end, middle, begin + 3)):
            self.file("burn.dynmap", text.encode())
            self.assertEqual(blocks(), plain | {
                "burn_50+0x10": sum(n for a, n in pcs.items() if begin <= a < middle),
                f"burn_50+{middle - code[0]:#x}": sum(n for a, n in pcs.items() if middle <= a <= end)})
        listing = self.succeeds(["pbin-annotate", "-q", "--asm", "-s", self.folder, "-f", "burn_50", profile]).out.decode()
        self.assertIn(f"{middle:x}:| ", listing)
        self.file("burn.dynmap", b"none\n")
        ended = self.succeeds(["pbin-aggregate", "-k", "basic-block", "-s", self.folder, profile])
        self.assertIn("burn.dynmap: expected lines with the addresses of a jump and of its target, found none", ended.err)
        self.assertEqual(blocks(), plain)

    def test_other_tools(self):
        _, _, profile = self.x86()
        rows = json.loads(self.succeeds(["pbin-compare", "-q", "-k", "instruction", "--format=json", profile, profile]).out)["rows"]
        self.assertEqual({r["instruction"] for r in rows}, {r["instruction"] for r in self.table("-k", "instruction", profile)})
        self.assertIn("loops+0x0", self.succeeds(["pbin-plot", "bars", "-q", "-k", "basic-block", profile, "-o", "-"]).out.decode())

    def test_code_that_cannot_be_read(self):
        path, instructions, profile = self.x86()
        moved = os.path.join(self.folder, "elsewhere")
        os.mkdir(moved)
        shutil.move(path, os.path.join(moved, "program"))
        os.chdir("/")
        there = self.table("-q", "-k", "instruction", "-s", moved, profile)
        self.assertGreater(len(there), 3)
        ended = self.succeeds(["pbin-aggregate", "-k", "basic-block,instruction", "--format=json", profile])
        self.assertEqual({(r["basic-block"], r["instruction"]) for r in json.loads(ended.out)["rows"]},
                         {("_no_code", "_no_code"), ("_foreign", "_foreign")})
        self.assertEqual(ended.err.count("not disassembled"), 1, ended.err)
        self.assertIn("program", ended.err)
        # a different file with that name is not the one that ran
        shutil.copy("/bin/true", os.path.join(self.folder, "program"))
        ended = self.succeeds(["pbin-aggregate", "-k", "instruction", "--format=json", profile])
        self.assertEqual({r["instruction"] for r in json.loads(ended.out)["rows"]}, {"_no_code", "_foreign"})
        self.assertEqual(len(instructions), next(r["samples"] for r in json.loads(ended.out)["rows"]
                                                 if r["instruction"] == "_no_code"))

    def test_parts_and_jobs(self):
        """The result is the same for any number of threads, with one warning per file."""
        path, _, profile = self.x86()
        files = [shutil.copy(profile, f"{self.folder}/{i}.pbin") for i in range(6)]
        os.remove(path)
        tables = set()
        for jobs in ("1", "4"):
            ended = self.succeeds(["pbin-aggregate", "-j", jobs, "-k", "basic-block", *files])
            self.assertEqual(ended.err.count("not disassembled"), 1, ended.err)
            tables.add(ended.out)
        self.assertEqual(len(tables), 1)


VECTORS = """
float sum(const float *a, const float *b, int n)
{
    float s = 0;
    for (int i = 0; i < n; i++)
        s += a[i] > b[i] ? a[i] * b[i] : 0;
    return s;
}
long find(const char *text, long size, char wanted)
{
    long count = 0;
    for (long i = 0; i < size; i++)
        count += text[i] == wanted;
    return count;
}
void pack(unsigned char *restrict to, const unsigned *restrict from, int n)
{
    for (int i = 0; i < n; i++)
        if (from[i] > 7)
            to[i] = (unsigned char)(from[i] >> 3);
}
int main(int argc, char **argv)
{
    pack((unsigned char *)argv[0], (unsigned *)argv[1], argc);
    return (int)sum((float *)argv[0], (float *)argv[1], argc) + (int)find(argv[0], argc, 'x');
}
__asm__(".globl forms\\n.type forms, @function\\nforms:\\n"
        "1: vmovdqa64 (%rdi), %ymm16\\n vpminub 32(%rdi), %ymm16, %ymm17\\n vpcmpeqb %ymm17, %ymm16, %k0{%k2}\\n"
        "vpcmpnltub %zmm1, %zmm2, %k3\\n vpcmpub $3, %zmm1, %zmm2, %k3\\n vcmpge_oqps %zmm2, %zmm1, %k5{%k1}\\n"
        "vaddps (%rax){1to16}, %zmm1, %zmm2{%k3}{z}\\n vaddpd {rz-sae}, %zmm1, %zmm2, %zmm3{%k1}\\n vmaxps {sae}, %zmm1, %zmm2, %zmm3\\n"
        "vrangepd $2, {sae}, %zmm1, %zmm2, %zmm31\\n vcvtsi2sdq %rax, {rd-sae}, %xmm29, %xmm30\\n vcvtusi2sdl 8(%rax), %xmm1, %xmm2\\n"
        "vcvtpd2psy 64(%rsi), %xmm20\\n vfpclasspsz $4, (%rax), %k2\\n vpternlogd $0xfe, %ymm2, %ymm3, %ymm4\\n"
        "vpgatherdd 16(%r13,%zmm14,4), %zmm3{%k4}\\n vscatterqpd %zmm4, (%rdi,%zmm5,8){%k1}\\n vmovdqu8 %ymm16, 0x123(%rax){%k1}\\n"
        "vpcompressd %zmm1, (%rax){%k2}\\n vpermi2w %zmm1, %zmm2, %zmm3{%k1}{z}\\n vpdpbusd %zmm1, %zmm2, %zmm3\\n vaddph %zmm1, %zmm2, %zmm3\\n"
        "kmovq %k4, %rdx\\n kunpckdq %k2, %k3, %k4\\n kshiftrq $32, %k1, %k2\\n kortestd %k1, %k2\\n jne 1b\\n"
        "andnq %rax, %rbx, %rcx\\n shlxl %eax, (%rbx), %ecx\\n crc32b %cl, %edx\\n movq %rax, %xmm3\\n cvtsi2sdl %eax, %xmm1\\n"
        "movslq %eax, %rcx\\n movzbl (%rax,%rcx,2), %edx\\n lock cmpxchgq %rcx, 8(%rdx)\\n fildll 8(%rsp)\\n fsubrp %st, %st(1)\\n jmp *%rax\\n"
        ".byte 0xc4, 0xe2, 0x7b, 0x50, 0x43, 0x20\\n" /* vpdpbssd, newer than Zydis 4.0: its size is known all the same */
        "vpandq %zmm1, %zmm2, %zmm17\\n ret\\n .size forms, .-forms\\n");
"""
# Names to which objdump -M suffix adds a suffix, and the same names elsewhere.
BARE = {"lvpdpbusd": "vpdpbusd", "jmpq": "jmp", "xchgw": "nop", "bswap": "bswapl"}


class Avx512(Profiled):
    """The instructions of current processors compared with objdump: addresses, names and
    operands."""

    def objdump(self, path, function):
        out = subprocess.run(["objdump", "-d", "-M", "suffix", "--no-show-raw-insn", f"--disassemble={function}", path],
                             capture_output=True, text=True, check=True).stdout
        found = {}
        for address, text in re.findall(r"(?m)^ *([0-9a-f]+):\t(.*)$", out):
            text = re.sub(r"^((data16|cs|rex\S*) )+", "", text.split("#")[0].split("<")[0].strip())
            mnemonic, _, operands = text.rpartition(" ") if text[:4] == "lock" else text.partition(" ")
            mnemonic = mnemonic.strip()
            found[int(address, 16)] = (mnemonic if "*" in operands else BARE.get(mnemonic, mnemonic), self.plain(operands))
        return found

    @staticmethod
    def plain(operands):
        """Without blanks, and with decimal numbers."""
        return re.sub(r"0x[0-9a-f]+", lambda m: str(int(m[0], 16)), operands.split("<")[0].replace(" ", ""))

    def test_against_objdump(self):
        path = os.path.join(self.folder, "program")
        with open(path + ".c", "w") as f:
            f.write(VECTORS)
        subprocess.run(["gcc", "-O3", "-march=x86-64-v4", "-mprefer-vector-width=512", "-ffast-math", "-Wl,--build-id", "-o", path,
                        path + ".c"], check=True)
        functions = ("forms", "sum", "find", "pack")
        want = {f: self.objdump(path, f) for f in functions}
        profile, bias = self.profile(path, [(a, f) for f in functions for a in want[f]])
        named = {int(r["pc"], 16) + bias: r["instruction"] for r in self.table("-k", "binary,pc,instruction", profile)
                 if r["binary"] == "program"}
        vectors = 0
        for function in functions:
            rows = json.loads(self.succeeds(["pbin-annotate", "--asm", "-f", function, "--format=json", profile]).out)["rows"]
            found = {int(r["address"], 16): r["text"] for r in rows}
            begins = list(want[function])
            for address, (mnemonic, operands) in want[function].items():
                text = found.pop(address)
                if text.startswith(".byte"):
                    self.assertEqual((mnemonic, len(text.split(","))), ("vpdpbssd", begins[begins.index(address) + 1] - address))
                    continue
                self.assertEqual(named[address], mnemonic, text)
                self.assertTrue(text.startswith(mnemonic), (text, mnemonic))
                vectors += "%zmm" in text or "%k" in text
                if function == "forms" and mnemonic[0] != "j":
                    self.assertEqual(self.plain(text[len(mnemonic):]), operands, text)
            self.assertEqual(found, {}, function)
        self.assertGreater(vectors, 60)
        blocks = {r["basic-block"] for r in self.table("-k", "basic-block", profile)}
        jumps = [a for a, (m, _) in want["forms"].items() if m[0] == "j" or m == "retq"]
        self.assertEqual(len({b for b in blocks if b.startswith("forms+")}), len(jumps) + 1)  # +1: the unknown one ends a block

    def test_intel_syntax(self):
        path = os.path.join(self.folder, "program")
        with open(path + ".s", "w") as f:
            f.write(".globl main\n.type main,@function\nmain: vaddps (%rax){1to16},%zmm1,%zmm2{%k3}{z}\nvaddpd {rz-sae},%zmm1,%zmm2,%zmm3\n"
                    "vrangepd $2,{sae},%zmm1,%zmm2,%zmm31\nmovl $-1,%fs:8(%rbp,%rcx,2)\nret\n.size main,.-main\n")
        subprocess.run(["gcc", "-Wl,--build-id", "-o", path, path + ".s"], check=True)
        profile, _ = self.profile(path, [(min(self.objdump(path, "main")), "main")])
        out = self.succeeds(["pbin-annotate", "--asm", "--syntax=intel", "-f", "main", "--format=json", profile]).out
        self.assertEqual([" ".join(r["text"].split()) for r in json.loads(out)["rows"]],
                         ["vaddps zmm2{k3}{z}, zmm1, dword ptr [rax]{1to16}", "vaddpd zmm3, zmm2, zmm1, {rz-sae}",
                          "vrangepd zmm31, zmm2, zmm1, {sae}, 2", "mov dword ptr fs:[rbp + rcx*2 + 8], 0xffffffff", "ret"])


class Lines(tool.Case):
    """A line is shown with its innermost function, unless its file identifies it."""

    def test_columns(self):
        inner, outer = pbin.Frame("inner", "inner", "/a.h", 7), pbin.Frame("outer", "outer", "/a.c", 30)
        made = pbin.Profile({"target": "app", "cpu_time": 1, "times": 1, "samples": 1, "wall_ns": 10**6}, [pbin.Thread(1, 1, "app")],
                            [pbin.Location(16, "app", [inner, outer])])
        made.samples = [pbin.Sample(10**6, 0.0, [(0, 0, 10**6)])]
        file = self.file("p.pbin", pbin.write(made))
        for keys, want in (("line", {"inline": "inner", "line": 7}), ("function,line", {"function": "outer", "inline": "inner", "line": 7}),
                           ("line,inline", {"line": 7, "inline": "inner"}), ("file,line", {"file": "/a.h", "line": 7}),
                           ("function,outer-line", {"function": "outer", "outer-line": 30})):
            out = self.succeeds(["pbin-aggregate", "--format=json", "-k", keys, file]).out
            row = json.loads(out)["rows"][0]
            self.assertEqual(list(row.items())[:len(want)], list(want.items()), keys)
            self.assertNotIn("inline" if "inline" not in want else "pc", row)


if __name__ == "__main__":
    unittest.main()
