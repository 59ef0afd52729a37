# SPDX-License-Identifier: Apache-2.0
"""The guardian of a launcher that is stopped or spins while its link ends (DESIGN D9). A launcher here is one that
was just started, on this machine, and its link a pipe or a socket that the test holds."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from vc_faults import wait_until
from vc_job import patience, pause

from spinning import make_spin

LOOKS_S = 5.0  # so long it must have been stopped
BOUND_S = 10.0  # docs/manual/guarantees.md, "Nothing stays behind"


class Link:
    """`charmrun ++launcher`; its own pid is the guardian's."""

    def __init__(self, charmrun: Path, kind: str) -> None:
        if kind == "socket":
            ours, theirs = (end.detach() for end in socket.socketpair())
            self._ends, given = [ours], [theirs, theirs]
        else:
            (their_in, ours_in), (ours_out, their_out) = os.pipe(), os.pipe()
            self._ends, given = [ours_in, ours_out], [their_in, their_out]
        self.guardian = subprocess.Popen([charmrun, "++launcher"], stdin=given[0], stdout=given[1])
        for fd in set(given):
            os.close(fd)
        assert self.read()  # its greeting
        children = Path(f"/proc/{self.guardian.pid}/task/{self.guardian.pid}/children")
        self.launcher = int(children.read_text(encoding="ascii"))

    def let_go(self) -> None:
        """The guardian, which its launcher does not wait for, has closed what it was started with."""
        wait_until(lambda: os.readlink(f"/proc/{self.guardian.pid}/fd/1") == os.devnull, patience(LOOKS_S))
        assert os.readlink(f"/proc/{self.guardian.pid}/fd/1") == os.devnull

    def read(self) -> bytes:
        return os.read(self._ends[-1], 4096)

    def stop(self) -> None:
        os.kill(self.launcher, signal.SIGSTOP)

    def end(self) -> None:
        for fd in self._ends:
            os.close(fd)
        self._ends = []

    def close(self) -> None:
        self.end()
        if self.guardian.poll() is None:
            self.guardian.kill()
            os.kill(self.launcher, signal.SIGKILL)
            self.guardian.wait()


@pytest.fixture
def start(charmrun: Path) -> Iterator[Callable[[str], Link]]:
    links: list[Link] = []

    def begin(kind: str) -> Link:
        links.append(Link(charmrun, kind))
        return links[-1]

    yield begin
    for one in links:
        one.close()


def _wake_ups(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    found = re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status, re.MULTILINE)
    assert found
    return int(found[1])


Start = Callable[[str], Link]


def test_a_launcher_that_is_stopped_when_its_link_ends_is_killed(start: Start) -> None:
    links = [start("pipe"), start("socket")]
    for one in links:
        one.stop()
    _end_and_expect_kills(links)


def test_a_launcher_that_spins_when_its_link_ends_is_killed(start: Start) -> None:
    """Whatever it is doing: also if it was to stop on SIGTERM."""
    links = [start("pipe"), start("socket")]
    for one in links:
        one.let_go()
        make_spin(one.launcher)
    os.kill(links[0].launcher, signal.SIGTERM)
    _end_and_expect_kills(links)


def _end_and_expect_kills(links: list[Link]) -> None:
    for one in links:
        one.end()
    begin = time.monotonic()
    for one in links:
        assert one.guardian.wait(patience(BOUND_S)) == -signal.SIGKILL
        assert time.monotonic() - begin >= LOOKS_S
        assert not Path(f"/proc/{one.launcher}").exists()


def test_one_that_goes_on_in_time_ends_by_itself(start: Start) -> None:
    """As does one that was not stopped at all."""
    one, other = start("pipe"), start("pipe")
    one.stop()
    one.end()
    other.end()
    assert other.guardian.wait(patience(LOOKS_S)) == 0
    pause(LOOKS_S / 2)
    os.kill(one.launcher, signal.SIGCONT)
    assert one.guardian.wait(patience(LOOKS_S)) == 0


def test_a_guardian_sleeps_while_the_link_lives(start: Start) -> None:
    """Also beside a launcher that is stopped, as somebody who debugs it would."""
    one = start("pipe")
    one.stop()
    pause(0.5)  # it has come to its sleep
    before = _wake_ups(one.guardian.pid)
    pause(LOOKS_S + 2)
    assert _wake_ups(one.guardian.pid) == before
    os.kill(one.launcher, signal.SIGCONT)
    one.end()
    assert one.guardian.wait(patience(LOOKS_S)) == 0


def test_a_guardian_does_not_hold_what_its_launcher_writes_to(start: Start) -> None:
    """Who reads it sees the launcher's end at once, however late the guardian is."""
    one = start("pipe")
    one.let_go()
    os.kill(one.guardian.pid, signal.SIGSTOP)
    os.kill(one.launcher, signal.SIGKILL)
    assert one.read() == b""
    os.kill(one.guardian.pid, signal.SIGCONT)
    assert one.guardian.wait(patience(LOOKS_S)) == -signal.SIGKILL
