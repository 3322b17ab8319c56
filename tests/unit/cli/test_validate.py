"""`edgekeeper validate`, `render` and `graph`: answers for people and for programs, exit codes, and files of all sorts."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from edgekeeper.api.composition import GRAPH_REVISION, RESOURCE_GRAPH_DEFINITION
from edgekeeper.cli import definitions
from edgekeeper.cli.built_in import BuiltInSchemas
from edgekeeper.cli.failure import ExitCode
from edgekeeper.cli.main import run
from edgekeeper.controllers.composition.graph import Options, compile_definition, read_definition
from edgekeeper.controllers.composition.revision_objects import DEFINITION_KIND
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.cluster import ClusterConfig, Trust
from edgekeeper.kube.credentials import StoredCredentials, bearer
from edgekeeper.kube.http import HttpTransport
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, Kind
from kubesim.plane import Plane, PlaneConfig
from tests.conformance.embedded import embedded_server
from tests.conformance.real import write_kubeconfig
from tests.conformance.servers import ADMIN, TOKENS, Server

WEB_APP = """\
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: webapp}
spec:
  schema:
    apiVersion: v1alpha1
    kind: WebApp
    spec:
      name: string | required=true
      replicas: integer | default=2
      port: integer
      ingress: boolean | default=false
    status:
      available: ${deployment.status.availableReplicas}
      host: ${service.metadata.name}
  resources:
    - id: deployment
      readyWhen: ["${deployment.status.availableReplicas == deployment.spec.replicas}"]
      template:
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: "${schema.spec.name}"}
        spec:
          replicas: ${schema.spec.replicas}
          selector: {matchLabels: {app: "${schema.spec.name}"}}
          template:
            metadata: {labels: {app: "${schema.spec.name}"}}
            spec: {containers: [{name: web, image: nginx}]}
    - id: service
      template:
        apiVersion: v1
        kind: Service
        metadata: {name: "${deployment.metadata.name}-web"}
        spec: {selector: {app: "${schema.spec.name}"}, ports: [{port: "${schema.spec.port}"}]}
    - id: ingress
      includeWhen: ["${schema.spec.ingress}"]
      template:
        apiVersion: networking.k8s.io/v1
        kind: Ingress
        metadata: {name: "${service.metadata.name}"}
"""
SHOP = """\
apiVersion: kro.run/v1alpha1
kind: WebApp
metadata: {name: shop}
spec: {name: shop}
"""
THING = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  scope: Namespaced
  versions:
    - name: v1
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
"""
USES_THING = """\
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: uses}
spec:
  schema: {apiVersion: v1alpha1, kind: Uses, spec: {s: string}}
  resources:
    - id: thing
      template: {apiVersion: example.com/v1, kind: Thing, metadata: {name: t}, spec: {size: "${schema.spec.s}"}}
"""
MISMATCH = 'expression "schema.spec.s" returns type "string" but expected "int"'


@pytest.fixture(autouse=True)
def _no_colour_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)


@pytest.fixture
def web_app(tmp_path: Path) -> str:
    return _written(tmp_path, "webapp.yaml", WEB_APP)


@pytest.fixture
def shop(tmp_path: Path) -> str:
    return _written(tmp_path, "shop.yaml", SHOP)


def _written(folder: Path, name: str, text: str) -> str:
    file = folder / name
    file.write_text(text)
    return str(file)


