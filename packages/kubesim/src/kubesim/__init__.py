"""The embedded control plane: everything edgekeeper talks to, on this machine, for demos and tests."""
