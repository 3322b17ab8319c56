"""Conversions between the versions of a built-in kind.

Objects are stored in one version; another version of the same kind is computed from it on the way out and turned into
it on the way in. Both directions build a new top level and share what they do not change.
"""
