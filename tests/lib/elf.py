"""64-bit little-endian ELF files with any sections, such as no linker writes.

SPDX-License-Identifier: MIT
"""
import struct

PROGBITS, SYMTAB, STRTAB = 1, 2, 3
ALLOC_EXEC, COMPRESSED = 6, 0x800
CODE = 0x1000  # the offset of the code, in the file and in memory


def symbols(members):
    """A symbol table of MEMBERS (offset of the name, address, size), all functions of section 1."""
    return bytes(24) + b"".join(struct.pack("<IBBHQQ", name, 0x12, 0, 1, address, size)
                                for name, address, size in members)


def write(code_size, sections):
    """SECTIONS: (name, type, flags, link, entry size, contents: bytes, or the number of the section
    that has them). Section 1 is .text: zeros, CODE_SIZE rounded up to whole pages."""
    code_size += -code_size % 4096
    names = bytearray(b"\0.text\0.shstrtab\0")
    body, heads, places = bytearray(), [], {}
    start = CODE + code_size
    for number, (name, kind, flags, link, entry, data) in enumerate(sections, 2):
        at_name = len(names)
        names += name.encode() + b"\0"
        if isinstance(data, int):
            places[number] = places[data]
        else:
            body += bytes(-len(body) % 8)
            places[number] = (start + len(body), len(data))
            body += data
        heads.append((at_name, kind, flags, 0, *places[number], link, 0, 1, entry))
    names_at = start + len(body)
    all_heads = [(0,) * 10, (1, PROGBITS, ALLOC_EXEC, CODE, CODE, code_size, 0, 0, 16, 0), *heads,
                 (7, STRTAB, 0, 0, names_at, len(names), 0, 0, 1, 0)]
    table_at = names_at + len(names)
    table_at += -table_at % 8
    header = b"\x7fELF" + bytes((2, 1, 1)) + bytes(9) + struct.pack(
        "<HHIQQQIHHHHHH", 2, 62, 1, CODE, 64, table_at, 0, 64, 56, 1, 64, len(all_heads), len(all_heads) - 1)
    header += struct.pack("<IIQQQQQQ", 1, 5, CODE, CODE, CODE, code_size, code_size, 4096)
    out = header + bytes(CODE - len(header)) + bytes(code_size) + bytes(body) + bytes(names)
    return out + bytes(table_at - len(out)) + b"".join(struct.pack("<IIQQQQIIQQ", *h) for h in all_heads)
