# SPDX-License-Identifier: Apache-2.0
"""CCS: who is let in, by key or as a user of this machine, and for what; with a program of an unmodified Charm++ runtime."""

from __future__ import annotations

import re
from pathlib import Path

from running import PATIENCE_S, Factory, error_line, run
from served import FILE, GETINFO, SERVER, Served
from vcluster import REPOSITORY

CLIENT = REPOSITORY / "tests/cluster/ccs_key_client.py"
KEY = "38205960174893726150482937162849"
KEYS = f"0 {KEY}\n7 OTP\n"
PATH = "/home/shared/keys"


def exchange(job: Served, *words: object) -> list[str]:
    argv = ["/usr/bin/python3", str(CLIENT), "127.0.0.1", str(job.port), *map(str, words)]
    done = job.hosts.run(0, argv, timeout=PATIENCE_S)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_clients_show_their_keys(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    hosts.put(0, PATH, KEYS, mode=0o600)
    job = Served(hosts, charmrun, "++server-auth", PATH, program=(SERVER, FILE))
    assert job.head[2:3] == ["ccs: 2\n"]
    made = re.fullmatch(r"CCS_OTP_KEY> Level 7 key: ([0-9]{32})\n", job.head[1])
    assert made, job.head
    job.serves()
    good = [GETINFO, "FFFFFFFF", GETINFO, ""]  # from both processes of a host, the other host, and for nothing
    asked = ("ccs_getinfo", 0, "pe", -1, "ccs_getinfo", 3, "nosuch", 2)
    for level, key, reading in ((0, KEY, "decimal"), (0, KEY, "hexadecimal"), (7, made[1], "decimal")):
        found = exchange(job, level, key, reading, *asked)
        assert [found[0], *found[2:]] == [good[0], *good[2:]] and len(found[1]) == 32, (level, reading, found)
    assert exchange(job, 0, KEY, "again", "ccs_getinfo", 0) == [GETINFO, "EOF"]
    assert exchange(job, 0, KEY.replace("38", "39"), "decimal", "ccs_getinfo", 0) == ["no entry"]
    assert exchange(job, 3, KEY, "decimal", "ccs_getinfo", 0) == ["no entry"]
    assert job.ask("ccs_getinfo", 0, "ccs_getinfo", 1) == ["EOF", "EOF"]
    text = job.end()
    told = ["signed a request wrongly, or again", "does not have the key of level 0", "asked for level 3, which has no key", "has no key"]
    assert [text.count(f"charmrun: CCS client 127.0.0.1 {one}: refused\n") for one in told] == [1] * len(told), text
    assert "ERROR" not in text and KEY not in text


def test_bad_keys_end_the_job_with_their_line(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(1)
    for text, why in (
        ("0 00\n", "line 1: this key is easily guessed"),
        ("# mine\n0 secret\n", "line 2: this is no key"),
    ):
        hosts.put(0, PATH, text, mode=0o600)
        assert why in error_line(run(hosts, charmrun, "++local", "++server-auth", PATH, "true"))
    assert "No such file" in error_line(run(hosts, charmrun, "++local", "++server-auth", f"{PATH}.not", "true"))
    hosts.put(0, PATH, "7 ff112233445566778899aabbccddeeff\n", mode=0o644)
    done = run(hosts, charmrun, "+p1", "++local", "++server-auth", PATH, "true")
    assert done.returncode == 0
    assert [line.split("line 1")[-1][:9] for line in done.stderr.splitlines()] == [": Charm++", *["charmrun:"] * 2], done.stderr
    assert "chmod 600" in done.stderr and "requests without a key are served, too" in done.stderr


def test_handlers_are_denied_and_late_answers_not_awaited(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(3)
    options = ["++server-deny", "die,ccs_killpe", "++server-timeout", "2"]
    job = Served(hosts, charmrun, *options, program=(SERVER, FILE))
    job.serves()
    asked = ("die", 0, "ccs_killpe", 3, "hang", 3, "ccs_getinfo", 3)
    assert job.ask(*asked) == ["", "", "", GETINFO]
    text = job.end()
    assert text.count("charmrun: CCS client 127.0.0.1 got an empty reply: 'hang' has not answered within 2 s (++server-timeout)\n") == 1, text
    assert "charmrun: CCS client 127.0.0.1 asked for 'die' (++server-deny): refused\n" in text


def test_other_users_are_served_only_where_they_may(cluster: Factory, charmrun: Path) -> None:
    hosts = cluster(2)
    for option, answers in (("++quiet", ["EOF"]), ("++server-any-user", [GETINFO])):
        job = Served(hosts, charmrun, "++server", option, program=(SERVER, FILE))
        found = job.ask("ccs_getinfo", 0, user="ctother")
        job.end()
        assert found == answers, option
