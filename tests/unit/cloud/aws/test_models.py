"""Models that are kept small say the same: where a service is called, and what its operations are."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
from botocore.loaders import Loader
from botocore.regions import EndpointResolver
from botocore.session import Session

from edgekeeper.cloud.aws.models import SmallModels, keep_models_small
from edgekeeper.cloud.aws.operations import ALL
from edgekeeper.core.json import JsonObject

SERVICES = sorted({"apigatewayv2" if one.service == "apigateway" else one.service for one in ALL})
CREDENTIALS = ["sso", "sso-oidc", "signin"]
"""What botocore's own chain of credentials calls."""
REGIONS = ["us-east-1", "eu-west-1", "ap-southeast-5", "cn-north-1", "us-gov-west-1", "eusc-de-east-1"]


def _session(*, small: bool) -> Session:
    session = Session()
    session.set_credentials("key", "secret")
    session.register_component("data_loader", Loader())
    if small:
        keep_models_small(session)
    return session


@pytest.mark.parametrize("service", [*SERVICES, *CREDENTIALS])
def test_small_models_lead_to_the_same_endpoint_everywhere(service: str) -> None:
    """A service that is called and missing among the endpoints that are kept fails here."""
    usual, small = _session(small=False), _session(small=True)
    for region in REGIONS:
        clients: list[Any] = [one.create_client(service, region_name=region) for one in (usual, small)]
        found = [
            (client.meta.endpoint_url, client.meta.region_name, client.meta.partition) for client in clients
        ]
        assert found[0] == found[1]
        resolved = [
            _resolved(one, clients[0].meta.service_model.endpoint_prefix, region) for one in (usual, small)
        ]
        assert resolved[0] == resolved[1]


def _resolved(session: Session, prefix: str, region: str) -> JsonObject:
    data, _ = session.get_component("data_loader").load_data_with_path("endpoints")
    found = EndpointResolver(data).construct_endpoint(prefix, region)
    assert found is not None
    return found


@pytest.mark.parametrize("service", SERVICES)
def test_small_models_have_every_operation_as_it_is(service: str) -> None:
    usual, small = Loader(), Loader(file_loader=SmallModels())
    for kind in ("service-2", "paginators-1", "endpoint-rule-set-1"):
        assert small.load_service_model(service, kind) == usual.load_service_model(service, kind)


def test_small_models_are_plain_dictionaries() -> None:
    model: JsonObject = Loader(file_loader=SmallModels()).load_service_model("cloudfront", "service-2")
    assert not isinstance(model["shapes"], OrderedDict)


def test_model_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert SmallModels().load_file(str(tmp_path / "service-2")) is None
