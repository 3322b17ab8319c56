"""Who the server is: its certificate authority, the key that signs tokens, and the administrator's token.

Kept in the data directory where there is one, so that kubeconfigs and tokens stay valid over a restart.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec

from kubesim.plane.auth.certificates import CertificateAuthority, KeyPair, key_pem, load_key, new_key


@dataclass(frozen=True, slots=True)
class Identity:
    """The secrets of one plane."""

    authority: CertificateAuthority
    signing_key: ec.EllipticCurvePrivateKey
    admin_token: str

    @classmethod
    def create(cls, authority: CertificateAuthority | None, now: datetime) -> Identity:
        return cls(authority or CertificateAuthority.create(now), new_key(), secrets.token_urlsafe(24))

    @classmethod
    def load_or_create(
        cls, data_dir: Path | None, authority: CertificateAuthority | None, now: datetime
    ) -> Identity:
        if data_dir is None:
            return cls.create(authority, now)
        if (data_dir / "token").exists():
            pair = KeyPair((data_dir / "ca.crt").read_bytes(), (data_dir / "ca.key").read_bytes())
            signing_key = load_key((data_dir / "tokens.key").read_bytes())
            return cls(CertificateAuthority.load(pair), signing_key, (data_dir / "token").read_text())
        identity = cls.create(authority, now)
        identity.save(data_dir)
        return identity

    def save(self, data_dir: Path) -> None:
        data_dir.mkdir(parents=True, exist_ok=True)
        pair = self.authority.pair
        _write(data_dir / "ca.crt", pair.certificate)
        _write(data_dir / "ca.key", pair.key)
        _write(data_dir / "tokens.key", key_pem(self.signing_key))
        # Last, since its presence says that the others are complete.
        _write(data_dir / "token", self.admin_token.encode())


def _write(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
