"""`onetake say`: one take of a text, written to a file or played."""

from __future__ import annotations

import os
import tempfile
import wave
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

import anyio
import click

from onetake.errors import UsageError
from onetake.server.environment import env_file
from onetake.server.loudspeaker import play, player
from onetake.server.refusal import Refusal
from onetake.server.speech import open_engines
from onetake.server.speech.engine import Audio, Engine, EngineError
from onetake.spoken import for_engine
from onetake.units import speakable


@click.command()
@click.argument("text")
@click.option("-o", "--output", metavar="FILE", type=click.Path(), help="Write a WAV file instead of playing it.")
@click.option("--voice", help="Id of the voice, as `onetake voices` lists them. Without: the first one.")
@env_file
def say(text: str, output: str | None, voice: str | None) -> None:
    """Speak TEXT as one take, as a page would: cards and emotion tags are left out."""
    from onetake.server.errors import ApiError  # here, since it takes a while to import

    if output is None and player() is None:
        raise Refusal("there is no program here that plays sound; write a file with -o FILE instead")
    if output is not None and not Path(output).absolute().parent.is_dir():
        raise Refusal(f"{output} cannot be written: there is no such directory; make it first")
    try:
        engines, absences = open_engines(os.environ)
        for absence in absences:
            if absence.wanted:
                click.echo(absence.line, err=True)
        sound = anyio.run(_take, engines, text, voice)
    except (UsageError, ApiError, EngineError) as error:
        raise Refusal(str(error)) from None
    if not sound:
        raise Refusal("there is nothing in this text that the voice can say; give it some words")
    try:
        if output is not None:
            _write(Path(output), sound)
        else:
            with tempfile.TemporaryDirectory() as directory:
                file = Path(directory) / "take.wav"
                _write(file, sound)
                play(file)
    except OSError as error:
        raise Refusal(f"{error.filename or output} cannot be written: {error.strerror}") from None


async def _take(engines: Sequence[Engine], text: str, voice: str | None) -> list[Audio]:
    """The sound of one take, all of it."""
    from onetake.server.speech.orders import Order, checked, voice_of

    voices = {each.id: each for engine in engines for each in engine.voices}
    engine_of = {each.id: engine for engine in engines for each in engine.voices}
    try:
        chosen = voice_of(voice, voices)
        words = for_engine(speakable(text), chosen.audio_tags).text
        if not words.strip():
            return []
        order = Order(text=words, voice=chosen.id)
        checked(order, voices)
        async with aclosing(engine_of[chosen.id].synthesise(order.text, chosen.id, order.speed)) as take:
            return [piece async for piece in take if isinstance(piece, Audio)]
    finally:
        for engine in engines:
            await engine.aclose()


def _write(file: Path, sound: Sequence[Audio]) -> None:
    with file.open("wb") as target, wave.open(target, "wb") as wav:
        wav.setnchannels(sound[0].channels)
        wav.setsampwidth(2)
        wav.setframerate(sound[0].rate)
        for audio in sound:
            wav.writeframes(audio.samples)
