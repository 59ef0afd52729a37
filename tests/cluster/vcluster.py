# SPDX-License-Identifier: Apache-2.0
"""Many hosts on one machine, for tests: network namespaces with a real sshd each. Needs root.

By hand (`tests/cluster/vcluster --help` lists all of it):

    tests/cluster/vcluster up 9               hosts h00 ... h08, until `vcluster down`
    tests/cluster/vcluster run h00 ssh h03 hostname
    tests/cluster/vcluster nodelist           writes one, prints its path on the hosts
    tests/cluster/vcluster fault unplug h03
    tests/cluster/vcluster down

In a test (fixtures `cluster`, `fresh_cluster` and `charmrun` are in conftest.py):

    def test_hostname(cluster, charmrun):
        hosts = cluster(9)                                      # shared by all tests: leave it whole
        done = hosts.run(0, [charmrun, "+p9", "++nodelist", hosts.nodelist(9), "hostname"])
        assert len(done.stdout.splitlines()) == 9

What a host is
  * An own network, pid, mount, IPC and host name namespace, kept alive by a sleeping init
    (`ct<pid>-*-h03` in `ps`). All inits die with the process that owns the cluster, and with an init
    everything on its host. Hosts see only their own processes; /proc of the machine shows all, and
    `processes()` lists them with the machine's pids.
  * Addresses in 198.18.0.0/15 (or 2001:2::/48) on a bridge without a way out. /etc is a copy: all host names are in
    /etc/hosts; any other name does not exist, at once, except that names in `.slow` get no answer
    at all. `blackhole` swallows packets, `fabric` refuses connections.
  * Users `ctuser` and `ctother` exist only there, log in by ed25519 key, run bash, and know all
    host keys. /home, /tmp and /run are the cluster's; /home/shared is common to all hosts. The
    repository and $CHARMTREE_BUILD are visible everywhere at their usual path.
  * Every fourth host, from h01 on (`own=` for others), has its own home, /tmp, /run and host key,
    and a monotonic clock 1000 s ahead of or behind the others'. The rest share theirs.
  * ssh uses curve25519 for the key exchange: OpenSSH's own default costs 200 ms of CPU per login.

Nothing on the machine changes but a directory ct<pid>-* in /dev/shm or /tmp, CPU groups when asked
for, and the limits of the neighbour table; close() puts that right, on exceptions and signals too,
and after SIGKILL the next cluster or `vcluster down` does.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import vc_guard
import vc_linux as linux
import vc_state
from vc_cgroup import make_cpu_groups, remove_cpu_groups
from vc_faults import Faults, Where, wait_until
from vc_files import SHARED, Files
from vc_host import Host, Process, User
from vc_net import IPV4, IPV6, MAX_HOSTS, NETWORK, ClusterError, Fabric, Network, tool
from vc_ssh import Options, known_hosts_line, known_hosts_styles, sshd_config

__all__ = ["Cluster", "ClusterError", "Process", "Result", "Where"]

REPOSITORY = Path(__file__).resolve().parents[2]
_CLOCK_STEP_S = 1000
_SSHD_DEADLINE_S = 20.0
_TABLE_FROM_HOSTS = 16  # from here on the neighbour table's limits are raised


class Result(subprocess.CompletedProcess[str]):
    """How a command on a host ended; `elapsed` is in seconds."""

    def __init__(self, args: Any, returncode: int, stdout: str, stderr: str, elapsed: float) -> None:
        super().__init__(args, returncode, stdout, stderr)
        self.elapsed = elapsed


class Cluster(Faults):
    """`with Cluster(n) as hosts:` brings up n hosts and leaves nothing behind.

    names: of the hosts; by default h00 and so on.
    own: the hosts with their own home, /tmp, /run, host key and clock (never host 0 by default).
    cpu_share: how much of one CPU each host gets; none: all of the machine.
    visible: directories of the machine that all hosts see, besides the repository and the build.
    network: IPV4 or IPV6: the hosts have addresses of that family alone ($CHARMTREE_NETWORK: where nothing is said).
    Use from one thread; the one that calls up() must outlive the cluster.
    """

    def __init__(
        self,
        n: int,
        *,
        names: Sequence[str] = (),
        own: Iterable[int] | None = None,
        cpu_share: float | None = None,
        visible: Iterable[Path] = (),
        known_hosts: str = "plain",
        network: Network = NETWORK,
    ) -> None:
        if not 1 <= n <= MAX_HOSTS:
            raise ClusterError(f"{n} hosts: can be 1 to {MAX_HOSTS}")
        self.n = n
        self.names = list(names) or [f"h{index:0{max(2, len(str(n - 1)))}}" for index in range(n)]
        self.own = frozenset(range(1, n, 4) if own is None else own)
        self.by_hand = False  # lasts between commands, for the program vcluster
        self.notes: list[str] = []  # what this machine could not offer
        self._cpu_share = cpu_share
        build = os.environ.get("CHARMTREE_BUILD")
        self._visible = [REPOSITORY, *([Path(build)] if build else []), *visible]
        self._known_hosts = known_hosts
        self.network = network
        self._undo = contextlib.ExitStack()
        self._children: list[subprocess.Popen[Any]] = []
        self.sshds: dict[int, subprocess.Popen[Any]] = {}
        self._key_names: dict[int, str] = {}
        self._lists = 0
        self.frozen: set[int] = set()
        self.grace = 5.0  # seconds after which a test's processes must be gone; see conftest.py

    # -- life ---------------------------------------------------------------------------------

    def __enter__(self) -> Cluster:
        return self.up()

    def __exit__(self, *_: object) -> None:
        self.close()

    def up(self) -> Cluster:
        """Brings the hosts up; on failure nothing is left."""
        if os.geteuid() != 0:
            raise ClusterError("virtual hosts need root")
        for name, package in (("sshd", "openssh-server"), ("ip", "iproute2"), ("nft", "nftables")):
            tool(name, package)
        vc_state.sweep()
        vc_guard.guard(self.close)
        try:
            self._build()
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """Ends every process on the hosts and removes all that up() made. May be called again."""
        try:
            self._undo.close()
        finally:
            vc_guard.release(self.close)

    def _build(self) -> None:
        self.files = Files(self.names, sorted(self.own), self._visible, self.network)
        self._undo.callback(self.files.close)
        self.base = self.files.base
        if self.n >= _TABLE_FROM_HOSTS:
            self._undo.callback(vc_state.restore_limits, self.base)
            vc_state.raise_limits(self.base, self.n)
        self.fabric = Fabric(self.network)
        self._undo.callback(self.fabric.close)
        self.hosts: list[Host] = []
        self._undo.callback(self._end_hosts)
        self._make_hosts()
        self.fabric.connect([host.net for host in self.hosts])
        for host in self.hosts:
            host.boot()
        self.files.host_keys.make({self.key_name(index) for index in range(self.n)})
        self.reset()
        self.start_sshds(range(self.n), {})
        self.save()

    def _make_hosts(self) -> None:
        groups = self._make_groups()
        offsets = self._clock_offsets()
        for index, name in enumerate(self.names):
            host = Host(index, name, f"{self.base.name}-{name}", linux.new_network_namespace())
            self.hosts.append(host)
            host.own, host.clock_offset_s = index in self.own, offsets[index]
            host.covers, host.keep = self.files.covers(index), self.files.visible
            host.cgroup = groups[index] if groups else None

    def _make_groups(self) -> list[Path]:
        if self._cpu_share is None:
            return []
        return make_cpu_groups(self.base.name, self.names, self._cpu_share)

    def _clock_offsets(self) -> list[int]:
        """A clock cannot start below zero: on a machine just booted, everybody else is ahead."""
        if not linux.has_time_namespaces():
            self.notes.append("no time namespaces in this kernel: all hosts share one clock")
            return [0] * self.n
        young = time.clock_gettime(time.CLOCK_MONOTONIC) < _CLOCK_STEP_S + 10
        common = _CLOCK_STEP_S if young else 0
        steps = {i: (-1 if k % 2 else 1) * _CLOCK_STEP_S for k, i in enumerate(sorted(self.own))}
        return [common + steps.get(index, 0) for index in range(self.n)]

    def _end_hosts(self) -> None:
        with contextlib.ExitStack() as rest:
            if self._cpu_share is not None:
                rest.callback(remove_cpu_groups, self.base.name)
            for host in self.hosts:
                rest.callback(os.close, host.net)
                rest.callback(host.halt)
                host.kill()
            for child in self._children:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(10)
            self._children.clear()
        self.hosts = []

    def save(self) -> None:
        """Lets the command line, another process, find the hosts."""
        state = {"names": self.names, "own": sorted(self.own), "fabric": self.fabric.fd}
        state["by_hand"] = self.by_hand
        state["network"] = self.network.name
        state["inits"] = [host.pid for host in self.hosts]
        state["nets"] = [host.net for host in self.hosts]
        state["offsets"] = [host.clock_offset_s for host in self.hosts]
        state["cgroups"] = [str(host.cgroup or "") for host in self.hosts]
        vc_state.save(self.base, state)

    # -- hosts --------------------------------------------------------------------------------

    def index(self, where: Where) -> int:
        """The number of a host given by number or name."""
        if isinstance(where, str):
            if where not in self.names:
                raise ClusterError(f"no host {where}: there are {self.names[0]} to {self.names[-1]}")
            return self.names.index(where)
        if not 0 <= where < self.n:
            raise ClusterError(f"no host {where}: there are 0 to {self.n - 1}")
        return where

    def address(self, where: Where) -> str:
        return self.network.host(self.index(where))

    def user(self, name: str) -> User:
        return self.files.users[name]

    def popen(
        self,
        where: Where,
        argv: Sequence[str | Path],
        user: str = "ctuser",
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        **options: Any,
    ) -> subprocess.Popen[Any]:
        """Starts a program on a host, in a session of its own; `options` are those of Popen.

        It is this process's own child: signals sent to its pid reach the program itself. Text in
        and out by default; standard input is empty. Its environment is a fresh one, plus `env`.
        """
        host = self.hosts[self.index(where)]
        if "text" not in options and "bufsize" not in options:
            options |= {"text": True, "errors": "replace"}
        options = {"stdin": subprocess.DEVNULL, "start_new_session": True, **options}
        child = host.popen([str(word) for word in argv], self.user(user), cwd, env, **options)
        self.reap()
        self._children.append(child)
        return child

    def reap(self) -> None:
        """Forgets programs that have ended; the dead keep their host's pid namespace alive."""
        self._children = [child for child in self._children if child.poll() is None]

    def run(
        self,
        where: Where,
        argv: Sequence[str | Path],
        user: str = "ctuser",
        timeout: float = 60.0,
        stdin: str | None = None,
        check: bool = False,
        **options: Any,
    ) -> Result:
        """Runs a program on a host to its end. After `timeout` seconds it is killed (with its
        process group) and TimeoutExpired carries what it had printed."""
        begin = time.monotonic()
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        options["stdin"] = subprocess.DEVNULL if stdin is None else subprocess.PIPE
        child = self.popen(where, argv, user, **options)
        try:
            out, err = child.communicate(stdin, timeout)
        except BaseException as error:
            out, err = _kill_group(child)
            if isinstance(error, subprocess.TimeoutExpired):
                raise subprocess.TimeoutExpired(child.args, timeout, out, err) from None
            raise
        done = Result(child.args, child.returncode, out, err, time.monotonic() - begin)
        if check:
            done.check_returncode()
        return done

    def exec_root(self, where: Where, argv: Sequence[str | Path], **options: Any) -> Result:
        return self.run(where, argv, user="root", **options)

    # -- files --------------------------------------------------------------------------------

    def path(self, where: Where, inside: str) -> Path:
        """Where a file of a host lies on the machine, to read or remove it."""
        return self.files.path(self.index(where), inside)

    def put(self, where: Where, inside: str, text: str, user: str = "ctuser", mode: int = 0o644) -> str:
        """Writes a file on a host (a relative path is in the home); returns its path there."""
        full = os.path.join(self.user(user).home, inside)
        self.files.put(self.path(where, full), text, self.user(user), mode)
        return full

    def put_everywhere(self, inside: str, text: str, user: str = "ctuser", mode: int = 0o644) -> None:
        """put() on every host."""
        for index in [0, *sorted(self.own)]:
            self.put(index, inside, text, user, mode)

    def nodelist(self, hosts: int | Iterable[Where] | None = None, extra: str = "") -> str:
        """Writes a nodelist that all hosts can read; returns its path there.

        hosts: how many, or numbers, or anything that may follow `host`; all by default. extra: goes
        behind `group main` when it begins with `++`, else it is text for the end of the file.
        """
        chosen = range(self.n if hosts is None else hosts) if not isinstance(hosts, Iterable) else hosts
        lines = [self.names[one] if isinstance(one, int) else one for one in chosen]
        head, tail = (f" {extra}", "") if extra.startswith("++") else ("", extra)
        text = f"group main{head}\n" + "".join(f" host {line}\n" for line in lines) + tail
        self._lists += 1
        return self.put(0, f"{SHARED}/nodelist-{os.getpid()}-{self._lists}", text)

    # -- ssh ----------------------------------------------------------------------------------

    def reset(self) -> None:
        """Gives all users fresh homes, as up() did."""
        for name in ("ctuser", "ctother"):
            for home in self.files.homes(range(self.n), self.user(name)):
                self.files.fill_home(home, self.user(name))
        self.known_hosts(self._known_hosts)

    def ssh_config(self, text: str, hosts: Iterable[Where] | None = None) -> None:
        """Sets ctuser's ~/.ssh/config on some hosts (all by default; most share one home)."""
        for home in self._homes(hosts):
            self.files.put(home / ".ssh/config", text, self.user("ctuser"), 0o600)

    def user_keys(self, kinds: Sequence[str], hosts: Iterable[Where] | None = None) -> None:
        """Makes `kinds` ("rsa", "ecdsa", ...) the keys that ctuser has and that may log in."""
        for home in self._homes(hosts):
            self.files.put_keys(home, self.user("ctuser"), kinds)

    def known_hosts(
        self,
        style: str = "plain",
        hosts: Iterable[Where] | None = None,
        wrong: Iterable[Where] = (),
        without: Iterable[Where] = (),
        kinds: Sequence[str] = ("ed25519",),
    ) -> None:
        """Writes all hosts' keys into the users' known_hosts on some hosts.

        style: plain, hashed, none (no such file), or system (/etc/ssh/ssh_known_hosts of all hosts
        instead). wrong: hosts whose entry holds another key. without: hosts that have no entry.
        """
        if style not in known_hosts_styles():
            raise ClusterError(f"unknown style {style}")
        text = self.known_hosts_text(style == "hashed", wrong, without, kinds)
        system = self.base / "etc/ssh/ssh_known_hosts"
        system.unlink(missing_ok=True)
        if style == "system":
            self.files.put(system, text, self.user("root"))
        for user in (self.user("ctuser"), self.user("ctother")):
            for home in self._homes(hosts, user):
                (home / ".ssh/known_hosts").unlink(missing_ok=True)
                if style in ("plain", "hashed"):
                    self.files.put(home / ".ssh/known_hosts", text, user, 0o600)

    def known_hosts_text(
        self,
        hashed: bool = False,
        wrong: Iterable[Where] = (),
        without: Iterable[Where] = (),
        kinds: Sequence[str] = ("ed25519",),
    ) -> str:
        bad, absent = ({self.index(one) for one in some} for some in (wrong, without))
        lines = []
        for index in (one for one in range(self.n) if one not in absent):
            key = "wrong" if index in bad else self.key_name(index)
            for kind in kinds:
                public = self.files.host_keys.public(key, kind)
                lines.append(known_hosts_line([self.names[index], self.address(index)], public, hashed))
        return "".join(lines)

    def key_name(self, index: int) -> str:
        """The name under which the key store has the host's key."""
        return self._key_names.get(index, self.names[index] if index in self.own else "shared")

    def change_host_key(self, where: Where) -> None:
        """From the next sshd() on the host has a new key, which nobody knows."""
        index = self.index(where)
        self._key_names[index] = f"{self.key_name(index)}-changed"

    def sshd(self, where: Where, options: Options | None = None, kinds: Sequence[str] = ("ed25519",)) -> None:
        """(Re)starts a host's sshd with these options on top of the usual ones and host keys of
        these kinds. Sessions that are open stay open."""
        index = self.index(where)
        self.no_sshd(index)
        self.start_sshds([index], options or {}, kinds)

    def no_sshd(self, where: Where) -> None:
        """Stops a host's sshd: connections are refused; open sessions stay."""
        index = self.index(where)
        for process in self.processes(index):
            if process.command == "sshd" and "[listener]" in process.cmdline:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGTERM)
                wait_until(lambda pid=process.pid: vc_state.process_start(pid) is None, 5)
        child = self.sshds.pop(index, None)
        if child is not None:
            child.wait(10)

    def sshd_log(self, where: Where) -> str:
        """What a host's sshd has logged since the cluster came up."""
        return (self.base / "log" / self.names[self.index(where)]).read_text(errors="replace")

    def start_sshds(
        self, indices: Iterable[int], options: Options, kinds: Sequence[str] = ("ed25519",)
    ) -> None:
        port = next((int(str(v)) for k, v in options.items() if k.lower() == "port"), 22)
        chosen = list(indices)
        for index in chosen:
            for kind in kinds:
                self.files.host_keys.private(self.key_name(index), kind)
            keys = [f"/etc/vcluster/{self.key_name(index)}.{kind}" for kind in kinds]
            config = f"/etc/vcluster/{self.names[index]}.conf"
            self.put(index, config, sshd_config(keys, options), user="root", mode=0o600)
            with (self.base / "log" / self.names[index]).open("ab") as log:
                argv = [tool("sshd", "openssh-server"), "-D", "-e", "-f", config]
                self.sshds[index] = self.popen(index, argv, "root", cwd="/", stdout=log, stderr=log)
        for index in chosen:
            self._await_sshd(index, port)

    def _await_sshd(self, index: int, port: int) -> None:
        child = self.sshds[index]
        table = Path(f"/proc/{self.hosts[index].pid}/net/tcp")
        listening = f"00000000:{port:04X} 00000000:0000 0A"

        def settled() -> bool:
            return listening in table.read_text(encoding="ascii") or child.poll() is not None

        ready = wait_until(settled, _SSHD_DEADLINE_S)
        if not ready or child.poll() is not None:
            raise ClusterError(f"sshd of {self.names[index]} did not start: {self.sshd_log(index)}")

    def _homes(self, hosts: Iterable[Where] | None, user: User | None = None) -> list[Path]:
        chosen = range(self.n) if hosts is None else [self.index(one) for one in hosts]
        return self.files.homes(list(chosen), user or self.user("ctuser"))


