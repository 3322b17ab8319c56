"""A journal that also judges: how often things came and went, and whether a name was ever left leading nowhere.

Certificates count when CloudFront accepts a request for one, whether or not it makes a new one of it.

The rule (R-12): a name that a tenant served must not lead to CloudFront once no tenant serves it any more, not even for
a moment, since whoever claims it next would get its visitors. It is checked after every call. Before a tenant is created
its names may lead there already: CloudFront wants to see that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from edgekeeper.core.ownership import TAG_PREFIX
from kubesim.aws.cloud import AwsCloud
from kubesim.aws.journal import Entry, Journal
from kubesim.aws.route53.state import Zone

_READING = ("Get", "List", "Describe", "AssumeRole", "Verify")


@dataclass
class Tally:
    """How often something was created and deleted."""

    created: int = 0
    deleted: int = 0


class Chronicle(Journal):
    """Everything that was done to an account, and what of it should not have been."""

    def __init__(self, cloud: AwsCloud, zones: Callable[[], Collection[Zone]]) -> None:
        super().__init__()
        self.writes = 0
        self.wrongs: list[str] = []
        """Moments at which a name led nowhere, in words."""
        self.listeners: list[Callable[[], None]] = []
        """Told after every call."""
        self._cloud = cloud
        self._zones = zones
        self._names: dict[str, str] = {}
        """Of every tenant that ever was, by id."""
        self._tallies: dict[str, Tally] = {}
        self._births: Counter[tuple[str, str]] = Counter()
        self._served: set[str] = set()
        """Names that lead to CloudFront, and were served since they do."""

    def add(self, entry: Entry) -> None:
        super().add(entry)
        if not entry.code and not entry.operation.startswith(_READING):
            self.writes += 1
            self._count(entry)
            self._judge(entry)
        for listener in self.listeners:
            listener()

    def excuse(self) -> None:
        """What is wrong now was done by somebody else."""
        self._served = set(self.leading()) & set(self._cloud.world.edge_domains)

    @property
    def tally(self) -> Mapping[str, tuple[int, int]]:
        return {name: (one.created, one.deleted) for name, one in self._tallies.items()}

    @property
    def repeated(self) -> list[str]:
        """Tenants that were created more than once for one object."""
        return [name for (name, _), count in self._births.items() if count > 1]

    # Counting

    def _count(self, entry: Entry) -> None:
        if "ManagedCertificateRequest" in entry.params:
            domains = sorted(item["Domain"] for item in entry.params["Domains"])
            self._of(f"certificate for {', '.join(domains)}").created += 1
        match entry.operation:
            case "CreateDistributionTenant":
                tags = {tag["Key"]: tag["Value"] for tag in (entry.params.get("Tags") or {}).get("Items", ())}
                name = entry.params["Name"]
                self._names[self._cloud.cloudfront.tenant(name).id] = name
                self._births[name, tags.get(f"{TAG_PREFIX}uid", "")] += 1
                self._of(f"tenant {name}").created += 1
            case "DeleteDistributionTenant":
                id_ = entry.params["Id"]
                self._of(f"tenant {self._names.get(id_, id_)}").deleted += 1
            case "ChangeResourceRecordSets":
                for change in entry.params["ChangeBatch"]["Changes"]:
                    self._count_change(change["Action"], change["ResourceRecordSet"])

    def _count_change(self, action: str, record: Mapping[str, str]) -> None:
        tally = self._of(f"{record['Type']} {record['Name'].rstrip('.')}")
        tally.created += action == "CREATE"
        tally.deleted += action == "DELETE"

    def _of(self, name: str) -> Tally:
        return self._tallies.setdefault(name, Tally())

    # Judging

    def _judge(self, entry: Entry) -> None:
        leading, domains = set(self.leading()), self._cloud.world.edge_domains
        for name in sorted((self._served & leading) - set(domains)):
            self.wrongs.append(f"{name} leads to CloudFront and is nobody's, after {entry.operation}")
        self._served = leading & set(domains)

    def leading(self) -> Iterator[str]:
        """The names that lead to CloudFront."""
        endpoints = {f"{group.endpoint}." for group in self._cloud.cloudfront.groups.values()}
        for zone in self._zones():
            for record in zone.records.values():
                if zone.target(record.name) in endpoints:
                    yield record.name.rstrip(".")
