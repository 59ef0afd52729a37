# SPDX-License-Identifier: Apache-2.0
"""docs/MAP.md leads to files that are there."""

from __future__ import annotations

import re
from pathlib import Path

import layers

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDERS = sorted({folder.split("/")[0] for folder in layers.LAYERS})
PATH = re.compile(rf"\b(?:{'|'.join(FOLDERS)})/[a-z_/]+(?:\.[ch]pp|\.py)?\b")
NAME = re.compile(r"\b[a-z_]+\.[ch]pp\b")


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
