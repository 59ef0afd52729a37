# SPDX-License-Identifier: Apache-2.0
"""charm4py as it is used: what its programs are made of, and files as checkpoints."""

from __future__ import annotations

from pathlib import Path

import pytest

from running import Factory, charm4py, program_lines, run
from vcluster import REPOSITORY, Cluster, Result

PROGRAMS = REPOSITORY / "tests/cluster/charm4py"
EACH = 2  # processes on a host
RUNTIME = ("Charm", "Converse/", "Isomalloc>", "Initializing charm.pool", "[Partition 0]")


def start(hosts: Cluster, charmrun: Path, n: int, program: str, *words: object) -> Result:
    options = [f"+p{n * EACH}", "++nodelist", hosts.nodelist(n)]
    return run(hosts, charmrun, *options, charm4py(), PROGRAMS / program, *words)


def own_lines(done: Result, status: int = 0) -> list[str]:
    """What the program itself printed, sorted."""
    assert (done.returncode, done.stderr) == (status, ""), (done.stdout[-2000:], done.stderr[-4000:])
    return [line for line in program_lines(done) if not line.startswith(RUNTIME)]


@pytest.mark.parametrize("n", [1, 4])
def test_all_that_programs_are_made_of(cluster: Factory, charmrun: Path, n: int) -> None:
    done = start(cluster(n), charmrun, n, "features.py")
    assert own_lines(done) == [
        "all done",
        "array reductions: [11, 0] True",
        "array: [0, 25, 121]",
        "channels: 1",
        "futures: [2, 22]",
        f"group: {n * EACH} PEs on {n} hosts",
        "own reducer: 479001600",
        "pool map: [0, 1, 8, 27, 64, 125]",
        "pool tasks: pool",
        "reduction: True",
        "sections: True",
    ]


def test_a_program_goes_on_from_its_files(cluster: Factory, charmrun: Path) -> None:
    """On 4 hosts or 1, interrupted or not, in any combination: the same result, to the last bit."""
    hosts = cluster(4)
    states = {}
    for name, n in (("whole", 1), ("shrunk", 4), ("grown", 1)):
        folder = f"/home/shared/{name}"
        hosts.run(0, ["mkdir", folder])
        if name != "whole":
            stopped = own_lines(start(hosts, charmrun, n, "checkpoint.py", folder, 20, 13), 9)
            assert stopped[0] == "from step 0"
            n = 5 - n
        first, states[name] = own_lines(start(hosts, charmrun, n, "checkpoint.py", folder, 20))
        assert first == ("from step 0" if name == "whole" else "from step 10")
    assert set(states.values()) == {states["whole"]} and states["whole"].count(",") == 5
