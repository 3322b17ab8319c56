"""Fixtures: the servers under test, a client, and a namespace of one's own.

`--servers=embedded,real` chooses the servers; every test runs once against each. Tests share them, so each works in
a fresh namespace and under names that nobody else uses. A real server that cannot be had means a skip, or a failure
where `EDGEKEEPER_STRICT=1` promises it.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import NoReturn

import pytest

from tests.conformance.client import Client, connect
from tests.conformance.kinds import NAMESPACES, unique
from tests.conformance.real import real_server
from tests.conformance.servers import Server, UnavailableError

_SERVERS = ("embedded", "real")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--servers", default="embedded", help="which servers to test, separated by commas: embedded, real"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "server" not in metafunc.fixturenames:
        return
    metafunc.parametrize("server", chosen_servers(metafunc.config), indirect=True, scope="session")


def chosen_servers(config: pytest.Config) -> list[str]:
    """Return the servers that this run is about."""
    chosen = str(config.getoption("--servers", "embedded")).split(",")
    unknown = set(chosen) - set(_SERVERS)
    if unknown:
        raise pytest.UsageError(f"--servers knows {', '.join(_SERVERS)}, not {', '.join(unknown)}")
    return chosen


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with ExitStack() as running:
        directory = tmp_path_factory.mktemp(request.param)
        try:
            started = running.enter_context(_start(request.param, directory))
        except UnavailableError as error:
            give_up(str(error))
        yield started


def _start(name: str, directory: Path) -> AbstractContextManager[Server]:
    if name == "real":
        return real_server(directory)
    # Imported late: while the embedded server is broken, the real one still tells what is right.
    from tests.conformance.embedded import embedded_server  # noqa: PLC0415

    return embedded_server(directory)


def give_up(why: str) -> NoReturn:
    """Skip what cannot run here, unless this machine promised that it can."""
    if os.environ.get("EDGEKEEPER_STRICT") == "1":
        pytest.fail(why)
    pytest.skip(why)


@pytest.fixture
async def api(server: Server) -> AsyncIterator[Client]:
    """The administrator's client."""
    async with connect(server) as client:
        yield client


@pytest.fixture
async def namespace(api: Client) -> str:
    """The name of a namespace that only this test knows."""
    name = unique("test")
    (await api.create(NAMESPACES.path(), NAMESPACES.new(name))).expect(201)
    return name
