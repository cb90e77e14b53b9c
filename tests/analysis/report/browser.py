"""Headless Chromium over its debugging pipe: no web socket, no port, and nothing left running."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 60.0
FLAGS = (
    "--headless=new",
    "--no-sandbox",  # tests run as root in containers; the page is our own
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--force-device-scale-factor=1",
    "--remote-debugging-pipe",
)


def find_browser() -> str | None:
    """Return the path of a Chromium, if there is one."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


IN_A_BROWSER = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_browser() is None, reason="no Chromium on the path: install chromium to open reports in it"
    ),
]
"""Marks of tests that open pages."""


class Visit(msgspec.Struct, frozen=True, kw_only=True):
    """What a page did while it was open."""

    console: list[str]
    requests: list[str]


class Browser:
    """A Chromium with one page, to be used as a context."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._number = 0
        self._buffer = b""
        self._events: list[dict[str, Any]] = []
        self._session = ""

    def __enter__(self) -> Self:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        command_end, self._write = os.pipe()
        self._read, answer_end = os.pipe()
        words = [self._program, *FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"]
        # Chromium reads commands from descriptor 3 and answers on 4.
        script = f'exec "$@" 3<&{command_end} 4>&{answer_end}'
        self._process = subprocess.Popen(
            ["bash", "-c", script, "bash", *words],
            pass_fds=(command_end, answer_end),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(command_end)
        os.close(answer_end)
        try:
            targets = self.call("Target.getTargets", session=False)["targetInfos"]
            page = next(target["targetId"] for target in targets if target["type"] == "page")
            attached = self.call("Target.attachToTarget", session=False, targetId=page, flatten=True)
            self._session = attached["sessionId"]
            for domain in ("Page", "Network", "Runtime", "Log"):
                self.call(f"{domain}.enable")
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.call("Browser.close", session=False)
            self._process.wait(10)
        except (OSError, TimeoutError, subprocess.TimeoutExpired):
            pass
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)  # its own session: the children that are left
            self._process.wait()
            os.close(self._write)
            os.close(self._read)
            self._profile.cleanup()

    @property
    def group(self) -> int:
        """The process group that all of its processes are in."""
        return self._process.pid

    def call(self, method: str, *, session: bool = True, **parameters: Any) -> dict[str, Any]:  # noqa: ANN401
        """Send a command and return its answer; events that come meanwhile are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self._next(deadline)
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result
            self._events.append(answer)

    def _next(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            data = os.read(self._read, 1 << 20) if ready else b""
            if not data:
                raise TimeoutError("the browser does not answer")
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def open(self, path: Path, settle: float = 0.3, fragment: str = "") -> Visit:
        """Open a file and return what it said on the console, and what it asked for beside itself."""
        if fragment:  # or a page that is open already would only be looked at elsewhere
            self._load("about:blank")
        address = path.resolve().as_uri()
        self._load(f"{address}{fragment}")
        time.sleep(settle)
        self.call("Runtime.evaluate", expression="1")  # whatever was on its way is here now
        return Visit(console=list(self._console()), requests=[url for url in self._asked() if url != address])

    def _load(self, address: str) -> None:
        self._events.clear()
        self.call("Page.navigate", url=address)
        deadline = time.monotonic() + PATIENCE
        while not any(event.get("method") == "Page.loadEventFired" for event in self._events):
            self._events.append(self._next(deadline))

    def _console(self) -> Iterator[str]:
        for event in self._events:
            parameters = event.get("params", {})
            match event.get("method"):
                case "Runtime.consoleAPICalled":
                    yield " ".join(str(argument.get("value")) for argument in parameters["args"])
                case "Runtime.exceptionThrown":
                    yield str(parameters["exceptionDetails"]["text"])
                case "Log.entryAdded":
                    yield str(parameters["entry"]["text"])

    def _asked(self) -> Iterator[str]:
        for event in self._events:
            if event.get("method") == "Network.requestWillBeSent":
                yield str(event["params"]["request"]["url"])

    def evaluate(self, expression: str) -> Any:  # noqa: ANN401 - whatever the page answers
        """Return the value of an expression on the page."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)[
            "result"
        ].get("value")

    def look(self, width: int, height: int, theme: str = "light", media: str = "screen") -> None:
        """Set size, theme and medium of the page."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        features = [{"name": "prefers-color-scheme", "value": theme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def press(self, key: str, code: int = 0) -> None:
        """Press and release a key; what a browser does by itself goes by `code`, that of Windows."""
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def run_scripts(self, *, allowed: bool) -> None:
        """Allow or forbid the scripts of pages that are opened from now on."""
        self.call("Emulation.setScriptExecutionDisabled", value=not allowed)

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Write what is seen, or the whole page, as PNG."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def print_pdf(self, path: Path, theme: str = "light") -> None:
        """Print the page on A4, whatever medium was looked at before."""
        features = [{"name": "prefers-color-scheme", "value": theme}]
        self.call("Emulation.setEmulatedMedia", media="", features=features)
        data = self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=False)["data"]
        path.write_bytes(base64.b64decode(data))


@contextlib.contextmanager
def browsing() -> Iterator[Browser]:
    """Open a browser, which must be installed."""
    program = find_browser()
    assert program is not None
    with Browser(program) as browser:
        yield browser
