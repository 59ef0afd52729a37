# SPDX-License-Identifier: Apache-2.0
"""Ask the handlers of a running job (charmrun ++server). One file, Python 3.9 or later, nothing else.

    from charmtree_ccs import Session

    with Session("127.0.0.1", 12345) as job:
        print(job.ask("ccs_getinfo"))                   # PE 0
        print(job.ask("temperature", b"...", pe=3))
        print(job.ask("sum", pe=ALL))                   # a broadcast, whose answers the program joins
        replies = job.ask_all([("step", b"", pe) for pe in range(64)])

A session is one connection for any number of requests; docs/manual/ccs.md has its bytes. It is for one thread.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import socket
import struct
from collections.abc import Iterable, Sequence
from types import TracebackType

__all__ = ["ALL", "Refused", "Session"]

ALL = -1

_MAGIC = b"\xc3CCS\x01"
_HELLO, _PROOF, _CODE = 24, 32, 16
_ANSWERED, _MORE, _NO_REPLY = 0, 1, 2
_WINDOW = 128  # requests under way at a time in ask_all()


class Refused(Exception):
    """The job, or its launcher, has no answer, and says why."""


class _Sealer:
    """The codes of messages in one direction."""

    def __init__(self, key: bytes = b"") -> None:
        self.key, self.messages = key, 0
        self.size = _CODE if key else 0

    def code(self, message: bytes) -> bytes:
        if not self.key:
            return b""
        place = struct.pack(">Q", self.messages)
        self.messages += 1
        return hmac.digest(self.key, place + message, hashlib.sha256)[:_CODE]


class Session:
    """A connection to the port that the line `ccs: Server IP = ..., Server port = ...` names.

    `key`: 16 bytes, or the text of the key file's line (hexadecimal), for `level`. `timeout`: seconds for each step of
    the connection, or None. Raises OSError, and Refused where the job has another key.
    """

    def __init__(self, host: str, port: int, key: bytes | str | None = None, level: int = 0, timeout: float | None = None) -> None:
        self._connection = socket.create_connection((host, port), timeout)
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._connection.makefile("rb", buffering=1 << 16)
        self._sent = 0
        self._pieces: dict[int, list[bytes]] = {}  # of replies that have begun
        self._out, self._in = _Sealer(), _Sealer()
        try:
            self._begin(bytes.fromhex(key) if isinstance(key, str) else key, level)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()
        self._connection.close()

    def ask(self, handler: str, data: bytes = b"", pe: int | Sequence[int] = 0) -> bytes | None:
        """The reply of one handler; None: it gives none. `pe`: one PE, several, or ALL. Raises Refused."""
        [reply] = self.ask_all([(handler, data, pe)])
        if isinstance(reply, Refused):
            raise reply
        return reply

    def ask_all(self, requests: Iterable[tuple[str, bytes, int | Sequence[int]]]) -> list[bytes | Refused | None]:
        """The replies to (handler, data, pe), in their order, without waiting for one before the next is sent. Whatever
        is raised in the middle ends the session: replies may still be on their way."""
        replies: dict[int, bytes | Refused | None] = {}
        numbers: list[int] = []
        try:
            for request in requests:
                if len(numbers) - len(replies) >= _WINDOW:
                    replies.update([self._receive()])
                numbers.append(self._send(*request))
            while len(replies) < len(numbers):
                replies.update([self._receive()])
        except BaseException:
            if len(numbers) > len(replies):
                self.close()
            raise
        return [replies[number] for number in numbers]

    def _begin(self, key: bytes | None, level: int) -> None:
        hello = _MAGIC + bytes([level, 0, 0]) + os.urandom(_HELLO - len(_MAGIC) - 3)
        self._connection.sendall(hello)
        answer = self._read(_HELLO)
        if not answer.startswith(_MAGIC):
            raise ConnectionError("whoever listens there begins no session")
        if not answer[len(_MAGIC)]:
            if key is not None:
                raise Refused(f"the job has no key of level {level}")
            return
        if key is None:
            raise Refused("the job wants a key")
        server, client, up, down = (
            hmac.digest(key, b"charmtree CCS session: " + what + hello + answer, hashlib.sha256)
            for what in (b"the server has the key", b"the client has the key", b"to the server", b"to the client")
        )
        self._connection.sendall(client)
        try:
            proof = self._read(_PROOF)
        except ConnectionError:
            proof = b""
        if not hmac.compare_digest(proof, server):
            raise Refused("the job has another key")
        self._out, self._in = _Sealer(up), _Sealer(down)

    def _send(self, handler: str, data: bytes, pe: int | Sequence[int]) -> int:
        name = handler.encode()
        if not 1 <= len(name) <= 31:
            raise ValueError(f"{handler!r} is no handler's name: they have 1 to 31 bytes")
        pes = [pe] if isinstance(pe, int) else list(pe)
        if not pes:
            raise ValueError("no PE is asked")
        one, pes = (pes[0], []) if len(pes) == 1 else (-len(pes), pes)
        self._sent = (self._sent + 1) & 0xFFFFFFFF
        head = struct.pack(">IIi32s", self._sent, len(data), one, name)
        message = head + struct.pack(f">{len(pes)}I", *pes) + data
        message = struct.pack(">I", len(message)) + message
        self._connection.sendall(message + self._out.code(message))
        return self._sent

    def _receive(self) -> tuple[int, bytes | Refused | None]:
        """The next complete reply, with its request's number."""
        while True:
            head = self._read(12)
            size, number, status = struct.unpack(">III", head)
            if size < 8:
                raise ConnectionError("the reply is not what was sent")
            message = head + self._read(size - 8)
            if not hmac.compare_digest(self._read(self._in.size), self._in.code(message)):
                raise ConnectionError("the reply is not what was sent")
            self._pieces.setdefault(number, []).append(message[12:])
            if status == _MORE:
                continue
            whole = b"".join(self._pieces.pop(number))
            if status == _ANSWERED:
                return number, whole
            return number, None if status == _NO_REPLY else Refused(whole.decode(errors="replace"))

    def _read(self, size: int) -> bytes:
        found = self._file.read(size)
        if len(found) < size:
            raise ConnectionError("the job has ended, or has closed the connection")
        return found
