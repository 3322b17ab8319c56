"""The server's own controllers: garbage collection, namespaces, and small simulators of a living cluster.

Each is a `Reactor`: told of commits by the store, it works through keys one by one and speaks to the API like any
other client, so what it does passes the same rules and shows up in the same watches.
"""
