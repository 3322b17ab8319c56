"""Named formats: what is wrong with a text, in the API server's words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel.environments import kro
from kubecel.library.kubernetes.named_format import FORMATS
from packages.kubecel.tests.library.evaluating import in_kubernetes, refusal

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LETTER_LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and "
    "end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
NAME = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("dns1123Label", "my-name"),
        ("dns1123Label", "0"),
        ("dns1123Label", "a" * 63),
        ("dns1123Subdomain", "a.b-c.d"),
        ("dns1035Label", "a1-b"),
        ("dns1123LabelPrefix", "my-"),
        ("dns1123SubdomainPrefix", "a.b-"),
        ("dns1035LabelPrefix", "my-"),
        ("qualifiedName", "MyName"),
        ("qualifiedName", "example.com/My_Name.1"),
        ("labelValue", ""),
        ("labelValue", "My_Value-1.0"),
        ("uri", "https://example.com/x"),
        ("uri", "/path"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000"),
        ("uuid", "123E4567E89B12D3A456426614174000"),
        ("byte", "aGVsbG8="),
        ("date", "2024-02-29"),
        ("datetime", "2024-02-29T23:59:59Z"),
        ("datetime", "2024-02-29t23:59:59.123+01:00"),
    ],
)
def test_sound_text_has_no_problems(name: str, text: str) -> None:
    assert FORMATS[name].check(text) == []


@pytest.mark.parametrize(
    ("name", "text", "problems"),
    [
        ("dns1123Label", "", [LABEL]),
        ("dns1123Label", "A_", [LABEL]),
        ("dns1123Label", "-a", [LABEL]),
        ("dns1123Label", "a.b", ["must not contain dots"]),
        ("dns1123Label", "a" * 64, ["must be no more than 63 characters"]),
        ("dns1123Label", "é" * 40, ["must be no more than 63 characters", LABEL]),
        ("dns1123LabelPrefix", "-", [LABEL]),
        ("dns1123Subdomain", "a..b", [SUBDOMAIN]),
        ("dns1123Subdomain", "a" * 254, ["must be no more than 253 characters"]),
        ("dns1035Label", "1a", [LETTER_LABEL]),
        ("qualifiedName", "", ["name part must be non-empty", f"name part {NAME}"]),
        ("qualifiedName", "/b", ["prefix part must be non-empty"]),
        ("qualifiedName", "A/b", [f"prefix part {SUBDOMAIN}"]),
        ("qualifiedName", "a/" + "b" * 64, ["name part must be no more than 63 characters"]),
        (
            "qualifiedName",
            "a/b/c",
            [
                f"a valid label key {NAME} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            ],
        ),
        ("labelValue", "-", [LABEL_VALUE]),
        ("labelValue", "a" * 64, ["must be no more than 63 characters"]),
        ("uri", "x y", ['parse "x y": invalid URI for request']),
        ("uuid", "x", ["does not match the UUID format"]),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000\n", ["does not match the UUID format"]),
        ("byte", "a", ["invalid base64"]),
        ("byte", "", ["invalid base64"]),
        ("date", "2023-02-29", ["invalid date"]),
        ("date", "2023-2-9", ["invalid date"]),
        ("datetime", "2024-02-29", ["invalid datetime"]),
        ("datetime", "2024-02-29T24:00:00Z", ["invalid datetime"]),
    ],
)
def test_unsound_text_is_described_in_the_servers_words(name: str, text: str, problems: list[str]) -> None:
    assert FORMATS[name].check(text) == problems


@given(st.text(alphabet="aA0.-_/", max_size=12))
def test_names_follow_the_patterns_of_their_messages(text: str) -> None:
    label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
    assert bool(FORMATS["dns1123Label"].check(text)) == (re.fullmatch(label, text) is None)
    subdomain = re.fullmatch(rf"{label}(\.{label})*", text)
    assert bool(FORMATS["dns1123Subdomain"].check(text)) == (subdomain is None)
    value = re.fullmatch("(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?", text)
    assert bool(FORMATS["labelValue"].check(text)) == (value is None)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_a_function_and_a_name(name: str) -> None:
    assert in_kubernetes(f"format.{name}()") == FORMATS[name]
    assert in_kubernetes(f"format.named('{name}').value() == format.{name}()") is True


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("format.dns1123Label().validate('ok').hasValue()", False),
        ("format.dns1123Label().validate('a.b').value()", ["must not contain dots"]),
        ("!format.named('nothing').hasValue()", True),
        ("format.uuid() == format.date()", False),
    ],
)
def test_expressions_validate_texts(text: str, value: object) -> None:
    assert in_kubernetes(text) == value


def test_formats_are_not_in_kro() -> None:
    assert "undeclared reference" in refusal("format.uuid()", kro())


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("text", ["a" * 200_001, "-" * 200_000, "a." * 100_000, "a-" * 100_000 + "!"])
def test_long_texts_are_checked_in_no_time(name: str, text: str) -> None:
    assert name == "uri" or FORMATS[name].check(text)
