"""A headless Chromium, driven by the DevTools protocol.

    with chromium(directory) as port:
        async with open_page(port) as page:
            await page.go("http://…")
            await page.wait("document.title === 'edgekeeper'")

Debian's package `chromium` has it. `find_chromium` says whether there is one.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import os
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp

PATIENCE = 20.0
NAMES = ("chromium", "chromium-browser", "google-chrome")
_KEYS = {"Enter": ("Enter", 13, "\r"), "Escape": ("Escape", 27, ""), "Tab": ("Tab", 9, "")}


def find_chromium() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def chromium(directory: Path) -> Iterator[int]:
    """Run a browser with an empty profile below `directory`. Yield the port of its DevTools."""
    program = find_chromium()
    assert program is not None
    profile = directory / "profile"
    (profile / "DevToolsActivePort").unlink(missing_ok=True)  # of a browser that was here before
    arguments = [
        *(program, "--headless=new", "--remote-debugging-port=0", f"--user-data-dir={profile}"),
        *("--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"),
        *("--disable-extensions", "--disable-background-networking", "--force-color-profile=srgb"),
        *(["--no-sandbox"] if os.geteuid() == 0 else []),
        "about:blank",
    ]
    with (directory / "chromium.log").open("wb") as log:
        browser = subprocess.Popen(arguments, stdout=log, stderr=log)
    try:
        yield _port_of(browser, profile / "DevToolsActivePort")
    finally:
        browser.terminate()
        browser.wait(PATIENCE)


def _port_of(browser: subprocess.Popen[bytes], file: Path) -> int:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if browser.poll() is not None:
            raise AssertionError(f"Chromium has ended with {browser.returncode}: see chromium.log")
        if file.exists() and (lines := file.read_text().splitlines()):
            return int(lines[0])
        time.sleep(0.05)
    raise AssertionError("Chromium does not listen")


class Page:
    """A tab of the browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.problems: list[str] = []
        """Errors that the page has logged, exceptions and violations of its policy among them."""

    async def receive(self) -> None:
        async for message in self._socket:
            event = message.json()
            if "id" in event:
                self._answers.pop(event["id"]).set_result(event)
            elif event["method"] == "Runtime.exceptionThrown":
                self.problems.append(str(event["params"]["exceptionDetails"].get("exception", event)))
            elif event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
                self.problems.append(event["params"]["entry"]["text"])

    async def command(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        async with asyncio.timeout(PATIENCE):
            event = await answer
        assert "error" not in event, event
        found: dict[str, Any] = event["result"]
        return found

    async def go(self, address: str) -> None:
        await self.command("Page.navigate", url=address)
        await self.wait("document.readyState === 'complete'")

    async def value(self, expression: str) -> Any:
        """The value of an expression, which may be a promise."""
        answer = await self.command(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    async def wait(self, expression: str, seconds: float = PATIENCE) -> None:
        """Wait until an expression is true."""
        until = time.monotonic() + seconds
        while True:
            found = await self.value(
                f"(() => {{ try {{ return Boolean({expression}); }} catch {{ return null; }} }})()"
            )
            if found:
                return
            if time.monotonic() > until:
                text = await self.value("document.body.innerText")
                raise AssertionError(f"never true: {expression}\n{text[:2000]}")
            await asyncio.sleep(0.05)

    async def click(self, selector: str) -> None:
        """Click the first element of a selector, as soon as there is one: lists are rendered again whenever they change."""
        found = f"document.querySelector({json.dumps(selector)})"
        await self.wait(f"{found} && (() => {{ {found}.click(); return true; }})()")

    async def press(self, key: str) -> None:
        name, code, text = _KEYS.get(key, (key, ord(key[0].upper()), key))
        common = {"key": name, "windowsVirtualKeyCode": code}
        await self.command("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        await self.command("Input.dispatchKeyEvent", type="keyUp", **common)

    async def type(self, text: str) -> None:
        await self.command("Input.insertText", text=text)

    async def resize(self, width: int, height: int) -> None:
        await self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    async def prefer(self, scheme: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        await self.command("Emulation.setEmulatedMedia", features=features)

    async def shoot(self) -> bytes:
        """What is visible, as PNG."""
        answer = await self.command("Page.captureScreenshot", format="png", optimizeForSpeed=False)
        return base64.b64decode(answer["data"])


@asynccontextmanager
async def open_page(port: int) -> AsyncIterator[Page]:
    """A new tab with a profile of its own: no cookies of other tabs."""
    async with aiohttp.ClientSession() as session:
        async with session.get(f"http://127.0.0.1:{port}/json/version") as answer:
            browser = (await answer.json())["webSocketDebuggerUrl"]
        async with _connected(session, browser) as control:
            context = (await control.command("Target.createBrowserContext"))["browserContextId"]
            target = await control.command("Target.createTarget", url="about:blank", browserContextId=context)
            address = f"ws://127.0.0.1:{port}/devtools/page/{target['targetId']}"
            async with _connected(session, address) as page:
                for domain in ("Page", "Runtime", "Log"):
                    await page.command(f"{domain}.enable")
                await page.resize(1280, 860)
                yield page
            await control.command("Target.disposeBrowserContext", browserContextId=context)


@asynccontextmanager
async def _connected(session: aiohttp.ClientSession, address: str) -> AsyncIterator[Page]:
    async with session.ws_connect(address, max_msg_size=0) as socket:
        page = Page(socket)
        receiving = asyncio.create_task(page.receive())
        try:
            yield page
        finally:
            receiving.cancel()
            await asyncio.gather(receiving, return_exceptions=True)
