"""What the ruler voice's recordings mean (see ruler.js)."""

from __future__ import annotations

import base64
import io

import numpy as np
import soundfile

RATE = 24000
REPEATS = 8000  # positions in a take are known modulo this


def joined(pieces: list[list[int]]) -> list[tuple[int, int, int]]:
    """Pieces as (take, first position, frames), those of one take that follow each other without a gap as one."""
    runs: list[list[int]] = []
    for take, first, frames, at in pieces:
        last = runs[-1] if runs else None
        if last and last[0] == take and last[3] + last[2] == at and (last[1] + last[2]) % REPEATS == first:
            last[2] += frames
        else:
            runs.append([take, first, frames, at])
    return [(take, first, frames) for take, first, frames, _ in runs]


#: A pause fades out over 120 frames, of which the first is still at full volume, and in over 120, of which the first
#: is at none; no sample is lost or repeated.
PAUSE = 239


def paused(pieces: list[list[int]]) -> list[tuple[int, int, int]]:
    """A take that was paused, as (first position, frames at full volume, frame of the clock); checks the seams.

    Positions are counted from the start of the take.
    """
    whole = [piece for piece in pieces if piece[2] > PAUSE]  # the rest is fading
    stretches: list[tuple[int, int, int]] = []
    for _, first, frames, at in whole:
        position = stretches[-1][0] + stretches[-1][1] + PAUSE if stretches else 0
        assert first == position % REPEATS
        stretches.append((position, frames, at))
    assert len({take for take, *_ in whole}) == 1
    return stretches


def ruler_samples(take: int, frames: int) -> np.ndarray:
    """The samples of a take, as ruler.js makes them, in 16 bits."""
    sign = 1 if take < 4 else -1
    return sign * (take % 4 * 8192 + 1 + np.arange(frames) % REPEATS)


def encoded(samples: np.ndarray, format: str, subtype: str) -> str:
    """A sound file of 16-bit samples, as base64."""
    file = io.BytesIO()
    soundfile.write(file, samples / 32768, RATE, format=format, subtype=subtype)
    return base64.b64encode(file.getvalue()).decode()
