# SPDX-License-Identifier: Apache-2.0
"""`++keep-alive` and `++attach`: jobs that lose their charmrun, and go on with another one."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from running import CAMPAIGN, Factory, answer, built, charm4py, command, error_line, run
from vc_faults import wait_until
from vc_job import Job, kill, leftovers, patience, pause
from vcluster import REPOSITORY, Cluster

HOSTS = 9  # h00 is the root's
MORE = 40  # steps after the last fault
FOLDER = "/home/shared/state/charmtree"
STEPS = "/home/shared/steps"
STATE = {"XDG_STATE_HOME": "/home/shared/state"}
UNTIL = REPOSITORY / "tests/cluster/charm4py/until.py"


class Kept:
    """A job of one process on each host but the first, from which it is started, and its roots, one after the other."""

    def __init__(self, hosts: Cluster, charmrun: Path, program: list[Any], *options: Any, **more: Any) -> None:
        self.hosts = hosts
        self.charmrun = charmrun
        self.processes = hosts.n - 1
        hosts.run(0, ["mkdir", "-p", "/home/shared/state"], check=True)
        names = hosts.nodelist([hosts.names[index] for index in range(1, hosts.n)])
        streams = {name: more[name] for name in {"stdin"} & set(more)}
        tree = ["++keep-alive", more.get("seconds", 60), "++branching", more.get("branching", 2)]
        words = [*tree, f"+p{self.processes}", "++nodelist", names]
        self.roots = [Job(hosts, range(hosts.n), command(charmrun, *words, *options, *program), env=STATE, **streams)]
        self.job.until(lambda: "kept alive: " in self.job.err, "the word that it is kept alive")
        self.id = self.job.err.split("++attach ")[1].split()[0]

    @property
    def job(self) -> Job:
        """With the root of now."""
        return self.roots[-1]

    def lose_root(self, number: int = signal.SIGKILL) -> None:
        self.job.signal(number)
        assert self.job.wait(10) == -number, self.job.said()

    def attach(self, *words: Any, where: int = 0) -> Job:
        argv = command(self.charmrun, "++attach", *words)
        others = [index for index in range(self.hosts.n) if index != where]
        self.roots.append(Job(self.hosts, [where, *others], argv, env=STATE))
        return self.job

    def is_kept(self) -> bool:
        return self.hosts.path(0, f"{FOLDER}/{self.id}.tree").exists()

    def leftovers(self) -> list[str]:
        """Those of the first root's time are no strangers to it."""
        return leftovers(self.roots[:1])

    def steps(self, root: int = -1) -> dict[int, list[int]]:
        """The numbers of the lines of each process on the screen of one root, as they came."""
        found: dict[int, list[int]] = {}
        for process, step in re.findall(r"^process (\d+) step (\d+)$", self.roots[root].out, re.MULTILINE):
            found.setdefault(int(process), []).append(int(step))
        return found

    def until_steps(self, processes: int) -> None:
        def go_on() -> bool:
            steps = self.steps()
            return len(steps) == processes and all(len(lines) > 10 for lines in steps.values())

        self.job.until(go_on, "further steps of all that are left")

    def end_steps(self) -> int:
        """The number of the last step, after which everybody ends."""
        last = max(lines[-1] for lines in self.steps().values()) + MORE
        self.hosts.put(0, STEPS, f"{last}\n")
        return last

    def check_lines(self, processes: set[int], last: int) -> None:
        """No line is missing; each screen goes on where the one before had ended, or a little before."""
        for process in processes:
            shown = 0
            for root in range(len(self.roots)):
                lines = self.steps(root).get(process, [])
                if not lines:
                    continue
                assert lines == list(range(lines[0], lines[0] + len(lines))), (process, root, lines)
                assert lines[0] <= shown < lines[-1] + 2, (process, root, lines[0], shown)
                shown = lines[-1] + 1
            assert shown == last, (process, shown, last, self.job.said())


