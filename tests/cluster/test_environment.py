# SPDX-License-Identifier: Apache-2.0
"""The environment that programs get, here and on other hosts: what goes along, what stays, and who has the last word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from running import Factory, assert_good, built, error_line, run, run_bytes
from vcluster import Cluster

# Writes the whole environment to a file: DIR/HOST.PROCESS, as the kernel has it.
_SAVE = 'cat /proc/self/environ >"$0/$(hostname).$CHARMTREE_PROCESS"'
_PMI = {b"PMI_FD", b"PMI_RANK", b"PMI_SIZE", b"MPI_LOCALRANKID", b"MPI_LOCALNRANKS", b"MPIR_CVAR_PMI_VERSION"}
_PLACE = {b"CHARMTREE_PROCESSES", b"CHARMTREE_LOCAL_PROCESS", b"CHARMTREE_HOST"}
_OURS = {b"NETSTART", b"NETMAGIC", b"CHARMTREE_JOB", b"CHARMTREE_PROCESS", b"CHARMTREE_SOCKET"} | _PMI | _PLACE
_STALE = {
    "NETSTART": "9 127.0.0.1 9 9 0",
    "NETMAGIC": "99",
    "CmiMyNode": "9",
    "CmiProcessPerCore": "9",
    "PMI_RANK": "9",
    "PMIX_RANK": "9",
    "OMPI_COMM_WORLD_RANK": "9",
    "MPI_LOCALNRANKS": "9",
    "SLURM_PROCID": "9",
}
_STAYS = ["TMPDIR", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "KRB5CCNAME", "HOSTNAME", "MAIL"]
_ODD = b"two\nlines = \xff\xfe \xc3\xa4 'quoted' \"$HOME\" `id` \\"


def environments(
    hosts: Cluster, charmrun: Path, *words: Any, env: dict[str, Any] | None = None
) -> dict[str, dict[bytes, bytes]]:
    """What each process of a job was given, by `host.process`."""
    folder = hosts.path(0, "/home/shared/seen")
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
    for old in folder.iterdir():
        old.unlink()
    script = ["sh", "-c", _SAVE, "/home/shared/seen"]
    status, _, err = run_bytes(hosts, charmrun, *words, *script, env=env)
    assert (status, err) == (0, b"")
    return {
        file.name: dict(entry.split(b"=", 1) for entry in file.read_bytes().split(b"\0") if entry)
        for file in folder.iterdir()
    }


def test_the_environment_goes_along_but_for_what_belongs_to_a_host(cluster: Factory, charmrun: Path) -> None:
    """Also from a host's own login and to several levels; values are bytes."""
    hosts = cluster(5)
    env = {**_STALE, **dict.fromkeys(_STAYS, "of-h00"), "DISPLAY": "h00:0", "ODD": _ODD, "EMPTY": ""}
    words = ["+p4", "++nodelist", hosts.nodelist([1, 2, 3, 4]), "++branching", 2, "++forward-env"]
    seen = environments(hosts, charmrun, *words, env=env)
    assert set(seen) == {f"{hosts.names[1 + i]}.{i}" for i in range(4)}
    for name, given in seen.items():
        assert given[b"ODD"] == _ODD, name
        assert (given[b"EMPTY"], given[b"DISPLAY"], given[b"HOME"]) == (b"", b"h00:0", b"/home/ctuser")
        for stays in _STAYS:
            assert given.get(stays.encode()) != b"of-h00", (name, stays)
        for stale, value in _STALE.items():
            assert given.get(stale.encode()) != value.encode(), (name, stale)


