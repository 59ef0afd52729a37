# SPDX-License-Identifier: Apache-2.0
"""The portable charmrun (cmake/portable/build), as a file: by `tests/campaign portable`."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from conftest import made, said

_OLDEST = (2, 17)  # glibc, of 2012
_MOST_MB = 9
_MPIR = {"MPIR_proctable", "MPIR_proctable_size", "MPIR_being_debugged", "MPIR_debug_state", "MPIR_Breakpoint", "totalview_jobid"}


@pytest.fixture(params=["x86_64", "aarch64"])
def charmrun(request: pytest.FixtureRequest) -> Path:
    return made(request.param, "bin/charmrun")


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


def test_tools_find_the_types_of_the_table(charmrun: Path) -> None:
    """Declarations: of what has an address here there is none."""
    told = said("readelf", "--debug-dump=info", charmrun)
    assert set(re.findall(r"DW_AT_name +: (?:.*: )?(\w+)", told)) >= {*_MPIR - {"MPIR_Breakpoint"}, "MPIR_PROCDESC", "host_name", "executable_name", "pid"}
    assert "DW_OP_addr" not in told
    assert str(charmrun.parents[2]) not in told


def test_it_has_a_build_id_by_which_hosts_know_it(charmrun: Path) -> None:
    assert re.search(r"Build ID: [0-9a-f]{40}", said("readelf", "-n", charmrun))


def test_it_runs(charmrun: Path, tmp_path: Path) -> None:
    """That for another machine by its emulator, which takes the place of charmrun where that starts itself."""
    machine = charmrun.parts[-3].removeprefix("build-portable-")
    command = [charmrun]
    if machine != os.uname().machine:
        emulated = tmp_path / "charmrun"
        emulated.write_text(f'#!/bin/sh\nexec qemu-{machine}-static -L /usr/{machine}-linux-gnu -0 "$0" {charmrun} "$@"\n')
        emulated.chmod(0o755)
        command = [emulated]
    assert said(*command, "++version").startswith("charmrun (charmtree) ")
    program = tmp_path / "program"  # a script: an executable of this machine would be refused by the emulated one
    program.write_text("#!/bin/sh\necho $CHARMTREE_PROCESS\n")
    program.chmod(0o755)
    for where in (["++local"], ["++hosts", "2"]):
        words = ["+p4", *where, "++launcher", str(command[0]), program]
        assert sorted(said(*command, *words).split()) == ["0", "1", "2", "3"]
