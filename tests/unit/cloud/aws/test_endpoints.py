"""The addresses of services of AWS."""

from __future__ import annotations

from edgekeeper.cloud.aws.endpoints import endpoint_of


def test_services_have_the_addresses_of_aws() -> None:
    assert endpoint_of("cloudfront", "us-east-1", environment={}) == "https://cloudfront.amazonaws.com"
    assert endpoint_of("route53", "us-east-1", environment={}) == "https://route53.amazonaws.com"
    assert endpoint_of("sts", "eu-west-1", environment={}) == "https://sts.eu-west-1.amazonaws.com"
    assert endpoint_of("lambda", "cn-north-1", environment={}) == "https://lambda.cn-north-1.amazonaws.com.cn"


def test_settings_and_environment_choose_other_addresses() -> None:
    environment = {"AWS_ENDPOINT_URL": "http://localhost:1", "AWS_ENDPOINT_URL_STS": "http://localhost:2"}
    assert endpoint_of("sts", "eu-west-1", environment=environment) == "http://localhost:2"
    assert endpoint_of("acm", "eu-west-1", environment=environment) == "http://localhost:1"
    assert endpoint_of("acm", "eu-west-1", "http://localhost:3", environment) == "http://localhost:3"
