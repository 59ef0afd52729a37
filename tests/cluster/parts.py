# SPDX-License-Identifier: Apache-2.0
"""Tests that take minutes and depend on a part of the sources alone, by their mark `part(NAME, PATHS...)`: `tests/run` leaves them out while
that part is what `tests/campaign parts` tested last. Those hashes are in parts.txt, a line `NAME HASH` each."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from vcluster import REPOSITORY

_TESTED = Path(__file__).with_name("parts.txt")


@cache
def state_of(paths: tuple[str, ...]) -> str:
    """A hash of all files at and below these paths of the repository, each of which must be there."""
    state = hashlib.sha256()
    for path in paths:
        top = REPOSITORY / path
        files = sorted(each for each in top.rglob("*") if each.is_file() and "__pycache__" not in each.parts) if top.is_dir() else [top]
        for file in files:
            data = file.read_bytes()
            state.update(f"{file.relative_to(REPOSITORY)} {len(data)}\n".encode() + data)
    return state.hexdigest()[:32]


def tested() -> dict[str, str]:
    """What was tested last, by the name of the part."""
    return dict(line.split() for line in _TESTED.read_text().splitlines()) if _TESTED.exists() else {}


def write_tested(states: dict[str, str]) -> None:
    _TESTED.write_text("".join(f"{name} {state}\n" for name, state in sorted({**tested(), **states}.items())))
