"""Credentials that are written down: used from the moment they are there, and kept while their files are away."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from edgekeeper.core.clock import VirtualClock
from edgekeeper.kube.credentials import (
    READ_INTERVAL,
    ClientCertificate,
    CredentialsError,
    StoredCredentials,
    WatchedFile,
    basic,
    bearer,
)
from tests.logs import capture_logs

INTERVAL = timedelta(seconds=READ_INTERVAL)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text("first\n")
    return path


def _store(path: Path, content: str | None) -> None:
    path.unlink()
    if content is not None:
        path.write_text(content)


async def test_nothing_written_down_makes_us_anonymous() -> None:
    credentials = StoredCredentials()
    assert await credentials.headers() == {}
    assert await credentials.certificate() is None
    assert not await credentials.on_unauthorized({})


def test_username_and_password_are_encoded_as_http_wants() -> None:
    assert basic("Aladdin", "open sesame") == {"authorization": "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="}


async def test_written_token_is_all_there_is() -> None:
    credentials = StoredCredentials(bearer("t"))
    assert await credentials.headers() == {"authorization": "Bearer t"}
    assert not await credentials.on_unauthorized(bearer("t"))


async def test_token_file_wins_over_a_written_token(token_file: Path, clock: VirtualClock) -> None:
    credentials = StoredCredentials(bearer("t"), token_file=token_file, clock=clock)
    assert await credentials.headers() == bearer("first")


async def test_token_file_is_read_again_within_a_minute(token_file: Path, clock: VirtualClock) -> None:
    credentials = StoredCredentials(token_file=token_file, clock=clock)
    assert await credentials.headers() == bearer("first")
    _store(token_file, "second")
    clock.advance(INTERVAL / 2)
    assert await credentials.headers() == bearer("first")
    clock.advance(INTERVAL / 2)
    assert await credentials.headers() == bearer("second")


async def test_refused_token_is_read_again_at_once(token_file: Path, clock: VirtualClock) -> None:
    credentials = StoredCredentials(token_file=token_file, clock=clock)
    refused = await credentials.headers()
    assert not await credentials.on_unauthorized(refused)
    _store(token_file, "second")
    assert await credentials.on_unauthorized(refused)
    assert await credentials.headers() == bearer("second")


async def test_wall_clock_that_jumps_changes_nothing(token_file: Path, clock: VirtualClock) -> None:
    credentials = StoredCredentials(token_file=token_file, clock=clock)
    await credentials.headers()
    _store(token_file, "second")
    clock.jump(timedelta(hours=-5))
    clock.advance(INTERVAL)
    assert await credentials.headers() == bearer("second")


@pytest.mark.parametrize("content", [None, "", " \n"], ids=["missing", "empty", "blank"])
async def test_token_stays_in_use_while_its_file_cannot_be_read(
    token_file: Path, clock: VirtualClock, content: str | None
) -> None:
    credentials = StoredCredentials(token_file=token_file, clock=clock)
    await credentials.headers()
    _store(token_file, content)
    clock.advance(INTERVAL)
    with capture_logs() as logs:
        assert await credentials.headers() == bearer("first")
    assert [line["path"] for line in logs] == [str(token_file)]
    assert "first" not in str(logs)


async def test_token_that_never_was_there_is_an_error_that_names_the_file(
    tmp_path: Path, clock: VirtualClock
) -> None:
    credentials = StoredCredentials(token_file=tmp_path / "token", clock=clock)
    with pytest.raises(CredentialsError, match=r"cannot read .*token: No such file or directory"):
        await credentials.headers()


async def test_certificate_is_given_or_read(tmp_path: Path, clock: VirtualClock) -> None:
    (tmp_path / "key").write_bytes(b"KEY")
    credentials = StoredCredentials(certificate=b"CERT", key=tmp_path / "key", clock=clock)
    assert await credentials.certificate() == ClientCertificate(b"CERT", b"KEY")


def test_watched_file_is_not_read_more_often_than_needed(token_file: Path, clock: VirtualClock) -> None:
    watched = WatchedFile(token_file, clock)
    watched.read()
    token_file.unlink()
    with capture_logs() as logs:
        for _ in range(100):
            watched.read()
    assert logs == []
