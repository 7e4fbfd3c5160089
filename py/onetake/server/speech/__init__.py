"""Speech: engines behind one small interface, and the routes that serve their takes.

    engines, reports = open_engines(os.environ)      # those that can serve, the preferred one first
    app.include_router(router(engines))              # onetake.server.speech.routes

*Engine* makes takes (`engine.Engine`) · *voice* what one asks for, with what it can do · *take* the sound of
one unit, streamed. To add an engine, write a module with a class that is an `Engine` and open it here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from urllib.parse import urlsplit

from onetake.errors import UsageError
from onetake.server.speech.engine import Engine


@dataclass(frozen=True, slots=True)
class Absence:
    """An engine, or a part of one, that cannot serve: one line for people.

    `wanted`: it was meant to serve, so the line is a warning; otherwise it is a hint at what else there is.
    """

    line: str
    wanted: bool


def open_engines(environ: Mapping[str, str]) -> tuple[list[Engine], list[Absence]]:
    """The engines that can serve, the preferred one first, and what is missing for others.

    `environ` holds the keys and choices, see the README. A key that is missing leaves its engine out; a value
    that cannot be is a UsageError. Connects to nothing and loads nothing yet.
    """
    engines: list[Engine] = []
    absences: list[Absence] = []
    for opening in (_elevenlabs, _openai, _local):
        opened = opening(environ)
        engines += [each for each in opened if not isinstance(each, Absence)]
        absences += [each for each in opened if isinstance(each, Absence)]
    return engines, absences


def _elevenlabs(environ: Mapping[str, str]) -> list[Engine | Absence]:
    key = environ.get("ELEVENLABS_API_KEY")
    if not key:
        chosen = [name for name in ("ELEVENLABS_VOICE", "ELEVENLABS_MODEL") if environ.get(name)]
        why = f"{chosen[0]} is set, but there is no key" if chosen else "there is no key"
        return [Absence(f"ElevenLabs does not serve: {why}; set ELEVENLABS_API_KEY.", bool(chosen))]
    from onetake.server.speech.elevenlabs import MODEL, URL, VOICE, ElevenLabs

    voices = [voice.strip() for voice in (environ.get("ELEVENLABS_VOICE") or VOICE).split(",")]
    return [
        ElevenLabs(
            _fit_for_a_header(key, "ELEVENLABS_API_KEY"),
            voices=[voice for voice in voices if voice],
            model=environ.get("ELEVENLABS_MODEL") or MODEL,
            url=_web_address(environ.get("ELEVENLABS_URL") or URL, "ELEVENLABS_URL"),
        )
    ]


def _openai(environ: Mapping[str, str]) -> list[Engine | Absence]:
    url = environ.get("ONETAKE_SPEECH_URL")
    if not url:
        names = ("KEY", "MODEL", "VOICE", "RATE", "LIMIT", "AUDIO_TAGS")
        chosen = [name for name in names if environ.get(f"ONETAKE_SPEECH_{name}")]
        why = f"ONETAKE_SPEECH_{chosen[0]} is set, but no address is" if chosen else "there is no address"
        return [Absence(f"A server with /v1/audio/speech does not serve: {why}; set ONETAKE_SPEECH_URL.", bool(chosen))]
    from onetake.server.speech.openai_speech import LIMIT, MODEL, RATE, VOICE, OpenAISpeech

    key = environ.get("ONETAKE_SPEECH_KEY")
    return [
        OpenAISpeech(
            _web_address(url, "ONETAKE_SPEECH_URL"),
            key=_fit_for_a_header(key, "ONETAKE_SPEECH_KEY") if key else None,
            model=environ.get("ONETAKE_SPEECH_MODEL") or MODEL,
            voice=environ.get("ONETAKE_SPEECH_VOICE") or VOICE,
            rate=_number(environ, "ONETAKE_SPEECH_RATE", RATE, 8_000, 96_000),
            limit=_number(environ, "ONETAKE_SPEECH_LIMIT", LIMIT, 1, 1_000_000),
            audio_tags=bool(_number(environ, "ONETAKE_SPEECH_AUDIO_TAGS", 0, 0, 1)),
        )
    ]


def _local(_: Mapping[str, str]) -> list[Engine | Absence]:
    has_hibari, has_espeak = bool(find_spec("hibari")), bool(find_spec("espeakng_loader"))
    opened: list[Engine | Absence] = []
    if has_hibari or has_espeak:
        # Only here, since these need the packages of the extra `local`.
        from onetake.server.speech.espeak_voice import Espeak
        from onetake.server.speech.hibari_voice import Hibari
        from onetake.server.speech.local import Local

        opened.append(Local(Hibari() if has_hibari else None, Espeak() if has_espeak else None))
    if not has_hibari:
        opened.append(_missing("a natural English voice", "hibari-tts"))
    if not has_espeak:
        opened.append(_missing("a voice for Korean and every other script", "espeakng-loader"))
    return opened


def _missing(what: str, package: str) -> Absence:
    line = f"There is not {what}: the package {package} is missing; pip install 'onetake[local]' brings it."
    return Absence(line, wanted=True)


# -- values that come from outside; a secret is not repeated in the error ------------------------------------


def _web_address(url: str, name: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{name} is no web address; write it like https://speech.example.org/v1")
    if parts.username is not None or parts.query:  # an address gets into logs
        raise UsageError(f"{name} holds more than an address, such as a password; a key has a variable of its own")
    return url.rstrip("/")


def _fit_for_a_header(key: str, name: str) -> str:
    if not (key.isascii() and key.isprintable()) or key != key.strip():
        raise UsageError(f"{name} holds a character that no key has, such as a line end; copy the key again")
    return key


def _number(environ: Mapping[str, str], name: str, otherwise: int, least: int, most: int) -> int:
    said = environ.get(name)
    if not said:
        return otherwise
    if not said.isdecimal() or not least <= int(said) <= most:
        raise UsageError(f"{name} is {said!r}; it must be a whole number from {least} to {most}")
    return int(said)
