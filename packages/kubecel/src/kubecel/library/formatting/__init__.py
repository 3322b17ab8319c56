"""`"%d of %s".format([1, "two"])`: printf for expressions.

There are two dialects. `plain` is the one of the CEL specification; `localized` is its predecessor, which kube-apiserver
still has: numbers grouped as in American English, and lists and maps written as literals of the language. Both share the
grammar (`clauses`), the filling in (`dialect`), and the check of calls whose arguments are written out (`check`).
"""
