# SPDX-License-Identifier: Apache-2.0
"""`charmrun ++exec` and `++dap`: commands and debug adapters on the hosts of a running job."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from dap_client import Editor
from running import Factory, Result, command, compiled, error_line, run
from test_gdb import counting, is_free
from test_stack_trees import end_well, start
from vc_job import Job, patience
from vcluster import Cluster

STUCK = "tests/cluster/stuck.c"
ADAPTER = "lldb-dap-19"


def stuck(hosts: Cluster, charmrun: Path, count: int, total: int, *options: Any) -> Job:
    return start(hosts, charmrun, count, total, *options, compiled(charmrun, STUCK))


def executed(hosts: Cluster, charmrun: Path, *words: Any, **more: Any) -> Result:
    return run(hosts, charmrun, "++exec", *words, timeout=patience(60), **more)


def test_a_command_runs_on_every_host_of_a_job(cluster: Factory, charmrun: Path) -> None:
    """Below other launchers, too; beside the processes that it is for, in their directory."""
    hosts = cluster(26)
    job = stuck(hosts, charmrun, 26, 52, "++branching", "5")
    done = executed(hosts, charmrun, ":", "sh", "-c", "echo $CHARMTREE_NUMBERS; echo $CHARMTREE_PIDS; pwd; echo bad >&2")
    assert done.returncode == 0, done
    lines = done.stdout.splitlines()
    assert len(lines) == 3 * 26 and len(done.stderr.splitlines()) == 26
    of_first = [line.split(": ")[1] for line in lines if line.startswith("h00: ")]
    assert of_first[0] == "0-1" and len(set(of_first[1].split())) == 2 and of_first[2] == "/home/ctuser", of_first
    end_well(job)


def test_it_has_stdin_stdout_and_a_status(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    job = stuck(hosts, charmrun, 3, 6)
    text = "".join(hashlib.sha256(str(i).encode()).hexdigest() + "\n" for i in range(40_000))
    done = executed(hosts, charmrun, ":3", "cat", stdin=text)
    assert done.stdout == text and done.returncode == 0
    done = executed(hosts, charmrun, ":", "sh", "-c", "cat; exit $((${CHARMTREE_NUMBERS%-*} + 1))", stdin="hello\n")
    assert sorted(done.stdout.splitlines()) == sorted(f"h0{i}: hello" for i in (0, 1, 2)), done
    assert done.returncode == 5
    done = executed(hosts, charmrun, "++fold", ":0,5", "echo", "-n", "same")
    assert done.returncode == 0 and "same" in done.stdout, done
    done = executed(hosts, charmrun, ":4", "sh", "-c", "kill -9 $$")
    assert done.returncode == 137
    end_well(job)


def test_what_cannot_be_run_is_said(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    done = executed(hosts, charmrun, ":", "true")
    assert done.returncode == 125 and error_line(done).startswith("no job of yours is running"), done
    job = stuck(hosts, charmrun, 3, 6)
    done = executed(hosts, charmrun, ":2", "no-such-tool")
    assert done.returncode == 127 and f"h01: spawn: no-such-tool: not found in PATH" in done.stderr, done
    for words, said in (
        ((":6", "true"), "6: no list of processes of a job with 6; as 0-3,7"),
        (("uptime",), "++exec needs to know where: uptime is no JOB:PROCESSES; charmrun ++exec : uptime runs it on all hosts of the only job, "
         "++exec 7a:3 on that of process 3 of job 7a"),
        ((":",), "++exec needs a command; charmrun ++exec : uptime"),
        (
            (":", "echo", *["x" * 100_000] * 6),
            "the command has 600011 bytes, and may have 524288; put it into a script that the hosts have, or feed it to sh by stdin",
        ),
    ):
        done = executed(hosts, charmrun, *words)
        assert done.returncode == 125 and error_line(done) == said, done
    end_well(job)


def test_who_leaves_takes_his_tools_along(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(4)
    job = stuck(hosts, charmrun, 4, 8, "++branching", "1")
    child = hosts.popen(0, command(charmrun, "++exec", ":", "sleep", "1000"), stdout=subprocess.PIPE, stdin=subprocess.PIPE)
    job.until(lambda: len(job.running("sleep")) == 4, "the tools")
    child.kill()
    child.communicate()
    job.until(lambda: not job.running("sleep"), "their end")
    child = hosts.popen(0, command(charmrun, "++exec", ":", "sleep", "1000"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    job.until(lambda: len(job.running("sleep")) == 4, "the tools again")
    end_well(job)
    out, err = child.communicate(timeout=patience(30))
    assert child.returncode == 125 and err == "charmrun: the job has ended, and what ran beside its processes\n", (out, err)


def test_output_that_nobody_reads_waits_on_its_host(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    job = stuck(hosts, charmrun, 3, 6)
    child = hosts.popen(0, command(charmrun, "++exec", ":1", "yes"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout.readline() == "y\n"  # type: ignore[union-attr]
    done = executed(hosts, charmrun, ":1", "echo", "others go on")
    assert done.stdout == "others go on\n", done
    child.stdout.close()  # type: ignore[union-attr]
    assert child.wait(timeout=patience(30)) == 141
    end_well(job)


@pytest.fixture
def adapter() -> str:
    assert shutil.which(ADAPTER), f"no {ADAPTER}: cmake/install-packages test"
    return ADAPTER


def editor_of(hosts: Cluster, charmrun: Path, *words: Any) -> Editor:
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return Editor(hosts.popen(0, command(charmrun, "++dap", *words), **pipes))


def test_an_editor_debugs_a_process_on_its_host(cluster: Factory, charmrun: Path, adapter: str) -> None:
    """A breakpoint, where it stops, a value; afterwards it runs on."""
    hosts = cluster(5)
    job = counting(hosts, charmrun, 5, 10)
    editor = editor_of(hosts, charmrun, ":7", "++debugger", adapter)
    editor.attach("count")
    while (stopped := editor.event("stopped")["body"])["reason"] not in ("function breakpoint", "breakpoint"):
        editor.ask("continue", threadId=stopped["threadId"])
    frames = editor.ask("stackTrace", threadId=stopped["threadId"])["stackFrames"]
    assert frames[0]["name"].startswith("count") and frames[0]["source"]["name"] == "counting.c", frames
    value = editor.ask("evaluate", expression="rank", frameId=frames[0]["id"])["result"]
    assert value == "7", value
    editor.leave()
    job.until(lambda: is_free(job), "the end of the debuggers")
    end_well(job)


def test_an_editor_that_dies_leaves_the_process_running(cluster: Factory, charmrun: Path, adapter: str) -> None:
    hosts = cluster(3)
    job = counting(hosts, charmrun, 3, 6)
    editor = editor_of(hosts, charmrun, ":4", "++debugger", adapter)
    editor.attach(stopOnEntry=True)
    job.until(lambda: not is_free(job), "the debugger")
    editor.child.kill()
    editor.child.communicate()
    job.until(lambda: is_free(job) and not job.running("lldb"), "the end of the debugger")
    end_well(job)


def test_an_editor_is_told_what_it_must_do(cluster: Factory, charmrun: Path, adapter: str) -> None:
    hosts = cluster(3)
    job = counting(hosts, charmrun, 3, 6)
    editor = editor_of(hosts, charmrun, ":4", "++debugger", adapter)
    editor.ask("initialize", adapterID="charmtree")
    refused = editor.response(editor.request("launch", program="/bin/true"))
    assert not refused["success"] and '"request": "attach"' in refused["message"], refused
    editor.close()
    done = run(hosts, charmrun, "++dap", timeout=patience(30))
    assert error_line(done).startswith("++dap debugs one process, and the job has several; charmrun ++dap "), done
    done = run(hosts, charmrun, "++dap", ":2", "++debugger", "no-such-adapter", timeout=patience(30))
    assert done.returncode == 127 and "no-such-adapter: not found" in done.stderr, done
    end_well(job)


# An adapter of a host that has been taken over: it wants the editor to run commands, writes down the answers, and ends with a line that
# is no message.
_LYING_ADAPTER = """import json, sys
def say(message):
    text = json.dumps(message)
    sys.stdout.write(f"Content-Length: {len(text)}\\r\\n\\r\\n{text}")
    sys.stdout.flush()
