# SPDX-License-Identifier: Apache-2.0
"""docs/MAP.md leads to files that are there."""

from __future__ import annotations

import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PATH = re.compile(r"\b(?:tree|charmrun|health|ccs|tests)/[a-z_/]+(?:\.[ch]pp)?\b")


def is_there(path: str) -> bool:
    return any((REPOSITORY / f"{path}{suffix}").exists() for suffix in ("", ".hpp", ".cpp"))


def test_every_file_that_the_map_names_is_there() -> None:
    named = PATH.findall((REPOSITORY / "docs/MAP.md").read_text())
    assert len(named) > 40
    assert [path for path in named if not is_there(path)] == []
    assert not is_there("tree/proto/no_such_file")
