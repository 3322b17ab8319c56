"""Limits of administrators: what is listed is allowed, everything else is refused with the flag that would allow it."""

from __future__ import annotations

import pytest

from edgekeeper.lifecycle.guards import AllowList, HostnamePolicy

POLICY = HostnamePolicy({"shop": ("shop.example.com",), "*": ("public.example.com",)})


def test_list_that_is_not_set_allows_everything() -> None:
    assert AllowList("--allowed-things").allows("x")
    assert list(AllowList("--allowed-things").refusals("spec.thing", "x")) == []


@pytest.mark.parametrize(("values", "is_allowed"), [({"x"}, True), ({"y"}, False), (set(), False)])
def test_list_that_is_set_is_complete(values: set[str], is_allowed: bool) -> None:
    allowed = AllowList("--allowed-things", frozenset(values))
    assert allowed.allows("x") is is_allowed
    assert bool(list(allowed.refusals("spec.thing", "x"))) is not is_allowed


def test_refusal_of_a_list_names_field_value_and_flag() -> None:
    (refusal,) = AllowList("--allowed-things", frozenset()).refusals("spec.thing", "x")
    assert (
        refusal
        == "spec.thing 'x' is not allowed by --allowed-things: use an allowed value, or have an administrator add this one"
    )


@pytest.mark.parametrize(
    ("hostname", "namespace", "is_allowed"),
    [
        ("shop.example.com", "shop", True),
        ("a.shop.example.com", "shop", True),
        ("*.shop.example.com", "shop", True),
        ("A.SHOP.example.com.", "shop", True),
        ("notshop.example.com", "shop", False),
        ("example.com", "shop", False),
        ("*.example.com", "shop", False),
        ("shop.example.com.evil.io", "shop", False),
        ("x.public.example.com", "shop", False),
        ("x.public.example.com", "other", True),
        ("shop.example.com", "other", False),
    ],
)
def test_hostnames_belong_to_namespaces(hostname: str, namespace: str, is_allowed: bool) -> None:
    assert POLICY.allows(namespace, [hostname]) is is_allowed
    assert list(POLICY.foreign(namespace, [hostname])) == ([] if is_allowed else [hostname])
    assert bool(list(POLICY.refusals("spec.hosts", namespace, [hostname]))) is not is_allowed


def test_policy_that_is_not_set_allows_every_hostname() -> None:
    assert HostnamePolicy().allows("shop", ["a.io"])


def test_refusal_of_a_policy_names_field_hostname_and_what_is_allowed() -> None:
    (refusal,) = POLICY.refusals("spec.hosts", "shop", ["shop.example.com", "a.io"])
    assert refusal == (
        "spec.hosts: 'a.io' is not below the hostnames of namespace shop in --hostname-policy: shop.example.com"
    )
    (refusal,) = HostnamePolicy({"shop": ("shop.io",)}).refusals("spec.hosts", "other", ["a.io"])
    assert refusal.endswith("in --hostname-policy: none at all")
