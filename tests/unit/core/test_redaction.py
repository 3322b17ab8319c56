"""Redaction: canaries do not come through, prose does, and nothing makes it raise or hang."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from edgekeeper.core.redaction import (
    DEEPEST,
    LONGEST_TEXT,
    MOST_VALUES,
    REDACTED,
    is_secret_key,
    redact,
    redact_text,
)

CANARY = "c4n4ryC4N4RYc4n4ry"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{CANARY}\n{CANARY}"
JWT = f"eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.{CANARY}"


# Names


@pytest.mark.parametrize(
    "key",
    [
        *(
            "password",
            "passwd",
            "Authorization",
            "Proxy-Authorization",
            "Cookie",
            "Set-Cookie",
            "token",
            "access_token",
        ),
        *(
            "client_secret",
            "clientSecret",
            "CF-Access-Client-Secret",
            "tunnel_secret",
            "AWS_SECRET_ACCESS_KEY",
        ),
        *(
            "X-Auth-Key",
            "api_key",
            "apiKey",
            "x-api-key",
            "privateKey",
            "tls.key",
            "client-key-data",
            "stringData",
        ),
        *("credentials_file", ".dockerconfigjson", "X-Amz-Signature", "X-Amz-Security-Token", "passphrase"),
        "kubectl.kubernetes.io/last-applied-configuration",
    ],
)
def test_secret_names_are_known(key: str) -> None:
    assert is_secret_key(key)
    assert redact({key: CANARY}) == {key: REDACTED}


@pytest.mark.parametrize(
    "key",
    [
        *(
            "name",
            "namespace",
            "secretName",
            "secretRef",
            "tokenId",
            "token_id",
            "token-count",
            "credentialRef",
            "validationTokenHost",
        ),
        *(
            "secretNamespace",
            "passwordPolicy",
            "certificateArn",
            "key",
            "data",
            "kind",
            "expires",
            "client_id",
        ),
    ],
)
def test_names_that_only_point_at_secrets_are_shown(key: str) -> None:
    assert not is_secret_key(key)
    assert redact({key: "shop"}) == {key: "shop"}


# Trees


@pytest.mark.parametrize(
    "tree",
    [
        pytest.param({"headers": {"Authorization": f"Bearer {CANARY}"}}, id="a header"),
        pytest.param({"headers": [("authorization", CANARY), ["x-api-key", CANARY]]}, id="headers as pairs"),
        pytest.param({"kind": "Secret", "data": {"a": CANARY}, "stringData": {"b": CANARY}}, id="a Secret"),
        pytest.param([{"env": [{"name": "DB_PASSWORD", "value": CANARY}]}], id="an environment variable"),
        pytest.param({"credentials": {"user": CANARY, "deep": [CANARY]}}, id="an object of secrets"),
        pytest.param({"tokens": [CANARY, {"a": CANARY}]}, id="a list of secrets"),
        pytest.param(
            {"token": {str(number): CANARY for number in range(101)}}, id="a large object of secrets"
        ),
        pytest.param({"body": f'{{"result": {{"client_secret": "{CANARY}"}}}}'.encode()}, id="bytes"),
        pytest.param({"error": ValueError(f"bad token={CANARY}")}, id="an exception"),
        pytest.param({1: {("a",): f"password={CANARY}"}}, id="odd keys"),
        pytest.param({"a": {f"token={CANARY}": 1}}, id="a secret as a key"),
        pytest.param({f"password={CANARY}"}, id="a set"),
        pytest.param((frozenset([JWT]), PEM), id="a tuple"),
        pytest.param({"password": CANARY.encode()}, id="secret bytes"),
    ],
)
def test_canaries_do_not_come_through_trees(tree: Any) -> None:
    assert CANARY not in str(redact(tree))


def test_what_is_not_secret_stays_as_it_is() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    line = {
        "event": "Reconciliation completed",
        "generation": 3,
        "ratio": 0.5,
        "paused": False,
        "owner": None,
        "at": moment,
        "took": timedelta(seconds=2),
        "changes": [{"path": "domains[example.com]", "before": None, "after": "example.com"}],
    }
    assert redact(line) == line


def test_there_being_a_secret_may_be_known() -> None:
    tree = {
        "token": "",
        "password": None,
        "serviceToken": True,
        "tokens": 3,
        "kind": "Secret",
        "data": {"a": "x"},
    }
    assert redact(tree) == {**tree, "data": {"a": REDACTED}}


def test_the_tree_itself_is_left_alone() -> None:
    tree = {"token": "x", "list": [{"password": "y"}]}
    redact(tree)
    assert tree == {"token": "x", "list": [{"password": "y"}]}


# Texts


@pytest.mark.parametrize(
    "text",
    [
        PEM,
        f"{PEM}\n-----END RSA PRIVATE KEY-----",
        f"-----BEGIN PRIVATE KEY-----\n{CANARY}",
        JWT,
        f"Authorization: Bearer {CANARY}",
        f"authorization=Basic {CANARY}==",
        f'{{"Authorization": "Bearer {CANARY}"}}',
        f"AUTHORIZATION: AWS4-HMAC-SHA256 Credential={CANARY}, Signature={CANARY}",
        f"sent bearer {CANARY} to host",
        f"Cookie: session={CANARY}; theme=dark",
        f"https://user:{CANARY}@example.com/path",
        f"https://:{CANARY}@example.com",
        f"GET /?access_token={CANARY}&page=2",
        f"https://s3.example.com/key?X-Amz-Signature={CANARY}",
        f"PGPASSWORD={CANARY} psql",
        f"--token={CANARY}",
        f"api_key='{CANARY} with spaces'",
        f'password="it\'s {CANARY}"',
        f'{{"client_secret":"{CANARY}","name":"x"}}',
        f"{{'client_secret': '{CANARY}'}}",
        f'{{"secret": "a\\"b{CANARY}"}}',
        f'error: "{{\\"token\\": \\"{CANARY}\\"}}"',
        f"password: {CANARY}",
        f"secret: '{CANARY}'",
        f"ghp_{CANARY}",
        f"token was cfut_{CANARY}{CANARY}",
    ],
)
def test_canaries_do_not_come_through_texts(text: str) -> None:
    assert CANARY not in redact_text(text)
    assert REDACTED in redact_text(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("token=x", "token=[redacted]"),
        ("://u:p@h", "://[redacted]@h"),
        ("basic a2345678", "basic [redacted]"),
        ("token: a2345678", "token: [redacted]"),
        ("eyJ45678.01234567", "eyJ45678.01234567"),
        ("eyJ4567890.01234567", "eyJ4567890.01234567"),
        ("eyJ45678901.12345678", REDACTED),
        ("ghp_567890123456789", "ghp_567890123456789"),
        ("ghp_5678901234567890", REDACTED),
    ],
)
def test_shortest_secrets_are_found(text: str, shown: str) -> None:
    assert redact_text(text) == shown


def test_key_ids_of_aws_do_not_come_through() -> None:
    assert redact_text("key AKIAIOSFODNN7EXAMPLE was refused") == f"key {REDACTED} was refused"


@pytest.mark.parametrize(
    "text",
    [
        "cannot read secret: not found",
        'secrets "web-cfzt-service-token" not found',
        "Secret shop/web-cfzt-service-token was written",
        "The security token included in the request is invalid",
        "InvalidClientTokenId: The security token included in the request is invalid.",
        "token: expired",
        "basic authentication failed",
        "bearer of bad news",
        "authorization: user cannot list widgets",
        "secretName=web, tokenId=12345678, secretName: web-20260101",
        "see https://example.com:8443/path?page=2#a@b",
        "arn:aws:cloudfront::123456789012:distribution-tenant/dt_2wjM4rGm1Lq",
        "domains[example.com] added; enabled: false → true",
        "cookie: none",
        "e5b7c1c0-0000-4000-8000-000000000000",
        "ASIA PACIFIC",
    ],
)
def test_prose_comes_through_word_for_word(text: str) -> None:
    assert redact_text(text) == text


def test_only_the_secret_goes() -> None:
    told = redact_text("PUT https://u:p@h/x?token=abc&page=2 failed: password: a1b2c3d4e5 is wrong")
    assert told == (
        "PUT https://[redacted]@h/x?token=[redacted]&page=2 failed: password: [redacted] is wrong"
    )


FRAGMENTS = st.lists(
    st.sampled_from(
        [
            *(
                "token",
                "secret=",
                "password: ",
                "a1b2c3d4e5",
                '"',
                "'",
                "\\",
                " ",
                "=",
                ":",
                "&",
                "\n",
                "://",
                "u:p@h",
            ),
            *(
                "Bearer ",
                "Authorization: ",
                "Cookie: a=",
                "-----BEGIN PRIVATE KEY-----",
                "eyJabcdefgh.",
                REDACTED,
            ),
        ]
    ),
    max_size=12,
).map("".join)


@given(FRAGMENTS | st.text())
@example('"token": "\\')
def test_redacted_text_holds_nothing_more_to_redact(text: str) -> None:
    once = redact_text(text)
    assert redact_text(once) == once


# It must not fail


class Hostile:
    def __str__(self) -> NoReturn:
        raise RuntimeError("no text for you")


class HostileMapping(Mapping[str, str]):
    def __getitem__(self, key: str) -> NoReturn:
        raise RuntimeError("no value for you")

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        return 1


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param(Hostile(), "[cannot be shown]", id="an object without a text"),
        pytest.param(
            {"a": [Hostile()], "b": 1}, {"a": ["[cannot be shown]"], "b": 1}, id="such an object in a tree"
        ),
        pytest.param(HostileMapping(), "[cannot be shown]", id="a mapping that raises"),
        pytest.param(b"abc", "[3 bytes]", id="bytes"),
    ],
)
def test_whatever_it_is_given_it_does_not_raise(value: Any, shown: Any) -> None:
    assert redact(value) == shown


@pytest.mark.parametrize("wrap", [lambda inner: [inner], lambda inner: {"a": inner}], ids=["list", "dict"])
def test_depth_is_cut(wrap: Callable[[Any], Any]) -> None:
    tree: Any = "leaf"
    for _ in range(DEEPEST):
        tree = wrap(tree)
    assert redact(tree) == tree
    assert redact(wrap(wrap(tree))) != wrap(wrap(tree))
    assert "[nested too deeply]" in str(redact(wrap(wrap(tree))))


def test_cycles_are_cut() -> None:
    cycle: dict[str, Any] = {"list": []}
    cycle["list"].append(cycle)
    assert "[nested too deeply]" in str(redact(cycle))
    bush: dict[str, Any] = {}
    bush.update({str(number): bush for number in range(50)})
    assert len(str(redact(bush))) < 100 * MOST_VALUES


def test_size_is_cut_at_the_limit_and_not_before() -> None:
    assert redact(["x"] * (MOST_VALUES - 1)) == ["x"] * (MOST_VALUES - 1)
    assert redact(["x"] * MOST_VALUES)[-1] == "[too much to show]"


@pytest.mark.parametrize(
    "tree", [["x"] * 100_000, dict.fromkeys(map(str, range(100_000)), "x")], ids=["list", "dict"]
)
def test_size_is_cut(tree: Any) -> None:
    shown = redact(tree)
    assert len(shown) <= MOST_VALUES + 1
    assert "[too much to show]" in shown


def test_text_is_cut() -> None:
    assert redact_text("x" * 10**6) == "x" * (LONGEST_TEXT - 1) + "…"


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "a",
            "token",
            "secret ",
            "token: aaaaaaaa",
            "token=",
            'token="',
            '\\"token\\":\\"',
            "bearer a",
            "eyJ-",
            "eyJa.",
        ),
        *(
            "://",
            "://a:",
            "-----BEGIN PRIVATE KEY-----",
            "-----BEGIN ",
            "cookie: a",
            "authorization: basic ",
            "ghp_-",
        ),
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    hostile = ("token=://" + piece * LONGEST_TEXT)[:LONGEST_TEXT]
    started = time.process_time()
    redact_text(hostile)
    took = (
        time.process_time() - started
    )  # some 20 ms; what grows with the square of the length takes many seconds
    assert took < 1


TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False)
    | st.text(max_size=9)
    | st.sampled_from([CANARY, JWT, PEM]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "token"]), inner),
    max_leaves=8,
)


@given(TREES)
def test_redacted_trees_hold_nothing_more_to_redact(tree: Any) -> None:
    once = redact(tree)
    assert redact(once) == once