def test_a_local_job_gets_the_environment_of_its_caller(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(1)
    hosts.put(0, ".charmrunrc", "export FROM_RC=1\n")
    env = {"ODD": _ODD, "TMPDIR": "/tmp/mine", "XDG_X": "1", "SHLVL": "7", "MAIL": "m", **_STALE}
    (direct,) = environments(hosts, Path("/usr/bin/env"), "CHARMTREE_PROCESS=x", env=env).values()
    for options in (["++local"], ["++hosts", 3], ["++local", "++no-forward-env"]):
        seen = environments(hosts, charmrun, *options, "+p3", env=env)
        assert len(seen) == 3
        for given in seen.values():
            want = {name: value for name, value in direct.items() if name.decode() not in _STALE}
            got = {name: value for name, value in given.items() if name not in _OURS and not name.startswith((b"PMIX_", b"JSM_"))}
            for tooled in (b"CHARMTREE_PROCESS", b"_"):
                want.pop(tooled, None), got.pop(tooled, None)
            assert got == want, options
            assert given[b"PMI_RANK"] == given[b"CHARMTREE_PROCESS"]  # not the stale one


def test_who_has_the_last_word(cluster: Factory, charmrun: Path) -> None:
    """Login < forwarded < ~/.charmrunrc < setup < nodelist < ++env < ours."""
    hosts = cluster(3)
    names = ["LOGIN", "FORWARDED", "RC", "SETUP", "LIST", "OPTION"]
    every = lambda upto: names[names.index(upto) :]  # noqa: E731: those that this source sets, too
    hosts.put_everywhere(".bashrc", "".join(f"export {name}=login\n" for name in every("LOGIN")))
    rc = "".join(f"export {name}=rc\n" for name in every("RC")) + "echo x >>~/sourced\n"
    hosts.put(1, ".charmrunrc", rc)
    setup = " ".join(f"{name}=setup" for name in every("SETUP"))
    listed = " ".join(f"env {name}=list" for name in every("LIST"))
    text = f"group main {listed} env 'BLANKS=a  b'\nhost h01 setup export {setup}\nhost h02 env LIST=second\n"
    nodelist = hosts.put(0, "/home/shared/last-word", text)
    env = {name: "forwarded" for name in every("FORWARDED")}
    option = ["++env", "OPTION=option", "++env", "TWICE=1", "++env", "TWICE=2=x"]
    words = ["+p3", "++nodelist", nodelist]
    seen = environments(hosts, charmrun, *words, *option, env=env)
    first, third = seen["h01.0"], seen["h02.2"]
    assert [first[name.encode()].decode() for name in names] == ["login", "forwarded", "rc", "setup", "list", "option"]
    assert [third[name.encode()].decode() for name in names] == [
        "login", "forwarded", "forwarded", "forwarded", "second", "option",
    ]  # fmt: skip
    assert first[b"BLANKS"] == b"a  b" and first[b"TWICE"] == b"2=x"
    assert hosts.path(1, "/home/ctuser/sourced").read_text() == "x\n"  # once, for two processes

    seen = environments(hosts, charmrun, *words, *option, "++no-forward-env", env={**env, "MINE": "1"})
    assert [seen["h02.2"][name.encode()].decode() for name in names] == [
        "login", "login", "login", "login", "second", "option",
    ]  # fmt: skip
    assert b"MINE" not in seen["h02.2"]


_LEAVES = "~/.charmrunrc ended its shell before the environment could be read; does it call exit or exec? leave that out"
_SETUP_LEAVES = _LEAVES.replace("~/.charmrunrc", "the setup command")
_SYNTAX = "syntax error near unexpected token `then'; run it there by hand"


@pytest.mark.parametrize(
    ("rc", "setup", "says"),
    [
        ("export A=1; exit 0", "", _LEAVES),
        ("export A=1; exec sh", "", _LEAVES),
        ("export A=1; exec env -0", "", _LEAVES),
        ("export A=1\nif then", "", f"~/.charmrunrc failed with status 2: /home/ctuser/.charmrunrc: line 2: {_SYNTAX}"),
        ("export A=1", "exit 0", _SETUP_LEAVES),
        ("export A=1", "if then", f"the setup command failed with status 2: bash: -c: line 9: {_SYNTAX}"),
    ],
)  # fmt: skip
def test_a_start_up_file_that_leaves_or_cannot_be_read_is_a_failure(
    cluster: Factory, charmrun: Path, rc: str, setup: str, says: str
) -> None:
    """With a status of 0 there must be a whole environment, or none of the job runs."""
    hosts = cluster(3)
    hosts.put(1, ".charmrunrc", rc + "\n")
    quoted = f' setup "{setup}"' if setup else ""
    nodelist = hosts.put(0, "/home/shared/leaves", f"host h01{quoted}\n")
    line = error_line(run(hosts, charmrun, "+p1", "++nodelist", nodelist, "sh", "-c", "echo A=$A"))
    assert line == f"h01: spawn: {says}"


def test_start_up_files_may_print_and_need_not_end_well(cluster: Factory, charmrun: Path) -> None:
    """A file that BASH_ENV names prints before all else; the status of ~/.charmrunrc is that of its last command."""
    hosts = cluster(3)
    chatty = hosts.put(0, "/home/shared/chatty", "echo loaded; echo LOADED=1; export FROM_BASH_ENV=yes; exec 3>/dev/null\n")
    hosts.put(1, ".charmrunrc", "echo chatter\nexport FROM_RC=yes\n[ -e /nothing ] && return\nfalse\n")
    words = ["+p1", "++nodelist", hosts.nodelist(["h01"])]
    seen = environments(hosts, charmrun, *words, env={"BASH_ENV": chatty})["h01.0"]
    assert (seen[b"FROM_BASH_ENV"], seen[b"FROM_RC"]) == (b"yes", b"yes")
    assert not {b"LOADED", b"loaded\nLOADED", b"CHARMTREE_SETUP"} & set(seen)
    quits = hosts.put(0, "/home/shared/quits", "exit 0\n")
    line = error_line(run(hosts, charmrun, *words, "true", env={"BASH_ENV": quits}))
    assert line == f"h01: spawn: {_LEAVES.replace('~/.charmrunrc', 'the file that BASH_ENV names')}"


_SPY = """#include <stdio.h>
__attribute__((constructor)) static void loaded(void) {
  char name[64] = "";
  FILE *comm = fopen("/proc/self/comm", "r"), *log = fopen("/home/shared/spied", "a");
  if (comm && fgets(name, sizeof name, comm) && log) fputs(name, log);
  if (log) fclose(log);
  if (comm) fclose(comm);
}
"""


def test_the_users_libraries_stay_out_of_what_charmrun_starts_for_itself(cluster: Factory, charmrun: Path) -> None:
    """ssh and bash do without LD_PRELOAD, which the program gets, with what the setup command adds to it."""
    hosts = cluster(3)
    source, library = hosts.put(0, "/home/shared/spy.c", _SPY), "/home/shared/spy.so"
    hosts.run(0, ["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    spied = hosts.path(0, hosts.put(0, "/home/shared/spied", "", mode=0o666))
    setup = "export LD_LIBRARY_PATH=/added:$LD_LIBRARY_PATH"
    nodelist = hosts.put(0, "/home/shared/spy-list", f"host h01 setup {setup}\n")
    env = {"LD_PRELOAD": library, "LD_LIBRARY_PATH": "/nowhere"}
    words = ["+p1", "++nodelist", nodelist, "++remote-shell", "ssh", "sh", "-c", "echo $LD_PRELOAD $LD_LIBRARY_PATH"]
    assert_good(run(hosts, charmrun, *words, env=env), [f"{library} /added:/nowhere"])
    seen = set(spied.read_text().split())
    assert "sh" in seen and not seen & {"ssh", "bash", "env"}, seen


def test_soft_limits_of_the_shell_go_along_as_far_as_a_host_allows(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    words = [charmrun, "+p1", "++nodelist", hosts.nodelist(["h01"]), "sh", "-c", "ulimit -Ss"]
    there = int(run(hosts, charmrun, *words[1:]).stdout)
    for limit in (there - 1000, there + 1000):
        done = hosts.run(0, ["sh", "-c", f'ulimit -Ss {limit}; exec "$@"', "sh", *words], timeout=60)
        assert (done.returncode, int(done.stdout)) == (0, max(there, limit)), done


_LIKE = {  # rank, size, rank on the host, and those there or the host's number
    "none": [],
    "openmpi": ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"],
    "mpich": ["PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"],
    "slurm": ["SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NODEID"],
}
_OWN = ["CHARMTREE_PROCESS", "CHARMTREE_PROCESSES", "CHARMTREE_LOCAL_PROCESS", "CHARMTREE_HOST"]


@pytest.mark.parametrize("like", list(_LIKE))
def test_a_process_knows_its_place(cluster: Factory, charmrun: Path, like: str) -> None:
    """Ours, and by the names of another launcher; of any third one nothing is left."""
    hosts = cluster(3)
    words = ["+p5", "++nodelist", hosts.nodelist(["h01:2", "h02:3"]), "++pmi", "none", "++env-like", like]
    seen = environments(hosts, charmrun, *words, env=_STALE)
    places = {"h01.0": (0, 0, "h01"), "h01.1": (1, 1, "h01"), "h02.2": (2, 0, "h02"), "h02.3": (3, 1, "h02"), "h02.4": (4, 2, "h02")}
    assert set(seen) == set(places)
    for name, (process, local, host) in places.items():
        given = {key.decode(): value.decode() for key, value in seen[name].items() if key != b"ODD"}
        assert [given[each] for each in _OWN] == [str(process), "5", str(local), host]
        last = {"none": None, "slurm": "0" if host == "h01" else "1"}.get(like, "2" if host == "h01" else "3")
        want = [str(process), "5", str(local), last]
        assert [given[each] for each in _LIKE[like]] == (want if _LIKE[like] else [])
        for others in _LIKE.values():
            assert others is _LIKE[like] or not set(others) & set(given), (like, others)


def test_arguments_may_name_the_process_and_its_host(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    words = ["+p2", "++nodelist", hosts.nodelist([1, 2])]
    program = ["echo", "out.%r.%h", "100%%", "%x%"]
    assert_good(run(hosts, charmrun, *words, "++expand", *program), ["out.0.h01 100% %x%", "out.1.h02 100% %x%"])
    assert_good(run(hosts, charmrun, *words, *program), [" ".join(program[1:])] * 2)


def test_variables_of_launchers_cannot_be_set(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(1)
    line = error_line(run(hosts, charmrun, "++local", "++env", "PMI_RANK=0", "true"))
    assert line.startswith("++env cannot be 'PMI_RANK=0'; ")
    nodelist = hosts.put(0, "/home/shared/sets", "host h00 env NETSTART=1\n")
    line = error_line(run(hosts, charmrun, "++nodelist", nodelist, "true"))
    assert line.startswith("/home/shared/sets: env cannot be 'NETSTART=1'; ")


@pytest.mark.parametrize("wrong", ["too long", "read-only", "full"])
def test_a_folder_that_takes_no_sockets_is_passed_over(cluster: Factory, charmrun: Path, wrong: str) -> None:
    hosts = cluster(1)
    runtime = f"/home/shared/{'a' * 100}" if wrong == "too long" else "/home/shared/runtime"
    hosts.run(0, ["mkdir", "-m", "700", runtime], check=True)
    if wrong == "full":
        uid = hosts.user("ctuser").uid
        options = f"size=4k,nr_inodes=2,mode=700,uid={uid}"
        hosts.exec_root(0, ["mount", "-t", "tmpfs", "-o", options, "none", runtime], check=True)
        hosts.run(0, ["mkdir", "-m", "700", f"{runtime}/charmtree"], check=True)
    elif wrong == "read-only":
        hosts.run(0, ["chmod", "500", runtime], check=True)
    words = ["++local", "+p2", "++verbose", built(charmrun, "hello")]
    done = run(hosts, charmrun, *words, env={"XDG_RUNTIME_DIR": runtime})
    if wrong == "full":
        hosts.exec_root(0, ["umount", runtime], check=True)
    hosts.exec_root(0, ["rm", "-r", runtime], check=True)
    assert done.returncode == 0 and done.stdout.count("hello from") == 2, done
    why = {"too long": "is too long for a socket", "read-only": "Permission denied", "full": "No space left on device"}
    said = [line for line in done.stderr.splitlines() if "XDG_RUNTIME_DIR does not take" in line]
    assert len(said) == 1 and why[wrong] in said[0], done.stderr
