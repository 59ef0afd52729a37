# SPDX-License-Identifier: Apache-2.0
"""Hosts without any key: logins that the root's agent signs, and what is done without it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from running import PATIENCE_S, Factory, Result, assert_good, built, charmrun_lines, command, double_lines, run
from vcluster import Cluster

_KEY = "/home/shared/agent-key"
_REPORT = "/home/shared/report.json"
# Runs the words behind `sh KEY` with an agent that holds that key alone; the file is gone then.
_WITH_AGENT = (
    'ssh-add -q "$1" && rm "$1" && shift || exit 9; "$@"; code=$?; kill $SSH_AGENT_PID; exit $code'
)


def keyless(hosts: Cluster) -> None:
    """Takes ctuser's private key away from every host, into a file for the agent; what h00 shares with others
    keeps its known_hosts."""
    secret = hosts.path(0, "/home/ctuser/.ssh/id_ed25519").read_text()
    hosts.put(0, _KEY, secret, mode=0o600)
    for index in [0, *sorted(hosts.own)]:
        for file in hosts.path(index, "/home/ctuser/.ssh").iterdir():
            if file.name != "authorized_keys" and not (index == 0 and file.name == "known_hosts"):
                file.unlink()


def run_with_agent(hosts: Cluster, charmrun: Path, *words: Any) -> Result:
    job = command(charmrun, *words, "++report", _REPORT, "++verbose")
    argv = ["ssh-agent", "sh", "-c", _WITH_AGENT, "sh", _KEY, *job]
    return hosts.run(0, argv, timeout=PATIENCE_S)


def parents(hosts: Cluster) -> dict[str, str]:
    """Who started whom, by name; the root is ''."""
    launchers = json.loads(hosts.path(0, _REPORT).read_text())["launchers"]
    names = {one["host"]: one["name"] for one in launchers} | {-1: ""}
    return {one["name"]: names[one["parent"]] for one in launchers if one["host"] >= 0}


def said(done: Result, words: str) -> list[str]:
    return [line for line in charmrun_lines(done) if words in line]


def test_inner_hosts_need_no_keys(cluster: Factory, charmrun: Path) -> None:
    """Nothing falls back: each host is started by its parent in the tree, three levels deep."""
    hosts = cluster(15)
    keyless(hosts)
    words = ["+p28", "++nodelist", hosts.nodelist(range(1, 15)), "++branching", 2, "++forward-agent"]
    done = run_with_agent(hosts, charmrun, *words, built(charmrun, "charm_double"))
    assert_good(done, double_lines(28), said=None)
    above = parents(hosts)
    assert len(above) == 14
    assert [name for name, parent in above.items() if parent == ""] == ["h01", "h08"]
    assert above["h03"] == "h02" and above["h02"] == "h01", above
    assert not said(done, "starting it from here") and not said(done, "ssh command"), done.stderr
    assert not said(done, "refused"), done.stderr
    signed = [re.fullmatch(r"(\w+): signing the login with ssh-ed25519 SHA256:\S+ for the launcher on (\w+)", line)
              for line in said(done, "signing the login")]
    assert {one[1]: one[2] for one in signed if one} == {name: parent for name, parent in above.items() if parent}
    assert len(signed) == 12


def test_without_it_the_same_hosts_are_handed_back(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(8)
    keyless(hosts)
    words = ["+p7", "++nodelist", hosts.nodelist(range(1, 8)), "++branching", 2]
    done = run_with_agent(hosts, charmrun, *words, "hostname")
    assert_good(done, hosts.names[1:8], said=None)
    assert set(parents(hosts).values()) == {""}
    assert len(said(done, "starting it from here")) == 5, done.stderr
    assert not said(done, "signing the login")


def test_a_key_file_without_passphrase_will_do(cluster: Factory, charmrun: Path) -> None:
    """The root's own home has the key; the others' have none."""
    hosts = cluster(8)
    keyless(hosts)
    secret = hosts.path(0, _KEY).read_text()
    hosts.put(0, "root-key", secret, mode=0o600)
    hosts.path(0, "/home/ctuser/root-key").rename(hosts.path(0, "/tmp") / "root-key")
    hosts.ssh_config("Host *\n IdentityFile /tmp/root-key\n", hosts=[0])
    nodelist = hosts.nodelist([1, 5, 2, 3])  # 1 and 5 have a /tmp of their own
    words = ["+p4", "++nodelist", nodelist, "++branching", 1, "++forward-agent", "++verbose", "hostname"]
    done = hosts.run(0, command(charmrun, *words), timeout=PATIENCE_S)
    assert_good(done, ["h01", "h02", "h03", "h05"], said=None)
    # h02 shares /tmp with the root: what it has itself it uses.
    assert [line.split(":")[0] for line in said(done, "signing the login")] == ["h05", "h02"], done.stderr


def test_a_host_is_handed_back_level_by_level(cluster: Factory, charmrun: Path) -> None:
    """h04 is the end of a chain; h03 has no key, h02 (which shares the root's home) has."""
    hosts = cluster(8)
    for file in hosts.path(5, "/home/ctuser/.ssh").glob("id_*"):
        file.unlink()
    words = ["+p4", "++nodelist", hosts.nodelist([1, 2, 5, 4]), "++branching", 1, "++verbose"]
    done = hosts.run(0, command(charmrun, *words, "++report", _REPORT, "hostname"), timeout=PATIENCE_S)
    assert_good(done, ["h01", "h02", "h04", "h05"], said=None)
    assert parents(hosts) == {"h01": "", "h02": "h01", "h05": "h02", "h04": "h02"}
    (line,) = said(done, "starting it from here")
    assert line.startswith("h02: h04: not reachable from its launcher"), line


def test_an_agent_that_refuses_leaves_the_hosts_to_the_root(cluster: Factory, charmrun: Path) -> None:
    """Its user denies every signature; the root itself has another key, of a kind that is not forwarded."""
    hosts = cluster(10)
    hosts.user_keys(["ed25519", "ecdsa"])
    secret = hosts.path(0, "/home/ctuser/.ssh/id_ecdsa").read_text()
    keyless(hosts)
    hosts.put(0, "/tmp/ecdsa-key", secret, mode=0o600)
    hosts.ssh_config("Host *\n IdentityFile /tmp/ecdsa-key\n", hosts=[0])
    ask = {"SSH_ASKPASS": "/bin/false", "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":9"}
    script = _WITH_AGENT.replace("ssh-add -q", "ssh-add -c -q")
    words = ["+p3", "++nodelist", hosts.nodelist([1, 5, 9]), "++branching", 1, "++forward-agent", "++verbose"]
    job = command(charmrun, *words, "++report", _REPORT, "hostname")
    done = hosts.run(0, ["ssh-agent", "sh", "-c", script, "sh", _KEY, *job], timeout=PATIENCE_S, env=ask)
    assert_good(done, ["h01", "h05", "h09"], said=None)
    assert parents(hosts) == {"h01": "", "h05": "", "h09": ""}
    assert len(said(done, "signing the login")) == 2, done.stderr
    assert len(said(done, "nobody signed with the key that the server takes")) == 1, done.stderr


@pytest.mark.parametrize("socket", [{}, {"SSH_AUTH_SOCK": "/nonexistent"}])
def test_nothing_to_forward_is_said(cluster: Factory, charmrun: Path, socket: dict[str, str]) -> None:
    hosts = cluster(4)
    keyless(hosts)
    words = ["+p2", "++nodelist", hosts.nodelist([1, 2]), "++forward-agent", "hostname"]
    done = run(hosts, charmrun, *words, env=socket)
    assert done.returncode == 125
    assert said(done, "++forward-agent has nothing to offer"), done.stderr


def test_no_launcher_is_shown_an_agent(cluster: Factory, charmrun: Path) -> None:
    """Neither a socket nor a key comes to the hosts: a program there cannot use the user's agent."""
    hosts = cluster(8)
    keyless(hosts)
    words = ["+p4", "++nodelist", hosts.nodelist([1, 2, 5, 3]), "++branching", 1, "++forward-agent"]
    done = run_with_agent(hosts, charmrun, *words, "sh", "-c", "echo ${SSH_AUTH_SOCK-none}; ssh-add -l; true")
    assert_good(done, ["none"] * 4, said=None)
    assert done.stderr.count("Could not open a connection to your authentication agent") == 4, done.stderr
