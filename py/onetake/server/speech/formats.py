"""From the bytes of an answer to sound: raw PCM and WAV as they arrive, mp3, ogg and flac once they are whole.

    async for audio in decoded(upstream, answer, asked="pcm", rate=24_000): ...      # Audio, all at 24 kHz

What it is, the bytes tell: content types are often wrong, and a service may send something else than it was
asked for, an error under status 200 among that. Used by the engines of this package.
"""

from __future__ import annotations

import io
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import anyio.to_thread
import numpy as np
import numpy.typing as npt
import soundfile
import soxr

from onetake.server.speech.engine import Audio
from onetake.server.speech.refusals import complaint
from onetake.server.speech.upstream import Answer, Upstream
from onetake.server.speech.wav import Layout, NotWav, WavReader

HEAD = 12  # bytes that tell what it is
WHOLE = 64_000_000  # bytes of a compressed take, which has to be held; an hour of the best mp3 is 140 MB
ERROR = 65_536  # bytes; what begins like an error and is longer is none


async def decoded(upstream: Upstream, answer: Answer, *, asked: str, rate: int) -> AsyncGenerator[Audio, None]:
    """The sound of `answer` at `rate`. `asked` is the format that was asked for, as the service calls it.

    Raises `EngineError`: with code `bad_audio` where there is no sound in it.
    """
    chunks = answer.chunks
    head = await _at_least(HEAD, chunks)
    if not head:
        raise upstream.bad_audio("no audio at all")
    if head[:4] == b"RIFF" and head[8:12] == b"WAVE":
        sound = _wav(upstream, head, chunks, rate)
    elif _is_compressed(head, answer.media_type, asked):
        sound = _compressed(upstream, head, chunks, rate)
    else:
        if head.lstrip()[:1] in (b"{", b"<") or answer.media_type in ("application/json", "text/html"):
            head = await _unless_error(upstream, answer, head)
        sound = _pcm(head, chunks, Layout(rate, 1, 16, False), rate)
    async with aclosing(sound):
        async for audio in sound:
            yield audio


async def _unless_error(upstream: Upstream, answer: Answer, head: bytes) -> bytes:
    """The beginning of the sound, which happens to look like the beginning of an error; an error is raised."""
    head += await _at_least(ERROR - len(head), answer.chunks)
    if len(head) < ERROR:
        try:
            json.loads(head)
        except ValueError:
            if head.lstrip()[:1] == b"<":
                raise upstream.bad_audio("a web page instead of sound") from None
        else:
            if any(complaint(head)):
                raise upstream.refused(200, answer.headers, head)
            raise upstream.bad_audio("JSON instead of sound")
    return head


async def _at_least(size: int, chunks: AsyncIterator[bytes]) -> bytes:
    """The next `size` bytes or a little more; fewer only at the end."""
    got = bytearray()
    while len(got) < size and (chunk := await anext(chunks, None)) is not None:
        got += chunk
    return bytes(got)


def _is_compressed(head: bytes, media_type: str, asked: str) -> bool:
    if head[:3] == b"ID3" or head[:4] in (b"OggS", b"fLaC"):
        return True
    # The sync word of an MPEG layer III or AAC frame; two samples of PCM may look the same.
    sync = len(head) > 2 and head[0] == 0xFF and (head[1] & 0xE6 == 0xE2 or head[1] & 0xF6 == 0xF0)
    return sync and (asked != "pcm" or media_type in ("audio/mpeg", "audio/mp3", "audio/aac"))


async def _pcm(
    head: bytes, chunks: AsyncIterator[bytes], layout: Layout, rate: int
) -> AsyncGenerator[Audio, None]:
    """Headerless samples. A frame cut in two is joined; what is left of one at the end is no sound."""
    resampler = _Resampler(layout, rate)
    rest = head
    while True:
        whole = len(rest) // layout.frame * layout.frame
        if whole and (samples := resampler.feed(rest[:whole])):
            yield Audio(samples, rate, layout.channels)
        chunk = await anext(chunks, None)
        if chunk is None:
            break
        rest = rest[whole:] + chunk
    if samples := resampler.finish():
        yield Audio(samples, rate, layout.channels)


async def _wav(
    upstream: Upstream, head: bytes, chunks: AsyncIterator[bytes], rate: int
) -> AsyncGenerator[Audio, None]:
    reader = WavReader()
    resampler: _Resampler | None = None
    chunk: bytes | None = head
    while chunk is not None:
        try:
            frames = reader.feed(chunk)
        except NotWav as error:
            raise upstream.bad_audio(str(error)) from None
        if reader.layout and resampler is None:
            resampler = _Resampler(reader.layout, rate)
        if frames and resampler and reader.layout and (samples := resampler.feed(frames)):
            yield Audio(samples, rate, reader.layout.channels)
        chunk = await anext(chunks, None)
    if resampler is None or reader.layout is None:
        raise upstream.bad_audio("a WAV file that ends in its header")
    if samples := resampler.finish():
        yield Audio(samples, rate, reader.layout.channels)


async def _compressed(
    upstream: Upstream, head: bytes, chunks: AsyncIterator[bytes], rate: int
) -> AsyncGenerator[Audio, None]:
    whole = bytearray(head)
    async for chunk in chunks:
        whole += chunk
        if len(whole) > WHOLE:
            raise upstream.bad_audio(f"more than {WHOLE // 1_000_000} MB; use pcm or wav, which stream")
    try:
        # A thread that nobody waits for any more ends by itself, in milliseconds.
        audio = await anyio.to_thread.run_sync(_decode, bytes(whole), rate, abandon_on_cancel=True)
    except soundfile.LibsndfileError:
        raise upstream.bad_audio("sound in a format that cannot be read here; use pcm, wav, mp3, ogg or flac") from None
    if audio.samples:
        yield audio


def _decode(whole: bytes, rate: int) -> Audio:
    samples, own_rate = soundfile.read(io.BytesIO(whole), dtype="int16", always_2d=True)
    channels = samples.shape[1]
    if own_rate != rate:
        samples = soxr.resample(samples, own_rate, rate)
    return Audio(samples.astype("<i2").tobytes(), rate, channels)


class _Resampler:
    """Samples of any WAV format to s16le at one rate, as they come."""

    def __init__(self, layout: Layout, rate: int) -> None:
        self._layout = layout
        same = layout.rate == rate
        self._stream = None if same else soxr.ResampleStream(layout.rate, rate, layout.channels, dtype="float32")

    def feed(self, frames: bytes) -> bytes:
        """The sound of whole frames, as far as it is certain."""
        if self._stream is None and self._layout.bits == 16:
            return frames
        return self._resampled(self._layout.samples(frames), last=False)

    def finish(self) -> bytes:
        """What is still held back."""
        if self._stream is None:
            return b""
        return self._resampled(np.zeros((0, self._layout.channels), np.float32), last=True)

    def _resampled(self, samples: npt.NDArray[np.float32], last: bool) -> bytes:
        if self._stream is not None:
            samples = self._stream.resample_chunk(samples, last=last)
        whole: npt.NDArray[np.int16] = (np.clip(samples, -1, 1) * 32767).astype("<i2")
        return whole.tobytes()


