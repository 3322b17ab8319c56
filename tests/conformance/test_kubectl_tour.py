"""kubectl cannot tell the embedded server from a real one: the same tour, step by step, on both.

Both servers start afresh for the tour. It runs when both are asked for (`--servers=embedded,real`).
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from tests.conformance.embedded import embedded_server
from tests.conformance.real import real_server
from tests.conformance.servers import UnavailableError, chosen_servers, give_up
from tests.conformance.tour import STEPS, Compare, Guide, Outcome, Step, comparable, fields


@dataclass(frozen=True)
class Outcomes:
    """What each step printed on each server, by position."""

    embedded: Mapping[int, Outcome]
    real: Mapping[int, Outcome]


@pytest.fixture(scope="session")
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """Take the tour on both servers at once."""
    if set(chosen_servers(request.config)) != {"embedded", "real"}:
        pytest.skip("the tour compares two servers: --servers=embedded,real")
    with ExitStack() as running:
        directories = [tmp_path_factory.mktemp(name) for name in ("tour-embedded", "tour-real")]
        try:
            real = running.enter_context(real_server(directories[1]))
        except UnavailableError as error:
            give_up(str(error))
        embedded = running.enter_context(embedded_server(directories[0]))
        assert real.kubectl is not None
        guides = [
            Guide(server, real.kubectl, directory)
            for server, directory in zip((embedded, real), directories, strict=True)
        ]
        with ThreadPoolExecutor() as pool:
            return Outcomes(*pool.map(Guide.take, guides))


@pytest.mark.parametrize(
    ("position", "step"),
    list(enumerate(STEPS)),
    ids=[f"{index:03}-{step.name[:60]}" for index, step in enumerate(STEPS)],
)
def test_kubectl_prints_the_same(outcomes: Outcomes, position: int, step: Step) -> None:
    embedded, real = outcomes.embedded[position], outcomes.real[position]
    assert (embedded.code, embedded.errors) == (real.code, real.errors)
    if step.compare is Compare.SUBSET:
        assert set(embedded.output) - set(real.output) == set()
    elif step.compare is Compare.FIELDS:
        assert fields(embedded) == fields(real) != ()
    else:
        assert embedded.output == real.output


def test_what_may_differ_is_replaced() -> None:
    line = "uid: 0d3c1f5e-8a52-4c0f-9f6e-0a1b2c3d4e5f   10.96.3.7  2m10s  2026-01-02T03:04:05Z"
    assert comparable(line) == ("uid: <uid> <address> <age> <time>",)
    assert comparable('resourceVersion: "123"\n') == ('resourceVersion: "<version>"',)
