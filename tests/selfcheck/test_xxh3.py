"""The Python XXH3 is compared with libxxhash: every length class and its edges.

SPDX-License-Identifier: MIT
"""
import os
import subprocess
import tempfile
import unittest

from xxh3 import xxh3

DRIVER = r"""
#include <stdio.h>
#include <xxhash.h>
int main(void)
{
    static unsigned char data[5000];
    for (unsigned i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 2654435761u >> 24);
    for (unsigned n = 0; n <= sizeof data; n++)
        printf("%llu\n", (unsigned long long)XXH3_64bits(data, n));
    return 0;
}
"""


class Xxh3(unittest.TestCase):
    def test_same_as_libxxhash(self):
        with tempfile.TemporaryDirectory() as folder:
            source, program = os.path.join(folder, "d.c"), os.path.join(folder, "d")
            with open(source, "w") as f:
                f.write(DRIVER)
            subprocess.run(["gcc", "-DXXH_INLINE_ALL", "-O1", "-o", program, source], check=True)
            want = subprocess.run([program], stdout=subprocess.PIPE, check=True).stdout.split()
        data = bytes((i * 2654435761 & 0xffffffff) >> 24 for i in range(5000))
        for n in list(range(600)) + [1023, 1024, 1025, 1088, 1089, 2047, 2048, 2049, 4999, 5000]:
            self.assertEqual(xxh3(data[:n]), int(want[n]), f"length {n}")

    def test_known(self):
        self.assertEqual(xxh3(b""), 0x2D06800538D394C2)


if __name__ == "__main__":
    unittest.main()
