"""The status page of an installed chart, opened as docs/status-page.md says: who sees what, and that it follows the cluster."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
import yaml

from edgekeeper.core.json import JsonObject
from edgekeeper.web.access import COOKIE
from tests.conformance.client import Client, eventually
from tests.conformance.installation import PATIENCE, QUICK, TEAM, Site, examples, installed
from tests.conformance.kinds import SECRETS
from tests.conformance.real import find_programs, write_kubeconfig
from tests.conformance.servers import UnavailableError, give_up
from tests.docs.cluster_sessions import STATUS_PAGE
from tools.chart import NAMESPACE

ENABLED = ("statusPage.enabled=true",)
FIRST = ("quickstart/10-namespace.yaml", "quickstart/20-tenants.yaml")
ROUTES = ("zero-trust/10-tenant.yaml", "zero-trust/20-templates.yaml", "zero-trust/30-routes.yaml")
SILENT = ("Namespace", "Secret")
"""Kinds of the examples that are no objects of the operator."""
API_TOKEN = "simulated-api-token"
"""What the Secret of the examples has."""
BINDING = ("kubectl create serviceaccount ", "kubectl create clusterrolebinding ")
"""How the commands begin by which the page makes somebody a viewer."""


@dataclass(frozen=True)
class Kubectl:
    """The real kubectl, as the administrator."""

    program: Path
    kubeconfig: Path

    def run(self, *arguments: str) -> str:
        """What a command prints, which must succeed."""
        done = self._run(*arguments)
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        return done.stdout.strip()

    def output(self, *arguments: str) -> str:
        """What a command prints, whether it succeeds or not."""
        return self._run(*arguments).stdout.strip()

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.program), f"--kubeconfig={self.kubeconfig}", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def kubectl(admin: Client, tmp_path: Path) -> Kubectl:
    try:
        program = find_programs() / "kubectl"
    except UnavailableError as error:
        give_up(str(error))
    return Kubectl(program, write_kubeconfig(tmp_path / "kubectl.kubeconfig", admin.server))


@dataclass
class Browser:
    """Looks at the page of one process. Trusts the certificate that the process has made, and nothing else."""

    session: aiohttp.ClientSession
    origin: str

    @property
    def cookie(self) -> str:
        return f"{COOKIE}-{urlsplit(self.origin).port}"

    async def ask(self, path: str, token: str = "", cookie: str = "") -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        cookies = {self.cookie: cookie} if cookie else {}
        url = f"{self.origin}{path}"
        async with self.session.get(url, headers={**headers, **_cookie_header(cookies)}) as answer:
            body = await answer.read()
            is_json = answer.content_type == "application/json"
            return answer.status, json.loads(body) if is_json else body.decode()

    async def log_in(self, token: str) -> str:
        """What the page does with the token that somebody enters: the value of the cookie."""
        headers = {"Authorization": f"Bearer {token}"}
        async with self.session.get(f"{self.origin}/session", headers=headers) as answer:
            assert answer.status == 200, await answer.text()
            return answer.cookies[self.cookie].value

    async def names(self, token: str) -> set[tuple[str, str, str]]:
        """Kind, namespace and name of all objects of the list."""
        status, found = await self.ask("/api/objects?size=200", token)
        assert status == 200, found
        return {(row["kind"], row["namespace"], row["name"]) for row in found["items"]}


def _cookie_header(cookies: dict[str, str]) -> dict[str, str]:
    return {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())} if cookies else {}


@asynccontextmanager
async def looking(site: Site, name: str) -> AsyncIterator[Browser]:
    """Connect to the page of a Deployment by HTTPS, as `localhost`, as somebody does who forwards its port."""
    port = site.pages[name]

    async def presented() -> str | None:
        try:
            return await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port))
        except OSError:
            return None

    certificate = await eventually(presented, PATIENCE, what=f"the page is served: {site.logs()}")
    trust = ssl.create_default_context(cadata=certificate)
    jar = aiohttp.DummyCookieJar()
    connector = aiohttp.TCPConnector(ssl=trust)
    async with aiohttp.ClientSession(connector=connector, cookie_jar=jar) as session:
        yield Browser(session, f"https://localhost:{port}")


def token_of(kubectl: Kubectl, account: str) -> str:
    return kubectl.run("create", "token", account, "-n", NAMESPACE)


def bind_viewer(kubectl: Kubectl) -> str:
    """The token of somebody who was bound as the page says."""
    commands = [one.command for one in STATUS_PAGE.commands() if one.command.startswith(BINDING)]
    assert len(commands) == len(BINDING)
    for command in commands:
        kubectl.run(*command.split()[1:])
    return token_of(kubectl, "viewer")


def shown(objects: Sequence[JsonObject]) -> set[tuple[str, str, str]]:
    """What the list must have of these objects."""
    return {
        (obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        for obj in objects
        if obj["kind"] not in SILENT
    }


async def test_page_shows_the_cluster_to_those_who_are_bound(
    admin: Client, kubectl: Kubectl, tmp_path: Path, mode: str
) -> None:
    objects = examples(*FIRST, *ROUTES)
    async with installed(admin, tmp_path, mode, *QUICK, values=ENABLED) as site:
        await site.run_all_pods(mode)
        await site.apply(objects)
        viewer = bind_viewer(kubectl)
        kubectl.run("create", "serviceaccount", "stranger", "-n", NAMESPACE)
        stranger = token_of(kubectl, "stranger")
        await site.until_ready([obj for obj in objects if obj["kind"] not in SILENT])
        found: set[tuple[str, str, str]] = set()
        for name in site.ports:
            async with looking(site, name) as browser:
                await assert_guarded(browser, stranger)
                found |= await browser.names(viewer)
        assert found == shown(objects)
        assert set(site.pages) == set(site.ports), "every process has its page"


async def assert_guarded(browser: Browser, stranger: str) -> None:
    """Whoever has no token, a wrong one, or one without the right sees nothing."""
    for path in ("/api/overview", "/api/objects", "/api/changes", "/events", "/session"):
        assert (await browser.ask(path))[0] == 401, path
        assert (await browser.ask(path, "wrong"))[0] == 401, path
        status, answer = await browser.ask(path, stranger)
        assert status == 403, path
        assert "the right to get the path /status is missing" in answer["error"], path
    status, page = await browser.ask("/")
    assert status == 200, "the page itself asks for the token"
    assert 'id="login"' in page
    async with aiohttp.ClientSession() as plain:
        with pytest.raises(aiohttp.ClientError):
            await plain.get(browser.origin.replace("https:", "http:"))


async def test_page_shows_changes_while_it_is_open(admin: Client, kubectl: Kubectl, tmp_path: Path) -> None:
    objects = examples(*FIRST)
    async with installed(admin, tmp_path, "all-in-one", *QUICK, values=ENABLED) as site:
        await site.run_all_pods("all-in-one")
        await site.apply(objects)
        await site.until_ready([obj for obj in objects if obj["kind"] not in SILENT])
        viewer = bind_viewer(kubectl)
        async with looking(site, "edgekeeper") as browser:
            cookie = await browser.log_in(viewer)
            assert (await browser.ask("/api/overview", cookie=cookie))[0] == 200
            headers = _cookie_header({browser.cookie: cookie})
            async with browser.session.get(f"{browser.origin}/events", headers=headers) as stream:
                assert (await event(stream))[0] == "hello"
                kubectl.run("annotate", "dt", "shop", "-n", "edge", "edgekeeper.io/paused=true")
                await until_row(stream, "shop", state="paused")
                kubectl.run("delete", "dt", "docs", "-n", "edge", "--wait=false")
                await until_gone(stream, "docs")
            _, found = await browser.ask("/api/objects?q=docs", cookie=cookie)
            assert found["total"] == 0


async def event(stream: aiohttp.ClientResponse) -> tuple[str, Any]:
    """The next event: its kind, and its data."""
    while True:
        lines = (await stream.content.readuntil(b"\n\n")).decode().splitlines()
        fields = dict(line.split(": ", 1) for line in lines if not line.startswith(":") and line)
        if fields:
            return fields["event"], json.loads(fields["data"])


async def until_row(stream: aiohttp.ClientResponse, name: str, *, state: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            kind, data = await event(stream)
            if kind == "rows" and any((row["name"], row["state"]) == (name, state) for row in data["rows"]):
                return


async def until_gone(stream: aiohttp.ClientResponse, name: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            kind, data = await event(stream)
            if kind == "rows" and any(id_.endswith(f"/{name}") for id_ in data["gone"]):
                return


PASSWORD = "correct-horse-battery-staple"
COPIED = """
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: logins}
spec:
  schema:
    apiVersion: v1alpha1
    kind: Login
    spec: {source: string | required=true}
  resources:
    - id: source
      externalRef: {apiVersion: v1, kind: Secret, metadata: {name: "${schema.spec.source}"}}
    - id: copy
      template:
        apiVersion: v1
        kind: Secret
        metadata: {name: "${schema.metadata.name}"}
        stringData: {word: "${string(source.data.word)}"}
