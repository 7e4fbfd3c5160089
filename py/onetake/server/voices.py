"""`onetake voices`: who can speak here, and what is missing for others."""

from __future__ import annotations

import os

import click

from onetake.errors import UsageError
from onetake.server.environment import env_file
from onetake.server.refusal import Refusal
from onetake.server.speech import open_engines
from onetake.server.speech.engine import Voice


@click.command()
@env_file
def voices() -> None:
    """List the voices, one per line; the first one speaks unless another is asked for. Then what cannot serve, and why.

    Connects to nothing: whether a service accepts its key, the first take tells.
    """
    try:
        engines, absences = open_engines(os.environ)
    except UsageError as error:
        raise Refusal(str(error)) from None
    for engine in engines:
        for voice in engine.voices:
            click.echo(_line(voice))
    for absence in absences:
        click.echo(f"- {absence.line}")


def _line(voice: Voice) -> str:
    facts = (
        voice.name,
        f"at most {voice.limit.value} {voice.limit.unit} a take",
        "performs audio tags" if voice.audio_tags else "no audio tags",
        "no timing" if voice.timing == "none" else f"timing per {voice.timing}",
        f"{voice.sample_rate} Hz",
        f"{voice.concurrency} at once",
    )
    return f"{voice.id}\t{', '.join(facts)}"
