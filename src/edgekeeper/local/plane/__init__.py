"""A Kubernetes API server in process."""
