"""How many lines of source a kind has.

Counted are lines with code: those on which a token begins or ends that is neither a comment nor a docstring. Blank lines,
comments and docstrings are documentation, and more of that is no cost. What both kinds share counts for neither, and is told
by itself.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).parents[2] / "src" / "edgekeeper"
PERMISSION: Final = ("api/lambda_permission.py", "controllers/bridge/permissions/*.py")
DOMAIN: Final = ("controllers/bridge/domains/*.py",)
DOMAIN_IMPORT: Final = ("controllers/bridge/domains/import*.py",)
"""Part of these: manifests for what exists, which reconciles nothing."""
DOMAIN_API: Final = ("api/bridge.py",)
SHARED: Final = ("controllers/bridge/*.py",)
_UNCOUNTED: Final = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}


def lines_of(patterns: Iterable[str]) -> int:
    """The lines of code in all files that match, below the package."""
    files = [file for pattern in patterns for file in sorted(SOURCE.glob(pattern))]
    if not files:
        raise RuntimeError(f"no source matches {', '.join(patterns)}")
    return sum(code_lines(file.read_text(encoding="utf-8")) for file in files)


def code_lines(text: str) -> int:
    """The lines of code in a text."""
    documentation = set(_docstrings(ast.parse(text)))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _UNCOUNTED:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - documentation)


def _docstrings(tree: ast.AST) -> Iterator[int]:
    """The lines of texts that stand for themselves: docstrings, and those below attributes."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)
