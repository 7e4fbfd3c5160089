"""Any interleaving of all events keeps the conductor's promises, and every unit ends.

The stage checks the promises after each event; what is here is the world: a reply that is written, resumed
and reset, an engine that answers in any order and late, a player whose reports come late or not in order, and
a listener who does as they please.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from onetake import UsageError, cues
from onetake.cues import Event, Token
from tests.unit.stage import Stage

SECONDS = st.sampled_from([0.25, 0.5, 1.0, 4.0])
STRETCHES = st.sampled_from(
    ["One.", "Two. Three.", "[softly]", "안녕하세요. ", "😀 Yes.", "Yes.", "```card\nx\n```\n", " ", "No"]
)
PLACES = st.integers(0, 3)
TURNS = st.sampled_from(["is final", "is final", "fails", "starts over", "goes back", "goes back"])
OFFSETS = st.sampled_from([0, 0, 0, -1, 1])


class World(RuleBasedStateMachine):
    """Everything that can happen to a conductor."""

    stage: Stage

    @initialize(
        concurrency=st.integers(1, 3), audio_tags=st.booleans(), stretches=st.lists(STRETCHES, min_size=2, max_size=5)
    )
    def a_reply_begins(self, concurrency: int, audio_tags: bool, stretches: list[str]) -> None:
        self.stage = Stage(concurrency, audio_tags=audio_tags).reply(*stretches, final=False)

    # -- the reply -----------------------------------------------------------------------------

    @precondition(lambda self: not self.stage.cutter.final)
    @rule(stretch=STRETCHES)
    def a_delta_comes(self, stretch: str) -> None:
        self.stage.write(stretch)

    @rule(stretch=STRETCHES)
    def a_unit_ends(self, stretch: str) -> None:
        if not self.stage.cutter.final:
            self.stage.write(stretch)
        self.stage.tool_call()

    @rule(turn=TURNS, place=PLACES, offset=OFFSETS)
    def the_reply(self, turn: str, place: int, offset: int) -> None:
        if turn == "is final":
            self.stage.end()
        elif turn == "fails":
            self.stage.break_off()
        elif turn == "starts over":
            self.stage.reset()
        else:  # to a unit end, or right beside it
            ends = [unit.end for unit in self.stage.units] or [0]
            at = ends[place % len(ends)] + offset
            self.stage.reset(min(max(at, 0), self.stage.cutter.length))

    @rule(data=st.data())
    def a_reconnected_stream_repeats_itself(self, data: st.DataObject) -> None:
        told = [event for event, _ in self.stage.history if isinstance(event, (cues.UnitClosed, cues.Reset))]
        if told:
            self.stage.handle(data.draw(st.sampled_from(told)))

    # -- the engine ------------------------------------------------------------------------------

    @precondition(lambda self: self.stage.running)
    @rule(place=PLACES)
    def the_engine_answers(self, place: int) -> None:
        self.stage.answer(self._running(place))

    @precondition(lambda self: self.stage.running)
    @rule(place=PLACES, seconds=SECONDS)
    def audio_comes(self, place: int, seconds: float) -> None:
        token = self._running(place)
        self.stage.audio(token, self._received(token) + seconds)

    @precondition(lambda self: self.stage.running)
    @rule(place=PLACES, times=st.lists(st.sampled_from([0.0, 0.25, 0.5, 2.0, 9.0]), min_size=2, max_size=5))
    def an_alignment_comes(self, place: int, times: list[float]) -> None:
        self.stage.align(self._running(place), "a" * (len(times) - 1), *times)

    @precondition(lambda self: self.stage.running)
    @rule(place=PLACES, seconds=st.sampled_from([0.0, 0.25, 2.0]))
    def a_take_ends(self, place: int, seconds: float) -> None:
        token = self._running(place)
        received_s = self._received(token)
        self.stage.complete(token, received_s + seconds if received_s else seconds)

    @precondition(lambda self: self.stage.running)
    @rule(place=PLACES, seconds=SECONDS)
    def a_take_comes_whole(self, place: int, seconds: float) -> None:
        token = self._running(place)
        self.stage.audio(token, self._received(token) + seconds)
        self.stage.complete(token)

    @precondition(lambda self: self.stage.running)
    @rule(place=PLACES)
    def the_engine_fails(self, place: int) -> None:
        self.stage.fail(self._running(place))

    # -- the player --------------------------------------------------------------------------------

    @rule(seconds=SECONDS)
    def the_clock_runs(self, seconds: float) -> None:
        self.stage.tell()
        self.stage.play(seconds)

    @rule(seconds=SECONDS)
    def the_clock_runs_and_the_reports_wait(self, seconds: float) -> None:
        self.stage.play(seconds, tell=False)

    @precondition(lambda self: self.stage.reports)
    @rule(place=PLACES)
    def a_report_that_waited_comes_in_any_order(self, place: int) -> None:
        reports = self.stage.reports
        self.stage.handle(reports.pop(place % len(reports)))

    @precondition(lambda self: self.stage.timeline)
    @rule(place=PLACES, seconds=SECONDS)
    def the_player_tells_what_cannot_be(self, place: int, seconds: float) -> None:
        """Of a take without audio, or one whose rest is still to come."""
        performance = self.stage.timeline[place % len(self.stage.timeline)]
        if not performance.take.received_s:
            self.stage.handle(cues.PlaybackStarted(performance.token))
            self.stage.handle(cues.PlaybackPosition(performance.token, seconds))
        if not performance.take.ended:
            self.stage.handle(cues.PlaybackEnded(performance.token))

    # -- what is late, or comes twice ------------------------------------------------------------

    @rule(data=st.data())
    def an_old_event_comes_again(self, data: st.DataObject) -> None:
        told = [event for event, _ in self.stage.history if hasattr(event, "token")]
        if told:
            self.stage.handle(data.draw(st.sampled_from(told)))

    @rule(data=st.data(), generation=st.integers(0, 3), unit=st.integers(-1, 4), attempt=st.integers(0, 3))
    def a_token_of_another_time_comes(
        self, data: st.DataObject, generation: int, unit: int, attempt: int
    ) -> None:
        token = Token(generation, unit, attempt)
        if token in self.stage.running or token in self.stage.performances:
            return
        events: list[Event] = [
            cues.SynthesisStarted(token),
            cues.AudioReceived(token, 1.0),
            cues.AlignmentReceived(token, ["a"], [0.0], [1.0]),
            cues.SynthesisDone(token, 1.0),
            cues.SynthesisFailed(token, "late", "late"),
            cues.PlaybackStarted(token),
            cues.PlaybackPosition(token, 1.0),
            cues.PlaybackEnded(token),
        ]
        self.stage.handle(data.draw(st.sampled_from(events)))

    # -- the listener and the device ---------------------------------------------------------------

    @rule(act=st.sampled_from(["skip", "pause", "resume", "stop"]))
    def the_listener(self, act: str) -> None:
        getattr(self.stage, act)()

    @rule(unit=st.integers(-1, 4))
    def the_listener_goes_back(self, unit: int) -> None:
        try:
            self.stage.replay(unit)
        except UsageError:
            assert not 0 <= unit < len(self.stage.units) or not self.stage.conductor.entries[unit].received_s

    @rule(act=st.sampled_from(["unblock", "unblock", "block"]))
    def the_browser(self, act: str) -> None:
        getattr(self.stage, act)()

    @precondition(lambda self: len(self.stage.history) > 30)
    @rule()
    def the_voice_is_disposed_of(self) -> None:
        self.stage.dispose()

    # -- and in the end ------------------------------------------------------------------------------

    def teardown(self) -> None:
        if not hasattr(self, "stage"):
            return
        stage = self.stage
        failed = stage.failed and not stage.disposed
        if not failed:
            stage.end()
        stage.settle()
        assert stage.state == ("failed" if failed else "idle")
        stage.assert_repeats()

    def _running(self, place: int) -> Token:
        return self.stage.running[place % len(self.stage.running)]

    def _received(self, token: Token) -> float:
        return self.stage.conductor.entries[token.unit].received_s


TestAnyInterleaving = World.TestCase
TestAnyInterleaving.settings = settings(max_examples=150, stateful_step_count=50, deadline=None)
