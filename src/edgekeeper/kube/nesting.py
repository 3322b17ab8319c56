"""Objects that are nested more deeply than the decoder can follow.

kube-apiserver stores up to 10,000 levels in fields without a schema; the decoder gives up at about 1,000, and with it the
whole page or line that has such an object. `cut` makes a document readable again: what is below `MOST_LEVELS` becomes the
text `CUT`. Objects that were cut are kept like others, so that those beside them are not affected, and `is_cut` tells
them: such an object is not as its author wrote it, so nothing may be decided by its content.

Cutting takes at worst half a second for the largest object that is stored, and is done only after decoding has failed.
"""

from __future__ import annotations

import re
from typing import Final

MOST_LEVELS: Final = 250
CUT: Final = b'"edgekeeper.io/nested-too-deeply"'
_TOKEN: Final = re.compile(rb'(?:"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[^"\[\]{}]++)++|([\[{]+)|([\]}]+)', re.DOTALL)
"""What is not a bracket, strings with those in them included, the last of which may lack its end; brackets that open; brackets
that close."""
_OPENING: Final = 1


def cut(document: bytes) -> bytes:
    """The document without what is nested too deeply. It need not be valid JSON, and is not checked."""
    kept: list[bytes] = []
    level = begin = 0
    for token in _TOKEN.finditer(document):
        if token.lastindex is None:
            continue
        start, end = token.span()
        if token.lastindex == _OPENING:
            if level <= MOST_LEVELS < level + end - start:
                kept += (document[begin : start + MOST_LEVELS - level], CUT)
                begin = len(document)
            level += end - start
        else:
            if level > MOST_LEVELS >= level - (end - start):
                begin = start + level - MOST_LEVELS
            level -= end - start
    return b"".join((*kept, document[begin:]))


def is_cut(raw: bytes) -> bool:
    """Whether an object was cut. An object whose author has written the text itself counts as cut, too."""
    return CUT in raw
