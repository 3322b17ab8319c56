"""The pages about installation, upgrades and migrations that are followed on a real API server, and how."""

from __future__ import annotations

from typing import Final

from tests.docs.session import Session

INSTALL: Final = Session(
    "docs/install.md",
    before=("printf simulated-api-token > token.txt",),
    without=("kubectl and kustomize",),
)
KUSTOMIZE: Final = Session("docs/install.md", only=("kubectl and kustomize",))
INSTALLED: Final = (
    "helm install edgekeeper charts/edgekeeper --namespace edgekeeper-system --create-namespace",
    "kubectl --namespace edgekeeper-system rollout status deployment/edgekeeper",
)
"""What pages presuppose that begin with an operator that runs."""
UPGRADE: Final = Session(
    "docs/upgrade.md",
    before=(
        "mkdir -p earlier/templates && cp -r charts/edgekeeper/crds earlier",
        "echo '{apiVersion: v2, name: edgekeeper, version: 0.0.9}' > earlier/Chart.yaml",
        "sed 's/image: edgekeeper:.*/image: edgekeeper:0.0.9/' deploy/all-in-one/edgekeeper.yaml > earlier/templates/all.yaml",
        f"{INSTALLED[0].replace('charts/edgekeeper', './earlier')} --set controller.driftPolicy=report",
        INSTALLED[1],
    ),
)
"""The earlier version has none of the values of the present chart but the one that a person has set."""
STATUS_PAGE: Final = Session(
    "docs/status-page.md",
    only=("In a cluster",),
    before=INSTALLED,
    replaced={
        "kubectl port-forward -n edgekeeper-system deployment/edgekeeper 8444": (
            "kubectl get -n edgekeeper-system deployment/edgekeeper -o jsonpath='{..containerPort}' | grep -w 8444"
        )
    },
)
"""No kubelet forwards a port: that the Deployment has it must suffice."""

RECOVERY: Final = Session("docs/disaster-recovery.md", exit_codes={"edgekeeper plan": 2})
FROM_TENANTS: Final = Session("docs/migrating-tenants.md", exit_codes={"edgekeeper plan": 2})
FROM_ZERO_TRUST: Final = Session("docs/migrating-zero-trust.md", exit_codes={"edgekeeper plan": 2})
FROM_ACK_BRIDGE: Final = Session("docs/migrating-ack-bridge.md")
FROM_KRO: Final = Session("docs/migrating-kro.md")
