# SPDX-License-Identifier: Apache-2.0
"""mpi4py's own tests, of four processes: what starts others and connects them. In a campaign, which takes an hour, all of them, and with
Open MPI as well, whose processes give way while they wait if they are told to."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from running import CAMPAIGN, command, packaged, unpacked

pytestmark = pytest.mark.part(
    "mpi4py", "kvs", "tree/clients/pmi", "tree/clients/pmix", "tree/io/pmix", "charmrun/mpiexec", "tests/cluster/test_mpi4py.py")
PROCESSES = 4
_SHORT = ["-i", "spawn", "-i", "dynproc", "-k", "TestSpawnSingleWorld.test", "-k", "TestSpawnMultipleWorld.test", "-k", "TestDPM"]
PARTS = [] if CAMPAIGN else _SHORT
PATIENCE_S = 3600 if CAMPAIGN else 600  # processes of MPI ask again and again while they wait, also beside others


@pytest.mark.parametrize("family", ["mpich", "openmpi"] if CAMPAIGN else ["mpich"])
def test_mpi4py_passes_its_own_tests(charmrun: Path, family: str) -> None:
    library, python = packaged(family), packaged("mpi4py") / "bin/python"
    environment = {**os.environ, "MPI4PY_MPIABI": family, "LD_LIBRARY_PATH": str(library / "lib"), "OPAL_PREFIX": str(library),
                   "OMPI_MCA_btl": "^ofi", "OMPI_MCA_mpi_yield_when_idle": "1"}
    words = [str(python), "test/main.py", "--verbose", *PARTS]
    done = subprocess.run(command(charmrun, f"+p{PROCESSES}", "++local", *words), cwd=unpacked("mpi4py"), env=environment,
                          capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    lines = done.stderr.splitlines()
    assert sum(line.startswith("OK") for line in lines) == PROCESSES, lines[-30:]
    assert sum(line.startswith("Ran ") for line in lines) == PROCESSES
