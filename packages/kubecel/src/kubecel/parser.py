"""From tokens to a syntax tree, with macros expanded on the way.

Operators are parsed by precedence with a stack of our own, prefixes and suffixes in loops; only brackets recurse, and
these are counted. So neither a long chain of operators nor deep nesting can exhaust the stack of the interpreter, here or
in the passes that follow: `Limits.depth` bounds the height of the tree as well.

Runs of `&&` and of `||` become balanced trees instead of leaning ones: the operators associate freely, and a rule with
hundreds of alternatives stays shallow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, NoReturn

from kubecel.building import Numbers, TreeBuilder
from kubecel.errors import CompileError, Issue, locate
from kubecel.lexer import BYTES, END, ESCAPED, FLOAT, IDENTIFIER, INT, STRING, UINT, Token, tokenize
from kubecel.limits import DEFAULT_LIMITS, Limits
from kubecel.literals import LiteralError, read_literal
from kubecel.macros import Macro
from kubecel.syntax import (
    Ast,
    Call,
    Entry,
    Expr,
    FieldInit,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Operator,
    Select,
    StructLiteral,
    children,
    qualified_name,
)

_BINARY: Final[dict[str, tuple[int, str]]] = {
    "||": (1, Operator.OR),
    "&&": (2, Operator.AND),
    "<": (3, Operator.LESS),
    "<=": (3, Operator.LESS_EQUALS),
    ">": (3, Operator.GREATER),
    ">=": (3, Operator.GREATER_EQUALS),
    "==": (3, Operator.EQUALS),
    "!=": (3, Operator.NOT_EQUALS),
    "in": (3, Operator.IN),
    "+": (4, Operator.ADD),
    "-": (4, Operator.SUBTRACT),
    "*": (5, Operator.MULTIPLY),
    "/": (5, Operator.DIVIDE),
    "%": (5, Operator.MODULO),
}
_LOGICAL: Final = (Operator.AND, Operator.OR)
_PREFIX: Final = {"!": Operator.NOT, "-": Operator.NEGATE}
_NUMBERS: Final = (INT, FLOAT)
_LITERALS: Final = frozenset({INT, UINT, FLOAT, STRING, BYTES})
_STARTS: Final = frozenset(
    {IDENTIFIER, INT, UINT, FLOAT, STRING, BYTES, "true", "false", "null", "(", "[", "{", "."}
)
"""Tokens with which a primary expression may begin."""
_CONSTANTS: Final = {"true": True, "false": False, "null": None}
_RESERVED: Final = frozenset(
    {
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "namespace",
    }
    | {"package", "return", "var", "void", "while"}
)
"""Words that may name fields and methods, but neither variables nor functions."""

MacroTable = Mapping[tuple[str, int | None, bool], Macro]
"""Macros by name, number of arguments (None: any) and whether they have a target."""


def parse(source: str, macros: MacroTable, limits: Limits = DEFAULT_LIMITS) -> Ast:
    """Parse a text; what is wrong with it is raised as `CompileError`."""
    if len(source) > limits.source:
        message = f"expression code point size exceeds limit: size: {len(source)}, limit {limits.source}"
        raise CompileError([Issue(message)])
    return _Parser(source, macros, limits).parse()


class _Pending(NamedTuple):
    """A binary operator that waits for its right operand to be complete."""

    precedence: int
    function: str
    offset: int


class _Parser:
    def __init__(self, source: str, macros: MacroTable, limits: Limits) -> None:
        self._source = source
        self._macros = macros
        self._limits = limits
        self._tokens = tokenize(source)
        self._index = 0
        self._token = self._tokens[0]
        self._depth = 0
        self._numbers = Numbers(source, limits)
        self._next_id = self._numbers.next
        self._expanded: dict[int, str] = {}

    def parse(self) -> Ast:
        root = self._expression()
        if self._token.kind is not END:
            self._fail_at(self._token)
        self._check_height(root)
        return Ast(self._source, root, self._expanded)

    # The stream of tokens

    def _advance(self) -> Token:
        """Step over the current token and return it."""
        token = self._token
        self._index += 1
        self._token = self._tokens[self._index]
        return token

    def _accept(self, kind: str) -> bool:
        if self._token.kind != kind:
            return False
        self._advance()
        return True

    def _expect(self, kind: str) -> Token:
        if self._token.kind != kind:
            self._fail_at(self._token, f"'{kind}'" if len(kind) == 1 else kind)
        return self._advance()

    def _fail_at(self, token: Token, expected: str = "") -> NoReturn:
        found = END if token.kind is END else f"'{token.text}'"
        wanted = f", expected {expected}" if expected else ""
        raise self._error(f"Syntax error: unexpected {found}{wanted}", token.offset)

    def _error(self, message: str, offset: int) -> CompileError:
        return CompileError([Issue(message, locate(self._source, offset))])

    # Expressions

    def _expression(self) -> Expr:
        """`a ? b : c`, which may go on with another condition, and everything that binds tighter."""
        self._depth += 1
        if self._depth > self._limits.nesting:
            raise _too_deep(self._limits.nesting)
        expression = self._operations()
        decided: list[tuple[int, Expr, Expr]] = []
        while self._token.kind == "?":
            offset = self._advance().offset
            truth = self._operations()
            self._expect(":")
            decided.append((offset, expression, truth))
            expression = self._operations()
        for offset, condition, truth in reversed(decided):
            expression = self._call(offset, Operator.CONDITIONAL, None, (condition, truth, expression))
        self._depth -= 1
        return expression

    def _operations(self) -> Expr:
        """Binary operators over operands."""
        operands = [self._operand()]
        pending: list[_Pending] = []
        while (operator := _BINARY.get(self._token.kind)) is not None:
            precedence, function = operator
            while pending and self._binds_first(pending[-1], precedence):
                self._reduce(operands, pending)
            pending.append(_Pending(precedence, function, self._advance().offset))
            operands.append(self._operand())
        while pending:
            self._reduce(operands, pending)
        return operands[0]

    @staticmethod
    def _binds_first(waiting: _Pending, precedence: int) -> bool:
        """Operators of one precedence are applied from the left, except runs of `&&` and `||`, which are kept together."""
        if waiting.precedence == precedence:
            return waiting.function not in _LOGICAL
        return waiting.precedence > precedence

    def _reduce(self, operands: list[Expr], pending: list[_Pending]) -> None:
        function = pending[-1].function
        run = 1
        if function in _LOGICAL:
            while run < len(pending) and pending[-run - 1].function == function:
                run += 1
        operators, terms = pending[-run:], operands[-run - 1 :]
        del pending[-run:], operands[-run - 1 :]
        operands.append(self._balance(function, operators, terms))

    def _balance(self, function: str, operators: list[_Pending], terms: list[Expr]) -> Expr:
        if len(terms) == 1:
            return terms[0]
        middle = len(operators) // 2
        left = self._balance(function, operators[:middle], terms[: middle + 1])
        right = self._balance(function, operators[middle + 1 :], terms[middle + 1 :])
        return Call(self._next_id(), operators[middle].offset, function, None, (left, right))

    def _operand(self) -> Expr:
        """Prefix operators, a primary expression, and its suffixes."""
        prefix = _PREFIX.get(self._token.kind)
        if prefix is None:
            return self._suffixes(self._primary())
        symbol, offset, count = self._token.kind, self._token.offset, 0
        while self._accept(symbol):
            count += 1
        if symbol == "-" and count == 1 and self._token.kind in _NUMBERS:
            return self._suffixes(self._literal(self._advance()._replace(offset=offset), "-"))
        operand = self._suffixes(self._signed() if symbol == "!" else self._primary())
        return operand if count % 2 == 0 else Call(self._next_id(), offset, prefix, None, (operand,))

    def _signed(self) -> Expr:
        """A primary expression, to which the sign of a number belongs: `!-1` is wrong only because of its type."""
        offset = self._token.offset
        if self._token.kind == "-" and self._tokens[self._index + 1].kind in _NUMBERS:
            self._advance()
            return self._literal(self._advance()._replace(offset=offset), "-")
        return self._primary()

    def _suffixes(self, operand: Expr) -> Expr:
        """Selections, indices, method calls, and the fields of a message."""
        while True:
            kind = self._token.kind
            if kind == ".":
                operand = self._selection(operand)
            elif kind == "[":
                operand = self._subscript(operand)
            elif kind == "{" and (name := qualified_name(operand)) is not None:
                operand = self._message(name)
            else:
                return operand

    def _selection(self, operand: Expr) -> Expr:
        dot = self._advance().offset
        is_optional = self._accept("?")
        name = self._token
        if name.kind is not IDENTIFIER and name.kind is not ESCAPED:
            self._fail_at(name, IDENTIFIER)
        self._advance()
        if is_optional:
            field = Literal(self._next_id(), name.offset, name.text)
            return Call(self._next_id(), dot, Operator.OPTIONAL_SELECT, None, (operand, field))
        if name.kind is IDENTIFIER and self._token.kind == "(":
            offset = self._token.offset
            return self._call(offset, name.text, operand, self._arguments())
        return Select(self._next_id(), dot, operand, name.text)

    def _subscript(self, operand: Expr) -> Expr:
        offset = self._advance().offset
        function = Operator.OPTIONAL_INDEX if self._accept("?") else Operator.INDEX
        index = self._expression()
        self._expect("]")
        return self._call(offset, function, None, (operand, index))

    def _arguments(self) -> tuple[Expr, ...]:
        self._expect("(")
        if self._accept(")"):
            return ()
        arguments = [self._expression()]
        while self._accept(","):
            arguments.append(self._expression())
        self._expect(")")
        return tuple(arguments)

    # Primary expressions

    def _primary(self) -> Expr:
        token = self._token
        kind = token.kind
        if kind not in _STARTS:
            self._fail_at(token)
        self._advance()
        if kind is IDENTIFIER:
            return self._name(token)
        if kind in _LITERALS:
            return self._literal(token)
        if kind in _CONSTANTS:
            return Literal(self._next_id(), token.offset, _CONSTANTS[kind])
        if kind == "(":
            inner = self._expression()
            self._expect(")")
            return inner
        if kind == "[":
            return self._list(token)
        if kind == "{":
            return self._map(token)
        return self._name(self._expect(IDENTIFIER), ".")

    def _name(self, token: Token, dot: str = "") -> Expr:
        if token.text in _RESERVED:
            raise self._error(f"reserved identifier: {token.text}", token.offset)
        if self._token.kind == "(":
            offset = self._token.offset
            return self._call(offset, dot + token.text, None, self._arguments())
        return Ident(self._next_id(), token.offset, dot + token.text)

    def _literal(self, token: Token, sign: str = "") -> Literal:
        offset = token.offset
        try:
            return Literal(self._next_id(), offset, read_literal(token.kind, token.text, sign))
        except LiteralError as error:
            raise self._error(str(error), offset) from None

    def _list(self, bracket: Token) -> ListLiteral:
        elements: list[Expr] = []
        optional: set[int] = set()
        while self._token.kind != "]":
            if self._accept("?"):
                optional.add(len(elements))
            elements.append(self._expression())
            if not self._accept(","):
                break
        self._expect("]")
        return ListLiteral(self._next_id(), bracket.offset, tuple(elements), frozenset(optional))

    def _map(self, brace: Token) -> MapLiteral:
        entries: list[Entry] = []
        while self._token.kind != "}":
            is_optional = self._accept("?")
            key = self._expression()
            colon = self._expect(":").offset
            entries.append(Entry(self._next_id(), colon, key, self._expression(), is_optional))
            if not self._accept(","):
                break
        self._expect("}")
        return MapLiteral(self._next_id(), brace.offset, tuple(entries))

    def _message(self, name: str) -> StructLiteral:
        brace = self._advance()
        fields: list[FieldInit] = []
        while self._token.kind != "}":
            is_optional = self._accept("?")
            if self._token.kind is not IDENTIFIER and self._token.kind is not ESCAPED:
                self._fail_at(self._token, IDENTIFIER)
            field = self._advance().text
            colon = self._expect(":").offset
            fields.append(FieldInit(self._next_id(), colon, field, self._expression(), is_optional))
            if not self._accept(","):
                break
        self._expect("}")
        return StructLiteral(self._next_id(), brace.offset, name, tuple(fields))

    # Calls and macros

    def _call(self, offset: int, function: str, target: Expr | None, args: tuple[Expr, ...]) -> Expr:
        is_member = target is not None
        macro = self._macros.get((function, len(args), is_member)) or self._macros.get(
            (function, None, is_member)
        )
        if macro is not None:
            expanded = macro.expand(TreeBuilder(self._numbers, offset), target, args)
            if expanded is not None:
                self._expanded[expanded.id] = function
                return expanded
        return Call(self._next_id(), offset, function, target, args)

    def _check_height(self, root: Expr) -> None:
        """Trees with few nodes cannot be high; the others are measured level by level."""
        if self._numbers.count <= self._limits.depth:
            return
        level, height = [root], 0
        while level:
            height += 1
            if height > self._limits.depth:
                raise _too_deep(self._limits.depth)
            level = [child for node in level for child in children(node)]


def _too_deep(limit: int) -> CompileError:
    return CompileError([Issue(f"expression recursion limit exceeded: {limit}")])
