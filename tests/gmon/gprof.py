"""The output of gprof for a gmon.out, and the exact answer computed from nm.

SPDX-License-Identifier: MIT
"""
import re
import subprocess
from fractions import Fraction

PRIMARY = re.compile(r"^\[(\d+)\]\s+[\d.]+\s+([\d.]+)\s+([\d.]+)\s+(?:(\d+)(?:\+(\d+))?\s+)?"
                     r"(.+?)(?: <cycle (\d+)>)? \[\d+\]$")
LINE = re.compile(r"^\s+(?:([\d.]+)\s+([\d.]+)\s+)?(\d+)(?:/(\d+))?\s+(.+?)(?: <cycle \d+>)? \[\d+\]$")
MAX_PADDING = 63  # allowed between functions without belonging to one


def run(*argv):
    return subprocess.run(["gprof", "-b", *argv], stdout=subprocess.PIPE, check=True).stdout.decode()


def flat(elf, gmon):
    """{function: (self time [s], calls or None)}"""
    found = {}
    for line in run("-p", elf, gmon).splitlines():
        words = line.split(None, 3)
        if len(words) == 4 and re.fullmatch(r"[\d.]+", words[0]):
            rest = re.match(r"(?:(\d+)\s+[\d.]+\s+[\d.]+\s+)?(.*)", words[3])
            found[rest.group(2)] = (float(words[2]), int(rest.group(1)) if rest.group(1) else None)
    return found


def graph(elf, gmon):
    """Functions {name: (self, children, calls, recursive calls, in a cycle)}; arcs {(caller,
    callee): (self, children, count, of)}, the first two None inside cycles."""
    functions, arcs = {}, {}
    for entry in run("-q", elf, gmon).split("-----------------------------------------------"):
        above, primary = [], None
        for line in entry.splitlines():
            head = PRIMARY.match(line)
            if head:
                primary = head.group(6)
                if primary.endswith(" as a whole>"):
                    break
                functions[primary] = (float(head.group(2)), float(head.group(3)), int(head.group(4) or 0),
                                      int(head.group(5) or 0), head.group(7) is not None)
                for other, values in above:
                    arcs[other, primary] = values
                continue
            found = LINE.match(line)
            if not found:
                continue
            time, children, count, of, other = found.groups()
            values = (None if time is None else float(time), None if children is None else float(children),
                      int(count), None if of is None else int(of))
            if primary is None:
                above.append((other, values))
            else:
                arcs[primary, other] = values
    return functions, arcs


def ranges(elf):
    """[(first address, end address, name)] of the functions."""
    out = subprocess.run(["nm", "-C", "-S", "--defined-only", elf], stdout=subprocess.PIPE, check=True).stdout
    found = {}
    for line in out.decode().splitlines():
        words = line.split(None, 3)
        if len(words) == 3 and words[1] in "tT":  # size 0: written in assembly, or by the linker
            words.insert(1, "0")
        if len(words) == 4 and words[2] in "tTwWi":
            address, size = int(words[0], 16), int(words[1], 16)
            found.setdefault(address, (size, words[3]))
            if size > found[address][0]:
                found[address] = (size, words[3])
    return reach(sorted((address, size, name) for address, (size, name) in found.items()))


def reach(functions):
    """(address, size, name), ascending -> (address, end, name): extends over the padding, but not
    over the next function."""
    result = []
    for i, (address, size, name) in enumerate(functions):
        end = address + size
        following = functions[i + 1][0] if i + 1 < len(functions) else end + MAX_PADDING
        if size == 0 or end > following or following - end <= MAX_PADDING:
            end = following
        result.append((address, end, name))
    return result


def credit(histogram, functions, bias=0):
    """{name: samples}, exact; samples outside all functions belong to _unknown."""
    width = Fraction(histogram.high - histogram.low, len(histogram.bins))
    found = {}
    for i, count in enumerate(histogram.bins):
        if count == 0:
            continue
        begin = histogram.low - bias + i * width
        end, left = begin + width, Fraction(count)
        for first, after, name in functions:
            part = min(end, after) - max(begin, first)
            if part > 0:
                found[name] = found.get(name, 0) + count * part / width
                left -= count * part / width
        if left > 0:
            found["_unknown"] = found.get("_unknown", 0) + left
    return found
