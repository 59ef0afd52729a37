# SPDX-License-Identifier: Apache-2.0
"""Fixtures: what cmake/portable/build has made, and root file systems of other releases of Debian, with nothing of ours in them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cluster"))

_ROOTS = ROOT / "build-portable-roots"


def made(machine: str, pattern: str) -> Path:
    """The file of this pattern that was built for that machine."""
    found = sorted((ROOT / f"build-portable-{machine}").glob(pattern))
    if not found:
        pytest.skip(f"cmake/portable/build {machine} makes it")
    return found[-1]


def said(*words: str | Path, **options: object) -> str:
    done = subprocess.run([str(word) for word in words], check=False, capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, (words, done.stdout[-3000:], done.stderr[-3000:])
    return done.stdout


def _archive() -> str:
    """Where this machine has its packages."""
    places = said("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages").split()
    return next(place for place in sorted(set(places)) if place.endswith("/debian/"))


@pytest.fixture(scope="session")
def bare_root() -> Callable[..., Path]:
    """(release, packages...): a root with what the release cannot do without, and these; made once."""

    def make(release: str, *packages: str) -> Path:
        name = "-".join([release, *packages])
        root = _ROOTS / name
        if not (root / ".made").exists():
            said("rm", "-rf", root)
            _ROOTS.mkdir(exist_ok=True)
            include = ["--include=" + ",".join(packages)] if packages else []
            said("mmdebstrap", "-q", "--variant=minbase", *include, release, root, _archive())
            (root / ".made").touch()
        return root

    return make


def wheels(packages: list[str], python: str, to: Path) -> Path:
    """These, and what they need, for that Python, in a folder."""
    pip = ["/usr/bin/python3", "-m", "pip", "download", "-q", "--only-binary=:all:", f"--python-version={python}"]
    said(*pip, "-d", to, *packages)
    return to
