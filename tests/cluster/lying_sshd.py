# SPDX-License-Identifier: Apache-2.0
"""A server of ssh that tells one lie to everybody who logs in: lying_sshd.py LIE PORT HOST-KEY. It says `up` when it listens.

Whose key it is does not matter to it. The lies are those below, each a function of the connection.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from typing import Any

import asyncssh
from asyncssh.connection import SSHServerConnection
from asyncssh.constants import (
    MSG_CHANNEL_OPEN_CONFIRMATION, MSG_CHANNEL_OPEN_FAILURE, MSG_CHANNEL_REQUEST, MSG_EXT_INFO)
from asyncssh.packet import Byte, String, UInt32

Connection = SSHServerConnection


def encrypted(connection: Connection, body: bytes) -> None:
    """A packet of any length and any padding; its keys and its seal are right."""
    packet, seal = connection._send_encryption.encrypt_packet(connection._send_seq, UInt32(len(body)), body)
    connection._send(packet + seal)
    connection._send_seq += 1


# Told in the first packet that is encrypted, before anybody has asked which host this is.
FIRST: dict[str, Callable[[Connection], None]] = {
    "four bytes": lambda connection: encrypted(connection, Byte(0) + bytes(3)),
    "two bytes": lambda connection: encrypted(connection, Byte(0) + bytes(1)),
    "all padding": lambda connection: encrypted(connection, Byte(255) + bytes(31)),
    "a wrong seal": lambda connection: connection._send(UInt32(32) + os.urandom(48)),
    "a huge packet": lambda connection: connection._send(UInt32(0xFFFFFFFF) + os.urandom(48)),
    "many extensions": lambda connection: connection.send_packet(MSG_EXT_INFO, UInt32(0xFFFFFFFF)),
    "half an extension": lambda connection: connection.send_packet(MSG_EXT_INFO, UInt32(1), UInt32(0xFFFFFFF0)),
    "algorithms again and again": lambda connection: connection.send_packet(
        MSG_EXT_INFO, UInt32(1), String(b"server-sig-algs"), String(b",".join([b"rsa-sha2-512"] * 2000))),
    "no algorithm": lambda connection: connection.send_packet(
        MSG_EXT_INFO, UInt32(1), String(b"server-sig-algs"), String(b"none")),
}


class Liar(SSHServerConnection):
    """Says what it should until the time has come."""

    lie = ""

    def send_newkeys(self, *arguments: Any) -> None:
        super().send_newkeys(*arguments)
        if self.lie in FIRST:
            FIRST[self.lie](self)

    def _send_ext_info(self) -> None:
        if "algorithm" not in self.lie:
            super()._send_ext_info()

    def send_packet(self, pkttype: int, *args: bytes, **options: Any) -> None:
        if self.lie == "a short refusal" and pkttype == MSG_CHANNEL_OPEN_CONFIRMATION:
            super().send_packet(MSG_CHANNEL_OPEN_FAILURE, args[0])
            return
        super().send_packet(pkttype, *args, **options)
        if self.lie == "a request without end" and pkttype == MSG_CHANNEL_OPEN_CONFIRMATION:
            for length in (0xFFFFFFFF, 0xFFFFFFF7, 12):
                super().send_packet(MSG_CHANNEL_REQUEST, args[0], UInt32(length))
        if self.lie == "a signal without end" and pkttype == MSG_CHANNEL_OPEN_CONFIRMATION:
            super().send_packet(MSG_CHANNEL_REQUEST, args[0], String(b"exit-signal"), Byte(0), UInt32(0xFFFFFFFE))


class Nothing(asyncssh.SSHServerSession):
    """Takes any command, does nothing, and says that all went well."""

    def connection_made(self, chan: Any) -> None:
        self._channel = chan

    def exec_requested(self, command: str) -> bool:
        return True

    def session_started(self) -> None:
        self._channel.exit(0)


class Anybody(asyncssh.SSHServer):
    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: Any) -> bool:
        return True

    def session_requested(self) -> asyncssh.SSHServerSession:
        return Nothing()


async def serve(port: int, key: str) -> None:
    loop = asyncio.get_running_loop()
    options = asyncssh.SSHServerConnectionOptions(server_factory=Anybody, server_host_keys=[key])
    await loop.create_server(lambda: Liar(loop, options), "", port)
    print("up", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    Liar.lie = sys.argv[1]
    asyncio.run(serve(int(sys.argv[2]), sys.argv[3]))
