"""Draw docs/img/demo.svg from a real run of the demo, so that the README shows what really happens (`make picture`).

The command runs on a pseudo-terminal and believes a person is watching. Its progress table is redrawn in place by moving
the cursor up and erasing lines; `settle` plays those few movements back, so that the picture shows the last state. All of it
would be a long picture, so `excerpt` leaves out the table and some scenarios of the story, with an ellipsis in their place.
"""

from __future__ import annotations

import io
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "img" / "demo.svg"
WIDTH = 112
EXAMPLES = ("quickstart", "zero-trust", "platform")
OPTIONS = [*(f"--apply=examples/{name}" for name in EXAMPLES), "--story", "--port=6443"]
COMMAND = [sys.executable, "-m", "edgekeeper.cli", "up", *OPTIONS]
LAST_LINE = b"Ctrl-C stops the server."
SHOWN = frozenset({1, 2, 5, 8})
"""The scenarios in the picture."""
READY = "Everything is ready"
STORY = "Nine scenarios"
ELLIPSIS = "…"
TOKEN = re.compile(
    r"(?P<newline>\n)|\x1b\[(?P<up>\d*)A|(?P<erase>\x1b\[2K)|(?P<other>\r|\x1b\[\?25[hl])"
    r"|(?P<text>[^\x1b\r\n]+|\x1b\[[\d;]*m)"
)


def run_on_terminal(home: Path) -> str:
    """Run the demo with a home of its own, so that no path of this machine gets into the picture."""
    master, slave = pty.openpty()
    environment = {
        **os.environ,
        "HOME": str(home),
        "TERM": "xterm-256color",
        "COLUMNS": str(WIDTH),
        "LINES": "50",
    }
    for name in ("NO_COLOR", "FORCE_COLOR", "XDG_STATE_HOME"):
        environment.pop(name, None)
    with subprocess.Popen(COMMAND, cwd=ROOT, env=environment, stdin=slave, stdout=slave) as process:
        os.close(slave)
        output = read_until_ready(master)
        process.send_signal(signal.SIGINT)
    os.close(master)
    return output


def read_until_ready(terminal: int) -> str:
    """Read up to the line after which the server just stays."""
    output = b""
    while LAST_LINE not in output:
        output += os.read(terminal, 65536)  # raises when the other end is gone
    return output.decode()


def settle(output: str) -> str:
    """What stands on the screen in the end, with its colours."""
    lines, row = [""], 0
    for token in TOKEN.finditer(output):
        match token.lastgroup:
            case "newline":
                row += 1
                lines += [""] * (row + 1 - len(lines))
            case "up":
                row -= int(token["up"] or 1)
            case "erase":
                lines[row] = ""
            case "text":
                lines[row] += token["text"]
    return "\n".join(line.rstrip() for line in lines).rstrip()


def excerpt(screen: str) -> str:
    """The addresses, and some scenarios of the story. The token of the status page is not for everybody."""
    blocks = [block for block in re.split(r"\n(?:[ \t]*\n)+", screen) if block.strip()]
    kept = [_addresses(blocks[0])]
    for block in blocks[1:]:
        plain = Text.from_ansi(block).plain
        scenario = re.match(r"(\d+)\. ", plain)
        if READY in plain:
            kept.append(next(line for line in block.splitlines() if READY in line))
        elif plain.startswith(STORY) or (scenario and int(scenario[1]) in SHOWN):
            kept.append(block)
        elif kept[-1] != ELLIPSIS:
            kept.append(ELLIPSIS)
    return "\n\n".join(kept)


def _addresses(block: str) -> str:
    return re.sub(r"(\?token=)[\w-]+", rf"\1{ELLIPSIS}", block)


def draw(screen: str) -> str:
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.assemble(("$ ", "bold"), "make demo"))
    console.print(Text.from_ansi(screen))
    # The reader's own monospace font does well; nothing is loaded from elsewhere.
    form = re.sub(r"@font-face\s*{{.*?}}\s*|<!--.*?-->\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return console.export_svg(title="edgekeeper", code_format=form, unique_id="demo")


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        screen = settle(run_on_terminal(Path(home)))
    PICTURE.write_text(draw(excerpt(screen)))


if __name__ == "__main__":
    main()
