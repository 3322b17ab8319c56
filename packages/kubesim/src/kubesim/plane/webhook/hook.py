"""One webhook of a configuration, compiled: which requests concern it, and how its failures are taken.

Compiling happens once per change of a configuration; per request only the predicates below run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from kubesim.plane.errors import StatusError, internal, not_found
from kubesim.plane.selector import NOTHING, LabelSelector, label_selector_of
from kubesim.plane.webhook.endpoint import Endpoint
from kubesim.plane.webhook.review import AdmissionRequest

NamespaceLabels = Callable[[str], Mapping[str, str] | None]
"""The labels of a namespace; `None` where there is no such namespace."""

_DEFAULT_TIMEOUT = 10
_DEFAULT_PORT = 443
_HARMLESS_ON_DRY_RUN = frozenset({"None", "NoneOnDryRun"})


@dataclass(frozen=True, slots=True)
class Rule:
    """Which operations on which resources. Resources are pairs: `pods/*` is `("pods", "*")`, `pods` is `("pods", "")`."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: tuple[tuple[str, str], ...]
    scope: str = "*"

    def concerns(self, request: AdmissionRequest, version: str) -> bool:
        return (
            _among(self.operations, request.operation)
            and _among(self.groups, request.group)
            and _among(self.versions, version)
            and self.scope in {"*", "Namespaced" if request.namespaced else "Cluster"}
            and any(
                resource in {"*", request.resource} and subresource in {"*", request.subresource}
                for resource, subresource in self.resources
            )
        )


@dataclass(frozen=True, slots=True)
class Hook:
    key: str
    """Unique in the cluster: names of webhooks may repeat, even within one configuration."""
    name: str
    rules: tuple[Rule, ...]
    namespace_selector: LabelSelector
    object_selector: LabelSelector
    equivalent: bool
    conditions: tuple[JsonObject, ...]
    """CEL expressions, which all have to hold."""
    ignores_failures: bool
    harmless_on_dry_run: bool
    reinvocable: bool
    review_versions: tuple[str, ...]
    timeout: timedelta
    endpoint: Endpoint
    problem: str = ""
    """Why the webhook cannot be matched. Only requests that it concerns fail, or it could not be repaired."""

    def version_for(self, request: AdmissionRequest, served_versions: Sequence[str]) -> str | None:
        """Return the version in which this webhook wants to see the object; `None` if no rule concerns it.

        A webhook with the match policy Equivalent is also asked about requests in other versions of its resource.
        """
        versions = [request.version, *served_versions] if self.equivalent else [request.version]
        for version in versions:
            if any(rule.concerns(request, version) for rule in self.rules):
                return version
        return None

    def selects(self, request: AdmissionRequest, namespace_labels: NamespaceLabels) -> bool:
        if self.problem:
            raise internal(self.problem)
        return self._selects_object(request) and self._selects_namespace(request, namespace_labels)

    def _selects_object(self, request: AdmissionRequest) -> bool:
        """Either state of the object suffices: an update must not slip away by changing its labels."""
        selector = self.object_selector
        return selector.everything or any(
            tree is not None and selector.matches(_labels(tree))
            for tree in (request.object, request.old_object)
        )

    def _selects_namespace(self, request: AdmissionRequest, namespace_labels: NamespaceLabels) -> bool:
        is_namespace = request.resource == "namespaces"
        if self.namespace_selector.everything or (not request.namespace and not is_namespace):
            return True
        # A namespace being written is judged by the labels it is about to have.
        if is_namespace and not request.subresource and request.object is not None:
            return self.namespace_selector.matches(_labels(request.object))
        labels = namespace_labels(request.namespace)
        if labels is None:
            raise not_found("", "namespaces", request.namespace)
        return self.namespace_selector.matches(labels)


def compile_hooks(configurations: Iterable[JsonObject]) -> tuple[Hook, ...]:
    """Return the webhooks of all configurations, in the order in which they are called."""
    return tuple(
        _compile(configuration, index, webhook)
        for configuration in sorted(configurations, key=_name)
        for index, webhook in enumerate(dig_list(configuration, "webhooks"))
    )


def _compile(configuration: JsonObject, index: int, webhook: JsonObject) -> Hook:
    name = webhook.get("name", "")
    namespace_selector, namespace_problem = _selector(webhook, "namespaceSelector")
    object_selector, object_problem = _selector(webhook, "objectSelector")
    return Hook(
        key=f"{_name(configuration)}/{name}/{index}",
        name=name,
        rules=tuple(_rule(rule) for rule in dig_list(webhook, "rules")),
        namespace_selector=namespace_selector,
        object_selector=object_selector,
        equivalent=webhook.get("matchPolicy") != "Exact",
        conditions=tuple(dig_list(webhook, "matchConditions")),
        ignores_failures=webhook.get("failurePolicy") == "Ignore",
        harmless_on_dry_run=webhook.get("sideEffects") in _HARMLESS_ON_DRY_RUN,
        reinvocable=webhook.get("reinvocationPolicy") == "IfNeeded",
        review_versions=tuple(dig_list(webhook, "admissionReviewVersions")),
        timeout=timedelta(seconds=webhook.get("timeoutSeconds") or _DEFAULT_TIMEOUT),
        endpoint=_endpoint(dig_object(webhook, "clientConfig")),
        problem=namespace_problem or object_problem,
    )


def _selector(webhook: JsonObject, field: str) -> tuple[LabelSelector, str]:
    """Compile a selector, or tell what is wrong with it."""
    try:
        return label_selector_of(dig_object(webhook, field)), ""
    except StatusError as error:
        return NOTHING, error.message


def _rule(rule: JsonObject) -> Rule:
    resources = [named.partition("/") for named in dig_list(rule, "resources")]
    return Rule(
        frozenset(dig_list(rule, "operations")),
        frozenset(dig_list(rule, "apiGroups")),
        frozenset(dig_list(rule, "apiVersions")),
        tuple((resource, subresource) for resource, _, subresource in resources),
        rule.get("scope") or "*",
    )


def _endpoint(client: JsonObject) -> Endpoint:
    service = dig_object(client, "service")
    return Endpoint(
        url=client.get("url") or "",
        service_namespace=service.get("namespace", ""),
        service_name=service.get("name", ""),
        service_path=service.get("path") or "",
        service_port=service.get("port") or _DEFAULT_PORT,
        ca_bundle=client.get("caBundle") or "",
    )


def _name(configuration: JsonObject) -> str:
    return str(dig(configuration, "metadata", "name"))


def _labels(tree: JsonObject) -> JsonObject:
    return dig_object(tree, "metadata", "labels")


def _among(accepted: frozenset[str], word: str) -> bool:
    return word in accepted or "*" in accepted
