"""edgekeeper: a Kubernetes operator that keeps a company's edge as declared."""

__version__ = "0.1.0"
