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

pytestmark = pytest.mark.part(
    "rdma", "client-lib", "examples", "tree/job/queue_pairs.hpp", "tree/job/queue_pairs.cpp", "tests/doubles/verbs_double.c",
    "tests/cluster/rdma_machine.py", "tests/cluster/test_rdma.py")
_RESOURCES = "rdma resource"
_DOUBLE = "verbs_double"


@pytest.fixture(scope="module")
def machine(charmrun: Path) -> Machine:
    try:
        return Machine(charmrun, *(charmrun.with_name(name) for name in ("verbs_alltoall", "verbs_pingpong", "verbs_stencil", _DOUBLE)))
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
        job(8, "verbs_alltoall"),
        job(4, "verbs_alltoall", "numbers"),
        job(3, _DOUBLE, "ranges", "times=5", "mtu=512", "odd_opens=2"),
        job(5, _DOUBLE, "ranges", "threads=4", "timeout=0"),
        job(5, _DOUBLE, "numbers", "threads=4", "timeout=0"),
        _RESOURCES,
    )
    costs = said(ranges)
    assert sorted(costs) == list(range(8)), ranges
    for rank, (text,) in costs.items():  # they were made one process after the other
        assert re.match(rf"7 queue pairs in 1 ranges; {4 if rank in (0, 7) else 5} requests, \d+ bytes given, ", text), ranges
    costs = said(numbers)
    assert sorted(costs) == list(range(4)), numbers
    for (text,) in costs.values():
        assert re.match(r"3 queue pairs in [123] ranges; 8 requests, \d+ bytes given, ", text), numbers
    all_say(often, range(3), *["connected"] * 5)
    all_say(threads, range(5), "connected")
    all_say(polled, range(5), "connected")
    assert is_left(after) == is_left(before)


def test_of_several_devices_one_is_chosen(machine: Machine) -> None:
    before, second, nearest, named, small, unknown, gone, after = machine.run(
        _RESOURCES,
        "ip link add dm1 type dummy && ip link set dm1 mtu 1500 up && ip addr add 10.8.0.1/24 dev dm1 && rdma link add rxe1 type rxe netdev dm1",
        job(3, _DOUBLE, "ranges"),  # none is nearer
        job(3, _DOUBLE, "on-demand", "device=1"),
        job(2, _DOUBLE, "ranges", "device=1", "mtu=4096"),
        job(2, _DOUBLE, "ranges", "device=7"),
        "rdma link delete rxe1 && ip link delete dm1",
        _RESOURCES,
    )
    assert second.status == gone.status == 0, (second, gone)
    all_say(nearest, range(3), "connected")
    all_say(named, range(3), "connected")
    passed = "no port can be used: rxe0 was not chosen; rxe1"
    all_say(small, range(2), f"{passed} port 1 has an MTU of 1024 bytes, and 4096 were asked for")
    all_say(unknown, range(2), f"{passed} was not chosen")
    assert is_left(after) == is_left(before)


def torus(extents: tuple[int, int, int], steps: int) -> list[int]:
    """What each process has in the end."""
    x, y, z = extents
    values = list(range(x * y * z))
    for _ in range(steps):
        values = [
            sum(
                values[i % x + x * (j % y + y * (k % z))]
                for i, j, k in ((a - 1, b, c), (a + 1, b, c), (a, b - 1, c), (a, b + 1, c), (a, b, c - 1), (a, b, c + 1))
            )
            for c in range(z)
            for b in range(y)
            for a in range(x)
        ]
    return values


def test_queue_pairs_are_made_when_they_are_used_first(machine: Machine) -> None:
    before, everyone, cube, chosen, small, with_all, pings, polled, often, again, after = machine.run(
        _RESOURCES,
        job(5, "verbs_alltoall", "on-demand"),
        job(27, "verbs_stencil", "on-demand"),
        job(27, "verbs_stencil"),
        job(8, "verbs_stencil", "on-demand", "7"),
        job(8, "verbs_stencil", "ranges", "7"),
        "; ".join(job(4, "verbs_pingpong", scheme, "20", "5000") for scheme in ("best", "ranges", "on-demand", "numbers")),
        job(5, _DOUBLE, "on-demand", "timeout=0"),
        job(3, _DOUBLE, "on-demand", "times=5", "mtu=512", "odd_opens=2"),
        job(3, _DOUBLE, "on-demand", options="++on-failure restart"),
        _RESOURCES,
    )
    costs = said(everyone)
    assert sorted(costs) == list(range(5)) and all(text.startswith("4 queue pairs in 0 ranges; ") for (text,) in costs.values()), everyone
    values = torus((3, 3, 3), 5)
    for done in (cube, chosen):  # as many as there are neighbours
        assert said(done) == {rank: [f"{values[rank]} after 5 steps, 6 neighbours, 6 queue pairs"] for rank in range(27)}, done
    values = torus((2, 2, 2), 7)
    for done, made in ((small, 3), (with_all, 7)):
        assert said(done) == {rank: [f"{values[rank]} after 7 steps, 3 neighbours, {made} queue pairs"] for rank in range(8)}, done
    ways = re.findall(r"^rank (\d) and \d: 20 times 5000 bytes, [\d.]+ us each way$", pings.output, re.MULTILINE)
    assert pings.status == 0 and sorted(ways) == ["0"] * 4 + ["2"] * 4, pings
    all_say(polled, range(5), "connected")
    all_say(often, range(3), *["connected"] * 5)
    all_say(again, range(3), "connected")
    assert is_left(after) == is_left(before)


