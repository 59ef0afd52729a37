#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what the compiler cannot: layers, lengths, sizes of classes, banned calls, dead files (STYLE.md; the tables are in layers.py).

    tests/tidy/tidy.py [--root DIR] [--headers [-j N]] [--list]

Prints `file:line: rule: message` for each offence and exits with 1 if there is any. --headers also compiles every header alone (slow).
A line that must break a rule says so and why: `// tidy: allow(rule) reason`.
"""

import argparse
import ast
import concurrent.futures
import fnmatch
import re
import subprocess
import sys
from functools import cached_property
from pathlib import Path

import classes
import cpp_text
import options_doc
import pages_doc
from layers import (BANNED_WORDS, BANS, IMPURE_ALLOWED, IMPURE_HEADERS, LAYERS, LIBRARIES, MAX_FILE_LINES, MAX_FUNCTION_LINES, PURE,
                    TESTED_TOGETHER, layer_of, under, unity_of)

CPP = (".cpp", ".hpp", ".c", ".h")
HEADERS = (".hpp", ".h")
DATA_FOLDERS = ("tests/fuzz/corpus", "tests/bench/results")
SELF = "tests/tidy/"
WAIVER = re.compile(r"(?://|#) tidy: allow\((?P<rule>[\w-]+)\) \S")


class Source:
    """One text file of the tree."""

    def __init__(self, root, path):
        self.path = path
        self.text = (root / path).read_text(encoding="utf-8", errors="replace")
        self.lines = self.text.split("\n")
        self.suffix = Path(path).suffix

    @cached_property
    def code(self):
        return cpp_text.code_only(self.text)

    @cached_property
    def includes(self):
        return list(cpp_text.includes(self.text))

    @property
    def is_cpp(self):
        return self.suffix in CPP

    @property
    def is_header(self):
        return self.suffix in HEADERS

    @property
    def is_program(self):
        """True for anything that we wrote as a program: C++, Python, shell, CMake."""
        name = Path(self.path).name
        return self.is_cpp or self.suffix in (".py", ".sh", ".cmake") or name == "CMakeLists.txt" or self.text.startswith("#!")

    def line_of(self, offset):
        return self.text.count("\n", 0, offset) + 1


# ---- checks of one file: each yields (line, rule, message) ----


def check_spdx(source):
    if source.is_program and not any("SPDX-License-Identifier: Apache-2.0" in line for line in source.lines[:2]):
        yield 1, "spdx", "no SPDX line in the first two lines"


def check_header(source):
    if not source.is_header:
        return
    if "#pragma once" not in source.text and not re.match(r"(?:\s|//[^\n]*|/\*.*?\*/)*#ifndef (\w+)\n#define \1\n", source.text, re.DOTALL):
        yield 1, "pragma-once", "header without #pragma once"
    body = [line for line in source.lines[:4] if "SPDX" not in line]
    if not body or not body[0].startswith(("//", "/*")):
        yield 2, "opening", "a header opens with a comment that says what it is"


def check_lengths(source):
    if not source.is_program:
        return
    count = len(source.lines) - (source.lines[-1] == "")
    if count > MAX_FILE_LINES:
        yield MAX_FILE_LINES + 1, "file-length", f"{count} lines, at most {MAX_FILE_LINES}"
    for first, last, name in functions_of(source):
        if last - first + 1 > MAX_FUNCTION_LINES:
            yield first, "function-length", f"{last - first + 1} lines, at most {MAX_FUNCTION_LINES}: {name[:60]}"


def functions_of(source):
    if source.is_cpp:
        yield from cpp_text.functions(source.text)
    elif source.suffix == ".py" or re.match(r"#!.*python", source.text):
        for node in ast.walk(ast.parse(source.text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node.lineno, node.end_lineno, node.name


def check_layers(source):
    layer = layer_of(source.path)
    if not source.is_cpp:
        return
    if layer is None:
        yield 1, "layer", "its folder has no row in LAYERS (tests/tidy/layers.py)"
        return
    allowed = set(LAYERS[layer]) | {layer}
    for line, quoted, name in source.includes:
        if not quoted:
            continue
        target = layer_of(name)
        if target is not None and target not in allowed:
            yield line, "layer", f"{layer} may not use {target}"


def check_libraries(source):
    if not source.is_cpp:
        return
    for line, quoted, name in source.includes:
        if quoted:
            continue
        for prefix, homes in LIBRARIES.items():
            if name.startswith(prefix) and not under(source.path, homes):
                yield line, "library", f"<{name}> belongs in {', '.join(homes)} only"
        known = any(name.startswith(prefix) for prefix in LIBRARIES)
        if known or not under(source.path, PURE):
            continue
        if name in IMPURE_ALLOWED.get(source.path, set()):
            continue
        if "/" in name or "." in name or name in IMPURE_HEADERS:
            yield line, "impure", f"<{name}> in pure code"


def check_bans(source):
    if not source.is_cpp:
        return
    for ban in BANS:
        if (ban.headers_only and not source.is_header) or not under(source.path, ban.within) or under(source.path, ban.unless):
            continue
        for match in ban.pattern.finditer(source.code):
            yield source.line_of(match.start()), ban.rule, f"{' '.join(match[0].split())}: {ban.why}"


def check_words(source):
    if source.path.startswith(SELF):
        return
    for number, line in enumerate(source.lines, 1):
        for rule, pattern, why in BANNED_WORDS:
            if match := pattern.search(line):
                yield number, rule, f"{match[0]}: {why}"


def check_paths(root, source):
    """Nothing names the place of this very clone: nobody else has it."""
    if len(root.parts) > 2:
        for number, line in enumerate(source.lines, 1):
            if re.search(rf"(?<![\w.~]){re.escape(str(root))}(?![\w-]|\.\w)", line):
                yield number, "path", f"{root}: a path of somebody's machine"


def check_coroutines(source):
    """Rules 2 and 5 of STYLE.md's coroutine list: g++ 12 destroys braced temporaries of a co_await expression twice."""
    for match in re.finditer(r"\bco_await\b([^;]*);", source.code if source.is_cpp else ""):
        line = source.line_of(match.start())
        if "{" in match[1]:
            yield line, "co-await", "no braces inside a co_await expression: name the value first"
        before = source.code[source.code.rfind("\n", 0, match.start()) + 1 : match.start()]
        if not re.fullmatch(r"\s*(?:(?:if|while) \(.*\) )?(?:(?:const )?(?:auto|[\w:<>]+)&{0,2} [\w\[\], ]+ = |[\w.>-]+ = |co_return |return )?\(?", before):
            yield line, "co-await", "co_await stands alone on its line: auto n = co_await ...;"


