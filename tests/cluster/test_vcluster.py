# SPDX-License-Identifier: Apache-2.0
"""The virtual cluster itself: what hosts share and what not, faults, and that nothing is left."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from vc_cli import clusters_by_hand
from vc_faults import wait_until
from vc_net import read_neighbour_limits
from vcluster import REPOSITORY, Cluster, ClusterError

Factory = Callable[..., Cluster]
HERE = Path(__file__).parent
SSH = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=2")


# -- hosts ----------------------------------------------------------------------------------------


def test_every_host_logs_in_to_others_by_name(cluster: Factory) -> None:
    hosts = cluster(6)
    for source, target in ((0, 1), (1, 0), (1, 5), (2, 3)):
        done = hosts.run(source, [*SSH, hosts.names[target], "hostname; id -un; pwd"])
        assert (done.stdout, done.stderr) == (f"h{target:02}\nctuser\n/home/ctuser\n", "")


def test_a_command_keeps_its_words_status_input_and_directory(cluster: Factory) -> None:
    hosts = cluster(2)
    script = 'cat; pwd; printf "<%s>" "$@"; echo err >&2; exit 7'
    argv = ["sh", "-c", script, "sh", "a b", "", "'$x'"]
    done = hosts.run(1, argv, stdin="in\n", cwd="/tmp", env={"MARK": "m1"})
    assert done.stdout == "in\n/tmp\n<a b><><'$x'>"
    assert (done.stderr, done.returncode) == ("err\n", 7)
    assert done.elapsed < 5


def test_the_environment_is_a_fresh_one(cluster: Factory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FROM_OUTSIDE", "1")
    env = cluster(1).run(0, ["env"], env={"MARK": "m1"}).stdout.splitlines()
    assert "MARK=m1" in env and "HOME=/home/ctuser" in env and "USER=ctuser" in env
    assert not [line for line in env if line.startswith(("FROM_OUTSIDE", "PYTEST"))]


def test_a_quarter_of_the_hosts_is_on_its_own(cluster: Factory) -> None:
    hosts = cluster(26)
    for n in range(2, 27):
        assert len([index for index in hosts.own if index < n]) >= n // 4
    assert 0 not in hosts.own
    keys = {hosts.key_name(index) for index in range(26)}
    assert len(keys) == len(hosts.own) + 1


def test_homes_and_tmp_are_shared_by_the_others_only(cluster: Factory) -> None:
    hosts = cluster(4)
    for name in ("/home/ctuser/note", "/tmp/note", "/home/shared/note"):
        hosts.run(0, ["sh", "-c", f"echo yes >{name}"], check=True)
    seen = [hosts.run(i, ["sh", "-c", "cat ~/note /tmp/note /home/shared/note"]) for i in (2, 1)]
    assert [one.stdout for one in seen] == ["yes\nyes\nyes\n", "yes\n"]
    assert hosts.path(0, "/tmp/note").read_text() == "yes\n"
    assert not hosts.path(1, "/tmp/note").exists() and not Path("/tmp/note").exists()
    hosts.exec_root(0, ["rm", "/tmp/note", "/home/shared/note"], check=True)


def test_clocks_of_own_hosts_are_a_thousand_seconds_off(cluster: Factory) -> None:
    hosts = cluster(6)
    if hosts.notes:
        pytest.skip(hosts.notes[0])
    read = ["python3", "-c", "import time; print(time.clock_gettime(time.CLOCK_MONOTONIC))"]
    clock = [float(hosts.run(index, read, check=True).stdout) for index in (0, 1, 2, 5)]
    assert abs(clock[1] - clock[0] - 1000) < 10
    assert abs(clock[2] - clock[0]) < 10
    assert abs(clock[3] - clock[0] + 1000) < 10
    remote = hosts.run(0, [*SSH, "h01", "cat /proc/uptime"], check=True).stdout
    assert abs(float(remote.split()[0]) - clock[1]) < 10


def test_a_host_sees_only_its_own_processes_and_the_test_sees_all(cluster: Factory) -> None:
    hosts = cluster(3)
    child = hosts.popen(2, ["sleep", "60"], env={"MARK": "of this test"})
    assert wait_until(lambda: "sleep 60" in [one.cmdline for one in hosts.survivors()], 10)
    assert "sleep 60" not in hosts.run(0, ["ps", "ax"]).stdout
    assert "sleep 60" in hosts.run(2, ["ps", "ax"]).stdout
    marked = hosts.processes(mark="MARK=of this test")
    assert [(one.pid, one.host, one.cmdline) for one in marked] == [(child.pid, 2, "sleep 60")]
    assert hosts.survivors(before=marked) == []
    child.send_signal(signal.SIGINT)  # reaches the program itself: there is nothing in between
    assert child.wait(5) == -signal.SIGINT


def test_orphans_are_seen_and_can_be_killed(cluster: Factory) -> None:
    hosts = cluster(2)
    hosts.run(0, [*SSH, "h01", "setsid sleep 61 >/dev/null 2>&1 </dev/null &"], check=True)
    assert [one.cmdline for one in hosts.quiet(0.3)] == ["sleep 61"]
    hosts.kill_survivors()
    assert hosts.quiet(5) == []


def test_a_command_that_does_not_end_is_killed_and_its_output_kept(cluster: Factory) -> None:
    with pytest.raises(subprocess.TimeoutExpired) as raised:
        cluster(1).run(0, ["sh", "-c", "echo before; sleep 62; true"], timeout=0.5)
    assert str(raised.value.stdout) == "before\n"


def test_a_missing_program_or_directory_is_an_error(
    cluster: Factory, capfd: pytest.CaptureFixture[str]
) -> None:
    hosts = cluster(1)
    with pytest.raises(FileNotFoundError):
        hosts.run(0, ["/no/such/program"])
    with pytest.raises(subprocess.SubprocessError):
        hosts.popen(0, ["true"], cwd="/no/such")
    assert "/no/such" in capfd.readouterr().err
    with pytest.raises(ClusterError, match="no host h99"):
        hosts.run("h99", ["true"])


def test_the_repository_is_visible_everywhere(cluster: Factory) -> None:
    hosts = cluster(2)
    for index in (0, 1):
        assert "tests" in hosts.run(index, ["ls", str(REPOSITORY)], check=True).stdout.split()


def test_a_directory_below_closed_ones_is_made_visible(tmp_path: Path, fresh_cluster: Factory) -> None:
    with contextlib.ExitStack() as rest:
        closed = Path(f"/var/tmp/vcluster-test-{os.getpid()}")
        closed.mkdir(mode=0o700)
        rest.callback(shutil.rmtree, closed)
        for folder in (closed / "deep", tmp_path / "deep"):
            folder.mkdir(parents=True)
            (folder / "file").write_text("seen\n")
        hosts = fresh_cluster(2, visible=[closed / "deep", tmp_path / "deep"])
        for index in (0, 1):
            files = [closed / "deep/file", tmp_path / "deep/file"]
            assert hosts.run(index, ["cat", *files]).stdout == "seen\nseen\n"


# -- names and addresses --------------------------------------------------------------------------


def test_unknown_names_fail_at_once_and_slow_ones_time_out(cluster: Factory) -> None:
    hosts = cluster(1)
    unknown = hosts.run(0, ["getent", "hosts", "nowhere.example"])
    assert unknown.returncode == 2 and unknown.elapsed < 2
    with pytest.raises(subprocess.TimeoutExpired):
        hosts.run(0, ["getent", "hosts", "machine.slow"], timeout=2)
    assert hosts.fabric.names is not None
    assert {"nowhere.example", "machine.slow"} <= set(hosts.fabric.names.asked)


def test_some_addresses_refuse_and_some_swallow(cluster: Factory) -> None:
    hosts = cluster(1)
    refused = hosts.run(0, [*SSH, "fabric", "true"])
    assert "Connection refused" in refused.stderr and refused.elapsed < 1.5
    swallowed = hosts.run(0, [*SSH, "blackhole", "true"])
    assert "timed out" in swallowed.stderr and swallowed.elapsed >= 2


def test_a_nodelist_is_readable_on_every_host(cluster: Factory) -> None:
    hosts = cluster(3)
    path = hosts.nodelist([0, "h02 ++cpus 2"], extra="++shell ssh")
    want = "group main ++shell ssh\n host h00\n host h02 ++cpus 2\n"
    assert [hosts.run(index, ["cat", path]).stdout for index in (0, 1)] == [want, want]
    assert hosts.run(0, ["cat", hosts.nodelist(2)]).stdout == "group main\n host h00\n host h01\n"


# -- ssh ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", ["hashed", "system", "plain"])
def test_known_hosts_styles_let_ssh_in(cluster: Factory, style: str) -> None:
    hosts = cluster(2)
    hosts.known_hosts(style)
    assert hosts.run(0, [*SSH, "h01", "hostname"]).stdout == "h01\n"


def test_unknown_and_changed_host_keys_are_refused(cluster: Factory) -> None:
    hosts = cluster(3)
    hosts.known_hosts("plain", wrong=[1], without=[2])
    assert "IDENTIFICATION HAS CHANGED" in hosts.run(0, [*SSH, "h01", "true"]).stderr
    assert "Host key verification failed" in hosts.run(0, [*SSH, "h02", "true"]).stderr
    hosts.known_hosts("none")
    assert hosts.run(0, [*SSH, "h00", "true"]).returncode == 255


def test_a_key_that_may_not_log_in_is_refused(cluster: Factory) -> None:
    hosts = cluster(2)
    hosts.put(1, ".ssh/authorized_keys", "", mode=0o600)
    assert "Permission denied" in hosts.run(0, [*SSH, "h01", "true"]).stderr
    hosts.user_keys(["rsa"])
    assert hosts.run(0, [*SSH, "h01", "hostname"]).stdout == "h01\n"


def test_an_sshd_can_be_given_options_keys_and_a_port(fresh_cluster: Factory) -> None:
    hosts = fresh_cluster(2)
    hosts.sshd(1, {"Port": 2222, "ForceCommand": "echo forced"}, kinds=["rsa", "ecdsa"])
    hosts.known_hosts("plain", kinds=["ecdsa"])
    hosts.ssh_config("Host other\n HostName h01\n HostKeyAlias h01\n Port 2222\n")
    done = hosts.run(0, [*SSH, "other", "hostname"])
    assert (done.stdout, done.stderr) == ("forced\n", "")
    assert "Accepted publickey for ctuser" in hosts.sshd_log(1)


def test_open_sessions_outlive_their_sshd(fresh_cluster: Factory) -> None:
    hosts = fresh_cluster(2)
    session = hosts.popen(0, [*SSH, "h01", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert session.stdin is not None and session.stdout is not None
    session.stdin.write("one\n")
    session.stdin.flush()
    assert session.stdout.readline() == "one\n"
    hosts.no_sshd(1)
    assert "Connection refused" in hosts.run(0, [*SSH, "h01", "true"]).stderr
    assert session.communicate("two\n", timeout=5)[0] == "two\n"
    hosts.change_host_key(1)
    hosts.sshd(1)
    assert "IDENTIFICATION HAS CHANGED" in hosts.run(0, [*SSH, "h01", "true"]).stderr


# -- faults ---------------------------------------------------------------------------------------


def test_faults_of_the_network_come_and_go(fresh_cluster: Factory) -> None:
    hosts = fresh_cluster(2)
    for break_it, mend_it in ((hosts.unplug, hosts.plug), (hosts.drop, hosts.undrop)):
        break_it(1)
        dead = hosts.run(0, [*SSH, "h01", "true"])
        assert dead.returncode == 255 and 1 < dead.elapsed < 10, dead
        mend_it(1)
        assert wait_until(lambda: hosts.run(0, [*SSH, "h01", "hostname"]).stdout == "h01\n", 10)


def test_an_unplugged_host_says_no_farewell(fresh_cluster: Factory) -> None:
    hosts = fresh_cluster(2)
    session = hosts.popen(0, [*SSH, "h01", "echo there; sleep 3"], stdout=subprocess.PIPE)
    assert session.stdout is not None and session.stdout.readline() == "there\n"
    hosts.unplug(1)
    hosts.no_sshd(1)
    time.sleep(0.5)
    assert session.poll() is None
    hosts.plug(1)
    assert session.wait(20) == 0


def test_a_frozen_host_stands_still_until_thawed(fresh_cluster: Factory) -> None:
    hosts = fresh_cluster(2)
    counter = hosts.popen(1, ["sh", "-c", "while sleep 0.05; do echo >>/tmp/ticks; done"])
    ticks = hosts.path(1, "/tmp/ticks")
    assert wait_until(ticks.exists, 10)
    hosts.freeze(1)
    size = ticks.stat().st_size
    assert hosts.run(0, [*SSH, "h01", "true"]).returncode == 255
    assert ticks.stat().st_size == size
    hosts.thaw(1)
    assert wait_until(lambda: ticks.stat().st_size > size, 10)
    os.killpg(counter.pid, signal.SIGKILL)
    counter.wait(5)


def test_a_crashed_host_is_empty_and_can_boot_again(fresh_cluster: Factory) -> None:
    hosts = fresh_cluster(2)
    running = hosts.popen(1, ["sleep", "63"])
    hosts.crash(1)
    assert running.wait(5) == -signal.SIGKILL
    assert hosts.processes(1) == []
    with pytest.raises(ClusterError, match="h01 is down"):
        hosts.run(1, ["true"])
    assert "refused" in hosts.run(0, [*SSH, "h01", "true"]).stderr
    hosts.boot(1)
    assert hosts.run(0, [*SSH, "h01", "hostname"]).stdout == "h01\n"


def test_a_host_with_a_small_cpu_share_is_slow(fresh_cluster: Factory) -> None:
    try:
        hosts = fresh_cluster(2, cpu_share=0.05)
    except ClusterError as error:
        pytest.skip(str(error))
    busy = ["python3", "-c", "import time; t = time.process_time\nwhile t() < 0.1: pass"]
    assert hosts.run(0, busy, check=True).elapsed > 1


# -- nothing is left ------------------------------------------------------------------------------


def traces(pid: int) -> list[str]:
    """What there is on this machine that names the cluster of process `pid`."""
    tag = f"ct{pid}-"
    found = [str(base) for parent in ("/dev/shm", "/tmp") for base in Path(parent).glob(f"{tag}*")]
    found += [str(group) for group in Path("/sys/fs/cgroup").glob(f"cpu/{tag}*")]
    found += [line for line in Path("/proc/mounts").read_text().splitlines() if tag in line]
    ps = subprocess.run(["ps", "axww", "-o", "pid,args"], capture_output=True, text=True, check=True)
    return found + [line for line in ps.stdout.splitlines() if tag in line]


def machine() -> tuple[object, ...]:
    """Of the machine's state, what a cluster might change by mistake."""
    files = [Path(f"/etc/{name}").read_bytes() for name in ("hosts", "passwd", "shadow", "group")]
    folders = [sorted(os.listdir(path)) for path in ("/etc", "/home", "/run", "/etc/ssh")]
    return files, folders, Path("/proc/mounts").read_text(), read_neighbour_limits()


