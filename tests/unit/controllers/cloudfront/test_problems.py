"""What is wrong with a spec, and what administrators do not allow: one row for each rule."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from edgekeeper.cloud.aws.distributions import ParameterDefinition
from edgekeeper.cloud.aws.dns.validation import inventory_problems
from edgekeeper.cloud.aws.tags import tag_count_problems
from edgekeeper.controllers.cloudfront.guards import Guards
from edgekeeper.controllers.cloudfront.validation import distribution_problems, spec_problems
from edgekeeper.core.domain_names import correction, is_domain
from edgekeeper.core.ownership import Owner
from tests.unit.controllers.cloudfront.cases import (
    CERTIFICATE,
    DISTRIBUTION,
    DNS,
    MANAGED,
    NAME,
    record,
    spec,
)

ROLE = "arn:aws:iam::111122223333:role/dns"


@pytest.mark.parametrize("name", ["abc", "my-tenant.prod", "1st", "a" * 128])
def test_name_that_a_tenant_can_have_is_no_problem(name: str) -> None:
    assert spec_problems(name, spec()) == []


@pytest.mark.parametrize("name", ["", "ab", "a" * 129, "-ab", "ab-", "Abc", "a_b", "a b", "abc\n"])
def test_name_that_no_tenant_can_have_is_a_problem(name: str) -> None:
    (problem,) = spec_problems(name, spec())
    assert "resource name" in problem


@pytest.mark.parametrize(
    "name", ["a.io", "*.a.io", "A.IO.", "_dmarc.a.io", "xn--bcher-kva.example", f"{'a' * 63}.io"]
)
def test_domain_names_are_known_as_such(name: str) -> None:
    assert is_domain(name)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            "io",
            "*.io",
            "a..io",
            ".a.io",
            "a b.io",
            "-a.io",
            "a-.io",
            "a.*.io",
            "*",
            "https://a.io",
            "a.io\n",
        ),
        *(f"{'a' * 64}.io", ".".join(["a" * 60] * 5), "bücher.example", "\u212aiosk.example"),
    ],
)
def test_what_is_no_domain_name_is_not_taken_for_one(name: str) -> None:
    assert not is_domain(name)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("bücher.example", "xn--bcher-kva.example"),
        ("*.bücher.example", "*.xn--bcher-kva.example"),
        ("straße.example", "xn--strae-oqa.example"),
        ("BÜCHER.example.", "xn--bcher-kva.example."),
        ("https://shop.example.com/cart?x=1", "shop.example.com"),
        ("http://user:secret@shop.example.com:8443", "shop.example.com"),
        ("shop.example.com:443", "shop.example.com"),
        ("shop.example.com/", "shop.example.com"),
        (" shop.example.com ", "shop.example.com"),
        ("https://bücher.example/", "xn--bcher-kva.example"),
        ("shop example.com", ""),
        ("a.*.io", ""),
        ("https://", ""),
        ("http://[::1", ""),
        ("ü", ""),
        ("\u2603\ufe0f..example", ""),
        ("ü" * 2000 + ".example", ""),
    ],
)
def test_name_that_was_meant_is_offered(written: str, meant: str) -> None:
    assert correction(written) == meant
    (problem,) = spec_problems(NAME, spec(written))
    assert problem.startswith(f"spec.domains: {written!r} is not a domain name")
    assert problem.endswith(f": write {meant}") == bool(meant)


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        pytest.param(spec("a.*.io"), "only the first label may be *", id="wildcard in the middle"),
        pytest.param(
            spec(customizations={"webAcl": {"action": "override", "arn": "nonsense"}}),
            "spec.customizations.webAcl.arn 'nonsense' is not the ARN of a web ACL",
            id="web ACL",
        ),
        pytest.param(
            spec(customizations={"webAcl": {"action": "override"}}),
            "spec.customizations.webAcl.arn is required",
            id="no web ACL",
        ),
        pytest.param(spec(tags=[{"key": "a,b"}]), "'a,b' has characters other than", id="character of a key"),
        pytest.param(
            spec(tags=[{"key": "a", "value": "b\n"}]),
            "'b\\n' has characters other",
            id="character of a value",
        ),
        pytest.param(spec("a.io", "A.io."), "'a.io' is listed 2 times", id="domain twice"),
        pytest.param(
            spec(managedCertificateRequest={**MANAGED, "primaryDomainName": "x.io"}),
            "not one of spec.domains",
            id="primary",
        ),
        pytest.param(
            spec(customizations={"geoRestrictions": {"restrictionType": "whitelist", "locations": ["de"]}}),
            "'de' is not an ISO 3166-1 alpha-2 country code",
            id="country",
        ),
        pytest.param(
            spec(customizations={"geoRestrictions": {"restrictionType": "blacklist"}}),
            "at least one country",
            id="no country at all",
        ),
        pytest.param(
            spec(parameters=[{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]),
            "'a' is listed 2",
            id="parameter",
        ),
        pytest.param(spec(tags=[{"key": "a"}, {"key": "a"}]), "'a' is listed 2", id="tag twice"),
        pytest.param(spec(tags=[{"key": "AWS:x"}]), "reserved", id="tag of AWS"),
        pytest.param(spec(tags=[{"key": "edgekeeper.io/uid"}]), "reserved", id="tag of ours"),
        pytest.param(spec(dns={**DNS, "assumeRoleArn": "role/dns"}), "not the ARN of a role", id="role"),
    ],
)
def test_each_mistake_is_told(wanted: Any, told: str) -> None:
    (problem,) = spec_problems(NAME, wanted)
    assert told in problem


def test_certificate_and_request_may_both_be_set() -> None:
    both = spec(customizations={"certificate": {"arn": CERTIFICATE}}, managedCertificateRequest=MANAGED)
    assert spec_problems(NAME, both) == []


def test_distribution_without_a_certificate_wants_one_of_the_tenant() -> None:
    bare = replace(DISTRIBUTION, certificate_arn="")
    (problem,) = distribution_problems(spec(), bare)
    assert "customizations.certificate.arn" in problem
    assert distribution_problems(spec(managedCertificateRequest=MANAGED), bare) == []
    assert distribution_problems(spec(customizations={"certificate": {"arn": CERTIFICATE}}), bare) == []


@pytest.mark.parametrize(
    "arn",
    [
        "",
        "arn:aws:acm:us-east-1:*:certificate/*",
        f"{CERTIFICATE}\n",
        f"{CERTIFICATE}/../other",
        CERTIFICATE.replace("aws", "aws-evil"),
        CERTIFICATE.replace(":acm:", ":iam:"),
        CERTIFICATE.replace("111122223333", "1"),
    ],
)
def test_arn_that_no_certificate_has_is_a_problem(arn: str) -> None:
    problems = spec_problems(NAME, spec(customizations={"certificate": {"arn": arn}}))
    assert all("is not the ARN of a certificate" in problem for problem in problems)
    assert len(problems) == bool(arn)


def test_certificate_is_of_the_account_of_the_distribution() -> None:
    home = replace(DISTRIBUTION, arn="arn:aws:cloudfront::111122223333:distribution/E1")
    assert distribution_problems(spec(customizations={"certificate": {"arn": CERTIFICATE}}), home) == []
    abroad = CERTIFICATE.replace("111122223333", "444455556666")
    (problem,) = distribution_problems(spec(customizations={"certificate": {"arn": abroad}}), home)
    assert "belongs to another account" in problem


def test_only_parameters_without_a_default_are_asked_for() -> None:
    definitions = (
        ParameterDefinition("origin", required=True),
        ParameterDefinition("tier", required=True, default="silver"),
        ParameterDefinition("note", required=False),
    )
    distribution = replace(DISTRIBUTION, parameters=definitions)
    (problem,) = distribution_problems(spec(), distribution)
    assert problem.endswith("requires: origin")
    assert distribution_problems(spec(parameters=[{"name": "origin", "value": "o"}]), distribution) == []


def test_parameters_that_the_distribution_does_not_define_are_told() -> None:
    distribution = replace(DISTRIBUTION, parameters=(ParameterDefinition("tier", required=False),))
    given = [{"name": name, "value": "1"} for name in ("tier", "teir", "colour")]
    (problem,) = distribution_problems(spec(parameters=given), distribution)
    assert (
        problem
        == "spec.parameters has parameters that distribution E1 does not define: colour, teir; it defines tier"
    )
    (problem,) = distribution_problems(spec(parameters=given[:1]), DISTRIBUTION)
    assert problem.endswith("does not define: tier; it defines none")


@pytest.mark.parametrize(("mode", "is_refused"), [("tenant-only", False), ("", False), ("direct", True)])
def test_distribution_must_take_tenants(mode: str, is_refused: bool) -> None:
    problems = distribution_problems(spec(), replace(DISTRIBUTION, connection_mode=mode))
    assert [("cannot have tenants" in problem) for problem in problems] == [True] * is_refused


@pytest.mark.parametrize(
    ("wanted", "present", "told"),
    [
        pytest.param(46, 0, "", id="with our mark as many as AWS allows"),
        pytest.param(
            47,
            0,
            "spec.tags: 47 tags plus 4 ownership tags are 51, and AWS allows 50: remove 1",
            id="one too many",
        ),
        pytest.param(40, 6, "", id="with others as many as AWS allows"),
        pytest.param(40, 9, "plus 9 set by others are 53, and AWS allows 50: remove 3", id="others"),
    ],
)
def test_tags_are_as_many_as_aws_allows(wanted: int, present: int, told: str) -> None:
    owner = Owner("c", "ns", "shop", "1")
    tags = [{"key": f"k{number}"} for number in range(wanted)]
    there = {f"other{number}": "" for number in range(present)} | {"k0": "", **owner.tags()}
    problems = list(tag_count_problems(spec(tags=tags).tags, owner, there))
    assert len(problems) == bool(told)
    assert all(told in problem for problem in problems)


def _refusals(guards: Guards, *domains: str, namespace: str = "shop", **fields: Any) -> list[str]:
    return list(guards.refusals(namespace, spec(*domains, **fields)))


def test_without_guards_everything_is_allowed() -> None:
    assert _refusals(Guards(), "a.io", dns={**DNS, "assumeRoleArn": ROLE}) == []


@pytest.mark.parametrize(("allowed", "is_refused"), [({ROLE}, False), ({"arn:other"}, True), (set(), True)])
def test_only_listed_roles_may_be_used(allowed: set[str], is_refused: bool) -> None:
    guards = Guards(role_arns=frozenset(allowed))
    assert bool(_refusals(guards, dns={**DNS, "assumeRoleArn": ROLE})) == is_refused
    assert not _refusals(guards, dns=DNS), "a zone of our own needs no role"


@pytest.mark.parametrize(("allowed", "is_refused"), [({"Z1"}, False), ({"Z2"}, True), (set(), True)])
def test_only_listed_zones_may_be_written(allowed: set[str], is_refused: bool) -> None:
    guards = Guards(hosted_zones=frozenset(allowed))
    assert bool(_refusals(guards, dns=DNS)) == is_refused
    assert not _refusals(guards)


def test_zone_is_the_same_with_the_prefix_that_the_api_puts_before_it() -> None:
    guards = Guards(hosted_zones=frozenset({"Z1"}))
    assert not _refusals(guards, dns={**DNS, "hostedZoneId": "/hostedzone/Z1"})


@pytest.mark.parametrize(("allowed", "is_refused"), [({"E1"}, False), ({"E2"}, True)])
def test_only_listed_distributions_may_be_used(allowed: set[str], is_refused: bool) -> None:
    assert bool(_refusals(Guards(distributions=frozenset(allowed)))) == is_refused


@pytest.mark.parametrize(("allowed", "is_refused"), [({"cg_1"}, False), ({"cg_2"}, True)])
def test_only_listed_connection_groups_may_be_named(allowed: set[str], is_refused: bool) -> None:
    guards = Guards(connection_groups=frozenset(allowed))
    assert bool(_refusals(guards, connectionGroupId="cg_1")) == is_refused
    assert not _refusals(guards), "the account's default group needs no name"


@pytest.mark.parametrize(
    ("guards", "told"),
    [
        (Guards(), []),
        (Guards(frozenset({ROLE}), frozenset({"Z1"})), []),
        (Guards(role_arns=frozenset()), ["status.inventory[CNAME shop.example.com].role"]),
        (Guards(hosted_zones=frozenset({"Z2"})), ["status.inventory[CNAME shop.example.com].zone"]),
    ],
)
def test_what_was_written_is_reached_only_as_allowed(guards: Guards, told: list[str]) -> None:
    refusals = guards.inventory_refusals([record(role=ROLE)])
    assert [refusal.split(" '")[0] for refusal in refusals] == told


def test_inventory_that_nobody_of_ours_wrote_is_a_problem() -> None:
    assert inventory_problems([record(role=ROLE)]) == []
    zone, role = inventory_problems([record(zone="Z1/../Z2", role="role/dns")])
    assert "hosted zone" in zone
    assert "ARN of a role" in role


@pytest.mark.parametrize(
    ("domain", "namespace", "is_refused"),
    [
        ("shop.example.com", "shop", False),
        ("a.shop.example.com", "shop", False),
        ("*.shop.example.com", "shop", False),
        ("A.SHOP.example.com.", "shop", False),
        ("notshop.example.com", "shop", True),
        ("example.com", "shop", True),
        ("*.example.com", "shop", True),
        ("shop.example.com.evil.io", "shop", True),
        ("x.public.example.com", "other", False),
        ("shop.example.com", "other", True),
    ],
)
def test_hostnames_belong_to_namespaces(domain: str, namespace: str, is_refused: bool) -> None:
    guards = Guards(hostnames={"shop": ("shop.example.com",), "*": ("public.example.com",)})
    assert bool(_refusals(guards, domain, namespace=namespace)) == is_refused


def test_namespace_that_nobody_has_named_may_have_no_hostname() -> None:
    (refusal,) = _refusals(Guards(hostnames={"shop": ("shop.io",)}), "a.io", namespace="other")
    assert "none at all" in refusal
