"""Functions of strings beyond the language's own: `charAt`, `split`, `replace`, `format` and so on.

Positions count code points. `kubernetes` offers the second version of the library, `kro` the newest one; they differ in
`reverse` and in the dialect of `format`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubecel.errors import EvaluationError, invalid_argument
from kubecel.functions import Function, Library, traversal_cost
from kubecel.library import costs, estimates
from kubecel.library.declaring import LIST_OF_STRINGS, function, on_call, on_target
from kubecel.library.formatting.dialect import format_arguments
from kubecel.library.formatting.localized import LOCALIZED
from kubecel.library.formatting.plain import PLAIN
from kubecel.library.nesting import write_weight
from kubecel.limits import check_size
from kubecel.types import DYN, INT, STRING, list_of
from kubecel.values import type_of_value

_WHITE_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""Unicode's white space. Python's own notion includes the ASCII separators 28 to 31, which are none."""

_QUOTED: Final = str.maketrans(
    {
        "\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v",
        "\\": r"\\", '"': r"\"",
    }
)  # fmt: skip
_ASCII_UPPER: Final = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_ASCII_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def _out_of_range(index: int) -> EvaluationError:
    return invalid_argument(f"index out of range: {index}")


def _check_index(index: int, text: str) -> None:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)


def char_at(text: str, index: int) -> str:
    """One character; nothing just behind the end."""
    _check_index(index, text)
    return text[index : index + 1]


def index_of(text: str, part: str, start: int = 0) -> int:
    """Where a part begins at or after `start`, -1 if nowhere. The empty part is where one looks for it."""
    if not part:
        return start
    if start < 0:
        raise _out_of_range(start)
    return text.find(part, start)


def last_index_of(text: str, part: str) -> int:
    return _find_last(text, part, len(text)) if part else len(text)


def last_index_of_from(text: str, part: str, start: int) -> int:
    """Where a part begins at or before `start`, -1 if nowhere."""
    if not part:
        return start
    if start < 0:
        raise _out_of_range(start)
    return -1 if start >= len(text) else _find_last(text, part, start)


def _find_last(text: str, part: str, start: int) -> int:
    """Searches the reversed text, because only searching forwards takes linear time in Python."""
    scanned = text[: start + len(part)]
    found = scanned[::-1].find(part[::-1])
    return -1 if found < 0 else len(scanned) - found - len(part)


def substring(text: str, start: int) -> str:
    _check_index(start, text)
    return text[start:]


def substring_between(text: str, start: int, end: int) -> str:
    if start > end:
        raise invalid_argument(f"invalid substring range. start: {start}, end: {end}")
    _check_index(start, text)
    _check_index(end, text)
    return text[start:end]


def replace(text: str, old: str, new: str, limit: int = -1) -> str:
    """Replace all, or the first `limit`, occurrences. The empty string occurs between all characters."""
    check_size(_replaced_size(text, old, new, limit))
    return text.replace(old, new, limit)


def _replaced_size(text: str, old: str, new: str, limit: int = -1) -> int:
    """How long the result will be, or would be without shrinking."""
    if len(new) <= len(old):
        return len(text)
    count = text.count(old)
    return len(text) + (len(new) - len(old)) * (count if limit < 0 else min(limit, count))


def _replace_cost(text: str, old: str, new: str, limit: int = -1) -> int:
    """cel-go charges for the text only, though the result may be much longer."""
    return max(costs.walk_twice(text), traversal_cost(_replaced_size(text, old, new, limit)))


def split(text: str, separator: str, limit: int = -1) -> list[str]:
    """Split at all separators, or into `limit` pieces at most. The empty separator splits into characters."""
    if limit == 0:
        return []
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    if limit < 0 or limit >= len(text):
        return list(text)
    return [*text[: limit - 1], text[limit - 1 :]]


def join(texts: Sequence[Any], separator: str = "") -> str:
    for text in texts:
        if not isinstance(text, str):
            raise invalid_argument(f"join: invalid input: {type_of_value(text).name}")
    check_size(_joined_size(texts, separator))
    return separator.join(texts)


def _joined_size(texts: Sequence[Any], separator: str) -> int:
    return max(len(texts) - 1, 0) * len(separator) + sum(len(text) for text in texts if isinstance(text, str))


def _join_cost(texts: Sequence[Any], separator: str = "") -> int:
    """For the result, and for elements that have nothing to give."""
    return max(costs.walk_twice(range(_joined_size(texts, separator))), traversal_cost(len(texts)))


