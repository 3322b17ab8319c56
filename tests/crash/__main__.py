"""Play one plan again, call by call: `python -m tests.crash KIND SCENARIO NUMBER MODE [NUMBER MODE]`.

The kind is `gizmos`, `tenants`, `bridge`, `bridge-ack`, `routes`, `routes-kube`, `routes-cloudflare` or `instances`. Without a plan,
it is the clean run.
"""

from __future__ import annotations

import sys
from typing import Any

from tests.bridge.world import DIRECT, THROUGH_ACK
from tests.composition_crash.system import INSTANCES_DELETED, INSTANCES_KEPT
from tests.crash import (
    bridge_scenarios,
    gizmo_scenarios,
    instance_scenarios,
    route_scenarios,
    tenant_scenarios,
)
from tests.crash.faults import Mode, Plan
from tests.crash.oracles import differences
from tests.crash.runner import run
from tests.crash.system import Scenarios, System
from tests.tenants.system import TENANTS
from tests.toy.system import GIZMOS
from tests.zerotrust_crash.system import CLOUDFLARE_WORKER, KUBE_WORKER, ROUTES

KINDS: dict[str, list[tuple[System[Any], Scenarios[Any]]]] = {
    "gizmos": [(GIZMOS, gizmo_scenarios.scenarios)],
    "tenants": [
        (tenant_scenarios.INHABITED, tenant_scenarios.scenarios),
        (TENANTS, tenant_scenarios.first_steps),
    ],
    "bridge": [
        (DIRECT, bridge_scenarios.permissions),
        (DIRECT, bridge_scenarios.domains),
        (DIRECT, bridge_scenarios.direct_domains),
    ],
    "bridge-ack": [(THROUGH_ACK, bridge_scenarios.domains)],
    "routes": [(ROUTES, route_scenarios.scenarios)],
    "routes-kube": [(KUBE_WORKER, route_scenarios.scenarios)],
    "routes-cloudflare": [(CLOUDFLARE_WORKER, route_scenarios.scenarios)],
    "instances": [
        (INSTANCES_KEPT, instance_scenarios.scenarios),
        (INSTANCES_DELETED, instance_scenarios.departures),
    ],
}


def main(kind: str, name: str, *faults: str) -> None:
    system, scenario = next((system, one.known[name]) for system, one in KINDS[kind] if name in one.known)
    record = clean = run(system, scenario)
    if faults:
        number, mode, *second = faults
        then = Plan(int(second[0]), Mode(second[1])) if second else None
        record = run(system, scenario, Plan(int(number), Mode(mode), then))
    lines = [f"life {call.life} {call}" for call in record.calls]
    wrongs = [*record.faults, *differences(record, clean, scenario)]
    sys.stdout.write("\n".join([*lines, *(wrongs or ["all is well"])]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
