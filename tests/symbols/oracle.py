# Names and lines of addresses according to llvm-symbolizer and the file itself, for comparison with the symbolizer.
# SPDX-License-Identifier: MIT
import json, struct, subprocess

BIAS = 0x7F3500000000


class Elf:
    """Just enough of an ELF reader to choose addresses and to explain differences."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as f:
            self.data = f.read()
        d = self.data
        self.is64 = d[4] == 2
        self.order = "<" if d[5] == 1 else ">"
        self.type = struct.unpack_from(self.order + "H", d, 16)[0]
        if self.is64:
            phoff, shoff = struct.unpack_from(self.order + "QQ", d, 32)
            phsize, phnum, shsize, shnum, shstr = struct.unpack_from(self.order + "HHHHH", d, 54)
        else:
            phoff, shoff = struct.unpack_from(self.order + "II", d, 28)
            phsize, phnum, shsize, shnum, shstr = struct.unpack_from(self.order + "HHHHH", d, 42)
        self.segments = [self._segment(phoff + i * phsize) for i in range(phnum)]
        self.sections = [self._section(shoff + i * shsize) for i in range(shnum)]
        names = self.sections[shstr] if self.sections else None
        for s in self.sections:
            s["name"] = self._string(names, s["name"])
        self.symbols = self._symbols()
        self.indexed = self.index = None

    def _segment(self, at):
        if self.is64:
            kind, flags, offset, vaddr, _, filesz, memsz, _ = struct.unpack_from(
                self.order + "IIQQQQQQ", self.data, at)
        else:
            kind, offset, vaddr, _, filesz, memsz, flags, _ = struct.unpack_from(
                self.order + "IIIIIIII", self.data, at)
        return dict(kind=kind, flags=flags, offset=offset, vaddr=vaddr, filesz=filesz, memsz=memsz)

    def _section(self, at):
        f = struct.unpack_from(self.order + ("IIQQQQIIQQ" if self.is64 else "IIIIIIIIII"), self.data, at)
        return dict(zip(("name", "type", "flags", "addr", "offset", "size", "link", "info"), f))

    def _string(self, section, at):
        begin = section["offset"] + at
        return self.data[begin:self.data.index(b"\0", begin)].decode("utf-8", "surrogateescape")

    def _symbols(self):
        """(address, size, name, section) of the symbols that are code or may be, without names of
        files."""
        out = []
        self.files = set()
        tables = [s for s in self.sections if s["type"] == 2] or [s for s in self.sections if s["type"] == 11]
        for table in tables:
            size = 24 if self.is64 else 16
            for at in range(table["offset"] + size, table["offset"] + table["size"], size):
                if self.is64:
                    name, info, _, shndx, value, length = struct.unpack_from(self.order + "IBBHQQ", self.data, at)
                else:
                    name, value, length, info, _, shndx = struct.unpack_from(self.order + "IIIBBH", self.data, at)
                if info & 15 == 4:
                    self.files.add(self._string(self.sections[table["link"]], name))
                if 0 < shndx < len(self.sections) and info & 15 in (0, 1, 2, 10):
                    out.append((value, length, self._string(self.sections[table["link"]], name),
                                self.sections[shndx]))
        return out

    def symbols_by_name(self):
        """The symbols as {name: [(value, size, section)]}, rebuilt when self.symbols was replaced."""
        if self.indexed is not self.symbols:
            self.indexed, self.index = self.symbols, {}
            for value, size, name, section in self.symbols:
                self.index.setdefault(name, []).append((value, size, section))
                if 0 < name.find("@"): # versions are removed
                    self.index.setdefault(name.partition("@")[0], []).append((value, size, section))
        return self.index

    def code(self, step):
        """Every STEPth address in sections of code."""
        return [a for s in self.sections if s["flags"] & 4 and s["size"]
                for a in range(s["addr"], s["addr"] + s["size"], step)]

    def maps(self, label=None, offset=True, build_id="-", page=4096):
        """Arguments for the driver and the bias: the executable segments as a kernel would map
        them."""
        bias = 0 if self.type == 2 else BIAS if self.is64 else 0xF7000000
        out = []
        for s in self.segments:
            if s["kind"] == 1 and s["flags"] & 1:
                begin = s["vaddr"] & -page
                end = (s["vaddr"] + s["memsz"] + page - 1) & -page
                where = "%x" % (s["offset"] & -page) if offset else "-"
                out.append("%x,%x,%s,%s,%s" % (begin + bias, end - begin, where, build_id, label or self.path))
        return out, bias


def run_driver(driver, arguments, pcs, **more):
    """(chains by pc, stderr): a chain is [(function, demangled, file, line)]; its first item is the
    binary."""
    text = "".join("%x\n" % p for p in pcs)
    done = subprocess.run([driver] + arguments, input=text.encode(), capture_output=True, **more)
    if done.returncode != 0:
        raise AssertionError("symbolize exits %d: %s" % (done.returncode, done.stderr.decode()[-2000:]))
    return parse(done.stdout), done.stderr.decode("utf-8", "replace")


def parse(output):
    chains = {}
    for line in output.decode("utf-8", "surrogateescape").split("\n"):
        fields = line.split("\t")
        if not fields[0].startswith("0x"):
            continue
        frames = [f.split("\x1f") for f in fields[2:]]
        chains[int(fields[0], 16)] = (fields[1], [(f[0], f[1], f[2], int(f[3])) for f in frames])
    return chains


def run_llvm(path, addresses):
    text = "".join("0x%x\n" % a for a in addresses)
    out = subprocess.run(["llvm-symbolizer-14", "--obj=" + path, "--inlines", "--no-demangle",
                          "--output-style=JSON"], input=text.encode(), capture_output=True, check=True).stdout
    chains = {}
    for line in out.decode("utf-8", "surrogateescape").splitlines():
        if not line.strip():
            continue
        answer = json.loads(line)
        chains[int(answer["Address"], 16)] = [
            (f["FunctionName"], f["FileName"], f["Line"]) for f in answer.get("Symbol", [])]
    return chains


def explain(elf, address, ours, theirs, separate=False):
    """The name of the class of a difference; None if it cannot be explained. SEPARATE: the symbols
    of ELF are from a debug file, where llvm-symbolizer does not look for them."""
    function = "" if ours[-1][0] == "_unknown" else ours[-1][0]
    mine = [("" if f == "_unknown" else f, file, line) for f, _, file, line in ours]
    if mine == theirs or (not theirs and mine == [("", "", 0)]):
        return "equal"
    if len(mine) == len(theirs) and theirs[-1][2] == 0 and mine[-1][1:] == ("", 0) and theirs[-1][1] in elf.files:
        # The file of a local symbol without lines only shows which source its object was compiled
        # from.
        theirs = theirs[:-1] + [(theirs[-1][0], "", 0)]
        if mine == theirs:
            return "object file of a symbol in place of a source file"
    if function.endswith("@plt") and mine == [(function, "", 0)] and theirs in ([], [("", "", 0)], [("_init", "", 0)]):
        return "stub"  # test_names.py compares stubs with objdump
    if "!0x" in function and mine == [(function, "", 0)] and theirs in ([], [("", "", 0)]):
        return "function by its bounds"  # test_stripped.py compares bounds with readelf
    if len(mine) != len(theirs) or [m[1:] for m in mine] != [t[1:] for t in theirs]:
        return None
    if all(m[0] == t[0] or m[0].endswith("::" + t[0]) for m, t in zip(mine[:-1], theirs[:-1])):
        if mine[:-1] != theirs[:-1] and mine[-1] == theirs[-1]:
            return "name that we qualify"
    else:
        return None
    other = theirs[-1][0]
    by_name = elf.symbols_by_name()
    if any(a[0] == b[0] for a in by_name.get(function, []) for b in by_name.get(other, [])):
        return "alias of the same address"
    for value, size, section in by_name.get(other, []):
        if size == 0 and not section["addr"] <= address < section["addr"] + section["size"]:
            return "symbol without size ends with its section"
        if size == 0 and not function:
            return "symbol without size ends with its bounds"
    if not other and any(v <= address < v + s for v, s, _ in by_name.get(function, [])):
        return "symbol around an inner one that has ended"
    if separate and start_of(elf, address, function) is not None:
        return "named by the symbol table of the debug file"
    return None


def start_of(elf, address, name):
    """The beginning of the symbol NAME that covers ADDRESS (a symbol without size begins shortly
    before)."""
    for value, size, _ in elf.symbols_by_name().get(name, []):
        if value <= address < value + size or size == 0 and value <= address < value + 16:
            return value
    return None
