"""The player: takes one after the other on the audio clock, silenced in one render quantum.

Blocks become sounds at cumulative frame numbers, never chained on `ended`, so a seam inside a take or
between takes is 0 samples when the data is there in time. One bus (a GainNode) carries everything that
may sound; `silence` ramps it to zero, lets go of it and starts a new one, so nothing of what was silenced
can be heard again.

    player = Player(scope, context_js, target_js, report)      # report(event) is the conductor's ear
    player.play(token, take)
    player.silence()

Seconds and frames here are those of the context's clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from onetake.browser.performance import Performance, Source
from onetake.browser.scope import Release, Scope
from onetake.browser.take import Take
from onetake.cues import Event, PlaybackEnded, PlaybackPosition, PlaybackStarted, Token

#: Frames that are rendered at a time; what the clock says is where the next quantum begins.
QUANTUM = 128
#: A ramp this long to zero cannot be heard as a click and ends well inside the 10 ms of design 5.
RAMP_S = 0.005
#: A pause takes this long: time to tell the audio thread at which sample to break off.
HOLD_S = 0.03
#: What goes on after a pause is due after this long: nobody waits for it as for a first word, and there may be much
#: to schedule at once.
PROCEED_S = 0.1
#: So much audio has to be here before a take begins, and goes on after an underrun: less would run out at once.
PREROLL_S = 0.02
#: The first sample is due this long after that. A busy browser takes up new nodes some quanta late (measured: four
#: on an overloaded machine), and a sound that starts late is shifted over the next one.
CUSHION_S = 0.04
#: After an underrun the cushion doubles, for the rest of the take, up to this.
MAX_CUSHION_S = 0.64
#: How often positions are reported while something is on the timeline.
TICK_MS = 50
#: So far ahead sounds are scheduled. A source costs the audio thread even while it waits (measured: 300 of them
#: 3 % of a core, 3,000 of them 58 %), and a hidden page may look again only once a second.
AHEAD_S = 60.0
#: A block that is due later than this waits for others, until they make a sound of JOIN_S.
URGENT_S = 2.0
JOIN_S = 0.2


class Player:
    """Plays takes in the order given, on one AudioContext, into `target_js` (an AudioNode).

    `report` is called with PlaybackStarted, PlaybackPosition (every 50 ms) and PlaybackEnded.
    `underruns` counts gaps inside takes.
    """

    def __init__(
        self,
        scope: Scope,
        context_js: Any,
        target_js: Any,
        report: Callable[[Event], object],
    ) -> None:
        self._scope = scope
        self._context_js = context_js
        self._target_js = target_js
        self._report = report
        self._rate = int(context_js.sampleRate)
        self.underruns = 0
        self._held = False
        self._timeline: list[Performance] = []
        self._end = 0  # frame of the clock at which everything scheduled has sounded
        self._fading: dict[int, Release] = {}  # what lets go of a bus that falls silent
        self._faded = 0
        self._bus_js, self._release_bus = self._new_gain(target_js)
        self._ticking: Scope | None = None

    # -- the timeline --------------------------------------------------------------------------

    def play(self, token: Token, take: Take) -> None:
        """Put `take` on the timeline after what is on it; it sounds as its blocks arrive."""
        performance = Performance(token, take, CUSHION_S)
        self._connect(performance)
        self._timeline.append(performance)
        take.on_change = self._schedule
        self._schedule()
        if self._ticking is None:
            self._ticking = self._scope.child()
            self._ticking.every(TICK_MS, self.tick)

    def withdraw(self, token: Token) -> None:
        """Take one performance off the timeline. What is before it goes on; what is after it follows those."""
        index = next((i for i, performance in enumerate(self._timeline) if performance.token == token), None)
        if index is None:
            return
        behind = self._timeline[index:]
        del self._timeline[index:]
        for performance in behind:
            performance.take.on_change = None
            self._fade(performance.gain_js, performance.release)
        self._end = self._timeline[-1].end if self._timeline else 0
        for performance in behind[1:]:
            self.play(performance.token, performance.take)
        self._rest()

    def silence(self) -> None:
        """Silence everything within one render quantum and a ramp of 5 ms, and clear the timeline."""
        if not self._timeline:
            return
        silenced, self._timeline = self._timeline, []
        bus_js, release_bus = self._bus_js, self._release_bus
        for performance in silenced:
            performance.take.on_change = None
        if self._held:  # what was broken off just now may still fade
            for end_fading in list(self._fading.values()):
                end_fading()

        def release() -> None:
            release_bus()
            for performance in silenced:
                performance.release()

        self._fade(bus_js, release)
        self._bus_js, self._release_bus = self._new_gain(self._target_js)
        self._end = 0
        self._rest()

    def hold(self, on: bool) -> None:
        """Break off so that `hold(False)` goes on at the very next sample. Takes may come in meanwhile.

        The context's clock runs on: a context that is suspended counts some quanta more than it renders
        (Chromium), and what was scheduled before would then sound over what was scheduled after.
        """
        if on == self._held:
            return
        self._held = on
        if on:
            self._break_off()
        else:
            self._end = self._now() + math.ceil(PROCEED_S * self._rate)
            self._schedule()

    def _break_off(self) -> None:
        sources = [source for performance in self._timeline for source in performance.sources]
        while True:
            # Where the device stopped by itself, what had not come out of it sounds again.
            end = self._now() + math.ceil(HOLD_S * self._rate) if self._runs else math.floor(self._heard_frame())
            for source in sources:
                source.node_js.stop(max(0, end) / self._rate)
            if not self._runs or self._in_time(end):
                break
        old_bus_js, release_bus = self._bus_js, self._release_bus
        self._bus_js, self._release_bus = self._new_gain(self._target_js)
        releases = [performance.break_off(end) for performance in self._timeline]

        def release() -> None:
            release_bus()
            for release_performance in releases:
                release_performance()

        self._fade(old_bus_js, release, end)
        for performance in self._timeline:
            self._connect(performance)
        self._end = 0

    def started_at_ms(self, token: Token, now_ms: float) -> float | None:
        """When, on the clock of `now_ms`, the performance's first sample sounded or will; None if unknown."""
        for performance in self._timeline:
            if performance.token == token and performance.runs:
                return now_ms - (self._heard_frame() - performance.runs[0].at) / self._rate * 1000
        return None

    # -- scheduling ----------------------------------------------------------------------------

    def _schedule(self) -> None:
        """Give blocks that are here their places on the clock, as far as the order and AHEAD_S allow."""
        if self._held:
            return
        for performance in self._timeline:
            while (last := self._next_blocks(performance)) is not None:
                performance.take.join(performance.next_block, last)
                self._start_block(performance, performance.take.blocks_js[performance.next_block])
                performance.next_block += 1
            if not performance.scheduled:
                return  # what follows has to wait for the rest of this take

    def _next_blocks(self, performance: Performance) -> int | None:
        """The blocks from the next one up to and without this one are to be the next sound; None: not now."""
        blocks_js = performance.take.blocks_js
        first = performance.next_block
        if first == len(blocks_js):
            return None
        ahead_s = self._end / self._rate - self._context_js.currentTime
        if ahead_s > AHEAD_S:
            return None
        runs_on = self._in_time(self._end)
        length_s = 0.0
        for last in range(first, len(blocks_js)):
            length_s += blocks_js[last].duration
            if length_s >= JOIN_S:
                return last + 1
        enough = performance.take.complete or (ahead_s < URGENT_S if runs_on else length_s >= PREROLL_S)
        return len(blocks_js) if enough else None

    def _start_block(self, performance: Performance, block_js: Any) -> None:
        while True:
            source_js = self._context_js.createBufferSource()
            source_js.buffer = block_js
            at = self._place(performance)
            source_js.start(at / self._rate)
            # A sound that starts late is not cut but shifted, over the one after it. Before it is connected it
            # cannot sound, so one that has come late by now, because this thread was held up, is placed anew.
            if self._in_time(at):
                break
        source_js.connect(performance.gain_js)
        frames = int(block_js.length)
        performance.extend(at, frames)
        self._end = at + frames

        def release() -> None:
            source_js.stop()
            source_js.disconnect()

        performance.sources.append(Source(source_js, self._end, self._scope.own(release, "node")))
        if performance.broken_off:  # amid a sound
            performance.broken_off = False
            performance.gain_js.gain.setValueAtTime(0, at / self._rate)
            performance.gain_js.gain.linearRampToValueAtTime(1, at / self._rate + RAMP_S)

    def _place(self, performance: Performance) -> int:
        """The frame for the next sound: after what is scheduled, or after a cushion if that has run out."""
        if self._in_time(self._end):
            return self._end
        if performance.runs and self._end == performance.end:
            self.underruns += 1
            performance.cushion_s = min(2 * performance.cushion_s, MAX_CUSHION_S)
        self._end = math.ceil((self._context_js.currentTime + performance.cushion_s) * self._rate)
        return self._end

    def _in_time(self, frame: int) -> bool:
        """Whether what is started now can begin at that frame: it is beyond the quantum that is being rendered."""
        return frame >= self._now() + QUANTUM

    # -- the clock -----------------------------------------------------------------------------

    @property
    def _runs(self) -> bool:
        """The clock runs, as far as the browser has told."""
        return bool(self._context_js.state == "running")

    def _now(self) -> int:
        """The frame at which the next quantum begins."""
        return round(float(self._context_js.currentTime) * self._rate)

    def _heard_frame(self) -> float:
        """The clock as the listener's ear has it: behind by the latency of the output."""
        latency_s = getattr(self._context_js, "outputLatency", None) or 0.0
        return float((self._context_js.currentTime - latency_s) * self._rate)

    def tick(self) -> None:
        """Report what has happened on the clock since the last tick."""
        while self._timeline:
            performance = self._timeline[0]
            frame = self._heard_frame()
            if performance.runs and frame >= performance.runs[0].at and not performance.started:
                performance.started = True
                self._report(PlaybackStarted(performance.token))
            if performance.started and performance in self._timeline:
                self._report(PlaybackPosition(performance.token, performance.played(frame) / self._rate))
            if performance not in self._timeline:
                continue  # a report had the timeline changed
            if not performance.scheduled or frame < performance.end:
                performance.free_sounded(frame)
                break
            self._timeline.remove(performance)
            performance.take.on_change = None
            performance.release()
            if performance.started:  # an empty take never sounds
                self._report(PlaybackEnded(performance.token))
        self._schedule()
        self._rest()

    def _rest(self) -> None:
        if self._ticking is not None and not self._timeline:
            self._ticking.dispose()
            self._ticking = None

    # -- nodes ---------------------------------------------------------------------------------

    def _new_gain(self, target_js: Any) -> tuple[Any, Release]:
        gain_js = self._context_js.createGain()
        gain_js.connect(target_js)
        return gain_js, self._scope.own(gain_js.disconnect, "node")

    def _connect(self, performance: Performance) -> None:
        performance.gain_js, performance.release_gain = self._new_gain(self._bus_js)

    def _fade(self, gain_js: Any, release: Release, end: int | None = None) -> None:
        """Bring `gain_js` to zero, now or by frame `end`, then `release` it and what feeds it."""
        if not self._runs or (self._held and end is None):
            # Nothing sounds, or the clock stands and the ramp's first part would sound when it goes on.
            release()
            return
        now_s = float(self._context_js.currentTime)
        begin_s = now_s if end is None else max(now_s, end / self._rate - RAMP_S)
        gain_js.gain.setValueAtTime(gain_js.gain.value, begin_s)
        gain_js.gain.linearRampToValueAtTime(0, begin_s + RAMP_S)
        key = self._faded = self._faded + 1
        fading = self._scope.child()

        def end_fading() -> None:
            if self._fading.pop(key, None) is not None:
                fading.dispose()
                release()

        self._fading[key] = end_fading
        # Anchored at zero, the bus stays silent however late this comes.
        fading.after(begin_s - now_s + 10 * RAMP_S, end_fading)
