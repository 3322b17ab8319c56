"""The list of kinds: what follows from it, and that what it names is there."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from edgekeeper.cli.kinds import DEFINITIONS, MODULES, module_of
from edgekeeper.cli.manifest import load_manifests
from edgekeeper.cli.proposal import propose
from edgekeeper.lifecycle.module import KindModule, kind_of

EXAMPLES = Path(__file__).parents[3] / "examples"
BY_NAME = pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)


@BY_NAME
def test_examples_of_a_kind_are_accepted_by_its_definition(module: KindModule) -> None:
    kind = kind_of(module.definition)
    manifests = [
        manifest
        for path in module.examples
        for manifest in load_manifests([EXAMPLES / path])
        if (manifest.api_version, manifest.kind) == (kind.api_version, kind.kind)
    ]
    assert manifests
    for manifest in manifests:
        body = {**manifest.body, "metadata": {"namespace": "default", **manifest.body["metadata"]}}
        assert propose(module, body, None, datetime.now(UTC))["metadata"]["generation"] == 1


@BY_NAME
def test_kind_is_found_by_every_name_that_kubectl_knows(module: KindModule) -> None:
    names = module.definition.definition()["spec"]["names"]
    for name in (names["kind"], names["plural"], names["singular"], *names.get("shortNames", ())):
        assert module_of(name) is module
    assert module_of("pods") is None


def test_names_of_kinds_are_their_own() -> None:
    assert len({module.name for module in MODULES}) == len(MODULES) == len(DEFINITIONS)
    flags = [flag.name for module in MODULES for flag in module.flags]
    assert len(set(flags)) == len(flags)
