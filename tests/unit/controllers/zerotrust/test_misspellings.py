"""A mistake in a key or a value never publishes a route with less protection than was meant. Generated from the tables."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from edgekeeper.api.zerotrust import PREFIX
from edgekeeper.controllers.zerotrust.annotation_keys import BY_SPELLING, OPERATOR_WRITTEN, SETTINGS
from edgekeeper.controllers.zerotrust.annotation_values import BOOLEAN
from edgekeeper.core.errors import Stall
from tests.unit.controllers.zerotrust.route_cases import (
    PROTECTED,
    PUBLIC,
    VALUES,
    refusal,
    task,
    template,
)


def _mistakes(spelling: str) -> Iterator[tuple[str, str]]:
    """Misspellings that are not another key: a letter dropped, two swapped, and another case or separator."""
    middle = len(spelling) // 2
    yield "dropped", spelling[:middle] + spelling[middle + 1 :]
    yield "dropped", spelling[:-1]
    at = next(i for i in range(middle - 1, len(spelling) - 1) if spelling[i] != spelling[i + 1])
    yield "swapped", spelling[:at] + spelling[at + 1] + spelling[at] + spelling[at + 2 :]
    yield "case", spelling.swapcase()
    yield "case", spelling[0].swapcase() + spelling[1:]
    yield "separator", spelling.replace("-", "_").replace(".", "_")
    yield "separator", spelling.replace(".", "-")


MISTAKES = sorted(
    {
        (spelling, way, wrong)
        for spelling in BY_SPELLING
        for way, wrong in _mistakes(spelling)
        if wrong not in BY_SPELLING and f"{PREFIX}{wrong}" not in OPERATOR_WRITTEN
    }
)


def test_misspellings_cover_every_key_in_three_ways() -> None:
    ways = {spelling: {way for one, way, _ in MISTAKES if one == spelling} for spelling in BY_SPELLING}
    assert {
        spelling for spelling, found in ways.items() if not {"dropped", "swapped", "case"} <= found
    } == set()


@pytest.mark.parametrize(("spelling", "way", "wrong"), MISTAKES)
def test_misspelt_key_stalls_and_names_the_right_one(spelling: str, way: str, wrong: str) -> None:
    meant = {key: value for key, value in PROTECTED.items() if key != spelling}
    stall = refusal({**meant, wrong: VALUES[BY_SPELLING[spelling].path]})
    assert stall.reason == "InvalidAnnotation"
    assert f"unknown annotation {PREFIX}{wrong}: did you mean {PREFIX}" in stall.message
    suggested = stall.message.rpartition(PREFIX)[2].rstrip("?")
    assert BY_SPELLING[suggested].path == BY_SPELLING[spelling].path


BOOLEANS = [setting for setting in SETTINGS if setting.parse is BOOLEAN]
WRONG_VALUES = [
    "ture",
    "tru",
    "flase",
    "fals",
    "falsee",
    "on",
    "off",
    "ja",
    "2",
    "-1",
    "",
    " ",
    "true,",
    "'false'",
    "n\N{CYRILLIC SMALL LETTER O}",
]


@pytest.mark.parametrize("text", WRONG_VALUES)
@pytest.mark.parametrize("setting", BOOLEANS, ids=lambda setting: setting.path)
def test_misspelt_boolean_stalls_and_names_the_allowed_ones(setting: object, text: str) -> None:
    path = setting.path  # type: ignore[attr-defined]
    meant = {key: value for key, value in PROTECTED.items() if BY_SPELLING[key].path != path}
    stall = refusal({**meant, path: text})
    assert stall.reason == "InvalidAnnotation"
    assert f"{PREFIX}{path}" in stall.message
    assert "must be true or false" in stall.message or "is empty" in stall.message


SECTIONS: dict[str, dict[str, object]] = {
    "accessApplication": {"sessionDuration": "8h", "allowEmails": ["a@example.com"]},
    "dnsOnly": {"staticIp": "10.0.0.7"},
}


@pytest.mark.parametrize("below", [None, {"enabled": False}], ids=["nothing below", "false below"])
@pytest.mark.parametrize("section", SECTIONS)
def test_template_section_without_enabled_publishes_nothing(
    section: str, below: dict[str, bool] | None
) -> None:
    for content in (SECTIONS[section], {}):
        named = template(**{section: content})
        base = template(**{section: below}) if below else None
        stall = refusal(PUBLIC, named, base)
        assert stall.reason == "InvalidSettings"
        assert "template default" in stall.message


@pytest.mark.parametrize("misspelt", ["enabeld", "enable", "Enabled"])
@pytest.mark.parametrize("section", SECTIONS)
def test_template_with_a_misspelt_field_is_refused(section: str, misspelt: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=f"unknown field `{misspelt}`"):
        template(**{section: {misspelt: True, **SECTIONS[section]}})


def test_misspelling_is_what_stalls_those_routes() -> None:
    """The same routes without the mistake get their tasks."""
    assert task(PROTECTED).operations.access_app.enabled
    assert not task(PUBLIC).operations.access_app.enabled
    with pytest.raises(Stall):
        task({**PROTECTED, "accesApp": "true"})
