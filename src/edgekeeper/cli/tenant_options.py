"""The options of commands that keep CloudFront tenants: how AWS is reached, what drift means, what is allowed.

    @click.command()
    @tenant_options
    def run(*, tenants: TenantSettings, …) -> int: ...

Names and forms are those of the operator whose manifests we read, and flags of ours beside them. As everywhere, each
has an environment variable of the same meaning: `EDGEKEEPER_DRIFT_POLICY` for `--drift-policy`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias

import click
import yaml

from edgekeeper.cli.duration import Duration
from edgekeeper.cloud.aws.clients import AwsSettings
from edgekeeper.cloud.budget import LaneRate
from edgekeeper.cloud.rates import DEFAULT_RATES
from edgekeeper.controllers.cloudfront.guards import Guards
from edgekeeper.controllers.cloudfront.wiring import CLEANUP_TIMEOUT, TenantOptions
from edgekeeper.core.drift import Policy

Command: TypeAlias = Callable[..., Any]

_BUDGET = re.compile(r"(?P<lane>[a-z0-9-]+)=(?P<rate>\d+(?:\.\d+)?)(?:/(?P<burst>\d+))?")
_TEMPLATE_FIELDS = frozenset({"name", "namespace", "cluster"})


@dataclass(frozen=True)
class TenantSettings:
    """What the options say."""

    aws: AwsSettings
    tenants: TenantOptions
    rates: dict[str, LaneRate]


class Template(click.ParamType[str]):
    """A text with `{name}`, `{namespace}` and `{cluster}` in it."""

    name = "template"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            value.format(**dict.fromkeys(_TEMPLATE_FIELDS, "x"))
        except (KeyError, IndexError, ValueError) as error:
            self.fail(
                f"{value!r} may contain {{name}}, {{namespace}} and {{cluster}} only: {error}", param, ctx
            )
        if "{name}" not in value:
            self.fail(f"{value!r} lacks {{name}}: all tenants would be called the same", param, ctx)
        return value


class LaneBudget(click.ParamType[tuple[str, LaneRate]]):
    """`lane=rate/burst`, such as `cloudfront-write=5/10`."""

    name = "budget"

    def convert(
        self, value: str | tuple[str, LaneRate], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, LaneRate]:
        if isinstance(value, tuple):
            return value
        found = _BUDGET.fullmatch(value)
        if found is None or found["lane"] not in DEFAULT_RATES or float(found["rate"]) <= 0:
            lanes = ", ".join(sorted(DEFAULT_RATES))
            self.fail(f"{value!r} is not LANE=CALLS-PER-SECOND/BURST with a lane of {lanes}", param, ctx)
        known = DEFAULT_RATES[found["lane"]]
        burst = int(found["burst"] or known.burst)
        return found["lane"], LaneRate(float(found["rate"]), max(1, burst), known.within)


class HostnamePolicy(click.ParamType[Mapping[str, tuple[str, ...]]]):
    """A YAML file: namespaces, and the domains below which their objects may have hostnames."""

    name = "file"

    def convert(
        self,
        value: str | Mapping[str, tuple[str, ...]],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Mapping[str, tuple[str, ...]]:
        if not isinstance(value, str):
            return value
        try:
            tree = yaml.safe_load(Path(value).read_text())
        except (OSError, yaml.YAMLError) as error:
            self.fail(f"cannot be read: {' '.join(str(error).split())}", param, ctx)
        if not isinstance(tree, dict) or not all(_is_list_of_text(item) for item in tree.values()):
            self.fail(
                f"{value}: expected namespaces with lists of domains, such as 'team-a: [a.example.com]'",
                param,
                ctx,
            )
        return {str(namespace): tuple(domains) for namespace, domains in tree.items()}


def _is_list_of_text(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _option(flag: str, **more: Any) -> tuple[str, Callable[[Command], Command]]:
    name = flag.removeprefix("--").replace("-", "_")
    return name, click.option(flag, name, envvar=f"EDGEKEEPER_{name.upper()}", **more)


_OPTIONS = (
    _option(
        "--aws-region",
        default="",
        metavar="REGION",
        help="The region of AWS.  [default: as the environment says]",
    ),
    _option(
        "--aws-endpoint-url",
        default="",
        metavar="URL",
        help="Talk to AWS there.  [default: as the environment says, else AWS itself]",
    ),
    _option(
        "--cluster-id",
        default="",
        metavar="ID",
        help="Marks what is created as this cluster's.  [default: the uid of the namespace kube-system]",
    ),
    _option(
        "--drift-policy",
        type=click.Choice([str(policy) for policy in Policy]),
        default=str(Policy.ENFORCE),
        show_default=True,
        help="What is done about changes outside the operator.",
    ),
    _option(
        "--tenant-name-template",
        type=Template(),
        default="{name}",
        show_default=True,
        help="What tenants are called: {name}, {namespace} and {cluster} are the object's.",
    ),
    _option(
        "--cleanup-timeout",
        type=Duration(),
        default=CLEANUP_TIMEOUT,
        metavar="DURATION",
        help="When a deletion that keeps failing is given up; 0s for never.  [default: 1h]",
    ),
    _option(
        "--allowed-role-arns",
        multiple=True,
        metavar="ARN",
        help="Assume only these roles. Repeatable.  [default: any]",
    ),
    _option(
        "--allowed-hosted-zones",
        multiple=True,
        metavar="ID",
        help="Write only into these zones. Repeatable.  [default: any]",
    ),
    _option(
        "--allowed-distributions",
        multiple=True,
        metavar="ID",
        help="Keep tenants of these distributions only. Repeatable.  [default: any]",
    ),
    _option(
        "--allowed-connection-groups",
        multiple=True,
        metavar="ID",
        help="Let objects name only these connection groups. Repeatable.  [default: any]",
    ),
    _option(
        "--hostname-policy",
        type=HostnamePolicy(),
        metavar="FILE",
        help="Which namespaces may have which hostnames.  [default: any may have all]",
    ),
    _option(
        "--budget",
        type=LaneBudget(),
        multiple=True,
        metavar="LANE=RATE/BURST",
        help="Calls per second, and at once, of a class of cloud calls. Repeatable.  [default: see docs/clouds.md]",
    ),
)


def tenant_options(command: Command) -> Command:
    """Add the options to a command, which gets them as one argument: `tenants`."""

    @functools.wraps(command)
    def collected(*args: Any, **given: Any) -> Any:
        values = {name: given.pop(name) for name, _ in _OPTIONS}
        return command(*args, tenants=_settings(values), **given)

    decorated: Command = collected
    for _, decorate in reversed(_OPTIONS):
        decorated = decorate(decorated)
    return decorated


def _settings(values: Mapping[str, Any]) -> TenantSettings:
    cleanup_timeout: timedelta = values["cleanup_timeout"]
    return TenantSettings(
        AwsSettings(region=values["aws_region"], endpoint_url=values["aws_endpoint_url"]),
        TenantOptions(
            cluster=values["cluster_id"],
            drift_policy=Policy(values["drift_policy"]),
            tenant_name_template=values["tenant_name_template"],
            guards=Guards(
                role_arns=frozenset(values["allowed_role_arns"]) or None,
                hosted_zones=frozenset(values["allowed_hosted_zones"]) or None,
                hostnames=values["hostname_policy"],
                distributions=frozenset(values["allowed_distributions"]) or None,
                connection_groups=frozenset(values["allowed_connection_groups"]) or None,
            ),
            cleanup_timeout=cleanup_timeout,
        ),
        dict(values["budget"]),
    )
