"""The list of kinds: what follows from it, and that what it names is there."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from edgekeeper.api.definition import CustomKind
from edgekeeper.cli.kinds import (
    DEFINITIONS,
    MODULES,
    choose_role,
    chosen_modules,
    module_of,
    plannable,
    roles,
    uses,
)
from edgekeeper.cli.manifest import load_manifests
from edgekeeper.cli.proposal import propose
from edgekeeper.lifecycle.module import Cloud, FlagValues, KindModule, Process, Role, kind_of
from edgekeeper.runtime.controller import Controller

EXAMPLES = Path(__file__).parents[3] / "examples"
PLANNABLE = plannable(MODULES)
BY_NAME = pytest.mark.parametrize("module", PLANNABLE, ids=lambda module: module.name)


@BY_NAME
def test_examples_of_a_kind_are_accepted_by_its_definition(module: KindModule) -> None:
    kind = module.kind
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


@pytest.mark.parametrize("kind", DEFINITIONS, ids=lambda kind: kind.kind)
def test_every_definition_belongs_to_one_module(kind: CustomKind) -> None:
    assert [module.kind for module in MODULES if module.definition is kind] == [kind_of(kind)]


@BY_NAME
def test_kind_is_found_by_every_name_that_kubectl_knows(module: KindModule) -> None:
    assert module_of(module.kind.kind) is module_of(module.kind.plural) is module
    if module.definition is not None:
        names = module.definition.definition()["spec"]["names"]
        for name in (names["singular"], *names.get("shortNames", ())):
            assert module_of(name) is module
    assert module_of("pods") is None


def test_kind_without_previews_is_no_target() -> None:
    assert module_of("deployment") is module_of("configmap") is None


def test_module_that_says_nothing_about_its_kind_is_refused() -> None:
    class Nameless(KindModule):
        name = "nameless"

        def build(self, process: Process, values: FlagValues) -> Controller:
            raise AssertionError

    with pytest.raises(TypeError, match="the module nameless says neither"):
        Nameless().kind  # noqa: B018 - it is refused


def test_names_of_kinds_are_their_own() -> None:
    assert len({module.name for module in MODULES}) == len(MODULES)
    assert len({kind.name for kind in DEFINITIONS}) == len(DEFINITIONS)
    flags = [flag.name for module in MODULES for flag in module.flags]
    assert len(set(flags)) == len(flags)


@pytest.mark.parametrize("text", ["kube_worker", "kube-worker", "KUBE_WORKER", " Kube-Worker "])
def test_roles_are_read_in_both_spellings(text: str) -> None:
    assert choose_role(text) == Role.KUBE_WORKER


def test_roles_divide_the_kinds() -> None:
    by_role = {role: chosen_modules(None, role) for role in roles()}
    assert set(by_role) == set(Role)
    assert sorted(module.name for modules in by_role.values() for module in modules) == sorted(
        module.name for module in MODULES
    )
    assert not uses(Cloud.CLOUDFLARE, by_role["kube-worker"])
    assert not uses(Cloud.CLOUDFLARE, by_role["manager"])
    assert uses(Cloud.CLOUDFLARE, by_role["cloudflare-worker"])
    assert not uses(Cloud.AWS, by_role["cloudflare-worker"])
