"""`edgekeeper diff`: what would change, between files and against a cluster; exit codes; what is not known is not claimed."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from edgekeeper.cli.diff import Side, compare_with_cluster
from edgekeeper.cli.failure import ExitCode
from edgekeeper.cli.main import run
from edgekeeper.controllers.composition.inventory import GROUP_KINDS
from edgekeeper.controllers.composition.labels import NODE_ID, PART_OF
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.kinds import CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, DEPLOYMENT, SECRET, Kind
from edgekeeper.kube.transport import ApiRequest, ApiResponse
from kubesim.plane import Plane, PlaneConfig
from kubesim.transport import InProcessTransport

WEB_APP = Kind("kro.run", "v1alpha1", "WebApp", "webapps")
DEFINITION: JsonObject = {
    "apiVersion": "kro.run/v1alpha1",
    "kind": "ResourceGraphDefinition",
    "metadata": {"name": "web-apps"},
    "spec": {
        "schema": {
            "apiVersion": "v1alpha1",
            "kind": "WebApp",
            "spec": {"image": "string | default=nginx", "replicas": "integer | default=2"},
        },
        "resources": [
            {
                "id": "web",
                "template": {
                    "apiVersion": "apps/v1",
                    "kind": "Deployment",
                    "metadata": {"name": "${schema.metadata.name}"},
                    "spec": {
                        "replicas": "${schema.spec.replicas}",
                        "selector": {"matchLabels": {"app": "web"}},
                        "template": {
                            "metadata": {"labels": {"app": "web"}},
                            "spec": {"containers": [{"name": "web", "image": "${schema.spec.image}"}]},
                        },
                    },
                },
            },
            {
                "id": "note",
                "template": {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {"name": "${schema.metadata.name}-note"},
                    "data": {"replicas": "${string(web.status.replicas)}", "kind": "note"},
                },
            },
        ],
    },
}
INSTANCE: JsonObject = {
    "apiVersion": "kro.run/v1alpha1",
    "kind": "WebApp",
    "metadata": {"name": "shop"},
    "spec": {},
}


class Files:
    """Definitions and instances as files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def definition(self, name: str = "rgd", *resources: JsonObject) -> str:
        spec = {**DEFINITION["spec"], **({"resources": list(resources)} if resources else {})}
        return self._written(name, {**DEFINITION, "spec": spec})

    def instance(self, name: str = "shop", **spec: Any) -> str:
        return self._written(name, {**INSTANCE, "spec": spec})

    def side(self, *resources: JsonObject, **spec: Any) -> Side:
        return Side.of(Path(self.definition("rgd", *resources)), Path(self.instance(**spec)), ())

    def _written(self, name: str, body: JsonObject) -> str:
        path = self._folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump(body))
        return str(path)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    return Files(tmp_path)


def marked(lines: list[str]) -> list[str]:
    """The lines that say what goes and what comes."""
    return [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]


# Between files


