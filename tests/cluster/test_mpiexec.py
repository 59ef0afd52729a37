# SPDX-License-Identifier: Apache-2.0
"""Jobs whose launchers are started by mpiexec: MPICH's, which logs in to the hosts by ssh, or a script."""

from __future__ import annotations

import functools
import re
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from running import (
    HELLO,
    NUMBER_AND_HOST,
    Factory,
    assert_good,
    built,
    charm4py,
    charmrun_lines,
    double_lines,
    error_line,
    hello_lines,
    run,
)
from vc_job import Job, environment, leftovers
from vcluster import Cluster

N, EACH = 4, 2
P = N * EACH
FOLDER = "/home/shared/mpiexec"


@functools.cache
def hydra() -> str:
    """MPICH's mpiexec, in the environment that has charm4py."""
    folder = charm4py().parent
    path = folder / "mpiexec.hydra"
    if not path.exists():
        pip = [str(folder / "pip"), "--disable-pip-version-check", "install", "--quiet", "mpich"]
        made = subprocess.run(pip, capture_output=True, text=True, timeout=300)
        if made.returncode != 0:
            pytest.skip(f"no mpich here: {made.stderr.strip()[-300:]}")
    return str(path)


def by_hydra(hosts: Cluster, per_turn: int = EACH) -> list[str]:
    """Takes hosts in turn, so many processes at a time."""
    words = [hydra(), "-launcher", "ssh", "-hosts", ",".join(hosts.names[:N]), "-ppn", str(per_turn)]
    return ["++mpiexec", "++remote-shell", " ".join(words)]


def folder(hosts: Cluster) -> Path:
    """A directory that all hosts share, for the script."""
    path = hosts.path(0, FOLDER)
    path.mkdir(mode=0o777, exist_ok=True)
    path.chmod(0o777)
    return path


def scripts(hosts: Cluster) -> list[Path]:
    return sorted(folder(hosts).glob("charmrun.*"))


@pytest.mark.parametrize("per_turn", [EACH, 1])
def test_processes_of_a_host_have_numbers_in_a_row(cluster: Factory, charmrun: Path, per_turn: int) -> None:
    """Also where mpiexec deals its ranks out one to each host in turn."""
    hosts = cluster(N)
    folder(hosts)
    done = run(hosts, charmrun, f"+p{P}", *by_hydra(hosts, per_turn), *NUMBER_AND_HOST, cwd=FOLDER)
    assert_good(done, [f"{process} {hosts.names[process // EACH]}" for process in range(P)])
    assert scripts(hosts) == []


def test_charm_double(cluster: Factory, charmrun: Path) -> None:
    """The double checks how many processes each host has, and reaches every other one."""
    hosts = cluster(N)
    folder(hosts)
    double = [built(charmrun, "charm_double"), "--prints", 2, "--strict-fds"]
    done = run(hosts, charmrun, f"+p{P}", *by_hydra(hosts, 1), *double, cwd=FOLDER)
    assert_good(done, double_lines(P, "print", 2))


