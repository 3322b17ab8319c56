"""Static types: what an expression evaluates to, and whether it can work at all.

`check(ast, declarations)` is the one entry. `Declarations` says which names an expression may use and is made once per
environment; the result, a `CheckedAst`, carries types, resolved overloads and resolved names by node.
"""

from kubecel.checker.check import check
from kubecel.checker.checked import CheckedAst, Finding, Validator
from kubecel.checker.declarations import CheckOptions, Declarations, FunctionTable
from kubecel.checker.validation import homogeneous_literals, valid_literals

__all__ = [
    "CheckOptions",
    "CheckedAst",
    "Declarations",
    "Finding",
    "FunctionTable",
    "Validator",
    "check",
    "homogeneous_literals",
    "valid_literals",
]
