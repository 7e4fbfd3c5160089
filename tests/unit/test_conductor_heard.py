"""How far the listener has heard the reply, whatever the order of audio, alignment and reports.

How one take maps to its text is tested with `onetake.heard`; here it is the whole reply.
Row numbers are those of the field cases: public reports about this job, and what we promise instead.
"""

from __future__ import annotations

from math import inf, nan

import pytest

from onetake import UsageError
from onetake.heard import Pace
from tests.unit.stage import Stage


def test_nothing_is_heard_before_the_first_sample() -> None:
    """Row 96."""
    stage = Stage().reply("One.")
    stage.complete(0, 1.0)
    assert stage.heard == 0


def test_nothing_is_heard_when_the_first_sample_has_only_begun() -> None:
    """Row 97: zero is a value."""
    stage = Stage().reply("```card\nx\n```\nOne.")
    stage.complete(0, 1.0)
    stage.started(0)
    stage.position(0, 0.0)
    assert stage.heard == 0


def test_nothing_of_a_later_unit_is_heard_before_its_first_sample() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.fail(0)
    stage.complete(1, 1.0)
    stage.started(1)
    stage.position(1, 0.0)
    assert stage.heard == 0


def test_stop_before_the_first_block_leaves_nothing_heard() -> None:
    """Row 96."""
    stage = Stage().reply("One.")
    stage.stop()
    assert stage.heard == 0


def test_stop_at_half_leaves_a_part_heard() -> None:
    """Row 95: rounded down, and not to the end."""
    stage = Stage().reply("abcdefghij")
    stage.complete(0, 1.0)
    stage.play(0.5)
    stage.stop()
    assert 0 < stage.heard <= 5


def test_stop_after_the_last_sample_leaves_all_heard() -> None:
    """Row 96."""
    stage = Stage().reply("One.", "Two.")
    stage.settle()
    stage.stop()
    assert stage.heard == 8


def test_whole_range_is_heard_with_the_cards_and_tags_in_it() -> None:
    stage = Stage().reply("One.\n```card\nx\n```\n[emotion:warm]")
    stage.settle()
    assert stage.heard == stage.cutter.length


def test_end_of_a_take_is_not_heard_while_more_may_come() -> None:
    stage = Stage().reply("One.")
    stage.audio(0, 1.0)
    stage.play()
    assert stage.heard < 4
    stage.complete(0)
    stage.play()
    assert stage.heard == 4


def test_end_of_a_take_that_broke_off_is_never_heard() -> None:
    stage = Stage().reply("One.")
    stage.audio(0, 1.0)
    stage.fail(0)
    stage.play()
    assert stage.heard < 4


def test_no_more_is_heard_than_was_received() -> None:
    """Row 98: a clock that runs ahead of the audio."""
    stage = Stage().reply("abcdefghij" * 10)
    stage.audio(0, 0.5)
    stage.started(0)
    stage.position(0, 0.5)
    heard = stage.heard
    stage.position(0, 64.0)
    assert stage.heard == heard < 100
    assert stage.conductor.entries[0].played_s == 0.5


def test_position_that_goes_back_takes_nothing_back() -> None:
    """Row 101."""
    stage = Stage().reply("abcdefghij")
    stage.complete(0, 1.0)
    stage.started(0)
    stage.position(0, 0.75)
    heard = stage.heard
    stage.position(0, 0.25)
    assert (stage.heard, stage.conductor.entries[0].played_s) == (heard, 0.75)


def test_position_that_comes_late_is_not_heard() -> None:
    """Row 101."""
    stage = Stage().reply("abcdefghij")
    stage.complete(0, 1.0)
    stage.play(0.25)
    stage.play(0.5, tell=False)
    stage.stop()
    heard = stage.heard
    stage.tell()
    assert stage.heard == heard


def test_alignment_that_sticks_does_not_hold_the_position_or_take_it_back() -> None:
    """Row 102."""
    stage = Stage().reply("abcdefgh")
    stage.align(0, "abcdefgh", 0.0, 0.25, 0.5, 0.5, 0.5, 0.25, 0.5, 0.5, 0.5)
    stage.complete(0, 2.0)
    heard = []
    for _ in range(8):
        stage.play(0.25)
        heard.append(stage.heard)
    assert heard == sorted(heard)
    assert heard[-2] > heard[1]
    assert heard[-1] == 8


def test_alignment_places_a_repeated_word_where_it_stands() -> None:
    """Row 105."""
    stage = Stage().reply("a b a c")
    stage.align(0, "a b a c", *(0.5 * n for n in range(8)))
    stage.audio(0, 4.0)
    stage.started(0)
    stage.position(0, 2.5)
    assert stage.heard == 5


