"""The two environments that expressions are written for.

`kro` is what ResourceGraphDefinitions are checked and evaluated in; `kubernetes` is what kube-apiserver offers to the
rules of custom resources. They share most libraries, but not their versions, and not their strictness:

                                 kro                              kubernetes
    strings                      newest                           second version (no `reverse`, older `format`)
    base64, `cel.bind`           yes                              no
    sets, named formats          no                               yes
    semver("v1", true)           no                               yes
    kro's own functions          yes                              no
    1 < 1.5                      refused if the types are known   allowed
    [1, "a"]                     allowed                          refused
    timestamp("x"), matches("(") fails when evaluated             refused

Both are made once and shared. Callers add their variables with `extend`.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from kubecel.checker import CheckOptions, homogeneous_literals, valid_literals
from kubecel.environment import Environment
from kubecel.functions import Library
from kubecel.library.extensions.encoders import ENCODERS
from kubecel.library.extensions.lists import LISTS
from kubecel.library.extensions.sets import SETS
from kubecel.library.extensions.strings import STRINGS, STRINGS_V2
from kubecel.library.formatting.check import valid_formats
from kubecel.library.formatting.localized import LOCALIZED
from kubecel.library.formatting.plain import PLAIN
from kubecel.library.kro.conditions import CONDITIONS
from kubecel.library.kro.hashes import HASHES
from kubecel.library.kro.json import JSON
from kubecel.library.kro.lists import INDEXED_LISTS
from kubecel.library.kro.maps import MAPS
from kubecel.library.kro.omission import OMISSION
from kubecel.library.kro.random import RANDOM
from kubecel.library.kubernetes.formats import FORMATS
from kubecel.library.kubernetes.lists import KUBERNETES_LISTS
from kubecel.library.kubernetes.networks import CIDRS, IP_ADDRESSES
from kubecel.library.kubernetes.quantities import QUANTITIES
from kubecel.library.kubernetes.regex import REGEX, valid_patterns
from kubecel.library.kubernetes.semvers import SEMVERS, SEMVERS_V0
from kubecel.library.kubernetes.urls import URLS
from kubecel.standard import BINDINGS, OPTIONALS, STANDARD, TWO_VARIABLE_COMPREHENSIONS

_SHARED: Final[tuple[Library, ...]] = (
    STANDARD,
    OPTIONALS,
    TWO_VARIABLE_COMPREHENSIONS,
    LISTS,
    KUBERNETES_LISTS,
    URLS,
    REGEX,
    QUANTITIES,
    IP_ADDRESSES,
    CIDRS,
)

_KRO: Final = (
    BINDINGS,
    STRINGS,
    ENCODERS,
    SEMVERS_V0,
    RANDOM,
    MAPS,
    JSON,
    HASHES,
    INDEXED_LISTS,
    OMISSION,
    CONDITIONS,
)

_KUBERNETES: Final = (STRINGS_V2, SETS, FORMATS, SEMVERS)


@cache
def kro() -> Environment:
    """The environment of ResourceGraphDefinitions. Where `omit()` and `runtime` may be used is for the caller to check."""
    return Environment(
        (*_SHARED, *_KRO), options=CheckOptions(validators=(valid_formats(PLAIN), valid_patterns))
    )


@cache
def kubernetes() -> Environment:
    """The environment of `x-kubernetes-validations`."""
    options = CheckOptions(
        cross_type_comparisons=True,
        validators=(valid_literals, homogeneous_literals, valid_formats(LOCALIZED), valid_patterns),
    )
    return Environment((*_SHARED, *_KUBERNETES), options=options)
