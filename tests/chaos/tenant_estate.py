"""The account in which random tenants live, and the words by which operations mean things in it.

Ids differ from account to account, so operations name things: `$zone:main`, `$group:fast`, `$certificate:wide`. What they
are called in AWS is looked up when an operation is played.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from edgekeeper.core.clock import Clock
from kubesim.aws.cloud import ACCOUNT
from kubesim.aws.cloudfront.resources import ParameterDefinition
from kubesim.aws.identity import Role
from kubesim.aws.route53.state import Zone
from tests.tenants.estate import DISTRIBUTION, NEIGHBOUR, Estate

STRANGER = "999988887777"
"""An account that has nothing to do with us, and wants the same domains."""
COLOUR, ORIGIN = "colour", "origin"


class ChaosEstate(Estate):
    """Two distributions, two connection groups, three zones, two certificates."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        cloudfront, route53 = self.cloud.cloudfront, self.cloud.route53
        colour, origin = ParameterDefinition(COLOUR, required=False), ParameterDefinition(ORIGIN)
        cloudfront.change_distribution(DISTRIBUTION, parameters=(colour,))
        second = cloudfront.add_distribution(parameters=(colour, origin))
        cloudfront.default_group()
        fast = cloudfront.keep_group(cloudfront.new_group("fast"))
        certificates = self.cloud.account().certificates()
        wide = certificates.add_issued("example.com", "*.example.com")
        narrow = certificates.add_issued("shop.example.com")
        role = self.cloud.world.identities.add_role(Role(f"arn:aws:iam::{NEIGHBOUR}:role/dns"))
        self.hands: list[Callable[[], None]] = []
        """Told after every act of somebody else."""
        self.tagged_by_hand: set[str] = set()
        """Tenants whose tags somebody else has changed since the operator did."""
        self.words: Mapping[str, str] = {
            "$distribution:main": DISTRIBUTION,
            "$distribution:second": second.id,
            "$distribution:none": "ENOSUCHTHING",
            "$group:fast": fast.id,
            "$group:none": "cg_nosuchgroup",
            "$zone:main": self.zone.id,
            "$zone:second": route53.add_zone("example.com").id,
            "$zone:theirs": self.cloud.account(NEIGHBOUR).route53.add_zone("example.com").id,
            "$zone:none": "ZNOSUCHZONE",
            "$role:dns": role.arn,
            "$role:none": f"arn:aws:iam::{NEIGHBOUR}:role/none",
            "$certificate:wide": wide.arn,
            "$certificate:narrow": narrow.arn,
            "$certificate:none": f"arn:aws:acm:us-east-1:{ACCOUNT}:certificate/12345678-0000-4000-8000-123456789012",
            "$endpoint": cloudfront.default_group().endpoint,
        }

        for zone in self.zones():
            # Route 53 shows every change at once, whatever lags behind at CloudFront.
            zone.records._lag = timedelta

    def acted_by_hand(self) -> None:
        """Somebody else has just done something."""
        self.chronicle.excuse()
        for told in self.hands:
            told()

    def resolved(self, tree: Any) -> Any:
        """A tree of literals, with ids in place of words."""
        if isinstance(tree, dict):
            return {name: self.resolved(value) for name, value in tree.items()}
        if isinstance(tree, list):
            return [self.resolved(one) for one in tree]
        return self.words.get(tree, tree) if isinstance(tree, str) else tree

    def zones(self) -> list[Zone]:
        return list(self._zones())

    def find_zone(self, zone_id: str) -> Zone | None:
        bare = zone_id.removeprefix("/hostedzone/")
        return next((zone for zone in self.zones() if zone.id == bare), None)
