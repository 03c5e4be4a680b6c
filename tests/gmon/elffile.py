"""Writes small ELF files with functions at given addresses, of any class and byte order.

SPDX-License-Identifier: MIT
"""
import struct


def strings(names):
    """A string table and the offset of each name in it."""
    data, at = b"\0", {}
    for name in names:
        at[name] = len(data)
        data += name.encode() + b"\0"
    return data, at


def write(functions, bits=64, order="<", machine=0, symbols=()):
    """FUNCTIONS: (name, address, size), ascending; SYMBOLS: (name, address) that are not functions. Code extends from
    the first function to 32 bytes after the last one."""
    def pack(layout, *values):
        return struct.pack(order + layout, *values)

    wide = bits == 64
    low = min([f[1] for f in functions] + [s[1] for s in symbols])
    size = functions[-1][1] + functions[-1][2] + 32 - low
    names, name_at = strings([f[0] for f in functions] + [s[0] for s in symbols])
    section_names, section_at = strings([".text", ".symtab", ".strtab", ".shstrtab"])
    table = bytes(24 if wide else 16)
    for name, address, length, kind in [(*f, 2) for f in functions] + [(*s, 0, 0) for s in symbols]:
        info = 1 << 4 | kind
        table += pack("IBBHQQ", name_at[name], info, 0, 1, address, length) if wide else \
            pack("IIIBBH", name_at[name], address, length, info, 0, 1)
    header_size, entry = (64, 64) if wide else (52, 40)
    text_at = header_size
    table_at = text_at + size
    names_at = table_at + len(table)
    section_names_at = names_at + len(names)
    headers_at = section_names_at + len(section_names)

    def section(name, kind, flags, address, offset, length, link=0, entry_size=0):
        number = section_at[name] if name else 0
        return pack("IIQQQQIIQQ" if wide else "IIIIIIIIII", number, kind, flags, address, offset, length,
                    link, 0, 1, entry_size)

    ident = b"\x7fELF" + bytes([2 if wide else 1, 2 if order == ">" else 1, 1]) + bytes(9)
    header = ident + pack("HHIQQQIHHHHHH" if wide else "HHIIIIIHHHHHH", 2, machine or (62 if wide else 3), 1,
                          low, 0, headers_at, 0, header_size, 0, 0, entry, 5, 4)
    return b"".join([
        header, bytes(size), table, names, section_names,
        section("", 0, 0, 0, 0, 0),
        section(".text", 1, 6, low, text_at, size),
        section(".symtab", 2, 0, 0, table_at, len(table), 3, 24 if wide else 16),
        section(".strtab", 3, 0, 0, names_at, len(names)),
        section(".shstrtab", 3, 0, 0, section_names_at, len(section_names))])
