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
from tests.conformance.real import CONTROLLERS, real_server
from tests.conformance.servers import Server, UnavailableError, chosen_servers, give_up
from tests.docs.person import checkout

POLICY = (
    "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata, omitStages: [RequestReceived]}]\n"
)
MODES = ("all-in-one", "split")
"""Of the chart."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    servers = chosen_servers(metafunc.config)
    if "server" in metafunc.fixturenames:
        metafunc.parametrize("server", servers, indirect=True, scope="session")
    if {"cluster", "mode"} <= set(metafunc.fixturenames):
        *others, last = servers  # the real one, where it is chosen: it has both modes, a minute each
        cases = [*((server, MODES[0]) for server in others), *((last, mode) for mode in MODES)]
        metafunc.parametrize(("cluster", "mode"), cases, indirect=["cluster"], scope="function")
    elif "cluster" in metafunc.fixturenames:
        metafunc.parametrize("cluster", servers, indirect=True, scope="function")


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


@pytest.fixture
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    """A cluster of one's own: the chart has objects of the whole cluster. The real one writes an audit log."""
    with ExitStack() as running:
        try:
            started = running.enter_context(_start_alone(request.param, tmp_path))
        except UnavailableError as error:
            give_up(str(error))
        yield started


def _start_alone(name: str, directory: Path) -> AbstractContextManager[Server]:
    if name != "real":
        return _start(name, directory)
    audit = directory / "audit-policy.yaml"
    audit.write_text(POLICY)
    return real_server(
        directory,
        (*CONTROLLERS, "clusterrole-aggregation-controller"),
        audit_policy_file=str(audit),
        audit_log_path=str(directory / "audit.log"),
        audit_log_mode="blocking",
    )


@pytest.fixture
async def admin(cluster: Server) -> AsyncIterator[Client]:
    """The administrator's client of a cluster of one's own."""
    async with connect(cluster) as client:
        yield client


@pytest.fixture
def page_server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    """The embedded server has no ValidatingAdmissionPolicies, which the chart has."""
    if "real" not in chosen_servers(request.config):
        pytest.skip("the chart is installed on a real API server: --servers=real")
    controllers = (*CONTROLLERS, "clusterrole-aggregation-controller")
    directory = tmp_path / "server"
    directory.mkdir()
    try:
        with real_server(directory, controllers, enable_aggregator_routing="true") as server:
            yield server
    except UnavailableError as error:
        give_up(str(error))


@pytest.fixture
async def owner(page_server: Server) -> AsyncIterator[Client]:
    """The administrator of a real cluster without an operator, who follows a page."""
    async with connect(page_server) as client:
        yield client


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with what pages use of a checkout."""
    found = tmp_path / "checkout"
    found.mkdir()
    checkout(found)
    return found
