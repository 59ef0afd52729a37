# SPDX-License-Identifier: Apache-2.0
"""docs/OPTIONS.md against what it describes: the option table, the nodelist's keys, and the tests that it names."""

import re

DOC = "docs/OPTIONS.md"
OPTIONS, KEYS = "charmrun/cli/option_table.cpp", "charmrun/hosts/nodelist_line.cpp"
MODES = "charmrun/cli/mode_table.cpp"


def first_words(cell):
    """The option or key of a row: the first word of its first code span, without ++."""
    found = re.match(r"`(?:\+\+)?([\w-]+)", cell)
    return found[1] if found else None


def rows(text):
    """(line number, cells) of every row of a table, its head and rule left out."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("| ") and not line.startswith(("| option ", "| key ", "| rule ", "| found ")):
            yield number, [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def named_tests(cell):
    """(path, name or "") of each test that a cell names."""
    for span in re.findall(r"`([^`]+)`", cell):
        path, _, name = span.partition(": ")
        yield "tests/" + path, name


def has_test(source, name):
    if not name:
        return True
    if source.path.endswith(".py"):
        return re.search(rf"^def {re.escape(name)}\(", source.text, re.MULTILINE) is not None
    joined = re.sub(r'"\s*\n\s*"', "", source.text)  # a long literal is broken over lines
    return f'TEST_CASE("{name}"' in re.sub(r"TEST_CASE\(\s+", "TEST_CASE(", joined)


def known_names(by_path):
    """What must have a row: options, and keys."""
    table, keys = "".join(by_path[path].text for path in (OPTIONS, MODES) if path in by_path), by_path[KEYS].text
    return set(re.findall(r'(?:OptionRow|ModeRow)\{\s*"([\w-]+)"', table)), set(re.findall(r'KeyRow\{\s*"(\w+)"', keys))


def check_row(number, cells, by_path):
    """Yields what is wrong with the tests of one row."""
    tests = list(named_tests(cells[-1]))
    if not tests:
        yield DOC, number, "options-doc", "no test shows it"
    for path, name in tests:
        if path not in by_path:
            yield DOC, number, "options-doc", f"{path} does not exist"
        elif not has_test(by_path[path], name):
            yield DOC, number, "options-doc", f'{path} has no test "{name}"'


def check_options(sources):
    by_path = {source.path: source for source in sources}
    if OPTIONS not in by_path or KEYS not in by_path:
        return
    if DOC not in by_path:
        yield OPTIONS, 1, "options-doc", f"{DOC} is missing"
        return
    options, keys = known_names(by_path)
    found = set()
    for number, cells in rows(by_path[DOC].text):
        yield from check_row(number, cells, by_path)
        name = first_words(cells[0])
        if len(cells) != 4 or name is None:
            continue
        found.add(name)
        word = re.compile(rf"(?<![A-Za-z-]){name}(?![A-Za-z-])")
        used = any(path in by_path and word.search(by_path[path].text) for path, _ in named_tests(cells[3]))
        if name in options | keys and not used:
            yield DOC, number, "options-doc", f"none of its tests uses {name}"
    for name in sorted((options | keys) - found):
        yield DOC, 1, "options-doc", f"no row for {name}"
