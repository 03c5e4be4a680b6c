"""Runs checkers (compilers, clang-tidy, clang-format, shellcheck) over the files of a tree.

Each check takes the ROOT of a tree, so that a test can plant a fault in a scratch folder, and yields
(file, findings): the text that the checker printed, "" if it found nothing.

SPDX-License-Identifier: MIT
"""
import glob
import hashlib
import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import sources

# Options of the Makefile that change the meaning of a file.
FLAGS = ["-std=c11", "-D_GNU_SOURCE", '-DPBIN_TOOLS_VERSION="0"', "-I."]
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
WORKERS = os.cpu_count() or 2
CACHE = os.path.join(sources.ROOT, "build", "checked")

# What gcc 12's -fanalyzer looks for: the options in .gcc-analyzer. Off, because they report correct code, and others find the real cases:
#   use-of-uninitialized-value  loses count of an array that a loop fills; clang-tidy and -Wmaybe-uninitialized
#   shift-count-overflow        takes 64 - x for 64 where x > 0 follows from the condition before; UBSan
# It follows two states of a block on average, not five, in half the CPU time; clang's analyzer follows others.
ANALYZER = "@" + os.path.join(sources.ROOT, ".gcc-analyzer")


def output_of(argv, root, stdin=""):
    """The output of the checker, "" if it exits with 0."""
    done = subprocess.run(argv, cwd=root, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    return "" if done.returncode == 0 else done.stdout or f"{argv[0]}: exit status {done.returncode}"


def each(function, paths):
    """(path, function(path)) for PATHS, several at a time."""
    with ThreadPoolExecutor(WORKERS) as pool:
        yield from zip(paths, pool.map(function, paths))


# ---- results of slow checkers are kept while a file and all that it includes are unchanged ----

def closure(root, path, seen):
    """Adds PATH to SEEN, and all files of the tree that it includes, directly or not."""
    if path not in seen and os.path.exists(os.path.join(root, path)):
        seen.add(path)
        for target in sources.includes(root, path):
            closure(root, target, seen)
    return seen


def digest(root, path, argv, extra):
    """The digest of everything that the result of ARGV on PATH depends on; EXTRA: more files."""
    h = hashlib.sha256(repr((argv, version(argv[0]))).encode())
    for name in sorted(closure(root, path, set())) + extra:
        with open(os.path.join(root, name), "rb") as file:
            h.update(name.encode() + b"\0" + hashlib.sha256(file.read()).digest())
    return h.hexdigest()


VERSIONS = {}


def version(program):
    if program not in VERSIONS:
        VERSIONS[program] = subprocess.run([program, "--version"], capture_output=True, check=True).stdout
    return VERSIONS[program]


class Kept:
    """The result of ARGV with STDIN for the file PATH, kept in build/checked. EXTRA: more files
    that it depends on."""

    def __init__(self, argv, root, path, extra=(), stdin=""):
        self.place = os.path.join(CACHE, os.path.basename(argv[0]), path.replace("/", "_"))
        self.key = digest(root, path, [*argv, stdin], list(extra))

    def read(self):
        """The findings; None if there are none stored, or something has changed since."""
        try:
            with open(self.place, encoding="utf-8") as file:
                old = json.load(file)
            return old["findings"] if old["key"] == self.key else None
        except (OSError, ValueError, KeyError):
            return None

    def write(self, findings):
        os.makedirs(os.path.dirname(self.place), exist_ok=True)
        with open(self.place + ".new", "w", encoding="utf-8") as file:
            json.dump({"key": self.key, "findings": findings}, file)
        os.replace(self.place + ".new", self.place)


def cached(argv, root, path, extra=(), stdin=""):
    """Like output_of, but from build/checked if the result for PATH and everything that it depends
    on is there. Results of scratch trees are not kept."""
    if root != sources.ROOT:
        return output_of(argv, root, stdin)
    kept = Kept(argv, root, path, extra, stdin)
    findings = kept.read()
    if findings is None:
        findings = output_of(argv, root, stdin)
        kept.write(findings)
    return findings


# ---- the checks ----

def comes_first(root, path):
    """Whether the source of the same name includes the header PATH before any other, so that the build has compiled it alone."""
    try:
        with open(os.path.join(root, path[:-2] + ".c"), encoding="utf-8") as file:
            return re.search(r'^#\s*include\s*(\S+)', file.read(), re.MULTILINE)[1] == f'"{path}"'
    except (OSError, TypeError):
        return False


def headers_alone(root):
    """Compiles each header alone."""
    argv = ["gcc", *FLAGS, *WARNINGS, "-fsyntax-only", "-x", "c", "-"]
    return each(lambda path: "" if comes_first(root, path) else cached(argv, root, path, stdin=f'#include "{path}"\n'),
                sources.files(root, ".h"))


def was_built_with_analyzer(root, path):
    """Whether the build has analyzed PATH: objects record the options that they were compiled with.
    (.ci/run gives WERROR=@.gcc-analyzer, which takes a quarter less time than compiling twice.)"""
    object_, needed = os.path.join(root, "build", path[:-2] + ".o"), closure(root, path, set())
    try:
        with open(object_, "rb") as file:
            looked = b" -fanalyzer " in file.read()
        changed = max(map(os.path.getmtime, [ANALYZER[1:], *(os.path.join(root, name) for name in needed)]))
        return looked and changed < os.path.getmtime(object_)
    except OSError:
        return False


def analyzer(root):
    """Analyzes installed code only: a test that leaks does no harm, and clang-tidy checks all
    files."""
    argv = ["gcc", *FLAGS, "-O1", ANALYZER, "-S", "-o", "/dev/null"]
    return each(lambda path: "" if was_built_with_analyzer(root, path) else cached([*argv, path], root, path, [".gcc-analyzer"]),
                sources.files(root, ".c", folders=sources.LAYERS))


def clang_tidy_settings(root):
    """The .clang-tidy files of the tree."""
    return sorted(glob.glob(".clang-tidy", root_dir=root) + glob.glob("*/.clang-tidy", root_dir=root))


def clang_tidy(root):
    """Checks several files in a process, because its start takes a sixth of the time: if a process
    finds nothing, its files are clean; otherwise, they are checked one by one."""
    settings, paths = clang_tidy_settings(root), sources.files(root, ".c")

    def command(*group):
        return ["clang-tidy-14", "--quiet", *group, "--", *FLAGS]

    def look(group):
        if root != sources.ROOT:
            return [output_of(command(path), root) for path in group]
        kept = [Kept(command(path), root, path, settings) for path in group]
        found = [k.read() for k in kept]
        new = [path for path, findings in zip(group, found) if findings is None]
        clean = new and not output_of(command(*new), root)
        for i, path in enumerate(group):
            if found[i] is None:
                found[i] = "" if clean else output_of(command(path), root)
                kept[i].write(found[i])
        return found

    for group, findings in each(look, [paths[i:i + 4] for i in range(0, len(paths), 4)]):
        yield from zip(group, findings)


def clang_format(root):
    """A single process checks all files, because most of its time is the start."""
    paths = sources.files(root, ".c", ".h", ".cpp")
    lines = output_of(["clang-format-14", "--dry-run", "-Werror", *paths], root).splitlines()
    for path in paths:
        yield path, "\n".join(line for line in lines if line.startswith(path + ":"))


def is_shell(root, path):
    if path.endswith(".sh"):
        return True
    with open(os.path.join(root, path), "rb") as file:
        first = file.readline()
    return first.startswith(b"#!") and first.split()[-1].endswith(b"sh")


def shellcheck(root):
    """Scripts are files that end in .sh (tests/run gives them to bash) or name a shell in the first
    line."""
    paths = [p for p in sources.files(root, "", folders=(".ci", *sources.LAYERS, "samples", "tests"))
             if is_shell(root, p)]

    def check(path):
        shell = ["--shell=bash"] if path.endswith(".sh") else []
        return output_of(["shellcheck", "--color=never", *shell, path], root)
    return each(check, paths)