def check_own_namespace(source):
    """Files of tests are compiled together: by a namespace of its own, each one's helpers are no overloads of another's."""
    path = Path(source.path)
    if under(source.path, TESTED_TOGETHER) and path.name.endswith("_test.cpp"):
        opening = f"namespace charmtree::{path.stem} {{"
        first = re.search(r"^[^#\s].*", source.code, re.MULTILINE)
        if not first or first[0] != opening:
            yield source.line_of(first.start()) if first else 1, "own-namespace", f"the first line after the includes: {opening}"


FILE_CHECKS = (check_spdx, check_header, check_lengths, check_layers, check_libraries, check_bans, check_words, check_coroutines,
               check_own_namespace)

# ---- checks of the whole tree: each yields (path, line, rule, message) ----


def check_includes(sources):
    """Quoted includes are written from the repository's root and exist; a .cpp includes its own header first."""
    paths = {source.path for source in sources}
    for source in sources:
        if not source.is_cpp:
            continue
        quoted = [(line, name) for line, is_quoted, name in source.includes if is_quoted]
        for line, name in quoted:
            if name not in paths and name not in ("charmtree.h", "charmtree_verbs.h", "verbs_example.h"):
                yield source.path, line, "include", f'"{name}" is not a path from the root of the repository'
        own = str(Path(source.path).with_suffix(".hpp"))
        if source.suffix == ".cpp" and own in paths and (not source.includes or source.includes[0][2] != own):
            yield source.path, 1, "own-header", f'include "{own}" first'


def is_cmake(source):
    return Path(source.path).name == "CMakeLists.txt" or source.suffix == ".cmake"


def cmake_patterns(source):
    """Every C or C++ file name in a CMake file, from the root, with variables as wildcards; and the folders of ct_library and ct_folder."""
    folder = str(Path(source.path).parent)
    prefix = "" if folder == "." else folder + "/"
    text = re.sub(r"#[^\n]*", "", source.text)
    for match in re.finditer(r"\bct_(?:library|folder)\(\s*\w+\s+([\w./-]+)", text):
        yield match[1] + "/*.cpp"
    for match in re.finditer(r"\bGLOB_RECURSE\b[^()]*?([\w*]+\.cpp)\)", text):
        yield from (prefix + "*/" * depth + match[1] for depth in range(1, 4))
    for word in re.findall(r"[^\s\"();]+\.(?:cpp|c)\b", text):
        if word.startswith(("${PROJECT_SOURCE_DIR}/", "${CMAKE_SOURCE_DIR}/")):
            yield re.sub(r"\$\{\w+\}", "*", word.split("}/", 1)[1])
        else:
            word = word.removeprefix("${CMAKE_CURRENT_SOURCE_DIR}/").removeprefix("${CMAKE_CURRENT_LIST_DIR}/")
            yield prefix + re.sub(r"\$\{\w+\}", "*", word)


def matches(path, pattern):
    """Like a CMake glob: a wildcard does not cross a '/'."""
    return path.count("/") == pattern.count("/") and fnmatch.fnmatchcase(path, pattern)


