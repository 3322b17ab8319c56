"""Match conditions: expressions that decide whether a webhook is asked about a request."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest

from edgekeeper.core.json import JsonObject
from tests.conformance.admission import CONFIG_MAP_WRITES, listening, registered
from tests.conformance.client import Client
from tests.conformance.kinds import (
    CONFIG_MAPS,
    MUTATING_WEBHOOKS,
    VALIDATING_WEBHOOKS,
    Kind,
    config_map,
    unique,
)
from tests.conformance.servers import ADMIN
from tests.conformance.test_webhooks import without_canary


def conditions(*expressions: str) -> list[JsonObject]:
    return [{"name": f"c{index}", "expression": text} for index, text in enumerate(expressions)]


async def names_asked(api: Client, namespace: str, *expressions: str) -> list[str]:
    """Create, change and delete objects; return which operations on which objects a webhook was asked about."""
    async with (
        listening(api) as hook,
        registered(api, namespace, hook.entry(namespace, matchConditions=conditions(*expressions))),
    ):
        await api.create(CONFIG_MAPS.path(namespace), config_map("one", colour="red"))
        await api.create(CONFIG_MAPS.path(namespace), config_map("two", colour="blue"))
        await api.patch(CONFIG_MAPS.path(namespace, "one"), {"data": {"colour": "blue"}})
        await api.delete(CONFIG_MAPS.path(namespace, "one"))
    asked = [f"{one['operation']} {one['name']}" for one in without_canary(hook.asked)]
    # A server whose cache had an older state of the object asks once more, about the present one.
    return [name for name, _ in groupby(asked)]


EVERYTHING = ["CREATE one", "CREATE two", "UPDATE one", "DELETE one"]


@pytest.mark.parametrize(
    ("expression", "asked"),
    [
        ("true", EVERYTHING),
        ("false", []),
        ("request.operation == 'UPDATE'", ["UPDATE one"]),
        ("request.name == 'two'", ["CREATE two"]),
        ("object != null && object.data.colour == 'red'", ["CREATE one"]),
        ("object == null", ["DELETE one"]),
        ("oldObject != null && oldObject.data.colour == 'red'", ["UPDATE one"]),
        (f"request.userInfo.username == '{ADMIN}'", EVERYTHING),
        ("'system:nodes' in request.userInfo.groups", []),
        ("request.kind.kind == 'ConfigMap' && request.resource.resource == 'configmaps'", EVERYTHING),
        ("request.requestKind.version == 'v1' && request.requestResource.group == ''", EVERYTHING),
        ("request.dryRun", []),
        ("!has(request.subResource)", EVERYTHING),
        ("object.metadata.namespace == request.namespace || object == null", EVERYTHING),
        ("request.options.kind == 'DeleteOptions'", ["DELETE one"]),
        ("quantity('1Ki').isGreaterThan(quantity('1k'))", EVERYTHING),
    ],
)
async def test_webhook_is_asked_where_its_condition_holds(
    api: Client, namespace: str, expression: str, asked: list[str]
) -> None:
    assert await names_asked(api, namespace, expression) == asked


async def test_all_conditions_must_hold(api: Client, namespace: str) -> None:
    expressions = ("request.operation == 'CREATE'", "object.data.colour == 'blue'")
    assert await names_asked(api, namespace, *expressions) == ["CREATE two"]


async def test_condition_that_does_not_hold_outweighs_failures(api: Client, namespace: str) -> None:
    assert await names_asked(api, namespace, "object.nothing == 1", "request.operation == 'NONE'") == []


@pytest.mark.parametrize("mutating", [False, True], ids=["validating", "mutating"])
async def test_failed_condition_refuses_the_request(api: Client, namespace: str, mutating: bool) -> None:
    written = conditions("request.name == 'canary' || object.nothing == 1", "true")
    async with (
        listening(api) as hook,
        registered(api, namespace, hook.entry(namespace, matchConditions=written), mutating=mutating),
    ):
        answer = await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    answer.refuse(
        403,
        "Forbidden",
        "configmaps \"one\" is forbidden: expression 'request.name == 'canary' || object.nothing == 1' "
        "resulted in error: no such key: nothing",
    )
    assert without_canary(hook.asked) == []


async def test_several_failures_are_listed(api: Client, namespace: str) -> None:
    written = conditions("request.name == 'canary' || object.a", "request.name == 'canary' || object.b")
    async with (
        listening(api) as hook,
        registered(api, namespace, hook.entry(namespace, matchConditions=written)),
    ):
        status = (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).refuse(403, "Forbidden")
    assert status["message"] == (
        "configmaps \"one\" is forbidden: [expression 'request.name == 'canary' || object.a' resulted in error: "
        "no such key: a, expression 'request.name == 'canary' || object.b' resulted in error: no such key: b]"
    )


async def test_failed_condition_is_ignored_with_other_failures(api: Client, namespace: str) -> None:
    entry: JsonObject = {"matchConditions": conditions("object.nothing == 1"), "failurePolicy": "Ignore"}
    async with (
        listening(api) as hook,
        registered(api, namespace, hook.entry(namespace, **entry)),
    ):
        (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).expect(201)
    assert without_canary(hook.asked) == []


# --- configurations ---


def configuration(kind: Kind, matched: Any) -> JsonObject:
    hook = {
        "name": "hook.conformance.example",
        "clientConfig": {"url": "https://example.com/admit"},
        "rules": [CONFIG_MAP_WRITES],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "matchConditions": matched,
    }
    return kind.new(unique("hooks"), webhooks=[hook])


PATH = "webhooks[0].matchConditions"


@pytest.mark.parametrize("kind", [VALIDATING_WEBHOOKS, MUTATING_WEBHOOKS], ids=["validating", "mutating"])
@pytest.mark.parametrize(
    ("matched", "problem"),
    [
        (
            conditions("object.x == y"),
            (f"{PATH}[0].expression: Invalid value: \"object.x == y\": compilation failed: ERROR: <input>:1:13: "
            "undeclared reference to 'y' (in container '')\n | object.x == y\n | ............^"),
        ),
        (
            conditions(" 'text' "),
            f"{PATH}[0].expression: Invalid value: \"'text'\": must evaluate to bool but got string",
        ),
        (conditions("object.x"), f'{PATH}[0].expression: Invalid value: "object.x": must evaluate to bool but got dyn'),
        (
            conditions("request.verb == 'x'"),
            (f"{PATH}[0].expression: Invalid value: \"request.verb == 'x'\": compilation failed: ERROR: <input>:1:8: "
            "undefined field 'verb'\n | request.verb == 'x'\n | .......^"),
        ),
        ([{"name": "a", "expression": "  "}], f"{PATH}[0].expression: Required value"),
        ([{"name": "", "expression": "true"}], f"{PATH}[0].name: Required value"),
        (
            [{"name": "a", "expression": "true"}, {"name": "a", "expression": "true"}],
            f'{PATH}[1].name: Duplicate value: "a"',
        ),
        (conditions(*["true"] * 65), f"{PATH}: Too many: 65: must have at most 64 items"),
    ],
    ids=[
        "unknown-name", "text", "dyn", "unknown-field", "no-expression", "no-name", "name-twice", "too-many",
    ],
)  # fmt: skip
async def test_configuration_is_refused(api: Client, kind: Kind, matched: Any, problem: str) -> None:
    answer = await api.create(kind.path(), configuration(kind, matched), dryRun="All")
    message: str = answer.refuse(422, "Invalid")["message"]
    assert message.partition(" is invalid: ")[2] == problem
