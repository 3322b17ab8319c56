"""The pages that are followed, and how."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from tests.docs.page import ROOT
from tests.docs.session import Session

CONNECT: Final = (
    "export KUBECONFIG=$(jq -r .kubeconfig up.json) AWS_ENDPOINT_URL=$(jq -r .aws up.json)",
    "export CLOUDFLARE_API_BASE=$(jq -r .cloudflare up.json) OPERATOR_NAMESPACE=edgekeeper-system",
    "export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any AWS_DEFAULT_REGION=us-east-1",
)
"""What a person tells the command line about a server, as docs/tutorial.md says it."""
UP: Final = "edgekeeper up --endpoints up.json --deploy-time 1s"
CLUSTER: Final = (UP, *CONNECT)
"""What most pages presuppose: a cluster with an operator, and simulated clouds."""
QUICKSTART: Final = (f"{UP} --apply examples/quickstart", *CONNECT)
"""The same with tenants in the namespace `edge`."""
CLOUDS: Final = ("edgekeeper up --no-operator --endpoints up.json --deploy-time 1s", *CONNECT)
"""A cluster without an operator."""
ROUTES: Final = "kubectl apply -f examples/zero-trust/10-tenant.yaml"
"""A namespace `apps`, with a tenant for routes."""

PROGRAMS: Final = Path(sys.executable).parent
PYTEST: Final = f"{PROGRAMS}/pytest"

TUTORIAL: Final = Session(
    "docs/tutorial.md",
    exit_codes={"edgekeeper plan -f": 2, "edgekeeper explain ts/press": 1},
    replaced={"make venv": f"make --dry-run --silent -C {ROOT} venv > /dev/null"},
)
TUNNEL: Final = (
    "$CLOUDFLARE_API_BASE/accounts/e3e70682c2094cac629f6fbed82c07cd"
    "/cfd_tunnel/eb1167b3-67a9-4378-ac65-c1e582e2e662/configurations"
)
IMPORT: Final = Session(
    "docs/import.md",
    exit_codes={"edgekeeper plan": 2},
    before=(
        *CLOUDS,
        ROUTES,
        """rules='{"config": {"ingress": [{"hostname": "wiki.example.com", "service": "http://wiki.apps.svc:8080"}, {"service": "http_status:404"}]}}'""",
        f'curl -sf -X PUT -H "Authorization: Bearer simulated-api-token" -d "$rules" {TUNNEL}',
    ),
)
COMMAND_LINE: Final = Session(
    "docs/cli.md",
    exit_codes={
        "edgekeeper plan -f": 2,
        "edgekeeper explain httproute/wiki": 1,
        "edgekeeper validate wrong.yaml": 1,
        "edgekeeper diff": 1,
        "edgekeeper cel bucket": 1,
    },
    replaced={
        "edgekeeper run --leader-elect --metrics-bind-address :8443": (
            "edgekeeper run --leader-elect --metrics-bind-address :0"
        )
    },
)
"""Any port that is free."""
README: Final = Session(
    "README.md",
    exit_codes={"edgekeeper plan": 2, "edgekeeper explain": 1},
    before=(
        *CLOUDS,
        "kubectl apply -f examples/quickstart",
        "kubectl config set-context --current --namespace edge",
    ),
    replaced={
        "helm install edgekeeper charts/edgekeeper --namespace edgekeeper-system --create-namespace": (
            "grep '^name: edgekeeper$' charts/edgekeeper/Chart.yaml"
        )
    },
    elsewhere=("demo", "test"),
)
"""helm needs an API server that describes itself in protobuf: the pages about installation are followed on a real one."""
CONTRIBUTING: Final = Session(
    "CONTRIBUTING.md",
    replaced={
        ".venv/bin/pytest tests/unit/kube -k lease": (
            f"cd {ROOT} && {PYTEST} -q --collect-only tests/unit/kube -k lease"
        ),
        ".venv/bin/pytest tests/tenants -n auto": (f"{PYTEST} -q --collect-only tests/tenants"),
        ".venv/bin/pytest --lf": f"{PYTEST} --help | grep -e --lf",
        ".venv/bin/mypy; .venv/bin/lint-imports": (
            f"{PROGRAMS}/mypy --version && {PROGRAMS}/lint-imports --help"
        ),
    },
)
INDEX: Final = Session("docs/index.md", elsewhere=("demo",))
BENCHMARKS: Final = Session(
    "docs/benchmarks.md",
    replaced={
        "make bench": f"make --dry-run --silent -C {ROOT} bench",
        "make bench-plane": f"make --dry-run --silent -C {ROOT} bench-plane",
    },
)
EXPRESSIONS: Final = Session("docs/cel.md")
TROUBLESHOOTING: Final = Session("docs/troubleshooting.md", before=QUICKSTART)
PLANE: Final = Session(
    "docs/embedded-plane.md",
    replaced={"edgekeeper up --data-dir ./state --port 6443": "edgekeeper up --data-dir ./state --port 0"},
    elsewhere=("conformance",),
)
SIMULATED_CLOUDS: Final = Session(
    "docs/clouds.md",
    before=(
        *CLOUDS,
        "aws cloudfront create-distribution-tenant --distribution-id E1XNX8R2GOAABC --name shop --domains Domain=shop.example.com",
    ),
)
OPERATIONS: Final = Session(
    "docs/operations.md",
    exit_codes={"edgekeeper plan": 2},
    before=(*CLOUDS, "kubectl apply -f examples/quickstart"),
)
METRICS: Final = Session(
    "docs/metrics.md",
    before=CLOUDS,
    replaced={"pip install 'edgekeeper[otel]'": f"grep -A1 '^otel = ' {ROOT}/pyproject.toml"},
)

STATUS_PAGE: Final = Session("docs/status-page.md", without=("In a cluster",))
TENANT: Final = Session(
    "docs/kinds/distribution-tenant.md",
    exit_codes={"kubectl apply -f wrong.yaml": 1, "edgekeeper plan dt/shop -n edge --hostname": 1},
    before=(*CLUSTER, "kubectl create namespace edge"),
)
ROUTE: Final = Session("docs/kinds/httproute.md", before=(*CLUSTER, ROUTES))
TASK: Final = Session(
    "docs/kinds/cloudflare-task.md",
    before=(
        *CLOUDS,
        "kubectl apply -f examples/zero-trust",
        "kubectl delete httproute -n apps admin-panel api-service app printer simple-app",
        "edgekeeper run --role kube-worker --health-probe-bind-address=0",
        "until kubectl get cftask -n edgekeeper-system 2>&1 | grep wiki; do sleep 0.2; done",
    ),
)
CONFIG: Final = Session("docs/kinds/cloudflare-zero-trust-operator-config.md", before=CLUSTER)
DEFINITION: Final = Session("docs/kinds/resource-graph-definition.md", before=CLUSTER)
INSTANCE: Final = Session(
    "docs/kinds/composed-instances.md",
    files_of=DEFINITION.page,
    exit_codes={"edgekeeper plan -f": 2},
    before=(*CLUSTER, "kubectl apply -f webapp.yaml", "kubectl wait rgd/web-apps --for=condition=Ready"),
)
PLATFORM_APIS: Final = Session(
    "docs/platform-apis.md",
    exit_codes={"edgekeeper validate wrong.yaml": 1, "edgekeeper diff": 1},
    before=(f"{UP} --simulate jobs", *CONNECT),
)
PLATFORM_EXAMPLES: Final = Session("docs/kinds/tubi-apis.md", before=(*CLUSTER, ROUTES))

SESSIONS: Final = (
    README,
    CONTRIBUTING,
    INDEX,
    BENCHMARKS,
    COMMAND_LINE,
    EXPRESSIONS,
    TROUBLESHOOTING,
    PLANE,
    SIMULATED_CLOUDS,
    OPERATIONS,
    METRICS,
    STATUS_PAGE,
    TENANT,
    ROUTE,
    TASK,
    CONFIG,
    DEFINITION,
    INSTANCE,
    PLATFORM_APIS,
    PLATFORM_EXAMPLES,
)
"""Those that need nothing but being followed."""
