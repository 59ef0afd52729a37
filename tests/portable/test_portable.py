# SPDX-License-Identifier: Apache-2.0
"""The portable charmrun (cmake/portable/build), as a file: by `tests/campaign portable`."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_OLDEST = (2, 17)  # glibc, of 2012
_MOST_MB = 9
_MPIR = {"MPIR_proctable", "MPIR_proctable_size", "MPIR_being_debugged", "MPIR_debug_state", "MPIR_Breakpoint", "totalview_jobid"}


@pytest.fixture(params=["x86_64", "aarch64"])
def charmrun(request: pytest.FixtureRequest) -> Path:
    path = _ROOT / f"build-portable-{request.param}/bin/charmrun"
    if not path.exists():
        pytest.skip(f"cmake/portable/build {request.param} makes it")
    return path


def said(*words: str | Path) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def test_no_symbol_is_newer_than_the_oldest_glibc(charmrun: Path) -> None:
    versions = {tuple(map(int, text.split("."))) for text in re.findall(r"GLIBC_(\d+(?:\.\d+)+)", said("readelf", "-W", "--dyn-syms", charmrun))}
    assert versions and max(version[:2] for version in versions) <= _OLDEST, versions


def test_it_needs_glibc_alone(charmrun: Path) -> None:
    needed = re.findall(r"\(NEEDED\).*\[(.*?)\]", said("readelf", "-d", charmrun))
    assert {name.split(".")[0] for name in needed} <= {"libc", "libm", "libpthread", "libdl", "librt", "libresolv", "libutil", "ld-linux-x86-64", "ld-linux-aarch64"}, needed


def test_it_is_small_and_stripped_but_for_what_debuggers_look_for(charmrun: Path) -> None:
    assert charmrun.stat().st_size <= _MOST_MB * 1e6
    assert ".symtab" not in said("readelf", "-WS", charmrun)
    symbols = {line.split()[-1] for line in said("readelf", "-W", "--dyn-syms", charmrun).splitlines() if " UND " not in line and " GLOBAL " in line}
    assert symbols >= _MPIR, symbols
    assert len(symbols) < 1000, len(symbols)


def test_it_has_a_build_id_by_which_hosts_know_it(charmrun: Path) -> None:
    assert re.search(r"Build ID: [0-9a-f]{40}", said("readelf", "-n", charmrun))


def test_it_runs_here(charmrun: Path) -> None:
    if os.uname().machine not in charmrun.parts[-3]:
        pytest.skip("for another machine")
    assert sorted(said(charmrun, "+p4", "++hosts", "2", "sh", "-c", "echo $CHARMTREE_PROCESS").split()) == ["0", "1", "2", "3"]
