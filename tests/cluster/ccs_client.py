# SPDX-License-Identifier: Apache-2.0
"""A stock CCS client: ccs_client.py ADDRESS PORT [HANDLER PE]...

One request after the other; prints each reply in hexadecimal, or EOF. With a full stop behind the handler the client
says that it has said all (`nc -N` does), before it reads the reply. The handler ccs_killport gets a port of this
client, which then waits at the end for what a process says there when it exits.
"""

import socket
import struct
import sys


def receive(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def request(address: str, port: int, handler: str, pe: int, data: bytes = b"") -> str:
    with socket.create_connection((address, port), 30) as connection:
        connection.sendall(struct.pack(">Ii32s", len(data), pe, handler.rstrip(".").encode()) + data)
        if handler.endswith("."):
            connection.shutdown(socket.SHUT_WR)
        try:
            return receive(connection, struct.unpack(">I", receive(connection, 4))[0]).hex()
        except (EOFError, ConnectionResetError):
            return "EOF"


def main() -> None:
    address, port = sys.argv[1], int(sys.argv[2])
    listener = socket.create_server(("0.0.0.0", 0))
    listener.settimeout(60)
    waits = False
    for handler, pe in zip(sys.argv[3::2], sys.argv[4::2]):
        data = b""
        if handler == "ccs_killport":
            data, waits = struct.pack(">I", listener.getsockname()[1]), True
        print(request(address, port, handler, int(pe), data), flush=True)
    if waits:
        connection, _ = listener.accept()
        connection.settimeout(60)
        print(receive(connection, 5))


if __name__ == "__main__":
    main()
