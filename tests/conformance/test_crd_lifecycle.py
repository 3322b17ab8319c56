"""Definitions at run time: established, changed, conflicting, deleted."""

from __future__ import annotations

import itertools

from edgekeeper.core.json import JsonObject
from tests.conformance.client import Answer, Client, eventually
from tests.conformance.definitions import (
    condition,
    define_afresh,
    definition,
    definition_name,
    established,
    version,
    widget,
)
from tests.conformance.kinds import CONFIG_MAPS, DEFINITIONS, Kind

GUARD = "conformance.example/guard"


def path_of(kind: Kind) -> str:
    return DEFINITIONS.path(name=definition_name(kind))


async def test_definition_becomes_established(api: Client) -> None:
    kind = widget()
    created = (await api.create(DEFINITIONS.path(), definition(kind))).expect(201)
    assert created["status"]["conditions"] is None
    assert created["status"]["storedVersions"] == ["v1"]
    assert created["spec"]["conversion"] == {"strategy": "None"}
    found = await established(api, kind)
    for name, reason, message in (
        ("NamesAccepted", "NoConflicts", "no conflicts found"),
        ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
    ):
        told = condition(found, name)
        assert told is not None
        assert (told["status"], told["reason"], told["message"]) == ("True", reason, message)
        assert told["lastTransitionTime"].endswith("Z")
    assert found["status"]["acceptedNames"] == {
        "plural": "widgets",
        "singular": "widget",
        "kind": "Widget",
        "listKind": "WidgetList",
    }


async def test_names_that_are_left_out_are_derived(api: Client) -> None:
    kind = widget()
    body = definition(kind)
    body["spec"]["names"] = {"plural": "widgets", "kind": "Widget"}
    names = (await api.create(DEFINITIONS.path(), body)).expect(201)["spec"]["names"]
    assert names == {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}


async def test_kind_is_usable_as_soon_as_it_is_established(api: Client, namespace: str) -> None:
    kind = await define_afresh(api)
    created = (await api.create(kind.path(namespace), kind.new("one", spec={"size": 1}))).expect(201)
    assert (created["kind"], created["apiVersion"]) == ("Widget", kind.api_version)


async def test_cluster_scoped_kind_has_no_namespaces(api: Client, namespace: str) -> None:
    kind = await define_afresh(api, kind=widget(namespaced=False))
    created = (await api.create(kind.path(), kind.new("one"))).expect(201)
    assert "namespace" not in created["metadata"]
    assert (await api.get(kind.path(namespace, "one"))).status == 404


async def test_conflicting_short_name_is_not_accepted(api: Client) -> None:
    first = await define_afresh(api, names={"shortNames": ["wdg"]})
    second = Kind(first.group, "v1", "wedges", "Wedge")
    body = definition(second, names={"shortNames": ["wdg"]})
    (await api.create(DEFINITIONS.path(), body)).expect(201)

    async def refused() -> JsonObject | None:
        found = (await api.get(path_of(second))).expect(200)
        accepted = condition(found, "NamesAccepted")
        return found if accepted and accepted["status"] == "False" else None

    found = await eventually(refused, what="the names are refused")
    accepted, ready = condition(found, "NamesAccepted"), condition(found, "Established")
    assert accepted is not None
    assert (accepted["reason"], accepted["message"]) == ("ShortNamesConflict", '"wdg" is already in use')
    assert ready is not None
    assert (ready["status"], ready["reason"], ready["message"]) == (
        "False",
        "NotAccepted",
        "not all names are accepted",
    )


async def test_conflicting_kind_is_accepted_once_the_other_goes(api: Client) -> None:
    first = await define_afresh(api)
    second = Kind(first.group, "v1", "wedges", "Widget")
    body = definition(second, names={"singular": "wedge"})
    await api.create(DEFINITIONS.path(), body)

    async def refused() -> JsonObject | None:
        accepted = condition((await api.get(path_of(second))).expect(200), "NamesAccepted")
        return accepted if accepted and accepted["status"] == "False" else None

    accepted = await eventually(refused, what="the kind is refused")
    assert accepted["reason"] == "ListKindConflict"
    await api.delete(path_of(first))
    await established(api, second)


async def test_schema_change_takes_effect(api: Client, namespace: str) -> None:
    kind = await define_afresh(api)
    body = kind.new("one", spec={"size": 1, "weight": 2})
    assert (await api.create(kind.path(namespace), body)).expect(201)["spec"] == {"size": 1}
    wider = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"size": {"type": "integer"}, "weight": {"type": "integer", "default": 7}},
            }
        },
    }
    patch = {"spec": {"versions": [version(schema=wider)]}}
    changed = (await api.patch(path_of(kind), patch)).expect(200)
    assert changed["metadata"]["generation"] == 2

    async def defaulted() -> JsonObject | None:
        found = (await api.get(kind.path(namespace, "one"))).expect(200)
        return found if "weight" in found["spec"] else None

    # Defaults of a new schema show at once in what was stored before.
    found = await eventually(defaulted, what="the new schema is used")
    assert found["spec"] == {"size": 1, "weight": 7}


