"""What is refused before it is stored: by the definition of the kind itself, and by the rules of the operator."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.cli.assembly import Operator, webhooks_of
from edgekeeper.controllers.composition.definition_options import DEFINITION_CONTROLLER
from edgekeeper.controllers.composition.revision_objects import DEFINITION_KIND
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.errors import InvalidError
from edgekeeper.kube.kinds import DEPLOYMENT
from edgekeeper.runtime.validation import Problem, User
from kubesim.virtual import virtual_time
from tests.composition.cluster import each_server
from tests.composition.definitions.scene import config_map, definition, scenery
from tests.composition.definitions.test_kinds import bucket


async def judged(operator: Operator, body: JsonObject) -> list[Problem]:
    """What the operator's rules say about a definition that is to be created."""
    (controller,) = [one for one in operator.manager.controllers if one.options.name == DEFINITION_CONTROLLER]
    validator = controller.options.validator
    assert validator is not None
    return list(await validator.validate(None, body, User()))


@pytest.mark.parametrize(
    ("schema", "field"),
    [
        ({"kind": "webApp"}, "kind"),
        ({"kind": "Web-App"}, "kind"),
        ({"apiVersion": "kro.run/v1"}, "apiVersion"),
        ({"apiVersion": "1alpha"}, "apiVersion"),
        ({"scope": "Everywhere"}, "scope"),
        ({"shortNames": ["Upper"]}, "shortNames"),
        ({"shortNames": ["a", "a"]}, "shortNames"),
        ({"categories": ["with space"]}, "categories"),
    ],
)
@each_server
async def test_invalid_value_of_the_schema_is_refused_by_the_server(
    schema: dict[str, Any], field: str
) -> None:
    async with scenery() as scene:
        body = definition()
        body["spec"]["schema"].update(schema)
        with pytest.raises(InvalidError, match=f"spec.schema.{field}"):
            await scene.user.create(DEFINITION_KIND, body)


@pytest.mark.parametrize(
    "change", [{"kind": "Other"}, {"apiVersion": "v2"}, {"group": "example.com"}, {"scope": "Cluster"}]
)
@virtual_time
async def test_identity_of_the_kind_cannot_be_changed(change: dict[str, str]) -> None:
    async with scenery() as scene, scene.operating():
        await scene.create(definition())
        with pytest.raises(InvalidError, match="is immutable"):
            await scene.edit(schema=change)


@virtual_time
async def test_resource_needs_either_a_template_or_a_reference() -> None:
    async with scenery() as scene:
        with pytest.raises(InvalidError, match="exactly one of template or externalRef must be provided"):
            await scene.user.create(DEFINITION_KIND, definition("web-apps", {"id": "nothing"}))


@virtual_time
async def test_webhook_is_registered_for_definitions() -> None:
    async with scenery() as scene, scene.operating() as operator:
        kinds = [webhook.kind for webhook in webhooks_of(operator.manager.controllers)]
        assert kinds == [DEFINITION_KIND]


@virtual_time
async def test_webhook_reports_each_problem_at_its_field_in_the_words_of_the_condition() -> None:
    async with scenery() as scene, scene.operating() as operator:
        wrong = definition("web-apps", config_map(a="${unknown.spec}"), config_map("schema", "b"))
        (reserved,) = await judged(operator, wrong)
        assert reserved.field == "spec.resources[1].id"
        assert "id schema is a reserved keyword in KRO" in reserved.message
        wrong = definition(
            "web-apps", config_map(a="${unknown.spec}"), config_map("b", "${schema.spec.nothing}")
        )
        first, second = await judged(operator, wrong)
        assert first.field == "spec.resources[0].template.data.a"
        assert "references unknown identifiers: [unknown]" in first.message
        assert second.field == "spec.resources[1].template.metadata.name"
        assert "undefined field 'nothing'" in second.message
        await scene.create(wrong)
        assert (await scene.condition("GraphAccepted"))[2] == (
            f"{first.field}: {first.message}; {second.field}: {second.message}"
        )


@virtual_time
async def test_webhook_checks_types_against_what_the_server_serves() -> None:
    async with scenery() as scene, scene.operating() as operator:
        deployment = {
            "apiVersion": DEPLOYMENT.api_version,
            "kind": "Deployment",
            "metadata": {"name": "${schema.spec.name}"},
            "spec": {"replicas": "${schema.spec.name}"},
        }
        (problem,) = await judged(operator, definition("web-apps", {"id": "web", "template": deployment}))
        assert problem.field == "spec.resources[0].template.spec.replicas"
        assert "type mismatch in resource" in problem.message


@virtual_time
async def test_webhook_lets_kinds_pass_that_are_installed_later() -> None:
    async with scenery() as scene, scene.operating() as operator:
        assert await judged(operator, definition("web-apps", bucket())) == []


@virtual_time
async def test_webhook_refuses_kinds_that_are_not_allowed() -> None:
    async with scenery() as scene, scene.operating(composition_allowed_kinds=("Secret",)) as operator:
        (problem,) = await judged(operator, definition())
        assert problem.field == "spec.resources[0].template.kind"
        assert problem.message.startswith("kind ConfigMap is not allowed by --composition-allowed-kinds: ")


@virtual_time
async def test_name_that_cannot_be_a_label_is_refused_and_reported() -> None:
    async with scenery() as scene, scene.operating() as operator:
        name = "a" * 64
        (problem,) = await judged(operator, definition(name))
        assert problem.field == "metadata.name"
        await scene.create(definition(name))
        assert (await scene.condition("GraphAccepted", name))[2] == f"{problem.field}: {problem.message}"


@virtual_time
async def test_omit_is_refused_without_its_feature_gate() -> None:
    omitting = definition("web-apps", config_map(a="${schema.spec.name == 'a' ? omit() : 'b'}"))
    async with scenery() as scene:
        async with scene.operating() as operator:
            (problem,) = await judged(operator, omitting)
            assert "requires the CELOmitFunction feature gate" in problem.message
        async with scene.operating(feature_gates=True) as operator:
            assert await judged(operator, omitting) == []
            await scene.create(omitting)
            assert (await scene.status())["state"] == "Active"


@virtual_time
async def test_number_of_iterators_is_limited_by_the_installation() -> None:
    resource = {
        **config_map(name="${schema.spec.name}-${a}-${b}"),
        "forEach": [{"a": "${['x']}"}, {"b": "${['y']}"}],
    }
    async with scenery() as scene, scene.operating(rgd_max_collection_dimension_size=1) as operator:
        (problem,) = await judged(operator, definition("web-apps", resource))
        assert "forEach cannot have more than 1 dimensions, got 2" in problem.message
