"""Schemas of custom and built-in kinds, compiled to closures once and applied to every write.

    node        a schema as a tree with its references resolved
    pattern     regular expressions in linear time, formats: what a `format` word promises
    problem     what is wrong and where, before it becomes a field error
    prune, default, check (with scalar, number, junctor), walk, unique, embedded, rules
                one pass each: nodes in, closures out; a pass does not enter what it has no business with
    field_path  paths to fields as rules write them
    correlate   what was what in the old object; ratchet: forgive what is unchanged
    field_error one thing wrong with one field; gotext: values as Go prints them
    expressions the rules of a schema, over `kubecel`
    decode      wrong JSON types in built-in kinds, in the words of Go's decoder
    compiled    all passes of one kind behind the `Schema` protocol
    structural  may this schema be the schema of a CustomResourceDefinition?

Wording and order of the errors follow kube-apiserver, which people and controllers match on.
"""

from edgekeeper.schema.compiled import CompiledSchema, compile_schema
from edgekeeper.schema.decode import TypeMismatch
from edgekeeper.schema.node import Definitions
from edgekeeper.schema.rules import Budget, RuleCheck, RuleCompiler
from edgekeeper.schema.structural import check_structural

__all__ = [
    "Budget",
    "CompiledSchema",
    "Definitions",
    "RuleCheck",
    "RuleCompiler",
    "TypeMismatch",
    "check_structural",
    "compile_schema",
]
