"""Expressions in the API server: rules in the schemas of custom resources, and match conditions of webhooks.

    written      a rule as a definition has it
    scope        what an expression at some place of a schema can see
    examining    one rule without values: does it compile, and to the right type?
    definitions  all rules of a definition, with what they may cost together
    evaluating   the rules of one place on a value
    engine       the last two behind the seam of `edgekeeper.local.plane.schema`
    conditions   match conditions
    late         all of it, loaded when first needed

The language itself is `edgekeeper.cel`. What is decided here is what kube-apiserver does with it, and how it words that.
"""

from edgekeeper.local.plane.expressions.late import LateRules, condition_problem, conditions_hold

__all__ = ["LateRules", "condition_problem", "conditions_hold"]
