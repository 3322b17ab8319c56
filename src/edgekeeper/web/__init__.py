"""The status page: what the operator knows and does, for people. Read-only.

    directory    one row for each object, from the caches of the informers
    journal      what passes did: a bounded list of recent changes
    pages        what is shown: overview, list, object, plan, graph, changes
    live         updates for browsers that are open (Server-Sent Events)
    access       who may look
    server       the HTTP handler of all of it
    static/      the page itself: HTML, CSS and JavaScript without a build step

Nothing here calls a cloud, except for a plan that somebody asks for. Nothing secret is shown: all texts and trees are
redacted as in logs, and Secrets are not read.
"""
