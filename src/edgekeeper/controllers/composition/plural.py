"""The plural of a kind, as kro forms it: it is part of the name of the generated definition.

A definition that kro generated must be found under its name, so the rules give what kro gives, where English is right and
where it is not (`canvas` stays as it is, `roof` becomes `roofs`). Irregular words that hardly name a kind are left out.
"""

from __future__ import annotations

import re
from typing import Final

_UNCHANGED: Final = frozenset(
    {"aircraft", "equipment", "fish", "information", "money", "offspring", "police", "sheep"}
)
_ACRONYMS: Final = frozenset({"css", "dns", "https", "lhs", "qps", "rhs", "tls", "xss"})
_WORDS: Final = {
    "apex": "apexes",
    "appendix": "appendices",
    "axis": "axes",
    "basis": "bases",
    "bus": "buses",
    "corpus": "corpora",
    "die": "dice",
    "foo": "foos",
    "formula": "formulas",
    "genus": "genera",
    "halo": "halos",
    "human": "humans",
    "locus": "loci",
    "matrix": "matrices",
    "mouse": "mice",
    "nucleus": "nuclei",
    "oasis": "oases",
    "octopus": "octopi",
    "phenomenon": "phenomena",
    "photo": "photos",
    "piano": "pianos",
    "quiz": "quizzes",
    "radius": "radiuses",
    "stimulus": "stimuli",
    "symposium": "symposiums",
}

_LATIN: Final = (
    *(
        ("atum", "ata"),
        ("adium", "adia"),
        ("dium", "diums"),
        ("ium", "ia"),
        ("ovum", "ova"),
        ("randum", "randa"),
    ),
    *(("actus", "acti"), ("focus", "foci"), ("irus", "iri"), ("leus", "li"), ("atus", "atuses")),
    *(("campus", "campuses"), ("alias", "aliases"), ("iterion", "iteria"), ("ex", "ices")),
    *(
        ("oasis", "oasis"),
        ("basis", "basis"),
        ("sis", "ses"),
        ("stis", "stes"),
        ("va", "vae"),
        ("ula", "ulae"),
    ),
)
_GERMANIC: Final = (
    *(("man", "men"), ("person", "people"), ("child", "children"), ("oot", "eet"), ("oose", "eese")),
    *(("oaf", "oaves"), ("lf", "lves"), ("rf", "rves"), ("hello", "hellos"), ("io", "ios"), ("tz", "tzes")),
)
_ENDINGS: Final = (*_LATIN, *_GERMANIC)
_REGULAR: Final = (
    (re.compile(r"(?<=[a-eg-z])fe$"), "ves"),
    (re.compile(r"(?<=[b-df-hj-np-tv-xz])y$|(?<=qu)y$"), "ies"),
    (re.compile(r"(?<=x)$|(?<=ch)$|(?<=ss)$|(?<=sh)$|(?<=o)$"), "es"),
)


def pluralize(word: str) -> str:
    """The plural of a word in lower case; a word that ends like a plural stays as it is."""
    if word in _WORDS:
        return _WORDS[word]
    if word in _UNCHANGED or word in _WORDS.values():
        return word
    if word in _ACRONYMS:
        return f"{word}es"
    for singular, plural in _ENDINGS:
        if word.endswith(singular):
            return word.removesuffix(singular) + plural
        if word.endswith(plural):
            return word
    for pattern, ending in _REGULAR:
        if pattern.search(word):
            return pattern.sub(ending, word)
    return word if word.endswith("s") else f"{word}s"
