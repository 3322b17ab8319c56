"""Keeps custom resources in service as their definitions say.

written ──► names accepted ──► resources served, Established
changed ──► served with the new schema
deleted ──► Terminating: instances go first, then the finalizer, then the resources
"""

from __future__ import annotations

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.schema import RuleCompiler
from kubesim.plane.call import Call, Cluster
from kubesim.plane.client import InProcessClient
from kubesim.plane.crd.define import DEFINITIONS, resources_of, stored_schema
from kubesim.plane.errors import StatusError, forbidden
from kubesim.plane.reactor import Reactor
from kubesim.plane.resource import GroupResource
from kubesim.plane.store import Event, Store

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_NAME_FIELDS = (
    ("plural", "PluralConflict"),
    ("singular", "SingularConflict"),
    ("kind", "KindConflict"),
    ("listKind", "ListKindConflict"),
)


class DefinitionController(Reactor):
    """Works through definitions by name."""

    def __init__(self, cluster: Cluster, client: InProcessClient, rules: RuleCompiler | None) -> None:
        super().__init__("custom resource definitions", self._sync)
        self._cluster = cluster
        self._client = client
        self._rules = rules
        self._served: dict[str, tuple[GroupResource, JsonObject]] = {}
        """What is in service, by the name of its definition: the resource, and the spec and names it was built from."""

    def observe(self, resource: GroupResource, event: Event) -> None:
        """Hear of a commit: definitions themselves, and instances whose going may complete a deletion."""
        if resource == DEFINITIONS:
            self.enqueue(event.item.key[1])
        elif event.type == "DELETED" and str(resource) in self._served:
            self.enqueue(str(resource))

    def restore(self, store: Store) -> None:
        """Serve at once what was established before a restart."""
        for item in store.collection(DEFINITIONS).ordered():
            definition = item.decode()
            if _condition(definition, "Established").get("status") == "True":
                self._serve(definition)
            self.enqueue(item.key[1])

    async def _sync(self, name: str) -> None:
        item = self._cluster.store.collection(DEFINITIONS).items.get(("", name))
        if item is None:
            self._withdraw(name)
            return
        definition = item.decode()
        if dig(definition, "metadata", "deletionTimestamp"):
            await self._terminate(definition)
            return
        status = self._status_for(definition)
        if _condition({"status": status}, "Established").get("status") == "True":
            self._serve({**definition, "status": status})
        if status != definition.get("status"):
            await self._write_status(definition, status)

    def _status_for(self, definition: JsonObject) -> JsonObject:
        """What status should say, from the wanted names and those that others hold."""
        accepted, conflict = self._accept_names(definition)
        now = self._cluster.timestamp()
        established = _condition(definition, "Established")
        if established.get("status") != "True":
            established = (
                _new_condition("Established", "False", "NotAccepted", "not all names are accepted")
                if conflict
                else _new_condition(
                    "Established", "True", "InitialNamesAccepted", "the initial names have been accepted"
                )
            )
        names = _new_condition("NamesAccepted", "False", *conflict) if conflict else _NAMES_GOOD
        conditions = [_merge_condition(definition, one, now) for one in (names, established)]
        return {**dig_object(definition, "status"), "conditions": conditions, "acceptedNames": accepted}

    def _accept_names(self, definition: JsonObject) -> tuple[JsonObject, tuple[str, str] | None]:
        wanted = definition["spec"]["names"]
        accepted = dict(dig_object(definition, "status", "acceptedNames"))
        resources, kinds = self._names_in_use(definition)
        conflict: tuple[str, str] | None = None
        for field, reason in _NAME_FIELDS:
            taken = kinds if field in ("kind", "listKind") else resources
            if wanted[field] != accepted.get(field) and wanted[field] in taken:
                conflict = (reason, f'"{wanted[field]}" is already in use')
            else:
                accepted[field] = wanted[field]
        refused = [name for name in dig_list(wanted, "shortNames") if name in resources]
        if refused:
            messages = [f'"{name}" is already in use' for name in refused]
            shown = messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"
            conflict = ("ShortNamesConflict", shown)
        elif "shortNames" in wanted:
            accepted["shortNames"] = wanted["shortNames"]
        else:
            accepted.pop("shortNames", None)
        if "categories" in wanted:
            accepted["categories"] = wanted["categories"]
        else:
            accepted.pop("categories", None)
        return accepted, conflict

    def _names_in_use(self, definition: JsonObject) -> tuple[set[str], set[str]]:
        """Names that other definitions of the same group hold: of resources, and of kinds."""
        resources: set[str] = set()
        kinds: set[str] = set()
        for item in self._cluster.store.collection(DEFINITIONS).ordered():
            other = item.decode()
            same = other["metadata"]["name"] == definition["metadata"]["name"]
            if same or dig(other, "spec", "group") != definition["spec"]["group"]:
                continue
            names = dig_object(other, "status", "acceptedNames")
            resources.update(
                filter(None, [names.get("plural"), names.get("singular"), *dig_list(names, "shortNames")])
            )
            kinds.update(filter(None, [names.get("kind"), names.get("listKind")]))
        return resources, kinds

    def _serve(self, definition: JsonObject) -> None:
        name = definition["metadata"]["name"]
        basis = {"spec": definition["spec"], "names": dig_object(definition, "status", "acceptedNames")}
        served = self._served.get(name)
        if served is not None and served[1] == basis:
            return
        registry = self._cluster.registry
        resource = GroupResource(definition["spec"]["group"], definition["spec"]["names"]["plural"])
        registry.remove(resource)
        registry.add(resources_of(definition, self._rules))
        self._served[name] = (resource, basis)
        if served is not None:
            self._reshape(definition, resource)

    def _reshape(self, definition: JsonObject, resource: GroupResource) -> None:
        """Let what is stored appear as a changed schema describes it: unknown fields gone, defaults filled in.

        The real server does so on every read. Doing it once keeps reads a matter of copying bytes.
        """
        schema = stored_schema(definition)
        collection = self._cluster.store.collection(resource)
        for item in collection.ordered():
            tree = item.decode()
            schema.prune(tree)
            schema.default(tree)
            collection.amend(item, tree)

    def _withdraw(self, name: str) -> None:
        served = self._served.pop(name, None)
        if served is None:
            return
        resource, _ = served
        self._cluster.registry.remove(resource)
        self._cluster.store.drop(resource)
        # The names are free again: whoever waited for them may have them now.
        for item in self._cluster.store.collection(DEFINITIONS).ordered():
            self.enqueue(item.key[1])

    async def _terminate(self, definition: JsonObject) -> None:
        finalizers = dig_list(definition, "metadata", "finalizers")
        if CLEANUP not in finalizers:
            return
        name = definition["metadata"]["name"]
        served = self._served.get(name)
        if served is not None and self._cluster.store.collection(served[0]).items:
            progress = ("InstanceDeletionInProgress", "CustomResource deletion is in progress")
            await self._mark_terminating(definition, "True", *progress)
            await self._delete_instances(served[0])
            if self._cluster.store.collection(served[0]).items:
                return
        current = self._cluster.store.collection(DEFINITIONS).items.get(("", name))
        if current is None:
            return
        definition = current.decode()
        kept = [one for one in dig_list(definition, "metadata", "finalizers") if one != CLEANUP]
        await self._mark_terminating(
            definition, "False", "InstanceDeletionCompleted", "removed all instances"
        )
        await self._client.merge(f"{_PATH}/{name}", {"metadata": {"finalizers": kept}})

    async def _delete_instances(self, resource: GroupResource) -> None:
        served = self._cluster.registry.any_version(resource)
        if served is None:
            self._delete_unserved(resource)
            return
        root = f"/apis/{served.group}/{served.version}"
        if not served.namespaced:
            await self._client.delete(f"{root}/{served.plural}")
            return
        namespaces = {item.key[0] for item in self._cluster.store.collection(resource).items.values()}
        for namespace in sorted(namespaces):
            await self._client.delete(f"{root}/namespaces/{namespace}/{served.plural}")

    def _delete_unserved(self, resource: GroupResource) -> None:
        """Delete what no version shows any more. There is no path to it, so it goes straight from the store."""
        for item in list(self._cluster.store.collection(resource).ordered()):
            if not dig_list(item.decode(), "metadata", "finalizers"):
                self._cluster.store.delete(resource, item.key)

    async def _mark_terminating(self, definition: JsonObject, status: str, reason: str, message: str) -> None:
        wanted = _new_condition("Terminating", status, reason, message)
        others = [one for one in dig_list(definition, "status", "conditions") if one["type"] != "Terminating"]
        condition = _merge_condition(definition, wanted, self._cluster.timestamp())
        await self._write_status(definition, {**definition["status"], "conditions": [*others, condition]})

    async def _write_status(self, definition: JsonObject, status: JsonObject) -> None:
        name = definition["metadata"]["name"]
        body = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            **definition,
            "status": status,
        }
        try:
            await self._client.replace(f"{_PATH}/{name}/status", body)
        except StatusError as error:
            # Somebody else was quicker: their commit has put the definition back into the queue.
            if error.code not in (404, 409):
                raise