def steps(hosts: Cluster, charmrun: Path) -> list[Any]:
    hosts.put(0, STEPS, "")
    return [built(charmrun, "steps_double"), STEPS]


@pytest.mark.parametrize("policy", ["abort", "continue"])
@pytest.mark.parametrize("seed", range(25) if CAMPAIGN else [1])
def test_another_root_takes_over(fresh_cluster: Factory, charmrun: Path, policy: str, seed: int) -> None:
    """Three times: the root is killed twice, and leaves with its terminal once; one is on another machine."""
    dice = random.Random(seed)
    hosts = fresh_cluster(HOSTS)
    kept = Kept(hosts, charmrun, steps(hosts, charmrun), "++on-failure", policy)
    everybody = {one.pid for one in kept.job.launchers()}
    for number, where in ((signal.SIGKILL, 0), (signal.SIGHUP, 2), (signal.SIGKILL, 0)):
        kept.until_steps(kept.processes)
        pause(dice.uniform(0.0, 0.2))
        kept.lose_root(number)
        pause(dice.uniform(0.0, 0.6))
        kept.attach(where=where)
    kept.until_steps(kept.processes)
    assert everybody <= {one.pid for one in kept.roots[0].launchers()}
    last = kept.end_steps()
    assert kept.job.wait() == 0, kept.job.said()
    assert not kept.job.errors, kept.job.said()
    kept.check_lines(set(range(kept.processes)), last)
    assert not kept.is_kept()
    assert not kept.leftovers()


def test_a_host_that_is_lost_meanwhile(fresh_cluster: Factory, charmrun: Path) -> None:
    """Everything on it is killed, its launcher, which the root had started, too."""
    hosts = fresh_cluster(HOSTS)
    kept = Kept(hosts, charmrun, steps(hosts, charmrun), "++on-failure", "continue", branching=8)
    kept.until_steps(kept.processes)
    kept.lose_root()
    hosts.crash(3)
    kept.attach()
    left = set(range(kept.processes)) - {2}
    kept.until_steps(len(left))
    last = kept.end_steps()
    assert kept.job.wait() == 0, kept.job.said()
    assert any(hosts.names[3] in line for line in kept.job.errors), kept.job.said()
    kept.check_lines(left, last)
    hosts.boot(3)
    hosts.run(3, ["rm", "-rf", f"/tmp/charmtree-{hosts.user('ctuser').uid}"], check=True)  # as a boot does
    assert not kept.leftovers()


def test_where_nobody_may_be_lost_the_first_cause_is_told(fresh_cluster: Factory, charmrun: Path) -> None:
    hosts = fresh_cluster(HOSTS)
    kept = Kept(hosts, charmrun, steps(hosts, charmrun), branching=3)
    kept.until_steps(kept.processes)
    kept.lose_root()
    victim = kept.job.inner()[0].host
    for one in (*kept.roots[0].launchers(victim), *kept.roots[0].running("steps_double")):
        if one.host == victim:
            kill(one)
    kept.attach()
    assert kept.job.wait() == 125, kept.job.said()
    assert hosts.names[victim] in kept.job.errors[0], kept.job.said()
    assert not kept.is_kept()
    assert not kept.leftovers()


def test_without_another_root_the_job_ends(fresh_cluster: Factory, charmrun: Path) -> None:
    hosts = fresh_cluster(HOSTS)
    kept = Kept(hosts, charmrun, ["sleep", "98765"], seconds=2)
    kept.lose_root()
    pause(1.0)
    assert len(kept.roots[0].running("sleep")) == kept.processes
    assert f"charmrun ++attach {kept.id}" in answer_with_state(hosts, charmrun, "++list")
    assert wait_until(lambda: not kept.roots[0].survivors(), patience(2 + 5))
    none = run(hosts, charmrun, "++attach", kept.id, env=STATE)
    assert "no launcher of the job waits for another root" in error_line(none)
    assert not kept.is_kept()
    assert not kept.leftovers()


