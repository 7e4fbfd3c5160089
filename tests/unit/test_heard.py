"""How far a take was heard, with alignments as they should be, as they are, and without any."""

from __future__ import annotations

from itertools import pairwise
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetake import Heard, Pace, UsageError, for_engine
from onetake.heard import weights


def take(unit: str, start: int = 0, pace: Pace | None = None) -> Heard:
    return Heard(for_engine(unit, audio_tags=True, start=start), pace or Pace())


def received(unit: str, seconds_s: float, start: int = 0) -> Heard:
    """A take that has arrived in full."""
    heard = take(unit, start)
    heard.received(seconds_s, complete=True)
    return heard


def spell(heard: Heard, text: str, starts: list[float], step_s: float = 0.1) -> None:
    """Align each character of `text` for `step_s` from its start on."""
    heard.align(list(text), starts, [start + step_s for start in starts])


def evenly(text: str, first_s: float = 0.0) -> list[float]:
    """Starts a tenth of a second apart."""
    return [first_s + place / 10 for place in range(len(text))]


# with an alignment -----------------------------------------------------------------------------------


def test_a_character_counts_once_it_has_sounded_to_its_end() -> None:
    heard = received("abcdef", 0.7)
    spell(heard, "abcdef", evenly("abcdef"))
    assert [heard.at(played) for played in (0.0, 0.05, 0.15, 0.25, 0.55)] == [0, 0, 1, 2, 5]


def test_the_end_waits_for_the_silence_behind_the_last_character() -> None:
    heard = received("abc", 1.0)
    spell(heard, "abc", evenly("abc"))
    assert heard.at(0.9) < 3
    assert heard.at(1.0) == 3


def test_silence_before_the_first_character_is_not_text() -> None:
    heard = received("abc", 1.3)
    spell(heard, "abc", evenly("abc", first_s=1.0))
    assert heard.at(0.99) == 0
    assert heard.at(1.15) == 1


def test_a_pause_between_characters_holds_the_position() -> None:
    heard = received("abcd", 3.0)
    spell(heard, "abcd", [0.0, 0.1, 2.0, 2.1])
    assert heard.at(0.25) == heard.at(1.9) == 2
    assert heard.at(2.15) == 3


def test_pieces_of_an_alignment_follow_one_another() -> None:
    heard = received("abcdef", 0.7)
    spell(heard, "abc", evenly("abc"))
    spell(heard, "def", evenly("def", first_s=0.3))
    assert heard.at(0.45) == 4


def test_an_alignment_may_come_after_its_audio() -> None:
    heard = take("abcd")
    heard.received(4.0, complete=True)
    spell(heard, "abcd", [3.5, 3.6, 3.7, 3.8])
    assert heard.at(3.4) == 0


def test_words_may_be_aligned_whole() -> None:
    heard = received("one two", 2.0)
    heard.align(["one", " ", "two"], [0.0, 0.5, 1.0], [0.5, 1.0, 1.5])
    assert heard.at(0.5) == 3
    assert heard.at(1.0) == 4


def test_a_word_aligned_whole_begins_when_it_is_said_to() -> None:
    heard = received("hello", 3.0)
    heard.align(["hello"], [2.0], [2.5])
    assert heard.at(1.9) == 0
    assert heard.at(2.3) > 0


def test_characters_that_share_the_times_of_their_word_count_when_the_next_word_begins() -> None:
    heard = received("one two", 2.0)
    heard.align(list("one two"), [0.0] * 4 + [0.8] * 3, [0.8] * 4 + [1.5] * 3)
    assert heard.at(0.8) == 4


def test_the_alignment_s_indexes_count_and_not_its_characters() -> None:
    """Engines rewrite numbers and quotes, and words repeat: text is never matched."""
    heard = received("the a the b", 1.2)
    spell(heard, "THE_A_the_X", evenly("the a the b"))
    assert heard.at(0.65) == 6


def test_an_alignment_longer_than_the_text_is_cut() -> None:
    heard = received("ab", 1.0)
    spell(heard, "abcdefgh", evenly("abcdefgh"))
    assert heard.at(0.75) == 1
    assert heard.at(1.0) == 2


def test_text_behind_a_short_alignment_is_placed_by_weight() -> None:
    heard = received("abcdef", 1.3)
    spell(heard, "abc", evenly("abc"))
    assert heard.at(0.35) == 3
    assert heard.at(0.80) == 4


def test_arrays_of_different_lengths_count_as_far_as_all_go() -> None:
    heard = received("abcdef", 0.6)
    heard.align(list("abcdef"), [0.0, 0.1, 0.2], [0.1, 0.2])
    assert heard.at(0.15) == 1


def test_times_that_stick_are_replaced_by_proportion() -> None:
    """v3 timestamps freeze after about a minute: the frozen rest must not count as heard at once."""
    text = "a" * 100
    heard = received(text, 10.0)
    spell(heard, text, [min(place / 10, 2.0) for place in range(100)])
    assert heard.at(2.2) <= 25
    assert 55 <= heard.at(6.0) <= 65
    assert heard.at(10.0) == 100


