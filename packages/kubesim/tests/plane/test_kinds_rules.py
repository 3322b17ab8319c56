"""Rules that recorded refusals do not reach: syntax of schedules and names, and what updates may change."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.json import JsonObject
from kubesim.plane.kinds import builtin_resources
from kubesim.plane.kinds.rules import name
from kubesim.plane.kinds.rules.schedule import schedule_problem

RESOURCES = {one.kind: one for one in builtin_resources() if one.group != "events.k8s.io"}


@pytest.mark.parametrize(
    "schedule",
    [
        "* * * * *",
        "*/5 * * * *",
        "0 0 1 1 0",
        "59 23 31 12 6",
        "0,30 8-18/2 * jan-mar mon-fri",
        "? ? ? ? ?",
        "@daily",
        "@every 1h30m",
        "5/10 * * * *",
    ],
)
def test_schedule_is_understood(schedule: str) -> None:
    assert schedule_problem(schedule) == ""


@pytest.mark.parametrize(
    ("schedule", "problem"),
    [
        ("", "empty spec string"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("* * * * * *", "expected exactly 5 fields, found 6: [* * * * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* 24 * * *", "end of range (24) above maximum (23): 24"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("* * * 13 *", "end of range (13) above maximum (12): 13"),
        ("* * * * 7", "end of range (7) above maximum (6): 7"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("@sometimes", "unrecognized descriptor: @sometimes"),
        ("@every day", 'failed to parse duration @every day: time: invalid duration "day"'),
    ],
)
def test_schedule_is_refused_with_a_reason(schedule: str, problem: str) -> None:
    assert schedule_problem(schedule) == problem


@given(st.text(max_size=30))
def test_any_text_is_a_schedule_or_has_a_problem(text: str) -> None:
    assert isinstance(schedule_problem(text), str)


@pytest.mark.parametrize(
    ("syntax", "good", "bad"),
    [
        (name.label, ["a", "a-1", "1a", "a" * 63], ["", "A", "-a", "a-", "a.b", "a_b", "a" * 64]),
        (name.label_1035, ["a", "a-1"], ["", "1a", "a.b"]),
        (name.wildcard_subdomain, ["*.a", "*.a.b"], ["*", "a", "*.*.a", "a.*"]),
        (name.config_key, ["a", "A_b.c-d", ".hidden", "..."[:1] + "a"], ["", "a b", ".", "..", "..a", "a/b"]),
        (name.environment_variable, ["A", "a-b.c", "1"], ["a=b", "ü", "a\tb"]),
        (name.port_name, ["http", "a-1"], ["", "1", "a--b", "-a", "A", "a" * 16]),
        (name.path_segment, ["a", "a:b", "A_b"], [".", "..", "a/b", "a%b"]),
        (name.percent, ["0%", "100%", "250%"], ["", "10", "1.5%", "-1%"]),
        (name.http_header, ["X-Name"], ["", "a b", "a:"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_syntax_divides_good_names_from_bad(syntax: Any, good: list[str], bad: list[str]) -> None:
    assert [text for text in good if syntax(text)] == []
    assert [text for text in bad if not syntax(text)] == []


def stored(kind: str, **fields: Any) -> JsonObject:
    resource = RESOURCES[kind]
    tree: JsonObject = {
        "apiVersion": resource.api_version,
        "kind": kind,
        "metadata": {"name": "x", "namespace": "d", "uid": "u", "creationTimestamp": "2024-01-01T00:00:00Z"},
        **deepcopy(fields),
    }
    resource.schema.default(tree)
    resource.strategy.default(tree)
    resource.strategy.prepare_create(tree)
    assert resource.strategy.validate(tree, None) == []
    return tree


def refusals(old: JsonObject, new: JsonObject) -> list[str]:
    return [str(error) for error in RESOURCES[old["kind"]].strategy.validate(new, old)]


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
CONTAINERS = [{"name": "a", "image": "i"}]


def test_bound_claim_may_grow() -> None:
    old = stored("PersistentVolumeClaim", spec={**CLAIM, "volumeName": "v"})
    old["status"] = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
    new = deepcopy(old)
    new["spec"]["resources"]["requests"]["storage"] = "2Gi"
    assert refusals(old, new) == []
    new["spec"]["resources"]["requests"]["storage"] = "512Mi"
    assert refusals(old, new) == [
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
    ]


def test_unbound_claim_may_be_bound_and_nothing_else() -> None:
    old = stored("PersistentVolumeClaim", spec=CLAIM)
    bound = deepcopy(old)
    bound["spec"]["volumeName"] = "v"
    assert refusals(old, bound) == []
    grown = deepcopy(old)
    grown["spec"]["resources"]["requests"]["storage"] = "2Gi"
    assert "spec: Forbidden: spec is immutable after creation" in refusals(old, grown)[0]


def test_image_of_a_running_pod_may_change() -> None:
    old = stored("Pod", spec={"containers": CONTAINERS})
    new = deepcopy(old)
    new["spec"]["containers"][0]["image"] = "j"
    new["spec"]["tolerations"].append({"key": "k", "operator": "Exists"})
    assert refusals(old, new) == []


@pytest.mark.parametrize(
    "change", [{"restartPolicy": "Never"}, {"nodeName": "n"}, {"containers": [{"name": "b", "image": "i"}]}]
)
def test_nothing_else_of_a_running_pod_may_change(change: JsonObject) -> None:
    old = stored("Pod", spec={"containers": CONTAINERS})
    new = deepcopy(old)
    new["spec"] |= change
    RESOURCES["Pod"].schema.default(new)
    assert [text.partition(":")[0] for text in refusals(old, new)] == ["spec"]


def test_suspended_job_may_be_moved() -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": CONTAINERS}}
    old = stored("Job", spec={"suspend": True, "template": template})
    moved = deepcopy(old)
    moved["spec"]["template"]["spec"]["nodeSelector"] = {"zone": "a"}
    assert refusals(old, moved) == []
    changed = deepcopy(old)
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "j"
    assert [text.partition(":")[0] for text in refusals(old, changed)] == ["spec.template"]


def test_running_job_may_change_its_parallelism_only() -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": CONTAINERS}}
    old = stored("Job", spec={"template": template})
    wider = deepcopy(old)
    wider["spec"]["parallelism"] = 3
    assert refusals(old, wider) == []
    moved = deepcopy(old)
    moved["spec"]["template"]["spec"]["nodeSelector"] = {"zone": "a"}
    assert [text.partition(":")[0] for text in refusals(old, moved)] == ["spec.template"]


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
def test_immutable_content_stays_and_metadata_moves(kind: str) -> None:
    old = stored(kind, immutable=True, data={"a": "eA=="})
    labelled = deepcopy(old)
    labelled["metadata"]["labels"] = {"a": "b"}
    assert refusals(old, labelled) == []
    changed = deepcopy(old)
    changed["data"] = {}
    assert refusals(old, changed) == ["data: Forbidden: field is immutable when `immutable` is set"]


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
def test_content_has_a_largest_size(kind: str) -> None:
    tree = stored(kind)
    tree["data"] = {"a": "x" * 1_500_000}
    [refusal] = [str(error) for error in RESOURCES[kind].strategy.validate(tree, None)]
    assert refusal.endswith("Too long: may not be more than 1048576 bytes")


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Etc/GMT+1"])
def test_time_zone_of_a_cron_job_is_one_of_the_world(zone: str) -> None:
    job = {"template": {"spec": {"restartPolicy": "Never", "containers": CONTAINERS}}}
    stored("CronJob", spec={"schedule": "@daily", "timeZone": zone, "jobTemplate": {"spec": job}})


@pytest.mark.parametrize("zone", ["../etc/passwd", "Local", "Mars/Olympus", "/UTC"])
def test_time_zone_that_does_not_exist_is_refused(zone: str) -> None:
    job = {"template": {"spec": {"restartPolicy": "Never", "containers": CONTAINERS}}}
    tree = stored("CronJob", spec={"schedule": "@daily", "jobTemplate": {"spec": job}})
    tree["spec"]["timeZone"] = zone
    errors = RESOURCES["CronJob"].strategy.validate(tree, None)
    assert [error.field for error in errors] == ["spec.timeZone"]


@pytest.mark.parametrize("kind", sorted(RESOURCES))
def test_object_with_nothing_in_it_never_breaks_the_rules_themselves(kind: str) -> None:
    resource = RESOURCES[kind]
    tree: JsonObject = {"apiVersion": resource.api_version, "kind": kind, "metadata": {"name": "x"}}
    resource.schema.default(tree)
    resource.strategy.default(tree)
    resource.strategy.prepare_create(tree)
    for error in resource.strategy.validate(tree, None):
        assert error.field
        assert str(error)
