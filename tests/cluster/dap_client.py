# SPDX-License-Identifier: Apache-2.0
"""What an editor says to a debug adapter over a child's stdin and stdout (Debug Adapter Protocol)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

from vc_job import patience


class Editor:
    """Requests one after the other; what comes between them is kept."""

    def __init__(self, child: subprocess.Popen[Any]) -> None:
        self.child, self.number = child, 0
        self.events: list[dict[str, Any]] = []

    def read(self) -> dict[str, Any]:
        length = 0
        while line := self.child.stdout.readline().strip():  # type: ignore[union-attr]
            if line.lower().startswith("content-length:"):
                length = int(line.split(":")[1])
        assert length > 0, "the adapter has ended"
        message: dict[str, Any] = json.loads(self.child.stdout.read(length))  # type: ignore[union-attr]
        return message

    def request(self, command: str, **arguments: Any) -> int:
        self.number += 1
        text = json.dumps({"seq": self.number, "type": "request", "command": command, "arguments": arguments})
        self.child.stdin.write(f"Content-Length: {len(text)}\r\n\r\n{text}")  # type: ignore[union-attr]
        self.child.stdin.flush()  # type: ignore[union-attr]
        return self.number

    def response(self, number: int) -> dict[str, Any]:
        return self.first(lambda message: message.get("request_seq") == number)

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """The body of the response, which must be a success."""
        response = self.response(self.request(command, **arguments))
        assert response["success"], response
        body: dict[str, Any] = response.get("body") or {}
        return body

    def event(self, name: str) -> dict[str, Any]:
        return self.first(lambda message: message.get("event") == name)

    def first(self, is_it: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        for seen in self.events:
            if is_it(seen):
                self.events.remove(seen)
                return seen
        while not is_it(message := self.read()):
            self.events.append(message)
        return message

    def attach(self, *functions: str, **arguments: Any) -> None:
        """With breakpoints at these functions."""
        self.ask("initialize", adapterID="charmtree", linesStartAt1=True)
        attached = self.request("attach", **arguments)
        self.event("initialized")
        self.ask("setFunctionBreakpoints", breakpoints=[{"name": each} for each in functions])
        self.ask("configurationDone")
        assert self.response(attached)["success"]

    def close(self) -> None:
        """Without a word."""
        self.child.stdin.close()  # type: ignore[union-attr]
        self.child.wait(timeout=patience(30))

    def leave(self) -> None:
        self.ask("disconnect", terminateDebuggee=False)
        self.child.communicate()
