"""A pytest plugin: a Kubernetes API server for each test that asks for one.

pytest loads this module wherever kubesim is installed, so it imports nothing else until a test asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kubesim.serving import ApiServer


@pytest.fixture
def kube_api_server() -> Iterator[ApiServer]:
    """A Kubernetes API server with nothing in it, for one test: `url`, `kubeconfig`, `call(method, path, body)`."""
    from kubesim.serving import api_server  # noqa: PLC0415 - see above

    with api_server() as server:
        yield server
