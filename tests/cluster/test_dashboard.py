# SPDX-License-Identifier: Apache-2.0
"""++dashboard: what a browser shows of a job, and who is let in."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser
from running import Factory, gated
from vc_job import Job, leftovers
from vcluster import Cluster

_GATE = "/home/shared/dashboard.gate"
# Process 1 ends at once, process 2 fails, and all end when the gate is opened.
_SCRIPT = f"""#!/bin/sh
echo "<script>document.title = 'taken'</script><b>from</b> $CHARMTREE_PROCESS"
[ $CHARMTREE_PROCESS = 1 ] && exit 0
[ $CHARMTREE_PROCESS = 2 ] && {{ echo "no more" >&2; exit 3; }}
until [ -e {_GATE} ]; do sleep 0.05; done
echo done $CHARMTREE_PROCESS
"""


def address_of(job: Job) -> str:
    job.until(lambda: "dashboard: " in job.err, "the address")
    found = re.match(r"charmrun: dashboard: (http://127\.0\.0\.1:\d+/#[0-9a-f]{32})\n", job.err)
    assert found, job.err
    return found[1]


@pytest.fixture
def watched(cluster: Factory, charmrun: Path) -> Iterator[tuple[Cluster, Job, str]]:
    """A job of 6 processes on 3 hosts, of which h01 starts h02, and the address of its dashboard."""
    hosts = cluster(4)
    program = hosts.put(0, "/home/shared/watched", _SCRIPT, mode=0o755)
    hosts.path(0, _GATE).unlink(missing_ok=True)
    words = ["++dashboard", "++quiet", "+p6", "++nodelist", hosts.nodelist(3), "++branching", "1", program]
    job = Job(hosts, [0, 1, 2], [charmrun, *words])
    yield hosts, job, address_of(job)
    job.kill()
    assert not leftovers([job])


def test_a_browser_shows_the_job_while_it_runs_and_how_it_ended(watched: tuple[Cluster, Job, str]) -> None:
    hosts, job, address = watched
    browser = Browser(hosts)
    try:
        browser.open(address)
        browser.until("document.querySelector('#stages [aria-current] b')?.textContent == 'run'")
        browser.until("document.querySelectorAll('#processes .failed, #processes .ended').length == 2")
        assert browser.texts("#hosts .item .name") == ["h00", "h01", "  └ h02"]
        assert browser.texts("#hosts .item > :nth-child(2)") == ["● up"] * 3
        states = ["▶ running", "✓ ended", "✕ failed", *["▶ running"] * 3]
        assert browser.texts("#processes .item > :nth-child(3)") == states
        assert browser.text("#news") == "✕ 1 process failed; the first: process 2 on h01: exited with status 3"
        browser.until("document.querySelectorAll('#lines > div').length == 7")
        said = sorted(browser.texts("#lines > div > :nth-child(2)"))
        markup = "<script>document.title = 'taken'</script><b>from</b>"
        assert said == [*(f"{markup} {n}" for n in range(6)), "no more"]
        assert browser.eval("document.title").startswith("▶ /home/shared/watched")
        assert browser.eval("document.querySelectorAll('#lines b, #lines script').length") == 0
        browser.eval("document.querySelectorAll('#processes .item')[2].click()")
        assert browser.texts("#lines .who") == ["2", "2 err"]
        browser.eval("document.querySelector('#all').click()")
        hosts.path(0, _GATE).touch()
        browser.until("document.documentElement.dataset.link == 'ended'")
        assert job.wait() == 3
        assert browser.text("#news") == "✕ The job has ended: exit status 3 – process 2 on h01: exited with status 3"
        assert browser.text("#link") == "■ ended"
        assert browser.eval("document.querySelector('#stages [data-stage=end]').className") == "bad"
        assert browser.text("#stages [data-stage=run] span") == "5 ended, 1 failed"
        assert browser.texts("#processes .item > :nth-child(1)") == ["2", "0", "1", "3", "4", "5"]
        assert {"done 0", "done 5"} <= set(browser.texts("#lines > div > :nth-child(2)"))
    finally:
        browser.close()


def test_after_a_failure_a_browser_shows_its_cause_first_and_whole(cluster: Factory, charmrun: Path) -> None:
    """What charmrun has ended because of it is not marked as what failed."""
    hosts = cluster(4)
    hosts.path(0, _GATE).unlink(missing_ok=True)
    script = f"until [ -e {_GATE} ]; do sleep 0.05; done; [ $CHARMTREE_PROCESS = 1 ] && kill -9 $$; exec sleep 98765"
    job = Job(hosts, [0], [charmrun, "++dashboard", "+p3", "++local", "sh", "-c", script])
    browser = Browser(hosts)
    try:
        browser.open(address_of(job))
        browser.until("document.querySelector('#stages [aria-current] b')?.textContent == 'run'")
        hosts.path(0, _GATE).touch()
        browser.until("document.documentElement.dataset.link == 'ended'")
        assert job.wait() == 137
        assert browser.texts("#processes .item > :nth-child(1)") == ["1", "0", "2"]
        assert browser.texts("#processes .item > :nth-child(3)") == ["✕ failed", "■ stopped", "■ stopped"]
        assert browser.texts("#processes .failed") == ["✕ failed"]
        assert browser.text("#stages [data-stage=run] span") == "1 failed, 2 ended by charmrun"
        whole = "[...document.querySelectorAll('.item .why')].every(each => each.scrollWidth <= each.clientWidth)"
        assert browser.eval(whole)
    finally:
        browser.close()
        job.kill()


def test_a_browser_names_who_is_late_and_sees_stock_programs_end(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(4)
    argv, open_the_gate = gated(hosts, charmrun, "late-on-the-page")
    job = Job(hosts, [0, 1, 2], [argv[0], "++dashboard", *argv[1:]])
    browser = Browser(hosts)
    try:
        browser.open(address_of(job))
        browser.until("document.querySelector('#stages [aria-current] b')?.textContent == 'start'")
        browser.until("document.querySelector('#news').textContent == '◌ waiting for h02'")  # its host may have been late before
        assert browser.texts("#stages [aria-current] *")[:2] == ["start", "2 of 3 processes registered"]
        open_the_gate()
        browser.until("document.documentElement.dataset.link == 'ended'")
        assert browser.text("#news") == "✓ The job has ended: exit status 0"
        assert browser.texts("#processes .item > :nth-child(3)") == ["✓ ended"] * 3
        assert job.wait() == 0
    finally:
        browser.close()


# What comes back for a head with these lines, %s: the token.
_ASK = """
import socket, sys
port, token = sys.argv[1:3]
for lines in sys.argv[3:]:
    with socket.create_connection(("127.0.0.1", int(port))) as one:
        text = b""
        try:
            one.sendall((lines.replace("TOKEN", token).replace("|", "\\r\\n") + "\\r\\n\\r\\n").encode())
            while part := one.recv(65536):
                text += part
        except ConnectionError:
            pass
        print(text.decode().partition("\\r\\n")[0], text.decode().partition("\\r\\n\\r\\n")[2].strip()[:9999].replace("\\n", " "))
