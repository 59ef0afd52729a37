# SPDX-License-Identifier: Apache-2.0
"""C programs of tests and benchmarks that belong to no build target."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from vcluster import REPOSITORY

_COMPILE = ["-O2", "-Wall", "-Wextra", "-Werror", f"-I{REPOSITORY}"]
_COMPILE_S = 120


def compile_newer(source: Path, program: Path, *words: str, compiler: str = "cc", **environment: str) -> None:
    """Makes the program unless it is newer than its source and the headers beside that; RuntimeError with what the compiler says.
    `environment` is the compiler's, beyond our own. Others may do the same at the same time, and run it."""
    newest = max(each.stat().st_mtime for each in (source, *source.parent.glob("*.h")))
    if program.exists() and program.stat().st_mtime >= newest:
        return
    program.parent.mkdir(exist_ok=True)
    fresh = program.with_name(f".{program.name}.{os.getpid()}")
    argv = [compiler, *_COMPILE, "-o", str(fresh), str(source), *words]
    try:
        made = subprocess.run(argv, capture_output=True, text=True, timeout=_COMPILE_S, env={**os.environ, **environment})
    except (FileNotFoundError, subprocess.TimeoutExpired) as wrong:
        raise RuntimeError(f"{source.name} does not compile: {wrong}") from wrong
    if made.returncode != 0:
        raise RuntimeError(f"{source.name} does not compile: {made.stderr.strip()[-300:]}")
    fresh.rename(program)
