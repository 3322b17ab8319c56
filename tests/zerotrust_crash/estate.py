"""Two simulated Cloudflare accounts, and an eye on every call.

S-29: after every call, a hostname whose route declares Access and which leads to a rule of a tunnel is protected, by an
application with policies that the route declares or declared before, or by a lock that nobody passes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject, dig, dig_list
from kubesim.cloudflare.cloud import CloudflareCloud
from kubesim.cloudflare.state import Account, Zone
from tests.zerotrust_crash.portrait import labelled, state_of

TOKEN = "c4n4ry-of-the-api-token-0123456789abcdef"
"""The API token of the operator. It may be in its Secret only."""
_TARGET = ".cfargotunnel.com"


@dataclass(frozen=True)
class Site:
    """What belongs to one tenant."""

    account: Account
    zone: Zone
    tunnels: tuple[str, str]


@dataclass
class Guard:
    """The policies that a hostname may have, and whether it has had one since it was declared."""

    identities: set[str]
    was_protected: bool = False


class Estate:
    """The accounts, and what was done to them."""

    def __init__(self, clock: Clock) -> None:
        self.cloud = CloudflareCloud(clock)
        self.sites = {
            "main": self._site("acme", "example.com"),
            "other": self._site("umbrella", "example.net"),
        }
        self.cloud.add_token(TOKEN)
        self.wrongs: list[str] = []
        self.issued: set[str] = set()
        """Every client secret that ever was."""
        self.guards: dict[str, Guard] = {}
        self._counts: dict[str, tuple[int, int]] = {}
        self._present = dict(self.things())

    def _site(self, name: str, zone: str) -> Site:
        account = self.cloud.add_account(name)
        tunnels = tuple(self.cloud.add_tunnel(account.id, tunnel) for tunnel in ("first", "second"))
        site = Site(account, self.cloud.add_zone(account.id, zone), (tunnels[0], tunnels[1]))
        group = {"name": "staff", "include": [{"email_domain": {"domain": zone}}]}
        self.cloud.act("POST", f"/accounts/{account.id}/access/groups", group)
        return site

    async def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        try:
            return await self.cloud.send(method, url, headers, body)
        finally:
            if method != "GET":
                self._count()
                self.look(f"{method} {url.partition('/client/v4')[2]}")

    # What happens behind the operator's back

    def lose(self, label: str) -> None:
        """Somebody deletes something. That a hostname is unprotected then is not the operator's doing."""
        (key,) = [one for one, name in self.things() if name == label]
        holder = next(
            holder
            for site in self.sites.values()
            for holder in (site.account.applications, site.account.service_tokens, site.zone.records)
            if key in holder
        )
        del holder[key]
        self._present = dict(self.things())

    # What there is

    def things(self) -> Iterator[tuple[str, str]]:
        """Everything that the operator can create: its id, and its name."""
        for site in self.sites.values():
            account = site.account
            for id_, one in account.applications.items():
                yield id_, f"application {one['domain']}"
            for id_, one in account.policies.items():
                if one.get("reusable"):
                    yield id_, f"policy {one['name']}"
            for id_, one in account.service_tokens.items():
                yield id_, f"token {one['name']}"
            for id_, one in site.zone.records.items():
                yield id_, f"{one['type']} {one['name']}"
            for tunnel in account.configurations:
                for hostname in {rule["hostname"] for rule in self.rules(account, tunnel)}:
                    yield f"{tunnel}/{hostname}", f"rule {self.tunnel_name(tunnel)} {hostname}"

    def labels(self) -> Mapping[str, str]:
        """What ids stand for that differ from run to run."""
        return labelled([site.account for site in self.sites.values()], dict(self.things()))

    def tunnel_name(self, tunnel: str) -> str:
        names = {
            one: f"{name}-{n}" for name, site in self.sites.items() for n, one in enumerate(site.tunnels)
        }
        return names[tunnel]

    def rules(self, account: Account, tunnel: str) -> list[JsonObject]:
        found = dig_list(account.configurations[tunnel]["config"], "ingress")
        return [rule for rule in found if "hostname" in rule]

    def applications(self, hostname: str) -> list[tuple[Account, JsonObject]]:
        """The applications that cover a hostname."""
        names = {hostname, f"*.{hostname.partition('.')[2]}"}
        return [
            (site.account, one)
            for site in self.sites.values()
            for one in site.account.applications.values()
            if names & {one["domain"], *one["self_hosted_domains"]}
        ]

    def identities(self, account: Account, application: JsonObject) -> set[str]:
        """Whom the policies of an application let in."""
        policies = [account.policies[one["id"]] for one in application["policies"]]
        groups = {id_: one["name"] for id_, one in account.groups.items()}
        tokens = {id_: one["name"] for id_, one in account.service_tokens.items()}
        return {_identity(rule, groups, tokens) for policy in policies for rule in policy["include"]}

    # S-29

    def declare(self, hostname: str, identities: set[str] | None) -> None:
        """From now on a hostname may be reached by these only; by everybody if None."""
        if identities is None:
            self.guards.pop(hostname, None)
            return
        guard = self.guards.setdefault(hostname, Guard(set(), was_protected=not self._is_open(hostname)))
        guard.identities |= identities

    def look(self, call: str) -> None:
        """Note every hostname that is reachable without its policies."""
        for hostname, guard in self.guards.items():
            doors = list(self._doors(hostname))
            problem = next((fault for door in doors if (fault := self._fault(hostname, door, guard))), "")
            if not problem:
                guard.was_protected = True
            elif guard.was_protected:
                self.wrongs.append(f"S-29: after {call}: {hostname} {problem}")

    def _is_open(self, hostname: str) -> bool:
        return any(self._doors(hostname)) and not self.applications(hostname)

    def _doors(self, hostname: str) -> Iterator[list[JsonObject]]:
        """The rules that a hostname leads to, for each of its records."""
        for site in self.sites.values():
            for record in site.zone.records.values():
                tunnel = str(record["content"]).removesuffix(_TARGET)
                if record["name"] == hostname and tunnel in site.account.configurations:
                    rules = [one for one in self.rules(site.account, tunnel) if one["hostname"] == hostname]
                    if rules:
                        yield rules

    def _fault(self, hostname: str, rules: list[JsonObject], guard: Guard) -> str:
        covering = self.applications(hostname)
        for account, application in covering:
            strangers = self.identities(account, application) - guard.identities
            if not application["policies"] or strangers:
                return f"lets in {sorted(strangers)}, not only {sorted(guard.identities)}"
        if covering or all(self._is_locked(rule) for rule in rules):
            return ""
        return "is reachable without an application"

    def _is_locked(self, rule: JsonObject) -> bool:
        """Whether a rule wants a login that no application gives."""
        access: Any = dig(rule, "originRequest", "access")
        if not isinstance(access, dict) or access.get("required") is not True:
            return False
        audiences = {one["aud"] for site in self.sites.values() for one in site.account.applications.values()}
        return bool(access["audTag"]) and not audiences & set(access["audTag"])

    # What the harness asks

    @property
    def writes(self) -> int:
        return len(self.cloud.journal.writes())

    def state(self) -> JsonObject:
        accounts = {name: (site.account, site.zone) for name, site in self.sites.items()}
        return state_of(accounts, self.labels())

    def tally(self) -> Mapping[str, tuple[int, int]]:
        return self._counts

    def repeated(self) -> Sequence[str]:
        return [name for name, (created, _) in self._counts.items() if created > 1]

    def owners(self) -> Mapping[str, tuple[str, str]]:
        return {}  # not all things bear a mark: `wrongs` of the system knows what there should be

    def _count(self) -> None:
        before, after = self._present, dict(self.things())
        created = Counter(after[key] for key in after.keys() - before.keys())
        deleted = Counter(before[key] for key in before.keys() - after.keys())
        for name in created.keys() | deleted.keys():
            made, gone = self._counts.get(name, (0, 0))
            self._counts[name] = made + created[name], gone + deleted[name]
        self._present = after
        for site in self.sites.values():
            self.issued |= {one.value for many in site.account.secrets.values() for one in many}


def _identity(rule: JsonObject, groups: Mapping[str, str], tokens: Mapping[str, str]) -> str:
    match rule:
        case {"email": {"email": email}}:
            return str(email)
        case {"group": {"id": id_}}:
            return f"group {groups[id_]}"
        case {"service_token": {"token_id": id_}}:
            return f"token {tokens.get(id_, id_)}"
        case _:
            return str(rule)
