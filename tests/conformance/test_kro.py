"""The platform APIs under kro itself: its controller accepts the definitions of `examples/platform`, and makes the same of them.

kro runs against the server under test, with the kinds that the definitions use and nobody who reconciles those.
"""

from __future__ import annotations

import os
import socket
import subprocess
from base64 import b64decode
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from edgekeeper.cli.kinds import DEFINITIONS as OURS
from edgekeeper.cli.manifest import load_manifests
from edgekeeper.core.json import JsonObject, dig, dig_list
from kubesim.ack.definitions import KINDS as ACK_KINDS
from kubesim.plane.kinds.gateway import gateway_crds
from tests.conformance.client import Client, eventually
from tests.conformance.kinds import DEFINITIONS
from tests.conformance.real import write_kubeconfig
from tests.conformance.servers import Server, give_up
from tools import kro

EXAMPLES = Path(__file__).parents[2] / "examples" / "platform"
GRAPHS = "/apis/kro.run/v1alpha1/resourcegraphdefinitions"
INSTANCES = {
    "TubiLambdaService": "tubilambdaservices",
    "TubiService": "tubiservices",
    "TubiPostgres": "tubipostgres",
}
KRO_GROUPS = ("kro.run", "internal.kro.run")
DEADLINE_SECONDS = 120.0


@asynccontextmanager
async def defined(api: Client, *definitions: JsonObject) -> AsyncIterator[None]:
    """Install definitions that are not there yet, and take them away at the end."""
    made = []
    for body in definitions:
        name = body["metadata"]["name"]
        if (await api.get(DEFINITIONS.path(name=name))).status == 404:
            (await api.create(DEFINITIONS.path(), body)).expect(201)
            made.append(name)
    try:
        for name in made:
            await eventually(lambda name=name: _established(api, name), deadline=DEADLINE_SECONDS)  # type: ignore[misc]
        yield
    finally:
        for name in made:
            await api.delete(DEFINITIONS.path(name=name))


async def _established(api: Client, name: str) -> bool | None:
    found = dig_list((await api.get(DEFINITIONS.path(name=name))).body, "status", "conditions")
    return any(one["type"] == "Established" and one["status"] == "True" for one in found) or None


@contextmanager
def kro_running(server: Server, directory: Path) -> Iterator[Path]:
    """kro's controller at work. Its log is in the file that this gives."""
    programs = kro.find(os.environ)
    if programs is None:
        give_up("kro is not built: python3 -m tools.kro")
    log = directory / "kro.log"
    flags = [
        f"--{name}=127.0.0.1:{_free_port()}" for name in ("metrics-bind-address", "health-probe-bind-address")
    ]
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    environment["KUBECONFIG"] = str(write_kubeconfig(directory / "kro.json", server))
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(programs / kro.CONTROLLER), "--allow-crd-deletion", *flags],
            stdout=output,
            stderr=output,
            env=environment,
        )
        try:
            yield log
        finally:
            process.terminate()
            process.wait(30)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _end_of(log: Path) -> str:
    return log.read_text(errors="replace")[-3000:]


async def _until(api: Client, path: str, holds: Any, log: Path) -> JsonObject:
    """Wait for an object about which something holds."""

    async def looked() -> JsonObject | None:
        answer = await api.get(path)
        return answer.body if answer.status == 200 and holds(answer.body) else None

    try:
        return await eventually(looked, deadline=DEADLINE_SECONDS)
    except AssertionError:
        found = (await api.get(path)).text
        pytest.fail(f"{path}: {found}\n{_end_of(log)}")


async def test_definitions_of_the_platform_are_accepted_by_kro_itself(
    api: Client, server: Server, namespace: str, tmp_path: Path
) -> None:
    programs = kro.find(os.environ)
    if programs is None:
        give_up("kro is not built: python3 -m tools.kro")
    own = [one.body for one in load_manifests([programs / kro.CRDS])]
    ours = [one.definition() for one in OURS if one.group not in KRO_GROUPS]
    foreign = [*(one.definition() for one in ACK_KINDS), *gateway_crds()]
    async with defined(api, *own, *ours, *foreign):
        with kro_running(server, tmp_path) as log:
            await _play(api, namespace, log)


async def _play(api: Client, namespace: str, log: Path) -> None:
    graphs = load_manifests([EXAMPLES])
    for graph in graphs:
        (await api.create(GRAPHS, graph.body)).expect(201)
    for graph in graphs:
        await _until(api, f"{GRAPHS}/{graph.name}", lambda one: dig(one, "status", "state") == "Active", log)
    for one in load_manifests([EXAMPLES / "instances"]):
        plural = INSTANCES[one.kind]
        body = {**one.body, "metadata": {"name": one.name, "namespace": namespace}}
        (await api.create(f"/apis/kro.run/v1alpha1/namespaces/{namespace}/{plural}", body)).expect(201)
    await _judge(api, namespace, log)
    for graph in graphs:
        await api.delete(f"{GRAPHS}/{graph.name}")


async def _judge(api: Client, namespace: str, log: Path) -> None:
    """What kro has made of the instances: that which our own composition makes (tests/platform)."""
    core, acks = f"/api/v1/namespaces/{namespace}", "services.k8s.aws/v1alpha1"
    database = await _until(api, f"/apis/rds.{acks}/namespaces/{namespace}/dbinstances/ledger", bool, log)
    assert database["spec"]["manageMasterUserPassword"] is True
    assert "masterUserPassword" not in database["spec"], "what is left out is not there as null"
    function = await _until(api, f"/apis/lambda.{acks}/namespaces/{namespace}/functions/checkout", bool, log)
    assert function["spec"]["roleRef"] == {"from": {"name": "checkout"}}
    assert "role" not in function["spec"]
    assert function["spec"]["environment"]["variables"] == {
        "LOG_LEVEL": "info",
        "DYNAMODB_TABLE0_NAME": f"{namespace}-checkout-payments",
        "DYNAMODB_TABLE1_NAME": f"{namespace}-checkout-carts",
    }
    secret = await _until(api, f"{core}/secrets/handbook", bool, log)
    assert {name: b64decode(value) for name, value in (secret.get("data") or {}).items()} == {}
    deployment = await _until(api, f"/apis/apps/v1/namespaces/{namespace}/deployments/handbook", bool, log)
    managers = [one for one in deployment["metadata"]["managedFields"] if one["operation"] == "Apply"]
    assert managers
    assert not [one for one in managers if dig(one, "fieldsV1", "f:spec", "f:replicas") is not None]
