"""A certificate of our own for admission webhooks, for clusters without cert-manager.

It signs itself, and lives in a Secret that all replicas share. What the API server has to trust is written into the
ValidatingWebhookConfiguration that the installation brought.

    Secret                           `SERVICE-cert` in our namespace: tls.crt, tls.key, ca.crt
    ValidatingWebhookConfiguration   `SERVICE`: `caBundle` of each of its webhooks

Expected flow
    1. `prepare` reads the Secret, or makes a certificate and creates it. Of two replicas that do so at once one creates
       it, and the other reads that.
    2. The server listens, and `publish` writes what is to be trusted into the configuration.
    3. Both objects are watched by their names. A certificate that is replaced is shown to new connections, and one that
       a deployment tool has taken out of the configuration is put back.

Guarantees
    - A certificate that expires within a year, is for other names, or cannot be read is replaced. What is trusted names
      the old one as well, and is written some seconds before the new one is shown: at no moment is a replica not trusted.
    - Nothing else of the configuration is changed, and none is created, except for `local` use.
"""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.core.log import get_logger
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import AlreadyExistsError, ApiError, NotFoundError, StaleError
from edgekeeper.kube.informers import Informers
from edgekeeper.kube.kinds import SECRET, VALIDATING_WEBHOOKS, Key, Kind
from edgekeeper.runtime.certificates import CertificateError, Pair, self_signed, server_context, show
from edgekeeper.runtime.webhooks import Webhook

log = get_logger(__name__)

FLAG = "--webhook-service"
LEAST_LEFT = timedelta(days=365)
LOOK_AGAIN = timedelta(days=1)
"""How often a certificate is looked at although nothing has changed: it may be about to expire."""
AFTER_FAILURE = timedelta(seconds=30)
MANAGER = "edgekeeper-webhooks"
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class WebhookService:
    """Under which names our webhooks are known in the cluster."""

    namespace: str
    service: str
    settling: timedelta = timedelta(seconds=15)
    """How long API servers may take to learn whom else to trust. Only then a new certificate is shown."""
    local: bool = False
    """There is no Service, and the API server is on this machine: register the address where we listen."""

    @property
    def secret(self) -> Key:
        return Key(self.namespace, f"{self.service}-cert")

    @property
    def configuration(self) -> Key:
        return Key("", self.service)

    @property
    def hosts(self) -> tuple[str, ...]:
        name = f"{self.service}.{self.namespace}.svc"
        return (name, f"{name}.cluster.local", "localhost", "127.0.0.1")


@dataclass(frozen=True, slots=True)
class _Kept:
    """What the Secret has."""

    pair: Pair
    trusted: bytes
    """What the API server is to trust: this certificate, and the one before it."""


