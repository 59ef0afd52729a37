# SPDX-License-Identifier: Apache-2.0
"""README.md and docs/manual: links lead somewhere, options exist, every page can be found, and commands stand where a test runs them.

What their commands do is for tests/cluster/test_pages.py.
"""

import posixpath
import re

import options_doc

README, MANUAL, INDEX = "README.md", "docs/manual/", "docs/manual/README.md"
MAX_README_BYTES = 8 * 1024
LINK = re.compile(r"\]\(([^)\s]+)\)")
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
