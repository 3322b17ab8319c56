"""A validation rule as a definition writes it."""

from __future__ import annotations

from typing import Any

import msgspec

from edgekeeper.core.json import JsonObject


class WrittenRule(msgspec.Struct, frozen=True, rename="pascal"):
    """One entry of `x-kubernetes-validations`. Encoded, it looks as it does in messages of the real server."""

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: str | None = None
    field_path: str = ""
    optional_old_self: bool | None = None

    @classmethod
    def of(cls, source: JsonObject) -> WrittenRule:
        def text(key: str) -> str:
            value: Any = source.get(key)
            return value if isinstance(value, str) else ""

        return cls(
            rule=text("rule"),
            message=text("message"),
            message_expression=text("messageExpression"),
            reason=source.get("reason"),
            field_path=text("fieldPath"),
            optional_old_self=source.get("optionalOldSelf"),
        )

    @property
    def shown(self) -> str:
        """What messages call the rule by."""
        return self.message.strip() or self.rule.strip()

    @property
    def complaint(self) -> str:
        """What is said if the rule does not hold and no expression words it better."""
        return self.message.strip() if self.message else f"failed rule: {self.shown}"