---
apiVersion: kro.run/v1alpha1
kind: Login
metadata: {name: reports, namespace: apps}
spec: {source: database}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: logins, labels: {rbac.kro.run/aggregate-to-controller: "true"}}
rules:
  - {apiGroups: [kro.run], resources: [logins, logins/status], verbs: ["*"]}
  - {apiGroups: [""], resources: [secrets], verbs: [get, list, watch, create, update, patch, delete]}
"""
"""A composed kind that copies a Secret: what it makes has a value that a viewer of the page may not read."""


async def test_page_shows_no_secret_to_somebody_who_may_not_read_secrets(
    admin: Client, kubectl: Kubectl, tmp_path: Path
) -> None:
    definition, instance, role = yaml.safe_load_all(COPIED)
    routes = examples(*ROUTES)
    async with installed(admin, tmp_path, "all-in-one", *QUICK, values=ENABLED) as site:
        await site.run_all_pods("all-in-one")
        await site.apply(
            [role, *routes, SECRETS.new("database", metadata=IN_TEAM, data={"word": encoded(PASSWORD)})]
        )
        await site.until_trusted()
        await site.apply([definition])
        await site.until_ready([definition, *(obj for obj in routes if obj["kind"] not in SILENT)])
        await site.apply([instance])
        await site.until_ready([instance])
        viewer = bind_viewer(kubectl)
        account = f"system:serviceaccount:{NAMESPACE}:viewer"
        review = ("auth", "can-i", "get", "secrets", "-n", TEAM, f"--as={account}")
        assert kubectl.output(*review) == "no"
        await correct_copy(site)
        async with looking(site, "edgekeeper") as browser:
            told = await everything(browser, viewer)
            assert (await browser.ask(f"/api/object/-/Secret/{TEAM}/database", viewer))[0] == 404
        assert {"/api/graph/kro.run/Login/apps/reports", "/api/changes"} <= told.keys()
        secrets = await values_of_secrets(site)
        assert {PASSWORD, API_TOKEN} <= secrets
        for secret in secrets:
            leaks = [path for path, text in told.items() if secret in text or encoded(secret) in text]
            assert leaks == [], secret


IN_TEAM = {"namespace": TEAM}


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def correct_copy(site: Site) -> None:
    """Let the operator correct what somebody changes in the Secret that it has made: a change that is told."""
    path = SECRETS.path(TEAM, "reports")
    other = {"data": {"word": encoded("overwritten-by-somebody")}}
    (await site.api.patch(path, other)).expect(200)

    async def corrected() -> bool | None:
        return (await site.api.get(path)).expect(200)["data"]["word"] == encoded(PASSWORD) or None

    await eventually(corrected, PATIENCE, what=f"the Secret is corrected: {site.logs()}")


async def everything(browser: Browser, token: str) -> dict[str, str]:
    """All that the page says, by path."""
    _, listed = await browser.ask("/api/objects?size=200", token)
    paths = ["/api/overview", "/api/objects?size=200", "/api/changes"]
    for row in listed["items"]:
        paths += [f"/api/{part}/{row['id']}" for part in ("object", "plan", "graph", "graph.svg")]
    told = {}
    for path in paths:
        status, answer = await browser.ask(path, token)
        assert status in (200, 404), (path, answer)
        if status == 200:
            told[path] = json.dumps(answer)
    return told


async def values_of_secrets(site: Site) -> set[str]:
    """All values of the Secrets of the cluster."""
    found = (await site.api.get(SECRETS.path())).expect(200)
    values = [value for secret in found["items"] for value in secret.get("data", {}).values()]
    return {base64.b64decode(value).decode(errors="replace") for value in values}
