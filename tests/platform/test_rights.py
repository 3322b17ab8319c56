"""The ClusterRoles of the examples grant what the definitions need, and nothing else."""

from __future__ import annotations

import yaml

from edgekeeper.cli.kinds import DEFINITIONS
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION
from kubesim.ack.definitions import KINDS as ACK_KINDS
from kubesim.plane.kinds.gateway import gateway_crds
from kubesim.plane.plane import PlaneConfig
from kubesim.plane.request import User
from kubesim.virtual import LoopClock, virtual_time
from tests.composition.definitions.scene import scenery
from tests.composition.definitions.test_rights import OWN_RULES, TOKEN, grant
from tests.platform.world import EXAMPLES, definitions

RIGHTS = EXAMPLES / "rights" / "cluster-roles.yaml"
OWN = [
    "resourcegraphdefinitions",
    "resourcegraphdefinitions/status",
    "graphrevisions",
    "graphrevisions/status",
]


@virtual_time
async def test_rights_of_the_examples_are_those_that_the_definitions_ask_for() -> None:
    clock = LoopClock()
    config = PlaneConfig(
        simulators=frozenset(),
        gateway_api=False,
        now=clock.now,
        auth=True,
        tokens={TOKEN: User("edgekeeper", ())},
    )
    async with scenery(config) as scene:
        kinds = [*(one.definition() for one in DEFINITIONS), *(one.definition() for one in ACK_KINDS)]
        installed = {one.group for one in DEFINITIONS if one.kind == "ResourceGraphDefinition"}
        for body in [*kinds, *gateway_crds()]:
            if body["spec"]["group"] not in {*installed, "internal.kro.run"}:
                await scene.user.create(CUSTOM_RESOURCE_DEFINITION, body)
        await grant(scene, "own", [{**OWN_RULES[0], "resources": OWN}, *OWN_RULES[1:]])
        async with scene.operating(TOKEN):
            asked: list[JsonObject] = []
            for body in definitions():
                await scene.create(body)
                name = body["metadata"]["name"]
                status, reason, message = await scene.condition("ControllerReady", name)
                assert (status, reason) == ("False", "KindNotPermitted")
                asked.append(yaml.safe_load(message.partition(":\n")[2]))
    assert list(yaml.safe_load_all(RIGHTS.read_text())) == asked
