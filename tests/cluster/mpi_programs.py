# SPDX-License-Identifier: Apache-2.0
"""MPI programs of the tests: one source, with the libraries of those who make MPIs."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from pathlib import Path

from compiling import compile_newer
from running import packaged, run
from vcluster import REPOSITORY, Cluster

FAMILIES = ["mpich4", "mpich5", "intel", "openmpi4", "openmpi5"]


@contextlib.contextmanager
def session(hosts: Cluster, charmrun: Path) -> Iterator[str]:
    """The number of a session on three hosts, which ends with the block."""
    number = run(hosts, charmrun, "++session", "++background", "++nodelist", hosts.nodelist(range(1, 4))).stdout.strip()
    try:
        yield number
    finally:
        run(hosts, charmrun, "++end", number)


@functools.cache
def program(family: str, name: str = "tests/cluster/mpi_check.c") -> tuple[list[str], Path]:
    """Words for charmrun, and the program. Intel's library takes the place of MPICH's: they have one ABI."""
    source = REPOSITORY / name
    if family in ("mpich4", "openmpi4"):  # Debian's
        path = REPOSITORY / f"build/{source.stem}_{family}"
        compile_newer(source, path, compiler="mpicc." + family[:-1])
        return [], path
    if family == "openmpi5":
        return _openmpi5(source)
    mpich = packaged("mpich")
    path = REPOSITORY / f"build/{source.stem}_mpich5"
    compile_newer(source, path, f"-Wl,-rpath,{mpich / 'lib'},--enable-new-dtags", compiler=str(mpich / "bin/mpicc"))
    if family == "mpich5":
        return [], path
    return ["++env", f"LD_LIBRARY_PATH={packaged('impi-rt') / 'lib'}"], path


def _openmpi5(source: Path) -> tuple[list[str], Path]:
    """Its MPI_Init sleeps for a second where it opens a way to others that it does not take (btl/ofi)."""
    package = packaged("openmpi")
    path = REPOSITORY / f"build/{source.stem}_openmpi5"
    folders = f"-Wl,-rpath,{package / 'lib'},--enable-new-dtags"
    compile_newer(source, path, folders, compiler=str(package / "bin/mpicc"), OPAL_PREFIX=str(package))
    return ["++env", f"OPAL_PREFIX={package}", "++env", "OMPI_MCA_btl=^ofi"], path
