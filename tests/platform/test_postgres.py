"""TubiPostgres: a database, and what a workload needs to reach it, without a password in any manifest."""

from __future__ import annotations

from base64 import b64decode

from edgekeeper.core.json import JsonObject
from kubesim.virtual import virtual_time
from tests.platform.world import World, instance, platform

KIND, NAME = "TubiPostgres", "ledger"
DATABASE = ("DBInstance", "apps-ledger")


def _spec(world: World) -> JsonObject:
    """The database as RDS has it."""
    return world.ack.aws.existing[DATABASE].spec


def _secret(world: World) -> dict[str, str]:
    data = world.get("Secret", f"{NAME}-postgres")["data"]
    return {name: b64decode(value).decode() for name, value in data.items()}


@virtual_time
async def test_database_tells_workloads_where_it_is() -> None:
    async with platform(KIND) as world:
        await world.apply(instance(KIND, NAME, size="medium", database="books"))
        status = await world.active(KIND, NAME)
        assert _spec(world)["manageMasterUserPassword"] is True
        assert "masterUserPassword" not in _spec(world)
        assert _spec(world)["dbInstanceClass"] == "db.t4g.large"
        assert _spec(world)["storageEncrypted"] is True
        assert world.get("ConfigMap", f"{NAME}-postgres")["data"] == {
            "PGHOST": status["host"],
            "PGPORT": "5432",
            "PGDATABASE": "books",
            "PGSSLMODE": "require",
        }
        assert _secret(world) == {"PGUSER": "app", "PASSWORD_SECRET": status["passwordSecretArn"]}
        assert status["secret"] == status["configMap"] == f"{NAME}-postgres"


@virtual_time
async def test_password_of_the_user_is_referred_to_and_never_copied() -> None:
    async with platform(KIND) as world:
        await world.apply(instance(KIND, NAME, passwordSecret="chosen"))
        status = await world.active(KIND, NAME)
        assert _spec(world)["masterUserPassword"] == {
            "name": "chosen",
            "namespace": "apps",
            "key": "password",
        }
        assert "manageMasterUserPassword" not in _spec(world)
        assert _secret(world) == {"PGUSER": "app", "PASSWORD_SECRET": "chosen"}
        assert "passwordSecretArn" not in status


@virtual_time
async def test_change_in_rds_reaches_workloads_and_the_object_of_the_user() -> None:
    async with platform(KIND) as world:
        await world.apply(instance(KIND, NAME))
        await world.active(KIND, NAME)
        database = world.ack.aws.existing[DATABASE]
        database.status["dbInstanceStatus"] = "rebooting"
        await world.until(lambda: world.status(KIND, NAME)["state"] == "IN_PROGRESS")
        assert "database" in world.condition(KIND, NAME)["message"]
        database.status |= {
            "dbInstanceStatus": "available",
            "endpoint": {"address": "restored.rds.amazonaws.com", "port": 5433},
        }
        await world.until(lambda: world.status(KIND, NAME)["host"] == "restored.rds.amazonaws.com")
        await world.active(KIND, NAME)
        data = world.get("ConfigMap", f"{NAME}-postgres")["data"]
        assert (data["PGHOST"], data["PGPORT"]) == ("restored.rds.amazonaws.com", "5433")


@virtual_time
async def test_change_of_size_reaches_rds() -> None:
    async with platform(KIND) as world:
        await world.apply(instance(KIND, NAME))
        await world.active(KIND, NAME)
        await world.edit(KIND, NAME, size="large", storage=100, highlyAvailable=True)
        await world.until(lambda: _spec(world)["dbInstanceClass"] == "db.r6g.large")
        await world.active(KIND, NAME)
        assert (_spec(world)["allocatedStorage"], _spec(world)["multiAZ"]) == (100, True)
