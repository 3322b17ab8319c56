"""What the image adds to its base, built without a container engine and run as the pod runs it.

The directory is that of `make image-root`, which the Containerfile builds by the same program. It runs in a mount namespace with a
root that is read-only but for /tmp, as user 65532 without capabilities and without a way to get any.

Not tested here, since it takes a container engine and a registry: the Containerfile's own lines, the base image, the seccomp profile
of the runtime, signatures, and the interpreter of the base: here it is the one that runs the tests.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from tests.conformance.servers import give_up
from tests.unit.cli.test_run import SHOP, TENANTS, World, world
from tools.chart import ROOT
from tools.image_root import LICENCES, PACKAGES, SBOM, build

_ENTER = """
set -eu
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$NEW"
mkdir -p "$NEW/opt" "$NEW/tmp" "$NEW/proc" "$NEW/dev" "$NEW/etc"
bind() { mount --rbind "$1" "$2"; mount -o remount,bind,ro "$2"; }
for name in usr lib lib64 bin; do
  if [ -L "/$name" ]; then cp -P "/$name" "$NEW/$name"
  elif [ -d "/$name" ]; then mkdir "$NEW/$name"; bind "/$name" "$NEW/$name"; fi
done
if [ ! -d "$NEW$INTERPRETER" ]; then mkdir -p "$NEW$INTERPRETER"; bind "$INTERPRETER" "$NEW$INTERPRETER"; fi
bind "$IMAGE/opt" "$NEW/opt"
mount --rbind /proc "$NEW/proc"
mount --rbind /dev "$NEW/dev"
cp /etc/ld.so.cache "$NEW/etc/" 2>/dev/null || true
mount -t tmpfs -o mode=1777 tmpfs "$NEW/tmp"
cp "$KUBECONFIG" "$NEW/tmp/kubeconfig"
chmod 644 "$NEW/tmp/kubeconfig"
mount -o remount,ro "$NEW"
cd /
exec chroot "$NEW" setpriv --reuid=65532 --regid=65532 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all "$@"
"""
PYTHON = f"{sys.base_prefix}/bin/python3"
"""At its own path: it finds its libraries by it."""
_INSIDE = {
    "PYTHONPATH": "/opt/edgekeeper",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_ACCESS_KEY_ID": "any",
    "AWS_SECRET_ACCESS_KEY": "any",
    "AWS_DEFAULT_REGION": "eu-west-1",
}


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("image") / "root"
    try:
        build(target)
    except subprocess.CalledProcessError as error:
        if "pip" not in error.cmd:
            raise
        give_up(f"the image's root cannot be built, since packages cannot be had: {error}")
    return target


@pytest.fixture
def namespaces_allowed() -> None:
    tools = ("unshare", "setpriv", "chroot")
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing or os.geteuid() != 0:
        give_up(f"a read-only root takes root's rights and {', '.join(missing or tools)}")
    tried = subprocess.run(["unshare", "--mount", "mount", "--make-rprivate", "/"], check=False)
    if tried.returncode != 0:
        give_up("this machine does not allow mount namespaces")


def confined(image: Path, directory: Path, *command: str) -> tuple[list[str], dict[str, str]]:
    """A command line that runs a program in the image, and its environment."""
    new = directory / "new-root"
    new.mkdir(exist_ok=True)
    outside = {
        "NEW": str(new),
        "IMAGE": str(image),
        "INTERPRETER": sys.base_prefix,
        "KUBECONFIG": str(directory / "kubeconfig"),
    }
    script = ["unshare", "--mount", "sh", "-c", _ENTER, "enter", *command]
    return script, {**_INSIDE, **outside}


def python(image: Path, directory: Path, code: str) -> subprocess.CompletedProcess[str]:
    (directory / "kubeconfig").touch()
    command, environment = confined(image, directory, PYTHON, "-c", code)
    return subprocess.run(
        command, env={**environment, "PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False
    )


def test_image_has_the_distributions_of_the_lock_file_and_ours(image: Path) -> None:
    """S-30: nothing that is not locked, and no test bed."""
    pinned = re.findall(
        r"^([\w.-]+)==([^ ;]+)", (ROOT / "requirements/runtime.txt").read_text(), re.MULTILINE
    )
    components = json.loads((image / SBOM).read_text())["components"]
    found = {(_canonical(each["name"]), each["version"]) for each in components}
    assert found == {(_canonical(name), version) for name, version in pinned} | {
        ("edgekeeper", "0.1.0"),
        ("kubecel", "0.1.0"),
    }
    installed = {path.name.partition("-")[0].lower() for path in (image / PACKAGES).glob("*.dist-info")}
    assert len(installed) == len(found)
    assert not (image / PACKAGES / "kubesim").exists()


def test_every_distribution_of_the_image_names_its_licence(image: Path) -> None:
    components = json.loads((image / SBOM).read_text())["components"]
    licences = {each["name"]: each["licenses"][0]["license"]["name"] for each in components}
    assert not [name for name, licence in licences.items() if licence == "unknown"], licences
    assert not [name for name, licence in licences.items() if re.search(r"\bA?GPL", licence)], licences
    text = (image / LICENCES).read_text()
    assert all(f"{name} " in text for name in licences)


def test_nothing_but_tmp_can_be_written(image: Path, namespaces_allowed: None, tmp_path: Path) -> None:
    """S-31."""
    code = (
        "import os, pathlib, errno\n"
        "assert (os.getuid(), os.getgid(), os.getgroups()) == (65532, 65532, []), os.getgroups()\n"
        "caps = pathlib.Path('/proc/self/status').read_text()\n"
        "assert 'CapEff:\\t0000000000000000' in caps and 'NoNewPrivs:\\t1' in caps, caps\n"
        "for place in ('/', '/opt/edgekeeper', '/usr', '/etc'):\n"
        "    try:\n"
        "        pathlib.Path(place, 'written').touch()\n"
        "    except OSError as error:\n"
        "        assert error.errno in (errno.EROFS, errno.EACCES), (place, error)\n"
        "    else:\n"
        "        raise SystemExit(place + ' can be written')\n"
        "pathlib.Path('/tmp/written').touch()\n"
    )
    found = python(image, tmp_path, code)
    assert (found.returncode, found.stderr) == (0, "")


async def test_operator_of_the_image_makes_a_tenant_ready(
    image: Path, namespaces_allowed: None, tmp_path: Path
) -> None:
    """With metrics over HTTPS too, whose certificate passes through /tmp."""
    async with world(tmp_path) as here:
        arguments = ("run", "--health-probe-bind-address=0", "--metrics-bind-address=127.0.0.1:0")
        operator = await _start(here, image, tmp_path, *arguments)
        try:
            await here.plane.client.create(TENANTS, SHOP)
            await here.is_ready()
        finally:
            if operator.returncode is None:
                operator.send_signal(signal.SIGTERM)
            _, log = await operator.communicate()
        assert operator.returncode == 0, log.decode()
        assert here.cloud.cloudfront.tenant("shop").domains == ("shop.example.com",)
        assert b"Read-only file system" not in log


async def _start(here: World, image: Path, directory: Path, *arguments: str) -> asyncio.subprocess.Process:
    options = ["--kubeconfig", "/tmp/kubeconfig", *here.options[2:]]  # noqa: S108 - the image's own
    program = (PYTHON, "-m", "edgekeeper.cli", *arguments, *options)
    command, environment = confined(image, directory, *program)
    environment = {**environment, "PATH": os.environ["PATH"]}
    return await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE, env=environment)


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
