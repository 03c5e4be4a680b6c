"""Small programs that tests compile, and facts about them from nm and the program headers.

SPDX-License-Identifier: MIT
"""
import os
import struct
import subprocess

from rawprofile import Map

PAGE = 4096


def source(prefix, functions):
    """C text with FUNCTIONS functions PREFIX_0 ... that are not inlined, and a main."""
    lines = ["volatile unsigned long sink;"]
    for i in range(functions):
        static = "static " if i % 2 else ""
        lines += [f"{static}__attribute__((noinline, noclone)) void {prefix}_{i}(unsigned n)", "{",
                  "    while (n-- > 0)", f"        sink += n * {i + 3};", "}"]
    calls = " ".join(f"{prefix}_{i}(argc);" for i in range(functions))
    return "\n".join(lines + ["int main(int argc, char **argv)",
                              "{ (void)argv; " + calls + " return 0; }", ""])


def build(folder, name, functions=6, flags=()):
    """Compiles a program into FOLDER; returns its path."""
    text, path = os.path.join(folder, name + ".c"), os.path.join(folder, name)
    with open(text, "w") as f:
        f.write(source(name, functions))
    subprocess.run(["gcc", "-g", "-O1", *flags, "-o", path, text], check=True)
    return path


def executable_segment(path):
    """(p_offset, p_vaddr, p_memsz) of the PT_LOAD with PF_X of a 64-bit little endian ELF file."""
    with open(path, "rb") as f:
        data = f.read()
    at, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for i in range(count):
        kind, flags, offset, vaddr, _, _, memsz, _ = struct.unpack_from("<IIQQQQQQ", data, at + i * size)
        if kind == 1 and flags & 1:
            return offset, vaddr, memsz
    raise ValueError("no executable segment")


class Program:
    """A compiled program as it is mapped: at BASE if it is a PIE, otherwise where it was linked."""

    def __init__(self, path, base=0):
        self.path, self.label, self.base = path, os.path.basename(path), base
        offset, vaddr, size = executable_segment(path)
        first = vaddr // PAGE * PAGE
        end = (vaddr + size + PAGE - 1) // PAGE * PAGE
        self.map = Map(base + first, end - first, self.label, offset=offset // PAGE * PAGE, path=path,
                       build_id=self.build_id())
        self.padding = base + end - 8  # inside the map, after all code
        self.functions = self.read_functions()

    def build_id(self):
        text = subprocess.run(["readelf", "-n", self.path], stdout=subprocess.PIPE, check=True).stdout
        return text.decode().partition("Build ID: ")[2].split("\n")[0].strip()

    def read_functions(self):
        """{name: (first address, size)} of the functions of the source, as mapped."""
        out = subprocess.run(["nm", "-S", "--defined-only", self.path], stdout=subprocess.PIPE, check=True)
        found = {}
        for line in out.stdout.decode().splitlines():
            words = line.split()
            if len(words) == 4 and words[2] in "tT" and (words[3] == "main" or
                                                         words[3].startswith(self.label + "_")):
                found[words[3]] = (self.base + int(words[0], 16), int(words[1], 16))
        return found

    def function_at(self, pc):
        for name, (address, size) in self.functions.items():
            if address <= pc < address + size:
                return name
        return "_unknown"


def key_of(programs):
    """The key (binary, function) of a PC, for the oracle."""
    def key(pc):
        for p in programs:
            if pc is not None and p.map.address <= pc < p.map.address + p.map.size:
                return p.label, p.function_at(pc)
        return "_foreign", "_foreign"
    return key
