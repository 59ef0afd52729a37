# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium on a virtual host, driven by the DevTools protocol over its two pipes."""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
import time
from pathlib import Path
from typing import Any

from running import PATIENCE_S
from vc_net import tool
from vcluster import Cluster

_FLAGS = ["--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run", "--window-size=1400,900"]
# It reads descriptor 3 and writes descriptor 4.
_START = 'folder=$(mktemp -d) && trap "rm -rf $folder" EXIT && "$@" --user-data-dir="$folder" about:blank 3<&%d 4>&%d'


class Browser:
    """One window, on host 0, of the user of jobs."""

    def __init__(self, hosts: Cluster) -> None:
        program = tool("chromium-headless-shell", "chromium-headless-shell")
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        argv = ["bash", "-c", _START % (to_read, to_write), "bash", program, *_FLAGS]
        self._process = hosts.popen(0, argv, pass_fds=(to_read, to_write), stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self._buffer = b""
        self._last = 0
        self._session: dict[str, str] = {}
        (page,) = (each for each in self._ask("Target.getTargets")["targetInfos"] if each["type"] == "page")
        self._session = {"sessionId": self._ask("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]}

    def _ask(self, method: str, **parameters: Any) -> Any:
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters, **self._session}
        os.write(self._to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE_S
        while True:
            while b"\0" not in self._buffer:
                ready, _, _ = select.select([self._from], [], [], max(0.0, deadline - time.monotonic()))
                part = os.read(self._from, 1 << 20) if ready else b""
                assert part, f"the browser does not answer {method}"
                self._buffer += part
            text, self._buffer = self._buffer.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("id") == self._last:
                assert "error" not in answer, (method, answer)
                return answer["result"]

    def open(self, address: str) -> None:
        self._ask("Page.navigate", url=address)

    def eval(self, expression: str) -> Any:
        """The value of a JavaScript expression, of JSON's types."""
        answer = self._ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def text(self, selector: str) -> str:
        """What stands there; empty if there is nothing."""
        return self.eval(f"(document.querySelector({json.dumps(selector)}) || {{textContent: ''}}).textContent")

    def texts(self, selector: str) -> list[str]:
        """The same of all, in order."""
        return self.eval(f"[...document.querySelectorAll({json.dumps(selector)})].map(each => each.textContent)")

    def until(self, expression: str) -> None:
        """Waits until the JavaScript expression is true."""
        look = f"let is = false; try {{ is = {expression} }} catch {{}} is ? done() : setTimeout(look, 20);"  # a page is not there at once
        code = f"new Promise(done => {{ const look = () => {{ {look} }}; look(); }})"
        answer = self._ask("Runtime.evaluate", expression=code, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer

    def screenshot(self, path: str) -> None:
        """For people."""
        Path(path).write_bytes(base64.b64decode(self._ask("Page.captureScreenshot")["data"]))

    def close(self) -> None:
        self._session = {}
        self._ask("Browser.close")
        self._process.wait(PATIENCE_S)
        os.close(self._to)
        os.close(self._from)
