"""`onetake replay`: a trace or a report from a page, run through the conductor on this machine."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from onetake.errors import UsageError
from onetake.server.refusal import Refusal
from onetake.trace import as_json
from onetake.trace import replay as run


@click.command()
@click.argument("file", type=click.Path(allow_dash=True))
def replay(file: str) -> None:
    """Run the trace or report in FILE (- for standard input) and print its effects, one JSON object per line.

    Ends with status 1, naming the first line, if they are not those the file holds.
    """
    differing: list[int] = []
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
        for step in run(text.split("\n")):
            for effect in step.effects:
                click.echo(as_json(effect))
            if step.effects != step.expected:
                differing.append(step.line)
    except OSError as error:
        raise Refusal(f"{file} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, UsageError) as error:
        raise Refusal(f"{file}: {error}") from None
    if differing:
        click.echo(f"{len(differing)} steps differ from the trace, the first on line {differing[0]}", err=True)
        sys.exit(1)
