"""What every kind does that stands for something outside the cluster, written once.

objects        objects of all kinds of a process, indexed by the values that they share
claims         which objects want the same hostname or external name, and which of them has the better right
record_claims  in whose inventory a Route 53 record is, and which hosted zones are in use
guards         what administrators allow objects to name
predecessor    holds a controller back while the operator that it replaces is running
"""
