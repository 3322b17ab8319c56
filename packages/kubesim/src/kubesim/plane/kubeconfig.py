"""Where a plane listens, and the kubeconfig that leads there."""

from __future__ import annotations

import base64
from dataclasses import dataclass

import yaml


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A listening address with what a client needs: whom to trust, and a token to be trusted."""

    url: str
    ca_pem: bytes
    token: str


def render_kubeconfig(endpoint: Endpoint, name: str) -> str:
    tree = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [
            {
                "name": name,
                "cluster": {
                    "server": endpoint.url,
                    "certificate-authority-data": base64.b64encode(endpoint.ca_pem).decode(),
                },
            }
        ],
        "users": [{"name": name, "user": {"token": endpoint.token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
    }
    return yaml.dump(tree, Dumper=yaml.CSafeDumper, sort_keys=False)
