"""A voice for streaming replies: cutter, conductor, synthesis and player joined, for one reply at a time.

    voice = Voice(scope, audio_context, speech_url="/speech", voice=None, concurrency=2, audio_tags=False, …)
    voice.begin()                       # a new reply; an older one falls silent
    voice.delta("One moment. "); voice.unit_end(11); voice.delta("Here it is."); voice.final()
    voice.pause(); voice.resume(); voice.skip(); voice.replay(0); voice.set_volume(0.5)
    voice.reset()                       # the reply is written anew: silent at once
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from onetake import cues
from onetake.browser.devtools import DevTools
from onetake.browser.ffi import now_ms, web
from onetake.browser.inspection import Times
from onetake.browser.link import Link
from onetake.browser.media import MediaSession
from onetake.browser.news import News
from onetake.browser.output import Output
from onetake.browser.player import TICK_MS, Player
from onetake.browser.scope import Scope
from onetake.browser.spoken_reply import SpokenReply
from onetake.browser.synthesis import Order, synthesise
from onetake.browser.take import Take
from onetake.cues import Token
from onetake.errors import UsageError
from onetake.heard import Pace
from onetake.spoken import for_engine
from onetake.trace import Trace
from onetake.units import Unit

#: A take may last so much longer than expected before it is cut off: a part for slow voices, and some for short texts.
LONGEST_TIMES, LONGEST_EXTRA_S = 10, 60.0


class Voice:
    """Speaks one reply at a time, each unit as one take. Nothing of an older reply or generation is heard.

    `audio_context` gives the AudioContext; it is asked at the first reply, by when there has been a gesture. It
    may still be suspended: the state is then `blocked` as soon as something is due, and playback begins at the
    first sample once it runs.
    `token` is what the speech server wants of pages that are not its own, if it does.
    `speeds` are the slowest and the fastest the voice speaks (`GET /voices`).
    `on_change` is called after anything may have changed, `on_unit` for each change of a unit's state, `on_heard`
    with the heard position when it has moved, at most every 50 ms.
    `title` is what the system's media controls show; their Stop calls `on_stop`, or `stop` if there is none.
    """

    def __init__(
        self,
        scope: Scope,
        audio_context: Callable[[], Any],
        *,
        speech_url: str,
        voice: str | None,
        token: str | None = None,
        concurrency: int,
        audio_tags: bool,
        speeds: tuple[float, float] = (0.5, 2.0),
        title: str = "Onetake",
        on_change: Callable[[], object] = lambda: None,
        on_unit: Callable[[Unit, cues.UnitChanged], object] = lambda _unit, _change: None,
        on_heard: Callable[[int], object] = lambda _heard: None,
        on_stop: Callable[[], object] | None = None,
    ) -> None:
        self._scope = scope.child()
        self._audio_context = audio_context
        #: The AudioContext, once there has been a reply.
        self.context_js: Any = None
        self._speech_url = speech_url
        self._seeking = 0
        self._voice = voice
        self._token = token
        self._concurrency = concurrency
        self._audio_tags = audio_tags
        self.speeds = speeds
        self._on_change = on_change
        self._on_unit = on_unit
        self._media = MediaSession(
            self._scope, title, play=self.resume, pause=self.pause, stop=on_stop or self.stop
        )
        self.player: Player | None = None
        self.output = Output(self._scope, self._on_lost_device, self._on_audio_state)
        self.speed = 1.0
        self._pace = Pace()
        self.reading = SpokenReply(concurrency, self._pace)
        self._events: deque[tuple[SpokenReply, cues.Event]] = deque()
        self._handling = False
        self._heard_news = News(self._scope, TICK_MS, on_heard)
        #: Everything that came in and what followed, since the first reply.
        self.trace = Trace()
        self._devtools = DevTools()
        self.errors = 0
        # What replies before this one counted.
        self.past_syntheses = 0
        self.past_stale_dropped = 0

    # -- the reply -----------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a new reply. What was still sounding or waiting of the one before is gone."""
        if self.player is None:
            self._open_audio()
        before = self.reading
        self._handle(before, cues.Dispose())
        self.past_syntheses += before.conductor.syntheses
        self.past_stale_dropped += before.conductor.stale_dropped
        self.reading = SpokenReply(self._concurrency, self._pace)
        self.trace.begin(self._concurrency)
        self._on_audio_state()
        self._changed()

    def _open_audio(self) -> None:
        context_js = self.context_js = self._audio_context()
        self.output.open(context_js)
        self.player = Player(
            self._scope,
            context_js,
            self.output.node_js,
            report=lambda event: self._handle(self.reading, event),
        )
        self._scope.listen(context_js, "statechange", self._on_audio_state)

    def delta(self, text: str) -> None:
        """Add text to the reply."""
        self.reading.cutter.feed(text)
        self._close_units()

    def unit_end(self, at: int) -> None:
        """A tool call begins at code point `at`: the text before it is settled."""
        self.reading.cutter.end_unit(at)
        self._close_units()

    def final(self) -> None:
        """The reply is whole."""
        self.reading.cutter.finish()
        self._close_units()
        self._handle(self.reading, cues.ReplyFinal())

    def reset(self, at: int = 0) -> None:
        """The reply is written anew from code point `at`; what was said of the rest falls silent now."""
        reading = self.reading
        reading.cutter.reset(at)
        self._handle(reading, cues.Reset(reading.cutter.generation, at))

    def fail(self, code: str, message: str) -> None:
        """The reply was lost or ended in an error. Units that were closed are still spoken."""
        self.errors += 1
        self._handle(self.reading, cues.ReplyFailed(code, message))

    def go_on(self) -> None:
        """The reply that was lost is sought again: more of it may come."""
        self._handle(self.reading, cues.ReplyResumed())

    def _close_units(self) -> None:
        reading = self.reading
        for unit in reading.cutter.take():
            raw = reading.cutter.slice(unit.start, unit.end)
            self._handle(reading, cues.UnitClosed(unit, for_engine(raw, self._audio_tags, unit.start)))

    # -- the listener --------------------------------------------------------------------------

    def stop(self) -> None:
        """Barge-in: silent now, and nothing more of this generation."""
        self._catch_up()
        self._handle(self.reading, cues.Stop())

    def pause(self) -> None:
        """Hold the sound; `resume` goes on at the same sample. Does nothing while paused."""
        self._handle(self.reading, cues.Pause())
        self._on_audio_state()

    def resume(self) -> None:
        """Go on after `pause`, or after the system or a lost device paused the voice."""
        if self.context_js is not None and self.context_js.state != "running":
            web().letRun(self.context_js)
        self._handle(self.reading, cues.Resume())
        self._on_audio_state()

    def skip(self) -> None:
        """Leave the unit that sounds, or is next to, and go on with the one after it."""
        self._catch_up()
        self._handle(self.reading, cues.Skip())

    def replay(self, unit: int | None = None) -> None:
        """Sound a unit again from its start; without a number, the one that sounds or was the last to.

        Raises UsageError if there is no such unit or it has no audio, and SoundLetGo, which is one, if its audio is
        no longer kept.
        """
        self._catch_up()
        if unit is None:
            sounded = [entry.unit.index for entry in self.reading.conductor.entries if entry.played_s > 0]
            unit = sounded[-1] if sounded else 0
        self.reading.check_kept(unit)
        self._handle(self.reading, cues.Replay(unit))

    def set_volume(self, volume: float) -> None:
        """From 0 to 1, from now on and for every reply. Raises UsageError for anything else."""
        self.output.set_volume(volume)

    def mute(self, on: bool = True) -> None:
        """Silence the output while the voice goes on, or bring it back."""
        self.output.mute(on)

    def set_speed(self, speed: float) -> None:
        """Have the engine speak at `speed` times its usual pace, in all units that are asked for from now on."""
        slowest, fastest = self.speeds
        if not slowest <= speed <= fastest:
            raise UsageError(f"the speed is {speed!r}: this voice speaks at {slowest:g} to {fastest:g}, 1 being usual")
        if speed != self.speed:
            self.speed = speed
            self._pace = Pace()  # what was learned holds for the other speed

    async def set_output_device(self, device: str) -> None:
        """Play on the device of that id (of `enumerateDevices`), "" for the browser's own choice.

        Raises UsageError where the browser has no such device, or cannot choose one.
        """
        await self.output.set_device(device)

    def dispose(self) -> None:
        """The end: silent now, everything released, and no call of `on_…` any more."""
        self._handle(self.reading, cues.Dispose())
        self._scope.dispose()

    @property
    def state(self) -> str:
        """One of design 10's states; `idle` before the first reply."""
        return "idle" if self.player is None else self.reading.conductor.state

    @property
    def link(self) -> Link:
        """Whether the speech server does not answer and is being sought."""
        return "reconnecting" if self._seeking else "live"

    @property
    def heard(self) -> int:
        """Code point of the reply up to which the listener has heard it by now; 0 if nothing."""
        self._catch_up()
        return self.reading.conductor.heard

    # -- events in, effects out ----------------------------------------------------------------

    def _catch_up(self) -> None:
        """Have the conductor know what has sounded by now, not at the last tick."""
        if self.player is not None:
            self.player.tick()

    def _handle(self, reading: SpokenReply, event: cues.Event) -> None:
        """Take one event in. One that comes of carrying out another's effects waits until those are done."""
        self._events.append((reading, event))
        if self._handling:
            return
        self._handling = True
        try:
            while self._events:
                reading, event = self._events.popleft()
                self._note_time(reading, event)
                effects = reading.conductor.handle(event)
                if isinstance(event, cues.Reset):
                    reading.forget_times()
                self.trace.note(now_ms(), event, effects)
                for effect in effects:
                    self._carry_out(reading, effect)
                self._devtools.note(reading, event, effects)  # last: it takes time, and silence does not wait
        finally:
            self._handling = False
        self._changed()

    def _changed(self) -> None:
        if self._scope.disposed:
            return
        self._media.show(self.state)
        self._devtools.show(self.state)
        self._heard_news.tell(self.reading.conductor.heard)
        self._on_change()

    def _carry_out(self, reading: SpokenReply, effect: cues.Effect) -> None:
        player = self.player
        if player is None:
            return  # before the first reply there is nothing to do it to
        match effect:
            case cues.Synthesise(token, text):
                self._synthesise(reading, token, text)
            case cues.AbortSynthesis(token):
                reading.requests.pop(token).dispose()  # closes the connection
            case cues.Play(token, take):
                player.play(token, reading.takes[take])
                self._on_audio_state()
            case cues.Withdraw(token):
                player.withdraw(token)
            case cues.Silence():
                player.silence()
            case cues.Hold() | cues.Proceed():
                self._hold_or_proceed(player)
            case cues.Forget(token):
                reading.shelf.take_down(reading.takes.pop(token))
                if request := reading.requests.pop(token, None):  # the server has not closed yet
                    request.dispose()
            case cues.UnitChanged(unit=unit, state=state):
                self.errors += state == "failed"
                if unit < len(reading.conductor.entries):  # a reset may have forgotten it already
                    reading.shelve(unit)
                    self._on_unit(reading.conductor.entries[unit].unit, effect)

    def _synthesise(self, reading: SpokenReply, token: Token, text: str) -> None:
        take = reading.takes[token] = Take(token, self.context_js)
        request = reading.requests[token] = self._scope.child()
        order = Order(self._speech_url, text, self._voice, self.speed, self._token)
        longest_s = LONGEST_EXTRA_S + LONGEST_TIMES * self._pace.seconds(text)

        def report(event: cues.Event) -> None:
            self._handle(reading, event)

        def on_link(link: Link) -> None:
            self._seeking += 1 if link == "reconnecting" else -1
            self._changed()

        async def work() -> None:
            try:
                await synthesise(order, take, self.context_js, request, report, on_link, longest_s=longest_s)
            except Exception:
                take.end()
                report(cues.SynthesisFailed(token, "internal", "Onetake stumbled over this take; please report it"))
                raise
            finally:
                if reading.requests.pop(token, None):
                    request.dispose()

        reading.times[token.unit].requested = now_ms()
        self._scope.spawn(work())

    # -- the audio device ----------------------------------------------------------------------

    def _on_audio_state(self, event_js: Any = None) -> None:
        """Take note of whether audio may sound. A voice that the listener paused or moves is not blocked."""
        if self.player is None:
            return
        conductor = self.reading.conductor
        if self.context_js.state == "interrupted" and self.state not in ("idle", "failed"):  # a call comes in
            self._handle(self.reading, cues.Pause())
        self._hold_or_proceed(self.player)
        blocked = self.context_js.state != "running" and not conductor.paused and not self.output.moving
        if blocked != conductor.blocked:
            self._handle(self.reading, cues.Blocked() if blocked else cues.Unblocked())

    def _hold_or_proceed(self, player: Player) -> None:
        player.hold(self.reading.conductor.paused or self.context_js.state != "running")

    def _on_lost_device(self) -> None:
        if self.state not in ("idle", "failed"):
            self.pause()

    # -- when what happened --------------------------------------------------------------------

    def _note_time(self, reading: SpokenReply, event: cues.Event) -> None:
        match event:
            case cues.UnitClosed(unit):
                reading.times[unit.index] = Times(closed=now_ms())
            case cues.AudioReceived(token) if (times := reading.times.get(token.unit)) and times.first_byte is None:
                times.first_byte = now_ms()
            case cues.PlaybackStarted(token) if (times := reading.times.get(token.unit)) and self.player is not None:
                times.first_sound = times.first_sound or self.player.started_at_ms(token, now_ms())
            case cues.PlaybackEnded(token) if times := reading.times.get(token.unit):
                times.ended = now_ms()
