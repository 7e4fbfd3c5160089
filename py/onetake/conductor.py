"""The conductor: which unit is synthesised next, which one sounds, and what a reset drops.

Pure: events go in, effects come out, nothing is awaited and no clock is read. The caller carries the
effects out (in the page: `onetake.browser`) and reports what came of them as further events.

    conductor = Conductor(concurrency=2)
    effects = conductor.handle(UnitClosed(unit, for_engine(raw, audio_tags=False, start=unit.start)))
    # [UnitChanged(…), UnitChanged(…), Synthesise(token, text), Play(token, take)]
    conductor.handle(AudioReceived(token, 0.4)); conductor.handle(PlaybackStarted(token))
    conductor.handle(Reset(generation=2))      # [Silence(), AbortSynthesis(token), UnitChanged(…), Forget(token)]

One conductor serves one reply. Anyone may import this module.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from onetake import cues
from onetake.cues import Token
from onetake.errors import UsageError
from onetake.heard import Pace
from onetake.life import TRANSITIONS, Entry, Synthesis, Turn, UnitState


class _Stale(Exception):
    """The event is not current: it changes nothing. Raised before anything is changed; `handle` counts it."""


class Conductor:
    """Turns events into effects for one reply.

    Promises, whatever the order of events: one synthesis per unit and generation; at most one unit
    sounds; units sound in order; nothing of an old generation is asked for or played; every unit ends
    in done, failed or dropped; `heard` never goes back within a generation; nothing happens after
    `Dispose`.

    `concurrency` is the engine's stated number of syntheses at a time (1 or more).
    `pace` is shared by the replies of one voice, so that what was learned is kept.
    """

    def __init__(self, concurrency: int = 1, pace: Pace | None = None) -> None:
        if concurrency < 1:
            raise UsageError(
                f"concurrency is {concurrency}; an engine does at least 1 synthesis at a time: pass 1 or more"
            )
        self.concurrency = concurrency
        self.generation = 1
        self.entries: list[Entry] = []
        #: Code point of the reply up to which the listener has heard it; 0 before the first sample.
        self.heard = 0
        #: Events that changed nothing because their token or generation is no longer current, or because they
        #: came after `Dispose` or report what cannot be.
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
        # By unit, in order: what sounds and what follows it without a gap; only the last may still arrive.
        # It can grow as long as the reply, hence a mapping that is quick at both ends.
        self._timeline: OrderedDict[int, Entry] = OrderedDict()
        self._next_ask = 0  # no entry before this one still waits to be asked for
        self._next_play = 0  # each entry before this one has ended or is on the timeline, no other is
        self._effects: list[cues.Effect] = []

    # -- what it is doing ----------------------------------------------------------------------

    @property
    def sounding(self) -> Entry | None:
        """The unit that sounds now (held ones included)."""
        head = self._head
        return head if head is not None and head.state is UnitState.PLAYING else None

    @property
    def state(self) -> str:
        """`idle`, `listening`, `speaking`, `paused`, `blocked` or `failed` (design 10)."""
        if self._open and self.blocked:
            return "blocked"
        if self._open or not (self.final or self.stopped or self.failure or self.disposed):
            if self.paused:
                return "paused"
            return "listening" if self.sounding is None else "speaking"
        return "failed" if self.failure and not self.disposed else "idle"

    def handle(self, event: cues.Event) -> list[cues.Effect]:
        """Take one event in and return, in order, what has to be done.

        Raises UsageError for a replay that cannot be and for audio of an impossible length; the state is then
        unchanged.
        """
        try:
            if self.disposed:
                raise _Stale
            _HANDLERS[type(event)](self, event)
        except _Stale:
            self.stale_dropped += 1
            return []
        self._advance()
        effects, self._effects = self._effects, []
        return effects

    # -- the reply -----------------------------------------------------------------------------

    def _on_unit_closed(self, event: cues.UnitClosed) -> None:
        if event.unit.generation != self.generation or event.unit.index != len(self.entries):
            raise _Stale
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
        self.failure = None

    def _on_reply_failed(self, event: cues.ReplyFailed) -> None:
        if not (self.final or self.stopped):  # nothing is missing, or nobody waits for it
            self.failure = (event.code, event.message)

    def _on_reply_resumed(self, event: cues.ReplyResumed) -> None:
        self.failure = None

    def _on_reset(self, event: cues.Reset) -> None:
        if event.generation <= self.generation:
            raise _Stale
        kept = sum(1 for entry in self.entries if entry.unit.end <= event.at)
        head = self._head
        # A unit that the new generation keeps goes on; anything else is silenced first.
        if head is None or head.unit.index >= kept:
            self._silence()
        for entry in reversed(self.entries[kept:]):  # from the back, so that nothing has to move up
            self._withdraw(entry)
        for entry in self.entries[kept:]:
            self._drop(entry)
            self._forget(entry)
        del self.entries[kept:]
        self.generation = event.generation
        for entry in self.entries:
            entry.unit = replace(entry.unit, generation=event.generation)
            if entry.unit.index not in self._timeline:
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
        entry = self._synthesising(event.token)
        entry.heard.received(event.received_s, complete=False)
        entry.received_s = max(entry.received_s, event.received_s)

    def _on_alignment_received(self, event: cues.AlignmentReceived) -> None:
        self._synthesising(event.token).heard.align(event.chars, event.starts, event.ends)

    def _on_synthesis_done(self, event: cues.SynthesisDone) -> None:
        entry = self._synthesising(event.token)
        entry.heard.received(event.received_s, complete=True)
        entry.received_s = max(entry.received_s, event.received_s)
        self._end_synthesis(entry, Synthesis.COMPLETE)
        self._pace.learn(entry.spoken.text, entry.received_s)
        if entry.received_s == 0:
            self._leave_timeline(entry)
            self._turn(entry, Turn.END_EMPTY)

    def _on_synthesis_failed(self, event: cues.SynthesisFailed) -> None:
        entry = self._synthesising(event.token)
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
        if entry.state is UnitState.PLAYING or entry.received_s == 0:
            raise _Stale
        self._sound(entry)

    def _on_playback_position(self, event: cues.PlaybackPosition) -> None:
        entry = self._performing(event.token)
        if entry.state is not UnitState.PLAYING:
            raise _Stale
        self._hear(entry, event.played_s)

    def _on_playback_ended(self, event: cues.PlaybackEnded) -> None:
        entry = self._performing(event.token)
        if not entry.all_received:
            raise _Stale
        self._play_out(entry)

    def _sound(self, entry: Entry) -> None:
        while (head := self._head) is not None and head is not entry:
            self._play_out(head)  # its end came before this start; only the report is late
        entry.played_s = 0.0
        self._turn(entry, Turn.SOUND)

    def _hear(self, entry: Entry, played_s: float) -> None:
        entry.played_s = max(entry.played_s, min(played_s, entry.received_s))
        if entry.played_s > 0:
            entry.heard_at = entry.heard.at(entry.played_s)
            self.heard = max(self.heard, entry.heard_at)

    def _play_out(self, entry: Entry) -> None:
        if entry.state is not UnitState.PLAYING:
            self._sound(entry)
        self._hear(entry, entry.received_s)
        self._leave_timeline(entry)
        self._turn(entry, _PLAYED_OUT[entry.synthesis])

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
        current = self._head
        if current is None and self._next_play < len(self.entries):
            current = self.entries[self._next_play]  # it waits for its synthesis to be asked for
        if current is not None:
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
        if not entry.spoken.text:
            raise UsageError(f"unit {event.unit} has nothing to say to this engine: replay another one")
        if entry.synthesis is not Synthesis.NONE and entry.received_s == 0:
            raise UsageError(
                f"unit {event.unit} has no audio to replay: none arrived; regenerate the reply to hear it"
            )
        sounding = self.sounding
        self._silence()
        for earlier in self.entries[: event.unit]:  # replays that are left for this one
            self._drop(earlier)
        if sounding is not None and not sounding.ended:
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
            if not entry.ended:
                last = next(reversed(self._timeline.values()), None)
                if entry.asked is None or (last is not None and not last.all_received):
                    break
                self._timeline[entry.unit.index] = entry
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

    def _synthesising(self, token: Token) -> Entry:
        """The gate for synthesis events: the unit whose running synthesis this token names."""
        entry = self._entry(token)
        if entry.asked != token or entry.synthesis is not Synthesis.RUNNING:
            raise _Stale
        return entry

    def _performing(self, token: Token) -> Entry:
        """The gate for playback events: the unit whose performance on the timeline this token names."""
        entry = self._entry(token)
        if entry.token != token or token.unit not in self._timeline:
            raise _Stale
        return entry

    def _entry(self, token: Token) -> Entry:
        if not 0 <= token.unit < len(self.entries):
            raise _Stale
        return self.entries[token.unit]

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

    @property
    def _head(self) -> Entry | None:
        """What sounds, or will as soon as its first block is here and the device lets it."""
        return next(iter(self._timeline.values()), None)

    def _leave_timeline(self, entry: Entry) -> bool:
        return self._timeline.pop(entry.unit.index, None) is not None

    def _withdraw(self, entry: Entry) -> None:
        """Take `entry` alone off the timeline, where what is before it goes on sounding."""
        if self._leave_timeline(entry):
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
        """Silence what sounds. What is still to sound waits again, under a new attempt."""
        self._effects.append(cues.Silence())
        for index, entry in self._timeline.items():
            entry.token = Token(self.generation, index, entry.token.attempt + 1)
            self._next_play = min(self._next_play, index)
        self._timeline.clear()

    def _unpause(self) -> None:
        if self.paused:
            self.paused = False
            self._effects.append(cues.Proceed())


#: How a unit ends when what is here of its take has sounded.
_PLAYED_OUT: Mapping[Synthesis, Turn] = {
    Synthesis.COMPLETE: Turn.PLAY_OUT,
    Synthesis.FAILED: Turn.FAIL,
    Synthesis.ABORTED: Turn.DROP,  # a replay of a part: the rest was never spoken
}

_HANDLERS: Mapping[type, Callable[[Conductor, Any], None]] = {
    cues.UnitClosed: Conductor._on_unit_closed,
    cues.ReplyFinal: Conductor._on_reply_final,
    cues.ReplyFailed: Conductor._on_reply_failed,
    cues.ReplyResumed: Conductor._on_reply_resumed,
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
