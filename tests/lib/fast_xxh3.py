"""XXH3 by libxxhash itself: equal to xxh3.py (tests/selfcheck), and a thousand times as fast.

SPDX-License-Identifier: MIT
"""
import ctypes

_function = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
_function.restype = ctypes.c_uint64
_function.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


def xxh3(data):
    return _function(bytes(data), len(data))
