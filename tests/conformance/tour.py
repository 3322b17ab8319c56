"""A tour through a cluster with kubectl: the steps, and what of their output may differ between two clusters.

The steps build on each other and run in order, in a namespace of their own on a fresh server. What kubectl prints is
compared after identities, times, ages, versions and addresses have been replaced by their names.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from tests.conformance.real import write_kubeconfig
from tests.conformance.servers import ADMIN, TOKENS, Server

MANIFESTS = Path(__file__).parent / "manifests"
_STEP_DEADLINE_SECONDS = 60


class Compare(Enum):
    """How much of a step's output must be the same."""

    ALL = auto()
    SUBSET = auto()
    """The real server serves more kinds: it may print more lines."""
    FIELDS = auto()
    """Names and types of fields: the prose that explains them is Kubernetes' own."""


@dataclass(frozen=True)
class Step:
    """One call of kubectl."""

    name: str
    arguments: tuple[str, ...]
    compare: Compare = Compare.ALL
    user: str = ADMIN
    patient: bool = False
    """Repeated until it succeeds: what it shows is published a moment later."""


@dataclass(frozen=True)
class Outcome:
    """What a step left on the terminal, made comparable."""

    code: int
    output: tuple[str, ...]
    errors: tuple[str, ...]


def step(
    line: str, *more: str, compare: Compare = Compare.ALL, user: str = ADMIN, patient: bool = False
) -> Step:
    """Write a step as one would type it; arguments with blanks in them follow separately."""
    return Step(" ".join((line, *more)), (*line.split(), *more), compare, user, patient)


