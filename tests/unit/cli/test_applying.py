"""Applying manifests: the order, the paths, readiness, and refusals that name the file."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path

import pytest

from edgekeeper.cli.applying import Applier, Tracked
from edgekeeper.cli.failure import CommandError
from edgekeeper.cli.manifest import Manifest
from edgekeeper.core.json import JsonObject

SITE_CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/sites.example.io"


def make_manifest(api_version: str, kind: str, name: str, **metadata: str) -> Manifest:
    body = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **metadata}}
    return Manifest(body, Path("site.yaml"))


class FakeServer:
    """Remembers what was applied; a definition is established, and its kind known, at the second look."""

    def __init__(self) -> None:
        self.objects: dict[str, JsonObject] = {}
        self.applied: list[str] = []

    async def apply(self, path: str, body: JsonObject, manager: str) -> JsonObject:
        assert manager == "edgekeeper-up"
        self.applied.append(path)
        self.objects[path] = copy.deepcopy(body)
        return self.objects[path]

    async def get(self, path: str) -> JsonObject:
        if path in self.objects:
            self.objects[path]["status"] = {
                "phase": "Active",
                "conditions": [{"type": "Established", "status": "True", "reason": "Done"}],
            }
            return self.objects[path]
        return {"resources": self._discover(path)}

    def _discover(self, path: str) -> list[JsonObject]:
        match path:
            case "/api/v1":
                return [
                    {"name": "namespaces/status", "kind": "Namespace", "namespaced": False},
                    {"name": "namespaces", "kind": "Namespace", "namespaced": False},
                    {"name": "configmaps", "kind": "ConfigMap", "namespaced": True},
                ]
            case "/apis/apiextensions.k8s.io/v1":
                return [
                    {
                        "name": "customresourcedefinitions",
                        "kind": "CustomResourceDefinition",
                        "namespaced": False,
                    }
                ]
            case "/apis/example.io/v1" if "status" in self.objects.get(SITE_CRD, {}):
                return [{"name": "sites", "kind": "Site", "namespaced": True}]
        raise CommandError("the server could not find the requested resource")


async def test_foundations_are_ready_before_the_rest_is_applied() -> None:
    server, seen = FakeServer(), list[list[str]]()

    def observe(tracked: Sequence[Tracked]) -> None:
        seen.append([str(item) for item in tracked])

    manifests = [
        make_manifest("example.io/v1", "Site", "home", namespace="web"),
        make_manifest("v1", "ConfigMap", "loose"),
        make_manifest("apiextensions.k8s.io/v1", "CustomResourceDefinition", "sites.example.io"),
        make_manifest("v1", "Namespace", "web"),
    ]
    applier = Applier(server, manifests, observe)
    await applier.run()
    assert server.applied == [
        SITE_CRD,
        "/api/v1/namespaces/web",
        "/apis/example.io/v1/namespaces/web/sites/home",
        "/api/v1/namespaces/default/configmaps/loose",
    ]
    assert all(item.readiness.ready for item in applier.tracked)
    assert seen[0][2] == "CustomResourceDefinition sites.example.io (Pending)"
    assert seen[-1][0] == "Site web/home (Created)"


@pytest.mark.parametrize("api_version", ["example.io/v1", "v1"], ids=["unknown group", "unknown kind"])
async def test_unknown_kind_asks_for_its_definition(api_version: str) -> None:
    applier = Applier(FakeServer(), [make_manifest(api_version, "Site", "home")], lambda _: None)
    with pytest.raises(CommandError, match=f'no kind "Site" in {api_version}; apply its Custom.*site.yaml'):
        await applier.run()


async def test_refusal_keeps_the_servers_words_and_names_the_file() -> None:
    class Refusing(FakeServer):
        async def apply(self, path: str, body: JsonObject, manager: str) -> JsonObject:
            raise CommandError('ConfigMap "x" is invalid')

    applier = Applier(Refusing(), [make_manifest("v1", "ConfigMap", "x")], lambda _: None)
    with pytest.raises(CommandError) as caught:
        await applier.run()
    assert str(caught.value) == 'cannot apply ConfigMap x: ConfigMap "x" is invalid; see site.yaml'


def test_label_prefers_the_namespace_the_server_chose() -> None:
    item = Tracked(make_manifest("v1", "ConfigMap", "x"))
    assert item.label == "x"
    item.body = {"metadata": {"name": "x", "namespace": "default"}}
    assert item.label == "default/x"
