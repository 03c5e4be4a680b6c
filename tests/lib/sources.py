"""The includes of the C files of a tree, the lengths of their functions, and other checks.

Every function takes the ROOT of a tree, so that a test can plant a fault in a scratch folder, and returns a
list of findings, each a text; it is empty if there are none.

SPDX-License-Identifier: MIT
"""
import ast
import glob
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# A layer includes only layers with smaller numbers. Inside, analyze/ has an order of its own, by
# the same rule.
LAYERS = {"base": 0, "formats": 1, "record": 2, "analyze": 2, "convert": 3, "plot": 3}
FOLDERS = {"analyze/code": 0, "analyze/statistics": 0, "analyze/attribute": 1, "analyze/aggregate": 2,
           "analyze/compare": 3, "analyze/annotate": 3, "analyze/callgraph": 3, "analyze/dump": 3}
MAX_FUNCTION = 60  # lines, from its first to the closing brace


def files(root, *suffixes, folders=(*LAYERS, "samples", "tests")):
    """Paths relative to ROOT of the files in FOLDERS that end in one of SUFFIXES ("" for all), sorted."""
    found = []
    for folder in folders:
        for path, below, names in os.walk(os.path.join(root, folder)):
            below[:] = [b for b in below if b != "__pycache__"]
            found += [os.path.relpath(os.path.join(path, n), root) for n in names if n.endswith(suffixes or "")]
    return sorted(found)


