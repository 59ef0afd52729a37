# SPDX-License-Identifier: Apache-2.0
"""What `tests/run cluster` makes of tests that fail: run on a small tree with tests of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
TESTS = """
from pathlib import Path
import pytest

@pytest.mark.parametrize("name", {names})
def test_failed(name: str) -> None:
    marks = Path(__file__).parents[2] / "marks"
    marks.mkdir(exist_ok=True)
    times = len(list(marks.glob(f"{{len(name)}}-*")))
    (marks / f"{{len(name)}}-{{times}}").touch()
    assert "bad" not in name and times > 0
"""
PASSES = """
def test_passed() -> None:
    pass
"""


def run(tree: Path, names: list[str]) -> tuple[int, list[str]]:
    """The status and the last lines of a run whose tests of these names fail at first, or always if they are bad."""
    (tree / "cmake").mkdir(parents=True)
    install = tree / "cmake/install-packages"
    install.write_text("#!/bin/sh\n")
    install.chmod(0o755)
    cluster = tree / "tests/cluster"
    cluster.mkdir(parents=True)
    shutil.copy(REPOSITORY / "tests/run", tree / "tests")
    shutil.copy(REPOSITORY / "tests/pytest.ini", tree / "tests")
    for path in (REPOSITORY / "tests/cluster").glob("*.py"):
        if not path.name.startswith("test_"):
            shutil.copy(path, cluster)
    (cluster / "test_made.py").write_text(TESTS.format(names=names))
    (cluster / "test_other.py").write_text(PASSES)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CHARMTREE_")}
    done = subprocess.run(["tests/run", "cluster"], cwd=tree, env=environment, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout.splitlines()[-4:]


@pytest.mark.skipif(os.geteuid() != 0, reason="cluster tests need root")
def test_a_cluster_test_that_fails_is_run_once_more(tmp_path: Path) -> None:
    why = "unsteady (failed, then passed alone; 3 fail the run)"
    test = "cluster/test_made.py::test_failed"
    status, last = run(tmp_path / "a", ["a b", "$x'::;y"])
    assert (status, last[-1]) == (0, f"1 passed, 0 failed, 2 {why}")
    assert last[-3:-1] == [f"unsteady {test}[a b]", f"unsteady {test}[$x'::;y]"]
    status, last = run(tmp_path / "b", ["a", "bad"])
    assert (status, last[-1]) == (1, f"1 passed, 1 failed, 1 {why}")
    assert last[-3:-1] == [f"unsteady {test}[a]", f"failed {test}[bad]"]
    assert run(tmp_path / "c", ["a", "ab", "abc"]) == (1, [*[f"unsteady {test}[{x}]" for x in ("a", "ab", "abc")], f"1 passed, 1 failed, 3 {why}"])
    status, last = run(tmp_path / "d", ["a" * n for n in range(1, 12)])
    assert (status, last[-1]) == (1, "1 passed, 11 failed")
