"""The built-in kinds of the API server.

    catalogue     names and scopes, as discovery reports them
    definitions   the types, extracted from the published API description
    typed         decoding into such a type: normal form, defaults, pruning, type checks
    columns       what `kubectl get` shows
    defaults, prepare, rules, convert
                  what kube-apiserver does to each kind beside checking its schema
    resources     all of it joined into `Resource` values

The Gateway API is no built-in: `gateway` provides its CustomResourceDefinitions.
"""

from kubesim.plane.kinds.definitions import definitions
from kubesim.plane.kinds.gateway import gateway_crds
from kubesim.plane.kinds.resources import builtin_resources

__all__ = ["builtin_resources", "definitions", "gateway_crds"]
