# SPDX-License-Identifier: Apache-2.0
"""What outlives a cluster's owner when that is killed without a word, and how it is cleared.

Processes and namespaces end by themselves with their owner. Files, CPU groups and the machine's
neighbour table limits do not: each cluster directory names its owner, so that anyone can see that
it is dead and clear up after it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vc_cgroup import groups_left, remove_cpu_groups
from vc_net import read_neighbour_limits, write_neighbour_limits

_STATE, _LIMITS = "owner.json", "neighbours.json"
_PARENTS = (Path("/dev/shm"), Path("/tmp"))
_ROOM_BYTES = 256 << 20
_NAME = re.compile(r"ct(\d+)-\w+")


def workplace() -> Path:
    """Where cluster directories go: into memory, if programs may run there, else on disk."""
    try:
        shape = os.statvfs(_PARENTS[0])
    except OSError:
        return _PARENTS[1]
    roomy = shape.f_bavail * shape.f_frsize >= _ROOM_BYTES
    return _PARENTS[0] if roomy and not shape.f_flag & os.ST_NOEXEC else _PARENTS[1]


def process_start(pid: int) -> int | None:
    """When a process started, in the kernel's ticks: tells it from a later one with its number."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat[stat.rindex(")") + 2 :].split()
    return None if fields[0] in "ZX" else int(fields[19])


def save(base: Path, state: dict[str, Any]) -> None:
    state |= {"pid": os.getpid(), "start": process_start(os.getpid())}
    temporary = base / f"{_STATE}.new"
    temporary.write_text(json.dumps(state), encoding="utf-8")
    temporary.rename(base / _STATE)


def load(base: Path) -> dict[str, Any]:
    state: dict[str, Any] = json.loads((base / _STATE).read_text(encoding="utf-8"))
    return state


def _owner_lives(base: Path) -> bool:
    try:
        state = load(base)
    except (OSError, ValueError):  # killed before, or still busy making it
        match = _NAME.fullmatch(base.name)
        return match is not None and process_start(int(match[1])) is not None
    return process_start(state["pid"]) == int(state["start"])


def _bases() -> list[Path]:
    """All cluster directories on this machine that root made, of the living and the dead."""
    found = []
    for path in (path for parent in _PARENTS for path in parent.glob("ct*-*")):
        with contextlib.suppress(FileNotFoundError):
            if _NAME.fullmatch(path.name) and path.is_dir() and path.lstat().st_uid == 0:
                found.append(path)
    return sorted(found)


def running() -> list[Path]:
    """The directories of clusters that are up, or coming up."""
    return [base for base in _bases() if _owner_lives(base)]


def sweep() -> list[str]:
    """Clears whatever dead clusters have left; returns the names of what was found."""
    dead = [base for base in _bases() if not _owner_lives(base)]
    for base in dead:
        end_inits(base.name)
        restore_limits(base)
        shutil.rmtree(base, ignore_errors=True)
    living = {base.name for base in running()}
    gone = [name for name in groups_left() if _NAME.fullmatch(name) and name not in living]
    for name in gone:
        end_inits(name)
        remove_cpu_groups(name)
    return sorted({base.name for base in dead} | set(gone))


def end_inits(tag: str) -> None:
    """Kills the inits of a dead cluster (they die with their owner; this is for a lost race)."""
    for entry in (name for name in os.listdir("/proc") if name.isdigit()):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
            if words[0].startswith(f"{tag}-h".encode()) and words[1:2] == [b"infinity"]:
                os.kill(int(entry), signal.SIGKILL)
                _wait_gone(int(entry))


def _wait_gone(pid: int) -> None:
    deadline = time.monotonic() + 5
    while process_start(pid) is not None and time.monotonic() < deadline:
        time.sleep(0.01)


@contextlib.contextmanager
def _alone_with_limits() -> Iterator[None]:
    """No other cluster raises or restores them meanwhile."""
    place = os.open(_PARENTS[0], os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(place, fcntl.LOCK_EX)
        yield
    finally:
        os.close(place)


def raise_limits(base: Path, hosts: int) -> None:
    """Makes room in the neighbour table, and writes down in `base` what it was before."""
    wanted = [max(4096, hosts * 64) << shift for shift in (0, 1, 2)]
    with _alone_with_limits():
        others = [other / _LIMITS for other in running() if other != base]
        saved = next((path.read_text() for path in others if path.exists()), None)
        before = json.loads(saved) if saved else read_neighbour_limits()
        (base / _LIMITS).write_text(json.dumps(before), encoding="ascii")
        write_neighbour_limits([max(pair) for pair in zip(wanted, read_neighbour_limits(), strict=True)])


def restore_limits(base: Path) -> None:
    """Puts the limits back, unless another cluster still needs them (it knows the old ones too)."""
    with contextlib.suppress(FileNotFoundError, ValueError), _alone_with_limits():
        before = json.loads((base / _LIMITS).read_text(encoding="ascii"))
        (base / _LIMITS).unlink()
        if not any((other / _LIMITS).exists() for other in running() if other != base):
            write_neighbour_limits(before)
