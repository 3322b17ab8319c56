"""R-30: nothing that the event loop runs waits for anything but the event loop.

The linter sees blocking calls within `async def`. Here plain functions are looked at as well, since coroutines call them:
no module of the runtime has at hand what sleeps, starts processes or talks to the network by itself, except the event
loop's own; and only those that are named here read files, which are small, local, and read when something starts or has changed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import edgekeeper

SOURCE = Path(edgekeeper.__file__).parent
MODULES = sorted(path for layer in ("core", "kube", "runtime") for path in (SOURCE / layer).rglob("*.py"))

BLOCKING = frozenset(
    {
        "ftplib",
        "http.client",
        "os.popen",
        "os.system",
        "queue",
        "requests",
        "select",
        "smtplib",
        "socket.create_connection",
        "socket.getaddrinfo",
        "socket.gethostbyname",
        "sqlite3",
        "subprocess",
        "time.sleep",
        "urllib.request",
        "urllib3",
    }
)
READING = frozenset({"open", "read_bytes", "read_text", "write_bytes", "write_text"})
READERS = frozenset(
    {
        "kube/credentials.py",
        "kube/incluster.py",
        "kube/kubeconfig.py",
        "kube/kubeconfig_file.py",
        "runtime/certificates.py",
    }
)


def blocking(tree: ast.Module) -> Iterator[str]:
    """Everything that a module imports or names by its full name, and that blocks."""
    for name in _named(tree):
        if any(name == one or name.startswith(f"{one}.") for one in BLOCKING):
            yield name


def reading(tree: ast.Module) -> Iterator[str]:
    """Functions that a module calls to read or write files. Whatever is awaited is none of them."""
    awaited = {node.value for node in ast.walk(tree) if isinstance(node, ast.Await)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or node in awaited:
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in READING:
            yield name


def _named(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield from (f"{module}.{alias.name}" for alias in names)
            case ast.Attribute(value=ast.Name(id=owner), attr=attribute) if owner != "requests":
                yield f"{owner}.{attribute}"  # `requests` is ours, where it was not imported from elsewhere


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_module_has_nothing_at_hand_that_blocks(path: Path) -> None:
    tree, name = ast.parse(path.read_bytes()), path.relative_to(SOURCE).as_posix()
    assert list(blocking(tree)) == []
    if name not in READERS:
        assert list(reading(tree)) == []


@pytest.mark.parametrize(
    "source",
    [
        "import time\ntime.sleep(1)",
        "from time import sleep",
        "import requests",
        "import urllib.request",
        "from subprocess import run",
        "import socket\nsocket.create_connection(('a', 1))",
    ],
)
def test_blocking_is_seen(source: str) -> None:
    assert list(blocking(ast.parse(source)))


@pytest.mark.parametrize("source", ["open('a')", "Path('a').read_text()", "with open('a') as file: pass"])
def test_reading_is_seen(source: str) -> None:
    assert list(reading(ast.parse(source)))


def test_what_only_looks_like_it_is_not_seen() -> None:
    source = "import socket, time\nsocket.gethostname()\ntime.monotonic()\nfrom ours.kube import requests\nrequests.get()"
    assert list(blocking(ast.parse(source))) == []
    assert list(reading(ast.parse("async def read():\n    await stream.open()"))) == []
