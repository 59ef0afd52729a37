# SPDX-License-Identifier: Apache-2.0
"""`charmrun ++plan`, and the history of logins that it plans with."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

from running import Factory, answer, assert_good, charmrun_lines, run
from vcluster import Cluster

HISTORY = ".local/state/charmtree/history.json"
OTHERS = range(1, 9)


def history_file(hosts: Cluster) -> Path:
    return hosts.path(0, f"/home/ctuser/{HISTORY}")


def test_logins_are_remembered_and_planned_with(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    nodes = ["++nodelist", hosts.nodelist(OTHERS)]
    before = answer(hosts, charmrun, "++plan", *nodes)
    assert "8 processes on 8 hosts; nothing was started" in before and "8 by ssh" in before
    assert "250 ms until the launcher there answers, 2.4 ms of its parent's time" in before
    assert "assumed: no login to such hosts has been measured yet" in before
    assert not history_file(hosts).exists()

    for _ in range(2):
        words = ["+p8", *nodes, "++branching", 8, "hostname"]
        assert_good(run(hosts, charmrun, *words), [hosts.names[index] for index in OTHERS])

    file = history_file(hosts)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(one.name for one in file.parent.iterdir()) == ["history.json", "history.json.lock"]
    history = json.loads(file.read_text())
    assert [one["hosts"] for one in history["patterns"]] == ["ssh h#"]
    (known,) = history["patterns"]
    assert (known["logins"], history["launches"]) == (16, 2)
    assert 1 < known["latency_p50_ms"] <= known["latency_p90_ms"] < 60_000
    assert 0.5 < known["occupancy_ms"] < 50

    after = answer(hosts, charmrun, "++plan", *nodes, "++numHosts", 10_000)
    assert 'measured: 16 logins to "ssh h#"' in after and "if slow" in after
    assert "8 by ssh; 9992 more like them assumed" in after
    assert re.search(r"late binding: about \d+ levels; the root starts \d+ hosts", after)


def test_failed_launches_and_other_transports(cluster: Factory, charmrun: Path) -> None:
    """A launch that fails tells nothing; a remote-shell command has its own constants, and no known cost."""
    hosts = cluster(10)
    broken = run(hosts, charmrun, "+p2", "++nodelist", hosts.nodelist([1, "nobody.invalid"]), "true")
    assert broken.returncode == 125
    assert not history_file(hosts).exists()
    nodes = ["++nodelist", hosts.nodelist([1, 2])]
    assert_good(run(hosts, charmrun, "+p2", *nodes, "++remote-shell", "ssh", "true"), [])
    (known,) = json.loads(history_file(hosts).read_text())["patterns"]
    assert (known["hosts"], known["logins"], known["occupancy_ms"]) == ("command h#", 2, 0)
    text = answer(hosts, charmrun, "++plan", *nodes, "++remote-shell", "ssh")
    assert "2 by a remote-shell command" in text and 'measured: 2 logins to "command h#"' in text
    assert "18.0 ms of its parent's time" in text


def test_a_history_that_cannot_be_used_is_no_error(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    words = ["+p2", "++nodelist", hosts.nodelist([1, 2]), "true"]
    hosts.put(0, HISTORY, "{")
    loud = run(hosts, charmrun, "++verbose", *words)
    assert loud.returncode == 0
    said = f"/home/ctuser/{HISTORY}: not a history of logins; ignored"
    assert said in charmrun_lines(loud)
    hosts.put(0, HISTORY, "{")
    assert_good(run(hosts, charmrun, *words), [])
    folder = history_file(hosts).parent
    folder.chmod(0o500)
    try:
        history_file(hosts).write_text("{")
        assert_good(run(hosts, charmrun, *words), [])
        assert history_file(hosts).read_text() == "{"
    finally:
        folder.chmod(0o700)
