# SPDX-License-Identifier: Apache-2.0
"""How output is shown: lines that come in parts, labels, files, folded lines."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

from running import Factory, charmrun_lines, command, program_lines, run
from terminal import Terminal

HALVES = ["sh", "-c", "printf AB; sleep 1; echo CD"]
BIG = "head -c 65537 /dev/zero | tr '\\0' x; echo y"


def test_lines_that_come_in_parts_are_never_torn(cluster: Factory, charmrun: Path) -> None:
    """In a pipe a part waits for its newline; on a terminal it has the cursor, and others wait."""
    hosts = cluster(2)
    words = ["+p2", "++nodelist", hosts.nodelist(2)]
    done = run(hosts, charmrun, *words, *HALVES)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ABCD\nABCD\n", "")
    seat = Terminal(hosts, command(charmrun, *words, *HALVES))
    seat.expect("AB")
    seat.expect("CD\r\nABCD\r\n")
    seat.end()
    done = run(hosts, charmrun, *words, "++raw", "sh", "-c", "printf AB; printf CD >&2")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ABAB", "CDCD")
    done = run(hosts, charmrun, *words, "sh", "-c", BIG)
    assert done.returncode == 0
    assert done.stdout.splitlines() == ["x" * 65537 + "y"] * 2
    done = run(hosts, charmrun, *words, "++label", "sh", "-c", BIG)  # only then it is cut
    assert sorted(done.stdout.splitlines()) == sorted(f"[{i}] {part}" for i in (0, 1) for part in ("x" * 65536 + "\\", "\\xy"))


def test_a_line_in_a_pipe_is_whole_however_long_and_slow_it_is(cluster: Factory, charmrun: Path) -> None:
    """It pauses for longer than a part is held on its host, within a character, while others print."""
    hosts = cluster(2)
    many = "head -c 100000 /dev/zero | sed 's/\\x0/\u00e9/g'"
    slow = f"printf begin; {many}; printf '\\303'; sleep 5.5; printf '\\251'; {many}; echo end"
    script = f"case $CHARMTREE_PROCESS in 0|1) {slow};; *) for i in 1 2 3 4 5 6; do echo other; sleep 1; done;; esac"
    words = ["+p4", "++nodelist", hosts.nodelist(2)]
    done = run(hosts, charmrun, *words, "sh", "-c", script)
    line = "begin" + "\u00e9" * 200_001 + "end"
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == [line] * 2 + ["other"] * 12
    done = run(hosts, charmrun, *words, "++label", "sh", "-c", f"{many}; echo")
    assert done.returncode == 0
    text = {i: "" for i in range(4)}
    for part in done.stdout.splitlines():
        process, rest = part.split("] ", 1)
        text[int(process[1:])] += rest.removeprefix("\\").removesuffix("\\")
    assert set(text.values()) == {"\u00e9" * 100_000}


def test_labels_say_whose_lines_they_are(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(2)
    words = ["+p2", "++nodelist", hosts.nodelist(2)]
    program = ["sh", "-c", "echo out; echo err >&2; printf end"]
    done = run(hosts, charmrun, *words, "++label", *program)
    assert sorted(done.stdout.splitlines()) == ["[0] end", "[0] out", "[1] end", "[1] out"]
    assert sorted(done.stderr.splitlines()) == ["[0] err", "[1] err"]
    before = datetime.now()
    done = run(hosts, charmrun, *words, "++timestamp", "++label-format", "%r@%h %s: ", *program)
    after = datetime.now()
    names = hosts.run(0, ["cat", hosts.nodelist(2)]).stdout.split()[-3::2]
    time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3} "
    lines = [line for line in done.stdout.splitlines() if re.match(time, line)]
    want = [f"{i}@{name} stdout: {word}" for i, name in enumerate(names) for word in ("end", "out")]
    assert sorted(re.sub(time, "", line, count=1) for line in lines) == want
    # Clocks of two hosts agree only to half of a round trip: a line of one may come before an earlier one of the other.
    for index in range(2):
        times = [datetime.fromisoformat(line[:23]) for line in lines if line[24:].startswith(f"{index}@")]
        assert times == sorted(times)
        assert before - timedelta(seconds=1) < times[0] and times[-1] < after + timedelta(seconds=1)
    one = run(hosts, charmrun, "+p1", "++local", "++label", "printf", "a")
    assert one.stdout == "[0] a"


def test_no_line_passes_for_one_of_charmruns(cluster: Factory, charmrun: Path) -> None:
    """Behind a label a program's lines keep to their place, and what charmrun tells of a program is one visible line."""
    hosts = cluster(1)
    text = r"\rcharmrun: error: forged\n\033[A\033[2Kcharmrun: error: forged\n\302\2332Acharmrun: error: forged\n"
    program = f"test $CHARMTREE_PROCESS = 0 || exit 0; printf '{text}'; printf '{text}' >&2; kill -9 $$"
    done = run(hosts, charmrun, "+p2", "++local", "++label", "++output", "/home/shared/forged", "sh", "-c", program)
    said = charmrun_lines(done)
    assert any("forged" in line for line in said), done.stderr
    assert all(line.isprintable() for line in done.stderr.splitlines()), done.stderr
    assert not [line for line in said if line.startswith("error: forged")], done.stderr
    done = run(hosts, charmrun, "+p2", "++local", "++label", "sh", "-c", program)
    for line in re.split("[\r\n]+", done.stdout):
        assert re.match(r"\[0\] |$", line) and "\033" not in line and "\x9b" not in line, done.stdout


