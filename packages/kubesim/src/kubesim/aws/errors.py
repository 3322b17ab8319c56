"""What a simulated service refuses, as code and message. How it looks on the wire is the protocol's business."""

from __future__ import annotations


class AwsError(Exception):
    """An answer other than success. `status` is the model's for that code where it is not given."""

    def __init__(self, code: str, message: str, status: int | None = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status
