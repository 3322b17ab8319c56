"""The first line of `edgekeeper run`: it tells where we are, and what cannot be found out keeps nobody from working."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from edgekeeper.cli.announcing import announce
from edgekeeper.cli.assembly import OperatorOptions, assembled
from edgekeeper.cli.kinds import MODULES
from edgekeeper.core.drift import Policy
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.cluster import ClusterConfig
from edgekeeper.lifecycle.module import CommonOptions
from edgekeeper.runtime.options import RuntimeOptions
from kubesim.aws.cloud import ACCOUNT
from kubesim.aws.faults import Fault, error, silence
from kubesim.transport import InProcessTransport
from kubesim.virtual import virtual_time
from tests.logs import capture_logs
from tests.tenants.scene import Scene, playing

CLUSTER = ClusterConfig("https://api.example.com", origin="context 'prod' of config")


async def started(
    scene: Scene, runtime: RuntimeOptions, policy: Policy = Policy.ENFORCE, lost: frozenset[str] = frozenset()
) -> JsonObject:
    """The line that was said at the start."""
    options = OperatorOptions(
        runtime, CommonOptions("blue", drift_policy=policy, lost_clusters=lost), signals=False
    )
    transport, clients = InProcessTransport(scene.stage.plane), scene.estate.clients()
    async with assembled(options, transport, clients, clock=scene.stage.clock, host="plane") as operator:
        with capture_logs() as lines:
            await announce(operator, CLUSTER)
    (line,) = (line for line in lines if line["event"] == "Starting edgekeeper")
    return line


@virtual_time
async def test_start_is_told_with_cluster_account_policy_and_kinds() -> None:
    async with playing(start=False) as scene:
        line = await started(scene, RuntimeOptions(dry_run=True, namespaces=("a", "b")), Policy.REPORT)
    wanted = {
        "log_level": "info",
        "server": "https://api.example.com",
        "cluster": "context 'prod' of config",
        "cluster_id": "blue",
        "account": ACCOUNT,
        "drift_policy": "report",
        "dry_run": True,
        "namespaces": ["a", "b"],
        "kinds": list(dict.fromkeys(module.kind.kind for module in MODULES)),
    }
    assert {name: line[name] for name in wanted} == wanted
    assert "account_error" not in line


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (error("AccessDenied", "no", status=403), "AWS GetCallerIdentity failed: AccessDenied: no"),
        (silence(), "AWS gave no answer within 5s"),
    ],
    ids=["denied", "silent"],
)
@virtual_time
async def test_account_that_is_not_told_is_unknown_and_delays_nothing(fault: Fault, reason: str) -> None:
    async with playing(start=False) as scene:
        scene.cloud.faults.add(fault, operation="GetCallerIdentity", times=None)
        began = asyncio.get_running_loop().time()
        line = await started(scene, RuntimeOptions())
        assert asyncio.get_running_loop().time() - began <= timedelta(seconds=6).total_seconds()
    assert line["account"] == "unknown"
    assert line["account_error"] == reason


@virtual_time
async def test_start_tells_which_clusters_are_lost() -> None:
    async with playing(start=False) as scene:
        assert "adopt_from_clusters" not in await started(scene, RuntimeOptions())
        line = await started(scene, RuntimeOptions(), lost=frozenset({"red", "green"}))
    assert line["adopt_from_clusters"] == ["green", "red"]