def test_who_cannot_be_reached_says_why(machine: Machine) -> None:
    groups = "/sys/fs/cgroup"
    few = f"{groups}/fewer"
    before, mtu, great, limited, down, absent, early, asked, late, turn, ended, after = machine.run(
        _RESOURCES,
        job(2, _DOUBLE, "on-demand", "odd_mtu=512"),
        job(4, _DOUBLE, "on-demand", "odd_mtu=4096"),
        f"echo +rdma >{groups}/cgroup.subtree_control; mkdir {few}; echo rxe0 hca_object=14 >{few}/rdma.max; "
        f"(echo 0 >{few}/cgroup.procs; {job(4, _DOUBLE, 'on-demand')})",
        f"ip link set dm0 down; {job(2, _DOUBLE, 'best')} && ip link set dm0 up",
        job(3, _DOUBLE, "on-demand", "absent=2"),
        job(4, _DOUBLE, "on-demand", "dies=1", options="++on-failure continue"),
        job(4, _DOUBLE, "on-demand", "made=1", options="++on-failure continue"),
        job(4, _DOUBLE, "on-demand", "killed=1", options="++on-failure continue"),
        job(4, _DOUBLE, "ranges", "made=1", options="++on-failure continue"),  # it has the turn
        job(4, _DOUBLE, "on-demand", "made=1"),
        _RESOURCES,
    )
    for rank, (text,) in said(mtu).items():  # who began, or was asked
        own = re.escape(f"rxe0 port 1: with rank {1 - rank}: its MTU is to be {1536 - (1024, 512)[rank]} bytes, ours {(1024, 512)[rank]}")
        other = re.escape(f"rank {1 - rank} says: rxe0 port 1: with rank {rank}: its MTU is to be {(1024, 512)[rank]} bytes, ours {1536 - (1024, 512)[rank]}")
        assert re.fullmatch(f"{own}|{other}", text), mtu
    unusable = "no port can be used: rxe0 port 1 has an MTU of 1024 bytes, and 4096 were asked for"
    assert said(great) == {rank: [unusable if rank % 2 == 1 else f"rank 1 says: {unusable}"] for rank in range(4)}, great
    texts = [text for texts in said(limited).values() for text in texts]
    refused = re.compile(r"(rank \d says: )?rxe0 port 1: ibv_\w+: the queue pair for rank \d: Resource temporarily unavailable \(11\)")
    unopened = re.compile(r"(rank \d says: )?rxe0 port 1: ibv_\w+( for \d+ completions)?: Resource temporarily unavailable \(11\)")
    gone = re.compile(r"rank \d has ended, and was not connected before")
    assert len(texts) == 4 and any(refused.fullmatch(text) for text in texts), limited
    assert all(text == "connected" or any(each.fullmatch(text) for each in (refused, unopened, gone)) for text in texts), limited
    all_say(down, range(2), "no port can be used: rxe0 port 1 is down")
    assert said(absent)[0] == ["rank 2 has ended, and was not connected before"], absent
    all_say(early, (0, 2, 3), "rank 1 is lost")
    all_say(asked, (0, 2, 3), "rank 1 is lost")
    connected = said(late)
    assert connected.pop(1, []) in (["connected"], []), late
    assert connected == {rank: ["connected", "transport retry counter exceeded"] for rank in (0, 2, 3)}, late
    lost = "it has failed: a process that it needs is lost, has ended or does not offer it; or it is a fence or a ring, " \
           "and with ++on-failure restart, which starts processes again one by one, there are none"
    all_say(turn, (0, 2, 3), f"the exchange of queue pairs: {lost}")
    assert ended.status == 128 + signal.SIGKILL and "process 1: killed by signal 9" in ended.output, ended
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
    lost = "it has failed: a process that it needs is lost, has ended or does not offer it; or it is a fence or a ring, " \
           "and with ++on-failure restart, which starts processes again one by one, there are none"
    all_say(early, (0, 2, 3), f"the exchange of queue pairs: {lost}")
    connected = said(late)
    assert connected.pop(1, []) in (["connected"], []), late
    assert connected == {rank: ["connected", "transport retry counter exceeded"] for rank in (0, 2, 3)}, late
    all_say(asked, (0, 2, 3), f"the exchange of queue pairs: {lost}")
    assert ended.status == 128 + signal.SIGKILL and "process 1: killed by signal 9" in ended.output, ended
    assert is_left(after) == is_left(before)
