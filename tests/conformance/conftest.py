"""Fixtures: the servers under test, a client, and a namespace of one's own.

`--servers=embedded,real` chooses the servers; every test runs once against each. Tests share them, so each works in
a fresh namespace and under names that nobody else uses. A real server that cannot be had means a skip, or a failure
where `EDGEKEEPER_STRICT=1` promises it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from tests.conformance.client import Client, connect
from tests.conformance.kinds import NAMESPACES, unique
from tests.conformance.real import real_server
from tests.conformance.servers import Server, UnavailableError, chosen_servers, give_up


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "server" not in metafunc.fixturenames:
        return
    metafunc.parametrize("server", chosen_servers(metafunc.config), indirect=True, scope="session")


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
