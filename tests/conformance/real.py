"""A real control plane on loopback: etcd, kube-apiserver, and the two controllers that tests rely on.

The kube-controller-manager runs garbage collection and namespace deletion only: what the embedded server does by
itself. Everything else about the cluster stays as the tests put it.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from edgekeeper.core.json import JsonObject
from tests.conformance.pki import Authority
from tests.conformance.servers import (
    ADMIN,
    CERTIFICATE_GROUP,
    CERTIFICATE_USER,
    GROUPS,
    TOKENS,
    Server,
    UnavailableError,
)

_TOOL = Path(__file__).parents[2] / "tools" / "real_server.py"
_START_DEADLINE_SECONDS = 90
_STOP_DEADLINE_SECONDS = 10


def find_programs() -> Path:
    """Return the directory with the real programs. Building them is left to `tools/real_server.py` itself."""
    command = [sys.executable, str(_TOOL), "--no-build", "--print-path"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode != 0:
        raise UnavailableError(found.stderr.strip())
    return Path(found.stdout.strip())


CONTROLLERS = ("garbage-collector-controller", "namespace-controller")


@contextmanager
def real_server(
    directory: Path, controllers: Sequence[str] = CONTROLLERS, **api_server: str
) -> Iterator[Server]:
    """Start everything below `directory`, wait until it is ready, and stop it in the opposite order.

    `api_server` are further flags of kube-apiserver, with underscores in place of hyphens.
    """
    programs = find_programs()
    authority = Authority(directory)
    etcd = f"http://127.0.0.1:{_free_port()}"
    server = Server(
        name="real",
        url=f"https://127.0.0.1:{_free_port()}",
        authority=authority,
        certificate=authority.client(CERTIFICATE_USER, CERTIFICATE_GROUP),
        compact=lambda: _compact(etcd),
        kubectl=programs / "kubectl",
    )
    with ExitStack() as running:
        running.enter_context(_process(programs / "etcd", _etcd_flags(directory, etcd), directory))
        flags = {
            **_api_server_flags(directory, server, etcd),
            **{name.replace("_", "-"): value for name, value in api_server.items()},
        }
        running.enter_context(_process(programs / "kube-apiserver", flags, directory))
        _wait_until_ready(server, directory)
        flags = _controller_flags(directory, server, controllers)
        running.enter_context(_process(programs / "kube-controller-manager", flags, directory))
        yield server


def _etcd_flags(directory: Path, address: str) -> Mapping[str, str]:
    peer = f"http://127.0.0.1:{_free_port()}"
    return {
        "data-dir": str(directory / "etcd"),
        "unsafe-no-fsync": "true",
        "listen-client-urls": address,
        "advertise-client-urls": address,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"default={peer}",
        "log-level": "error",
    }


def _api_server_flags(directory: Path, server: Server, etcd: str) -> Mapping[str, str]:
    serving = server.authority.serving("kube-apiserver")
    signing_key = _service_account_key(directory)
    return {
        "etcd-servers": etcd,
        "bind-address": "127.0.0.1",
        "secure-port": server.url.rpartition(":")[2],
        "tls-cert-file": str(serving.certificate),
        "tls-private-key-file": str(serving.key),
        "cert-dir": str(directory),
        "client-ca-file": str(server.authority.files.certificate),
        "token-auth-file": str(_token_file(directory)),
        "authorization-mode": "RBAC",
        "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
        "service-account-key-file": str(signing_key),
        "service-account-signing-key-file": str(signing_key),
        "service-cluster-ip-range": "10.96.0.0/16",
        "disable-admission-plugins": "ServiceAccount",
        "endpoint-reconciler-type": "none",
        "enable-priority-and-fairness": "false",
        "shutdown-delay-duration": "0s",
    }


def _controller_flags(directory: Path, server: Server, controllers: Sequence[str]) -> dict[str, str]:
    return {
        "kubeconfig": str(write_kubeconfig(directory / "controllers.json", server)),
        "controllers": ",".join(controllers),
        "leader-elect": "false",
        "secure-port": "0",
        # Both controllers talk more than the default of 20 requests a second allows when tests delete a lot.
        "kube-api-qps": "500",
        "kube-api-burst": "1000",
    }


def write_kubeconfig(path: Path, server: Server, user: str = ADMIN) -> Path:
    """Write what kubectl and the controllers need to log in as `user`."""
    bundle = base64.b64encode(server.authority.bundle).decode()
    cluster = {"server": server.url, "certificate-authority-data": bundle}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "tests", "cluster": cluster}],
        "users": [{"name": user, "user": {"token": TOKENS[user]}}],
        "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": user}}],
        "current-context": "tests",
    }
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def _token_file(directory: Path) -> Path:
    path = directory / "tokens.csv"
    lines = [f'{token},{user},{user}-uid,"{GROUPS[user]}"' for user, token in TOKENS.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _service_account_key(directory: Path) -> Path:
    """The server refuses to start without a key for service account tokens, though no test issues one."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    path = directory / "service-account.key"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
    return path


@contextmanager
def _process(program: Path, flags: Mapping[str, str], directory: Path) -> Iterator[None]:
    command = [str(program), *(f"--{name}={value}" for name, value in flags.items())]
    with (directory / f"{program.name}.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=_environment())
        try:
            yield
        finally:
            _stop(process)


def _environment() -> dict[str, str]:
    """Proxies of the surroundings must not stand between processes on loopback."""
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_DEADLINE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait_until_ready(server: Server, directory: Path) -> None:
    trust = ssl.create_default_context(cafile=str(server.authority.files.certificate))
    request = urllib.request.Request(  # noqa: S310 - our own loopback address
        f"{server.url}/readyz", headers={"Authorization": f"Bearer {TOKENS[ADMIN]}"}
    )
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trust)
    )
    deadline = time.monotonic() + _START_DEADLINE_SECONDS
    while time.monotonic() < deadline:
        try:
            with opener.open(request, timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    log = (directory / "kube-apiserver.log").read_text(encoding="utf-8", errors="replace")
    raise UnavailableError(f"kube-apiserver did not become ready: …{log[-2000:]}")


def _compact(etcd: str) -> None:
    """Drop etcd's history up to now, and tell the API server as another replica's compaction would."""
    revision = _etcd_call(etcd, "range", {"key": _encode("compact_rev_key")})["header"]["revision"]
    _etcd_call(etcd, "put", {"key": _encode("compact_rev_key"), "value": _encode(revision)})
    _etcd_call(etcd, "compaction", {"revision": revision, "physical": True})


def _etcd_call(etcd: str, method: str, body: JsonObject) -> JsonObject:
    data = json.dumps(body).encode()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{etcd}/v3/kv/{method}", data=data, timeout=10) as answer:
        decoded: JsonObject = json.loads(answer.read())
    return decoded


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
