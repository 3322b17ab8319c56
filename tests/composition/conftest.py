"""Where the tests with `@each_server` run: on the servers of `--servers`, which are those of tests/conformance."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.composition.cluster import EmbeddedPlace, Place
from tests.composition.real_cluster import RealPlace
from tests.conformance.real import real_server
from tests.conformance.servers import UnavailableError, chosen_servers, give_up

_HERE = Path(__file__).parent


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "place" in metafunc.fixturenames:
        metafunc.parametrize("place", chosen_servers(metafunc.config), indirect=True, scope="session")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without the embedded server, leave out what runs on that alone."""
    if "embedded" in chosen_servers(config):
        return
    here = [item for item in items if item.path.is_relative_to(_HERE) and isinstance(item, pytest.Function)]
    left_out = {item for item in here if "place" not in item.fixturenames}
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=list(left_out))


@pytest.fixture(scope="session")
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    if request.param == "embedded":
        yield EmbeddedPlace()
        return
    with ExitStack() as running:
        try:
            server = running.enter_context(real_server(tmp_path_factory.mktemp("real")))
        except UnavailableError as error:
            give_up(str(error))
        yield RealPlace(server)
