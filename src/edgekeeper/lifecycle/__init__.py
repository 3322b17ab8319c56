"""What every kind does whose objects stand for something outside the cluster, written once.

kind         what a kind provides: begin, observe, decide, perform, report
reconciler   the pass around it: live confirmation, one step, one status; deletion, orphaning, outages
status       conditions that an error, a pause and an outage make, and events that are told once per fact
preview      what a pass would do, for `edgekeeper plan`
claims       which object may have a hostname or an external name, over all kinds
guards       what administrators allow
predecessor  the operator that kept these objects before us
corrections, failures, intervals      how often, and for how long
"""
