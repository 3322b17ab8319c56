"""From kubeconfig files to a cluster: found as kubectl finds it, and every mistake told with its remedy."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.clock import VirtualClock
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.cluster import ClusterConfig, ConfigError, Trust
from edgekeeper.kube.config import Surroundings, load_config
from edgekeeper.kube.credentials import ClientCertificate, basic, bearer
from edgekeeper.kube.kubeconfig_file import merge, parse_file, read_kubeconfig

SERVER = "https://api.example.com:6443"
EXEC = {"apiVersion": "client.authentication.k8s.io/v1", "command": "get-token", "interactiveMode": "Never"}

Write = Callable[..., Path]


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


def kubeconfig(
    cluster: JsonObject | None = None, user: JsonObject | None = None, context: JsonObject | None = None
) -> JsonObject:
    """One context, whose parts are all named `main`."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "main", "cluster": {"server": SERVER, **(cluster or {})}}],
        "users": [{"name": "main", "user": user or {}}],
        "contexts": [{"name": "main", "context": {"cluster": "main", "user": "main", **(context or {})}}],
        "current-context": "main",
    }


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(tree: Any, name: str = "config") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(tree if isinstance(tree, str) else yaml.safe_dump(tree))
        return path

    return written


def around(tmp_path: Path, **environ: str) -> Surroundings:
    return Surroundings(environ, tmp_path / "home", tmp_path / "serviceaccount", VirtualClock())


# Clusters


def test_cluster_is_read_with_all_that_it_says(write: Write) -> None:
    cluster = {
        "certificate-authority-data": encoded("CA"),
        "tls-server-name": "kubernetes",
        "proxy-url": "http://proxy:3128",
        "disable-compression": True,
    }
    path = write(kubeconfig(cluster, context={"namespace": "edge"}))
    config = load_config(path)
    assert (config.server, config.proxy, config.compression) == (SERVER, "http://proxy:3128", False)
    assert config.trust == Trust(b"CA", "kubernetes")
    assert config.namespace == "edge"
    assert config.origin == f"context 'main' of {path}"


def test_cluster_says_nothing_it_does_not_have_to(write: Write) -> None:
    config = load_config(write(kubeconfig()))
    assert (config.trust, config.proxy, config.compression, config.namespace) == (
        Trust(),
        "",
        True,
        "default",
    )


def test_cluster_may_be_believed_blindly(write: Write) -> None:
    assert load_config(write(kubeconfig({"insecure-skip-tls-verify": True}))).trust == Trust(insecure=True)


def test_authorities_are_found_beside_the_file_that_names_them(write: Write, tmp_path: Path) -> None:
    write("CA", "far/pki/ca.crt")
    path = write(kubeconfig({"certificate-authority": "pki/ca.crt"}), "far/config")
    assert load_config(path).trust == Trust(tmp_path / "far" / "pki" / "ca.crt")


def test_data_wins_over_a_file(write: Write) -> None:
    tree = kubeconfig({"certificate-authority": "missing", "certificate-authority-data": encoded("CA")})
    assert load_config(write(tree)).trust == Trust(b"CA")


def test_nulls_are_as_good_as_nothing(write: Write) -> None:
    tree = kubeconfig({"certificate-authority": None}, {"token": None, "exec": None}, {"namespace": None})
    assert load_config(write({**tree, "preferences": None, "extensions": None})).namespace == "default"


# Users


async def _headers(config: ClusterConfig) -> dict[str, str]:
    return dict(await config.credentials.headers())


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        ({}, {}),
        ({"token": "t"}, bearer("t")),
        ({"username": "u", "password": "p"}, basic("u", "p")),
        ({"token": "t", "exec": EXEC}, bearer("t")),
        ({"token": "t", "tokenFile": "token"}, bearer("from a file")),
        ({"tokenFile": "token"}, bearer("from a file")),
    ],
    ids=["nobody", "token", "password", "token before plugin", "file before token", "file"],
)
async def test_user_is_known_by_what_is_written_down(
    write: Write, user: JsonObject, expected: dict[str, str]
) -> None:
    write("from a file\n", "token")
    assert await _headers(load_config(write(kubeconfig(user=user)))) == expected


async def test_user_may_have_a_certificate(write: Write) -> None:
    write("KEY", "pki/key")
    user = {"client-certificate-data": encoded("CERT"), "client-key": "pki/key"}
    credentials = load_config(write(kubeconfig(user=user))).credentials
    assert await credentials.certificate() == ClientCertificate(b"CERT", b"KEY")


async def test_context_without_a_user_is_anonymous(write: Write) -> None:
    assert await _headers(load_config(write(kubeconfig(context={"user": ""})))) == {}


def _plugin(tmp_path: Path) -> None:
    """Prints a token made of what it was told."""
    script = tmp_path / "bin" / "get-token"
    script.parent.mkdir(exist_ok=True)
    status = {"kind": "ExecCredential", "apiVersion": EXEC["apiVersion"], "status": {"token": "made"}}
    script.write_text(
        f"#!/bin/sh\nprintf '%s' \"$KUBERNETES_EXEC_INFO\" > {tmp_path}/info\n"
        f"printf '%s' \"$1 $REGION\" > {tmp_path}/said\necho '{json.dumps(status)}'\n"
    )
    script.chmod(0o755)


