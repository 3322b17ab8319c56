"""The identities that calls are made with: our own, or an assumed role."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from edgekeeper.core.aws_identifiers import ROLE_ARN, is_form
from edgekeeper.core.errors import Stall

_EXTERNAL_ID = re.compile(r"[\w+=,.@:/-]{2,1224}", re.ASCII)


def is_role_arn(text: str) -> bool:
    """Is this the ARN of one role, in a partition that there is?"""
    return is_form(ROLE_ARN, text)


class RoleRefusedError(Stall):
    """AWS refuses to let us assume a role."""


@dataclass(frozen=True, slots=True)
class Role:
    """A role to assume. An empty one stands for our own identity."""

    arn: str = ""
    external_id: str = ""
    """The external id that the role's owner requires, against confused deputies."""

    def __post_init__(self) -> None:
        # Both come from manifests, so they are checked before they are sent.
        if self.arn and not is_role_arn(self.arn):
            raise ValueError(f"not the ARN of a role: {self.arn!r}")
        if self.external_id and not _EXTERNAL_ID.fullmatch(self.external_id):
            raise ValueError("not an external id")

    @property
    def account(self) -> str:
        """The account of the role; empty for our own identity."""
        return self.arn.split(":")[4] if self.arn else ""


OWN: Final = Role()
