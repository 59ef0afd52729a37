# SPDX-License-Identifier: Apache-2.0
"""What is wrong is said once, in one line with host, phase, cause and what to do; the status is not 0,
nothing hangs, and nothing is left behind."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

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
    hosts: Sequence[str] = ("{h0}", "{bad}", "{h2}")


_DOUBLE = "{double}"
_UNCONFIRMED = "{bad}: did not confirm that the job has ended there"  # a fake launcher never does
_OTHERS_WAIT = "before registering, while (1 other waits|2 others wait) for it in the node table; "
_GONE = "start launcher: {launcher} not found; install charmrun there or name it with \\+\\+launcher PATH"


def _launcher(name: str) -> Sequence[str]:
    """The launcher of this name is in the first two homes but not, or not the same, on {bad}."""
    return ("+p3", "++launcher", f"{_HOME}/{name}")


_CASES = {
    "program missing on one host": Case(
        ["./app"],
        127,
        [r"{bad}: spawn: /home/ctuser/app: no such file; is its name right\? \+\+stage-program sends a program that is here"],
    ),
    "program missing on all hosts": Case(
        ["./nothing"], 127, [r"h\[.*\]: spawn: /home/ctuser/nothing: no such file; is its name right\? .* \(3 hosts\)"]
    ),
    "program not in any PATH": Case(
        ["no-such-program"], 127, [r"h\[.*\]: spawn: no-such-program: not found in PATH; is its name right\? .* \(3 hosts\)"]
    ),
    "program is a directory": Case(
        [f"{_HOME}/place"],
        126,
        [r"{bad}: spawn: /home/ctuser/place: no such file; .*", r"h\[.*\]: spawn: /home/ctuser/place: .*"],
    ),
    "program not executable on one host": Case(
        ["./tool"],
        126,
        [r"{bad}: spawn: /home/ctuser/tool: not executable \(Permission denied\); chmod \+x it"],
    ),
    "program of another architecture": Case(
        [f"{_SHARED}/alien"],
        126,
        [
            r"h\[.*\]: spawn: /home/shared/alien: not an executable of this host's architecture; build it"
            r" for this host, .* \(3 hosts\)"
        ],
    ),
    "interpreter missing": Case(
        [f"{_SHARED}/perl7"],
        126,
        [r"h\[.*\]: spawn: /home/shared/perl7: its interpreter or loader is missing; .* \(3 hosts\)"],
    ),
    "directory missing on one host": Case(
        ["true"],
        125,
        [
            r"{bad}: spawn: working directory /home/ctuser/place: No such file or directory;"
            r" \+\+make-wdir makes it there, .*"
        ],
        cwd=f"{_HOME}/place",
    ),
    "library missing on one host": Case(
        [f"{_SHARED}/linked"],
        127,
        [
            r"{bad}: start: process 1: exited with status 127: libgone.so: cannot open shared object file:"
            r" No such file or directory; see ldd and LD_LIBRARY_PATH there"
        ],
    ),
    "library missing while others wait": Case(
        [f"{_SHARED}/odd", "1", f"exec {_SHARED}/unlinked", _DOUBLE],
        127,
        [
            r"{bad}: start: process 1: exited with status 127: libgone.so: .* "
            + _OTHERS_WAIT
            + "see ldd and LD_LIBRARY_PATH there"
        ],
    ),
    "exit 0 before registering": Case(
        [_DOUBLE, "--exit-early", "0", "--process", "1"],
        125,
        [
            r"{bad}: start: process 1: exited with status 0 "
            + _OTHERS_WAIT
            + r"do all processes run the same program\?"
        ],
    ),
    "exit 7 before registering": Case(
        [_DOUBLE, "--exit-early", "7", "--process", "1"],
        7,
        [r"{bad}: start: process 1: exited with status 7 " + _OTHERS_WAIT + "see its output"],
    ),
    "killed before registering": Case(
        [f"{_SHARED}/odd", "1", "kill -9 $$", _DOUBLE],
        137,
        [r"{bad}: (start|run): process 1: killed by signal 9 \(SIGKILL: Killed\) \(status 137\); was it killed .* dmesg there"],
    ),
    "exit before the table": Case(
        [_DOUBLE, "--die-before-table", "--process", "1"],
        9,
        [
            r"{bad}: (run: process 1: exited with status 9 without the end of its protocol; did it call exit"
            rf" itself\?|start: process 1: exited with status 9 {_OTHERS_WAIT.rstrip()}) see its output"
        ],
    ),
    "killed after the table": Case(
        [_DOUBLE, "--kill-self", "9", "--process", "1"],
        137,
        [r"{bad}: run: process 1: killed by signal 9 \(SIGKILL: Killed\) \(status 137\); was it killed for want .*"],
    ),
    "crashed after the table": Case(
        [_DOUBLE, "--kill-self", "11", "--process", "1"],
        139,
        [r"{bad}: run: process 1: killed by signal 11 \(SIGSEGV: Segmentation fault\).* \(status 139\).*"],
    ),
    "aborted": Case(
        [_DOUBLE, "--abort", "no more fish", "--process", "1"],
        1,
        [r"{bad}: run: process 1: aborted: .*no more fish \(status 1\)"],
    ),
    "one never registers": Case(
        [f"{_SHARED}/odd", "1", "exec sleep 98765", _DOUBLE],
        125,
        [
            r"{bad}: start: 1 of 3 processes have not registered within 3 s; do they run the same program\?"
            r" see also \+\+timeout"
        ],
        options=["+p3", "++timeout", "3"],
    ),
    "plain program fails": Case(
        [f"{_SHARED}/odd", "1", "exit 4", "true"], 4, [r"{bad}: run: process 1: exited with status 4"]
    ),
    "plain programs fail": Case(
        ["false"], 1, [r"h..: run: process .: exited with status 1 \(the first of 3 that failed\)"]
    ),
    "plain program is killed": Case(
        [f"{_SHARED}/odd", "1", "kill -TERM $$", "sleep", "98765"],
        143,
        [r"{bad}: run: process 1: killed by signal 15 \(SIGTERM: Terminated\) \(status 143\)"],
    ),
    "no such host": Case(
        ["true"],
        125,
        [r"no-such-host: resolve: no such host; check the name, /etc/hosts and DNS"],
        hosts=["{h0}", "no-such-host", "{h2}"],
    ),
    "two hosts of no name": Case(
        ["true"],
        125,
        [r"nix\[1-2\]: resolve: no such host; check the name, /etc/hosts and DNS \(2 hosts\)"],
        hosts=["{h0}", "nix1", "nix2"],
    ),
    "login name that does not exist": Case(
        ["true"], 125, [r"{bad}: authenticate: .*"], hosts=["{h0}", "{bad} ++login nobody-here", "{h2}"]
    ),
    "remote shell missing": Case(
        ["true"],
        125,
        [r"{bad}: start launcher: no-such-shell: .*; check \+\+remote-shell and the nodelist's shell"],
        hosts=["{h0}", '{bad} ++shell "no-such-shell -x"', "{h2}"],
    ),
    "remote shell fails": Case(
        ["true"],
        125,
        [
            r"{bad}: start launcher: the remote shell ended before the launcher greeted \(exited with status"
            r" 3\): bad luck; .*"
        ],
        hosts=["{h0}", f"{{bad}} ++shell {_SHARED}/bad-shell", "{h2}"],
    ),
    "setup command fails": Case(
        ["true"],
        125,
        [r"{bad}: spawn: .*setup command failed with status 6: no modules; run it there by hand"],
        hosts=["{h0}", "{bad} ++setup 'echo no modules >&2; exit 6'", "{h2}"],
    ),
    "setup command hangs": Case(
        ["true"],
        125,
        [r"{bad}: spawn: .*setup command did not end in time.*; see \+\+timeout"],
        hosts=["{h0}", "{bad} ++setup 'sleep 98765'", "{h2}"],
        options=["+p3", "++timeout", "3"],
    ),
    "runscript missing": Case(
        ["true"],
        127,
        [r"h\[.*\]: spawn: /home/ctuser/no-script: no such file; .* \(3 hosts\)"],
        options=["+p3", "++runscript", "no-script"],
    ),
    "launcher missing on one host": Case(
        ["true"],
        125,
        [r"{bad}: " + _GONE.replace("{launcher}", "/home/ctuser/copied")],
        options=_launcher("copied"),
    ),
    "launcher of another version": Case(
        ["true"],
        125,
        [
            r"{bad}: hello: charmrun there is version 9.9 \(protocol 77\), here .*; install the same"
            r" charmrun .*"
        ],
        options=_launcher("other-version"),
    ),
    "launcher of another architecture": Case(
        ["true"],
        125,
        [r"{bad}: start launcher: /home/ctuser/other-arch is for another architecture; use pathfix .*"],
        options=_launcher("other-arch"),
    ),
    "launcher not executable": Case(
        ["true"],
        125,
        [
            r"{bad}: start launcher: /home/ctuser/not-executable cannot be executed \(permission denied\);"
            r" check .*"
        ],
        options=_launcher("not-executable"),
    ),
    "launcher without a library": Case(
        ["true"],
        125,
        [r"{bad}: start launcher: .*libgone.so.*; install charmrun there .*"],
        options=_launcher("no-library"),
    ),
    "launcher crashes after the greeting": Case(
        ["sleep", "98765"],
        125,
        [r"{bad}: run: lost the launcher there \(.*\): out of luck", _UNCONFIRMED],
        options=_launcher("crashes"),
    ),
    "launcher is killed after the greeting": Case(
        ["sleep", "98765"],
        125,
        [
            (
                r"{bad}: run: lost the launcher there \(killed by signal KILL\); was it killed for want of"
                r" memory\? see dmesg there"
            ),
            _UNCONFIRMED,
        ],
        options=_launcher("killed"),
    ),
    "launcher speaks nonsense": Case(
        ["sleep", "98765"],
        125,
        [r"{bad}: run: garbage came from the launcher there: .*; is it the same charmrun .*", _UNCONFIRMED],
        options=_launcher("nonsense"),
    ),
    "launcher hangs after the greeting": Case(
        ["sleep", "98765"],
        125,
        [r"{bad}: hello: no news from its launcher for 6 s; see \+\+timeout", _UNCONFIRMED],
        options=[*_launcher("hangs"), "++timeout", "2"],
    ),
    "launcher never greets": Case(
        ["sleep", "98765"],
        125,
        [r"{bad}: hello: no answer from the launcher within 2 s; is its login shell .*"],
        options=[*_launcher("silent"), "++timeout", "2"],
    ),
}


@pytest.fixture(scope="module")
def greeting(charmrun: Path) -> str:
    done = subprocess.run(
        [charmrun, "++launcher"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, text=True
    )
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
            hosts.put(index, "place/x", "")
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
        subprocess.run(
            ["cc", source, "-o", shared / name, f"-L{library.parent}", "-lgone", f"-Wl,-rpath,{where}"],
            check=True,
        )
        (shared / name).chmod(0o755)


@pytest.fixture
def hosts(cluster: Factory, charmrun: Path, greeting: str) -> Iterator[Cluster]:
    hosts = cluster(26)
    _furnish(hosts, charmrun, greeting)
    yield hosts


def _start(hosts: Cluster, charmrun: Path, case: Case, group: Sequence[int]) -> tuple[Job, dict[str, str]]:
    names = {"h0": hosts.names[group[0]], "bad": hosts.names[group[1]], "h2": hosts.names[group[2]]}
    listed = hosts.nodelist([one.format(**names) for one in case.hosts])
    double = str(charmrun.parent / "charm_double")
    words = [*case.options, "++nodelist", listed, *(word.replace(_DOUBLE, double) for word in case.argv)]
    return Job(hosts, group, [charmrun, *words], cwd=case.cwd), names


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
