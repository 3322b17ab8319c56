"""Install Chromium for `make web-test`, where it is missing and may be installed: as root, with apt-get.

Exit with 0 in any case: the tests say what is missing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome")
INSTALL = ("apt-get", "install", "--yes", "--no-install-recommends", "chromium", "fonts-dejavu-core")


def main() -> None:
    if any(shutil.which(name) for name in NAMES):
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        print(
            "There is no Chromium, and it cannot be installed here: apt-get install chromium", file=sys.stderr
        )
        return
    print("Installing Chromium")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (("apt-get", "update"), INSTALL):
        done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            print(f"{' '.join(command)} has failed", file=sys.stderr)
            return


if __name__ == "__main__":
    main()
