# SPDX-License-Identifier: Apache-2.0
"""Hosts that have addresses of IPv6 alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from running import HELLO, Factory, assert_good, built, charm4py, charmrun_lines, double_lines, error_line, run
from vc_net import IPV6
from vcluster import Cluster

_HOSTS = 10  # host 0, where charmrun runs, is one of them
_PORT = 2222


@pytest.fixture
def hosts(cluster: Factory) -> Cluster:
    return cluster(_HOSTS, network=IPV6)


def listed(hosts: Cluster) -> list[object]:
    return [f"+p{_HOSTS}", "++nodelist", hosts.nodelist(_HOSTS), "++branching", 3]


@pytest.mark.parametrize("shell", [[], ["++remote-shell", "ssh"]], ids=["in-process", "ssh command"])
def test_every_host_of_a_deep_tree_starts(hosts: Cluster, charmrun: Path, shell: list[str]) -> None:
    assert_good(run(hosts, charmrun, *listed(hosts), *shell, "hostname"), hosts.names)


def test_processes_of_the_library_find_each_other(hosts: Cluster, charmrun: Path) -> None:
    done = run(hosts, charmrun, "+p20", "++nodelist", hosts.nodelist(_HOSTS), built(charmrun, "ring"), 3)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"ring: 20 processes on {_HOSTS} hosts, 3 rounds"), done.stdout


def test_charm_needs_no_more_than_one_host(hosts: Cluster, charmrun: Path) -> None:
    words = ["+p3", "++host", "h01"]
    done = run(hosts, charmrun, *words, built(charmrun, "charm_double"), "--prints", 2)
    assert_good(done, double_lines(3, "print", 2))
    done = run(hosts, charmrun, *words, charm4py(), HELLO)
    assert (done.returncode, done.stderr) == (0, "") and "sum of all PE numbers: 3 (right)" in done.stdout


def test_charm_on_several_hosts_is_refused_in_a_line(hosts: Cluster, charmrun: Path) -> None:
    """netlrts has no IPv6: its processes would wait for each other without end."""
    done = run(hosts, charmrun, "+p3", "++host", "h01,h02,h03", built(charmrun, "charm_double"))
    line = error_line(done)
    assert "finds other hosts by IPv4 alone, and this one is at 2001:2::" in line and "h0" in line, line


def test_hosts_are_named_by_addresses(hosts: Cluster, charmrun: Path) -> None:
    own, other, third = (hosts.address(index) for index in (0, 2, 3))
    expected = ["h00", "h02", "h03"]
    for words in (["++host", f"{own},{other},[{third}]"], ["++nodelist", "-"]):
        stdin = f"{own} slots=1\n[{other}]:22\n{third}\n" if "-" in words else None
        assert_good(run(hosts, charmrun, "+p3", *words, "hostname", stdin=stdin), expected)


def test_an_address_with_a_port(fresh_cluster: Factory, charmrun: Path) -> None:
    hosts = fresh_cluster(3, network=IPV6)
    hosts.sshd(1, {"Port": _PORT})
    names = ("h01", hosts.address(1))
    public = hosts.files.host_keys.public(hosts.key_name(1))
    known = "".join(f"[{name}]:{_PORT} {public}\n" for name in names)
    hosts.put(0, ".ssh/known_hosts", hosts.known_hosts_text(without=[1]) + known, mode=0o600)
    for name in names:
        for shell in ("", f"Host {name}\n BindAddress {hosts.address(0)}\n"):  # with that, by the ssh command
            hosts.ssh_config(shell)
            done = run(hosts, charmrun, "+p2", "++host", f"[{name}]:{_PORT},h02", "hostname")
            assert_good(done, ["h01", "h02"], said=None)


def test_this_machine_among_others_is_known_by_an_address_that_they_reach(hosts: Cluster, charmrun: Path) -> None:
    done = run(hosts, charmrun, "+p4", "++host", "h00,h01", built(charmrun, "ring"), 2)
    assert (done.returncode, done.stderr) == (0, "") and "4 processes on 2 hosts" in done.stdout, done.stdout


def test_an_ipv4_address_that_leads_nowhere_is_not_told(fresh_cluster: Factory, charmrun: Path) -> None:
    """As of a second network of the machine where charmrun runs, or of a service processor."""
    hosts = fresh_cluster(3, network=IPV6)
    for index, address in enumerate(["10.9.9.9/24", "169.254.3.1/16", "10.9.8.1/24"]):
        for words in (
            ["link", "add", "usb0", "type", "bridge"],
            ["address", "add", address, "dev", "usb0"],
            ["link", "set", "usb0", "up"],
        ):
            hosts.exec_root(index, ["ip", *words], check=True)
    done = run(hosts, charmrun, "+p6", "++host", "h00,h01,h02", built(charmrun, "ring"), 2)
    assert (done.returncode, done.stderr) == (0, "") and "6 processes on 3 hosts" in done.stdout, done.stdout


def test_bad_hosts_are_told_as_ever(hosts: Cluster, charmrun: Path) -> None:
    hosts.known_hosts(without=[2], wrong=[3])
    bad = {
        "fabric": "connection refused",
        "blackhole": "connect",
        "nowhere": "no such host",
        "h02": "++accept-new-host-keys",
        "h03": "ssh-keygen -R",
    }
    words = ["++host", ",".join(["h01", *bad]), "++on-host-failure", "drop"]
    lines = charmrun_lines(run(hosts, charmrun, f"+p{1 + len(bad)}", *words, "hostname"))
    for host, why in bad.items():
        assert [line for line in lines if host in line and why in line], (host, why, lines)


def test_doctor_finds_them_in_health(hosts: Cluster, charmrun: Path) -> None:
    done = run(hosts, charmrun, "++doctor", "++host", "h01,h02,h03")
    assert done.returncode == 0 and "ok: addresses: 3 hosts can be told to the others" in done.stdout, done.stdout