def lines_of(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read().splitlines()


def includes(root, path):
    """The files of the tree that PATH includes: {path: line number}, without those of the
    system."""
    found = {}
    for number, line in enumerate(lines_of(root, path), 1):
        match = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
        if match:
            beside = os.path.normpath(os.path.join(os.path.dirname(path), match[1]))
            found[match[1] if os.path.exists(os.path.join(root, match[1])) else beside] = number
    return found


def include_graph(root):
    """{file: {file: line number}} of the layers."""
    return {path: includes(root, path) for path in files(root, ".c", ".h", folders=LAYERS)}


def upward_includes(root):
    """Includes that do not point downward, between layers or between folders of analyze/."""
    found = []
    for path, targets in include_graph(root).items():
        for target, line in targets.items():
            for order, part in ((LAYERS, lambda p: p.split("/")[0]), (FOLDERS, os.path.dirname)):
                own, other = part(path), part(target)
                if own != other and order.get(own, -1) >= 0 and order.get(other, -1) >= order[own]:
                    found.append(f"{path}:{line}: {own} must not include {other} ({target})")
    return found


def elf_readers(root, home="formats/elf/"):
    """Lines outside HOME that read ELF files themselves: by libelf or libdwarf, or by the ELF magic
    number and headers."""
    reads = re.compile(r'#\s*include\s*<(libelf|gelf)\.h>|\bELFMAG|\\(x7f|177)"?\s*"?ELF|\bElf(32|64)_(Ehdr|Shdr|Phdr|Sym)\b|\bdwarf_(elf_)?init(_b|_path)?\(')
    return [f"{path}:{number}: only {home} reads ELF files"
            for path in files(root, ".c", ".h", folders=LAYERS) if not path.startswith(home)
            for number, line in enumerate(lines_of(root, path), 1) if reads.search(line)]


def other_guards(root):
    """Headers whose include guard does not correspond to their path."""
    found = []
    for path in files(root, ".h", folders=(*LAYERS, "tests")):
        guard = re.sub(r"[^A-Z0-9]", "_", path.upper())
        own = [line.split()[1] for line in lines_of(root, path) if line.startswith("#ifndef ")]
        if path.split("/")[:2] != ["plot", "vendor"] and own[:1] != [guard]:
            found.append(f"{path}: the include guard must be {guard}")
    return found


# Words that were found in messages, documents and comments, and better ones.
STIFF = {r"(?<!there )\bis no (?!longer\b|more\b)\w+": "is not a ...", r"(?<!\.)\b(told|tells?)\b(?! (them )?apart)": "reports, shows",
         r"\b(stands? (at|within)|lies? (at|within|in|between))\b": "is at, is between", r"\bbehind the end\b": "after the end",
         r"\banother \w+ than\b": "... other than", r"\bwhole number from\b": "an integer >= ...",
         r"\bfrom (number |sample )?(?-i:[A-Z_]+|\d+)( \[\w+(, \w+)*\])?( and [a-z ]+(?-i:[A-Z_]+))? on\b": "starting at ...",
         r"\bof all time\b": "of total CPU time", r"\bas for all tools\b": "see pbin-tools(7)"}
# Files at the root of the tree, and the two that list these words.
DOCUMENTS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile", ".clang-tidy", ".editorconfig", ".gcc-analyzer")
LISTS = ("tests/lib/sources.py", "tests/selfcheck/test_layout.py")


def stiff_words(root):
    """Uses of such words in sources, scripts, man pages and documents."""
    documents = [path for path in DOCUMENTS if os.path.exists(os.path.join(root, path))]
    texts = (".c", ".h", ".1", ".5", ".7", ".md", ".py", ".sh", ".js", ".clang-tidy")
    sources = [path for path in files(root, folders=(*LAYERS, "docs", "samples", "tests", ".ci"))
               if path.endswith(texts) or interpreter(root, path)]
    return [f"{path}:{number}: '{match[0]}': write '{better}'"
            for path in documents + sources if not path.startswith("plot/vendor/") and path not in LISTS
            for number, line in enumerate(lines_of(root, path), 1) for word, better in STIFF.items()
            for match in re.finditer(word, line, re.IGNORECASE)]


def long_lines(root):
    """Lines longer than max_line_length in .editorconfig, for each [*.SUFFIX] or [*.{SUFFIX,...}]."""
    found, suffixes = [], ()
    for line in lines_of(root, ".editorconfig"):
        if line.startswith("["):
            match = re.fullmatch(r"\[\*\.\{?([\w,]+)\}?\]", line)
            suffixes = tuple("." + suffix for suffix in match[1].split(",")) if match else ()
        elif line.startswith("max_line_length = "):
            limit = int(line.split()[-1])
            found += [f"{path}:{number}: {len(text)} columns, more than {limit}" for path in files(root, *suffixes)
                      if not path.startswith("plot/vendor/")
                      for number, text in enumerate(lines_of(root, path), 1) if len(text) > limit]
    return found


def glued_tags(root):
    """Licence tags on the same line as prose."""
    return [f"{path}:{number}: the licence tag needs a line of its own"
            for path in files(root, ".c", ".h", ".1", ".5", ".7", ".py") if path not in LISTS
            for number, line in enumerate(lines_of(root, path), 1)
            if re.search(r"\w.* SPDX-License", line)]


def cycles(graph):
    """The sets of nodes that reach each other, each sorted. GRAPH: {node: nodes}."""
    reach = {}
    for start in graph:
        seen, todo = set(), list(graph[start])
        while todo:
            node = todo.pop()
            if node not in seen:
                seen.add(node)
                todo += graph.get(node, ())
        reach[start] = seen
    return sorted({tuple(sorted(o for o in reach[n] if n in reach.get(o, ()))) for n in graph if n in reach[n]})


def module_graph(root):
    """{module: modules}: x.c and x.h are module x. A header without a .c file of its own, such as
    x_internal.h, is not a module: a file that includes it depends on the files that it includes."""
    graph, modules = include_graph(root), {}

    def targets(path, seen):
        for target in graph.get(path, ()):
            stem = target[:-2]
            if stem + ".c" in graph:
                yield stem
            elif target not in seen:
                yield from targets(target, seen | {target})

    for path in graph:
        if path[:-2] + ".c" in graph:
            modules.setdefault(path[:-2], set()).update(t for t in targets(path, {path}) if t != path[:-2])
    return modules


def include_cycles(root):
    """Files, modules and folders that include each other."""
    graph, folders = include_graph(root), {}
    for path, targets in graph.items():
        folder = os.path.dirname(path)
        folders.setdefault(folder, set()).update({os.path.dirname(t) for t in targets} - {folder})
    return [f"{kind} include each other: " + ", ".join(cycle)
            for kind, edges in (("files", graph), ("modules", module_graph(root)), ("folders", folders))
            for cycle in cycles(edges)]


def functions(lines):
    """(first line, last line) of each function in C, counted from 1; its braces are in the first column, as
    clang-format puts them."""
    start = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
            while start > 1 and lines[start - 2] and not re.search(r"(^#|^[{}]|;$|\*/$|\\$)", lines[start - 2]):
                start -= 1
        elif line == "}" and start is not None:
            yield start, number
            start = None


def python_functions(lines):
    """The same for Python, including methods and inner functions."""
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno


def script_functions(lines):
    """The same for named functions in JavaScript; the closing brace is below the first letter."""
    for number, line in enumerate(lines, 1):
        start = re.match(r"( *)function \w+\(.*\{$", line)
        if start:
            yield number, lines.index(start[1] + "}", number) + 1


def interpreter(root, path):
    """The program in the first line of a script; empty for other files."""
    with open(os.path.join(root, path), "rb") as file:
        words = file.readline().split()
    return os.path.basename(words[-1]).decode() if words and words[0].startswith(b"#!") else ""


def is_python(root, path):
    return path.endswith(".py") or interpreter(root, path).startswith("python")


def lost_files(root, document):
    """Files of the layers, samples and tests that do not exist although DOCUMENT names them in
    `code` or links to them."""
    found = []
    for number, line in enumerate(lines_of(root, document), 1):
        for name in re.findall(r"`([\w.*/-]+/[\w.*/-]*)`|\]\(([\w.*/-]+)\)", line):
            path = name[0] or os.path.normpath(os.path.join(os.path.dirname(document), name[1]))
            own = path.split("/")[0] in (*LAYERS, "samples", "tests", ".ci", "docs") or name[1]
            if own and "NAME" not in path and not glob.glob(os.path.join(root, path)):
                found.append(f"{document}:{number}: {path} does not exist")
    return found


def long_functions(root, longest=MAX_FUNCTION):
    """Functions of more than LONGEST lines: in C, Python and the script of pages."""
    kinds = [(functions, files(root, ".c", ".h")), (python_functions, [p for p in files(root) if is_python(root, p)]),
             (script_functions, [p for p in files(root, ".js") if not p.startswith("plot/vendor/")])]
    return [f"{path}:{first}: a function of {last - first + 1} lines, more than {longest}"
            for of_lines, paths in kinds for path in paths
            for first, last in of_lines(lines_of(root, path)) if last - first + 1 > longest]
