"""Rules in structural schemas (`x-kubernetes-validations`), checked and evaluated as kube-apiserver does.

    written      a rule as a definition has it
    scope        what an expression at some place of a schema can see
    examining    one rule without values: does it compile, and to the right type?
    definitions  all rules of a definition, with what they may cost together
    evaluating   the rules of one place on a value
    engine       the last two as a `RuleCompiler` of `edgekeeper.schema`

The language itself is `kubecel`; importing it takes time, so nothing here is imported before a rule is met.
"""
