# SPDX-License-Identifier: Apache-2.0
"""Python environments in build/, each with one package of PyPI, made as quickstart makes that of charm4py."""

from __future__ import annotations

import fcntl
import subprocess
from pathlib import Path

from vcluster import REPOSITORY

_PYTHON, _PIP_SECONDS = "/usr/bin/python3", 300


def environment(package: str) -> Path:
    """The folder of the one that has this package; RuntimeError with what was said if it cannot be made. Others may want it at the
    same time."""
    folder = REPOSITORY / "build" / package
    pip = [str(folder / "bin/pip"), "--disable-pip-version-check"]
    with (REPOSITORY / f"build/{package}.lock").open("w") as alone:
        fcntl.flock(alone, fcntl.LOCK_EX)
        if _complaint([*pip, "show", "--quiet", package]) is None:
            return folder
        for argv in ([_PYTHON, "-m", "venv", "--clear", str(folder)], [*pip, "install", "--quiet", package]):
            complaint = _complaint(argv)
            if complaint is not None:
                raise RuntimeError(f"{package} cannot be installed: {complaint}")
    return folder


def sources(package: str) -> Path:
    """The folder of what its makers have packed, of the version that environment() has; RuntimeError if it cannot be had."""
    folder = environment(package)
    unpacked = folder / "sources"
    with (REPOSITORY / f"build/{package}.lock").open("w") as alone:
        fcntl.flock(alone, fcntl.LOCK_EX)
        if not unpacked.exists():
            pip = [str(folder / "bin/pip"), "--disable-pip-version-check"]
            shown = subprocess.run([*pip, "show", package], capture_output=True, text=True, timeout=_PIP_SECONDS, check=True).stdout
            version = next(line.split()[1] for line in shown.splitlines() if line.startswith("Version: "))
            complaint = _complaint([*pip, "download", "--quiet", "--no-deps", "--no-binary", package, "--dest", str(folder),
                                    f"{package}=={version}"])
            packed = list(folder.glob(f"{package}-*.tar.gz"))
            if complaint is not None or not packed:
                raise RuntimeError(f"the sources of {package} cannot be had: {complaint}")
            fresh = folder / "unpacked"
            fresh.mkdir(exist_ok=True)
            complaint = _complaint(["tar", "--extract", "--file", str(packed[0]), "--directory", str(fresh), "--strip-components", "1"])
            if complaint is not None:
                raise RuntimeError(f"the sources of {package} cannot be unpacked: {complaint}")
            fresh.rename(unpacked)
    return unpacked


def _complaint(argv: list[str]) -> str | None:
    """None if it succeeded, else what it said."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_PIP_SECONDS, check=False)
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if done.returncode == 0 else done.stderr.strip()[-300:] or f"status {done.returncode}"