async def test_scope_and_names_cannot_change(api: Client) -> None:
    kind = await define_afresh(api)
    (await api.patch(path_of(kind), {"spec": {"scope": "Cluster"}})).refuse(
        422,
        "Invalid",
        f'CustomResourceDefinition.apiextensions.k8s.io "{definition_name(kind)}" is invalid: '
        'spec.scope: Invalid value: "Cluster": field is immutable',
    )
    answer = await api.patch(path_of(kind), {"spec": {"names": {"kind": "Gadget", "listKind": "GadgetList"}}})
    fields = {cause["field"] for cause in answer.refuse(422, "Invalid")["details"]["causes"]}
    assert "spec.names.kind" in fields


async def test_deletion_takes_the_instances_along(api: Client, namespace: str) -> None:
    kind = await define_afresh(api)
    for name in "ab":
        (await api.create(kind.path(namespace), kind.new(name))).expect(201)
    start = (await api.get(kind.path())).expect(200)["metadata"]["resourceVersion"]
    async with api.watch(kind.path(), resourceVersion=start) as watch:
        (await api.delete(path_of(kind))).expect(200)
        # The instances go one by one, then the stream ends without an error.
        events = await watch.rest()
    deleted = {event["object"]["metadata"]["name"] for event in events if event["type"] == "DELETED"}
    assert deleted == {"a", "b"}
    assert "ERROR" not in {event["type"] for event in events}

    async def gone() -> Answer | None:
        answer = await api.get(kind.path())
        return answer if answer.status == 404 else None

    answer = await eventually(gone, what="the kind is gone")
    assert (answer.content_type, answer.text) == ("text/plain; charset=utf-8", "404 page not found\n")
    (await api.get(path_of(kind))).refuse(404, "NotFound")


async def test_deletion_is_announced_and_waits_for_finalizers(api: Client, namespace: str) -> None:
    kind = await define_afresh(api)
    await api.create(kind.path(namespace), kind.new("one", metadata={"finalizers": [GUARD]}))
    deleting = (await api.delete(path_of(kind))).expect(200)
    assert deleting["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]

    async def terminating() -> JsonObject | None:
        found = (await api.get(path_of(kind))).expect(200)
        told = condition(found, "Terminating")
        return told if told and told["status"] == "True" else None

    told = await eventually(terminating, what="the definition terminates")
    assert told["reason"] in {
        "InstanceDeletionPending",
        "InstanceDeletionInProgress",
        "InstanceDeletionCheck",
    }

    names = (f"late-{number}" for number in itertools.count())

    async def refused() -> tuple[str, Answer] | None:
        """A real server creates objects until its own watch has told it what it has answered already."""
        answer = await api.create(kind.path(namespace), kind.new(name := next(names)))
        if answer.status != 201:
            return name, answer
        await api.delete(kind.path(namespace, name))
        return None

    name, answer = await eventually(refused, what="new objects are refused")
    answer.refuse(
        403,
        "Forbidden",
        f'widgets.{kind.group} "{name}" is forbidden: create not allowed while custom resource definition is terminating',
    )
    await api.patch(kind.path(namespace, "one"), {"metadata": {"finalizers": None}})

    async def gone() -> bool | None:
        return (await api.get(path_of(kind))).status == 404 or None

    await eventually(gone, deadline=40, what="the definition is gone")


async def test_name_can_be_defined_again(api: Client, namespace: str) -> None:
    kind = await define_afresh(api)
    await api.create(kind.path(namespace), kind.new("one"))
    await api.delete(path_of(kind))

    async def gone() -> bool | None:
        return (await api.get(path_of(kind))).status == 404 or None

    await eventually(gone, what="the definition is gone")
    await define_afresh(api, kind=kind)
    assert (await api.get(kind.path())).expect(200)["items"] == []


async def test_definition_without_instances_goes_at_once(api: Client) -> None:
    kind = await define_afresh(api)
    await api.delete(path_of(kind))

    async def gone() -> bool | None:
        return (await api.get(path_of(kind))).status == 404 or None

    await eventually(gone, what="the definition is gone")


async def test_custom_object_can_own_others(api: Client, namespace: str) -> None:
    """A real server's collector learns of new kinds every half minute, hence the patience."""
    kind = await define_afresh(api)
    owner = (await api.create(kind.path(namespace), kind.new("owner"))).expect(201)
    reference = {
        "apiVersion": kind.api_version,
        "kind": "Widget",
        "name": "owner",
        "uid": owner["metadata"]["uid"],
    }
    await api.create(
        CONFIG_MAPS.path(namespace), CONFIG_MAPS.new("child", metadata={"ownerReferences": [reference]})
    )
    await api.delete(kind.path(namespace, "owner"))

    async def gone() -> bool | None:
        return (await api.get(CONFIG_MAPS.path(namespace, "child"))).status == 404 or None

    await eventually(gone, deadline=90, what="the dependent is gone")
