"""Pure building blocks: no I/O, no clock reads, no imports from other packages of edgekeeper."""
