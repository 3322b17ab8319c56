"""Questions about access, posted as objects and answered in their status. Nothing is stored.

    SubjectAccessReview and its Self and Local forms   may this user do that?
    SelfSubjectRulesReview                             what may I do in this namespace?
    SelfSubjectReview                                  who am I?
    TokenReview                                        whose token is this?
    TokenRequest                                       a new token for a service account

Each is a function from the posted object to the answer. Posted objects have passed their schemas.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.schema.field_error import FieldError, invalid_value, required
from kubesim.plane.auth.authentication import Authenticator
from kubesim.plane.auth.authorization import Attributes, Authorizer, PolicyRule
from kubesim.plane.auth.rbac import aggregated
from kubesim.plane.auth.tokens import ServiceAccount, ServiceAccountTokens, TokenError
from kubesim.plane.errors import bad_request, conflict, invalid
from kubesim.plane.request import User

_AUTHORIZATION_GROUP = "authorization.k8s.io"
_AUTHENTICATION_GROUP = "authentication.k8s.io"
_DEFAULT_LIFETIME = 3600
_SHORTEST_LIFETIME = 600
_LONGEST_LIFETIME = 2**32


def self_subject_access_review(posted: JsonObject, user: User, authorizer: Authorizer) -> JsonObject:
    errors = _attribute_errors(posted) + _metadata_errors(posted, allowed=())
    return _answer_access(posted, user, authorizer, errors)


def subject_access_review(posted: JsonObject, authorizer: Authorizer) -> JsonObject:
    errors = _attribute_errors(posted) + _subject_errors(posted) + _metadata_errors(posted, allowed=())
    return _answer_access(posted, _subject(posted), authorizer, errors)


def local_subject_access_review(posted: JsonObject, namespace: str, authorizer: Authorizer) -> JsonObject:
    posted = {**posted, "metadata": {"namespace": namespace, **dig_object(posted, "metadata")}}
    errors = _attribute_errors(posted) + _subject_errors(posted)
    errors += _metadata_errors(posted, allowed=("namespace",)) + _locality_errors(posted)
    if not errors and dig(posted, "metadata", "namespace") != namespace:
        raise bad_request(f"spec.resourceAttributes.namespace must match namespace: {namespace}")
    return _answer_access(posted, _subject(posted), authorizer, errors)


def _answer_access(
    posted: JsonObject, user: User, authorizer: Authorizer, errors: Sequence[FieldError]
) -> JsonObject:
    if errors:
        # The real server has lost the kind by the time it finds these errors, and its message begins with a dot.
        raise invalid(_AUTHORIZATION_GROUP, "", "", errors)
    decision = authorizer.authorize(_asked(posted, user))
    status: JsonObject = {"allowed": decision.allowed}
    if decision.reason:
        status["reason"] = decision.reason
    return {**posted, "status": status}


def _asked(posted: JsonObject, user: User) -> Attributes:
    resource = dig(posted, "spec", "resourceAttributes")
    if resource is None:
        path = dig_object(posted, "spec", "nonResourceAttributes")
        return Attributes(user, path.get("verb", ""), path=path.get("path", ""), is_resource=False)
    return Attributes(
        user,
        resource.get("verb", ""),
        resource.get("group", ""),
        resource.get("version") or "*",
        resource.get("resource", ""),
        resource.get("subresource", ""),
        resource.get("name", ""),
        resource.get("namespace", ""),
    )


def _subject(posted: JsonObject) -> User:
    spec = dig_object(posted, "spec")
    extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
    return User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""), extra)


def _attribute_errors(posted: JsonObject) -> list[FieldError]:
    resource = dig(posted, "spec", "resourceAttributes")
    other = dig(posted, "spec", "nonResourceAttributes")
    if resource is not None and other is not None:
        why = "cannot be specified in combination with resourceAttributes"
        return [invalid_value("spec.nonResourceAttributes", _shown_path(other), why)]
    if resource is None and other is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [invalid_value("spec.resourceAttributes", None, why)]
    return [
        error
        for name in ("fieldSelector", "labelSelector")
        if (selector := dig(resource, name)) is not None
        for error in _selector_errors(f"spec.resourceAttributes.{name}", selector)
    ]


def _selector_errors(field: str, selector: JsonObject) -> list[FieldError]:
    raw, requirements = selector.get("rawSelector"), selector.get("requirements")
    if raw and requirements:
        return [
            invalid_value(f"{field}.rawSelector", raw, "may not specified at the same time as requirements")
        ]
    if not raw and not requirements:
        why = f"when {field} is specified, requirements or rawSelector is required"
        return [required(f"{field}.requirements", why)]
    return []


def _subject_errors(posted: JsonObject) -> list[FieldError]:
    spec = dig_object(posted, "spec")
    if spec.get("user") or spec.get("groups"):
        return []
    return [invalid_value("spec.user", "", "at least one of user or group must be specified")]


def _metadata_errors(posted: JsonObject, allowed: Sequence[str]) -> list[FieldError]:
    metadata = dig_object(posted, "metadata")
    set_fields = {key: value for key, value in metadata.items() if value and key != "managedFields"}
    if set_fields.keys() <= set(allowed):
        return []
    exception = f" except for {allowed[0]}" if allowed else ""
    return [invalid_value("metadata", metadata, f"must be empty{exception}")]


def _locality_errors(posted: JsonObject) -> list[FieldError]:
    namespace = dig(posted, "metadata", "namespace") or ""
    resource = dig(posted, "spec", "resourceAttributes")
    other = dig(posted, "spec", "nonResourceAttributes")
    errors = []
    if resource is not None and (resource.get("namespace") or "") != namespace:
        field = "spec.resourceAttributes.namespace"
        errors.append(invalid_value(field, resource.get("namespace") or "", "must match metadata.namespace"))
    if other is not None:
        why = "disallowed on this kind of request"
        errors.append(invalid_value("spec.nonResourceAttributes", _shown_path(other), why))
    return errors


def _shown_path(attributes: JsonObject) -> JsonObject:
    """The server shows its own field names here, not those of the wire."""
    return {"Path": attributes.get("path", ""), "Verb": attributes.get("verb", "")}


def self_subject_rules_review(posted: JsonObject, user: User, authorizer: Authorizer) -> JsonObject:
    namespace = dig(posted, "spec", "namespace")
    if not namespace:
        raise bad_request("no namespace on request")
    rules, problems = authorizer.rules_for(user, namespace)
    status: JsonObject = {
        "resourceRules": [_resource_rule(rule) for rule in rules if rule.resources],
        "nonResourceRules": [
            {"verbs": list(rule.verbs), "nonResourceURLs": list(rule.urls)} for rule in rules if rule.urls
        ],
        "incomplete": False,
    }
    if problems:
        status["evaluationError"] = aggregated(problems)
    return {**_head(posted), "metadata": {}, "spec": {}, "status": status}


def _resource_rule(rule: PolicyRule) -> JsonObject:
    shown = {
        "verbs": list(rule.verbs),
        "apiGroups": list(rule.groups),
        "resources": list(rule.resources),
        "resourceNames": list(rule.names),
    }
    return {key: value for key, value in shown.items() if value}


def self_subject_review(posted: JsonObject, user: User, now: datetime) -> JsonObject:
    return {
        **_head(posted),
        "metadata": {"creationTimestamp": _timestamp(now)},
        "status": {"userInfo": user.info()},
    }


def token_review(posted: JsonObject, authenticator: Authenticator) -> JsonObject:
    token = dig(posted, "spec", "token")
    if not token:
        raise bad_request("token is required for TokenReview in authentication")
    try:
        verified = authenticator.verify_token(token, dig_list(posted, "spec", "audiences"))
    except TokenError as error:
        return {**posted, "status": {"user": {}, "error": str(error)}}
    status: JsonObject = {"authenticated": True, "user": verified.user.info()}
    if verified.audiences:
        status["audiences"] = list(verified.audiences)
    return {**posted, "status": status}


def token_request(
    posted: JsonObject, account: ServiceAccount, tokens: ServiceAccountTokens, now: datetime
) -> JsonObject:
    """Answer a TokenRequest for `account`, which the server has looked up by the path of the request."""
    _check_addressee(posted, account)
    wanted = _token_spec(posted)
    audiences = wanted.audiences or list(tokens.audiences)
    seconds = _DEFAULT_LIFETIME if wanted.expiration_seconds is None else wanted.expiration_seconds
    errors = _lifetime_errors(seconds)
    if errors:
        raise invalid(_AUTHENTICATION_GROUP, "TokenRequest", "", errors)
    lifetime = timedelta(seconds=seconds)
    metadata = {
        **dig_object(posted, "metadata"),
        "name": account.name,
        "namespace": account.namespace,
        "uid": account.uid,
        "creationTimestamp": _timestamp(now),
    }
    return {
        **_head(posted),
        "metadata": metadata,
        "spec": {
            "audiences": audiences,
            "expirationSeconds": seconds,
            "boundObjectRef": dig(posted, "spec", "boundObjectRef"),
        },
        "status": {
            "token": tokens.issue_token(account, audiences, lifetime, now),
            "expirationTimestamp": _timestamp(now + lifetime),
        },
    }


class _TokenSpec(msgspec.Struct, rename="camel"):
    audiences: list[str] | None = None
    expiration_seconds: int | None = None


def _token_spec(posted: JsonObject) -> _TokenSpec:
    """TokenRequests are posted to a subresource, past the schemas that other objects go through."""
    try:
        return msgspec.convert(posted.get("spec") or {}, _TokenSpec)
    except msgspec.ValidationError as error:
        raise bad_request(
            f'TokenRequest in version "v1" cannot be handled as a TokenRequest: {error}'
        ) from error


def _check_addressee(posted: JsonObject, account: ServiceAccount) -> None:
    """Name, namespace and uid may be left out of a TokenRequest; where given, they must be the account's."""
    metadata = dig_object(posted, "metadata")
    for field in ("name", "namespace"):
        given = metadata.get(field)
        if given and given != getattr(account, field):
            error = invalid_value(
                f"metadata.{field}", given, f"must match the service account {field} if specified"
            )
            raise invalid(_AUTHENTICATION_GROUP, "TokenRequest", account.name, [error])
    uid = metadata.get("uid")
    if uid and uid != account.uid:
        why = f"the UID in the token request ({uid}) does not match the UID of the service account ({account.uid})"
        raise conflict(_AUTHENTICATION_GROUP, "TokenRequest", account.name, why)


def _lifetime_errors(seconds: int) -> list[FieldError]:
    if seconds < _SHORTEST_LIFETIME:
        why = "may not specify a duration less than 10 minutes"
    elif seconds > _LONGEST_LIFETIME:
        why = "may not specify a duration larger than 2^32 seconds"
    else:
        return []
    return [invalid_value("spec.expirationSeconds", seconds, why)]


def _head(posted: JsonObject) -> dict[str, Any]:
    return {"kind": posted.get("kind"), "apiVersion": posted.get("apiVersion")}


def _timestamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
