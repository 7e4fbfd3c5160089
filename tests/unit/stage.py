"""A stage for the conductor: a cutter before it, a model engine and a model player behind it.

    stage = Stage().reply("One.", "Two.")       # two units, final
    stage.audio(0, 1.0)
    stage.play(0.5)
    stage.stop()
    stage.sound                                 # [("One.", 0.5)]: what the listener heard

Whatever a test does, the stage checks with every event what the conductor promises for all of them. It keeps
its own books for that, from the events and effects alone. Seconds in tests are sums of powers of two, so that
they compare exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from onetake import Cutter, Unit, UsageError, cues, for_engine
from onetake.conductor import Conductor
from onetake.cues import Effect, Event, Token
from onetake.heard import Pace

#: The life of a unit, written down a second time: what may follow what.
LIFE = {
    None: {"queued"},
    "queued": {"synthesising", "playing", "done", "dropped"},
    "synthesising": {"playing", "done", "failed", "dropped"},
    "playing": {"queued", "done", "failed", "dropped"},
    "done": {"queued"},
    "failed": {"queued"},
    "dropped": {"queued"},
}
ENDS = {"done", "failed", "dropped"}

SYNTHESIS = (
    cues.SynthesisStarted,
    cues.AudioReceived,
    cues.AlignmentReceived,
    cues.SynthesisDone,
    cues.SynthesisFailed,
)
#: What may drop a unit: given up by the listener, by the reply, or for good.
ENDINGS = (cues.Stop, cues.Skip, cues.Replay, cues.Reset, cues.Dispose)


def closed(count: int, generation: int = 1) -> list[cues.UnitClosed]:
    """The events of a reply of `count` short units."""
    return [
        cues.UnitClosed(
            Unit(generation, index, 2 * index, 2 * index + 2, "a.", None),
            for_engine("a.", audio_tags=True, start=2 * index),
        )
        for index in range(count)
    ]


@dataclass(eq=False)
class Take:
    """The audio of one unit as the engine delivers it."""

    unit: int
    text: str
    received_s: float = 0.0
    ended: bool = False  # no more will come
    whole: bool = False  # it came to its end marker
    aborted: bool = False
    played_out: bool = False
    discarded: bool = False  # its unit went with a reset


@dataclass(eq=False)
class Performance:
    """One take on the player's timeline."""

    token: Token
    take: Take
    started: bool = False
    played_s: float = 0.0


