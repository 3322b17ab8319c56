"""What people with few rights are shown: what they may see, and what they may not is named."""

from __future__ import annotations

import pytest

from edgekeeper.cli.explain import answer
from edgekeeper.cli.explain_output import explanation_tree
from edgekeeper.cli.failure import CommandError
from edgekeeper.cli.get import found
from edgekeeper.cli.kinds import DEFINITIONS
from edgekeeper.controllers.zerotrust.route_index import TENANT
from edgekeeper.core.calls import Calls
from edgekeeper.core.json import JsonObject
from edgekeeper.diagnosis.listing import ListRequest
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, NAMESPACE, Key, Kind
from kubesim.plane.plane import Plane, PlaneConfig
from kubesim.plane.request import User
from kubesim.transport import InProcessTransport
from kubesim.virtual import LoopClock, virtual_time

RBAC = "rbac.authorization.k8s.io"
ROLE = Kind(RBAC, "v1", "Role", "roles")
BINDING = Kind(RBAC, "v1", "RoleBinding", "rolebindings")
SPEC: JsonObject = {
    "accountId": "a" * 32,
    "tunnelId": "00000000-0000-0000-0000-000000000000",
    "credentialRef": {"name": "cloudflare"},
}


@virtual_time
async def test_reader_of_one_namespace_sees_it_and_is_told_what_is_hidden() -> None:
    clock = LoopClock()
    config = PlaneConfig(auth=True, simulators=frozenset(), now=clock.now, tokens={"ada": User("ada")})
    async with Plane(config) as plane:
        admin = KubeClient(InProcessTransport(plane, plane.admin_token), Calls(), clock)
        for kind in DEFINITIONS:
            await admin.create(CUSTOM_RESOURCE_DEFINITION, kind.definition())
        await plane.settle()
        for name in ("mine", "other"):
            await admin.create(NAMESPACE, {"metadata": {"name": name}})
            await admin.create(TENANT, {"metadata": {"name": "main", "namespace": name}, "spec": SPEC})
        rule = {"apiGroups": [TENANT.group], "resources": [TENANT.plural], "verbs": ["get", "list"]}
        await admin.create(ROLE, {"metadata": {"name": "r", "namespace": "mine"}, "rules": [rule]})
        subject = {"kind": "User", "name": "ada", "apiGroup": RBAC}
        reference = {"kind": "Role", "name": "r", "apiGroup": RBAC}
        binding = {
            "metadata": {"name": "b", "namespace": "mine"},
            "subjects": [subject],
            "roleRef": reference,
        }
        await admin.create(BINDING, binding)

        ada = KubeClient(InProcessTransport(plane, "ada"), Calls(), clock)
        listed = await found(ada, ListRequest("all", namespace="mine"))
        assert [row.key for row in listed.rows] == [Key("mine", "main")]
        assert "distributiontenants in mine" in listed.denials
        with pytest.raises(CommandError, match="distributiontenants"):
            await found(ada, ListRequest("dt", namespace="mine"))
        with pytest.raises(CommandError, match="kinds of compositions are not known"):
            await found(ada, ListRequest("webapp", namespace="mine"))
        explanation = await answer(ada, clock, "cloudflarezerotrusttenant", "main", "mine")
        assert not explanation.is_ready
        assert explanation.root is explanation, "whether the Secret exists is not known"
        (secret,) = explanation.causes
        assert secret.notes == ("you may not read secrets in mine: whether it exists is not known",)
        assert "exists" not in explanation_tree(secret)
        with pytest.raises(CommandError, match="does not allow it"):
            await answer(ada, clock, "cloudflarezerotrusttenant", "main", "other")
