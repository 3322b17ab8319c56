"""One AWS account: its global services, and its regional ones by region."""

from __future__ import annotations

from edgekeeper.local.aws.acm.store import Certificates
from edgekeeper.local.aws.cloudfront.state import CloudFront
from edgekeeper.local.aws.route53.state import Route53
from edgekeeper.local.aws.world import World

CLOUDFRONT_REGION = "us-east-1"
"""Where CloudFront's certificates live."""


class Account:
    """What one customer of AWS has."""

    def __init__(self, world: World, id: str) -> None:  # noqa: A002 - what everybody calls it
        self.world = world
        self.id = id
        self._certificates: dict[str, Certificates] = {}
        self.cloudfront = CloudFront(world, id, self.certificates(CLOUDFRONT_REGION))
        self.route53 = Route53(world, id)

    def certificates(self, region: str = CLOUDFRONT_REGION) -> Certificates:
        if region not in self._certificates:
            self._certificates[region] = Certificates(self.world, self.id, region)
        return self._certificates[region]
