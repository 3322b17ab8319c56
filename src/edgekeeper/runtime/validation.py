"""The interface of validators: rules of a kind that are checked on admission.

    class NoShrinking:
        async def validate(self, old, new, user):
            if old and new and new["spec"]["size"] < old["spec"]["size"]:
                return [Problem("spec.size", "cannot shrink")]
            return []

    ControllerOptions("widget", WIDGET, validator=NoShrinking())

`runtime.webhooks` serves them. Rules that the schema of the CRD can express belong there, because the API server
enforces them even when the operator does not run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from edgekeeper.core.json import JsonObject


class User(msgspec.Struct, frozen=True, rename="camel"):
    """The user who sent the request."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a field, and the remedy."""

    field: str
    message: str


class Validator(Protocol):
    """The rules of one kind."""

    async def validate(self, old: JsonObject | None, new: JsonObject | None, user: User) -> Sequence[Problem]:
        """What is wrong with a write; nothing lets it pass. A creation has no old object, a deletion no new one.

        Objects that are being deleted are not asked about, nor updates that change neither spec, labels nor annotations:
        objects that were stored before there was a rule can still be finalized.
        """