class WebhookCertificate:
    """Keeps the certificate of one process equal to the Secret, and the configuration equal to both."""

    def __init__(
        self,
        client: KubeClient,
        informers: Informers,
        clock: Clock,
        service: WebhookService,
        webhooks: Sequence[Webhook],
    ) -> None:
        """`client` must not need to lead in order to write: every replica serves webhooks."""
        self._client = client
        self._informers = informers
        self._clock = clock
        self._service = service
        self._webhooks = [each for each in webhooks if not each.mutating]
        self._context: ssl.SSLContext | None = None
        self._shown: Pair | None = None
        self._changed = asyncio.Event()
        self._stops: list[Callable[[], None]] = []
        self._following: asyncio.Task[None] | None = None
        self._port = 0
        self._complained = ""

    async def prepare(self) -> ssl.SSLContext:
        """What to serve with. Raise CertificateError where there is no Secret to be had."""
        try:
            kept = await self._keep()
        except ApiError as error:
            raise CertificateError(
                f"cannot serve with the certificate in Secret {self._service.secret}: {error}; "
                f"{FLAG} needs to get, create and update it, or use --webhook-cert-path"
            ) from error
        self._shown = kept.pair
        self._context = server_context(kept.pair)
        return self._context

    async def publish(self, port: int) -> None:
        """Let the API server trust us, and keep doing so until `stop`."""
        self._port = port
        await self._attempt()
        self._watch(SECRET, self._service.secret)
        self._watch(VALIDATING_WEBHOOKS, self._service.configuration)
        self._following = asyncio.create_task(self._follow(), name=f"follow {FLAG}")

    async def stop(self) -> None:
        """Stop watching, and remove webhooks that were registered for local use."""
        while self._stops:
            self._stops.pop()()
        if self._following is None:
            return
        self._following.cancel()
        await asyncio.gather(self._following, return_exceptions=True)
        self._following = None
        if self._service.local:
            with suppress(ApiError):
                await self._client.delete(VALIDATING_WEBHOOKS, self._service.configuration)

    # Following

    def _watch(self, kind: Kind, key: Key) -> None:
        informer = self._informers.acquire_object(kind, key)
        unsubscribe = informer.subscribe(lambda change: self._changed.set() if change.key == key else None)

        def stop() -> None:
            unsubscribe()
            self._informers.release(informer)

        self._stops.append(stop)

    async def _follow(self) -> None:
        while True:
            pause = LOOK_AGAIN if not self._complained else AFTER_FAILURE
            with suppress(TimeoutError):
                async with asyncio.timeout(pause.total_seconds()):
                    await self._changed.wait()
            self._changed.clear()
            await self._attempt()

    async def _attempt(self) -> None:
        """Make everything as it should be. What fails is logged once, and tried again."""
        try:
            kept = await self._keep()
            await self._trust(kept.trusted)
        except (ApiError, _MissingError) as error:
            if str(error) != self._complained:
                log.warning("Admission webhooks may not be trusted", why=str(error))
            self._complained = str(error)
            return
        self._complained = ""
        if kept.pair != self._shown and self._context is not None:
            await asyncio.sleep(self._service.settling.total_seconds())
            show(self._context, kept.pair)
            self._shown = kept.pair
            log.info("Serving webhooks with another certificate", secret=str(self._service.secret))

    # The Secret

    async def _keep(self) -> _Kept:
        """What the Secret has, which is good afterwards. Raise ApiError."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return await self._kept_or_made()
            except (AlreadyExistsError, StaleError):
                continue  # another replica was quicker: read what it wrote
        return await self._kept_or_made()

    async def _kept_or_made(self) -> _Kept:
        try:
            secret = await self._client.get(SECRET, self._service.secret)
        except NotFoundError:
            return await self._make(None)
        kept = _read(secret)
        return kept if kept is not None and self._is_good(kept.pair) else await self._make(secret)

    async def _make(self, before: JsonObject | None) -> _Kept:
        pair = self_signed(self._service.hosts, self._clock.now())
        kept = _read(before) if before is not None else None
        before_it = [kept.pair if kept is not None else None, self._shown]
        earlier = [old.certificate for old in before_it if old is not None]
        trusted = b"".join(dict.fromkeys([pair.certificate, *filter(_is_pem, earlier)]))
        data = {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": trusted}
        body: JsonObject = {
            "type": "kubernetes.io/tls",
            "data": {name: _text(value) for name, value in data.items()},
        }
        key = self._service.secret
        if before is None:
            body["metadata"] = {"name": key.name, "namespace": key.namespace}
            await self._client.create(SECRET, body)
        else:
            body["metadata"] = {"resourceVersion": before["metadata"]["resourceVersion"]}
            await self._client.merge_patch(SECRET, key, {name: body[name] for name in ("metadata", "data")})
        log.info("Made a certificate for admission webhooks", secret=str(key))
        return _Kept(pair, trusted)

    def _is_good(self, pair: Pair) -> bool:
        from edgekeeper.runtime.x509 import expiry_of, hosts_of  # noqa: PLC0415 - see there

        try:
            server_context(pair)
            expires, hosts = expiry_of(pair.certificate), hosts_of(pair.certificate)
        except (OSError, ValueError):
            return False
        return expires - self._clock.now() >= LEAST_LEFT and set(self._service.hosts) <= set(hosts)

    # The configuration

    async def _trust(self, trusted: bytes) -> None:
        """Write what is to be trusted where it is not written yet. Raise ApiError or _MissingError."""
        key = self._service.configuration
        if self._service.local:
            wanted = webhook_configuration(key.name, self._webhooks, _at(self._port), trusted)
            await self._client.apply(VALIDATING_WEBHOOKS, key, wanted, manager=MANAGER)
            return
        try:
            configuration = await self._client.get(VALIDATING_WEBHOOKS, key)
        except NotFoundError as error:
            raise _MissingError(f"there is no ValidatingWebhookConfiguration {key.name}") from error
        operations = _trusting(configuration, _text(trusted))
        if operations:
            await self._client.json_patch(VALIDATING_WEBHOOKS, key, operations)
            log.info("Let the API server trust our webhooks", configuration=key.name)


class _MissingError(Exception):
    """The installation has brought no configuration, or not yet."""


_NOT_BEING_DELETED: Final = {
    "name": "not-being-deleted",
    "expression": "!has(object.metadata.deletionTimestamp)",
}


def webhook_configuration(
    name: str, webhooks: Sequence[Webhook], address: Callable[[str], JsonObject], trusted: bytes = b""
) -> JsonObject:
    """A ValidatingWebhookConfiguration for these webhooks; `address` is the clientConfig for a path.

    `failurePolicy` is that of each webhook: Fail refuses writes while no replica responds, Ignore admits them. What is being
    deleted is not asked about, so that its finalizers can be removed in any case.
    """
    bundle = {"caBundle": _text(trusted)} if trusted else {}
    return {
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": f"{each.kind.kind.lower()}.{each.kind.group}",
                "clientConfig": {**address(each.path), **bundle},
                "rules": [
                    {
                        "apiGroups": [each.kind.group],
                        "apiVersions": [each.kind.version],
                        "resources": [each.kind.plural],
                        "operations": ["CREATE", "UPDATE"],
                        "scope": "Namespaced" if each.kind.namespaced else "Cluster",
                    }
                ],
                "matchConditions": [_NOT_BEING_DELETED],
                "failurePolicy": "Fail" if each.on_error == "deny" else "Ignore",
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "timeoutSeconds": 10,
            }
            for each in webhooks
        ],
    }


def _at(port: int) -> Callable[[str], JsonObject]:
    return lambda path: {"url": f"https://127.0.0.1:{port}{path}"}


def _trusting(configuration: JsonObject, bundle: str) -> list[JsonObject]:
    """The operations of RFC 6902 that write the bundle into each webhook, with a test that they are unchanged."""
    version = configuration["metadata"]["resourceVersion"]
    changes: list[JsonObject] = [
        {"op": "add", "path": f"/webhooks/{number}/clientConfig/caBundle", "value": bundle}
        for number, webhook in enumerate(dig_list(configuration, "webhooks"))
        if dig(webhook, "clientConfig", "caBundle") != bundle
    ]
    return (
        [{"op": "test", "path": "/metadata/resourceVersion", "value": version}, *changes] if changes else []
    )


def _read(secret: JsonObject) -> _Kept | None:
    """What a Secret has, or None where something is missing or no base64."""
    try:
        certificate, key, trusted = (
            b64decode(str(dig(secret, "data", name) or ""), validate=True)
            for name in ("tls.crt", "tls.key", "ca.crt")
        )
    except Base64Error:
        return None
    return _Kept(Pair(certificate, key), trusted or certificate) if certificate and key else None


def _is_pem(certificate: bytes) -> bool:
    """Whether the API server could read it: it refuses a bundle in which anything is torn."""
    from edgekeeper.runtime.x509 import expiry_of  # noqa: PLC0415 - see there

    try:
        expiry_of(certificate)
    except ValueError:
        return False
    return True


def _text(value: bytes) -> str:
    return b64encode(value).decode()
