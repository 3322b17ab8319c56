"""Pure building blocks: no I/O, no clock reads, nothing of ours imported."""
