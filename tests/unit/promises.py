"""What the conductor promises for every event, checked with every event.

`Promises` keeps its own books, from the events and effects alone: what is current, what is under way, what is on
the timeline, what was heard. It is the base of `stage.Stage`, which adds a world.
"""

from __future__ import annotations

from dataclasses import dataclass

from onetake import Unit, UsageError, cues
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


@dataclass(eq=False)
class Take:
    """The audio of one unit as the engine delivers it."""

    unit: int
    text: str
    received_s: float = 0.0
    ended: bool = False  # no more will come
    whole: bool = False  # it came to its end marker
    aborted: bool = False
    played_out: bool = False  # whole, and heard to its end
    discarded: bool = False  # its unit went with a reset


@dataclass(eq=False)
class Performance:
    """One take on the player's timeline."""

    token: Token
    take: Take
    started: bool = False
    played_s: float = 0.0


class Promises:
    """Hands events to a conductor, notes what its effects ask for, and holds it to its promises."""

    def __init__(self, concurrency: int, pace: Pace | None) -> None:
        self.conductor = Conductor(concurrency, pace)
        self.history: list[tuple[Event, list[Effect] | None]] = []  # None: refused
        self.asked: list[str] = []
        self.running: list[Token] = []
        self.takes: dict[Token, Take] = {}  # not released yet
        self.performances: dict[Token, Performance] = {}
        self.timeline: list[Performance] = []  # of the player
        self.units: list[Unit] = []
        self.held = self.blocked = self.stopped = self.final = self.failed = self.disposed = False
        self._generation = 1
        self._texts: list[str] = []  # of the units, for the engine
        self._requests: dict[int, Token] = {}  # by unit
        self._all_takes: dict[Token, Take] = {}
        self._told: list[Token] = []  # the timeline as far as the player has told
        self._sounding: Token | None = None
        self._last_sounding = -1
        self._life: dict[tuple[int, int], str] = {}
        self._heard = 0
        self._stale = 0

    def handle(self, event: Event) -> list[Effect]:
        """Tell the conductor, and check all that must hold for any event."""
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

    @property
    def states(self) -> list[str]:
        return [entry.state.value for entry in self.conductor.entries]

    def assert_repeats(self) -> None:
        """The same events, told to another conductor, have the same effects."""
        again = Conductor(self.conductor.concurrency)
        for event, effects in self.history:
            try:
                assert again.handle(event) == effects
            except UsageError:
                assert effects is None

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
            case cues.UnitClosed(unit, spoken):
                self.units.append(unit)
                self._texts.append(spoken.text)
            case cues.Reset(generation, at):
                self._discard_from(sum(unit.end <= at for unit in self.units), generation)
                self._heard = min(self._heard, at)
                self.stopped = self.final = self.failed = False
            case cues.ReplyFinal():
                self.final, self.failed = True, False
            case cues.ReplyFailed():
                self.failed |= not (self.final or self.stopped)
            case cues.ReplyResumed():
                self.failed = False
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
            case cues.PlaybackPosition(token, played_s):
                if played_s >= self.performances[token].take.received_s:
                    self._play_out(token)
            case cues.PlaybackEnded(token):
                if token != self._sounding:
                    self._sound(token)
                self._told.remove(token)
                self._sounding = None
                self._play_out(token)
            case cues.Replay(unit) if cues.Silence() in effects:
                self._last_sounding = unit - 1
            case cues.Blocked() | cues.Unblocked():
                self.blocked = isinstance(event, cues.Blocked)
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

    def _play_out(self, token: Token) -> None:
        take = self.performances[token].take
        take.played_out |= take.whole

    def _sound(self, token: Token) -> None:
        place = self._told.index(token)
        for earlier in self._told[:place]:
            self._play_out(earlier)
        del self._told[:place]
        self._sounding = token
        assert token.unit > self._last_sounding, "units sound out of order"
        self._last_sounding = token.unit

    def _discard_from(self, kept: int, generation: int) -> None:
        for take in self._all_takes.values():
            take.discarded |= take.unit >= kept
        for index in range(kept):
            self._life[generation, index] = self._life.pop((self._generation, index))
        del self.units[kept:], self._texts[kept:]
        self._requests = {unit: token for unit, token in self._requests.items() if unit < kept}
        self._last_sounding = min(self._last_sounding, kept - 1)
        self._generation = generation

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case cues.Synthesise(token, text):
                assert token not in self._all_takes, "a token is used twice"
                assert token.unit not in self._requests, "a unit is asked for twice"
                assert token.generation == self._generation, "something old is asked for"
                assert text == self._texts[token.unit]
                if token.unit:
                    assert self._may_follow(token.unit - 1), "a unit is asked for too early"
                self.asked.append(text)
                self._requests[token.unit] = token
                self.running.append(token)
                self.takes[token] = self._all_takes[token] = Take(token.unit, text)
            case cues.AbortSynthesis(token):
                self.running.remove(token)
                self._all_takes[token].ended = self._all_takes[token].aborted = True
            case cues.Play(token, take):
                assert token not in self.performances, "a token is used twice"
                assert token.generation == self._generation, "something old is played"
                assert self._requests[token.unit] == take
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

    def _may_follow(self, unit: int) -> bool:
        if self._life[self._generation, unit] in ENDS | {"playing"}:
            return True
        return unit in self._requests and self._all_takes[self._requests[unit]].ended

    def _check_change(self, change: cues.UnitChanged, event: Event) -> None:
        unit, state = (change.generation, change.unit), change.state
        before = self._life.get(unit)
        assert state in LIFE[before] or state == before, f"unit {unit}: {before} to {state}"
        self._life[unit] = state
        token = self._requests.get(change.unit)
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
            token = self._requests.get(entry.unit.index)
            take = self._all_takes[token] if token else Take(entry.unit.index, "")
            assert entry.asked == token
            assert entry.received_s == take.received_s
            assert 0 <= entry.played_s <= entry.received_s, "more was played than received"
            assert entry.unit.start <= entry.heard_at <= entry.unit.end
            assert (entry.heard_at == entry.unit.end) is take.played_out, "its end is heard when it has played out"