def _answers(capsys: pytest.CaptureFixture[str]) -> list[JsonObject]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_valid_definition_is_told_with_its_order(web_app: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", web_app]) == ExitCode.OK
    assert capsys.readouterr().out == f"{web_app}: webapp: valid (deployment → service → ingress)\n"


def test_problems_are_told_with_their_paths(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = WEB_APP.replace("replicas: ${schema.spec.replicas}", "replicas: ${schema.spec.name}").replace(
        "${service.metadata.name}\n", "${servcie.metadata.name}\n"
    )
    file = _written(tmp_path, "wrong.yaml", wrong)
    assert run(["validate", file]) == ExitCode.FAILED
    first, *problems = capsys.readouterr().out.splitlines()
    assert first == f"{file}: webapp: 2 problems"
    assert problems[0].startswith(
        "  error    spec.resources[0].template.spec.replicas: failed to validate resource"
    )
    assert problems[1].startswith(
        "  error    spec.schema.status.host: failed to build instance status schema"
    )
    assert "references unknown identifiers: [servcie]" in problems[1]


def test_answer_for_programs_is_one_line_for_each_definition(
    web_app: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = _written(tmp_path, "broken.yaml", WEB_APP.replace("name: string", "name: strnig"))
    assert run(["validate", web_app, broken, "-o", "json"]) == ExitCode.FAILED
    good, bad = _answers(capsys)
    assert good["path"] == web_app
    assert (good["name"], good["valid"], good["errors"], good["warnings"]) == ("webapp", True, [], [])
    assert good["openapi"]["properties"]["replicas"] == {"type": "integer", "default": 2}
    assert good["deps"] == {"deployment": [], "service": ["deployment"], "ingress": ["service"]}
    assert good["topologicalOrder"] == ["deployment", "service", "ingress"]
    assert good["applyOrder"] == {"deployment": 1, "service": 2, "ingress": 3}
    assert "schemaError" not in good
    assert (bad["valid"], bad["schemaError"]) == (False, "field name: unknown type: strnig")
    assert bad["deps"] == good["deps"]
    assert "openapi" not in bad
    assert bad["errors"] == [
        {
            "path": "spec.schema.spec.name",
            "message": "failed to build OpenAPI schema for instance: field name: unknown type: strnig",
        }
    ]


def test_definition_that_cannot_be_read_is_a_problem_of_its_own(
    web_app: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unread = _written(tmp_path, "unread.yaml", WEB_APP.replace("id: deployment", "id: 5"))
    assert run(["validate", unread, web_app, "-o", "json"]) == ExitCode.FAILED
    bad, good = _answers(capsys)
    assert [error["path"] for error in bad["errors"]] == ["spec.resources[0].id"]
    assert good["valid"]


def test_directories_hold_definitions_schemas_and_other_things(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _written(tmp_path, "a.yaml", THING)
    _written(tmp_path, "b.yaml", USES_THING)
    _written(tmp_path, "c.yaml", SHOP)
    assert run(["validate", str(tmp_path)]) == ExitCode.FAILED
    out = capsys.readouterr().out
    assert MISMATCH in out
    assert out.endswith("1 other object is not looked at\n")


def test_schemas_come_from_files_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "crds").mkdir()
    _written(tmp_path / "crds", "thing.yaml", THING)
    uses = _written(tmp_path, "uses.yaml", USES_THING)
    assert run(["validate", uses]) == ExitCode.OK
    out = capsys.readouterr().out
    assert "warning  spec.resources[0]: no schema of example.com/v1 Thing is known" in out
    assert run(["validate", uses, "--schemas", str(tmp_path / "crds")]) == ExitCode.FAILED
    assert MISMATCH in capsys.readouterr().out


async def test_schemas_come_from_documents_of_a_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with Plane(PlaneConfig()) as plane:
        await plane.client.create(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            _served(yaml.safe_load(THING)),
        )
        await plane.settle()
        document = await plane.client.get("/openapi/v3/apis/example.com/v1")
    (tmp_path / "schemas").mkdir()
    schemas = str(tmp_path / "schemas")
    _written(tmp_path / "schemas", "openapi.json", json.dumps(document))
    _written(tmp_path / "schemas", "list.yaml", "kind: List\nitems: []\n---\n")
    assert (
        run(["validate", _written(tmp_path, "uses.yaml", USES_THING), "--schemas", schemas])
        == ExitCode.FAILED
    )
    assert MISMATCH in capsys.readouterr().out
    clustered = USES_THING.replace("kind: Uses,", "kind: Uses, scope: Cluster,").replace(
        '"${schema.spec.s}"', "5"
    )
    file = _written(tmp_path, "cluster.yaml", clustered)
    assert run(["validate", file, "--schemas", schemas]) == ExitCode.FAILED
    assert "is namespaced and must set metadata.namespace" in capsys.readouterr().out


def _served(definition: JsonObject) -> JsonObject:
    version: Any = definition["spec"]["versions"][0]
    version.update({"served": True, "storage": True})
    definition["spec"]["names"]["singular"] = "thing"
    definition["spec"]["names"]["listKind"] = "ThingList"
    return definition


def test_without_the_local_kit_built_in_kinds_are_dynamic(
    web_app: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(definitions, "find_spec", lambda _: None)
    assert run(["validate", web_app, "-o", "json"]) == ExitCode.OK
    (answer,) = _answers(capsys)
    assert [warning["path"] for warning in answer["warnings"]] == [
        "spec.resources[0]",
        "spec.resources[1]",
        "spec.resources[2]",
    ]


def test_definitions_know_each_others_kinds(
    web_app: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chained = USES_THING.replace("example.com/v1", "kro.run/v1alpha1").replace("kind: Thing", "kind: WebApp")
    outer = _written(tmp_path, "outer.yaml", chained)
    assert run(["validate", outer, web_app]) == ExitCode.FAILED
    assert "schema not found for field size" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (SHOP, "there is no ResourceGraphDefinition in "),
        ("a: [", "is not valid YAML"),
        ("kind: ResourceGraphDefinition", "document 1 has no apiVersion"),
    ],
)
def test_file_without_definitions_is_an_error(
    text: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["validate", _written(tmp_path, "x.yaml", text)]) == ExitCode.FAILED
    assert complaint in capsys.readouterr().err


def test_schemas_that_are_none_are_an_error(
    web_app: str, shop: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["validate", web_app, "--schemas", shop]) == ExitCode.FAILED
    assert "holds something else than schemas; give CustomResourceDefinitions" in capsys.readouterr().err


def test_nothing_to_validate_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate"]) == ExitCode.USAGE
    assert "Missing argument 'FILE...'" in capsys.readouterr().err


def test_render_prints_manifests_with_comments(
    web_app: str, shop: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["render", web_app, shop]) == ExitCode.OK
    out = capsys.readouterr().out
    documents = [document for document in yaml.safe_load_all(out) if document is not None]
    assert [(one["kind"], one["metadata"]) for one in documents] == [
        ("Deployment", {"name": "shop", "namespace": "default"}),
        ("Service", {"name": "shop-web", "namespace": "default"}),
    ]
    assert documents[0]["spec"]["replicas"] == 2
    assert documents[1]["spec"]["ports"] == [{"port": "${schema.spec.port}"}]
    comments = [line for line in out.splitlines() if line.startswith("#")]
    assert comments == [
        "# deployment: rendered",
        "# service: pending",
        (
            "# pending: spec.ports[0].port: ${schema.spec.port} "
            "waits for schema.spec.port (the instance does not set it)"
        ),
        "# ingress: excluded: includeWhen ${schema.spec.ingress} does not hold",
        "# status of the WebApp",
        (
            "# pending: available: ${deployment.status.availableReplicas} "
            "waits for deployment.status.availableReplicas"
        ),
        "# status:",
        "#   available: ${deployment.status.availableReplicas}",
        "#   host: shop-web",
    ]


def test_render_shows_references_and_collections(
    shop: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = """\
    - id: account
      externalRef: {apiVersion: v1, kind: ServiceAccount, metadata: {name: runner}}
    - id: settings
      forEach: [{mode: "${['a', 'b']}"}]
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${mode}"}}
"""
    assert run(["render", _written(tmp_path, "more.yaml", WEB_APP + more), shop]) == ExitCode.OK
    out = capsys.readouterr().out
    assert "# account: external\n# apiVersion: v1\n# kind: ServiceAccount\n" in out
    names = [one["metadata"]["name"] for one in yaml.safe_load_all(out) if one and one["kind"] == "ConfigMap"]
    assert names == ["a", "b"]


def test_render_answers_programs(web_app: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    instance = _written(tmp_path, "i.yaml", SHOP.replace("name: shop}\n", "name: shop, port: 80}\n"))
    assert run(["render", web_app, instance, "-o", "json"]) == ExitCode.OK
    answer = json.loads(capsys.readouterr().out)
    assert [(one["id"], one["state"], len(one["objects"])) for one in answer["resources"]] == [
        ("deployment", "Rendered", 1),
        ("service", "Rendered", 1),
        ("ingress", "Excluded", 0),
    ]
    assert answer["resources"][1]["objects"][0]["spec"]["ports"] == [{"port": 80}]
    assert answer["resources"][2]["message"] == "includeWhen ${schema.spec.ingress} does not hold"
    assert answer["status"]["host"] == "shop-web"
    assert answer["pending"] == [
        {
            "path": "available",
            "expression": "${deployment.status.availableReplicas}",
            "waitsFor": ["deployment.status.availableReplicas"],
        }
    ]


def test_render_ends_with_an_error_if_a_node_fails(
    shop: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failing = _written(
        tmp_path, "f.yaml", WEB_APP.replace("${schema.spec.replicas}", "${1 / (schema.spec.replicas - 2)}")
    )
    assert run(["render", failing, shop]) == ExitCode.FAILED
    assert "# deployment: failed: division by zero" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("instance", "complaint"),
    [
        (SHOP.replace("spec: {name: shop}", "spec: {}"), "is not valid: spec.name: Required value"),
        (
            SHOP.replace("spec: {name: shop}", "spec: {name: a, nmae: b}"),
            "is not valid: unknown field spec.nmae",
        ),
        (
            SHOP.replace("v1alpha1", "v1"),
            "it is a kro.run/v1 WebApp, and the definition is of kro.run/v1alpha1 WebApp",
        ),
        (THING, "holds no objects of kind WebApp; give a file with one instance"),
        (f"{SHOP}---\n{SHOP}", "holds 2 objects of kind WebApp; give a file with one instance"),
    ],
)
def test_render_refuses_instances_that_a_server_would_refuse(
    instance: str, complaint: str, web_app: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["render", web_app, _written(tmp_path, "i.yaml", instance)]) == ExitCode.FAILED
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("command", ["render", "graph"])
def test_commands_about_one_definition_need_one_that_is_valid(
    command: str, shop: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = [shop] if command == "render" else []
    wrong = _written(tmp_path, "w.yaml", WEB_APP.replace("name: string", "name: strnig"))
    assert run([command, wrong, *more]) == ExitCode.FAILED
    error = capsys.readouterr().err
    assert "webapp is not valid: spec.schema.spec.name: failed to build OpenAPI schema" in error
    assert f"edgekeeper validate {wrong}" in error
    two = _written(tmp_path, "two.yaml", f"{WEB_APP}---\n{USES_THING}")
    assert run([command, two, *more]) == ExitCode.FAILED
    assert "holds several definitions (webapp, uses)" in capsys.readouterr().err


def test_graph_is_drawn_in_three_ways(web_app: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["graph", web_app]) == ExitCode.OK
    assert (
        "3     ingress     networking.k8s.io/v1 Ingress  service     includeWhen\n" in capsys.readouterr().out
    )
    assert run(["graph", web_app, "-o", "mermaid"]) == ExitCode.OK
    assert "    n_deployment --> n_service\n" in capsys.readouterr().out
    assert run(["graph", web_app, "-o", "svg"]) == ExitCode.OK
    assert ElementTree.fromstring(capsys.readouterr().out).tag.endswith("svg")  # noqa: S314 # our own


def test_graph_needs_a_file_or_an_instance(web_app: str, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], [web_app, "--live", "webapp/shop"]):
        assert run(["graph", *arguments]) == ExitCode.USAGE
        assert "give the file of a ResourceGraphDefinition, or --live KIND/NAME" in capsys.readouterr().err
    assert run(["graph", "--live", "shop"]) == ExitCode.USAGE
    assert "--live takes KIND/NAME, such as webapp/shop, not shop" in capsys.readouterr().err


TINY: JsonObject = {
    "apiVersion": "kro.run/v1alpha1",
    "kind": "ResourceGraphDefinition",
    "metadata": {"name": "tinies"},
    "spec": {
        "schema": {"apiVersion": "v1alpha1", "kind": "Tiny"},
        "resources": [
            {
                "id": "config",
                "template": {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {"name": "${schema.metadata.name}"},
                },
            }
        ],
    },
}


async def _instantiate(server: Server) -> None:
    """Install the kinds, a definition and an instance of it, as if nobody reconciled them."""
    trust = Trust(authorities=server.authority.bundle)
    cluster = ClusterConfig(server.url, trust, StoredCredentials(bearer(TOKENS[ADMIN])))
    client = KubeClient(HttpTransport(cluster, environ={}), Calls(), SystemClock())
    compiled = compile_definition(read_definition(TINY), BuiltInSchemas(), Options()).graph
    assert compiled is not None
    crds = [RESOURCE_GRAPH_DEFINITION.definition(), GRAPH_REVISION.definition(), compiled.definition]
    try:
        for crd in crds:
            await client.create(CUSTOM_RESOURCE_DEFINITION, crd)
        await client.create(DEFINITION_KIND, TINY)
        instance = {"metadata": {"name": "shop", "namespace": "default"}, "spec": {}}
        await client.create(Kind("kro.run", "v1alpha1", "Tiny", "tinies"), instance)
    finally:
        await client.close()


def test_live_graph_is_read_from_the_cluster_of_the_kubeconfig(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with embedded_server(tmp_path) as server:
        kubeconfig = ["--kubeconfig", str(write_kubeconfig(tmp_path / "kubeconfig", server))]
        assert run(["graph", "--live", "tiny/shop", *kubeconfig]) == ExitCode.FAILED
        assert "the API server does not serve ResourceGraphDefinitions" in capsys.readouterr().err
        asyncio.run(_instantiate(server))
        assert run(["graph", "--live", "tiny/shop", *kubeconfig]) == ExitCode.OK
        printed = capsys.readouterr().out
        assert "1     config  v1 ConfigMap                     Missing\n" in printed
        assert "Tiny default/shop is not reconciled yet\n" in printed
        assert run(["graph", "--live", "tiny/shop", "-n", "other", *kubeconfig]) == ExitCode.FAILED
        assert "Tiny other/shop does not exist" in capsys.readouterr().err
