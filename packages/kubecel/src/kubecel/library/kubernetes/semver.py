"""Semantic versions: `1.2.3-rc.1+build`, strictly as semver.org writes them, or normalised first (`v1.2`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering
from typing import ClassVar, Final, TypeAlias

from kubecel import types
from kubecel.errors import EvaluationError, invalid_argument
from kubecel.library.notation import excerpt
from kubecel.types import Type
from kubecel.values import UINT_MAX

_DECIMALS: Final = frozenset("0123456789")
_DIGITS: Final = re.compile("[0-9]*")
_IDENTIFIER: Final = re.compile("[0-9A-Za-z-]*")
_LONGEST_NUMBER: Final = 20
"""More digits do not fit into 64 bits."""

Part: TypeAlias = tuple[bool, int, str]
"""One identifier of a pre-release so that tuples compare as versions do: numbers before words."""


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Semver:
    """A version. Build metadata is kept, but never compared."""

    major: int
    minor: int
    patch: int
    prerelease: tuple[Part, ...] = ()
    build: tuple[str, ...] = ()
    cel_type: ClassVar[Type] = types.opaque("kubernetes.Semver")

    @property
    def precedence(self) -> tuple[object, ...]:
        """What versions are compared by: a release comes after all of its pre-releases."""
        return (self.major, self.minor, self.patch, not self.prerelease, self.prerelease)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self.precedence == other.precedence

    def __lt__(self, other: Semver) -> bool:
        return self.precedence < other.precedence

    def __hash__(self) -> int:
        return hash(self.precedence)

    def __str__(self) -> str:
        identifiers = ".".join(word or str(number) for _, number, word in self.prerelease)
        prerelease = f"-{identifiers}" if self.prerelease else ""
        build = f"+{'.'.join(self.build)}" if self.build else ""
        return f"{self.major}.{self.minor}.{self.patch}{prerelease}{build}"


def parse_semver(text: str) -> Semver:
    """Read a version. Raise `EvaluationError` if the text is none."""
    if not text:
        raise invalid_argument("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise invalid_argument("No Major.Minor.Patch elements found")
    rest, plus, build = parts[2].partition("+")
    patch, dash, prerelease = rest.partition("-")
    return Semver(
        _number("Major", parts[0]),
        _number("Minor", parts[1]),
        _number("Patch", patch),
        tuple(map(_prerelease_part, prerelease.split("."))) if dash else (),
        tuple(map(_build_part, build.split("."))) if plus else (),
    )


def parse_normalized(text: str) -> Semver:
    """Read a version after dropping a leading `v` and leading zeros, and adding what is missing of `major.minor.patch`."""
    parts = text.removeprefix("v").split(".", 2)
    parts = [_without_leading_zeros(part) for part in parts]
    if len(parts) < 3 and ("+" in parts[-1] or "-" in parts[-1]):
        raise invalid_argument("short version cannot contain PreRelease/Build meta data")
    return parse_semver(".".join(parts + ["0"] * (3 - len(parts))))


def is_semver(text: str, *, normalize: bool = False) -> bool:
    try:
        (parse_normalized if normalize else parse_semver)(text)
    except EvaluationError:
        return False
    return True


def _without_leading_zeros(part: str) -> str:
    if len(part) <= 1:
        return part
    kept = part.lstrip("0")
    return kept if kept[:1] in _DECIMALS else f"0{kept}"


def _number(name: str, text: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise invalid_argument(f"Invalid character(s) found in {name.lower()} number {excerpt(text)}")
    if len(text) > 1 and text[0] == "0":
        raise invalid_argument(f"{name} number must not contain leading zeroes {excerpt(text)}")
    return _unsigned(text)


def _unsigned(text: str) -> int:
    if not text:
        raise invalid_argument('strconv.ParseUint: parsing "": invalid syntax')
    if len(text) > _LONGEST_NUMBER or int(text) > UINT_MAX:
        raise invalid_argument(f"strconv.ParseUint: parsing {excerpt(text)}: value out of range")
    return int(text)


def _prerelease_part(text: str) -> Part:
    if not text:
        raise invalid_argument("Prerelease is empty")
    if _DIGITS.fullmatch(text):
        if len(text) > 1 and text[0] == "0":
            raise invalid_argument(
                f"Numeric PreRelease version must not contain leading zeroes {excerpt(text)}"
            )
        return False, _unsigned(text), ""
    if not _IDENTIFIER.fullmatch(text):
        raise invalid_argument(f"Invalid character(s) found in prerelease {excerpt(text)}")
    return True, 0, text


def _build_part(text: str) -> str:
    if not text:
        raise invalid_argument("Build meta data is empty")
    if not _IDENTIFIER.fullmatch(text):
        raise invalid_argument(f"Invalid character(s) found in build meta data {excerpt(text)}")
    return text
