"""The README's example is executed."""

from __future__ import annotations

import re
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_readme_example_does_what_it_says() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert "assert " in example
    exec(compile(example, "README.md", "exec"), {})  # noqa: S102 - our own page
