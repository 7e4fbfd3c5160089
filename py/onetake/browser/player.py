"""The player: takes one after the other on the audio clock, silenced in one render quantum.

Blocks become sounds at cumulative frame numbers, never chained on `ended`, so a seam inside a take or
between takes is 0 samples when the data is there in time. One bus (a GainNode) carries everything that
may sound; `silence` ramps it to zero, lets go of it and starts a new one, so nothing of what was silenced
can be heard again.

    player = Player(scope, context_js, report)      # report(event) is the conductor's ear
    player.play(token, take)
    player.silence()

Seconds here are seconds of the context's clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from onetake.browser.scope import Release, Scope
from onetake.browser.take import Take
from onetake.cues import Event, PlaybackEnded, PlaybackPosition, PlaybackStarted, Token

#: A ramp this long to zero cannot be heard as a click and ends well inside the 10 ms of design 5.
RAMP_S = 0.005
#: The first sample is due this long after its block came: time to hand the block to the audio thread.
CUSHION_S = 0.02
#: After an underrun the cushion doubles, for the rest of the take, up to this.
MAX_CUSHION_S = 0.64
#: How often positions are reported while something is on the timeline.
TICK_MS = 50


@dataclass(slots=True)
class _Run:
    """Frames of a take that sound without a gap: from frame `first` of the take, at `at_s` on the clock."""

    at_s: float
    first_s: float
    length_s: float = 0.0


@dataclass(slots=True, eq=False)
class _Performance:
    """One take on the timeline."""

    token: Token
    take: Take
    gain_js: Any
    runs: list[_Run] = field(default_factory=list)
    sources: list[tuple[float, Release]] = field(default_factory=list)  # when each has sounded, what frees it
    next_block: int = 0
    cushion_s: float = CUSHION_S
    started: bool = False

    @property
    def scheduled(self) -> bool:
        """Every sample has its place on the clock."""
        return self.take.complete and self.next_block == len(self.take.blocks_js)

    @property
    def ends_at_s(self) -> float:
        return self.runs[-1].at_s + self.runs[-1].length_s if self.runs else 0.0

    def played_s(self, clock_s: float) -> float:
        """Seconds of the take that have sounded at `clock_s`; gaps of an underrun do not count."""
        for run in reversed(self.runs):
            if clock_s >= run.at_s:
                return run.first_s + min(clock_s - run.at_s, run.length_s)
        return 0.0


class Player:
    """Plays takes in the order given, on one AudioContext.

    `report` is called with PlaybackStarted, PlaybackPosition (every 50 ms) and PlaybackEnded.
    `underruns` counts gaps inside takes.
    """

    def __init__(self, scope: Scope, context_js: Any, report: Callable[[Event], object]) -> None:
        self._scope = scope
        self._context_js = context_js
        self._report = report
        self.underruns = 0
        self._timeline: list[_Performance] = []
        self._end_frame = 0  # frame of the context's clock at which everything scheduled has sounded
        self._bus_js, self._release_bus = self._new_gain(context_js.destination, scope)
        self._ticking: Scope | None = None

    # -- the timeline --------------------------------------------------------------------------

    def play(self, token: Token, take: Take) -> None:
        """Put `take` on the timeline after what is on it; it sounds as its blocks arrive."""
        gain_js, release = self._new_gain(self._bus_js, self._scope)
        performance = _Performance(token, take, gain_js, sources=[(math.inf, release)])
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
            self._hush(performance.gain_js, [release for _, release in performance.sources])
        rate = self._context_js.sampleRate
        self._end_frame = math.ceil(self._timeline[-1].ends_at_s * rate) if self._timeline else 0
        for performance in behind[1:]:
            self.play(performance.token, performance.take)

    def silence(self) -> None:
        """Silence everything within one render quantum and a ramp of 5 ms, and clear the timeline."""
        releases = [release for performance in self._timeline for _, release in performance.sources]
        for performance in self._timeline:
            performance.take.on_change = None
        self._timeline.clear()
        self._end_frame = 0
        self._hush(self._bus_js, [*releases, self._release_bus])
        self._bus_js, self._release_bus = self._new_gain(self._context_js.destination, self._scope)
        self._rest()

    def position(self, token: Token) -> float:
        """Seconds of the performance that the listener has heard by now."""
        for performance in self._timeline:
            if performance.token == token:
                return performance.played_s(self._heard_clock_s())
        return 0.0

    def started_at_ms(self, token: Token, now_ms: float) -> float | None:
        """When, on the clock of `now_ms`, the performance's first sample sounded or will; None if unknown."""
        for performance in self._timeline:
            if performance.token == token and performance.runs:
                return now_ms - (self._heard_clock_s() - performance.runs[0].at_s) * 1000
        return None

    # -- scheduling ----------------------------------------------------------------------------

    def _schedule(self) -> None:
        """Give every block that is here its place on the clock, as far as the order allows."""
        for performance in self._timeline:
            blocks_js = performance.take.blocks_js
            while performance.next_block < len(blocks_js):
                self._start_block(performance, blocks_js[performance.next_block])
                performance.next_block += 1
            if not performance.take.complete:
                return  # what follows has to wait for the rest of this take

    def _start_block(self, performance: _Performance, block_js: Any) -> None:
        context_js = self._context_js
        rate = context_js.sampleRate
        now_s = context_js.currentTime
        if self._end_frame <= now_s * rate:
            if performance.runs:
                self.underruns += 1
                performance.cushion_s = min(2 * performance.cushion_s, MAX_CUSHION_S)
            self._end_frame = math.ceil((now_s + performance.cushion_s) * rate)
        at_s = self._end_frame / rate
        run = performance.runs[-1] if performance.runs else None
        if run is None or abs(run.at_s + run.length_s - at_s) * rate >= 0.5:
            run = _Run(at_s, run.first_s + run.length_s if run else 0.0)
            performance.runs.append(run)
        run.length_s += block_js.duration
        self._end_frame = round((run.at_s + run.length_s) * rate)

        source_js = context_js.createBufferSource()
        source_js.buffer = block_js
        source_js.connect(performance.gain_js)
        source_js.start(at_s)

        def release() -> None:
            source_js.stop()
            source_js.disconnect()

        performance.sources.append((run.at_s + run.length_s, self._scope.own(release, "node")))

    # -- the clock -----------------------------------------------------------------------------

    def _heard_clock_s(self) -> float:
        """The context's clock as the listener's ear has it: behind by the latency of the output."""
        context_js = self._context_js
        return float(context_js.currentTime) - float(getattr(context_js, "outputLatency", 0) or 0)

    def tick(self) -> None:
        """Report what has happened on the clock since the last tick."""
        while self._timeline:
            performance = self._timeline[0]
            clock_s = self._heard_clock_s()
            if performance.runs and clock_s >= performance.runs[0].at_s and not performance.started:
                performance.started = True
                self._report(PlaybackStarted(performance.token))
            if performance.started and performance in self._timeline:
                self._report(PlaybackPosition(performance.token, performance.played_s(clock_s)))
            if performance not in self._timeline:
                continue  # a report had the timeline changed
            if not performance.scheduled or clock_s < performance.ends_at_s:
                self._free_sounded(performance, clock_s)
                return
            self._timeline.remove(performance)
            performance.take.on_change = None
            for _, release in performance.sources:
                release()
            if performance.started:  # an empty take never sounds
                self._report(PlaybackEnded(performance.token))
        self._rest()

    def _rest(self) -> None:
        if self._ticking is not None and not self._timeline:
            self._ticking.dispose()
            self._ticking = None

    def _free_sounded(self, performance: _Performance, clock_s: float) -> None:
        sounded = [release for ends_at_s, release in performance.sources if ends_at_s <= clock_s]
        if sounded:
            performance.sources = [item for item in performance.sources if item[0] > clock_s]
            for release in sounded:
                release()

    # -- nodes ---------------------------------------------------------------------------------

    def _new_gain(self, target_js: Any, scope: Scope) -> tuple[Any, Release]:
        gain_js = self._context_js.createGain()
        gain_js.connect(target_js)
        return gain_js, scope.own(gain_js.disconnect, "node")

    def _hush(self, gain_js: Any, releases: list[Release]) -> None:
        """Bring `gain_js` to zero and release what feeds it."""

        def release_all() -> None:
            for release in releases:
                release()

        context_js = self._context_js
        if context_js.state != "running":
            # The clock stands: a ramp would wait, and its first part would sound when the clock goes on.
            gain_js.disconnect()
            release_all()
            return
        now_s = context_js.currentTime
        gain_js.gain.cancelScheduledValues(now_s)
        gain_js.gain.setValueAtTime(1, now_s)
        gain_js.gain.linearRampToValueAtTime(0, now_s + RAMP_S)
        # Anchored at zero, the bus stays silent however late this comes.
        self._scope.after(10 * RAMP_S, release_all)