for number, command in enumerate(["runInTerminal", "startDebugging"], 1):
    say({"seq": number, "type": "request", "command": command, "arguments": {"args": ["touch", "/tmp/x"]}})
    length = int(sys.stdin.readline().split(":")[1])
    sys.stdin.readline()
    answer = json.loads(sys.stdin.read(length))
    with open(sys.argv[1], "a") as file:
        print(answer["command"], answer["request_seq"], answer["success"], file=file)
say({"seq": 3, "type": "event", "event": "initialized"})
print("no message" * 1000, flush=True)
sys.stdin.read()
"""


def test_no_host_has_the_editor_run_anything(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    job = counting(hosts, charmrun, 3, 6)
    adapter = hosts.put(0, "/home/shared/lying-adapter.py", _LYING_ADAPTER)
    answers = hosts.put(0, "/home/shared/lying-adapter.answers", "", mode=0o666)
    editor = editor_of(hosts, charmrun, ":4", "++debugger", f"/usr/bin/python3 {adapter} {answers}")
    editor.event("initialized")
    assert editor.events == []
    assert hosts.path(0, answers).read_text().splitlines() == ["runInTerminal 1 False", "startDebugging 2 False"]
    _, said = editor.child.communicate(timeout=patience(30))
    assert editor.child.returncode == 125
    assert "the debug adapter has sent what is no message of the Debug Adapter Protocol: 'no message" in said, said
    end_well(job)


def test_a_debugger_is_found_on_the_host(cluster: Factory, charmrun: Path, adapter: str) -> None:
    """gdb 13, which is there, does not speak the protocol."""
    hosts = cluster(3)
    job = counting(hosts, charmrun, 3, 6)
    editor = editor_of(hosts, charmrun, ":0")
    assert editor.ask("initialize", adapterID="charmtree")["supportsConfigurationDoneRequest"]
    editor.close()
    end_well(job)
