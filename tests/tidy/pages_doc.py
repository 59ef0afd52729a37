# SPDX-License-Identifier: Apache-2.0
"""README.md and docs/manual: links lead somewhere, options exist, every page can be found, and commands stand where a test runs them.

These pages and docs/MAP.md also keep to the language of plain_words.py. What their commands do is for tests/cluster/test_pages.py.
"""

import posixpath
import re

import options_doc
import plain_words

README, MANUAL, INDEX, MAP = "README.md", "docs/manual/", "docs/manual/README.md", "docs/MAP.md"
MAX_README_BYTES = 8 * 1024
MAX_MAP_LINES = 80
# Pages for a reader who has the problem that they solve: an example stands on the first screen.
SHOWS_FIRST = (README, *(f"{MANUAL}{name}.md" for name in ("failures", "guarantees", "library", "mpi", "ssh")))
FIRST_SCREEN = 24
# (sentences that are too long, words of the dialect) of pages that are not rewritten yet: the figures fall, and never rise.
NOT_YET = {"docs/manual/first-commands.md": (0, 13)}  # tests/cluster/test_first_commands.py reads `says:` in its tables
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"#+ (.+)")
OPTION = re.compile(r"(?<![\w+])\+\+([A-Za-z][\w-]*\w|[A-Za-z])")
COMMAND = re.compile(r"\$ |charmrun ")


def is_page(path):
    return path == README or path.startswith(MANUAL) and path.endswith(".md")


def targets(source):
    """(line, path in the tree) of each link that leads into it."""
    for number, line in enumerate(source.lines, 1):
        for link in LINK.findall(line):
            path = link.split("#")[0]
            if path and "://" not in path:
                yield number, posixpath.normpath(posixpath.join(posixpath.dirname(source.path), path))


def check_links(source, paths):
    folders = {posixpath.dirname(path) for path in paths}
    folders |= {posixpath.dirname(folder) for folder in folders}
    for number, target in targets(source):
        if target not in paths and target not in folders and target != ".":
            yield source.path, number, "pages", f"the link leads to {target}, which does not exist"


def anchors(page):
    """The names by which a link reaches the headings of a page, as GitHub makes them."""
    headings = (HEADING.match(line) for line in page.lines)
    return {re.sub(r"[^\w\- ]", "", match[1].lower()).replace(" ", "-") for match in headings if match}


def check_anchors(source, by_path):
    for number, line in enumerate(source.lines, 1):
        for link in LINK.findall(line):
            path, _, anchor = link.partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(source.path), path)) if path else source.path
            if anchor and "://" not in path and target in by_path and anchor not in anchors(by_path[target]):
                yield source.path, number, "pages", f"the link leads to a heading that {target} does not have: #{anchor}"


def check_language(page):
    """Sentences are short and words plain. A page of NOT_YET keeps to its figures, which are lowered with it."""
    long = [(line, f"{words} words in a sentence, at most {plain_words.MAX_WORDS}: {sentence[:60]}")
            for line, words, sentence in plain_words.sentences(page.text) if words > plain_words.MAX_WORDS]
    dialect = [(line, f"'{word}': {instead}") for line, word, instead in plain_words.dialect(page.text)]
    if page.path not in NOT_YET:
        yield from ((page.path, line, "plain-words", message) for line, message in long + dialect)
    elif (len(long), len(dialect)) != NOT_YET[page.path]:
        yield page.path, 1, "plain-words", f"NOT_YET (tests/tidy/pages_doc.py) has {NOT_YET[page.path]}, the page ({len(long)}, {len(dialect)})"
    if page.path in SHOWS_FIRST and not 0 < plain_words.first_example(page.text) <= FIRST_SCREEN:
        yield page.path, 1, "first-screen", f"no example in the first {FIRST_SCREEN} lines"


def check_average(pages):
    counts = [words for page in pages for _, words, _ in plain_words.sentences(page.text)]
    many = sum(words > plain_words.MANY_WORDS for words in counts)
    if len(counts) >= plain_words.MANY_FROM and many > plain_words.MANY_SHARE * len(counts):
        yield README, 1, "plain-words", f"{many} of all {len(counts)} sentences have more than {plain_words.MANY_WORDS} words, at most 1 in 20 may"


def check_words(page, options):
    for number, line in enumerate(page.lines, 1):
        for name in OPTION.findall(line):
            known = name if name in options else name.removeprefix("no-")
            if known not in options:
                yield page.path, number, "pages", f"there is no option ++{name}"


def check_blocks(page):
    """Commands are in blocks that say so: in others no test would run them."""
    fence = ""  # what the open block begins with
    for number, line in enumerate(page.lines, 1):
        if line.startswith("```"):
            fence = "" if fence else line
        elif fence in ("", "```") and COMMAND.match(line.strip() if line.startswith("    ") or fence else ""):
            yield page.path, number, "pages", "a command in a block that is neither ```sh nor ```console"


def check_pages(sources):
    by_path = {source.path: source for source in sources}
    for source in (one for one in sources if one.suffix == ".md"):
        yield from check_links(source, by_path.keys())
        yield from check_anchors(source, by_path)
    pages = [one for one in sources if is_page(one.path) or one.path == MAP]
    yield from (offence for page in pages for offence in check_language(page))
    if README in by_path:
        yield from check_average(pages)
    if MAP in by_path and len(by_path[MAP].lines) - 1 > MAX_MAP_LINES:
        yield MAP, MAX_MAP_LINES + 1, "pages", f"more than {MAX_MAP_LINES} lines: it is one page"
    if README in by_path and len(by_path[README].text.encode()) > MAX_README_BYTES:
        yield README, 1, "pages", f"more than {MAX_README_BYTES} bytes: details belong into {MANUAL}"
    if options_doc.OPTIONS not in by_path or options_doc.KEYS not in by_path:
        return
    options, keys = options_doc.known_names(by_path)
    options |= keys  # behind a group they have a ++, too
    listed = {target for _, target in targets(by_path[INDEX])} if INDEX in by_path else set()
    for page in (one for one in sources if is_page(one.path)):
        yield from check_words(page, options)
        yield from check_blocks(page)
        if page.path.startswith(MANUAL) and page.path not in listed | {INDEX}:
            yield page.path, 1, "pages", f"{INDEX} does not list it"
