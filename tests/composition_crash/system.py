"""Definitions and instances as the harness sees them: both halves of composition in one process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

from edgekeeper.api.composition import GRAPH_REVISION, RESOURCE_GRAPH_DEFINITION
from edgekeeper.controllers.composition import definition_report, instance_status, labels, revision_reconciler
from edgekeeper.controllers.composition.definition_controller import DefinitionController, RevisionController
from edgekeeper.controllers.composition.definition_options import CompositionOptions, Mode
from edgekeeper.controllers.composition.definition_shared import Composition
from edgekeeper.controllers.composition.inventory import GROUP_KINDS
from edgekeeper.controllers.composition.revision_objects import DEFINITION_KIND
from edgekeeper.controllers.composition.revision_objects import KIND as REVISION
from edgekeeper.core.calls import Calls
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.kinds import CONFIG_MAP, SECRET
from edgekeeper.runtime.contract import Services
from edgekeeper.runtime.controller import Controller
from tests.composition_crash.definitions import INSTANCES, rendered
from tests.composition_crash.estate import BYSTANDERS, Estate
from tests.crash.stage import Stage, is_settled
from tests.crash.system import System

OPTIONS = CompositionOptions(mode=Mode.ON)
MASKED = frozenset({"lastTransitionTime", labels.DEFINITION_ID, labels.INSTANCE_ID, labels.APPLIED_HASH})
_IN_INVENTORIES = {"ConfigMap": "ConfigMap", "Secret": "Secret", "Shop": "Shop.kro.run"}
_KINDS = {kind.kind for kind in INSTANCES}


def controllers(
    services: Services, _: Estate, __: Calls, options: CompositionOptions = OPTIONS
) -> Sequence[Controller]:
    shared = Composition.of(services, options)
    return [DefinitionController(services, shared), RevisionController(services, shared)]


def deleting_controllers(services: Services, estate: Estate, calls: Calls) -> Sequence[Controller]:
    """Those of an installation that lets generated CustomResourceDefinitions go with their definitions."""
    return controllers(services, estate, calls, replace(OPTIONS, allow_crd_deletion=True))


async def prepare(stage: Stage[Estate]) -> None:
    for kind, name, marks in BYSTANDERS:
        metadata = {"name": name, "namespace": "default", "labels": marks}
        body = {"metadata": metadata, "data": {"text": "Zm9yZWlnbg=="}}
        await stage.user.create(CONFIG_MAP if kind == "ConfigMap" else SECRET, body)
    stage.outside.watch(stage.plane)


# What is true


def lies(obj: JsonObject, estate: Estate) -> str:
    """An instance that is Ready, in this generation, has the children that a revision renders, and no others."""
    if obj["kind"] not in _KINDS or not is_settled(obj):
        return ""
    found, possible = estate.children_of(obj), list(_renderings(obj, estate))
    if found in possible:
        return ""
    return f"is Ready with the children {found}, and no revision renders them: {possible}"


def _renderings(instance: JsonObject, estate: Estate) -> Iterator[JsonObject]:
    """What the revisions of the instance's definition render, the newest first."""
    revisions = sorted(estate.objects(REVISION), key=lambda one: -int(one["spec"]["revision"]))
    for revision in revisions:
        snapshot = revision["spec"]["snapshot"]
        if dig(snapshot, "spec", "schema", "kind") == instance["kind"]:
            yield rendered(instance, snapshot, estate.by_name())


def mismatches(stage: Stage[Estate]) -> Iterator[str]:
    """Instances that are not as the newest revision of their definition renders them."""
    for obj in stage.objects():
        if obj["kind"] in _KINDS:
            wanted, found = next(_renderings(obj, stage.outside), {}), stage.outside.children_of(obj)
            if wanted != found:
                yield f"{obj['kind']} {obj['metadata']['name']} has {found}, and should have {wanted}"
            if dig(obj, "status", "state") != "ACTIVE":
                yield f"{obj['kind']} {obj['metadata']['name']} is {dig(obj, 'status', 'state')}"
            kinds = labels.annotation_of(obj, GROUP_KINDS)
            if kinds != ",".join(sorted({_IN_INVENTORIES[name.partition(" ")[0]] for name in wanted})):
                yield f"{obj['kind']} {obj['metadata']['name']} has an inventory of {kinds}"


def wrongs(stage: Stage[Estate]) -> Iterator[str]:
    yield from mismatches(stage)
    for name, version in stage.outside.bystanders().items():
        if version != stage.outside.versions[name]:
            yield f"{name}, which is nobody's child, was changed"
    snapshots = [one["spec"]["snapshot"] for one in stage.outside.objects(REVISION)]
    for one, after in pairwise(snapshots):
        if (one["name"], one["spec"]) == (after["name"], after["spec"]):
            yield f"two revisions of {one['name']} say the same"


def has_settled(stage: Stage[Estate]) -> bool:
    return all(is_settled(obj) for obj in stage.objects()) and not any(mismatches(stage))


INSTANCES_KEPT: System[Estate] = System(
    definitions=(RESOURCE_GRAPH_DEFINITION.definition(), GRAPH_REVISION.definition()),
    declarations={
        DEFINITION_KIND: definition_report.DECLARATION,
        REVISION: revision_reconciler.DECLARATION,
        **dict.fromkeys(INSTANCES, instance_status.DECLARATION),
    },
    outside=Estate,
    controllers=controllers,
    lies=lies,
    canary="a secret that nobody holds",
    masked=MASKED,
    quiet=timedelta(minutes=15),
    wrongs=wrongs,
    is_settled=has_settled,
    prepare=prepare,
)
"""An installation that keeps generated CustomResourceDefinitions."""
INSTANCES_DELETED = replace(INSTANCES_KEPT, controllers=deleting_controllers)
"""One that lets them go."""
