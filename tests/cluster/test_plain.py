# SPDX-License-Identifier: Apache-2.0
"""Plain programs and what they are given: words, directory, environment, input. And foreign launchers."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path
from typing import Any

import pytest

from running import (
    Factory,
    assert_good,
    built,
    charmrun_lines,
    command,
    double_lines,
    error_line,
    run,
    run_bytes,
)
from vcluster import Cluster

NINE = range(1, 10)  # host 0, where charmrun runs, is not among them
SMALL = 5


def nine(hosts: Cluster) -> list[Any]:
    return ["+p9", "++nodelist", hosts.nodelist(NINE), "++branching", 3]


def nine_times(text: str) -> list[str]:
    return [text] * 9


# -- programs and their status --------------------------------------------------------------------


def test_hostname(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    assert_good(run(hosts, charmrun, *nine(hosts), "hostname"), [hosts.names[index] for index in NINE])


def test_a_script_with_and_without_its_first_line(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    for head in ("#!/bin/bash\n", ""):
        script = hosts.put(0, "/home/shared/script", f'{head}echo "$0: $#: $1"; echo done >&2\n', mode=0o755)
        done = run(hosts, charmrun, *nine(hosts), script, "a b")
        assert_good(done, nine_times(f"{script}: 1: a b"), said="done\n" * 9)


def test_a_pipeline_in_a_shell(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    pipeline = """printf '%s\\n' "it's" 'say "hi"' | sed 's/h/H/' | tr '\\n' ';'; echo"""
    assert_good(run(hosts, charmrun, *nine(hosts), "sh", "-c", pipeline), nine_times('it\'s;say "Hi";'))


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("exit 0", 0),
        ("exit 3", 3),
        ("[ $CHARMTREE_PROCESS != 4 ] || exit 42", 42),
        ("[ $CHARMTREE_PROCESS != 4 ] || kill -15 $$", 143),
        ("[ $CHARMTREE_PROCESS != 8 ] || kill -11 $$", 139),
    ],
)
def test_the_status_of_the_program_is_ours(
    cluster: Factory, charmrun: Path, command: str, status: int
) -> None:
    hosts = cluster(10)
    done = run(hosts, charmrun, *nine(hosts), "sh", "-c", f"echo there; {command}")
    assert done.returncode == status
    if status == 0:
        assert_good(done, nine_times("there"))
    elif "4" in command:
        assert error_line(done, status).startswith("h05: run: process 4: ")


def test_output_of_every_size_is_complete(cluster: Factory, charmrun: Path) -> None:
    """From nothing to megabytes, without a newline at the end, and bytes that are no text."""
    hosts = cluster(5)
    done = run(hosts, charmrun, "+p5", "++nodelist", hosts.nodelist(5), "true")
    assert_good(done, [])
    script = 'seq -f "$CHARMTREE_PROCESS %06g" 40000'
    done = run(hosts, charmrun, "+p5", "++nodelist", hosts.nodelist(5), "sh", "-c", script)
    assert_good(done, [f"{i} {k:06}" for i in range(5) for k in range(1, 40001)])
    words = ["+p1", "++nodelist", hosts.nodelist([1]), "sh", "-c", r"printf 'a\0b\r\n\377\n\nlast'"]
    assert run_bytes(hosts, charmrun, *words) == (0, b"a\0b\r\n\xff\n\nlast", b"")


# -- where it runs and what it is given -----------------------------------------------------------


def test_arguments_arrive_exactly_as_given(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    words = [
        "a b",
        "",
        "line\nline",
        "$HOME",
        "*",
        "'",
        '"',
        "\\",
        "`id`",
        "$(id)",
        "-x",
        "--",
        "tab\t",
        "ä€",
    ]
    words += ["~", ";", "a=b"]
    code = "import sys; print(repr(sys.argv[1:]))"
    done = run(hosts, charmrun, *nine(hosts), "python3", "-c", code, "++", *words, "++verbose", "+p2")
    assert_good(done, nine_times(repr([*words, "++verbose", "+p2"])))
    long = [letter * 100_000 for letter in "abcdefgh"]  # no shell's limit matters
    code = "import sys; print([len(word) for word in sys.argv[1:]], sys.argv[8][:3])"
    assert_good(
        run(hosts, charmrun, *nine(hosts), "python3", "-c", code, *long), nine_times(f"{[100_000] * 8} hhh")
    )


def test_a_name_without_a_slash_is_a_file_here_or_in_path(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    words = ["+p3", "++nodelist", hosts.nodelist(3)]
    hosts.put(0, "/home/shared/here/tool", "#!/bin/sh\necho file\n", mode=0o755)
    hosts.put(0, "/home/shared/path/tool", "#!/bin/sh\necho path\n", mode=0o755)
    hosts.put_everywhere(".bashrc", "PATH=/home/shared/path:$PATH\n")
    env = {"PATH": "/home/shared/path:/usr/bin:/bin"}
    assert_good(run(hosts, charmrun, *words, "tool", cwd="/home/shared/here", env=env), ["file"] * 3)
    assert_good(run(hosts, charmrun, *words, "./tool", cwd="/home/shared/here"), ["file"] * 3)
    assert_good(run(hosts, charmrun, *words, "tool", cwd="/home/shared", env=env), ["path"] * 3)
    done = run(hosts, charmrun, *words, "no-such-tool")
    assert error_line(done, 127).startswith("h[00-02]: spawn: no-such-tool: not found in PATH")


def test_the_working_directory_and_the_umask_are_kept(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    name = "/home/shared/a dir 'with' \"blanks\""
    hosts.put(0, f"{name}/file", "")
    assert_good(run(hosts, charmrun, *nine(hosts), "pwd", cwd=name), nine_times(name))
    job = ["sh", "-c", 'umask 027; exec "$0" "$@"', *command(charmrun, *nine(hosts), "sh", "-c", "umask")]
    assert_good(hosts.run(0, job), nine_times("0027"))


def test_the_environment_of_the_program(cluster: Factory, charmrun: Path) -> None:
    """Ours goes along, but for what belongs to a host; ~/.charmrunrc of each host has the last word."""
    hosts = cluster(5)
    for index in (0, 1):
        hosts.put(index, ".charmrunrc", f"export FROM_RC=rc{index}\nMINE=changed\necho chatter\n")
    env = {"MINE": "two words\nand a line", "OTHER": "kept"}
    script = 'echo "$(hostname) $FROM_RC $OTHER $MINE $HOME"'
    done = run(hosts, charmrun, "+p3", "++nodelist", hosts.nodelist([1, 2, 3]), "sh", "-c", script, env=env)
    want = [f"h0{i} rc{1 if i == 1 else 0} kept changed /home/ctuser" for i in (1, 2, 3)]
    assert_good(done, want)


def test_no_nodelist_means_this_machine(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(1)
    hosts.put(0, "/home/shared/empty/.keep", "")
    done = run(hosts, charmrun, "+p3", "hostname", cwd="/home/shared/empty")
    line = "no nodelist found: running on this machine only (as with ++local)"
    assert_good(done, ["h00"] * 3, said=f"charmrun: {line}\n")
    assert_good(run(hosts, charmrun, "+p3", "++quiet", "hostname"), ["h00"] * 3)
    for folder, files in (("/home/shared/empty", {".keep"}), ("/home/ctuser", {".bashrc", ".ssh"})):
        assert {path.name for path in hosts.path(0, folder).iterdir()} == files


def test_nodelists_of_every_place(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(5)
    for name, index in (("/home/shared/work/nodelist", 1), ("/home/shared/third", 2), (".nodelist", 3)):
        hosts.put(0, name, f"group main\n host {hosts.names[index]}\n")
    third = {"NODELIST": "/home/shared/third"}
    assert_good(run(hosts, charmrun, "+p1", "hostname", cwd="/home/shared/work", env=third), ["h02"])
    assert_good(run(hosts, charmrun, "+p1", "hostname", cwd="/home/shared/work"), ["h01"])
    assert_good(run(hosts, charmrun, "+p1", "hostname"), ["h03"])


def test_nodelist_keys_for_the_program(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(5)
    for name in ("one/tool", "two/tool", "two/tool.x"):
        hosts.put(0, f"/home/shared/{name}", f'#!/bin/sh\necho {name} "$PWD" "$SET" "$@"\n', mode=0o755)
    text = (
        "group main\n host h01\n"
        " host h02 ++pathfix /shared/one /shared/two\n"
        " host h03 ++pathfix one two ++ext .x ++nice 5\n"
        " host h04 ++setup export SET='a value'; cd /\n"
    )
    nodelist = hosts.put(0, "/home/shared/keys", text)
    done = run(hosts, charmrun, "+p4", "++nodelist", nodelist, "./tool", "arg", cwd="/home/shared/one")
    want = ["one/tool /home/shared/one  arg", "two/tool /home/shared/two  arg"]
    want += ["two/tool.x /home/shared/two  arg +nice 5", "one/tool /home/shared/one a value arg"]
    assert_good(done, want)


def test_a_runscript_gets_the_program_and_its_arguments(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    script = '#!/bin/sh\necho wrapped $#\nexport WRAPPED=yes\nexec "$@"\n'
    hosts.put(0, "/home/shared/wrap", script, mode=0o755)
    words = ["+p3", "++nodelist", hosts.nodelist(3), "++runscript", "./wrap"]
    program = ["sh", "-c", 'echo "$WRAPPED $1"', "sh", "a b"]
    done = run(hosts, charmrun, *words, *program, cwd="/home/shared")
    assert_good(done, ["wrapped 5"] * 3 + ["yes a b"] * 3)


@pytest.mark.parametrize(("option", "bits"), [([], "00040000"), (["++va-randomization"], "00000000")])
def test_address_space_randomisation(cluster: Factory, charmrun: Path, option: list[str], bits: str) -> None:
    hosts = cluster(10)
    assert_good(
        run(hosts, charmrun, *nine(hosts), *option, "cat", "/proc/self/personality"), nine_times(bits)
    )


def test_a_tree_that_cannot_hold_all_hosts_widens_its_last_level(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(1)
    words = ["+p20", "++hosts", 20, "++branching", 2, "++levels", 2]
    script = ["sh", "-c", "echo $CHARMTREE_PROCESS"]
    every = [str(process) for process in range(20)]
    done = run(hosts, charmrun, *words, "++verbose", *script)
    assert_good(done, every, said=None)
    said = "++branching 2 ++levels 2 hold fewer than 20 hosts: the last level is wider"
    assert charmrun_lines(done).count(said) == 1, done.stderr
    assert_good(run(hosts, charmrun, *words, *script), every)


# -- input ----------------------------------------------------------------------------------------


def test_input_goes_to_process_0_bit_by_bit(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    data = random.Random(1).randbytes(1 << 20)
    script = "sha256sum; readlink /proc/self/fd/0 | cut -c 1-9"
    status, out, err = run_bytes(hosts, charmrun, *nine(hosts), "sh", "-c", script, stdin=data)
    sums = [hashlib.sha256(some).hexdigest() + "  -" for some in (data, *[b""] * 8)]
    assert (status, err) == (0, b"")
    lines = [line for line in out.decode().splitlines() if not line.startswith("pipe:")]
    assert sorted(lines) == sorted([*sums, *["/dev/null"] * 8])


def test_output_of_process_0_is_its_input(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(5)
    data = random.Random(2).randbytes(1 << 20)
    words = ["+p4", "++nodelist", hosts.nodelist([1, 2, 3, 4]), "cat"]
    assert run_bytes(hosts, charmrun, *words, stdin=data) == (0, data, b"")


def test_scanf_of_a_charm_program(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(5)
    words = [
        "+p8",
        "++nodelist",
        hosts.nodelist([1, 2, 3, 4]),
        built(charmrun, "charm_double"),
        "--scanf",
        "%d %s",
    ]
    for process in (0, 5):
        done = run(hosts, charmrun, *words, "--process", process, stdin="  12\nabc def\nmore\n")
        assert_good(done, [*double_lines(8), f"double {process}/8: scanned <  12 abc>"])


# -- shells and launchers that are not as they should be ------------------------------------------


def test_chatter_of_start_up_files_is_skipped_and_shown_on_request(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(10)
    hosts.put_everywhere(".bashrc", "echo welcome to `hostname`\nprintf 'no newline'\necho on stderr >&2\n")
    want = [hosts.names[index] for index in NINE]
    assert_good(run(hosts, charmrun, *nine(hosts), "hostname"), want)
    done = run(hosts, charmrun, *nine(hosts), "++verbose", "hostname")
    assert_good(done, want, said=None)
    for name in want:
        said = f"its shell printed before the launcher: welcome to {name} no newline"
        assert f"charmrun: {name}: {said}" in done.stderr


def launcher_on_h01(
    hosts: Cluster, charmrun: Path, text: str | bytes | None, mode: int = 0o755, name: str = "/tmp/ct"
) -> str:
    """A launcher in /tmp that is right on all hosts but h01, where it is a file with `text`."""
    hosts.path(1, name).unlink(missing_ok=True)
    hosts.put(0, name, f'#!/bin/sh\nexec {charmrun} "$@"\n', mode=0o755)
    if text is not None:
        path = hosts.path(1, hosts.put(1, name, "", mode=mode))
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    return name


FOREIGN_ELF = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xf3\x00\x01\x00\x00\x00" + bytes(40)  # RISC-V
GREETS = "#!/bin/sh\necho '@charmtree-launcher 9.8.7 (protocol 99)'\nexec cat >/dev/null\n"
NO_LIBRARY = "/tmp/ct: error while loading shared libraries: libx.so.1: cannot open"
LIBRARY = f"#!/bin/sh\necho '{NO_LIBRARY}' >&2\nexit 127\n"


OUT_OF_ORDER = "#!/bin/sh\necho out of order >&2\nexit 5\n"


@pytest.mark.parametrize(
    ("text", "mode", "want"),
    [
        (None, 0o755, "h01: start launcher: /tmp/ct not found; "),
        (FOREIGN_ELF, 0o755, "h01: start launcher: /tmp/ct is for another architecture; "),
        (GREETS, 0o755, "h01: hello: charmrun there is version 9.8.7 (protocol 99), here "),
        (LIBRARY, 0o755, f"h01: start launcher: {NO_LIBRARY}; "),
        (GREETS, 0o644, "h01: start launcher: /tmp/ct cannot be executed (permission denied); "),
        (OUT_OF_ORDER, 0o755, "h01: start launcher: the remote shell ended before"),
    ],
    ids=["missing", "architecture", "version", "library", "mode", "broken"],
)
def test_a_launcher_that_the_ssh_command_cannot_use_is_named(
    cluster: Factory, charmrun: Path, text: str | bytes | None, mode: int, want: str
) -> None:
    """As without a command (test_bad_input.py), though the ssh command reports what it can in its own way."""
    hosts = cluster(SMALL)
    words = ["+p4", "++nodelist", hosts.nodelist([2, 1, 3, 4]), "++remote-shell", "ssh"]
    words += ["++launcher", launcher_on_h01(hosts, charmrun, text, mode)]
    line = error_line(run(hosts, charmrun, *words, "hostname"))
    assert line.startswith(want), line
    assert "++launcher PATH" in line or "(permission denied)" in line or "remote shell" in line, line


@pytest.mark.parametrize("name", ["/tmp/ct", "/tmp/a dir; with 'quotes' $HOME/ct"])
def test_a_launcher_at_another_place(cluster: Factory, charmrun: Path, name: str) -> None:
    hosts = cluster(SMALL)
    launcher = launcher_on_h01(hosts, charmrun, f'#!/bin/sh\nexec {charmrun} "$@"\n', name=name)
    words = ["+p4", "++nodelist", hosts.nodelist([2, 1, 3, 4]), "++launcher", launcher, "hostname"]
    assert_good(run(hosts, charmrun, *words), ["h01", "h02", "h03", "h04"])
