"""Programs that tests compile from a file of this tree, kept in build/programs: runs with other
builds of the tools need the same programs, and compiling takes longer than most tests of them.

SPDX-License-Identifier: MIT
"""
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "build", "programs")


@functools.lru_cache(maxsize=None)
def version(compiler):
    return subprocess.run([compiler, "--version"], capture_output=True, check=True).stdout


def key(compiler, source, flags):
    """The digest of everything that the program depends on. SOURCE includes only headers of the
    system, which come with the compiler."""
    h = hashlib.sha256(repr((version(compiler), source, flags)).encode())
    with open(source, "rb") as file:
        h.update(file.read())
    return h.hexdigest()


def build(compiler, path, source, *flags):
    """Compiles SOURCE, an absolute path, to PATH, or copies an earlier result. The program records
    the folder of its source as the one in which it was compiled."""
    assert "-gsplit-dwarf" not in flags, "it writes a second file"
    kept = os.path.join(FOLDER, key(compiler, source, flags))
    if not os.path.exists(kept):
        os.makedirs(FOLDER, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            new = os.path.join(folder, "new")
            subprocess.run([compiler, "-o", new, source, *flags], cwd=os.path.dirname(source), check=True, capture_output=True)
            os.replace(new, kept)
    shutil.copy(kept, path)
