"""What the API server says when it refuses: field errors, and the `Status` objects that carry them.

    StatusError                     any refusal: HTTP code, reason, message, details
      ├ built by not_found, already_exists, conflict, invalid, bad_request, forbidden, …
      └ carries FieldError values as causes when a field is at fault

Messages follow kube-apiserver's wording, because people search for it and kubectl prints it verbatim.
"""

from __future__ import annotations

from collections.abc import Sequence

from edgekeeper.core.json import JsonObject
from edgekeeper.schema.field_error import FieldError


class StatusError(Exception):
    """A refusal that becomes a `Status` object on the wire."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: JsonObject | None = None,
        metadata: JsonObject | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.metadata = metadata or {}
        self.headers = headers or {}
        self.warnings: list[str] = []
        """What the client should hear beside the refusal."""

    def status(self) -> JsonObject:
        body: JsonObject = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
        }
        if not self.reason:
            del body["reason"]
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body


def qualified(name: str, group: str) -> str:
    """`deployments.apps` or plain `pods`: how the API server names a resource or kind in messages."""
    return f"{name}.{group}" if group else name


def _details(group: str, resource: str, name: str, causes: Sequence[JsonObject] = ()) -> JsonObject:
    details: JsonObject = {"name": name, "group": group, "kind": resource, "causes": list(causes)}
    return {key: value for key, value in details.items() if value}


def not_found(group: str, resource: str, name: str) -> StatusError:
    message = f'{qualified(resource, group)} "{name}" not found'
    return StatusError(404, "NotFound", message, details=_details(group, resource, name))


def no_such_resource() -> StatusError:
    """The answer where the group of a path is known, but not its version or resource."""
    return StatusError(404, "NotFound", "the server could not find the requested resource", details={})


class UnservedPathError(Exception):
    """Nothing is served at a path, not even its group. Answered in plain text, unlike everything else."""


def already_exists(group: str, resource: str, name: str) -> StatusError:
    message = f'{qualified(resource, group)} "{name}" already exists'
    return StatusError(409, "AlreadyExists", message, details=_details(group, resource, name))


def conflict(
    group: str, resource: str, name: str, why: str, causes: Sequence[JsonObject] = ()
) -> StatusError:
    message = f'Operation cannot be fulfilled on {qualified(resource, group)} "{name}": {why}'
    return StatusError(409, "Conflict", message, details=_details(group, resource, name, causes))


def invalid(group: str, kind: str, name: str, errors: Sequence[FieldError]) -> StatusError:
    """422 with one cause per field; the message lists them all, in brackets when there are several."""
    distinct = list(dict.fromkeys(str(error) for error in errors))
    listed = distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
    causes = [{"reason": e.reason, "message": e.body, "field": e.field} for e in errors]
    message = f'{qualified(kind, group)} "{name}" is invalid: {listed}'
    return StatusError(422, "Invalid", message, details=_details(group, kind, name, causes))


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def unauthorized() -> StatusError:
    return StatusError(401, "Unauthorized", "Unauthorized")


def forbidden(group: str, resource: str, name: str, why: str) -> StatusError:
    shown = (
        f'{qualified(resource, group)} "{name}" is forbidden'
        if name
        else f"{qualified(resource, group)} is forbidden"
    )
    return StatusError(403, "Forbidden", f"{shown}: {why}", details=_details(group, resource, name))


def method_not_allowed(
    message: str = "the server does not allow this method on the requested resource",
) -> StatusError:
    return StatusError(405, "MethodNotAllowed", message, details={})


def not_acceptable(offered: Sequence[str]) -> StatusError:
    message = f"only the following media types are accepted: {', '.join(offered)}"
    return StatusError(406, "NotAcceptable", message)


def expired(message: str, metadata: JsonObject | None = None) -> StatusError:
    return StatusError(410, "Expired", message, metadata=metadata)


def too_large(limit: int) -> StatusError:
    message = f"Request entity too large: limit is {limit}"
    return StatusError(413, "RequestEntityTooLarge", message)


def failure(message: str) -> StatusError:
    """500 without a reason: how the server words an error that nobody thought of classifying."""
    return StatusError(500, "", message)


def cannot_be_handled(api_version: str, kind: str, expected: str, problem: str) -> StatusError:
    """400: a body whose kind is known, but which cannot be turned into the kind that is expected."""
    version = api_version.rpartition("/")[2]
    return bad_request(f'{kind} in version "{version}" cannot be handled as a {expected}: {problem}')


def not_registered(api_version: str, kind: str) -> str:
    """How the server words that it does not know a kind, at least not where it is looking for it."""
    return f'no kind "{kind}" is registered for version "{api_version}" in scheme "pkg/runtime/scheme.go:111"'


def unsupported_media_type(supported: Sequence[str]) -> StatusError:
    message = f"the body of the request was in an unknown format - accepted media types include: {', '.join(supported)}"
    return StatusError(415, "UnsupportedMediaType", message)


def internal(message: str) -> StatusError:
    cause = {"message": message}
    return StatusError(
        500, "InternalError", f"Internal error occurred: {message}", details={"causes": [cause]}
    )
