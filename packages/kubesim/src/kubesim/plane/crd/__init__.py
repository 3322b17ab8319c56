"""CustomResourceDefinitions: checked when written, turned into resources, kept in service while they exist.

rules        what a definition must fulfil
strategy     what the server fills in
define       from a definition to resources
controller   resources come, change and go with their definitions
"""

from kubesim.plane.crd.controller import (
    DefinitionController,
    definition_accepts_objects,
    mark_deleted,
)
from kubesim.plane.crd.define import DEFINITIONS
from kubesim.plane.crd.strategy import RuleSource, definition_strategy

__all__ = [
    "DEFINITIONS",
    "DefinitionController",
    "RuleSource",
    "definition_accepts_objects",
    "definition_strategy",
    "mark_deleted",
]
