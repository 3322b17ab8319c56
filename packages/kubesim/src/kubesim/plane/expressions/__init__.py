"""Expressions in the API server: rules in the schemas of custom resources, and match conditions of webhooks.

    conditions   match conditions
    late         conditions and rules (`edgekeeper.schema.expressions`), loaded when first needed

The language itself is `kubecel`. What is decided here is what kube-apiserver does with it, and how it words that.
"""

from kubesim.plane.expressions.late import RULES, LateRules, condition_problem, conditions_hold

__all__ = ["RULES", "LateRules", "condition_problem", "conditions_hold"]