def attach(base: Path) -> Cluster:
    """The cluster of another process, for running programs and making faults. Never close it."""
    state = vc_state.load(base)
    network = next(one for one in (IPV4, IPV6) if one.name == state["network"])
    cluster = Cluster(len(state["names"]), own=state["own"], network=network)
    cluster.base, owner = base, f"/proc/{state['pid']}/fd"
    cluster.files = Files.attach(base, state["names"], state["own"])
    cluster.fabric = Fabric.attach(os.open(f"{owner}/{state['fabric']}", os.O_RDONLY | os.O_CLOEXEC))
    cluster.hosts = []
    for index, name in enumerate(cluster.names):
        net = os.open(f"{owner}/{state['nets'][index]}", os.O_RDONLY | os.O_CLOEXEC)
        host = Host(index, name, f"{base.name}-{name}", net)
        host.clock_offset_s = state["offsets"][index]
        host.cgroup = Path(state["cgroups"][index]) if state["cgroups"][index] else None
        with contextlib.suppress(ProcessLookupError):
            host.attach(state["inits"][index])
        cluster.hosts.append(host)
    return cluster


def _kill_group(child: subprocess.Popen[Any]) -> tuple[str, str]:
    """Kills a command with its process group; returns what it printed, or what came within 2 s."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    try:
        return child.communicate(timeout=2)
    except subprocess.TimeoutExpired as error:  # something that left the group holds its pipes
        return _text(error.stdout), _text(error.stderr)


def _text(data: bytes | str | None) -> str:
    return data.decode(errors="replace") if isinstance(data, bytes) else data or ""
