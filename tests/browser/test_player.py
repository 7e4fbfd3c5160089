"""The player, rendered: what an OfflineAudioContext puts out is, sample by sample, what the takes held."""

import pytest
from pytest_pyodide import run_in_pyodide

from tests.browser.pieces import RATE, ruler_samples

BLOCK_BYTES = [1, 3, 4, 100, 127, 128, 129, 4096, 48001, "random"]


@run_in_pyodide
async def rendered(selenium, takes, block_bytes, act=None, at=0):
    """The sound of `takes` (16-bit samples), each come in blocks of that many bytes, one node a block.

    `act` is done when `at` frames have been rendered. Samples come back as 16 bit; with them, the underruns.
    """
    import random
    import struct

    import js
    from onetake_web import SampleReader, audioBuffer
    from pyodide.ffi import to_js

    from onetake.browser.player import Player
    from onetake.browser.scope import Scope
    from onetake.browser.take import Take
    from onetake.cues import Token

    frames = sum(map(len, takes)) + 4800
    context_js = js.OfflineAudioContext.new(1, frames, 24000)
    scope = Scope()
    player = Player(scope, context_js, context_js.destination, lambda event: None)
    for number, samples in enumerate(takes):
        take = Take(Token(1, number, 1), context_js)
        player.play(take.token, take)
        reader_js = SampleReader.new(1)
        content = struct.pack(f"<{len(samples)}h", *samples)
        while content:
            size = random.randint(1, 5000) if block_bytes == "random" else block_bytes
            channels_js = reader_js.read(to_js(content[:size]))
            content = content[size:]
            if channels_js[0].length:
                take.append(audioBuffer(context_js, channels_js))
        take.end()
    if act is not None:
        held_js = context_js.suspend(at / 24000)
        rendering_js = context_js.startRendering()
        await held_js
        if act == "hold and go on":
            player.hold(True)
            player.hold(False)
        elif act == "withdraw the second":
            player.withdraw(Token(1, 1, 1))
        else:
            player.silence()
        context_js.resume()
        buffer_js = await rendering_js
    else:
        buffer_js = await context_js.startRendering()
    scope.dispose()
    assert scope.live.total() == 0
    return [round(sample * 32768) for sample in buffer_js.getChannelData(0).to_py()], player.underruns


def sounding(samples: list[int]) -> list[int]:
    """From the first sample that is not 0 to the last."""
    heard = [at for at, sample in enumerate(samples) if sample]
    return samples[heard[0] : heard[-1] + 1] if heard else []


def ruler(take: int, frames: int) -> list[int]:
    return ruler_samples(take, frames).tolist()


@pytest.mark.parametrize("block_bytes", BLOCK_BYTES)
def test_a_take_is_rendered_sample_for_sample_however_its_bytes_are_split(selenium, block_bytes):
    take = ruler(1, 1_201 if block_bytes in (1, 3, 4) else 26_001)
    samples, underruns = rendered(selenium, [take], block_bytes)
    assert sounding(samples) == take
    assert underruns == 0


def test_a_take_that_is_ready_follows_the_one_before_without_a_gap(selenium):
    takes = [ruler(0, 5000), ruler(1, 5001), ruler(2, 1), ruler(3, 479)]
    assert sounding(rendered(selenium, takes, 999)[0]) == [sample for take in takes for sample in take]


def test_nothing_is_rendered_after_silence_while_the_clock_stands(selenium):
    takes = [ruler(0, 12800), ruler(1, 12800)]
    samples, _ = rendered(selenium, takes, 10**6, act="silence", at=6400)  # a whole number of render quanta
    assert any(samples[:6400])
    assert not any(samples[6400:])


def test_what_follows_a_withdrawn_take_follows_the_one_before_it(selenium):
    takes = [ruler(0, 12800), ruler(1, 12800), ruler(2, 5000)]
    samples, _ = rendered(selenium, takes, 5000, act="withdraw the second", at=6400)
    assert sounding(samples) == takes[0] + takes[2]


def test_after_a_hold_the_rest_follows(selenium):
    take = ruler(1, 12800)
    samples, underruns = rendered(selenium, [take], 3001, act="hold and go on", at=6400)
    start = samples.index(take[0])
    played = 6400 - start
    after = samples[6400:]
    assert samples[start:6400] == take[:played]
    # A gap of the cushion, a fade in of 5 ms, and all the rest.
    assert sounding(after)[-(len(take) - played - 120) :] == take[played + 120 :]
    assert underruns == 0


@run_in_pyodide
async def starved(selenium, block, times):
    """A take whose blocks come at these frames of the clock, each after the one before has sounded."""
    import js

    from onetake.browser.player import Player
    from onetake.browser.scope import Scope
    from onetake.browser.take import Take
    from onetake.cues import Token

    context_js = js.OfflineAudioContext.new(1, times[-1] + 24000, 24000)
    scope = Scope()
    player = Player(scope, context_js, context_js.destination, lambda event: None)
    take = Take(Token(1, 0, 1), context_js)
    player.play(take.token, take)
    rendering_js = None
    for at in times:
        if at:
            held_js = context_js.suspend(at / 24000)
            if rendering_js is None:
                rendering_js = context_js.startRendering()
            else:
                context_js.resume()
            await held_js
        block_js = context_js.createBuffer(1, block, 24000)
        block_js.getChannelData(0).fill(0.5)
        take.append(block_js)
    take.end()
    context_js.resume()
    samples = (await rendering_js).getChannelData(0).to_py()
    scope.dispose()
    edges = [i for i in range(len(samples)) if samples[i] and not samples[i - 1]]
    return edges, sum(sample == 0.5 for sample in samples), player.underruns


def test_the_cushion_doubles_with_every_underrun_of_a_take_up_to_a_limit(selenium):
    times = [0, 6400, 12800, 25600, 51200, 102400]  # whole render quanta
    edges, frames, underruns = starved(selenium, 2400, times)
    cushions_s = [(edge - time) / RATE for edge, time in zip(edges, times, strict=True)]
    assert cushions_s == [0.04, 0.08, 0.16, 0.32, 0.64, 0.64]
    assert (frames, underruns) == (6 * 2400, 5)


@run_in_pyodide
async def long_take(selenium, blocks, frames):
    """The nodes in use, and the blocks of the take, once a take of so many blocks is there."""
    import js

    from onetake.browser.player import Player
    from onetake.browser.scope import Scope
    from onetake.browser.take import Take
    from onetake.cues import Token

    context_js = js.OfflineAudioContext.new(1, 24000, 24000)
    scope = Scope()
    player = Player(scope, context_js, context_js.destination, lambda event: None)
    take = Take(Token(1, 0, 1), context_js)
    player.play(take.token, take)
    for _ in range(blocks):
        take.append(context_js.createBuffer(1, frames, 24000))
    take.end()
    nodes, kept = scope.live["node"], len(take.blocks_js)
    scope.dispose()
    return nodes, kept, take.frames


def test_a_long_take_is_scheduled_a_minute_ahead(selenium):
    nodes, _, frames = long_take(selenium, 600, RATE)
    assert 60 <= nodes <= 65
    assert frames == 600 * RATE


def test_many_small_blocks_are_joined(selenium):
    """Each node costs the audio thread, sounding or not: two seconds of small ones, then five a second."""
    nodes, kept, frames = long_take(selenium, 3_000, RATE // 100)
    assert nodes < 2 * 100 + 28 * 5 + 10
    assert kept < nodes
    assert frames == 3_000 * RATE // 100
