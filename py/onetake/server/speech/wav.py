"""WAV files read while they arrive.

    reader = WavReader()
    reader.feed(first_bytes)        # b"" until the header is whole
    reader.feed(more_bytes)         # whole frames of samples
    reader.layout                   # Layout(rate=24000, channels=1, bits=16, floating=False)

The header is read once. A size in it that cannot be true, as streaming services write, means "up to the end".
Source: the RIFF specification, and RFC 2361 for the format tags. Needs numpy; used by this package only.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

PCM, FLOAT, EXTENSIBLE = 1, 3, 0xFFFE
HEADER = 65_536  # bytes before the samples; some programs put comments there


class NotWav(Exception):
    """The bytes cannot be read as WAV; the message says what they are, to follow "sent"."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Of samples: hertz, channels, bits of one sample, and whether it is a floating-point number."""

    rate: int
    channels: int
    bits: int
    floating: bool

    @property
    def frame(self) -> int:
        """Bytes of one sample of each channel."""
        return self.channels * self.bits // 8

    def samples(self, frames: bytes) -> npt.NDArray[np.float32]:
        """Whole frames as numbers from -1 to 1, shaped (frames, channels)."""
        numbers: npt.NDArray[np.float32]
        if self.floating:
            numbers = np.frombuffer(frames, f"<f{self.bits // 8}").astype(np.float32)
        elif self.bits == 8:
            numbers = (np.frombuffer(frames, np.uint8).astype(np.float32) - 128) / np.float32(128)
        else:  # widened to 32 bits: 24 have no type of their own
            size = self.bits // 8
            wide = np.zeros((len(frames) // size, 4), np.uint8)
            wide[:, 4 - size :] = np.frombuffer(frames, np.uint8).reshape(-1, size)
            numbers = (wide.view("<i4")[:, 0] / 2**31).astype(np.float32)
        return numbers.reshape(-1, self.channels)


class WavReader:
    """Takes a WAV file in pieces of any size. `layout` is there once the header is."""

    def __init__(self) -> None:
        self.layout: Layout | None = None
        self._held = b""  # the header so far, then less than a frame
        self._left: float = 0  # bytes of samples to come

    def feed(self, data: bytes) -> bytes:
        """The whole frames that are there now. What follows the samples is passed over. Raises `NotWav`."""
        self._held += data
        if self.layout is None:
            self._read_header()
        if self.layout is None:
            return b""
        size = int(min(len(self._held), self._left)) // self.layout.frame * self.layout.frame
        frames, self._held = self._held[:size], self._held[size:]
        self._left -= size
        if self._left < self.layout.frame:
            self._held = b""
            self._left = 0
        return frames

    def _read_header(self) -> None:
        """Read chunk after chunk up to the samples, if they are there."""
        held, at, layout = self._held, 12, None
        while len(held) >= at + 8:
            name, size = struct.unpack_from("<4sI", held, at)
            at += 8
            if name == b"data":
                if layout is None:
                    raise NotWav("a WAV file that does not say how its samples are written")
                self.layout, self._held = layout, held[at:]
                # 0 and sizes near 2 or 4 GiB are what a writer puts there that does not know.
                self._left = size if 0 < size < 0x7FFFFF00 else float("inf")
                return
            if name == b"fmt " and len(held) >= at + size:
                layout = _layout(held[at : at + size])
            at += size + size % 2
        if len(held) > HEADER:
            raise NotWav("a WAV file without samples")


def _layout(chunk: bytes) -> Layout:
    if len(chunk) < 16:
        raise NotWav("a WAV file with a broken header")
    tag, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", chunk)
    if tag == EXTENSIBLE and len(chunk) >= 26:
        (tag,) = struct.unpack_from("<H", chunk, 24)
    fits = {PCM: (8, 16, 24, 32), FLOAT: (32, 64)}.get(tag, ())
    if bits not in fits or not channels or not rate:
        raise NotWav(f"a WAV file of format {tag} with {bits} bits, which cannot be read here; use 16-bit PCM")
    return Layout(rate, channels, bits, tag == FLOAT)