def test_each_process_has_a_file(cluster: Factory, charmrun: Path) -> None:
    """Of an earlier job nothing is left; a full disk is told once, and in the status, but ends nothing."""
    hosts = cluster(2)
    folder = hosts.path(0, "/home/shared/new/out")
    words = ["+p4", "++nodelist", hosts.nodelist(2), "++output", "/home/shared/new/out/%r"]
    program = 'test $CHARMTREE_PROCESS = 3 || { printf "of $CHARMTREE_PROCESS"; echo " err" >&2; }'
    done = run(hosts, charmrun, *words, "sh", "-c", program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    files = {path.name: path.read_text() for path in folder.iterdir()}
    assert files["3"] == ""
    assert {name: sorted(text.split()) for name, text in files.items() if name != "3"} == {
        str(i): sorted(["err", "of", str(i)]) for i in range(3)
    }
    (folder / "1").unlink()
    (folder / "1").symlink_to("/dev/full")
    done = run(hosts, charmrun, *words, "echo", "all")
    assert done.returncode == 125
    assert charmrun_lines(done) == [
        "error: ++output: cannot write /home/shared/new/out/1: No space left on device; the job goes on without it"
    ]
    assert {i: (folder / str(i)).read_text() for i in (0, 2, 3)} == dict.fromkeys((0, 2, 3), "all\n")


def numbers(label: str) -> list[int]:
    """The processes of a label: [0-2,5]."""
    ranges = [part.split("-") for part in label.strip("[]").split(",")]
    return [i for ends in ranges for i in range(int(ends[0]), int(ends[-1]) + 1)]


def test_equal_lines_are_folded(cluster: Factory, charmrun: Path) -> None:
    """Each line of each process is accounted for, in order; on a terminal that is the usual."""
    hosts = cluster(3)
    words = ["++nodelist", hosts.nodelist(3), "++fold-window", 60]
    seat = Terminal(hosts, command(charmrun, "+p9", *words, "echo", "hello"))
    seat.expect(r"\[0-8\] hello\r\n")
    seat.end()
    program = "for i in 1 2 3; do echo step $i; done; echo me $CHARMTREE_PROCESS"
    done = run(hosts, charmrun, "+p6", *words, "++fold", "sh", "-c", program)
    assert done.returncode == 0
    said: dict[int, list[str]] = {i: [] for i in range(6)}
    for line in done.stdout.splitlines():
        label, text = line.split(" ", 1)
        for process in numbers(label):
            said[process].append(text.strip())
    assert said == {i: ["step 1", "step 2", "step 3", f"me {i}"] for i in range(6)}
    assert program_lines(done).count("[0-5] step 2") == 1