STEPS: Sequence[Step] = (
    step("version"),
    # Namespaces and the kinds that kubectl creates without a manifest.
    step("create namespace tour"),
    step("get namespace tour"),
    step("create configmap plain --from-literal=a=1 --from-literal=b=2"),
    step("create configmap plain --from-literal=a=1"),
    step("create secret generic door --from-literal=key=secret"),
    step("create secret docker-registry pull --docker-username=u --docker-password=p"),
    step("create serviceaccount robot"),
    step("create role reader --verb=get,list --resource=configmaps"),
    step("create rolebinding alice-reads --role=reader --user=alice"),
    step("create clusterrole looker --verb=get --resource=pods --non-resource-url=/metrics"),
    step("create clusterrolebinding alice-looks --clusterrole=looker --user=alice"),
    step("create deployment imperative --image=example/app:1 --replicas=2"),
    step("create job once --image=example/job:1"),
    step("create cronjob often --image=example/job:1", "--schedule=*/5 * * * *"),
    step("create ingress entry --rule=web.example/path=web:80"),
    step("create quota limits --hard=pods=5,cpu=2"),
    step("create poddisruptionbudget calm --selector=app=web --min-available=1"),
    step("run single --image=example/app:1 --restart=Never"),
    step("expose deployment imperative --port=80 --target-port=8080"),
    step("autoscale deployment imperative --min=1 --max=3 --cpu=50%"),
    # Looking at them.
    step("get configmap plain"),
    step("get configmap plain -o wide"),
    step("get configmap plain -o yaml"),
    step("get configmap plain -o json"),
    step("get configmap plain -o", "jsonpath={.data.a}-{.data.b}"),
    step("get configmap plain -o name"),
    step("get configmap plain -o yaml --show-managed-fields"),
    step("get secret door -o", "jsonpath={.data.key}"),
    step("get secret door -o yaml"),
    step("get pod single -o yaml"),
    step("get job once -o yaml"),
    step("get cronjob often"),
    step("get ingress entry"),
    step("get ingress entry -o yaml"),
    step("get quota limits"),
    step("get poddisruptionbudget calm"),
    step("get horizontalpodautoscaler imperative"),
    step("get horizontalpodautoscaler imperative -o yaml"),
    step("get role reader -o yaml"),
    step("get rolebinding alice-reads -o wide"),
    step("get serviceaccount robot -o yaml"),
    step("get deployment imperative -o wide"),
    step("get service imperative"),
    step("get pods -o wide"),
    step("get all"),
    step("get configmap absent"),
    step("get nonsense"),
    step("describe namespace tour"),
    step("describe configmap plain"),
    step("describe secret door"),
    step("describe role reader"),
    step("describe rolebinding alice-reads"),
    step("describe quota limits"),
    step("describe serviceaccount robot"),
    step("describe ingress entry"),
    step("describe pod single"),
    step("describe cronjob often"),
    step("describe job once"),
    step("describe poddisruptionbudget calm"),
    step("describe horizontalpodautoscaler imperative"),
    # A real server under load warns of a new Service whose address its cache does not have yet: ClusterIPNotAllocated.
    step("get events --field-selector involvedObject.kind!=Service"),
    step("delete pod single --grace-period=0 --force"),
    # Manifests: apply, differ, change.
    step("apply -f app.yaml"),
    step("apply -f app.yaml"),
    step("get deployment web"),
    step("get deployment web -o yaml"),
    step("get service web -o wide"),
    step("describe deployment web"),
    step("describe service web --show-events=false"),  # it may have that event
    step("diff -f app.yaml"),
    step("diff -f app-fast.yaml"),
    step("apply -f app-fast.yaml --dry-run=server"),
    step("apply -f app-fast.yaml"),
    step("get deployment web -o", "jsonpath={.spec.replicas} {.metadata.generation}"),
    step("apply -f unknown-field.yaml"),
    step("create -f app.yaml"),
    step("replace -f app.yaml"),
    step("set image deployment/web main=example/web:2"),
    step("set env deployment/web MODE=quiet"),
    step("get deployment web -o", "jsonpath={.spec.template.spec.containers[0]}"),
    step("rollout history deployment/web"),
    step("rollout status deployment/web --timeout=1s"),
    step("rollout pause deployment/web"),
    step("rollout resume deployment/web"),
    step("get configmap -o yaml --chunk-size=1"),
    # Patches, labels, annotations, scale.
    step("patch configmap plain --type=merge -p", '{"data":{"c":"3"}}'),
    step("patch configmap plain --type=json -p", '[{"op":"remove","path":"/data/c"}]'),
    step("patch configmap plain --type=json -p", '[{"op":"remove","path":"/data/c"}]'),
    step(
        "patch deployment web -p",
        '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"example/side:1"}]}}}}',
    ),
    step("get deployment web -o", "jsonpath={.spec.template.spec.containers[*].name}"),
    step("label configmap plain tier=front"),
    step("label configmap plain tier=back"),
    step("label configmap plain tier=back --overwrite"),
    step("get configmap -l tier=back"),
    step("get configmap --show-labels --field-selector=metadata.name=plain"),
    step("label configmap plain tier-"),
    step("annotate configmap plain", "note=hello there"),
    step("annotate configmap plain note-"),
    step("scale deployment web --replicas=4"),
    step("scale deployment web --replicas=5 --current-replicas=1"),
    step("get deployment web -o", "jsonpath={.spec.replicas}"),
    # A kind of our own.
    step("apply -f crd.yaml"),
    step("wait --for=condition=Established --timeout=20s crd/gadgets.tour.example"),
    step("get crd gadgets.tour.example"),
    step("get crd gadgets.tour.example -o yaml"),
    step("describe crd gadgets.tour.example"),
    step("explain gadgets", compare=Compare.FIELDS, patient=True),
    step("explain gadgets.spec"),
    step("explain gadgets.spec.parts.name"),
    step("explain gadgets --recursive"),
    step("explain gadget.nonsense"),
    step("explain configmaps", compare=Compare.FIELDS),
    step("explain deployment.spec.strategy", compare=Compare.FIELDS),
    step("explain services --recursive", compare=Compare.FIELDS),
    step("explain pods --recursive", compare=Compare.FIELDS),
    step("apply -f gadget.yaml"),
    step("get gadgets"),
    step("get gd lamp -o wide"),
    step("get gadget lamp -o yaml"),
    step("get gadgets -o", "custom-columns=NAME:.metadata.name,COLOUR:.spec.colour"),
    step("get gadgets -A"),
    step("describe gadget lamp"),
    step("diff -f gadget-red.yaml"),
    step("apply -f gadget-red.yaml"),
    step("get gadget lamp -o", "jsonpath={.spec}"),
    step("apply -f invalid.yaml"),
    step("scale gadget lamp --replicas=3"),
    step("patch gadget lamp --type=merge -p", '{"spec":{"colour":"purple"}}'),
    step(
        "patch gadget lamp --subresource=status --type=merge -p",
        '{"status":{"replicas":3,"conditions":[{"type":"Ready","status":"True","reason":"Lit"}]}}',
    ),
    step("wait --for=condition=Ready --timeout=10s gadget/lamp"),
    step("wait --for=jsonpath={.spec.replicas}=3 --timeout=10s gadget/lamp"),
    step("get gadgets lamp"),
    step("get gadget lamp --subresource=status -o", "jsonpath={.status}"),
    step("wait --for=condition=Ready --timeout=1s gadget/absent"),
    # Server-side apply.
    step("apply --server-side -f gadget.yaml --field-manager=tour"),
    step("apply --server-side -f gadget.yaml --field-manager=tour --force-conflicts"),
    step("get gadget lamp -o yaml --show-managed-fields"),
    step("apply --server-side -f app.yaml --field-manager=tour"),
    step("apply --server-side -f app.yaml --field-manager=tour --force-conflicts"),
    step("diff --server-side -f gadget-red.yaml --field-manager=tour"),
    # Who may do what.
    step("auth can-i create pods"),
    step("auth can-i list configmaps", user="alice"),
    step("auth can-i delete configmaps", user="alice"),
    step("auth can-i --list", user="alice"),
    step("auth whoami", user="alice"),
    step("get secrets", user="alice"),
    step("get configmap plain", user="alice"),
    step("delete configmap plain", user="alice"),
    step("get configmap plain --as=alice -o name"),
    # What there is.
    step("api-versions", compare=Compare.SUBSET),
    step("api-resources", compare=Compare.SUBSET),
    step("api-resources --namespaced=false -o wide", compare=Compare.SUBSET),
    step("api-resources --api-group=tour.example"),
    step("api-resources --api-group=apps --verbs=list,get -o name", compare=Compare.SUBSET),
    step("get --raw /readyz"),
    step("get --raw /api/v1/namespaces/tour/configmaps/absent"),
    # Taking it down.
    step("delete configmap plain"),
    step("delete configmap plain"),
    step("delete configmap plain --ignore-not-found"),
    step("delete gadgets --all"),
    step("delete -f app.yaml"),
    step("delete deployment imperative --cascade=orphan"),
    step("delete crd gadgets.tour.example"),
    step("get gadgets"),
    step("delete namespace tour --timeout=60s"),
    step("get namespace tour"),
)

