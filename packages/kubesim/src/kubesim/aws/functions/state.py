"""The functions of an account, and the policies that say who may invoke them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kubesim.aws.errors import AwsError
from kubesim.aws.world import World

_NAME = re.compile(
    r"(?:arn:aws[\w-]*:lambda:(?P<region>[\w-]+):(?P<account>\d{12}):function:|(?:\d{12}:)?function:)?"
    r"(?P<name>[\w.-]+)(?::(?P<qualifier>[\w$-]+))?"
)


@dataclass
class Function:
    """One function, with a policy for itself and for each version or alias that has one."""

    name: str
    arn: str
    revision: str
    statements: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    """By qualifier, then by statement id."""
    configuration: dict[str, Any] = field(default_factory=dict)
    """Its settings and where its code is, as whoever made it has said."""
    state: str = "Active"
    """As GetFunction tells it: `Pending`, `Active`, `Inactive` or `Failed`."""


class Functions:
    """The functions of one account in one region. Scenarios make them."""

    def __init__(self, world: World, account: str, region: str) -> None:
        self.world = world
        self.account = account
        self.region = region
        self._functions: dict[str, Function] = {}

    def add(self, name: str) -> Function:
        arn = f"arn:aws:lambda:{self.region}:{self.account}:function:{name}"
        self._functions[name] = Function(name, arn, self.world.ids.uuid())
        return self._functions[name]

    def save(self) -> list[Function]:
        return list(self._functions.values())

    def restore(self, saved: Iterable[Function]) -> None:
        self._functions = {function.name: function for function in saved}

    def find(self, name: str) -> tuple[Function, str]:
        """A function by name or ARN, and the qualifier that the name carries."""
        match = _NAME.fullmatch(name)
        if match is None:
            raise AwsError("InvalidParameterValueException", f"{name} is not a function name.")
        found = self._functions.get(match["name"])
        here = match["account"] in (None, self.account) and match["region"] in (None, self.region)
        if found is None or not here:
            arn = f"arn:aws:lambda:{self.region}:{self.account}:function:{match['name']}"
            raise AwsError("ResourceNotFoundException", f"Function not found: {arn}")
        return found, match["qualifier"] or ""
