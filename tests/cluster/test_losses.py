# SPDX-License-Identifier: Apache-2.0
"""++on-failure continue over sshd: a process is killed, then a launcher with everything on its host; the others
end well, with every line of theirs once and in order."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from running import Factory, built
from vc_job import Job, kill, leftovers
from vcluster import Process

PROCESSES = 10
STEPS = 100
# A plain program has no barrier that holds it back: it goes on until the file is gone.
PLAIN = "n=0; while [ -e $1 ]; do echo process $CHARMTREE_PROCESS step $n; n=$((n+1)); sleep 0.02; done"


def rank(process: Process) -> int:
    words = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
    return int(dict(word.split(b"=", 1) for word in words if b"=" in word)[b"CHARMTREE_PROCESS"])


def steps(job: Job) -> dict[int, list[int]]:
    """The numbers of the lines of each process, as they came."""
    found: dict[int, list[int]] = defaultdict(list)
    for line in job.out.split("\n")[:-1]:  # one may be half written
        words = line.split()
        assert words[0] == "process" and words[2] == "step", line
        found[int(words[1])].append(int(words[3]))
    return found


def run_until_some_are_lost(job: Job, command: str, host: int) -> None:
    """Process 3 on host 1, then everything on that host."""
    job.until(lambda: len(steps(job)) == PROCESSES, "a line of every process")
    kill(next(one for one in job.running(command) if rank(one) == 3))
    job.until(lambda: "going on without it" in job.err, "the word of the first loss")
    assert "process 3: killed by signal 9" in job.err
    for one in (*job.launchers(host), *(one for one in job.running(command) if one.host == host)):
        kill(one)
    job.until(lambda: "going on without processes" in job.err, "the word of the second loss")


def check_end(job: Job, lost: str) -> dict[int, list[int]]:
    """The lines of each process."""
    assert job.wait() == 0, job.said()
    assert leftovers([job]) == []
    assert job.errors[-1] == f"{lost}; the job went on without them"
    found = steps(job)
    assert job.out.endswith("\n")
    for lines in found.values():
        assert lines == list(range(len(lines)))
    return found


@pytest.mark.parametrize(("host", "lost"), [(2, {3, 4, 5}), (3, {3, 6, 7})], ids=["leaf", "inner"])
def test_survivors_go_on_to_a_good_end(cluster: Factory, charmrun: Path, host: int, lost: set[int]) -> None:
    """Hosts 1 and 2 are below 0, and 4 below 3."""
    hosts = cluster(5)
    options = ["++quiet", "++on-failure", "continue", "++branching", "2", f"+p{PROCESSES}"]
    endure = [built(charmrun, "endure"), str(STEPS), "20"]
    job = Job(hosts, range(5), [charmrun, *options, "++nodelist", hosts.nodelist(5), *endure])
    run_until_some_are_lost(job, "endure", host)
    which = "3-5" if host == 2 else "3,6-7"
    found = check_end(job, f"{len(lost)} of {PROCESSES} processes were lost ({which})")
    survivors = set(range(PROCESSES)) - lost
    for process in survivors:
        assert len(found[process]) == STEPS
        for other in lost:
            assert job.err.count(f"process {process} goes on without {other}\n") == 1
    assert f"step {STEPS - 1} of {STEPS}, {len(survivors)} of {PROCESSES} left" in job.out


def test_plain_processes_go_on(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(5)
    hosts.put(0, "/home/shared/go-on", "")
    options = ["++quiet", "++on-failure", "continue", "++branching", "2", f"+p{PROCESSES}"]
    program = ["sh", "-c", PLAIN, "sh", "/home/shared/go-on"]
    job = Job(hosts, range(5), [charmrun, *options, "++nodelist", hosts.nodelist(5), *program])
    run_until_some_are_lost(job, "sh", 2)
    counts = {process: len(lines) for process, lines in steps(job).items()}
    job.until(
        lambda: all(len(steps(job)[one]) > counts[one] + 5 for one in counts if one not in (3, 4, 5)),
        "more lines of all that are left",
    )
    hosts.run(0, ["rm", "/home/shared/go-on"])
    check_end(job, f"3 of {PROCESSES} processes were lost (3-5)")


def test_a_charm_program_is_refused(cluster: Factory, charmrun: Path) -> None:
    """By its text, and if that shows nothing, when it speaks."""
    hosts = cluster(2)
    options = [charmrun, "++on-failure", "continue", "+p2", "++nodelist", hosts.nodelist(2)]
    double = str(built(charmrun, "charm_double"))
    why = "a Charm++ program cannot go on without a lost process"
    for program in ([double], ["sh", "-c", f"exec {double}"]):
        done = hosts.run(0, [*options, *program])
        assert done.returncode == 125 and why in done.stderr, done
        assert done.stderr.count("charmrun: error:") == 1
