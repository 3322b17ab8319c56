"""Who may do what: authentication, authorisation and the reviews that answer questions about both.

access            the one gate in front of every request, open or guarded
  authentication  bearer tokens, service account tokens and client certificates → a user
  impersonation   `kubectl --as`: acting as somebody else, where RBAC allows it
  authorization   what a request asks for, and the words of a refusal
    rbac          roles and bindings, compiled and evaluated
    escalation    nobody grants rights that they do not hold
    bootstrap     the roles and bindings every cluster starts with
reviews           TokenReview, SubjectAccessReview and their kin, and TokenRequest
certificates      the cluster's own certificate authority
tokens            service account tokens: signed, and void once their account is gone
"""
