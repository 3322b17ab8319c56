"""What a user wrote on an HTTPRoute, parsed. Pure.

    parsed = parse_annotations(annotations)     raises Stall (InvalidAnnotation) with all problems and their remedies
    parsed.settings["access.enabled"]           by the dotted path, whatever the spelling was

A misspelt key or value must never publish a hostname without the protection that was meant, nor withdraw a hostname. So
nothing is guessed and nothing unknown under the prefix is ignored: keys that are not known, values that do not parse, and
one setting in two spellings with different values stall the route. What is published stays as it is meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from edgekeeper.api.zerotrust import PREFIX
from edgekeeper.controllers.zerotrust.annotation_keys import (
    BY_SPELLING,
    OPERATOR_WRITTEN,
    Setting,
    nearest,
)
from edgekeeper.core.annotations import INVALID_ANNOTATION
from edgekeeper.core.errors import Stall

__all__ = [
    "ENABLED",
    "OPERATOR_WRITTEN",
    "RouteAnnotations",
    "is_enabled",
    "parse_annotations",
    "user_annotations",
]

ENABLED: Final = f"{PREFIX}enabled"
_MOST_PROBLEMS = 5
_NOT_MERGED = frozenset({"enabled", "hostname", "tenant", "template", "tunnelId", "serviceToken.rotate"})


@dataclass(frozen=True, slots=True)
class RouteAnnotations:
    """The annotations of one route, parsed."""

    enabled: bool = False
    hostnames: tuple[str, ...] = ()
    """As Cloudflare writes them. None means those of the route's spec."""
    tenant: str = ""
    """A name, or `namespace/name`."""
    template: str = ""
    tunnel_id: str = ""
    rotate: str = ""
    """Identifies a request to replace the service token's secret."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What is merged with templates, by dotted path: booleans, numbers, texts and lists of texts."""
    spellings: Mapping[str, str] = field(default_factory=dict)
    """The key that each setting was written with, without the prefix, by dotted path."""


def parse_annotations(annotations: Mapping[str, str]) -> RouteAnnotations:
    """Parse the annotations. Raise Stall with what is wrong with any of them."""
    problems: list[str] = []
    values: dict[str, Any] = {}
    spellings: dict[str, str] = {}
    for name, text in _named(annotations):
        setting = BY_SPELLING.get(name)
        if setting is None:
            problems.append(_unknown(name))
            continue
        try:
            value = _parsed(setting, text)
        except ValueError as error:
            problems.append(f"annotation {PREFIX}{name}: {_shown(text)} {error}")
            continue
        if setting.path in values and values[setting.path] != value:
            problems.append(_contradiction(spellings[setting.path], name))
        values[setting.path] = value
        spellings[setting.path] = name
    _refuse(problems)
    return _route_annotations(values, spellings)


def is_enabled(annotations: Mapping[str, str]) -> bool:
    """Whether the user wants the route to be published.

    Raise Stall where that is not known: the value does not parse, or the annotation is missing while there is one that is
    not known and may be meant to be it. Then the route is neither published nor withdrawn.
    """
    problems = []
    text = annotations.get(ENABLED)
    if text is not None:
        try:
            return bool(_parsed(BY_SPELLING["enabled"], text))
        except ValueError as error:
            problems.append(f"annotation {ENABLED}: {_shown(text)} {error}")
    problems += [_unknown(name) for name, _ in _named(annotations) if name not in BY_SPELLING]
    _refuse(problems)
    return False


def user_annotations(annotations: Mapping[str, str]) -> dict[str, str]:
    """The annotations under the prefix that users write."""
    return {f"{PREFIX}{name}": text for name, text in _named(annotations)}


def _named(annotations: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    for key, text in sorted(annotations.items()):
        if key.startswith(PREFIX) and key not in OPERATOR_WRITTEN:
            yield key.removeprefix(PREFIX), text


def _parsed(setting: Setting, text: Any) -> Any:
    if not isinstance(text, str):
        raise ValueError("must be a text")  # noqa: TRY004 - a problem of the value, like all others
    return setting.parse(text)


def _route_annotations(values: Mapping[str, Any], spellings: Mapping[str, str]) -> RouteAnnotations:
    return RouteAnnotations(
        enabled=values.get("enabled", False),
        hostnames=tuple(values.get("hostname", ())),
        tenant=values.get("tenant", ""),
        template=values.get("template", ""),
        tunnel_id=values.get("tunnelId", ""),
        rotate=values.get("serviceToken.rotate", ""),
        settings={path: value for path, value in values.items() if path not in _NOT_MERGED},
        spellings=spellings,
    )


def _unknown(name: str) -> str:
    near = nearest(name)
    remedy = f"did you mean {PREFIX}{near}?" if near else "remove it or correct its name"
    return f"unknown annotation {PREFIX}{name.encode('unicode_escape').decode()[:100]}: {remedy}"


def _contradiction(one: str, other: str) -> str:
    return f"annotations {PREFIX}{one} and {PREFIX}{other} are the same setting with different values: remove one of them"


def _shown(text: Any) -> str:
    """A value in a message: short, and escaped."""
    shown = repr(text if isinstance(text, str) else str(text))
    return shown if len(shown) <= 100 else f"{shown[:96]}...{shown[0]}"


def _refuse(problems: list[str]) -> None:
    if not problems:
        return
    more = f"; and {len(problems) - _MOST_PROBLEMS} more" if len(problems) > _MOST_PROBLEMS else ""
    raise Stall(INVALID_ANNOTATION, "; ".join(problems[:_MOST_PROBLEMS]) + more)
