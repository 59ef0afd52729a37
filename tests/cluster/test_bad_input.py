# SPDX-License-Identifier: Apache-2.0
"""What is wrong is said once, in one line with host, phase, cause and what to do; the status is not 0,
nothing hangs, and nothing is left behind."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from vc_job import Job, leftovers
from vcluster import Cluster

Factory = Callable[..., Cluster]
_HOME = "/home/ctuser"
_SHARED = "/home/shared"

# A program that looks at its process number first: $1 is the number of the odd one, $2 what that one does,
# the rest is what all others do.
_ODD_ONE = '#!/bin/sh\nodd=$1; deed=$2; shift 2\n[ $CHARMTREE_PROCESS = $odd ] && eval "$deed"\nexec "$@"\n'


@dataclass(frozen=True)
class Case:
    """One bad job on three hosts, {bad} being the middle one, which has its own home.

    lines: what charmrun says is wrong, as regular expressions for whole lines (without
    `charmrun: error: `), in any order and nothing else; {h0}, {bad}, {h2} are host names.
    """

    argv: Sequence[str]
    status: int
    lines: Sequence[str]
    options: Sequence[str] = ("+p3",)
    cwd: str | None = None
    extra: str = ""  # for the nodelist
    hosts: Sequence[str] = ("{h0}", "{bad}", "{h2}")
    stdout: str = ""  # must be in stdout
    launch: Sequence[str] = field(default=())  # before charmrun


_DOUBLE = "{double}"
_UNCONFIRMED = "{bad}: did not confirm that the job has ended there"  # a fake launcher never does
_OTHERS_WAIT = "before registering, while [12] others wait for it in the node table"
_GONE = "start launcher: {launcher} not found; install charmrun there or name it with \\+\\+launcher PATH"


def _launcher(name: str) -> Sequence[str]:
    """The launcher of this name is in the first two homes but not, or not the same, on {bad}."""
    return ("+p3", "++launcher", f"{_HOME}/{name}")


_CASES = {
    "program missing on one host": Case(
        ["./app"], 127, [r"{bad}: spawn: /home/ctuser/app: no such file; copy it there or use a shared file system"]
    ),
    "program missing on all hosts": Case(
        ["./nothing"], 127, [r"h\[.*\]: spawn: /home/ctuser/nothing: no such file; copy .* \(3 hosts\)"]
    ),
    "program not in any PATH": Case(
        ["no-such-program"], 127, [r"h\[.*\]: spawn: no-such-program: not found in PATH; copy .* \(3 hosts\)"]
    ),
    "program is a directory": Case(
        [f"{_HOME}/work"], 126, [r"{bad}: spawn: /home/ctuser/work: no such file; .*", r"h\[.*\]: spawn: /home/ctuser/work: .*"]
    ),
    "program not executable on one host": Case(
        ["./tool"], 126, [r"{bad}: spawn: /home/ctuser/tool: not executable \(Permission denied\); chmod \+x it"]
    ),
    "program of another architecture": Case(
        [f"{_SHARED}/alien"], 126, [r"h\[.*\]: spawn: /home/shared/alien: not an executable of this host's architecture.* \(3 hosts\)"]
    ),
    "interpreter missing": Case(
        [f"{_SHARED}/perl7"], 126, [r"h\[.*\]: spawn: /home/shared/perl7: its interpreter or loader is missing; .* \(3 hosts\)"]
    ),
    "directory missing on one host": Case(
        ["true"], 125, [r"{bad}: spawn: working directory /home/ctuser/work: No such file or directory; create it there, .*"], cwd=f"{_HOME}/work"
    ),
    "library missing on one host": Case(
        [f"{_SHARED}/linked"], 127,
        [r"{bad}: process 1: exited with status 127: libgone.so: cannot open shared object file: No such file or directory"],
    ),
    "library missing while others wait": Case(
        [f"{_SHARED}/odd", "1", f"exec {_SHARED}/unlinked", _DOUBLE], 127,
        [r"{bad}: process 1: exited with status 127: libgone.so: .* " + _OTHERS_WAIT],
    ),
    "exit 0 before registering": Case(
        [_DOUBLE, "--exit-early", "0", "--process", "1"], 125, [r".*1 of 3 processes exited with status 0 " + _OTHERS_WAIT]
    ),
    "exit 7 before registering": Case(
        [_DOUBLE, "--exit-early", "7", "--process", "1"], 7, [r"{bad}: process 1: exited with status 7 " + _OTHERS_WAIT]
    ),
    "killed before registering": Case(
        [f"{_SHARED}/odd", "1", "kill -9 $$", _DOUBLE], 137, [r"{bad}: process 1: killed by signal 9 \(Killed\)"]
    ),
    "exit before the table": Case(
        [_DOUBLE, "--die-before-table", "--process", "1"], 9, [r"{bad}: process 1: exited with status 9 (without the end of its protocol|" + _OTHERS_WAIT + ")"]
    ),
    "killed after the table": Case(
        [_DOUBLE, "--kill-self", "9", "--process", "1"], 137, [r"{bad}: process 1: killed by signal 9 \(Killed\)"]
    ),
    "crashed after the table": Case(
        [_DOUBLE, "--kill-self", "11", "--process", "1"], 139, [r"{bad}: process 1: killed by signal 11 \(Segmentation fault\).*"]
    ),
    "aborted": Case(
        [_DOUBLE, "--abort", "no more fish", "--process", "1"], 1, [r"{bad}: process 1: aborted: .*no more fish"]
    ),
    "one never registers": Case(
        [f"{_SHARED}/odd", "1", "exec sleep 98765", _DOUBLE], 125,
        [r"{bad}: start: 1 of 3 processes have not registered within 3 s; do they run the same program\? see also \+\+timeout"],
        options=["+p3", "++timeout", "3"],
    ),
    "plain program fails": Case([f"{_SHARED}/odd", "1", "exit 4", "true"], 4, [r"{bad}: process 1: exited with status 4"]),
    "plain programs fail": Case(["false"], 1, [r"h..: process .: exited with status 1 \(the first of 3 that failed\)"]),
    "plain program is killed": Case(
        [f"{_SHARED}/odd", "1", "kill -TERM $$", "sleep", "98765"], 143, [r"{bad}: process 1: killed by signal 15 \(Terminated\)"]
    ),
    "no such host": Case(["true"], 125, [r"no-such-host: resolve: no such host; check the name, /etc/hosts and DNS"], hosts=["{h0}", "no-such-host", "{h2}"]),
    "two hosts of no name": Case(
        ["true"], 125, [r"nix\[1-2\]: resolve: no such host; check the name, /etc/hosts and DNS \(2 hosts\)"], hosts=["{h0}", "nix1", "nix2"]
    ),
    "login name that does not exist": Case(
        ["true"], 125, [r"{bad}: authenticate: .*"], hosts=["{h0}", "{bad} ++login nobody-here", "{h2}"]
    ),
    "remote shell missing": Case(
        ["true"], 125, [r"{bad}: start launcher: no-such-shell: .*; check \+\+remote-shell and the nodelist's shell"],
        hosts=["{h0}", '{bad} ++shell "no-such-shell -x"', "{h2}"],
    ),
    "remote shell fails": Case(
        ["true"], 125, [r"{bad}: start launcher: the remote shell ended before the launcher greeted \(exited with status 3\): bad luck; .*"],
        hosts=["{h0}", f"{{bad}} ++shell {_SHARED}/bad-shell", "{h2}"],
    ),
    "setup command fails": Case(
        ["true"], 125, [r"{bad}: spawn: .*setup command failed with status 6: no modules"],
        hosts=["{h0}", "{bad} ++setup 'echo no modules >&2; exit 6'", "{h2}"],
    ),
    "setup command hangs": Case(
        ["true"], 125, [r"{bad}: spawn: .*setup command did not end in time.*; see \+\+timeout"],
        hosts=["{h0}", "{bad} ++setup 'sleep 98765'", "{h2}"], options=["+p3", "++timeout", "3"],
    ),
    "runscript missing": Case(
        ["true"], 127, [r"h\[.*\]: spawn: /home/ctuser/no-script: no such file; .* \(3 hosts\)"],
        options=["+p3", "++runscript", "no-script"],
    ),
    "launcher missing on one host": Case(["true"], 125, [r"{bad}: " + _GONE.replace("{launcher}", "/home/ctuser/copied")], options=_launcher("copied")),
    "launcher of another version": Case(
        ["true"], 125, [r"{bad}: hello: charmrun there is version 9.9 \(protocol 77\), here .*; install the same charmrun .*"], options=_launcher("other-version")
    ),
    "launcher of another architecture": Case(
        ["true"], 125, [r"{bad}: start launcher: /home/ctuser/other-arch is for another architecture; use pathfix .*"], options=_launcher("other-arch")
    ),
    "launcher not executable": Case(
        ["true"], 125, [r"{bad}: start launcher: /home/ctuser/not-executable cannot be executed \(permission denied\); check .*"], options=_launcher("not-executable")
    ),
    "launcher without a library": Case(
        ["true"], 125, [r"{bad}: start launcher: .*libgone.so.*; install charmrun there .*"], options=_launcher("no-library")
    ),
    "launcher crashes after the greeting": Case(
        ["sleep", "98765"], 125, [r"{bad}: run: lost the launcher there \(.*\): out of luck", _UNCONFIRMED], options=_launcher("crashes")
    ),
    "launcher is killed after the greeting": Case(
        ["sleep", "98765"], 125, [r"{bad}: run: lost the launcher there \(killed by signal KILL\); was it killed for want of memory\? see dmesg there", _UNCONFIRMED], options=_launcher("killed")
    ),
    "launcher speaks nonsense": Case(
        ["sleep", "98765"], 125, [r"{bad}: run: garbage came from the launcher there: .*; is it the same charmrun .*", _UNCONFIRMED], options=_launcher("nonsense")
    ),
    "launcher hangs after the greeting": Case(
        ["sleep", "98765"], 125, [r"{bad}: hello: no news from its launcher for 6 s; see \+\+timeout", _UNCONFIRMED],
        options=[*_launcher("hangs"), "++timeout", "2"],
    ),
    "launcher never greets": Case(
        ["sleep", "98765"], 125, [r"{bad}: hello: no answer from the launcher within 2 s; is its login shell .*"],
        options=[*_launcher("silent"), "++timeout", "2"],
    ),
}


@pytest.fixture(scope="module")
def greeting(charmrun: Path) -> str:
    done = subprocess.run([charmrun, "++launcher"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, text=True)
    assert done.stdout.startswith("@charmtree-launcher ")
    return done.stdout.splitlines()[0]


_OWN = (1, 5, 9, 13, 17, 21, 25)  # hosts with their own home, each the middle of three
_GROUPS = [(one - 1, one, one + 1) for one in _OWN if one != 25] + [(24, 25, 23)]


def _furnish(hosts: Cluster, charmrun: Path, greeting: str) -> None:
    """Programs and launchers that are there, or good, only in the shared home."""
    wait = "exec cat >/dev/null"
    fakes = {
        "other-version": f"echo '@charmtree-launcher 9.9 (protocol 77)'; {wait}",
        "crashes": f"echo '{greeting}'; sleep 0.2; echo out of luck >&2; exit 3",
        "killed": f"echo '{greeting}'; sleep 0.2; kill -9 $$",
        "nonsense": f"echo '{greeting}'; head -c 100000 /dev/urandom; {wait}",
        "hangs": f"echo '{greeting}'; {wait}",
        "silent": wait,
    }
    alien = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xb7\x00\x01\x00\x00\x00" + bytes(200)
    hosts.put_everywhere(".bashrc", "")
    for index in (0, *_OWN):
        shared = index == 0
        home = lambda name: hosts.path(index, f"{_HOME}/{name}")  # noqa: E731, B023
        for name in ("copied", *fakes, "other-arch", "not-executable", "no-library"):
            if shared:
                home(name).symlink_to(charmrun)
            elif name in fakes:
                hosts.put(index, name, f"#!/bin/sh\n{fakes[name]}\n", mode=0o755)
        hosts.put(index, "tool", "#!/bin/sh\n", mode=0o755 if shared else 0o644)
        if shared:
            hosts.put(index, "app", "#!/bin/sh\n", mode=0o755)
            hosts.put(index, "work/x", "")
        else:
            home("other-arch").write_bytes(alien)
            home("other-arch").chmod(0o755)
            hosts.put(index, "not-executable", "#!/bin/sh\n", mode=0o644)
            home("no-library").symlink_to(f"{_SHARED}/unlinked")
    hosts.put(0, f"{_SHARED}/odd", _ODD_ONE, mode=0o755)
    hosts.put(0, f"{_SHARED}/bad-shell", "#!/bin/sh\necho bad luck >&2\nexit 3\n", mode=0o755)
    hosts.put(0, f"{_SHARED}/perl7", "#!/usr/bin/no-perl7\n", mode=0o755)
    hosts.path(0, f"{_SHARED}/alien").write_bytes(alien)
    hosts.path(0, f"{_SHARED}/alien").chmod(0o755)
    _build_linked(hosts)


def _build_linked(hosts: Cluster) -> None:
    """`linked` finds its library in the shared home only, `unlinked` nowhere."""
    source = hosts.path(0, f"{_SHARED}/linked.c")
    source.write_text("int gone(void);\nint main(void) { return gone(); }\n")
    library = hosts.path(0, f"{_HOME}/lib/libgone.so")
    library.parent.mkdir(exist_ok=True)
    shared = hosts.path(0, _SHARED)
    body = subprocess.Popen(["cc", "-shared", "-fPIC", "-xc", "-", "-o", library], stdin=subprocess.PIPE)
    body.communicate(b"int gone(void) { return 0; }\n")
    for name, where in (("linked", f"{_HOME}/lib"), ("unlinked", "/nowhere")):
        subprocess.run(["cc", source, "-o", shared / name, f"-L{library.parent}", "-lgone", f"-Wl,-rpath,{where}"], check=True)
        (shared / name).chmod(0o755)


@pytest.fixture
def hosts(cluster: Factory, charmrun: Path, greeting: str) -> Iterator[Cluster]:
    hosts = cluster(26)
    _furnish(hosts, charmrun, greeting)
    yield hosts


def _start(hosts: Cluster, charmrun: Path, case: Case, group: Sequence[int]) -> tuple[Job, dict[str, str]]:
    names = {"h0": hosts.names[group[0]], "bad": hosts.names[group[1]], "h2": hosts.names[group[2]]}
    listed = hosts.nodelist([one.format(**names) for one in case.hosts], case.extra)
    double = str(charmrun.parent / "charm_double")
    words = [*case.options, "++nodelist", listed, *(word.replace(_DOUBLE, double) for word in case.argv)]
    return Job(hosts, group, [*case.launch, charmrun, *words], cwd=case.cwd), names


def _complaints(job: Job, case: Case, names: dict[str, str]) -> list[str]:
    """What is wrong with how the job ended."""
    status, errors = job.wait(), job.errors
    wrong = [] if status == case.status else [f"status {status} instead of {case.status}"]
    patterns = [re.sub(r"\{(h0|bad|h2)\}", lambda m: names[m[1]], line) for line in case.lines]
    for pattern in patterns:
        matching = [line for line in errors if re.fullmatch(pattern, line)]
        if len(matching) != 1:
            wrong.append(f"{len(matching)} lines like: {pattern}")
        errors = [line for line in errors if line not in matching]
    wrong += [f"unexpected line: {line}" for line in errors]
    return [*wrong, job.said()] if wrong else []


def test_mistakes_of_users_on_three_hosts(hosts: Cluster, charmrun: Path) -> None:
    wrong: list[str] = []
    waiting = list(_CASES.items())
    while waiting:
        batch, waiting = waiting[: len(_GROUPS)], waiting[len(_GROUPS) :]
        jobs = {
            label: (*_start(hosts, charmrun, case, group), case)
            for (label, case), group in zip(batch, _GROUPS, strict=False)
        }
        for label, (job, names, case) in jobs.items():
            wrong += [f"== {label}: {text}" for text in _complaints(job, case, names)]
        wrong += [f"left by {list(jobs)}: {line}" for line in leftovers(job for job, _, _ in jobs.values())]
    assert not wrong, "\n".join(wrong)


# -- hosts that cannot be reached or used ------------------------------------------------------------

_LISTENER = """
import socket, sys, time
server = socket.create_server(("0.0.0.0", 22))
kept = []
while True:
    kept.append(server.accept()[0])
    if sys.argv[1] == "http":
        kept[-1].sendall(b"HTTP/1.1 400 Bad Request\\r\\n\\r\\n")
    if sys.argv[1] != "silent":
        kept.pop().close()
