"""Credentials and the users they stand for: static tokens, service account tokens, certificates, impersonation."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import given
from hypothesis import strategies as st

from kubesim.plane.auth.access import GuardedAccess, OpenAccess
from kubesim.plane.auth.authentication import ADMIN, ANONYMOUS, Authenticator
from kubesim.plane.auth.authorization import AlwaysAllow, Attributes, Authorizer, Decision
from kubesim.plane.auth.certificates import CertificateAuthority, KeyPair, new_key
from kubesim.plane.auth.impersonation import impersonate
from kubesim.plane.auth.tokens import (
    ISSUER,
    ServiceAccount,
    ServiceAccountTokens,
    TokenError,
    account_of_user,
)
from kubesim.plane.errors import StatusError
from kubesim.plane.request import Request, User
from kubesim.plane.requestinfo import parse_request_info

NOW = datetime(2030, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
ALICE = User("alice", ("devs",))
ROBOT = ServiceAccount("apps", "robot", "uid-1")


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def accounts() -> dict[tuple[str, str], str]:
    return {("apps", "robot"): "uid-1"}


@pytest.fixture
def tokens(accounts: dict[tuple[str, str], str]) -> ServiceAccountTokens:
    return ServiceAccountTokens(new_key(), lambda namespace, name: accounts.get((namespace, name)))


@pytest.fixture(scope="module")
def authority() -> CertificateAuthority:
    return CertificateAuthority.create(NOW)


@pytest.fixture
def authenticator(
    authority: CertificateAuthority, tokens: ServiceAccountTokens, clock: Clock
) -> Authenticator:
    return Authenticator({"letmein": ALICE}, authority, tokens, clock)


def bearing(token: str) -> Request:
    return Request("GET", "/api", headers={"authorization": f"Bearer {token}"})


def presenting(pair: KeyPair, **headers: str) -> Request:
    der = x509.load_pem_x509_certificate(pair.certificate).public_bytes(Encoding.DER)
    return Request("GET", "/api", headers=headers, peer_certificate=der)


# --- static tokens and anonymity ---


def test_static_token_gives_its_user_and_the_authenticated_group(authenticator: Authenticator) -> None:
    user = authenticator.authenticate(bearing("letmein"))
    assert (user.name, user.groups) == ("alice", ("devs", "system:authenticated"))


@pytest.mark.parametrize(
    "header", ["Bearer letmein", "bearer letmein", "  BEARER letmein  ", "Bearer letmein x"]
)
def test_bearer_scheme_is_read_leniently(authenticator: Authenticator, header: str) -> None:
    assert authenticator.authenticate(Request("GET", "/", headers={"authorization": header})).name == "alice"


@pytest.mark.parametrize("header", ["", "Basic YWxpY2U6eA==", "Bearer", "Bearer  letmein", "letmein"])
def test_request_without_credentials_is_anonymous(authenticator: Authenticator, header: str) -> None:
    assert authenticator.authenticate(Request("GET", "/", headers={"authorization": header})) == ANONYMOUS


@pytest.mark.parametrize(
    "token", ["wrong", "a.b.c", "…", "é.é.é", "e30.e30.e30", "..", "\udcff.\udcff.\udcff"]
)
def test_unknown_token_is_unauthorized(authenticator: Authenticator, token: str) -> None:
    with pytest.raises(StatusError) as refusal:
        authenticator.authenticate(bearing(token))
    assert refusal.value.status()["code"] == 401
    assert refusal.value.status()["message"] == "Unauthorized"


# --- client certificates ---


def test_certificate_gives_user_and_groups(
    authenticator: Authenticator, authority: CertificateAuthority
) -> None:
    user = authenticator.authenticate(presenting(authority.issue_client("bob", ["ops", "qa"], NOW)))
    assert (user.name, user.groups) == ("bob", ("ops", "qa", "system:authenticated"))
    (credential,) = user.extra["authentication.kubernetes.io/credential-id"]
    assert credential.startswith("X509SHA256=")


def test_certificate_comes_before_a_token(
    authenticator: Authenticator, authority: CertificateAuthority
) -> None:
    request = presenting(authority.issue_client("bob", [], NOW), authorization="Bearer wrong")
    assert authenticator.authenticate(request).name == "bob"


def test_token_helps_out_a_bad_certificate(authenticator: Authenticator) -> None:
    stranger = CertificateAuthority.create(NOW).issue_client("bob", [], NOW)
    assert authenticator.authenticate(presenting(stranger, authorization="Bearer letmein")).name == "alice"


@pytest.mark.parametrize("age", [timedelta(days=400), timedelta(days=-1)], ids=["expired", "not yet valid"])
def test_certificate_counts_only_while_it_is_valid(
    authenticator: Authenticator, authority: CertificateAuthority, clock: Clock, age: timedelta
) -> None:
    request = presenting(authority.issue_client("bob", [], NOW))
    assert authenticator.authenticate(request).name == "bob"
    clock.now = NOW + age
    with pytest.raises(StatusError, match="Unauthorized"):
        authenticator.authenticate(request)


def test_certificate_of_a_stranger_is_unauthorized(authenticator: Authenticator) -> None:
    stranger = CertificateAuthority.create(NOW).issue_client("bob", ["system:masters"], NOW)
    with pytest.raises(StatusError, match="Unauthorized"):
        authenticator.authenticate(presenting(stranger))


def test_certificate_without_a_name_is_unauthorized(authority: CertificateAuthority) -> None:
    class Nameless(CertificateAuthority):
        def recognise_client(self, der: bytes) -> x509.Certificate | None:
            return x509.load_der_x509_certificate(der)

    nameless = _certificate_without_name()
    with pytest.raises(StatusError, match="Unauthorized"):
        Authenticator({}, Nameless.load(authority.pair)).authenticate(presenting(nameless))


def _certificate_without_name() -> KeyPair:
    key = new_key()
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([]))
        .issuer_name(x509.Name([]))
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(NOW)
        .not_valid_after(NOW + HOUR)
        .sign(key, hashes.SHA256())
    )
    return KeyPair(certificate.public_bytes(Encoding.PEM), b"")


# --- service account tokens ---


def test_service_account_token_gives_the_account(
    authenticator: Authenticator, tokens: ServiceAccountTokens
) -> None:
    user = authenticator.authenticate(bearing(tokens.issue_token(ROBOT, (), HOUR, NOW)))
    assert user.name == "system:serviceaccount:apps:robot"
    assert user.uid == "uid-1"
    assert user.groups == ("system:serviceaccounts", "system:serviceaccounts:apps", "system:authenticated")
    (credential,) = user.extra["authentication.kubernetes.io/credential-id"]
    assert credential.startswith("JTI=")


def test_service_account_token_has_the_claims_programs_read(tokens: ServiceAccountTokens) -> None:
    header, payload, signature = tokens.issue_token(ROBOT, ["vault"], HOUR, NOW).split(".")
    claims = msgspec.json.decode(unbase64(payload))
    jti = claims.pop("jti")
    issued = int(NOW.timestamp())
    assert claims == {
        "aud": ["vault"],
        "exp": issued + 3600,
        "iat": issued,
        "nbf": issued,
        "iss": ISSUER,
        "sub": "system:serviceaccount:apps:robot",
        "kubernetes.io": {"namespace": "apps", "serviceaccount": {"name": "robot", "uid": "uid-1"}},
    }
    assert jti
    assert msgspec.json.decode(unbase64(header))["alg"] == "ES256"
    assert len(unbase64(signature)) == 64


def unbase64(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def test_service_account_token_expires(
    authenticator: Authenticator, tokens: ServiceAccountTokens, clock: Clock
) -> None:
    request = bearing(tokens.issue_token(ROBOT, (), HOUR, NOW))
    clock.now = NOW + HOUR
    assert authenticator.authenticate(request).name.endswith("robot")
    clock.now = NOW + HOUR + timedelta(minutes=2)
    with pytest.raises(StatusError, match="Unauthorized"):
        authenticator.authenticate(request)


REJECTIONS: dict[str, tuple[Callable[[dict[tuple[str, str], str]], object], timedelta, str]] = {
    "expired": (lambda _: None, 2 * HOUR, "service account token has expired"),
    "early": (lambda _: None, -HOUR, "service account token is not valid yet"),
    "account gone": (lambda accounts: accounts.clear(), timedelta(0), 'serviceaccounts "robot" not found'),
    "account made anew": (
        lambda accounts: accounts.update({("apps", "robot"): "uid-2"}),
        timedelta(0),
        r"service account UID \(uid-2\) does not match claim \(uid-1\)",
    ),
}


@pytest.mark.parametrize(("change", "later", "why"), REJECTIONS.values(), ids=REJECTIONS)
def test_service_account_token_is_rejected(
    tokens: ServiceAccountTokens,
    accounts: dict[tuple[str, str], str],
    change: Callable[[dict[tuple[str, str], str]], object],
    later: timedelta,
    why: str,
) -> None:
    token = tokens.issue_token(ROBOT, (), HOUR, NOW)
    assert tokens.verify(token, (), NOW) is not None
    change(accounts)
    with pytest.raises(TokenError, match=why):
        tokens.verify(token, (), NOW + later)


def test_service_account_token_is_only_good_for_its_audiences(tokens: ServiceAccountTokens) -> None:
    token = tokens.issue_token(ROBOT, ["vault", "registry"], HOUR, NOW)
    verified = tokens.verify(token, ["registry", "other"], NOW)
    assert verified is not None
    assert verified.audiences == ("registry",)
    with pytest.raises(TokenError) as rejection:
        tokens.verify(token, (), NOW)
    expected = f'token audiences ["vault" "registry"] is invalid for the target audiences ["{ISSUER}"]'
    assert str(rejection.value) == expected


def test_token_of_another_cluster_is_rejected(tokens: ServiceAccountTokens) -> None:
    other = ServiceAccountTokens(new_key(), lambda _namespace, _name: "uid-1")
    with pytest.raises(TokenError, match="invalid signature"):
        tokens.verify(other.issue_token(ROBOT, (), HOUR, NOW), (), NOW)


def test_unsigned_token_is_rejected(tokens: ServiceAccountTokens) -> None:
    payload = tokens.issue_token(ROBOT, (), HOUR, NOW).split(".")[1]
    header = urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()
    with pytest.raises(TokenError, match="no keys found"):
        tokens.verify(f"{header}.{payload}.", (), NOW)


@given(data=st.data())
def test_tampered_token_never_verifies_as_somebody_else(data: st.DataObject) -> None:
    tokens = _KNOWN_TOKENS
    token = _KNOWN_TOKEN
    position = data.draw(st.integers(0, len(token) - 1))
    letter = data.draw(st.characters(codec="ascii"))
    tampered = token[:position] + letter + token[position + 1 :]
    try:
        verified = tokens.verify(tampered, (), NOW)
    except TokenError:
        return
    assert verified is None or verified.user.name == ROBOT.user_name


_KNOWN_TOKENS = ServiceAccountTokens(new_key(), lambda _namespace, _name: "uid-1")
_KNOWN_TOKEN = _KNOWN_TOKENS.issue_token(ROBOT, (), HOUR, NOW)


@pytest.mark.parametrize(
    ("name", "account"),
    [
        ("system:serviceaccount:apps:robot", ServiceAccount("apps", "robot")),
        ("system:serviceaccount:apps:ro.bot", ServiceAccount("apps", "ro.bot")),
        ("system:serviceaccount:apps:robot:x", None),
        ("system:serviceaccount:apps:", None),
        ("system:serviceaccount:apps", None),
        ("system:serviceaccount:Apps:robot", None),
        ("system:serviceaccount:a.b:robot", None),
        ("alice", None),
    ],
)
def test_user_name_of_a_service_account_is_recognised(name: str, account: ServiceAccount | None) -> None:
    assert account_of_user(name) == account


# --- impersonation ---


class Only:
    """Allows exactly what it is told to, and remembers what it was asked: verb, resource and name."""

    def __init__(self, *allowed: str) -> None:
        self.allowed = allowed
        self.asked: list[str] = []

    def authorize(self, attributes: Attributes) -> Decision:
        resource = f"{attributes.combined_resource}.{attributes.group}".rstrip(".")
        where = f" in {attributes.namespace}" if attributes.namespace else ""
        self.asked.append(f"{attributes.verb} {resource} {attributes.name or '*'}{where}")
        return Decision(self.asked[-1] in self.allowed)

    rules_for = AlwaysAllow.rules_for
    rules_of = AlwaysAllow.rules_of


def posing(**headers: str) -> Request:
    return Request.of("GET", "/api/v1/pods", b"", **headers)


def act(authorizer: Authorizer, **headers: str) -> User:
    request = posing(**headers)
    return impersonate(authorizer, ALICE, request, parse_request_info(request))


AS_BOB = {
    "impersonate_user": "bob",
    "impersonate_group": "ops\nqa",
    "impersonate_uid": "7",
    "impersonate-extra-a%2fb": "x\ny",
}
BOB = User("bob", ("ops", "qa", "system:authenticated"), "7", {"a/b": ("x", "y")})


def test_request_without_impersonation_acts_for_its_caller() -> None:
    assert act(Only(), accept="*/*") is ALICE


WAYS = {
    "legacy": [
        "impersonate users bob",
        "impersonate uids.authentication.k8s.io 7",
        "impersonate groups ops",
        "impersonate groups qa",
        "impersonate userextras/a/b.authentication.k8s.io x",
        "impersonate userextras/a/b.authentication.k8s.io y",
    ],
    "constrained": [
        "impersonate-on:user-info:list pods *",
        "impersonate:user-info users.authentication.k8s.io bob",
        "impersonate:user-info uids.authentication.k8s.io 7",
        "impersonate:user-info groups.authentication.k8s.io ops",
        "impersonate:user-info groups.authentication.k8s.io qa",
        "impersonate:user-info userextras/a/b.authentication.k8s.io x",
        "impersonate:user-info userextras/a/b.authentication.k8s.io y",
    ],
}


@pytest.mark.parametrize("needed", WAYS.values(), ids=WAYS)
def test_impersonation_needs_leave_for_every_part(needed: list[str]) -> None:
    allowed = Only(*needed)
    assert act(allowed, **AS_BOB) == BOB
    assert allowed.asked[-len(needed) :] == needed
    for missing in needed:
        with pytest.raises(StatusError, match="cannot impersonate"):
            act(Only(*(one for one in needed if one != missing)), **AS_BOB)


def test_impersonation_without_leave_is_forbidden() -> None:
    with pytest.raises(StatusError) as refusal:
        act(Only(), impersonate_user="bob")
    assert refusal.value.code == 403
    assert refusal.value.message == (
        'pods is forbidden: User "alice" cannot impersonate-on:user-info:list resource "pods" '
        'in API group "" at the cluster scope'
    )


def test_legacy_impersonation_tells_which_part_was_refused() -> None:
    request = {"impersonate_user": "system:serviceaccount:apps:robot", "impersonate_group": "ops"}
    with pytest.raises(StatusError) as refusal:
        act(Only("impersonate serviceaccounts robot in apps"), **request)
    assert refusal.value.message == (
        'groups "ops" is forbidden: User "alice" cannot impersonate resource "groups" '
        'in API group "" at the cluster scope'
    )


RULED_OUT = {
    "masters": (
        {"impersonate_group": "system:masters"},
        "impersonating the system:masters group is not allowed",
    ),
    "empty group": ({"impersonate_group": ""}, "impersonating the empty string group is not allowed"),
    "empty value": (
        {"impersonate-extra-a%2fb": ""},
        "impersonating the empty string value in extra is not allowed",
    ),
    "bare key": ({"impersonate-extra-a": "x"}, "impersonating an invalid key in extra is not allowed"),
}


@pytest.mark.parametrize(("headers", "why"), RULED_OUT.values(), ids=RULED_OUT)
def test_constrained_impersonation_has_limits(headers: dict[str, str], why: str) -> None:
    class Constrained(AlwaysAllow):
        def authorize(self, attributes: Attributes) -> Decision:
            return Decision(attributes.verb != "impersonate")

    with pytest.raises(StatusError, match=why):
        act(Constrained(), impersonate_user="bob", **headers)
    assert act(AlwaysAllow(), impersonate_user="bob", **headers).name == "bob"


@pytest.mark.parametrize(
    "needed",
    [
        ["impersonate serviceaccounts robot in apps"],
        [
            "impersonate-on:serviceaccount:list pods *",
            "impersonate:serviceaccount serviceaccounts.authentication.k8s.io robot in apps",
        ],
    ],
    ids=WAYS,
)
def test_impersonated_service_account_brings_its_groups(needed: list[str]) -> None:
    acting = act(Only(*needed), impersonate_user="system:serviceaccount:apps:robot")
    assert acting.groups == ("system:serviceaccounts", "system:serviceaccounts:apps", "system:authenticated")


def test_impersonated_node_is_a_node_in_the_constrained_way_only() -> None:
    node = {"impersonate_user": "system:node:n1"}
    constrained = Only(
        "impersonate-on:arbitrary-node:list pods *",
        "impersonate:arbitrary-node nodes.authentication.k8s.io n1",
    )
    assert act(constrained, **node).groups == ("system:nodes", "system:authenticated")
    legacy = Only("impersonate users system:node:n1")
    assert act(legacy, **node).groups == ("system:authenticated",)


@pytest.mark.parametrize(
    ("user", "groups", "expected"),
    [
        ("bob", "system:unauthenticated", ("system:unauthenticated",)),
        ("bob", "system:authenticated\nqa", ("system:authenticated", "qa")),
        ("bob", "qa", ("qa", "system:authenticated")),
        ("system:anonymous", "qa", ("qa", "system:unauthenticated")),
        ("system:anonymous", "system:unauthenticated", ("system:unauthenticated",)),
    ],
)
def test_impersonated_user_is_marked_as_authenticated_or_not(
    user: str, groups: str, expected: tuple[str, ...]
) -> None:
    assert act(AlwaysAllow(), impersonate_user=user, impersonate_group=groups).groups == expected


@pytest.mark.parametrize(
    ("headers", "shown"),
    [
        (
            {"impersonate_group": "ops"},
            'UID:"", Groups:[]string{"ops"}, Extra:map[string][]string(nil)',
        ),
        (
            {"impersonate_uid": "7", "impersonate-extra-a%2fb": "x"},
            'UID:"7", Groups:[]string(nil), Extra:map[string][]string{"a/b":[]string{"x"}}',
        ),
    ],
)
def test_impersonation_without_a_user_is_a_bad_request(headers: dict[str, str], shown: str) -> None:
    with pytest.raises(StatusError) as refusal:
        act(AlwaysAllow(), **headers)
    assert refusal.value.code == 400
    assert refusal.value.message == (
        f'requested &user.DefaultInfo{{Name:"", {shown}}} without impersonating a user name'
    )


# --- the gate ---


def test_open_access_makes_everybody_admin(authenticator: Authenticator) -> None:
    request = bearing("wrong")
    assert OpenAccess(authenticator).admit(request, parse_request_info(request)) == ADMIN


def test_open_access_honours_impersonation(authenticator: Authenticator) -> None:
    request = posing(impersonate_user="bob")
    assert OpenAccess(authenticator).admit(request, parse_request_info(request)).name == "bob"


def test_guarded_access_refuses_what_nobody_allows(authenticator: Authenticator) -> None:
    class Deny(AlwaysAllow):
        def authorize(self, attributes: Attributes) -> Decision:
            return Decision(False, "because")

    request = Request("GET", "/readyz", headers={"authorization": "Bearer letmein"})
    with pytest.raises(StatusError) as refusal:
        GuardedAccess(authenticator, Deny()).admit(request, parse_request_info(request))
    assert refusal.value.code == 403
    assert refusal.value.message == 'forbidden: User "alice" cannot get path "/readyz": because'


def test_guarded_access_lets_the_allowed_through(authenticator: Authenticator) -> None:
    request = bearing("letmein")
    assert (
        GuardedAccess(authenticator, AlwaysAllow()).admit(request, parse_request_info(request)).name
        == "alice"
    )
