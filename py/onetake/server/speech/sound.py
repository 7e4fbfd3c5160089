"""The sound of a local take: level, trimmed ends, and whole samples of 16 bits.

    shape = Shape(gain=2.0)
    for samples in engine_output:          # float32, -1..1, 24 kHz mono
        send(shape.feed(samples))
    send(shape.finish())

Does no I/O. Needs numpy, so only the local voices import it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Samples = npt.NDArray[np.float32]

RATE = 24_000

EDGE = RATE * 50 // 1000  # silence left at a take's start and end
SILENCE = 0.003  # -50 dBFS: below the breath before a word, above the engines' noise floor
KNEE = 0.8  # -2 dBFS: what is louder is bent towards full scale, and no sample is ever clipped


class Shape:
    """Shapes one take as it streams. `gain` is the factor that brings the voice near -20 LUFS.

    A fixed gain per voice, since the voices keep one level within ±1.5 LU from text to text: nothing is
    measured while a take runs, so nothing waits and nothing pumps.
    """

    def __init__(self, gain: float) -> None:
        self._gain = gain
        self._begun = False
        self._held: Samples = np.zeros(0, np.float32)  # silence that is either a pause or the take's end

    def feed(self, samples: Samples) -> bytes:
        """The next samples of the engine; returns what of the take is now certain, as s16le."""
        held = np.concatenate((self._held, samples * np.float32(self._gain)))
        loud = np.flatnonzero(np.abs(held) > SILENCE)
        if not len(loud):
            self._held = held if self._begun else held[-EDGE:]
            return b""
        start = 0 if self._begun else max(0, int(loud[0]) - EDGE)
        end = int(loud[-1]) + 1
        self._begun, self._held = True, held[end:]
        return _s16le(held[start:end])

    def finish(self) -> bytes:
        """The rest of the take: at most 50 ms of silence; nothing if there was never a sound."""
        return _s16le(self._held[:EDGE]) if self._begun else b""


def _s16le(samples: Samples) -> bytes:
    size = np.abs(samples)
    bent = KNEE + (1 - KNEE) * np.tanh((size - KNEE) / (1 - KNEE))
    limited = np.where(size > KNEE, np.copysign(bent, samples), samples)
    return (limited * 32767).astype("<i2").tobytes()