_VOLATILE: Sequence[tuple[re.Pattern[str], str]] = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.\d]*( ?[-+]\d{4}|Z)( UTC)?"), "<time>"),
    (re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [-+]\d{4}"), "<time>"),
    (re.compile(r'(resourceVersion"?: ?)"\d+"'), r'\1"<version>"'),
    (re.compile(r"\bv1\.36\.\d+(\+\w+)?"), "v1.36"),
    (re.compile(r"Resource Version: +\d+"), "Resource Version: <version>"),
    (re.compile(r"\S*/(LIVE|MERGED)-\d+"), r"<\1>"),
    (re.compile(r"https://127\.0\.0\.1:\d+"), "<server>"),
    (re.compile(r"\b10\.\d+\.\d+\.\d+\b"), "<address>"),
    (re.compile(r"\b(\d+(\.\d+)?(ms|[smhd]))+\b"), "<age>"),
    (re.compile(r"\s+"), " "),
)


def comparable(text: str) -> tuple[str, ...]:
    """The lines of an output, with what differs from run to run replaced, and columns closed up."""
    lines = []
    for line in text.splitlines():
        for pattern, name in _VOLATILE:
            line = pattern.sub(name, line)  # noqa: PLW2901 - each pattern works on what the last one left
        lines.append(line.strip())
    return tuple(lines)


_FIELD = re.compile(r"\S+ <\S+>( -required-)?")


def fields(outcome: Outcome) -> tuple[str, ...]:
    """The lines of an explanation that name a field and its type."""
    return tuple(line for line in outcome.output if _FIELD.fullmatch(line))


class Guide:
    """Takes the tour on one server."""

    def __init__(self, server: Server, kubectl: Path, directory: Path) -> None:
        self._kubectl = kubectl
        self._directory = directory
        self._configs = {user: write_kubeconfig(directory / f"{user}.json", server, user) for user in TOKENS}

    def take(self) -> Mapping[int, Outcome]:
        """Run all steps in order; return what each printed, by position."""
        return {position: self._follow(step) for position, step in enumerate(STEPS)}

    def _follow(self, step: Step) -> Outcome:
        give_up = time.monotonic() + _STEP_DEADLINE_SECONDS
        outcome = self._run(step)
        while step.patient and outcome.code != 0 and time.monotonic() < give_up:
            outcome = self._run(step)
        return outcome

    def _run(self, step: Step) -> Outcome:
        command = [
            str(self._kubectl),
            f"--kubeconfig={self._configs[step.user]}",
            f"--cache-dir={self._directory / 'cache'}",
            "--namespace=tour",
            *step.arguments,
        ]
        environment = {"HOME": str(self._directory), "PATH": os.environ["PATH"], "TZ": "UTC"}
        finished = subprocess.run(
            command,
            cwd=MANIFESTS,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_STEP_DEADLINE_SECONDS,
            check=False,
        )
        return Outcome(finished.returncode, comparable(finished.stdout), comparable(finished.stderr))
