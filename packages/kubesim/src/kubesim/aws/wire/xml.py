"""Just enough XML: text to elements with names, text and children. No attributes, no entities, no document types."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

_TEXT = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}
_ESCAPES = str.maketrans(_TEXT)


class MalformedXmlError(ValueError):
    """The text is no XML document, or one of a kind that nobody sends."""


@dataclass(slots=True)
class Element:
    """One element. `text` is what stands before its first child."""

    name: str
    text: str = ""
    children: list[Element] = field(default_factory=list)


class _Builder:
    """Receives expat's events. Character data may arrive in pieces."""

    def __init__(self) -> None:
        self.root = Element("")
        self._open = [self.root]

    def start(self, name: str, _attributes: object) -> None:
        element = Element(name.rpartition(":")[2])
        self._open[-1].children.append(element)
        self._open.append(element)

    def end(self, _name: str) -> None:
        self._open.pop()

    def text(self, data: str) -> None:
        current = self._open[-1]
        if not current.children:
            current.text += data

    def refuse(self, *_: object) -> None:
        raise MalformedXmlError("a document type is not allowed here")


def parse(body: bytes) -> Element:
    """The root element. Raise MalformedXmlError where there is none."""
    builder = _Builder()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.text
    parser.StartDoctypeDeclHandler = builder.refuse
    try:
        parser.Parse(body, True)
    except expat.ExpatError as error:
        raise MalformedXmlError(str(error)) from error
    return builder.root.children[0]


def escape(text: str) -> str:
    return text.translate(_ESCAPES)
