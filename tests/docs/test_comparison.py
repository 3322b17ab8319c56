"""What a page shows and what happens, compared."""

from __future__ import annotations

import pytest

from tests.docs.comparison import agrees


@pytest.mark.parametrize(
    ("printed", "shown", "is_same"),
    [
        ("shop   True   12s\n", "shop True 3s", True),
        ("created dt_abc\n", "created dt_…", True),
        ("shop   False   12s\n", "shop True 3s", False),
        ("created dt_abc\nand more\n", "created dt_abc", False),
        ("", "created", False),
    ],
)
def test_output_that_differs_is_noticed(printed: str, shown: str, is_same: bool) -> None:
    assert agrees(printed, shown) is is_same
