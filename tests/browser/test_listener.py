"""What the listener and the system do to a voice: pause, skip, replay, volume, devices, media keys, background."""

from __future__ import annotations

import pytest
from pytest_pyodide import run_in_pyodide

from tests.browser.pieces import RATE, joined, paused


@run_in_pyodide
async def held(selenium_ruler, how):
    """A take that is held `how` after some of it has sounded, and let go on."""
    import js
    from pyodide.ffi import to_js
    from ruler import Stage

    devices = js.navigator.mediaDevices
    usual = devices.enumerateDevices
    listed = [{"kind": "audiooutput", "deviceId": "speakers"}, {"kind": "audiooutput", "deviceId": "headphones"}]

    async def dispatch(target, event):
        target.dispatchEvent(js.Event.new(event))

    devices_js = js.eval("(list) => () => Promise.resolve(list.value)")
    box = js.eval("({})")
    box.value = to_js(listed, dict_converter=js.Object.fromEntries)
    devices.enumerateDevices = devices_js(box)
    try:
        async with Stage() as stage:
            stage.plan("One.", take=1, frames=24_000, chunk=100_000)
            stage.say("One.")
            if how != "before its first sample":
                await stage.until_playing(seconds=0.1)
            match how:
                case "by the listener" | "before its first sample":
                    stage.voice.pause()
                case "by a phone call":
                    js.ruler.interrupt()
                case "by the loss of a device":
                    box.value = to_js(listed[:1], dict_converter=js.Object.fromEntries)
                    await dispatch(devices, "devicechange")
                case "by an error of the device":
                    await dispatch(stage.context, "error")
            await stage.until("paused")
            if how == "by a phone call":
                await stage.until(lambda: stage.context.state != "running")
            else:
                await stage.advance(0.3)
            await stage.until(lambda: stage.voice.reading.conductor.entries[0].all_received)
            at, state = stage.frame(), stage.voice.state
            stage.voice.resume()
            await stage.until("idle")
            return await stage.pieces(), at, state
    finally:
        devices.enumerateDevices = usual


def test_a_phone_call_is_a_pause_in_which_no_sample_is_lost(selenium_ruler):
    """What was still on its way to the ear when the device stopped sounds again."""
    pieces, _, state = held(selenium_ruler, "by a phone call")
    assert state == "paused"
    (_, first, before, _), *_, (_, again, after, _) = (piece for piece in pieces if piece[2] > 239)
    assert first == 0
    assert before - 0.1 * RATE < again <= before + 1  # the one at the volume of 0 in the fade
    assert (again + after) % 8_000 == 24_000 % 8_000


@pytest.mark.parametrize(
    "how",
    [
        "by the listener",
        "before its first sample",
        "by the loss of a device",
        "by an error of the device",
    ],
)
def test_a_pause_goes_on_at_the_same_sample(selenium_ruler, how):
    pieces, at, state = held(selenium_ruler, how)
    stretches = paused(pieces)
    assert state == "paused"
    assert stretches[-1][0] + stretches[-1][1] == 24_000
    assert stretches[-1][2] > at
    if how == "before its first sample":
        assert len(stretches) == 1
    else:
        (_, frames, start), _ = stretches
        assert start + frames + 120 < at - 0.2 * RATE


@run_in_pyodide
async def held_back(selenium_ruler):
    """A context that the browser does not let run; it is asked to again only by the gesture, which is not ours."""
    import js
    from ruler import Stage

    async with Stage() as stage:
        await stage.context.suspend()
        stage.context.resume = js.eval("() => { ruler.tried = (ruler.tried ?? 0) + 1; return new Promise(() => {}); }")
        stage.plan("One.", take=1, frames=12_000, chunk=2_400)
        stage.say("One.")
        await stage.until(lambda: stage.voice.reading.conductor.entries[0].all_received)
        states, tried = [stage.voice.state], js.eval("ruler.tried ?? 0")
        stage.voice.pause()
        states.append(stage.voice.state)
        stage.voice.resume()
        await stage.until("blocked")
        js.Reflect.deleteProperty(stage.context, "resume")
        heard = stage.voice.heard
        await stage.context.resume()
        await stage.until("idle")
        return await stage.pieces(), states, tried, heard


def test_a_context_that_is_held_back_is_a_state_in_which_nothing_is_lost_or_retried(selenium_ruler):
    pieces, states, tried, heard = held_back(selenium_ruler)
    assert [piece[:3] for piece in pieces] == [[1, 0, 12_000]]
    assert (states, tried, heard) == (["blocked", "paused"], 0, 0)


