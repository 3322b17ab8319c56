"""Expected results that others have computed: the language's own conformance cases, and what kro answers.

They are read from the folder that `EDGEKEEPER_GOLDEN` names, by default `shared/golden` beside the checkout, and are no
part of this repository. Where the folder is missing these tests are skipped, or fail under `EDGEKEEPER_STRICT=1`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

_CHECKOUT = Path(__file__).resolve().parents[2]


def golden_folder() -> Path:
    return Path(os.environ.get("EDGEKEEPER_GOLDEN") or _CHECKOUT.parent / "shared" / "golden")


def golden_file(name: str) -> Path:
    """A file of expected results; the test that asks for a missing one is skipped."""
    path = golden_folder() / name
    if not path.exists():
        message = f"no expected results at {path}"
        if os.environ.get("EDGEKEEPER_STRICT") == "1":
            pytest.fail(message)
        pytest.skip(message)
    return path


def golden_rows(name: str) -> list[dict[str, Any]]:
    """The rows of a file of JSON lines."""
    return [json.loads(line) for line in golden_file(name).read_text().splitlines()]
