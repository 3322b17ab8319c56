"""The distributions: how large they are, and how long the operator takes to load from its wheel."""