def test_charm4py(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(N)
    folder(hosts)
    done = run(hosts, charmrun, f"+p{P}", *by_hydra(hosts, 1), charm4py(), HELLO, cwd=FOLDER)
    assert done.returncode == 0, done
    pes, machines, other = hello_lines(done)
    assert pes == list(range(P)) and machines == N
    assert other[-1] == f"sum of all PE numbers: {P * (P - 1) // 2} (right)"
    assert done.stderr == ""


def test_uneven_counts_without_n(cluster: Factory, charmrun: Path) -> None:
    """++mpiexec-no-n: the command says how many, and where."""
    hosts = cluster(N)
    folder(hosts)
    words = [hydra(), "-launcher", "ssh", "-hosts", f"{hosts.names[2]}:3,{hosts.names[0]}:1", "-n", "4"]
    options = ["++mpiexec-no-n", "++remote-shell", " ".join(words)]
    done = run(hosts, charmrun, "+p4", *options, *NUMBER_AND_HOST, cwd=FOLDER)
    assert_good(done, [*(f"{process} {hosts.names[2]}" for process in range(3)), f"3 {hosts.names[0]}"])
    double = built(charmrun, "charm_double")
    assert_good(run(hosts, charmrun, "+p4", *options, double, cwd=FOLDER), double_lines(4))


def stand_in(hosts: Cluster, text: str) -> list[str]:
    """++mpiexec by a script of ours, which is given the words of mpiexec: -n N SCRIPT."""
    path = hosts.put(0, f"{FOLDER}/stand-in", f"#!/bin/sh\n{text}\n", mode=0o755)
    return ["++mpiexec", "++remote-shell", path]


def test_who_does_not_know_the_secret_is_refused(cluster: Factory, charmrun: Path) -> None:
    """Neither a stranger nor a ticket with another secret can take a place; the job runs all the same."""
    hosts = cluster(N)
    folder(hosts)
    stranger = hosts.put(
        0,
        f"{FOLDER}/stranger",
        "import re, socket, sys\n"
        "line = max(open(sys.argv[1]).read().split(), key=len)\n"
        "places = re.findall(rb'[0-9.]+:[0-9]+', bytes.fromhex(line))\n"
        "address, port = places[0].decode().split(':')\n"
        "with socket.create_connection((address, int(port))) as root:\n"
        "    root.sendall(b'GET / HTTP/1.1\\r\\n\\r\\n')\n"
        "    while root.recv(1000):\n"
        "        pass\n"
        "silent = socket.create_connection((address, int(port)))\n"
        "at = 20  # in the secret, behind a version of five characters\n"
        "digit = '1' if line[at] == '0' else '0'\n"
        "open(sys.argv[1] + '.other', 'w').write(open(sys.argv[1]).read().replace(line, line[:at] + digit + line[at + 1 :]))\n"
        "sys.stdin.read()\n",
    )
    intruders = (
        f'python3 {stranger} "$3" <&0 & stranger=$!\n'
        'while ! [ -s "$3.other" ]; do kill -0 $stranger 2> /dev/null || [ -s "$3.other" ] || exit 9; done\n'
        'PMI_RANK=0 PMI_SIZE=8 timeout 2 sh "$3.other"; rm "$3.other"\n'
    )
    mpiexec = " ".join(by_hydra(hosts)[2:]).removeprefix("++remote-shell ")
    words = stand_in(hosts, f'{intruders}{mpiexec} "$@"')
    done = run(hosts, charmrun, f"+p{P}", *words, *NUMBER_AND_HOST, cwd=FOLDER)
    assert_good(done, [f"{process} {hosts.names[process // EACH]}" for process in range(P)], said=None)
    refused = [line for line in charmrun_lines(done) if line.startswith("refused a connection from ")]
    reasons = {line.removeprefix(f"refused a connection from {hosts.address(0)}: ") for line in refused}
    assert reasons == {"the other end does not know the secret of this start", "closed by the other side"}
    assert 2 <= len(refused) <= 8 and len(charmrun_lines(done)) == len(refused)
    assert scripts(hosts) == []


def test_the_roll_call_rests_while_nobody_comes(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(N)
    folder(hosts)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = run(hosts, charmrun, "+p4", "++timeout", 2, *stand_in(hosts, "sleep 5 <&0"), "hello", cwd=FOLDER)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "0 of 4 processes have come" in error_line(done)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1


def test_nothing_of_the_secret_can_be_seen(cluster: Factory, charmrun: Path) -> None:
    """The script is its owner's alone and goes when all are there; then its text is nowhere."""
    hosts = cluster(N)
    folder(hosts)
    mpiexec = " ".join(by_hydra(hosts)[2:]).removeprefix("++remote-shell ")
    copy = f'cat "$3" >{FOLDER}/copy; stat -c %a "$3" >{FOLDER}/mode'
    words = stand_in(hosts, f'{copy}\nexec {mpiexec} "$@"')
    job = Job(hosts, range(N), [charmrun, f"+p{P}", *words, "sleep", "98765"], cwd=FOLDER)
    job.until(lambda: len(job.running("sleep")) == P, "eight processes")
    assert scripts(hosts) == []
    text = (folder(hosts) / "copy").read_text()
    assert (folder(hosts) / "mode").read_text() == "700\n"
    secret = max(text.split(), key=len)[14:78]  # behind the version's and its own length
    everybody = [one for host in range(N) for one in hosts.processes(host)]
    ranks = [one for one in everybody if one.cmdline == f"{charmrun} ++mpiexec-rank"]
    assert {one.host for one in ranks} == set(range(N))
    for one in everybody:
        given = environment(one.pid)
        seen = one.cmdline.encode() + "\0".join(given.values()).encode(errors="surrogateescape")
        assert secret.encode() not in seen and bytes.fromhex(secret) not in seen, one
        if one.command == "sleep" and "CHARMTREE_JOB" in given:
            assert not [name for name in given if re.match("HYD|PMI_(?!FD|RANK|SIZE)|MPIR_(?!CVAR_PMI_VERSION)", name)], given
            assert given["PMI_RANK"] == given["CHARMTREE_PROCESS"]  # ours, not mpiexec's
    job.signal(signal.SIGINT)
    assert job.wait() == -signal.SIGINT, job.said()
    assert not leftovers([job])


@pytest.mark.parametrize("victim", ["root", "launcher", "waiting", "mpiexec"])
def test_nothing_is_left_when_somebody_is_killed(cluster: Factory, charmrun: Path, victim: str) -> None:
    hosts = cluster(N)
    folder(hosts)
    job = Job(hosts, range(N), [charmrun, f"+p{P}", *by_hydra(hosts), "sleep", "98765"], cwd=FOLDER)
    job.until(lambda: len(job.running("sleep")) == P, "eight processes")
    ranks = [one for one in hosts.processes(2) if one.cmdline == f"{charmrun} ++mpiexec-rank"]
    parents = {one.pid: int(Path(f"/proc/{one.pid}/stat").read_text().rsplit(")", 1)[1].split()[1]) for one in ranks}
    launchers = [one for one in ranks if parents[one.pid] in parents]
    waiting = [one for one in ranks if one.pid not in parents.values() and one not in launchers]
    assert len(ranks) == 3 and len(launchers) == len(waiting) == 1, ranks
    mpiexec = [one for one in job.running("mpiexec.hydra") if one.host == 0]
    killed = {"launcher": launchers, "waiting": waiting, "mpiexec": mpiexec}.get(victim)
    if killed is None:
        job.signal(signal.SIGKILL)
    else:
        subprocess.run(["kill", "-9", str(killed[0].pid)], check=True)
    status = job.wait()
    assert status == (-9 if victim == "root" else 125), job.said()
    if victim == "launcher":
        assert job.errors[0].startswith(f"{hosts.names[2]}: run: lost the launcher there"), job.said()
    assert not leftovers([job])
    assert scripts(hosts) == []


@pytest.mark.parametrize("how", ["interrupt", "kill"])
def test_a_start_that_is_ended_leaves_nothing(cluster: Factory, charmrun: Path, how: str) -> None:
    """One of two processes has come, and waits for the other one."""
    hosts = cluster(N)
    folder(hosts)
    words = stand_in(hosts, 'PMI_RANK=1 "$3" & wait')
    job = Job(hosts, range(N), [charmrun, "+p2", "++verbose", *words, "sleep", "98765"], cwd=FOLDER)
    job.until(lambda: "h00: process 1 of mpiexec's has come" in job.err, "process 1")
    assert len(scripts(hosts)) == 1
    job.signal(signal.SIGINT if how == "interrupt" else signal.SIGKILL)
    assert job.wait() == (-signal.SIGINT if how == "interrupt" else -signal.SIGKILL), job.said()
    assert not leftovers([job])
    if how == "interrupt":
        line = "charmrun: Interrupt: ending the start by mpiexec (1 of 2 processes have come, missing: 0)\n"
        assert not job.errors and line in job.err, job.said()
    assert scripts(hosts) == []


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            'for i in 0 1 2; do PMI_RANK=$i PMI_SIZE=3 "$3" & done; wait',
            r"hello: h00: process \d: mpiexec has started 3 processes, not 4; "
            r"give mpiexec as many processes as charmrun \(\+p, \+\+n\)",
        ),
        (
            'for i in 0 2; do PMI_RANK=$i "$3" & done; wait',
            r"hello: no further process of mpiexec has come for 1 s: 2 of 4 processes have come, missing: 1, 3; "
            r"can they reach this host\? see \+\+useip, \+\+timeout and what mpiexec says",
        ),
        ('"$3"', r"hello: h00: no variable says which process this is \(OMPI.*\); is it this mpiexec's\?"),
        (
            "echo no slots >&2; exit 3",
            "hello: mpiexec exited with status 3 too early: 0 of 4 processes have come, missing: 0-3; "
            "it last said: no slots; does it start another program, such as hostname\\?",
        ),
    ],
)
def test_what_mpiexec_does_wrong_is_one_clear_error(cluster: Factory, charmrun: Path, text: str, error: str) -> None:
    hosts = cluster(N)
    folder(hosts)
    done = run(hosts, charmrun, "+p4", "++timeout", 1, *stand_in(hosts, text), "hostname", cwd=FOLDER)
    assert re.fullmatch(error, error_line(done)), done.stderr
    assert scripts(hosts) == []


def test_programs_may_use_all_processors_that_mpiexec_gave_their_host(cluster: Factory, charmrun: Path) -> None:
    """Not only those of the process that became the launcher."""
    hosts = cluster(N)
    folder(hosts)
    allowed = run_alone(hosts, "taskset -cp $$").split(":")[1].strip()
    if allowed != "0,1" and not allowed.startswith("0-"):
        pytest.skip(f"needs processors 0 and 1, has {allowed}")
    words = stand_in(hosts, 'for i in 0 1; do PMI_RANK=$i taskset -c $i "$3" & done; wait')
    done = run(hosts, charmrun, "+p2", *words, "sh", "-c", "taskset -cp $$", cwd=FOLDER)
    assert done.returncode == 0, done
    masks = [line.split(": ")[1] for line in done.stdout.splitlines() if "affinity" in line]
    assert masks == ["0,1"] * 2, done.stdout


def run_alone(hosts: Cluster, script: str) -> str:
    return hosts.run(0, ["sh", "-c", script], check=True).stdout


def test_no_place_for_the_script(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(N)
    done = run(hosts, charmrun, "+p2", "++mpiexec", "hostname", cwd="/proc")
    assert "cannot write /proc/charmrun." in error_line(done)
