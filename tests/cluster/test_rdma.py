# SPDX-License-Identifier: Apache-2.0
"""Queue pairs between the processes of a job, over soft-RoCE in a virtual machine: all are connected and carry what was sent, what fails
says so in a line, and nothing is left in the kernel."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable
from pathlib import Path

import pytest

from rdma_machine import Machine, NoMachine, Result

_RESOURCES = "rdma resource"
_DOUBLE = "verbs_double"


@pytest.fixture(scope="module")
def machine(charmrun: Path) -> Machine:
    try:
        return Machine(charmrun, charmrun.with_name("verbs_alltoall"), charmrun.with_name(_DOUBLE))
    except NoMachine as why:
        pytest.skip(str(why))


def job(processes: int, *words: str, options: str = "") -> str:
    return f"timeout 60 charmrun +p{processes} ++local {options} {' '.join(words)}"


def said(done: Result) -> dict[int, list[str]]:
    """What each process said, by its rank; the job has ended well."""
    assert done.status == 0, done
    by_rank: dict[int, list[str]] = {}
    for rank, text in re.findall(r"^rank (\d+): (.*)$", done.output, re.MULTILINE):
        by_rank.setdefault(int(rank), []).append(text)
    return by_rank


def all_say(done: Result, ranks: Iterable[int], *texts: str) -> None:
    assert said(done) == {rank: list(texts) for rank in ranks}, done


def is_left(resources: Result) -> str:
    """What the kernel has of the device; its number is another one when it was taken away and has come back."""
    found = re.search(r"rxe0: (.*)", resources.output)
    assert found, resources
    return found[1]


def test_all_are_connected_with_all_and_carry_what_was_sent(machine: Machine) -> None:
    before, ranges, numbers, often, threads, polled, after = machine.run(
        _RESOURCES,
        job(8, "verbs_alltoall", "ranges"),
        job(4, "verbs_alltoall", "numbers"),
        job(3, _DOUBLE, "ranges", "times=5", "mtu=512", "odd_opens=2"),
        job(5, _DOUBLE, "ranges", "threads=4", "timeout=0"),
        job(5, _DOUBLE, "numbers", "threads=4", "timeout=0"),
        _RESOURCES,
    )
    costs = said(ranges)
    assert sorted(costs) == list(range(8)), ranges
    for rank, (text,) in costs.items():  # they were made one process after the other
        assert re.match(rf"7 queue pairs in 1 ranges; {3 if rank in (0, 7) else 4} requests, \d+ bytes given, ", text), ranges
    costs = said(numbers)
    assert sorted(costs) == list(range(4)), numbers
    for (text,) in costs.values():
        assert re.match(r"3 queue pairs in [123] ranges; 8 requests, \d+ bytes given, ", text), numbers
    all_say(often, range(3), *["connected"] * 5)
    all_say(threads, range(5), "connected")
    all_say(polled, range(5), "connected")
    assert is_left(after) == is_left(before)


def test_what_cannot_be_connected_says_why(machine: Machine) -> None:
    groups = "/sys/fs/cgroup"
    few = f"{groups}/few"
    before, mtu, great, bad, unknown, limited, alone, down, none, after = machine.run(
        _RESOURCES,
        job(4, _DOUBLE, "ranges", "odd_mtu=512"),
        job(4, _DOUBLE, "numbers", "odd_mtu=4096"),
        job(2, _DOUBLE, "ranges", "mtu=1000"),
        job(2, _DOUBLE, "others"),
        f"echo +rdma >{groups}/cgroup.subtree_control; mkdir {few}; echo rxe0 hca_object=12 >{few}/rdma.max; "
        f"(echo 0 >{few}/cgroup.procs; {job(4, _DOUBLE, 'ranges')})",
        job(1, _DOUBLE, "ranges"),
        f"ip link set dm0 down; {job(2, _DOUBLE, 'ranges')} && ip link set dm0 up",
        f"rdma link delete rxe0; {job(2, _DOUBLE, 'ranges')} && rdma link add rxe0 type rxe netdev dm0",
        _RESOURCES,
    )
    for rank, own in enumerate((1024, 512, 1024, 512)):
        other = 1 if rank % 2 == 0 else 0
        assert said(mtu)[rank] == [f"rxe0 port 1: with rank {other}: its MTU is to be {1536 - own} bytes, ours {own}"], mtu
    for rank in range(4):
        odd = rank % 2 == 1
        why = "no port can be used: rxe0 port 1 has an MTU of 1024 bytes, and 4096 were asked for" if odd else "rank 1 could not make its queue pairs"
        assert said(great)[rank] == [why], great
    all_say(unknown, range(2), "there is no scheme 7")
    all_say(bad, range(2), "an MTU is 256, 512, 1024, 2048 or 4096 bytes, not 1000")
    texts = [text for texts in said(limited).values() for text in texts]
    refused = re.compile(r"rxe0 port 1: ibv_\w+(: queue pair [1-3] of 3| for \d+ completions)?: Resource temporarily unavailable \(11\)")
    others = re.compile(r"rank \d could not make its queue pairs")
    assert len(texts) == 4 and any(refused.fullmatch(text) for text in texts), limited
    assert all(refused.fullmatch(text) or others.fullmatch(text) for text in texts), limited
    all_say(alone, range(1), "a job of one process has nobody to connect with")
    all_say(down, range(2), "no port can be used: rxe0 port 1 is down")
    all_say(none, range(2), "this host has no InfiniBand or RoCE device: is its driver loaded (rdma link)?")
    assert is_left(after) == is_left(before)


def test_a_process_that_is_killed_harms_nobody(machine: Machine) -> None:
    before, early, late, asked, ended, after = machine.run(
        _RESOURCES,
        job(4, _DOUBLE, "ranges", "dies=1", options="++on-failure continue"),
        job(4, _DOUBLE, "ranges", "killed=1", options="++on-failure continue"),
        job(4, _DOUBLE, "numbers", "dies=1", options="++on-failure continue"),
        job(4, _DOUBLE, "ranges", "dies=1"),
        _RESOURCES,
    )
    lost = "it has failed: a process that it needs is lost or has ended, or lost ones are started again one by one"
    all_say(early, (0, 2, 3), f"the exchange of queue pairs: {lost}")
    connected = said(late)
    assert connected.pop(1, []) in (["connected"], []), late
    assert connected == {rank: ["connected", "transport retry counter exceeded"] for rank in (0, 2, 3)}, late
    all_say(asked, (0, 2, 3), f"the exchange of queue pairs: {lost}")
    assert ended.status == 128 + signal.SIGKILL and "process 1: killed by signal 9" in ended.output, ended
    assert is_left(after) == is_left(before)
