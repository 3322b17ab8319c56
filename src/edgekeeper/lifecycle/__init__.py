"""The generic part of every kind whose objects represent something outside the cluster.

kind           the interface of a kind: begin, observe, decide, perform, report
reconciler     the pass: live confirmation, one step, one status write; deletion, orphaning, outages
status         conditions and events for errors, pauses and outages
controller     the reconciler as a controller of the runtime, with its background tasks
synced         the condition Synced, and events about drift
adoption       messages about external objects that exist and are not ours
metrics        metrics of a kind
preview        what a pass would do, for `edgekeeper plan`
objects        the objects of all kinds of a process, indexed by shared values
claims         which objects claim the same hostname or external name, and which of them takes precedence
record_claims  which inventory contains a Route 53 record, and which hosted zones are in use
records        the Route 53 records of an object, as a pass observes them
naming         names of external objects, from a template
guards         allow lists and hostname policy of the administrators
module         what a kind provides to the process: definition, flags, controller, previews
predecessor    suspends a controller while the operator that it replaces is running
memory         in-memory state between passes: corrections of drift, failing deletions, outages
intervals      how often objects are reconciled
"""
