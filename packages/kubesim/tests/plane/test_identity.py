"""The plane's secrets, and the kubeconfig made of them."""

from __future__ import annotations

import base64
import stat
from datetime import UTC, datetime
from pathlib import Path

import yaml

from kubesim.plane.auth.certificates import CertificateAuthority, key_pem
from kubesim.plane.identity import Identity
from kubesim.plane.kubeconfig import Endpoint, render_kubeconfig

NOW = datetime(2030, 1, 2, tzinfo=UTC)


def facts(identity: Identity) -> tuple[bytes, bytes, str]:
    return identity.authority.certificate, key_pem(identity.signing_key), identity.admin_token


def test_identity_is_created_once_and_found_again(tmp_path: Path) -> None:
    created = Identity.load_or_create(tmp_path / "new", None, NOW)
    assert facts(Identity.load_or_create(tmp_path / "new", None, NOW)) == facts(created)


def test_identities_without_a_home_are_all_different() -> None:
    one, other = (Identity.load_or_create(None, None, NOW) for _ in range(2))
    assert not set(facts(one)) & set(facts(other))


def test_identity_uses_the_authority_it_is_given(tmp_path: Path) -> None:
    authority = CertificateAuthority.create(NOW)
    identity = Identity.load_or_create(tmp_path, authority, NOW)
    assert identity.authority.certificate == authority.certificate
    assert Identity.load_or_create(tmp_path, None, NOW).authority.certificate == authority.certificate


def test_identity_that_was_not_written_to_its_end_is_created_anew(tmp_path: Path) -> None:
    first = Identity.load_or_create(tmp_path, None, NOW)
    (tmp_path / "token").unlink()
    second = Identity.load_or_create(tmp_path, None, NOW)
    assert second.admin_token != first.admin_token
    assert facts(Identity.load_or_create(tmp_path, None, NOW)) == facts(second)


def test_secrets_can_be_read_by_their_owner_only(tmp_path: Path) -> None:
    Identity.load_or_create(tmp_path, None, NOW)
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


def test_kubeconfig_names_server_authority_and_token() -> None:
    tree = yaml.safe_load(render_kubeconfig(Endpoint("https://127.0.0.1:6443", b"PEM", "secret"), "mine"))
    assert (tree["apiVersion"], tree["kind"], tree["current-context"]) == ("v1", "Config", "mine")
    (cluster,), (user,), (context,) = tree["clusters"], tree["users"], tree["contexts"]
    assert cluster["cluster"]["server"] == "https://127.0.0.1:6443"
    assert base64.b64decode(cluster["cluster"]["certificate-authority-data"]) == b"PEM"
    assert user["user"] == {"token": "secret"}
    assert context["context"] == {"cluster": cluster["name"], "user": user["name"]}
    assert context["name"] == "mine"
