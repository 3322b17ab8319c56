"""Every change that a test makes to a simulated cloud could be the last one before a restart."""

from __future__ import annotations

import pytest

from kubesim.aws.cloud import AwsCloud
from kubesim.aws.saving import restore, save
from packages.kubesim.tests.aws.likeness import portrait


@pytest.fixture(autouse=True)
def _every_change_survives_a_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = AwsCloud.changed

    def changed_and_compared(self: AwsCloud) -> None:
        changed(self)
        _compare(self)

    monkeypatch.setattr(AwsCloud, "changed", changed_and_compared)


def _compare(cloud: AwsCloud) -> None:
    another = AwsCloud(
        cloud.time._clock, account=cloud.world.identities.account, strict=cloud.world.identities.strict
    )
    restore(another, save(cloud))
    assert portrait(another) == portrait(cloud)
