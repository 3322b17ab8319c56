"""Field validation: unknown and duplicate fields are refused, warned of, or dropped in silence."""

from __future__ import annotations

import pytest

from tests.conformance.client import APPLY_PATCH, JSON_PATCH, STRATEGIC_PATCH, YAML, Client
from tests.conformance.definitions import define, define_schema
from tests.conformance.kinds import CONFIG_MAPS, DEPLOYMENTS, config_map, deployment

DUPLICATE = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"},"data":{"a":"1","a":"2"},"data":{"a":"3"}}'


def warning(text: str) -> str:
    escaped = text.replace('"', '\\"')
    return f'299 - "{escaped}"'


async def test_unknown_field_is_refused_when_strict(api: Client, namespace: str) -> None:
    body = {**config_map("one"), "nonsense": 1}
    (await api.create(CONFIG_MAPS.path(namespace), body, fieldValidation="Strict")).refuse(
        400,
        "BadRequest",
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "nonsense"',
    )


async def test_several_unknown_fields_are_listed(api: Client, namespace: str) -> None:
    body = deployment(nonsense=1)
    body["spec"]["template"]["spec"]["containers"][0]["colour"] = "green"
    status = (await api.create(DEPLOYMENTS.path(namespace), body, fieldValidation="Strict")).refuse(
        400, "BadRequest"
    )
    listed = status["message"].partition("strict decoding error: ")[2].split(", ")
    assert sorted(listed) == [
        'unknown field "spec.nonsense"',
        'unknown field "spec.template.spec.containers[0].colour"',
    ]


async def test_unknown_field_is_warned_of_by_default(api: Client, namespace: str) -> None:
    body = {**config_map("one"), "nonsense": 1}
    answer = await api.create(CONFIG_MAPS.path(namespace), body)
    assert "nonsense" not in answer.expect(201)
    assert answer.warnings == (warning('unknown field "nonsense"'),)


async def test_unknown_field_is_dropped_in_silence_when_ignored(api: Client, namespace: str) -> None:
    body = {**config_map("one"), "nonsense": 1}
    answer = await api.create(CONFIG_MAPS.path(namespace), body, fieldValidation="Ignore")
    assert "nonsense" not in answer.expect(201)
    assert answer.warnings == ()


async def test_duplicate_field_is_refused_when_strict(api: Client, namespace: str) -> None:
    (await api.create(CONFIG_MAPS.path(namespace), DUPLICATE, fieldValidation="Strict")).refuse(
        400,
        "BadRequest",
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: '
        'duplicate field "data.a", duplicate field "data"',
    )


async def test_duplicate_field_is_warned_of_and_the_last_wins(api: Client, namespace: str) -> None:
    answer = await api.create(CONFIG_MAPS.path(namespace), DUPLICATE, fieldValidation="Warn")
    assert answer.expect(201)["data"] == {"a": "3"}
    assert answer.warnings == (warning('duplicate field "data.a"'), warning('duplicate field "data"'))


async def test_duplicate_yaml_key_is_refused_when_strict(api: Client, namespace: str) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata:\n  a: '1'\n  a: '2'\n"
    answer = await api.create(CONFIG_MAPS.path(namespace), body, content_type=YAML, fieldValidation="Strict")
    status = answer.refuse(400, "BadRequest")
    assert 'key "a" already set in map' in status["message"]


async def test_unknown_field_of_a_custom_kind_is_refused_when_strict(api: Client, namespace: str) -> None:
    kind = await define(api)
    body = kind.new("one", spec={"size": 1, "weight": 2}, extra=True)
    (await api.create(kind.path(namespace), body, fieldValidation="Strict")).refuse(
        400,
        "BadRequest",
        'Widget in version "v1" cannot be handled as a Widget: strict decoding error: '
        'unknown field "extra", unknown field "spec.weight"',
    )


async def test_unknown_field_of_a_custom_kind_is_pruned_with_a_warning(api: Client, namespace: str) -> None:
    kind = await define(api)
    answer = await api.create(kind.path(namespace), kind.new("one", spec={"size": 1, "weight": 2}))
    assert answer.expect(201)["spec"] == {"size": 1}
    assert answer.warnings == (warning('unknown field "spec.weight"'),)


async def test_unknown_metadata_of_a_custom_kind_is_reported(api: Client, namespace: str) -> None:
    kind = await define(api)
    body = kind.new("one", metadata={"nonsense": 1})
    (await api.create(kind.path(namespace), body, fieldValidation="Strict")).refuse(
        400,
        "BadRequest",
        'Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "metadata.nonsense"',
    )


async def test_unknown_field_is_kept_where_the_schema_says_so(api: Client, namespace: str) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    kind = await define_schema(api, schema)
    answer = await api.create(
        kind.path(namespace), kind.new("one", spec={"anything": 1}), fieldValidation="Strict"
    )
    assert answer.expect(201)["spec"] == {"anything": 1}


@pytest.mark.parametrize(
    ("content_type", "patch"),
    [
        ("application/merge-patch+json", {"nonsense": 1}),
        (STRATEGIC_PATCH, {"nonsense": 1}),
        (JSON_PATCH, [{"op": "add", "path": "/nonsense", "value": 1}]),
    ],
    ids=["merge", "strategic", "json"],
)
async def test_patch_is_validated_too(
    api: Client, namespace: str, content_type: str, patch: dict[str, int] | list[object]
) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    path = CONFIG_MAPS.path(namespace, "one")
    strict = await api.patch(path, patch, content_type=content_type, fieldValidation="Strict")
    status = strict.refuse(422, "Invalid")
    assert 'strict decoding error: unknown field "nonsense"' in status["message"]
    warned = await api.patch(path, patch, content_type=content_type)
    assert "nonsense" not in warned.expect(200)
    assert warned.warnings == (warning('unknown field "nonsense"'),)


async def test_replace_is_validated_too(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    body = {**config_map("one"), "nonsense": 1}
    answer = await api.put(CONFIG_MAPS.path(namespace, "one"), body, fieldValidation="Strict")
    assert answer.refuse(400, "BadRequest")["message"].endswith('unknown field "nonsense"')


async def test_unknown_field_of_a_custom_kind_cannot_be_applied_when_strict(
    api: Client, namespace: str
) -> None:
    kind = await define(api)
    answer = await api.patch(
        kind.path(namespace, "one"),
        kind.new("one", spec={"weight": 2}),
        content_type=APPLY_PATCH,
        fieldManager="first",
        fieldValidation="Strict",
    )
    assert ".spec.weight: field not declared in schema" in answer.refuse(500, "")["message"]


async def test_unknown_mode_is_refused(api: Client, namespace: str) -> None:
    (await api.create(CONFIG_MAPS.path(namespace), config_map("one"), fieldValidation="Lenient")).refuse(
        422,
        "Invalid",
        'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Lenient": '
        'supported values: "", "Ignore", "Strict", "Warn"',
    )
