"""What every kind does whose objects stand for something outside the cluster, written once.

kind           what a kind provides: begin, observe, decide, perform, report
reconciler     the pass around it: live confirmation, one step, one status; deletion, orphaning, outages
status         conditions that an error, a pause and an outage make, and events that are told once per fact
controller     the reconciler in the runtime, with what runs beside it
synced         the condition Synced, and events about drift
adoption       why an external object that exists is not ours, in words
metrics        metrics of a kind
preview        what a pass would do, for `edgekeeper plan`
objects        objects of all kinds of a process, indexed by the values that they share
claims         which objects want the same hostname or external name, and which of them has the better right
record_claims  in whose inventory a Route 53 record is, and which hosted zones are in use
records        the Route 53 records of an object, as a pass observes them
naming         names of external objects, from a template
guards         what administrators allow objects to name
module         a kind as the process knows it
predecessor    holds a controller back while the operator that it replaces is running
memory         what is remembered between passes: corrections of drift, failing deletions, outages
intervals      how often objects are looked at
"""
