# SPDX-License-Identifier: Apache-2.0
"""One host of a job has been taken over: its launcher speaks the protocol and lies (tests/doubles/hostile_launcher.cpp). Others
of the job, the user's keys, known_hosts and files are none of its business."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

from running import PATIENCE_S, Factory, Result, assert_good, built, charmrun_lines, command, error_line, run
from served import Served
from test_forward_agent import keyless, run_with_agent
from vcluster import REPOSITORY, Cluster

_SHARED = "/home/shared"
_FILE = f"{_SHARED}/hostile"
_LIAR = 1  # a host
_CAUGHT = "its launcher answered CCS requests that it was not asked"


def hostile(hosts: Cluster, charmrun: Path, mode: str) -> list[str]:
    """Options by which the launcher of h01 is one that lies so."""
    hosts.put(0, _FILE, "", mode=0o666)
    liar = built(charmrun, "hostile_launcher")
    lines = ["#!/bin/sh", f"[ $(hostname) = {hosts.names[_LIAR]} ] && exec {liar} {mode} {_FILE}", f'exec {charmrun} "$@"']
    return ["++launcher", hosts.put(0, f"{_SHARED}/launcher", "\n".join(lines) + "\n", mode=0o755)]


@pytest.mark.parametrize("style", ["hashed", "plain"])
def test_host_keys_that_it_makes_up_are_not_added(cluster: Factory, charmrun: Path, style: str) -> None:
    hosts = cluster(26)
    hosts.known_hosts(style)
    known = hosts.path(0, "/home/ctuser/.ssh/known_hosts")
    before = known.read_text()
    words = ["+p3", "++nodelist", hosts.nodelist([_LIAR, 2, 3]), "++branching", 1, "++accept-new-host-keys"]
    done = run(hosts, charmrun, *words, *hostile(hosts, charmrun, "plant-keys"), "hostname")
    assert_good(done, hosts.names[2:4], said=None)
    assert known.read_text() == before
    lines = [line for line in charmrun_lines(done) if "is not added" in line]
    why = "host key: the ssh-ed25519 host key has changed (or someone is in between); if the host was set up anew: ssh-keygen -R HOST"
    assert lines == [f"{name}: a host key that was reported for it is not added: {why}" for name in ("h02", "h03")], done.stderr


def test_signatures_end_when_a_host_is_up(cluster: Factory, charmrun: Path) -> None:
    """Nor are there any when the end has begun."""
    hosts = cluster(26)
    keyless(hosts)
    words = ["+p2", "++nodelist", hosts.nodelist([_LIAR, 2]), "++branching", 1, "++forward-agent"]
    done = run_with_agent(hosts, charmrun, *words, *hostile(hosts, charmrun, "sign-late"), "true")
    assert done.returncode == 0, done.stderr
    assert hosts.path(0, _FILE).read_text().splitlines() == ["down 1", "up 0", "ending 0"], done.stderr
    refused = [line for line in charmrun_lines(done) if "refused" in line]
    assert refused == ["h02: refused to sign a login for the launcher on h01: its launcher is up"] * 6


def test_requests_of_others_are_not_answered_by_it(cluster: Factory, charmrun: Path) -> None:
    """A client waits for process 0, and the launcher of processes 2 and 3 answers what came shortly before and after a request of
    its own. When it guesses on, it is found out."""
    hosts = cluster(26)
    options = hostile(hosts, charmrun, "answer-for-others")
    job = Served(hosts, charmrun, "++server", *options, program=[built(charmrun, "steered")], python=())
    module = {"PYTHONPATH": str(REPOSITORY / "client-lib/python")}
    head = f"from charmtree_ccs import Session\njob = Session('127.0.0.1', {job.port})\n"
    answers: dict[str, str] = {}

    def ask(name: str, text: str) -> None:
        done = hosts.run(0, ["/usr/bin/python3", "-c", head + text], env=module, timeout=PATIENCE_S)
        answers[name] = done.stdout.strip() or done.stderr

    waiting = threading.Thread(target=ask, args=("held", "print(job.ask_all([('hold', b'', 0), ('rank', b'', 0)])[0])"))
    waiting.start()
    ask("its own", "print({job.ask('echo', b'', 2) for _ in range(50)})")
    while waiting.is_alive():
        ask("release", "print(job.ask('release', b'', 0))")
    waiting.join()
    guess = command(charmrun, "++ccs", f"127.0.0.1:{job.port}", "guess", 2)
    hosts.run(0, guess, timeout=PATIENCE_S)
    text = job.rest()
    assert answers == {"held": "b'late'", "its own": "{b'mine'}", "release": "b'now'"}, text
    assert job.child.returncode == 125 and f"error: h01: run: {_CAUGHT}" in text, text


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        ("print-for-others", "run: its launcher spoke for hosts that it was not given"),
        ("print-too-much", "run: its launcher sent more output than it may"),
    ],
)
def test_output_that_is_not_its_own_or_too_much_ends_the_link(cluster: Factory, charmrun: Path, mode: str, why: str) -> None:
    """Also where processes may get other numbers; no file is made for a process that there is not."""
    hosts = cluster(26)
    resizing = built(charmrun, "resizing_double")
    files = f"{_SHARED}/printed-{mode}"
    words = ["+p2", "++nodelist", hosts.nodelist([_LIAR, 2]), "++branching", 2, "++output", f"{files}/%r.out"]
    done = run(hosts, charmrun, *words, *hostile(hosts, charmrun, mode), resizing)
    assert error_line(done).startswith(f"h01: {why}"), done.stderr
    made = {file.name: file.stat().st_size for file in hosts.path(0, files).glob("*")}
    assert set(made) <= {"0.out", "1.out"} and not any(made.values()), made


def test_no_text_of_it_rules_the_terminal_or_passes_for_ours(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(26)
    words = ["+p2", "++nodelist", hosts.nodelist([_LIAR, 2]), "++branching", 2]
    done = run(hosts, charmrun, *words, *hostile(hosts, charmrun, "forge-lines"), "true")
    assert done.returncode == 3, done.stderr
    seen = r"x\x1b[2J\xc2\x9b2J\r\ncharmrun: error: forged"
    assert f"charmrun: h01: {seen}\n" in done.stderr
    said = done.stdout + done.stderr
    assert all(c.isprintable() or c == "\n" for c in said), said
    assert not any(line.startswith("charmrun: error: forged") for line in said.splitlines()), said


_MAY_NOT = "wants to start other processes, and nothing shows that the program is MPI: none is started; if it is MPI, " \
           "++allow-spawn lets all its processes start programs on all hosts of the job"


# Process 0 of a program that is no MPI program requests others by PMI-1; the other process only begins and ends.
_ASKS = """#!/bin/sh
bash -c '
ask() { printf "$1" >&$PMI_FD; read -r line <&$PMI_FD; echo "$line"; }
ask "cmd=init pmi_version=1 pmi_subversion=1\\n"
[ "$PMI_RANK" != 0 ] || ask "mcmd=spawn\\nnprocs=2\\nexecname=$0\\ntotspawns=1\\nspawnssofar=1\\narg1=started\\nargcnt=1\\npreput_num=0\\ninfo_num=0\\nendcmd\\n"
ask "cmd=finalize\\n"' "$1" | if [ "$PMI_RANK" = 0 ]; then cat; else cat > /dev/null; fi
"""


def test_a_script_starts_no_program_on_other_hosts_unless_the_user_allows_it(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(26)
    script = hosts.put(0, f"{_SHARED}/asks", _ASKS, mode=0o755)
    started = hosts.put(0, f"{_SHARED}/was-started", "", mode=0o666)
    waits = f"#!/bin/sh\nhostname >> {started}\nuntil [ $(wc -l < {started}) = 2 ]; do sleep 0.1; done\n"
    program = hosts.put(0, f"{_SHARED}/program", waits, mode=0o755)
    words = ["++nodelist", hosts.nodelist([_LIAR, 2]), "++branching", 2]
    done = run(hosts, charmrun, "+p2", *words, script, program)
    assert done.returncode == 0, done.stderr
    answers = done.stdout.splitlines()
    assert len(answers) == 3 and answers[1].startswith("cmd=spawn_result rc=1 "), done.stdout
    assert charmrun_lines(done) == [f"h01: process 0 {_MAY_NOT}"], done.stderr
    assert hosts.path(0, started).read_text() == ""
    done = run(hosts, charmrun, "+p2", *words, "++allow-spawn", script, program)
    assert done.stdout.splitlines()[1].startswith("cmd=spawn_result rc=0 ") and _MAY_NOT not in done.stderr, done
    assert sorted(hosts.path(0, started).read_text().split()) == ["h01", "h02"]


_REFUSED = "nothing shows that the program is MPI (++allow-spawn)"


@pytest.mark.parametrize(("program", "status"), [(["/bin/sleep", "1"], 0), (["sh", "-c", "sleep 1; exit 3"], 3)], ids=["sleep", "fails"])
def test_a_launcher_starts_no_program_on_other_hosts(cluster: Factory, charmrun: Path, program: list[str], status: int) -> None:
    """It requests that twice, before the processes run and after. Both requests are refused at once, and the job goes on to its
    own end."""
    hosts = cluster(26)
    words = ["+p3", "++nodelist", hosts.nodelist([_LIAR, 2, 3]), "++branching", 3]
    done = run(hosts, charmrun, *words, *hostile(hosts, charmrun, "start-programs"), *program)
    assert done.returncode == status, done.stderr
    assert hosts.path(0, _FILE).read_text().splitlines() == [f"early: {_REFUSED}", f"running: {_REFUSED}"], done.stderr
    assert [line for line in charmrun_lines(done) if "spawn" in line] == [f"h01: process 0 {_MAY_NOT}"], done.stderr


def test_a_launcher_starts_programs_where_the_user_allows_it(cluster: Factory, charmrun: Path) -> None:
    """The same requests with ++allow-spawn; the early one waits until all hosts are up."""
    hosts = cluster(26)
    words = ["+p3", "++nodelist", hosts.nodelist([_LIAR, 2, 3]), "++branching", 3, "++allow-spawn"]
    done = run(hosts, charmrun, *words, *hostile(hosts, charmrun, "start-programs"), "/bin/sleep", "1")
    assert done.returncode == 0, done.stderr
    started = ["started on h02", "started on h03"] * 2
    assert sorted(hosts.path(0, _FILE).read_text().splitlines()) == ["early: number 3", "running: number 6", *sorted(started)]


# Runs a command and prints the most memory in KiB that it, or what it waited for, had.
_MEASURE = """import resource, subprocess, sys
status = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)
"""
_MOST_KIB = 32 << 10


def measured(hosts: Cluster, charmrun: Path, *options: str) -> tuple[int, Result]:
    """The most memory in KiB that the root of a job on the liar and another host had; and what came of it."""
    words = ["+p2", "++nodelist", hosts.nodelist([_LIAR, 2]), "++branching", 2, *options, "true"]
    done = hosts.run(0, ["/usr/bin/python3", "-c", _MEASURE, *command(charmrun, *words)], timeout=PATIENCE_S)
    return int(done.stdout), done


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        ("flood-notes", ""),
        ("flood-failures", "h01: run: its launcher spoke for hosts that it was not given"),
        ("flood-counts", "h01: run: garbage came from the launcher there: frame length"),
    ],
)
def test_no_flood_fills_the_memory_of_the_root(cluster: Factory, charmrun: Path, mode: str, why: str) -> None:
    """Of 256 MiB. What a person may want to read is shown, and one line counts what is left out."""
    hosts = cluster(26)
    honest, done = measured(hosts, charmrun)
    assert done.returncode == 0, done.stderr
    flooded, done = measured(hosts, charmrun, *hostile(hosts, charmrun, mode))
    if why:
        assert error_line(done).startswith(why), done.stderr
    else:
        assert done.returncode == 0, done.stderr[-2000:]
        assert re.search(r"^charmrun: \d+ more lines from h01 were left out$", done.stderr, re.MULTILINE), done.stderr[-2000:]
    assert flooded - honest < _MOST_KIB, (flooded, honest)


def test_who_asks_for_files_and_takes_none_fills_no_memory(cluster: Factory, charmrun: Path) -> None:
    """A file of 64 MB twenty times over. The other host gets it meanwhile."""
    hosts = cluster(26)
    file = hosts.put(0, f"{_SHARED}/large", "")
    hosts.path(0, file).write_bytes(bytes(64_000_000))
    words = ["++stage", file]
    honest, done = measured(hosts, charmrun, *words)
    assert done.returncode == 0, done.stderr
    hoarded, done = measured(hosts, charmrun, *words, *hostile(hosts, charmrun, "hoard-pieces"))
    assert done.returncode == 0, done.stderr
    assert hoarded - honest < _MOST_KIB, (hoarded, honest)


_REQUESTS = ["replies", "look-ups", "names", "fences", "fence-names"]


def requested(hosts: Cluster, charmrun: Path, mode: str, *options: str) -> Result:
    """A job in which the liar requests far more than it takes: the root's memory keeps its bound."""
    honest, done = measured(hosts, charmrun)
    assert done.returncode == 0, done.stderr
    asked, done = measured(hosts, charmrun, *options, *hostile(hosts, charmrun, mode))
    assert asked - honest < _MOST_KIB, (asked, honest, done.stderr[-2000:])
    return done


