"""An AWS account with API Gateway, Lambda, ACM and Route 53, as the bridge finds it, and what was done to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject
from edgekeeper.core.ownership import TAG_PREFIX
from kubesim.ack.controller import AckControllers
from kubesim.aws.apigateway.state import ApiDomain, ApiGateway, Mapped
from kubesim.aws.functions.state import Functions
from kubesim.aws.journal import Entry
from tests.tenants.chronicle import Tally
from tests.tenants.estate import Estate

REGION = "eu-west-1"
FUNCTION = "shop"
_UID = f"{TAG_PREFIX}uid"
_BORN = ("NS", "SOA")


class BridgeEstate(Estate):
    """See the module."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._tallies: dict[str, Tally] = {}
        self._births: Counter[tuple[str, str]] = Counter()
        self.dangling: list[str] = []
        """Moments at which a name led to a domain name that is gone."""
        self._requested: set[str] = set()
        """Certificates that were counted."""
        self.foreign: set[str] = set()
        """Statements of somebody else."""
        self.ack: AckControllers | None = None
        """ACK's controllers, where they run."""
        self.chronicle.listeners.append(self._count_calls)
        self.function = self.functions.add(FUNCTION)
        self.api = self.gateway.add_api("a1b2c3d4e5")

    @property
    def gateway(self) -> ApiGateway:
        return self.cloud.account().apigateway(REGION)

    @property
    def functions(self) -> Functions:
        return self.cloud.account().functions(REGION)

    @property
    def certificates(self) -> Any:
        return self.cloud.account().certificates(REGION)

    def statements(self, qualifier: str = "") -> dict[str, JsonObject]:
        """The policy of the function, by statement id."""
        return self.function.statements.get(qualifier, {})

    # What happens behind the operator's back

    def make_statement(self, id_: str, source: str = "arn:aws:s3:::photos") -> None:
        """Somebody else has a statement."""
        self.foreign.add(id_)
        self.function.statements.setdefault("", {})[id_] = {
            "Sid": id_,
            "Effect": "Allow",
            "Principal": {"Service": "s3.amazonaws.com"},
            "Action": "lambda:InvokeFunction",
            "Resource": self.function.arn,
            "Condition": {"ArnLike": {"AWS:SourceArn": source}},
        }

    def make_domain(self, name: str, api: str, certificate: str) -> None:
        """Somebody else has a domain name; with an API, it is mapped to it."""
        settings = {"CertificateArn": certificate, "EndpointType": "REGIONAL", "SecurityPolicy": "TLS_1_2"}
        mapped = (Mapped("m1", api, "$default"),) if api else ()
        target = f"d-old.execute-api.{REGION}.amazonaws.com"
        self.gateway.keep(ApiDomain(name, target, settings, 0.0, mappings=mapped))

    # What the harness asks

    def state(self) -> JsonObject:
        self.certificates.settle()
        domains: JsonObject = {
            one.name: {
                "configuration": {
                    **dict(one.configuration),
                    "CertificateArn": self._names(one),
                },
                "mappings": sorted((each.key, each.api, each.stage) for each in one.mappings),
                "tags": {key: value for key, value in sorted(one.tags.items()) if key != _UID},
            }
            for one in self.gateway.domains.values()
        }
        return {
            "domains": domains,
            "statements": {
                function.name: {
                    key: dict(sorted(one.items())) for key, one in function.statements.items() if one
                }
                for function in self.functions.save()
            },
            "records": sorted(
                f"{record.type} {record.name} {record.ttl} {self._target(record)}"
                for record in self.zone.records.values()
                if record.type not in _BORN
            ),
            "certificates": sorted(
                f"{', '.join(one.names)}: {one.status}" for one in self.certificates.shelf.values()
            ),
        }

    def tally(self) -> Mapping[str, tuple[int, int]]:
        return {name: (one.created, one.deleted) for name, one in self._tallies.items()}

    def repeated(self) -> Sequence[str]:
        return [name for (name, _), count in self._births.items() if count > 1]

    def owners(self) -> Mapping[str, tuple[str, str]]:
        found = {
            f"domain {one.name}": (one.tags[_UID], "domain")
            for one in self.gateway.domains.values()
            if _UID in one.tags
        }
        for one in self.certificates.shelf.values():
            if _UID in one.tags:
                found[f"certificate {one.arn}"] = (one.tags[_UID], f"certificate {one.names}")
        return found

    def _names(self, domain: ApiDomain) -> str:
        certificate = self.certificates.shelf.get(domain.configuration.get("CertificateArn", ""))
        return ", ".join(certificate.names) if certificate else ""

    def _target(self, record: Any) -> str:
        target = str(record.alias.name if record.alias else record.values[0]).rstrip(".")
        names = {one.target: f"endpoint of {one.name}" for one in self.gateway.domains.values()}
        return names.get(target, target)

    def _count_calls(self) -> None:
        entries = list(self.chronicle.entries)[-1:]
        for entry in entries:
            if not entry.code:
                self._count(entry)

    def _count(self, entry: Entry) -> None:
        params = entry.params
        match entry.operation:
            case "CreateDomainName":
                self._born(f"domain {params['DomainName']}", (params.get("Tags") or {}).get(_UID, ""))
            case "DeleteDomainName":
                self._of(f"domain {params['DomainName']}").deleted += 1
            case "RequestCertificate":
                # Asking again with the same token gives the same certificate.
                present = {one.arn for one in self.certificates.shelf.values() if not one.imported}
                self._of(f"certificate {params['DomainName']}").created += len(present - self._requested)
                self._requested |= present
            case "DeleteCertificate":
                self._of("certificates").deleted += 1
            case "CreateApiMapping":
                self._of(f"mapping of {params['DomainName']}").created += 1
            case "AddPermission":
                self._of(f"statement {params['StatementId']}").created += 1
            case "RemovePermission":
                self._of(f"statement {params['StatementId']}").deleted += 1
            case "ChangeResourceRecordSets":
                for change in params["ChangeBatch"]["Changes"]:
                    record = change["ResourceRecordSet"]
                    tally = self._of(f"{record['Type']} {record['Name'].rstrip('.')}")
                    tally.created += change["Action"] == "CREATE"
                    tally.deleted += change["Action"] == "DELETE"
        self._judge(entry)

    def _judge(self, entry: Entry) -> None:
        """A name must not lead to an endpoint of API Gateway that is gone (R-12)."""
        endpoints = {one.target for one in self.gateway.domains.values()}
        for record in self.zone.records.values():
            target = (record.alias.name if record.alias else (record.values or ("",))[0]).rstrip(".")
            if ".execute-api." in target and target not in endpoints:
                self.dangling.append(f"{record.name} leads nowhere, after {entry.operation}")

    def _born(self, name: str, uid: str) -> None:
        self._of(name).created += 1
        self._births[name, uid] += 1

    def _of(self, name: str) -> Tally:
        return self._tallies.setdefault(name, Tally())
