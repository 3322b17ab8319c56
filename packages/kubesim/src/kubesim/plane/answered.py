"""Resources that are answered and never stored: access reviews, token reviews and token requests."""

from __future__ import annotations

from collections.abc import Callable

from edgekeeper.core.json import JsonObject, dig
from kubesim.plane.auth import reviews
from kubesim.plane.auth.access import Access
from kubesim.plane.auth.tokens import ServiceAccount, ServiceAccountTokens
from kubesim.plane.body import decode_body
from kubesim.plane.call import Call
from kubesim.plane.codec import decode_object
from kubesim.plane.errors import not_found
from kubesim.plane.handler import Verb
from kubesim.plane.render import render_tree
from kubesim.plane.request import Response

Answer = Callable[[Call, JsonObject], JsonObject]


def answered_resources(access: Access, tokens: ServiceAccountTokens) -> dict[tuple[str, str], Verb]:
    """What the handler answers by itself, by plural and subresource."""
    authorizer, authenticator = access.authorizer, access.authenticator
    answers: dict[str, Answer] = {
        "selfsubjectaccessreviews": lambda call, posted: reviews.self_subject_access_review(
            posted, call.user, authorizer
        ),
        "subjectaccessreviews": lambda _, posted: reviews.subject_access_review(posted, authorizer),
        "localsubjectaccessreviews": lambda call, posted: reviews.local_subject_access_review(
            posted, call.namespace, authorizer
        ),
        "selfsubjectrulesreviews": lambda call, posted: reviews.self_subject_rules_review(
            posted, call.user, authorizer
        ),
        "tokenreviews": lambda _, posted: reviews.token_review(posted, authenticator),
        "selfsubjectreviews": lambda call, posted: reviews.self_subject_review(
            posted, call.user, call.cluster.now()
        ),
    }
    verbs: dict[tuple[str, str], Verb] = {(plural, ""): _verb(answer) for plural, answer in answers.items()}
    verbs["serviceaccounts", "token"] = lambda call: _token(call, tokens)
    return verbs


def _verb(answer: Answer) -> Verb:
    def respond(call: Call) -> Response:
        return render_tree(call, answer(call, decode_object(call)), 201)

    return respond


def _token(call: Call, tokens: ServiceAccountTokens) -> Response:
    item = call.current()
    if item is None:
        raise not_found("", "serviceaccounts", call.info.name)
    posted = decode_body(call.request.header("content-type"), call.request.body)
    account = ServiceAccount(call.namespace, call.info.name, dig(item.decode(), "metadata", "uid"))
    return render_tree(call, reviews.token_request(posted, account, tokens, call.cluster.now()), 201)
