# SPDX-License-Identifier: Apache-2.0
"""Fixtures for tests on virtual hosts (see vcluster.py): cluster, fresh_cluster, charmrun; and which tests
`tests/run --quick` takes.

After each test no process of it may run on any host: a test that leaves one gets an error that
lists it, and what it left is killed, so that the next test starts clean.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import parts
import pytest
import vc_job
from running import CAMPAIGN
from vcluster import REPOSITORY, Cluster

Factory = Callable[..., Cluster]
# What `tests/run` asks of this pytest, and not of those that tests run.
_CLAIMS = os.environ.pop("CHARMTREE_CLAIMS", None)  # a folder that all lanes share
_FAILED = os.environ.pop("CHARMTREE_FAILED", None)  # a file for the names of tests that fail
_PARTS = os.environ.pop("CHARMTREE_PARTS", None)  # all tests of parts are run; those that pass are written down
_SHARED_HOSTS = 26
_MOST_S = 600  # three times the longest test beside other work: one that waits for ever fails, and does not end all
_HERE = Path(__file__).parent
# One test of each kind that is quick: they get the mark `smoke`.
_SMOKE = {
    "test_bad_usage.py::test_mistakes_on_the_command_line",
    "test_cgroup.py::test_processes_have_a_group_of_their_own_that_is_removed",
    "test_doctor.py::test_nothing_is_started_and_every_host_is_looked_at",
    "test_matrix.py::test_charm_double[9-2-2]",
    "test_output.py::test_reports_of_hosts_with_other_clocks[charm]",
    "test_plain.py::test_hostname",
    "test_secrets.py::test_nothing_of_the_job_can_be_seen_on_the_hosts[built-in ssh]",
    "test_survivors.py::test_over_ssh_on_9_hosts[kill-leaf]",
    "test_transports.py::test_an_unknown_host_key_is_one_clear_error",
}


def pytest_configure() -> None:
    """Who is started in the background of a script ignores Ctrl-C, or under nohup the hangup; the jobs must not inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    ours = {f"{item.path.name}::{item.name}": item for item in items if item.path.is_relative_to(_HERE)}
    for name in _SMOKE & set(ours):
        ours[name].add_marker(pytest.mark.smoke)
    if config.option.markexpr == "smoke" and not set(ours) >= _SMOKE:
        raise pytest.UsageError(f"no such tests, see _SMOKE: {sorted(_SMOKE - set(ours))}")
    known = {} if _PARTS or CAMPAIGN else parts.tested()
    for item in ours.values():
        part = item.get_closest_marker("part")
        if part is not None and part.args[0] in known and known[part.args[0]] == parts.state_of(part.args[1:]):
            item.add_marker(pytest.mark.skip(reason=f"the sources of {part.args[0]} are those that `tests/campaign parts` tested"))
    if os.geteuid() != 0:
        for item in ours.values():
            item.add_marker(pytest.mark.skip(reason="virtual hosts need root (network namespaces)"))


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """One lane of several: of all tests those in files that no other lane has begun."""
    if _CLAIMS is None or session.testsfailed or session.config.option.collectonly:
        return None
    ours = _claimed(session.items, Path(_CLAIMS))
    item = next(ours, None)
    while item is not None:
        following = next(ours, None)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        item = following
    return True