def test_times_that_are_all_zero_are_replaced_by_proportion() -> None:
    heard = received("a" * 100, 10.0)
    heard.align(["a"] * 100, [0.0] * 100, [0.0] * 100)
    assert 49 <= heard.at(5.0) <= 50


def test_times_that_jump_back_are_passed_over() -> None:
    heard = received("abcdef", 0.7)
    heard.align(list("abcdef"), [0.0, 0.1, -5.0, 0.0, 0.4, 0.5], [0.1, 0.2, -4.0, 0.1, 0.5, 0.6])
    assert [heard.at(played) for played in (0.15, 0.25, 0.45, 0.55)] == [1, 2, 4, 5]


def test_times_beyond_the_audio_are_passed_over() -> None:
    heard = received("abcdef", 0.6)
    heard.align(list("abcdef"), [0.0, 0.1, 9.0, 0.3, 0.4, 0.5], [0.1, 0.2, 9.1, 0.4, 0.5, 0.6])
    assert [heard.at(played) for played in (0.15, 0.45, 0.55)] == [1, 4, 5]


@pytest.mark.parametrize("odd", [nan, inf, -inf])
def test_times_that_are_no_numbers_are_passed_over(odd: float) -> None:
    heard = received("abcdef", 0.7)
    heard.align(list("abcdef"), [0.0, 0.1, odd, odd, 0.4, 0.5], [0.1, 0.2, odd, odd, 0.5, 0.6])
    assert [heard.at(played) for played in (0.15, 0.45, 0.55)] == [1, 4, 5]


# without one -----------------------------------------------------------------------------------------


def test_nothing_is_heard_before_the_first_sample() -> None:
    assert received("abc", 1.0, start=7).at(0.0) == 7


def test_white_space_before_the_first_word_is_not_heard_before_the_word() -> None:
    assert received("  abc", 1.0, start=7).at(0.01) == 7


def test_all_is_heard_once_played_out() -> None:
    """To the range's end: tags, cards and white space behind the last word included."""
    unit = "abc \n```card\nx\n```\n[emotion:joy]"
    heard = received(unit, 1.0, start=7)
    assert heard.at(1.0) == 7 + len(unit)


def test_a_take_that_is_still_arriving_has_not_played_out() -> None:
    heard = take("abc")
    heard.received(1.0, complete=False)
    assert heard.at(1.0) < 3
    heard.received(1.0, complete=True)
    assert heard.at(1.0) == 3


def test_the_last_words_of_a_slow_take_that_is_still_arriving_are_not_claimed() -> None:
    heard = take("a" * 100)
    heard.received(60.0, complete=False)
    assert 85 <= heard.at(60.0) <= 95


def test_a_complete_take_stays_complete() -> None:
    heard = received("abc", 1.0)
    heard.received(0.5, complete=False)
    assert heard.at(1.0) == 3


def test_played_time_beyond_the_audio_received_counts_no_more_than_that() -> None:
    """Some clocks run on through an underrun; nobody heard what had not come."""
    ahead, exact = take("a" * 100), take("a" * 100)
    for heard in (ahead, exact):
        heard.received(1.0, complete=False)
    assert ahead.at(99.0) == exact.at(1.0) < 20


def test_nothing_is_heard_of_a_take_without_audio() -> None:
    heard = take("abc")
    assert heard.at(5.0) == 0
    heard.received(0.0, complete=True)
    assert heard.at(5.0) == 0


def test_the_position_never_goes_back() -> None:
    heard = received("a" * 100, 10.0)
    forth = heard.at(6.0)
    assert heard.at(2.0) == heard.at(0.0) == heard.at(nan) == forth


def test_a_position_given_stays_when_the_take_proves_longer() -> None:
    heard = take("a" * 100)
    heard.received(5.0, complete=False)
    early = heard.at(5.0)
    heard.received(50.0, complete=True)
    assert heard.at(6.0) == early


def test_the_end_stays_heard() -> None:
    heard = received("abc", 1.0)
    heard.at(1.0)
    assert heard.at(0.2) == 3


@pytest.mark.parametrize("unit", ["", "[softly]", "😀", "\u0301\u200d", "  ", "\ud800"])
def test_a_unit_with_hardly_any_weight_is_safe(unit: str) -> None:
    """No division by zero: engines may be given anything."""
    heard = take(unit)
    heard.received(0.5, complete=False)
    assert 0 <= heard.at(0.4) <= len(unit)
    heard.received(1.0, complete=True)
    assert heard.at(0.9) < max(len(unit), 1)
    assert heard.at(1.0) == len(unit)


def test_scripts_without_spaces_advance() -> None:
    heard = received("你好。再见。", 3.0)
    assert [heard.at(played) for played in (0.9, 2.0, 2.6)] == [2, 4, 5]


