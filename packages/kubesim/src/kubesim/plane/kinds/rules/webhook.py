"""Rules of webhook configurations."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.schema.field_error import invalid_value, required, too_many
from kubesim.plane.expressions import condition_problem
from kubesim.plane.kinds.rules import name
from kubesim.plane.kinds.rules.check import (
    Errors,
    conforms,
    each,
    one_of,
    optional_of,
    selector,
    unique,
)
from kubesim.plane.labels import label_key_problems, subdomain_problems

_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_REVIEW_VERSIONS = ("v1", "v1beta1")
_SIDE_EFFECTS = ("None", "NoneOnDryRun")
_MOST_CONDITIONS = 64
_URL_FORM = "; desired format: https://host[/path]"


def validating(new: JsonObject, old: JsonObject | None) -> Errors:
    names: set[str] = set()
    for path, hook in each(new, "webhooks"):
        yield from _hook(path, hook)
        if not _has_same_conditions(new, old):
            yield from _conditions(f"{path}.matchConditions", dig_list(hook, "matchConditions"))
        yield from _review_versions(
            f"{path}.admissionReviewVersions", dig_list(hook, "admissionReviewVersions")
        )
        if hook.get("name"):
            yield from unique(f"{path}.name", hook["name"], names)


def mutating(new: JsonObject, old: JsonObject | None) -> Errors:
    for path, hook in each(new, "webhooks"):
        yield from optional_of(
            f"{path}.reinvocationPolicy", hook.get("reinvocationPolicy"), ("IfNeeded", "Never")
        )
    yield from validating(new, old)


def _hook(path: str, hook: JsonObject) -> Errors:
    yield from _qualified_name(f"{path}.name", hook.get("name") or "")
    for where, rule in each(hook, "rules", path):
        yield from _rule(where, rule)
    yield from optional_of(f"{path}.failurePolicy", hook.get("failurePolicy"), ("Fail", "Ignore"))
    yield from optional_of(f"{path}.matchPolicy", hook.get("matchPolicy"), ("Equivalent", "Exact"))
    if hook.get("sideEffects") is None:
        yield required(f"{path}.sideEffects", f"must specify one of {', '.join(_SIDE_EFFECTS)}")
    else:
        yield from optional_of(f"{path}.sideEffects", hook["sideEffects"], _SIDE_EFFECTS)
    timeout = hook.get("timeoutSeconds")
    if isinstance(timeout, int) and not 1 <= timeout <= 30:
        why = "the timeout value must be between 1 and 30 seconds"
        yield invalid_value(f"{path}.timeoutSeconds", timeout, why)
    for field in ("namespaceSelector", "objectSelector"):
        yield from selector(f"{path}.{field}", hook.get(field))
    yield from _client(f"{path}.clientConfig", dig_object(hook, "clientConfig"))


def _has_same_conditions(new: JsonObject, old: JsonObject | None) -> bool:
    """What was accepted before is not looked at again, lest an older configuration could not be changed any more."""
    conditions = [
        [hook.get("matchConditions") for _, hook in each(tree, "webhooks")] for tree in (new, old or {})
    ]
    return old is not None and conditions[0] == conditions[1]


def _conditions(path: str, conditions: list[Any]) -> Errors:
    if len(conditions) > _MOST_CONDITIONS:
        yield too_many(path, len(conditions), _MOST_CONDITIONS)
    names: set[str] = set()
    for index, condition in enumerate(conditions):
        where = f"{path}[{index}]"
        expression = str(dig(condition, "expression") or "").strip()
        if not expression:
            yield required(f"{where}.expression")
        elif problem := condition_problem(expression):
            yield invalid_value(f"{where}.expression", expression, problem)
        own_name = str(dig(condition, "name") or "")
        if not own_name:
            yield required(f"{where}.name")
            continue
        yield from conforms(f"{where}.name", own_name, label_key_problems)
        yield from unique(f"{where}.name", own_name, names)


def _qualified_name(path: str, text: str) -> Errors:
    problems = subdomain_problems(text)
    if not text:
        yield required(path)
    elif problems:
        yield invalid_value(path, text, ",".join(problems))
    elif text.count(".") < 2:
        why = "should be a domain with at least three segments separated by dots"
        yield invalid_value(path, text, why)


def _rule(path: str, rule: JsonObject) -> Errors:
    operations = dig_list(rule, "operations")
    if not operations:
        yield required(f"{path}.operations")
    yield from _lone_wildcard(f"{path}.operations", operations, "operations")
    for index, operation in enumerate(operations):
        yield from one_of(f"{path}.operations[{index}]", operation, _OPERATIONS)
    for field, words in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = dig_list(rule, field)
        if not values:
            yield required(f"{path}.{field}")
        yield from _lone_wildcard(f"{path}.{field}", values, words)
    for index, version in enumerate(dig_list(rule, "apiVersions")):
        if not version:
            yield required(f"{path}.apiVersions[{index}]")
    yield from _resources(f"{path}.resources", dig_list(rule, "resources"))
    yield from optional_of(f"{path}.scope", rule.get("scope"), ("*", "Cluster", "Namespaced"))


def _lone_wildcard(path: str, values: list[Any], words: str) -> Errors:
    if len(values) > 1 and "*" in values:
        yield invalid_value(path, values, f"if '*' is present, must not specify other {words}")


def _resources(path: str, resources: list[Any]) -> Errors:
    if not resources:
        yield required(path)
    for index, resource in enumerate(resources):
        if not resource:
            yield required(f"{path}[{index}]")
    if len(resources) > 1 and "*/*" in resources:
        yield invalid_value(path, resources, "if '*/*' is present, must not specify other resources")
    if "*" in resources and any("/" not in one for one in resources if one != "*"):
        why = "if '*' is present, must not specify other resources without subresources"
        yield invalid_value(path, resources, why)


def _review_versions(path: str, versions: list[Any]) -> Errors:
    accepted = ", ".join(_REVIEW_VERSIONS)
    if not versions:
        yield required(path, f"must specify one of {accepted}")
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield invalid_value(f"{path}[{index}]", version, "duplicate version")
        else:
            yield from conforms(f"{path}[{index}]", version, name.label_1035)
    if not set(_REVIEW_VERSIONS) & set(versions):
        yield invalid_value(path, versions, f"must include at least one of {accepted}")


def _client(path: str, client: JsonObject) -> Errors:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield required(path, "exactly one of url or service is required")
    elif url is not None:
        yield from _url(f"{path}.url", url)
    else:
        yield from _service(f"{path}.service", dig_object(client, "service"))


def _url(path: str, text: str) -> Errors:
    url = urlsplit(text)
    if url.scheme != "https":
        yield invalid_value(path, url.scheme, f"'https' is the only allowed URL scheme{_URL_FORM}")
    if not url.netloc.rpartition("@")[2]:
        yield invalid_value(path, "", f"host must be specified{_URL_FORM}")
    if "@" in url.netloc:
        shown = url.netloc.rpartition("@")[0]
        yield invalid_value(path, shown, "user information is not permitted in the URL")
    if url.fragment:
        yield invalid_value(path, url.fragment, "fragments are not permitted in the URL")
    if url.query:
        yield invalid_value(path, url.query, "query parameters are not permitted in the URL")


def _service(path: str, service: JsonObject) -> Errors:
    for field in ("name", "namespace"):
        if not service.get(field):
            yield required(f"{path}.{field}")
    port = service.get("port", 443)
    if not 1 <= port <= 65_535:
        why = "port is not valid: must be between 1 and 65535, inclusive"
        yield invalid_value(f"{path}.port", port, why)
    target = dig(service, "path")
    if target and target != "/":
        yield from _url_path(f"{path}.path", target)


def _url_path(path: str, target: str) -> Errors:
    if not target.startswith("/"):
        yield invalid_value(path, target, "must start with a '/'")
    for index, segment in enumerate(target[1:].removesuffix("/").split("/")):
        if not segment:
            yield invalid_value(path, target, f"segment[{index}] may not be empty")
        else:
            for problem in subdomain_problems(segment):
                yield invalid_value(path, target, f"segment[{index}]: {problem}")
