"""XXH3 (64 bits, seed 0) in plain Python, from its specification: checksums that are not made by
the C code.

SPDX-License-Identifier: MIT
"""
import struct

M32, M64 = (1 << 32) - 1, (1 << 64) - 1
P32 = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
P64 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
       0x27D4EB2F165667C5)
MX1, MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")
STRIPE, BLOCK = 64, 1024


def u32(data, at):
    return struct.unpack_from("<I", data, at)[0]


def u64(data, at):
    return struct.unpack_from("<Q", data, at)[0]


def rotate(x, by):
    return ((x << by) | (x >> (64 - by))) & M64


def swap64(x):
    return int.from_bytes(x.to_bytes(8, "little"), "big")


def fold(a, b):
    product = a * b
    return (product ^ (product >> 64)) & M64


def avalanche(h):
    h ^= h >> 37
    h = h * MX1 & M64
    return h ^ (h >> 32)


def avalanche64(h):
    h ^= h >> 33
    h = h * P64[1] & M64
    h ^= h >> 29
    h = h * P64[2] & M64
    return h ^ (h >> 32)


def mix16(data, at, key):
    return fold(u64(data, at) ^ u64(SECRET, key), u64(data, at + 8) ^ u64(SECRET, key + 8))


def short(data):
    n = len(data)
    if n == 0:
        return avalanche64(u64(SECRET, 56) ^ u64(SECRET, 64))
    if n <= 3:
        mixed = data[0] << 16 | data[n >> 1] << 24 | data[n - 1] | n << 8
        return avalanche64(mixed ^ u32(SECRET, 0) ^ u32(SECRET, 4))
    if n <= 8:
        h = u32(data, n - 4) + (u32(data, 0) << 32) ^ u64(SECRET, 8) ^ u64(SECRET, 16)
        h ^= rotate(h, 49) ^ rotate(h, 24)
        h = h * MX2 & M64
        h ^= (h >> 35) + n
        h = h * MX2 & M64
        return h ^ (h >> 28)
    low = u64(data, 0) ^ u64(SECRET, 24) ^ u64(SECRET, 32)
    high = u64(data, n - 8) ^ u64(SECRET, 40) ^ u64(SECRET, 48)
    return avalanche((n + swap64(low) + high + fold(low, high)) & M64)


def middle(data):
    n = len(data)
    h = n * P64[0]
    if n <= 128:
        for i in range((n - 1) // 32, -1, -1):
            h += mix16(data, 16 * i, 32 * i) + mix16(data, n - 16 * (i + 1), 32 * i + 16)
        return avalanche(h & M64)
    for i in range(8):
        h += mix16(data, 16 * i, 16 * i)
    h = avalanche(h & M64)
    for i in range(8, n // 16):
        h += mix16(data, 16 * i, 16 * (i - 8) + 3)
    return avalanche((h + mix16(data, n - 16, 136 - 17)) & M64)


def stripe(lanes, words, keys):
    for i in range(8):
        mixed = words[i] ^ keys[i]
        lanes[i ^ 1] = lanes[i ^ 1] + words[i] & M64
        lanes[i] = lanes[i] + (mixed & M32) * (mixed >> 32) & M64


def long(data):
    lanes = [P32[2], *P64[:4], P32[1], P64[4], P32[0]]
    keys = [struct.unpack_from("<8Q", SECRET, 8 * i) for i in range(17)]
    n = len(data)
    stripes = (n - 1) // STRIPE
    for number in range(stripes):
        at = number % (BLOCK // STRIPE)
        stripe(lanes, struct.unpack_from("<8Q", data, STRIPE * number), keys[at])
        if at == BLOCK // STRIPE - 1:
            for i in range(8):
                lanes[i] = (lanes[i] ^ lanes[i] >> 47 ^ keys[16][i]) * P32[0] & M64
    stripe(lanes, struct.unpack_from("<8Q", data, n - STRIPE), struct.unpack_from("<8Q", SECRET, 121))
    h = n * P64[0]
    for i in range(0, 8, 2):
        h += fold(lanes[i] ^ u64(SECRET, 11 + 8 * i), lanes[i + 1] ^ u64(SECRET, 19 + 8 * i))
    return avalanche(h & M64)


def xxh3(data):
    """The hash of DATA (bytes) as an integer."""
    return short(data) if len(data) <= 16 else middle(data) if len(data) <= 240 else long(data)
