"""One AWS account: its global services, and its regional ones by region."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from kubesim.aws.acm.certificate import Certificate
from kubesim.aws.acm.store import Certificates
from kubesim.aws.apigateway.state import ApiGateway, SavedApiGateway
from kubesim.aws.cloudfront.state import CloudFront, SavedCloudFront
from kubesim.aws.functions.state import Function, Functions
from kubesim.aws.route53.state import Route53, SavedRoute53
from kubesim.aws.world import World

CLOUDFRONT_REGION = "us-east-1"
"""Where CloudFront's certificates live."""


class SavedAccount(msgspec.Struct):
    """An account's services; the regional ones by region."""

    cloudfront: SavedCloudFront
    route53: SavedRoute53
    certificates: dict[str, list[Certificate]]
    gateways: dict[str, SavedApiGateway]
    functions: dict[str, list[Function]]


class Account:
    """What one customer of AWS has."""

    def __init__(self, world: World, number: str, peers: Callable[[str], Account]) -> None:
        self.world = world
        self.id = number
        self._certificates: dict[str, Certificates] = {}
        self._gateways: dict[str, ApiGateway] = {}
        self._functions: dict[str, Functions] = {}
        edge = self.certificates(CLOUDFRONT_REGION)
        self.cloudfront = CloudFront(world, number, edge, lambda other: peers(other).cloudfront)
        self.route53 = Route53(world, number)

    def certificates(self, region: str = CLOUDFRONT_REGION) -> Certificates:
        if region not in self._certificates:
            self._certificates[region] = Certificates(self.world, self.id, region)
        return self._certificates[region]

    def apigateway(self, region: str) -> ApiGateway:
        if region not in self._gateways:
            self._gateways[region] = ApiGateway(self.world, self.id, region, self.certificates)
        return self._gateways[region]

    def functions(self, region: str) -> Functions:
        if region not in self._functions:
            self._functions[region] = Functions(self.world, self.id, region)
        return self._functions[region]

    def save(self) -> SavedAccount:
        return SavedAccount(
            self.cloudfront.save(),
            self.route53.save(),
            {region: one.save() for region, one in self._certificates.items()},
            {region: one.save() for region, one in self._gateways.items()},
            {region: one.save() for region, one in self._functions.items()},
        )

    def restore(self, saved: SavedAccount) -> None:
        for region, certificates in saved.certificates.items():
            self.certificates(region).restore(certificates)
        for region, gateway in saved.gateways.items():
            self.apigateway(region).restore(gateway)
        for region, functions in saved.functions.items():
            self.functions(region).restore(functions)
        self.cloudfront.restore(saved.cloudfront)
        self.route53.restore(saved.route53)
