"""`edgekeeper completion`: prints a script that adds shell completion of commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from edgekeeper.cli.failure import CommandError
from edgekeeper.cli.help import Command

SHELLS = ("bash", "fish", "zsh")


@click.command(
    cls=Command,
    examples=[
        ('eval "$(edgekeeper completion bash)"', "in ~/.bashrc"),
        ('eval "$(edgekeeper completion zsh)"', "in ~/.zshrc, after compinit"),
        ("edgekeeper completion fish | source", "in ~/.config/fish/config.fish"),
    ],
)
@click.argument("shell", type=click.Choice(SHELLS), metavar="SHELL")
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script that completes commands and options in SHELL.

    SHELL is one of bash, fish and zsh.
    """
    completion_class = get_completion_class(shell)
    if completion_class is None:
        raise CommandError(f"completion for {shell} is not supported", f"use one of {', '.join(SHELLS)}")
    program = ctx.find_root()
    name = program.info_name or "edgekeeper"
    variable = f"_{name.replace('-', '_')}_COMPLETE".upper()
    click.echo(completion_class(program.command, {}, name, variable).source())
