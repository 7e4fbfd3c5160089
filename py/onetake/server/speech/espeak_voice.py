"""espeak-ng: the plain voice for every script (package `espeakng-loader`), run in a child process per take.

    espeak = Espeak()
    async for samples in espeak.sound("안녕하세요.", "ko", 1.0): ...     # float32, 24 kHz, 100 ms at a time

Used by `onetake.server.speech.local` only. The package is located, never imported: see `espeak_child` for the
reason.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import AsyncGenerator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import anyio
import numpy as np
import soxr
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from onetake.server.speech.clauses import in_clauses
from onetake.server.speech.engine import EngineError
from onetake.server.speech.markup import without_marks
from onetake.server.speech.sound import RATE, Samples

GAIN = 1.0  # -20 LUFS as it comes (fifteen texts in ten languages: -21.7 to -18.9)

WORDS_PER_MINUTE = 175  # its pace when nothing is asked
SILENT_S = 10.0  # it makes 500 s of sound a second; silent for so long, it hangs
LAST_S = 1.0  # to exit after its last word; it needs some milliseconds

_CHILD = Path(__file__).with_name("espeak_child.py")
_LIBRARY = {"win32": "espeak-ng.dll", "darwin": "libespeak-ng.dylib"}.get(sys.platform, "libespeak-ng.so")


class Espeak:
    """Says a text with one of espeak-ng's voices, each take in a process that lives as long as the take."""

    async def sound(self, text: str, voice: str, speed: float) -> AsyncGenerator[Samples, None]:
        """The sound of `text`; `voice` is espeak-ng's own name of it. Closed early, it kills its process.

        Raises `EngineError` if the process breaks off (`engine_failed`) or stalls (`engine_timeout`).
        """
        # -I and -S halve the start-up time, and nothing in the environment can alter what runs.
        process = await anyio.open_process([sys.executable, "-I", "-S", str(_CHILD)])
        whole = False
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            # If it does not take the order, since it died or hangs, reading will tell.
            with suppress(anyio.BrokenResourceError, OSError), anyio.move_on_after(SILENT_S):
                await process.stdin.send(_order(text, voice, speed))
            await process.stdin.aclose()
            frames = BufferedByteReceiveStream(process.stdout)
            rate = int(await _frame(frames, process))
            resampler = soxr.ResampleStream(rate, RATE, 1, dtype="float32")
            while frame := await _frame(frames, process):
                yield resampler.resample_chunk(np.frombuffer(frame, "<i2").astype(np.float32) / 32768)
            whole = True
            yield resampler.resample_chunk(np.zeros(0, np.float32), last=True)
        finally:
            with anyio.CancelScope(shield=True):
                if whole:  # it is about to exit: killed just then, it would be a child unknown to asyncio
                    with anyio.move_on_after(LAST_S):
                        await process.wait()
                if process.returncode is None:
                    process.kill()
                await process.aclose()


def _order(text: str, voice: str, speed: float) -> bytes:
    package = find_spec("espeakng_loader")
    if package is None or package.origin is None:
        raise EngineError("engine_failed", "espeakng-loader is not installed: pip install 'onetake[local]'")
    folder = Path(package.origin).parent
    order = {
        "library": str(folder / _LIBRARY),
        "data": str(folder),
        "voice": voice,
        "rate": round(WORDS_PER_MINUTE * speed),
        "text": in_clauses(without_marks(text)).replace("\0", " "),  # which would end the library's string
    }
    return json.dumps(order).encode()


async def _frame(frames: BufferedByteReceiveStream, process: Process) -> bytes:
    """The next frame of the child; empty at the end of the take."""
    try:
        with anyio.fail_after(SILENT_S):
            (size,) = struct.unpack("<I", await frames.receive_exactly(4))
            return await frames.receive_exactly(size) if size else b""
    except TimeoutError:
        raise EngineError("engine_timeout", f"espeak-ng was silent for {SILENT_S:g} s.") from None
    except (anyio.IncompleteRead, anyio.EndOfStream):
        raise EngineError("engine_failed", f"espeak-ng broke off: {await _last_words(process)}") from None


async def _last_words(process: Process) -> str:
    """Why a process that closed its stdout ended, as well as it can be known."""
    assert process.stderr is not None
    said = b""
    with anyio.move_on_after(LAST_S):
        async for part in process.stderr:
            said = (said + part)[-1000:]
        await process.wait()
    lines = [line.strip() for line in said.decode(errors="replace").split("\n") if line.strip()]
    return lines[-1] if lines else f"exit status {process.returncode}"
