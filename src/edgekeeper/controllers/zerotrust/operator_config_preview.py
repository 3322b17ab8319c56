"""Preview of OperatorConfigs for `edgekeeper plan`: the fields of the operator's Deployment that would change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import msgspec

from edgekeeper.controllers.zerotrust.operator_config import (
    IGNORED,
    KIND,
    config_in_use,
    deployment_fields,
    key_of,
    operator_container,
    read_config,
)
from edgekeeper.controllers.zerotrust.operator_deployment import NOT_FOUND, deployment_finder
from edgekeeper.core.delta import Difference, Rule, Rules, compare
from edgekeeper.core.drift import Change
from edgekeeper.core.errors import PassError, Stall
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.steps import Effect, Step
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import NotFoundError
from edgekeeper.kube.kinds import DEPLOYMENT, Key
from edgekeeper.lifecycle.module import CommonOptions
from edgekeeper.lifecycle.preview import Preview, Verdict

_RULES: Final = Rules(
    {
        "": Rule(subset=True),
        "template.spec.containers": Rule(key="name", subset=True),
        "template.spec.containers[*].env": Rule(key="name", subset=True),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyConfiguration(Step):
    """Apply the configuration to the Deployment."""

    effect: ClassVar = Effect.CHANGE
    deployment: str
    differences: tuple[Difference, ...]

    def __str__(self) -> str:
        return f"apply to Deployment {self.deployment}"

    def changes(self) -> tuple[Difference, ...]:
        return self.differences


async def preview_configs(
    client: KubeClient, common: CommonOptions, objects: Iterable[JsonObject], keys: Sequence[Key]
) -> list[Preview]:
    """Preview the objects of `keys`. `objects` must be all of the cluster, because only one of a namespace counts."""
    configs = {key_of(obj): obj for obj in objects}
    return [await _preview(client, common, configs, key) for key in keys]


async def _preview(
    client: KubeClient, common: CommonOptions, configs: dict[Key, JsonObject], key: Key
) -> Preview:
    try:
        _confirm_in_use(common, configs, key)
        own = (await deployment_finder(client, common).find()).key
        spec = read_config(configs[key]).spec
        deployment = await _get(client, own)
        fields = deployment_fields(spec, operator_container(deployment))
    except PassError as error:
        return Preview.refused(KIND.kind, key, error)
    except msgspec.ValidationError as error:
        return Preview.refused(KIND.kind, key, Stall("ValidationFailed", str(error)))
    is_observed = dig(configs[key], "status", "observedGeneration") == dig(
        configs[key], "metadata", "generation"
    )
    differences = compare(fields.get("spec") or {}, deployment["spec"], _RULES)
    if is_observed or not differences:
        return Preview(KIND.kind, key, Verdict.SETTLED)
    step = ApplyConfiguration(
        reason="the configuration has changed", deployment=own.name, differences=differences
    )
    return Preview(KIND.kind, key, Verdict.CHANGES, change=Change.SPEC_CHANGE, steps=(step,))


async def _get(client: KubeClient, key: Key) -> JsonObject:
    try:
        return await client.get(DEPLOYMENT, key)
    except NotFoundError as error:
        raise Stall(NOT_FOUND, f"Deployment {key} does not exist") from error


def _confirm_in_use(common: CommonOptions, configs: dict[Key, JsonObject], key: Key) -> None:
    if key.namespace != common.namespace:
        raise Stall(IGNORED, f"only an OperatorConfig in the operator's namespace {common.namespace} counts")
    in_use = config_in_use(obj for other, obj in configs.items() if other.namespace == key.namespace)
    if in_use is not None and key_of(in_use) != key:
        raise Stall(
            IGNORED, f"{key_of(in_use).name} is older, and only one OperatorConfig of a namespace counts"
        )