class Stage:
    """Hands events to a conductor, carries its effects out, and holds it to its promises."""

    def __init__(self, concurrency: int = 1, *, audio_tags: bool = True, pace: Pace | None = None) -> None:
        self.conductor = Conductor(concurrency, pace)
        self.cutter = Cutter()
        self.history: list[tuple[Event, list[Effect] | None]] = []  # None: refused
        self.asked: list[str] = []
        self.running: list[Token] = []
        self.takes: dict[Token, Take] = {}
        self.performances: dict[Token, Performance] = {}
        self.timeline: list[Performance] = []  # of the player
        self.reports: list[Event] = []  # of the player, not told yet
        self.units: list[Unit] = []
        self.held = self.blocked = self.stopped = self.final = self.failed = self.disposed = False
        self._audio_tags = audio_tags
        self._generation = 1
        self._sounded: list[Performance] = []
        self._told: list[Token] = []  # the timeline as far as the player has told
        self._sounding: Token | None = None
        self._life: dict[tuple[int, int], str] = {}
        self._last_sounding = -1
        self._asked_units: dict[int, Token] = {}
        self._all_takes: dict[Token, Take] = {}
        self._heard = 0
        self._stale = 0

    # -- the reply -----------------------------------------------------------------------------

    def reply(self, *stretches: str, final: bool = True) -> Stage:
        """A reply with a tool call after each stretch but the last, and its end."""
        for place, stretch in enumerate(stretches):
            self.write(stretch)
            if place < len(stretches) - 1 or not final:
                self.tool_call()
        if final:
            self.end()
        return self

    def write(self, text: str) -> None:
        self.cutter.feed(text)
        self._close_units()

    def tool_call(self) -> None:
        self.cutter.end_unit(self.cutter.length)
        self._close_units()

    def end(self) -> None:
        self.cutter.finish()
        self._close_units()
        self.handle(cues.ReplyFinal())

    def break_off(self) -> None:
        self.handle(cues.ReplyFailed("stream_lost", "the connection was lost"))

    def reset(self, at: int = 0) -> list[Effect]:
        self.cutter.reset(at)
        return self.handle(cues.Reset(self.cutter.generation, at))

    def _close_units(self) -> None:
        for unit in self.cutter.take():
            raw = self.cutter.slice(unit.start, unit.end)
            self.handle(cues.UnitClosed(unit, for_engine(raw, self._audio_tags, unit.start)))

    # -- the engine: each for the unit's latest request, or for a token --------------------------

    def asked_for(self, unit: int | Token) -> Token:
        """The token of the latest request for a unit."""
        if isinstance(unit, Token):
            return unit
        return next(token for token in reversed(self._all_takes) if token.unit == unit)

    def answer(self, unit: int | Token) -> list[Effect]:
        return self.handle(cues.SynthesisStarted(self.asked_for(unit)))

    def audio(self, unit: int | Token, received_s: float) -> list[Effect]:
        return self.handle(cues.AudioReceived(self.asked_for(unit), received_s))

    def align(self, unit: int | Token, text: str, *times: float) -> list[Effect]:
        """`times` are the starts of the characters, and the end of the last."""
        return self.handle(cues.AlignmentReceived(self.asked_for(unit), list(text), times[:-1], times[1:]))

    def complete(self, unit: int | Token, received_s: float = 0.0) -> list[Effect]:
        return self.handle(cues.SynthesisDone(self.asked_for(unit), received_s))

    def fail(self, unit: int | Token) -> list[Effect]:
        return self.handle(cues.SynthesisFailed(self.asked_for(unit), "engine_failed", "out of breath"))

    # -- the player ------------------------------------------------------------------------------

    def placed(self, unit: int | Token) -> Token:
        """The token of the latest performance of a unit."""
        if isinstance(unit, Token):
            return unit
        return next(token for token in reversed(self.performances) if token.unit == unit)

    def started(self, unit: int | Token) -> list[Effect]:
        return self.handle(cues.PlaybackStarted(self.placed(unit)))

    def position(self, unit: int | Token, played_s: float) -> list[Effect]:
        return self.handle(cues.PlaybackPosition(self.placed(unit), played_s))

    def ended(self, unit: int | Token) -> list[Effect]:
        return self.handle(cues.PlaybackEnded(self.placed(unit)))

    def play(self, seconds: float = math.inf, *, tell: bool = True) -> None:
        """Let the audio clock run, as far as there is audio. Without `tell` the reports wait in `reports`."""
        report = self.handle if tell else self.reports.append
        while self.timeline and not (self.held or self.blocked):
            head = self.timeline[0]
            step = min(seconds, head.take.received_s - head.played_s)
            if step > 0:
                assert not head.take.discarded, "a unit that a reset discarded sounds"
                seconds -= step
                head.played_s += step
                if not head.started:
                    head.started = True
                    self._sounded.append(head)
                    report(cues.PlaybackStarted(head.token))
                report(cues.PlaybackPosition(head.token, head.played_s))
            if self.timeline and self.timeline[0] is not head:
                continue
            if not self.timeline or not head.take.ended or head.played_s < head.take.received_s:
                return
            self.timeline.remove(head)
            if head.started:
                report(cues.PlaybackEnded(head.token))

    def tell(self) -> None:
        """Hand over the reports that wait."""
        while self.reports:
            self.handle(self.reports.pop(0))

    @property
    def sound(self) -> list[tuple[str, float]]:
        """What the listener heard: for each performance its text and how many seconds of it."""
        return [(performance.take.text, performance.played_s) for performance in self._sounded]

    def clear_sound(self) -> None:
        self._sounded.clear()

    # -- the listener ------------------------------------------------------------------------------

    def stop(self) -> list[Effect]:
        return self.handle(cues.Stop())

    def pause(self) -> list[Effect]:
        return self.handle(cues.Pause())

    def resume(self) -> list[Effect]:
        return self.handle(cues.Resume())

    def skip(self) -> list[Effect]:
        return self.handle(cues.Skip())

    def replay(self, unit: int) -> list[Effect]:
        return self.handle(cues.Replay(unit))

    def block(self) -> list[Effect]:
        self.blocked = True
        return self.handle(cues.Blocked())

    def unblock(self) -> list[Effect]:
        self.blocked = False
        return self.handle(cues.Unblocked())

    def dispose(self) -> list[Effect]:
        return self.handle(cues.Dispose())

    # -- what tests look at --------------------------------------------------------------------------

    @property
    def states(self) -> list[str]:
        return [entry.state.value for entry in self.conductor.entries]

    @property
    def state(self) -> str:
        return self.conductor.state

    @property
    def heard(self) -> int:
        return self.conductor.heard

    @property
    def stale(self) -> int:
        return self.conductor.stale_dropped

    def settle(self) -> None:
        """From here on the world answers everything honestly, until nothing more happens."""
        if self.held:
            self.resume()
        if self.blocked:
            self.unblock()
        for _ in range(4 * len(self.units) + 4):
            self.tell()
            for token in self.running[:]:
                self.audio(token, self._all_takes[token].received_s + 0.5)
                self.complete(token)
            self.play()
        assert not self.running
        assert not self.timeline
        assert set(self.states) <= ENDS, f"a unit hangs: {self.states}"

    def assert_repeats(self) -> None:
        """The same events, told to another conductor, have the same effects."""
        again = Conductor(self.conductor.concurrency)
        for event, effects in self.history:
            try:
                assert again.handle(event) == effects
            except UsageError:
                assert effects is None

    # -- the books -------------------------------------------------------------------------------

    def handle(self, event: Event) -> list[Effect]:
        current = self._is_current(event)
        try:
            effects = self.conductor.handle(event)
        except UsageError:
            self.history.append((event, None))
            self._check()  # a refused event changes nothing
            raise
        self.history.append((event, effects))
        if current:
            self._note(event, effects)
        else:
            self._stale += 1
            assert effects == [], f"{event} is not current and has effects"
        for effect in effects:
            self._carry_out(effect)
            if isinstance(effect, cues.UnitChanged):
                self._check_change(effect, event)
        self._check()
        return effects

    def _is_current(self, event: Event) -> bool:
        if self.disposed:
            return False
        if isinstance(event, SYNTHESIS):
            return event.token in self.running
        match event:
            case cues.UnitClosed(unit):
                return (unit.generation, unit.index) == (self._generation, len(self.units))
            case cues.Reset(generation):
                return generation > self._generation
            case cues.PlaybackStarted(token):
                waits = token in self._told and token != self._sounding
                return waits and self.performances[token].take.received_s > 0
            case cues.PlaybackPosition(token):
                return token == self._sounding
            case cues.PlaybackEnded(token):
                return token in self._told and self.performances[token].take.ended
        return True

    def _note(self, event: Event, effects: list[Effect]) -> None:
        match event:
            case cues.UnitClosed(unit):
                self.units.append(unit)
            case cues.Reset(generation, at):
                self._discard_from(sum(unit.end <= at for unit in self.units), generation)
                self._heard = min(self._heard, at)
                self.stopped = self.final = self.failed = False
            case cues.ReplyFinal():
                self.final, self.failed = True, False
            case cues.ReplyFailed():
                self.failed |= not (self.final or self.stopped)
            case cues.Stop():
                self.stopped = True
            case cues.AudioReceived(token, received_s):
                self._receive(token, received_s)
            case cues.SynthesisDone(token, received_s):
                self._receive(token, received_s)
                self._all_takes[token].whole = True
                self._end_take(token)
            case cues.SynthesisFailed(token):
                self._end_take(token)
            case cues.PlaybackStarted(token):
                self._sound(token)
            case cues.PlaybackEnded(token):
                if token != self._sounding:
                    self._sound(token)
                self._told.remove(token)
                self._sounding = None
                self.performances[token].take.played_out = True
            case cues.Replay(unit) if cues.Silence() in effects:
                self._last_sounding = unit - 1
            case cues.Dispose():
                self.disposed = True

    def _receive(self, token: Token, received_s: float) -> None:
        take = self._all_takes[token]
        take.received_s = max(take.received_s, received_s)

    def _end_take(self, token: Token) -> None:
        self.running.remove(token)
        take = self._all_takes[token]
        take.ended = True
        if not take.received_s:  # it never sounds
            self._told = [each for each in self._told if self.performances[each].take is not take]
            self.timeline = [each for each in self.timeline if each.take is not take]

    def _sound(self, token: Token) -> None:
        place = self._told.index(token)
        for earlier in self._told[:place]:
            self.performances[earlier].take.played_out = True
        del self._told[:place]
        self._sounding = token
        assert token.unit > self._last_sounding, "units sound out of order"
        self._last_sounding = token.unit

    def _discard_from(self, kept: int, generation: int) -> None:
        for take in self._all_takes.values():
            take.discarded |= take.unit >= kept
        for index in range(kept):
            self._life[generation, index] = self._life.pop((self._generation, index))
        del self.units[kept:]
        self._asked_units = {unit: token for unit, token in self._asked_units.items() if unit < kept}
        self._last_sounding = min(self._last_sounding, kept - 1)
        self._generation = generation

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case cues.Synthesise(token, text):
                assert token not in self._all_takes, "a token is used twice"
                assert token.unit not in self._asked_units, "a unit is asked for twice"
                assert token.generation == self._generation, "something old is asked for"
                assert text == self.units[token.unit].text or not self._audio_tags
                self.asked.append(text)
                self._asked_units[token.unit] = token
                self.running.append(token)
                self.takes[token] = self._all_takes[token] = Take(token.unit, text)
            case cues.AbortSynthesis(token):
                self.running.remove(token)
                self._all_takes[token].ended = self._all_takes[token].aborted = True
            case cues.Play(token, take):
                assert token not in self.performances, "a token is used twice"
                assert token.generation == self._generation, "something old is played"
                assert self._asked_units[token.unit] == take
                assert not self.takes[take].discarded
                assert all(self.performances[each].take.ended for each in self._told), "it plays too early"
                self._told.append(token)
                self.performances[token] = Performance(token, self.takes[take])
                self.timeline.append(self.performances[token])
            case cues.Withdraw(token):
                assert token != self._sounding, "what sounds is silenced, not withdrawn"
                self._told.remove(token)
                self.timeline = [each for each in self.timeline if each.token != token]
            case cues.Silence():
                self._told.clear()
                self._sounding = None
                self.timeline.clear()
            case cues.Hold() | cues.Proceed():
                assert self.held is isinstance(effect, cues.Proceed)
                self.held = isinstance(effect, cues.Hold)
            case cues.Forget(take):
                assert all(each.take is not self.takes[take] for each in self.timeline)
                del self.takes[take]

    def _check_change(self, change: cues.UnitChanged, event: Event) -> None:
        unit, state = (change.generation, change.unit), change.state
        before = self._life.get(unit)
        assert state in LIFE[before] or state == before, f"unit {unit}: {before} to {state}"
        self._life[unit] = state
        token = self._asked_units.get(change.unit)
        take = self._all_takes[token] if token else None
        if state == "done":
            assert take is None or take.whole, "a unit that was not spoken whole is done"
        if state == "failed":
            assert take is not None
            assert take.ended
            assert not take.whole
            assert (change.code, change.message) == ("engine_failed", "out of breath")
        if state == "dropped" and not isinstance(event, ENDINGS):
            assert self.stopped or (take is not None and take.aborted), "a unit is dropped for no reason"

    def _check(self) -> None:
        conductor, entries = self.conductor, self.conductor.entries
        assert [entry.unit for entry in entries] == [
            Unit(self._generation, unit.index, unit.start, unit.end, unit.text, unit.emotion)
            for unit in self.units
        ]
        assert conductor.generation == self._generation
        assert conductor.stale_dropped == self._stale
        assert conductor.syntheses == len(self.asked)
        assert len(self.running) <= conductor.concurrency
        assert self.states == [self._life[self._generation, unit.index] for unit in self.units]
        discarded = {state for (generation, _), state in self._life.items() if generation < self._generation}
        assert discarded <= ENDS, "a unit that a reset discarded has not ended"
        playing = [entry.token for entry in entries if entry.state == "playing"]
        assert playing == ([self._sounding] if self._sounding else []), "what is said to sound does not"
        assert not any(each.take.discarded for each in self.timeline), "a discarded unit can still sound"
        assert not self.disposed or not (self.running or self.timeline or self.takes or self.held)
        on_it = [token.unit for token in self._told]
        assert on_it == sorted(on_it)
        for entry in entries[: on_it[-1] if on_it else 0]:
            assert entry.ended or entry.unit.index in on_it, "a unit that is still to sound is passed over"
        assert conductor.state == self._state()
        self._check_heard()

    def _state(self) -> str:
        due = not set(self.states) <= ENDS
        if due and self.blocked:
            return "blocked"
        if due or not (self.final or self.stopped or self.failed or self.disposed):
            return "paused" if self.held else "speaking" if self._sounding else "listening"
        return "failed" if self.failed and not self.disposed else "idle"

    def _check_heard(self) -> None:
        entries = self.conductor.entries
        assert self.conductor.heard >= self._heard, "heard went back"
        sounded = [entry.heard_at for entry in entries if entry.played_s > 0]
        assert self.conductor.heard <= max([self._heard, *sounded])
        self._heard = self.conductor.heard
        for entry in entries:
            token = self._asked_units.get(entry.unit.index)
            take = self._all_takes[token] if token else Take(entry.unit.index, "")
            assert entry.asked == token
            assert entry.received_s == take.received_s
            assert 0 <= entry.played_s <= entry.received_s, "more was played than received"
            assert entry.unit.start <= entry.heard_at <= entry.unit.end
            if entry.heard_at == entry.unit.end:
                assert take.whole, "a take that is not whole was heard to its end"
                assert take.played_out or entry.played_s == take.received_s
