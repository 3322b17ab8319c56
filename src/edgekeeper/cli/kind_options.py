"""The options of commands that reconcile or preview kinds: access to clouds, drift policy, limits.

    @click.command()
    @kind_options
    def run(*, kinds: KindSettings, …) -> int: ...

Flags that are about all kinds are here; those of one kind come from its module. As everywhere, each has an environment
variable of the same meaning: `EDGEKEEPER_DRIFT_POLICY` for `--drift-policy`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click
import yaml

from edgekeeper.cli.duration import Duration
from edgekeeper.cli.kinds import MODULES, choose_controllers, choose_role, chosen_modules, roles, uses
from edgekeeper.cloud.aws.settings import AwsSettings
from edgekeeper.cloud.budget import LaneRate
from edgekeeper.cloud.cloudflare.client import BASE_URL, checked_base
from edgekeeper.cloud.rates import DEFAULT_RATES
from edgekeeper.core.drift import Policy
from edgekeeper.core.ownership import is_cluster_id
from edgekeeper.lifecycle.controller import CLEANUP_TIMEOUT
from edgekeeper.lifecycle.intervals import Intervals
from edgekeeper.lifecycle.module import Cloud, CommonOptions, Flag, FlagValues, KindModule

if TYPE_CHECKING:
    from edgekeeper.cloud.aws.clients import AwsClients

Command: TypeAlias = Callable[..., Any]
Decorator: TypeAlias = Callable[[Command], Command]

_BUDGET = re.compile(r"(?P<lane>[a-z0-9-]+)=(?P<rate>\d+(?:\.\d+)?)(?:/(?P<burst>\d+))?")


@dataclass(frozen=True)
class KindSettings:
    """The values of the options."""

    aws: AwsSettings = field(default_factory=AwsSettings)
    common: CommonOptions = field(default_factory=CommonOptions)
    rates: dict[str, LaneRate] = field(default_factory=dict)
    values: FlagValues = field(default_factory=dict)
    """The values of the flags of single kinds, by key."""
    controllers: frozenset[str] | None = None
    """The names of the controllers to run; None for all."""
    role: str = ""
    """The role whose controllers to run; empty for all."""
    cloudflare_url: str = BASE_URL
    operator_namespace: str = ""
    """Empty for that of the pod or the context."""

    @property
    def modules(self) -> tuple[KindModule, ...]:
        """The kinds that the options select."""
        chosen = chosen_modules(self.controllers, self.role)
        return tuple(module for module in chosen if module.is_enabled(self.values))

    def aws_clients(self) -> AwsClients | None:
        """Clients of AWS; None if no selected kind uses AWS. Raise AwsConfigError if the configuration is invalid."""
        if not uses(Cloud.AWS, self.modules):
            return None
        from edgekeeper.cloud.aws.clients import AwsClients  # noqa: PLC0415 # loads the AWS SDK

        return AwsClients(self.aws)


class Parsed(click.ParamType[Any]):
    """A parameter type that converts with a function, whose ValueError becomes the usage error."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class ProgressInterval(Duration):
    """A duration of a second or more: clouds limit how often they are asked."""

    def convert(
        self, value: str | timedelta, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        interval = super().convert(value, param, ctx)
        if interval < timedelta(seconds=1):
            self.fail(f"{value!r} is less than 1s", param, ctx)
        return interval


class LaneBudget(click.ParamType[tuple[str, LaneRate]]):
    """`lane=rate/burst`, such as `cloudfront-write=5/10`."""

    name = "budget"

    def convert(
        self, value: str | tuple[str, LaneRate], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, LaneRate]:
        if isinstance(value, tuple):
            return value
        match = _BUDGET.fullmatch(value)
        if match is None or match["lane"] not in DEFAULT_RATES or float(match["rate"]) <= 0:
            lanes = ", ".join(sorted(DEFAULT_RATES))
            self.fail(f"{value!r} is not LANE=CALLS-PER-SECOND/BURST with a lane of {lanes}", param, ctx)
        default = DEFAULT_RATES[match["lane"]]
        burst = int(match["burst"] or default.burst)
        return match["lane"], LaneRate(float(match["rate"]), max(1, burst), default.within)


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


def checked_cluster_id(text: str) -> str:
    """The id of a cluster. Raise ValueError if no cluster can have it."""
    if not is_cluster_id(text):
        raise ValueError(
            f"{text!r} is not the id of a cluster: up to 63 letters, digits, dots, dashes and underscores"
        )
    return text


def _is_list_of_text(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _option(flag: str, variable: str = "", **more: Any) -> tuple[str, Decorator]:
    name = flag.removeprefix("--").replace("-", "_")
    envvar = variable or f"EDGEKEEPER_{name.upper()}"
    return name, click.option(flag, name, envvar=envvar, show_envvar=bool(variable), **more)


def option_of(flag: Flag) -> tuple[str, Decorator]:
    """The click option for a flag of a kind."""
    if flag.switch:
        form: dict[str, Any] = {"is_flag": False, "flag_value": "true", "type": bool, "metavar": "[BOOL]"}
        return _option(flag.name, default=flag.default == "true", show_default=True, help=flag.help, **form)
    default = () if flag.multiple else flag.default
    return _option(
        flag.name,
        type=Parsed(flag.metavar.lower(), flag.parse),
        default=default,
        show_default=bool(default),
        multiple=flag.multiple,
        metavar=flag.metavar,
        help=flag.help,
    )


_OPTIONS = (
    _option(
        "--controllers",
        type=Parsed("names", choose_controllers),
        metavar="NAMES",
        help=f"Run these controllers only, or all but those with a minus: {', '.join(module.name for module in MODULES)}.  [default: all]",
    ),
    _option(
        "--role",
        "ROLE",
        type=Parsed("role", choose_role),
        default="",
        metavar="ROLE",
        help=f"Run the controllers of this role only, with a Lease of its own: {', '.join(roles())}.  [default: all]",
    ),
    _option(
        "--operator-namespace",
        "OPERATOR_NAMESPACE",
        default="",
        metavar="NAME",
        help="The operator's own namespace, with its Leases, tasks and state.  [default: that of the pod or the context]",
    ),
    _option(
        "--operator-deployment",
        default="",
        metavar="NAME",
        help="The operator's own Deployment.  [default: found by the owners of the pod that POD_NAME names]",
    ),
    _option("--pod-name", "POD_NAME", default="", metavar="NAME", help="The pod of this process."),
    _option(
        "--cloudflare-api-base",
        "CLOUDFLARE_API_BASE",
        type=Parsed("url", checked_base),
        default=BASE_URL,
        metavar="URL",
        help="Call Cloudflare at this address.",
        show_default=True,
    ),
    _option(
        "--progress-interval",
        type=ProgressInterval(),
        default=Intervals().in_progress,
        metavar="DURATION",
        help="How often clouds are asked for the progress of what they were told to do; 1s at least.  [default: 30s]",
    ),
    _option(
        "--drift-interval",
        type=Duration(),
        default=CommonOptions().drift_interval,
        metavar="DURATION",
        help="How often what is in Cloudflare is compared with what was applied; 0s for never.  [default: 5m]",
    ),
    _option(
        "--aws-region",
        default="",
        metavar="REGION",
        help="The AWS region.  [default: from the environment]",
    ),
    _option(
        "--aws-endpoint-url",
        default="",
        metavar="URL",
        help="Call AWS at this address.  [default: from the environment, else AWS itself]",
    ),
    _option(
        "--cluster-id",
        default="",
        metavar="ID",
        help="The cluster id in ownership tags.  [default: the uid of the namespace kube-system]",
    ),
    _option(
        "--adopt-from-cluster",
        type=Parsed("id", checked_cluster_id),
        multiple=True,
        metavar="ID",
        help="Take over what objects of the same namespace and name have left in the clouds, in this lost cluster. Repeatable.",
    ),
    _option(
        "--drift-policy",
        type=click.Choice([str(policy) for policy in Policy]),
        default=str(Policy.ENFORCE),
        show_default=True,
        help="How changes outside the operator are handled.",
    ),
    _option(
        "--cleanup-timeout",
        type=Duration(),
        default=CLEANUP_TIMEOUT,
        metavar="DURATION",
        help="How long a deletion may fail before the finalizer is removed anyway; 0s for no limit.  [default: 1h]",
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
        help="The rate limit, in calls per second and burst, of a class of cloud calls. Repeatable.  [default: see docs/clouds.md]",
    ),
)


_ALL_OPTIONS = (*_OPTIONS, *(option_of(flag) for module in MODULES for flag in module.flags))


def kind_options(command: Command) -> Command:
    """Add the options to a command, which gets them as one argument: `kinds`."""

    @functools.wraps(command)
    def collected(*args: Any, **given: Any) -> Any:
        values = {name: given.pop(name) for name, _ in _ALL_OPTIONS}
        return command(*args, kinds=_settings(values), **given)

    decorated: Command = collected
    for _, decorate in reversed(_ALL_OPTIONS):
        decorated = decorate(decorated)
    return decorated


def _settings(values: Mapping[str, Any]) -> KindSettings:
    keys = [flag.key for module in MODULES for flag in module.flags]
    return KindSettings(
        AwsSettings(region=values["aws_region"], endpoint_url=values["aws_endpoint_url"]),
        CommonOptions(
            cluster=values["cluster_id"],
            lost_clusters=frozenset(values["adopt_from_cluster"]),
            drift_policy=Policy(values["drift_policy"]),
            cleanup_timeout=values["cleanup_timeout"],
            role_arns=frozenset(values["allowed_role_arns"]) or None,
            hosted_zones=frozenset(values["allowed_hosted_zones"]) or None,
            hostnames=values["hostname_policy"],
            pod_name=values["pod_name"],
            operator_deployment=values["operator_deployment"],
            intervals=Intervals(values["progress_interval"]),
            drift_interval=values["drift_interval"],
        ),
        dict(values["budget"]),
        {key: values[key] for key in keys},
        values["controllers"],
        values["role"],
        values["cloudflare_api_base"],
        values["operator_namespace"],
    )