def answer_with_state(hosts: Cluster, charmrun: Path, *words: Any) -> str:
    return run(hosts, charmrun, *words, env=STATE, check=True).stdout


def test_a_job_is_left_listed_and_taken_over_with_labels(fresh_cluster: Factory, charmrun: Path) -> None:
    hosts = fresh_cluster(3)
    waits = 'while [ ! -e /home/shared/go ]; do sleep 0.1; done; echo "done $CHARMTREE_PROCESS"'
    kept = Kept(hosts, charmrun, ["sh", "-c", waits])
    assert answer_with_state(hosts, charmrun, "++detach", kept.id) == ""
    assert kept.job.wait() == -signal.SIGHUP, kept.job.said()
    assert f"++detach: charmrun ++attach {kept.id} takes over within 60 s\n" in kept.job.err
    assert f"job {kept.id} runs without a charmrun and ends within " in answer_with_state(hosts, charmrun, "++list")
    alone = error_line(run(hosts, charmrun, "++kill", kept.id, env=STATE))
    assert alone.startswith(f"job {kept.id} runs without a charmrun and ends within "), alone
    assert alone.endswith(f" unless taken over; charmrun ++attach {kept.id} takes it over; Ctrl-C ends it there"), alone
    file, forgotten = (f"{FOLDER}/{name}.tree" for name in (kept.id, "ff00"))
    hosts.run(0, ["cp", file, forgotten], check=True)
    hosts.run(0, ["touch", "-d", "2 days ago", forgotten], check=True)
    hosts.run(0, ["touch", "-d", "1 hour ago", file], check=True)
    over = f"job {kept.id} has ended: no charmrun has taken over within its 60 s (++keep-alive)\n"
    assert answer_with_state(hosts, charmrun, "++list").endswith("on this machine\n" + over)
    assert not hosts.path(0, forgotten).exists()
    (told,) = map(json.loads, answer_with_state(hosts, charmrun, "++list", "++json", "-").splitlines())
    assert (told["job"], told["stage"]) == (kept.id, "over")
    refused = run(hosts, charmrun, "++attach", "++on-failure", "continue", env=STATE)
    assert error_line(refused) == "++attach has no use for ++on-failure; a job keeps what it was started with"
    kept.attach("++label", "++verbose")
    kept.job.until(lambda: "this is the root of job" in kept.job.err, "the other root")
    hosts.put(0, "/home/shared/go", "")
    assert kept.job.wait() == 0, kept.job.said()
    assert sorted(kept.job.out.splitlines()) == ["[0] done 0", "[1] done 1"]
    assert "Start-up of" not in kept.job.err
    assert not kept.leftovers()


def test_a_job_that_cannot_be_reached_is_left_alone(fresh_cluster: Factory, charmrun: Path) -> None:
    """Its user may come again, from a machine that can."""
    hosts = fresh_cluster(4)
    kept = Kept(hosts, charmrun, ["sleep", "98765"])
    kept.lose_root()
    hosts.unplug(0)
    assert "no launcher of the job was reached: h0" in error_line(run(hosts, charmrun, "++attach", env=STATE))
    assert kept.is_kept()
    hosts.plug(0)
    kept.attach()
    kept.job.until(lambda: "this is the root of job" in kept.job.err, "the other root")
    assert len(kept.roots[0].running("sleep")) == kept.processes
    kept.job.signal(signal.SIGINT)
    assert kept.job.wait() == -signal.SIGINT, kept.job.said()
    assert not kept.is_kept()
    assert not kept.leftovers()


