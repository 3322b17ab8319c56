"""Field ownership and server-side apply.

    FieldTypes            how each part of a kind merges, from its OpenAPI schema
    record_update         who owns what after a create, replace or patch
    apply_configuration   an applied configuration merged into an object, or ApplyConflict / ApplyError

The semantics are those of structured-merge-diff as kube-apiserver 1.36 uses it. Inside, `fieldset` has the algebra of
field sets, `types` the view of schemas, `compare` and `merge` the walks over values, `managers` the table of owners.
"""

from kubesim.plane.apply.configuration import apply_configuration
from kubesim.plane.apply.conflict import ApplyConflict, ApplyError, Conflict
from kubesim.plane.apply.managers import Writer
from kubesim.plane.apply.types import FieldTypes
from kubesim.plane.apply.update import keep_times_if_unchanged, record_update

__all__ = [
    "ApplyConflict",
    "ApplyError",
    "Conflict",
    "FieldTypes",
    "Writer",
    "apply_configuration",
    "keep_times_if_unchanged",
    "record_update",
]
