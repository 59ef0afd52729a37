# SPDX-License-Identifier: Apache-2.0
"""docs/MAP.md leads to files and functions that are there, and to every service."""

from __future__ import annotations

import re
from pathlib import Path

import layers

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDERS = sorted({folder.split("/")[0] for folder in layers.LAYERS})
PATH = re.compile(rf"\b(?:{'|'.join(FOLDERS)})/[a-z_/]+(?:\.[ch]pp|\.py)?\b")
NAME = re.compile(r"\b[a-z_]+\.[ch]pp\b")
MEMBER = re.compile(r"`\w+::(\w+)`")
SERVICE = re.compile(r'#include "([\w/]+)/(?:\w+_)?service\.hpp"')


def is_there(path: str) -> bool:
    return any((REPOSITORY / f"{path}{suffix}").exists() for suffix in ("", ".hpp", ".cpp"))


def test_every_file_that_the_map_names_is_there() -> None:
    text = (REPOSITORY / "docs/MAP.md").read_text()
    named = PATH.findall(text)
    assert len(named) > 40
    assert [path for path in named if not is_there(path)] == []
    assert not is_there("tree/job/no_such_file")
    files = {path.name for folder in FOLDERS for path in (REPOSITORY / folder).rglob("*.[ch]pp")}
    bare = NAME.findall(text)
    assert len(bare) > 20
    assert [name for name in bare if name not in files] == []


def test_every_member_that_the_map_names_is_there() -> None:
    named = set(MEMBER.findall((REPOSITORY / "docs/MAP.md").read_text()))
    assert len(named) > 5
    sources = [path.read_text() for folder in FOLDERS for path in (REPOSITORY / folder).rglob("*.hpp")]
    assert [name for name in sorted(named) if not any(re.search(rf"\b{name}\b", text) for text in sources)] == []


def test_every_service_is_on_the_map() -> None:
    text = (REPOSITORY / "docs/MAP.md").read_text()
    folders = SERVICE.findall((REPOSITORY / "tree/node/services.hpp").read_text())
    assert len(folders) > 2
    assert [folder for folder in folders if not re.search(rf"(?<![\w/]){folder}\b", text)] == []
