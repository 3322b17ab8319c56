"""Rights: what the controllers declare is what the chart grants, and nothing reaches Secrets of the whole cluster (S-20)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from edgekeeper.cli.kinds import MODULES
from edgekeeper.cli.rbac import ALL, all_rules_of, editable_kinds, features, process_roles, readable_kinds
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.lifecycle.module import Role
from edgekeeper.lifecycle.rbac import WEBHOOKS, Place, Right, Rule, merged, rights_of
from tools.chart import CHART, DEPLOY, NAMESPACE, ROOT, VARIANTS, generated_files

VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
PROCESSES: dict[str, dict[str, str]] = {
    "all-in-one/edgekeeper.yaml": {ALL: "edgekeeper"},
    "split/edgekeeper.yaml": {
        Role.MANAGER: "edgekeeper",
        Role.KUBE_WORKER: "edgekeeper-kube-worker",
        Role.CLOUDFLARE_WORKER: "edgekeeper-cloudflare-worker",
    },
}
"""By manifest, the role of each process and its ServiceAccount."""
GENERATED = list(generated_files())
"""What of the chart and the documentation follows from the code, by file."""


def objects(name: str) -> list[JsonObject]:
    return [document for document in yaml.safe_load_all((DEPLOY / name).read_text()) if document]


@pytest.mark.parametrize(("path", "text"), GENERATED, ids=[path.name for path, _ in GENERATED])
def test_generated_file_is_up_to_date(path: Path, text: str) -> None:
    assert path.read_text() == text, f"{path.relative_to(ROOT)} is outdated: run `make chart`"


@pytest.mark.parametrize(
    ("name", "role"), [(name, role) for name, roles in PROCESSES.items() for role in roles]
)
def test_manifests_grant_what_is_declared_and_nothing_else(name: str, role: str) -> None:
    account = PROCESSES[name][role]
    assert granted(objects(name), account) == {
        right._replace(name=right.name.replace(WEBHOOKS, "edgekeeper-webhooks"), option="")
        for right in rights_of(rule for rule in all_rules_of(role) if is_set(rule.option))
    }


def is_set(option: str) -> bool:
    """Whether a value of the chart is true by default. One that does not exist is an error."""
    value: Any = VALUES
    for part in option.split(".") if option else ():
        value = value[part]
    return bool(value)


def granted(found: Iterable[JsonObject], account: str) -> set[Right]:
    """What the bindings of manifests give to a ServiceAccount. Where a rule applies is told by how it is bound."""
    found = list(found)
    rules = {(obj["kind"], obj["metadata"]["name"]): obj for obj in found if obj["kind"].endswith("Role")}
    rights: set[Right] = set()
    for binding in found:
        if not binding["kind"].endswith("RoleBinding") or binding["subjects"][0]["name"] != account:
            continue
        reference = binding["roleRef"]["kind"], binding["roleRef"]["name"]
        rights |= set(_spread(rules[reference], _place(binding)))
    return rights


def _place(binding: JsonObject) -> Place:
    name = str(binding["roleRef"]["name"])
    if binding["roleRef"]["kind"] == "Role":
        assert binding["metadata"]["namespace"] == NAMESPACE
        return Place.OWN
    places = [place for place in (Place.WATCHED, Place.SECRETS, Place.KRO) if name.endswith(f"-{place}")]
    place = places[0] if places else Place.CLUSTER
    is_everywhere = binding["kind"] == "ClusterRoleBinding"
    assert is_everywhere == (place is not Place.SECRETS), f"{name} is bound by a {binding['kind']}"
    return place


def _spread(role: JsonObject, place: Place) -> Iterator[Right]:
    for rule in role.get("rules") or ():
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for name in rule.get("resourceNames") or ("",):
                    yield from (Right(place, group, resource, name, verb) for verb in rule["verbs"])


@pytest.mark.parametrize("name", VARIANTS)
def test_no_role_of_the_cluster_reads_secrets(name: str) -> None:
    found = objects(name)
    bound = {obj["roleRef"]["name"] for obj in found if obj["kind"] == "ClusterRoleBinding"}
    for role in found:
        if role["kind"] == "ClusterRole" and role["metadata"]["name"] in bound:
            for rule in role.get("rules") or ():
                assert not {"secrets", "*"} & set(rule["resources"]), role["metadata"]["name"]


def test_only_the_worker_of_cloudflare_reads_secrets() -> None:
    for role in (Role.MANAGER, Role.KUBE_WORKER):
        reads = [right for right in rights_of(all_rules_of(role)) if right.resource == "secrets"]
        assert all(right.name == f"{WEBHOOKS}-cert" or right.verb == "create" for right in reads)
    assert any(right.place is Place.SECRETS for right in rights_of(all_rules_of(Role.CLOUDFLARE_WORKER)))


@pytest.mark.parametrize("place", [Place.CLUSTER, Place.WATCHED, Place.KRO])
def test_rule_for_secrets_of_all_namespaces_is_refused(place: Place) -> None:
    with pytest.raises(ValueError, match=r"Place\.SECRETS"):
        Rule("", ("secrets",), ("get",), place)


@pytest.mark.parametrize(
    "wild", [("*", ("pods",), ("get",)), ("", ("*",), ("get",)), ("", ("pods",), ("*",))], ids=str
)
def test_rule_with_a_wildcard_is_refused(wild: tuple[str, tuple[str, ...], tuple[str, ...]]) -> None:
    with pytest.raises(ValueError, match="name groups, resources and verbs"):
        Rule(*wild)


def test_every_controller_declares_rights() -> None:
    assert [module.name for module in MODULES if not module.rules] == []


def test_roles_together_have_the_rights_of_one_process() -> None:
    apart = {right for role in process_roles() if role != ALL for right in rights_of(all_rules_of(role))}
    assert rights_of(all_rules_of(ALL)) <= apart


def test_features_are_values_of_the_chart() -> None:
    assert set(VALUES["features"]) == set(features()), "name the features of all kinds in values.yaml"


def test_options_of_rules_are_values_of_the_chart() -> None:
    for role in process_roles():
        assert {is_set(rule.option) for rule in all_rules_of(role)} <= {True, False}


def test_merged_rules_grant_the_same() -> None:
    rules = all_rules_of(ALL)
    assert rights_of(merged(rules)) == rights_of(rules)


def test_right_for_all_objects_is_not_repeated_for_one() -> None:
    rules = [Rule("", ("pods",), ("get",)), Rule("", ("pods",), ("get", "list"), names=("one",))]
    assert {(right.name, right.verb) for right in rights_of(rules)} == {("", "get"), ("one", "list")}


def test_people_edit_only_what_is_theirs() -> None:
    """Tasks, OperatorConfigs and definitions would make the operator use its own rights for them."""
    assert {kind.kind for kind in readable_kinds()} - {kind.kind for kind in editable_kinds()} == {
        "CloudflareTask",
        "CloudflareZeroTrustOperatorConfig",
        "GraphRevision",
        "ResourceGraphDefinition",
    }


def test_aggregated_role_of_compositions_has_no_rules_of_its_own() -> None:
    (role,) = (
        obj
        for obj in objects("all-in-one/edgekeeper.yaml")
        if obj["kind"] == "ClusterRole" and obj["metadata"]["name"] == "edgekeeper-composed"
    )
    assert "rules" not in role, "applying the manifests again would take away what was aggregated"
    selectors = dig(role, "aggregationRule", "clusterRoleSelectors")
    assert selectors == [{"matchLabels": {"rbac.kro.run/aggregate-to-controller": "true"}}]
