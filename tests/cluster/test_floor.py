# SPDX-License-Identifier: Apache-2.0
"""How near a start comes to the floor: as many bare ssh logins at the same time (tests/bench/ssh_floor.c)."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median

import pytest

from running import Factory, assert_good, compiled, run
from vc_job import patience

HOSTS = 64
PAIRS = 3
UP_S = 20.0  # for all hosts to come up


def test_64_hosts_beside_the_floor(
    fresh_cluster: Factory, charmrun: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Says how long it took; asserts only that all of it ran, for times depend on what else is running."""
    begin = time.monotonic()
    hosts = fresh_cluster(HOSTS + 1)
    assert time.monotonic() - begin < patience(UP_S)
    others = hosts.names[1:]
    floor = compiled(charmrun, "tests/bench/ssh_floor.c", "-lssh2", "-lpthread")
    words = [f"+p{HOSTS}", "++nodelist", hosts.nodelist(others), "true"]
    times: dict[str, list[float]] = {"charmrun": [], "floor": []}
    for _ in range(PAIRS):
        bare = hosts.run(0, [floor, *others], timeout=120, check=True)
        times["floor"].append(float(bare.stdout.removeprefix(f"{HOSTS} hosts ").split()[0]))
        done = run(hosts, charmrun, *words)
        assert_good(done, [])
        times["charmrun"].append(done.elapsed)
    ours, bound = median(times["charmrun"]), median(times["floor"])
    with capsys.disabled():
        print(
            f"\n{HOSTS} hosts, end to end: charmrun {ours:.3f} s, floor {bound:.3f} s, ratio "
            f"{ours / bound:.2f} (medians of {PAIRS}: {times})"
        )