@run_in_pyodide
async def moved(selenium_ruler, act, unit=None):
    """Two units; amid the second, or the first for a skip, the listener moves."""
    from ruler import Stage

    async with Stage() as stage:
        stage.plan("One.", take=1, frames=72_000 if act == "skip" else 24_000, chunk=100_000)
        stage.plan("Two.", take=2, frames=24_000, chunk=100_000)
        stage.say("One.", "Two.")
        await stage.until_playing(0 if act == "skip" else 1, seconds=0.05)
        at = stage.frame()
        stage.voice.skip() if act == "skip" else stage.voice.replay(unit)
        await stage.until("idle")
        return await stage.pieces(), at, stage.ruler.asked.to_py()


def test_a_skip_goes_to_the_next_unit_at_once(selenium_ruler):
    pieces, at, _ = moved(selenium_ruler, "skip")
    one, two = (piece for piece in pieces if piece[2] > 239)  # the rest is fading
    assert (one[:2], two[:3]) == ([1, 0], [2, 0, 24_000])
    assert two[3] < at + RATE < one[3] + 72_000


@pytest.mark.parametrize(("unit", "again"), [(0, [1, 2]), (1, [2]), (None, [2])])
def test_a_replay_sounds_from_the_start_and_is_not_asked_for_again(selenium_ruler, unit, again):
    pieces, at, asked = moved(selenium_ruler, "replay", unit)
    assert asked == ["One.", "Two."]
    whole = [piece[:3] for piece in pieces if piece[3] > at and piece[2] > 239]  # the rest is fading
    assert whole == [[take, 0, 24_000] for take in again]


@run_in_pyodide
async def kept(selenium_ruler, kept_s):
    """Three units of a fifth of a second, while so much is kept; which replays are refused, and what is still here."""
    from ruler import Stage

    from onetake.browser import shelf

    usual, shelf.KEPT_S = shelf.KEPT_S, kept_s
    try:
        async with Stage() as stage:
            for take, text in enumerate(("One.", "Two.", "Three.")):
                stage.plan(text, take=take, frames=4_800, chunk=100_000)
            stage.say("One.", "Two.", "Three.")
            await stage.until("idle")
            refused = []
            for unit in (0, 1, 2):
                try:
                    stage.voice.replay(unit)
                    await stage.until("idle")
                except shelf.SoundLetGo as error:
                    refused.append([unit, str(error)])
            seen = stage.inspect()
            return refused, [unit["frames_received"] for unit in seen["units"]], len(await stage.pieces()), stage.live()
    finally:
        shelf.KEPT_S = usual


def test_the_oldest_audio_is_let_go_when_there_is_much_of_it_and_a_replay_of_it_says_so(selenium_ruler):
    refused, frames, sounded, live = kept(selenium_ruler, 0.5)
    assert [unit for unit, _ in refused] == [0]
    assert "no longer kept" in refused[0][1]
    assert frames == [4_800] * 3
    assert sounded == 3 + 2
    assert live["live_buffers"] == 2


def test_the_last_take_is_kept_however_long_it_is(selenium_ruler):
    refused, _, _, live = kept(selenium_ruler, 0.1)
    assert [unit for unit, _ in refused] == [0, 1]
    assert live["live_buffers"] == 1


@run_in_pyodide
async def loudness(selenium_ruler, before, during):
    """The loudest sample while the listener's settings are those of `before`, and after those of `during`."""
    import js
    from ruler import Stage

    async with Stage() as stage:
        for name, value in before.items():
            getattr(stage.voice, name)(value)
        full = js.Int16Array.new(24_000).fill(16_384)  # half of what can be
        stage.plan("One.", sound=full.buffer, chunk=100_000)
        stage.say("One.")
        await stage.until_playing(seconds=0.1)
        for name, value in during.items():
            getattr(stage.voice, name)(value)
        at = stage.frame()
        await stage.until("idle")
        await stage.advance(0.05)
        loudest = js.eval(
            """(from, to) => Math.max(...sound.blocks.filter(([frame]) => frame >= from && frame < to)
                .map(([, samples]) => Math.max(...samples)))"""
        )
        return 2 * loudest(0, at), 2 * loudest(at + 1_000, at + 5_000), stage.inspect()["heard"]


@pytest.mark.parametrize(
    ("before", "during", "loud"),
    [
        ({}, {}, (1, 1)),
        ({"set_volume": 0.5}, {}, (0.5, 0.5)),
        ({}, {"set_volume": 0.25}, (1, 0.25)),
        ({}, {"mute": True}, (1, 0)),
        ({"mute": True, "set_volume": 0.5}, {"mute": False}, (0, 0.5)),
    ],
    ids=["as it is", "quieter", "quieter amid speech", "muted amid speech", "muted and back"],
)
def test_volume_and_mute_change_the_sound_and_nothing_else(selenium_ruler, before, during, loud):
    *loudest, heard = loudness(selenium_ruler, before, during)
    assert loudest == pytest.approx(loud, abs=0.02)
    assert heard == 4