"""


def test_only_its_user_with_the_token_is_told_of_the_job(watched: tuple[Cluster, Job, str]) -> None:
    hosts, job, address = watched
    port, token = re.findall(r":(\d+)/#(.*)", address)[0]
    end = "|Connection: close|Host: "
    asked = [
        f"GET /changes?since=0 HTTP/1.1{end}localhost|Authorization: Bearer TOKEN",
        f"GET /changes?since=0 HTTP/1.1{end}rebound.example|Authorization: Bearer TOKEN",
        f"GET /changes?since=0 HTTP/1.1{end}localhost|Authorization: Bearer {'0' * 32}",
        f"GET /changes?since=-1 HTTP/1.1{end}localhost|Authorization: Bearer TOKEN",
    ]
    argv = ["python3", "-c", _ASK, port, token, *asked]
    good, *bad = hosts.run(0, argv, check=True).stdout.splitlines()
    status, _, body = good.partition("OK ")
    assert status == "HTTP/1.1 200 " and json.loads(body)["job"]["pid"] > 0
    assert [line.split()[1] for line in bad] == ["403", "403", "404"]
    for stranger in ("ctother", "root"):
        assert hosts.run(0, argv, user=stranger, check=True).stdout.split() == []
    ours = {one.pid for one in hosts.processes(0)}
    assert job.root.pid in ours
    for path in (Path(f"/proc/{pid}/{name}") for pid in ours for name in ("cmdline", "environ")):
        with contextlib.suppress(OSError):  # it ends
            assert token.encode() not in path.read_bytes()
    assert "refused" in hosts.run(1, ["python3", "-c", f"import socket; socket.create_connection(('h00', {port}))"]).stderr
    assert job.root.poll() is None


def test_the_lines_of_ccs_come_before_the_address(cluster: Factory, charmrun: Path) -> None:
    argv = [str(charmrun), "++server", "++dashboard", "+p1", "++local", "true"]
    done = cluster(4).run(0, ["sh", "-c", '"$@" 2>&1', "sh", *argv], check=True).stdout
    assert re.match(r"(Charmrun> .*\n)?ccs: 2\nccs: Server IP = .*\ncharmrun: dashboard: http:", done), done
