# SPDX-License-Identifier: Apache-2.0
"""MPI programs of the tests: one source, with the libraries of those who make MPIs."""

from __future__ import annotations

import functools
from pathlib import Path

from compiling import compile_newer
from running import packaged
from vcluster import REPOSITORY

FAMILIES = ["mpich4", "mpich5", "intel"]
SOURCE = REPOSITORY / "tests/cluster/mpi_check.c"


@functools.cache
def program(family: str) -> tuple[list[str], Path]:
    """Words for charmrun, and mpi_check. Intel's library takes the place of MPICH's: they have one ABI."""
    if family == "mpich4":  # Debian's
        path = REPOSITORY / "build/mpi_check4"
        compile_newer(SOURCE, path, compiler="mpicc.mpich")
        return [], path
    mpich = packaged("mpich")
    path = REPOSITORY / "build/mpi_check5"
    compile_newer(SOURCE, path, f"-Wl,-rpath,{mpich / 'lib'},--enable-new-dtags", compiler=str(mpich / "bin/mpicc"))
    if family == "mpich5":
        return [], path
    return ["++env", f"LD_LIBRARY_PATH={packaged('impi-rt') / 'lib'}"], path
