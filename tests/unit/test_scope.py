"""The owner of everything that must be given back (`onetake.browser.scope`), as far as it needs no browser."""

from __future__ import annotations

import pytest

from onetake.browser.scope import Scope


def test_what_was_taken_last_is_released_first() -> None:
    released: list[str] = []
    scope = Scope()
    for name in ("first", "second"):
        scope.own(lambda name=name: released.append(name), "thing")
    scope.dispose()
    assert released == ["second", "first"]


def test_disposing_twice_releases_once() -> None:
    released: list[int] = []
    scope = Scope()
    scope.own(lambda: released.append(1), "thing")
    scope.dispose()
    scope.dispose()
    assert released == [1]


def test_what_comes_too_late_is_released_at_once() -> None:
    released: list[int] = []
    scope = Scope()
    scope.dispose()
    scope.own(lambda: released.append(1), "thing")
    assert released == [1]


def test_one_failing_release_does_not_keep_the_others() -> None:
    released: list[int] = []
    scope = Scope()
    scope.own(lambda: released.append(1), "thing")
    scope.own(lambda: 1 // 0, "thing")
    with pytest.raises(ExceptionGroup) as failed:
        scope.dispose()
    assert released == [1]
    assert isinstance(failed.value.exceptions[0], ZeroDivisionError)


def test_a_parent_ends_its_children() -> None:
    released: list[int] = []
    scope = Scope()
    scope.child().own(lambda: released.append(1), "thing")
    scope.dispose()
    assert released == [1]


def test_a_child_of_what_has_ended_has_ended() -> None:
    scope = Scope()
    scope.dispose()
    assert scope.child().disposed


def test_a_child_that_ends_by_itself_leaves_its_parent() -> None:
    scope = Scope()
    scope.child().dispose()
    assert +scope.live == {}


def test_live_counts_fall_when_something_is_released_early() -> None:
    scope = Scope()
    release = scope.child().own(lambda: None, "node")
    assert scope.live["node"] == 1
    release()
    release()
    assert scope.live["node"] == 0