def test_a_charm4py_program_keeps_running(fresh_cluster: Factory, charmrun: Path) -> None:
    """It notices nothing; Ctrl-C ends it over the other root as ever."""
    hosts = fresh_cluster(5)
    end = "/home/shared/end"
    kept = Kept(hosts, charmrun, [charm4py(), UNTIL, end])
    kept.job.until(lambda: "serving" in kept.job.out, "the program")
    kept.lose_root()
    kept.attach(kept.id[:6])
    kept.job.until(lambda: "this is the root of job" in kept.job.err, "the other root")
    second = run(hosts, charmrun, "++attach", env=STATE)
    assert "still runs here" in error_line(second)
    assert kept.id in answer(hosts, charmrun, "++list")
    hosts.put(0, end, "")
    assert kept.job.wait() == 0, kept.job.said()
    assert not kept.job.errors
    assert not kept.leftovers()


def test_who_scans_reads_the_end_of_the_input(fresh_cluster: Factory, charmrun: Path) -> None:
    """What is typed was for the root that was lost."""
    hosts = fresh_cluster(3)
    program = [built(charmrun, "charm_double"), "--scanf", "%d", "--receipts", "--prints", 3]
    kept = Kept(hosts, charmrun, program, stdin=subprocess.PIPE)
    kept.job.until(lambda: "started all node programs" in kept.job.out, "the program")
    pause(0.3)
    kept.lose_root()
    kept.attach()
    assert kept.job.wait() == 0, kept.job.said()
    assert "double 0/2: scanned <" in kept.job.out, kept.job.said()
    assert "double: ok 2 processes" in kept.job.out, kept.job.said()
    assert not kept.leftovers()


def test_ctrl_c_ends_the_job_over_another_root(fresh_cluster: Factory, charmrun: Path) -> None:
    hosts = fresh_cluster(HOSTS)
    kept = Kept(hosts, charmrun, ["sleep", "98765"], "++timelimit", 300)
    kept.lose_root(signal.SIGHUP)
    assert f"charmrun ++attach {kept.id}" in kept.job.err
    kept.attach()
    kept.job.until(lambda: "this is the root of job" in kept.job.err, "the other root")
    kept.job.signal(signal.SIGINT)
    assert kept.job.wait() == -signal.SIGINT, kept.job.said()
    assert not kept.is_kept()
    assert not kept.leftovers()


def test_a_job_that_runs_on_its_roots_machine_is_taken_over_there(fresh_cluster: Factory, charmrun: Path) -> None:
    hosts = fresh_cluster(3)
    hosts.run(0, ["mkdir", "-p", "/home/shared/state"], check=True)
    words = ["++keep-alive", 60, "+p3", "++nodelist", hosts.nodelist(3), "sleep", "98765"]
    job = Job(hosts, range(3), command(charmrun, *words), env=STATE)
    job.until(lambda: "kept alive: " in job.err, "the word that it is kept alive")
    job.signal(signal.SIGKILL)
    job.wait()
    elsewhere = run(hosts, charmrun, "++attach", where=2, env=STATE)
    assert "runs on h00 itself" in error_line(elsewhere)
    other = Job(hosts, range(3), command(charmrun, "++attach"), env=STATE)
    other.until(lambda: "this is the root of job" in other.err, "the other root")
    other.signal(signal.SIGTERM)
    assert other.wait() == -signal.SIGTERM, other.said()
    assert not leftovers([job])


def test_what_does_not_go_together_is_said_at_once(fresh_cluster: Factory, charmrun: Path) -> None:
    hosts = fresh_cluster(1)
    for words in (["++on-failure", "restart"], ["++server"], ["++interactive"], ["++output", "%r.out"]):
        done = run(hosts, charmrun, "++keep-alive", 60, *words, "true")
        assert f"++keep-alive and {' '.join(words[:1])}" in error_line(done), done
    assert "no job of yours is kept alive" in error_line(run(hosts, charmrun, "++attach", env=STATE))
    hosts.run(0, ["mkdir", "-p", FOLDER], check=True)
    hosts.put(0, f"{FOLDER}/0123456789abcdef.tree", "something else")
    assert "of another version" in error_line(run(hosts, charmrun, "++attach", env=STATE))
    assert "is called 'ff'" in error_line(run(hosts, charmrun, "++attach", "ff", env=STATE))
