"""Admission webhooks: other programs' say in what is stored.

review     what a webhook is asked, as an AdmissionReview, and what it answers
hook       a configuration compiled: which requests concern it, and how to treat its failures
endpoint   one HTTPS call to one webhook
dispatch   all webhooks of a cluster: mutating ones in turn, validating ones at once
"""

from kubesim.plane.webhook.dispatch import ConfigurationSource, Surroundings, Webhooks
from kubesim.plane.webhook.review import AdmissionRequest, ConditionError

__all__ = ["AdmissionRequest", "ConditionError", "ConfigurationSource", "Surroundings", "Webhooks"]