"""


class Broken:
    """A cluster whose hosts from h03 on are all broken, each in its own way: `ways` says which by name."""

    def __init__(self, hosts: Cluster) -> None:
        self.hosts = hosts
        self.ways: dict[str, str] = {}
        self._next = 3
        self._break()

    def _name(self, way: str) -> int:
        index, self._next = self._next, self._next + 1
        self.ways[way] = self.hosts.names[index]
        return index

    def _break(self) -> None:
        hosts = self.hosts
        hosts.no_sshd(self._name("no sshd"))
        hosts.sshd(self._name("key refused"), {"AuthorizedKeysFile": "none"})
        changed = self._name("key changed")
        hosts.known_hosts(wrong=[changed], without=[self._name("key unknown")])
        for kind in ("silent", "http", "close"):
            listener = self._name(f"port 22 {kind}")
            hosts.no_sshd(listener)
            hosts.popen(listener, ["python3", "-c", _LISTENER, kind], user="root")
        commands = {
            "nologin": "echo This account is not available; exit 1",
            "flood": "yes",
            "few descriptors": "ulimit -n 7; eval $SSH_ORIGINAL_COMMAND",
            "shell dies": "kill -9 $$",
        }
        for way, command in commands.items():
            hosts.sshd(self._name(way), {"ForceCommand": command})
        hosts.sshd(self._name("no commands"), {"PermitTTY": "no", "MaxSessions": 0})
        self._break_own()

    def _break_own(self) -> None:
        """Hosts with a home and /tmp of their own."""
        hosts = self.hosts
        hosts.put(self._name("shell hangs"), ".bashrc", "exec sleep 98765\n")
        folder = f"/tmp/charmtree-{hosts.user('ctuser').uid}"
        stolen = self._name("folder of another user")
        hosts.exec_root(stolen, ["install", "-d", "-o", "ctother", "-m", "0777", folder], check=True)
        linked = self._name("folder is a link")
        hosts.exec_root(linked, ["ln", "-s", "/tmp", folder], check=True)
        full = self._name("full /tmp")
        hosts.exec_root(full, ["mkdir", folder], check=True)
        options = f"size=4k,nr_inodes=1,mode=700,uid={hosts.user('ctuser').uid}"
        hosts.exec_root(full, ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
        hosts.exec_root(self._name("unwritable /tmp"), ["chmod", "555", "/tmp"], check=True)


_BROKEN_HOSTS = 20
_TMP = "/tmp/charmtree-[0-9]+"
_REASONS = {
    "no sshd": r"connect: connection refused.*; is sshd running there.*",
    "key refused": r"authenticate: .*; set up a key \(ssh-copy-id\) .*",
    "key changed": r"host key: .*; .*ssh-keygen -R.*",
    "key unknown": r"host key: .*; .*accept-new-host-keys.*",
    "port 22 silent": r"(handshake: no answer within 6 s|connect: timed out); is the host .*",
    "port 22 http": r"handshake: (this is not an ssh server.*; check the port|sshd closed the connection.*)",
    "port 22 close": r"handshake: .*MaxStartups.*",
    "nologin": r"start launcher: .*: This account is not available; does .*",
    "flood": r"hello: more than \d+ KiB of other output before .*; silence the shell's start-up files there",
    "few descriptors": r"start launcher: .*Too many open files; .*",
    "shell dies": r"start launcher: .*(killed by signal KILL|status 255).*; does `ssh HOST true` work\?",
    "no commands": r"start launcher: .*; (see MaxSessions in its sshd_config|does .*)",
    "shell hangs": r"hello: no answer from the launcher within (6|12) s; is its login shell .*",
    "folder of another user": rf"spawn: {_TMP} is not a private folder of ours .*; remove it there .*",
    "folder is a link": rf"spawn: {_TMP} is not a private folder of ours .*; remove it there .*",
    "full /tmp": rf"spawn: cannot listen on {_TMP}/.*: No space left on device.*",
    "unwritable /tmp": rf"spawn: {_TMP}: Permission denied; .*",
}


@pytest.fixture(scope="module")
def broken() -> Iterator[Broken]:
    with Cluster(_BROKEN_HOSTS + 5, own=range(15, _BROKEN_HOSTS)) as hosts:
        yield Broken(hosts)


def _line_of(errors: list[str], name: str) -> list[str]:
    """What was said about a host, folded lines included."""
    number = int(name[1:])

    def holds(names: str) -> bool:
        inside = re.fullmatch(r"h\[(.*)\]", names)
        parts = inside[1].split(",") if inside else [names[1:]] if re.fullmatch(r"h\d+", names) else []
        ranges = [[int(end) for end in part.split("-")] for part in parts]
        return any(ends[0] <= number <= ends[-1] for ends in ranges)

    return [line for line in errors if any(holds(names) for names in re.split(r", (?=[a-z])", line.split(": ")[0]))]


@pytest.mark.parametrize("transport", ["built-in ssh", "ssh command"])
def test_all_bad_hosts_are_listed_in_one_run(broken: Broken, charmrun: Path, transport: str) -> None:
    hosts = broken.hosts
    listed = [*range(_BROKEN_HOSTS), "no-such-host", "blackhole"]
    options = ["++timeout", "6", *(["++remote-shell", "ssh"] if transport == "ssh command" else [])]
    job = Job(hosts, [0, 1, 2], [charmrun, "+p22", *options, "++nodelist", hosts.nodelist(listed), "sleep", "98765"])
    assert job.wait(90) == 125, job.said()
    wrong = []
    for way, reason in _REASONS.items():
        lines = _line_of(job.errors, broken.ways[way])
        if len(lines) != 1 or not re.fullmatch(rf"[^:]*: {reason}( \(\d+ hosts\))?", lines[0]):
            wrong.append(f"{way} ({broken.ways[way]}): {lines}")
    for name, reason in (("no-such-host", "resolve: .*; check .*"), ("blackhole", "connect: .*; is the host up.*")):
        if not [line for line in job.errors if re.fullmatch(rf"([^:]*, )?{name}: {reason}", line)]:
            wrong.append(f"{name}: not reported")
    wrong += leftovers([job])
    assert not wrong, "\n".join([*wrong, job.said()])


# -- what is refused before anything is started -----------------------------------------------------

_USAGE = {
    "no program": ([], r"no program was given; charmrun \[options\] program \[arguments\]; .*"),
    "unknown option": (["++nodelsit", "x", "true"], r"unknown option '\+\+nodelsit'; did you mean \+\+nodelist\? .*"),
    "unknown option without a guess": (["++zzzzzz", "true"], r"unknown option '\+\+zzzzzz'; \+\+help lists all; .*"),
    "one dash": (["-nodelist", "x", "true"], r"charmrun does not know the option '-nodelist'; did you mean \+\+nodelist\?"),
    "value missing": (["true", "++nodelist"], r"'\+\+nodelist' needs a value: \+\+nodelist FILE"),
    "value is an option": (["++nodelist", "++local", "true"], r"'\+\+nodelist' needs a value, but '\+\+local' follows: .*"),
    "not a number": (["+p4x", "true"], r"\+\+p cannot be '4x'; it takes a whole number from 0 to \d+"),
    "too large": (["+p99999999999999999999", "true"], r"\+\+p cannot be '9+'; it takes a whole number from 0 to \d+"),
    "negative": (["++timeout", "-3", "true"], r"\+\+timeout cannot be '-3'; it takes seconds above 0.*"),
    "twice": (["++n", "2", "++n", "3", "true"], r"'\+\+n' is used more than once; leave one of them out"),
    "control characters": (["++\x1b[31mred", "true"], r"unknown option '\+\+\?\[31mred'; .*"),
    "list and virtual hosts": (["++hosts", "2", "++nodelist", "x", "true"], r"\+\+hosts and \+\+nodelist exclude each other; .*"),
    "no such list": (["++nodelist", "/no/such/list", "true"], r"cannot read /no/such/list: No such file or directory.*"),
    "list is a directory": (["++nodelist", "/home", "true"], r"cannot read /home: Is a directory.*"),
    "list is secret": (["++nodelist", "/etc/shadow", "true"], r"cannot read /etc/shadow: Permission denied.*"),
    "list is a device": (["++nodelist", "/dev/zero", "true"], r"/dev/zero is longer than 64 MiB.*"),
    "list is empty": (["++nodelist", "/dev/null", "true"], r"/dev/null: it names no host; .*"),
    "no such group": (["++nodelist", "{list}", "++nodegroup", "gpu", "true"], r".*: group 'gpu' has no host; groups with hosts: main .*"),
    "list of binary": (["++nodelist", "{charmrun}", "true"], r".*/charmrun:1:\d+: .*"),
    "timeline of no format": (["++timeline", "x.gif", "true"], r".*x\.gif.*"),
    "more processes than can be": (["++n", "4000000000", "true"], r"\+\+n cannot be '4000000000'; it takes .*"),
}


def test_mistakes_on_the_command_line(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(26)
    listed = hosts.nodelist(2)
    wrong = []
    for label, (words, pattern) in _USAGE.items():
        words = [word.format(list=listed, charmrun=charmrun) for word in words]
        done = hosts.run(0, [charmrun, *words], timeout=60)
        lines = done.stderr.splitlines()
        if done.returncode != 125 or not lines or not re.fullmatch("charmrun: error: " + pattern, lines[0]):
            wrong.append(f"{label}: status {done.returncode}: {done.stderr}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("text", "where", "caret"),
    [
        ("group main\n  host h00 ++cpus two\n", "2:19: cpus needs a whole number", "host h00 ++cpus two"),
        ("group main\n# fine\n\n host h00\n host h[1-\n", "5:11: the range has no upper end", "host h[1-"),
        ("group main\n host 'h00\n", "2:7: this quote is not closed", "host 'h00"),
        ("group main\n host -oProxyCommand=evil\n", "2:7: a host name cannot begin with '-'", "host -oProxyCommand=evil"),
    ],
)
def test_a_mistake_in_a_nodelist_is_shown_in_its_line(
    cluster: Factory, charmrun: Path, text: str, where: str, caret: str
) -> None:
    hosts = cluster(26)
    path = hosts.put(0, f"{_SHARED}/bad-nodes", text)
    done = hosts.run(0, [charmrun, "+p2", "++nodelist", path, "true"])
    lines = done.stderr.splitlines()
    assert done.returncode == 125, done.stderr
    assert lines[0].startswith(f"charmrun: error: {path}:{where}"), done.stderr
    column = int(where.split(":")[1])
    assert lines[1].strip() == caret and lines[2].strip() == "^", done.stderr
    shown = lines[1].index(caret)
    assert lines[2].index("^") - shown == column - 1 - text.splitlines()[int(where[0]) - 1].index(caret)


# -- a machine that has not enough of something -----------------------------------------------------


_SCARCE = {
    "descriptors of the root": ("ulimit -n 30", ["++hosts", "40", "+p40", "true"], r".*out of file descriptors.*; raise ulimit -n.*"),
    "no descriptors": ("ulimit -n 8", ["++local", "+p2", "true"], r".*(Too many open files|out of file descriptors).*; .*ulimit.*"),
    "processes": ("ulimit -u 1", ["++local", "+p2", "true"], r"Resource temporarily unavailable; see ulimit -a"),
    "stdout full": ("exec >/dev/full", ["++local", "+p2", "echo", "hi"], r"cannot write to stdout: No space left on device"),
}


@pytest.mark.parametrize("what", _SCARCE)
def test_want_of_resources_is_said(cluster: Factory, charmrun: Path, what: str) -> None:
    limit, words, pattern = _SCARCE[what]
    hosts = cluster(26)
    job = Job(hosts, [2], ["bash", "-c", f'{limit}; exec "$@"', "bash", charmrun, *words])
    status, errors = job.wait(), job.errors
    assert status == 125 and errors and all(re.fullmatch(pattern, line) for line in errors), job.said()
    assert not leftovers([job])


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "</dev/null", "</etc/passwd"])
def test_standard_descriptors_may_be_closed_or_files(cluster: Factory, charmrun: Path, closed: str) -> None:
    hosts = cluster(26)
    for counts in (["++local"], ["++hosts", "3"]):
        script = f'"$@" {closed}'
        job = Job(hosts, [2], ["bash", "-c", script, "bash", charmrun, *counts, "+p3", "sh", "-c", "cat; echo done"])
        assert job.wait() == 0, job.said()
        assert job.out.count("done\n") == (0 if ">&-" in closed.replace("2>&-", "") else 3), job.said()
        assert not leftovers([job])


def test_an_output_pipe_that_is_closed_ends_the_job_quietly(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(26)
    script = '"$@" | head -1; echo ${PIPESTATUS[0]}'
    listed = hosts.nodelist(3)
    job = Job(hosts, [0, 1, 2], ["bash", "-c", script, "bash", charmrun, "+p3", "++nodelist", listed, "yes"])
    assert job.wait() == 0
    assert job.out == f"y\n{128 + signal.SIGPIPE}\n" and job.err == "", job.said()
    assert not leftovers([job])


def test_an_output_reader_that_sleeps_loses_nothing(cluster: Factory, charmrun: Path) -> None:
    """Six processes print 5 MB each while nobody reads for a while; memory stays bounded."""
    hosts = cluster(26)
    script = '"$@" | (sleep 2; wc -lc)'
    count = "for i in $(seq 6); do seq 1000000 1125000; done"
    argv = ["bash", "-c", script, "bash", charmrun, "+p6", "++nodelist", hosts.nodelist(3), "bash", "-c", count]
    job = Job(hosts, [0, 1, 2], argv)
    peak = 0
    while job.root.poll() is None:
        peak = max([peak, *(_resident_kb(one.pid) for one in job.running("charmrun"))])
    assert job.wait() == 0 and job.out.split() == ["4500036", "36000288"], job.said()
    assert peak < 64 << 10, f"{peak} KiB resident"
    assert not leftovers([job])


def _resident_kb(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    found = re.search(r"VmRSS:\s*(\d+) kB", status)
    return int(found[1]) if found else 0
