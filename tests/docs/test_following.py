"""Pages are followed as a reader would, and what is not as the page shows it is an error."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.docs.page import blocks
from tests.docs.session import Follower, Session

PAGE = """
# A page

```yaml title="a.yaml"
a: 1
```

## First

```console
$ export WORD=hello
$ echo $WORD \\
    again
hello again
$ cat a.yaml
a: 1
```

1. A list

    ```console
    $ echo within a list
    ```

## Second

```text
edgekeeper COMMAND
```

    an indented block
"""


def follow(folder: Path, text: str, **how: dict[str, int]) -> int:
    page = folder / "page.md"
    page.write_text(text)
    with Follower(folder, {"PATH": os.environ["PATH"]}) as reader:
        reader.follow(Session(str(page), **how))  # type: ignore[arg-type] # exit codes
    return reader.executed


def test_page_is_followed_from_top_to_bottom(tmp_path: Path) -> None:
    assert follow(tmp_path, PAGE) == 4
    assert (tmp_path / "a.yaml").read_text() == "a: 1\n"


def test_blocks_of_all_forms_are_found_with_their_sections() -> None:
    found = [(block.form, block.title, block.section) for block in blocks(PAGE)]
    assert found == [
        ("yaml", "a.yaml", ""),
        ("console", "", "First"),
        ("console", "", "First"),
        ("text", "", "Second"),
        ("indented", "", "Second"),
    ]


@pytest.mark.parametrize(
    "block",
    [
        pytest.param("$ echo this\nthat\n", id="another output"),
        pytest.param("$ echo this\n$ echo that\nthat\n", id="output that is not shown"),
        pytest.param("$ true\n$ false\n", id="exit code in a list of commands"),
        pytest.param("$ no-such-program\n…\n", id="program that is not there"),
        pytest.param("output\n$ echo this\nthis\n", id="output of nothing"),
    ],
)
def test_page_that_does_not_show_what_happens_is_an_error(tmp_path: Path, block: str) -> None:
    with pytest.raises(AssertionError):
        follow(tmp_path, f"```console\n{block}```\n")


def test_exit_code_that_the_page_explains_must_be_that_one(tmp_path: Path) -> None:
    text = "```console\n$ (exit 2)\n```\n"
    assert follow(tmp_path, text, exit_codes={"(exit": 2}) == 1
    with pytest.raises(AssertionError, match="exit code 2"):
        follow(tmp_path, text, exit_codes={"(exit": 1})
