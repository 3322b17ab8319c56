"""Commands that run within a test's process decide how it logs; what they changed is put back."""

from __future__ import annotations

from tests.logs import logs_as_before

__all__ = ["logs_as_before"]
