"""The player, rendered: what an OfflineAudioContext puts out is, sample by sample, what the takes held."""

import pytest
from pytest_pyodide import run_in_pyodide

RATE = 24000


@run_in_pyodide
async def rendered(selenium, takes, chunk_bytes, silence_at=None):
    """The sound of `takes` (lists of 16-bit samples), each read from an NDJSON body in chunks of that many bytes.

    `silence_at`: the player is silenced when that many frames have been rendered. Samples come back as 16 bit.
    """
    import base64
    import json
    import struct

    import js
    from onetake_web import TakeReader, audioBuffer
    from pyodide.ffi import to_js

    from onetake.browser.player import Player
    from onetake.browser.scope import Scope
    from onetake.browser.take import Take
    from onetake.cues import Token

    def body(samples, block=240):
        for start in range(0, len(samples), block):
            part = samples[start : start + block]
            audio = base64.b64encode(struct.pack(f"<{len(part)}h", *part)).decode()
            yield json.dumps({"audio": audio, "rate": 24000, "channels": 1}) + "\n"
        yield '{"end": true}\n'

    frames = sum(map(len, takes)) + 2400
    context_js = js.OfflineAudioContext.new(1, frames, 24000)
    scope = Scope()
    player = Player(scope, context_js, lambda event: None)
    for number, samples in enumerate(takes):
        take = Take(Token(1, number, 1))
        player.play(take.token, take)
        reader_js = TakeReader.new()
        content = "".join(body(samples)).encode()
        for start in range(0, len(content), chunk_bytes):
            for record_js in reader_js.feed(to_js(content[start : start + chunk_bytes])):
                if hasattr(record_js, "channels"):
                    take.append(audioBuffer(context_js, record_js.channels, record_js.rate))
        take.end()
    if silence_at is not None:
        held_js = context_js.suspend(silence_at / 24000)
        rendering_js = context_js.startRendering()
        await held_js
        player.silence()
        context_js.resume()
        buffer_js = await rendering_js
    else:
        buffer_js = await context_js.startRendering()
    scope.dispose()
    assert scope.live.total() == 0
    return [round(sample * 32768) for sample in buffer_js.getChannelData(0).to_py()]


def ruler(number: int, length: int) -> list[int]:
    """Samples that tell which take they are of and where they stand in it; none is 0."""
    return [number * 8192 + 1 + at % 8000 for at in range(length)]


def sounding(samples: list[int]) -> list[int]:
    """From the first sample that is not 0 to the last."""
    heard = [at for at, sample in enumerate(samples) if sample]
    return samples[heard[0] : heard[-1] + 1] if heard else []


@pytest.mark.parametrize("chunk_bytes", [7, 100, 1001, 10**6])
def test_a_take_is_rendered_sample_for_sample_however_its_bytes_are_split(selenium, chunk_bytes):
    take = ruler(1, 3 * RATE // 10 + 1)  # the last block is a short one
    assert sounding(rendered(selenium, [take], chunk_bytes)) == take


def test_a_take_that_is_ready_follows_the_one_before_without_a_gap(selenium):
    takes = [ruler(0, 5000), ruler(1, 5001), ruler(2, 1)]
    assert sounding(rendered(selenium, takes, 10**6)) == [sample for take in takes for sample in take]


def test_nothing_is_rendered_after_silence_while_the_clock_stands(selenium):
    takes = [ruler(0, 12800), ruler(1, 12800)]
    samples = rendered(selenium, takes, 10**6, silence_at=6400)  # a whole number of render quanta
    assert any(samples[:6400])
    assert not any(samples[6400:])
