# SPDX-License-Identifier: Apache-2.0
"""A host whose ssh server lies: it is the host that does not start; charmrun says so and ends."""

from __future__ import annotations

import select
import sys
from pathlib import Path

import pytest

from running import PATIENCE_S, Factory, charmrun_lines, run

_SERVER = Path(__file__).with_name("lying_sshd.py")
_PORT = 2222
# What the user's configuration asks for, so that the lie concerns it.
_CHACHA = "Ciphers chacha20-poly1305@openssh.com"
_ETM = "Ciphers aes128-ctr\n MACs hmac-sha2-256-etm@openssh.com"
_LIES = [
    ("four bytes", ""),
    ("a wrong seal", ""),
    ("a huge packet", ""),
    ("two bytes", _CHACHA),
    ("a wrong seal", _CHACHA),
    ("two bytes", _ETM),
    ("all padding", _ETM),
    ("all padding", _CHACHA),
    ("many extensions", ""),
    ("half an extension", ""),
    ("algorithms again and again", ""),
    ("no algorithm", ""),
    ("a short refusal", ""),
    ("a request without end", ""),
    ("a signal without end", ""),
]


@pytest.mark.parametrize("lie, configured", _LIES)
def test_what_it_says_harms_nobody(cluster: Factory, charmrun: Path, lie: str, configured: str) -> None:
    hosts = cluster(3)
    key = hosts.put(1, "host-key", hosts.files.host_keys.private(hosts.key_name(1)).read_text(), mode=0o600)
    public = hosts.files.host_keys.public(hosts.key_name(1))
    hosts.put(0, ".ssh/known_hosts", hosts.known_hosts_text(without=[1]) + f"[h01]:{_PORT} {public}\n", mode=0o600)
    hosts.user_keys(["rsa", "ed25519"])
    if configured:
        hosts.ssh_config(f"Host h01\n {configured}\n")
    server = hosts.popen(1, [sys.executable, _SERVER, lie, str(_PORT), key], stdout=-1, stderr=-1)
    try:
        assert select.select([server.stdout], [], [], PATIENCE_S)[0] and server.stdout.readline() == "up\n"
        words = ["+p2", "++host", f"[h01]:{_PORT},h02"]
        done = run(hosts, charmrun, *words, "hostname")
    finally:
        server.kill()
        server.communicate()
    assert done.returncode == 125, (done.returncode, done.stdout, done.stderr)  # nor by a signal
    assert [line for line in charmrun_lines(done) if line.startswith("error: ") and "h01" in line], done.stderr
