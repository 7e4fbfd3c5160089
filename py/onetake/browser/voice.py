"""A voice for streaming replies: cutter, conductor, synthesis and player joined, for one reply at a time.

    voice = Voice(scope, audio_context, speech_url="/speech", voice=None, concurrency=2, audio_tags=False, …)
    voice.begin()                       # a new reply; an older one falls silent
    voice.delta("One moment. "); voice.unit_end(11); voice.delta("Here it is."); voice.final()
    voice.reset()                       # the reply is written anew: silent at once
    voice.inspect()
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onetake import cues
from onetake.browser.ffi import now_ms
from onetake.browser.inspection import Times
from onetake.browser.player import Player
from onetake.browser.scope import Scope
from onetake.browser.synthesis import synthesise
from onetake.browser.take import Take
from onetake.conductor import Conductor
from onetake.cues import Token
from onetake.heard import Pace
from onetake.spoken import for_engine
from onetake.units import Cutter, Unit


class Reading:
    """One reply being read: its cutter, its conductor, its takes and when what happened."""

    def __init__(self, concurrency: int, pace: Pace) -> None:
        self.cutter = Cutter()
        self.conductor = Conductor(concurrency, pace)
        #: By the token each take was asked for under.
        self.takes: dict[Token, Take] = {}
        self.requests: dict[Token, Scope] = {}
        #: By unit.
        self.times: dict[int, Times] = {}


class Voice:
    """Speaks one reply at a time, each unit as one take. Nothing of an older reply or generation is heard.

    `audio_context` gives the AudioContext; it is asked at the first reply, by when there has been a gesture. It
    may still be suspended: the state is then `blocked` as soon as something is due, and playback begins at the
    first sample once it runs.
    `hold(True)` has to stop the context's clock, `hold(False)` to let it run.
    `on_change` is called after anything may have changed, `on_unit` for each change of a unit's state.
    """

    def __init__(
        self,
        scope: Scope,
        audio_context: Callable[[], Any],
        *,
        speech_url: str,
        voice: str | None,
        concurrency: int,
        audio_tags: bool,
        hold: Callable[[bool], object],
        on_change: Callable[[], object],
        on_unit: Callable[[Unit, cues.UnitChanged], object],
    ) -> None:
        self._scope = scope
        self._audio_context = audio_context
        #: The AudioContext, once there has been a reply.
        self.context_js: Any = None
        self._speech_url = speech_url
        self._voice = voice
        self._concurrency = concurrency
        self._audio_tags = audio_tags
        self._hold = hold
        self._on_change = on_change
        self._on_unit = on_unit
        self._pace = Pace()
        self.player: Player | None = None
        self.reading = Reading(concurrency, self._pace)
        self.errors = 0
        # What replies before this one counted.
        self.past_syntheses = 0
        self.past_stale_dropped = 0

    # -- the reply -----------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a new reply. What was still sounding or waiting of the one before is gone."""
        if self.player is None:
            self.context_js = self._audio_context()
            self.player = Player(self._scope, self.context_js, lambda event: self._handle(self.reading, event))
            self._scope.listen(self.context_js, "statechange", self._on_audio_state)
        before = self.reading
        self._handle(before, cues.Dispose())
        self.past_syntheses += before.conductor.syntheses
        self.past_stale_dropped += before.conductor.stale_dropped
        self.reading = Reading(self._concurrency, self._pace)
        self._on_audio_state()
        self._on_change()

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
        kept = len(reading.conductor.entries)
        reading.times = {unit: times for unit, times in reading.times.items() if unit < kept}

    def fail(self, code: str, message: str) -> None:
        """The reply was lost or ended in an error. Units that were closed are still spoken."""
        self.errors += 1
        self._handle(self.reading, cues.ReplyFailed(code, message))

    def _close_units(self) -> None:
        reading = self.reading
        for unit in reading.cutter.take():
            raw = reading.cutter.slice(unit.start, unit.end)
            reading.times[unit.index] = Times(closed=now_ms())
            self._handle(reading, cues.UnitClosed(unit, for_engine(raw, self._audio_tags, unit.start)))

    # -- the listener --------------------------------------------------------------------------

    def stop(self) -> None:
        """Barge-in: silent now, and nothing more of this generation."""
        self._handle(self.reading, cues.Stop())

    @property
    def state(self) -> str:
        """One of design 10's states; `idle` before the first reply."""
        return "idle" if self.player is None else self.reading.conductor.state

    @property
    def heard(self) -> int:
        """Code point of the reply up to which the listener has heard it; 0 if nothing."""
        reading = self.reading
        if self.player is not None and (entry := reading.conductor.sounding) is not None:
            self._handle(reading, cues.PlaybackPosition(entry.token, self.player.position(entry.token)))
        return reading.conductor.heard

    # -- events in, effects out ----------------------------------------------------------------

    def _handle(self, reading: Reading, event: cues.Event) -> None:
        self._note_time(reading, event)
        for effect in reading.conductor.handle(event):
            self._carry_out(reading, effect)
        if reading is self.reading:
            self._on_change()

    def _carry_out(self, reading: Reading, effect: cues.Effect) -> None:
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
            case cues.Hold():
                self._hold(True)
            case cues.Proceed():
                self._hold(False)
            case cues.Forget(token):
                del reading.takes[token]
            case cues.UnitChanged(unit=unit, state=state):
                self.errors += state == "failed"
                if unit < len(reading.conductor.entries):  # a reset may have forgotten it already
                    self._on_unit(reading.conductor.entries[unit].unit, effect)

    def _synthesise(self, reading: Reading, token: Token, text: str) -> None:
        take = reading.takes[token] = Take(token)
        request = reading.requests[token] = self._scope.child()
        controller_js = request.abort_controller()

        async def work() -> None:
            try:
                await synthesise(
                    self._speech_url,
                    text,
                    voice=self._voice,
                    take=take,
                    controller_js=controller_js,
                    context_js=self.context_js,
                    report=lambda event: self._handle(reading, event),
                )
            finally:
                reading.requests.pop(token, None)
                request.dispose()

        reading.times[token.unit].requested = now_ms()

        self._scope.spawn(work())

    def _on_audio_state(self, event_js: Any = None) -> None:
        """Tell the conductor whether the browser lets audio sound. A context the listener held is not blocked."""
        conductor = self.reading.conductor
        blocked = self.context_js.state != "running" and not conductor.paused
        if blocked != conductor.blocked:
            self._handle(self.reading, cues.Blocked() if blocked else cues.Unblocked())

    # -- when what happened --------------------------------------------------------------------

    def _note_time(self, reading: Reading, event: cues.Event) -> None:
        match event:
            case cues.AudioReceived(token) if (times := reading.times.get(token.unit)) and times.first_byte is None:
                times.first_byte = now_ms()
            case cues.PlaybackStarted(token) if (times := reading.times.get(token.unit)) and self.player is not None:
                times.first_sound = times.first_sound or self.player.started_at_ms(token, now_ms())
            case cues.PlaybackEnded(token) if times := reading.times.get(token.unit):
                times.ended = now_ms()