@pytest.mark.parametrize("request_", _REQUESTS)
def test_who_takes_no_answers_is_not_read(cluster: Factory, charmrun: Path, request_: str) -> None:
    """It requests 960 MiB; the job ends in time all the same."""
    done = requested(cluster(26), charmrun, f"{request_}-unread", "++timelimit", "3")
    assert done.returncode != 0, done.stderr


@pytest.mark.parametrize("request_", _REQUESTS)
def test_who_takes_answers_slowly_gets_them(cluster: Factory, charmrun: Path, request_: str) -> None:
    """24 MiB of them; then its job ends as it should."""
    done = requested(cluster(26), charmrun, f"{request_}-slow")
    assert done.returncode == 0, done.stderr


_INNER, _TAKES_NOTHING = 1, 3  # hosts
_SMALL_KIB = 12 << 10  # an honest launcher of such a job


# Process 1 is on h02, and so on.
@pytest.mark.parametrize(
    ("flooder", "group"),
    [(2, (1, None)), (5, (4, None)), (2, (2, 1)), (5, (2, 4))],
    ids=["beside it", "elsewhere", "together", "together elsewhere"],
)
def test_a_launcher_keeps_little_for_a_child_that_takes_nothing(
    cluster: Factory, charmrun: Path, flooder: int, group: tuple[int, int | None]
) -> None:
    """A host ends fence after fence, alone or with one that takes nothing, which is below a launcher that keeps the protocol."""
    hosts = cluster(26)
    liar = built(charmrun, "hostile_launcher")
    sizes = hosts.put(0, f"{_SHARED}/sizes", "", mode=0o666)
    others, blind = group
    script = f"""#!/bin/sh
case $(hostname) in
  h0{flooder}) exec {liar} fence-on {others} ;;
  h0{_TAKES_NOTHING}) exec {liar} take-none {"" if blind is None else blind} ;;
  h0{_INNER}) (while sleep 0.2; do
      for each in $$ $(cat /proc/$$/task/$$/children); do cat /proc/$each/status; done |
        sed -n 's/VmHWM:[[:space:]]*\\([0-9]*\\).*/\\1/p' >> {sizes}
    done) < /dev/null > /dev/null 2>&1 & ;;
esac
exec {charmrun} "$@"
"""
    launcher = hosts.put(0, f"{_SHARED}/launcher", script, mode=0o755)
    words = ["+p6", "++nodelist", hosts.nodelist([1, 2, 3, 4, 5, 6]), "++branching", 2, "++launcher", launcher, "++timelimit", 5]
    run(hosts, charmrun, *words, "sleep", "60")
    kib = [int(line) for line in hosts.path(0, sizes).read_text().split()]
    assert len(kib) > 10 and max(kib) - _SMALL_KIB < _MOST_KIB, kib
