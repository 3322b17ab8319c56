"""Measurements with goals: `make bench`, or `python -m benchmarks plane` for one group.

    groups      which groups there are, and which module measures each
    row         one figure beside its goal
    report      a table for people, build/bench.json for programs, docs/benchmarks.md for readers
    plots       which figures are drawn beside which others
    drawing     bars as SVG
    plane/      the embedded API server, alone and beside its partners
    runtime/    the operator runtime, beside kopf
    cel/        the expression engine, beside cel-python

An absolute figure is the best of three, since everything that disturbs a measurement makes it worse. Wherever a partner
exists (the real API server, a bare HTTP server) the ratio of the same run stands beside it: ratios travel between
machines, absolute figures do not.
"""
