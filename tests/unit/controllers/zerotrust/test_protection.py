"""Whatever users write: a route is published without Access only if they said so, or never said anything about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from edgekeeper.api.zerotrust_task import TaskSpec
from edgekeeper.core.errors import Stall
from tests.unit.controllers.zerotrust.route_cases import PUBLIC, VALUES, task, template

OTHERS = [path for path in VALUES if path not in ("enabled", "hostname")]
SWITCHES = {
    "access.enabled": ("true", "false", "true", "ture"),
    "dnsOnly.enabled": ("true", "false"),
    "serviceToken.enabled": ("true", "false"),
}
FIELDS: dict[str, Any] = {
    "sessionDuration": "8h",
    "allowEmails": ["a@example.com"],
    "allowGroups": [],
    "existingPolicyNames": ["Staff"],
    "include": [{"everyone": True}],
    "require": [{"country": "DE"}],
    "logoUrl": "https://example.com/logo.png",
    "publicPaths": ["/healthz"],
}


@dataclass(frozen=True)
class Case:
    """A route with templates of which only the part about Access matters. None: a template without that part."""

    annotations: dict[str, str]
    named: dict[str, Any] | None
    base: dict[str, Any] | None
    protected: bool

    def task(self) -> TaskSpec | None:
        """The task; None if the route stalls."""
        named, base = (
            template() if fields is None else template(accessApplication=fields)
            for fields in (self.named, self.base)
        )
        annotations = {**PUBLIC, **self.annotations}
        try:
            return task(annotations, named, base, protected=self.protected, load_balancer=("10.0.0.1",))
        except Stall:
            return None

    def decision(self) -> bool | None:
        """What the first level that says something about protection says."""
        said = self.annotations.get("access.enabled")
        levels = ({} if said is None else {"enabled": said == "true"}, self.named or {}, self.base or {})
        return next((level["enabled"] for level in levels if "enabled" in level), None)

    def is_silent(self) -> bool:
        """Whether no level says anything at all about Access."""
        annotated = any(path.startswith("access.") for path in self.annotations)
        return not annotated and self.named is None and self.base is None


@st.composite
def _annotations(draw: st.DrawFn) -> dict[str, str]:
    keys = draw(
        st.lists(st.sampled_from(OTHERS) | st.sampled_from(sorted(SWITCHES)), max_size=3, unique=True)
    )
    return {key: draw(st.sampled_from(SWITCHES.get(key, (VALUES[key],)))) for key in keys}


@st.composite
def _template(draw: st.DrawFn) -> dict[str, Any] | None:
    if draw(st.booleans()):
        return None
    fields = {
        name: FIELDS[name]
        for name in draw(st.lists(st.sampled_from(sorted(FIELDS)), max_size=2, unique=True))
    }
    enabled = draw(st.sampled_from([None, True, False]))
    return fields if enabled is None else {"enabled": enabled, **fields}


CASES = st.builds(Case, _annotations(), _template(), _template(), st.booleans())


@settings(max_examples=500)
@given(CASES)
def test_route_is_without_access_only_if_that_was_said(case: Case) -> None:
    spec = case.task()
    if spec is None:
        return
    if spec.operations.access_app.enabled:
        assert case.decision() is True
        assert not spec.operations.dns_record.enabled
    else:
        assert case.decision() is False or (case.is_silent() and not case.protected)
        assert not any(rule.public for rule in spec.operations.tunnel_route.rules)


@settings(max_examples=500)
@given(CASES)
def test_route_with_access_lets_somebody_in_and_not_everybody_unasked(case: Case) -> None:
    spec = case.task()
    if spec is None or not spec.operations.access_app.enabled:
        return
    access = spec.operations.access_app
    who = (access.allow_emails, access.allow_groups, access.include, access.existing_policy_names)
    assert (
        any(who)
        or access.existing_policy_ids
        or access.application_domain
        or spec.operations.service_token.enabled
    )
    if any(rule.everyone for rule in access.include or ()):
        levels = [fields["include"] for fields in (case.named, case.base) if fields and "include" in fields]
        assert levels or "access.everyone" in case.annotations


@pytest.mark.parametrize(
    ("enabled", "decision"),
    [(True, True), (False, False), (False, None), (None, True), (None, False), (None, None)],
)
def test_cases_of_the_properties_are_of_all_kinds(enabled: bool | None, decision: bool | None) -> None:
    def is_such(case: Case) -> bool:
        spec = case.task()
        return (
            spec.operations.access_app.enabled if spec else None
        ) is enabled and case.decision() is decision

    assert isinstance(find(CASES, is_such), Case)
