"""`edgekeeper up` with the examples, as a process of its own, and a headless Chromium that looks at it.

Without Chromium the tests are skipped, or fail under EDGEKEEPER_STRICT=1. `EDGEKEEPER_SCREENSHOTS` names a directory that
pictures for the documentation are written to.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import botocore.session
import pytest

from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.config import load_config
from edgekeeper.kube.http import HttpTransport
from edgekeeper.kube.kinds import HTTP_ROUTE, SECRET, Key
from tests.unit.web.fleet import TENANT
from tests.web.browser import Page, chromium, find_chromium, open_page

ROOT = Path(__file__).parents[2]
EXAMPLES = ("quickstart", "zero-trust", "platform", "platform/instances/service.yaml")
PATIENCE = 120.0


@dataclass(frozen=True)
class Up:
    """A running `edgekeeper up`: its addresses, and what people do with it."""

    link: str
    aws: str
    cloudflare: str
    kubeconfig: Path

    @asynccontextmanager
    async def client(self) -> AsyncIterator[KubeClient]:
        client = KubeClient(HttpTransport(load_config(self.kubeconfig, None)), Calls(), SystemClock())
        try:
            yield client
        finally:
            await client.close()

    async def apply(self, name: str, spec: JsonObject, **annotations: str) -> None:
        """A DistributionTenant in the namespace `edge`."""
        fields = {"metadata": {"annotations": annotations}, "spec": spec}
        async with self.client() as client:
            await client.apply(TENANT, Key("edge", name), fields, manager="kubectl", force=True)

    async def annotate_route(self, name: str, **annotations: str | None) -> None:
        """Annotate an HTTPRoute in the namespace `apps`."""
        async with self.client() as client:
            patch = {"metadata": {"annotations": annotations}}
            await client.merge_patch(HTTP_ROUTE, Key("apps", name), patch)

    async def edit_at_cloudflare(self, hostname: str, **fields: Any) -> None:
        """What somebody does with a DNS record in the dashboard of Cloudflare."""
        async with self.client() as client:
            secret = await client.get(SECRET, Key("apps", "cloudflare-api-token"))
        token = b64decode(next(iter(secret["data"].values()))).decode()
        headers = {"Authorization": f"Bearer {token}"}
        async with aiohttp.ClientSession(headers=headers) as session:
            for zone in await _result(session.get(f"{self.cloudflare}/zones")):
                records = f"{self.cloudflare}/zones/{zone['id']}/dns_records"
                for record in await _result(session.get(records, params={"name": hostname})):
                    await _result(session.patch(f"{records}/{record['id']}", json=fields))

    async def edit_in_aws(self, name: str, *, enabled: bool) -> None:
        """What somebody does in the console of AWS."""
        await asyncio.to_thread(self._edit, name, enabled)

    def _edit(self, name: str, enabled: bool) -> None:
        session = botocore.session.get_session()
        session.set_credentials("111122223333", "simulated")
        client: Any = session.create_client("cloudfront", endpoint_url=self.aws, region_name="us-east-1")
        found = client.get_distribution_tenant(Identifier=name)
        client.update_distribution_tenant(
            Id=found["DistributionTenant"]["Id"], IfMatch=found["ETag"], Enabled=enabled
        )


async def _result(request: AbstractAsyncContextManager[aiohttp.ClientResponse]) -> Any:
    async with request as response:
        answer = await response.json()
    assert response.status == 200, answer
    return answer["result"]


@pytest.fixture(scope="session")
def devtools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    if find_chromium() is None:
        if os.environ.get("EDGEKEEPER_STRICT") == "1":
            pytest.fail("there is no Chromium: apt-get install chromium")
        pytest.skip("there is no Chromium: apt-get install chromium")
    with chromium(tmp_path_factory.mktemp("chromium")) as port:
        yield port


@pytest.fixture(scope="session")
def up(devtools: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    directory = tmp_path_factory.mktemp("up")
    endpoints, output = directory / "endpoints.json", directory / "output"
    manifests = [part for path in EXAMPLES for part in ("--apply", str(ROOT / "examples" / path))]
    command = [
        sys.executable,
        "-m",
        "edgekeeper.cli",
        "up",
        "--endpoints",
        str(endpoints),
        "--deploy-time",
        "1s",
    ]
    command += ["--kubeconfig", str(directory / "kubeconfig"), *manifests]
    with output.open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=ROOT)
    try:
        _await(process, output)
        found = json.loads(endpoints.read_text())
        yield Up(found["page"], found["aws"], found["cloudflare"], Path(found["kubeconfig"]))
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _await(process: subprocess.Popen[bytes], output: Path) -> None:
    until = time.monotonic() + PATIENCE
    while "Ctrl-C stops" not in output.read_text():
        assert process.poll() is None, output.read_text()
        assert time.monotonic() < until, output.read_text()
        time.sleep(0.2)


@pytest.fixture
async def page(devtools: int, up: Up) -> AsyncIterator[Page]:
    """A tab in which the link was opened. Nothing may go wrong in it."""
    async with open_page(devtools) as page:
        await page.prefer("light")
        await page.go(up.link)
        await page.wait("document.querySelector('main').getAttribute('aria-busy') === 'false'")
        await page.wait("document.getElementById('live').dataset.live === 'live'")
        yield page
        assert page.problems == []


@pytest.fixture
def pictures() -> Path | None:
    """Where pictures for the documentation go; None if nobody asked for them."""
    directory = os.environ.get("EDGEKEEPER_SCREENSHOTS")
    return Path(directory) if directory else None
