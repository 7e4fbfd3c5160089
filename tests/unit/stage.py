"""A stage for the conductor: a cutter before it, a model engine and a model player behind it.

    stage = Stage().reply("One.", "Two.")       # two units, final
    stage.audio(0, 1.0)
    stage.play(0.5)
    stage.stop()
    stage.sound                                 # [("One.", 0.5)]: what the listener heard

Whatever a test does, the conductor is held to its promises with every event (`promises`). Seconds in tests are
sums of powers of two, so that they compare exactly.
"""

from __future__ import annotations

import math

from onetake import Cutter, Unit, cues, for_engine
from onetake.cues import Effect, Event, Token
from onetake.heard import Pace
from tests.unit.promises import ENDS, Performance, Promises


def closed(count: int, generation: int = 1) -> list[cues.UnitClosed]:
    """The events of a reply of `count` short units."""
    return [
        cues.UnitClosed(
            Unit(generation, index, 2 * index, 2 * index + 2, "a.", None),
            for_engine("a.", audio_tags=True, start=2 * index),
        )
        for index in range(count)
    ]


class Stage(Promises):
    """A conductor in a world that does as the test says, honest or not."""

    def __init__(self, concurrency: int = 1, *, audio_tags: bool = True, pace: Pace | None = None) -> None:
        super().__init__(concurrency, pace)
        self.cutter = Cutter()
        self.reports: list[Event] = []  # of the player, not told yet
        self._audio_tags = audio_tags
        self._sounded: list[Performance] = []

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
        return self.handle(cues.Blocked())

    def unblock(self) -> list[Effect]:
        return self.handle(cues.Unblocked())

    def dispose(self) -> list[Effect]:
        return self.handle(cues.Dispose())

    # -- what tests look at --------------------------------------------------------------------------

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