@contextlib.contextmanager
def another(body: str, n: int = 3) -> Iterator[subprocess.Popen[str]]:
    """A process that has a cluster and then does `body`; it is ready when we get it."""
    code = (
        f"import os, signal, sys, time\nsys.path.insert(0, {str(HERE)!r})\n"
        f"from vcluster import Cluster\nhosts = Cluster({n}, cpu_share=CPU)\nhosts.up()\n"
        "hosts.run(0, ['ssh', 'h01', 'setsid sleep 600 >/dev/null 2>&1 &'], check=True)\n"
        f"hosts.freeze(2)\nprint(flush=True)\n{body}\n"
    ).replace("CPU", "0.5" if os.access("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", os.F_OK) else "None")
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None and child.stdout.readline() == "\n"
            assert traces(child.pid)
            yield child
        finally:
            child.kill()


@pytest.mark.parametrize(
    ("body", "number"),
    [
        ("hosts.close()", None),
        ("", None),
        ("raise RuntimeError('on purpose')", None),
        ("time.sleep(60)", signal.SIGINT),
        ("time.sleep(60)", signal.SIGTERM),
        ("time.sleep(60)", signal.SIGHUP),
    ],
    ids=["close", "end", "exception", "SIGINT", "SIGTERM", "SIGHUP"],
)
def test_nothing_is_left(body: str, number: int | None, capfd: pytest.CaptureFixture[str]) -> None:
    before = machine()
    with another(body, 17) as child:
        if number is not None:
            child.send_signal(number)
        child.wait(20)
        assert traces(child.pid) == []
    assert machine() == before
    capfd.readouterr()


