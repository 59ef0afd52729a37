# SPDX-License-Identifier: Apache-2.0
"""Logins of every kind: keys, host keys, ssh's configuration, names, and this machine among the others."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from running import (
    NUMBER_AND_HOST,
    PATIENCE_S,
    Factory,
    assert_good,
    built,
    charmrun_lines,
    command,
    double_lines,
    error_line,
    program_lines,
    run,
)
from vcluster import Cluster

SLOW_NAMES_S = 3  # until the resolver gives up a name


def names(hosts: Cluster, indices: Sequence[int]) -> list[str]:
    return [hosts.names[index] for index in indices]


def forget_keys(hosts: Cluster, indices: Sequence[int]) -> None:
    """Takes ctuser's private keys away; the key may still log in."""
    for home in {hosts.path(index, "/home/ctuser") for index in indices}:
        for key in (home / ".ssh").glob("id_*"):
            key.unlink()


def said(done: subprocess.CompletedProcess[str], words: str) -> list[str]:
    return [line for line in done.stderr.splitlines() if words in line]


# -- the user's keys ------------------------------------------------------------------------------


def test_an_account_whose_only_key_is_rsa(cluster: Factory, charmrun: Path) -> None:
    """libssh2 1.10 signs with SHA-1, which no server of today takes: there is the ssh command."""
    hosts = cluster(9)
    hosts.user_keys(["rsa"])
    done = run(
        hosts, charmrun, "+p9", "++nodelist", hosts.nodelist(range(1, 10)), "++branching", 3, "hostname"
    )
    old = "libssh2 1.10." in run(hosts, charmrun, "++version").stdout
    assert_good(done, names(hosts, range(1, 10)), said=None if old else "")
    if old:
        (line,) = charmrun_lines(done)
        assert line.endswith("; using the ssh command for such hosts"), line


@pytest.mark.parametrize("kind", ["ecdsa", "ed25519"])
def test_keys_of_other_kinds_need_no_ssh_command(cluster: Factory, charmrun: Path, kind: str) -> None:
    hosts = cluster(3)
    hosts.user_keys([kind])
    done = run(hosts, charmrun, "+p3", "++nodelist", hosts.nodelist(range(1, 4)), "hostname")
    assert_good(done, names(hosts, range(1, 4)))


def test_a_key_that_only_the_agent_has(cluster: Factory, charmrun: Path) -> None:
    """Inner launchers have no agent: their hosts go back to the root."""
    hosts = cluster(7)
    secret = hosts.path(0, "/home/ctuser/.ssh/id_ed25519").read_text()
    key = hosts.put(0, "/home/shared/agent-key", secret, mode=0o600)
    forget_keys(hosts, range(26))
    script = 'ssh-add -q "$1" && rm "$1" && shift || exit 9; "$@"; code=$?; kill $SSH_AGENT_PID; exit $code'
    job = command(charmrun, "+p6", "++nodelist", hosts.nodelist(range(1, 7)), "++branching", 2, "hostname")
    done = hosts.run(0, ["ssh-agent", "sh", "-c", script, "sh", key, *job], timeout=PATIENCE_S)
    assert_good(done, names(hosts, range(1, 7)))


def test_an_inner_host_with_an_empty_home(cluster: Factory, charmrun: Path) -> None:
    """It cannot log in anywhere: the hosts below it are started by the root, and all is as always."""
    hosts = cluster(10)
    home = hosts.path(1, "/home/ctuser/.ssh")
    for file in home.iterdir():
        if file.name != "authorized_keys":
            file.unlink()
    nodelist = hosts.nodelist(range(1, 10))
    double = built(charmrun, "charm_double")
    assert_good(
        run(hosts, charmrun, "+p18", "++nodelist", nodelist, "++branching", 2, double), double_lines(18)
    )
    done = run(hosts, charmrun, "+p9", "++nodelist", nodelist, "++branching", 2, "++verbose", "hostname")
    assert_good(done, names(hosts, range(1, 10)), said=None)
    assert 1 <= len(said(done, "starting it from here")) <= 4, done.stderr  # h02 ... h05 are below h01


