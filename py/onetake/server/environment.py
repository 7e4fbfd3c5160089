"""Keys and choices for the command line, from environment variables or a file of them.

    @click.command()
    @env_file               # --env-file keys.env
    def say() -> None: ...  # os.environ now holds them
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeVar

import click
from dotenv import dotenv_values

from onetake.server.refusal import Refusal

Command = TypeVar("Command", bound=Any)


def env_file(command: Command) -> Command:
    """Adds the option `--env-file`. A variable that is set already keeps its value."""
    option = click.option(
        "--env-file",
        type=click.Path(),
        callback=_load,
        expose_value=False,
        is_eager=True,
        help="A file with lines like ELEVENLABS_API_KEY=…, for keys that are not in the environment.",
    )
    return option(command)


def _load(context: click.Context, option: click.Parameter, file: str | None) -> None:
    if file is None:
        return
    try:
        with Path(file).open(encoding="utf-8") as lines:
            values = dotenv_values(stream=lines, interpolate=False)
    except OSError as error:
        raise Refusal(f"--env-file {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Refusal(f"--env-file {file} is not UTF-8; save it as UTF-8") from None
    for name, value in values.items():
        if value is not None:
            os.environ.setdefault(name, value)
