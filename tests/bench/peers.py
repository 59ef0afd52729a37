# SPDX-License-Identifier: Apache-2.0
"""The launchers that we are measured against, and the programs that they start: from PyPI, into build/."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from compiling import compile_newer
from packages import environment
from vcluster import REPOSITORY

TRUE = "/bin/true"
_SOURCES = REPOSITORY / "tests/bench"


class NoPeer(RuntimeError):
    """A peer cannot be had here."""


@dataclass(frozen=True)
class Peers:
    """Each program by its path; `charm_exit` is an unmodified Charm++ program for either charmrun."""

    floor: Path
    hydra: Path
    charm_charmrun: Path
    charm_exit: Path


def own_libraries(charmrun: Path) -> Path | None:
    """Where the libraries are that this charmrun was built of, if they are not the system's (cmake/portable)."""
    prefix = charmrun.parents[1] / "prefix"
    return prefix if (prefix / "lib/libssh2.a").exists() else None


def make_floor(charmrun: Path) -> Path:
    """With the libssh2 of this charmrun."""
    prefix = own_libraries(charmrun)
    if prefix is None:
        return _compiled("ssh_floor.c", "-lssh2", "-lpthread")
    libraries = [f"{prefix}/lib/lib{name}.a" for name in ("ssh2", "ssl", "crypto")]
    return _compiled("ssh_floor.c", f"-I{prefix}/include", *libraries, "-lpthread", "-ldl", name=f"ssh_floor-{prefix.parent.name}")


def make_usage() -> Path:
    """What tells the CPU that each process of a charmrun uses."""
    return _compiled("launcher_usage.c", "-shared", "-fPIC")


def make_merge() -> Path:
    return _compiled("output_merge.c")


def make_steps() -> Path:
    return _compiled("output_steps.c", *_client_library())


def make_ready() -> Path:
    return _compiled("ready.c", *_client_library(), "-static")


def make_ccs_load() -> Path:
    return _compiled("ccs_load.c", "-lpthread")


def make_ccs_sessions() -> Path:
    return _compiled("ccs_sessions.c", "-lcrypto")


def make_ccs_floor() -> Path:
    return _compiled("ccs_floor.c")


def make_ccs_echo() -> Path:
    return _compiled("ccs_echo.c")


def make_hydra() -> Path:
    return _environment("mpich") / "bin/mpiexec.hydra"


def make_prterun() -> Path:
    return _environment("openmpi") / "bin/prterun"


def make_mpirun() -> Path:
    return _environment("openmpi") / "bin/mpirun"


# Root may start it, and more processes than there are cores.
PRTERUN_WORDS = ["--allow-run-as-root", "--map-by", ":oversubscribe"]


def make_peers(charmrun: Path) -> Peers:
    """Installs and builds what is not there yet; NoPeer says what failed."""
    return Peers(make_floor(charmrun), make_hydra(), *make_charm())


def make_charm() -> tuple[Path, Path]:
    """Charm++'s own charmrun, and charm_exit."""
    charm = _environment("charm4py")
    packages = next(charm.glob("lib/python3*/site-packages"))
    library = packages / "charm4py/.libs/libcharm.so"
    return packages / "charmrun/charmrun", _compiled("charm_exit.c", str(library), f"-Wl,-rpath,{library.parent}")


def hydra_command(hydra: Path, hosts: list[str], program: list[str]) -> list[str]:
    """One process on each of these hosts, by ssh."""
    names = ",".join(hosts)
    return [str(hydra), "-launcher", "ssh", "-hosts", names, "-ppn", "1", "-n", str(len(hosts)), *program]


def mpirun_command(mpirun: Path, hosts: list[str], program: list[str]) -> list[str]:
    """The same with Open MPI's; what it starts on the hosts is where it is here."""
    here = mpirun.parents[1]
    environment = [f"OPAL_PREFIX={here}", f"PRTE_PREFIX={here}", f"PMIX_PREFIX={here}", "OMPI_MCA_btl=^ofi"]
    words = ["--allow-run-as-root", "--map-by", "ppr:1:node", "--prefix", str(here), "-x", "OPAL_PREFIX", "-x", "OMPI_MCA_btl", "--host", ",".join(hosts)]
    return ["env", *environment, str(mpirun), *words, "-n", str(len(hosts)), *program]


def _environment(package: str) -> Path:
    try:
        return environment(package)
    except RuntimeError as wrong:
        raise NoPeer(str(wrong)) from wrong


def _client_library() -> list[str]:
    library = REPOSITORY / "build/client-lib/libcharmtree.a"
    if not library.exists():
        raise NoPeer("the client library is not built in build/")
    return [f"-I{REPOSITORY / 'client-lib'}", str(library), "-lstdc++", "-lm", "-lpthread"]


def _compiled(source: str, *libraries: str, name: str = "") -> Path:
    """A C program of this directory, in build/."""
    path = REPOSITORY / "build" / (name or Path(source).stem)
    try:
        compile_newer(_SOURCES / source, path, *libraries)
    except RuntimeError as wrong:
        raise NoPeer(str(wrong)) from wrong
    return path
