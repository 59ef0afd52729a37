# SPDX-License-Identifier: Apache-2.0
"""Charm++ processes that are forked from one another, and such as no launcher of today can serve."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from vc_job import Job, leftovers

from running import Factory, Result, built, charmrun_lines, double_lines, error_line, run


def _layouts(done: Result) -> dict[int, str]:
    found = re.findall(r"^double (\d+)/\d+: layout (.*)$", done.stdout, re.MULTILINE)
    return {int(number): where for number, where in found}


def test_forked_processes_of_a_host_have_one_layout(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    double = [built(charmrun, "charm_double"), "--layout", "--printf", 2, "--prints", 2, "--strict-fds"]
    words = ["+p6", "++nodelist", hosts.nodelist([1, 2]), "++va-randomization", "++verbose"]
    done = run(hosts, charmrun, *words, "++scalable-start", *double)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("double") and "layout" not in line]
    assert sorted(lines) == sorted({*double_lines(6, "printf", 2), *double_lines(6, "print", 2)})
    layouts = _layouts(done)
    assert len({layouts[n] for n in (0, 1, 2)}) == len({layouts[n] for n in (3, 4, 5)}) == 1, layouts
    assert layouts[0] != layouts[3], layouts
    said = charmrun_lines(done)
    assert any("process 3 forks processes 4 to 5" in line for line in said), said

    singly = run(hosts, charmrun, *words, "++no-scalable-start", *double)
    assert singly.returncode == 0 and len(set(_layouts(singly).values())) == 6, singly.stdout


def test_a_forked_process_that_is_killed_ends_the_job(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(2)
    double = [built(charmrun, "charm_double"), "--kill-self", int(signal.SIGKILL), "--process", 2]
    words = ["+p3", "++nodelist", hosts.nodelist([1]), "++va-randomization"]
    line = error_line(run(hosts, charmrun, *words, *double), 137)
    assert f"{hosts.names[1]}: run: process 2: killed by signal 9" in line


def test_forked_processes_end_with_their_job(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(2)
    double = [built(charmrun, "charm_double"), "--compute", "600"]
    job = Job(
        hosts, [0, 1], [charmrun, "+p3", "++nodelist", hosts.nodelist([1]), "++va-randomization", *double]
    )
    job.until(lambda: len(job.running("charm_double")) == 3, "three processes")
    job.signal(signal.SIGTERM)
    assert job.wait() in (143, -signal.SIGTERM), job.said()
    assert not leftovers([job])


def test_where_the_kernel_randomises_addresses_it_is_said_once(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(1)
    refusing = built(charmrun, "no_personality")
    double = [built(charmrun, "charm_double"), "--layout"]
    done = hosts.run(0, [refusing, charmrun, "++local", "+p3", *double], timeout=60)
    assert done.returncode == 0, done.stderr
    assert len(set(_layouts(done).values())) == 1, done.stdout
    done = hosts.run(0, [refusing, charmrun, "++hosts", "2", "+p4", *double], timeout=60)
    assert done.returncode == 0, done.stderr
    assert (done.stdout + done.stderr).count("the kernel refuses to turn address randomisation off") == 1


def test_a_program_of_an_old_charm_is_refused_with_one_line(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    double = [built(charmrun, "charm_double"), "--old"]
    line = error_line(run(hosts, charmrun, "+p4", "++nodelist", hosts.nodelist([1, 2]), *double, timeout=20))
    assert re.search(
        r"start: process \d: this program is Charm\+\+ 6\.8 or older; build it with 6\.9 or newer", line
    )