def check_dead_files(sources):
    """Every .cpp and .c is named by some CMake file, or by a program that builds it; every .hpp is included by someone."""
    patterns = {p for s in sources if is_cmake(s) for p in cmake_patterns(s)}
    included = {name for source in sources for _, _, name in source.includes if source.is_cpp}
    scripts = "\n".join(s.text for s in sources if s.is_program and not s.is_cpp and not is_cmake(s) and not s.path.startswith(SELF))
    for source in sources:
        name = Path(source.path).name
        named = name in scripts and re.search(rf"(?<![\w.-]){re.escape(name)}\b", scripts)
        if source.suffix in (".cpp", ".c") and not named and not any(matches(source.path, pattern) for pattern in patterns):
            yield source.path, 1, "dead-file", "no CMake file builds it"
        if source.suffix == ".hpp" and source.path not in included:
            yield source.path, 1, "dead-file", "nobody includes it"


def own_functions(source):
    """Yields (line, name) of each function in an unnamed namespace; not of members, which are indented."""
    spans = list(cpp_text.unnamed_namespaces(source.text))
    for first, _, head in cpp_text.functions(source.text) if spans else ():
        name = re.search(r"(?<![\w:])(\w+)\s*\(", head)
        if name and not source.lines[first - 1].startswith(" ") and any(begin < first < end for begin, end in spans):
            yield first, name[1]


def check_own_names(sources):
    """Files of one folder are compiled together: a second function of a name would be an overload of the first, and might be taken for it."""
    seen = {}
    for source in sources:
        folder = str(Path(source.path).parent)
        room = unity_of(folder)
        if source.suffix == ".cpp" and room:
            for line, name in own_functions(source):
                other = seen.setdefault((room, name), source.path)
                if other != source.path:
                    yield source.path, line, "own-name", f"{name}() is a function of {other}, too"


TREE_CHECKS = (check_includes, check_dead_files, check_own_names, options_doc.check_options, pages_doc.check_pages, classes.check_classes)


def compile_header(root, path, compiler):
    command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-DFMT_HEADER_ONLY", f"-I{root}", "-x", "c++", str(root / path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    errors = [line for line in result.stderr.splitlines() if "error:" in line]
    return path, errors[0] if errors else "does not compile alone" if result.returncode else ""


def check_self_contained(root, sources, jobs, compiler="g++"):
    headers = [source.path for source in sources if source.is_header]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for path, error in pool.map(lambda header: compile_header(root, header, compiler), headers):
            if error:
                yield path, 1, "self-contained", error


# ---- putting it together ----


def files_of(root):
    """The paths of the tree: what git tracks or would track; without git, everything but build folders and dot folders."""
    git = subprocess.run(["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True,
                         text=True, check=False)
    if git.returncode == 0 and (root / ".git").exists():
        paths = [p for p in git.stdout.split("\0") if p]
    else:
        walked = (str(p.relative_to(root)) for p in root.rglob("*") if p.is_file())
        paths = [p for p in walked if not re.match(r"build|\.(?!ci/|clang)", p) and "__pycache__" not in p]
    return sorted({p for p in paths if (root / p).is_file() and not (root / p).is_symlink() and not under(p, DATA_FOLDERS)})


def load(root):
    return [Source(root, path) for path in files_of(root)]


def offences(root, sources):
    """Yields (path, line, rule, message), waived ones left out."""
    binaries = [s.path for s in sources if "\0" in s.text[:4096]]
    yield from ((path, 1, "binary", "no text: what is built, or a core file, does not belong here") for path in binaries)
    sources = [s for s in sources if s.path not in binaries]
    by_path = {source.path: source for source in sources}
    found = [(s.path, *offence) for s in sources for check in FILE_CHECKS for offence in check(s)]
    found += [(s.path, *offence) for s in sources for offence in check_paths(root, s)]
    found += [offence for check in TREE_CHECKS for offence in check(sources)]
    for path, line, rule, message in found:
        text = by_path[path].lines[line - 1] if line <= len(by_path[path].lines) else ""
        waiver = WAIVER.search(text)
        if not waiver or waiver["rule"] != rule:
            yield path, line, rule, message


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--headers", action="store_true", help="compile each header alone")
    parser.add_argument("-j", dest="jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true", help="print the longest functions and the largest classes instead")
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    sources = load(root)
    if options.list:
        longest = sorted(((last - first + 1, s.path, first, name) for s in sources for first, last, name in functions_of(s)), reverse=True)
        for count, path, first, name in longest[:20]:
            print(f"{count:4} {path}:{first}: {name[:80]}")
        print("data members, methods, .cpp files")
        sizes = sorted(((c.members, c.methods, len(c.files), f"{c.path}:{c.name}") for c in classes.measure(sources)), reverse=True)
        for members, methods, files, name in sorted(sizes, key=lambda size: -max(size[0] / 25, size[1] / 45, size[2] / 2))[:20]:
            print(f"{members:4} {methods:4} {files:4} {name}")
        return 0
    found = list(offences(root, sources))
    if options.headers:
        found += check_self_contained(root, sources, options.jobs)
    for path, line, rule, message in sorted(found):
        print(f"{path}:{line}: {rule}: {message}")
    print(f"tidy: {len(sources)} files, {len(found)} offences", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
