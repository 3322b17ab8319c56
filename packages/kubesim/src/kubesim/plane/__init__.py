"""A Kubernetes API server in process: see `plane.py` for how to use it, `handler.py` for how a request travels."""

from kubesim.plane.kubeconfig import Endpoint
from kubesim.plane.plane import Plane, PlaneConfig
from kubesim.plane.request import Request, Response, User

__all__ = ["Endpoint", "Plane", "PlaneConfig", "Request", "Response", "User"]