def test_after_sigkill_the_next_one_clears_up() -> None:
    before = machine()
    with another("time.sleep(60)", 17) as child:
        child.kill()
        child.wait(5)
        assert wait_until(lambda: not [line for line in traces(child.pid) if "infinity" in line], 10)
        with Cluster(1):
            assert traces(child.pid) == []
    assert machine() == before


def test_a_failed_start_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before, mine = machine(), set(traces(os.getpid()))
    monkeypatch.setattr("vcluster.sshd_config", lambda *_: "Nonsense yes\n")
    with pytest.raises(ClusterError, match="sshd of h00 did not start: .*Nonsense"):
        Cluster(3).up()
    assert machine() == before and set(traces(os.getpid())) <= mine


def test_two_clusters_live_side_by_side(fresh_cluster: Factory) -> None:
    one, two = fresh_cluster(2), fresh_cluster(2)
    one.crash(1)
    assert two.run(0, [*SSH, "h01", "hostname"]).stdout == "h01\n"
    one.close()
    assert two.run(1, [*SSH, "h00", "hostname"]).stdout == "h00\n"


# -- the fixtures ---------------------------------------------------------------------------------


def inner_pytest(folder: Path, text: str) -> tuple[int, str, int]:
    """Runs tests that use our fixtures in a pytest of their own: status, output, its pid."""
    (folder / "test_inner.py").write_text(text)
    argv = [sys.executable, "-m", "pytest", "-q", "--durations=0", "-p", "conftest", "test_inner.py"]
    environment = {**os.environ, "PYTHONPATH": str(HERE), "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(
        argv, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as child:
        return child.wait(60), child.communicate()[0], child.pid


def test_a_test_that_leaves_a_process_gets_an_error(tmp_path: Path) -> None:
    text = """
def test_leaves_one(fresh_cluster):
    hosts = fresh_cluster(2)
    hosts.grace = 0.3
    hosts.run(0, ["ssh", "h01", "setsid sleep 64 >/dev/null 2>&1 </dev/null &"], check=True)

def test_is_tidy(fresh_cluster):
    fresh_cluster(1).run(0, ["true"], check=True)
"""
    status, output, pid = inner_pytest(tmp_path, text)
    assert status == 1 and "still running 0.3 s after the test" in output, output
    assert "h01: " in output and "sleep 64" in output
    assert output.splitlines()[-1].startswith("2 passed, 1 error in ")
    assert traces(pid) == []


def test_an_interrupted_pytest_leaves_nothing(tmp_path: Path) -> None:
    text = """
import os, signal

def test_is_interrupted(cluster, fresh_cluster):
    cluster(2), fresh_cluster(2)
    os.kill(os.getpid(), signal.SIGINT)
"""
    status, output, pid = inner_pytest(tmp_path, text)
    assert status == 2 and "KeyboardInterrupt" in output, output
    assert traces(pid) == []


# -- the command ----------------------------------------------------------------------------------


def vcluster(*argv: str, status: int = 0) -> str:
    done = subprocess.run([HERE / "vcluster", *argv], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == status, done
    return done.stdout + done.stderr


def test_the_command_keeps_a_cluster_between_calls() -> None:
    if clusters_by_hand():
        pytest.skip("somebody is using the command")
    before = machine()
    try:
        assert vcluster("up", "3") == "3 hosts: h00 to h02\n"
        assert "is up already" in vcluster("up", "3", status=1)
        assert vcluster("run", "h00", *SSH, "h01", "hostname") == "h01\n"
        assert vcluster("run", "h00", "sh", "-c", "exit 7", status=7) == ""
        assert "h01 198.18.0.12 up own" in vcluster("status")
        vcluster("fault", "no_sshd", "h02")
        assert "refused" in vcluster("run", "h00", *SSH, "h02", "true", status=255)
        vcluster("fault", "sshd", "h02")
        assert vcluster("run", "h00", *SSH, "h02", "hostname") == "h02\n"
    finally:
        vcluster("down")
    assert "no cluster is up" in vcluster("run", "h00", "true", status=1)
    assert machine() == before