@pytest.mark.parametrize("reply", ["你好。再见。", "안녕하세요", "😀😀😀😀"], ids=["han", "hangul", "emoji"])
def test_position_advances_in_any_script(reply: str) -> None:
    """Rows 103 and 107: code points, not words and not UTF-16."""
    stage = Stage().reply(reply)
    stage.complete(0, 2.0)
    stage.play(1.0)
    assert 0 < stage.heard < len(reply)
    stage.play()
    assert stage.heard == len(reply)


def test_position_of_a_second_unit_counts_from_the_start_of_the_reply() -> None:
    """Row 107."""
    stage = Stage().reply("😀 One.", "Two.")
    stage.complete(0, 1.0)
    stage.play()
    assert stage.heard == 6
    stage.complete(1, 1.0)
    stage.play(0.5)
    assert 6 < stage.heard < 10


def test_start_of_the_next_take_means_that_the_one_before_was_heard_to_its_end() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.complete(0, 1.0)
    stage.play(0.25)
    stage.complete(1, 1.0)
    stage.started(1)
    assert stage.heard == 4


def test_pause_keeps_what_was_heard() -> None:
    """Row 30."""
    stage = Stage().reply("abcdefghij")
    stage.complete(0, 1.0)
    stage.play(0.5)
    heard = stage.heard
    stage.pause()
    stage.play(8.0)
    assert stage.heard == heard


def test_underrun_keeps_what_was_heard() -> None:
    stage = Stage().reply("abcdefghij")
    stage.audio(0, 0.5)
    stage.play(8.0)
    heard = stage.heard
    stage.position(0, 0.5)
    assert stage.heard == heard


def test_replay_takes_nothing_back_that_was_heard() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.settle()
    stage.replay(0)
    stage.play(0.25)
    assert stage.heard == 8
    assert stage.conductor.entries[0].heard_at == 4


def test_skip_counts_the_next_unit_once_it_sounds() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.complete(0, 1.0)
    stage.play(0.25)
    heard = stage.heard
    stage.complete(1, 1.0)
    stage.skip()
    assert stage.heard == heard
    stage.play(0.5)
    assert 4 <= stage.heard < 8


def test_reset_takes_heard_back_to_where_the_reply_starts_over() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.settle()
    stage.reset(at=6)
    assert stage.heard == 6


def test_reset_leaves_heard_alone_when_it_lies_behind() -> None:
    stage = Stage().reply("One.", "Two.")
    stage.complete(0, 1.0)
    stage.play(0.5)
    heard = stage.heard
    stage.reset(at=4)
    assert stage.heard == heard > 0


def test_audio_grows_and_never_shrinks() -> None:
    stage = Stage().reply("One.")
    stage.audio(0, 1.0)
    stage.audio(0, 0.5)
    stage.complete(0, 0.25)
    assert stage.conductor.entries[0].received_s == 1.0


@pytest.mark.parametrize("seconds", [-1.0, inf, nan], ids=["negative", "endless", "no_number"])
def test_audio_of_an_impossible_length_is_refused_and_changes_nothing(seconds: float) -> None:
    stage = Stage().reply("One.", "Two.")
    for report in (stage.audio, stage.complete):
        with pytest.raises(UsageError, match="audio lasts 0 or more seconds"):
            report(0, seconds)
    stage.settle()
    assert stage.sound == [("One.", 0.5), ("Two.", 0.5)]


def test_pace_is_learned_from_each_finished_take_once() -> None:
    """Replays, failures and parts teach nothing."""
    learned: list[tuple[str, float]] = []

    class Listening(Pace):
        def learn(self, text: str, seconds_s: float) -> None:
            learned.append((text, seconds_s))

    stage = Stage(pace=Listening()).reply("One.", "Two.", "Three.")
    stage.complete(0, 1.0)
    stage.audio(1, 1.0)
    stage.fail(1)
    stage.play()
    stage.replay(0)
    stage.play()
    stage.audio(2, 1.0)
    stage.stop()
    assert learned == [("One.", 1.0)]


def test_pace_learned_in_one_reply_serves_the_next() -> None:
    pace = Pace()
    first = Stage(pace=pace).reply("A rather slow beginning.")
    first.complete(0, 64.0)
    second = Stage(pace=pace).reply("abcdefghij")
    second.audio(0, 1.0)
    second.play()
    plain = Stage().reply("abcdefghij")
    plain.audio(0, 1.0)
    plain.play()
    assert second.heard < plain.heard