@run_in_pyodide
async def asked_at(selenium_ruler, speeds):
    """The requests for units that are asked for at these speeds."""
    from ruler import Stage

    async with Stage() as stage:
        for number, speed in enumerate(speeds):
            stage.voice.set_speed(speed)
            stage.say(f"Unit {number}.", final=False)
            await stage.until_asked(f"Unit {number}.")
        return stage.ruler.bodies.to_py()


def test_the_engine_is_asked_for_the_speed(selenium_ruler):
    bodies = asked_at(selenium_ruler, [1, 1.5])
    assert bodies == [{"text": "Unit 0."}, {"text": "Unit 1.", "speed": 1.5}]


@run_in_pyodide
async def refused(selenium_ruler, act, *arguments):
    """What the voice says to a use that cannot be."""
    import inspect

    from ruler import Stage

    from onetake.errors import UsageError

    async with Stage() as stage:
        try:
            result = getattr(stage.voice, act)(*arguments)
            if inspect.isawaitable(result):
                await result
        except UsageError as error:
            return str(error)


@pytest.mark.parametrize(
    ("act", "argument", "says"),
    [
        ("set_volume", 1.5, "from 0 .* to 1"),
        ("set_speed", 9, "0.5 to 2"),
        ("set_output_device", "no such device", "deviceId"),
        ("replay", 7, "no unit 7"),
    ],
)
def test_a_wrong_use_is_refused_in_words(selenium_ruler, act, argument, says):
    with pytest.raises(AssertionError, match=says):
        raise AssertionError(refused(selenium_ruler, act, argument))


@run_in_pyodide
async def media_keys(selenium_ruler):
    """What the system's media controls show and do while a unit is spoken, and what they hold afterwards."""
    import js
    from ruler import Stage

    js.eval(
        """{ self.keys = {}; const session = navigator.mediaSession;
        session.setActionHandler = (action, act) => { if (act) keys[action] = act; else delete keys[action]; }; }"""
    )
    session = js.navigator.mediaSession
    shown = []

    def show():
        shown.append([session.playbackState, getattr(session.metadata, "title", None), js.Object.keys(js.keys).to_py()])

    async with Stage(title="A reply") as stage:
        stage.plan("One.", take=1, frames=48_000, chunk=100_000)
        show()
        stage.say("One.")
        await stage.until_playing(seconds=0.05)
        show()
        js.keys.pause(None)
        await stage.until("paused")
        show()
        js.keys.play(None)
        await stage.until("speaking")
        show()
        js.keys.stop(None)
        await stage.until("idle")
        show()
    js.Reflect.deleteProperty(session, "setActionHandler")
    return shown


def test_the_media_keys_pause_resume_and_stop_and_hold_nothing_afterwards(selenium_ruler):
    keys = ["play", "pause", "stop"]
    assert media_keys(selenium_ruler) == [
        ["none", None, []],
        ["playing", "A reply", keys],
        ["paused", "A reply", keys],
        ["playing", "A reply", keys],
        ["none", None, []],
    ]


@run_in_pyodide
async def in_the_background(selenium_ruler):
    """Two units, the second streaming, on a page whose timers fire once a second as those of a hidden page."""
    import js
    from ruler import Stage

    js.eval(
        """{ const { setTimeout, setInterval } = window;
        self.timers = { setTimeout, setInterval };
        window.setTimeout = (act, ms, ...rest) => setTimeout(act, Math.max(ms, 1000), ...rest);
        window.setInterval = (act, ms, ...rest) => setInterval(act, Math.max(ms, 1000), ...rest); }"""
    )
    try:
        async with Stage() as stage:
            stage.plan("One.", take=1, frames=24_000, chunk=100_000)
            stage.plan("Two.", take=2, frames=24_000, chunk=100_000, pauses=[[12_000, 0.3]])
            stage.say("One.", "Two.")
            await stage.until("idle")
            return await stage.pieces(), stage.inspect()["heard"]
    finally:
        js.eval("Object.assign(window, timers); delete self.timers;")


def test_a_hidden_page_speaks_on_without_a_gap(selenium_ruler):
    pieces, heard = in_the_background(selenium_ruler)
    assert joined(pieces) == [(1, 0, 24_000), (2, 0, 24_000)]
    assert pieces[1][3] == pieces[0][3] + 24_000
    assert heard == 8
