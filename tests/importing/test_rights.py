"""An import needs rights to read, and no others."""

from __future__ import annotations

import json
from pathlib import Path

from kubesim.virtual import virtual_time
from tests.importing.fleet import make_domains, make_routes, make_special_tenants, make_tenants
from tests.importing.world import told, world

POLICY = json.loads((Path(__file__).parents[2] / "docs" / "iam" / "import.json").read_text())
READING = frozenset(
    {
        "Cloudflare Tunnel Read",
        "DNS Read",
        "Zone Read",
        "Access: Apps and Policies Read",
        "Access: Service Tokens Read",
        "Access: Organizations, Identity Providers, and Groups Read",
    }
)


@virtual_time
async def test_import_needs_no_right_to_write() -> None:
    """The policy of the page suffices in AWS, and the permissions to read at Cloudflare: nothing is left out."""
    async with world() as here:
        make_tenants(here, 3)
        make_special_tenants(here)
        make_domains(here, 3)
        make_routes(here)
        before = {name: await here.imported(name, namespace="") for name in ("tenants", "domains", "routes")}
        here.aws.govern(POLICY)
        here.cloudflare.token.permissions = READING
        after = {name: await here.imported(name, namespace="") for name in before}
        assert after == before
        assert told(result for results in after.values() for result in results) == []
