"""The conductor: which unit is synthesised next, which one sounds, and what a reset drops.

Pure: events go in, effects come out, nothing is awaited and no clock is read. The caller carries the
effects out (in the page: `onetake.browser`) and reports what came of them as further events.

    conductor = Conductor(concurrency=2)
    effects = conductor.handle(UnitClosed(unit, for_engine(raw, audio_tags=False, start=unit.start)))
    # [Synthesise(token, text), Play(token, take), UnitChanged(...)]
    conductor.handle(AudioReceived(token, 0.4)); conductor.handle(PlaybackStarted(token))
    conductor.handle(Reset(generation=2))      # [AbortSynthesis(token), Silence(), Forget(token), ...]

One conductor serves one reply. Anyone may import this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from onetake import cues
from onetake.cues import Token
from onetake.errors import UsageError
from onetake.heard import Pace
from onetake.life import TRANSITIONS, Entry, Synthesis, Turn, UnitState


class Conductor:
    """Turns events into effects for one reply.

    Promises, whatever the order of events: one synthesis per unit and generation; at most one unit
    sounds; units sound in order; nothing of an old generation is asked for or played; every unit ends
    in done, failed or dropped; `heard` never goes back within a generation; nothing happens after
    `Dispose`.

    `concurrency` is the engine's stated number of syntheses at a time (1 or more).
    `pace` is shared by the replies of one voice, so that what was learned is kept.
    """

    def __init__(self, concurrency: int = 1, pace: Pace | None = None, generation: int = 1) -> None:
        if concurrency < 1:
            raise UsageError(
                f"concurrency is {concurrency}; an engine does at least 1 synthesis at a time: pass 1 or more"
            )
        self.concurrency = concurrency
        self.generation = generation
        self.entries: list[Entry] = []
        #: Code point of the reply up to which the listener has heard it; 0 before the first sample.
        self.heard = 0
        #: Events that carried a token, or a generation, that is no longer current.
        self.stale_dropped = 0
        #: Units whose synthesis began.
        self.syntheses = 0
        self.stopped = False
        self.paused = False
        self.blocked = False
        self.final = False
        self.failure: tuple[str, str] | None = None
        self.disposed = False
        self._pace = pace if pace is not None else Pace()
        self._open = 0  # units that have not ended
        self._running = 0  # syntheses under way
        self._timeline: list[Entry] = []  # what sounds and what follows it without a gap; in order, few
        self._next_ask = 0  # no entry before this one still waits to be asked for
        self._next_play = 0  # no entry before this one still waits to be put on the timeline
        self._effects: list[cues.Effect] = []

    # -- what it is doing ----------------------------------------------------------------------

    @property
    def sounding(self) -> Entry | None:
        """The unit that sounds now (held ones included)."""
        return next((entry for entry in self._timeline if entry.state is UnitState.PLAYING), None)

    @property
    def state(self) -> str:
        """`idle`, `listening`, `speaking`, `paused`, `blocked` or `failed` (design 10)."""
        if self.disposed:
            return "idle"
        if self._open:
            if self.blocked:
                return "blocked"
            if self.paused:
                return "paused"
            return "listening" if self.sounding is None else "speaking"
        if self.failure is not None:
            return "failed"
        return "idle" if self.final or self.stopped else "listening"

    def handle(self, event: cues.Event) -> list[cues.Effect]:
        """Take one event in and return, in order, what has to be done.

        Raises UsageError for a replay that cannot be; the state is then unchanged.
        """
        if self.disposed:
            self.stale_dropped += 1
            return []
        _HANDLERS[type(event)](self, event)
        if not self.disposed:
            self._advance()
        effects, self._effects = self._effects, []
        return effects

    # -- the reply -----------------------------------------------------------------------------

    def _on_unit_closed(self, event: cues.UnitClosed) -> None:
        if event.unit.generation != self.generation or event.unit.index != len(self.entries):
            self.stale_dropped += 1
            return
        entry = Entry(event.unit, event.spoken, self._pace)
        self.entries.append(entry)
        self._open += 1
        self._changed(entry)
        if self.stopped:
            self._turn(entry, Turn.DROP)
        elif not event.spoken.text:
            self._turn(entry, Turn.END_EMPTY)

    def _on_reply_final(self, event: cues.ReplyFinal) -> None:
        self.final = True

    def _on_reply_failed(self, event: cues.ReplyFailed) -> None:
        self.failure = (event.code, event.message)

    def _on_reset(self, event: cues.Reset) -> None:
        if event.generation <= self.generation:
            self.stale_dropped += 1
            return
        kept = sum(1 for entry in self.entries if entry.unit.end <= event.at)
        sounding = self.sounding
        # A unit that the new generation keeps goes on sounding; anything else is silenced first.
        if sounding is None or sounding.unit.end > event.at:
            self._silence()
        for entry in self.entries[kept:]:
            self._withdraw(entry)
            self._drop(entry)
            self._forget(entry)
        del self.entries[kept:]
        self.generation = event.generation
        for entry in self.entries:
            entry.unit = replace(entry.unit, generation=event.generation)
            if entry not in self._timeline:
                entry.token = entry.token._replace(generation=event.generation)
        self.heard = min(self.heard, event.at)
        self.stopped = self.final = False
        self.failure = None
        self._next_ask = min(self._next_ask, kept)
        self._next_play = min(self._next_play, kept)
        self._unpause()

    # -- synthesis -----------------------------------------------------------------------------

    def _on_synthesis_started(self, event: cues.SynthesisStarted) -> None:
        self._synthesising(event.token)

    def _on_audio_received(self, event: cues.AudioReceived) -> None:
        if entry := self._synthesising(event.token):
            entry.received_s = max(entry.received_s, event.received_s)
            entry.heard.received(entry.received_s, complete=False)

    def _on_alignment_received(self, event: cues.AlignmentReceived) -> None:
        if entry := self._synthesising(event.token):
            entry.heard.align(event.chars, event.starts, event.ends)

    def _on_synthesis_done(self, event: cues.SynthesisDone) -> None:
        if entry := self._synthesising(event.token):
            self._end_synthesis(entry, Synthesis.COMPLETE)
            entry.received_s = max(entry.received_s, event.received_s)
            entry.heard.received(entry.received_s, complete=True)
            if entry.received_s == 0:
                self._leave_timeline(entry)
                self._turn(entry, Turn.END_EMPTY)

    def _on_synthesis_failed(self, event: cues.SynthesisFailed) -> None:
        if entry := self._synthesising(event.token):
            self._end_synthesis(entry, Synthesis.FAILED)
            entry.error = (event.code, event.message)
            if entry.received_s == 0:
                self._leave_timeline(entry)
                self._turn(entry, Turn.FAIL)
            else:
                self._changed(entry)  # reported now; what has arrived is still played out

    # -- playback ------------------------------------------------------------------------------

    def _on_playback_started(self, event: cues.PlaybackStarted) -> None:
        entry = self._performing(event.token)
        if entry is None or entry.state is UnitState.PLAYING:
            self.stale_dropped += entry is not None
            return
        while self._timeline[0] is not entry:  # their ends came before this start; the reports are late
            self._play_out(self._timeline[0])
        self._turn(entry, Turn.SOUND)

    def _on_playback_position(self, event: cues.PlaybackPosition) -> None:
        entry = self._performing(event.token)
        if entry is None or entry.state is not UnitState.PLAYING:
            self.stale_dropped += entry is not None
            return
        self._hear(entry, event.played_s)

    def _on_playback_ended(self, event: cues.PlaybackEnded) -> None:
        entry = self._performing(event.token)
        if entry is None or not entry.all_received:
            self.stale_dropped += entry is not None
            return
        self._play_out(entry)

    def _hear(self, entry: Entry, played_s: float) -> None:
        entry.played_s = min(played_s, entry.received_s)
        entry.heard_at = max(entry.heard_at, entry.heard.at(entry.played_s))
        self.heard = max(self.heard, entry.heard_at)

    def _play_out(self, entry: Entry) -> None:
        if entry.state is not UnitState.PLAYING:
            self._turn(entry, Turn.SOUND)
        self._hear(entry, entry.received_s)
        if entry.synthesis is Synthesis.COMPLETE and entry.token == entry.asked:
            self._pace.learn(entry.spoken.text, entry.received_s)
        self._leave_timeline(entry)
        self._turn(entry, Turn.FAIL if entry.synthesis is Synthesis.FAILED else Turn.PLAY_OUT)

    # -- the listener --------------------------------------------------------------------------

    def _on_stop(self, event: cues.Stop) -> None:
        self.stopped = True
        self._end_all()

    def _on_pause(self, event: cues.Pause) -> None:
        if not self.paused:
            self.paused = True
            self._effects.append(cues.Hold())

    def _on_resume(self, event: cues.Resume) -> None:
        self._unpause()

    def _on_skip(self, event: cues.Skip) -> None:
        if self._timeline:
            current = self._timeline[0]
            self._silence()
            self._drop(current)

    def _on_replay(self, event: cues.Replay) -> None:
        if not 0 <= event.unit < len(self.entries):
            raise UsageError(
                f"there is no unit {event.unit} to replay: this reply has {len(self.entries)} so far, from 0"
            )
        entry = self.entries[event.unit]
        if not entry.ended and entry.state is not UnitState.PLAYING:
            return  # it has yet to sound and will, in its order
        if entry.synthesis is not Synthesis.NONE and entry.received_s == 0:
            raise UsageError(
                f"unit {event.unit} has no audio to replay: none arrived; regenerate the reply to hear it"
            )
        sounding = self.sounding
        self._silence()
        if sounding is not None:
            self._turn(sounding, Turn.REQUEUE)
        if entry is not sounding:
            self._turn(entry, Turn.REQUEUE)
            entry.token = Token(self.generation, entry.unit.index, entry.token.attempt + 1)
        self._next_ask = min(self._next_ask, event.unit)
        self._next_play = min(self._next_play, event.unit)
        self._unpause()

    def _on_blocked(self, event: cues.Blocked) -> None:
        self.blocked = True

    def _on_unblocked(self, event: cues.Unblocked) -> None:
        self.blocked = False

    def _on_dispose(self, event: cues.Dispose) -> None:
        self._end_all()
        for entry in self.entries:
            self._forget(entry)
        self.disposed = True

    # -- what follows from the state -----------------------------------------------------------

    def _advance(self) -> None:
        """Ask for the next syntheses and put the next takes on the timeline, as far as the rules allow."""
        while self._next_ask < len(self.entries):
            entry = self.entries[self._next_ask]
            if entry.state is UnitState.QUEUED and entry.synthesis is Synthesis.NONE:
                before = self.entries[self._next_ask - 1] if self._next_ask else None
                # Look-ahead (design 4): the unit before has all its audio, or sounds already.
                if before is not None and not (
                    before.ended or before.all_received or before.state is UnitState.PLAYING
                ):
                    break
                if self._running >= self.concurrency:
                    break
                self._ask(entry)
            self._next_ask += 1
        while self._next_play < len(self.entries):
            entry = self.entries[self._next_play]
            if not entry.ended and entry not in self._timeline:
                if entry.asked is None or (self._timeline and not self._timeline[-1].all_received):
                    break
                self._timeline.append(entry)
                self._effects.append(cues.Play(entry.token, entry.asked))
            self._next_play += 1

    def _ask(self, entry: Entry) -> None:
        entry.asked = entry.token
        entry.synthesis = Synthesis.RUNNING
        self._running += 1
        self.syntheses += 1
        self._turn(entry, Turn.ASK)
        self._effects.append(cues.Synthesise(entry.token, entry.spoken.text))

    # -- one place for each small act ----------------------------------------------------------

    def _synthesising(self, token: Token) -> Entry | None:
        """The gate for synthesis events: the unit whose running synthesis this token names, or a stale drop."""
        entry = self._entry(token)
        if entry is not None and entry.asked == token and entry.synthesis is Synthesis.RUNNING:
            return entry
        self.stale_dropped += 1
        return None

    def _performing(self, token: Token) -> Entry | None:
        """The gate for playback events: the unit whose performance on the timeline this token names."""
        entry = self._entry(token)
        if entry is not None and entry.token == token and entry in self._timeline:
            return entry
        self.stale_dropped += 1
        return None

    def _entry(self, token: Token) -> Entry | None:
        return self.entries[token.unit] if 0 <= token.unit < len(self.entries) else None

    def _turn(self, entry: Entry, turn: Turn) -> None:
        was_open = not entry.ended
        entry.state = TRANSITIONS[entry.state][turn]
        self._open += (not entry.ended) - was_open
        self._changed(entry)

    def _changed(self, entry: Entry) -> None:
        code, message = entry.error or (None, None)
        self._effects.append(
            cues.UnitChanged(entry.unit.generation, entry.unit.index, entry.state.value, code, message)
        )

    def _end_synthesis(self, entry: Entry, how: Synthesis) -> None:
        entry.synthesis = how
        self._running -= 1

    def _leave_timeline(self, entry: Entry) -> None:
        if entry in self._timeline:
            self._timeline.remove(entry)

    def _withdraw(self, entry: Entry) -> None:
        """Take `entry` alone off the timeline, where what is before it goes on sounding."""
        if entry in self._timeline:
            self._timeline.remove(entry)
            self._effects.append(cues.Withdraw(entry.token))

    def _drop(self, entry: Entry) -> None:
        if entry.ended:
            return
        if entry.synthesis is Synthesis.RUNNING and entry.asked is not None:
            self._end_synthesis(entry, Synthesis.ABORTED)
            self._effects.append(cues.AbortSynthesis(entry.asked))
        self._turn(entry, Turn.DROP)

    def _forget(self, entry: Entry) -> None:
        if entry.asked is not None:
            self._effects.append(cues.Forget(entry.asked))

    def _end_all(self) -> None:
        self._silence()
        for entry in self.entries:
            self._drop(entry)
        self._unpause()

    def _silence(self) -> None:
        """cues.Silence what sounds. What is still to sound waits again, under a new attempt."""
        self._effects.append(cues.Silence())
        for entry in self._timeline:
            entry.token = Token(self.generation, entry.unit.index, entry.token.attempt + 1)
            self._next_play = min(self._next_play, entry.unit.index)
        self._timeline.clear()

    def _unpause(self) -> None:
        if self.paused:
            self.paused = False
            self._effects.append(cues.Proceed())


_HANDLERS: Mapping[type, Callable[[Conductor, Any], None]] = {
    cues.UnitClosed: Conductor._on_unit_closed,
    cues.ReplyFinal: Conductor._on_reply_final,
    cues.ReplyFailed: Conductor._on_reply_failed,
    cues.Reset: Conductor._on_reset,
    cues.SynthesisStarted: Conductor._on_synthesis_started,
    cues.AudioReceived: Conductor._on_audio_received,
    cues.AlignmentReceived: Conductor._on_alignment_received,
    cues.SynthesisDone: Conductor._on_synthesis_done,
    cues.SynthesisFailed: Conductor._on_synthesis_failed,
    cues.PlaybackStarted: Conductor._on_playback_started,
    cues.PlaybackPosition: Conductor._on_playback_position,
    cues.PlaybackEnded: Conductor._on_playback_ended,
    cues.Stop: Conductor._on_stop,
    cues.Pause: Conductor._on_pause,
    cues.Resume: Conductor._on_resume,
    cues.Skip: Conductor._on_skip,
    cues.Replay: Conductor._on_replay,
    cues.Blocked: Conductor._on_blocked,
    cues.Unblocked: Conductor._on_unblocked,
    cues.Dispose: Conductor._on_dispose,
}