async def test_user_may_be_made_by_a_plugin(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _plugin(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    plugin = {**EXEC, "args": ["eu"], "env": [{"name": "REGION", "value": "west"}]}
    assert await _headers(load_config(write(kubeconfig(user={"exec": plugin})))) == bearer("made")
    assert (tmp_path / "said").read_text() == "eu west"
    assert json.loads((tmp_path / "info").read_text())["spec"] == {"interactive": False}


async def test_plugin_with_a_path_is_found_beside_the_file_that_names_it(
    write: Write, tmp_path: Path
) -> None:
    _plugin(tmp_path)
    plugin = {**EXEC, "command": "./bin/get-token"}
    assert await _headers(load_config(write(kubeconfig(user={"exec": plugin})))) == bearer("made")


async def test_plugin_is_told_about_the_cluster_when_it_asks(write: Write, tmp_path: Path) -> None:
    _plugin(tmp_path)
    write("CA", "ca.crt")
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}
    cluster = {"certificate-authority": "ca.crt", "tls-server-name": "kubernetes", "extensions": [extension]}
    plugin = {**EXEC, "command": "./bin/get-token", "provideClusterInfo": True}
    await _headers(load_config(write(kubeconfig(cluster, {"exec": plugin}))))
    assert json.loads((tmp_path / "info").read_text())["spec"]["cluster"] == {
        "server": SERVER,
        "tls-server-name": "kubernetes",
        "certificate-authority-data": encoded("CA"),
        "config": {"audience": "a"},
    }


# Contexts


def _two_contexts() -> JsonObject:
    tree = kubeconfig()
    tree["clusters"].append({"name": "other", "cluster": {"server": "https://other.example.com"}})
    tree["contexts"].append({"name": "other", "context": {"cluster": "other", "user": "main"}})
    return tree


def test_context_is_the_current_one_unless_another_is_named(write: Write) -> None:
    path = write(_two_contexts())
    assert load_config(path).server == SERVER
    assert load_config(path, "other").server == "https://other.example.com"


# Mistakes


@pytest.mark.parametrize(
    ("tree", "complaint"),
    [
        (kubeconfig({"server": ""}), "has no `server`: add its address"),
        (kubeconfig({"server": "api.example.com:6443"}), "write it as https://host:6443"),
        (kubeconfig({"server": "ftp://api.example.com"}), "write it as https://host:6443"),
        (kubeconfig({"server": "https://"}), "write it as https://host:6443"),
        (kubeconfig({"server": "https://host:port"}), "write it as https://host:6443"),
        (kubeconfig({"server": 7}), r"Expected `str`, got `int` - at `\$\.clusters\[0\]\.cluster\.server`"),
        (kubeconfig({"proxy-url": "socks5://proxy"}), "`proxy-url` in .* must start with http"),
        (kubeconfig({"certificate-authority": "ca.crt"}), "`certificate-authority` in .* is no file"),
        (kubeconfig({"certificate-authority-data": "?"}), "`certificate-authority-data` in .* is not base64"),
        (
            kubeconfig({"certificate-authority-data": encoded("CA"), "insecure-skip-tls-verify": True}),
            "remove one of them",
        ),
        (kubeconfig(user={"token": "t", "username": "u"}), "both a token and a username"),
        (kubeconfig(user={"client-certificate-data": encoded("C")}), "only one of a client certificate and"),
        (kubeconfig(user={"client-key-data": encoded("K")}), "only one of a client certificate and its key"),
        (kubeconfig(user={"tokenFile": "missing"}), "`tokenFile` in .* is no file"),
        (kubeconfig(user={"as": "admin"}), "impersonates another one with `as`.*: remove it"),
        (kubeconfig(user={"auth-provider": {"name": "gcp"}}), "use an `exec` plugin"),
        (kubeconfig(user={"exec": {**EXEC, "command": ""}}), "without a `command`"),
        (kubeconfig(user={"exec": {**EXEC, "apiVersion": "v1alpha1"}}), "must be one of client.auth"),
        (kubeconfig(user={"exec": {**EXEC, "interactiveMode": "Always"}}), "needs a terminal"),
        (kubeconfig(context={"cluster": "gone"}), "names the cluster 'gone'.*: it has 'main'"),
        (kubeconfig(context={"cluster": ""}), "names no cluster"),
        (kubeconfig(context={"user": "gone"}), "names the user 'gone'.*: it has 'main'"),
        (
            {**kubeconfig(), "current-context": "gone"},
            "context 'gone' is not in kubeconfig .*: it has 'main'",
        ),
        ({**kubeconfig(), "current-context": ""}, "choose one of 'main' with --context"),
        ("", "has no contexts, so no cluster can be chosen: name another one with --kubeconfig or"),
        (
            {**kubeconfig(), "contexts": [], "current-context": ""},
            "has no contexts, so no cluster can be chosen",
        ),
        ({**kubeconfig(), "contexts": []}, "context 'main' is not in kubeconfig .*: it has none"),
        ("[]", "is not as it should be: Expected `object`, got `array`"),
        ("users: [{name: a, user: {token: 's3cret", "is not YAML: look at line"),
        ("\x00", "is not YAML"),
    ],
)
def test_mistake_is_told_with_its_file_and_remedy(write: Write, tree: Any, complaint: str) -> None:
    path = write(tree)
    with pytest.raises(ConfigError, match=complaint) as caught:
        load_config(path)
    assert str(path) in str(caught.value)
    assert "s3cret" not in str(caught.value)


# Several files


def test_first_file_wins_an_entry_whole(write: Write, tmp_path: Path) -> None:
    first = write({"users": [{"name": "main", "user": {"username": "u"}}]}, "first")
    second = write(kubeconfig(user={"token": "t"}, cluster={"certificate-authority": "ca.crt"}), "sub/second")
    write("CA", "sub/ca.crt")
    named = os.pathsep.join([str(first), "", str(tmp_path / "missing"), str(second), str(first)])
    config = load_config(around=around(tmp_path, KUBECONFIG=named))
    assert config.trust == Trust(tmp_path / "sub" / "ca.crt")
    merged = read_kubeconfig([first, second])
    assert (merged.users["main"].value.username, merged.users["main"].value.token) == ("u", "")


_NAMES = st.sampled_from(["a", "b", "c"])
_FILES = st.lists(
    st.fixed_dictionaries(
        {
            "clusters": st.dictionaries(_NAMES, st.sampled_from(["https://1", "https://2", "https://3"])),
            "current-context": st.sampled_from(["", "a", "b"]),
        }
    ),
    min_size=1,
    max_size=4,
)


@given(files=_FILES)
def test_merging_takes_everything_from_the_first_file_that_has_it(
    tmp_path_factory: pytest.TempPathFactory, files: list[dict[str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("merge")
    paths = [folder / str(number) for number in range(len(files))]
    for path, content in zip(paths, files, strict=True):
        clusters = [{"name": name, "cluster": {"server": url}} for name, url in content["clusters"].items()]
        path.write_text(yaml.safe_dump({"clusters": clusters, "current-context": content["current-context"]}))
    merged = merge((path, parse_file(path)) for path in paths)
    expected: dict[str, tuple[str, Path]] = {}
    for path, content in reversed(list(zip(paths, files, strict=True))):
        expected |= {name: (url, path) for name, url in content["clusters"].items()}
    assert {name: (e.value.server, e.file) for name, e in merged.clusters.items()} == expected
    currents = [content["current-context"] for content in files if content["current-context"]]
    assert merged.current_context == (currents[0] if currents else "")


# Where it is looked for


def _pod(tmp_path: Path) -> dict[str, str]:
    volume = tmp_path / "serviceaccount"
    volume.mkdir()
    for name in ("token", "ca.crt"):
        (volume / name).write_text(name)
    return {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def test_kubeconfig_is_looked_for_in_order(write: Write, tmp_path: Path) -> None:
    explicit, named, _ = (
        write(kubeconfig({"server": f"https://{name}"}), path)
        for name, path in (("explicit", "a"), ("named", "b"), ("home", "home/.kube/config"))
    )
    pod = _pod(tmp_path)
    everywhere = around(tmp_path, KUBECONFIG=str(named), **pod)
    assert load_config(explicit, around=everywhere).server == "https://explicit"
    assert load_config(around=everywhere).server == "https://named"
    assert load_config(around=around(tmp_path, **pod)).server == "https://10.96.0.1:443"
    assert load_config(around=around(tmp_path)).server == "https://home"


def test_context_is_never_looked_for_in_a_pod(write: Write, tmp_path: Path) -> None:
    write(kubeconfig(), "home/.kube/config")
    assert load_config(context="main", around=around(tmp_path, **_pod(tmp_path))).server == SERVER


def test_explicit_file_that_is_missing_is_never_replaced_by_another(write: Write, tmp_path: Path) -> None:
    write(kubeconfig(), "home/.kube/config")
    with pytest.raises(ConfigError, match=r"no kubeconfig at .*missing: create it, or name another one"):
        load_config(tmp_path / "missing", around=around(tmp_path))
    with pytest.raises(ConfigError, match="no kubeconfig at"):
        load_config(around=around(tmp_path, KUBECONFIG=str(tmp_path / "missing")))


def test_nothing_anywhere_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\.kube/config: create it, or name another one with --kubeconfig"):
        load_config(around=around(tmp_path))


def test_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read kubeconfig .*: Is a directory"):
        load_config(tmp_path)


def test_user_without_a_home_needs_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container's user may be a number that no file names, and its environment may have no HOME."""

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "missing"))
    assert Surroundings().home == Path("/")
    with pytest.raises(ConfigError, match="missing"):
        load_config()
