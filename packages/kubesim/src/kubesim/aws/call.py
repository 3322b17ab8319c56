"""One call on its way to an operation: who asks, where, and with which parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kubesim.aws.account import Account
from kubesim.aws.identity import Principal
from kubesim.aws.world import World


@dataclass(frozen=True)
class Call:
    """What an operation is given."""

    world: World
    account: Account
    principal: Principal
    region: str
    service: str
    operation: str
    params: Mapping[str, Any]


Result = Mapping[str, Any]
Operation = Callable[[Call], Result]
