"""A unit whose request falls into an outage is asked for again until a first byte comes, and counts once."""

from __future__ import annotations

from pytest_pyodide import run_in_pyodide

from tests.browser.pieces import joined


@run_in_pyodide
async def outage(selenium_ruler, attempts, give_up_s=30.0, stops=False):
    """Two units; the server does not answer the first `attempts` requests for the first one.

    Returns the texts asked for, what was heard, `inspect()`, and the states of the connection as they were told.
    """
    import asyncio

    from ruler import Stage

    from onetake.browser import link

    usual = link.GIVE_UP_S, link.SAY_S
    link.GIVE_UP_S, link.SAY_S = give_up_s, 0
    try:
        async with Stage() as stage:
            links = []

            def note():
                if not links or links[-1] != stage.voice.link:
                    links.append(stage.voice.link)
                stage.changed.set()

            stage.voice._on_change = note
            stage.plan("One.", take=1, unreachable=attempts)
            stage.plan("Two.", take=2)
            stage.say("One.", "Two.")
            if stops:
                await stage.until(lambda: stage.voice.link == "reconnecting")
                stage.voice.stop()
                asked = len(stage.ruler.asked)
                assert stage.voice.link == "live"
                await asyncio.sleep(0.5)  # the longest pause before the attempt that must not be made
                assert len(stage.ruler.asked) == asked
            await stage.until("idle")
            return list(stage.ruler.asked), await stage.pieces(), stage.inspect(), links
    finally:
        link.GIVE_UP_S, link.SAY_S = usual


def test_a_unit_that_met_an_outage_is_spoken_when_it_is_over_and_is_one_synthesis(selenium_ruler):
    asked, pieces, seen, links = outage(selenium_ruler, 2)
    assert asked == ["One.", "One.", "One.", "Two."]
    assert joined(pieces) == [(1, 0, 2400), (2, 0, 2400)]
    assert [(unit["state"], unit["requests"]) for unit in seen["units"]] == [("done", 1), ("done", 1)]
    assert seen["counts"]["syntheses"] == 2
    assert links == ["live", "reconnecting", "live"]


def test_a_unit_whose_outage_does_not_end_fails_and_the_next_is_spoken(selenium_ruler):
    _, pieces, seen, links = outage(selenium_ruler, 1000, give_up_s=0.3)
    assert joined(pieces) == [(2, 0, 2400)]
    assert [unit["state"] for unit in seen["units"]] == ["failed", "done"]
    assert seen["units"][0]["error"]["code"] == "speech_unreachable"
    assert seen["counts"]["syntheses"] == 2
    assert links[-1] == "live"


def test_a_stop_in_an_outage_ends_the_asking(selenium_ruler):
    asked, pieces, seen, _ = outage(selenium_ruler, 1000, stops=True)
    assert "Two." not in asked
    assert pieces == []
    assert {unit["state"] for unit in seen["units"]} == {"dropped"}
