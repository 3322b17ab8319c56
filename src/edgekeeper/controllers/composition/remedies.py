"""What the reasons of ResourceGraphDefinitions, GraphRevisions and instances mean, beside those of all kinds."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from edgekeeper.controllers.composition.phrases import UNSET
from edgekeeper.lifecycle.remedies import Remedy

_SOON: Final = timedelta(minutes=1)
_READY: Final = timedelta(minutes=10)
_PROGRESS: Final = {
    "is not ready": "is not ready; the message names it and what it waits for",
    "waits for": "waits for another object or for data",
    "is being applied": "is being applied",
}
"""By what messages say of an instance that becomes ready by itself: the cause."""
_OPERATOR: Final = "the operator"

REMEDIES: Final[tuple[Remedy, ...]] = (
    # Definitions
    Remedy(
        "InvalidResourceGraph",
        "the definition is not valid; the last valid revision stays in force",
        "correct the fields that the message names; `edgekeeper validate FILE` says the same. `schema not found`: install "
        "the kind",
    ),
    Remedy(
        "KindNotAllowed",
        "the definition uses a kind that `--composition-allowed-kinds` does not list",
        "use another one, or have an administrator add it",
    ),
    Remedy(
        "Failed",
        "a change could break instances, the CustomResourceDefinition belongs to somebody else, or names are taken",
        'undo the change, or annotate the definition with `kro.run/allow-breaking-changes: "true"`; choose another kind or '
        "other short names",
    ),
    Remedy(
        "FailedToStart",
        "the controller of the instances could not be started; the message has the cause",
        "act on the message; it is tried again",
        waits_for="the next attempt",
    ),
    Remedy(
        "KindNotPermitted",
        "the operator lacks rights on a kind",
        "apply the ClusterRole in the message",
    ),
    Remedy(
        "AwaitingReconciliation",
        "the CustomResourceDefinition of the kind, or its controller, is not ready yet",
        "wait; if it lasts, look at the conditions before this one",
        waits_for=_OPERATOR,
        within=_SOON,
    ),
    Remedy(
        "WaitingForGraphRevisionCompilation",
        "a revision of the definition is being compiled",
        "wait",
        waits_for=_OPERATOR,
        within=_SOON,
    ),
    Remedy(
        "WaitingForGraphRevisionSettlement",
        "a revision of the definition is being stored",
        "wait",
        waits_for=_OPERATOR,
        within=_SOON,
    ),
    Remedy(
        "DeletionBlocked",
        "the definition is being deleted, and something is in the way",
        "act on the message",
    ),
    Remedy(
        "InstancesExist",
        "the definition is being deleted, and there are instances",
        "delete them; the message names one",
    ),
    Remedy(
        "InvalidGraph",
        "the revision cannot be compiled with the kinds that the cluster serves now",
        "install the kind that the message names, or correct the definition",
    ),
    # Instances
    Remedy(
        "ResolutionFailed",
        "the definition of the kind has no valid graph",
        "correct the definition: `edgekeeper explain rgd/NAME`",
    ),
    Remedy(
        "NotReady",
        "a resource needs a field of the instance that has no value",
        "set the field that the message names",
        message=UNSET,
    ),
    *(
        Remedy(
            "NotReady",
            f"a resource of the instance {cause}",
            "look at the resource that the message names: `edgekeeper explain` follows it, `edgekeeper graph --live` "
            "shows all",
            waits_for="the resource that the message names",
            within=_READY,
            message=text,
        )
        for text, cause in _PROGRESS.items()
    ),
    Remedy(
        "NotReady",
        "a resource of the instance cannot be evaluated or applied; the message names it",
        "act on the message; `edgekeeper graph --live` shows all resources",
    ),
    Remedy(
        "ResourceDeleting",
        "a resource of the instance is being deleted",
        "wait; if it lasts, look for finalizers on it",
        waits_for="the deletion",
        within=timedelta(minutes=5),
    ),
    Remedy(
        "ApplySetConflict",
        "an object of that name belongs to another instance",
        "choose another name for the instance, or delete the other one",
    ),
    Remedy(
        "RevertedByOthers",
        "another controller changes a child back whenever it is applied",
        "let only one of them manage the field; the message names the field manager",
    ),
    Remedy(
        "KindNotServed",
        "the cluster does not serve a kind that the instance consists of",
        "install its CustomResourceDefinition",
    ),
    Remedy(
        "NamespaceNotPermitted",
        "a child is in a namespace that `--composition-allowed-namespaces` does not list",
        "use another namespace, or have an administrator add it",
    ),
    Remedy(
        "NamespaceNotWatched",
        "a child or a reference is in a namespace that the operator does not watch",
        "add it to `--namespace`",
    ),
    Remedy(
        "Unsettled",
        "what the instance consists of changes faster than it is read",
        "wait for the next attempt",
        waits_for="the next attempt",
        within=_SOON,
    ),
    Remedy(
        "UnderDeletion",
        "the children of the instance are being deleted; the message names those that are left",
        "wait; if it lasts, look for finalizers on the children",
        waits_for="the children",
        within=timedelta(minutes=15),
    ),
    Remedy(
        "ReconciliationSuspended",
        "reconciliation is paused by an annotation",
        "remove the annotation that the message names",
    ),
)