def quote(text: str) -> str:
    """In double quotes, with the escapes of the language."""
    check_size(2 * len(text))
    return f'"{text.translate(_QUOTED)}"'


def upper_ascii(text: str) -> str:
    return text.upper() if text.isascii() else text.translate(_ASCII_UPPER)


def lower_ascii(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_ASCII_LOWER)


def trim(text: str) -> str:
    return text.strip(_WHITE_SPACE)


def reverse(text: str) -> str:
    return text[::-1]


def format_plain(text: str, arguments: Sequence[Any]) -> str:
    return format_arguments(text, arguments, PLAIN)


def format_localized(text: str, arguments: Sequence[Any]) -> str:
    return format_arguments(text, arguments, LOCALIZED)


def _format_cost(text: str, arguments: Sequence[Any]) -> int:
    """cel-go charges for the format string only, though arguments may be much longer."""
    return max(costs.CALL, traversal_cost(len(text)), write_weight(arguments) // 2)


_FUNCTIONS: Final[tuple[Function, ...]] = (
    function("charAt", on_target("string_char_at_int", (STRING, INT), STRING, char_at)),
    function(
        "indexOf",
        on_target(
            "string_index_of_string", (STRING, STRING), INT, index_of, costs.tree, estimates.walk_elements
        ),
        on_target(
            "string_index_of_string_int",
            (STRING, STRING, INT),
            INT,
            index_of,
            costs.tree,
            estimates.walk_elements,
        ),
    ),
    function(
        "lastIndexOf",
        on_target(
            "string_last_index_of_string",
            (STRING, STRING),
            INT,
            last_index_of,
            costs.tree,
            estimates.walk_elements,
        ),
        on_target(
            "string_last_index_of_string_int",
            (STRING, STRING, INT),
            INT,
            last_index_of_from,
            costs.tree,
            estimates.walk_elements,
        ),
    ),
    function(
        "lowerAscii",
        on_target(
            "string_lower_ascii", (STRING,), STRING, lower_ascii, costs.walk, estimates.walk_keeping_size
        ),
    ),
    function(
        "upperAscii",
        on_target(
            "string_upper_ascii", (STRING,), STRING, upper_ascii, costs.walk, estimates.walk_keeping_size
        ),
    ),
    function(
        "trim", on_target("string_trim", (STRING,), STRING, trim, costs.walk, estimates.walk_keeping_size)
    ),
    function(
        "replace",
        on_target(
            "string_replace_string_string",
            (STRING, STRING, STRING),
            STRING,
            replace,
            _replace_cost,
            estimates.replace,
        ),
        on_target(
            "string_replace_string_string_int",
            (STRING, STRING, STRING, INT),
            STRING,
            replace,
            _replace_cost,
            estimates.replace,
        ),
    ),
    function(
        "split",
        on_target(
            "string_split_string", (STRING, STRING), LIST_OF_STRINGS, split, costs.walk_twice, estimates.split
        ),
        on_target(
            "string_split_string_int",
            (STRING, STRING, INT),
            LIST_OF_STRINGS,
            split,
            costs.walk_twice,
            estimates.split,
        ),
    ),
    function(
        "substring",
        on_target(
            "string_substring_int", (STRING, INT), STRING, substring, costs.walk, estimates.walk_keeping_size
        ),
        on_target(
            "string_substring_int_int",
            (STRING, INT, INT),
            STRING,
            substring_between,
            costs.walk,
            estimates.walk_keeping_size,
        ),
    ),
    function(
        "join",
        on_target("list_join", (LIST_OF_STRINGS,), STRING, join, _join_cost, estimates.join),
        on_target("list_join_string", (LIST_OF_STRINGS, STRING), STRING, join, _join_cost, estimates.join),
    ),
    function("strings.quote", on_call("strings_quote", (STRING,), STRING, quote, costs.at_least_one)),
)

_FORMAT_PARAMETERS: Final = (STRING, list_of(DYN))

STRINGS: Final = Library(
    "cel.lib.ext.strings",
    (
        *_FUNCTIONS,
        function("reverse", on_target("string_reverse", (STRING,), STRING, reverse, costs.at_least_one)),
        function(
            "format", on_target("string_format", _FORMAT_PARAMETERS, STRING, format_plain, _format_cost)
        ),
    ),
)
"""The newest version."""

STRINGS_V2: Final = Library(
    "cel.lib.ext.strings",
    (
        *_FUNCTIONS,
        function(
            "format", on_target("string_format", _FORMAT_PARAMETERS, STRING, format_localized, _format_cost)
        ),
    ),
)
"""The second version, without `reverse` and with the older dialect of `format`."""