def test_a_key_that_nobody_takes_is_one_clear_error(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(5)
    hosts.put(1, ".ssh/authorized_keys", "", mode=0o600)
    done = run(hosts, charmrun, "+p4", "++nodelist", hosts.nodelist(range(1, 5)), "hostname")
    line = error_line(done)
    assert line.startswith("h01: authenticate: ") and "ssh-copy-id" in line, line


@pytest.mark.parametrize("configured", [False, True])
def test_a_certificate_by_the_ssh_command(fresh_cluster: Factory, charmrun: Path, configured: bool) -> None:
    """Hosts know nobody's key, but who has signed the user's; libssh2 has no certificates."""
    hosts = fresh_cluster(3)
    sign = "ssh-keygen -y -f id_ed25519 >id_ed25519.pub && ssh-keygen -q -t ed25519 -N '' -f ca && ssh-keygen -q -s ca -I me -n ctuser id_ed25519.pub"
    hosts.run(0, ["sh", "-c", f"cd ~/.ssh && {sign}"], check=True)
    authority = hosts.put(0, "/home/shared/ca.pub", hosts.path(0, "/home/ctuser/.ssh/ca.pub").read_text(), mode=0o644)
    for index in (1, 2):
        hosts.sshd(index, {"TrustedUserCAKeys": authority, "AuthorizedKeysFile": "none"})
    if configured:
        hosts.ssh_config("CertificateFile ~/.ssh/id_ed25519-cert.pub\n")
    done = run(hosts, charmrun, "+p2", "++nodelist", hosts.nodelist([1, 2]), "hostname")
    assert_good(done, names(hosts, [1, 2]), said=None)
    (line,) = charmrun_lines(done)
    assert "the ssh command" in line and ("CertificateFile" in line) == configured, line


# -- ssh's configuration --------------------------------------------------------------------------


def test_a_host_block_and_two_kinds_of_host_keys(fresh_cluster: Factory, charmrun: Path) -> None:
    hosts = fresh_cluster(5)
    hosts.sshd(1, {"Port": 2222}, kinds=["ecdsa", "ed25519"])
    hosts.sshd(2, kinds=["ed25519", "ecdsa"])
    hosts.sshd(3, kinds=["rsa", "ecdsa", "ed25519"])
    lines = hosts.known_hosts_text(without=[1, 2, 3])
    public = hosts.files.host_keys.public
    lines += f"[h01]:2222 {public(hosts.key_name(1), 'ed25519')}\n"
    lines += f"h02 {public(hosts.key_name(2), 'ecdsa')}\n"
    lines += f"h03 {public(hosts.key_name(3), 'ed25519')}\n"
    hosts.put(0, ".ssh/known_hosts", lines, mode=0o600)
    secret = hosts.path(0, "/home/ctuser/.ssh/id_ed25519").read_text()
    for index in (0, 1):
        hosts.put(index, "keys/special", secret, mode=0o600)
        forget_keys(hosts, [index])
    block = "Host alpha\n HostName h01\n Port 2222\n IdentityFile ~/keys/special\n"
    hosts.ssh_config(block + "Host h0?\n IdentityFile %d/keys/special\n")
    done = run(hosts, charmrun, "+p4", "++nodelist", hosts.nodelist(["alpha", 2, 3, 4]), "hostname")
    assert_good(done, names(hosts, [1, 2, 3, 4]))


@pytest.mark.parametrize(
    "setting",
    [
        "RemoteCommand sleep 1",
        "StdinNull yes",
        "SessionType none",
        "ForkAfterAuthentication yes",
        "ExitOnForwardFailure yes\n LocalForward 22 localhost:22",  # a port that only root may have
        "PermitLocalCommand yes\n LocalCommand echo chatter",
    ],
    ids=lambda setting: setting.split()[0],
)
def test_settings_for_other_uses_of_a_host_do_not_stop_the_ssh_command(cluster: Factory, charmrun: Path, setting: str) -> None:
    """Whether the ssh command is asked for, or used because the configuration names a host to go through."""
    hosts = cluster(3)
    hosts.ssh_config(f"Host h0?\n {setting}\n")
    done = run(hosts, charmrun, "+p2", "++nodelist", hosts.nodelist([1, 2]), "++remote-shell", "ssh", "hostname")
    assert_good(done, names(hosts, [1, 2]))
    hosts.ssh_config(f"Host behind\n HostName h02\n ProxyJump h01\n {setting}\n")
    assert_good(run(hosts, charmrun, "+p1", "++host", "behind", "hostname"), ["h02"], said=None)


def test_an_open_connection_of_the_ssh_command_serves_where_no_key_is_taken(fresh_cluster: Factory, charmrun: Path) -> None:
    """A ControlMaster that was opened by whatever the server takes; without it one line says what that is."""
    hosts = fresh_cluster(2)
    master = ["ssh", "-o", "ControlPath=~/.ssh/master", "h01"]
    hosts.run(0, [*master[:-1], "-o", "ControlMaster=yes", "-o", "ControlPersist=120", "h01", "true"], check=True)
    hosts.sshd(1, {"PubkeyAuthentication": "no", "PasswordAuthentication": "yes", "KbdInteractiveAuthentication": "no"})
    hosts.ssh_config("Host h01\n ControlPath ~/.ssh/master\n")
    job = ["+p1", "++nodelist", hosts.nodelist([1]), "hostname"]
    try:
        done = run(hosts, charmrun, *job)
    finally:
        hosts.run(0, ["ssh", "-o", "ControlPath=~/.ssh/master", "-O", "exit", "h01"])
    assert_good(done, ["h01"], said="charmrun: h01: the server takes only: password; using the ssh command for such hosts\n")
    line = error_line(run(hosts, charmrun, *job))
    assert line.startswith("h01: authenticate: the server takes only: password; ask its administrator to allow keys"), line
    doctor = run(hosts, charmrun, "++doctor", "++nodelist", hosts.nodelist([1]))
    assert "ask its administrator to allow keys" in doctor.stdout and "ssh-copy-id" not in doctor.stdout, doctor.stdout


def test_a_port_that_the_nodelist_names(fresh_cluster: Factory, charmrun: Path) -> None:
    hosts = fresh_cluster(3)
    hosts.sshd(1, {"Port": 2222})
    public = hosts.files.host_keys.public(hosts.key_name(1), "ed25519")
    hosts.put(0, ".ssh/known_hosts", hosts.known_hosts_text(without=[1]) + f"[h01]:2222 {public}\n", mode=0o600)
    nodelist = hosts.put(0, "nodes", "group main\n host h01 ++port 2222\n host h02\n")
    assert_good(run(hosts, charmrun, "+p2", "++nodelist", nodelist, "hostname"), ["h01", "h02"])
    assert_good(run(hosts, charmrun, "+p1", "++host", "[h01]:2222", "hostname"), ["h01"])
    hosts.ssh_config(f"Host h01\n BindAddress {hosts.address(0)}\n")
    done = run(hosts, charmrun, "+p1", "++host", "[h01]:2222", "hostname")
    assert_good(done, ["h01"], said=None)
    assert "BindAddress in the ssh configuration: such hosts are started by the ssh command" in done.stderr


def test_known_hosts_files_aliases_and_checks_are_those_of_ssh(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(6)
    hosts.known_hosts("none")
    public = hosts.files.host_keys.public(hosts.key_name(2), "ed25519")
    hosts.put(0, "known/h03", hosts.known_hosts_text(without=[0, 1, 2, 4, 5]))
    hosts.put(0, ".ssh/known_hosts", f"one-name {public}\n", mode=0o600)
    hosts.put(5, ".ssh/authorized_keys", "", mode=0o600)
    hosts.put(
        5,
        ".ssh/authorized_keys",
        hosts.path(0, "/home/ctuser/.ssh/authorized_keys").read_text(),
        user="ctother",
        mode=0o600,
    )
    block = "Host h02\n HostKeyAlias one-name\nHost h03\n UserKnownHostsFile ~/known/%h\n"
    block += "Host h04\n StrictHostKeyChecking accept-new\n"
    last = "Host h05\n User ctother\n StrictHostKeyChecking no\n"
    hosts.ssh_config(f"{block}{last} UserKnownHostsFile /dev/null\n")
    script = "echo $(hostname) $(id -un)"
    for _ in range(2):
        done = run(hosts, charmrun, "+p4", "++nodelist", hosts.nodelist([2, 3, 4, 5]), "sh", "-c", script)
        assert_good(done, ["h02 ctuser", "h03 ctuser", "h04 ctuser", "h05 ctother"], said=None)
        hosts.ssh_config(block + last, hosts=[0])


def test_another_login_name(cluster: Factory, charmrun: Path) -> None:
    """Also on this machine: such an entry is reached by ssh."""
    hosts = cluster(4)
    keys = hosts.path(0, "/home/ctuser/.ssh/authorized_keys").read_text()
    for index in (0, 1):
        hosts.put(index, ".ssh/authorized_keys", keys, user="ctother", mode=0o600)
    nodelist = hosts.nodelist(["h00 ++login ctother", "h01 ++login ctother", "h02"])
    done = run(hosts, charmrun, "+p3", "++nodelist", nodelist, "sh", "-c", "echo $(hostname) $(id -un)")
    assert_good(done, ["h00 ctother", "h01 ctother", "h02 ctuser"])


def test_a_host_behind_a_jump_host(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(5)
    hosts.ssh_config("Host h02\n ProxyJump h01\n")
    before = len(hosts.sshd_log(2))
    words = ["+p4", "++nodelist", hosts.nodelist(range(1, 5)), "++levels", 1]  # h00 itself starts h02
    done = run(hosts, charmrun, *words, "hostname")
    assert_good(done, names(hosts, range(1, 5)), said=None)
    (line,) = charmrun_lines(done)
    assert line.startswith("h02: ProxyJump in the ssh configuration")
    assert f"from {hosts.address(1)} port" in hosts.sshd_log(2)[before:]


@pytest.mark.parametrize("named_by", ["++remote-shell", "$CONV_RSH", "nodelist"])
def test_a_remote_shell_command(cluster: Factory, charmrun: Path, named_by: str) -> None:
    """It makes every login, those of inner launchers too."""
    hosts = cluster(10)
    log = hosts.put(0, "/home/shared/logins", "", mode=0o666)
    script = f'#!/bin/sh\necho "$(hostname) $3" >>{log}\nexec ssh -o BatchMode=yes "$@"\n'
    shell = hosts.put(0, "/home/shared/logging-ssh", script, mode=0o755) + " -o Compression=yes"
    options = ["++remote-shell", shell] if named_by == "++remote-shell" else []
    env = {"CONV_RSH": shell} if named_by == "$CONV_RSH" else {}
    nodelist = hosts.nodelist(range(1, 10), f"++shell '{shell}'" if named_by == "nodelist" else "")
    words = ["+p18", "++nodelist", nodelist, *options, "++branching", 3, built(charmrun, "charm_double")]
    assert_good(run(hosts, charmrun, *words, env=env), double_lines(18))
    logins = [line.split() for line in hosts.path(0, log).read_text().splitlines()]
    assert sorted(target for _, target in logins) == names(hosts, range(1, 10))
    assert sorted(target for origin, target in logins if origin == "h00") == names(hosts, [1, 4, 7])


def test_a_remote_shell_command_may_say_where_the_host_belongs(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    words = ["+p9", "++nodelist", hosts.nodelist(range(1, 10)), "++branching", 3, "++remote-shell"]
    starter = hosts.put(0, "/home/shared/starter", '#!/bin/sh\n[ "$1" = -on ] && exec ssh "$2" "$5"\n', mode=0o755)
    assert_good(run(hosts, charmrun, *words, f"{starter} -on %h sh -c", "hostname"), names(hosts, range(1, 10)))
    listed = hosts.nodelist(["h01 ++login ctuser"])
    done = run(hosts, charmrun, "++nodelist", listed, "++remote-shell", f"{starter} -on %h sh -c", "hostname")
    assert error_line(done).startswith(f"h01: a login, and `{starter}`, which does not know it; say it in the command")


# -- host keys ------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", ["hashed", "system"])
def test_known_hosts_of_every_style(cluster: Factory, charmrun: Path, style: str) -> None:
    hosts = cluster(9)
    hosts.known_hosts(style)
    done = run(hosts, charmrun, "+p9", "++nodelist", hosts.nodelist(range(1, 10)), "hostname")
    assert_good(done, names(hosts, range(1, 10)))


def test_only_the_first_host_knows_the_others(cluster: Factory, charmrun: Path) -> None:
    """Known keys travel down the tree with each host."""
    hosts = cluster(9)
    hosts.known_hosts("none", hosts=sorted(hosts.own))
    nodelist = hosts.nodelist([1, 5, 9, 2, 3, 4, 6, 7, 8])
    done = run(hosts, charmrun, "+p9", "++nodelist", nodelist, "++branching", 1, "++verbose", "hostname")
    assert_good(done, names(hosts, range(1, 10)), said=None)
    assert not said(done, "starting it from here")


def test_an_unknown_host_key_is_one_clear_error(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(5)
    hosts.known_hosts("plain", without=[1, 2])
    done = run(hosts, charmrun, "+p4", "++nodelist", hosts.nodelist(range(1, 5)), "hostname")
    line = error_line(done)
    assert line.startswith("h[01-02]: host key: ") and "++accept-new-host-keys" in line, line


def test_a_changed_host_key_is_one_clear_error(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(5)
    hosts.known_hosts("plain", wrong=[1])
    for option in ([], ["++accept-new-host-keys"]):
        done = run(hosts, charmrun, "+p4", "++nodelist", hosts.nodelist(range(1, 5)), *option, "hostname")
        line = error_line(done)
        assert line.startswith("h01: host key: ") and "ssh-keygen -R HOST" in line, line


def test_new_host_keys_are_written_once_by_jobs_at_the_same_time(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(26)
    hosts.known_hosts("none")
    nodelist = hosts.nodelist(range(1, 26))
    words = ["+p25", "++nodelist", nodelist, "++branching", 4, "hostname"]
    accept = command(charmrun, *words, "++accept-new-host-keys")
    pipe = subprocess.PIPE
    jobs = [hosts.popen(0, accept, stdout=pipe, stderr=pipe) for _ in range(3)]
    for job in jobs:
        out, err = job.communicate(timeout=PATIENCE_S)
        assert (job.returncode, sorted(out.split())) == (0, names(hosts, range(1, 26))), err
    known = hosts.path(0, "/home/ctuser/.ssh/known_hosts").read_text().splitlines()
    assert len(known) == 25 and all(re.match(r"\|1\|\S+\|\S+ ssh-ed25519 \S+$", line) for line in known)
    for index in (1, 2, 25):
        found = hosts.run(0, ["ssh-keygen", "-F", hosts.names[index]]).stdout.splitlines()
        assert len(found) == 2, found
    assert_good(run(hosts, charmrun, *words), names(hosts, range(1, 26)))


# -- names ----------------------------------------------------------------------------------------


def test_names_that_time_out_do_not_delay_the_others(cluster: Factory, charmrun: Path) -> None:
    """The job cannot run, but all good hosts, this one among them, are up before a name is given up."""
    hosts = cluster(9)
    slow = [f"name{i}.slow" for i in range(10, 22)]
    report = "/home/shared/slow.json"
    nodelist = hosts.nodelist([*slow, "localhost", *range(1, 9)])
    words = ["+p21", "++nodelist", nodelist, "++levels", 1, "++report", report, "hostname"]
    done = run(hosts, charmrun, *words, env={"RES_OPTIONS": f"timeout:{SLOW_NAMES_S} attempts:1"})
    assert error_line(done).startswith("name[10-21].slow: resolve: "), done.stderr
    launchers = json.loads(hosts.path(0, report).read_text())["launchers"]
    good = [one["marks"] for one in launchers if "hello" in one["marks"]]
    assert len(good) == 9
    assert max(marks.get("resolved", marks["begun"]) for marks in good) < SLOW_NAMES_S, good


# -- this machine among the others ----------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["localhost", "h00", "198.18.", "127.0.0.1", "h00 by ssh", "h00 ++shell ssh"]
)
def test_this_machine_is_reachable_for_the_others(cluster: Factory, charmrun: Path, name: str) -> None:
    """The double sends a datagram to every process from every other: 127.0.0.1 in the table would not do."""
    hosts = cluster(5)
    transport = ["++remote-shell", "ssh"] if name.endswith("by ssh") else []  # the others by ssh
    entry = hosts.address(0) if name == "198.18." else name.removesuffix(" by ssh")
    for place in (0, 1, 3):
        order: list[int | str] = [1, 2, 3]
        order.insert(place, entry)
        words = ["+p8", "++nodelist", hosts.nodelist(order), *transport]
        assert_good(run(hosts, charmrun, *words, built(charmrun, "charm_double")), double_lines(8))
    done = run(hosts, charmrun, *words, "++branching", 1, *NUMBER_AND_HOST)
    assert_good(done, [f"{i} {host}" for i, host in enumerate("h01 h01 h02 h02 h03 h03 h00 h00".split())])


def test_this_machine_under_two_names(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(5)
    words = ["+p6", "++nodelist", hosts.nodelist(["localhost", 1, 0]), built(charmrun, "charm_double")]
    assert_good(run(hosts, charmrun, *words), double_lines(6))


def test_a_host_that_only_begins_like_this_one_is_another(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(5)
    words = ["+p2", "++nodelist", hosts.nodelist(["h00.cluster-b.example", 1]), "hostname"]
    assert error_line(run(hosts, charmrun, *words)).startswith("h00.cluster-b.example: resolve: ")


def test_this_machine_needs_no_sshd(fresh_cluster: Factory, charmrun: Path) -> None:
    """Nor a remote shell, unless the nodelist gives one to its own entry."""
    hosts = fresh_cluster(2)
    hosts.no_sshd(0)
    words = ["+p4", built(charmrun, "charm_double")]
    ways: list[tuple[list[str], dict[str, str]]] = [([], {}), (["++remote-shell", "ssh"], {})]
    ways.append(([], {"CONV_RSH": "ssh"}))
    for name in ("localhost", "h00"):
        nodelist = hosts.nodelist([name, 1])
        for options, env in ways:
            done = run(hosts, charmrun, *words, "++nodelist", nodelist, *options, env=env)
            assert_good(done, double_lines(4))
    done = run(hosts, charmrun, *words, "++nodelist", hosts.nodelist(["h00 ++shell ssh", 1]))
    assert error_line(done).startswith("h00: connect: connection refused")


# -- numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("slots", [1, 3])
def test_process_numbers_follow_the_nodelist_alone(cluster: Factory, charmrun: Path, slots: int) -> None:
    """Not the tree's shape, nor the transport, nor the order in which hosts answer."""
    hosts = cluster(10)
    order = [7, 1, 4, 9, 2, 8, 3, 6, 5]
    total = 2 * len(order) + slots - 1
    nodelist = hosts.nodelist([f"{hosts.names[order[0]]} ++cpus {slots}", *order[1:]])
    shapes = [
        [],
        ["++branching", 1],
        ["++branching", 2],
        ["++levels", 1],
        ["++levels", 3],
        ["++branching", 3, "++batch", 1],
    ]
    shapes += [["++remote-shell", "ssh"], ["++remote-shell", "ssh", "++branching", 2]]
    seen = []
    for shape in shapes:
        done = run(hosts, charmrun, f"+p{total}", "++nodelist", nodelist, *shape, *NUMBER_AND_HOST)
        assert (done.returncode, done.stderr) == (0, ""), done
        seen.append(sorted(program_lines(done), key=lambda line: int(line.split()[0])))
    assert all(one == seen[0] for one in seen)
    owners = [line.split()[1] for line in seen[0]]
    assert [line.split()[0] for line in seen[0]] == [str(i) for i in range(total)]
    assert list(dict.fromkeys(owners)) == names(hosts, order)  # contiguous, in the nodelist's order
    assert owners == sorted(owners, key=names(hosts, order).index)


def test_virtual_hosts_get_the_numbers_that_real_ones_would(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(9)
    program = ["sh", "-c", "echo $CHARMTREE_PROCESS ${CHARMTREE_JOB##*:}"]  # the host's number in the list
    real = run(hosts, charmrun, "+p20", "++nodelist", hosts.nodelist(9), *program)
    assert real.returncode == 0
    for shape in ([], ["++branching", 1], ["++levels", 3]):
        assert_good(run(hosts, charmrun, "+p20", "++hosts", 9, *shape, *program), program_lines(real))