def _claimed(items: list[pytest.Item], claims: Path) -> Iterator[pytest.Item]:
    is_ours: dict[str, bool] = {}
    for item in items:
        name = item.path.name
        if name not in is_ours:
            try:
                (claims / name).touch(exist_ok=False)
                is_ours[name] = True
            except FileExistsError:
                is_ours[name] = False
        if is_ours[name]:
            yield item


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    def too_long(_number: int, _frame: object) -> None:
        pytest.fail(f"not done after {_MOST_S} s")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(0 if CAMPAIGN or not item.path.is_relative_to(_HERE) else _MOST_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """The tests that failed, a line each, behind those of other lanes: `tests/run` tries them once more. Of parts that passed, what was tested."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and _PARTS is not None and session.testsfailed == 0 and "skipped" not in reporter.stats:
        marks = [mark for item in session.items if (mark := item.get_closest_marker("part")) is not None]
        parts.write_tested({mark.args[0]: parts.state_of(mark.args[1:]) for mark in marks})
    if reporter is not None and _FAILED is not None:
        reports = [one for kind in ("failed", "error") for one in reporter.stats.get(kind, [])]
        names = dict.fromkeys(one.nodeid for one in reports if isinstance(one, pytest.TestReport))
        with Path(_FAILED).open("a") as file:
            file.write("".join(f"{name}\n" for name in names))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How near the ends of jobs came to the promise that nothing of them is left then."""
    if vc_job.ends:
        took, load = max(vc_job.ends)
        terminalreporter.write_line(
            f"{len(vc_job.ends)} times the last process of a job was awaited: {took:.2f} s at most, promised "
            f"{vc_job.SETTLE_S:g} s (then {load:.1f} times overloaded)"
        )


class _Pool:
    """The clusters that all tests share, by size and options, and which of them a test has used."""

    def __init__(self) -> None:
        self._clusters: dict[str, Cluster] = {}
        self.used: list[Cluster] = []

    def get(self, n: int, **options: Any) -> Cluster:
        """At least n hosts, with the homes that up() gave them."""
        size = max(n, _SHARED_HOSTS) if not options else n
        key = f"{size} {sorted(options.items())}"
        cluster = self._clusters.get(key)
        if cluster is None:
            cluster = self._clusters[key] = Cluster(size, **options).up()
        elif cluster not in self.used:
            cluster.reset()
        if cluster not in self.used:
            self.used.append(cluster)
        return cluster

    def close(self) -> None:
        for cluster in self._clusters.values():
            cluster.close()


def _assert_quiet(cluster: Cluster) -> None:
    left = cluster.quiet(cluster.grace)
    if not left:
        return
    cluster.kill_survivors()
    lines = "".join(f"\n  {cluster.names[one.host]}: {one.pid} {one.cmdline}" for one in left)
    pytest.fail(f"still running {cluster.grace:g} s after the test:{lines}", pytrace=False)


@pytest.fixture(scope="session")
def _pool() -> Iterator[_Pool]:
    pool = _Pool()
    yield pool
    pool.close()


@pytest.fixture
def cluster(_pool: _Pool) -> Iterator[Factory]:
    """cluster(n) gives a cluster of n hosts or more that other tests use too.

    A test may write into homes and leave files, but must not make faults or restart an sshd.
    """
    _pool.used.clear()
    yield _pool.get
    for one in _pool.used:
        _assert_quiet(one)


@pytest.fixture
def fresh_cluster() -> Iterator[Factory]:
    """fresh_cluster(n, ...) gives a cluster of the test's own, to be broken at will."""
    made: list[Cluster] = []

    def make(n: int, **options: Any) -> Cluster:
        made.append(Cluster(n, **options).up())
        return made[-1]

    yield make
    try:
        for one in made:
            _assert_quiet(one)
    finally:
        for one in made:
            one.close()


@pytest.fixture(scope="session")
def charmrun() -> Path:
    """The program under test: of $CHARMTREE_BUILD, or of build/."""
    path = Path(os.environ.get("CHARMTREE_BUILD") or REPOSITORY / "build").resolve() / "bin/charmrun"
    if not os.access(path, os.X_OK):
        pytest.fail(f"{path} is missing: build it first, or set CHARMTREE_BUILD", pytrace=False)
    return path


@pytest.fixture
def mpiexec(charmrun: Path) -> Path:
    """The link that installing makes."""
    link = charmrun.parent / "mpiexec"
    if not link.is_symlink():
        link.symlink_to(charmrun.name)
    return link
