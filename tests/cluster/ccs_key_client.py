# SPDX-License-Identifier: Apache-2.0
"""A stock CCS client with a key: ccs_key_client.py ADDRESS PORT LEVEL KEY READING [HANDLER PE]...

READING is how the key's text is read: decimal (as Charm++'s C clients do), hexadecimal (Java), or again: decimal, and then
what the last request sent is sent once more. Prints each reply in hexadecimal, EOF, or `no entry`.
"""

from __future__ import annotations

import hashlib
import socket
import struct
import sys

from ccs_client import receive

REPLY_SALT = 0xCAFE


def hashed(key: bytes, salt: int, head: bytes = b"") -> bytes:
    return hashlib.sha1(key + struct.pack(">I", salt & 0xFFFFFFFF) + head[:16].ljust(32, b"\0")).digest()


class Guest:
    def __init__(self, address: str, port: int, level: int, key: bytes) -> None:
        self.place, self.level, self.key = (address, port), level, key
        with socket.create_connection(self.place, 30) as connection:
            connection.sendall(struct.pack(">4BI", 0x80, 0, 1, level, 4711))
            connection.sendall(hashed(key, *struct.unpack(">I", receive(connection, 4))))
            assert receive(connection, 20) == hashed(key, 4711), "the server has another key"
            self.number, self.salt = struct.unpack(">II", receive(connection, 8))
            assert connection.recv(1) == b""
        self.last = b""

    def ask(self, handler: str, pe: int) -> str:
        head = struct.pack(">Ii32s", 0, pe, handler.encode())
        signed = struct.pack(">4BII", 0x80, 0, 0, self.level, self.number, REPLY_SALT)
        self.last = signed + hashed(self.key, self.salt, head) + head
        self.salt += 1
        return self.send()

    def send(self) -> str:
        with socket.create_connection(self.place, 30) as connection:
            connection.sendall(self.last)
            try:
                assert receive(connection, 20) == hashed(self.key, REPLY_SALT), "a reply by somebody else"
                return receive(connection, struct.unpack(">I", receive(connection, 4))[0]).hex()
            except (EOFError, ConnectionResetError):
                return "EOF"


def main() -> None:
    address, port, level, text, reading = sys.argv[1:6]
    base = 16 if reading == "hexadecimal" else 10
    key = bytes(int(text[i : i + 2], base) for i in range(0, 32, 2))
    try:
        guest = Guest(address, int(port), int(level), key)
    except (EOFError, ConnectionResetError):
        print("no entry")
        return
    for handler, pe in zip(sys.argv[6::2], sys.argv[7::2]):
        print(guest.ask(handler, int(pe)), flush=True)
    if reading == "again":
        print(guest.send())


main()