def test_same_files_have_no_differences(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", files.definition(), files.instance(), "--against", files.definition()]) == ExitCode.OK
    assert capsys.readouterr().out == ""


def test_changed_instance_shows_the_fields_that_change(
    files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    new, old = files.instance("new", replicas=3), files.instance("old")
    assert run(["diff", files.definition(), new, "--against-instance", old]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["--- before: Deployment default/shop", "+++ after: Deployment default/shop"]
    assert marked(lines) == ["-  replicas: 2", "+  replicas: 3"]


def test_changed_definition_shows_objects_that_come_and_go(
    files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    web, note = DEFINITION["spec"]["resources"]
    template = {**note["template"], "metadata": {"name": "other"}, "data": {"kind": "other"}}
    new = files.definition("new", web, {"id": "other", "template": template})
    assert run(["diff", new, files.instance(), "--against", files.definition("old")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "+++ after: ConfigMap default/other" in lines
    assert "+  kind: other" in lines
    assert "--- before: ConfigMap default/shop-note" in lines
    assert "-  kind: note" in lines
    assert not any("Deployment" in line for line in lines)


def test_what_cannot_be_read_is_an_error_and_no_difference(
    files: Files, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert (
        run(["diff", files.definition(), str(tmp_path / "none.yaml"), "--against", files.definition()]) == 2
    )
    assert "cannot read" in capsys.readouterr().err


def test_cluster_that_does_not_answer_is_an_error(
    files: Files, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "a",
                "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
                "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}],
                "users": [{"name": "a", "user": {}}],
            }
        )
    )
    assert run(["diff", files.definition(), files.instance(), "--kubeconfig", str(kubeconfig)]) == 2
    assert "cannot reach the API server http://127.0.0.1:1" in capsys.readouterr().err


# Against a cluster


class _Methods(InProcessTransport):
    """Notes the methods of requests."""

    def __init__(self, plane: Plane) -> None:
        super().__init__(plane)
        self.methods: list[str] = []

    async def send(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
        self.methods.append(request.method)
        return await super().send(request, deadline)


def applied(child: JsonObject, node: str, **labels: str) -> JsonObject:
    metadata = {
        "namespace": "default",
        **child["metadata"],
        "labels": {NODE_ID: node, PART_OF: "x", **labels},
    }
    return {**child, "metadata": metadata}


def web(replicas: int = 2, image: str = "nginx") -> JsonObject:
    template: JsonObject = DEFINITION["spec"]["resources"][0]["template"]
    pod = {**template["spec"]["template"], "spec": {"containers": [{"name": "web", "image": image}]}}
    body = {**template, "metadata": {"name": "shop"}}
    return {**body, "spec": {**template["spec"], "replicas": replicas, "template": pod}}


def note(**data: str) -> JsonObject:
    return {"metadata": {"name": "shop-note"}, "data": {"kind": "note", **data}}


async def test_objects_that_are_missing_are_shown_whole(files: Files) -> None:
    async with Plane(PlaneConfig(simulators=frozenset())) as plane:
        lines = await compare_with_cluster(files.side(), InProcessTransport(plane))
        assert "+++ rendered: Deployment default/shop" in lines
        assert "+++ rendered: ConfigMap default/shop-note" in lines
        assert "+kind: Deployment" in lines


async def test_only_what_the_template_sets_is_compared_and_unknown_values_are_left(files: Files) -> None:
    async with Plane(PlaneConfig(simulators=frozenset())) as plane:
        user = KubeClient(InProcessTransport(plane), Calls(), SystemClock())
        await user.create(DEPLOYMENT, applied(web(), "web", team="web"))
        await user.create(CONFIG_MAP, applied(note(replicas="2", added="by others"), "note"))
        assert await compare_with_cluster(files.side(), InProcessTransport(plane)) == []
        lines = await compare_with_cluster(files.side(image="caddy"), InProcessTransport(plane))
        assert marked(lines) == ["-      - image: nginx", "+      - image: caddy"]


async def test_entries_of_lists_that_others_added_are_left_out(files: Files) -> None:
    resource = msgspec.json.decode(msgspec.json.encode(DEFINITION["spec"]["resources"][0]))
    container = resource["template"]["spec"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "IP", "value": "${address.status.loadBalancer.ingress[0].ip}"}]
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop"}}
    reference = {"id": "address", "externalRef": service}
    async with Plane(PlaneConfig(simulators=frozenset())) as plane:
        user = KubeClient(InProcessTransport(plane), Calls(), SystemClock())
        live = web()
        main = live["spec"]["template"]["spec"]["containers"][0]
        main["env"] = [{"name": "ADDED", "value": "x"}, {"name": "IP", "value": "10.0.0.1"}]
        live["spec"]["template"]["spec"]["containers"] = [{"name": "sidecar", "image": "s"}, main]
        await user.create(DEPLOYMENT, applied(live, "web"))
        assert await compare_with_cluster(files.side(reference, resource), InProcessTransport(plane)) == []
        side = files.side(reference, resource, image="caddy")
        lines = await compare_with_cluster(side, InProcessTransport(plane))
        assert marked(lines) == ["-        image: nginx", "+        image: caddy"]


async def test_members_that_are_no_longer_declared_are_shown_as_removed(files: Files) -> None:
    web_resource = DEFINITION["spec"]["resources"][0]
    async with Plane(PlaneConfig(simulators=frozenset())) as plane:
        user = KubeClient(InProcessTransport(plane), Calls(), SystemClock())
        side = files.side(web_resource)
        await user.create(CUSTOM_RESOURCE_DEFINITION, side.graph.definition)
        await plane.settle()
        await user.create(DEPLOYMENT, applied(web(), "web"))
        await user.create(CONFIG_MAP, applied(note(), "note"))
        await user.create(CONFIG_MAP, {"metadata": {"name": "foreign", "namespace": "default"}})
        metadata = {
            "name": "shop",
            "labels": {"applyset.kubernetes.io/id": "x"},
            "annotations": {GROUP_KINDS: "ConfigMap,Deployment.apps"},
        }
        await user.create(WEB_APP, {"metadata": metadata, "spec": {}}, namespace="default")
        lines = await compare_with_cluster(side, InProcessTransport(plane))
        assert "--- live: ConfigMap default/shop-note" in lines
        assert "-  kind: note" in lines
        assert not any("foreign" in line or "Deployment" in line for line in lines)


async def test_nodes_whose_objects_are_not_known_are_named_and_not_removed(files: Files) -> None:
    web_resource, note_resource = DEFINITION["spec"]["resources"]
    conditional = {**note_resource, "includeWhen": ["${web.status.replicas > 1}"]}
    async with Plane(PlaneConfig(simulators=frozenset())) as plane:
        user = KubeClient(InProcessTransport(plane), Calls(), SystemClock())
        await user.create(DEPLOYMENT, applied(web(), "web"))
        lines = await compare_with_cluster(files.side(web_resource, conditional), InProcessTransport(plane))
        assert lines == ["# note: not compared: includeWhen[0] waits for web.status.replicas"]


async def test_values_of_secrets_are_not_shown(files: Files) -> None:
    template = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "stringData": {"a": "${schema.spec.image}", "b": "same-value"},
    }
    async with Plane(PlaneConfig(simulators=frozenset())) as plane:
        user = KubeClient(InProcessTransport(plane), Calls(), SystemClock())
        body = {"metadata": {"name": "s", "namespace": "default"}, "stringData": {"a": "hidden-before"}}
        await user.create(SECRET, body)
        side = files.side({"id": "secret", "template": template}, image="hidden-after")
        lines = await compare_with_cluster(side, InProcessTransport(plane))
        assert lines
        assert not any("hidden" in line or "same-value" in line for line in lines)


async def test_secret_that_holds_what_is_rendered_does_not_differ(files: Files) -> None:
    template = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "b"}}
    async with Plane(PlaneConfig(simulators=frozenset())) as plane:
        user = KubeClient(InProcessTransport(plane), Calls(), SystemClock())
        metadata = {"name": "s", "namespace": "default"}
        await user.create(SECRET, {"metadata": metadata, "stringData": {"a": "b", "more": "c"}})
        side = files.side({"id": "secret", "template": template})
        assert await compare_with_cluster(side, InProcessTransport(plane)) == []


async def test_cluster_is_only_read(files: Files) -> None:
    async with Plane(PlaneConfig(simulators=frozenset())) as plane:
        transport = _Methods(plane)
        assert await compare_with_cluster(files.side(), transport)
        assert set(transport.methods) == {"GET"}
