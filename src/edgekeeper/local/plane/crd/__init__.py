"""CustomResourceDefinitions: checked when written, turned into resources, kept in service while they exist."""

from edgekeeper.local.plane.crd.controller import DefinitionController
from edgekeeper.local.plane.crd.define import DEFINITIONS, resources_of
from edgekeeper.local.plane.crd.strategy import definition_strategy

__all__ = ["DEFINITIONS", "DefinitionController", "definition_strategy", "resources_of"]