def mark_deleted(definition: JsonObject) -> None:
    """Prepare a definition for deletion: its instances have to go first."""
    metadata = definition["metadata"]
    if CLEANUP not in dig_list(metadata, "finalizers"):
        metadata["finalizers"] = [*dig_list(metadata, "finalizers"), CLEANUP]
    pending = _new_condition(
        "Terminating",
        "True",
        "InstanceDeletionPending",
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    )
    status = definition.setdefault("status", {})
    others = [one for one in dig_list(status, "conditions") if one["type"] != "Terminating"]
    status["conditions"] = [*others, {**pending, "lastTransitionTime": metadata["deletionTimestamp"]}]


def definition_accepts_objects(
    call: Call, operation: str, new: JsonObject | None, _old: JsonObject | None
) -> None:
    """Refuse new objects of a kind whose definition is being deleted."""
    resource = call.resource
    if operation == "CREATE" and resource.custom and _is_terminating(call.cluster, resource.stored_as):
        why = "create not allowed while custom resource definition is terminating"
        raise forbidden(resource.group, resource.plural, dig(new, "metadata", "name") or "", why)


def _is_terminating(cluster: Cluster, resource: GroupResource) -> bool:
    item = cluster.store.collection(DEFINITIONS).items.get(("", str(resource)))
    return (
        item is not None
        and b'"deletionTimestamp"' in item.body
        and bool(dig(item.decode(), "metadata", "deletionTimestamp"))
    )


def _new_condition(kind: str, status: str, reason: str, message: str) -> JsonObject:
    return {"type": kind, "status": status, "reason": reason, "message": message}


_NAMES_GOOD = _new_condition("NamesAccepted", "True", "NoConflicts", "no conflicts found")


def _condition(definition: JsonObject, kind: str) -> JsonObject:
    for condition in dig_list(definition, "status", "conditions"):
        if condition.get("type") == kind:
            return dict(condition)
    return {}


def _merge_condition(definition: JsonObject, wanted: JsonObject, now: str) -> JsonObject:
    """The wanted condition with the time of its last transition."""
    present = _condition(definition, wanted["type"])
    same = present.get("status") == wanted["status"]
    time = present.get("lastTransitionTime", now) if same else now
    return {
        "lastTransitionTime": time,
        **{key: wanted[key] for key in ("message", "reason", "status", "type")},
    }