def test_a_hangul_syllable_takes_longer_than_a_letter() -> None:
    """In the middle of the time the Korean half, which has fewer characters, is not over."""
    unit = "가" * 20 + "a" * 20
    assert 10 <= received(unit, 10.0).at(5.0) < 20


def test_a_number_takes_longer_than_a_word() -> None:
    assert received("2024 word", 1.0).at(0.6) <= 3


def test_a_pause_at_the_end_of_a_sentence_takes_time() -> None:
    assert weights("a. b")[1] > weights("a, b")[1] > weights("a b")[1]


def test_signs_in_a_row_pause_once() -> None:
    assert sum(weights("a...\n\nb")) < 1.5 * sum(weights("a. b"))


def test_a_decimal_point_is_no_pause() -> None:
    assert weights("3.14")[1] < 0.1 < weights("3. 14")[1]


def test_a_combining_mark_is_heard_with_its_letter() -> None:
    heard = received("e\u0301e\u0301e\u0301", 3.0)
    assert {heard.at(step / 100) for step in range(300)} == {0, 2, 4}


def test_an_audio_tag_takes_no_time() -> None:
    assert weights("[softly] a") == [0.0] * 8 + weights(" a")
    heard = received("[softly] a", 1.0)
    assert heard.at(0.3) >= 9


# pace ------------------------------------------------------------------------------------------------


def test_the_pace_is_learned_from_finished_takes() -> None:
    text, pace = "This is how slowly the voice speaks.", Pace()
    slow_s = 4 * pace.seconds(text)
    for _ in range(5):
        pace.learn(text, slow_s)
    assert pace.seconds(text) == pytest.approx(slow_s, rel=0.1)


def test_a_learned_pace_places_a_take_that_is_still_arriving() -> None:
    text, pace = "a" * 100, Pace()
    for _ in range(20):
        pace.learn(text, 20.0)
    heard = take(text, pace=pace)
    heard.received(19.0, complete=False)
    assert 45 <= heard.at(10.0) <= 55


@pytest.mark.parametrize(
    ("text", "seconds_s"), [("", 1.0), ("abc", 0.0), ("abc", -1.0), ("abc", nan), ("abc", inf)]
)
def test_a_take_without_text_or_sound_teaches_nothing(text: str, seconds_s: float) -> None:
    pace = Pace()
    before = pace.seconds("some text")
    pace.learn(text, seconds_s)
    assert pace.seconds("some text") == before


@pytest.mark.parametrize("seconds_s", [-0.1, nan, inf])
def test_audio_that_does_not_last_0_or_more_seconds_is_refused(seconds_s: float) -> None:
    with pytest.raises(UsageError, match="received"):
        take("a").received(seconds_s, complete=True)


# whatever comes ----------------------------------------------------------------------------------------

ANY_TIME = st.floats(-1, 12) | st.sampled_from([0.0, 1.0, nan, inf, -inf])
UNITS = st.lists(
    st.sampled_from(
        ["a", "가", "7", ".", "\n", " ", "[softly]", "\n```card\nx\n```\n", "e\u0301", "😀", "\u200d"]
    ),
    max_size=12,
).map("".join)
EVENTS = st.lists(
    st.one_of(
        st.tuples(
            st.just("align"),
            st.lists(st.sampled_from(["a", "", "two", "😀"]), max_size=12),
            st.lists(ANY_TIME, max_size=12),
            st.lists(ANY_TIME, max_size=12),
        ),
        st.tuples(st.just("received"), st.floats(0, 10), st.sampled_from([False, False, True])),
        st.tuples(st.just("at"), ANY_TIME),
    ),
    max_size=20,
)


@given(UNITS, EVENTS, st.integers(0, 100))
def test_whatever_the_engine_says_the_promises_hold(
    unit: str, events: list[tuple[object, ...]], start: int
) -> None:
    heard = take(unit, start)
    received_s, complete, last, played_out = 0.0, False, start, False
    for name, *arguments in events:
        result = getattr(heard, str(name))(*arguments)
        if name == "received":
            received_s = max(received_s, float(str(arguments[0])))
            complete = complete or bool(arguments[1])
        elif name == "at":
            played_s = float(str(arguments[0]))
            played_out = played_out or (complete and played_s >= received_s > 0)
            assert last <= result <= start + len(unit)
            assert (result == start + len(unit)) == (played_out or not unit)
            assert result == start or received_s > 0
            last = result


@given(UNITS, st.floats(0.1, 60), st.lists(st.floats(0, 1), min_size=2, max_size=20).map(sorted))
def test_later_is_never_less(unit: str, seconds_s: float, shares: list[float]) -> None:
    """Asked afresh each time, so that what was said before holds nothing up."""
    places = [received(unit, seconds_s).at(share * seconds_s) for share in shares]
    assert all(before <= after for before, after in pairwise(places))
