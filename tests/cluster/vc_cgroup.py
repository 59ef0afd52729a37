# SPDX-License-Identifier: Apache-2.0
"""A share of one CPU per virtual host, by cgroup v1 or v2: many hosts then behave like slow,
independent ones instead of sharing two fast cores."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from vc_net import ClusterError

_V1, _V2 = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
_QUOTA_US = 1000  # the kernel's minimum; finer slices give smoother hosts
_ROOTS = (_V1, _V2)


def make_cpu_groups(cluster: str, names: list[str], share: float) -> list[Path]:
    """A group for each host that may use `share` of one CPU; ClusterError where that cannot be."""
    if not 0 < share <= 8:
        raise ClusterError(f"cpu share {share}: must be above 0 and at most 8")
    root = _V1 if (_V1 / "cpu.shares").exists() or (_V1 / "cgroup.procs").exists() else _V2
    period = max(1000, min(1_000_000, round(_QUOTA_US / share)))
    quota = max(_QUOTA_US, round(period * share))
    try:
        if root is _V2:
            (root / "cgroup.subtree_control").write_text("+cpu\n")
        (root / cluster).mkdir()
        if root is _V2:
            (root / cluster / "cgroup.subtree_control").write_text("+cpu\n")
        return [_make_group(root / cluster / name, quota, period) for name in names]
    except OSError as error:
        with contextlib.suppress(ClusterError):
            remove_cpu_groups(cluster)
        raise ClusterError(f"no control of CPU shares on this machine: {error}") from error


def _make_group(group: Path, quota: int, period: int) -> Path:
    group.mkdir()
    if (group / "cpu.max").exists():
        (group / "cpu.max").write_text(f"{quota} {period}\n")
    else:
        (group / "cpu.cfs_period_us").write_text(f"{period}\n")
        (group / "cpu.cfs_quota_us").write_text(f"{quota}\n")
    return group


def remove_cpu_groups(cluster: str) -> None:
    """Removes the groups; a group is busy for a moment after its last process has gone."""
    for top in (root / cluster for root in _ROOTS):
        deadline = time.monotonic() + 5
        while top.exists():
            with contextlib.suppress(OSError):
                for group in [entry for entry in top.iterdir() if entry.is_dir()]:
                    group.rmdir()
                top.rmdir()
                break
            if time.monotonic() > deadline:
                raise ClusterError(f"cannot remove {top}")
            time.sleep(0.02)


def groups_left() -> list[str]:
    """The names of all clusters that have CPU groups."""
    tops = [path for root in _ROOTS if root.is_dir() for path in root.glob("ct*-*")]
    return sorted({path.name for path in tops if path.is_dir()})
