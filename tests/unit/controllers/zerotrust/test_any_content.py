"""Routes and templates of any content have a task or an error that can be shown, and never anything else."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from edgekeeper.core.errors import PassError, Stall, Wait
from tests.unit.controllers.zerotrust.route_cases import PUBLIC, task, template

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
MATCHES = st.lists(
    JSON
    | st.fixed_dictionaries(
        {"path": st.fixed_dictionaries({"type": JSON | st.just("Exact"), "value": JSON})}
    ),
    max_size=2,
)
REFS = st.lists(
    JSON | st.fixed_dictionaries({"name": JSON | st.just("web"), "port": JSON | st.just(80)}), max_size=2
)
RULES = st.lists(
    JSON
    | st.fixed_dictionaries(
        {}, optional={"matches": MATCHES | JSON, "backendRefs": REFS | JSON, "filters": JSON}
    ),
    max_size=2,
)
TEXT = st.text(max_size=40) | st.sampled_from(
    [
        "https://a.b",
        "a@example.com",
        "/x",
        "10.0.0.1",
        "a\r\nb: c",
        "\x1b[31m",
        "{{ hostname }}",
        "*.example.com",
        "\ud800",
    ]
)
TEXTS = st.lists(TEXT, max_size=3)
SECTIONS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "originService": {
        "url": TEXT,
        "httpHostHeader": TEXT,
        "originTLS": st.fixed_dictionaries({}, optional={"originServerName": TEXT, "caPool": TEXT}),
    },
    "accessApplication": {
        "enabled": st.booleans(),
        "allowEmails": TEXTS,
        "allowGroups": TEXTS,
        "existingPolicyNames": TEXTS,
        "publicPaths": TEXTS,
        "logoUrl": TEXT,
        "customDenyMessage": TEXT,
        "customDenyUrl": TEXT,
        "applicationDomain": TEXT,
        "applicationName": TEXT,
        "policyName": TEXT,
    },
    "dnsOnly": {"enabled": st.booleans(), "staticIp": TEXT},
}
TEMPLATES = st.fixed_dictionaries(
    {}, optional={name: st.fixed_dictionaries({}, optional=fields) for name, fields in SECTIONS.items()}
)


def _check(*arguments: Any, **context: Any) -> None:
    try:
        spec = task(*arguments, **context)
    except PassError as error:
        assert isinstance(error, Stall | Wait)  # noqa: PT017 - the only errors that may be raised
        assert error.message.isprintable()  # noqa: PT017
        assert len(error.message) < 2_000  # noqa: PT017
    else:
        assert spec.hostnames == ["app.example.com"]


@settings(max_examples=300)
@given(RULES | JSON)
def test_route_with_any_rules_has_a_task_or_stalls(rules: Any) -> None:
    _check({**PUBLIC, "originService": "backend"}, spec={"rules": rules})


@settings(max_examples=300)
@given(TEMPLATES, TEMPLATES)
def test_route_with_any_templates_has_a_task_or_stalls(named: dict[str, Any], base: dict[str, Any]) -> None:
    _check(PUBLIC, template(**named), template(**base))


@given(st.lists(TEXT, max_size=3))
def test_route_with_any_load_balancer_has_a_task_or_does_not(addresses: list[str]) -> None:
    named = template(dnsOnly={"enabled": True, "ingressServiceRef": {"name": "lb"}})
    _check(PUBLIC, named, load_balancer=tuple(addresses))
