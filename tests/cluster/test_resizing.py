# SPDX-License-Identifier: Apache-2.0
"""Jobs that shrink and expand: resizing_double does what stock Charm++ processes of such a build do and
checks what it is told. The list of hosts is another one each time the program asks.
"""

from __future__ import annotations

from pathlib import Path

from running import Factory, assert_good, built, error_line, run
from vcluster import Cluster, Result

LIST = "/home/shared/resized"


def resize(hosts: Cluster, charmrun: Path, *stages: list[int], branching: int = 0) -> Result:
    """A job with one process for each mention of a host; their numbers differ from stage to stage."""
    for stage in stages:
        text = "".join(f"host {hosts.names[index]}\n" for index in stage)
        hosts.put(0, f"{LIST}.{len(stage)}", text)
        if stage is stages[0]:
            hosts.put(0, LIST, text)
    sizes = ",".join(str(len(stage)) for stage in stages[1:])
    relist = hosts.put(0, f"{LIST}.sh", f"#!/bin/sh\ncp {LIST}.$1 {LIST}\n", mode=0o755)
    words = ["--sizes", sizes, "--before", relist]
    program = built(charmrun, "resizing_double")
    tree = ["++branching", branching] if branching else []
    return run(hosts, charmrun, f"+p{len(stages[0])}", "++nodelist", LIST, "++quiet", *tree, program, *words)


def started(hosts: Cluster, total: int, stage: int, processes: list[tuple[int, int]]) -> list[str]:
    """`processes`: of each the host and what number it had before (-1: it is new)."""
    return [
        f"resizing {number}/{total}: stage {stage}, was {was}, on {hosts.names[host]}"
        for number, (host, was) in enumerate(processes)
    ]


def test_a_job_shrinks(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(5)
    done = resize(hosts, charmrun, [1, 2, 3, 4], [1, 2])
    first = started(hosts, 4, 0, [(1, -1), (2, -1), (3, -1), (4, -1)])
    then = started(hosts, 2, 1, [(1, 0), (2, 1)])
    assert_good(done, [*first, *then, "resizing 0/2: ok"])


def test_a_job_expands_on_its_hosts_and_on_a_new_one(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(5)
    done = resize(hosts, charmrun, [1, 2], [1, 1, 2, 3])
    first = started(hosts, 2, 0, [(1, -1), (2, -1)])
    then = started(hosts, 4, 1, [(1, 0), (1, -1), (2, 1), (3, -1)])
    assert_good(done, [*first, *then, "resizing 0/4: ok"])


def test_a_job_shrinks_and_expands_on_hosts_that_it_has_left(cluster: Factory, charmrun: Path) -> None:
    """Launchers below each other; new hosts join at the root."""
    hosts = cluster(5)
    done = resize(hosts, charmrun, [1, 2, 2, 3], [1, 2], [4, 1, 3], [1, 1, 2, 2, 3, 4], branching=1)
    first = started(hosts, 4, 0, [(1, -1), (2, -1), (2, -1), (3, -1)])
    second = started(hosts, 2, 1, [(1, 0), (2, 1)])
    third = started(hosts, 3, 2, [(1, 0), (2, 1), (3, -1)])
    last = started(hosts, 6, 3, [(1, 0), (1, -1), (2, 1), (2, -1), (3, 2), (4, -1)])
    assert_good(done, [*first, *second, *third, *last, "resizing 0/6: ok"])


def test_a_list_of_hosts_that_cannot_be_read_ends_the_job(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(5)
    unlist = hosts.put(0, f"{LIST}.sh", f"#!/bin/sh\nrm {LIST}\n", mode=0o755)
    program = [built(charmrun, "resizing_double"), "--sizes", 1, "--before", unlist]
    hosts.put(0, LIST, f"host {hosts.names[1]}\nhost {hosts.names[2]}\n")
    done = run(hosts, charmrun, "+p2", "++nodelist", LIST, "++quiet", *program)
    assert LIST in error_line(done, 125)
