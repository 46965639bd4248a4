"""Options that several commands have."""

from datetime import timedelta
from typing import Annotated

import typer

from entrypoints.durations import parse_duration

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def duration_of(text: str, option: str) -> timedelta:
    """Return the duration that *option* was given as *text*; anything else is a usage error."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error


def refuse_to_ask(*, yes: bool, as_json: bool) -> None:
    """End with a usage error where the command would have to ask a program."""
    if as_json and not yes:
        raise typer.BadParameter("nobody can be asked with --json: give --yes, too")
