"""A Kubernetes API server in process: see `plane.py` for how to use it, `handler.py` for how a request travels."""

from edgekeeper.local.plane.kubeconfig import Endpoint
from edgekeeper.local.plane.plane import Plane, PlaneConfig
from edgekeeper.local.plane.request import Request, Response, User

__all__ = ["Endpoint", "Plane", "PlaneConfig", "Request", "Response", "User"]
