# SPDX-License-Identifier: Apache-2.0
"""The commands that README.md and docs/manual show, and what they print there.

    ```sh                     every line is a command; `# status 3` at its end: it ends with that status, not 0
    ```console                commands begin with `$ `; below each stands what it prints, lines in any order; `…` in a line is any text,
                              alone it is any further lines; of a command that ends in & they are waited for

    <!-- not run: why -->     before a block: its commands need what a test has not
    <!-- file: NAME -->       before a block: it is the text of a file that commands further down read
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_FENCE = re.compile(r"^```(\w*)$")
_MARK = re.compile(r"^<!-- (not run|file): (.+) -->$")
_STATUS = re.compile(r"# status (\d+)$")


@dataclass
class Command:
    line: int  # in its page
    text: str
    shown: list[str] | None  # None: a page that does not say what comes

    @property
    def status(self) -> int:
        found = _STATUS.search(self.text)
        return int(found[1]) if found else 0

    @property
    def in_background(self) -> bool:
        return self.text.split(" #")[0].rstrip().endswith("&")


@dataclass
class Block:
    """What stands between two fences."""

    line: int
    language: str
    mark: str = ""  # "not run" or "file"
    value: str = ""  # of the mark
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)

    def commands(self) -> list[Command]:
        found: list[Command] = []
        goes_on = False
        for number, line in enumerate(self.lines, self.line + 1):
            if goes_on:
                found[-1].text += "\n" + line
            elif self.language == "console" and not line.startswith("$ "):
                shown = found[-1].shown if found else None
                assert shown is not None, f"line {number}: output without a command"
                shown.append(line)
                continue
            elif line.strip() and not line.startswith("#"):
                console = self.language == "console"
                found.append(Command(number, line.removeprefix("$ "), [] if console else None))
            goes_on = line.endswith("\\")
        return found


def blocks(page: Path) -> Iterator[Block]:
    """All blocks of a page, in order."""
    open_block: Block | None = None
    mark = ("", "")
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = _FENCE.match(line)
        if open_block is not None and line != "```":
            open_block.lines.append(line)
        elif open_block is not None:
            yield open_block
            open_block = None
        elif fence:
            open_block = Block(number, fence[1], *mark)
        found = _MARK.match(line)
        mark = (found[1], found[2]) if found else ("", "")
    assert open_block is None, f"{page}: a fence is not closed"


def missing(shown: Sequence[str], printed: Sequence[str]) -> list[str]:
    """What a page shows and a command did not print, and the other way round; empty if they agree."""
    left = list(printed)
    wrong = []
    for line in (line for line in shown if line != "…"):
        pattern = re.compile(".*".join(map(re.escape, line.split("…"))))
        found = next((one for one in left if pattern.fullmatch(one)), None)
        if found is None:
            wrong.append(f"not printed: {line}")
        else:
            left.remove(found)
    return wrong if "…" in shown else wrong + [f"not shown: {line}" for line in left]
