"""What each kind of ACK stands for in the simulated AWS: how it is found, created, changed and deleted.

Domain names, mappings and certificates are made by the same operations as everybody's calls, so that AWS refuses what it
refuses. The kinds that are not simulated in AWS (tables, buckets, databases, roles, routes and integrations) exist with what was said of
them, and nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Protocol

from kubesim.aws.account import Account
from kubesim.aws.call import Call
from kubesim.aws.cloud import AwsCloud
from kubesim.aws.errors import AwsError
from kubesim.aws.functions.state import Function
from kubesim.aws.identity import Principal
from kubesim.aws.operations import OPERATIONS

Tree = dict[str, Any]
ABSENT = ("NotFoundException", "ResourceNotFoundException")


@dataclass
class Existing:
    """Something in AWS of which only this is known."""

    spec: Tree
    status: Tree


@dataclass
class Aws:
    """One account and region, as ACK uses them."""

    cloud: AwsCloud
    region: str
    existing: dict[tuple[str, str], Existing] = field(default_factory=dict)
    """What is not simulated any further, by kind and name."""

    @property
    def account(self) -> Account:
        return self.cloud.account()

    def call(self, service: str, operation: str, **params: Any) -> Any:
        """Run an operation. Raise AwsError as AWS does."""
        principal = Principal(self.account.id, f"arn:aws:iam::{self.account.id}:role/ack", "ack")
        world = self.cloud.world
        call = Call(world, self.account, principal, self.region, service, operation, params)
        result = OPERATIONS[service][operation](call)
        self.cloud.changed()
        return result

    def find(self, service: str, operation: str, **params: Any) -> Any:
        """The same for something that may not exist."""
        try:
            return self.call(service, operation, **params)
        except AwsError as error:
            if error.code not in ABSENT:
                raise
            return None


class Resource(Protocol):
    """One kind. All of them return the status, or None if there is nothing."""

    def find(self, aws: Aws, spec: Tree, status: Tree) -> Tree | None: ...

    def create(self, aws: Aws, spec: Tree) -> Tree: ...

    def update(self, aws: Aws, spec: Tree, status: Tree) -> None: ...

    def delete(self, aws: Aws, spec: Tree, status: Tree) -> None: ...


class DomainNames:
    """`DomainName`."""

    def find(self, aws: Aws, spec: Tree, status: Tree) -> Tree | None:
        found = aws.find("apigateway", "GetDomainName", DomainName=spec["domainName"])
        return None if found is None else _arn(found["DomainNameArn"])

    def create(self, aws: Aws, spec: Tree) -> Tree:
        tags, settings = dict(spec.get("tags") or {}), self._settings(spec)
        made = aws.call(
            "apigateway",
            "CreateDomainName",
            DomainName=spec["domainName"],
            DomainNameConfigurations=settings,
            Tags=tags,
        )
        return _arn(made["DomainNameArn"])

    def update(self, aws: Aws, spec: Tree, status: Tree) -> None:
        name, wanted = spec["domainName"], self._settings(spec)
        found = aws.call("apigateway", "GetDomainName", DomainName=name)
        (present,) = found["DomainNameConfigurations"]
        if any(present.get(key) != value for key, value in wanted[0].items()):
            aws.call("apigateway", "UpdateDomainName", DomainName=name, DomainNameConfigurations=wanted)
        tags = dict(spec.get("tags") or {})
        if not tags.items() <= dict(found["Tags"]).items():
            aws.call("apigateway", "TagResource", ResourceArn=found["DomainNameArn"], Tags=tags)

    def delete(self, aws: Aws, spec: Tree, status: Tree) -> None:
        aws.find("apigateway", "DeleteDomainName", DomainName=spec["domainName"])

    def _settings(self, spec: Tree) -> list[Tree]:
        names = {
            "certificateARN": "CertificateArn",
            "endpointType": "EndpointType",
            "securityPolicy": "SecurityPolicy",
        }
        return [
            {names[key]: value for key, value in one.items()}
            for one in spec.get("domainNameConfigurations") or ()
        ]


class ApiMappings:
    """`APIMapping`. It is found by its id only, so that a mapping that exists is a conflict."""

    def find(self, aws: Aws, spec: Tree, status: Tree) -> Tree | None:
        id_ = status.get("apiMappingID")
        if not id_:
            return None
        found = aws.find("apigateway", "GetApiMapping", DomainName=spec["domainName"], ApiMappingId=id_)
        return None if found is None else {"apiMappingID": id_}

    def create(self, aws: Aws, spec: Tree) -> Tree:
        made = aws.call("apigateway", "CreateApiMapping", **self._wish(spec))
        return {"apiMappingID": made["ApiMappingId"]}

    def update(self, aws: Aws, spec: Tree, status: Tree) -> None:
        id_, wish = status["apiMappingID"], self._wish(spec)
        found = aws.call("apigateway", "GetApiMapping", DomainName=spec["domainName"], ApiMappingId=id_)
        if any(found.get(key) != value for key, value in wish.items() if key != "DomainName"):
            aws.call("apigateway", "UpdateApiMapping", ApiMappingId=id_, **wish)

    def delete(self, aws: Aws, spec: Tree, status: Tree) -> None:
        id_, name = status.get("apiMappingID"), spec.get("domainName")
        if id_ and name:
            aws.find("apigateway", "DeleteApiMapping", DomainName=name, ApiMappingId=id_)

    def _wish(self, spec: Tree) -> Tree:
        return {
            "DomainName": spec["domainName"],
            "ApiId": spec["apiID"],
            "Stage": spec["stage"],
            "ApiMappingKey": spec.get("apiMappingKey", ""),
        }


class Certificates:
    """`Certificate`, always validated by DNS."""

    def find(self, aws: Aws, spec: Tree, status: Tree) -> Tree | None:
        arn = (status.get("ackResourceMetadata") or {}).get("arn")
        if not arn:
            return None
        found = aws.find("acm", "DescribeCertificate", CertificateArn=arn)
        return None if found is None else self._status(found["Certificate"])

    def create(self, aws: Aws, spec: Tree) -> Tree:
        tags = [{"Key": one["key"], "Value": one.get("value", "")} for one in spec.get("tags") or ()]
        wish: Tree = {"DomainName": spec["domainName"], "ValidationMethod": "DNS", "Tags": tags}
        if others := spec.get("subjectAlternativeNames"):
            wish["SubjectAlternativeNames"] = others
        arn = aws.call("acm", "RequestCertificate", **wish)["CertificateArn"]
        return self._status(aws.call("acm", "DescribeCertificate", CertificateArn=arn)["Certificate"])

    def update(self, aws: Aws, spec: Tree, status: Tree) -> None:
        """A certificate cannot be changed."""

    def delete(self, aws: Aws, spec: Tree, status: Tree) -> None:
        if arn := (status.get("ackResourceMetadata") or {}).get("arn"):
            aws.find("acm", "DeleteCertificate", CertificateArn=arn)

    def _status(self, found: Tree) -> Tree:
        validations = [
            {
                "domainName": one["DomainName"],
                "validationStatus": one["ValidationStatus"],
                **({"resourceRecord": _record(one["ResourceRecord"])} if one["ResourceRecord"] else {}),
            }
            for one in found["DomainValidationOptions"] or ()
        ]
        reason = {"failureReason": found["FailureReason"]} if found["FailureReason"] else {}
        status = {"status": found["Status"], "domainValidations": validations, **reason}
        return {**status, **_arn(found["CertificateArn"])}


class Apis:
    """`API`: its stages are objects of their own."""

    def find(self, aws: Aws, spec: Tree, status: Tree) -> Tree | None:
        id_ = status.get("apiID")
        return self._status(aws, id_) if id_ in aws.account.apigateway(aws.region).apis else None

    def create(self, aws: Aws, spec: Tree) -> Tree:
        return self._status(aws, aws.account.apigateway(aws.region).add_api(stages=()))

    def update(self, aws: Aws, spec: Tree, status: Tree) -> None:
        """Nothing of an API is simulated that could differ."""

    def delete(self, aws: Aws, spec: Tree, status: Tree) -> None:
        aws.account.apigateway(aws.region).apis.pop(status.get("apiID", ""), None)

    def _status(self, aws: Aws, id_: str) -> Tree:
        endpoint = f"https://{id_}.execute-api.{aws.region}.amazonaws.com"
        return {
            "apiID": id_,
            "apiEndpoint": endpoint,
            **_arn(f"arn:aws:apigateway:{aws.region}::/apis/{id_}"),
        }


class Stages:
    """`Stage`."""

    def find(self, aws: Aws, spec: Tree, status: Tree) -> Tree | None:
        stages = aws.account.apigateway(aws.region).apis.get(spec["apiID"], ())
        return {} if spec["stageName"] in stages else None

    def create(self, aws: Aws, spec: Tree) -> Tree:
        apis = aws.account.apigateway(aws.region).apis
        if spec["apiID"] not in apis:
            raise AwsError("NotFoundException", f"Invalid API identifier specified {spec['apiID']}")
        apis[spec["apiID"]] = (*apis[spec["apiID"]], spec["stageName"])
        return {}

    def update(self, aws: Aws, spec: Tree, status: Tree) -> None:
        """Nothing of a stage is simulated that could differ."""

    def delete(self, aws: Aws, spec: Tree, status: Tree) -> None:
        apis = aws.account.apigateway(aws.region).apis
        if spec.get("apiID") in apis:
            apis[spec["apiID"]] = tuple(one for one in apis[spec["apiID"]] if one != spec["stageName"])


class Functions:
    """`Function`."""

    def find(self, aws: Aws, spec: Tree, status: Tree) -> Tree | None:
        found = self._function(aws, spec)
        return None if found is None else self._status(found)

    def create(self, aws: Aws, spec: Tree) -> Tree:
        made = aws.account.functions(aws.region).add(spec["name"])
        made.configuration = self._configuration(spec)
        return self._status(made)

    def update(self, aws: Aws, spec: Tree, status: Tree) -> None:
        found = self._function(aws, spec)
        if found is not None and found.configuration != self._configuration(spec):
            found.configuration = self._configuration(spec)
            aws.cloud.changed()

    def delete(self, aws: Aws, spec: Tree, status: Tree) -> None:
        functions = aws.account.functions(aws.region)
        functions.restore([one for one in functions.save() if one.name != spec["name"]])

    def _function(self, aws: Aws, spec: Tree) -> Function | None:
        functions = {one.name: one for one in aws.account.functions(aws.region).save()}
        return functions.get(spec["name"])

    def _configuration(self, spec: Tree) -> Tree:
        return {key: value for key, value in spec.items() if key not in ("name", "roleRef")}

    def _status(self, function: Function) -> Tree:
        return {"state": function.state, "lastUpdateStatus": "Successful", **_arn(function.arn)}


@dataclass(frozen=True)
class Existence:
    """A kind that is not simulated any further: it exists by the name that a field of its spec has."""

    kind: str
    name: str
    status: Callable[[Aws, Tree, str], Tree]
    """From the spec and an id."""

    def find(self, aws: Aws, spec: Tree, status: Tree) -> Tree | None:
        found = aws.existing.get(self._key(spec))
        return None if found is None else dict(found.status)

    def create(self, aws: Aws, spec: Tree) -> Tree:
        made = aws.existing[self._key(spec)] = Existing(spec, self._status(aws, spec))
        return dict(made.status)

    def update(self, aws: Aws, spec: Tree, status: Tree) -> None:
        aws.existing[self._key(spec)].spec = spec

    def delete(self, aws: Aws, spec: Tree, status: Tree) -> None:
        aws.existing.pop(self._key(spec), None)

    def _key(self, spec: Tree) -> tuple[str, str]:
        return self.kind, f"{spec['apiID']}/{spec[self.name]}" if spec.get("apiID") else spec[self.name]

    def _status(self, aws: Aws, spec: Tree) -> Tree:
        id_ = sha256(" ".join(self._key(spec)).encode()).hexdigest()[:10]
        path = f"{self.kind.lower()}/{spec[self.name]}"
        arn = f"arn:aws:{self.kind.lower()}:{aws.region}:{aws.account.id}:{path}"
        return {**_arn(arn), **self.status(aws, spec, id_)}


def _database(aws: Aws, spec: Tree, id_: str) -> Tree:
    """As RDS tells it. Where it makes the password itself, the Secrets Manager has it."""
    name = spec["dbInstanceIdentifier"]
    secret = f"arn:aws:secretsmanager:{aws.region}:{aws.account.id}:secret:rds!db-{id_}"
    made = {"masterUserSecret": {"secretARN": secret, "secretStatus": "active"}}
    return {
        "dbInstanceStatus": "available",
        "endpoint": {"address": f"{name}.{id_}.rds.amazonaws.com", "port": 5432},
        **(made if spec.get("manageMasterUserPassword") else {}),
    }


RESOURCES: Mapping[str, Resource] = {
    "API": Apis(),
    "DomainName": DomainNames(),
    "APIMapping": ApiMappings(),
    "Certificate": Certificates(),
    "Stage": Stages(),
    "Function": Functions(),
    "Integration": Existence("Integration", "integrationType", lambda _, __, id_: {"integrationID": id_}),
    "Route": Existence("Route", "routeKey", lambda _, __, id_: {"routeID": id_}),
    "Table": Existence("Table", "tableName", lambda *_: {"tableStatus": "ACTIVE"}),
    "Bucket": Existence("Bucket", "name", lambda _, spec, __: {"location": f"/{spec['name']}"}),
    "Role": Existence("Role", "name", lambda _, __, id_: {"roleID": id_}),
    "DBInstance": Existence("DBInstance", "dbInstanceIdentifier", _database),
}


def _arn(arn: str) -> Tree:
    return {"ackResourceMetadata": {"arn": arn}}


def _record(record: Tree) -> Tree:
    return {"name": record["Name"], "type_": record["Type"], "value": record["Value"]}
