"""Speech: engines behind one small interface, and the routes that serve their takes.

    engines, missing = open_engines()      # what is installed, and one line on each thing that is not
    app.include_router(router(engines))    # onetake.server.speech.routes

*Engine* makes takes (`engine.Engine`) · *voice* what one asks for, with what it can do · *take* the sound of
one unit, streamed. To add an engine, write a module with a class that is an `Engine` and open it here.
"""

from __future__ import annotations

from importlib.util import find_spec

from onetake.server.speech.engine import Engine


def open_engines() -> tuple[list[Engine], list[str]]:
    """The engines that can serve, the preferred one first, and one line for people on each that cannot.

    Loads and starts nothing yet: `Engine.warm` does.
    """
    has_hibari, has_espeak = bool(find_spec("hibari")), bool(find_spec("espeakng_loader"))
    missing = []
    if not has_hibari:
        missing.append(_missing("a natural English voice", "hibari-tts"))
    if not has_espeak:
        missing.append(_missing("a voice for Korean and every other script", "espeakng-loader"))
    if not (has_hibari or has_espeak):
        return [], missing

    # Only here, since these need the packages of the extra `local`.
    from onetake.server.speech.espeak_voice import Espeak
    from onetake.server.speech.hibari_voice import Hibari
    from onetake.server.speech.local import Local

    return [Local(Hibari() if has_hibari else None, Espeak() if has_espeak else None)], missing


def _missing(what: str, package: str) -> str:
    return f"There is not {what}: the package {package} is missing; pip install 'onetake[local]' brings it."
