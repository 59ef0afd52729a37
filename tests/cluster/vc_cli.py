# SPDX-License-Identifier: Apache-2.0
"""The command `vcluster`: a cluster that stays up between commands, for work by hand."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import vc_state
from vc_ssh import known_hosts_styles
from vcluster import Cluster, ClusterError, attach

_UP_DEADLINE_S = 300
_DOWN_DEADLINE_S = 60
_FAULTS = ("unplug", "plug", "drop", "undrop", "freeze", "thaw", "crash", "no_sshd", "sshd")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="vcluster", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="bring N hosts up")
    serve = commands.add_parser("serve", help="the same in the foreground, until a signal")
    for sub in (up, serve):
        sub.add_argument("n", type=int)
        sub.add_argument("--own", help="hosts with their own home, clock, ...: 1,5,9 or all or none")
        sub.add_argument("--cpu", type=float, metavar="SHARE", help="share of one CPU per host")
        sub.add_argument("--known-hosts", choices=known_hosts_styles(), default="plain")
        sub.add_argument("--visible", type=Path, action="append", default=[], metavar="DIR")
    commands.add_parser("down", help="end it, and clear what dead clusters have left")
    run = commands.add_parser("run", help="run a command on a host")
    run.add_argument("-u", "--user", default="ctuser")
    run.add_argument("-C", "--cwd")
    run.add_argument("host")
    run.add_argument("argv", nargs=argparse.REMAINDER)
    commands.add_parser("status", help="show hosts and what runs there")
    commands.add_parser("nodelist", help="write a nodelist, print its path on the hosts")
    fault = commands.add_parser("fault", help="make or undo a fault")
    fault.add_argument("kind", choices=_FAULTS)
    fault.add_argument("host")
    return parser.parse_args()


def clusters_by_hand() -> list[Path]:
    """Clusters that `serve` made; those of running tests are not ours to touch."""
    found = []
    for base in vc_state.running():
        try:
            if vc_state.load(base).get("by_hand"):
                found.append(base)
        except (OSError, ValueError):
            continue  # still coming up
    return found


@contextmanager
def _attached() -> Iterator[Cluster]:
    bases = clusters_by_hand()
    if not bases:
        raise ClusterError("no cluster is up: vcluster up N")
    yield attach(bases[0])


def _own(text: str | None, n: int) -> list[int] | None:
    if text is None:
        return None
    words = {"all": range(n), "none": range(0)}.get(text)
    return list(words) if words is not None else [int(word) for word in text.split(",")]


def _up(options: argparse.Namespace) -> int:
    """Starts `serve` in the background and waits until it says that it is ready."""
    if clusters_by_hand():
        raise ClusterError("a cluster is up already: vcluster down")
    argv = [sys.executable, os.path.abspath(__file__), "serve", *sys.argv[2:]]
    server = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert server.stdout is not None
    try:
        first = server.stdout.readline()
    except KeyboardInterrupt:
        server.terminate()
        server.wait(_UP_DEADLINE_S)
        raise
    if not first:
        return server.wait(_UP_DEADLINE_S) or 1
    print(first, end="")
    return 0


def _serve(options: argparse.Namespace) -> int:
    stopping = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
    with Cluster(
        options.n,
        own=_own(options.own, options.n),
        cpu_share=options.cpu,
        known_hosts=options.known_hosts,
        visible=options.visible,
    ) as cluster:
        cluster.by_hand = True
        cluster.save()
        for note in cluster.notes:
            print(f"vcluster: {note}", file=sys.stderr)
        signal.pthread_sigmask(signal.SIG_BLOCK, stopping)
        print(f"{options.n} hosts: {cluster.names[0]} to {cluster.names[-1]}", flush=True)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        if not os.isatty(1):
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
        signal.sigwait(stopping)
    return 0


def _down() -> int:
    bases = clusters_by_hand()
    for base in bases:
        pid = vc_state.load(base)["pid"]
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + _DOWN_DEADLINE_S
        while base.exists() or vc_state.process_start(pid) is not None:
            if time.monotonic() > deadline:
                raise ClusterError(f"process {pid} does not end")
            time.sleep(0.02)
    left = vc_state.sweep()
    print(f"{len(bases)} ended" + (f"; cleared after {', '.join(left)}" if left else ""))
    return 0


def _run(options: argparse.Namespace) -> int:
    argv = options.argv[1:] if options.argv[:1] == ["--"] else options.argv
    if not argv:
        raise ClusterError("run what? vcluster run HOST COMMAND...")
    with _attached() as cluster:
        # In our own session and process group, so that the terminal's Ctrl-C reaches the program.
        child = cluster.popen(
            options.host, argv, options.user, cwd=options.cwd, stdin=None, start_new_session=False
        )
        while True:
            try:
                status = child.wait()
                return 128 - status if status < 0 else status
            except KeyboardInterrupt:
                continue  # it was for the program, which has got it too


def _status() -> int:
    for base in vc_state.running():
        cluster = attach(base)
        print(f"{base.name}: {cluster.n} hosts, owner {vc_state.load(base)['pid']}")
        for host in cluster.hosts:
            inside = [one for one in cluster.processes(host.index) if one.pid != host.pid]
            state = "up" if host.pidfd >= 0 else "down"
            own = f" own, clock {host.clock_offset_s:+d} s" if host.index in cluster.own else ""
            print(f"  {host.name} {cluster.address(host.index)} {state}{own}")
            for process in inside:
                print(f"    {process.pid} {process.cmdline}")
    return 0


def _act(options: argparse.Namespace) -> int:
    if options.command == "up":
        return _up(options)
    if options.command == "serve":
        return _serve(options)
    if options.command == "down":
        return _down()
    if options.command == "run":
        return _run(options)
    if options.command == "status":
        return _status()
    with _attached() as cluster:
        if options.command == "nodelist":
            print(cluster.nodelist())
        else:
            getattr(cluster, options.kind)(options.host)
    return 0


def main() -> int:
    options = _parse()
    if os.geteuid() != 0:
        print("vcluster: needs root", file=sys.stderr)
        return 1
    try:
        return _act(options)
    except (ClusterError, OSError, subprocess.SubprocessError) as error:
        print(f"vcluster: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
