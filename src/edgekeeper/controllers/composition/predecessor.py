"""How to detect a running kro, to which compositions are left by default (`lifecycle.predecessor`)."""

from __future__ import annotations

from typing import Final

from edgekeeper.lifecycle.predecessor import PreviousOperator

KRO: Final = PreviousOperator(
    "kro", lease_name="6f0f64a5.kro.run", deployment_labels="app.kubernetes.io/name=kro"
)
